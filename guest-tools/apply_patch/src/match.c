/*
 * Lines among lines.  Hashes of lines are compared instead of lines, and a match is
 * verified by its bytes: a file of a million equal lines costs no more than another, and
 * two lines with one hash do no harm.
 */
#include <string.h>

#include "patch.h"

bool patch_split(const char *bytes, size_t count, struct patch_text *ret_text)
{
    struct patch_text text = { 0 };
    const char *at = count > 0 ? bytes : "", *start = at, *end = at + count, *stop;

    for (; at < end; at = stop ? stop + 1 : end, text.count++)
        stop = memchr(at, '\n', (size_t)(end - at));
    if (text.count > PATCH_LINES_MAX)
        return false;
    text.lines = nacre_arena((text.count + 1) * sizeof(*text.lines));
    at = start;
    for (size_t i = 0; i < text.count; i++, at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        text.lines[i] = (struct patch_line){ .text = at, .unended = !stop };
        stop = stop ? stop : end;
        text.lines[i].length = (size_t)(stop - at);
        if (text.lines[i].length > text.longest)
            text.longest = text.lines[i].length;
    }
    *ret_text = text;
    return true;
}

/* What a typographic sign at `at` stands for; *ret_size is how long it is.  0: none. */
static char folded(const unsigned char *at, size_t size, size_t *ret_size)
{
    *ret_size = 3;
    if (size >= 2 && at[0] == 0xc2 && at[1] == 0xa0) {
        *ret_size = 2;
        return ' ';
    }
    if (size < 3)
        return 0;
    if (at[0] == 0xe2 && at[1] == 0x80) {
        if (at[2] >= 0x90 && at[2] <= 0x95)
            return '-';
        if (at[2] >= 0x98 && at[2] <= 0x9b)
            return '\'';
        if (at[2] >= 0x9c && at[2] <= 0x9f)
            return '"';
        return (at[2] >= 0x82 && at[2] <= 0x8a) || at[2] == 0xaf ? ' ' : 0;
    }
    if (at[0] == 0xe2 && at[1] == 0x88 && at[2] == 0x92)
        return '-';
    return (at[0] == 0xe2 && at[1] == 0x81 && at[2] == 0x9f) ||
                   (at[0] == 0xe3 && at[1] == 0x80 && at[2] == 0x80) ? ' ' : 0;
}

/* `line` as `fit` sees it, in `to`, which is as long at least; the length of that. */
static size_t normal(const struct patch_line *line, enum patch_fit fit, char *to)
{
    const unsigned char *bytes = (const unsigned char *)line->text;
    size_t length = 0, at = 0, size;
    char sign;

    if (fit == PATCH_FIT_EXACT || line->length == 0) {
        if (line->length > 0)
            memcpy(to, line->text, line->length);
        return line->length;
    }
    while (at < line->length) {
        sign = fit == PATCH_FIT_SPACE || bytes[at] < 0xc2
                   ? 0 : folded(bytes + at, line->length - at, &size);
        if (!sign) {
            sign = (char)bytes[at];
            size = 1;
        }
        at += size;
        if (fit != PATCH_FIT_ANCHOR || length > 0 || !patch_blank(sign))
            to[length++] = sign;
    }
    while (length > 0 && patch_blank(to[length - 1]))
        length--;
    return length;
}

static void hash_lines(struct patch_text *text, enum patch_fit fit)
{
    char *scratch;

    if (!text->scratch)
        text->scratch = nacre_arena(text->longest + 1);
    if (text->hashes[fit])
        return;
    scratch = text->scratch;
    text->hashes[fit] = nacre_arena((text->count + 1) * sizeof(uint64_t));
    for (size_t i = 0; i < text->count; i++) {
        size_t length = normal(&text->lines[i], fit, scratch);
        uint64_t hash = 0xcbf29ce484222325;

        for (size_t at = 0; at < length; at++)
            hash = (hash ^ (unsigned char)scratch[at]) * 0x100000001b3;
        text->hashes[fit][i] = hash;
    }
}

static bool stands_at(const struct patch_search *search, size_t place)
{
    char *one = search->text->scratch, *other = search->wanted.scratch;

    for (size_t i = 0; i < search->wanted.count; i++) {
        size_t length = normal(&search->text->lines[place + i], search->fit, one);

        if (length != normal(&search->wanted.lines[i], search->fit, other) ||
            memcmp(one, other, length) != 0)
            return false;
    }
    return true;
}

static void add_place(struct patch_places *places, size_t place)
{
    if (places->count == places->room) {
        size_t room = places->room ? places->room * 2 : 16;

        places->at = places->room
                         ? nacre_arena_grow(places->at, places->room * sizeof(size_t),
                                            room * sizeof(size_t))
                         : nacre_arena(room * sizeof(size_t));
        places->room = room;
    }
    places->at[places->count++] = place;
}

/* Knuth, Morris and Pratt's: the longest border of each prefix. */
static size_t *borders(const uint64_t *wanted, size_t count)
{
    size_t *border = nacre_arena((count + 1) * sizeof(size_t)), length = 0;

    border[0] = 0;
    for (size_t i = 1; i < count; i++) {
        while (length > 0 && wanted[i] != wanted[length])
            length = border[length - 1];
        length += wanted[i] == wanted[length];
        border[i] = length;
    }
    return border;
}

void patch_find(struct patch_search *search, struct patch_places *places)
{
    struct patch_text *text = search->text, *wanted = &search->wanted;
    const uint64_t *lines, *goal;
    size_t *border, length = 0;

    hash_lines(text, search->fit);
    hash_lines(wanted, search->fit);
    lines = text->hashes[search->fit];
    goal = wanted->hashes[search->fit];
    border = borders(goal, wanted->count);
    places->count = 0;
    search->reach = 0;
    for (size_t i = search->start; i < text->count; i++) {
        if (length == wanted->count)
            length = border[length - 1];
        while (length > 0 && lines[i] != goal[length])
            length = border[length - 1];
        length += lines[i] == goal[length];
        if (length > search->reach) {
            search->reach = length;
            search->reach_at = i + 1 - length;
        }
        if (length == wanted->count && stands_at(search, i + 1 - length))
            add_place(places, i + 1 - length);
    }
}
