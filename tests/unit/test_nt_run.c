/* Commands in a box: what they write and read, how they are ended, and many at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "box_scene.h"

/* ---- output ---- */

struct heard {
    char text[64];
    size_t used;
    pthread_t thread;
};

static void hear(void *data, int stream, const char *bytes, size_t count)
{
    struct heard *heard = data;

    assert_true(pthread_equal(heard->thread, pthread_self()));
    heard->used += (size_t)snprintf(heard->text + heard->used,
                                    sizeof(heard->text) - heard->used, "%d:%.*s ", stream,
                                    (int)count, bytes);
}

static void output_comes_in_its_order_to_the_thread_that_asked(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0 };
    struct heard heard = { .thread = pthread_self() };
    struct nacre_request request = { .input_fd = -1, .on_output = hear,
                                     .on_output_data = &heard, .stream_only = true };
    struct nt_box *box = opened(say_and_exit, &exit);
    const struct nt_command command = command_of(&request);

    (void)state;
    assert_int_equal(run(box, &command), NACRE_OK);
    /* "out" and "put" stay apart or come together, but never change places. */
    assert_int_equal(strncmp(heard.text, "1:out 2:err 1:put ", heard.used), 0);
    assert_int_equal(result.output.size + result.errors.size, 0);
    closed(box);
}

/* Writes "outerrput"; if it is killed it obeys. */
static void obedient(struct fake_init *self)
{
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    while (fake_init_await_start(self, id, NULL)) {
        struct init_exit exit = { INIT_HOW_EXITED, 0 };
        bool is_flood = self->data != NULL;

        fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
        fake_init_send(self, FRAME_DATA, 1, id, "out", 3);
        fake_init_send(self, FRAME_DATA, 2, id, "err", 3);
        fake_init_send(self, FRAME_DATA, 1, id, "put", 3);
        if (is_flood) {
            (void)fake_init_await_kill(self);
            exit = (struct init_exit){ INIT_HOW_KILLED, SIGKILL };
        }
        fake_init_exit(self, id, &exit);
    }
}

static void output_is_cut_at_the_byte(void **state)
{
    static const struct {
        uint64_t bytes_max;
        const char *output, *errors;
        bool cut;
    } rows[] = {
        { 0, "", "", true },        { 1, "o", "", true },
        { 3, "out", "", true },     { 4, "out", "e", true },
        { 8, "outpu", "err", true }, { 9, "output", "err", false },
        { 10, "output", "err", false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nt_box *box = opened(obedient, rows[i].cut ? &fake : NULL);
        struct nt_command command = command_of(&no_input);

        command.output_bytes_max = rows[i].bytes_max;
        assert_int_equal(run(box, &command), NACRE_OK);
        assert_int_equal(result.outcome, rows[i].cut ? NACRE_OUTCOME_OUTPUT_LIMIT
                                                     : NACRE_OUTCOME_EXITED);
        assert_int_equal(result.output_cut, rows[i].cut);
        assert_true(output_is(&result.output, rows[i].output));
        assert_true(output_is(&result.errors, rows[i].errors));
        assert_false(nt_box_is_spent(box));
        closed(box);
        assert_int_equal(fake.kills, rows[i].cut);
    }
}

#define FLOOD_BYTES ((size_t)8 << 20)

/* Never over its credit, on both lanes. */
static void flooding(struct fake_init *self)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    uint64_t credit[FRAME_LANES] = { 0, FRAME_WINDOW, FRAME_WINDOW }, sent = 0;
    const struct init_exit exit = { INIT_HOW_EXITED, 0 };
    uint8_t id[FRAME_ID];
    struct frame frame;

    memset(bytes, 'x', sizeof(bytes));
    (void)fake_init_report(self);
    (void)fake_init_await_start(self, id, NULL);
    fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
    for (uint8_t lane = 1; sent < FLOOD_BYTES; lane = lane == 1 ? 2 : 1) {
        size_t part = sizeof(bytes) - (sent % 7);

        if (part > FLOOD_BYTES - sent)
            part = FLOOD_BYTES - sent;
        while (credit[lane] < part) {
            struct unpack unpack;

            if (!fake_init_await(self, FRAME_CREDIT, &frame))
                return;
            unpack = (struct unpack){ .bytes = frame.payload, .size = frame.size };
            credit[frame.lane] += unpack_u64(&unpack);
        }
        fake_init_send(self, FRAME_DATA, lane, id, bytes, part);
        credit[lane] -= part;
        sent += part;
    }
    fake_init_exit(self, id, &exit);
    fake_init_idle(self);
}

static void credit_comes_back_as_output_is_taken(void **state)
{
    struct nt_box *box = opened(flooding, NULL);
    struct nt_command command = command_of(&no_input);

    (void)state;
    command.output_bytes_max = FLOOD_BYTES;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result.output.size + result.errors.size, FLOOD_BYTES);
    closed(box);
}

static void running_survives_every_allocation_failure(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0 };
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nt_box *box = opened(say_and_exit, &exit);
        const struct nt_command command = command_of(&no_input);
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = run(box, &command);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_true(fired ? status == NACRE_ERR_MEMORY || status == NACRE_ERR_IO
                          : status == NACRE_OK);
        closed(box);
    }
}

/* ---- input ---- */

#define INPUT_BYTES ((size_t)1 << 20)

struct input {
    bool was_promised;
    bool ended;
    size_t bytes;
    bool is_right; /* each byte is its place's */
};

static void reading(struct fake_init *self)
{
    struct input *input = self->data;
    const struct init_exit exit = { INIT_HOW_EXITED, 0 };
    uint8_t id[FRAME_ID];
    struct frame frame;
    uint64_t window = FRAME_WINDOW;

    *input = (struct input){ .is_right = true };
    (void)fake_init_report(self);
    if (!fake_init_await_start(self, id, &input->was_promised))
        return;
    fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
    while (input->was_promised && !input->ended && fake_init_next(self, &frame)) {
        if (frame.type == FRAME_END && frame.lane == 0)
            input->ended = true;
        if (frame.type != FRAME_DATA)
            continue;
        input->is_right &= frame.lane == 0 && frame.size <= window;
        for (uint32_t i = 0; i < frame.size; i++, input->bytes++)
            input->is_right &= frame.payload[i] == (uint8_t)(input->bytes * 31 >> 3);
        window -= frame.size;
        if (window == 0 || input->bytes == INPUT_BYTES) {
            fake_init_send_u64(self, FRAME_CREDIT, 0, id, FRAME_WINDOW - window);
            window = FRAME_WINDOW;
        }
    }
    fake_init_exit(self, id, &exit);
    fake_init_idle(self);
}

static void *feed(void *data)
{
    int fd = *(int *)data;

    for (size_t at = 0; at < INPUT_BYTES;) {
        uint8_t bytes[3001];
        size_t count = 0;
        ssize_t written;

        for (; count < sizeof(bytes) && at + count < INPUT_BYTES; count++)
            bytes[count] = (uint8_t)((at + count) * 31 >> 3);
        written = write(fd, bytes, count);
        if (written <= 0)
            break;
        at += (size_t)written;
    }
    (void)close(fd);
    return NULL;
}

static void read_from(int fd, size_t bytes, bool promised)
{
    struct input input;
    struct nt_box *box = opened(reading, &input);
    struct nacre_request request = { .input_fd = fd };
    const struct nt_command command = command_of(&request);

    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.usage.bytes_read, bytes);
    closed(box);
    assert_int_equal(input.was_promised, promised);
    assert_int_equal(input.ended, promised);
    assert_int_equal(input.bytes, bytes);
    assert_true(input.is_right);
}

static void input_of_any_kind_reaches_the_command_whole(void **state)
{
    int ends[2], file = memfd_create("input", MFD_CLOEXEC), again;
    pthread_t thread;

    (void)state;
    read_from(-1, 0, false);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, feed, &ends[1]), 0);
    read_from(ends[0], INPUT_BYTES, true);
    (void)pthread_join(thread, NULL);
    (void)close(ends[0]);
    read_from(987654, 0, true); /* which is no fd */

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, feed, &ends[1]), 0);
    read_from(ends[0], INPUT_BYTES, true);
    (void)pthread_join(thread, NULL);
    (void)close(ends[0]);

    again = dup(file);
    (void)feed(&again);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    read_from(file, INPUT_BYTES, true);
    (void)close(file);

    file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    read_from(file, 0, false); /* nobody has to be told of its end */
    (void)close(file);
    file = open("/", O_RDONLY | O_CLOEXEC);
    read_from(file, 0, true);
    (void)close(file);
}

/* A pipe that says nothing, and stays open. */
static void input_that_does_not_come_holds_nothing_up(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0 };
    struct nt_box *box = opened(say_and_exit, &exit);
    struct nacre_request request;
    struct nt_command command = command_of(&request);
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    request = (struct nacre_request){ .input_fd = ends[0] };
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_true(output_is(&result.output, "output"));
    closed(box);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Not before the owner has had the time for a beat. */
static void refusing_late(struct fake_init *self)
{
    uint8_t id[FRAME_ID];
    char byte;

    (void)fake_init_report(self);
    (void)fake_init_await_start(self, id, NULL);
    (void)!read(self->fd, &byte, 1);
    fake_init_refuse(self, id, INIT_REFUSAL_EXEC, ENOENT, "tool");
    fake_init_idle(self);
}

static void a_command_that_is_refused_reads_nothing(void **state)
{
    struct nt_box *box = opened(refusing_late, NULL);
    struct nacre_request request;
    struct nt_command command = command_of(&request);
    char bytes[8];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], "mine", 4), 4);
    request = (struct nacre_request){ .input_fd = ends[0] };
    assert_int_equal(run(box, &command), NACRE_ERR_NOT_FOUND);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 4);
    closed(box);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- ends that are not its own ---- */

static void *cancel_soon(void *data)
{
    struct timespec pause = { 0, 20000000 };

    (void)nanosleep(&pause, NULL);
    atomic_store((_Atomic int *)data, SIGTERM);
    return NULL;
}

static void a_cancelled_command_is_killed_by_that_signal(void **state)
{
    bool obeys = true;
    struct nt_box *box = opened(running, &obeys);
    struct nt_command command = command_of(&no_input);
    _Atomic int cancelled = 0;
    pthread_t thread;

    (void)state;
    command.cancelled = &cancelled;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancelled), 0);
    assert_int_equal(run(box, &command), NACRE_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGTERM);
    assert_string_equal(result.reason, "cancelled");
    assert_false(nt_box_is_spent(box));
    closed(box);
    assert_int_equal(fake.kills, 1);
}

/* Waits for a command, which must not come. */
static void unused(struct fake_init *self)
{
    bool *started = self->data;
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    *started = fake_init_await_start(self, id, NULL);
}

static void one_that_was_cancelled_before_never_begins(void **state)
{
    bool started = true;
    struct nt_box *box = opened(unused, &started);
    const _Atomic int cancelled = SIGTERM;
    const struct nacre_request request = { .input_fd = -1, .cancelled = &cancelled };
    const struct nt_command command = command_of(&request);

    (void)state;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGTERM);
    assert_false(nt_box_is_spent(box));
    closed(box);
    assert_false(started);
}

static void an_init_that_does_not_kill_costs_the_box(void **state)
{
    bool obeys = false;
    struct nt_box *box = opened(running, &obeys);
    struct nt_command command = command_of(&no_input);
    _Atomic int cancelled = 0;
    pthread_t thread;

    (void)state;
    command.cancelled = &cancelled;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancelled), 0);
    assert_int_equal(run(box, &command), NACRE_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGTERM);
    assert_true(nt_box_is_spent(box));
    closed(box);
}

static void an_init_that_misses_the_deadline_costs_the_box(void **state)
{
    bool obeys = false;
    struct nt_box *box = opened(running, &obeys);
    struct nt_command command = command_of(&no_input);

    (void)state;
    command.start.wall_ms_max = 1;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_true(nt_box_is_spent(box));
    closed(box);
    assert_true(fake.beats >= 1);
}

/* ---- several at once ---- */

#define THREADS 8
#define ROUNDS 50

struct worker {
    struct nt_box *box;
    int failures;
    struct nacre_result result;
};

static void *work(void *data)
{
    struct worker *worker = data;
    struct nacre_request request = { .input_fd = -1 };
    const struct nt_command command = command_of(&request);

    for (int i = 0; i < ROUNDS; i++) {
        struct nacre_result *own = &worker->result;
        struct nacre_error why;

        worker->failures +=
            nt_box_run(worker->box, &command, own, &why) != NACRE_OK ||
            own->exit_status != 3 || !output_is(&own->output, "output") ||
            !output_is(&own->errors, "err");
        nacre_buf_clear(&own->output);
        nacre_buf_clear(&own->errors);
    }
    return NULL;
}

static void many_threads_share_a_box(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 3 };
    struct nt_box *box = opened(say_and_exit, &exit);
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i].box = box;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_false(nt_box_is_spent(box));
    closed(box);
}

struct pair {
    struct nt_box *box;
    _Atomic int second_ended, first_waits;
    int status;
};

static void wait_for_the_second(void *data, int stream, const char *bytes, size_t count)
{
    struct pair *pair = data;
    const struct timespec pause = { 0, 1000000 };

    (void)stream;
    (void)bytes;
    (void)count;
    atomic_store(&pair->first_waits, 1);
    while (!atomic_load(&pair->second_ended))
        (void)nanosleep(&pause, NULL);
}

static void *run_second(void *data)
{
    struct pair *pair = data;
    struct nacre_request request = { .input_fd = -1 };
    const struct nt_command command = command_of(&request);
    const struct timespec pause = { 0, 1000000 };
    static struct nacre_result own;
    struct nacre_error why;

    while (!atomic_load(&pair->first_waits))
        (void)nanosleep(&pause, NULL);
    pair->status = (int)nt_box_run(pair->box, &command, &own, &why);
    nacre_buf_clear(&own.output);
    nacre_buf_clear(&own.errors);
    atomic_store(&pair->second_ended, 1);
    return NULL;
}

static void run_both(void (*script)(struct fake_init *), void *data,
                     void (*on_output)(void *, int, const char *, size_t))
{
    struct pair pair = { .box = opened(script, data) };
    struct nacre_request request = { .input_fd = -1, .on_output = on_output,
                                     .on_output_data = &pair };
    const struct nt_command command = command_of(&request);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_second, &pair), 0);
    assert_int_equal(run(pair.box, &command), NACRE_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(pair.status, NACRE_OK);
    closed(pair.box);
}

/* The first has led when it began to wait for its caller. */
static void a_slow_caller_does_not_hold_the_others_up(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0 };

    (void)state;
    run_both(say_and_exit, &exit, wait_for_the_second);
}

/* Ends the first while the second runs, then the second after more output. */
static void crosswise(struct fake_init *self)
{
    const struct init_exit exit = { INIT_HOW_EXITED, 0 };
    uint8_t first[FRAME_ID], second[FRAME_ID];

    (void)fake_init_report(self);
    (void)fake_init_await_start(self, first, NULL);
    fake_init_send(self, FRAME_STARTED, 0, first, NULL, 0);
    fake_init_send(self, FRAME_DATA, 1, first, "a", 1);
    (void)fake_init_await_start(self, second, NULL);
    fake_init_send(self, FRAME_STARTED, 0, second, NULL, 0);
    fake_init_exit(self, first, &exit);
    fake_init_send(self, FRAME_DATA, 1, second, "b", 1);
    fake_init_exit(self, second, &exit);
    fake_init_idle(self);
}

static void note_output(void *data, int stream, const char *bytes, size_t count)
{
    struct pair *pair = data;

    (void)stream;
    (void)bytes;
    (void)count;
    atomic_store(&pair->first_waits, 1);
}

static void the_lead_goes_on_when_the_leader_has_ended(void **state)
{
    (void)state;
    run_both(crosswise, NULL, note_output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_comes_in_its_order_to_the_thread_that_asked),
        cmocka_unit_test(output_is_cut_at_the_byte),
        cmocka_unit_test(credit_comes_back_as_output_is_taken),
        cmocka_unit_test(running_survives_every_allocation_failure),
        cmocka_unit_test(input_of_any_kind_reaches_the_command_whole),
        cmocka_unit_test(input_that_does_not_come_holds_nothing_up),
        cmocka_unit_test(a_command_that_is_refused_reads_nothing),
        cmocka_unit_test(a_cancelled_command_is_killed_by_that_signal),
        cmocka_unit_test(one_that_was_cancelled_before_never_begins),
        cmocka_unit_test(an_init_that_does_not_kill_costs_the_box),
        cmocka_unit_test(an_init_that_misses_the_deadline_costs_the_box),
        cmocka_unit_test(many_threads_share_a_box),
        cmocka_unit_test(a_slow_caller_does_not_hold_the_others_up),
        cmocka_unit_test(the_lead_goes_on_when_the_leader_has_ended),
    };

    return cmocka_run_group_tests_name("nt_run", tests, NULL, NULL);
}
