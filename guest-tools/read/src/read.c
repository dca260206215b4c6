/*
 * read: a window of a file's lines.  The file is streamed: its size costs time, never
 * memory, and what is shown has a ceiling.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kinds.h"
#include "nacre_tool.h"

#define LINES_MAX 2000
#define LINE_BYTES_MAX 2000
#define SHOWN_BYTES_MAX 65536
/* Beyond this much the lines are no longer counted once the window is full. */
#define COUNTED_BYTES_MAX ((uint64_t)64 << 20)
#define SAMPLE_BYTES 8192
#define HEADER_BYTES_MAX ((size_t)256 << 10)
#define IMAGE_BYTES_MAX ((size_t)3 << 20)

struct window {
    uint64_t first, last; /* lines from 1; `last` is wished for */
    bool numbers;

    uint64_t line;    /* the one being read */
    uint64_t shown;   /* how many are in the answer */
    bool full;        /* no more fit */
    bool open;        /* the line being read has bytes already */
    uint64_t line_bytes;
    const char *start; /* of the line: where it was read, or `kept_bytes` */
    size_t kept;
    char kept_bytes[LINE_BYTES_MAX + 4];

    uint64_t cut_lines, crlf, lf;
    size_t escaped;
};

static void add_number(struct nacre_text *out, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;

    digits[--at] = '\t';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (sizeof digits - at < 7)
        digits[--at] = ' ';
    nacre_text_add(out, digits + at, sizeof digits - at);
}

/* `start` up to where a character begins that is not whole in it. */
static size_t whole_characters(const struct window *window)
{
    size_t count = LINE_BYTES_MAX;

    while (count > LINE_BYTES_MAX - 3 && (window->start[count] & 0xc0) == 0x80)
        count--;
    return count;
}

static void show_line(struct window *window, bool newline)
{
    struct nacre_text *out = nacre_tool_content();
    size_t count = window->kept;
    bool cut = window->line_bytes > LINE_BYTES_MAX;

    if (cut)
        count = whole_characters(window);
    else if (newline && count > 0 && window->start[count - 1] == '\r')
        count--;
    /* The first line always fits, so that every answer leads on. */
    if (window->shown > 0 && out->count + count + 64 > SHOWN_BYTES_MAX) {
        window->full = true;
        return;
    }
    if (window->numbers)
        add_number(out, window->line);
    window->escaped += nacre_text_add_shown(out, window->start, count);
    if (cut) {
        nacre_text_addf(out, " [... %llu more bytes in this line]",
                        (unsigned long long)(window->line_bytes - count));
        window->cut_lines++;
    }
    if (newline)
        nacre_text_add(out, "\n", 1);
    window->shown++;
}

static bool wanted(const struct window *window)
{
    return !window->full && window->line >= window->first && window->line <= window->last;
}

static void line_part(struct window *window, const char *bytes, size_t count)
{
    size_t room = sizeof window->kept_bytes - 1 - window->kept;

    window->open = true;
    if (!wanted(window))
        return;
    window->line_bytes += count;
    if (count > room)
        count = room;
    memcpy(window->kept_bytes + window->kept, bytes, count);
    window->start = window->kept_bytes;
    window->kept += count;
}

/* A whole line that need not be kept. */
static void line_whole(struct window *window, const char *bytes, size_t count)
{
    window->start = bytes;
    window->kept = count;
    window->line_bytes = count;
}

static void line_end(struct window *window, bool newline)
{
    if (wanted(window)) {
        bool crlf = newline && window->kept == window->line_bytes && window->kept > 0 &&
                    window->start[window->kept - 1] == '\r';

        window->crlf += crlf;
        window->lf += newline && !crlf;
        show_line(window, newline);
    }
    window->line++;
    window->open = false;
    window->line_bytes = 0;
    window->kept = 0;
}

/* Passes over lines that are not shown, eight bytes at a time, and stops short of the
 * first that is. */
static size_t lines_skip(struct window *window, const char *bytes, size_t count)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    bool behind = window->full || window->line > window->last;
    size_t done = 0;

    if (!behind && window->line >= window->first)
        return 0;
    for (; count - done >= 8; done += 8) {
        uint64_t word, lines;

        memcpy(&word, bytes + done, sizeof word);
        word ^= 0x0a0a0a0a0a0a0a0au;
        lines = (uint64_t)__builtin_popcountll(~(((word & low) + low) | word | low));
        if (!behind && window->line + lines >= window->first)
            break;
        window->line += lines;
    }
    if (done > 0)
        window->open = bytes[done - 1] != '\n';
    return done;
}

static void chunk_add(struct window *window, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t skipped = lines_skip(window, bytes, count), length;
        const char *newline;

        bytes += skipped;
        count -= skipped;
        newline = memchr(bytes, '\n', count);
        length = newline ? (size_t)(newline - bytes) : count;
        if (newline && !window->open && length <= LINE_BYTES_MAX)
            line_whole(window, bytes, length);
        else if (length > 0)
            line_part(window, bytes, length);
        if (newline) {
            line_end(window, true);
            length++;
        }
        bytes += length;
        count -= length;
    }
}

static size_t read_some(int fd, const char *path, char *bytes, size_t room)
{
    ssize_t got;

    do
        got = read(fd, bytes, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        nacre_tool_fail_errno("Reading", path);
    return (size_t)got;
}

static void set_number(const char *key, uint64_t number)
{
    nacre_tool_set(key, nacre_json_number((int64_t)number));
}

static void tell_rest(const struct window *window, bool counted)
{
    struct nacre_text *out = nacre_tool_content();
    uint64_t last = window->first + window->shown - 1, total = window->line - 1;
    bool more = !counted || last < total;

    set_number("first_line", window->first);
    set_number("last_line", last);
    if (counted)
        set_number("total_lines", total);
    if (window->crlf > 0)
        nacre_tool_set("line_ends", nacre_json_text(window->lf > 0 ? "mixed" : "crlf"));
    if (window->escaped > 0)
        set_number("escaped_bytes", window->escaped);
    if (window->cut_lines > 0)
        set_number("cut_lines", window->cut_lines);
    if (!more)
        return;
    set_number("next_offset", last + 1);
    if (out->count > 0 && out->bytes[out->count - 1] != '\n')
        nacre_text_add(out, "\n", 1);
    nacre_tool_say("[lines %llu to %llu", (unsigned long long)window->first,
                   (unsigned long long)last);
    if (counted)
        nacre_tool_say(" of %llu", (unsigned long long)total);
    else
        nacre_tool_say(", more follow");
    nacre_tool_say("; continue with offset %llu]", (unsigned long long)(last + 1));
}

struct file {
    const char *path;
    int fd;
    uint64_t size;
    char bytes[65536];
    size_t count; /* of bytes: the file's first, then the next */
};

static void show_text(struct file *file, struct window *window)
{
    const char *path = file->path;
    uint64_t done = 0;
    bool counted = false;

    window->line = 1;
    while (!counted) {
        chunk_add(window, file->bytes, file->count);
        done += file->count;
        if ((window->full || window->line > window->last) && done >= COUNTED_BYTES_MAX)
            break;
        file->count = done == file->size ? 0
                                         : read_some(file->fd, path, file->bytes,
                                                     sizeof file->bytes);
        counted = file->count == 0;
    }
    if (counted && window->open)
        line_end(window, false);
    if (window->shown == 0 && window->line == 1)
        nacre_tool_say("%s is empty.", path);
    else if (window->shown == 0)
        nacre_tool_fail("past-the-end", "%s has %llu lines: offset %llu is past its end.",
                        path, (unsigned long long)(window->line - 1),
                        (unsigned long long)window->first);
    if (window->shown > 0)
        tell_rest(window, counted);
    else
        set_number("total_lines", 0);
}

static struct nacre_json *base64(const char *bytes, size_t count)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct nacre_json *value = nacre_json_new(NACRE_JSON_STRING);
    const unsigned char *in = (const unsigned char *)bytes;
    char *out = nacre_arena(count / 3 * 4 + 5);
    size_t at = 0, put = 0;

    for (; at < count; at += 3) {
        size_t left = count - at;
        uint32_t word = (uint32_t)in[at] << 16;

        word |= left > 1 ? (uint32_t)in[at + 1] << 8 : 0;
        word |= left > 2 ? in[at + 2] : 0;
        out[put++] = letters[word >> 18];
        out[put++] = letters[word >> 12 & 63];
        out[put++] = left > 1 ? letters[word >> 6 & 63] : '=';
        out[put++] = left > 2 ? letters[word & 63] : '=';
    }
    out[put] = '\0';
    value->text = out;
    value->length = put;
    return value;
}

static void add_image(const char *path, const char *mime)
{
    struct nacre_json *block = nacre_json_new(NACRE_JSON_OBJECT);
    size_t count;
    char *bytes = nacre_tool_read_file(path, IMAGE_BYTES_MAX, &count);

    nacre_json_set(block, "type", nacre_json_text("image"));
    nacre_json_set(block, "data", base64(bytes, count));
    nacre_json_set(block, "mimeType", nacre_json_text(mime));
    nacre_tool_block(block);
}

static void show_binary(const struct file *file, const struct kind *kind, bool image)
{
    nacre_text_add_shown(nacre_tool_content(), file->path, strlen(file->path));
    nacre_tool_say(" is %s, %llu bytes", kind->name ? kind->name : "binary",
                   (unsigned long long)file->size);
    nacre_tool_set("kind", nacre_json_text(kind->mime ? "image" : "binary"));
    if (kind->mime)
        nacre_tool_set("mime_type", nacre_json_text(kind->mime));
    if (kind->width > 0 && kind->height > 0) {
        nacre_tool_say(", %u x %u pixels", (unsigned)kind->width, (unsigned)kind->height);
        set_number("width", kind->width);
        set_number("height", kind->height);
    }
    if (kind->mime) {
        if (image)
            add_image(file->path, kind->mime);
        else
            nacre_tool_say("; with image: true the picture comes along");
    } else {
        nacre_tool_say("; it begins with");
        for (size_t i = 0; i < file->count && i < 16; i++)
            nacre_tool_say(" %02X", (unsigned char)file->bytes[i]);
    }
    nacre_tool_say(".");
}

/* The header of an image may be longer than what was read first. */
static struct kind image_kind(const struct file *file)
{
    char *header = nacre_arena(HEADER_BYTES_MAX);
    size_t count = file->count, got;

    memcpy(header, file->bytes, count);
    do {
        got = read_some(file->fd, file->path, header + count, HEADER_BYTES_MAX - count);
        count += got;
    } while (got > 0 && count < HEADER_BYTES_MAX);
    return kind_of(header, count);
}

static void show(struct file *file, struct window *window, bool image)
{
    size_t count = file->count < SAMPLE_BYTES ? file->count : SAMPLE_BYTES;
    struct kind kind = kind_of(file->bytes, file->count);

    if (kind.mime && kind.width == 0 && file->count == sizeof file->bytes)
        kind = image_kind(file);
    if (kind.mime || looks_binary(file->bytes, count)) {
        show_binary(file, &kind, image);
    } else {
        nacre_tool_set("kind", nacre_json_text("text"));
        show_text(file, window);
    }
}

int main(void)
{
    static struct window window;
    static struct file file;
    const struct nacre_json *args = nacre_tool_arguments();
    int64_t offset = nacre_tool_int(args, "offset", 1);
    int64_t limit = nacre_tool_int(args, "limit", LINES_MAX);
    struct stat info;

    if (offset < 1)
        nacre_tool_fail("bad-arguments", "offset counts from 1.");
    if (limit < 1 || limit > LINES_MAX)
        nacre_tool_fail("bad-arguments", "limit is 1 to %d lines.", LINES_MAX);
    window.first = (uint64_t)offset;
    window.last = (uint64_t)offset + (uint64_t)limit - 1;
    window.numbers = nacre_tool_flag(args, "line_numbers", false);
    file.path = nacre_tool_path(nacre_tool_text(args, "path", ""));
    file.fd = nacre_tool_open_file(file.path, &info);
    file.size = (uint64_t)info.st_size;
    nacre_tool_set("path", nacre_json_text(file.path));
    nacre_tool_set("bytes", nacre_json_number(info.st_size));
    file.count = read_some(file.fd, file.path, file.bytes, sizeof file.bytes);
    show(&file, &window, nacre_tool_flag(args, "image", false));
    return nacre_tool_answer();
}
