/*
 * What lies in a private directory is the guest's: names, links, depth and number are
 * chosen to hurt.  Nothing is followed, every step holds the directory it works in,
 * and depth costs neither stack nor descriptors.
 */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool random_name(char ret_name[40])
{
    uint64_t bits[2];

    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        return false;
    (void)snprintf(ret_name, 40, "%016llx%016llx", (unsigned long long)bits[0],
                   (unsigned long long)bits[1]);
    return true;
}

int ws_scratch_make(struct nacre_wasi *wasi, uint32_t mount)
{
    struct ws_mount *own = &wasi->mounts[mount];

    if (own->fd >= 0)
        return P1_SUCCESS;
    if (!random_name(own->name))
        return P1_IO;
    if (mkdirat(wasi->config.scratch_fd, own->name, 0700) != 0)
        return ws_errno(errno);
    own->fd = openat(wasi->config.scratch_fd, own->name,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (own->fd < 0) {
        int error = ws_errno(errno);

        (void)unlinkat(wasi->config.scratch_fd, own->name, AT_REMOVEDIR);
        return error;
    }
    return P1_SUCCESS;
}

int ws_scratch_name(struct nacre_wasi *wasi, uint32_t mount)
{
    if (!wasi->mounts[mount].is_private)
        return P1_SUCCESS;
    if (wasi->scratch_files >= wasi->config.scratch_files_max) {
        ws_deny(wasi, mount, "scratch-full", NULL);
        return P1_NOSPC;
    }
    wasi->scratch_files++;
    return P1_SUCCESS;
}

int ws_scratch_reach(struct nacre_wasi *wasi, const struct ws_file *file, uint64_t end)
{
    if (!wasi->mounts[file->mount].is_private || end <= file->size_counted)
        return P1_SUCCESS;
    if (end - file->size_counted <= wasi->config.scratch_bytes_max - wasi->scratch_bytes)
        return P1_SUCCESS;
    ws_deny(wasi, file->mount, "scratch-full", NULL);
    return P1_NOSPC;
}

void ws_scratch_paid(struct nacre_wasi *wasi, struct ws_file *file, uint64_t end)
{
    if (!wasi->mounts[file->mount].is_private || end <= file->size_counted)
        return;
    wasi->scratch_bytes += end - file->size_counted;
    file->size_counted = end;
}

/* ---- removal ---- */

struct sweep {
    int top_fd;
    char prefix[40];   /* unknown to the guest: a name made with it is free */
    uint64_t moved;
};

/* Unlink what is in `dir`; directories go up to the top, where their turn comes: so
 * the tree is never deeper than one level below it.  *ret_seen: was there anything? */
static bool sweep_directory(struct sweep *sweep, DIR *dir, bool is_top, bool *ret_seen)
{
    struct dirent *entry;

    *ret_seen = false;
    errno = 0;
    while ((entry = readdir(dir))) {
        char name[72];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        *ret_seen = true;
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return false;
        if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) == 0)
            continue;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return false;
        errno = 0;
        if (is_top)
            continue;
        (void)snprintf(name, sizeof(name), "%s-%llu", sweep->prefix,
                       (unsigned long long)sweep->moved++);
        if (renameat(dirfd(dir), entry->d_name, sweep->top_fd, name) != 0)
            return false;
    }
    return errno == 0;
}

static DIR *open_listing(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir && fd >= 0)
        (void)close(fd);
    return dir;
}

static bool sweep_child(struct sweep *sweep, const char *name)
{
    bool seen = true, ok = true;

    /* Removing while listing may skip entries: until a pass finds none. */
    while (ok && seen) {
        DIR *dir = open_listing(sweep->top_fd, name);

        if (!dir)
            return false;
        ok = sweep_directory(sweep, dir, false, &seen);
        (void)closedir(dir);
    }
    return ok && unlinkat(sweep->top_fd, name, AT_REMOVEDIR) == 0;
}

static bool sweep_top(struct sweep *sweep)
{
    for (;;) {
        struct dirent *entry;
        bool seen, ok;
        DIR *dir = open_listing(sweep->top_fd, ".");

        if (!dir)
            return false;
        ok = sweep_directory(sweep, dir, true, &seen);
        if (!ok || !seen) {
            (void)closedir(dir);
            return ok;
        }
        rewinddir(dir);
        while (ok && (entry = readdir(dir)))
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                ok = sweep_child(sweep, entry->d_name);
        (void)closedir(dir);
        if (!ok)
            return false;
    }
}

enum nacre_status ws_scratch_end(struct nacre_wasi *wasi, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < wasi->config.mount_count; i++) {
        struct ws_mount *own = &wasi->mounts[i];
        struct sweep sweep = { .top_fd = own->fd };

        if (!own->is_private || own->fd < 0)
            continue;
        if (!random_name(sweep.prefix) || !sweep_top(&sweep) ||
            unlinkat(wasi->config.scratch_fd, own->name, AT_REMOVEDIR) != 0)
            status = nacre_fail(err, NACRE_ERR_IO, "cannot remove the private directory %s",
                                own->name);
        (void)close(own->fd);
        own->fd = -1;
    }
    return status;
}
