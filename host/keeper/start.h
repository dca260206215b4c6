#ifndef NACRE_KEEPER_START_H
#define NACRE_KEEPER_START_H

#include <stdbool.h>

#include "nacre/error.h"

/*
 * Connected to the keeper of `state_dir`; one is started when there is none, from
 * `program`, and told of `host_file` if that is not NULL.  Two that start one at the same
 * time meet at the same: the second finds the lock taken and leaves.  One of another
 * version is told to leave, which it does when no command runs; else
 * NACRE_ERR_UNAVAILABLE.
 */
NACRE_MUST_CHECK enum nacre_status keeper_reach(const char *state_dir,
                                                const char *program,
                                                const char *host_file, int *ret_socket,
                                                struct nacre_error *err);

/* Tells the keeper at `socket` to leave; *ret_leaving false: it is busy, and stays. */
NACRE_MUST_CHECK enum nacre_status keeper_dismiss(int socket, const char *when,
                                                  bool *ret_leaving,
                                                  struct nacre_error *err);

#endif
