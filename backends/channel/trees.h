#ifndef NACRE_CHANNEL_TREES_H
#define NACRE_CHANNEL_TREES_H

#include "spec.h"

#define TREES_MAX 512 /* binds of one sandbox */

/*
 * What of the host is bound into a sandbox: a copy of the mounts at and below `fd`,
 * private, with the flags of a spec.  -1 with errno.
 */
int tree_clone(int fd, uint64_t flags);

/*
 * The trees of the TREE operations in their order, opened with the privileges of whoever
 * makes the sandbox: the very fd that the host holds is copied, and directories are
 * reached that the sandbox's user could not walk to.  Up to the first one to which the
 * kernel says EPERM: the sandbox does the rest, in its own user namespace.  They are the
 * caller's.  False with errno when one can't be opened; *ret_failed is that one.
 */
bool trees_open(struct unpack *ops, uint64_t op_count, const int *fds, size_t fd_count,
                int ret_trees[TREES_MAX], size_t *ret_count, struct spec_op *ret_failed);

/* In messages of PASS_FDS_MAX that say whether there are more. */
bool trees_send(int socket, const int *trees, size_t count);
/* False when there is nobody any more. */
bool trees_receive(int socket, int ret_trees[TREES_MAX], size_t *ret_count);

#endif
