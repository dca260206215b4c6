#ifndef NACRE_NATIVE_BINDS_H
#define NACRE_NATIVE_BINDS_H

#include "mounts.h"

/*
 * The second look at the plan's mounts (nacre/binds.h): by what the opened directories
 * really are.  A name may be a link, put there by whoever could write beside it, a guest
 * of an earlier run among them.  The host's whole tree of mode full is not asked about.
 *
 * `home` is what nacre_binds_home() found.
 * NACRE_ERR_NOT_RUNNABLE names the mount and what it really is.
 */
NACRE_MUST_CHECK enum nacre_status nacre_binds_check(const struct nacre_open_mounts *mounts,
                                                  const char *home,
                                                  struct nacre_error *err);

/* The caller's home directory, links resolved: HOME's or, without one, the password
 * file's.  NULL where there is none.  To be freed. */
char *nacre_binds_home(void);

#endif
