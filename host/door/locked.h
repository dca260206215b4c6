#ifndef DOOR_LOCKED_H
#define DOOR_LOCKED_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that grow in locked memory and are wiped wherever they were: for whatever a
 * secret's value is put into.  Zeroed is an empty one. */
struct door_locked {
    char *bytes;
    size_t size;
    size_t room; /* private */
};

#define DOOR_LOCKED_MAX ((size_t)1 << 20)

/* All of them or, when memory can't be had or locked, none. */
bool door_locked_add(struct door_locked *locked, const void *bytes, size_t count);
void door_locked_clear(struct door_locked *locked);

#endif
