#ifndef NACRE_MOUNT_API_H
#define NACRE_MOUNT_API_H

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Mounts by fd (Linux 5.2, mount_setattr 5.12).  The C library has them only since 2.36.
 * What is attached is what an fd holds: no name is looked up twice.
 */

static inline int api_open_tree(int dir_fd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir_fd, path, flags);
}

/* What `from_fd` is goes on top of what `to_fd` is. */
static inline int api_move_mount(int from_fd, int to_fd)
{
    return (int)syscall(SYS_move_mount, from_fd, "", to_fd, "",
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static inline int api_mount_setattr(int fd, const struct mount_attr *attr)
{
    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, attr,
                        sizeof(*attr));
}

static inline int api_fsopen(const char *type)
{
    return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int api_fsconfig_text(int fd, const char *key, const char *value)
{
    return (int)syscall(SYS_fsconfig, fd, FSCONFIG_SET_STRING, key, value, 0);
}

static inline int api_fsconfig_create(int fd)
{
    return (int)syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static inline int api_fsmount(int fd, unsigned attributes)
{
    return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes);
}

static inline int api_openat2(int dir_fd, const char *path, uint64_t flags,
                              uint64_t resolve)
{
    struct open_how how = { .flags = flags, .resolve = resolve };

    return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

#endif
