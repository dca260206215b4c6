#include "front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "box.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/text.h"
#include "visitor.h"

#define BACKLOG 16
#define LOOK_MS 50
#define STACK_BYTES ((size_t)512 << 10)

struct front {
    struct visitor_at at; /* what every visitor has of it */
    struct front_options options;
    int listeners[2];     /* CDP, the screen */
    uint16_t ports[2];
    char version[FRONT_VERSION];
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    struct guest *strangers; /* the first to come first */
    uint32_t stranger_count, connections;
    _Atomic uint64_t used_ns;
};

struct guest {
    struct front *front;
    int fd;
    bool of_screen;
    struct guest *next; /* of the strangers */
    bool is_let_in;     /* under the front's lock */
};

enum nacre_status front_open(const struct front_options *options,
                             struct front **ret_front, struct nacre_error *err)
{
    NACRE_AUTO(front_guard) struct front *front = calloc(1, sizeof(*front));

    if (!front)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a browser's front");
    front->options = *options;
    front->listeners[0] = front->listeners[1] = -1;
    front->at = (struct visitor_at){ .box = { options->dial_fd, options->stop_fd } };
    front->used_ns = nacre_clock_ns();
    (void)pthread_mutex_init(&front->lock, NULL);
    (void)pthread_cond_init(&front->changed, NULL);
    front->at.tokens = tokens_new();
    if (!front->at.tokens)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a browser's front");
    *ret_front = front_take(&front);
    return NACRE_OK;
}

void front_free(struct front *front)
{
    if (!front)
        return;
    nacre_fd_guard(&front->listeners[0]);
    nacre_fd_guard(&front->listeners[1]);
    (void)pthread_mutex_lock(&front->lock);
    while (front->connections + front->stranger_count > 0)
        (void)pthread_cond_wait(&front->changed, &front->lock);
    (void)pthread_mutex_unlock(&front->lock);
    (void)pthread_cond_destroy(&front->changed);
    (void)pthread_mutex_destroy(&front->lock);
    tokens_free(front->at.tokens);
    free(front);
}

/* ---- the browser answers ---- */

enum nacre_status front_await(struct front *front, uint64_t deadline_ns,
                              struct nacre_error *err)
{
    struct pollfd stop = { .fd = front->options.stop_fd, .events = POLLIN };

    while (nacre_clock_ns() < deadline_ns) {
        struct box_version version;

        if (box_version(&front->at.box, deadline_ns, &version)) {
            (void)snprintf(front->at.browser_path, sizeof(front->at.browser_path), "%s",
                           version.path);
            (void)nacre_text_show(front->version, sizeof(front->version), version.browser,
                                  strlen(version.browser));
            return NACRE_OK;
        }
        if (poll(&stop, 1, LOOK_MS) > 0)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the browser ended before it answered");
    }
    return nacre_fail(err, NACRE_ERR_TIMEOUT, "the browser did not answer in time");
}

/* ---- ports ---- */

static enum nacre_status listen_at(uint16_t port, int *ret_fd, uint16_t *ret_port,
                                   struct nacre_error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    NACRE_AUTO(nacre_fd_guard)
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(address);
    const int on = 1;

    if (fd >= 0) /* those that have just left do not hold it */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "listening on 127.0.0.1 port %u",
                          (unsigned)port);
    *ret_port = ntohs(address.sin_port);
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status front_listen(struct front *front, struct nacre_error *err)
{
    enum nacre_status status = listen_at(front->options.cdp_port, &front->listeners[0],
                                         &front->ports[0], err);

    if (status == NACRE_OK && front->options.no_vnc)
        status = listen_at(front->options.no_vnc_port, &front->listeners[1],
                           &front->ports[1], err);
    return status;
}

uint16_t front_port(const struct front *front, bool of_screen)
{
    return front->ports[of_screen];
}

int front_fd(const struct front *front, bool of_screen)
{
    return front->listeners[of_screen];
}

/* ---- connections ---- */

/* The lock is held. */
static void unlink_stranger(struct front *front, const struct guest *gone)
{
    struct guest **at = &front->strangers;

    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    front->stranger_count--;
}

/* It has shown a token. */
static bool let_in(void *data)
{
    struct guest *guest = data;
    struct front *front = guest->front;
    bool has_room;

    (void)pthread_mutex_lock(&front->lock);
    has_room = front->connections < FRONT_CONNECTIONS_MAX;
    if (has_room) {
        unlink_stranger(front, guest);
        guest->is_let_in = true;
        front->connections++;
        atomic_store(&front->used_ns, nacre_clock_ns());
        (void)pthread_cond_broadcast(&front->changed);
    }
    (void)pthread_mutex_unlock(&front->lock);
    return has_room;
}

/* Takes `guest`.  Its fd is closed when nobody can find it any more. */
static void leave(struct guest *guest)
{
    struct front *front = guest->front;

    (void)pthread_mutex_lock(&front->lock);
    if (guest->is_let_in) {
        front->connections--;
        atomic_store(&front->used_ns, nacre_clock_ns());
    } else {
        unlink_stranger(front, guest);
    }
    (void)close(guest->fd);
    (void)pthread_cond_broadcast(&front->changed);
    (void)pthread_mutex_unlock(&front->lock);
    free(guest);
}

static void *serve(void *data)
{
    struct guest *guest = data;
    struct front *front = guest->front;
    const struct visitor_gate gate = { let_in, guest };

    visitor_serve(&front->at, &gate, guest->fd, front->ports[guest->of_screen],
                  guest->of_screen);
    leave(guest);
    return NULL;
}

static bool start(struct guest *guest)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
              pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
              pthread_create(&thread, &attributes, serve, guest) == 0;
    (void)pthread_attr_destroy(&attributes);
    return started;
}

/* Where there is no place the first to come has to go: a stranger is being read from, and
 * ends when that does. */
static void enter(struct front *front, struct guest *guest)
{
    struct guest **last = &front->strangers;

    (void)pthread_mutex_lock(&front->lock);
    while (front->stranger_count >= FRONT_STRANGERS_MAX) {
        (void)shutdown(front->strangers->fd, SHUT_RDWR);
        (void)pthread_cond_wait(&front->changed, &front->lock);
    }
    while (*last)
        last = &(*last)->next;
    *last = guest;
    front->stranger_count++;
    (void)pthread_mutex_unlock(&front->lock);
}

void front_accept(struct front *front, bool of_screen)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = accept4(front->listeners[of_screen], NULL, NULL,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct guest *guest;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        (void)poll(NULL, 0, LOOK_MS); /* who waits there is still there */
    guest = fd < 0 ? NULL : malloc(sizeof(*guest));
    if (!guest)
        return;
    *guest = (struct guest){ .front = front, .fd = nacre_fd_take(&fd),
                             .of_screen = of_screen };
    enter(front, guest);
    if (!start(guest))
        leave(guest);
}

/* ---- what others ask ---- */

enum nacre_status front_url(struct front *front, enum token_kind kind, char *ret_url,
                            size_t size, struct nacre_error *err)
{
    bool of_screen = kind == TOKEN_SCREEN;
    char token[TOKEN_HEX];
    enum nacre_status status;

    if (of_screen && front->listeners[1] < 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "this browser has no screen: it is headless, or "
                          "browser.noVncEnabled is false");
    status = tokens_give(front->at.tokens, kind, nacre_clock_ns(), token, err);
    if (status != NACRE_OK)
        return status;
    atomic_store(&front->used_ns, nacre_clock_ns());
    (void)snprintf(ret_url, size, "%s://127.0.0.1:%u/%s%s",
                   kind == TOKEN_CDP_SOCKET ? "ws" : "http",
                   (unsigned)front->ports[of_screen], token,
                   kind == TOKEN_CDP_SOCKET ? front->at.browser_path : "");
    return NACRE_OK;
}

const char *front_version(const struct front *front)
{
    return front->version;
}

uint32_t front_connections(const struct front *front)
{
    struct front *locked = (struct front *)(uintptr_t)front;
    uint32_t connections;

    (void)pthread_mutex_lock(&locked->lock);
    connections = locked->connections;
    (void)pthread_mutex_unlock(&locked->lock);
    return connections;
}

uint64_t front_used_ns(const struct front *front)
{
    return atomic_load(&front->used_ns);
}
