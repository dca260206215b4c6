/*
 * The real nacre-init when its owner dials into the sandbox: what it reaches, carries and
 * refuses.  In a network namespace of the test's own.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doorway.h"
#include "init_owner.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define PORT 9222
#define FIRST 0xc0 /* of the connections' ids; commands have lower ones */

/* Root alone has a network of its own. */
static bool has_world(void)
{
    static int has = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

    if (has >= 0)
        return has;
    has = geteuid() == 0 && unshare(CLONE_NEWNET) == 0;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    has = has && fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    return has;
}

#define NEEDS_WORLD()     \
    do {                  \
        (void)state;      \
        if (!has_world()) \
            skip();       \
    } while (0)

/* ---- an owner that dials ---- */

static struct joined {
    bool is_used, is_ended, is_closed;
    size_t used;
    uint64_t window; /* that we may send */
    char bytes[256];
} joined[DOORWAY_DIALS_MAX + 2];

static bool hear(struct owner *owner, const struct frame *frame)
{
    size_t at = (size_t)frame->id[1] - 1;
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    struct joined *one;

    (void)owner;
    if (frame->id[0] != FIRST || frame->id[1] == 0 || at >= NACRE_COUNT(joined))
        return false;
    one = &joined[at];
    assert_true(one->is_used && !one->is_closed);
    if (frame->type == FRAME_DATA) {
        assert_true(frame->lane == 1 && frame->size < sizeof(one->bytes) - one->used);
        memcpy(one->bytes + one->used, frame->payload, frame->size);
        one->used += frame->size;
    } else if (frame->type == FRAME_CREDIT) {
        one->window += unpack_u64(&unpack);
        assert_true(one->window <= DOORWAY_WINDOW);
    } else if (frame->type == FRAME_END) {
        one->is_ended = true;
    } else {
        assert_int_equal(frame->type, FRAME_CLOSE);
        one->is_closed = true;
    }
    return true;
}

static void say(struct owner *owner, size_t number, enum frame_type type, uint8_t lane,
                const void *payload, size_t size)
{
    struct frame frame = { .type = (uint8_t)type, .lane = lane, .size = (uint32_t)size,
                           .id = { FIRST, (uint8_t)(number + 1) } };
    uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD_MAX];

    frame_header(bytes, &frame);
    if (size > 0)
        memcpy(bytes + FRAME_HEADER, payload, size);
    owner_send_raw(owner, bytes, FRAME_HEADER + size);
}

static struct joined *dial(struct owner *owner, size_t number, uint64_t port)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    joined[number] = (struct joined){ .is_used = true, .window = DOORWAY_WINDOW };
    pack_u64(&pack, port);
    say(owner, number, FRAME_DIAL, 0, bytes, pack.used);
    return &joined[number];
}

static void pump_until(struct owner *owner, const bool *what)
{
    uint64_t until = nacre_clock_ns() + 20 * NACRE_NS_PER_S;

    while (!*what && !owner->is_at_end && nacre_clock_ns() < until)
        (void)owner_pump(owner, 50);
    if (!*what)
        fail_msg("it did not come; init says: %s", owner->failure);
}

#define PYTHON(text) "exec python3 -c '" text "'"
#define LISTEN                                                            \
    "import socket,time\n"                                                \
    "l=socket.socket(); l.setsockopt(1,2,1); l.bind((\"127.0.0.1\",9222))\n" \
    "l.listen(9); print(\"there\",flush=True)\n"

static struct owner *listening(enum owner_place place, const char *script)
{
    struct owner *owner = owner_ready(place);
    struct init_start start = owner_shell(script);

    memset(joined, 0, sizeof(joined));
    owner->carried = hear;
    owner_start(owner, 1, &start);
    owner_await(owner, 1, "there");
    return owner;
}

/* ---- what is carried ---- */

static void what_the_owner_says_comes_in_and_the_answer_goes_out(void **state)
{
    NEEDS_WORLD();
    OWNER_BOTH(place) {
        struct owner *owner = listening(
            place, PYTHON(LISTEN "for i in range(2):\n"
                                 "  c,a=l.accept()\n"
                                 "  d=b\"\"\n"
                                 "  while True:\n"
                                 "    p=c.recv(99)\n"
                                 "    if not p: break\n"
                                 "    d+=p\n"
                                 "  c.sendall(b\"heard \"+d); c.close()\n"));
        struct joined *one = dial(owner, 0, PORT);

        /* Without waiting for it to be answered. */
        say(owner, 0, FRAME_DATA, 0, "word", 4);
        say(owner, 0, FRAME_END, 0, NULL, 0);
        pump_until(owner, &one->is_closed);
        assert_true(one->is_ended);
        assert_string_equal(one->bytes, "heard word");
        /* Its place is another's. */
        one = dial(owner, 0, PORT);
        say(owner, 0, FRAME_END, 0, NULL, 0);
        pump_until(owner, &one->is_closed);
        assert_string_equal(one->bytes, "heard ");
        (void)owner_close(owner);
    }
}

static void what_nobody_listens_to_is_closed(void **state)
{
    struct owner *owner;
    struct joined *one;

    NEEDS_WORLD();
    owner = listening(OWNER_CHILD, "echo there; exec sleep 60");
    one = dial(owner, 0, PORT);
    say(owner, 0, FRAME_DATA, 0, "word", 4);
    pump_until(owner, &one->is_closed);
    assert_false(one->is_ended);
    assert_false(owner->has_failed);
    (void)owner_close(owner);
}

/* Its queue takes one; who comes behind is answered when there is room, or closed. */
static void a_listener_that_is_full_holds_up_nobody_else(void **state)
{
    struct owner *owner;

    NEEDS_WORLD();
    owner = listening(OWNER_CHILD,
                      PYTHON("import socket,time\n"
                             "l=socket.socket(); l.setsockopt(1,2,1)\n"
                             "l.bind((\"127.0.0.1\",9222)); l.listen(0)\n"
                             "print(\"there\",flush=True)\n"
                             "time.sleep(60)\n"));
    for (size_t i = 0; i < 4; i++)
        (void)dial(owner, i, PORT);
    pump_until(owner, &dial(owner, 4, PORT + 1)->is_closed);
    assert_false(joined[0].is_closed);
    /* The owner need not wait for the kernel to give up. */
    say(owner, 3, FRAME_CLOSE, 0, NULL, 0);
    pump_until(owner, &joined[3].is_closed);
    (void)owner_close(owner);
}

/* ---- an owner that is wrong ---- */

static void assert_fails(struct owner *owner, const char *text)
{
    pump_until(owner, &owner->has_failed);
    if (!strstr(owner->failure, text))
        fail_msg("%s, expected %s", owner->failure, text);
    (void)owner_close(owner);
}

static void what_is_no_right_dial_ends_the_sandbox(void **state)
{
    static const char script[] = "echo there; exec sleep 60";
    static const uint64_t ports[] = { 0, 65536, UINT64_C(1) << 63 };
    static const uint8_t port[9] = { 6, 36 };
    struct owner *owner;

    NEEDS_WORLD();
    for (size_t i = 0; i < NACRE_COUNT(ports); i++) {
        owner = listening(OWNER_CHILD, script);
        (void)dial(owner, 0, ports[i]);
        assert_fails(owner, "a port to dial that is none");
    }
    for (size_t size = 7; size <= 9; size++) {
        owner = listening(OWNER_CHILD, script);
        say(owner, 0, FRAME_DIAL, size == 8 ? 1 : 0, port, size);
        assert_fails(owner, "a port to dial that is none");
    }
}

static void an_id_is_dialled_once_and_so_many_at_once(void **state)
{
    static const char script[] = PYTHON(LISTEN "l.listen(99); time.sleep(60)\n");
    struct owner *owner;

    NEEDS_WORLD();
    owner = listening(OWNER_CHILD, script);
    (void)dial(owner, 0, PORT);
    (void)dial(owner, 0, PORT);
    assert_fails(owner, "a connection's id is in use");
    owner = listening(OWNER_CHILD, script);
    for (size_t i = 0; i < DOORWAY_DIALS_MAX; i++)
        (void)dial(owner, i, PORT);
    (void)owner_pump(owner, 200);
    assert_false(owner->has_failed);
    (void)dial(owner, DOORWAY_DIALS_MAX, PORT);
    assert_fails(owner, "one dialled connection too many");
}

static void nobody_dials_before_the_report(void **state)
{
    struct owner *owner;

    NEEDS_WORLD();
    owner = owner_open(OWNER_CHILD);
    (void)dial(owner, 0, PORT);
    assert_fails(owner, "a connection before the report");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_owner_says_comes_in_and_the_answer_goes_out),
        cmocka_unit_test(what_nobody_listens_to_is_closed),
        cmocka_unit_test(a_listener_that_is_full_holds_up_nobody_else),
        cmocka_unit_test(what_is_no_right_dial_ends_the_sandbox),
        cmocka_unit_test(an_id_is_dialled_once_and_so_many_at_once),
        cmocka_unit_test(nobody_dials_before_the_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
