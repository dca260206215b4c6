/* The owner is trusted, but not to be in time or right.  What follows MACHINE is for
 * init_main(), and stays in the channel. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "machine_parts.h"
#include "nacre/clock.h"

#define ORDER_MS 30000
#define ROUND_MS 2

static struct {
    struct frame_reader reader;
    size_t used;
    uint8_t bytes[MACHINE_BYTES_MAX];
    struct machine_mount mounts[MACHINE_MOUNTS_MAX];
    struct init_machine machine;
} order;

static _Noreturn void refuse(int number)
{
    errno = number;
    launch_fail("read what the machine is made of", NULL);
}

/* A port whose other end is not there yet reads as if it were at its end. */
static void read_some(uint64_t until)
{
    struct pollfd in = { .fd = 0, .events = POLLIN };
    size_t room, missing = frame_reader_missing(&order.reader);
    uint8_t *at = frame_reader_room(&order.reader, &room);
    uint64_t now = nacre_clock_ns();
    ssize_t count;

    if (now >= until)
        refuse(ETIMEDOUT);
    if (poll(&in, 1, (int)((until - now) / NACRE_NS_PER_MS)) < 0 && errno != EINTR)
        refuse(errno);
    if (!(in.revents & POLLIN)) {
        (void)poll(NULL, 0, ROUND_MS);
        return;
    }
    count = read(0, at, missing < room ? missing : room);
    if (count < 0 && errno != EINTR && errno != EAGAIN)
        refuse(errno);
    if (count > 0)
        frame_reader_filled(&order.reader, (size_t)count);
    else if (count == 0)
        (void)poll(NULL, 0, ROUND_MS);
}

/* True: that was the last part. */
static bool take_part(const struct frame *frame)
{
    static const uint8_t none[FRAME_ID];

    if (frame->type != FRAME_MACHINE || frame->lane > 1 ||
        memcmp(frame->id, none, FRAME_ID) != 0)
        refuse(EBADMSG);
    if (frame->size > sizeof(order.bytes) - order.used)
        refuse(EMSGSIZE);
    memcpy(order.bytes + order.used, frame->payload, frame->size);
    order.used += frame->size;
    return frame->lane == 1;
}

const struct init_machine *machine_order_read(void)
{
    uint64_t until = nacre_clock_ns() + ORDER_MS * NACRE_NS_PER_MS;
    struct unpack unpack = { .bytes = order.bytes };
    struct frame frame;
    int found;

    frame_reader_init(&order.reader);
    for (;;) {
        found = frame_reader_next(&order.reader, &frame);
        if (found < 0)
            refuse(EBADMSG);
        if (found == 0)
            read_some(until);
        else if (take_part(&frame))
            break;
    }
    unpack.size = order.used;
    if (!init_machine_unpack(&unpack, order.mounts, &order.machine))
        refuse(EBADMSG);
    return &order.machine;
}
