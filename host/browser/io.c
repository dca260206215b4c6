#include "io.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "nacre/clock.h"

/* False: it is time, or somebody says so. */
static bool wait_for(const struct io *io, int fd, short events)
{
    struct pollfd watched[2] = { { .fd = fd, .events = events },
                                 { .fd = io->stop_fd, .events = POLLIN } };

    for (;;) {
        struct timespec left = nacre_clock_until(io->deadline_ns);
        int ready = ppoll(watched, 2, &left, NULL);

        if (ready < 0 && errno == EINTR)
            continue;
        return ready > 0 && watched[1].revents == 0;
    }
}

ssize_t io_read(const struct io *io, int fd, void *ret_bytes, size_t size)
{
    for (;;) {
        ssize_t count = recv(fd, ret_bytes, size, MSG_DONTWAIT);

        if (count >= 0)
            return count;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN || !wait_for(io, fd, POLLIN))
            return -1;
    }
}

bool io_write(const struct io *io, int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t some = send(fd, at, count, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (some > 0) {
            at += some;
            count -= (size_t)some;
        } else if (some < 0 && errno != EINTR &&
                   (errno != EAGAIN || !wait_for(io, fd, POLLOUT))) {
            return false;
        }
    }
    return true;
}

/* ---- both ways ---- */

/* From one socket to the other. */
struct way {
    int from, to;
    size_t start, end;
    bool read_ended, done;
    uint64_t stalls_ns; /* since then nothing was taken */
    char bytes[IO_FIRST_MAX];
};

static bool take(struct way *way)
{
    ssize_t count = recv(way->from, way->bytes, sizeof(way->bytes), MSG_DONTWAIT);

    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    way->start = 0;
    way->end = (size_t)count;
    way->read_ended = count == 0;
    way->stalls_ns = nacre_clock_ns();
    return true;
}

static bool put(struct way *way)
{
    ssize_t count = send(way->to, way->bytes + way->start, way->end - way->start,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    way->start += (size_t)count;
    way->stalls_ns = nacre_clock_ns();
    return true;
}

static bool is_full(const struct way *way)
{
    return way->start < way->end;
}

static bool move(struct way *way, short readable, short writable)
{
    if (way->done)
        return true;
    if (is_full(way) && (writable & (POLLOUT | POLLERR | POLLHUP)) && !put(way))
        return false;
    if (!is_full(way) && !way->read_ended &&
        (readable & (POLLIN | POLLERR | POLLHUP)) && !take(way))
        return false;
    if (!is_full(way) && way->read_ended) {
        (void)shutdown(way->to, SHUT_WR);
        way->done = true;
    }
    return !is_full(way) ||
           nacre_clock_ns() - way->stalls_ns < IO_STALL_MS * NACRE_NS_PER_MS;
}

static short events_of(const struct way *out, const struct way *in)
{
    bool reads = !out->done && !out->read_ended && !is_full(out);

    return (short)((reads ? POLLIN : 0) | (is_full(in) ? POLLOUT : 0));
}

void io_join(int stop_fd, int a, int b, const char *first, size_t count)
{
    struct way there = { .from = a, .to = b, .end = count,
                         .stalls_ns = nacre_clock_ns() };
    struct way back = { .from = b, .to = a };

    memcpy(there.bytes, first, count);
    while (!back.done) { /* b serves a: when it has ended, all has */
        struct pollfd watched[3] = {
            { .fd = stop_fd, .events = POLLIN },
            { .fd = a, .events = events_of(&there, &back) },
            { .fd = b, .events = events_of(&back, &there) },
        };
        int ready;

        /* One that waits for nothing but its own end would be told of it for ever. */
        for (size_t i = 1; i < 3; i++)
            if (watched[i].events == 0)
                watched[i].fd = -1;
        ready = poll(watched, 3, there.done ? IO_LAST_MS : IO_STALL_MS);
        if ((ready < 0 && errno != EINTR) ||
            (ready == 0 && there.done && !is_full(&back)))
            return;
        if (watched[0].revents ||
            !move(&there, watched[1].revents, watched[2].revents) ||
            !move(&back, watched[2].revents, watched[1].revents))
            return;
    }
}
