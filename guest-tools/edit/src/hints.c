/* edit: why a text was not found, or found too often, told so that the next try hits. */
#include <string.h>

#include "edit.h"

#define NEEDLE_BYTES_MAX 512
#define SHOWN_LINES_MAX 8
#define SHOWN_LINE_BYTES_MAX 200
#define SHOWN_PLACES_MAX 10

size_t line_of(struct span file, size_t at)
{
    const char *bytes = file.bytes, *end = file.bytes + at;
    size_t line = 1;

    while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes)))) {
        line++;
        bytes++;
    }
    return line;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static struct span trimmed(struct span text)
{
    while (text.count > 0 && is_blank(text.bytes[0])) {
        text.bytes++;
        text.count--;
    }
    while (text.count > 0 && is_blank(text.bytes[text.count - 1]))
        text.count--;
    return text;
}

/* Takes the next line off; its newline is gone. */
static bool next_line(struct span *rest, struct span *ret_line)
{
    const char *newline;

    if (rest->count == 0)
        return false;
    newline = memchr(rest->bytes, '\n', rest->count);
    ret_line->bytes = rest->bytes;
    ret_line->count = newline ? (size_t)(newline - rest->bytes) : rest->count;
    rest->bytes += ret_line->count + (newline != NULL);
    rest->count -= ret_line->count + (newline != NULL);
    return true;
}

/* How many bytes of the needle a line has at its start and its end. */
static size_t likeness(struct span needle, struct span line)
{
    size_t least = needle.count < line.count ? needle.count : line.count;
    size_t front = 0, back = 0;

    while (front < least && needle.bytes[front] == line.bytes[front])
        front++;
    while (back < least - front &&
           needle.bytes[needle.count - 1 - back] == line.bytes[line.count - 1 - back])
        back++;
    return front + back;
}

/* The line most like the first of the text that has anything on it; 0: none is. */
static size_t nearest(struct span file, struct span text, struct span *ret_from)
{
    struct span needle = { 0 }, line, rest = text;
    size_t number = 0, best = 0, best_line = 0, skipped = 0;

    while (next_line(&rest, &line)) {
        needle = trimmed(line);
        if (needle.count > 0)
            break;
        skipped++;
    }
    if (needle.count == 0)
        return 0;
    if (needle.count > NEEDLE_BYTES_MAX)
        needle.count = NEEDLE_BYTES_MAX;
    for (rest = file; next_line(&rest, &line);) {
        size_t like = likeness(needle, trimmed(line));

        number++;
        if (like > best) {
            best = like;
            best_line = number;
            ret_from->bytes = line.bytes;
            ret_from->count = (size_t)(file.bytes + file.count - line.bytes);
        }
    }
    return best * 2 >= needle.count ? best_line : 0;
}

static size_t lines_in(struct span text)
{
    struct span line;
    size_t lines = 0;

    while (next_line(&text, &line))
        lines++;
    return lines;
}

static void add_lines(struct nacre_text *out, struct span from, size_t lines)
{
    struct span line;

    if (lines > SHOWN_LINES_MAX)
        lines = SHOWN_LINES_MAX;
    while (lines-- > 0 && next_line(&from, &line)) {
        bool cut = line.count > SHOWN_LINE_BYTES_MAX;

        nacre_text_add_shown(out, line.bytes, cut ? SHOWN_LINE_BYTES_MAX : line.count);
        nacre_text_addf(out, cut ? " ...\n" : "\n");
    }
}

static const char *which(size_t number)
{
    struct nacre_text text = { 0 };

    if (number == 0)
        return "old_text";
    nacre_text_addf(&text, "old_text of edit %zu", number);
    return text.bytes;
}

void fail_no_match(struct span file, const struct edit *edit, size_t number,
                   const char *path)
{
    struct span from = { 0 };
    size_t line = nearest(file, edit->old_text, &from);
    struct nacre_text out = { 0 };

    nacre_text_addf(&out, "%s is not in ", which(number));
    nacre_text_add_shown(&out, path, strlen(path));
    nacre_text_addf(&out, "; nothing was changed. It has to match exactly. ");
    if (line > 0) {
        nacre_text_addf(&out, "The nearest is line %zu, where the file has:\n", line);
        add_lines(&out, from, lines_in(edit->old_text));
        nacre_tool_set("nearest_line", nacre_json_number((int64_t)line));
    } else {
        nacre_text_addf(&out, "Nothing in the file is like it: read the file first.");
    }
    nacre_tool_fail("no-match", "%s", out.bytes);
}

void fail_not_unique(struct span file, const struct edit *edit, size_t number,
                     const char *path)
{
    struct nacre_text out = { 0 };
    size_t at = 0, line = 1, count = 0;
    const char *found;

    nacre_text_addf(&out, "%s is there more than once in ", which(number));
    nacre_text_add_shown(&out, path, strlen(path));
    nacre_text_addf(&out, "; nothing was changed. It begins in line");
    while ((found = memmem(file.bytes + at, file.count - at, edit->old_text.bytes,
                           edit->old_text.count))) {
        size_t next = (size_t)(found - file.bytes);

        if (count++ == SHOWN_PLACES_MAX) {
            nacre_text_addf(&out, " and more");
            break;
        }
        line += line_of((struct span){ file.bytes + at, file.count - at }, next - at) - 1;
        nacre_text_addf(&out, count > 1 ? ", %zu" : " %zu", line);
        line += *found == '\n';
        at = next + 1;
    }
    nacre_text_addf(&out, ". Take in lines around it until it is unique, or ask for %s.",
                    number > 0 ? "all" : "replace_all");
    nacre_tool_fail("not-unique", "%s", out.bytes);
}
