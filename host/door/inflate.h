#ifndef DOOR_INFLATE_H
#define DOOR_INFLATE_H

#include "head.h"

/*
 * What a tool sends compressed (git does) as its server would read it: only so can it be
 * scanned.  Pure.  Appends to `out`; TOO_BIG when that is full.  One gzip member and
 * nothing behind it: of more, readers make different things.
 */
enum door_body_is door_inflate(const void *bytes, size_t count, struct nacre_buf *out);

#endif
