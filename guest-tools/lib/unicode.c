#include "unicode.h"

#include <stdlib.h>
#include <string.h>

struct fold_run {
    uint32_t low, high;
    uint8_t step;
    int32_t delta; /* to the next that differs by case only; they form rings */
};

#include "unicode_tables.inc"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FOLD_RING_MAX 4

void unicode_set_add(struct unicode_set *set, uint32_t low, uint32_t high)
{
    if (set->count > 0 && set->ranges[set->count - 1].high + 1 == low) {
        set->ranges[set->count - 1].high = high;
        return;
    }
    if (set->count == set->room) {
        size_t room = set->room ? 2 * set->room : 8;
        struct unicode_range *ranges = realloc(set->ranges, room * sizeof(*ranges));

        if (!ranges) {
            set->no_memory = true;
            return;
        }
        set->ranges = ranges;
        set->room = room;
    }
    set->ranges[set->count++] = (struct unicode_range){ low, high };
}

void unicode_set_clear(struct unicode_set *set)
{
    free(set->ranges);
    *set = (struct unicode_set){ 0 };
}

static int compare(const void *one, const void *other)
{
    const struct unicode_range *a = one, *b = other;

    return a->low < b->low ? -1 : a->low > b->low;
}

void unicode_set_sort(struct unicode_set *set)
{
    size_t kept = 0;

    if (set->count == 0)
        return;
    qsort(set->ranges, set->count, sizeof(set->ranges[0]), compare);
    for (size_t i = 1; i < set->count; i++) {
        struct unicode_range *last = &set->ranges[kept], *range = &set->ranges[i];

        if (range->low > last->high + 1)
            set->ranges[++kept] = *range;
        else if (range->high > last->high)
            last->high = range->high;
    }
    set->count = kept + 1;
}

/* Surrogates are no characters and have no UTF-8. */
static void add_without_surrogates(struct unicode_set *set, uint32_t low, uint32_t high)
{
    if (low < 0xd800 && high >= 0xd800) {
        unicode_set_add(set, low, 0xd7ff);
        low = 0xd800;
    }
    if (low >= 0xd800 && low < 0xe000)
        low = 0xe000;
    if (low <= high && !(high >= 0xd800 && high < 0xe000))
        unicode_set_add(set, low, high);
}

void unicode_set_negate(struct unicode_set *set)
{
    struct unicode_set out = { .no_memory = set->no_memory };
    uint32_t next = 0;

    unicode_set_sort(set);
    for (size_t i = 0; i < set->count; i++) {
        if (set->ranges[i].low > next)
            add_without_surrogates(&out, next, set->ranges[i].low - 1);
        next = set->ranges[i].high + 1;
    }
    if (next <= UNICODE_MAX)
        add_without_surrogates(&out, next, UNICODE_MAX);
    free(set->ranges);
    *set = out;
}

void unicode_set_remove(struct unicode_set *set, uint32_t point)
{
    struct unicode_set out = { .no_memory = set->no_memory };

    unicode_set_sort(set);
    for (size_t i = 0; i < set->count; i++) {
        struct unicode_range range = set->ranges[i];

        if (point < range.low || point > range.high) {
            unicode_set_add(&out, range.low, range.high);
            continue;
        }
        if (range.low < point)
            unicode_set_add(&out, range.low, point - 1);
        if (range.high > point)
            unicode_set_add(&out, point + 1, range.high);
    }
    free(set->ranges);
    *set = out;
}

static void fold_range(struct unicode_set *set, struct unicode_range range)
{
    for (size_t i = 0; i < COUNT(fold_runs); i++) {
        const struct fold_run *run = &fold_runs[i];
        uint32_t low = range.low > run->low ? range.low : run->low;
        uint32_t high = range.high < run->high ? range.high : run->high;

        if (run->low > range.high)
            return;
        low += (low - run->low) % run->step;
        for (uint32_t point = low; point <= high; point += run->step) {
            uint32_t last = run->step == 1 ? high : point;

            unicode_set_add(set, (uint32_t)((int64_t)point + run->delta),
                            (uint32_t)((int64_t)last + run->delta));
            if (run->step == 1)
                break;
        }
    }
}

void unicode_set_fold(struct unicode_set *set)
{
    unicode_set_sort(set);
    for (int i = 0; i < FOLD_RING_MAX - 1; i++) {
        size_t count = set->count;

        for (size_t r = 0; r < count; r++)
            fold_range(set, set->ranges[r]);
        unicode_set_sort(set);
    }
}

static bool is_category(const char *have, const char *name, size_t count)
{
    if (count == 2 && name[1] == '&') /* L&: those that have case */
        return name[0] == 'L' && have[0] == 'L' &&
               (have[1] == 'l' || have[1] == 'u' || have[1] == 't');
    return memcmp(have, name, count) == 0;
}

bool unicode_set_add_category(struct unicode_set *set, const char *name, size_t count)
{
    bool known = false;

    if (count == 3 && memcmp(name, "Any", 3) == 0) {
        add_without_surrogates(set, 0, UNICODE_MAX);
        return true;
    }
    if (count < 1 || count > 2)
        return false;
    for (size_t i = 0; i < COUNT(unicode_names); i++)
        known |= is_category(unicode_names[i], name, count);
    for (size_t i = 0; known && i < COUNT(unicode_runs); i++) {
        uint32_t high = i + 1 < COUNT(unicode_runs) ? (unicode_runs[i + 1] >> 5) - 1
                                                    : UNICODE_MAX;

        if (is_category(unicode_names[unicode_runs[i] & 31], name, count))
            add_without_surrogates(set, unicode_runs[i] >> 5, high);
    }
    return known;
}

size_t unicode_decode(const char *bytes, size_t count, uint32_t *ret_point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t point;
    size_t length;

    if (count == 0)
        return 0;
    length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3
             : at[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > count)
        return 0;
    point = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[length] || point > UNICODE_MAX ||
        (point >= 0xd800 && point < 0xe000))
        return 0;
    *ret_point = point;
    return length;
}

size_t unicode_encode(uint32_t point, uint8_t bytes[4])
{
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = 0x80 | (point & 0x3f);
        point >>= 6;
    }
    bytes[0] = (uint8_t)(lead[length] | point);
    return length;
}
