/*
 * Connections of native tools: who is served, who waits, and for how long.  A sandbox
 * that opens more than it may is not refused but waits, in the listening socket's own
 * queue where there is one.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "nacre/clock.h"
#include "nacre/own.h"

#define PART_NS (2 * NACRE_NS_PER_S)
#define HELD_BYTES_MAX ((size_t)256 << 20)
#define LISTENERS_MAX 256
#define WAITING_MAX 4096
#define PAUSE_NS (100 * NACRE_NS_PER_MS) /* when fds or memory ran out */
#define ACCEPTED_MAX 64                  /* in one turn: others want theirs */

struct listener {
    struct listener *next;
    struct door *door;
    struct door_watch watch;
    int kind;
    void (*begin)(struct door_client *client);
};

struct door_clients {
    struct door *door;
    struct door_client *first; /* served and waiting */
    struct door_client *gone;  /* over, to be freed */
    struct listener *listeners;
    uint32_t served, waiting, listening;
    size_t held_bytes;
    struct door_timer chores;  /* frees the gone, lets the waiting in, listens again */
};

#define OF(type, member, pointer) \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

static uint32_t served_max(const struct door *door)
{
    return door->egress.limits.connections_max;
}

/* ---- one client ---- */

static void unlink_client(struct door_client *client)
{
    *client->link = client->next;
    if (client->next)
        client->next->link = client->link;
}

static void link_client(struct door_client **list, struct door_client *client)
{
    client->next = *list;
    client->link = list;
    if (client->next)
        client->next->link = &client->next;
    *list = client;
}

void door_client_end(struct door_client *client)
{
    struct door *door = client->door;
    struct door_clients *clients = door->clients;

    if (client->over)
        return;
    client->over = true;
    (void)door_watch_set(door->loop, &client->watch, 0);
    door_timer_set(door->loop, &client->timer, 0);
    door_proxy_end(client);
    door_tunnel_end(client);
    door_stream_close(&client->stream);
    door_queue_clear(&client->in);
    door_queue_clear(&client->out);
    if (client->is_waiting)
        clients->waiting--;
    else
        clients->served--;
    unlink_client(client);
    link_client(&clients->gone, client);
    door_timer_set(door->loop, &clients->chores, nacre_clock_ns());
}

static void client_ready(struct door_watch *watch, uint32_t events)
{
    struct door_client *client = OF(struct door_client, watch, watch);

    client->ready(client, events);
}

static void set_timer(struct door_client *client)
{
    uint64_t at_ns = client->late_ns;

    if (client->door->running && client->door->deadline_ns < at_ns)
        at_ns = client->door->deadline_ns;
    door_timer_set(client->door->loop, &client->timer, at_ns);
}

static void client_due(struct door_timer *timer)
{
    struct door_client *client = OF(struct door_client, timer, timer);
    uint64_t now_ns = nacre_clock_ns();

    if (now_ns < client->late_ns &&
        (!client->door->running || now_ns < client->door->deadline_ns))
        set_timer(client);
    else if (client->late && now_ns >= client->late_ns)
        client->late(client);
    else
        door_client_end(client);
}

/* The timer is moved only when it would come too late: this is called for every piece of
 * every tunnel. */
void door_client_patience(struct door_client *client, uint64_t ns)
{
    client->late_ns = nacre_clock_ns() + ns;
    if (client->timer.at_ns == 0 || client->late_ns < client->timer.at_ns)
        set_timer(client);
}

void door_client_watch(struct door_client *client, uint32_t events)
{
    if (client->over)
        return;
    if (client->out.count > 0 || client->stream.tls_wants_out)
        events |= EPOLLOUT;
    /* Something, or the end of the other side is not told either. */
    if (!door_watch_set(client->door->loop, &client->watch, events ? events : EPOLLPRI))
        door_client_end(client);
}

bool door_client_hold(struct door_client *client, size_t *held, size_t count)
{
    struct door_clients *clients = client->door->clients;

    clients->held_bytes += count - *held;
    *held = count;
    return clients->held_bytes <= HELD_BYTES_MAX;
}

/* ---- parting ---- */

static void part_ready(struct door_client *client, uint32_t events)
{
    char thrown[4096];
    enum door_io io = door_stream_flush(&client->stream, &client->out);
    size_t count;

    (void)events;
    if (io == DOOR_IO_AGAIN) {
        door_client_watch(client, 0);
        return;
    }
    if (io == DOOR_IO_SOME && !client->is_parting) {
        door_stream_shut(&client->stream);
        client->is_parting = true;
    }
    for (int i = 0; i < 16 && io == DOOR_IO_SOME; i++)
        io = door_stream_read(&client->stream, thrown, sizeof(thrown), &count);
    if (io == DOOR_IO_END || io == DOOR_IO_BROKEN)
        door_client_end(client);
    else
        door_client_watch(client, EPOLLIN);
}

void door_client_part(struct door_client *client)
{
    client->ready = part_ready;
    client->late = NULL;
    door_client_patience(client, PART_NS);
    part_ready(client, 0);
}

/* ---- who gets in ---- */

static struct door_client *new_client(struct door_clients *clients, int fd, int kind,
                                      void (*begin)(struct door_client *client))
{
    struct door_client *client = calloc(1, sizeof(*client));
    int flags = fcntl(fd, F_GETFL);

    if (!client || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        free(client);
        (void)close(fd);
        return NULL;
    }
    *client = (struct door_client){
        .door = clients->door, .kind = kind, .is_waiting = true,
        .stream = { .fd = fd },
        .watch = { .fd = fd, .ready = client_ready },
        .timer = { .due = client_due }, .begin = begin,
    };
    clients->waiting++;
    link_client(&clients->first, client);
    door_client_patience(client, DOOR_IDLE_NS);
    return client;
}

static void admit(struct door_clients *clients, struct door_client *client)
{
    client->is_waiting = false;
    clients->waiting--;
    clients->served++;
    client->begin(client);
}

/* Who came last is first in the list: the one that waits longest is its last. */
static void admit_waiting(struct door_clients *clients)
{
    while (clients->waiting > 0 && clients->served < served_max(clients->door)) {
        struct door_client *longest = NULL;

        for (struct door_client *at = clients->first; at; at = at->next)
            if (at->is_waiting)
                longest = at;
        admit(clients, longest);
    }
}

static void listen_again(struct door_clients *clients)
{
    for (struct listener *at = clients->listeners; at; at = at->next)
        (void)door_watch_set(clients->door->loop, &at->watch, EPOLLIN);
}

static void stop_listening(struct door_clients *clients)
{
    for (struct listener *at = clients->listeners; at; at = at->next)
        (void)door_watch_set(clients->door->loop, &at->watch, 0);
}

static void free_gone(struct door_clients *clients)
{
    while (clients->gone) {
        struct door_client *client = clients->gone;

        unlink_client(client);
        free(client);
    }
}

static void do_chores(struct door_timer *timer)
{
    struct door_clients *clients = OF(struct door_clients, chores, timer);

    free_gone(clients);
    admit_waiting(clients);
    if (clients->served < served_max(clients->door))
        listen_again(clients);
}

static void listener_ready(struct door_watch *watch, uint32_t events)
{
    struct listener *listener = OF(struct listener, watch, watch);
    struct door_clients *clients = listener->door->clients;
    int fd = 0;

    (void)events;
    for (int i = 0; i < ACCEPTED_MAX && fd >= 0; i++) {
        struct door_client *client;

        if (clients->served >= served_max(listener->door)) {
            stop_listening(clients); /* until one has gone */
            return;
        }
        fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            break;
        client = new_client(clients, fd, listener->kind, listener->begin);
        if (client)
            admit(clients, client);
    }
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                   errno == ENOBUFS)) {
        stop_listening(clients);
        door_timer_set(listener->door->loop, &clients->chores,
                       nacre_clock_ns() + PAUSE_NS);
    }
}

static void add_listener(struct door_clients *clients, int fd, int kind,
                         void (*begin)(struct door_client *client))
{
    struct listener *listener = calloc(1, sizeof(*listener));
    int flags = fcntl(fd, F_GETFL);

    if (!listener || clients->listening >= LISTENERS_MAX || flags < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        free(listener);
        (void)close(fd);
        return;
    }
    *listener = (struct listener){
        .door = clients->door, .next = clients->listeners, .kind = kind, .begin = begin,
        .watch = { .fd = fd, .ready = listener_ready },
    };
    clients->listeners = listener;
    clients->listening++;
    (void)door_watch_set(clients->door->loop, &listener->watch, EPOLLIN);
}

static struct door_clients *clients_of(struct door *door)
{
    struct door_clients *clients = door->clients;

    if (clients)
        return clients;
    clients = door->clients = calloc(1, sizeof(*clients));
    if (clients) {
        clients->door = door;
        clients->chores.due = do_chores;
    }
    return clients;
}

void door_client_serve(struct door *door, int fd, int kind,
                       void (*begin)(struct door_client *client))
{
    struct door_clients *clients = clients_of(door);
    struct door_client *client;

    if (!clients || (!(kind & NACRE_DOOR_LISTEN) && clients->waiting >= WAITING_MAX)) {
        (void)close(fd);
        return;
    }
    if (kind & NACRE_DOOR_LISTEN) {
        add_listener(clients, fd, kind & ~NACRE_DOOR_LISTEN, begin);
        return;
    }
    client = new_client(clients, fd, kind, begin);
    if (client && clients->served < served_max(door))
        admit(clients, client);
}

/* They are of the run's own sandbox, whose network would live on as long as they do. */
static void close_listeners(struct door_clients *clients)
{
    while (clients->listeners) {
        struct listener *listener = clients->listeners;

        clients->listeners = listener->next;
        (void)door_watch_set(clients->door->loop, &listener->watch, 0);
        (void)close(listener->watch.fd);
        free(listener);
    }
    clients->listening = 0;
}

void door_clients_end(struct door *door)
{
    if (!door->clients)
        return;
    close_listeners(door->clients);
    while (door->clients->first)
        door_client_end(door->clients->first);
}

void door_clients_free(struct door *door)
{
    struct door_clients *clients = door->clients;

    if (!clients)
        return;
    door_clients_end(door);
    free_gone(clients);
    door_timer_set(door->loop, &clients->chores, 0);
    free(clients);
    door->clients = NULL;
}
