#ifndef NACRE_LOCKED_H
#define NACRE_LOCKED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Zeroed pages for keys and values: in no core dump, empty in a forked child, locked into
 * memory, and wiped when they are given back.
 */

/* NULL with errno; with `must_lock` also where RLIMIT_MEMLOCK leaves no room, else such
 * pages stay unlocked. */
void *nacre_locked_new(size_t size, bool must_lock);

/* Of a size given to nacre_locked_new(); accepts NULL. */
void nacre_locked_free(void *bytes, size_t size);

#endif
