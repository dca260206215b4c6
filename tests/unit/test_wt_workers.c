/*
 * The supervisor's hold on its workers: whatever a worker, the zygote or the caller's own
 * signals do, a run ends by its deadline with an outcome, the next one is served, and
 * nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "fake_zygote.h"
#include "nacre/nacre.h"
#include "scene.h"

#define OUTPUT_MAX 2500

static const char hello_wat[] =
    "(module (import \"wasi_snapshot_preview1\" \"fd_write\""
    "  (func $w (param i32 i32 i32 i32) (result i32)))"
    " (memory (export \"memory\") 1) (data (i32.const 16) \"hello\\n\")"
    " (func (export \"_start\") (i32.store (i32.const 0) (i32.const 16))"
    " (i32.store (i32.const 4) (i32.const 6))"
    " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))";
static const char loop_wat[] = "(module (func (export \"_start\") (loop (br 0))))";
static const char wild_wat[] =
    "(module (memory (export \"memory\") 1)"
    " (func (export \"_start\") (drop (i32.load (i32.const -4)))))";

static const char hasty_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: hasty}\nspec:\n  level: wasm\n"
    "  resource_limits: {timeout_ms: 400, max_output_bytes: 2500}\n";
static const char patient_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: patient}\nspec:\n  level: wasm\n"
    "  resource_limits: {timeout_ms: 50000, max_output_bytes: 2500}\n";
static const char missing_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: missing}\nspec:\n  level: wasm\n"
    "  capabilities: {filesystem: {mode: scoped, mount_paths: "
    "[{path: /nacre-is-not-there, permissions: ro}]}}\n";

static char self[NACRE_PATH_MAX];
static const struct nacre_request plain = { .input_fd = -1 };

static struct nacre_engine *open_engine(const char *program, bool in_process)
{
    const struct nacre_engine_options options = {
        .program = program, .fork_self = !program, .in_process = in_process,
        .audit_off = true,
        .state_dir = "state", .cache_dir = "cache", .key_dir = "keys",
    };
    struct nacre_engine *engine = NULL;
    struct nacre_error err;

    if (nacre_engine_open(&options, &engine, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return engine;
}

/* NULL with `err` when the host says that it failed. */
static struct nacre_result *try_run(struct nacre_engine *engine, const char *policy_text,
                                    const char *wat, const struct nacre_request *request,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_result *result = NULL;

    scene_file("guest.wat", wat);
    assert_int_equal(nacre_tool_load("guest.wat", &tool, err), NACRE_OK);
    assert_int_equal(nacre_policy_parse("p.yaml", policy_text, strlen(policy_text),
                                        &policy, err),
                     NACRE_OK);
    if (nacre_run(engine, policy, tool, request, &result, err) != NACRE_OK)
        return NULL;
    return result;
}

static enum nacre_outcome run(struct nacre_engine *engine, const char *policy_text,
                              const char *wat)
{
    struct nacre_error err;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        try_run(engine, policy_text, wat, &plain, &err);

    if (!result)
        fail_msg("%s", err.text);
    return result->outcome;
}

static void assert_serves(struct nacre_engine *engine)
{
    assert_int_equal(run(engine, hasty_policy, hello_wat), NACRE_OUTCOME_EXITED);
}

/* ---- the process list ---- */

struct process {
    int pid, parent;
    char name[32], kind;
};

static bool process_read(const char *pid, struct process *ret_process)
{
    char path[300], line[256];
    bool ok;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    ok = fgets(line, sizeof(line), file) &&
         sscanf(line, "%d (%31[^)]) %c %d", &ret_process->pid, ret_process->name,
                &ret_process->kind, &ret_process->parent) == 4;
    (void)fclose(file);
    return ok;
}

/* How many children of `parent` are called `name` (NULL: anything) and are in state
 * `kind` (0: any); *ret_pid is one of them. */
static int children(int parent, const char *name, char kind, int *ret_pid)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    assert_non_null(proc);
    while ((entry = readdir(proc)) != NULL) {
        struct process process;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
            !process_read(entry->d_name, &process) || process.parent != parent ||
            (name && strcmp(process.name, name) != 0) || (kind && process.kind != kind))
            continue;
        *ret_pid = process.pid;
        count++;
    }
    (void)closedir(proc);
    return count;
}

static int zygote_pid(void)
{
    int pid = 0;

    assert_int_equal(children(getpid(), "nacre-zygote", 0, &pid), 1);
    return pid;
}

static int worker_pid(void)
{
    int pid = 0;

    assert_int_equal(children(zygote_pid(), "nacre-worker", 0, &pid), 1);
    return pid;
}

static void assert_nothing_is_left(void)
{
    int pid;

    assert_int_equal(children(getpid(), NULL, 0, &pid), 0);
}

/* ---- workers that guests have taken over ---- */

#define MASK(outcome) (1u << NACRE_OUTCOME_##outcome)

static struct nacre_engine *open_fake(const char *deed)
{
    char text[2 * NACRE_PATH_MAX], path[NACRE_PATH_MAX];

    /* The code comes from the cache: a fake compiles nothing. */
    struct nacre_engine *real = open_engine(NULL, false);

    assert_serves(real);
    nacre_engine_free(real);
    (void)snprintf(text, sizeof(text), "#!/bin/sh\nexec %s fake %s\n", self, deed);
    scene_file("fake", text);
    assert_int_equal(chmod("fake", 0700), 0);
    return open_engine(scene_path(path, "fake"), false);
}

static void a_worker_that_misbehaves_ends_as_its_guest(void **state)
{
    static const struct {
        const char *deed;
        uint32_t outcomes; /* 0: it never was a worker, and the host says so */
        const char *said;
    } cases[] = {
        { "silent", MASK(TIMED_OUT), "before the guest began" },
        { "dies-early", 0, "died while it was set up" },
        { "no-walls", 0, "xxx" },
        { "mute", MASK(TIMED_OUT), "" },
        { "dies-late", MASK(KILLED), "the worker was killed" },
        { "dies-unbegun", MASK(KILLED), "the worker was killed" },
        { "scribbles", MASK(TIMED_OUT), "" },
        { "says-dead", MASK(KILLED), "the worker was killed" },
        { "forges-backend", MASK(KILLED), "made no sense" },
        { "forges-io", MASK(KILLED), "could not begin" },
        { "forges-memory", MASK(KILLED), "could not begin" },
        { "forges-denied", MASK(KILLED), "made no sense" },
        { "forges-outcome", MASK(KILLED), "made no sense" },
        { "shrinks", MASK(EXITED), "" },
    };
    int fds = scene_fds();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        struct nacre_engine *engine = open_fake(cases[i].deed);

        for (int again = 0; again < 2; again++) {
            struct nacre_error err = { .text = "" };
            NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
                try_run(engine, hasty_policy, hello_wat, &plain, &err);

            if ((result != NULL) != (cases[i].outcomes != 0) ||
                !strstr(result ? result->reason : err.text, cases[i].said) ||
                (result && !(1u << result->outcome & cases[i].outcomes)))
                fail_msg("%s: outcome %d, '%s'", cases[i].deed,
                         result ? (int)result->outcome : 0,
                         result ? result->reason : err.text);
            if (result && result->outcome == NACRE_OUTCOME_EXITED)
                assert_int_equal(result->exit_status, 42);
            if (result)
                assert_true(result->output.size <= OUTPUT_MAX);
        }
        nacre_engine_free(engine);
        assert_int_equal(scene_fds(), fds);
        assert_nothing_is_left();
    }
}

static void count_bytes(void *data, int stream, const char *bytes, size_t count)
{
    (void)bytes;
    ((uint64_t *)data)[stream - 1] += count;
}

static void output_that_falls_and_rises_is_shown_once(void **state)
{
    struct nacre_engine *engine = open_fake("rewinds");
    uint64_t shown[2] = { 0, 0 };
    const struct nacre_request request = { .input_fd = -1, .on_output = count_bytes,
                                           .on_output_data = shown, .stream_only = true };
    struct nacre_error err;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        try_run(engine, patient_policy, hello_wat, &request, &err);

    (void)state;
    assert_non_null(result);
    assert_int_equal(shown[0], OUTPUT_MAX);
    assert_int_equal(shown[1], OUTPUT_MAX);
    nacre_engine_free(engine);
}

static void input_that_is_never_taken_blocks_nobody(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct nacre_engine *engine = open_fake("hoards");
    const struct nacre_request request = { .input_fd = null_fd };
    int fds = scene_fds();

    (void)state;
    for (int i = 0; i < 700; i++) {
        struct nacre_error err;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            try_run(engine, hasty_policy, hello_wat, &request, &err);

        if (!result)
            fail_msg("%s", err.text);
    }
    assert_true(scene_fds() < fds + 10);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void input_that_is_no_fd_is_the_callers_mistake(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);
    const struct nacre_request request = { .input_fd = 999 };
    struct nacre_error err;

    (void)state;
    assert_null(try_run(engine, hasty_policy, hello_wat, &request, &err));
    assert_non_null(strstr(err.text, "can't hand over the guest's input"));
    assert_serves(engine);
    nacre_engine_free(engine);
}

/* ---- workers and zygotes that are stopped or killed ---- */

static void a_stopped_worker_ends_by_its_deadline_and_is_replaced(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);

    (void)state;
    assert_serves(engine);
    assert_int_equal(kill(worker_pid(), SIGSTOP), 0);
    assert_int_equal(run(engine, hasty_policy, hello_wat), NACRE_OUTCOME_TIMED_OUT);
    assert_serves(engine);
    (void)worker_pid(); /* exactly one */
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

/* Its worker dies with it, a moment later: until then the worker would still serve. */
static void kill_zygote(void)
{
    int worker = worker_pid();

    assert_int_equal(kill(zygote_pid(), SIGKILL), 0);
    for (int i = 0; i < 5000 && kill(worker, 0) == 0; i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(kill(worker, 0), -1);
}

static void a_killed_zygote_is_replaced(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);
    int fds = scene_fds();

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_serves(engine);
        kill_zygote();
    }
    assert_serves(engine);
    (void)worker_pid();
    nacre_engine_free(engine);
    assert_true(scene_fds() <= fds);
    assert_nothing_is_left(); /* no zombie either */
}

/* Kills `pid` after a while, from another process. */
static pid_t kill_soon(int pid)
{
    pid_t killer = fork();

    if (killer == 0) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
        _exit(kill(pid, SIGKILL) != 0);
    }
    assert_true(killer > 0);
    return killer;
}

static void a_zygote_that_dies_under_a_run_ends_that_run_only(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);
    pid_t killer;

    (void)state;
    assert_serves(engine);
    killer = kill_soon(zygote_pid());
    assert_int_equal(run(engine, patient_policy, loop_wat), NACRE_OUTCOME_KILLED);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_serves(engine);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void a_zygote_that_does_not_answer_is_replaced(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);

    (void)state;
    assert_serves(engine);
    assert_int_equal(kill(zygote_pid(), SIGSTOP), 0);
    assert_int_equal(run(engine, patient_policy, hello_wat), NACRE_OUTCOME_EXITED);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void a_program_that_is_no_zygote_is_named(void **state)
{
    struct nacre_engine *engine;
    struct nacre_error err;

    (void)state;
    engine = open_engine("/bin/false", false);
    assert_null(try_run(engine, hasty_policy, hello_wat, &plain, &err));
    assert_int_equal(err.status, NACRE_ERR_BACKEND);
    assert_non_null(strstr(err.text, "/bin/false"));
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

/* ---- the caller's own circumstances ---- */

static void a_caller_with_all_signals_blocked_gets_traps_and_deadlines(void **state)
{
    struct nacre_engine *engine;
    sigset_t all, before;

    (void)state;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    engine = open_engine(NULL, false);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(run(engine, hasty_policy, wild_wat), NACRE_OUTCOME_TRAPPED);
    assert_int_equal(run(engine, hasty_policy, loop_wat), NACRE_OUTCOME_TIMED_OUT);
    nacre_engine_free(engine);
}

static void on_alarm(int number)
{
    (void)number;
}

/* No SA_RESTART: whatever can end with EINTR does. */
static void a_caller_with_a_timer_of_its_own_loses_no_run(void **state)
{
    const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
    struct sigaction action = { .sa_handler = on_alarm }, before;
    struct nacre_engine *engine = open_engine(NULL, false);

    (void)state;
    assert_serves(engine);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < 300; i++)
        assert_serves(engine);
    assert_int_equal(run(engine, hasty_policy, loop_wat), NACRE_OUTCOME_TIMED_OUT);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    nacre_engine_free(engine);
}

static void a_caller_without_fds_is_told_and_served_when_it_has_some(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, false);
    struct rlimit before, few;
    int pid, refused = 0;

    (void)state;
    assert_serves(engine);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t extra = 1; extra < 16; extra++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        char session[16];
        const struct nacre_request request = { .input_fd = -1, .session = session };
        struct nacre_error err;
        int highest;

        (void)snprintf(session, sizeof(session), "s%d", (int)extra);
        scene_file("guest.wat", hello_wat);
        assert_int_equal(nacre_tool_load("guest.wat", &tool, &err), NACRE_OK);
        assert_int_equal(nacre_policy_parse("p.yaml", hasty_policy, strlen(hasty_policy),
                                            &policy, &err), NACRE_OK);
        highest = dup(0);
        (void)close(highest);
        few = (struct rlimit){ (rlim_t)highest + extra, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        if (nacre_run(engine, policy, tool, &request, &result, &err) != NACRE_OK)
            refused++;
        else
            assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    }
    assert_true(refused > 0 && refused < 15);
    /* A worker that could not be taken hold of does not live on. */
    assert_int_equal(children(zygote_pid(), "nacre-worker", 0, &pid), 1 + 15 - refused);
    assert_serves(engine);
    nacre_engine_free(engine);
    assert_nothing_is_left();
}

static void no_way_out_of_a_run_loses_an_fd(void **state)
{
    static const struct {
        const char *policy, *wat, *invoke;
    } ways[] = {
        { hasty_policy, hello_wat, NULL },      { hasty_policy, loop_wat, NULL },
        { hasty_policy, wild_wat, NULL },       { missing_policy, hello_wat, NULL },
        { hasty_policy, hello_wat, "nothing" }, { hasty_policy, "(module", NULL },
        { hasty_policy, "(module)", NULL },     { hasty_policy, "(module (func", NULL },
    };
    int before = scene_fds();

    (void)state;
    for (int in_process = 0; in_process < 2; in_process++) {
        struct nacre_engine *engine = open_engine(NULL, in_process);
        int warm = 0;

        for (int round = 0; round < 3; round++) {
            for (size_t i = 0; i < NACRE_COUNT(ways); i++) {
                const struct nacre_request request = { .input_fd = -1,
                                                       .invoke = ways[i].invoke };
                struct nacre_error err;

                if (in_process && ways[i].wat == wild_wat)
                    continue; /* cmocka holds the trap's signal */
                nacre_result_free(try_run(engine, ways[i].policy, ways[i].wat, &request,
                                          &err));
            }
            if (round == 0)
                warm = scene_fds();
        }
        assert_int_equal(scene_fds(), warm);
        nacre_engine_free(engine);
        assert_int_equal(scene_fds(), before);
        assert_nothing_is_left();
    }
}

/* ---- cancelling ---- */

static void cancelling_holds_until_it_is_taken_back(void **state)
{
    (void)state;
    for (int in_process = 0; in_process < 2; in_process++) {
        struct nacre_engine *engine = open_engine(NULL, in_process);
        struct nacre_error err;

        assert_serves(engine);
        nacre_cancel(engine, SIGTERM);
        for (int i = 0; i < 2; i++) {
            NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
                try_run(engine, patient_policy, loop_wat, &plain, &err);

            assert_non_null(result);
            assert_int_equal(nacre_result_exit(result), 128 + SIGTERM);
        }
        nacre_cancel(engine, 0);
        assert_serves(engine);
        nacre_engine_free(engine);
    }
}

static void *cancel_soon(void *data)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    nacre_cancel(data, SIGINT);
    return NULL;
}

static void a_guest_in_this_process_is_cancelled_too(void **state)
{
    struct nacre_engine *engine = open_engine(NULL, true);
    pthread_t canceller;
    struct nacre_error err;

    (void)state;
    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, engine), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            try_run(engine, patient_policy, loop_wat, &plain, &err);

        assert_non_null(result);
        assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
        assert_int_equal(result->signal, SIGINT);
    }
    assert_int_equal(pthread_join(canceller, NULL), 0);
    nacre_engine_free(engine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_misbehaves_ends_as_its_guest),
        cmocka_unit_test(output_that_falls_and_rises_is_shown_once),
        cmocka_unit_test(input_that_is_never_taken_blocks_nobody),
        cmocka_unit_test(input_that_is_no_fd_is_the_callers_mistake),
        cmocka_unit_test(a_stopped_worker_ends_by_its_deadline_and_is_replaced),
        cmocka_unit_test(a_killed_zygote_is_replaced),
        cmocka_unit_test(a_zygote_that_dies_under_a_run_ends_that_run_only),
        cmocka_unit_test(a_zygote_that_does_not_answer_is_replaced),
        cmocka_unit_test(a_program_that_is_no_zygote_is_named),
        cmocka_unit_test(a_caller_with_all_signals_blocked_gets_traps_and_deadlines),
        cmocka_unit_test(a_caller_with_a_timer_of_its_own_loses_no_run),
        cmocka_unit_test(a_caller_without_fds_is_told_and_served_when_it_has_some),
        cmocka_unit_test(no_way_out_of_a_run_loses_an_fd),
        cmocka_unit_test(cancelling_holds_until_it_is_taken_back),
        cmocka_unit_test(a_guest_in_this_process_is_cancelled_too),
    };

    if (argc > 2 && strcmp(argv[1], "fake") == 0)
        fake_zygote_main(argv[2]);
    if (!realpath("/proc/self/exe", self))
        return 1;
    return cmocka_run_group_tests_name("wt_workers", tests, scene_enter, scene_leave);
}
