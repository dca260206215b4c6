#ifndef NACRE_SECRETS_LOCKED_H
#define NACRE_SECRETS_LOCKED_H

#include <stddef.h>

#include "nacre/error.h"

/*
 * Pages for keys and values: locked into memory, left out of core dumps, empty in a
 * forked child (workers are forked from this process), and wiped before they are given
 * back.
 */
struct locked {
    unsigned char *bytes; /* zeroed at first; NULL: none */
    size_t size;          /* whole pages */
};

/* NACRE_ERR_UNAVAILABLE where RLIMIT_MEMLOCK leaves no room: nothing is kept unlocked. */
NACRE_MUST_CHECK enum nacre_status locked_new(size_t size, struct locked *ret_locked,
                                              struct nacre_error *err);
void locked_clear(struct locked *locked);

#endif
