#include "pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union rights {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(PASS_FDS_MAX * sizeof(int))];
};

bool pass_send(int socket, const void *bytes, size_t count, const int *fds,
               size_t fd_count)
{
    union rights rights = { 0 };
    struct iovec part = { (void *)(size_t)bytes, count };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    struct cmsghdr *header;

    if (fd_count > PASS_FDS_MAX) {
        errno = E2BIG;
        return false;
    }
    if (fd_count > 0) {
        message.msg_control = rights.bytes;
        message.msg_controllen = (socklen_t)CMSG_SPACE(fd_count * sizeof(int));
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = (socklen_t)CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)count;
}

ssize_t pass_receive(int socket, bool wait, void *ret_bytes, size_t size, int *ret_fds,
                     size_t fd_max, size_t *ret_fd_count)
{
    union rights rights;
    struct iovec part = { ret_bytes, size };
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = rights.bytes,
        .msg_controllen = sizeof(rights.bytes),
    };
    const int flags = MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT);
    struct cmsghdr *header;
    size_t count = 0;
    ssize_t taken;
    int fds[PASS_FDS_MAX];

    do {
        taken = recvmsg(socket, &message, flags);
    } while (taken < 0 && errno == EINTR);
    if (taken <= 0)
        return taken;
    /* The kernel puts all fds of a message into one; no other kind was asked for. */
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(header), count * sizeof(int));
    }
    if (count > fd_max || (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
        for (size_t i = 0; i < count; i++)
            (void)close(fds[i]);
        errno = EBADMSG;
        return -1;
    }
    if (count > 0)
        memcpy(ret_fds, fds, count * sizeof(int));
    *ret_fd_count = count;
    return taken;
}
