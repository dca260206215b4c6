#include "pump.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The guest's deadline has 100 ms to spare between the kill and the promise. */
#define PATIENCE_MS 20

void cli_pump_init(struct cli_pump *pump)
{
    *pump = (struct cli_pump){ .waiting = { NACRE_BUF(NACRE_BUF_LIMIT_MAX),
                                            NACRE_BUF(NACRE_BUF_LIMIT_MAX) } };
}

void cli_pump_clear(struct cli_pump *pump)
{
    nacre_buf_clear(&pump->waiting[0]);
    nacre_buf_clear(&pump->waiting[1]);
}

static void break_off(struct cli_pump *pump, int fd, int why)
{
    pump->broken = why;
    pump->broken_fd = fd;
    cli_pump_clear(pump);
}

/*
 * How much of it went.  poll() promises room for PIPE_BUF bytes, no more: a larger
 * write to a pipe would block until the last byte is in.
 */
static size_t send_some(struct cli_pump *pump, int fd, const char *bytes, size_t count,
                        int patience_ms)
{
    size_t sent = 0;

    while (sent < count && !pump->broken) {
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        size_t part = count - sent < PIPE_BUF ? count - sent : PIPE_BUF;
        int polled = poll(&ready, 1, patience_ms);
        ssize_t written;

        if (polled == 0 || (polled < 0 && errno == EINTR && patience_ms >= 0))
            break;
        if (polled < 0 && errno == EINTR)
            continue;
        written = polled < 0 ? -1 : write(fd, bytes + sent, part);
        if (written >= 0)
            sent += (size_t)written;
        else if (errno != EINTR && errno != EAGAIN)
            break_off(pump, fd, errno);
    }
    return sent;
}

static void send_waiting(struct cli_pump *pump, int fd, int patience_ms)
{
    struct nacre_buf *waiting = &pump->waiting[fd - 1];
    size_t *sent = &pump->sent[fd - 1];

    if (waiting->size > *sent)
        *sent += send_some(pump, fd, waiting->bytes + *sent, waiting->size - *sent,
                           patience_ms);
    if (*sent >= waiting->size) {
        nacre_buf_clear(waiting);
        *sent = 0;
    }
}

void cli_pump_push(struct cli_pump *pump, int fd, const char *bytes, size_t count)
{
    struct nacre_error err;
    size_t sent = 0;

    assert(fd == 1 || fd == 2);
    send_waiting(pump, fd, PATIENCE_MS);
    if (pump->waiting[fd - 1].size == 0)
        sent = send_some(pump, fd, bytes, count, PATIENCE_MS);
    if (sent < count && !pump->broken &&
        nacre_buf_add(&pump->waiting[fd - 1], bytes + sent, count - sent, &err) !=
            NACRE_OK)
        break_off(pump, fd, ENOMEM);
}

void cli_pump_drain(struct cli_pump *pump)
{
    while (!pump->broken && (pump->waiting[0].size > 0 || pump->waiting[1].size > 0)) {
        send_waiting(pump, 1, -1);
        send_waiting(pump, 2, -1);
    }
}
