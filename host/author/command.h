#ifndef NACRE_AUTHOR_COMMAND_H
#define NACRE_AUTHOR_COMMAND_H

#include <stdbool.h>

#include "nacre/error.h"

/*
 * Runs a program of the author's toolchain, found in PATH, in `directory`; what it says
 * goes to stderr.  `environment` has "K=V" beside the caller's own; may be NULL.
 * NACRE_ERR_USAGE: it said no.  NACRE_ERR_TIMEOUT: it did not end.
 */
NACRE_MUST_CHECK enum nacre_status command_run(const char *const *argv,
                                               const char *directory,
                                               const char *const *environment,
                                               struct nacre_error *err);

/* Is there such a program in PATH? */
bool command_is_there(const char *name);

/* Does it run, and say that all is well?  Nothing that it prints is seen. */
bool command_succeeds(const char *const *argv);

#endif
