#ifndef NACRE_BUF_H
#define NACRE_BUF_H

#include <stddef.h>

#include "nacre/error.h"

/*
 * Bytes that grow, up to a limit fixed at birth.  Everything a guest can make
 * us store goes into one of these: there is no unbounded variant.
 *
 * Invariants: size <= size_max <= NACRE_BUF_LIMIT_MAX; bytes is NULL if and only
 * if nothing was ever added; otherwise bytes[size] is '\0'.
 */
struct nacre_buf {
    char *bytes;
    size_t size;
    size_t size_max;
    size_t allocated; /* private */
};

#define NACRE_BUF(limit) { .size_max = (limit) }
#define NACRE_BUF_LIMIT_MAX ((size_t)1 << 30)

/* Append all `count` bytes or, on failure, none of them. */
NACRE_MUST_CHECK enum nacre_status nacre_buf_add(struct nacre_buf *buf, const void *bytes,
                                                 size_t count, struct nacre_error *err);

/* The same for formatted text. */
NACRE_MUST_CHECK enum nacre_status nacre_buf_addf(struct nacre_buf *buf,
                                                  struct nacre_error *err,
                                                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for `count` more at once: what is added then leaves no copy behind by growing. */
NACRE_MUST_CHECK enum nacre_status nacre_buf_reserve(struct nacre_buf *buf, size_t count,
                                                     struct nacre_error *err);

/* Read `fd` to its end.  NACRE_ERR_TOO_BIG when it holds more than the limit. */
NACRE_MUST_CHECK enum nacre_status nacre_buf_read(struct nacre_buf *buf, int fd,
                                                  struct nacre_error *err);

/* Free the content; `buf` is empty and usable again, with the same limit. */
void nacre_buf_clear(struct nacre_buf *buf);

#endif
