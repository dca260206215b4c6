/*
 * A browser's front before a sandbox that is played here: one thread takes what is
 * dialled, and answers as Chromium and noVNC would, or worse.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "front.h"
#include "nacre/base64.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/hash.h"

#define PATH "/devtools/browser/abc-1"
#define PATIENCE_MS 20000

enum manner {
    KIND,
    SILENT,       /* nobody listens in the sandbox */
    WRONG_ACCEPT, /* a WebSocket's key is answered as another's */
    WRONG_PATH,   /* a path with more in it than an id */
    MASKED,       /* frames that only a client may send */
    ENDLESS,      /* a frame of 2^60 bytes */
    UNORDERED,    /* goes on with what was not begun */
    FAILING,      /* the page can't be loaded */
    DEAF,         /* does not notice that a client has left */
};

struct world {
    int dial[2], stop_fd;
    enum manner manner;
    pthread_t thread;
    struct front *front;
    char asked[4096]; /* the last head that the sandbox saw */
};

/* ---- the sandbox ---- */

static void say(int fd, const char *text)
{
    (void)!write(fd, text, strlen(text));
}

static bool read_head(int fd, char *ret_text, size_t size)
{
    size_t used = 0;

    while (used + 1 < size && read(fd, ret_text + used, 1) == 1) {
        ret_text[++used] = '\0';
        if (used >= 4 && strcmp(ret_text + used - 4, "\r\n\r\n") == 0)
            return true;
    }
    return false;
}

static void send_text(int fd, const char *text)
{
    size_t length = strlen(text);
    uint8_t head[4] = { 0x81, 126, (uint8_t)(length >> 8), (uint8_t)length };

    (void)!write(fd, head, sizeof(head));
    (void)!write(fd, text, length);
}

/* One frame of a client's, whose head says how it is masked. */
static bool take_frame(int fd, char *ret_text, size_t size)
{
    uint8_t head[2], more[2], mask[4];
    size_t count;

    if (read(fd, head, 2) != 2)
        return false;
    assert_true(head[1] & 0x80);
    count = head[1] & 0x7f;
    if (count == 126) {
        assert_int_equal(read(fd, more, 2), 2);
        count = (size_t)more[0] << 8 | more[1];
    }
    assert_true(count < size);
    assert_int_equal(read(fd, mask, 4), 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(read(fd, ret_text + i, 1), 1);
        ret_text[i] = (char)(ret_text[i] ^ (char)mask[i % 4]);
    }
    ret_text[count] = '\0';
    return true;
}

static void answer_cdp(const struct world *world, int fd, const char *text)
{
    const char *result = strstr(text, "createTarget")     ? "{\"targetId\":\"t\"}"
                         : strstr(text, "attachToTarget") ? "{\"sessionId\":\"s\"}"
                         : strstr(text, "captureScreenshot")
                             ? "{\"data\":\"iVBORw0KGgo=\"}"
                         : strstr(text, "navigate") && world->manner == FAILING
                             ? "{\"errorText\":\"net::ERR_TUNNEL_CONNECTION_FAILED\"}"
                             : "{}";
    char reply[256];
    int id = atoi(strstr(text, "\"id\":") + 5);

    send_text(fd, "{\"method\":\"Noise\",\"params\":{}}");
    (void)snprintf(reply, sizeof(reply), "{\"id\":%d,\"result\":%s}", id, result);
    send_text(fd, reply);
    if (!strstr(text, "navigate"))
        return;
    send_text(fd, "{\"method\":\"Network.responseReceived\",\"sessionId\":\"other\","
                  "\"params\":{\"type\":\"Document\",\"response\":{\"status\":200}}}");
    send_text(fd, "{\"method\":\"Network.responseReceived\",\"sessionId\":\"s\","
                  "\"params\":{\"type\":\"Document\",\"response\":{\"status\":403}}}");
    send_text(fd, "{\"method\":\"Page.loadEventFired\",\"sessionId\":\"s\"}");
}

static void be_socket(const struct world *world, int fd)
{
    static const uint8_t masked[] = { 0x81, 0x80, 1, 2, 3, 4 };
    static const uint8_t endless[] = { 0x81, 127, 0x10, 0, 0, 0, 0, 0, 0, 0 };
    static const uint8_t unordered[] = { 0x80, 1, 'x' };
    char text[2048];

    if (world->manner == MASKED)
        (void)!write(fd, masked, sizeof(masked));
    if (world->manner == ENDLESS)
        (void)!write(fd, endless, sizeof(endless));
    if (world->manner == UNORDERED)
        (void)!write(fd, unordered, sizeof(unordered));
    while (take_frame(fd, text, sizeof(text)))
        answer_cdp(world, fd, text);
}

/* As many as a client says it wants come back as they are. */
static void be_echo(int fd)
{
    char bytes[4096];
    ssize_t count;

    while ((count = read(fd, bytes, sizeof(bytes))) > 0)
        (void)!write(fd, bytes, (size_t)count);
}

/* That the other side speaks no more is not its end. */
static void await_close(int fd)
{
    struct pollfd closed = { .fd = fd };

    (void)poll(&closed, 1, PATIENCE_MS);
}

struct call {
    struct world *world;
    uint16_t port;
    int fd;
};

/* To the head that asks for it. */
static void open_socket(const struct world *world, int fd, const char *head)
{
    static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char key[32] = "", both[sizeof(key) + sizeof(salt)];
    char accept[NACRE_BASE64_SIZE(NACRE_SHA1_BYTES)] = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    uint8_t digest[NACRE_SHA1_BYTES];

    assert_int_equal(sscanf(strstr(head, "Sec-WebSocket-Key:"),
                            "Sec-WebSocket-Key: %31s", key), 1);
    (void)snprintf(both, sizeof(both), "%s%s", key, salt);
    nacre_sha1(both, strlen(both), digest);
    if (world->manner != WRONG_ACCEPT)
        (void)nacre_base64_write(NACRE_BASE64_PLAIN, digest, sizeof(digest), accept);
    say(fd, "HTTP/1.1 101 x\r\nSec-WebSocket-Accept: ");
    say(fd, accept);
    say(fd, "\r\nSet-Cookie: from=sandbox\r\n\r\n");
}

static void *take_call(void *data)
{
    struct call *call = data;
    struct world *world = call->world;
    char head[4096] = "";
    bool whole = read_head(call->fd, head, sizeof(head));

    memcpy(world->asked, head, sizeof(head));
    if (whole && strstr(head, "GET /json/version ")) {
        char text[512], body[256];
        int length = snprintf(
            body, sizeof(body),
            "{\"Browser\":\"F/1\",\"webSocketDebuggerUrl\":\"ws://x" PATH "%s\"}",
            world->manner == WRONG_PATH ? "\\r\\nb" : "");

        (void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n"
                       "\r\n%s", length, body);
        say(call->fd, text);
    } else if (whole && strstr(head, "Upgrade: websocket")) {
        open_socket(world, call->fd, head);
        if (world->manner == DEAF)
            await_close(call->fd);
        be_echo(call->fd);
    } else if (whole) {
        say(call->fd, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nContent-Type: a/b\r\n"
                      "Set-Cookie: from=sandbox\r\n\r\nhello and more");
    }
    (void)close(call->fd);
    free(call);
    return NULL;
}

/* Until nobody can dial any more. */
static void *be_sandbox(void *data)
{
    struct world *world = data;

    for (;;) {
        struct call *call = calloc(1, sizeof(*call));
        union {
            char bytes[CMSG_SPACE(sizeof(int))];
            struct cmsghdr align;
        } control;
        struct iovec part = { &call->port, sizeof(call->port) };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof(control.bytes) };
        pthread_t thread;

        if (recvmsg(world->dial[0], &message, 0) <= 0) {
            free(call);
            return NULL;
        }
        memcpy(&call->fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(call->fd));
        (void)fcntl(call->fd, F_SETFL, 0);
        call->world = world;
        if (world->manner == SILENT) {
            (void)close(call->fd);
            free(call);
        } else {
            assert_int_equal(pthread_create(&thread, NULL, take_call, call), 0);
            assert_int_equal(pthread_detach(thread), 0);
        }
    }
}

static void open_world(struct world *world, enum manner manner)
{
    struct front_options options = { .no_vnc = true };
    struct nacre_error err;

    *world = (struct world){ .manner = manner };
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, world->dial), 0);
    options.stop_fd = world->stop_fd = eventfd(0, EFD_NONBLOCK);
    options.dial_fd = world->dial[1];
    assert_int_equal(pthread_create(&world->thread, NULL, be_sandbox, world), 0);
    assert_int_equal(front_open(&options, &world->front, &err), NACRE_OK);
}

static void close_world(struct world *world)
{
    const uint64_t one = 1;

    assert_int_equal(write(world->stop_fd, &one, sizeof(one)), sizeof(one));
    front_free(world->front);
    (void)close(world->dial[1]);
    assert_int_equal(pthread_join(world->thread, NULL), 0);
    (void)close(world->dial[0]);
    (void)close(world->stop_fd);
}

static void await(struct world *world)
{
    struct nacre_error err;

    if (front_await(world->front, nacre_clock_ns() + 20 * NACRE_NS_PER_S, &err) ||
        front_listen(world->front, &err))
        fail_msg("%s", err.text);
}

/* ---- its visitors ---- */

/* Connected, accepted, and `text` said. */
static int visit(struct world *world, bool of_screen, const char *text)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(front_port(world->front, of_screen)),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct pollfd at = { .fd = front_fd(world->front, of_screen), .events = POLLIN };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(poll(&at, 1, 20000), 1);
    front_accept(world->front, of_screen);
    say(fd, text);
    return fd;
}

/* All that comes until it is closed. */
static const char *rest(int fd, char *ret_text, size_t size)
{
    size_t used = 0;
    ssize_t count;

    while (used + 1 < size && (count = read(fd, ret_text + used, size - 1 - used)) > 0)
        used += (size_t)count;
    ret_text[used] = '\0';
    (void)close(fd);
    return ret_text;
}

static const char *ask(struct world *world, bool of_screen, const char *path,
                       const char *fields, char *ret_text, size_t size)
{
    char head[2048];

    (void)snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n",
                   path, (unsigned)front_port(world->front, of_screen), fields);
    return rest(visit(world, of_screen, head), ret_text, size);
}

/* The path of a fresh URL. */
static void path_of(struct world *world, enum token_kind kind, char ret_path[256])
{
    char url[NACRE_BROWSER_URL];
    struct nacre_error err;

    if (front_url(world->front, kind, url, sizeof(url), &err) != NACRE_OK)
        fail_msg("%s", err.text);
    (void)snprintf(ret_path, 256, "%s", strchr(strstr(url, "://") + 3, '/'));
}

#define SOCKET "Upgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static int open_visit(struct world *world, bool of_screen, const char *path,
                      const char *fields, char *ret_head, size_t size)
{
    char head[2048];
    int fd;

    (void)snprintf(head, sizeof(head),
                   "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n" SOCKET "%s\r\nearly",
                   path, (unsigned)front_port(world->front, of_screen), fields);
    fd = visit(world, of_screen, head);
    assert_true(read_head(fd, ret_head, size));
    return fd;
}

/* ---- */

static void a_browser_that_does_not_answer_is_not_waited_for_for_ever(void **state)
{
    static const enum manner manners[] = { SILENT, WRONG_PATH };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(manners); i++) {
        struct world world;

        open_world(&world, manners[i]);
        assert_int_equal(front_await(world.front, nacre_clock_ns() + 300000000, &err),
                         NACRE_ERR_TIMEOUT);
        close_world(&world);
    }
}

static void an_http_token_gives_one_answer_with_a_token_of_its_own(void **state)
{
    char path[256], asked[300], text[4096], next[256] = "", head[1024];
    struct world world;
    const char *at;
    int fd;

    (void)state;
    open_world(&world, KIND);
    await(&world);
    path_of(&world, TOKEN_CDP_HTTP, path);
    (void)snprintf(asked, sizeof(asked), "%s/json/version", path);
    assert_non_null(strstr(ask(&world, false, asked, "Cookie: secret=1\r\n", text,
                               sizeof(text)), "200 OK"));
    at = strstr(text, "\"webSocketDebuggerUrl\": \"ws://127.0.0.1:");
    assert_non_null(at);
    assert_null(strstr(world.asked, "secret")); /* of other services: not its business */
    assert_int_equal(sscanf(strchr(strstr(at, "ws://") + 5, '/'), "%200[^\"]", next), 1);
    assert_string_not_equal(next, path);
    /* again, and by the other form */
    assert_non_null(strstr(ask(&world, false, asked, "", text, sizeof(text)),
                           "403 Forbidden"));
    fd = open_visit(&world, false, next, "", head, sizeof(head));
    assert_non_null(strstr(head, " 101 "));
    (void)close(fd);
    assert_non_null(strstr(ask(&world, false, next, SOCKET, text, sizeof(text)),
                           "403 Forbidden"));
    close_world(&world);
}

static void a_token_opens_one_socket_and_its_bytes_go_both_ways(void **state)
{
    char path[256], head[1024], text[4096], got[64] = "";
    struct world world;
    int fd;

    (void)state;
    open_world(&world, KIND);
    await(&world);
    path_of(&world, TOKEN_CDP_SOCKET, path);
    fd = open_visit(&world, false, path, "Cookie: secret=1\r\n", head, sizeof(head));
    assert_non_null(strstr(head, "HTTP/1.1 101 "));
    assert_null(strstr(head, "Set-Cookie"));
    say(fd, " late");
    for (size_t used = 0; used < 10; used++)
        assert_int_equal(read(fd, got + used, 1), 1);
    assert_string_equal(got, "early late");
    assert_null(strstr(world.asked, "secret"));
    assert_non_null(strstr(world.asked, "GET " PATH " "));
    assert_int_equal(front_connections(world.front), 1);
    assert_non_null(strstr(ask(&world, false, path, SOCKET, text, sizeof(text)), "403"));
    /* a page's, by a token that is good */
    path_of(&world, TOKEN_CDP_SOCKET, path);
    assert_non_null(strstr(ask(&world, false, path,
                               SOCKET "Origin: http://evil.example\r\n", text,
                               sizeof(text)), "403"));
    /* another place in the browser than the token's */
    memcpy(strstr(path, "abc-1"), "abc-2", 5);
    assert_non_null(strstr(ask(&world, false, path, SOCKET, text, sizeof(text)), "403"));
    close_world(&world); /* and the one that is open with it */
    assert_int_equal(read(fd, got, 1), 0);
    (void)close(fd);
}

static void a_sandbox_that_answers_another_key_is_not_believed(void **state)
{
    char path[256], head[1024];
    struct world world;
    int fd;

    (void)state;
    open_world(&world, WRONG_ACCEPT);
    await(&world);
    path_of(&world, TOKEN_CDP_SOCKET, path);
    fd = open_visit(&world, false, path, "", head, sizeof(head));
    assert_non_null(strstr(head, " 502 "));
    (void)close(fd);
    close_world(&world);
}

static void the_screen_is_one_visitors(void **state)
{
    char path[256], page[512], text[4096], cookie[128] = "", fields[512], visit_path[64];
    struct world world;
    char head[1024];
    int fd;

    (void)state;
    open_world(&world, KIND);
    await(&world);
    path_of(&world, TOKEN_SCREEN, path);
    assert_non_null(strstr(ask(&world, true, path, "", text, sizeof(text)), "303 See"));
    assert_int_equal(sscanf(strstr(text, "Location: /"), "Location: /%32[0-9a-f]",
                            visit_path), 1);
    assert_int_equal(sscanf(strstr(text, "Set-Cookie: "), "Set-Cookie: %100[^;]", cookie),
                     1);
    assert_non_null(strstr(text, "HttpOnly; SameSite"));
    assert_non_null(strstr(ask(&world, true, path, "", text, sizeof(text)), "403"));
    /* its files, for whoever has both */
    (void)snprintf(page, sizeof(page), "/%s/vnc.html?autoconnect=1", visit_path);
    assert_non_null(strstr(ask(&world, true, page, "", text, sizeof(text)), "403"));
    (void)snprintf(fields, sizeof(fields), "Cookie: other=1; %s\r\n", cookie);
    assert_non_null(strstr(ask(&world, true, page, fields, text, sizeof(text)), " 200 "));
    assert_non_null(strstr(text, "\r\n\r\nhello"));
    assert_null(strstr(text, "and more"));
    assert_null(strstr(text, "Set-Cookie"));
    assert_non_null(strstr(text, "Content-Security-Policy: default-src 'self'"));
    assert_non_null(strstr(text, "; sandbox allow-scripts allow-same-origin\r\n"));
    assert_non_null(strstr(world.asked, "GET /vnc.html HTTP"));
    /* and one socket */
    (void)snprintf(page, sizeof(page), "/%s/websockify", visit_path);
    (void)snprintf(fields, sizeof(fields),
                   "Cookie: %s\r\nOrigin: http://127.0.0.1:%u\r\n", cookie,
                   (unsigned)front_port(world.front, true));
    fd = open_visit(&world, true, page, fields, head, sizeof(head));
    assert_non_null(strstr(head, " 101 "));
    (void)snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), SOCKET);
    assert_non_null(strstr(ask(&world, true, page, fields, text, sizeof(text)), "403"));
    (void)close(fd);
    close_world(&world);
}

/* Any user of this machine can connect, and say nothing. */
static void whoever_shows_no_token_keeps_nobody_out(void **state)
{
    int fds[3 * FRONT_STRANGERS_MAX], fd;
    char path[256], head[1024], byte;
    struct world world;

    (void)state;
    open_world(&world, KIND);
    await(&world);
    for (size_t i = 0; i < NACRE_COUNT(fds); i++)
        fds[i] = visit(&world, false, i % 2 ? "" : "GET / HT");
    path_of(&world, TOKEN_CDP_SOCKET, path);
    fd = open_visit(&world, false, path, "", head, sizeof(head));
    assert_non_null(strstr(head, " 101 "));
    assert_int_equal(read(fds[0], &byte, 1), 0); /* the first had to go */
    assert_int_equal(front_connections(world.front), 1);
    /* Who is in stays, whoever comes. */
    for (size_t i = 0; i < NACRE_COUNT(fds); i++) {
        (void)close(fds[i]);
        fds[i] = visit(&world, false, "");
    }
    assert_int_equal(read(fd, &byte, 1), 1);
    say(fd, "late");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(byte, 'e');
    close_world(&world);
    for (size_t i = 0; i < NACRE_COUNT(fds); i++)
        (void)close(fds[i]);
    (void)close(fd);
}

static void so_many_come_in_and_no_more(void **state)
{
    int fds[FRONT_CONNECTIONS_MAX + 1];
    char path[256], head[1024];
    struct world world;

    (void)state;
    open_world(&world, KIND);
    await(&world);
    for (size_t i = 0; i <= FRONT_CONNECTIONS_MAX; i++) {
        path_of(&world, TOKEN_CDP_SOCKET, path);
        fds[i] = open_visit(&world, false, path, "", head, sizeof(head));
        assert_non_null(strstr(head, i < FRONT_CONNECTIONS_MAX ? " 101 " : " 503 "));
    }
    close_world(&world);
    for (size_t i = 0; i <= FRONT_CONNECTIONS_MAX; i++)
        (void)close(fds[i]);
}

static void a_sandbox_keeps_no_place_of_a_client_that_has_left(void **state)
{
    uint64_t until_ns = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    char path[256], head[1024];
    struct world world;

    (void)state;
    open_world(&world, DEAF);
    await(&world);
    path_of(&world, TOKEN_CDP_SOCKET, path);
    (void)close(open_visit(&world, false, path, "", head, sizeof(head)));
    assert_non_null(strstr(head, " 101 "));
    while (front_connections(world.front) > 0 && nacre_clock_ns() < until_ns)
        (void)poll(NULL, 0, 20);
    assert_int_equal(front_connections(world.front), 0);
    close_world(&world);
}

/* ---- nacre's own client ---- */

struct server {
    int fd;
    struct world world;
};

static void *serve_cdp(void *data)
{
    struct server *server = data;
    int fd = accept(server->fd, NULL, NULL);
    char head[4096];

    assert_true(read_head(fd, head, sizeof(head)));
    open_socket(&server->world, fd, head);
    be_socket(&server->world, fd);
    (void)close(fd);
    return NULL;
}

static enum nacre_status picture_of(enum manner manner, struct nacre_buf *png,
                                    int *ret_page_status, struct nacre_error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct server server = { .fd = socket(AF_INET, SOCK_STREAM, 0),
                             .world = { .manner = manner } };
    socklen_t size = sizeof(address);
    enum nacre_status status;
    pthread_t thread;
    char url[128];

    assert_int_equal(bind(server.fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server.fd, 1), 0);
    assert_int_equal(getsockname(server.fd, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve_cdp, &server), 0);
    (void)snprintf(url, sizeof(url), "ws://127.0.0.1:%u" PATH,
                   (unsigned)ntohs(address.sin_port));
    status = nacre_browser_screenshot(url, "http://example.com/", 20000, png,
                                      ret_page_status, err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(server.fd);
    return status;
}

static void a_picture_is_taken_of_a_page_that_was_loaded(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf png = NACRE_BUF(1024);
    struct nacre_error err;
    int page_status = 0;

    (void)state;
    if (picture_of(KIND, &png, &page_status, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(page_status, 403);
    assert_int_equal(png.size, 8);
    assert_memory_equal(png.bytes, "\x89PNG\r\n\x1a\n", 8);
}

static void what_answers_another_key_is_no_browser(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf png = NACRE_BUF(1024);
    struct nacre_error err;
    int page_status;

    (void)state;
    assert_int_equal(picture_of(WRONG_ACCEPT, &png, &page_status, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "opens no WebSocket"));
}

/* A name server that says nothing until it is let. */
static pthread_mutex_t lookups = PTHREAD_MUTEX_INITIALIZER;

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted,
                       struct addrinfo **ret_found);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted,
                       struct addrinfo **ret_found);

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted,
                       struct addrinfo **ret_found)
{
    if (strcmp(host, "silent.example") != 0)
        return __real_getaddrinfo(host, port, wanted, ret_found);
    (void)pthread_mutex_lock(&lookups);
    (void)pthread_mutex_unlock(&lookups);
    return EAI_AGAIN;
}

static void a_name_that_nobody_answers_for_is_given_up(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf png = NACRE_BUF(1024);
    struct nacre_error err;
    int page_status;

    (void)state;
    (void)pthread_mutex_lock(&lookups);
    assert_int_equal(nacre_browser_screenshot("ws://silent.example:9222" PATH,
                                              "http://example.com/", 300, &png,
                                              &page_status, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no address is known of silent.example"));
    (void)pthread_mutex_unlock(&lookups);
}

static void a_page_that_is_not_loaded_gives_none(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf png = NACRE_BUF(1024);
    struct nacre_error err;
    int page_status;

    (void)state;
    assert_int_equal(picture_of(FAILING, &png, &page_status, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "ERR_TUNNEL_CONNECTION_FAILED"));
    assert_int_equal(png.size, 0);
}

static void frames_that_are_none_end_it(void **state)
{
    static const struct {
        enum manner manner;
        enum nacre_status status;
    } rows[] = {
        { MASKED, NACRE_ERR_PARSE },
        { ENDLESS, NACRE_ERR_TOO_BIG },
        { UNORDERED, NACRE_ERR_PARSE },
    };
    struct nacre_error err;
    int page_status;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf png = NACRE_BUF(1024);

        assert_int_equal(picture_of(rows[i].manner, &png, &page_status, &err),
                         rows[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_browser_that_does_not_answer_is_not_waited_for_for_ever),
        cmocka_unit_test(an_http_token_gives_one_answer_with_a_token_of_its_own),
        cmocka_unit_test(a_token_opens_one_socket_and_its_bytes_go_both_ways),
        cmocka_unit_test(a_sandbox_that_answers_another_key_is_not_believed),
        cmocka_unit_test(the_screen_is_one_visitors),
        cmocka_unit_test(whoever_shows_no_token_keeps_nobody_out),
        cmocka_unit_test(so_many_come_in_and_no_more),
        cmocka_unit_test(a_sandbox_keeps_no_place_of_a_client_that_has_left),
        cmocka_unit_test(a_picture_is_taken_of_a_page_that_was_loaded),
        cmocka_unit_test(what_answers_another_key_is_no_browser),
        cmocka_unit_test(a_name_that_nobody_answers_for_is_given_up),
        cmocka_unit_test(a_page_that_is_not_loaded_gives_none),
        cmocka_unit_test(frames_that_are_none_end_it),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
