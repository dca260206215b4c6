/*
 * The owner's mounts.  Links of the image are followed, within the sandbox's root.  What
 * lies in a shared directory of the host may have been put there by a guest of an earlier
 * run: no link in one is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_parts.h"
#include "mount_api.h"
#include "nacre/own.h"

#define SHARE_OPTIONS_MSIZE "262144"

/* ---- mounts that are attached nowhere yet ---- */

int machine_fs(const char *type, unsigned attributes, const char *words, const char *what,
               const char *const *options)
{
    NACRE_AUTO(nacre_fd_guard) int fs = api_fsopen(type);
    bool good = fs >= 0;
    int fd = -1;

    for (; good && options[0]; options += 2)
        good = !options[1] || api_fsconfig_text(fs, options[0], options[1]) == 0;
    if (good && api_fsconfig_create(fs) == 0)
        fd = api_fsmount(fs, attributes);
    if (fd < 0)
        launch_fail(words, what);
    return fd;
}

int machine_bind(int fd, uint64_t attributes, const char *what)
{
    const struct mount_attr attr = { .attr_set = attributes };
    int tree = api_open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    if (tree < 0 || api_mount_setattr(tree, &attr) != 0)
        launch_fail("bind", what);
    return tree;
}

/* ---- where they go ---- */

#define IN_SHARE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)

static int look(int dir_fd, const char *path, uint64_t resolve)
{
    return api_openat2(dir_fd, path[0] ? path : ".", O_PATH | O_CLOEXEC,
                       RESOLVE_NO_MAGICLINKS | resolve);
}

/* The directory `path`, made where it is missing; -1 with errno. */
static int make_dirs(int root_fd, const char *path, uint64_t resolve)
{
    NACRE_AUTO(nacre_fd_guard) int at = look(root_fd, "", resolve);
    char done[MACHINE_TARGET_MAX];

    for (size_t end = 0; at >= 0 && path[end];) {
        size_t start = end + strspn(path + end, "/");
        size_t length = strcspn(path + start, "/");
        char name[256];
        int next;

        end = start + length;
        if (length == 0)
            break;
        if (end >= sizeof(done) || length >= sizeof(name)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(done, path, end);
        done[end] = '\0';
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, path + start);
        next = look(root_fd, done, resolve);
        if (next < 0 && errno == ENOENT && mkdirat(at, name, 0755) == 0)
            next = look(at, name, IN_SHARE);
        (void)close(at);
        at = next;
    }
    return nacre_fd_take(&at);
}

static int make_file(int root_fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    NACRE_AUTO(nacre_fd_guard) int dir = -1;
    NACRE_AUTO(nacre_fd_guard) int made = -1;
    char parent[MACHINE_TARGET_MAX];

    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
    dir = make_dirs(root_fd, parent, RESOLVE_IN_ROOT);
    if (dir < 0)
        return -1;
    made = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    return made < 0 ? -1 : look(dir, name, IN_SHARE);
}

/* The innermost share that `mount` lies in, among those before it; NULL: none. */
static const struct machine_mount *share_around(const struct init_machine *order,
                                                const struct machine_mount *mount)
{
    const struct machine_mount *found = NULL;

    for (const struct machine_mount *share = order->mounts; share < mount; share++) {
        size_t length = strlen(share->target);

        if (share->kind == MACHINE_MOUNT_SHARE &&
            strncmp(mount->target, share->target, length) == 0 &&
            mount->target[length] == '/')
            found = share;
    }
    return found;
}

/* -1 with errno; ENOENT and ENOTDIR: there is nothing of that name. */
static int find_target(const struct machine_making *making,
                       const struct machine_mount *mount, bool makes)
{
    const struct machine_mount *share = share_around(making->order, mount);
    NACRE_AUTO(nacre_fd_guard) int top = -1;
    int fd;

    if (share) {
        const char *path = mount->target + strlen(share->target) + 1;

        top = look(making->root_fd, share->target + 1, RESOLVE_IN_ROOT);
        if (top < 0)
            return -1;
        return makes && mount->kind != MACHINE_MOUNT_FILE
                   ? make_dirs(top, path, IN_SHARE) /* as an engine does */
                   : look(top, path, IN_SHARE);
    }
    fd = look(making->root_fd, mount->target + 1, RESOLVE_IN_ROOT);
    if (fd >= 0 || !makes || errno != ENOENT)
        return fd;
    return mount->kind == MACHINE_MOUNT_FILE
               ? make_file(making->root_fd, mount->target + 1)
               : make_dirs(making->root_fd, mount->target + 1, RESOLVE_IN_ROOT);
}

void machine_attach_at(const struct machine_making *making, const char *path, int tree)
{
    NACRE_AUTO(nacre_fd_guard)
    int target = make_dirs(making->root_fd, path, RESOLVE_IN_ROOT);

    if (target < 0 || api_move_mount(tree, target) != 0)
        launch_fail("mount", path);
}

/* ---- what they are ---- */

static unsigned attributes(const struct machine_mount *mount)
{
    return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
           (mount->writable ? 0 : MOUNT_ATTR_RDONLY) |
           (mount->no_exec ? MOUNT_ATTR_NOEXEC : 0);
}

/*
 * One user's files, by one attach: the server is that user whoever asks, and the modes
 * that it tells are judged here.  Nothing is kept beyond a file's last use, so that what
 * the host changes is seen at once; "mmap" is the least that lets a guest map files
 * shared.
 */
static int open_share(const struct machine_mount *mount)
{
    const char *const options[] = { "source", mount->text, "trans", "virtio",
                                    "version", "9p2000.L", "msize", SHARE_OPTIONS_MSIZE,
                                    "cache", "mmap", "access", "any", NULL };

    return machine_fs("9p", attributes(mount), machine_mount_words(mount->kind),
                      mount->target, options);
}

static int open_tmpfs(const struct init_machine *order, const struct machine_mount *mount)
{
    char bytes[24], inodes[24], mode[24], uid[24], gid[24];
    const char *const options[] = { "size", mount->bytes > 0 ? bytes : NULL,
                                    "nr_inodes", mount->inodes > 0 ? inodes : NULL,
                                    "mode", mode, "uid", uid, "gid", gid, NULL };

    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, mount->bytes);
    (void)snprintf(inodes, sizeof(inodes), "%" PRIu64, mount->inodes);
    (void)snprintf(mode, sizeof(mode), "%" PRIo64, mount->mode);
    (void)snprintf(uid, sizeof(uid), "%" PRIu64, order->uid);
    (void)snprintf(gid, sizeof(gid), "%" PRIu64, order->gid);
    return machine_fs("tmpfs", attributes(mount), machine_mount_words(mount->kind),
                      mount->target, options);
}

static int open_text(struct machine_making *making, const struct machine_mount *mount)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    size_t size = strlen(mount->text);
    char name[24];

    (void)snprintf(name, sizeof(name), "%u", making->file_count++);
    fd = openat(making->files_fd, name, flags, 0444);
    if (fd < 0 || write(fd, mount->text, size) != (ssize_t)size)
        launch_fail(machine_mount_words(mount->kind), mount->target);
    return machine_bind(fd, attributes(mount) | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC,
                        mount->target);
}

/* Closes `target`. */
static void cover(const struct machine_making *making, int target, const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int covered = target;
    NACRE_AUTO(nacre_fd_guard) int tree = -1;
    struct stat info;

    if (fstat(covered, &info) != 0)
        launch_fail("cover", path);
    tree = machine_bind(S_ISDIR(info.st_mode) ? making->cover_dir_fd
                                              : making->cover_file_fd,
                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                            MOUNT_ATTR_NOEXEC,
                        path);
    if (api_move_mount(tree, covered) != 0)
        launch_fail("cover", path);
}

void machine_cover(const struct machine_making *making, const char *path)
{
    int target = look(making->root_fd, path, RESOLVE_IN_ROOT);

    if (target >= 0)
        cover(making, target, path);
    else if (errno != ENOENT && errno != ENOTDIR)
        launch_fail("cover", path);
}

static void attach(struct machine_making *making, const struct machine_mount *mount)
{
    bool covers = mount->kind == MACHINE_MOUNT_COVER;
    int target = find_target(making, mount, !covers);
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    if (covers && target < 0 && (errno == ENOENT || errno == ENOTDIR))
        return;
    if (target < 0)
        launch_fail(machine_mount_words(mount->kind), mount->target);
    if (covers) {
        cover(making, target, mount->target);
        return;
    }
    if (mount->kind == MACHINE_MOUNT_SHARE)
        tree = open_share(mount);
    else if (mount->kind == MACHINE_MOUNT_TMPFS)
        tree = open_tmpfs(making->order, mount);
    else
        tree = open_text(making, mount);
    if (api_move_mount(tree, target) != 0)
        launch_fail(machine_mount_words(mount->kind), mount->target);
    (void)close(target);
}

void machine_attach_all(struct machine_making *making)
{
    for (uint64_t i = 0; i < making->order->mount_count; i++)
        attach(making, &making->order->mounts[i]);
}
