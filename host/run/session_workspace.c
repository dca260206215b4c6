/*
 * Directories that a guest may write lie in directories that it may not; but a
 * configuration can name any place, also one below a workspace.  So nothing of a path is
 * trusted: every part is opened by the fd of the one before, never by a link, and judged
 * by what the kernel says of the open fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/path.h"
#include "nacre/text.h"
#include "nacre/tree.h"
#include "session_store.h"

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ORDINARY_ID 1000 /* as whom root's containers run, unless they are told */
#define UNMAPPED_ID 65534 /* as the kernel shows whom a user namespace does not know */
#define GONE ".nacre-gone-"

void session_step(const struct session_steps *steps, const char *name)
{
    if (steps && steps->step)
        steps->step(steps->data, name);
}

/* ---- the way down ---- */

static enum nacre_status fail_part(const char *path, size_t length, int why,
                                   struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)nacre_text_show(shown, sizeof(shown), path, length);
    errno = why;
    if (why == ELOOP || why == ENOTDIR)
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "%s is a link or no directory: nacre makes sandboxes' "
                          "workspaces by no link; name the real place", shown);
    if (why == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no directory %s", shown);
    return nacre_fail(err, NACRE_ERR_IO, "cannot open the directory %s", shown);
}

/* Could somebody else put another one in its place, or things into it? */
static enum nacre_status check_part(int fd, const char *path, size_t length,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN];
    struct stat st;

    (void)nacre_text_show(shown, sizeof(shown), path, length);
    if (fstat(fd, &st) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine the directory %s", shown);
    if (st.st_uid != geteuid() && st.st_uid != 0 && st.st_uid != UNMAPPED_ID)
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "%s belongs to user %u: no place for workspaces of user %u",
                          shown, st.st_uid, geteuid());
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "every user may write to %s (mode %04o): no place for "
                          "workspaces", shown, st.st_mode & 07777);
    return NACRE_OK;
}

enum nacre_status session_dir_walk(const char *path, bool make,
                                   const struct session_steps *steps, int *ret_fd,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/", OPEN_FLAGS);
    char plain[NACRE_PATH_MAX], name[NAME_MAX + 1];
    const char *at = plain;

    if (path[0] != '/' || !nacre_path_normalise(path, plain, sizeof(plain)))
        return nacre_fail(err, NACRE_ERR_USAGE, "a workspace's path must be absolute");
    if (fd < 0)
        return fail_part("/", 1, errno, err);
    while (*(at += strspn(at, "/"))) {
        size_t length = strcspn(at, "/");
        size_t so_far = (size_t)(at - plain) + length;
        enum nacre_status status;
        int below;

        if (length > NAME_MAX)
            return fail_part(plain, so_far, ENAMETOOLONG, err);
        memcpy(name, at, length);
        name[length] = '\0';
        below = openat(fd, name, OPEN_FLAGS);
        if (below < 0 && errno == ENOENT && make) {
            session_step(steps, "make a directory of the workspace root");
            if (mkdirat(fd, name, 0700) != 0 && errno != EEXIST)
                return fail_part(plain, so_far, errno, err);
            below = openat(fd, name, OPEN_FLAGS);
        }
        if (below < 0)
            return fail_part(plain, so_far, errno, err);
        (void)close(fd);
        fd = below;
        status = check_part(fd, plain, so_far, err);
        if (status != NACRE_OK)
            return status;
        at += length;
    }
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* ---- whose it is ---- */

enum nacre_status session_owner_of(const struct nacre_session *session,
                                   struct session_owner *ret_owner,
                                   struct nacre_error *err)
{
    struct session_owner owner = { geteuid(), getegid() };
    const struct nacre_policy *shell = session->shell;
    char shown[NACRE_SHOWN];
    uint32_t ignored; /* its group: nobody but the owner may enter */

    if (geteuid() == 0 && shell && shell->level != NACRE_LEVEL_NONE) {
        /* Root's file tools come in all the same: their worker keeps the capabilities
         * for others' files. */
        owner = (struct session_owner){ ORDINARY_ID, ORDINARY_ID };
        if (shell->container.user.text &&
            !nacre_text_ids(shell->container.user.text, &owner.uid, &ignored))
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "user '%s' is not UID or UID:GID in digits: whose is the "
                              "workspace?",
                              nacre_text_shown(shown, shell->container.user.text));
    }
    *ret_owner = owner;
    return NACRE_OK;
}

enum nacre_status session_dir_make(int parent_fd, const char *name,
                                   const struct session_owner *owner, bool put_right,
                                   const struct session_steps *steps, int *ret_fd,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(parent_fd, name, OPEN_FLAGS);
    struct stat st;

    if (fd < 0 && errno == ENOENT) {
        session_step(steps, "make a directory");
        if (mkdirat(parent_fd, name, 0700) != 0 && errno != EEXIST)
            return fail_part(name, strlen(name), errno, err);
        fd = openat(parent_fd, name, OPEN_FLAGS);
    }
    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_part(name, strlen(name), errno, err);
    if (st.st_uid != geteuid() && st.st_uid != owner->uid)
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "%.100s belongs to user %u, and neither nacre nor its sandbox "
                          "made it", name, st.st_uid);
    session_step(steps, "give a directory its owner");
    if (put_right && (st.st_mode & 07777) != 0700 && fchmod(fd, 0700) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the mode of %.100s can't be set", name);
    if ((st.st_uid != owner->uid || (put_right && st.st_gid != owner->gid)) &&
        fchown(fd, owner->uid, owner->gid) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "%.100s can't be given to user %u", name,
                          owner->uid);
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* ---- its end ---- */

static bool gone_name(const char *name, char ret_gone[NAME_MAX + 1])
{
    return snprintf(ret_gone, NAME_MAX + 1, GONE "%s", name) <= NAME_MAX;
}

bool session_workspace_is_half_gone(int root_fd, const char *name)
{
    char gone[NAME_MAX + 1];
    struct stat st;

    return gone_name(name, gone) &&
           fstatat(root_fd, gone, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

enum nacre_status session_workspace_finish(int root_fd, const char *name,
                                           struct nacre_error *err)
{
    char gone[NAME_MAX + 1];

    return gone_name(name, gone)
               ? nacre_tree_remove(root_fd, gone, err)
               : nacre_fail(err, NACRE_ERR_PARSE, "this is no workspace's name");
}

enum nacre_status session_workspace_remove(int root_fd, const char *name,
                                           const struct session_steps *steps,
                                           struct nacre_error *err)
{
    char gone[NAME_MAX + 1];
    enum nacre_status status;

    if (!gone_name(name, gone) || strchr(name, '/') || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return nacre_fail(err, NACRE_ERR_PARSE, "this is no workspace's name");
    session_step(steps, "remove what was moved aside before");
    status = session_workspace_finish(root_fd, name, err);
    if (status != NACRE_OK)
        return status;
    session_step(steps, "move the workspace aside");
    if (renameat(root_fd, name, root_fd, gone) != 0)
        return errno == ENOENT
                   ? NACRE_OK
                   : nacre_fail(err, NACRE_ERR_IO, "a workspace can't be moved aside");
    session_step(steps, "remove the workspace");
    return session_workspace_finish(root_fd, name, err);
}
