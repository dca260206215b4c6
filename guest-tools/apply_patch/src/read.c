/*
 * What both formats of a patch share.  The patch is hostile: all that is trusted is that
 * it is `count` bytes long.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "patch.h"

#define SHOWN_BYTES_MAX 120

bool patch_fail(struct patch_fault *fault, const char *code, const char *format, ...)
{
    char text[2048];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (length < 0)
        length = 0;
    fault->code = code;
    fault->text = (struct nacre_text){ 0 };
    nacre_text_add(&fault->text, text,
                   (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
    return false;
}

const char *patch_shown(const char *text, size_t length)
{
    struct nacre_text shown = { 0 };
    bool is_cut = length > SHOWN_BYTES_MAX;

    if (is_cut)
        for (length = SHOWN_BYTES_MAX; length > SHOWN_BYTES_MAX - 3; length--)
            if (((unsigned char)text[length] & 0xc0) != 0x80)
                break;
    nacre_text_add(&shown, "\"", 1);
    nacre_text_add_shown(&shown, text, length);
    nacre_text_add(&shown, is_cut ? "...\"" : "\"", is_cut ? 4 : 1);
    return shown.bytes;
}

static size_t line_end(const struct patch_reader *reader)
{
    const char *end = memchr(reader->bytes + reader->at, '\n',
                             reader->count - reader->at);

    return end ? (size_t)(end - reader->bytes) : reader->count;
}

bool patch_peek(const struct patch_reader *reader, struct patch_line *ret_line)
{
    if (reader->at >= reader->count)
        return false;
    *ret_line = (struct patch_line){
        .text = reader->bytes + reader->at,
        .length = line_end(reader) - reader->at,
    };
    return true;
}

void patch_skip(struct patch_reader *reader)
{
    size_t end = line_end(reader);

    reader->at = end < reader->count ? end + 1 : end;
    reader->number++;
}

bool patch_starts(const struct patch_line *line, const char *prefix)
{
    size_t length = strlen(prefix);

    return line->length >= length && memcmp(line->text, prefix, length) == 0;
}

bool patch_is(const struct patch_line *line, const char *text)
{
    size_t length = strlen(text);

    if (!patch_starts(line, text))
        return false;
    for (; length < line->length; length++)
        if (!patch_blank(line->text[length]))
            return false;
    return true;
}

/* One more of a list that doubles. */
static void *grow(void *list, size_t count, size_t size)
{
    if (count == 0)
        return nacre_arena(size * 4);
    if (count < 4 || (count & (count - 1)) != 0)
        return list;
    return nacre_arena_grow(list, count * size, count * 2 * size);
}

struct patch_file *patch_add_file(struct patch_reader *reader, enum patch_op op)
{
    struct patch *patch = reader->patch;

    if (patch->count == PATCH_FILES_MAX) {
        (void)patch_fail(reader->fault, "too-large",
                         "line %zu: more than %d files in one patch; split it",
                         reader->number, PATCH_FILES_MAX);
        return NULL;
    }
    patch->files = grow(patch->files, patch->count, sizeof(*patch->files));
    patch->files[patch->count] = (struct patch_file){ .op = op, .from = reader->number };
    return &patch->files[patch->count++];
}

struct patch_hunk *patch_add_hunk(struct patch_reader *reader, struct patch_file *file)
{
    if (file->hunk_count == PATCH_HUNKS_MAX) {
        (void)patch_fail(reader->fault, "too-large",
                         "line %zu: more than %d hunks for one file; write it as a whole",
                         reader->number, PATCH_HUNKS_MAX);
        return NULL;
    }
    file->hunks = grow(file->hunks, file->hunk_count, sizeof(*file->hunks));
    file->hunks[file->hunk_count] = (struct patch_hunk){ .from = reader->number };
    return &file->hunks[file->hunk_count++];
}

void patch_add_line(struct patch_hunk *hunk, const struct patch_line *line)
{
    hunk->lines = grow(hunk->lines, hunk->line_count, sizeof(*hunk->lines));
    hunk->lines[hunk->line_count++] = *line;
}

void patch_add_anchor(struct patch_hunk *hunk, const struct patch_line *line)
{
    hunk->anchors = grow(hunk->anchors, hunk->anchor_count, sizeof(*hunk->anchors));
    hunk->anchors[hunk->anchor_count++] = *line;
}

static bool read_number(const char **at, const char *end, size_t *ret_number)
{
    size_t number = 0;
    const char *from = *at;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        number = number * 10 + (size_t)(**at - '0');
        if (number > PATCH_FILE_BYTES_MAX)
            return false;
    }
    *ret_number = number;
    return *at > from;
}

static bool read_range(const char **at, const char *end, char sign, size_t ret_range[2])
{
    if (*at == end || *(*at)++ != sign || !read_number(at, end, &ret_range[0]))
        return false;
    ret_range[1] = 1;
    if (*at < end && **at == ',') {
        ++*at;
        return read_number(at, end, &ret_range[1]);
    }
    return true;
}

bool patch_ranges(const char *text, size_t length, size_t ret_ranges[4])
{
    const char *at = text, *end = text + length;

    if (!read_range(&at, end, '-', ret_ranges) || at == end || *at++ != ' ' ||
        !read_range(&at, end, '+', ret_ranges + 2))
        return false;
    return end - at >= 3 && memcmp(at, " @@", 3) == 0;
}

bool patch_read(const char *bytes, size_t count, struct patch *ret_patch,
                struct patch_fault *fault)
{
    struct patch_reader reader = {
        .bytes = bytes, .count = count, .number = 1, .patch = ret_patch, .fault = fault,
    };
    struct patch_line line;

    *ret_patch = (struct patch){ 0 };
    if (count > PATCH_BYTES_MAX)
        return patch_fail(fault, "too-large", "the patch has %zu bytes, the most is %zu",
                          count, PATCH_BYTES_MAX);
    while (patch_peek(&reader, &line) && patch_is(&line, ""))
        patch_skip(&reader);
    if (reader.at >= count)
        return patch_fail(fault, "bad-patch", "the patch is empty");
    if (!(patch_is(&line, "*** Begin Patch") ? patch_read_envelope : patch_read_unified)(
            &reader))
        return false;
    if (ret_patch->count == 0)
        return patch_fail(fault, "bad-patch", "the patch changes no file");
    return true;
}
