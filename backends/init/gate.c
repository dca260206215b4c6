/* Who connects is a guest, and so is all that it says; it is carried and never read.  The
 * owner is held to its credit. */
#include "gate.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fds.h"
#include "names.h"

#define CREDIT_STEP (DOORWAY_WINDOW / 4)
#define ACCEPTS_MAX 16 /* in one turn */
#define DIAL_TRIES 3   /* 7 s in all: a listener whose queue is full answers nothing */

enum { AT_NAMES = 1, AT_LISTENERS }; /* 0 is nobody's */

static uint8_t windows[GATE_CONNECTIONS][DOORWAY_WINDOW] __attribute__((aligned(4096)));

void gate_init(struct gate *gate, int names_fd)
{
    gate->names_fd = names_fd;
    for (size_t i = 0; i < DOORWAY_COUNT; i++)
        gate->listeners[i] = -1;
}

static bool is_loopback_up(int fd)
{
    struct ifreq request = { .ifr_name = "lo" };

    if (ioctl(fd, SIOCGIFFLAGS, &request) != 0)
        return false;
    errno = ENETDOWN;
    return request.ifr_flags & IFF_UP;
}

const char *gate_open(struct gate *gate, const struct init_config *config)
{
    if (config->name_count > 0)
        gate->names = config->names;
    if (gate->names && gate->names_fd < 0)
        gate->names_fd = doorway_open(DOORWAY_NAMES);
    if (gate->names && gate->names_fd < 0)
        return doorway_text(DOORWAY_NAMES);
    if (!config->carries)
        return NULL;
    for (enum doorway_kind kind = DOORWAY_PROXY; kind <= DOORWAY_TLS; kind++) {
        gate->listeners[kind] = doorway_open(kind);
        if (gate->listeners[kind] < 0)
            return doorway_text(kind);
    }
    return is_loopback_up(gate->listeners[DOORWAY_PROXY]) ? NULL : "the loopback "
                                                                   "interface";
}

/* ---- one connection ---- */

static uint8_t *window_of(const struct gate *gate,
                          const struct gate_connection *connection)
{
    return windows[connection - gate->connections];
}

/* Its last frame may have to wait for room. */
static void drop(struct gate *gate, struct gate_connection *connection)
{
    gate->is_full = false;
    connection->is_dialled = false;
    fd_close(&connection->fd);
    (void)madvise(window_of(gate, connection), DOORWAY_WINDOW, MADV_DONTNEED);
}

static void say_closed(struct gate *gate, struct gate_connection *connection,
                       struct outbox *out)
{
    if (!connection->is_used || connection->fd >= 0 || !outbox_may_answer(out))
        return;
    outbox_add(out, FRAME_CLOSE, 0, connection->id, NULL, 0);
    connection->is_used = false;
    while (gate->count > 0 && !gate->connections[gate->count - 1].is_used)
        gate->count--;
}

/* One frame at most: they take turns. */
static void move_from_guest(struct gate *gate, struct gate_connection *connection,
                            struct outbox *out)
{
    size_t room;
    uint8_t *at = outbox_data_room(out, &room);
    ssize_t count;

    if (room > connection->credit)
        room = (size_t)connection->credit;
    if (room == 0 || connection->read_ended)
        return;
    count = recv(connection->fd, at, room, MSG_DONTWAIT);
    if (count > 0) {
        connection->credit -= (uint64_t)count;
        outbox_data_added(out, FRAME_DATA, 1, connection->id, (size_t)count);
    } else if (count == 0) {
        connection->read_ended = true;
        outbox_add(out, FRAME_END, 1, connection->id, NULL, 0);
        outbox_hurry(out);
    } else if (errno != EAGAIN && errno != EINTR) {
        drop(gate, connection);
    }
}

static void move_to_guest(struct gate *gate, struct gate_connection *connection)
{
    while (connection->used > 0) {
        size_t first = DOORWAY_WINDOW - connection->start;
        size_t chunk = connection->used < first ? connection->used : first;
        ssize_t count = send(connection->fd, window_of(gate, connection) +
                                                 connection->start,
                             chunk, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count < 0) {
            drop(gate, connection);
            return;
        }
        connection->start = (connection->start + (size_t)count) % DOORWAY_WINDOW;
        connection->used -= (size_t)count;
        connection->owed += (uint64_t)count;
    }
    if (connection->write_ended && !connection->shut) {
        connection->shut = true;
        (void)shutdown(connection->fd, SHUT_WR);
    }
}

static void give_credit(struct gate_connection *connection, struct outbox *out)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    if (connection->owed < CREDIT_STEP || connection->write_ended ||
        !outbox_may_answer(out))
        return;
    pack_u64(&pack, connection->owed);
    outbox_add(out, FRAME_CREDIT, 0, connection->id, bytes, pack.used);
    connection->room += connection->owed;
    connection->owed = 0;
}

static void move(struct gate *gate, struct gate_connection *connection,
                 struct outbox *out, bool is_ready)
{
    /* END is a frame beside the data's room. */
    if (is_ready && outbox_may_answer(out))
        move_from_guest(gate, connection, out);
    if (connection->fd >= 0)
        move_to_guest(gate, connection);
    if (connection->fd >= 0)
        give_credit(connection, out);
    if (connection->fd >= 0 && connection->read_ended && connection->shut)
        drop(gate, connection);
}

/* ---- coming in ---- */

/* The first that is free; `end` when none is. */
static size_t free_place(const struct gate *gate, size_t first, size_t end)
{
    while (first < end && gate->connections[first].is_used)
        first++;
    return first;
}

static bool has_room(const struct gate *gate)
{
    return free_place(gate, DOORWAY_DIALS_MAX, GATE_CONNECTIONS) < GATE_CONNECTIONS;
}

static struct gate_connection *settle(struct gate *gate, size_t place, int fd,
                                      const uint8_t id[FRAME_ID])
{
    struct gate_connection *connection = &gate->connections[place];

    *connection = (struct gate_connection){ .fd = fd, .is_used = true,
                                            .credit = DOORWAY_WINDOW,
                                            .room = DOORWAY_WINDOW };
    memcpy(connection->id, id, FRAME_ID);
    if (place >= gate->count)
        gate->count = place + 1;
    return connection;
}

/* False: no more for now. */
static bool let_in(struct gate *gate, enum doorway_kind kind, struct outbox *out)
{
    uint8_t bytes[8], id[FRAME_ID];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };
    int fd;

    if (!has_room(gate) || !outbox_may_answer(out))
        return false;
    fd = accept4(gate->listeners[kind], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        gate->is_full = errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                        errno == ENOBUFS;
        return false;
    }
    if (getrandom(id, sizeof(id), 0) != sizeof(id)) {
        (void)close(fd);
        return false;
    }
    (void)settle(gate, free_place(gate, DOORWAY_DIALS_MAX, GATE_CONNECTIONS), fd, id);
    pack_u64(&pack, kind);
    outbox_add(out, FRAME_OPEN, 0, id, bytes, pack.used);
    return true;
}

/* ---- dialled by the owner ---- */

/* -1 with errno; EINPROGRESS with an fd. */
static int dial(uint16_t port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(port),
                                         .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const int tries = DIAL_TRIES;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
    errno = 0;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
        errno != EINPROGRESS)
        fd_close(&fd);
    return fd;
}

static void answer(struct gate *gate, struct gate_connection *connection)
{
    int failed = 0;
    socklen_t size = sizeof(failed);

    connection->is_dialled = false;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed)
        drop(gate, connection);
}

static struct gate_connection *find(struct gate *gate, const uint8_t id[FRAME_ID])
{
    for (size_t i = 0; i < gate->count; i++)
        if (gate->connections[i].is_used &&
            memcmp(gate->connections[i].id, id, FRAME_ID) == 0)
            return &gate->connections[i];
    return NULL;
}

const char *gate_dial(struct gate *gate, const struct frame *frame)
{
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    uint64_t port = unpack_u64(&unpack);
    size_t place = free_place(gate, 0, DOORWAY_DIALS_MAX);
    int fd;

    if (!unpack_whole(&unpack) || frame->lane != 0 || port == 0 || port > UINT16_MAX)
        return "a port to dial that is none";
    if (find(gate, frame->id))
        return "a connection's id is in use";
    if (place == DOORWAY_DIALS_MAX)
        return "one dialled connection too many";
    fd = dial((uint16_t)port);
    settle(gate, place, fd, frame->id)->is_dialled = errno == EINPROGRESS && fd >= 0;
    return NULL;
}

/* ---- the owner's frames ---- */

static bool put(const struct gate *gate, struct gate_connection *connection,
                const uint8_t *bytes, size_t count)
{
    uint8_t *window = window_of(gate, connection);
    size_t end = (connection->start + connection->used) % DOORWAY_WINDOW;
    size_t first = count < DOORWAY_WINDOW - end ? count : DOORWAY_WINDOW - end;

    if (count > connection->room || connection->write_ended)
        return false;
    connection->room -= count;
    memcpy(window + end, bytes, first);
    memcpy(window, bytes + first, count - first);
    connection->used += count;
    return true;
}

const char *gate_take(struct gate *gate, const struct frame *frame, uint64_t number)
{
    struct gate_connection *connection = find(gate, frame->id);

    if (!connection || connection->fd < 0)
        return NULL;
    if (frame->type == FRAME_CLOSE) {
        drop(gate, connection);
    } else if (frame->type == FRAME_END) {
        connection->write_ended = true;
    } else if (frame->type == FRAME_DATA) {
        if (!put(gate, connection, frame->payload, frame->size))
            return "more for a connection than there was credit for";
    } else if (frame->type == FRAME_CREDIT && frame->lane == 1) {
        if (number > DOORWAY_WINDOW - connection->credit)
            return "more credit for a connection than it has used";
        connection->credit += number;
    } else {
        return "a frame that no connection has";
    }
    return NULL;
}

/* ---- the poll set ---- */

static short events_of(const struct gate_connection *connection, bool takes_data)
{
    bool reads = takes_data && !connection->read_ended && connection->credit > 0;

    if (connection->is_dialled)
        return POLLOUT;
    return (short)((reads ? POLLIN : 0) | (connection->used > 0 ? POLLOUT : 0));
}

nfds_t gate_poll(struct gate *gate, const struct outbox *out, struct pollfd *ret_fds)
{
    bool takes_data = outbox_takes_data(out) && outbox_may_answer(out);
    bool lets_in = outbox_may_answer(out) && !gate->is_full && has_room(gate);
    nfds_t count = AT_LISTENERS + DOORWAY_COUNT;

    /* The kernel takes no more places than a process may have fds. */
    gate->is_polled = gate->names_fd >= 0 || gate->listeners[DOORWAY_PROXY] >= 0 ||
                      gate->count > 0;
    if (!gate->is_polled)
        return 0;
    ret_fds[0] = (struct pollfd){ .fd = -1 };
    ret_fds[AT_NAMES] = (struct pollfd){ .fd = gate->names ? gate->names_fd : -1,
                                         .events = POLLIN };
    for (size_t i = 0; i < DOORWAY_COUNT; i++)
        ret_fds[AT_LISTENERS + i] =
            (struct pollfd){ .fd = lets_in ? gate->listeners[i] : -1, .events = POLLIN };
    for (size_t i = 0; i < gate->count; i++) {
        struct gate_connection *connection = &gate->connections[i];
        short events = connection->is_used && connection->fd >= 0
                           ? events_of(connection, takes_data)
                           : 0;

        connection->poll_at = events ? count : 0;
        if (events)
            ret_fds[count++] = (struct pollfd){ .fd = connection->fd, .events = events };
    }
    return count;
}

void gate_move(struct gate *gate, struct outbox *out, const struct pollfd *fds)
{
    if (gate->is_polled && fds[AT_NAMES].revents)
        names_serve(gate->names_fd, gate->names);
    for (size_t i = 0; i < gate->count; i++) {
        struct gate_connection *connection = &gate->connections[i];
        nfds_t at = connection->poll_at;

        if (connection->is_used && connection->is_dialled && at > 0 && fds[at].revents)
            answer(gate, connection);
        if (connection->is_used && connection->fd >= 0 && !connection->is_dialled)
            move(gate, connection, out, at > 0 && fds[at].revents);
    }
    for (size_t i = gate->count; i-- > 0;)
        say_closed(gate, &gate->connections[i], out);
    for (enum doorway_kind kind = DOORWAY_PROXY; gate->is_polled && kind <= DOORWAY_TLS;
         kind++)
        for (int i = 0; i < ACCEPTS_MAX && fds[AT_LISTENERS + kind].revents; i++)
            if (!let_in(gate, kind, out))
                break;
}
