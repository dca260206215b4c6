#include "wt_share.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nacre/clock.h"

#define PAGE ((size_t)4096)

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

size_t wt_share_size(uint64_t output_bytes_max)
{
    return in_pages(sizeof(struct wt_share)) + 2 * in_pages(output_bytes_max);
}

unsigned char *wt_share_output(struct wt_share *share, uint64_t output_bytes_max,
                               int stream)
{
    return (unsigned char *)share + in_pages(sizeof(*share)) +
           (size_t)stream * in_pages(output_bytes_max);
}

int wt_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / NACRE_NS_PER_S),
                                .tv_nsec = (long)(timeout_ns % NACRE_NS_PER_S) };

    return (int)syscall(SYS_futex, word, FUTEX_WAIT, expected,
                        timeout_ns ? &timeout : NULL, NULL, 0);
}

void wt_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void wt_put_bytes(struct wt_cursor *cursor, const void *bytes, size_t count)
{
    if (cursor->failed || count > (size_t)(cursor->end - cursor->at)) {
        cursor->failed = true;
        return;
    }
    if (count > 0)
        memcpy(cursor->at, bytes, count);
    cursor->at += count;
}

void wt_put_text(struct wt_cursor *cursor, const char *text)
{
    wt_put_bytes(cursor, text, strlen(text) + 1);
}

void wt_put_number(struct wt_cursor *cursor, uint32_t number)
{
    wt_put_bytes(cursor, &number, sizeof(number));
}

const char *wt_get_text(struct wt_cursor *cursor)
{
    const char *text = cursor->at;
    char *end = cursor->failed
                    ? NULL
                    : memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));

    if (!end) {
        cursor->failed = true;
        return "";
    }
    cursor->at = end + 1;
    return text;
}

const void *wt_get_bytes(struct wt_cursor *cursor, size_t count)
{
    const void *bytes = cursor->at;

    if (cursor->failed || count > (size_t)(cursor->end - cursor->at)) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += count;
    return bytes;
}

uint32_t wt_get_number(struct wt_cursor *cursor)
{
    const void *bytes = wt_get_bytes(cursor, sizeof(uint32_t));
    uint32_t number = 0;

    if (bytes)
        memcpy(&number, bytes, sizeof(number));
    return number;
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(WT_FDS_MAX * sizeof(int))];
};

bool wt_send(int socket, const struct wt_message *message, const int *fds,
             uint32_t fd_count)
{
    struct iovec part = { .iov_base = (void *)message, .iov_len = sizeof(*message) };
    union control control = { .bytes = { 0 } };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t sent;

    if (fd_count > WT_FDS_MAX) {
        errno = E2BIG;
        return false;
    }
    if (fd_count > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*message);
}

bool wt_receive(int socket, struct wt_message *ret_message, int *ret_fds,
                uint32_t *ret_count)
{
    struct iovec part = { .iov_base = ret_message, .iov_len = sizeof(*ret_message) };
    union control control = { .bytes = { 0 } };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes) };
    struct cmsghdr *got;
    ssize_t count;

    *ret_count = 0;
    do
        count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count <= 0) {
        if (count == 0)
            errno = 0;
        return false;
    }
    got = CMSG_FIRSTHDR(&header);
    if (got && got->cmsg_level == SOL_SOCKET && got->cmsg_type == SCM_RIGHTS) {
        *ret_count = (uint32_t)((got->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(ret_fds, CMSG_DATA(got), *ret_count * sizeof(int));
    }
    if (count != (ssize_t)sizeof(*ret_message) ||
        (header.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
        for (uint32_t i = 0; i < *ret_count; i++)
            (void)close(ret_fds[i]);
        *ret_count = 0;
        errno = EBADMSG;
        return false;
    }
    return true;
}
