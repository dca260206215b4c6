#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "nacre/kernelfs.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define DENIED_MAX 4096

enum nacre_status nacre_mount_refuse(const struct nacre_mount *mount, const char *fix,
                                     struct nacre_error *err, const char *format, ...)
{
    char why[sizeof(err->text)];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    (void)nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "mount '%.100s': %.390s", mount->guest,
                     why);
    return nacre_fail_blame(err, NACRE_RULE_MOUNTS, mount->guest, fix);
}

static enum nacre_status deny(struct nacre_open_mount *open, const char *name,
                              struct nacre_error *err)
{
    char **grown;

    for (uint32_t i = 0; i < open->denied_count; i++)
        if (strcmp(open->denied[i], name) == 0)
            return NACRE_OK;
    if (open->denied_count == DENIED_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d denied paths", DENIED_MAX);
    grown = realloc(open->denied, (open->denied_count + 1u) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    open->denied = grown;
    open->denied[open->denied_count] = strdup(name);
    if (!open->denied[open->denied_count])
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    open->denied_count++;
    return NACRE_OK;
}

bool nacre_mounts_real_name(int fd, char ret_path[NACRE_PATH_MAX])
{
    char link[40];
    ssize_t length;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, ret_path, NACRE_PATH_MAX - 1);
    if (length <= 0 || ret_path[0] != '/')
        return false;
    ret_path[length] = '\0';
    return true;
}

/* `path` with its existing part as that is really called.  What is not there yet may lie
 * in a directory that is, under another name. */
static bool real_path(const char *path, char ret_path[NACRE_PATH_MAX])
{
    char parent[NACRE_PATH_MAX];
    size_t cut = strlen(path);

    if (cut >= sizeof(parent))
        return false;
    memcpy(parent, path, cut + 1);
    for (;;) {
        NACRE_AUTO(nacre_heap_guard) char *resolved = realpath(parent, NULL);
        char *slash;

        if (resolved)
            return snprintf(ret_path, NACRE_PATH_MAX, "%s%s",
                            resolved[1] || !path[cut] ? resolved : "",
                            path + cut) < NACRE_PATH_MAX;
        slash = strrchr(parent, '/');
        if (!slash || slash == parent)
            return false;
        *slash = '\0';
        cut = (size_t)(slash - parent);
    }
}

/* Judge one denied host path against the directory that was opened. */
static enum nacre_status deny_host_path(struct nacre_open_mount *open,
                                        const char *directory, const char *denied,
                                        struct nacre_error *err)
{
    const char *rest;

    if (nacre_path_is_below(denied, directory, &rest) && rest[0])
        return deny(open, rest, err);
    if (nacre_path_is_below(directory, denied, NULL))
        return nacre_mount_refuse(open->mount,
                                  "mount another directory, or remove the denied path",
                                  err,
                                  "its directory %.150s lies within the denied path "
                                  "%.150s",
                                  directory, denied);
    return NACRE_OK;
}

static enum nacre_status deny_host_paths(struct nacre_open_mount *open,
                                         const char *const *paths, size_t count,
                                         struct nacre_error *err)
{
    char directory[NACRE_PATH_MAX], real[NACRE_PATH_MAX];

    if (!nacre_mounts_real_name(open->fd, directory))
        return nacre_fail(err, NACRE_ERR_IO,
                          "mount '%.100s': its real name can't be found",
                          open->mount->guest);
    for (size_t i = 0; i < count; i++) {
        enum nacre_status status = deny_host_path(open, directory, paths[i], err);

        if (status == NACRE_OK && real_path(paths[i], real))
            status = deny_host_path(open, directory, real, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* A plan may have come over a socket, and its word alone opens nothing of the host: what
 * it calls a session's own has to lie where those do, below a protected path. */
static enum nacre_status check_own(const struct nacre_open_mount *open,
                                   const char *const *protected_paths,
                                   struct nacre_error *err)
{
    char directory[NACRE_PATH_MAX], real[NACRE_PATH_MAX], shown[NACRE_SHOWN];
    const char *rest, *below;

    if (nacre_mounts_real_name(open->fd, directory))
        for (; protected_paths && *protected_paths; protected_paths++)
            if (real_path(*protected_paths, real) &&
                nacre_path_is_below(directory, real, &rest) &&
                nacre_path_is_below(rest, NACRE_PRIVATE_ROOT, &below) && below[0])
                return NACRE_OK;
    return nacre_mount_refuse(open->mount, "end the session (nacre session end)", err,
                              "%s is no session's own directory",
                              nacre_text_shown(shown, open->mount->host));
}

static bool is_kernel_filesystem(int fd)
{
    struct statfs info;

    return fstatfs(fd, &info) != 0 || nacre_kernelfs_is((uint32_t)info.f_type);
}

static enum nacre_status open_one(const struct nacre_plan *plan,
                                  const struct nacre_mount *mount,
                                  struct nacre_open_mount *open_mount,
                                  struct nacre_error *err)
{
    char shown[NACRE_SHOWN], fix[sizeof(err->fix)];

    open_mount->fd = open(mount->host, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (open_mount->fd < 0 && errno == ENOTDIR)
        return nacre_mount_refuse(mount, "grant the directory that it lies in", err,
                                  "%s is a file, and a mount is a directory",
                                  nacre_text_shown(shown, mount->host));
    if (open_mount->fd < 0 && errno == ENOENT) {
        (void)snprintf(fix, sizeof(fix),
                       "make it, or map another directory with --mount %.100s=DIR",
                       mount->guest);
        if (plan->strict_binds) /* where that option has no place */
            (void)snprintf(fix, sizeof(fix), "make it, or change the configuration");
        return nacre_mount_refuse(mount, fix, err, "%s does not exist",
                                  nacre_text_shown(shown, mount->host));
    }
    if (open_mount->fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "mount '%.100s': can't open %s",
                          mount->guest, nacre_text_shown(shown, mount->host));
    if (is_kernel_filesystem(open_mount->fd))
        return nacre_mount_refuse(mount, "mount a directory with files of your own", err,
                                  "%s is on a kernel filesystem, which no guest may see",
                                  nacre_text_shown(shown, mount->host));
    if (mount->own)
        return NACRE_OK;
    return deny_host_paths(open_mount, (const char *const *)plan->denied_host_paths,
                           plan->denied_host_count, err);
}

enum nacre_status nacre_mounts_open(const struct nacre_plan *plan,
                                    const char *const *protected_paths,
                                    struct nacre_open_mounts *ret_mounts,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_mounts_clear) struct nacre_open_mounts mounts = { 0 };
    size_t protected_count = 0;

    while (protected_paths && protected_paths[protected_count])
        protected_count++;
    mounts.items = calloc(plan->mount_count + 1u, sizeof(*mounts.items));
    if (!mounts.items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "mounts");
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        struct nacre_open_mount *open_mount = &mounts.items[i];
        enum nacre_status status = NACRE_OK;

        *open_mount = (struct nacre_open_mount){ .mount = &plan->mounts[i], .fd = -1 };
        mounts.count++;
        for (uint32_t k = 0; k < plan->mounts[i].denied_count && status == NACRE_OK; k++)
            status = deny(open_mount, plan->mounts[i].denied[k], err);
        if (status != NACRE_OK)
            return status;
        if (!plan->mounts[i].host) {
            mounts.has_private = true;
            continue;
        }
        status = open_one(plan, &plan->mounts[i], open_mount, err);
        /* A session's own lies among them, and is the only thing there for a guest. */
        if (status == NACRE_OK)
            status = plan->mounts[i].own
                         ? check_own(open_mount, protected_paths, err)
                         : deny_host_paths(open_mount, protected_paths, protected_count,
                                           err);
        if (status != NACRE_OK)
            return status;
    }
    *ret_mounts = mounts;
    mounts = (struct nacre_open_mounts){ 0 };
    return NACRE_OK;
}

void nacre_mounts_clear(struct nacre_open_mounts *mounts)
{
    for (uint32_t i = 0; i < mounts->count; i++) {
        if (mounts->items[i].fd >= 0)
            (void)close(mounts->items[i].fd);
        for (uint32_t k = 0; k < mounts->items[i].denied_count; k++)
            free(mounts->items[i].denied[k]);
        free(mounts->items[i].denied);
    }
    free(mounts->items);
    *mounts = (struct nacre_open_mounts){ 0 };
}

static uint64_t add_place(uint64_t places, const struct stat *info)
{
    return ((places ^ (uint64_t)info->st_dev) * UINT64_C(0x9e3779b97f4a7c15) ^
            (uint64_t)info->st_ino) * UINT64_C(0x100000001b3);
}

uint64_t nacre_mounts_places(const struct nacre_open_mounts *mounts)
{
    uint64_t places = 0;
    struct stat info;

    for (uint32_t i = 0; i < mounts->count; i++)
        if (mounts->items[i].fd >= 0 && fstat(mounts->items[i].fd, &info) == 0)
            places = add_place(places, &info);
    return places;
}

bool nacre_mounts_are_at(const struct nacre_plan *plan, uint64_t places)
{
    uint64_t now = 0;
    struct stat info;

    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].host && stat(plan->mounts[i].host, &info) == 0)
            now = add_place(now, &info);
    return now == places;
}
