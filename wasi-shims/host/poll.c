/*
 * poll_oneoff.  Files are always ready and so is output; the only thing to wait for is
 * standard input or the time, and never past the deadline.  The subscriptions are read
 * twice from the guest's memory: nothing of the first reading is relied on but how long
 * to wait.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fdtable.h"
#include "functions.h"
#include "guest_memory.h"
#include "secrets.h"

struct waiting {
    struct nacre_wasi *wasi;
    uint64_t begun_ns;  /* relative times count from here */
    uint64_t until_ns;  /* the earliest clock */
    bool ready;         /* something needs no waiting */
    bool has_clock, wants_input, input_ready;
};

/* When a clock subscription fires, as a time of nacre_clock_ns(). */
static int clock_due(const struct waiting *waiting, const struct p1_subscription *sub,
                     uint64_t *ret_ns)
{
    uint64_t timeout = sub->u.clock.timeout;
    struct timespec real;
    uint64_t now;

    if (sub->u.clock.flags & ~P1_SUBCLOCK_ABSTIME)
        return P1_INVAL;
    switch (sub->u.clock.id) {
    case P1_CLOCK_REALTIME:
    case P1_CLOCK_MONOTONIC:
        break;
    case P1_CLOCK_PROCESS_CPU:
    case P1_CLOCK_THREAD_CPU:
        return P1_NOTSUP;
    default:
        return P1_INVAL;
    }
    if (sub->u.clock.flags & P1_SUBCLOCK_ABSTIME) {
        if (sub->u.clock.id == P1_CLOCK_MONOTONIC) {
            *ret_ns = timeout;
            return P1_SUCCESS;
        }
        (void)clock_gettime(CLOCK_REALTIME, &real);
        now = (uint64_t)real.tv_sec * NACRE_NS_PER_S + (uint64_t)real.tv_nsec;
        timeout = timeout > now ? timeout - now : 0;
    }
    *ret_ns = timeout > UINT64_MAX - waiting->begun_ns ? UINT64_MAX
                                                       : waiting->begun_ns + timeout;
    return P1_SUCCESS;
}

/* BADF for what is not open, or not for that. */
static int subscribed_file(struct nacre_wasi *wasi, const struct p1_subscription *sub,
                           struct ws_file **ret_file)
{
    struct ws_file *file = ws_file_get(wasi, sub->u.file.fd);

    if (!file || file->kind == WS_DIRECTORY || file->kind == WS_SECRETS ||
        (sub->tag == P1_EVENT_FD_READ && file->kind == WS_OUTPUT) ||
        (sub->tag == P1_EVENT_FD_WRITE && file->kind == WS_INPUT))
        return P1_BADF;
    *ret_file = file;
    return P1_SUCCESS;
}

static int look(struct waiting *waiting, const struct p1_subscription *sub)
{
    struct ws_file *file;
    uint64_t due;
    int error;

    switch (sub->tag) {
    case P1_EVENT_CLOCK:
        error = clock_due(waiting, sub, &due);
        if (error != P1_SUCCESS) {
            waiting->ready = true; /* its event says why */
            return P1_SUCCESS;
        }
        if (!waiting->has_clock || due < waiting->until_ns)
            waiting->until_ns = due;
        waiting->has_clock = true;
        return P1_SUCCESS;
    case P1_EVENT_FD_READ:
    case P1_EVENT_FD_WRITE:
        error = subscribed_file(waiting->wasi, sub, &file);
        if (error != P1_SUCCESS)
            return error;
        if (file->kind == WS_INPUT && file->fd >= 0)
            waiting->wants_input = true;
        else
            waiting->ready = true;
        return P1_SUCCESS;
    default:
        return P1_INVAL;
    }
}

static int wait_for(struct waiting *waiting)
{
    struct nacre_wasi *wasi = waiting->wasi;

    for (;;) {
        struct pollfd item = { .fd = wasi->call.input_fd, .events = POLLIN };
        uint64_t until = wasi->call.deadline_ns;
        struct timespec left = { 0, 0 };
        int got;

        if (waiting->has_clock && waiting->until_ns < until)
            until = waiting->until_ns;
        if (!waiting->ready)
            left = nacre_clock_until(until);
        got = ppoll(&item, waiting->wants_input ? 1 : 0, &left, NULL);
        if (got < 0 && errno != EINTR)
            return ws_errno(errno);
        waiting->input_ready = got > 0;
        if (ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
        if (waiting->ready || waiting->input_ready ||
            (waiting->has_clock && nacre_clock_ns() >= waiting->until_ns))
            return P1_SUCCESS;
    }
}

static uint64_t bytes_ready(const struct nacre_wasi *wasi, const struct ws_file *file)
{
    struct stat st;
    off_t at;
    int count;

    if (file->kind == WS_INPUT && wasi->call.input)
        return wasi->call.input_bytes - file->position;
    if (file->kind == WS_INPUT)
        return file->fd >= 0 && ioctl(file->fd, FIONREAD, &count) == 0 && count > 0
                   ? (uint64_t)count
                   : 0;
    if (file->kind == WS_SECRET)
        return ws_secret_left(wasi, file);
    at = lseek(file->fd, 0, SEEK_CUR);
    if (at < 0 || fstat(file->fd, &st) != 0 || st.st_size <= at)
        return 0;
    return (uint64_t)(st.st_size - at);
}

/* Has it happened?  Then *ret_event says so to the guest. */
static bool happened(const struct waiting *waiting, const struct p1_subscription *sub,
                     uint64_t now_ns, struct p1_event *ret_event)
{
    struct p1_event event = { .userdata = sub->userdata, .type = sub->tag };
    struct ws_file *file;
    uint64_t due;
    int error;

    if (sub->tag == P1_EVENT_CLOCK) {
        error = clock_due(waiting, sub, &due);
        if (error == P1_SUCCESS && due > now_ns)
            return false;
    } else {
        error = subscribed_file(waiting->wasi, sub, &file);
        if (error == P1_SUCCESS && file->kind == WS_INPUT && file->fd >= 0 &&
            !waiting->input_ready)
            return false;
        if (error == P1_SUCCESS && sub->tag == P1_EVENT_FD_READ)
            event.bytes = bytes_ready(waiting->wasi, file);
    }
    event.error = (uint16_t)error;
    *ret_event = event;
    return true;
}

int ws_poll_oneoff(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    uint32_t in = ws_u32(&cells[0]), out = ws_u32(&cells[1]), count = ws_u32(&cells[2]);
    struct waiting waiting = { .wasi = wasi, .begun_ns = nacre_clock_ns() };
    struct p1_subscription sub;
    struct p1_event event;
    uint32_t events = 0;
    uint64_t now;
    int error;

    if (count == 0)
        return P1_INVAL;
    if (!ws_guest(wasi, in, (uint64_t)count * sizeof(sub)) ||
        !ws_guest(wasi, out, (uint64_t)count * sizeof(event)) ||
        !ws_guest(wasi, ws_u32(&cells[3]), sizeof(events)))
        return P1_FAULT;
    for (uint32_t i = 0; i < count; i++) {
        error = ws_guest_get(wasi, in + i * (uint32_t)sizeof(sub), &sub, sizeof(sub));
        if (error == P1_SUCCESS)
            error = look(&waiting, &sub);
        if (error != P1_SUCCESS)
            return error;
        if (i % 4096 == 4095 && ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
    error = wait_for(&waiting);
    if (error != P1_SUCCESS)
        return error;
    now = nacre_clock_ns();
    for (uint32_t i = 0; i < count; i++) {
        error = ws_guest_get(wasi, in + i * (uint32_t)sizeof(sub), &sub, sizeof(sub));
        if (error == P1_SUCCESS && happened(&waiting, &sub, now, &event))
            error = ws_guest_put(wasi, out + events++ * (uint32_t)sizeof(event), &event,
                                 sizeof(event));
        if (error != P1_SUCCESS)
            return error;
        if (i % 4096 == 4095 && ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
    return ws_guest_put_u32(wasi, ws_u32(&cells[3]), events);
}
