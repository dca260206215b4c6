#ifndef NACRE_UNICODE_H
#define NACRE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of code points as ranges, and Unicode's properties as such sets. */

#define UNICODE_MAX 0x10ffffU

struct unicode_range {
    uint32_t low, high;
};

struct unicode_set {
    struct unicode_range *ranges;
    size_t count, room;
    bool no_memory; /* sticky: looked at once, in the end */
};

void unicode_set_add(struct unicode_set *set, uint32_t low, uint32_t high);
void unicode_set_sort(struct unicode_set *set);   /* in order, nothing twice */
void unicode_set_negate(struct unicode_set *set); /* sorts; leaves no surrogates in */
void unicode_set_fold(struct unicode_set *set);   /* and whatever differs by case */
void unicode_set_remove(struct unicode_set *set, uint32_t point); /* sorts */
void unicode_set_clear(struct unicode_set *set);

/* A general category such as L or Nd, or Any; false: there is none of that name. */
bool unicode_set_add_category(struct unicode_set *set, const char *name, size_t count);

/* One code point of UTF-8; its length, or 0 where the bytes are none. */
size_t unicode_decode(const char *bytes, size_t count, uint32_t *ret_point);
size_t unicode_encode(uint32_t point, uint8_t bytes[4]);

#endif
