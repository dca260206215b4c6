#ifndef NACRE_TEST_DIFF_APPLY_H
#define NACRE_TEST_DIFF_APPLY_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a unified diff of printable text makes of `before`, by the letter: every line that
 * it says was there must be there, in the place that it says.  Into `ret_after`, which has
 * room; -1 when it does not fit.  *ret_changes counts its + and - lines.
 */
static inline long diff_apply(const char *diff, const char *before, size_t before_count,
                              char *ret_after, size_t *ret_changes)
{
    const char *at = before, *end = before + before_count;
    char *out = ret_after;
    long line = 1, out_line = 1, was = 0, is = 0, from, to;

    *ret_changes = 0;
    for (int head = 0; head < 2; head++) {
        diff = strchr(diff, '\n');
        if (!diff++)
            return -1;
    }
    while (*diff) {
        const char *newline = strchr(diff, '\n');
        size_t count;
        int missing;

        if (!newline)
            return -1;
        if (was == 0 && is == 0) {
            if (sscanf(diff, "@@ -%ld,%ld +%ld,%ld @@", &from, &was, &to, &is) != 4)
                return -1;
            from += was == 0;
            to += is == 0;
            for (; line < from; line++, out_line++) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));

                if (!stop)
                    return -1;
                memcpy(out, at, (size_t)(stop - at) + 1);
                out += stop - at + 1;
                at = stop + 1;
            }
            if (out_line != to)
                return -1;
            diff = newline + 1;
            continue;
        }
        missing = newline[1] == '\\';
        count = (size_t)(newline - diff) - !!missing;
        if (*diff != '+') {
            if ((size_t)(end - at) < count || memcmp(at, diff + 1, count - !missing) != 0)
                return -1;
            if (missing ? at + count != end : at[count - 1] != '\n')
                return -1;
            at += count;
            line++;
            was--;
        }
        if (*diff != '-') {
            memcpy(out, diff + 1, count);
            out += count;
            out_line++;
            is--;
        }
        *ret_changes += *diff != ' ';
        diff = missing ? strchr(newline + 1, '\n') + 1 : newline + 1;
    }
    if (was != 0 || is != 0)
        return -1;
    memcpy(out, at, (size_t)(end - at));
    return out + (end - at) - ret_after;
}

#endif
