/*
 * What guests and broken owners try against the real nacre-init.  Whether anything lives
 * on is asked outside of the sandbox, by a mark in the processes' arguments.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "init_owner.h"
#include "nacre/clock.h"
#include "scene.h"

/* "sleep" for a length that no other process sleeps for. */
static char marked[64];
#define LONG_SLEEP "sleep 98765.$MARK"

static int make_mark(void **state)
{
    (void)snprintf(marked, sizeof(marked), "98765.%d", getpid());
    return scene_enter(state);
}

static struct init_start marked_shell(const char *script)
{
    static char variable[64];
    static const char *const environment[] = { "PATH=/usr/bin:/bin", variable, NULL };
    struct init_start start = owner_shell(script);

    (void)snprintf(variable, sizeof(variable), "MARK=%d", getpid());
    start.environment = environment;
    return start;
}

static unsigned count_marked(void)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char path[300], text[4096];
        ssize_t size;
        int fd;

        (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        size = fd < 0 ? 0 : read(fd, text, sizeof(text));
        count += size > 0 && memmem(text, (size_t)size, marked, strlen(marked)) != NULL;
        if (fd >= 0)
            (void)close(fd);
    }
    (void)closedir(dir);
    return count;
}

/* So many are there, or will be in a moment: what a shell said came before its exec. */
static bool are_marked(unsigned least)
{
    for (int i = 0; i < 500 && count_marked() < least; i++)
        (void)usleep(10000);
    return count_marked() >= least;
}

static struct owned *run_marked(struct owner *owner, const char *script)
{
    struct init_start start = marked_shell(script);

    return owner_run(owner, 1, &start);
}

/* ---- processes that want to stay ---- */

static void daemons_are_killed_and_counted(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct owned *command;

        /* Each alive before the command ends, or its death would prove nothing. */
        command = run_marked(owner, "for i in 1 2 3; do (setsid " LONG_SLEEP
                                    " <&- >&- 2>&- &); done; sleep 0.2; "
                                    "grep -sl 98765.$MARK /proc/[0-9]*/cmdline | wc -l");
        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        assert_true(atoi(command->output[0]) >= 3);
        assert_int_equal(command->exit.left_behind, 3);
        assert_int_equal(count_marked(), 0);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void a_chain_that_forks_and_exits_is_caught(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start = marked_shell("r() { r & }; r; : 98765.$MARK");
        struct owned *command = owner_run(owner, 1, &start);

        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        owner_assert_exit(run_marked(owner, "echo on"), INIT_HOW_EXITED, 0);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void a_fork_bomb_ends_at_its_limit_and_then_altogether(void **state)
{
    struct owner *owner = owner_ready(OWNER_PID1);
    struct init_start start =
        marked_shell("b() { b | b & b; }; echo lit; " LONG_SLEEP " & b");
    struct owned *command;

    (void)state;
    start.processes_max = 60;
    start.wall_ms_max = 700;
    command = owner_run(owner, 1, &start);
    assert_true(command->is_ended && !command->is_refused);
    assert_true(command->exit.how == INIT_HOW_TIMED_OUT ||
                command->exit.how == INIT_HOW_EXITED);
    assert_int_equal(count_marked(), 0);

    start = marked_shell("b() { b & b & " LONG_SLEEP " & }; b");
    start.processes_max = 60;
    command = owner_run(owner, 1, &start);
    assert_true(command->is_ended && !command->is_refused);
    assert_int_equal(count_marked(), 0);
    owner_assert_exit(run_marked(owner, "echo on"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);
}

/* ---- against the shepherd ---- */

static void killing_the_shepherd_gains_nothing(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct owned *command = run_marked(
            owner, "setsid " LONG_SLEEP " & kill -9 $PPID; " LONG_SLEEP);

        owner_assert_exit(command, INIT_HOW_SIGNALLED, SIGKILL);
        assert_int_equal(count_marked(), 0);
        owner_assert_exit(run_marked(owner, "echo on"), INIT_HOW_EXITED, 0);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void a_shepherd_killed_beside_another_command_costs_the_sandbox(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start other = marked_shell("echo here; " LONG_SLEEP);
        struct init_start killer = marked_shell("kill -9 $PPID; " LONG_SLEEP);
        int status;

        owner_start(owner, 1, &other);
        owner_await(owner, 1, "here");
        owner_start(owner, 2, &killer);
        (void)owner_finish(owner, 2);
        while (!owner->is_at_end)
            (void)owner_pump(owner, 1000);
        assert_true(owner->has_failed);
        status = owner_wait(owner);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        assert_int_equal(count_marked(), 0);
        (void)owner_close(owner);
    }
}

static void a_stopped_shepherd_does_not_stop_the_deadline(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start = marked_shell("kill -STOP $PPID; " LONG_SLEEP);

        start.wall_ms_max = 200;
        owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_TIMED_OUT, SIGKILL);
        assert_int_equal(count_marked(), 0);
        owner_assert_exit(run_marked(owner, "echo on"), INIT_HOW_EXITED, 0);
        assert_int_equal(owner_close(owner), 0);
    }
}

/* ---- against init ---- */

static void pid_1_can_not_be_killed_stopped_or_looked_into(void **state)
{
    struct owner *owner = owner_ready(OWNER_PID1);
    struct owned *command = run_marked(
        owner, "for s in 1 2 3 9 10 11 12 13 14 15 17 18 19 20 21 22 34 64; do "
               "kill -$s 1; done; "
               "for p in 1 $PPID; do for f in fd/0 fd/1 mem environ root cwd exe; do "
               "if [ -e /proc/$p/$f ] && cat </proc/$p/$f >/dev/null 2>&1; then "
               "echo open $p $f; fi; done; ls /proc/$p/fd 2>/dev/null; done; "
               /* The same works for a process that is one's own. */
               "cat </proc/$$/environ >/dev/null && ls /proc/$$/fd | head -1");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "0\n");
    owner_assert_exit(run_marked(owner, "echo on"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);
}

/* The forger writes what would be a right frame, to whatever of init's it can open. */
static void frames_can_not_be_forged_through_proc(void **state)
{
    struct owner *owner = owner_ready(OWNER_PID1);
    struct owned *command = run_marked(
        owner, "for p in 1 $PPID; do for f in 0 1 2 3 4 5 6 7; do "
               "printf '\\001\\101\\001\\000\\000\\000\\000\\000ZZZZZZZZZZZZZZZZ' "
               "2>/dev/null >/proc/$p/fd/$f && echo wrote $p $f; done; done; "
               "printf x >/proc/$$/fd/2 && echo own");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "own\n");
    assert_int_equal(owner_close(owner), 0);
}

/* Another command has taken the ended one's stdout and keeps it open. */
static void a_stranger_on_the_pipe_does_not_hold_up_the_end(void **state)
{
    struct owner *owner = owner_ready(OWNER_PID1);
    struct init_start first = marked_shell("echo pid $$; read x; echo bye"), second;
    char script[256];

    (void)state;
    first.input = true;
    owner_start(owner, 1, &first);
    owner_await(owner, 1, "pid ");
    owner_await(owner, 1, "\n");
    (void)snprintf(script, sizeof(script),
                   "exec 7>/proc/%d/fd/1; echo taken; " LONG_SLEEP,
                   atoi(owner->commands[1].output[0] + 4));
    second = marked_shell(script);
    owner_start(owner, 2, &second);
    owner_await(owner, 2, "taken");
    owner_send(owner, FRAME_DATA, 0, 1, "\n", 1);
    owner_assert_exit(owner_finish(owner, 1), INIT_HOW_EXITED, 0);
    assert_non_null(strstr(owner->commands[1].output[0], "bye\n"));
    assert_false(owner->commands[2].is_ended);
    assert_int_equal(owner_close(owner), 0);
    assert_int_equal(count_marked(), 0);
}

/* ---- owners that are gone, silent or wrong ---- */

static void everything_dies_with_the_channel(void **state)
{
    (void)state;
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start = marked_shell(
            "trap '' TERM HUP; (setsid " LONG_SLEEP " &); echo here; " LONG_SLEEP);

        owner_start(owner, 1, &start);
        owner_start(owner, 2, &start);
        owner_await(owner, 1, "here");
        owner_await(owner, 2, "here");
        assert_true(are_marked(2));
        assert_int_equal(owner_close(owner), 0);
        assert_int_equal(count_marked(), 0);
    }
}

/* Nobody reads: deadlines hold, memory has a bound, and nothing is lost. */
static void an_owner_that_does_not_read_blocks_nothing(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = marked_shell("head -c 200000 /dev/zero; " LONG_SLEEP);
    char path[64], text[2048];
    const char *at;
    int fd;

    (void)state;
    start.wall_ms_max = 1000;
    for (size_t i = 1; i <= 30; i++)
        owner_start(owner, i, &start);
    (void)usleep(2500000);
    assert_int_equal(count_marked(), 0);
    (void)snprintf(path, sizeof(path), "/proc/%d/status", owner->init_pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    text[read(fd, text, sizeof(text) - 1)] = '\0';
    (void)close(fd);
    at = strstr(text, "VmRSS:");
    assert_non_null(at);
    assert_true(atoi(at + 6) < 8192);
    for (size_t i = 1; i <= 30; i++) {
        owner_assert_exit(owner_finish(owner, i), INIT_HOW_TIMED_OUT, SIGKILL);
        assert_true(owner->commands[i].count[0] > 65535);
    }
    assert_int_equal(owner_close(owner), 0);
}

static void assert_given_up(struct owner *owner, const char *what)
{
    uint64_t until = nacre_clock_ns() + 10 * NACRE_NS_PER_S;
    int status;

    while (!owner->is_at_end && nacre_clock_ns() < until)
        (void)owner_pump(owner, 100);
    if (!owner->is_at_end || !owner->has_failed)
        fail_msg("%s: accepted", what);
    status = owner_wait(owner);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || count_marked() != 0)
        fail_msg("%s: status %d, %u left", what, status, count_marked());
    (void)owner_close(owner);
}

static void a_wrong_frame_ends_the_sandbox(void **state)
{
    static const uint8_t number[8] = { 1 }, zero[8], large[8] = { 65 };
    static const uint8_t bytes[FRAME_PAYLOAD_MAX];
    static const struct {
        const char *what;
        enum frame_type type;
        uint8_t lane;
        size_t command;
        const void *payload;
        size_t size;
    } rows[] = {
        { "a second configuration", FRAME_CONFIG, 1, 0, bytes, 1 },
        { "a command with an id in use", FRAME_START, 0, 1, NULL, 0 },
        { "a command that can't be read", FRAME_START, 1, 2, bytes, 9 },
        { "a command for nobody", FRAME_START, 1, 0, bytes, 9 },
        { "signal 0", FRAME_SIGNAL, 0, 1, zero, 8 },
        { "signal 65", FRAME_SIGNAL, 0, 1, large, 8 },
        { "half a signal", FRAME_SIGNAL, 0, 1, number, 4 },
        { "a signal for all", FRAME_SIGNAL, 0, 0, number, 8 },
        { "a kill with a payload", FRAME_KILL, 0, 1, number, 8 },
        { "a kill on a lane", FRAME_KILL, 2, 1, NULL, 0 },
        { "a beat of a command", FRAME_BEAT, 0, 1, NULL, 0 },
        { "a shutdown of a command", FRAME_SHUTDOWN, 0, 1, NULL, 0 },
        { "input on stdout", FRAME_DATA, 1, 1, bytes, 1 },
        { "the end of stderr", FRAME_END, 2, 1, NULL, 0 },
        { "credit for stdin", FRAME_CREDIT, 0, 1, number, 8 },
        { "credit without a number", FRAME_CREDIT, 1, 1, NULL, 0 },
        { "a report", FRAME_REPORT, 1, 0, bytes, 1 },
        { "started", FRAME_STARTED, 0, 1, NULL, 0 },
        { "an exit", FRAME_EXIT, 0, 1, bytes, 56 },
        { "failed", FRAME_FAILED, 0, 0, bytes, 9 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct owner *owner = owner_ready(OWNER_CHILD);
        struct init_start start = marked_shell("echo here; " LONG_SLEEP);

        start.input = true;
        owner_start(owner, 1, &start);
        owner_await(owner, 1, "here");
        if (rows[i].type == FRAME_START && rows[i].command == 1)
            owner_start(owner, 1, &start);
        else
            owner_send(owner, rows[i].type, rows[i].lane, rows[i].command,
                       rows[i].payload, rows[i].size);
        owner->commands[1].is_started = false;
        assert_given_up(owner, rows[i].what);
    }
}

static void more_input_than_credit_ends_the_sandbox(void **state)
{
    static const uint8_t bytes[FRAME_PAYLOAD_MAX];
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = marked_shell(LONG_SLEEP);

    (void)state;
    start.input = true;
    owner_start(owner, 1, &start);
    owner->commands[1].input_credit = 0; /* all of it is sent now */
    for (int i = 0; i < 4; i++)
        owner_send(owner, FRAME_DATA, 0, 1, bytes, sizeof(bytes));
    (void)owner_pump(owner, 200);
    assert_false(owner->has_failed);
    /* What the pipe took was given back, a window's quarter; this is more. */
    for (int i = 0; i < 2; i++)
        owner_send(owner, FRAME_DATA, 0, 1, bytes, sizeof(bytes));
    assert_given_up(owner, "more than the window");
}

static void messages_without_end_and_mixed_ones_end_the_sandbox(void **state)
{
    static uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD_MAX];
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct frame frame = { .type = FRAME_START, .id = { 9 }, .size = FRAME_PAYLOAD_MAX };
    struct init_start start;

    (void)state;
    frame_header(bytes, &frame);
    for (size_t i = 0; i <= START_BYTES_MAX / FRAME_PAYLOAD_MAX; i++)
        owner_send_raw(owner, bytes, sizeof(bytes));
    assert_given_up(owner, "a command without end");

    owner = owner_ready(OWNER_CHILD);
    owner_send_raw(owner, bytes, sizeof(bytes));
    frame.id[0] = 8;
    frame_header(bytes, &frame);
    owner_send_raw(owner, bytes, sizeof(bytes));
    assert_given_up(owner, "two commands mixed");

    owner = owner_open(OWNER_CHILD);
    start = owner_shell(":");
    owner_start(owner, 1, &start);
    assert_given_up(owner, "a command before the configuration");

    owner = owner_open(OWNER_CHILD);
    owner_send_raw(owner, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
    assert_given_up(owner, "no frame at all");
}

static void a_large_command_comes_whole_byte_by_byte_too(void **state)
{
    enum { COUNT = 4000 };
    static const char *environment[COUNT + 2];
    static char value[256];
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("env | grep -c ^V=");
    struct owned *command;
    uint8_t bytes[1024];
    struct pack pack = { .bytes = bytes + FRAME_HEADER, .size = 1024 - FRAME_HEADER };
    struct frame frame = { .type = FRAME_START, .lane = 1 };

    (void)state;
    memset(value, 'v', sizeof(value) - 1);
    memcpy(value, "V=", 2);
    environment[0] = "PATH=/usr/bin:/bin";
    for (size_t i = 1; i <= COUNT; i++)
        environment[i] = value;
    start.environment = environment;
    command = owner_run(owner, 1, &start);
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_true(atoi(command->output[0]) >= 1);

    start = owner_shell("echo whole");
    assert_true(init_start_pack(&pack, &start));
    memset(frame.id, 0x5a, FRAME_ID);
    frame.id[0] = 2;
    frame.size = (uint32_t)pack.used;
    frame_header(bytes, &frame);
    owner->commands[2] = (struct owned){ .is_used = true };
    for (size_t i = 0; i < FRAME_HEADER + pack.used; i++)
        owner_send_raw(owner, bytes + i, 1);
    owner_assert_exit(owner_finish(owner, 2), INIT_HOW_EXITED, 0);
    assert_string_equal(owner->commands[2].output[0], "whole\n");
    assert_int_equal(owner_close(owner), 0);
}

/* ---- nothing piles up ---- */

static bool has_children(pid_t pid)
{
    char path[64], text[16];
    ssize_t count;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    count = read(fd, text, sizeof(text));
    (void)close(fd);
    return count != 0;
}

/* Of fds it has a few more than one command needs, so none may be lost. */
static void a_thousand_commands_leave_nothing_behind(void **state)
{
    static const char *const arguments[] = { "true", NULL };
    struct init_start start = owner_shell("");
    struct rlimit before, few = { .rlim_cur = 32 };
    struct owner *owner;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    owner = owner_ready(OWNER_CHILD);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    start.arguments = arguments;
    start.input = true;
    for (size_t i = 0; i < 1000; i++)
        owner_assert_exit(owner_run(owner, 1 + i % 60, &start), INIT_HOW_EXITED, 0);
    assert_false(has_children(owner->init_pid));
    for (size_t i = 1; i < 20; i++)
        owner_start(owner, i, &start);
    for (size_t i = 1; i < 20; i++)
        if (owner_finish(owner, i)->is_refused)
            assert_int_equal(owner->commands[i].refusal, INIT_REFUSAL_FULL);
    assert_int_equal(owner_close(owner), 0);
}

/* ---- a sandbox for one command: pid 1 is its shepherd ---- */

static struct owner *ready_once(void)
{
    struct owner *owner = owner_open(OWNER_PID1);
    struct init_config config = owner_config_plain();

    config.commands_max = 1;
    config.once = true;
    owner_configure(owner, &config);
    assert_true(owner->is_reported);
    return owner;
}

/* Init has left by itself, with the channel still open. */
static void assert_left(struct owner *owner, int status)
{
    int wait_status = owner_wait(owner);

    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), status);
    while (!owner->is_at_end)
        (void)owner_pump(owner, 1000);
    assert_false(owner->has_failed);
    assert_int_equal(count_marked(), 0);
    (void)owner_close(owner);
}

static void the_only_command_is_a_child_of_pid_1_which_leaves_after_it(void **state)
{
    struct owner *owner = ready_once();
    struct owned *command = run_marked(owner, "echo $PPID; exit 7");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 7);
    assert_string_equal(command->output[0], "1\n");
    assert_int_equal(command->exit.left_behind, 0);
    assert_left(owner, 0);
}

static void what_the_only_command_leaves_behind_is_killed_and_counted(void **state)
{
    struct owner *owner = ready_once();
    struct owned *command = run_marked(
        owner, "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; " LONG_SLEEP
               "' >/dev/null 2>&1 &); done; sleep 0.2; echo done");

    (void)state;
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "done\n");
    assert_true(command->exit.left_behind >= 3);
    assert_left(owner, 0);
}

static void the_only_command_has_its_deadline_and_dies_with_all_it_started(void **state)
{
    struct owner *owner = ready_once();
    struct init_start start = marked_shell("(setsid sh -c '" LONG_SLEEP "' &); "
                                           "kill -STOP 1 $$; " LONG_SLEEP);
    struct owned *command;

    (void)state;
    start.wall_ms_max = 200;
    command = owner_run(owner, 1, &start);
    owner_assert_exit(command, INIT_HOW_TIMED_OUT, SIGKILL);
    assert_int_equal(command->exit.left_behind, 0);
    assert_left(owner, 0);
}

static void a_signal_reaches_the_only_command_also_when_it_comes_too_early(void **state)
{
    struct owner *owner = ready_once();
    struct init_start start = marked_shell(LONG_SLEEP);
    struct owned *command;

    (void)state;
    owner_start(owner, 1, &start);
    owner_send_number(owner, FRAME_SIGNAL, 0, 1, SIGTERM);
    command = owner_finish(owner, 1);
    owner_assert_exit(command, INIT_HOW_SIGNALLED, SIGTERM);
    assert_left(owner, 0);
}

static void an_only_command_that_is_refused_was_the_only_one(void **state)
{
    static const char *const arguments[] = { "/no/such/program", NULL };
    struct owner *owner = ready_once();
    struct init_start start = marked_shell("true");
    struct owned *command;

    (void)state;
    start.arguments = arguments;
    command = owner_run(owner, 1, &start);
    assert_true(command->is_refused);
    assert_int_equal(command->refusal, INIT_REFUSAL_EXEC);
    assert_int_equal(command->error, ENOENT);
    assert_left(owner, 0);
}

/* A slow reader loses nothing: init stays until its last frame was taken. */
static void the_only_commands_output_is_whole_before_pid_1_leaves(void **state)
{
    struct owner *owner = ready_once();
    struct init_start start = marked_shell("head -c 1000000 /dev/zero; echo end >&2");
    struct owned *command;

    (void)state;
    owner_start(owner, 1, &start);
    (void)usleep(300000);
    command = owner_finish(owner, 1);
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_int_equal(command->count[0], 1000000);
    assert_string_equal(command->output[1], "end\n");
    assert_left(owner, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daemons_are_killed_and_counted),
        cmocka_unit_test(a_chain_that_forks_and_exits_is_caught),
        cmocka_unit_test(a_fork_bomb_ends_at_its_limit_and_then_altogether),
        cmocka_unit_test(killing_the_shepherd_gains_nothing),
        cmocka_unit_test(a_shepherd_killed_beside_another_command_costs_the_sandbox),
        cmocka_unit_test(a_stopped_shepherd_does_not_stop_the_deadline),
        cmocka_unit_test(pid_1_can_not_be_killed_stopped_or_looked_into),
        cmocka_unit_test(frames_can_not_be_forged_through_proc),
        cmocka_unit_test(a_stranger_on_the_pipe_does_not_hold_up_the_end),
        cmocka_unit_test(everything_dies_with_the_channel),
        cmocka_unit_test(the_only_command_is_a_child_of_pid_1_which_leaves_after_it),
        cmocka_unit_test(what_the_only_command_leaves_behind_is_killed_and_counted),
        cmocka_unit_test(the_only_command_has_its_deadline_and_dies_with_all_it_started),
        cmocka_unit_test(a_signal_reaches_the_only_command_also_when_it_comes_too_early),
        cmocka_unit_test(an_only_command_that_is_refused_was_the_only_one),
        cmocka_unit_test(the_only_commands_output_is_whole_before_pid_1_leaves),
        cmocka_unit_test(an_owner_that_does_not_read_blocks_nothing),
        cmocka_unit_test(a_wrong_frame_ends_the_sandbox),
        cmocka_unit_test(more_input_than_credit_ends_the_sandbox),
        cmocka_unit_test(messages_without_end_and_mixed_ones_end_the_sandbox),
        cmocka_unit_test(a_large_command_comes_whole_byte_by_byte_too),
        cmocka_unit_test(a_thousand_commands_leave_nothing_behind),
    };

    return cmocka_run_group_tests_name("init_attack", tests, make_mark, scene_leave);
}
