/*
 * A program that runs one guest and ends: its zygote becomes the worker without an answer
 * and begins the call that came along.  Whatever happens to it before the guest begins
 * is told for what it is, or made good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "nacre/nacre.h"
#include "scene.h"
#include "wt_share.h"

/* Writes what it reads: up to 64 bytes. */
static const char echo_wat[] =
    "(module (import \"wasi_snapshot_preview1\" \"fd_read\""
    "  (func $r (param i32 i32 i32 i32) (result i32)))"
    " (import \"wasi_snapshot_preview1\" \"fd_write\""
    "  (func $w (param i32 i32 i32 i32) (result i32)))"
    " (memory (export \"memory\") 1)"
    " (func (export \"_start\") (i32.store (i32.const 0) (i32.const 16))"
    " (i32.store (i32.const 4) (i32.const 64))"
    " (drop (call $r (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))"
    " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))";

/* Exits with the length of its arguments, in KiB. */
static const char length_wat[] =
    "(module (import \"wasi_snapshot_preview1\" \"args_sizes_get\""
    "  (func $a (param i32 i32) (result i32)))"
    " (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $e (param i32)))"
    " (memory (export \"memory\") 1)"
    " (func (export \"_start\") (drop (call $a (i32.const 0) (i32.const 4)))"
    " (call $e (i32.shr_u (i32.load (i32.const 4)) (i32.const 10)))))";

static const char policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: hasty}\nspec:\n  level: wasm\n"
    "  capabilities: {filesystem: {mode: scoped, mount_paths: "
    "[{path: /workspace, permissions: rw}]}}\n"
    "  resource_limits: {timeout_ms: 2000}\n";

static struct nacre_engine *open_engine(uint32_t landlock_min)
{
    const struct nacre_engine_options options = {
        .fork_self = true, .single_run = true, .audit_off = true,
        .landlock_min = landlock_min,
        .state_dir = "state", .cache_dir = "cache", .key_dir = "keys",
    };
    struct nacre_engine *engine = NULL;
    struct nacre_error err;

    if (nacre_engine_open(&options, &engine, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return engine;
}

static enum nacre_status run(struct nacre_engine *engine, const char *wat,
                             const struct nacre_request *request,
                             struct nacre_result **ret_result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;

    scene_file("guest.wat", wat);
    assert_int_equal(nacre_tool_load("guest.wat", &tool, err), NACRE_OK);
    assert_int_equal(nacre_policy_parse("p.yaml", policy_text, strlen(policy_text),
                                        &policy, err),
                     NACRE_OK);
    return nacre_run(engine, policy, tool, request, ret_result, err);
}

static const struct nacre_request plain;

/* With `text` as its input. */
static struct nacre_result *run_echo(struct nacre_engine *engine, const char *text,
                                     struct nacre_request request)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;
    int input[2];

    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(write(input[1], text, strlen(text)), strlen(text));
    (void)close(input[1]);
    request.input_fd = input[0];
    if (run(engine, echo_wat, &request, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    (void)close(input[0]);
    return result;
}

static void assert_echoes(struct nacre_engine *engine, const char *text)
{
    NACRE_AUTO(nacre_result_guard)
    struct nacre_result *result = run_echo(engine, text, plain);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->output.size, strlen(text));
    assert_memory_equal(result->output.bytes, text, strlen(text));
}

/* The code is in the cache afterwards: compiling needs a zygote that forks. */
static void compile(void)
{
    struct nacre_engine *engine = open_engine(0);

    assert_echoes(engine, "first");
    nacre_engine_free(engine);
}

/* The one child of this process, zombie or not; 0 when there is none. */
static pid_t child_pid(void)
{
    char path[64], text[64] = "";
    FILE *file;
    int pid = 0;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    assert_non_null(file);
    if (fgets(text, sizeof(text), file))
        assert_int_equal(sscanf(text, "%d%*s", &pid), 1);
    (void)fclose(file);
    return pid;
}

/* A program that ends leaves a dying worker to init; a test that goes on is its init. */
static void assert_nothing_is_left(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_int_equal(errno, ECHILD);
}

static void the_zygote_itself_runs_the_call_that_came_along(void **state)
{
    struct nacre_engine *engine;
    pid_t zygote;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    zygote = child_pid();
    assert_true(zygote > 0);
    assert_echoes(engine, "one");
    assert_int_equal(child_pid(), zygote);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void its_worker_is_gone_though_the_engine_is_open(void **state)
{
    struct nacre_engine *engine;
    siginfo_t info;
    pid_t zygote;

    (void)state;
    engine = open_engine(0);
    zygote = child_pid();
    assert_echoes(engine, "one");
    assert_int_equal(waitid(P_PID, (id_t)zygote, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, SIGKILL);
    assert_echoes(engine, "two"); /* one too many, in a worker of its own */
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void see_where(void *data, int stream, const char *bytes, size_t count)
{
    (void)stream;
    (void)bytes;
    (void)count;
    assert_int_equal(sched_getaffinity(child_pid(), sizeof(cpu_set_t), data), 0);
}

static void a_zygote_that_was_moved_may_run_everywhere_again(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_request request = { .on_output = see_where };
    struct nacre_engine *engine;
    cpu_set_t ours, its;

    (void)state;
    CPU_ZERO(&its);
    request.on_output_data = &its;
    engine = open_engine(0);
    result = run_echo(engine, "where", request);
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    assert_true(CPU_EQUAL(&ours, &its));
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void a_zygote_killed_before_it_is_asked_is_replaced(void **state)
{
    struct nacre_engine *engine;
    pid_t zygote;
    siginfo_t info;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    zygote = child_pid();
    assert_int_equal(kill(zygote, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)zygote, &info, WEXITED | WNOWAIT), 0);
    assert_echoes(engine, "still");
    assert_int_not_equal(child_pid(), zygote);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void a_zygote_killed_when_it_was_asked_is_replaced(void **state)
{
    struct nacre_engine *engine;
    pid_t zygote, killer;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    zygote = child_pid();
    assert_int_equal(kill(zygote, SIGSTOP), 0);
    killer = fork();
    if (killer == 0) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
        _exit(kill(zygote, SIGKILL) != 0);
    }
    assert_true(killer > 0);
    assert_echoes(engine, "again");
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void a_zygote_that_never_gets_ready_ends_at_the_deadline(void **state)
{
    struct nacre_engine *engine;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    assert_int_equal(kill(child_pid(), SIGSTOP), 0);
    {
        NACRE_AUTO(nacre_result_guard)
        struct nacre_result *result = run_echo(engine, "never", plain);

        assert_int_equal(result->outcome, NACRE_OUTCOME_TIMED_OUT);
        assert_int_equal(result->output.size, 0);
    }
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void walls_that_cannot_stand_are_named(void **state)
{
    struct nacre_engine *engine;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(99);
    {
        NACRE_AUTO(nacre_result_guard)
        struct nacre_result *result = run_echo(engine, "high", plain);

        assert_int_equal(result->outcome, NACRE_OUTCOME_DENIED);
        assert_int_equal(result->denial_count, 1);
        assert_non_null(strstr(result->denials[0].text, "Landlock ABI 99 is required"));
    }
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void input_that_is_no_fd_is_the_callers_mistake(void **state)
{
    const struct nacre_request request = { .input_fd = 9999 };
    struct nacre_engine *engine;
    struct nacre_result *result;
    struct nacre_error err;

    (void)state;
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    assert_int_equal(run(engine, echo_wat, &request, &result, &err), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "input"));
    assert_echoes(engine, "fine");
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void input_may_be_bytes_and_bytes_have_a_limit(void **state)
{
    static char text[NACRE_REQUEST_INPUT_MAX + 1];
    struct nacre_request request = { .input_fd = 9999, .input = text };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_engine *engine;
    struct nacre_error err;

    (void)state;
    memset(text, 'a', sizeof(text));
    compile();
    assert_nothing_is_left();
    engine = open_engine(0);
    request.input_bytes = sizeof(text);
    assert_int_equal(run(engine, echo_wat, &request, &result, &err), NACRE_ERR_USAGE);
    assert_non_null(strstr(err.text, "256 KiB"));
    for (size_t i = 0; i < 3; i++) {
        request.input_bytes = (const size_t[]){ sizeof(text) - 1, 3, 0 }[i];
        assert_int_equal(run(engine, echo_wat, &request, &result, &err), NACRE_OK);
        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(result->output.size, i == 0 ? 64 : request.input_bytes);
        assert_memory_equal(result->output.bytes ? result->output.bytes : "", text,
                            result->output.size);
        nacre_result_free(nacre_result_take(&result));
    }
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

/* Behind the mounts' names there is a little less room than a later call has. */
static void arguments_arrive_whole_however_long(void **state)
{
    static char text[WT_TEXT_BYTES + 1];
    const char *const arguments[] = { text, NULL };
    const struct nacre_request request = { .input_fd = -1, .arguments = arguments };
    const size_t most = WT_TEXT_BYTES - sizeof("guest.wat") - 1;
    const size_t lengths[] = { 3000, most - 1, most, most + 1 };

    (void)state;
    memset(text, 'a', WT_TEXT_BYTES);
    for (size_t i = 0; i < NACRE_COUNT(lengths); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_engine *engine = open_engine(0);
        enum nacre_status status;
        struct nacre_error err;

        text[lengths[i]] = '\0';
        status = run(engine, length_wat, &request, &result, &err);
        text[lengths[i]] = 'a';
        if (lengths[i] <= most) {
            assert_int_equal(status, NACRE_OK);
            assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
            assert_int_equal(result->exit_status,
                             (lengths[i] + 1 + sizeof("guest.wat")) >> 10);
        } else {
            assert_int_equal(status, NACRE_ERR_TOO_BIG);
        }
        nacre_engine_free(engine);
        assert_nothing_is_left();
    }
}

/* It would fork a process that may have threads. */
static void without_the_program_no_guest_runs_in_an_engine_for_commands(void **state)
{
    const struct nacre_engine_options options = {
        .commands_only = true, .audit_off = true,
        .state_dir = "state", .cache_dir = "cache", .key_dir = "keys",
    };
    const struct nacre_request request = { .input_fd = -1 };
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    char *path = strdup(getenv("PATH"));
    struct nacre_error err;

    (void)state;
    assert_non_null(path);
    (void)setenv("PATH", "/nowhere", 1);
    (void)unsetenv("NACRE_PROGRAM");
    assert_int_equal(nacre_engine_open(&options, &engine, &err), NACRE_OK);
    assert_int_equal(run(engine, echo_wat, &request, &result, &err), NACRE_OK);
    assert_int_equal(result->outcome, NACRE_OUTCOME_DENIED);
    assert_non_null(strstr(result->denials[0].text, "NACRE_PROGRAM"));
    assert_int_equal(child_pid(), 0);
    (void)setenv("PATH", path, 1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zygote_itself_runs_the_call_that_came_along),
        cmocka_unit_test(its_worker_is_gone_though_the_engine_is_open),
        cmocka_unit_test(a_zygote_that_was_moved_may_run_everywhere_again),
        cmocka_unit_test(a_zygote_killed_before_it_is_asked_is_replaced),
        cmocka_unit_test(a_zygote_killed_when_it_was_asked_is_replaced),
        cmocka_unit_test(a_zygote_that_never_gets_ready_ends_at_the_deadline),
        cmocka_unit_test(walls_that_cannot_stand_are_named),
        cmocka_unit_test(input_that_is_no_fd_is_the_callers_mistake),
        cmocka_unit_test(input_may_be_bytes_and_bytes_have_a_limit),
        cmocka_unit_test(arguments_arrive_whole_however_long),
        cmocka_unit_test(without_the_program_no_guest_runs_in_an_engine_for_commands),
    };

    return cmocka_run_group_tests_name("wt_single", tests, scene_enter, scene_leave);
}
