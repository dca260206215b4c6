/*
 * What holds for every executor, seen as an embedder sees it: from several threads,
 * through libnacre alone.  Each test runs once for each executor there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/clock.h"
#include "nacre/nacre.h"
#include "nacre/tree.h"

#define WASI "(import \"wasi_snapshot_preview1\" "

static const char hello_wat[] =
    "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
    " (memory (export \"memory\") 1) (data (i32.const 16) \"hello\\n\")"
    " (func (export \"_start\") (i32.store (i32.const 0) (i32.const 16))"
    " (i32.store (i32.const 4) (i32.const 6))"
    " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))";
/* Exits with 1 if its memory holds anything but zeros, then fills it. */
static const char dirty_wat[] =
    "(module " WASI "\"proc_exit\" (func $x (param i32)))"
    " (memory (export \"memory\") 6) (func (export \"_start\") (local $i i32)"
    " (loop $l (if (i32.ne (i32.load (local.get $i)) (i32.const 0))"
    "   (then (call $x (i32.const 1))))"
    "  (local.set $i (i32.add (local.get $i) (i32.const 4)))"
    "  (br_if $l (i32.lt_u (local.get $i) (i32.const 393216))))"
    " (memory.fill (i32.const 0) (i32.const 255) (i32.const 393216))))";
static const char loop_wat[] = "(module (func (export \"_start\") (loop (br 0))))";
static const char trap_wat[] =
    "(module (func $inner unreachable) (func (export \"_start\") (call $inner)))";
static const char exit_wat[] =
    "(module " WASI "\"proc_exit\" (func $x (param i32))) (memory (export \"memory\") 1)"
    " (func (export \"_start\") (call $x (i32.const 42))))";
static const char flood_wat[] =
    "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
    " (memory (export \"memory\") 1) (func (export \"_start\")"
    " (memory.fill (i32.const 16) (i32.const 65) (i32.const 1000))"
    " (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 1000))"
    " (loop $l (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))"
    " (br $l))))";
/* Grows until refused, then traps, as an allocator that gives up does. */
static const char grow_wat[] =
    "(module (memory (export \"memory\") 1) (func (export \"_start\")"
    " (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))"
    " unreachable))";
static const char sum_wat[] =
    "(module (func (export \"sum\") (param i32 i64 f64) (result i64 f64)"
    " (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1))"
    " (f64.mul (local.get 2) (f64.const 2))))";
static const char spawn_wat[] =
    "(module (import \"wasi_unstable\" \"proc_exec\" (func)) (func (export \"_start\")))";

static const char small_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: small}\nspec:\n  level: wasm\n"
    "  resource_limits: {memory_mb: 4, timeout_ms: 400, max_output_bytes: 2500}\n";
static const char network_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: network}\nspec:\n  level: wasm\n"
    "  capabilities: {network: {mode: allow-all}}\n";

/* cmocka puts its own handlers in place for each test; a guest's trap in this process
 * needs the engine's. */
static const int trap_signals[] = { SIGILL, SIGSEGV, SIGFPE, SIGBUS };

struct fixture {
    struct sigaction traps[4];
    char dir[64];
    struct nacre_engine *engine;
    bool in_process;
};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static struct nacre_tool *tool_of(const struct fixture *fixture, const char *wat)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/guest.wat", fixture->dir);
    write_file(path, wat);
    assert_int_equal(nacre_tool_load(path, &tool, &err), NACRE_OK);
    return tool;
}

static struct nacre_policy *policy_of(const char *text)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_policy_parse("test.yaml", text, strlen(text), &policy, &err),
                     NACRE_OK);
    return policy;
}

/* Runs `wat` under `policy_text` and hands the result over. */
static struct nacre_result *run(const struct fixture *fixture, const char *policy_text,
                                const char *wat, const struct nacre_request *request)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tool_of(fixture, wat);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(policy_text);
    struct nacre_result *result = NULL;
    struct nacre_error err;

    for (size_t i = 0; fixture->in_process && i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], &fixture->traps[i], NULL);
    if (nacre_run(fixture->engine, policy, tool, request, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return result;
}

static const struct nacre_request plain = { .input_fd = -1 };

static int set_up(void **state, bool in_process)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct nacre_engine_options options = { .in_process = in_process };
    char state_dir[96], cache_dir[96], key_dir[96];
    struct nacre_error err;

    if (!fixture)
        return -1;
    (void)snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/nacre-contract-XXXXXX");
    if (!mkdtemp(fixture->dir))
        return -1;
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", fixture->dir);
    (void)snprintf(cache_dir, sizeof(cache_dir), "%s/cache", fixture->dir);
    (void)snprintf(key_dir, sizeof(key_dir), "%s/keys", fixture->dir);
    options.state_dir = state_dir;
    options.cache_dir = cache_dir;
    options.key_dir = key_dir;
    fixture->in_process = in_process;
    if (nacre_engine_open(&options, &fixture->engine, &err) != NACRE_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    for (size_t i = 0; i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], NULL, &fixture->traps[i]);
    *state = fixture;
    return 0;
}

static int set_up_workers(void **state)
{
    return set_up(state, false);
}

static int set_up_in_process(void **state)
{
    return set_up(state, true);
}

/* The log of a whole group of tests verifies, and every run in it has ended. */
static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    struct nacre_audit_report report;
    struct nacre_error err;
    char audit[128], keys[128];
    int failed = 0;

    nacre_engine_free(fixture->engine);
    (void)snprintf(audit, sizeof(audit), "%s/state/audit.jsonl", fixture->dir);
    (void)snprintf(keys, sizeof(keys), "%s/keys", fixture->dir);
    if (nacre_audit_verify(audit, keys, &report, &err) != NACRE_OK ||
        report.open_runs != 0 || report.records == 0) {
        print_error("audit: %s\n", err.text);
        failed = -1;
    }
    if (nacre_tree_remove(AT_FDCWD, fixture->dir, &err) != NACRE_OK)
        failed = -1;
    free(fixture);
    return failed;
}

static void a_guest_runs_and_says_so(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, hello_wat, &plain);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 0);
    assert_string_equal(result->output.bytes, "hello\n");
    assert_int_equal(result->errors.size, 0);
    assert_true(result->usage.fuel > 0);
    assert_true(result->usage.fuel_exact);
    assert_int_equal(result->usage.memory_bytes_peak, 65536);
    assert_int_equal(result->usage.bytes_written, 6);
}

static void each_ending_is_told_apart(void **state)
{
    static const struct {
        const char *wat;
        enum nacre_outcome outcome;
        int exit;
    } cases[] = {
        { exit_wat, NACRE_OUTCOME_EXITED, 42 },
        { trap_wat, NACRE_OUTCOME_TRAPPED, 134 },
        { loop_wat, NACRE_OUTCOME_TIMED_OUT, 124 },
        { flood_wat, NACRE_OUTCOME_OUTPUT_LIMIT, 153 },
        { grow_wat, NACRE_OUTCOME_OUT_OF_MEMORY, 137 },
    };

    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run(*state, small_policy, cases[i].wat, &plain);

        assert_int_equal(result->outcome, cases[i].outcome);
        assert_int_equal(nacre_result_exit(result), cases[i].exit);
    }
}

static void fuel_is_an_exact_and_repeatable_budget(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *once =
        run(*state, small_policy, dirty_wat, &plain);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *twice =
        run(*state, small_policy, dirty_wat, &plain);
    struct nacre_request request = plain;

    assert_int_equal(once->usage.fuel, twice->usage.fuel);
    /* The budget counts the last instruction's charge too: one less is not enough. */
    request.fuel = once->usage.fuel + 1;
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *enough =
            run(*state, small_policy, dirty_wat, &request);

        assert_int_equal(enough->outcome, NACRE_OUTCOME_EXITED);
    }
    request.fuel = once->usage.fuel - 1;
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *short_of =
            run(*state, small_policy, dirty_wat, &request);

        assert_int_equal(short_of->outcome, NACRE_OUTCOME_OUT_OF_FUEL);
    }
}

static void nothing_of_a_run_is_seen_by_the_next(void **state)
{
    for (int i = 0; i < 20; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run(*state, small_policy, dirty_wat, &plain);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(result->exit_status, 0);
    }
}

static void output_is_cut_at_the_byte_and_flagged(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, flood_wat, &plain);

    assert_int_equal(result->output.size, 2500);
    assert_true(result->output_cut);
    for (size_t i = 0; i < result->output.size; i++)
        assert_int_equal(result->output.bytes[i], 'A');
}

static void memory_is_bounded_exactly_and_its_peak_is_told(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, grow_wat, &plain);

    assert_true(result->usage.memory_refused);
    assert_true(result->usage.memory_bytes_peak <= 4u << 20);
    assert_true(result->usage.memory_bytes_peak > (4u << 20) - 17 * 65536);
}

static void a_trap_names_the_functions(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, trap_wat, &plain);

    assert_non_null(strstr(result->reason, "unreachable"));
    assert_non_null(strstr(result->reason, "at inner"));
}

static void an_export_is_invoked_with_typed_values(void **state)
{
    const char *const arguments[] = { "-2", "44", "1.5", NULL };
    struct nacre_request request = { .input_fd = -1,
                                     .invoke = "sum",
                                     .arguments = arguments };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, sum_wat, &request);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_string_equal(result->values.bytes, "[42,3]");
}

static void what_cannot_run_says_why(void **state)
{
    const struct fixture *fixture = *state;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tool_of(fixture, spawn_wat);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(small_policy);
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_run(fixture->engine, policy, tool, &plain, &result, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_null(result);
    assert_non_null(strstr(err.text, "wasi_unstable.proc_exec"));
}

static void what_cannot_be_enforced_is_denied_with_its_line(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, network_policy, hello_wat, &plain);

    assert_int_equal(result->outcome, NACRE_OUTCOME_DENIED);
    assert_int_equal(result->denial_count, 1);
    assert_int_equal(result->denials[0].place.line, 6);
    assert_int_equal(result->output.size, 0);
}

static void collect(void *data, int stream, const char *bytes, size_t count)
{
    struct nacre_buf *buf = data;
    struct nacre_error err;

    assert_int_equal(stream, 1);
    assert_int_equal(nacre_buf_add(buf, bytes, count, &err), NACRE_OK);
}

static void output_is_streamed_whole_and_in_order(void **state)
{
    struct nacre_buf seen = NACRE_BUF(10000);
    const struct nacre_request request = { .input_fd = -1, .on_output = collect,
                                           .on_output_data = &seen, .stream_only = true };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, flood_wat, &request);

    assert_int_equal(result->output.size, 0);
    assert_int_equal(seen.size, 2500);
    nacre_buf_clear(&seen);
}

#define THREADS 4
#define CALLS 100

struct caller {
    const struct fixture *fixture;
    const struct nacre_policy *policy;
    const struct nacre_tool *tool;
    int good;
};

static void *call_often(void *data)
{
    struct caller *caller = data;
    char name[32];
    const struct nacre_request request = { .input_fd = -1, .session = name };

    (void)snprintf(name, sizeof(name), "%p", data);
    for (int i = 0; i < CALLS; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_error err;

        if (nacre_run(caller->fixture->engine, caller->policy, caller->tool, &request,
                      &result, &err) == NACRE_OK &&
            result->outcome == NACRE_OUTCOME_EXITED && result->output.size == 6)
            caller->good++;
    }
    return NULL;
}

static void several_threads_share_an_engine(void **state)
{
    const struct fixture *fixture = *state;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tool_of(fixture, hello_wat);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(small_policy);
    struct caller callers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){ fixture, policy, tool, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].good, CALLS);
    }
}

/* Processes called nacre-worker that are ours: children of a zygote that is our child. */
static int kill_workers(int number)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int killed = 0;

    assert_non_null(proc);
    while ((entry = readdir(proc)) != NULL) {
        char path[300], line[256];
        int pid, parent, grandparent = 0;
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        file = fopen(path, "re");
        if (!file)
            continue;
        if (fgets(line, sizeof(line), file) &&
            sscanf(line, "%d (nacre-worker) %*c %d", &pid, &parent) == 2) {
            FILE *up;

            (void)snprintf(path, sizeof(path), "/proc/%d/stat", parent);
            up = fopen(path, "re");
            if (up) {
                if (fgets(line, sizeof(line), up))
                    (void)sscanf(line, "%*d (%*[^)]) %*c %d", &grandparent);
                (void)fclose(up);
            }
            if (grandparent == getpid() && kill(pid, number) == 0)
                killed++;
        }
        (void)fclose(file);
    }
    (void)closedir(proc);
    return killed;
}

static void *kill_soon(void *data)
{
    int *killed = data;

    for (int i = 0; i < 100 && *killed == 0; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        *killed = kill_workers(SIGKILL);
    }
    return NULL;
}

static const char patient_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: patient}\nspec:\n  level: wasm\n"
    "  resource_limits: {timeout_ms: 60000}\n";

static void a_worker_that_dies_is_an_outcome_and_is_replaced(void **state)
{
    pthread_t killer;
    int killed = 0;

    assert_int_equal(pthread_create(&killer, NULL, kill_soon, &killed), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run(*state, patient_policy, loop_wat, &plain);

        assert_int_equal(pthread_join(killer, NULL), 0);
        assert_true(killed > 0);
        assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
        assert_int_equal(result->signal, SIGKILL);
        assert_int_equal(nacre_result_exit(result), 137);
    }
    a_guest_runs_and_says_so(state);
    /* An idle worker that dies is not noticed until it is needed, and then replaced. */
    assert_true(kill_workers(SIGKILL) > 0);
    a_guest_runs_and_says_so(state);
}

static void *cancel_soon(void *data)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    nacre_cancel(data, SIGTERM);
    return NULL;
}

/* The last test of its group: a cancelled engine stays cancelled. */
static void cancelling_ends_a_run_as_if_by_a_signal(void **state)
{
    const struct fixture *fixture = *state;
    pthread_t canceller;

    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, fixture->engine), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run(*state, patient_policy, loop_wat, &plain);

        assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
        assert_int_equal(nacre_result_exit(result), 128 + SIGTERM);
    }
    assert_int_equal(pthread_join(canceller, NULL), 0);
}

/* Whoever gives the walls up is told so by every result. */
static void an_engine_in_process_claims_no_wall_of_a_worker(void **state)
{
    static const struct {
        const char *name;
        bool present;
    } walls[] = {
        { "worker", false }, { "seccomp", false }, { "landlock", false },
        { "rlimits", false }, { "wasm", true },    { "fuel", true },
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, hello_wat, &plain);

    for (size_t i = 0; i < NACRE_COUNT(walls); i++) {
        uint32_t at = 0;

        while (at < result->mechanism_count &&
               strcmp(result->mechanisms[at].name, walls[i].name) != 0)
            at++;
        assert_true(at < result->mechanism_count);
        assert_int_equal(result->mechanisms[at].present, walls[i].present);
    }
}

#define COMMON                                                        \
    cmocka_unit_test(a_guest_runs_and_says_so),                       \
    cmocka_unit_test(each_ending_is_told_apart),                      \
    cmocka_unit_test(fuel_is_an_exact_and_repeatable_budget),         \
    cmocka_unit_test(nothing_of_a_run_is_seen_by_the_next),           \
    cmocka_unit_test(output_is_cut_at_the_byte_and_flagged),          \
    cmocka_unit_test(memory_is_bounded_exactly_and_its_peak_is_told), \
    cmocka_unit_test(a_trap_names_the_functions),                     \
    cmocka_unit_test(an_export_is_invoked_with_typed_values),         \
    cmocka_unit_test(what_cannot_run_says_why),                       \
    cmocka_unit_test(what_cannot_be_enforced_is_denied_with_its_line), \
    cmocka_unit_test(output_is_streamed_whole_and_in_order),          \
    cmocka_unit_test(several_threads_share_an_engine)

int main(void)
{
    const struct CMUnitTest workers[] = {
        COMMON,
        cmocka_unit_test(a_worker_that_dies_is_an_outcome_and_is_replaced),
        cmocka_unit_test(cancelling_ends_a_run_as_if_by_a_signal),
    };
    const struct CMUnitTest in_process[] = {
        COMMON,
        cmocka_unit_test(an_engine_in_process_claims_no_wall_of_a_worker),
    };

    return cmocka_run_group_tests_name("contract: wasm workers", workers, set_up_workers,
                                       tear_down) +
           cmocka_run_group_tests_name("contract: wasm in-process", in_process,
                                       set_up_in_process, tear_down);
}
