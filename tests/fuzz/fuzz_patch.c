/*
 * A file and, behind a NUL, a patch: what is read holds together, what is applied has as
 * many lines as it tells, and a refusal is a sentence of UTF-8 with a code.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fault(const struct patch_fault *fault)
{
    const char *at = fault->text.bytes;
    size_t left = fault->text.count, length;

    assert(fault->code && left > 0 && strlen(at) == left);
    for (; left > 0; at += length, left -= length) {
        length = nacre_utf8_length(at, left);
        /* A sentence is cut at its ceiling, wherever that is. */
        assert(length > 0 || fault->text.count - left > 2000);
        if (length == 0)
            break;
    }
}

static size_t lines_of(const char *bytes, size_t count)
{
    struct patch_text text;

    assert(patch_split(bytes, count, &text));
    return text.count;
}

static void check_file(const struct patch_file *file, const char *before, size_t count)
{
    struct nacre_text after = { 0 };
    struct patch_stats stats = { 0 };
    struct patch_fault fault = { 0 };

    assert(file->path && file->path[0]);
    assert(file->op == PATCH_UPDATE || !file->move_to);
    for (size_t i = 0; i < file->hunk_count; i++)
        for (size_t line = 0; line < file->hunks[i].line_count; line++)
            assert(memchr(" +-", file->hunks[i].lines[line].sign, 3) &&
                   !memchr(file->hunks[i].lines[line].text, '\n',
                           file->hunks[i].lines[line].length));
    if (file->op == PATCH_ADD)
        count = 0;
    if (!patch_apply(file, before, count, &after, &stats, &fault)) {
        check_fault(&fault);
        return;
    }
    assert(lines_of(after.bytes, after.count) + stats.removed ==
           lines_of(before, count) + stats.added);
    if (file->hunk_count == 0)
        assert(after.count == count &&
               (count == 0 || memcmp(after.bytes, before, count) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    const char *stop = size > 0 ? memchr(bytes, '\0', size) : NULL;
    size_t count = stop ? (size_t)(stop - bytes) : 0;
    const char *text = stop ? stop + 1 : bytes;
    struct patch_fault fault = { 0 };
    struct patch patch;

    if (!patch_read(text, size - (size_t)(text - bytes), &patch, &fault))
        check_fault(&fault);
    else
        for (size_t i = 0; i < patch.count; i++)
            check_file(&patch.files[i], bytes, count);
    nacre_arena_reset();
    return 0;
}
