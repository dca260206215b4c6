/*
 * Trusts neither end: init may be a guest that took it over, and what is carried is never
 * read.  Every connection has its ring and its window, all of them their number.
 */
#include "nt_doorway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pass.h"

#define CREDIT_STEP (DOORWAY_WINDOW / 4)

struct nt_doorway *nt_doorway_new(bool carries)
{
    struct nt_doorway *doorway = calloc(1, sizeof(*doorway));

    if (doorway)
        doorway->carries = carries;
    return doorway;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void release(struct nt_doorway *doorway, struct nt_connection *connection)
{
    close_fd(&connection->fd);
    close_fd(&connection->theirs);
    free(connection->bytes);
    *connection = (struct nt_connection){ .fd = -1, .theirs = -1 };
    while (doorway->count > 0 && !doorway->connections[doorway->count - 1].is_used)
        doorway->count--;
}

void nt_doorway_free(struct nt_doorway *doorway)
{
    if (!doorway)
        return;
    for (size_t i = 0; i < NT_CONNECTIONS; i++)
        if (doorway->connections[i].is_used)
            release(doorway, &doorway->connections[i]);
    free(doorway);
}

/* It stays known until init has closed it as well. */
static void give_up(struct nt_box *box, struct nt_connection *connection)
{
    close_fd(&connection->fd);
    close_fd(&connection->theirs);
    free(connection->bytes);
    connection->bytes = NULL;
    connection->used = 0;
    nt_wire_send(box, FRAME_CLOSE, 0, connection->id, NULL, 0);
}

/* ---- from init to them ---- */

static void give_credit(struct nt_box *box, struct nt_connection *connection)
{
    if (connection->ungiven < CREDIT_STEP || connection->write_ended)
        return;
    nt_wire_send_u64(box, FRAME_CREDIT, 1, connection->id, connection->ungiven);
    connection->room += connection->ungiven;
    connection->ungiven = 0;
}

static void move_out(struct nt_box *box, struct nt_connection *connection)
{
    while (connection->used > 0) {
        size_t first = DOORWAY_WINDOW - connection->start;
        size_t chunk = connection->used < first ? connection->used : first;
        ssize_t count = send(connection->fd, connection->bytes + connection->start, chunk,
                             MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (count < 0) {
            give_up(box, connection);
            return;
        }
        connection->start = (connection->start + (size_t)count) % DOORWAY_WINDOW;
        connection->used -= (size_t)count;
        connection->ungiven += (uint64_t)count;
    }
    if (connection->used == 0 && connection->write_ended && !connection->shut) {
        connection->shut = true;
        (void)shutdown(connection->fd, SHUT_WR);
    }
    give_credit(box, connection);
}

static const char *take_data(struct nt_box *box, struct nt_connection *connection,
                             const struct frame *frame)
{
    size_t end = (connection->start + connection->used) % DOORWAY_WINDOW;
    size_t first = frame->size < DOORWAY_WINDOW - end ? frame->size
                                                      : DOORWAY_WINDOW - end;

    if (frame->lane != 1 || frame->size == 0)
        return "for a connection, on the lane that is ours or with nothing in it";
    if (connection->write_ended || frame->size > connection->room)
        return "for a connection, after its end or beyond the credit that it has";
    connection->room -= frame->size;
    if (connection->fd < 0) /* closed here: it will be there too */
        return NULL;
    memcpy(connection->bytes + end, frame->payload, first);
    memcpy(connection->bytes, frame->payload + first, frame->size - first);
    connection->used += frame->size;
    move_out(box, connection);
    return NULL;
}

/* ---- from them to init ---- */

/* One frame at most: they take turns. */
static void move_in(struct nt_box *box, struct nt_connection *connection)
{
    uint8_t bytes[16384];
    size_t room = connection->window < sizeof(bytes) ? (size_t)connection->window
                                                     : sizeof(bytes);
    ssize_t count;

    if (room == 0 || connection->read_ended)
        return;
    count = recv(connection->fd, bytes, room, MSG_DONTWAIT);
    if (count > 0) {
        connection->window -= (uint64_t)count;
        nt_wire_send(box, FRAME_DATA, 0, connection->id, bytes, (size_t)count);
    } else if (count == 0) {
        connection->read_ended = true;
        nt_wire_send(box, FRAME_END, 0, connection->id, NULL, 0);
    } else if (errno != EAGAIN && errno != EINTR) {
        give_up(box, connection);
    }
}

/* ---- new ones ---- */

/* The first place that is free; `end` when none is. */
static size_t free_place(const struct nt_doorway *doorway, size_t first, size_t end)
{
    while (first < end && doorway->connections[first].is_used)
        first++;
    return first;
}

static struct nt_connection *settle(struct nt_doorway *doorway, size_t place,
                                    const uint8_t id[FRAME_ID])
{
    struct nt_connection *connection = &doorway->connections[place];

    *connection = (struct nt_connection){ .is_used = true, .fd = -1, .theirs = -1,
                                          .window = DOORWAY_WINDOW,
                                          .room = DOORWAY_WINDOW };
    memcpy(connection->id, id, FRAME_ID);
    if (place >= doorway->count)
        doorway->count = place + 1;
    return connection;
}

/* Takes `fd`; what can't be dialled is closed. */
static void dial(struct nt_box *box, uint16_t port, int fd)
{
    NACRE_AUTO(nacre_fd_guard) int owned = fd;
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = malloc(DOORWAY_WINDOW);
    size_t place = free_place(box->doorway, 0, DOORWAY_DIALS_MAX);
    struct nt_connection *connection;
    struct nacre_error ignored;
    uint8_t id[FRAME_ID];

    if (!bytes || port == 0 || place == DOORWAY_DIALS_MAX ||
        nacre_random(id, sizeof(id), &ignored) != NACRE_OK)
        return;
    connection = settle(box->doorway, place, id);
    connection->fd = nacre_fd_take(&owned);
    connection->bytes = NACRE_HEAP_TAKE(bytes);
    nt_wire_send_u64(box, FRAME_DIAL, 0, id, port);
}

bool nt_doorway_may_dial(const struct nt_box *box)
{
    return box->doorway &&
           free_place(box->doorway, 0, DOORWAY_DIALS_MAX) < DOORWAY_DIALS_MAX;
}

bool nt_doorway_dial(struct nt_box *box, int dial_fd)
{
    uint16_t port = 0;
    size_t fd_count = 0;
    int fd = -1;
    ssize_t count = pass_receive(dial_fd, false, &port, sizeof(port), &fd, 1, &fd_count);

    if (fd_count == 1 && count == sizeof(port))
        dial(box, port, fd);
    else
        close_fd(&fd);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR ||
                                       errno == EBADMSG));
}

/* ---- frames ---- */

static const char *take_open(struct nt_box *box, const struct frame *frame)
{
    struct nt_doorway *doorway = box->doorway;
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    uint64_t kind = unpack_u64(&unpack);
    size_t place = free_place(doorway, DOORWAY_DIALS_MAX, NT_CONNECTIONS);
    struct nt_connection *connection;
    int pair[2] = { -1, -1 };

    if (!unpack_whole(&unpack) || frame->lane != 0 || kind == DOORWAY_NONE ||
        kind >= DOORWAY_NAMES)
        return "to a place that the doorway does not have";
    if (place == NT_CONNECTIONS)
        return "of one connection too many";
    connection = settle(doorway, place, frame->id);
    connection->kind = (int)kind;
    if (doorway->is_open)
        connection->bytes = malloc(DOORWAY_WINDOW);
    /* Nobody is there, or no room for it: that is no fault of init's. */
    if (!connection->bytes ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        give_up(box, connection);
        return NULL;
    }
    connection->fd = pair[0];
    connection->theirs = pair[1];
    return NULL;
}

static const char *take_credit(struct nt_connection *connection,
                               const struct frame *frame)
{
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    uint64_t more = unpack_u64(&unpack);

    if (!unpack_whole(&unpack) || frame->lane != 0 || more == 0 ||
        more > DOORWAY_WINDOW - connection->window)
        return "for a connection, of nothing or of more than was sent";
    connection->window += more;
    return NULL;
}

static const char *take_end(struct nt_box *box, struct nt_connection *connection,
                            const struct frame *frame)
{
    if (frame->size > 0 || frame->lane != 1 || connection->write_ended)
        return "for a connection, of a lane that is ours or had ended";
    connection->write_ended = true;
    if (connection->fd >= 0)
        move_out(box, connection);
    return NULL;
}

static struct nt_connection *find(struct nt_doorway *doorway, const uint8_t *id)
{
    for (size_t i = 0; i < doorway->count; i++)
        if (doorway->connections[i].is_used &&
            memcmp(doorway->connections[i].id, id, FRAME_ID) == 0)
            return &doorway->connections[i];
    return NULL;
}

/* What they have not taken yet is lost: init closes what is broken, and else only what
 * both sides have ended. */
static const char *take_close(struct nt_doorway *doorway,
                              struct nt_connection *connection, const struct frame *frame)
{
    if (frame->size > 0 || frame->lane != 0)
        return "with something in it";
    release(doorway, connection);
    return NULL;
}

const char *nt_doorway_take(struct nt_box *box, const struct frame *frame)
{
    struct nt_connection *connection =
        box->doorway ? find(box->doorway, frame->id) : NULL;

    if (frame->type == FRAME_OPEN)
        return !box->doorway || !box->doorway->carries ? "where there is no doorway"
               : connection                            ? "for the second time"
                                                       : take_open(box, frame);
    if (!connection)
        return "for a command that does not run";
    switch (frame->type) {
    case FRAME_DATA:
        return take_data(box, connection, frame);
    case FRAME_END:
        return take_end(box, connection, frame);
    case FRAME_CREDIT:
        return take_credit(connection, frame);
    case FRAME_CLOSE:
        return take_close(box->doorway, connection, frame);
    default:
        return "for a connection";
    }
}

/* ---- a command's time ---- */

void nt_doorway_begin(struct nt_box *box)
{
    if (box->doorway)
        box->doorway->is_open = true;
}

void nt_doorway_end(struct nt_box *box)
{
    struct nt_doorway *doorway = box->doorway;

    if (!doorway)
        return;
    doorway->is_open = false;
    for (size_t i = 0; i < doorway->count; i++)
        if (doorway->connections[i].is_used && doorway->connections[i].fd >= 0)
            give_up(box, &doorway->connections[i]);
}

bool nt_doorway_next(struct nt_box *box, int *ret_kind, int *ret_fd)
{
    struct nt_doorway *doorway = box->doorway;

    for (size_t i = 0; doorway && i < doorway->count; i++)
        if (doorway->connections[i].is_used && doorway->connections[i].theirs >= 0) {
            *ret_kind = doorway->connections[i].kind;
            *ret_fd = doorway->connections[i].theirs;
            doorway->connections[i].theirs = -1;
            return true;
        }
    return false;
}

nfds_t nt_doorway_poll(struct nt_box *box, bool may_send, struct pollfd *ret_fds)
{
    struct nt_doorway *doorway = box->doorway;
    nfds_t count = 1;

    ret_fds[0] = (struct pollfd){ .fd = -1 };
    for (size_t i = 0; doorway && i < doorway->count; i++) {
        struct nt_connection *connection = &doorway->connections[i];
        bool reads = may_send && !connection->read_ended && connection->window > 0;
        short events = (short)((reads ? POLLIN : 0) | (connection->used ? POLLOUT : 0));

        connection->poll_at = 0;
        if (!connection->is_used || connection->fd < 0 || events == 0)
            continue;
        connection->poll_at = count;
        ret_fds[count++] = (struct pollfd){ .fd = connection->fd, .events = events };
    }
    return count;
}

void nt_doorway_move(struct nt_box *box, const struct pollfd *fds)
{
    struct nt_doorway *doorway = box->doorway;

    for (size_t i = 0; doorway && i < doorway->count; i++) {
        struct nt_connection *connection = &doorway->connections[i];
        nfds_t at = connection->poll_at;

        /* Another thread may have taken frames meanwhile, and the slot be another's. */
        connection->poll_at = 0;
        if (!connection->is_used || at == 0 || connection->fd != fds[at].fd)
            continue;
        if (fds[at].revents & POLLOUT)
            move_out(box, connection);
        if (connection->fd >= 0 && fds[at].revents & (POLLIN | POLLHUP | POLLERR))
            move_in(box, connection);
    }
}
