/*
 * The door's end of a guest's line: whatever a worker that was taken over sends, the door
 * answers in whole messages or hangs up.  Nothing may leave: every host is denied.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door.h"
#include "nacre/clock.h"

static struct door door;

static void prepare(void)
{
    static uint64_t minute[1001];
    struct nacre_error err;

    if (door.loop)
        return;
    door.egress.mode = NACRE_NETWORK_ALLOWLIST;
    door.egress.block_private = true;
    door.egress.limits = (struct nacre_egress_limits){ 65536, 65536, 3, 1000, 1000, 8 };
    door.minute_ns = minute;
    door.running = true;
    door.runs = 1;
    door.deadline_ns = UINT64_MAX;
    assert(nacre_result_new(&door.done, &err) == NACRE_OK);
    assert(door_loop_new(&door.loop, &err) == NACRE_OK);
    assert(door_fetcher_new(&door, &door.fetcher, &err) == NACRE_OK);
}

/* What came back is whole messages of the door's. */
static void check(int fd)
{
    static char bytes[1 << 20];
    ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    size_t at = 0;

    while (got > 0 && at < (size_t)got) {
        struct nacre_door_message message;

        assert((size_t)got - at >= sizeof(message));
        memcpy(&message, bytes + at, sizeof(message));
        assert(message.what == NACRE_DOOR_ANSWER || message.what == NACRE_DOOR_DATA);
        assert(message.code != NACRE_HTTP_OK && message.size > 0);
        at += sizeof(message) + message.size;
        assert(at <= (size_t)got);
    }
}

static void nothing(struct door_timer *timer)
{
    (void)timer;
}

/* A turn that does not wait. */
static void turn(void)
{
    static struct door_timer wake = { .due = nothing };

    door_timer_set(door.loop, &wake, 1);
    door_loop_turn(door.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sent = 0;
    int ends[2];

    prepare();
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    door_guest_serve(&door, ends[1]);
    for (unsigned i = 0; i < 10; i++) {
        ssize_t more = send(ends[0], data + sent, size - sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += more > 0 ? (size_t)more : 0;
        turn();
        check(ends[0]);
        if (i == 7)
            door_guests_end(&door);
    }
    (void)close(ends[0]);
    turn();
    turn();
    return 0;
}
