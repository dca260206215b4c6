/*
 * One connection from the host's loopback.  Both sides are hostile: whoever connects may
 * be any process or page, and what answers is the sandbox.  So each head is made anew
 * from what was read, and nothing else of it is passed on: no cookie of another service
 * reaches the sandbox, and none is set by it.
 */
#include "visitor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "io.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "route.h"
#include "websocket.h"

#define HEAD_MS 10000
#define OPEN_MS 10000
#define FILE_MS 30000
#define LINGER_MS 500
#define HEAD_BYTES_MAX ((size_t)16 << 10)
#define FILE_BYTES_MAX (UINT64_C(16) << 20)

struct visitor {
    const struct visitor_at *at;
    const struct visitor_gate *gate;
    int fd;
    struct nacre_buf bytes; /* that came */
    size_t used;            /* of them by the head */
    struct route route;
};

static struct io within(const struct visitor *visitor, uint64_t ms)
{
    return (struct io){ visitor->at->box.stop_fd,
                        nacre_clock_ns() + ms * NACRE_NS_PER_MS };
}

/* ---- our own answers ---- */

/* What is not read when it is closed takes the answer along. */
static void linger(const struct visitor *visitor)
{
    const struct io io = within(visitor, LINGER_MS);
    char dropped[4096];
    size_t total = 0;
    ssize_t count;

    (void)shutdown(visitor->fd, SHUT_WR);
    while (total < HEAD_BYTES_MAX * 4 &&
           (count = io_read(&io, visitor->fd, dropped, sizeof(dropped))) > 0)
        total += (size_t)count;
}

static void answer(const struct visitor *visitor, const char *status, const char *fields,
                   const char *body)
{
    const struct io io = within(visitor, HEAD_MS);
    char head[1024];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                          "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                          "X-Content-Type-Options: nosniff\r\n%s\r\n",
                          status, strlen(body), fields);

    if (length > 0 && (size_t)length < sizeof(head) &&
        io_write(&io, visitor->fd, head, (size_t)length) &&
        io_write(&io, visitor->fd, body, strlen(body)))
        linger(visitor);
}

/* The same for whatever was wrong. */
static void refuse(const struct visitor *visitor)
{
    answer(visitor, "403 Forbidden", "Content-Type: text/plain\r\n", "refused\n");
}

static void fail(const struct visitor *visitor)
{
    answer(visitor, "502 Bad Gateway", "Content-Type: text/plain\r\n",
           "the browser does not answer\n");
}

static bool come_in(const struct visitor *visitor)
{
    if (visitor->gate->let_in(visitor->gate->data))
        return true;
    answer(visitor, "503 Service Unavailable", "Content-Type: text/plain\r\n",
           "too many are connected\n");
    return false;
}

/* ---- what it asks ---- */

static bool read_head(struct visitor *visitor, uint16_t port, bool of_screen)
{
    const struct io io = within(visitor, HEAD_MS);
    struct door_head head = { .form = DOOR_TARGET_NONE };
    enum door_head_is is = DOOR_HEAD_MORE;
    struct nacre_error ignored;
    char some[4096];

    while (is == DOOR_HEAD_MORE) {
        ssize_t count = io_read(&io, visitor->fd, some, sizeof(some));

        if (count <= 0 || nacre_buf_add(&visitor->bytes, some, (size_t)count, &ignored) !=
                              NACRE_OK)
            break;
        is = door_head_read(visitor->bytes.bytes, visitor->bytes.size, false, &head,
                            &visitor->used);
    }
    if (is == DOOR_HEAD_WHOLE)
        route_read(&head, port, of_screen, &visitor->route);
    door_head_clear(&head);
    return is == DOOR_HEAD_WHOLE || is == DOOR_HEAD_BAD;
}

/* ---- CDP ---- */

/* As the browser tells it, with a URL of ours. */
static void tell_version(const struct visitor *visitor)
{
    const struct visitor_at *at = visitor->at;
    uint64_t now_ns = nacre_clock_ns();
    struct box_version version;
    char token[TOKEN_HEX], body[sizeof(version.json) + 512];
    struct nacre_error ignored;
    size_t length;

    if (!tokens_take(at->tokens, TOKEN_CDP_HTTP, visitor->route.token, now_ns)) {
        refuse(visitor);
        return;
    }
    if (!come_in(visitor))
        return;
    if (!box_version(&at->box, now_ns + OPEN_MS * NACRE_NS_PER_MS, &version) ||
        tokens_give(at->tokens, TOKEN_CDP_SOCKET, nacre_clock_ns(), token, &ignored) !=
            NACRE_OK) {
        fail(visitor);
        return;
    }
    length = strlen(version.json) - 1; /* the last brace */
    (void)snprintf(body, sizeof(body),
                   "%.*s%s\"webSocketDebuggerUrl\": \"ws://%s/%s%s\"}", (int)length,
                   version.json, length > 1 ? ", " : "", visitor->route.host, token,
                   at->browser_path);
    answer(visitor, "200 OK", "Content-Type: application/json\r\n", body);
}

static void add_field(char *head, size_t size, const char *name, const char *value)
{
    size_t used = strlen(head);

    if (value[0])
        (void)snprintf(head + used, size - used, "%s: %s\r\n", name, value);
}

static bool ask_socket(const struct visitor *visitor, int box_fd, uint16_t port,
                       const char *path)
{
    const struct io io = within(visitor, OPEN_MS);
    const struct route_socket *asked = &visitor->route.socket;
    char head[1024];

    (void)snprintf(head, sizeof(head),
                   "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: %s\r\n",
                   path, (unsigned)port, asked->key);
    add_field(head, sizeof(head), "Sec-WebSocket-Extensions", asked->extensions);
    add_field(head, sizeof(head), "Sec-WebSocket-Protocol", asked->protocol);
    return io_write(&io, box_fd, head, strlen(head)) &&
           io_write(&io, box_fd, "\r\n", 2);
}

static bool confirm_socket(const struct visitor *visitor, const struct answer *told,
                           const char *accept)
{
    const struct io io = within(visitor, OPEN_MS);
    char head[1024];

    (void)snprintf(head, sizeof(head),
                   "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n", accept);
    add_field(head, sizeof(head), "Sec-WebSocket-Extensions", told->extensions);
    add_field(head, sizeof(head), "Sec-WebSocket-Protocol", told->protocol);
    return io_write(&io, visitor->fd, head, strlen(head)) &&
           io_write(&io, visitor->fd, "\r\n", 2);
}

static void join_socket(const struct visitor *visitor, uint16_t port, const char *path)
{
    const struct visitor_at *at = visitor->at;
    NACRE_AUTO(nacre_fd_guard) int box_fd = box_dial(&at->box, port);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(HEAD_BYTES_MAX * 2);
    const struct io io = within(visitor, OPEN_MS);
    char accept[WEBSOCKET_ACCEPT];
    size_t used, early = visitor->bytes.size - visitor->used;
    struct answer told;

    websocket_accept(visitor->route.socket.key, accept);
    if (box_fd < 0 || !ask_socket(visitor, box_fd, port, path) ||
        !box_answer(&at->box, box_fd, io.deadline_ns, &bytes, &told, &used) ||
        told.status != 101 || strcmp(told.accept, accept) != 0) {
        fail(visitor);
        return;
    }
    if (confirm_socket(visitor, &told, accept) &&
        io_write(&io, visitor->fd, bytes.bytes + used, bytes.size - used))
        io_join(at->box.stop_fd, visitor->fd, box_fd,
                visitor->bytes.bytes + visitor->used, early);
}

static void join_cdp(const struct visitor *visitor)
{
    const struct visitor_at *at = visitor->at;

    if (!tokens_take(at->tokens, TOKEN_CDP_SOCKET, visitor->route.token,
                     nacre_clock_ns()) ||
        strcmp(visitor->route.path, at->browser_path) != 0)
        refuse(visitor);
    else if (come_in(visitor))
        join_socket(visitor, NACRE_BROWSER_CDP_PORT, at->browser_path);
}

/* ---- the screen ---- */

static void enter_screen(const struct visitor *visitor)
{
    const struct visitor_at *at = visitor->at;
    struct token_visit visit;
    struct nacre_error ignored;
    char fields[512];

    if (!tokens_take(at->tokens, TOKEN_SCREEN, visitor->route.token, nacre_clock_ns()) ||
        tokens_visit(at->tokens, nacre_clock_ns(), &visit, &ignored) != NACRE_OK) {
        refuse(visitor);
        return;
    }
    if (!come_in(visitor))
        return;
    (void)snprintf(fields, sizeof(fields),
                   "Location: /%s/vnc.html?autoconnect=1&resize=scale&path=%s/websockify"
                   "\r\nSet-Cookie: " ROUTE_COOKIE
                   "=%s; Path=/%s; HttpOnly; SameSite=Lax\r\n",
                   visit.path, visit.path, visit.cookie, visit.path);
    answer(visitor, "303 See Other", fields, "");
}

static struct token_visit visit_of(const struct visitor *visitor)
{
    struct token_visit visit;

    memcpy(visit.path, visitor->route.token, sizeof(visit.path));
    memcpy(visit.cookie, visitor->route.cookie, sizeof(visit.cookie));
    return visit;
}

/* The page is the sandbox's, and runs in a browser of the host: it may load and reach
 * nothing but itself, and neither opens a window nor puts down a file. */
static bool confirm_file(const struct visitor *visitor, const struct answer *told)
{
    const struct io io = within(visitor, FILE_MS);
    char head[1024];
    int length = snprintf(
        head, sizeof(head),
        "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64 "\r\nContent-Type: %s\r\n"
        "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        "Content-Security-Policy: default-src 'self' data: blob:; script-src 'self' "
        "'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self' ws://%s; "
        "frame-ancestors 'none'; form-action 'none'; base-uri 'none'; "
        "sandbox allow-scripts allow-same-origin\r\n\r\n",
        told->length, told->type[0] ? told->type : "application/octet-stream",
        visitor->route.host);

    return length > 0 && (size_t)length < sizeof(head) &&
           io_write(&io, visitor->fd, head, (size_t)length);
}

/* The rest of a body of `left` bytes. */
static void pass_on(const struct visitor *visitor, int box_fd, uint64_t left)
{
    const struct io io = within(visitor, FILE_MS);
    char some[16384];

    while (left > 0) {
        size_t most = left < sizeof(some) ? (size_t)left : sizeof(some);
        ssize_t count = io_read(&io, box_fd, some, most);

        if (count <= 0 || !io_write(&io, visitor->fd, some, (size_t)count))
            return;
        left -= (uint64_t)count;
    }
    linger(visitor);
}

static void send_file(const struct visitor *visitor)
{
    const struct visitor_at *at = visitor->at;
    const struct token_visit visit = visit_of(visitor);
    NACRE_AUTO(nacre_fd_guard) int box_fd = -1;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(HEAD_BYTES_MAX * 2);
    const struct io io = within(visitor, FILE_MS);
    char head[ROUTE_PATH + 64];
    struct answer told;
    size_t used, early;

    if (!tokens_is_visit(at->tokens, &visit, nacre_clock_ns())) {
        refuse(visitor);
        return;
    }
    if (!come_in(visitor))
        return;
    (void)snprintf(head, sizeof(head), "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
                   visitor->route.path);
    box_fd = box_dial(&at->box, NACRE_BROWSER_NOVNC_PORT);
    if (box_fd < 0 || !io_write(&io, box_fd, head, strlen(head)) ||
        !box_answer(&at->box, box_fd, io.deadline_ns, &bytes, &told, &used) ||
        told.status != 200 || !told.has_length || told.length > FILE_BYTES_MAX) {
        fail(visitor);
        return;
    }
    early = bytes.size - used;
    if (early > told.length)
        early = (size_t)told.length;
    if (confirm_file(visitor, &told) &&
        io_write(&io, visitor->fd, bytes.bytes + used, early))
        pass_on(visitor, box_fd, told.length - early);
}

static void join_screen(const struct visitor *visitor)
{
    const struct token_visit visit = visit_of(visitor);

    if (!tokens_visit_socket(visitor->at->tokens, &visit, nacre_clock_ns())) {
        refuse(visitor);
        return;
    }
    if (come_in(visitor))
        join_socket(visitor, NACRE_BROWSER_NOVNC_PORT, "/websockify");
    tokens_visit_end(visitor->at->tokens, &visit);
}

/* ---- the whole ---- */

static void serve(const struct visitor *visitor)
{
    switch (visitor->route.is) {
    case ROUTE_VERSION:
        tell_version(visitor);
        break;
    case ROUTE_CDP:
        join_cdp(visitor);
        break;
    case ROUTE_ENTER:
        enter_screen(visitor);
        break;
    case ROUTE_FILE:
        send_file(visitor);
        break;
    case ROUTE_SCREEN:
        join_screen(visitor);
        break;
    case ROUTE_REFUSED:
        refuse(visitor);
        break;
    }
}

void visitor_serve(const struct visitor_at *at, const struct visitor_gate *gate, int fd,
                   uint16_t port, bool of_screen)
{
    struct visitor visitor = { .at = at, .gate = gate, .fd = fd,
                               .bytes = NACRE_BUF(HEAD_BYTES_MAX) };

    if (read_head(&visitor, port, of_screen))
        serve(&visitor);
    nacre_buf_clear(&visitor.bytes);
}
