/*
 * The operations of a spec.  Trusts the host, which wrote the spec, and nothing else: on
 * the host's filesystems anybody may be renaming things meanwhile.  So a name is looked
 * up once, what was found is compared with what the host holds, and only the fd is used.
 *
 * Binds bring what is mounted below them along: without it a user namespace may not bind
 * them (the kernel would have to uncover what lies beneath).  All get nosuid and, but for
 * the devices of /dev, nodev; flags that the host has set are never taken away.
 */
#include "launch_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doorway.h"
#include "mount_api.h"
#include "nacre/own.h"
#include "pass.h"

#define ROOT_BYTES "1048576" /* directories, links and a few small files */
#define ROOT_FILES "2048"

static void check_identity(int fd, const struct spec_op *op)
{
    struct stat info;

    if (op->device == 0 && op->inode == 0)
        return;
    if (fstat(fd, &info) != 0)
        launch_fail(spec_kind_words(op->kind), op->target);
    if (info.st_dev != op->device || info.st_ino != op->inode) {
        errno = ESTALE; /* somebody has put another one in its place */
        launch_fail(spec_kind_words(op->kind), op->target);
    }
}

static int open_target(const struct launch *launch, const char *target, uint64_t resolve)
{
    return api_openat2(launch->root_fd, target[0] ? target : ".", O_PATH | O_CLOEXEC,
                       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve);
}

/*
 * Things are made only in filesystems of the sandbox's own, before any guest is there:
 * all links in them are ours.  Most names have their directory already.
 */
static bool make_parents(const struct launch *launch, const char *target)
{
    char path[SPEC_TARGET_MAX];
    size_t length = strlen(target);

    if (length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, target, length + 1);
    for (char *slash = path; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        if (mkdirat(launch->root_fd, path, 0755) != 0 && errno != EEXIST)
            return false;
    }
    return true;
}

static bool retries(const struct launch *launch, const struct spec_op *op)
{
    return errno == ENOENT && make_parents(launch, op->target);
}

static void make_dir(const struct launch *launch, const struct spec_op *op, mode_t mode)
{
    while (mkdirat(launch->root_fd, op->target, mode) != 0 && errno != EEXIST)
        if (!retries(launch, op))
            launch_fail(spec_kind_words(op->kind), op->target);
}

static int make_file(const struct launch *launch, const struct spec_op *op,
                     const char *text, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    size_t size = strlen(text);
    int fd;

    while ((fd = openat(launch->root_fd, op->target, flags, mode)) < 0)
        if (!retries(launch, op))
            launch_fail(spec_kind_words(op->kind), op->target);
    if (size > 0 && write(fd, text, size) != (ssize_t)size)
        launch_fail(spec_kind_words(op->kind), op->target);
    return fd;
}

static void make_link(const struct launch *launch, const struct spec_op *op)
{
    while (symlinkat(op->text, launch->root_fd, op->target) != 0)
        if (!retries(launch, op))
            launch_fail(spec_kind_words(op->kind), op->target);
}

/* In a root of ours, what need not be made lies in a directory of the host's, where a
 * guest of an earlier run may have left a link: the mount would land on /usr. */
static void attach(const struct launch *launch, const struct spec_op *op, int tree)
{
    bool in_host = launch->root_is_ours && !(op->flags & SPEC_MAKE);
    NACRE_AUTO(nacre_fd_guard) int target = -1;

    if ((op->flags & (SPEC_MAKE | SPEC_IS_DIR)) == SPEC_MAKE)
        target = make_file(launch, op, "", 0444);
    else if (op->flags & SPEC_MAKE)
        make_dir(launch, op, 0755);
    if (target < 0)
        target = open_target(launch, op->target, in_host ? RESOLVE_NO_SYMLINKS : 0);
    if (tree < 0 || target < 0 || api_move_mount(tree, target) != 0)
        launch_fail(spec_kind_words(op->kind), op->target);
}

/*
 * Where it has no place of its own.  The root goes on top of the one that is there: the
 * process keeps that as its root until pivot_root(), so that names of the host are found
 * until then.
 */
static void attach_at(const char *path, const struct spec_op *op, int mount_fd)
{
    NACRE_AUTO(nacre_fd_guard) int target = open(path, O_PATH | O_CLOEXEC);

    if (target < 0 || api_move_mount(mount_fd, target) != 0)
        launch_fail(spec_kind_words(op->kind), "attach");
}

static int make_tmpfs(const struct spec_op *op, const char *bytes, const char *files)
{
    NACRE_AUTO(nacre_fd_guard) int fs = api_fsopen("tmpfs");
    int fd = -1;

    if (fs >= 0 && api_fsconfig_text(fs, "size", bytes) == 0 &&
        api_fsconfig_text(fs, "nr_inodes", files) == 0 &&
        api_fsconfig_text(fs, "mode", "0755") == 0 && api_fsconfig_create(fs) == 0)
        fd = api_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0)
        launch_fail(spec_kind_words(op->kind), "tmpfs");
    return fd;
}

/* In the old tree, with which it goes out of everybody's sight: only its directories are
 * bound into the sandbox, and all of them share the one size. */
static void make_scratch(struct launch *launch, const struct spec_op *op)
{
    char bytes[24], files[24];

    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, op->bytes);
    (void)snprintf(files, sizeof(files), "%" PRIu64, op->files);
    launch->scratch_fd = make_tmpfs(op, bytes, files);
    attach_at("/proc", op, launch->scratch_fd);
    if (mkdirat(launch->scratch_fd, "cover", 0) == 0)
        launch->cover_dir_fd = openat(launch->scratch_fd, "cover", O_PATH | O_CLOEXEC);
    if (mknodat(launch->scratch_fd, "cover-file", S_IFREG, 0) == 0)
        launch->cover_file_fd = openat(launch->scratch_fd, "cover-file",
                                       O_PATH | O_CLOEXEC);
    if (launch->cover_dir_fd < 0 || launch->cover_file_fd < 0)
        launch_fail(spec_kind_words(op->kind), "covers");
}

static void make_root(struct launch *launch, const struct spec_op *op)
{
    launch->root_fd = make_tmpfs(op, ROOT_BYTES, ROOT_FILES);
    launch->root_is_ours = true;
    attach_at("/", op, launch->root_fd);
}

static void make_private(struct launch *launch, const struct spec_op *op)
{
    char name[24];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    (void)snprintf(name, sizeof(name), "%u", launch->privates++);
    if (mkdirat(launch->scratch_fd, name, (mode_t)op->mode) == 0)
        fd = openat(launch->scratch_fd, name, O_PATH | O_CLOEXEC);
    if (fd < 0 || (tree = tree_clone(fd, op->flags)) < 0)
        launch_fail(spec_kind_words(op->kind), op->target);
    attach(launch, op, tree);
}

/* Shows the processes of the new pid namespace alone.  The kernel allows it as long as
 * the caller can see a whole /proc already, so before the old root is let go. */
static void make_proc(struct launch *launch, const struct spec_op *op)
{
    NACRE_AUTO(nacre_fd_guard) int fs = api_fsopen("proc");
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    if (fs >= 0 && api_fsconfig_create(fs) == 0)
        fd = api_fsmount(fs,
                         MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (fd < 0)
        launch_fail(spec_kind_words(op->kind), op->target);
    attach(launch, op, fd);
}

/* For a caller without privileges outside the name is looked up here, in the copy that
 * the mount namespace began as. */
static int find_tree(const struct spec_op *op)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(op->text, O_PATH | O_CLOEXEC);
    int tree;

    if (fd < 0)
        launch_fail(spec_kind_words(op->kind), op->text);
    check_identity(fd, op);
    tree = tree_clone(fd, op->flags);
    if (tree < 0)
        launch_fail(spec_kind_words(op->kind), op->text);
    return tree;
}

static void bind_tree(struct launch *launch, const struct spec_op *op, int tree)
{
    if (tree < 0)
        tree = find_tree(op);
    if (launch->root_fd < 0) {
        launch->root_fd = tree;
        attach_at("/", op, tree);
        return;
    }
    attach(launch, op, tree);
    (void)close(tree);
}

/* Nobody can rename or remove a mount point: what lies below it keeps its name. */
static void hold(struct launch *launch, const struct spec_op *op)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open_target(launch, op->target, RESOLVE_NO_SYMLINKS);
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    if (fd < 0)
        launch_fail(spec_kind_words(op->kind), op->target);
    check_identity(fd, op);
    tree = tree_clone(fd, op->flags);
    if (tree < 0 || api_move_mount(tree, fd) != 0)
        launch_fail(spec_kind_words(op->kind), op->target);
}

/* Read-only: the guest owns what covers, and could change its mode. */
static void cover(struct launch *launch, const struct spec_op *op)
{
    int source = op->flags & SPEC_IS_DIR ? launch->cover_dir_fd : launch->cover_file_fd;
    NACRE_AUTO(nacre_fd_guard)
    int fd = open_target(launch, op->target, RESOLVE_NO_SYMLINKS);
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    if (fd < 0)
        launch_fail(spec_kind_words(op->kind), op->target);
    check_identity(fd, op);
    tree = tree_clone(source, SPEC_READ_ONLY | SPEC_NO_EXEC);
    if (tree < 0 || api_move_mount(tree, fd) != 0)
        launch_fail(spec_kind_words(op->kind), op->target);
}

/* Where the tree is the host's own: one name of it reads another text. */
static void put_over(struct launch *launch, const struct spec_op *op)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    size_t size = strlen(op->text);
    char name[24];
    NACRE_AUTO(nacre_fd_guard) int target = open_target(launch, op->target, 0);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    (void)snprintf(name, sizeof(name), "%u", launch->privates++);
    fd = openat(launch->scratch_fd, name, flags, (mode_t)op->mode);
    if (target < 0 || fd < 0 || write(fd, op->text, size) != (ssize_t)size ||
        (tree = tree_clone(fd, SPEC_READ_ONLY | SPEC_NO_EXEC)) < 0 ||
        api_move_mount(tree, target) != 0)
        launch_fail(spec_kind_words(op->kind), op->target);
}

/* In the sandbox's own network, before any guest is there. */
static void listen_at(struct launch *launch, const struct spec_op *op)
{
    const uint8_t kind = (uint8_t)op->mode;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    if (op->mode <= DOORWAY_NONE || op->mode >= DOORWAY_COUNT ||
        (kind != DOORWAY_NAMES && op->fd >= launch->fd_count)) {
        errno = EBADMSG;
        launch_fail(spec_kind_words(op->kind), NULL);
    }
    fd = doorway_open((enum doorway_kind)kind);
    if (fd < 0 || (kind != DOORWAY_NAMES &&
                   !pass_send(launch->fds[op->fd], &kind, 1, &fd, 1)))
        launch_fail(spec_kind_words(op->kind), doorway_text((enum doorway_kind)kind));
    if (kind == DOORWAY_NAMES)
        launch->names_fd = nacre_fd_take(&fd);
}

/* "0" is the writer itself, whatever its number; what it starts is born where it is.  The
 * kernel judges by who has opened the file, which is the host; without one this ends. */
static void join(const struct spec_op *op)
{
    int fds[LAUNCH_GROUPS_MAX];
    size_t count = 0;
    char byte = 0;

    if (pass_receive(launch_channel, true, &byte, 1, fds, NACRE_COUNT(fds), &count) != 1)
        _exit(1);
    errno = EBADMSG;
    if (byte != LAUNCH_JOIN)
        launch_fail(spec_kind_words(op->kind), NULL);
    for (size_t i = 0; i < count; i++) {
        if (write(fds[i], "0", 1) != 1)
            launch_fail(spec_kind_words(op->kind), NULL);
        (void)close(fds[i]);
    }
}

static void limit_data(const struct spec_op *op)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_DATA, &limit) != 0)
        launch_fail(spec_kind_words(op->kind), NULL);
    if (op->bytes < limit.rlim_max)
        limit.rlim_max = op->bytes;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
        launch_fail(spec_kind_words(op->kind), NULL);
}

static void do_inside(struct launch *launch, const struct spec_op *op, size_t tree_index)
{
    switch ((enum spec_kind)op->kind) {
    case SPEC_SCRATCH: make_scratch(launch, op); break;
    case SPEC_ROOT: make_root(launch, op); break;
    case SPEC_DIR: make_dir(launch, op, (mode_t)op->mode); break;
    case SPEC_FILE:
        (void)close(make_file(launch, op, op->text, (mode_t)op->mode));
        break;
    case SPEC_LINK: make_link(launch, op); break;
    case SPEC_TREE:
        bind_tree(launch, op,
                  tree_index < launch->tree_count ? launch->trees[tree_index] : -1);
        break;
    case SPEC_PRIVATE: make_private(launch, op); break;
    case SPEC_PROC: make_proc(launch, op); break;
    case SPEC_SELF: hold(launch, op); break;
    case SPEC_COVER: cover(launch, op); break;
    case SPEC_OVER: put_over(launch, op); break;
    case SPEC_LISTEN: listen_at(launch, op); break;
    case SPEC_JOIN: join(op); break;
    case SPEC_DATA: limit_data(op); break;
    case SPEC_NONE:
    case SPEC_KIND_COUNT:
        break; /* no spec has them */
    }
}

/* Calls back for each operation, with the number of TREE operations before it. */
static void each(struct launch *launch,
                 void (*visit)(struct launch *, const struct spec_op *, size_t))
{
    struct unpack unpack = { .bytes = launch->ops, .size = launch->op_bytes };
    size_t trees = 0;

    for (uint64_t i = 0; i < launch->head.op_count; i++) {
        struct spec_op op;

        if (!spec_op_unpack(&unpack, &op) || trees == TREES_MAX) {
            errno = EBADMSG;
            launch_fail("read the spec", NULL);
        }
        visit(launch, &op, trees);
        trees += op.kind == SPEC_TREE;
    }
    if (!unpack_whole(&unpack)) {
        errno = EBADMSG;
        launch_fail("read the spec", NULL);
    }
}

void launch_inside(struct launch *launch)
{
    each(launch, do_inside);
    /* After JOIN: the cgroup that it is in now is the top of what the sandbox sees. */
    if (unshare(CLONE_NEWCGROUP) != 0)
        launch_fail("make a cgroup namespace", NULL);
    if (launch->root_fd < 0) {
        errno = EBADMSG;
        launch_fail("read the spec", "no root");
    }
}

static void add_rule(struct launch *launch, const struct spec_op *op, size_t tree_index)
{
    struct nacre_landlock_rule rule = {
        .writable = op->flags & SPEC_MAY_WRITE,
        .executable = op->flags & SPEC_MAY_EXECUTE,
        .makes_ipc = op->flags & SPEC_MAY_WRITE,
        .ioctls = op->flags & SPEC_MAY_IOCTL,
        .connects = op->kind == SPEC_PRIVATE,
    };

    (void)tree_index;
    if (!(op->flags & SPEC_MAY_READ))
        return;
    rule.dir_fd = open_target(launch, op->target, 0);
    if (rule.dir_fd < 0 || launch->rule_count == LAUNCH_RULES_MAX)
        launch_fail("landlock", op->target);
    launch->rules[launch->rule_count++] = rule;
}

int launch_ruleset(struct launch *launch)
{
    struct nacre_error err;
    int fd = -1;

    if (!launch->head.landlock || nacre_landlock_abi() == 0)
        return -1;
    each(launch, add_rule);
    if (nacre_landlock_ruleset_open(launch->rules, launch->rule_count, &fd, &err) !=
        NACRE_OK) {
        errno = err.sys_errno;
        launch_fail("landlock", err.text);
    }
    return fd;
}
