#ifndef DOOR_STREAM_H
#define DOOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that wait, first in, first out. */
struct door_queue {
    char *bytes;
    size_t start, count, room;
};

const char *door_queue_bytes(const struct door_queue *queue);
/* False: they would be more than `max`, or memory ran out; then nothing was added. */
bool door_queue_add(struct door_queue *queue, const void *bytes, size_t count,
                    size_t max);
void door_queue_drop(struct door_queue *queue, size_t count);
void door_queue_clear(struct door_queue *queue);

/*
 * A connection's bytes: those of the socket, or of the TLS that is ended here
 * (intercept.c).
 */
struct door_stream {
    int fd; /* non-blocking; -1: closed */
    struct ssl_st *tls;
    bool tls_wants_out;       /* it can't go on reading before it has written */
    struct door_queue early;  /* what was read before TLS took over */
};

enum door_io {
    DOOR_IO_SOME,
    DOOR_IO_AGAIN,
    DOOR_IO_END,    /* the other side says no more */
    DOOR_IO_BROKEN,
};

enum door_io door_stream_read(struct door_stream *stream, void *bytes, size_t count,
                              size_t *ret_count);
/* At most `max` bytes in `queue` afterwards; AGAIN too when there is no room. */
enum door_io door_stream_fill(struct door_stream *stream, struct door_queue *queue,
                              size_t max);
/* Sends what it can of `queue`; SOME: all of it. */
enum door_io door_stream_flush(struct door_stream *stream, struct door_queue *queue);
/* Nothing more is said on our side. */
void door_stream_shut(struct door_stream *stream);
void door_stream_close(struct door_stream *stream);

#endif
