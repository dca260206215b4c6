/* The bytes come from a process of our own user, which may be broken: lengths, kinds and
 * fds are judged before anything is kept. */
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"

#define HEADER 8 /* u32 length of what follows it, u32 kind; little-endian */
#define PART 16384

uint64_t message_within_ms(uint64_t ms)
{
    return nacre_clock_ns() + ms * NACRE_NS_PER_MS;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value = 0;

    for (size_t i = 0; i < 4; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

static enum nacre_status wait_for(int socket, short events, uint64_t deadline_ns,
                                  struct nacre_error *err)
{
    for (;;) {
        struct pollfd poll_fd = { .fd = socket, .events = events };
        struct timespec left = nacre_clock_until(deadline_ns);
        int ready = ppoll(&poll_fd, 1, &left, NULL);

        if (ready > 0)
            return NACRE_OK;
        if (ready < 0 && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "waiting at the keeper's socket");
        if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "the other end of the keeper's socket is silent");
    }
}

/* ---- sending ---- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void attach_fd(struct msghdr *message, union control *control, int fd)
{
    *control = (union control){ .header = { .cmsg_len = CMSG_LEN(sizeof(fd)),
                                            .cmsg_level = SOL_SOCKET,
                                            .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control->header), &fd, sizeof(fd));
    message->msg_control = control;
    message->msg_controllen = sizeof(*control);
}

/* Both parts in one call where they fit: one wake-up for the other end. */
static enum nacre_status send_parts(int socket, struct iovec parts[2], int fd,
                                    uint64_t deadline_ns, struct nacre_error *err)
{
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    union control control;

    if (fd >= 0)
        attach_fd(&message, &control, fd);
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        enum nacre_status status = NACRE_OK;

        if (sent < 0 && errno == EAGAIN)
            status = wait_for(socket, POLLOUT, deadline_ns, err);
        else if (sent < 0 && errno != EINTR)
            status = nacre_fail(err, NACRE_ERR_IO, "the keeper's socket");
        if (status != NACRE_OK)
            return status;
        for (size_t i = 0; i < 2 && sent > 0; i++) {
            size_t some = (size_t)sent < parts[i].iov_len ? (size_t)sent
                                                          : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + some;
            parts[i].iov_len -= some;
            sent -= (ssize_t)some;
            message.msg_control = NULL; /* it went with the first byte */
            message.msg_controllen = 0;
        }
    }
    return NACRE_OK;
}

enum nacre_status message_send(int socket, enum message_kind kind, const void *bytes,
                               size_t count, int fd, uint64_t deadline_ns,
                               struct nacre_error *err)
{
    uint8_t header[HEADER];
    struct iovec parts[2] = { { header, sizeof(header) },
                              { (void *)(uintptr_t)bytes, count } };

    if (count > MESSAGE_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "what is to be told to the keeper takes over %zu MiB",
                          MESSAGE_BYTES_MAX >> 20);
    put_u32(header, (uint32_t)count);
    put_u32(header + 4, kind);
    return send_parts(socket, parts, fd, deadline_ns, err);
}

enum nacre_status message_send_json(int socket, enum message_kind kind, json_t *json,
                                    int fd, uint64_t deadline_ns, struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *owned = json;
    NACRE_AUTO(nacre_heap_guard) char *text =
        owned ? json_dumps(owned, JSON_COMPACT) : NULL;

    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    return message_send(socket, kind, text, strlen(text), fd, deadline_ns, err);
}

/* ---- receiving ---- */

/* The one fd that may come along; more of them, or one that is not wanted, are closed. */
static bool take_fd(struct msghdr *message, int *ret_fd)
{
    bool good = !(message->msg_flags & MSG_CTRUNC);

    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(at) + i * sizeof(fd), sizeof(fd));
            if (ret_fd && *ret_fd < 0) {
                *ret_fd = fd;
            } else {
                (void)close(fd);
                good = false;
            }
        }
    }
    return good;
}

static enum nacre_status receive_whole(int socket, uint8_t *bytes, size_t count,
                                       uint64_t deadline_ns, int *ret_fd,
                                       struct nacre_error *err)
{
    size_t used = 0;

    while (used < count) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
        struct iovec part = { .iov_base = bytes + used, .iov_len = count - used };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        enum nacre_status status = NACRE_OK;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EAGAIN && errno != ECONNRESET)
            return nacre_fail(err, NACRE_ERR_IO, "the keeper's socket");
        if (got < 0 && errno == EAGAIN)
            status = wait_for(socket, POLLIN, deadline_ns, err);
        else if (got <= 0 && used == 0)
            return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                              "the other end of the keeper's socket is gone");
        else if (got <= 0)
            return nacre_fail(err, NACRE_ERR_PARSE,
                              "the other end of the keeper's socket left in the middle "
                              "of a message");
        else if (!take_fd(&message, ret_fd))
            status = nacre_fail(err, NACRE_ERR_PARSE,
                                "files that nobody asked for came through the keeper's "
                                "socket");
        else
            used += (size_t)got;
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

static enum nacre_status receive_bytes(int socket, size_t left, uint64_t deadline_ns,
                                       struct nacre_buf *bytes, struct nacre_error *err)
{
    uint8_t part[PART];
    enum nacre_status status = nacre_buf_reserve(bytes, left, err);

    if (status != NACRE_OK)
        return status;
    while (left > 0) {
        size_t count = left < sizeof(part) ? left : sizeof(part);

        status = receive_whole(socket, part, count, deadline_ns, NULL, err);
        if (status == NACRE_ERR_NOT_FOUND)
            return nacre_fail(err, NACRE_ERR_PARSE,
                              "the other end of the keeper's socket left in the middle "
                              "of a message");
        if (status == NACRE_OK)
            status = nacre_buf_add(bytes, part, count, err);
        if (status != NACRE_OK)
            return status;
        left -= count;
    }
    explicit_bzero(part, sizeof(part)); /* it may have been a secret */
    return nacre_buf_add(bytes, "", 0, err);
}

enum nacre_status message_receive(int socket, uint64_t deadline_ns,
                                  enum message_kind *ret_kind,
                                  struct nacre_buf *ret_bytes, int *ret_fd,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint8_t header[HEADER];
    enum nacre_status status = receive_whole(socket, header, sizeof(header), deadline_ns,
                                             ret_fd ? &fd : NULL, err);
    uint32_t count, kind;

    if (status != NACRE_OK)
        return status;
    count = get_u32(header);
    kind = get_u32(header + 4);
    if (count > MESSAGE_BYTES_MAX || kind == MESSAGE_NONE || kind >= MESSAGE_KINDS)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "what came through the keeper's socket is no message");
    status = receive_bytes(socket, count, deadline_ns, ret_bytes, err);
    if (status != NACRE_OK)
        return status;
    *ret_kind = (enum message_kind)kind;
    if (ret_fd)
        *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status message_parse(const struct nacre_buf *bytes, json_t **ret_json,
                                struct nacre_error *err)
{
    json_t *json = json_loadb(bytes->bytes, bytes->size, JSON_REJECT_DUPLICATES, NULL);

    if (!json)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "what came through the keeper's socket is no JSON");
    *ret_json = json;
    return NACRE_OK;
}

enum nacre_status message_check_peer(int socket, struct nacre_error *err)
{
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t size = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "who is at the keeper's socket?");
    if (peer.uid != geteuid())
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "the other end of the keeper's socket is of uid %u, not %u",
                          (unsigned)peer.uid, (unsigned)geteuid());
    return NACRE_OK;
}
