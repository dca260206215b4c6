/*
 * The real nacre-init, as an ordinary process and as pid 1 of its own namespaces, and
 * commands that do what they should.  What guests try against it is in
 * test_init_attack.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "init_owner.h"
#include "nacre/clock.h"
#include "scene.h"

static struct owned *run_shell(struct owner *owner, const char *script)
{
    struct init_start start = owner_shell(script);

    return owner_run(owner, 1, &start);
}

/* ---- what commands say and how they end ---- */

static void output_and_status_come_back(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct owned *command = run_shell(owner, "echo out; echo err >&2; exit 7");

        owner_assert_exit(command, INIT_HOW_EXITED, 7);
        assert_string_equal(command->output[0], "out\n");
        assert_string_equal(command->output[1], "err\n");
        assert_int_equal(command->exit.left_behind, 0);
        assert_true(command->exit.memory_bytes_peak > 100000);

        owner_assert_exit(run_shell(owner, "exit 255"), INIT_HOW_EXITED, 255);
        owner_assert_exit(run_shell(owner, ":"), INIT_HOW_EXITED, 0);
        owner_assert_exit(run_shell(owner, "kill -SEGV $$"), INIT_HOW_SIGNALLED, SIGSEGV);
        owner_assert_exit(run_shell(owner, "kill -KILL $$"), INIT_HOW_SIGNALLED, SIGKILL);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void processor_time_of_all_that_it_started_is_told(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct owned *command =
        run_shell(owner, "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & wait");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_true(command->exit.user_us + command->exit.system_us > 10000);
    assert_int_equal(owner_close(owner), 0);
}

static void ten_mebibytes_go_in_and_come_out(void **state)
{
    enum { TOTAL = 10 << 20 };
    static const char *const arguments[] = { "cat", NULL };
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("");
    struct owned *command = &owner->commands[1];
    static char bytes[FRAME_PAYLOAD_MAX];
    size_t sent = 0;

    (void)state;
    start.arguments = arguments;
    start.input = true;
    memset(bytes, 'x', sizeof(bytes));
    owner_start(owner, 1, &start);
    while (sent < TOTAL) {
        size_t count = TOTAL - sent < sizeof(bytes) ? TOTAL - sent : sizeof(bytes);

        if (count > command->input_credit)
            count = (size_t)command->input_credit;
        if (count == 0) {
            if (!owner_pump(owner, 5000))
                fail_msg("no credit after %zu bytes: %s", sent, owner->failure);
            continue;
        }
        command->input_credit -= count;
        owner_send(owner, FRAME_DATA, 0, 1, bytes, count);
        sent += count;
    }
    owner_send(owner, FRAME_END, 0, 1, NULL, 0);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_EXITED, 0);
    assert_int_equal(command->count[0], TOTAL);
    assert_int_equal(owner_close(owner), 0);
}

static void input_that_nobody_reads_stalls_nothing(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("exec <&-; echo closed; sleep 0.3");
    struct owned *command = &owner->commands[1];
    static const char bytes[FRAME_PAYLOAD_MAX];

    (void)state;
    start.input = true;
    owner_start(owner, 1, &start);
    owner_await(owner, 1, "closed");
    for (int i = 0; i < 20; i++) {
        while (command->input_credit < sizeof(bytes) && !command->is_ended)
            (void)owner_pump(owner, 1000);
        if (command->is_ended)
            break;
        command->input_credit -= sizeof(bytes);
        owner_send(owner, FRAME_DATA, 0, 1, bytes, sizeof(bytes));
    }
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);
}

static void without_input_stdin_is_at_its_end(void **state)
{
    struct owner *owner = owner_ready(OWNER_PID1);
    struct owned *command = run_shell(owner, "readlink /proc/self/fd/0; cat");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "/dev/null\n");
    assert_int_equal(owner_close(owner), 0);
}

/* The second one's processes were forked when the first one's pipes were open. */
static void the_end_of_input_is_seen_while_others_run(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("echo here; cat");

    (void)state;
    start.input = true;
    for (size_t i = 1; i <= 2; i++) {
        owner_start(owner, i, &start);
        owner_await(owner, i, "here");
    }
    owner_send(owner, FRAME_END, 0, 1, NULL, 0);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_EXITED, 0);
    assert_false(owner->commands[2].is_ended);
    assert_int_equal(owner_close(owner), 0);
}

/* One lane gets no credit and stays where it is; the others run to their ends. */
static void a_command_without_credit_stalls_no_other(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start flood = owner_shell("head -c 1000000 /dev/zero; echo done >&2");
    struct init_start talk = owner_shell("for i in 1 2 3 4 5; do echo a$i; echo b$i >&2; "
                                         "done; head -c 3000000 /dev/zero | tr '\\0' c");

    (void)state;
    owner_start(owner, 1, &flood);
    owner->commands[1].keep_credit = true;
    for (size_t i = 2; i < 6; i++)
        owner_start(owner, i, &talk);
    for (size_t i = 2; i < 6; i++) {
        struct owned *command = owner_finish(owner, i);

        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        assert_true(strncmp(command->output[0], "a1\na2\na3\na4\na5\ncccc", 19) == 0);
        assert_int_equal(command->count[0], 3000015);
        assert_string_equal(command->output[1], "b1\nb2\nb3\nb4\nb5\n");
    }
    /* On a busy machine it may be the last to begin. */
    for (int i = 0; i < 300 && owner->commands[1].count[0] < FRAME_WINDOW; i++)
        (void)owner_pump(owner, 100);
    assert_false(owner->commands[1].is_ended);
    assert_int_equal(owner->commands[1].count[0], FRAME_WINDOW);
    assert_string_equal(owner->commands[1].output[1], "");

    owner->commands[1].keep_credit = false;
    owner_send_number(owner, FRAME_CREDIT, 1, 1, FRAME_WINDOW);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_EXITED, 0);
    assert_int_equal(owner->commands[1].count[0], 1000000);
    assert_string_equal(owner->commands[1].output[1], "done\n");
    assert_int_equal(owner_close(owner), 0);
}

static void all_commands_at_once_and_not_one_more(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("echo here; read x; echo $x");

    (void)state;
    start.input = true;
    for (size_t i = 1; i <= CONFIG_COMMANDS_MAX; i++)
        owner_start(owner, i, &start);
    for (size_t i = 1; i <= CONFIG_COMMANDS_MAX; i++)
        owner_await(owner, i, "here\n");
    owner_start(owner, CONFIG_COMMANDS_MAX + 1, &start);
    assert_true(owner_finish(owner, CONFIG_COMMANDS_MAX + 1)->is_refused);
    assert_int_equal(owner->commands[CONFIG_COMMANDS_MAX + 1].refusal, INIT_REFUSAL_FULL);
    for (size_t i = CONFIG_COMMANDS_MAX; i >= 1; i--) {
        char line[16];

        (void)snprintf(line, sizeof(line), "n%zu\n", i);
        owner_send(owner, FRAME_DATA, 0, i, line, strlen(line));
        owner_assert_exit(owner_finish(owner, i), INIT_HOW_EXITED, 0);
        assert_non_null(strstr(owner->commands[i].output[0], line));
    }
    assert_int_equal(owner_close(owner), 0);
}

/* ---- what ends a command ---- */

static void a_deadline_ends_all_of_a_command(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start =
            owner_shell("trap '' TERM HUP INT; setsid sleep 1000 & sleep 1000");
        struct owned *command;

        start.wall_ms_max = 100;
        command = owner_run(owner, 1, &start);
        owner_assert_exit(command, INIT_HOW_TIMED_OUT, SIGKILL);
        assert_int_equal(command->exit.left_behind, 0);
        owner_assert_exit(run_shell(owner, "echo again"), INIT_HOW_EXITED, 0);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void a_signal_reaches_the_command_and_kill_ends_it(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell(
        "trap 'echo caught' USR1; echo ready; while :; do sleep 0.05; done");

    (void)state;
    owner_start(owner, 1, &start);
    owner_await(owner, 1, "ready");
    owner_send_number(owner, FRAME_SIGNAL, 0, 1, SIGUSR1);
    owner_await(owner, 1, "caught");
    owner_send(owner, FRAME_KILL, 0, 1, NULL, 0);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_KILLED, SIGKILL);

    owner_start(owner, 1, &start);
    owner_send_number(owner, FRAME_SIGNAL, 0, 1, SIGTERM);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_SIGNALLED, SIGTERM);
    /* It has ended: what was on its way to it is for nobody. */
    owner_send(owner, FRAME_KILL, 0, 1, NULL, 0);
    owner_send_number(owner, FRAME_SIGNAL, 0, 1, SIGTERM);
    owner_send_number(owner, FRAME_CREDIT, 1, 1, 5);
    owner_send(owner, FRAME_DATA, 0, 1, "x", 1);
    owner_send(owner, FRAME_END, 0, 1, NULL, 0);
    owner_assert_exit(run_shell(owner, ":"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);
}

static void a_killed_command_ends_though_its_output_has_no_credit(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("exec cat /dev/zero");

    (void)state;
    owner_start(owner, 1, &start);
    owner->commands[1].keep_credit = true;
    while (owner->commands[1].count[0] < FRAME_WINDOW)
        assert_true(owner_pump(owner, 5000));
    owner_send(owner, FRAME_KILL, 0, 1, NULL, 0);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_KILLED, SIGKILL);
    assert_int_equal(owner_close(owner), 0);
}

static void without_a_beat_every_command_is_killed(void **state)
{
    struct owner *owner = owner_open(OWNER_CHILD);
    struct init_config config = owner_config_plain();
    struct init_start start = owner_shell("sleep 1000");
    uint64_t begun;

    (void)state;
    config.beat_ms_max = 400;
    owner_configure(owner, &config);
    assert_true(owner->is_reported);
    owner_start(owner, 1, &start);
    owner_start(owner, 2, &start);
    begun = nacre_clock_ns();
    while (nacre_clock_ns() - begun < 1000 * NACRE_NS_PER_MS) {
        owner_send(owner, FRAME_BEAT, 0, 0, NULL, 0);
        (void)owner_pump(owner, 50);
    }
    assert_false(owner->commands[1].is_ended || owner->commands[2].is_ended);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_KILLED, SIGKILL);
    owner_assert_exit(owner_finish(owner, 2), INIT_HOW_KILLED, SIGKILL);
    owner_assert_exit(run_shell(owner, "echo still here"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);
}

static void shutdown_ends_the_commands_and_then_init(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start = owner_shell("echo said; sleep 1000 & sleep 1000");

        owner_start(owner, 1, &start);
        owner_await(owner, 1, "said");
        owner_send(owner, FRAME_SHUTDOWN, 0, 0, NULL, 0);
        owner_assert_exit(owner_finish(owner, 1), INIT_HOW_KILLED, SIGKILL);
        assert_int_equal(owner_wait(owner), 0);
        (void)owner_close(owner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status_come_back),
        cmocka_unit_test(processor_time_of_all_that_it_started_is_told),
        cmocka_unit_test(ten_mebibytes_go_in_and_come_out),
        cmocka_unit_test(input_that_nobody_reads_stalls_nothing),
        cmocka_unit_test(without_input_stdin_is_at_its_end),
        cmocka_unit_test(the_end_of_input_is_seen_while_others_run),
        cmocka_unit_test(a_command_without_credit_stalls_no_other),
        cmocka_unit_test(all_commands_at_once_and_not_one_more),
        cmocka_unit_test(a_deadline_ends_all_of_a_command),
        cmocka_unit_test(a_signal_reaches_the_command_and_kill_ends_it),
        cmocka_unit_test(a_killed_command_ends_though_its_output_has_no_credit),
        cmocka_unit_test(without_a_beat_every_command_is_killed),
        cmocka_unit_test(shutdown_ends_the_commands_and_then_init),
    };

    return cmocka_run_group_tests_name("init", tests, scene_enter, scene_leave);
}
