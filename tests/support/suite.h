#ifndef SUITE_H
#define SUITE_H

#include "nacre/buf.h"

/* Tests that are files: each input has what is expected of it beside it, in a file of the
 * same name that ends in ".expect".  Whatever is wrong ends the cmocka test. */

/* With a terminator behind the bytes. */
void suite_read(const char *path, struct nacre_buf *buf);

/* The file of the same name that ends in `extension`. */
void suite_read_beside(const char *path, const char *extension, struct nacre_buf *buf);

/* Calls `each` with the path of every file of `directory` that ends in `extension`, in the
 * order of their names; returns how many there were. */
int suite_each(const char *directory, const char *extension,
               void (*each)(void *data, const char *path), void *data);

/* `found` is, to the byte, what the .expect of `path` says. */
void suite_expect(const char *path, const char *found);

#endif
