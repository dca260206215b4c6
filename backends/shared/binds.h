#ifndef NACRE_NATIVE_BINDS_H
#define NACRE_NATIVE_BINDS_H

#include "mounts.h"
#include "nacre/executor.h"

/*
 * The second look at the plan's mounts (nacre/binds.h): by what the opened directories
 * really are.  A name may be a link, put there by whoever could write beside it, a guest
 * of an earlier run among them.  The host's whole tree of mode full is not asked about.
 *
 * The caller's home (HOME's or, without one, the password file's) and the engine that the
 * environment or the options name are looked for here, and only if there is a mount to be
 * judged.
 * NACRE_ERR_NOT_RUNNABLE names the mount and what it really is.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_binds_check(const struct nacre_open_mounts *mounts,
                  const struct nacre_executor_options *options, struct nacre_error *err);

#endif
