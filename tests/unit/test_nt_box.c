/* A box against an init that may say anything: what an honest one says becomes a result,
 * everything else spends the box. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "box_scene.h"

/* ---- opening ---- */

static void report_and_idle(struct fake_init *self)
{
    (void)fake_init_report(self);
    fake_init_idle(self);
}

static void the_answers_are_those_to_the_questions(void **state)
{
    struct nt_box *box = opened(report_and_idle, NULL);
    size_t count = 9;

    (void)state;
    assert_string_equal(nt_box_answer(box, "file /a", &count), "one\n");
    assert_int_equal(count, 4);
    assert_string_equal(nt_box_answer(box, "stat /b", &count), "");
    assert_int_equal(count, 0);
    assert_null(nt_box_answer(box, "stat /a", &count));
    assert_false(nt_box_is_spent(box));
    assert_true(nt_box_beat(box));
    closed(box);
    assert_int_equal(fake.beats, 1);
}

/* A machine that was told first what it is, and that more than a frame holds. */
static void made_first(struct fake_init *self)
{
    uint64_t *bytes = self->data;
    struct frame frame;

    do {
        if (!fake_init_next(self, &frame) || frame.type != FRAME_MACHINE) {
            fake_init_fail(self, "no machine");
            return;
        }
        *bytes += frame.size;
    } while (frame.lane != 1);
    report_and_idle(self);
}

static enum nacre_status open_machine(const struct init_machine *machine,
                                      struct nt_box **ret_box)
{
    struct nt_stream stream;
    int fd;

    fake.script = made_first;
    fake.answers = answers;
    fd = fake_init_start(&fake);
    assert_true(fd >= 0);
    assert_int_equal(nt_stream_fd(fd, &stream, &err), NACRE_OK);
    return nt_box_open_machine(&stream, machine, &config, in_ms(5000), ret_box,
                               &err);
}

static void a_machine_is_told_what_it_is_before_its_configuration(void **state)
{
    static char text[MACHINE_BYTES_MAX];
    const struct machine_mount mount = { .kind = MACHINE_MOUNT_FILE, .target = "/file",
                                         .text = text };
    const struct init_machine machine = { .hostname = "", .mounts = &mount,
                                          .mount_count = 1 };
    struct nt_box *box = NULL;
    uint64_t bytes = 0;

    (void)state;
    fake.data = &bytes;
    memset(text, 'x', FRAME_PAYLOAD_MAX);
    if (open_machine(&machine, &box) != NACRE_OK)
        fail_msg("%s", err.text);
    closed(box);
    assert_true(bytes > FRAME_PAYLOAD_MAX);
    memset(text, 'x', sizeof(text) - 1);
    box = NULL;
    assert_int_equal(open_machine(&machine, &box), NACRE_ERR_TOO_BIG);
    assert_null(box);
    fake_init_join(&fake);
}

static void silent(struct fake_init *self)
{
    fake_init_idle(self);
}

static void at_once_gone(struct fake_init *self)
{
    fake_init_hang_up(self);
}

static void garbage(struct fake_init *self)
{
    fake_init_write(self, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    fake_init_idle(self);
}

static void half_a_frame(struct fake_init *self)
{
    fake_init_write(self, "\1\40\1\0\10\0\0\0half", 12);
}

static void failing(struct fake_init *self)
{
    fake_init_fail(self, "mount /proc: \x1b[31mno");
}

static void textless(struct fake_init *self)
{
    fake_init_send(self, FRAME_FAILED, 0, NULL, "no text", 7);
    fake_init_idle(self);
}

static void too_early(struct fake_init *self)
{
    fake_init_send(self, FRAME_STARTED, 0, (const uint8_t *)"0123456789abcdef", NULL, 0);
    fake_init_idle(self);
}

static void wrong_lane(struct fake_init *self)
{
    fake_init_send(self, FRAME_REPORT, 2, NULL, "x", 1);
    fake_init_idle(self);
}

static void turned_around(struct fake_init *self)
{
    fake_init_send(self, FRAME_CONFIG, 1, NULL, "x", 1);
    fake_init_idle(self);
}

static void unending(struct fake_init *self)
{
    static const uint8_t bytes[FRAME_PAYLOAD_MAX];

    for (size_t i = 0; i < REPORT_BYTES_MAX / sizeof(bytes) + 1; i++)
        fake_init_send(self, FRAME_REPORT, 0, NULL, bytes, sizeof(bytes));
    fake_init_idle(self);
}

static void report_of(struct fake_init *self, const struct init_answer *list,
                      size_t count, size_t more)
{
    uint8_t bytes[512] = { 0 };
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    for (size_t i = 0; i < count; i++)
        (void)init_answer_pack(&pack, &list[i]);
    fake_init_send(self, FRAME_REPORT, 1, NULL, bytes, pack.used + more);
    fake_init_idle(self);
}

static const struct init_answer good[] = { { "file /a", "1", 1 }, { "stat /b", "2", 1 },
                                           { "stat /b", "3", 1 } };

static void one_short(struct fake_init *self)
{
    report_of(self, good, 1, 0);
}

static void one_too_many(struct fake_init *self)
{
    report_of(self, good, 3, 0);
}

static void with_a_tail(struct fake_init *self)
{
    report_of(self, good, 2, 1);
}

static void in_another_order(struct fake_init *self)
{
    report_of(self, good + 1, 2, 0);
}

static void a_box_is_not_opened_by_anything_but_its_report(void **state)
{
    static const struct {
        void (*script)(struct fake_init *);
        enum nacre_status status;
        const char *said;
    } rows[] = {
        { silent, NACRE_ERR_TIMEOUT, "not ready in time" },
        { at_once_gone, NACRE_ERR_IO, "init is gone" },
        { garbage, NACRE_ERR_IO, "no frame" },
        { half_a_frame, NACRE_ERR_IO, "init is gone" },
        { failing, NACRE_ERR_UNAVAILABLE, "init can't go on: mount /proc: \\x1b[31mno" },
        { textless, NACRE_ERR_IO, "FAILED (lane 0, 7 bytes) without a text" },
        { too_early, NACRE_ERR_IO, "STARTED (lane 0, 0 bytes) for a command that does" },
        { wrong_lane, NACRE_ERR_IO, "REPORT (lane 2" },
        { turned_around, NACRE_ERR_IO, "CONFIG (lane 1" },
        { unending, NACRE_ERR_IO, "over the limit" },
        { one_short, NACRE_ERR_IO, "question 2 of 2" },
        { one_too_many, NACRE_ERR_IO, "more than it was asked" },
        { with_a_tail, NACRE_ERR_IO, "more than it was asked" },
        { in_another_order, NACRE_ERR_IO, "question 1 of 2" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nt_box *box = NULL;
        uint64_t wait_ms = rows[i].status == NACRE_ERR_TIMEOUT ? 50 : 5000;

        if (open_box(rows[i].script, wait_ms, NULL, &box) != rows[i].status ||
            !strstr(err.text, rows[i].said))
            fail_msg("row %zu: %d %s", i, (int)err.status, err.text);
        assert_null(box);
        fake_init_join(&fake);
    }
}

static void a_cancelled_wait_for_the_report_ends(void **state)
{
    const _Atomic int cancelled = SIGINT;
    struct nt_box *box = NULL;

    (void)state;
    assert_int_equal(open_box(silent, 5000, &cancelled, &box), NACRE_ERR_TIMEOUT);
    assert_string_equal(err.text, "cancelled");
    fake_init_join(&fake);
}

static void opening_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nt_box *box = NULL;
        struct nt_stream stream;
        enum nacre_status status;
        int fd;

        assert_true(n < 50);
        fake.script = report_and_idle;
        fake.answers = answers;
        fd = fake_init_start(&fake);
        fail_alloc_after(n);
        status = nt_stream_fd(fd, &stream, &err);
        if (status == NACRE_OK)
            status = nt_box_open(&stream, &config, in_ms(5000), &box, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_true(fired ? status == NACRE_ERR_MEMORY || status == NACRE_ERR_IO
                          : status == NACRE_OK);
        nt_box_free(box);
        fake_init_join(&fake);
    }
}

/* ---- one command ---- */

static void how_a_command_ends_is_its_outcome(void **state)
{
    static const struct {
        struct init_exit exit;
        enum nacre_outcome outcome;
        int exit_status, signal;
        const char *reason;
    } rows[] = {
        { { INIT_HOW_EXITED, 0 }, NACRE_OUTCOME_EXITED, 0, 0, "" },
        { { INIT_HOW_EXITED, 255 }, NACRE_OUTCOME_EXITED, 255, 0, "" },
        { { INIT_HOW_EXITED, 137, .oom_kills = 1 }, NACRE_OUTCOME_EXITED, 137, 0,
          "the kernel killed processes of it for memory" },
        { { INIT_HOW_SIGNALLED, SIGSEGV }, NACRE_OUTCOME_KILLED, 0, SIGSEGV,
          "it died of SIGSEGV" },
        { { INIT_HOW_SIGNALLED, SIGKILL }, NACRE_OUTCOME_KILLED, 0, SIGKILL,
          "it died of SIGKILL" },
        { { INIT_HOW_SIGNALLED, SIGSYS }, NACRE_OUTCOME_KILLED, 0, SIGSYS,
          "it made a system call that its filter forbids" },
        { { INIT_HOW_SIGNALLED, 40 }, NACRE_OUTCOME_KILLED, 0, 40,
          "it died of signal 40" },
        { { INIT_HOW_SIGNALLED, SIGKILL, .oom_kills = 2 }, NACRE_OUTCOME_OUT_OF_MEMORY, 0,
          0, "the kernel killed it for memory" },
        { { INIT_HOW_SIGNALLED, SIGTERM, .oom_kills = 2 }, NACRE_OUTCOME_KILLED, 0,
          SIGTERM, "it died of SIGTERM" },
        { { INIT_HOW_TIMED_OUT, SIGKILL }, NACRE_OUTCOME_TIMED_OUT, 0, 0, "" },
        { { INIT_HOW_KILLED, SIGKILL }, NACRE_OUTCOME_KILLED, 0, SIGKILL,
          "init killed it: its owner gave no sign of life in time" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct init_exit exit = rows[i].exit;
        struct nt_box *box = opened(say_and_exit, &exit);
        const struct nt_command command = command_of(&no_input);

        exit.user_us = 3;
        exit.system_us = 4;
        exit.memory_bytes_peak = 5;
        assert_int_equal(run(box, &command), NACRE_OK);
        assert_int_equal(result.outcome, rows[i].outcome);
        assert_int_equal(result.exit_status, rows[i].exit_status);
        assert_int_equal(result.signal, rows[i].signal);
        assert_string_equal(result.reason, rows[i].reason);
        assert_true(output_is(&result.output, "output"));
        assert_true(output_is(&result.errors, "err"));
        assert_false(result.output_cut);
        assert_int_equal(result.usage.cpu_ns, 7000);
        assert_int_equal(result.usage.memory_bytes_peak, 5);
        assert_int_equal(result.usage.memory_refused, rows[i].exit.oom_kills > 0);
        assert_int_equal(result.usage.bytes_written, 9);
        assert_false(nt_box_is_spent(box));
        closed(box);
    }
}

static void numbers_that_overflow_are_the_most_there_is(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                              UINT64_MAX, UINT64_MAX };
    struct nt_box *box = opened(say_and_exit, &exit);
    const struct nt_command command = command_of(&no_input);

    (void)state;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_true(result.usage.cpu_ns == UINT64_MAX);
    closed(box);
}

struct refusal {
    uint64_t refusal, number;
    const char *text;
};

static void refusing(struct fake_init *self)
{
    const struct refusal *refusal = self->data;
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    while (fake_init_await_start(self, id, NULL))
        fake_init_refuse(self, id, refusal->refusal, refusal->number, refusal->text);
}

static void a_refused_command_ran_not_at_all(void **state)
{
    static const struct {
        struct refusal refusal;
        enum nacre_status status;
        bool spent;
        const char *said;
    } rows[] = {
        { { INIT_REFUSAL_EXEC, ENOENT, "tool" }, NACRE_ERR_NOT_FOUND, false,
          "tool: there is no such program" },
        { { INIT_REFUSAL_EXEC, EACCES, "tool" }, NACRE_ERR_NOT_RUNNABLE, false,
          "tool can't be executed: Permission denied" },
        { { INIT_REFUSAL_EXEC, 0, "" }, NACRE_ERR_NOT_RUNNABLE, false, "unknown error" },
        { { INIT_REFUSAL_EXEC, UINT64_MAX, "" }, NACRE_ERR_NOT_RUNNABLE, false,
          "unknown error" },
        { { INIT_REFUSAL_DIRECTORY, ENOENT, "/" }, NACRE_ERR_NOT_RUNNABLE, false,
          "can't start in /: No such file" },
        { { INIT_REFUSAL_FULL, EAGAIN, "" }, NACRE_ERR_UNAVAILABLE, false,
          "takes no further command" },
        { { INIT_REFUSAL_MASK, 0, "/w/.env\n" }, NACRE_ERR_UNAVAILABLE, true,
          "not covered in the sandbox any more: /w/.env\\x0a" },
        { { INIT_REFUSAL_WALL, EPERM, "seccomp" }, NACRE_ERR_UNAVAILABLE, true,
          "seccomp: Operation not permitted" },
        { { INIT_REFUSAL_NONE, 0, "" }, NACRE_ERR_UNAVAILABLE, true, "a wall" },
        { { UINT64_MAX, 0, "" }, NACRE_ERR_UNAVAILABLE, true, "a wall" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct refusal refusal = rows[i].refusal;
        struct nt_box *box = opened(refusing, &refusal);
        const struct nt_command command = command_of(&no_input);

        if (run(box, &command) != rows[i].status || !strstr(err.text, rows[i].said))
            fail_msg("row %zu: %d %s", i, (int)err.status, err.text);
        assert_int_equal(nt_box_is_spent(box), rows[i].spent);
        assert_int_equal(nt_box_beat(box), !rows[i].spent);
        closed(box);
    }
}

/* ---- frames that no honest init sends ---- */

enum whose { OWN, NOBODYS, WHOLE };

struct line {
    enum frame_type type;
    uint8_t lane;
    enum whose whose;
    size_t size;
    uint64_t number; /* of a payload of 8 bytes */
};

static void say_lines(struct fake_init *self)
{
    static const uint8_t zeros[FRAME_PAYLOAD_MAX];
    const struct line *line = self->data;
    uint8_t id[FRAME_ID], other[FRAME_ID] = { 1 };

    (void)fake_init_report(self);
    if (!fake_init_await_start(self, id, NULL))
        return;
    for (; line->type != FRAME_NONE; line++) {
        const uint8_t *to = line->whose == OWN ? id
                            : line->whose == NOBODYS ? other
                                                     : NULL;

        if (line->size == 8)
            fake_init_send_u64(self, line->type, line->lane, to, line->number);
        else
            fake_init_send(self, line->type, line->lane, to, zeros, line->size);
    }
    fake_init_idle(self);
}

#define STARTED_ { FRAME_STARTED }

static void a_frame_that_makes_no_sense_spends_the_box(void **state)
{
    static const struct {
        struct line lines[8];
        const char *said;
    } rows[] = {
        { { { FRAME_DATA, 1, NOBODYS, 3 } }, "DATA (lane 1, 3 bytes) for a command" },
        { { { FRAME_EXIT, 0, NOBODYS, 56 } }, "EXIT (lane 0, 56 bytes) for a command" },
        { { STARTED_, { FRAME_DATA, 1, WHOLE, 3 } }, "for no command" },
        { { STARTED_, { FRAME_REPORT, 1, WHOLE, 3 } }, "after the report was whole" },
        { { STARTED_, { FRAME_REPORT, 1, OWN, 3 } }, "REPORT (lane 1, 3 bytes) for a" },
        { { { FRAME_EXIT, 0, OWN, 56 } }, "EXIT (lane 0, 56 bytes) for a command that "
                                          "had not started" },
        { { STARTED_, STARTED_ }, "for the second time" },
        { { { FRAME_STARTED, 1 } }, "STARTED (lane 1" },
        { { { FRAME_STARTED, 0, OWN, 1 } }, "STARTED (lane 0, 1 bytes)" },
        { { STARTED_, { FRAME_EXIT, 0, OWN, 56 } }, "an end that is none" },
        { { STARTED_, { FRAME_EXIT, 0, OWN, 3 } }, "an end that is none" },
        { { STARTED_, { FRAME_REFUSED, 0, OWN, 24 } }, "that had started" },
        { { { FRAME_DATA, 1, OWN, 1 }, { FRAME_REFUSED, 0, OWN, 24 } },
          "that had started" },
        { { { FRAME_END, 1 }, { FRAME_REFUSED, 0, OWN, 16 } },
          "a reason that is none" },
        { { STARTED_, { FRAME_DATA, 0, OWN, 3 } }, "the lane that is ours" },
        { { STARTED_, { FRAME_END, 0 } }, "the lane that is ours" },
        { { STARTED_, { FRAME_END, 1 }, { FRAME_END, 1 } }, "of a lane that had ended" },
        { { STARTED_, { FRAME_END, 1, OWN, 1 } }, "END (lane 1, 1 bytes)" },
        { { STARTED_, { FRAME_END, 2 }, { FRAME_DATA, 2, OWN, 1 } }, "a lane that had" },
        { { STARTED_, { FRAME_DATA, 1, OWN, 0 } }, "DATA (lane 1, 0 bytes) with no" },
        { { STARTED_, { FRAME_CREDIT, 0, OWN, 8, 0 } }, "of nothing" },
        { { STARTED_, { FRAME_CREDIT, 0, OWN, 8, 1 } }, "more than was sent" },
        { { STARTED_, { FRAME_CREDIT, 0, OWN, 8, UINT64_MAX } }, "more than was sent" },
        { { STARTED_, { FRAME_CREDIT, 1, OWN, 8, 1 } }, "a lane that is not ours" },
        { { STARTED_, { FRAME_CREDIT, 0, OWN, 3 } }, "CREDIT (lane 0, 3 bytes)" },
        { { STARTED_, { FRAME_KILL } }, "KILL (lane 0, 0 bytes) for a command" },
        { { STARTED_, { FRAME_START, 1, OWN, 3 } }, "START (lane 1" },
        { { STARTED_, { FRAME_BEAT, 0, WHOLE } }, "BEAT" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nt_box *box = opened(say_lines, (void *)(uintptr_t)rows[i].lines);
        const struct nt_command command = command_of(&no_input);

        if (run(box, &command) != NACRE_ERR_IO || !strstr(err.text, rows[i].said))
            fail_msg("row %zu: %d %s", i, (int)err.status, err.text);
        assert_true(nt_box_is_spent(box));
        assert_int_equal(run(box, &command), NACRE_ERR_IO);
        assert_true(strstr(err.text, rows[i].said));
        closed(box);
    }
}

/* While the caller's function runs, no credit is given back; others move the frames. */
static void move_frames(void *data, int stream, const char *bytes, size_t count)
{
    (void)stream;
    (void)bytes;
    (void)count;
    while (nt_box_beat(*(struct nt_box **)data))
        ;
}

static void output_beyond_its_credit_spends_the_box(void **state)
{
    static const struct line lines[] = {
        STARTED_,
        { FRAME_DATA, 2, OWN, 65536 },
        { FRAME_DATA, 2, OWN, 65536 },
        { FRAME_DATA, 2, OWN, 65536 },
        { FRAME_DATA, 2, OWN, 65536 },
        { FRAME_DATA, 1, OWN, 1 }, /* a lane of its own */
        { FRAME_DATA, 2, OWN, 1 },
        { FRAME_NONE },
    };
    struct nt_box *box = opened(say_lines, (void *)(uintptr_t)lines);
    const struct nacre_request request = { .input_fd = -1, .on_output = move_frames,
                                           .on_output_data = &box };
    const struct nt_command command = command_of(&request);

    (void)state;
    assert_int_equal(run(box, &command), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "DATA (lane 2, 1 bytes) beyond the credit"));
    assert_int_equal(result.errors.size, FRAME_WINDOW);
    assert_int_equal(result.output.size, 1);
    closed(box);
}

static void says_why_and_dies(struct fake_init *self)
{
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    (void)fake_init_await_start(self, id, NULL);
    fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
    fake_init_send(self, FRAME_DATA, 1, id, "half", 4);
    fake_init_fail(self, "the shepherd was killed");
}

static void dies(struct fake_init *self)
{
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    (void)fake_init_await_start(self, id, NULL);
}

static void the_death_of_init_is_told_with_its_last_words(void **state)
{
    struct nt_box *box = opened(says_why_and_dies, NULL);
    const struct nt_command command = command_of(&no_input);

    (void)state;
    assert_int_equal(run(box, &command), NACRE_ERR_IO);
    assert_string_equal(err.text, "init can't go on: the shepherd was killed");
    assert_true(output_is(&result.output, "half"));
    assert_false(nt_box_beat(box));
    assert_false(nt_box_died(box));
    closed(box);

    box = opened(dies, NULL);
    assert_int_equal(run(box, &command), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "init is gone"));
    assert_true(nt_box_died(box));
    closed(box);
}

static void dies_after_a_beat(struct fake_init *self)
{
    char byte;

    (void)fake_init_report(self);
    (void)!read(self->fd, &byte, 1);
}

static void the_death_of_an_idle_init_is_seen_by_the_beat(void **state)
{
    struct nt_box *box = opened(dies_after_a_beat, NULL);

    (void)state;
    (void)nt_box_beat(box);
    fake_init_join(&fake);
    assert_false(nt_box_beat(box));
    assert_true(nt_box_is_spent(box));
    nt_box_free(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answers_are_those_to_the_questions),
        cmocka_unit_test(a_machine_is_told_what_it_is_before_its_configuration),
        cmocka_unit_test(a_box_is_not_opened_by_anything_but_its_report),
        cmocka_unit_test(a_cancelled_wait_for_the_report_ends),
        cmocka_unit_test(opening_survives_every_allocation_failure),
        cmocka_unit_test(how_a_command_ends_is_its_outcome),
        cmocka_unit_test(numbers_that_overflow_are_the_most_there_is),
        cmocka_unit_test(a_refused_command_ran_not_at_all),
        cmocka_unit_test(a_frame_that_makes_no_sense_spends_the_box),
        cmocka_unit_test(output_beyond_its_credit_spends_the_box),
        cmocka_unit_test(the_death_of_init_is_told_with_its_last_words),
        cmocka_unit_test(the_death_of_an_idle_init_is_seen_by_the_beat),
    };

    return cmocka_run_group_tests_name("nt_box", tests, NULL, NULL);
}
