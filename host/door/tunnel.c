/*
 * A tunnel: to one of the addresses that the one lookup found, each judged, and from
 * there on bytes both ways that nobody looks into.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define CONNECT_NS (10 * NACRE_NS_PER_S) /* for each of its addresses */
#define PIECE ((size_t)32 << 10)         /* that waits, each way */
#define TURNS_MAX 8                      /* before others have their turn */

struct door_tunnel {
    struct door_client *client;
    door_dialed *dialed;
    struct door_lookup *lookup;
    struct door_addresses addresses;
    uint32_t next; /* of them to be tried */
    struct door_stream stream;
    struct door_watch watch;
    struct door_timer timer;
    struct door_queue down; /* for the client; what is for the server is in its `in` */
    bool is_open;
    bool up_ended, down_ended;   /* nothing more comes from there */
    bool up_shut, down_shut;     /* and that was passed on */
    uint64_t sent, received;
};

#define OF(type, member, pointer) \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

static void write_record(const struct door_tunnel *tunnel)
{
    struct nacre_egress_record record = { .method = "CONNECT",
                                          .sent = tunnel->stream.fd >= 0,
                                          .port = tunnel->client->port,
                                          .bytes_sent = tunnel->sent,
                                          .bytes_received = tunnel->received };

    (void)snprintf(record.host, sizeof(record.host), "%s", tunnel->client->host);
    if (!tunnel->is_open) /* its client left before it had said for whom it is */
        (void)snprintf(record.code, sizeof(record.code), "%s",
                       door_code_name(NACRE_HTTP_TIMED_OUT));
    door_record(tunnel->client->door, &record);
}

void door_tunnel_end(struct door_client *client)
{
    if (!client->tunnel)
        return;
    write_record(client->tunnel);
    door_tunnel_drop(client);
}

void door_tunnel_drop(struct door_client *client)
{
    struct door_tunnel *tunnel = client->tunnel;

    if (!tunnel)
        return;
    client->tunnel = NULL;
    door_lookup_free(tunnel->lookup);
    (void)door_watch_set(client->door->loop, &tunnel->watch, 0);
    door_timer_set(client->door->loop, &tunnel->timer, 0);
    door_stream_close(&tunnel->stream);
    door_queue_clear(&tunnel->down);
    free(tunnel);
}

/* ---- dialling ---- */

bool door_tunnel_leaks(struct door *door, const char *host,
                       struct nacre_egress_verdict *ret_verdict)
{
    struct nacre_leak_counts counts = { 0 };

    if (!door->leaks ||
        !door_leaked(door, &counts,
                     nacre_leaks_find(door->leaks, host, strlen(host), &counts)))
        return false;
    door_verdict(ret_verdict, "leak", "capabilities.secrets.leak_detection",
                 "the name of the host has a secret in it (%.31s), and may not leave",
                 counts.first);
    return true;
}

static void try_next(struct door_tunnel *tunnel);

/* `word`: of a denial that is already kept; NULL: the code's. */
static void fail(struct door_client *client, enum nacre_http_code code, const char *word,
                 const char *text)
{
    door_dialed *dialed = client->tunnel->dialed;
    char kept_word[32], kept_text[512];

    /* Both may lie in what is freed here. */
    (void)snprintf(kept_word, sizeof(kept_word), "%s",
                   word ? word : door_code_name(code));
    (void)snprintf(kept_text, sizeof(kept_text), "%s", text);
    door_client_refused(client, "CONNECT", client->host, client->port, kept_word);
    door_tunnel_drop(client);
    dialed(client, code, kept_word, kept_text);
}

static void connect_ready(struct door_watch *watch, uint32_t events)
{
    struct door_tunnel *tunnel = OF(struct door_tunnel, watch, watch);
    struct door_client *client = tunnel->client;
    int error = 0;
    socklen_t size = sizeof(error);

    (void)events;
    (void)door_watch_set(client->door->loop, watch, 0);
    door_timer_set(client->door->loop, &tunnel->timer, 0);
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        door_stream_close(&tunnel->stream);
        try_next(tunnel);
        return;
    }
    tunnel->dialed(client, NACRE_HTTP_OK, "", "");
}

static void connect_due(struct door_timer *timer)
{
    struct door_tunnel *tunnel = OF(struct door_tunnel, timer, timer);

    (void)door_watch_set(tunnel->client->door->loop, &tunnel->watch, 0);
    door_stream_close(&tunnel->stream);
    try_next(tunnel);
}

static bool start_connect(struct door_tunnel *tunnel, const struct nacre_address *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_port = htons(tunnel->client->port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_port = htons(tunnel->client->port) };
    const struct sockaddr *to = address->is_v6 ? (struct sockaddr *)&v6
                                               : (struct sockaddr *)&v4;
    int one = 1, fd;

    fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    memcpy(&v4.sin_addr, address->bytes, sizeof(v4.sin_addr));
    memcpy(&v6.sin6_addr, address->bytes, sizeof(v6.sin6_addr));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    tunnel->stream.fd = fd;
    tunnel->watch = (struct door_watch){ .fd = fd, .ready = connect_ready };
    tunnel->timer.due = connect_due;
    if ((connect(fd, to, address->is_v6 ? sizeof(v6) : sizeof(v4)) != 0 &&
         errno != EINPROGRESS) ||
        !door_watch_set(tunnel->client->door->loop, &tunnel->watch, EPOLLOUT)) {
        door_stream_close(&tunnel->stream);
        return false;
    }
    door_timer_set(tunnel->client->door->loop, &tunnel->timer,
                   nacre_clock_ns() + CONNECT_NS);
    return true;
}

static void try_next(struct door_tunnel *tunnel)
{
    struct door_client *client = tunnel->client;
    struct nacre_egress_verdict verdict;
    char text[256];

    while (tunnel->next < tunnel->addresses.count) {
        const struct nacre_address *address = &tunnel->addresses.items[tunnel->next++];

        /* Once more at the socket, as with every other connection. */
        nacre_egress_judge_address(&client->door->egress, client->host, address,
                                   &verdict);
        if (!verdict.allowed) {
            door_denied(client->door, &verdict, client->host);
            fail(client, NACRE_HTTP_DENIED, verdict.code, verdict.text);
            return;
        }
        if (start_connect(tunnel, address))
            return;
    }
    (void)snprintf(text, sizeof(text),
                   "no address of %.160s takes connections on port %u", client->host,
                   client->port);
    fail(client, NACRE_HTTP_UNREACHABLE, NULL, text);
}

static void looked_up(void *data, enum nacre_http_code code,
                      const struct door_addresses *addresses, const char *text)
{
    struct door_tunnel *tunnel = data;

    if (code != NACRE_HTTP_OK) {
        fail(tunnel->client, code, code == NACRE_HTTP_DENIED ? addresses->denied : NULL,
             text);
        return;
    }
    tunnel->addresses = *addresses;
    try_next(tunnel);
}

void door_tunnel_dial(struct door_client *client, door_dialed *dialed)
{
    struct door_tunnel *tunnel = calloc(1, sizeof(*tunnel));
    struct nacre_error err;

    if (!tunnel) {
        door_client_end(client);
        return;
    }
    *tunnel = (struct door_tunnel){ .client = client, .dialed = dialed,
                                    .stream = { .fd = -1 }, .watch = { .fd = -1 } };
    client->tunnel = tunnel;
    door_client_patience(client, DOOR_IDLE_NS);
    if (door_lookup(client->door, client->host, looked_up, tunnel, &tunnel->lookup,
                    &err) != NACRE_OK)
        door_client_end(client);
}

/* ---- bytes ---- */

/* What came from one side goes to the other; AGAIN: neither can go on. */
static enum door_io carry(struct door_stream *from, struct door_stream *to,
                          struct door_queue *queue, bool *ended, uint64_t *total)
{
    size_t before = queue->count;
    enum door_io io = DOOR_IO_AGAIN, sent;

    if (!*ended && before < PIECE) {
        io = door_stream_fill(from, queue, PIECE);
        *ended = io == DOOR_IO_END;
    }
    if (io == DOOR_IO_BROKEN)
        return io;
    before = queue->count;
    sent = door_stream_flush(to, queue);
    *total += before - queue->count;
    if (sent == DOOR_IO_BROKEN)
        return sent;
    return io == DOOR_IO_SOME && sent == DOOR_IO_SOME ? DOOR_IO_SOME : DOOR_IO_AGAIN;
}

static uint32_t wanted(const struct door_queue *in, bool ended,
                       const struct door_queue *out)
{
    return (!ended && in->count < PIECE ? (uint32_t)EPOLLIN : 0) |
           (out->count > 0 ? (uint32_t)EPOLLOUT : 0);
}

/* Returns false when the tunnel is done for. */
static bool pump(struct door_tunnel *tunnel)
{
    struct door_client *client = tunnel->client;
    uint64_t before = tunnel->sent + tunnel->received;
    enum door_io up = DOOR_IO_SOME, down = DOOR_IO_SOME;

    for (int i = 0; i < TURNS_MAX && (up == DOOR_IO_SOME || down == DOOR_IO_SOME); i++) {
        up = carry(&client->stream, &tunnel->stream, &client->in, &tunnel->up_ended,
                   &tunnel->sent);
        down = carry(&tunnel->stream, &client->stream, &tunnel->down, &tunnel->down_ended,
                     &tunnel->received);
        if (up == DOOR_IO_BROKEN || down == DOOR_IO_BROKEN)
            return false;
    }
    if (tunnel->sent + tunnel->received > before)
        door_client_patience(client, DOOR_TUNNEL_NS);
    if (tunnel->up_ended && client->in.count == 0 && !tunnel->up_shut) {
        door_stream_shut(&tunnel->stream);
        tunnel->up_shut = true;
    }
    if (tunnel->down_ended && tunnel->down.count == 0 && !tunnel->down_shut) {
        door_stream_shut(&client->stream);
        tunnel->down_shut = true;
    }
    return !(tunnel->up_shut && tunnel->down_shut);
}

static void go_on(struct door_client *client, uint32_t events)
{
    struct door_tunnel *tunnel = client->tunnel;
    struct door_loop *loop = client->door->loop;
    uint32_t above, below;

    if (events & EPOLLERR || !pump(tunnel)) {
        door_client_end(client);
        return;
    }
    below = wanted(&client->in, tunnel->up_ended, &tunnel->down);
    above = wanted(&tunnel->down, tunnel->down_ended, &client->in);
    /* A side that has ended and takes nothing more is not looked at: its hang-up would be
     * told again and again. */
    if (!door_watch_set(loop, &client->watch, below) ||
        !door_watch_set(loop, &tunnel->watch, above))
        door_client_end(client);
}

static void server_ready(struct door_watch *watch, uint32_t events)
{
    go_on(OF(struct door_tunnel, watch, watch)->client, events);
}

void door_tunnel_open(struct door_client *client)
{
    struct door_tunnel *tunnel = client->tunnel;

    tunnel->is_open = true;
    tunnel->watch.ready = server_ready;
    /* The "200" may still be on its way. */
    tunnel->down = client->out;
    client->out = (struct door_queue){ .bytes = NULL };
    client->ready = go_on;
    client->late = NULL;
    door_client_patience(client, DOOR_TUNNEL_NS);
    go_on(client, 0);
}
