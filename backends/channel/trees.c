#include "trees.h"

#include <errno.h>
#include <sys/mount.h>

#include "mount_api.h"
#include "nacre/own.h"
#include "pass.h"

static uint64_t attributes(uint64_t flags)
{
    return MOUNT_ATTR_NOSUID | (flags & SPEC_DEVICE ? 0 : MOUNT_ATTR_NODEV) |
           (flags & SPEC_READ_ONLY ? MOUNT_ATTR_RDONLY : 0) |
           (flags & SPEC_NO_EXEC ? MOUNT_ATTR_NOEXEC : 0);
}

static int clone_at(int fd, const char *path, uint64_t flags)
{
    const struct mount_attr attr = { .attr_set = attributes(flags),
                                     .propagation = MS_PRIVATE };
    NACRE_AUTO(nacre_fd_guard) int tree =
        api_open_tree(fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
                                    AT_RECURSIVE);

    if (tree < 0 || api_mount_setattr(tree, &attr) != 0)
        return -1;
    return nacre_fd_take(&tree);
}

int tree_clone(int fd, uint64_t flags)
{
    return clone_at(fd, "", flags);
}

static int open_one(const struct spec_op *op, const int *fds, size_t fd_count)
{
    if (op->fd == SPEC_NO_FD)
        return clone_at(AT_FDCWD, op->text, op->flags);
    if (op->fd < fd_count)
        return tree_clone(fds[op->fd], op->flags);
    errno = EBADF;
    return -1;
}

bool trees_open(struct unpack *ops, uint64_t op_count, const int *fds, size_t fd_count,
                int ret_trees[TREES_MAX], size_t *ret_count, struct spec_op *ret_failed)
{
    *ret_count = 0;
    for (uint64_t i = 0; i < op_count; i++) {
        int tree;

        if (!spec_op_unpack(ops, ret_failed) || *ret_count == TREES_MAX) {
            errno = EBADMSG;
            return false;
        }
        if (ret_failed->kind != SPEC_TREE)
            continue;
        tree = open_one(ret_failed, fds, fd_count);
        if (tree < 0)
            return errno == EPERM;
        ret_trees[(*ret_count)++] = tree;
    }
    return true;
}

bool trees_send(int socket, const int *trees, size_t count)
{
    size_t done = 0;
    bool more;

    do {
        size_t left = count - done, some = left < PASS_FDS_MAX ? left : PASS_FDS_MAX;

        more = some < left;
        if (!pass_send(socket, &more, sizeof(more), trees + done, some))
            return false;
        done += some;
    } while (more);
    return true;
}

bool trees_receive(int socket, int ret_trees[TREES_MAX], size_t *ret_count)
{
    bool more;

    *ret_count = 0;
    do {
        size_t some;

        if (pass_receive(socket, true, &more, sizeof(more), ret_trees + *ret_count,
                         TREES_MAX - *ret_count, &some) != sizeof(more))
            return false;
        *ret_count += some;
    } while (more);
    return true;
}
