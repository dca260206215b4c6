/* Connections that init carries out of a sandbox: what the owner does with them, and what
 * it does not take from an init that is a guest's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "box_scene.h"
#include "doorway.h"

static const struct init_exit good = { INIT_HOW_EXITED, 0 };

/* ---- who they go to ---- */

static struct {
    pthread_mutex_t lock;
    bool echoes;
    size_t count;
    int kinds[4 * DOORWAY_CONNECTIONS_MAX], fds[4 * DOORWAY_CONNECTIONS_MAX];
} door = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *echo(void *data)
{
    int fd = (int)(intptr_t)data;
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char bytes[4096];
    ssize_t got;

    while (poll(&ready, 1, 10000) > 0 && (got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        for (ssize_t at = 0; at < got;) {
            ssize_t done = send(fd, bytes + at, (size_t)(got - at), MSG_NOSIGNAL);
            struct pollfd room = { .fd = fd, .events = POLLOUT };

            if (done < 0 && (errno != EAGAIN || poll(&room, 1, 10000) <= 0))
                break;
            at += done > 0 ? done : 0;
        }
    (void)close(fd);
    return NULL;
}

static void connected(void *data, int kind, int fd)
{
    pthread_t thread;

    (void)data;
    (void)pthread_mutex_lock(&door.lock);
    door.kinds[door.count] = kind;
    door.fds[door.count++] = fd;
    (void)pthread_mutex_unlock(&door.lock);
    if (!door.echoes)
        return;
    assert_int_equal(pthread_create(&thread, NULL, echo, (void *)(intptr_t)fd), 0);
    (void)pthread_detach(thread);
}

static int enter(void **state)
{
    (void)state;
    config.carries = true;
    door.echoes = false;
    door.count = 0;
    return 0;
}

static void close_fds(void)
{
    for (size_t i = 0; i < door.count; i++)
        (void)close(door.fds[i]);
    door.count = 0;
}

static struct nt_command with_door(void)
{
    struct nt_command command = command_of(&no_input);

    command.connected = connected;
    return command;
}

/* ---- for scripts ---- */

static const uint8_t *id_of(unsigned number)
{
    static uint8_t id[FRAME_ID];

    memset(id, 0xc0, sizeof(id));
    memcpy(id, &number, sizeof(number));
    return id;
}

static void open_one(struct fake_init *self, unsigned number, uint64_t kind)
{
    fake_init_send_u64(self, FRAME_OPEN, 0, id_of(number), kind);
}

static bool begin(struct fake_init *self, uint8_t ret_id[FRAME_ID])
{
    if (!fake_init_await_start(self, ret_id, NULL))
        return false;
    fake_init_send(self, FRAME_STARTED, 0, ret_id, NULL, 0);
    return true;
}

/* The next frame but a BEAT, if one comes in time. */
static bool hear_within(struct fake_init *self, int wait_ms, struct frame *ret_frame)
{
    for (;;) {
        struct pollfd ready = { .fd = self->fd, .events = POLLIN };
        int got = frame_reader_next(&self->reader, ret_frame);
        uint8_t *at;
        size_t room;
        ssize_t count;

        if (got < 0 || (got == 1 && ret_frame->type != FRAME_BEAT))
            return got == 1;
        if (got == 1)
            continue;
        at = frame_reader_room(&self->reader, &room);
        count = poll(&ready, 1, wait_ms) > 0 ? read(self->fd, at, room) : 0;
        if (count <= 0)
            return false;
        frame_reader_filled(&self->reader, (size_t)count);
    }
}

/* ---- what is carried ---- */

/* Says a mebibyte in pieces over one connection, within credit, and hears it again. */
static void talks(struct fake_init *self)
{
    enum { TOTAL = 1 << 20 };
    static uint8_t bytes[8192];
    uint64_t credit = DOORWAY_WINDOW, heard = 0, owed = 0;
    size_t sent = 0;
    uint8_t id[FRAME_ID];
    struct frame frame;
    bool ended = false;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_TLS);
    while (!ended) {
        size_t part = TOTAL - sent < sizeof(bytes) ? TOTAL - sent : sizeof(bytes);

        if (part > 0 && credit >= part) {
            memset(bytes, (int)(sent / sizeof(bytes)), part);
            fake_init_send(self, FRAME_DATA, 1, id_of(1), bytes, part);
            sent += part;
            credit -= part;
            if (sent == TOTAL)
                fake_init_send(self, FRAME_END, 1, id_of(1), NULL, 0);
            continue;
        }
        if (!fake_init_next(self, &frame))
            return;
        if (frame.type == FRAME_CREDIT) {
            struct unpack unpack = { .bytes = frame.payload, .size = frame.size };

            credit += unpack_u64(&unpack);
        } else if (frame.type == FRAME_DATA) {
            for (uint32_t i = 0; i < frame.size; i++, heard++)
                if (frame.payload[i] != (uint8_t)(heard / sizeof(bytes)))
                    return;
            owed += frame.size;
            if (owed > DOORWAY_WINDOW / 2) {
                fake_init_send_u64(self, FRAME_CREDIT, 0, id_of(1), owed);
                owed = 0;
            }
        } else if (frame.type == FRAME_END) {
            ended = true;
        }
    }
    if (heard != TOTAL)
        return;
    fake_init_send(self, FRAME_CLOSE, 0, id_of(1), NULL, 0);
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void what_is_said_comes_out_and_the_answer_goes_in(void **state)
{
    struct nt_box *box = opened(talks, NULL);
    struct nt_command command = with_door();

    (void)state;
    door.echoes = true;
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(door.count, 1);
    assert_int_equal(door.kinds[0], DOORWAY_TLS);
    closed(box);
}

/* As many as there may be, again and again; each says a word and hears it. */
static void opens_many(struct fake_init *self)
{
    uint8_t id[FRAME_ID];
    struct frame frame;
    unsigned next = 1;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    for (int round = 0; round < 4; round++) {
        unsigned first = next, ended = 0;

        for (unsigned i = 0; i < DOORWAY_CONNECTIONS_MAX; i++, next++) {
            open_one(self, next, DOORWAY_HTTP);
            fake_init_send(self, FRAME_DATA, 1, id_of(next), "word", 4);
            fake_init_send(self, FRAME_END, 1, id_of(next), NULL, 0);
        }
        while (ended < DOORWAY_CONNECTIONS_MAX && fake_init_next(self, &frame))
            ended += frame.type == FRAME_END;
        while (first < next)
            fake_init_send(self, FRAME_CLOSE, 0, id_of(first++), NULL, 0);
    }
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void there_may_be_so_many_at_once_and_others_after_them(void **state)
{
    struct nt_box *box = opened(opens_many, NULL);
    struct nt_command command = with_door();

    (void)state;
    door.echoes = true;
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(door.count, 4 * DOORWAY_CONNECTIONS_MAX);
    closed(box);
}

/* Fills a connection that nobody reads; the command's own words come through. */
static void fills(struct fake_init *self)
{
    static uint8_t bytes[DOORWAY_WINDOW];
    uint8_t id[FRAME_ID];
    struct frame frame;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_PROXY);
    /* The socket takes some of it: until no credit comes for a while. */
    for (uint64_t credit = DOORWAY_WINDOW; credit >= 16384;) {
        fake_init_send(self, FRAME_DATA, 1, id_of(1), bytes, 16384);
        credit -= 16384;
        while (credit < 16384 && hear_within(self, 300, &frame)) {
            struct unpack unpack = { .bytes = frame.payload, .size = frame.size };

            credit += unpack_u64(&unpack);
        }
    }
    fake_init_send(self, FRAME_DATA, 1, id, "said", 4);
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void one_that_nobody_reads_holds_up_itself_alone(void **state)
{
    struct nt_box *box = opened(fills, NULL);
    struct nt_command command = with_door();

    (void)state;
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_true(output_is(&result.output, "said"));
    close_fds();
    closed(box);
}

/* Takes no more than its window, until it gives credit for as much again. */
static void is_slow(struct fake_init *self)
{
    uint8_t id[FRAME_ID];
    struct frame frame;
    uint64_t heard = 0;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_PROXY);
    for (uint64_t window = DOORWAY_WINDOW; window <= 3 * DOORWAY_WINDOW;
         window += DOORWAY_WINDOW) {
        while (heard < window && fake_init_await(self, FRAME_DATA, &frame))
            heard += frame.size;
        if (heard != window || hear_within(self, 300, &frame))
            return; /* more than it may */
        fake_init_send_u64(self, FRAME_CREDIT, 0, id_of(1), DOORWAY_WINDOW);
    }
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void *pour(void *data)
{
    static const char zeros[8192];
    struct timespec pause = { .tv_nsec = 1000000 };
    int fd = -1;

    (void)data;
    while (fd < 0) {
        (void)pthread_mutex_lock(&door.lock);
        fd = door.count > 0 ? door.fds[0] : -1;
        (void)pthread_mutex_unlock(&door.lock);
        (void)nanosleep(&pause, NULL);
    }
    for (;;) {
        struct pollfd ready = { .fd = fd, .events = POLLOUT };

        if (send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0 &&
            (errno != EAGAIN || poll(&ready, 1, 10000) <= 0))
            return NULL;
    }
}

static void nothing_is_sent_beyond_what_init_gives_credit_for(void **state)
{
    struct nt_box *box = opened(is_slow, NULL);
    struct nt_command command = with_door();
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, pour, NULL), 0);
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    (void)pthread_join(thread, NULL); /* its connection ended with the command */
    close_fds();
    closed(box);
}

/* ---- a command's time ---- */

/* Its connections go on after the command, until init hears that they are closed; one
 * that comes between commands finds nobody. */
static void lingers(struct fake_init *self)
{
    uint8_t id[FRAME_ID];
    struct frame frame;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_PROXY);
    if (!fake_init_await(self, FRAME_DATA, &frame))
        return;
    fake_init_exit(self, id, &good);
    if (!fake_init_await(self, FRAME_CLOSE, &frame))
        return;
    fake_init_send(self, FRAME_DATA, 1, id_of(1), "late", 4);
    fake_init_send(self, FRAME_END, 1, id_of(1), NULL, 0);
    fake_init_send(self, FRAME_CLOSE, 0, id_of(1), NULL, 0);
    if (!begin(self, id))
        return;
    fake_init_exit(self, id, &good);
    open_one(self, 2, DOORWAY_PROXY);
    if (!fake_init_await(self, FRAME_CLOSE, &frame))
        return;
    fake_init_send(self, FRAME_CLOSE, 0, id_of(2), NULL, 0);
    if (!begin(self, id))
        return;
    fake_init_send(self, FRAME_DATA, 1, id, "third", 5);
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void greet(void *data, int kind, int fd)
{
    connected(data, kind, fd);
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
}

static void connections_end_with_the_command_that_they_are_of(void **state)
{
    struct nt_box *box = opened(lingers, NULL);
    struct nt_command command = with_door();
    char byte;

    (void)state;
    command.connected = greet;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(door.count, 1);
    assert_int_equal(recv(door.fds[0], &byte, 1, MSG_DONTWAIT), 0);
    assert_int_equal(run(box, &command), NACRE_OK);
    for (int i = 0; i < 50; i++) {
        (void)nt_box_beat(box);
        (void)usleep(2000);
    }
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_true(output_is(&result.output, "third"));
    assert_int_equal(door.count, 1);
    close_fds();
    closed(box);
}

/* Who leaves first is told to the other; what comes for one that has left is lost. */
static void outlives(struct fake_init *self)
{
    uint8_t id[FRAME_ID];
    struct frame frame;

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_PROXY);
    if (!fake_init_await(self, FRAME_END, &frame))
        return;
    for (int i = 0; i < 3; i++)
        fake_init_send(self, FRAME_DATA, 1, id_of(1), "to nobody", 9);
    if (!fake_init_await(self, FRAME_CLOSE, &frame))
        return;
    fake_init_send(self, FRAME_CLOSE, 0, id_of(1), NULL, 0);
    fake_init_exit(self, id, &good);
    fake_init_idle(self);
}

static void leave_at_once(void *data, int kind, int fd)
{
    (void)data;
    (void)kind;
    (void)close(fd);
}

static void a_door_that_closes_is_told_to_init(void **state)
{
    struct nt_box *box = opened(outlives, NULL);
    struct nt_command command = with_door();

    (void)state;
    command.connected = leave_at_once;
    if (run(box, &command) != NACRE_OK)
        fail_msg("%s", err.text);
    closed(box);
}

/* ---- an init that is a guest's ---- */

struct forged {
    const char *what;
    enum frame_type type;
    uint8_t lane;
    unsigned number; /* of the connection; 1 is open */
    uint32_t size;
    uint64_t value;
    unsigned before; /* frames like it that are right */
    bool after_end;
    const char *says;
};

static void forges(struct fake_init *self)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    const struct forged *row = self->data;
    uint8_t id[FRAME_ID];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    memset(bytes, 0, sizeof(bytes));
    open_one(self, 1, DOORWAY_PROXY);
    if (row->after_end)
        fake_init_send(self, FRAME_END, 1, id_of(1), NULL, 0);
    pack_u64(&pack, row->value);
    for (unsigned i = 0; i < row->before; i++)
        fake_init_send(self, row->type, row->lane, id_of(row->number + i), bytes,
                       row->size);
    fake_init_send(self, row->type, row->lane, id_of(row->number + row->before), bytes,
                   row->size);
    fake_init_idle(self);
}

static void a_frame_that_no_honest_init_would_send_ends_the_box(void **state)
{
    static const struct forged rows[] = {
        { "open to nothing", FRAME_OPEN, 0, 2, 8, 0, 0, false, "a place that" },
        { "open to names", FRAME_OPEN, 0, 2, 8, DOORWAY_NAMES, 0, false, "a place" },
        { "open to 2^63", FRAME_OPEN, 0, 2, 8, UINT64_C(1) << 63, 0, false, "a place" },
        { "open, short", FRAME_OPEN, 0, 2, 7, 1, 0, false, "a place" },
        { "open, long", FRAME_OPEN, 0, 2, 9, 1, 0, false, "a place" },
        { "open on a lane", FRAME_OPEN, 1, 2, 8, 1, 0, false, "a place" },
        { "open twice", FRAME_OPEN, 0, 1, 8, 1, 0, false, "second time" },
        { "one too many", FRAME_OPEN, 0, 2, 8, 1, DOORWAY_CONNECTIONS_MAX - 1, false,
          "too many" },
        { "data to nobody", FRAME_DATA, 1, 2, 8, 0, 0, false, "does not run" },
        { "data on ours", FRAME_DATA, 0, 1, 8, 0, 0, false, "lane that is ours" },
        { "data on a third", FRAME_DATA, 2, 1, 8, 0, 0, false, "lane that is ours" },
        { "empty data", FRAME_DATA, 1, 1, 0, 0, 0, false, "nothing in it" },
        { "data after its end", FRAME_DATA, 1, 1, 8, 0, 0, true, "after its end" },
        { "a second end", FRAME_END, 1, 1, 0, 0, 0, true, "had ended" },
        { "end of ours", FRAME_END, 0, 1, 0, 0, 0, false, "lane that is ours" },
        { "end with bytes", FRAME_END, 1, 1, 1, 0, 0, false, "a lane that" },
        { "credit of nothing", FRAME_CREDIT, 0, 1, 8, 0, 0, false, "of nothing" },
        { "credit for more", FRAME_CREDIT, 0, 1, 8, 1, 0, false, "more than was sent" },
        { "credit for theirs", FRAME_CREDIT, 1, 1, 8, 1, 0, false, "of nothing" },
        { "credit, short", FRAME_CREDIT, 0, 1, 4, 1, 0, false, "of nothing" },
        { "close with bytes", FRAME_CLOSE, 0, 1, 3, 0, 0, false, "something in it" },
        { "close on a lane", FRAME_CLOSE, 1, 1, 0, 0, 0, false, "something in it" },
        { "close of nobody", FRAME_CLOSE, 0, 2, 0, 0, 0, false, "does not run" },
        { "started", FRAME_STARTED, 0, 1, 0, 0, 0, false, "for a connection" },
        { "exit", FRAME_EXIT, 0, 1, 56, 1, 0, false, "for a connection" },
        { "refused", FRAME_REFUSED, 0, 1, 8, 0, 0, false, "for a connection" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nt_box *box = opened(forges, (void *)(uintptr_t)&rows[i]);
        struct nt_command command = with_door();

        if (run(box, &command) != NACRE_ERR_IO || !strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_true(nt_box_is_spent(box));
        close_fds();
        closed(box);
    }
}

/* Nobody reads: what the window and a socket can hold is known, and no more is taken. */
static void overruns(struct fake_init *self)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    if (!begin(self, id))
        return;
    open_one(self, 1, DOORWAY_PROXY);
    for (int i = 0; i < 1000; i++)
        fake_init_send(self, FRAME_DATA, 1, id_of(1), bytes, sizeof(bytes));
    fake_init_idle(self);
}

static void more_than_its_credit_ends_the_box(void **state)
{
    struct nt_box *box = opened(overruns, NULL);
    struct nt_command command = with_door();

    (void)state;
    assert_int_equal(run(box, &command), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "beyond the credit"));
    close_fds();
    closed(box);
}

static void where_there_is_no_doorway_nothing_is_opened(void **state)
{
    static const struct forged row = { .type = FRAME_BEAT };
    struct nt_command command = with_door();
    struct nt_box *box;

    (void)state;
    config.carries = false;
    box = opened(forges, (void *)(uintptr_t)&row);
    assert_int_equal(run(box, &command), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "no doorway"));
    assert_int_equal(door.count, 0);
    closed(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_said_comes_out_and_the_answer_goes_in, enter),
        cmocka_unit_test_setup(there_may_be_so_many_at_once_and_others_after_them, enter),
        cmocka_unit_test_setup(one_that_nobody_reads_holds_up_itself_alone, enter),
        cmocka_unit_test_setup(nothing_is_sent_beyond_what_init_gives_credit_for, enter),
        cmocka_unit_test_setup(connections_end_with_the_command_that_they_are_of, enter),
        cmocka_unit_test_setup(a_door_that_closes_is_told_to_init, enter),
        cmocka_unit_test_setup(a_frame_that_no_honest_init_would_send_ends_the_box,
                               enter),
        cmocka_unit_test_setup(more_than_its_credit_ends_the_box, enter),
        cmocka_unit_test_setup(where_there_is_no_doorway_nothing_is_opened, enter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
