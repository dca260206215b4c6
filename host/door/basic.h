#ifndef DOOR_BASIC_H
#define DOOR_BASIC_H

#include <stddef.h>

#include "locked.h"

/* "Basic <base64>", the value of an Authorization field: false when it is not one, or not
 * well formed.  Appends what is in it. */
bool door_basic_read(const char *value, size_t count, struct door_locked *out);

/* Appends "Basic " and `bytes` in base64. */
bool door_basic_write(const char *bytes, size_t count, struct door_locked *out);

#endif
