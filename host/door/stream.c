#include "stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "intercept.h"

#define PIECE ((size_t)16 << 10)
#define ROOM_KEPT ((size_t)4 << 10) /* by an empty queue: most connections idle */

const char *door_queue_bytes(const struct door_queue *queue)
{
    return queue->count > 0 ? queue->bytes + queue->start : "";
}

static bool make_room(struct door_queue *queue, size_t count)
{
    size_t room = queue->room > 0 ? queue->room : 1024;
    char *grown;

    if (queue->start > 0) {
        memmove(queue->bytes, queue->bytes + queue->start, queue->count);
        queue->start = 0;
    }
    if (count <= queue->room - queue->count)
        return true;
    while (room - queue->count < count)
        room *= 2;
    grown = realloc(queue->bytes, room);
    if (!grown)
        return false;
    queue->bytes = grown;
    queue->room = room;
    return true;
}

bool door_queue_add(struct door_queue *queue, const void *bytes, size_t count,
                    size_t max)
{
    if (count == 0)
        return true;
    if (queue->count > max || count > max - queue->count)
        return false;
    if (count > queue->room - queue->start - queue->count && !make_room(queue, count))
        return false;
    memcpy(queue->bytes + queue->start + queue->count, bytes, count);
    queue->count += count;
    return true;
}

void door_queue_drop(struct door_queue *queue, size_t count)
{
    assert(count <= queue->count);
    queue->start += count;
    queue->count -= count;
    if (queue->count > 0)
        return;
    queue->start = 0;
    if (queue->room > ROOM_KEPT)
        door_queue_clear(queue);
}

void door_queue_clear(struct door_queue *queue)
{
    free(queue->bytes);
    *queue = (struct door_queue){ .bytes = NULL };
}

enum door_io door_stream_read(struct door_stream *stream, void *bytes, size_t count,
                              size_t *ret_count)
{
    ssize_t got;

    if (stream->tls)
        return door_tls_read(stream, bytes, count, ret_count);
    do
        got = recv(stream->fd, bytes, count, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        *ret_count = (size_t)got;
        return DOOR_IO_SOME;
    }
    if (got == 0)
        return DOOR_IO_END;
    return errno == EAGAIN ? DOOR_IO_AGAIN : DOOR_IO_BROKEN;
}

enum door_io door_stream_fill(struct door_stream *stream, struct door_queue *queue,
                              size_t max)
{
    char piece[PIECE];
    size_t room = queue->count < max ? max - queue->count : 0, got;
    enum door_io io;

    if (room == 0)
        return DOOR_IO_AGAIN;
    io = door_stream_read(stream, piece, room < PIECE ? room : PIECE, &got);
    if (io == DOOR_IO_SOME && !door_queue_add(queue, piece, got, max))
        return DOOR_IO_BROKEN;
    return io;
}

static enum door_io write_some(struct door_stream *stream, const void *bytes,
                               size_t count, size_t *ret_count)
{
    ssize_t sent;

    if (stream->tls)
        return door_tls_write(stream, bytes, count, ret_count);
    do
        sent = send(stream->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EAGAIN ? DOOR_IO_AGAIN : DOOR_IO_BROKEN;
    *ret_count = (size_t)sent;
    return DOOR_IO_SOME;
}

enum door_io door_stream_flush(struct door_stream *stream, struct door_queue *queue)
{
    enum door_io io = DOOR_IO_SOME;
    size_t sent;

    while (queue->count > 0 && io == DOOR_IO_SOME) {
        io = write_some(stream, door_queue_bytes(queue), queue->count, &sent);
        if (io == DOOR_IO_SOME)
            door_queue_drop(queue, sent);
    }
    return io;
}

void door_stream_shut(struct door_stream *stream)
{
    if (stream->tls)
        door_tls_shut(stream);
    (void)shutdown(stream->fd, SHUT_WR);
}

void door_stream_close(struct door_stream *stream)
{
    if (stream->tls)
        door_tls_free(stream);
    door_queue_clear(&stream->early);
    if (stream->fd >= 0)
        (void)close(stream->fd);
    stream->fd = -1;
}
