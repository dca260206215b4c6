#ifndef NACRE_NATIVE_USER_H
#define NACRE_NATIVE_USER_H

#include <stdint.h>

#include "mounts.h"
#include "nacre/error.h"

/*
 * Whom a native sandbox runs as.  Never the host's uid 0: root's sandboxes run as an
 * ordinary user, everybody else's as themselves.
 */
#define NT_ORDINARY_ID 1000

struct nt_user {
    uint32_t uid, gid;
};

/* `text` is "UID" or "UID:GID" in digits, or NULL for the rule above.
 * NACRE_ERR_UNAVAILABLE for what is neither, and for an id that this process may not
 * hand out. */
NACRE_MUST_CHECK enum nacre_status nt_user_find(const char *text, struct nt_user *ret_user,
                                                struct nacre_error *err);

/* As the kernel would judge it (R_OK, W_OK, X_OK), of what `fd` holds: is that `user`'s
 * to do? */
bool nt_user_may(const struct nt_user *user, int fd, int mode);

/* Every directory of the host that the plan lets a guest write: can `user` do so?
 * NACRE_ERR_NOT_RUNNABLE names the one that it can't, and what to do. */
NACRE_MUST_CHECK enum nacre_status nt_user_check(const struct nt_user *user,
                                                 const struct nacre_open_mounts *mounts,
                                                 struct nacre_error *err);

#endif
