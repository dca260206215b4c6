/* Connections into a sandbox: what the owner does with a socket that somebody sends it,
 * and what it does not take from an init that is a guest's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "box_scene.h"
#include "dials.h"
#include "doorway.h"
#include "nacre/own.h"

#define PORT 9222
#define WAIT_MS 10000

static const struct init_exit good = { INIT_HOW_EXITED, 0 };

/* ---- who comes in ---- */

static struct {
    struct nacre_request request;
    int sends; /* the other end of dial_fd */
} caller = { .request = { .input_fd = -1 }, .sends = -1 };

static int enter(void **state)
{
    int pair[2];

    (void)state;
    config.carries = false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    caller.request.dial_fd = pair[0];
    caller.sends = pair[1];
    return 0;
}

static int leave(void **state)
{
    (void)state;
    (void)close(caller.request.dial_fd);
    if (caller.sends >= 0)
        (void)close(caller.sends);
    return 0;
}

/* What comes until the end; false when neither comes in time. */
static bool hears(int fd, const char *text)
{
    char bytes[64] = "";
    size_t used = 0;
    ssize_t got = 1;

    while (got > 0 && used < sizeof(bytes) - 1) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };

        if (poll(&ready, 1, WAIT_MS) <= 0)
            return false;
        got = recv(fd, bytes + used, sizeof(bytes) - 1 - used, 0);
        used += got > 0 ? (size_t)got : 0;
    }
    return strcmp(bytes, text) == 0;
}

/* ---- for scripts ---- */

static bool begin(struct fake_init *self, uint8_t ret_id[FRAME_ID])
{
    (void)fake_init_report(self);
    if (!fake_init_await_start(self, ret_id, NULL))
        return false;
    fake_init_send(self, FRAME_STARTED, 0, ret_id, NULL, 0);
    return true;
}

/* The id of the next one that is dialled; false: to another port, or none. */
static bool dialled(struct fake_init *self, uint8_t ret_id[FRAME_ID])
{
    struct frame frame;
    struct unpack unpack;

    if (!fake_init_await(self, FRAME_DIAL, &frame))
        return false;
    unpack = (struct unpack){ .bytes = frame.payload, .size = frame.size };
    memcpy(ret_id, frame.id, FRAME_ID);
    return unpack_u64(&unpack) == PORT && unpack_whole(&unpack) && frame.lane == 0;
}

static void end_command(struct fake_init *self, const uint8_t *id)
{
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

/* ---- what is carried ---- */

/* Somebody comes, says "word" and hears `answer`, while a command runs to its end. */
static struct nt_box *dialled_once(void (*script)(struct fake_init *), const char *answer)
{
    struct nt_box *box = opened(script, NULL);
    struct nt_command command = command_of(&caller.request);
    NACRE_AUTO(nacre_fd_guard) int fd = dials_open(caller.sends, PORT);

    assert_int_equal(send(fd, "word", 4, MSG_NOSIGNAL), 4);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_true(hears(fd, answer));
    return box;
}

/* Says again what it hears, with a word before it. */
static void answers_once(struct fake_init *self)
{
    uint8_t id[FRAME_ID], joined[FRAME_ID];
    struct frame frame;
    char bytes[64] = "";
    size_t used = 0;

    if (!begin(self, id) || !dialled(self, joined))
        return;
    fake_init_send(self, FRAME_DATA, 1, joined, "heard ", 6);
    while (fake_init_next(self, &frame) && frame.type == FRAME_DATA &&
           frame.size <= sizeof(bytes) - used) {
        memcpy(bytes + used, frame.payload, frame.size);
        used += frame.size;
    }
    if (frame.type != FRAME_END || memcmp(frame.id, joined, FRAME_ID) != 0)
        return;
    fake_init_send(self, FRAME_DATA, 1, joined, bytes, used);
    fake_init_send(self, FRAME_END, 1, joined, NULL, 0);
    fake_init_send(self, FRAME_CLOSE, 0, joined, NULL, 0);
    end_command(self, id);
}

static void who_comes_in_is_joined_to_the_port(void **state)
{
    (void)state;
    closed(dialled_once(answers_once, "heard word"));
}

static void refuses(struct fake_init *self)
{
    uint8_t id[FRAME_ID], joined[FRAME_ID];

    if (!begin(self, id) || !dialled(self, joined))
        return;
    fake_init_send(self, FRAME_CLOSE, 0, joined, NULL, 0);
    end_command(self, id);
}

static void what_can_not_be_reached_is_closed(void **state)
{
    (void)state;
    closed(dialled_once(refuses, ""));
}

/* The end of the command: the owner asks for the connection's. */
static void outlives(struct fake_init *self)
{
    uint8_t id[FRAME_ID], joined[FRAME_ID];
    struct frame frame;

    if (!begin(self, id) || !dialled(self, joined))
        return;
    fake_init_exit(self, id, &good);
    if (fake_init_await(self, FRAME_CLOSE, &frame))
        fake_init_send(self, FRAME_CLOSE, 0, joined, NULL, 0);
    fake_init_idle(self);
}

static void connections_end_with_the_command(void **state)
{
    struct nt_box *box = dialled_once(outlives, "");

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_true(nt_box_beat(box));
    closed(box);
}

/* ---- how many ---- */

/* Whoever is one too many waits until another has gone. */
static void counts(struct fake_init *self)
{
    static uint8_t ids[DOORWAY_DIALS_MAX + 1][FRAME_ID];
    struct pollfd ready = { .fd = self->fd, .events = POLLIN };
    uint8_t id[FRAME_ID];

    if (!begin(self, id))
        return;
    for (size_t i = 0; i < DOORWAY_DIALS_MAX; i++)
        if (!dialled(self, ids[i]))
            return;
    if (poll(&ready, 1, 300) != 0)
        return;
    fake_init_send(self, FRAME_CLOSE, 0, ids[5], NULL, 0);
    if (!dialled(self, ids[DOORWAY_DIALS_MAX]))
        return;
    for (size_t i = 0; i <= DOORWAY_DIALS_MAX; i++)
        if (i != 5)
            fake_init_send(self, FRAME_CLOSE, 0, ids[i], NULL, 0);
    end_command(self, id);
}

static void there_may_be_so_many_at_once(void **state)
{
    struct nt_box *box = opened(counts, NULL);
    struct nt_command command = command_of(&caller.request);
    int fds[DOORWAY_DIALS_MAX + 1];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fds); i++)
        fds[i] = dials_open(caller.sends, PORT);
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < NACRE_COUNT(fds); i++) {
        assert_true(hears(fds[i], ""));
        (void)close(fds[i]);
    }
    closed(box);
}

/* ---- a caller that is wrong ---- */

static void what_is_no_port_or_brings_no_socket_is_passed_over(void **state)
{
    struct nt_box *box = opened(refuses, NULL);
    struct nt_command command = command_of(&caller.request);
    const uint16_t port = PORT;
    const uint32_t long_port = PORT;
    int zero = dials_open(caller.sends, 0), fd;
    int pair[2] = { dup(caller.sends), dup(caller.sends) };

    (void)state;
    assert_true(pass_send(caller.sends, &port, sizeof(port), NULL, 0));
    assert_true(pass_send(caller.sends, &port, 1, pair, 1));
    assert_true(pass_send(caller.sends, &long_port, sizeof(long_port), pair, 1));
    assert_true(pass_send(caller.sends, &port, sizeof(port), pair, 2));
    (void)close(pair[0]);
    (void)close(pair[1]);
    fd = dials_open(caller.sends, PORT);
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_true(hears(zero, ""));
    assert_true(hears(fd, ""));
    (void)close(zero);
    (void)close(fd);
    closed(box);
}

static void just_exits(struct fake_init *self)
{
    uint8_t id[FRAME_ID];

    if (!begin(self, id))
        return;
    (void)poll(NULL, 0, 100);
    end_command(self, id);
}

static void a_caller_that_has_gone_leaves_the_command_alone(void **state)
{
    struct nt_box *box = opened(just_exits, NULL);
    struct nt_command command = command_of(&caller.request);

    (void)state;
    (void)close(caller.sends);
    caller.sends = -1;
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    closed(box);
}

/* ---- an init that is a guest's ---- */

struct forged {
    const char *what;
    enum frame_type type;
    uint8_t lane;
    uint32_t size;
    uint64_t value;
    unsigned before; /* frames like it that are right */
    bool other_id;
    const char *says;
};

static void forges(struct fake_init *self)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    const struct forged *row = self->data;
    uint8_t id[FRAME_ID], joined[FRAME_ID];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    if (!begin(self, id) || !dialled(self, joined))
        return;
    joined[0] ^= (uint8_t)row->other_id;
    pack_u64(&pack, row->value);
    for (unsigned i = 0; i <= row->before; i++)
        fake_init_send(self, row->type, row->lane, joined, bytes, row->size);
    fake_init_idle(self);
}

static void a_frame_that_no_honest_init_would_send_ends_the_box(void **state)
{
    static const struct forged rows[] = {
        { "a dial of its own", FRAME_DIAL, 0, 8, PORT, 0, true, "does not run" },
        { "a dial back", FRAME_DIAL, 0, 8, PORT, 0, false, "for a connection" },
        { "open where none is", FRAME_OPEN, 0, 8, 1, 0, true, "no doorway" },
        { "open of ours", FRAME_OPEN, 0, 8, 1, 0, false, "no doorway" },
        { "data on ours", FRAME_DATA, 0, 8, 0, 0, false, "lane that is ours" },
        { "empty data", FRAME_DATA, 1, 0, 0, 0, false, "nothing in it" },
        { "beyond credit", FRAME_DATA, 1, FRAME_PAYLOAD_MAX, 0, 99, false, "the credit" },
        { "data of another", FRAME_DATA, 1, 8, 0, 0, true, "does not run" },
        { "credit for more", FRAME_CREDIT, 0, 8, 1, 0, false, "more than was sent" },
        { "a second end", FRAME_END, 1, 0, 0, 1, false, "had ended" },
        { "a second close", FRAME_CLOSE, 0, 0, 0, 1, false, "does not run" },
        { "an exit", FRAME_EXIT, 0, 56, 1, 0, false, "for a connection" },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nt_command command = command_of(&caller.request);
        struct nt_box *box = opened(forges, (void *)(uintptr_t)&rows[i]);
        NACRE_AUTO(nacre_fd_guard) int fd = dials_open(caller.sends, PORT);

        if (run(box, &command) != NACRE_ERR_IO || !strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_true(nt_box_is_spent(box));
        closed(box);
        (void)leave(state);
        assert_int_equal(enter(state), 0);
    }
}

#define DIALS(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIALS(who_comes_in_is_joined_to_the_port),
        DIALS(what_can_not_be_reached_is_closed),
        DIALS(connections_end_with_the_command),
        DIALS(there_may_be_so_many_at_once),
        DIALS(what_is_no_port_or_brings_no_socket_is_passed_over),
        DIALS(a_caller_that_has_gone_leaves_the_command_alone),
        DIALS(a_frame_that_no_honest_init_would_send_ends_the_box),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
