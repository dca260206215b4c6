/*
 * What the wasm executor has beyond the common contract: fuel, traps, exports, exact
 * memory, workers that may die.
 */
#include "scene.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Asks for https://a.example/, then writes the sentence; exits with the code. */
static const char ask_wat[] =
    "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
    " " WASI "\"proc_exit\" (func $x (param i32)))"
    " (import \"nacre\" \"http_request\" (func $ask (param i32 i32) (result i32)))"
    " (import \"nacre\" \"http_error\" (func $why (param i32 i32 i32) (result i32)))"
    " (memory (export \"memory\") 1)"
    " (data (i32.const 64) \"\\80\\00\\00\\00\\03\\00\\00\\00\\90\\00\\00\\00\\12\\00\\00\\00\")"
    " (data (i32.const 128) \"GET\") (data (i32.const 144) \"https://a.example/\")"
    " (func (export \"_start\") (local $code i32)"
    " (local.set $code (call $ask (i32.const 64) (i32.const 512)))"
    " (drop (call $why (i32.const 1024) (i32.const 1024) (i32.const 4)))"
    " (i32.store (i32.const 0) (i32.const 1024))"
    " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))"
    " (call $x (local.get $code))))";

static const char small_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: small}\nspec:\n  level: wasm\n"
    "  resource_limits: {memory_mb: 4, timeout_ms: 400, max_output_bytes: 2500}\n";

static struct nacre_result *run(const struct scene *scene, const char *policy_text,
                                const char *wat, const struct nacre_request *request)
{
    return scene_run(scene, policy_text, scene_module(scene, wat), request);
}

static const struct nacre_request plain = { .input_fd = -1 };

static int set_up(void **state, bool in_process)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (!scene)
        return -1;
    *state = scene;
    return scene_open(scene, (struct nacre_engine_options){ .in_process = in_process });
}

static int set_up_workers(void **state)
{
    return set_up(state, false);
}

static int set_up_in_process(void **state)
{
    return set_up(state, true);
}

static int tear_down(void **state)
{
    int failed = scene_close(*state);

    free(*state);
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

    assert_int_equal(result->outcome, NACRE_OUTCOME_TRAPPED);
    assert_int_equal(nacre_result_exit(result), 134);
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
    const struct scene *fixture = *state;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = scene_module(fixture, spawn_wat);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = scene_policy(small_policy);
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_run(fixture->engine, policy, tool, &plain, &result, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_null(result);
    assert_non_null(strstr(err.text, "wasi_unstable.proc_exec"));
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

static void a_guest_without_a_network_is_told_so(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run(*state, small_policy, ask_wat, &plain);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 1); /* denied */
    assert_non_null(strstr(result->output.bytes, "no network"));
    assert_int_equal(result->denial_count, 1);
    assert_string_equal(result->denials[0].code, "no-network");
    assert_string_equal(result->denials[0].rule, "capabilities.network.mode");
    assert_int_equal(result->egress_seen, 0);
}

#define COMMON                                                        \
    cmocka_unit_test(a_guest_runs_and_says_so),                       \
    cmocka_unit_test(fuel_is_an_exact_and_repeatable_budget),         \
    cmocka_unit_test(memory_is_bounded_exactly_and_its_peak_is_told), \
    cmocka_unit_test(a_trap_names_the_functions),                     \
    cmocka_unit_test(an_export_is_invoked_with_typed_values),         \
    cmocka_unit_test(a_guest_without_a_network_is_told_so),           \
    cmocka_unit_test(what_cannot_run_says_why)

int main(void)
{
    const struct CMUnitTest workers[] = {
        COMMON,
        cmocka_unit_test(a_worker_that_dies_is_an_outcome_and_is_replaced),
    };
    const struct CMUnitTest in_process[] = {
        COMMON,
        cmocka_unit_test(an_engine_in_process_claims_no_wall_of_a_worker),
    };

    return cmocka_run_group_tests_name("wasm workers", workers, set_up_workers,
                                       tear_down) +
           cmocka_run_group_tests_name("wasm in-process", in_process, set_up_in_process,
                                       tear_down);
}
