/*
 * Trusts the configuration.  Names that exist are the mount's: the guest made some of
 * them, so their identities are asked anew for every path.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>

#include "nacre/kernelfs.h"

/* `top` "" is above everything; both are canonical. */
static bool is_below(const char *path, const char *top)
{
    size_t length = strlen(top);

    return length == 0 || (strncmp(path, top, length) == 0 &&
                           (path[length] == '\0' || path[length] == '/'));
}

static uint32_t held_count(const struct nacre_wasi_mount *mount)
{
    return mount->denied_count + mount->covered_count;
}

static const char *held_name(const struct nacre_wasi_mount *mount, uint32_t i,
                             const char **ret_code)
{
    if (i < mount->denied_count) {
        *ret_code = "denied-path";
        return mount->denied[i];
    }
    *ret_code = "covered-path";
    return mount->covered[i - mount->denied_count];
}

/* Who `path` is, [0], and who it leads to when it is a link, [1].  What can't be seen from
 * here can't be met from here: no identity. */
static void look_at(int dir_fd, const char *path, struct ws_id ret_ids[2])
{
    struct stat st;

    ret_ids[0] = ret_ids[1] = (struct ws_id){ 0, 0 };
    if (fstatat(dir_fd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    ret_ids[0] = (struct ws_id){ st.st_dev, st.st_ino };
    if (S_ISLNK(st.st_mode) && fstatat(dir_fd, path, &st, 0) == 0)
        ret_ids[1] = (struct ws_id){ st.st_dev, st.st_ino };
}

static bool is_same(struct ws_id id, const struct stat *st)
{
    return id.ino == st->st_ino && id.dev == st->st_dev && id.ino != 0;
}

void ws_guard_look(struct nacre_wasi *wasi, uint32_t mount)
{
    const struct nacre_wasi_mount *config = wasi->mounts[mount].config;

    for (uint32_t i = 0; i < held_count(config); i++) {
        const char *code;

        /* A link that is denied takes what it leads to with it. */
        look_at(wasi->mounts[mount].fd, held_name(config, i, &code), &wasi->held[2 * i]);
    }
}

int ws_guard_name(struct nacre_wasi *wasi, uint32_t mount, const char *path)
{
    const struct nacre_wasi_mount *config = wasi->mounts[mount].config;

    for (uint32_t i = 0; i < held_count(config); i++) {
        const char *code;

        if (is_below(path, held_name(config, i, &code))) {
            ws_deny(wasi, mount, code, path);
            return P1_ACCES;
        }
    }
    return P1_SUCCESS;
}

int ws_guard_id(struct nacre_wasi *wasi, uint32_t mount, const struct stat *st,
                const char *path)
{
    const struct nacre_wasi_mount *config = wasi->mounts[mount].config;

    for (uint32_t i = 0; i < held_count(config); i++) {
        const char *code;

        (void)held_name(config, i, &code);
        if (is_same(wasi->held[2 * i], st) || is_same(wasi->held[2 * i + 1], st)) {
            ws_deny(wasi, mount, code, path);
            return P1_ACCES;
        }
    }
    return P1_SUCCESS;
}

/* Is `st` one of the directories on the way to `name`, the root included? */
static bool is_on_the_way(int root_fd, const char *name, const struct stat *st)
{
    char above[NACRE_PATH_MAX];
    size_t length = strlen(name);

    if (length >= sizeof(above))
        return true;
    memcpy(above, name, length + 1);
    while (*above) {
        char *slash = strrchr(above, '/');
        struct ws_id ids[2];

        *(slash ? slash : above) = '\0';
        look_at(root_fd, above, ids);
        if (is_same(ids[0], st) || is_same(ids[1], st))
            return true;
    }
    return false;
}

int ws_guard_above(struct nacre_wasi *wasi, const struct ws_place *place)
{
    const struct ws_mount *mount = &wasi->mounts[place->mount];

    for (uint32_t i = 0; i < held_count(mount->config); i++) {
        const char *code;
        const char *name = held_name(mount->config, i, &code);

        if (is_below(name, place->path) ||
            (place->exists && is_on_the_way(mount->fd, name, &place->st))) {
            ws_deny(wasi, place->mount, code, place->path);
            return P1_BUSY;
        }
    }
    return P1_SUCCESS;
}

int ws_guard_made(struct nacre_wasi *wasi, const struct ws_place *place, bool above)
{
    struct ws_place made = *place;
    int error;

    if (!wasi->mounts[place->mount].guarded)
        return P1_SUCCESS;
    made.exists = fstatat(place->dir_fd, place->name, &made.st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!made.exists)
        return P1_SUCCESS;
    ws_guard_look(wasi, place->mount);
    error = ws_guard_id(wasi, place->mount, &made.st, place->path);
    return error == P1_SUCCESS && above ? ws_guard_above(wasi, &made) : error;
}

/* Device numbers are used again after an unmount, which an open mount puts off. */
static void note_device(struct nacre_wasi *wasi, dev_t dev, bool allowed, bool is_held)
{
    struct ws_device *at = &wasi->devices[wasi->device_count];

    if (wasi->device_count == WS_DEVICES_MAX)
        return;
    wasi->device_count++;
    if (is_held) {
        *at = wasi->devices[wasi->device_kept];
        at = &wasi->devices[wasi->device_kept++];
    }
    *at = (struct ws_device){ dev, allowed };
}

int ws_guard_device(struct nacre_wasi *wasi, uint32_t mount, int fd, const char *name,
                    dev_t dev, const char *path)
{
    bool allowed = false, known = false;

    for (uint32_t i = 0; i < wasi->device_count && !known; i++)
        if (wasi->devices[i].dev == dev) {
            known = true;
            allowed = wasi->devices[i].allowed;
        }
    if (!known) {
        NACRE_AUTO(nacre_fd_guard) int at =
            openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct statfs info;
        struct stat st;

        if (at < 0 || fstat(at, &st) != 0 || fstatfs(at, &info) != 0)
            return ws_errno(errno);
        if (st.st_dev != dev)
            return P1_AGAIN; /* swapped while we asked */
        allowed = !nacre_kernelfs_is((uint32_t)info.f_type) &&
                  !(wasi->has_dev_dev && dev == wasi->dev_dev);
        note_device(wasi, dev, allowed,
                    dev == wasi->mounts[mount].id.dev && wasi->mounts[mount].id.ino != 0);
    }
    if (allowed)
        return P1_SUCCESS;
    ws_deny(wasi, mount, "kernel-filesystem", path);
    return P1_ACCES;
}

int ws_guard_write(struct nacre_wasi *wasi, uint32_t mount, const char *path)
{
    if (wasi->mounts[mount].config->writable)
        return P1_SUCCESS;
    ws_deny(wasi, mount, "read-only", path);
    return P1_PERM;
}
