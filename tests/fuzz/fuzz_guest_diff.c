/*
 * Two texts, parted by a 0: the diff, taken by the letter, makes the second of the first.
 * Bytes become a few letters, so that lines are often alike.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "diff_apply.h"
#include "nacre_tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Longer lines are cut, and then the diff is for reading only. */
    size = size < 1900 ? size : 1900;
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t before_count = zero ? (size_t)(zero - data) : size, changes;
    size_t after_count = zero ? size - before_count - 1 : 0;
    char *before = malloc(size + 1), *after = before + before_count;
    char *made = malloc(size + 1);
    struct nacre_text out = { 0 };
    struct nacre_changes told;

    assert(before && made);
    for (size_t i = 0, at = 0; i < size; i++)
        if (i != before_count)
            before[at++] = data[i] % 3 == 0 ? '\n' : (char)('a' + data[i] % 4);
    told = nacre_tool_diff(&out, "f", before, before_count, after, after_count, 2 * size + 9);
    assert(diff_apply(out.bytes, before, before_count, made, &changes) == (long)after_count);
    assert(memcmp(made, after, after_count) == 0);
    assert(changes == told.added + told.removed);
    free(before);
    free(made);
    nacre_arena_reset();
    return 0;
}
