#ifndef NACRE_CHANNEL_PASS_H
#define NACRE_CHANNEL_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Messages with fds over a SOCK_SEQPACKET socket. */
#define PASS_FDS_MAX 250 /* the kernel takes 253 */

/* False with errno; never by SIGPIPE. */
bool pass_send(int socket, const void *bytes, size_t count, const int *fds,
               size_t fd_count);

/*
 * The size of the next message, which is at most `size`; 0 when there is nobody at the
 * other end any more, -1 with errno (EAGAIN: none is there, with `wait` false; EBADMSG:
 * longer, or more fds than `fd_max`).  The fds are CLOEXEC and the caller's.
 */
ssize_t pass_receive(int socket, bool wait, void *ret_bytes, size_t size, int *ret_fds,
                     size_t fd_max, size_t *ret_fd_count);

#endif
