/*
 * Any frames at all, from an init that is a guest's, into an owner whose init carries
 * connections, and who has dialled one itself: nothing is read or written beyond its room, and no more connections are
 * there than may be.  Frames are made of the input, so that most of them are whole.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nt_doorway.h"
#include "pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t take_all(void *stream, const void *bytes, size_t count)
{
    (void)stream;
    (void)bytes;
    return (ssize_t)count;
}

static void shut(void *stream)
{
    (void)stream;
}

static const struct nt_stream_ops ops = { .write = take_all, .close = shut };
static uint8_t payload[FRAME_PAYLOAD_MAX];

#define DIALLED 8 /* its id, in place of a random one; init's are below */

/* type, lane, connection, size (2): then what there is of that many bytes. */
static size_t one_frame(struct nt_box *box, const uint8_t *data, size_t size)
{
    static const uint8_t types[] = { FRAME_OPEN, FRAME_DATA, FRAME_END, FRAME_CREDIT,
                                     FRAME_CLOSE, FRAME_STARTED };
    struct frame frame = { .type = types[data[0] % sizeof(types)],
                           .lane = data[1] % FRAME_LANES, .payload = payload };
    size_t wanted = (size_t)data[3] << 8 | data[4], there = size - 5;

    memset(frame.id, 1 + data[2] % DIALLED, FRAME_ID);
    frame.size = (uint32_t)wanted;
    there = there < wanted ? there : wanted;
    memcpy(payload, data + 5, there);
    memset(payload + there, 0, wanted - there);
    nt_frames_take(box, &frame);
    return 5 + there;
}

static void move(struct nt_box *box)
{
    struct pollfd fds[NT_DOORWAY_FDS];
    nfds_t count = nt_doorway_poll(box, true, fds);
    char bytes[4096];
    int kind, fd;

    while (nt_doorway_next(box, &kind, &fd)) {
        assert(kind > DOORWAY_NONE && kind < DOORWAY_NAMES);
        (void)!send(fd, bytes, (size_t)kind * 100, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        (void)close(fd);
    }
    if (poll(fds, count, 0) >= 0)
        nt_doorway_move(box, fds);
}

static void dial(struct nt_box *box)
{
    const uint16_t port = 9222;
    int control[2], pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        abort();
    (void)!send(pair[0], "word", 4, MSG_DONTWAIT);
    if (!pass_send(control[0], &port, sizeof(port), &pair[1], 1) ||
        !nt_doorway_dial(box, control[1]) || !box->doorway->connections[0].is_used)
        abort();
    memset(box->doorway->connections[0].id, DIALLED, FRAME_ID);
    for (size_t i = 0; i < 2; i++) {
        (void)close(control[i]);
        (void)close(pair[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_box *box = calloc(1, sizeof(*box));

    if (!box)
        return 0;
    (void)pthread_mutex_init(&box->lock, NULL);
    box->stream.ops = &ops;
    box->out.size_max = (size_t)1 << 20;
    box->doorway = nt_doorway_new(true);
    memset(payload, 0, sizeof(payload));
    nt_doorway_begin(box);
    dial(box);
    while (size > 5 && !atomic_load(&box->spent)) {
        size_t used = one_frame(box, data, size);

        data += used;
        size -= used;
        if (data[-1] & 1)
            move(box);
        assert(box->doorway->count <= NT_CONNECTIONS);
    }
    nt_doorway_end(box);
    nt_box_free(box);
    return 0;
}
