/*
 * The lines of one file.  What is in it is anybody's: bytes that are no text, a line of
 * gigabytes.  The file goes through a buffer in pieces that end at a line's end; a line
 * that does not fit the largest buffer is left out and told.
 */
#include "search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

#include "choice.h"
#include "scan.h"
#include "walk.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define BUFFER_BYTES_MAX ((size_t)16 << 20)
#define BINARY_BYTES ((size_t)64 << 10) /* a NUL in these, and it is no text */
#define SHOWN_BYTES_MAX 500             /* of a line */
#define BOUNDS_WORK_MAX ((uint64_t)1 << 24) /* bytes times instructions */

struct piece {
    struct search *search;
    const char *path;
    size_t path_count;
    struct nacre_text shown_path; /* made when first needed */
    int fd;
    const uint8_t *bytes;
    size_t count;        /* in the buffer */
    size_t end;          /* of the lines that are whole */
    size_t from;         /* where the search goes on */
    bool ended;          /* the file */
    size_t number, counted_to; /* of lines before counted_to */
    size_t printed_to, behind_left;
    size_t matches;
    bool any_printed;
    bool has_gap;  /* lines that were not shown have left the buffer */
    bool skipping; /* a line that is too long */
};

static bool fill(struct piece *piece)
{
    struct search *search = piece->search;
    size_t wanted = search->room - piece->count;
    __wasi_iovec_t part = { .buf = (uint8_t *)search->buffer + piece->count,
                            .buf_len = wanted };
    __wasi_size_t got;
    __wasi_errno_t error = __wasi_fd_read(piece->fd, &part, 1, &got);

    errno = error;
    if (error != __WASI_ERRNO_SUCCESS)
        return false;
    search->bytes += got;
    piece->count += got;
    piece->ended = got < wanted; /* regular files give all there is */
    return true;
}

/* ---- what is shown ---- */

static void show_path(struct piece *piece)
{
    if (piece->shown_path.count == 0)
        choice_show_path(&piece->shown_path, piece->search->prefix, piece->path,
                         piece->path_count);
}

static void count_lines(struct piece *piece, size_t to)
{
    piece->number += scan_count(piece->bytes + piece->counted_to, to - piece->counted_to,
                                '\n');
    piece->counted_to = to;
}

static bool is_inside(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Of a long line the part around the match, cut between characters. */
static void show_part(struct piece *piece, size_t start, size_t end, size_t known_at,
                      bool is_match)
{
    struct nacre_text *text = nacre_tool_content();
    const uint8_t *bytes = piece->bytes;
    size_t first = start, found = start, found_end, last;

    if (is_match && known_at > start)
        found = known_at - 1 > start ? known_at - 1 : start;
    if (is_match &&
        (uint64_t)(end - start) * nacre_regex_size(piece->search->regex) <=
            BOUNDS_WORK_MAX &&
        nacre_regex_bounds(piece->search->regex, (const char *)bytes + start, end - start,
                           &found, &found_end))
        found += start;
    if (found - start > SHOWN_BYTES_MAX / 2)
        first = found - SHOWN_BYTES_MAX / 4;
    if (end - first < SHOWN_BYTES_MAX)
        first = end - SHOWN_BYTES_MAX;
    while (first < end && first > start && is_inside(bytes[first]))
        first++;
    last = end - first > SHOWN_BYTES_MAX ? first + SHOWN_BYTES_MAX : end;
    while (last > first && last < end && is_inside(bytes[last]))
        last--;
    if (first > start)
        nacre_text_addf(text, "[%zu bytes] ", first - start);
    nacre_text_add_shown(text, (const char *)bytes + first, last - first);
    if (last < end)
        nacre_text_addf(text, " [%zu bytes]", end - last);
}

/* printf() would cost more than finding the line did. */
static void add_number(struct nacre_text *text, size_t number)
{
    char digits[24];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    nacre_text_add(text, digits + at, sizeof(digits) - at);
}

static void show_line(struct piece *piece, size_t start, size_t end, size_t known_at,
                      bool is_match)
{
    struct nacre_text *text = nacre_tool_content();
    const struct search *search = piece->search;
    char mark = is_match ? ':' : '-';

    if (end > start && piece->bytes[end - 1] == '\r')
        end--;
    show_path(piece);
    nacre_text_add(text, piece->shown_path.bytes, piece->shown_path.count);
    if (search->line_numbers) {
        count_lines(piece, start);
        nacre_text_add(text, &mark, 1);
        add_number(text, piece->number + 1);
    }
    nacre_text_add(text, &mark, 1);
    if (end - start > SHOWN_BYTES_MAX)
        show_part(piece, start, end, known_at, is_match);
    else
        nacre_text_add_shown(text, (const char *)piece->bytes + start, end - start);
    nacre_text_add(text, "\n", 1);
    if (text->count > search->text_bytes_max)
        piece->search->is_cut = true;
}

/* Lines of context, up to `to`. */
static void show_behind(struct piece *piece, size_t to)
{
    while (piece->behind_left > 0 && piece->printed_to < to) {
        size_t end = scan_byte(piece->bytes, piece->count, piece->printed_to, '\n');

        show_line(piece, piece->printed_to, end, 0, false);
        piece->printed_to = end < piece->count ? end + 1 : end;
        piece->behind_left--;
    }
}

/* Where the `lines` lines before `at` begin, but nothing before `least`. */
static size_t lines_before(const struct piece *piece, size_t at, size_t lines,
                           size_t least)
{
    while (lines-- > 0 && at > least)
        at = scan_behind(piece->bytes, at - 1, '\n');
    return at > least ? at : least;
}

static void show_match(struct piece *piece, const struct nacre_regex_line *line)
{
    struct search *search = piece->search;
    bool has_context = search->before > 0 || search->behind > 0;
    size_t at;

    show_behind(piece, line->start);
    at = lines_before(piece, line->start, search->before, piece->printed_to);
    if (has_context && search->any_shown &&
        (!piece->any_printed || piece->has_gap || at > piece->printed_to))
        nacre_text_add(nacre_tool_content(), "--\n", 3);
    while (at < line->start) {
        size_t end = scan_byte(piece->bytes, piece->count, at, '\n');

        show_line(piece, at, end, 0, false);
        at = end + 1;
    }
    show_line(piece, line->start, line->end, line->known_at, true);
    piece->printed_to = line->end < piece->count ? line->end + 1 : line->end;
    piece->behind_left = search->behind;
    piece->any_printed = search->any_shown = true;
    piece->has_gap = false;
}

/* ---- searching ---- */

/* The whole lines of the buffer.  False: enough. */
static bool search_lines(struct piece *piece)
{
    struct search *search = piece->search;
    struct nacre_regex_line line;

    while (nacre_regex_next_line(search->regex, (const char *)piece->bytes, piece->end,
                                 piece->from, &line)) {
        piece->from = line.end + 1;
        if (search->mode != SEARCH_FILES && search->matches_left-- == 0) {
            search->matches_left = 0;
            search->is_cut = true;
            return false;
        }
        piece->matches++;
        if (search->mode == SEARCH_FILES)
            return false;
        if (search->mode == SEARCH_CONTENT)
            show_match(piece, &line);
        if (search->is_cut)
            return false;
    }
    return true;
}

/* What is still needed moves to the buffer's start. */
static void keep_rest(struct piece *piece)
{
    size_t keep = lines_before(piece, piece->end, piece->search->before,
                               piece->printed_to < piece->end ? piece->printed_to
                                                              : piece->end);

    show_behind(piece, piece->end);
    if (piece->search->line_numbers && piece->search->mode == SEARCH_CONTENT)
        count_lines(piece, keep > piece->counted_to ? keep : piece->counted_to);
    if (piece->counted_to < keep)
        piece->counted_to = keep;
    piece->has_gap |= keep > piece->printed_to;
    memmove(piece->search->buffer, piece->bytes + keep, piece->count - keep);
    piece->count -= keep;
    piece->counted_to -= keep;
    piece->printed_to = piece->printed_to > keep ? piece->printed_to - keep : 0;
    piece->from = piece->end - keep;
    piece->end = 0;
}

/* A line fills the buffer: a larger one, or its bytes are let go. */
static void make_room(struct piece *piece)
{
    struct search *search = piece->search;
    char *grown = NULL;

    if (!piece->skipping && search->room < BUFFER_BYTES_MAX)
        grown = realloc(search->buffer, 2 * search->room);
    if (grown) {
        search->buffer = grown;
        search->room *= 2;
    } else {
        search->long_lines += !piece->skipping;
        piece->skipping = true;
        piece->count = piece->from;
    }
    piece->bytes = (const uint8_t *)search->buffer;
}

static void find_end(struct piece *piece)
{
    if (piece->skipping) { /* the rest of a line that was let go */
        size_t newline = scan_byte(piece->bytes, piece->count, piece->from, '\n');

        if (newline == piece->count)
            return;
        piece->skipping = false;
        memmove(piece->search->buffer + piece->from, piece->bytes + newline + 1,
                piece->count - newline - 1);
        piece->count -= newline + 1 - piece->from;
        piece->number++;
    }
    piece->end = piece->ended ? piece->count
                              : scan_behind(piece->bytes, piece->count, '\n');
}

static bool is_binary(const struct piece *piece)
{
    size_t count = piece->count < BINARY_BYTES ? piece->count : BINARY_BYTES;

    return scan_byte(piece->bytes, count, 0, '\0') < count;
}

static void note_unread(struct search *search, const char *path, size_t path_count)
{
    if (search->unread++ > 0)
        return;
    search->unread_errno = errno;
    search->unread_path = strndup(path, path_count);
}

static void search_pieces(struct piece *piece)
{
    bool is_first = true;

    for (;;) {
        if (piece->count == piece->search->room)
            make_room(piece);
        if (!fill(piece)) {
            note_unread(piece->search, piece->path, piece->path_count);
            return;
        }
        if (is_first && is_binary(piece)) {
            piece->search->binary++;
            return;
        }
        is_first = false;
        find_end(piece);
        if (piece->end > piece->from) {
            if (!search_lines(piece))
                return;
            if (piece->ended) {
                show_behind(piece, piece->end);
                return;
            }
            keep_rest(piece);
        } else if (piece->ended) {
            return;
        }
    }
}

static void note_file(struct search *search, struct piece *piece)
{
    const struct nacre_text *path = &piece->shown_path;
    struct nacre_json *item;

    search->matches += piece->matches;
    search->files++;
    show_path(piece);
    if (search->mode == SEARCH_FILES)
        nacre_tool_say("%s\n", path->bytes);
    if (search->mode == SEARCH_COUNT)
        nacre_tool_say("%s:%zu\n", path->bytes, piece->matches);
    item = nacre_json_new(NACRE_JSON_OBJECT);
    nacre_json_set(item, "path", nacre_json_string(path->bytes, path->count));
    if (search->mode != SEARCH_FILES)
        nacre_json_set(item, "matches", nacre_json_number((int64_t)piece->matches));
    nacre_json_append(search->counts, item);
    if ((search->mode == SEARCH_FILES && --search->matches_left == 0) ||
        nacre_tool_content()->count > search->text_bytes_max)
        search->is_cut = true;
}

void search_open_file(struct search *search, int fd, const char *path, size_t path_count)
{
    struct piece piece = { .search = search, .fd = fd, .path = path,
                           .path_count = path_count };

    if (!search->buffer) {
        search->room = BUFFER_BYTES;
        search->buffer = malloc(search->room);
        if (!search->buffer)
            nacre_tool_fail("out-of-memory", "no memory for a buffer");
    }
    piece.bytes = (const uint8_t *)search->buffer;
    search->searched++;
    search_pieces(&piece);
    (void)__wasi_fd_close(fd);
    if (piece.matches > 0)
        note_file(search, &piece);
}

void search_file(struct search *search, int dir_fd, const char *name, const char *path,
                 size_t path_count)
{
    int fd = walk_open_file(dir_fd, name);

    if (fd < 0)
        note_unread(search, path, path_count);
    else
        search_open_file(search, fd, path, path_count);
}
