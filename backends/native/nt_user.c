#include "nt_user.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nacre/text.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

enum nacre_status nt_user_find(const char *text, struct nt_user *ret_user,
                               struct nacre_error *err)
{
    struct nt_user user = { NT_ORDINARY_ID, NT_ORDINARY_ID };
    char shown[NACRE_SHOWN];

    if (!text) {
        if (geteuid() != 0)
            user = (struct nt_user){ geteuid(), getegid() };
        *ret_user = user;
        return NACRE_OK;
    }
    if (!nacre_text_ids(text, &user.uid, &user.gid))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "user '%s' is not UID or UID:GID in digits: a name means what "
                          "the image says, which is not known before it runs",
                          nacre_text_shown(shown, text));
    *ret_user = user;
    return NACRE_OK;
}

static bool may(int fd, int mode)
{
    return syscall(SYS_faccessat2, fd, "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* ACLs and all, with that user's rights in this thread for a moment: leaving uid 0 takes
 * the rights to override away too, and the sandbox is in no group of root's.  By the bare
 * call: the library's would change every thread's groups. */
bool nt_user_may(const struct nt_user *user, int fd, int mode)
{
    NACRE_AUTO(nacre_heap_guard) gid_t *groups = NULL;
    int count = getgroups(0, NULL);
    bool has_left, can;

    if (geteuid() != 0 || user->uid == 0)
        return may(fd, mode);
    groups = calloc((size_t)count + 1, sizeof(*groups));
    if (!groups || getgroups(count, groups) != count)
        return false;
    has_left = count > 0 && syscall(SYS_setgroups, 0, NULL) == 0;
    (void)setfsgid(user->gid);
    (void)setfsuid(user->uid);
    can = may(fd, mode);
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    if (has_left && syscall(SYS_setgroups, count, groups) != 0)
        abort(); /* it had the right to a moment ago */
    return can;
}

enum nacre_status nt_user_check(const struct nt_user *user,
                                const struct nacre_open_mounts *mounts,
                                struct nacre_error *err)
{
    for (uint32_t i = 0; i < mounts->count; i++) {
        const struct nacre_open_mount *open = &mounts->items[i];
        char shown[NACRE_SHOWN], fix[sizeof(err->fix)];

        if (open->fd < 0 || !open->mount->writable ||
            nt_user_may(user, open->fd, R_OK | W_OK | X_OK))
            continue;
        (void)snprintf(fix, sizeof(fix),
                       "give it the directory (chown %" PRIu32 ":%" PRIu32
                       "), or mount it read-only",
                       user->uid, user->gid);
        return nacre_mount_refuse(open->mount, fix, err,
                                  "the sandbox runs as uid %" PRIu32
                                  ", which can't write %s",
                                  user->uid, nacre_text_shown(shown, open->mount->host));
    }
    return NACRE_OK;
}
