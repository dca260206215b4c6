/* Trusts nothing of what comes: it is a browser's that shows any page. */
#include "websocket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "answer.h"
#include "lookup.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define BUFFER_BYTES_MAX ((size_t)1 << 20)

enum { OP_MORE = 0, OP_TEXT = 1, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

static enum nacre_status broken(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the browser has closed the connection, or does not answer");
}

/* ---- connecting ---- */

static bool connect_within(int fd, const struct lookup_place *to, uint64_t deadline_ns)
{
    struct pollfd watched = { .fd = fd, .events = POLLOUT };
    struct timespec left = nacre_clock_until(deadline_ns);
    int failed = 0;
    socklen_t size = sizeof(failed);

    if (connect(fd, (const struct sockaddr *)&to->address, to->size) == 0)
        return true;
    return errno == EINPROGRESS && ppoll(&watched, 1, &left, NULL) > 0 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
}

enum nacre_status websocket_connect(const struct nacre_url *url, uint64_t deadline_ns,
                                    int *ret_fd, struct nacre_error *err)
{
    struct lookup_place places[LOOKUP_PLACES_MAX];
    size_t count;
    int fd = -1;

    if (url->tls)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "TLS to a browser is not spoken here: give http:// or ws://");
    count = lookup(url, deadline_ns, places);
    if (count == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "no address is known of %.200s",
                          url->host);
    for (size_t i = 0; i < count && fd < 0; i++) {
        fd = socket(places[i].address.ss_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && !connect_within(fd, &places[i], deadline_ns)) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no browser can be reached at %.200s port %u", url->host,
                          (unsigned)url->port);
    *ret_fd = fd;
    return NACRE_OK;
}

void websocket_accept(const char *key, char ret_accept[WEBSOCKET_ACCEPT])
{
    static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t digest[NACRE_SHA1_BYTES];
    char both[64 + sizeof(salt)];
    int length = snprintf(both, sizeof(both), "%.63s%s", key, salt);

    nacre_sha1(both, (size_t)length, digest);
    (void)nacre_base64_write(NACRE_BASE64_PLAIN, digest, sizeof(digest), ret_accept);
}

static enum nacre_status say_hello(int fd, const struct nacre_url *url,
                                   uint64_t deadline_ns,
                                   char ret_accept[WEBSOCKET_ACCEPT],
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf head = NACRE_BUF(NACRE_URL_BYTES_MAX + 1024);
    const struct io io = { -1, deadline_ns };
    char key[NACRE_BASE64_SIZE(16)];
    uint8_t bits[16];
    enum nacre_status status = nacre_random(bits, sizeof(bits), err);

    (void)nacre_base64_write(NACRE_BASE64_PLAIN, bits, sizeof(bits), key);
    websocket_accept(key, ret_accept);
    if (status == NACRE_OK)
        status = nacre_buf_addf(&head, err,
                                "GET %s HTTP/1.1\r\nHost: %s:%u\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: %s\r\n\r\n",
                                url->target, url->host, (unsigned)url->port, key);
    if (status == NACRE_OK && !io_write(&io, fd, head.bytes, head.size))
        status = broken(err);
    return status;
}

static enum nacre_status fill(struct websocket *socket, uint64_t deadline_ns,
                              struct nacre_error *err)
{
    const struct io io = { -1, deadline_ns };
    char some[32768];
    ssize_t count = io_read(&io, socket->fd, some, sizeof(some));

    return count > 0 ? nacre_buf_add(&socket->bytes, some, (size_t)count, err)
                     : broken(err);
}

enum nacre_status websocket_open(const struct nacre_url *url, uint64_t deadline_ns,
                                 struct websocket *ret_socket, struct nacre_error *err)
{
    NACRE_AUTO(websocket_clear) struct websocket socket = {
        .fd = -1, .bytes = NACRE_BUF(BUFFER_BYTES_MAX)
    };
    enum answer_is is = ANSWER_MORE;
    struct answer answer = { .status = 0 };
    char accept[WEBSOCKET_ACCEPT];
    enum nacre_status status = websocket_connect(url, deadline_ns, &socket.fd, err);

    if (status == NACRE_OK)
        status = say_hello(socket.fd, url, deadline_ns, accept, err);
    while (status == NACRE_OK && is == ANSWER_MORE) {
        status = fill(&socket, deadline_ns, err);
        if (status == NACRE_OK)
            is = answer_read(socket.bytes.bytes, socket.bytes.size, &answer,
                             &socket.used);
    }
    if (status == NACRE_OK && (is == ANSWER_BAD || answer.status != 101 ||
                               strcmp(answer.accept, accept) != 0))
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "what listens there opens no WebSocket (status %d)",
                            answer.status);
    if (status != NACRE_OK)
        return status;
    *ret_socket = socket;
    socket = (struct websocket)WEBSOCKET_NONE;
    return NACRE_OK;
}

void websocket_clear(struct websocket *socket)
{
    nacre_fd_guard(&socket->fd);
    nacre_buf_clear(&socket->bytes);
    *socket = (struct websocket)WEBSOCKET_NONE;
}

/* ---- frames ---- */

static enum nacre_status send_frame(struct websocket *socket, unsigned op,
                                    const char *bytes, size_t count, uint64_t deadline_ns,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *frame = malloc(count + 14);
    const struct io io = { -1, deadline_ns };
    size_t used = 0;
    uint8_t mask[4];
    enum nacre_status status = nacre_random(mask, sizeof(mask), err);

    if (status != NACRE_OK)
        return status;
    if (!frame)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    frame[used++] = (uint8_t)(0x80u | op);
    if (count < 126) {
        frame[used++] = (uint8_t)(0x80u | count);
    } else {
        unsigned size = count <= UINT16_MAX ? 2 : 8;

        frame[used++] = (uint8_t)(0x80u | (size == 2 ? 126u : 127u));
        for (unsigned i = size; i-- > 0;)
            frame[used++] = (uint8_t)((uint64_t)count >> 8 * i);
    }
    memcpy(frame + used, mask, sizeof(mask));
    used += sizeof(mask);
    for (size_t i = 0; i < count; i++)
        frame[used++] = (uint8_t)((uint8_t)bytes[i] ^ mask[i % 4]);
    return io_write(&io, socket->fd, frame, used) ? NACRE_OK : broken(err);
}

enum nacre_status websocket_send(struct websocket *socket, const char *text, size_t count,
                                 uint64_t deadline_ns, struct nacre_error *err)
{
    return send_frame(socket, OP_TEXT, text, count, deadline_ns, err);
}

/* At least `count` bytes that are not read yet. */
static enum nacre_status need(struct websocket *socket, size_t count,
                              uint64_t deadline_ns, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (socket->used > 0) {
        socket->bytes.size -= socket->used;
        memmove(socket->bytes.bytes, socket->bytes.bytes + socket->used,
                socket->bytes.size);
        socket->bytes.bytes[socket->bytes.size] = '\0';
        socket->used = 0;
    }
    while (status == NACRE_OK && socket->bytes.size < count)
        status = fill(socket, deadline_ns, err);
    return status;
}

struct frame {
    unsigned op;
    bool is_last;
    uint64_t count;
};

static enum nacre_status read_frame_head(struct websocket *socket, uint64_t deadline_ns,
                                         struct frame *ret_frame, struct nacre_error *err)
{
    enum nacre_status status = need(socket, 2, deadline_ns, err);
    const uint8_t *head = (const uint8_t *)socket->bytes.bytes;
    unsigned size = 0;

    if (status != NACRE_OK)
        return status;
    if ((head[0] & 0x70) != 0 || (head[1] & 0x80) != 0)
        return nacre_fail(err, NACRE_ERR_PARSE, "the browser sends a frame that is none");
    *ret_frame = (struct frame){ head[0] & 0x0fu, (head[0] & 0x80) != 0,
                                 head[1] & 0x7fu };
    if (ret_frame->count >= 126)
        size = ret_frame->count == 126 ? 2 : 8;
    status = need(socket, 2 + size, deadline_ns, err);
    if (status != NACRE_OK)
        return status;
    head = (const uint8_t *)socket->bytes.bytes;
    if (size > 0)
        ret_frame->count = 0;
    for (unsigned i = 0; i < size; i++)
        ret_frame->count = ret_frame->count << 8 | head[2 + i];
    socket->used = 2 + size;
    return NACRE_OK;
}

/* Its bytes to `into`, part by part. */
static enum nacre_status read_frame(struct websocket *socket, uint64_t count,
                                    uint64_t deadline_ns, struct nacre_buf *into,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (count > into->size_max)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "a message of over %zu MiB is sent",
                          into->size_max >> 20);
    while (status == NACRE_OK && count > 0) {
        size_t some;

        if (socket->used == socket->bytes.size)
            status = need(socket, 1, deadline_ns, err);
        if (status != NACRE_OK)
            return status;
        some = socket->bytes.size - socket->used;
        if (some > count)
            some = (size_t)count;
        status = nacre_buf_add(into, socket->bytes.bytes + socket->used, some, err);
        socket->used += some;
        count -= some;
    }
    return status;
}

static enum nacre_status take_control(struct websocket *socket, const struct frame *frame,
                                      uint64_t deadline_ns, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(125);
    enum nacre_status status;

    if (frame->op == OP_CLOSE)
        return broken(err);
    status = read_frame(socket, frame->count, deadline_ns, &bytes, err);
    if (status == NACRE_OK && frame->op == OP_PING)
        status = send_frame(socket, OP_PONG, bytes.bytes ? bytes.bytes : "", bytes.size,
                            deadline_ns, err);
    return status;
}

enum nacre_status websocket_receive(struct websocket *socket, uint64_t deadline_ns,
                                    struct nacre_buf *ret_text, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    bool begun = false;

    nacre_buf_clear(ret_text);
    while (status == NACRE_OK) {
        struct frame frame = { .op = OP_MORE };

        status = read_frame_head(socket, deadline_ns, &frame, err);
        if (status != NACRE_OK)
            return status;
        if (frame.op >= OP_CLOSE) {
            status = take_control(socket, &frame, deadline_ns, err);
            continue;
        }
        if (frame.op != (begun ? OP_MORE : OP_TEXT))
            return nacre_fail(err, NACRE_ERR_PARSE,
                              "the browser sends a frame out of order");
        begun = true;
        status = read_frame(socket, frame.count, deadline_ns, ret_text, err);
        if (status == NACRE_OK && frame.is_last)
            return NACRE_OK;
    }
    return status;
}
