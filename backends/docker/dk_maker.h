#ifndef DK_MAKER_H
#define DK_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * A program of the host's whose output is wanted, with all that it starts: none of it
 * outlives the thread that started it, however that ends.
 */
struct dk_maker {
    pid_t pid; /* of the process that watches over it; 0: none */
    int out_fd, errors_fd;
};
#define DK_MAKER_NONE { .out_fd = -1, .errors_fd = -1 }

/* NACRE_ERR_NOT_FOUND: there is no such program.  `words` end with NULL. */
NACRE_MUST_CHECK enum nacre_status dk_maker_start(const char *const *words,
                                                  struct dk_maker *ret_maker,
                                                  struct nacre_error *err);

/* Has it ended within `ms`?  As waitpid() tells it; else it is still there. */
bool dk_maker_has_ended(struct dk_maker *maker, uint32_t ms, int *ret_status);

/* Ends it, and waits for that. */
void dk_maker_end(struct dk_maker *maker);

#endif
