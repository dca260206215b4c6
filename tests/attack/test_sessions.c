/*
 * Runs that must not meet: one engine serves hostile guests of several sessions and
 * policies, as an embedder has it.  Workers are counted from outside, in /proc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/nacre.h"
#include "nacre/sessions.h"
#include "nacre/tree.h"

#define WORKERS_MAX 256

static const char policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: one}\nspec:\n  level: wasm\n"
    "  capabilities: {filesystem: {mode: scoped, mount_paths: [\n"
    "    {path: /workspace, permissions: rw}, {path: /tmp, permissions: rw}]}}\n"
    "  resource_limits: {timeout_ms: 20000}\n";
static const char other_policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: two}\nspec:\n  level: wasm\n"
    "  capabilities: {filesystem: {mode: scoped, mount_paths: [\n"
    "    {path: /workspace, permissions: rw}, {path: /tmp, permissions: rw}]}}\n"
    "  resource_limits: {timeout_ms: 20000, max_open_files: 9}\n";
static const char loop_wat[] = "(module (func (export \"_start\") (loop (br 0))))";

struct fixture {
    char dir[64];
    struct nacre_engine *engine;
    struct nacre_tool *probe, *loop;
    struct nacre_policy *policy, *other_policy;
};

struct workers {
    int pids[WORKERS_MAX];
    int count;
};

static int parent_of(int pid, char name[32])
{
    char path[64], line[256] = "";
    int parent = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(line, sizeof(line), file) ||
        sscanf(line, "%*d (%31[^)]) %*c %d", name, &parent) != 2)
        parent = 0;
    (void)fclose(file);
    return parent;
}

/* The workers whose zygote is a child of ours. */
static struct workers workers_now(void)
{
    struct workers workers = { .count = 0 };
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    assert_non_null(proc);
    while ((entry = readdir(proc)) != NULL) {
        char name[32] = "", above[32];
        int pid = atoi(entry->d_name);
        int parent = pid > 0 ? parent_of(pid, name) : 0;

        if (parent == 0 || strcmp(name, "nacre-worker") != 0 ||
            parent_of(parent, above) != getpid())
            continue;
        assert_true(workers.count < WORKERS_MAX);
        workers.pids[workers.count++] = pid;
    }
    (void)closedir(proc);
    return workers;
}

static bool has(const struct workers *workers, int pid)
{
    for (int i = 0; i < workers->count; i++)
        if (workers->pids[i] == pid)
            return true;
    return false;
}

static int fds_now(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static struct nacre_result *run_scoped(const struct fixture *fixture,
                                       const struct nacre_policy *policy,
                                       const struct nacre_tool *tool,
                                       enum nacre_scope scope, const char *session,
                                       uint64_t timeout_ms, const char *const *arguments)
{
    const struct nacre_request request = { .input_fd = -1, .session = session,
                                           .scope = scope, .timeout_ms = timeout_ms,
                                           .arguments = arguments };
    struct nacre_result *result = NULL;
    struct nacre_error err;

    if (nacre_run(fixture->engine, policy, tool, &request, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return result;
}

static struct nacre_result *run_tool(const struct fixture *fixture,
                                     const struct nacre_policy *policy,
                                     const struct nacre_tool *tool, const char *session,
                                     uint64_t timeout_ms, const char *const *arguments)
{
    return run_scoped(fixture, policy, tool, NACRE_SCOPE_UNSET, session, timeout_ms,
                      arguments);
}

/* Runs the probe and expects `wanted` in what it says. */
static void probe_scoped(const struct fixture *fixture, const struct nacre_policy *policy,
                         enum nacre_scope scope, const char *session,
                         const char *const *arguments, const char *wanted)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_scoped(fixture, policy, fixture->probe, scope, session, 0, arguments);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_non_null(result->output.bytes);
    if (!strstr(result->output.bytes, wanted))
        fail_msg("expected '%s' in: %s", wanted, result->output.bytes);
}

static void probe(const struct fixture *fixture, const struct nacre_policy *policy,
                  const char *session, const char *const *arguments, const char *wanted)
{
    probe_scoped(fixture, policy, NACRE_SCOPE_UNSET, session, arguments, wanted);
}

static struct nacre_policy *policy_of(const char *text)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_policy_parse("test.yaml", text, strlen(text), &policy, &err),
                     NACRE_OK);
    return policy;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct nacre_engine_options options = { 0 };
    char dirs[3][96], path[128];
    struct nacre_error err;
    FILE *file;

    if (!fixture)
        return -1;
    (void)snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/nacre-sessions-XXXXXX");
    if (!mkdtemp(fixture->dir))
        return -1;
    (void)snprintf(dirs[0], sizeof(dirs[0]), "%s/state", fixture->dir);
    (void)snprintf(dirs[1], sizeof(dirs[1]), "%s/cache", fixture->dir);
    (void)snprintf(dirs[2], sizeof(dirs[2]), "%s/keys", fixture->dir);
    (void)snprintf(path, sizeof(path), "%s/loop.wat", fixture->dir);
    options.state_dir = dirs[0];
    options.cache_dir = dirs[1];
    options.key_dir = dirs[2];
    file = fopen(path, "we");
    if (!file || fputs(loop_wat, file) < 0 || fclose(file) != 0)
        return -1;
    if (nacre_engine_open(&options, &fixture->engine, &err) != NACRE_OK ||
        nacre_tool_load(getenv("PROBE"), &fixture->probe, &err) != NACRE_OK ||
        nacre_tool_load(path, &fixture->loop, &err) != NACRE_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    fixture->policy = policy_of(policy_text);
    fixture->other_policy = policy_of(other_policy_text);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    struct nacre_error err;
    int failed = 0;

    nacre_engine_free(fixture->engine);
    if (workers_now().count != 0) {
        print_error("workers outlive their engine\n");
        failed = -1;
    }
    nacre_tool_free(fixture->probe);
    nacre_tool_free(fixture->loop);
    nacre_policy_free(fixture->policy);
    nacre_policy_free(fixture->other_policy);
    if (nacre_tree_remove(AT_FDCWD, fixture->dir, &err) != NACRE_OK)
        failed = -1;
    free(fixture);
    return failed;
}

static const char *const leave[] = { "write", "3:note", "LEFT", ",", "write", "4:note",
                                     "LEFT",  ",",      "read", "3:note", NULL };
static const char *const look[] = { "ls", "3", ",",    "ls",     "4",
                                    ",",  "read", "3:note", NULL };

static void W10_private_files_are_gone_in_the_next_run(void **state)
{
    const struct fixture *fixture = *state;

    for (int i = 0; i < 5; i++) {
        probe(fixture, fixture->policy, "a", leave, "read 3:note: ok LEFT");
        probe(fixture, fixture->policy, "a", look, "read 3:note: NOENT");
    }
    probe(fixture, fixture->policy, "b", look, "read 3:note: NOENT");
    probe(fixture, fixture->other_policy, "a", look, "read 3:note: NOENT");
}

static void S01_sessions_and_policies_have_workers_of_their_own(void **state)
{
    const struct fixture *fixture = *state;
    struct workers one, two, three, again;

    probe(fixture, fixture->policy, "left", look, "ls 3: ok");
    one = workers_now();
    probe(fixture, fixture->policy, "right", look, "ls 3: ok");
    two = workers_now();
    assert_int_equal(two.count, one.count + 1);
    probe(fixture, fixture->other_policy, "left", look, "ls 3: ok");
    three = workers_now();
    assert_int_equal(three.count, two.count + 1);
    /* The same session under the same policy finds its own again: the control. */
    probe(fixture, fixture->policy, "left", look, "ls 3: ok");
    again = workers_now();
    assert_int_equal(again.count, three.count);
}

static void R01_a_guest_that_overruns_takes_no_other_along(void **state)
{
    const struct fixture *fixture = *state;
    struct workers before, after;

    probe(fixture, fixture->policy, "good", leave, "read 3:note: ok LEFT");
    before = workers_now();
    for (int i = 0; i < 3; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run_tool(fixture, fixture->policy, fixture->loop, "bad", 200, NULL);

        assert_int_equal(result->outcome, NACRE_OUTCOME_TIMED_OUT);
    }
    after = workers_now();
    assert_int_equal(after.count, before.count);
    for (int i = 0; i < before.count; i++)
        assert_true(has(&after, before.pids[i]));
    probe(fixture, fixture->policy, "good", look, "read 3:note: NOENT");
}

static void R14_many_sessions_cost_a_bounded_number_of_workers_and_fds(void **state)
{
    const struct fixture *fixture = *state;
    int fds[2] = { 0, 0 }, workers[2] = { 0, 0 };

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 60; i++) {
            char session[32];

            (void)snprintf(session, sizeof(session), "%d-%d", round, i);
            probe(fixture, fixture->policy, session, look, "read 3:note: NOENT");
        }
        fds[round] = fds_now();
        workers[round] = workers_now().count;
    }
    /* Another sixty add nothing. */
    assert_int_equal(fds[0], fds[1]);
    assert_int_equal(workers[0], workers[1]);
    assert_true(workers[1] < 60);
}

static void F07_what_is_private_to_a_session_is_so_however_many_there_are(void **state)
{
    const struct fixture *fixture = *state;
    int fds[2] = { 0, 0 };

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50; i++) {
            char session[32];

            (void)snprintf(session, sizeof(session), "kept-%d-%d", round, i);
            probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, session, look,
                         "read 3:note: NOENT");
            probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, session, leave,
                         "read 3:note: ok LEFT");
        }
        fds[round] = fds_now();
    }
    /* Those of the first, which the engine has let go of meanwhile, have theirs still;
     * under another policy, too. */
    probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "kept-0-0", look,
                 "read 3:note: ok LEFT");
    probe_scoped(fixture, fixture->other_policy, NACRE_SCOPE_SESSION, "kept-0-1", look,
                 "read 3:note: ok LEFT");
    probe(fixture, fixture->policy, "kept-0-0", look, "read 3:note: NOENT");
    assert_int_equal(fds[0], fds[1]);
}

/* Also one that its caller named: what is at its name now is meant. */
static void F08_a_workspace_that_was_replaced_is_the_new_one(void **state)
{
    const struct fixture *fixture = *state;
    char workspace[96], note[128];
    struct nacre_request request = { .input_fd = -1, .session = "replaced",
                                     .workspace = workspace };
    struct nacre_error err;

    (void)snprintf(workspace, sizeof(workspace), "%s/work", fixture->dir);
    (void)snprintf(note, sizeof(note), "%s/note", workspace);
    for (int i = 0; i < 3; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        assert_int_equal(mkdir(workspace, 0755), 0);
        request.arguments = leave;
        assert_int_equal(nacre_run(fixture->engine, fixture->policy, fixture->probe,
                                   &request, &result, &err), NACRE_OK);
        assert_non_null(strstr(result->output.bytes, "read 3:note: ok LEFT"));
        assert_int_equal(unlink(note), 0);
        assert_int_equal(rmdir(workspace), 0);
    }
}

static enum nacre_status end_none(void *data, const char *which, const char *scope_key,
                                  bool force, uint32_t *ret_ended, uint32_t *ret_left,
                                  struct nacre_error *err)
{
    (void)data, (void)which, (void)scope_key, (void)force, (void)err;
    *ret_ended = *ret_left = 0;
    return NACRE_OK;
}

static enum nacre_status end_no_jobs(void *data, const char *key, uint32_t *ret_ended,
                                     struct nacre_error *err)
{
    (void)data, (void)key, (void)err;
    *ret_ended = 0;
    return NACRE_OK;
}

static void F23_an_engine_that_knows_a_session_does_not_keep_it_from_its_end(void **state)
{
    const struct fixture *fixture = *state;
    const struct nacre_sessions_end how = { .key = "over", .end_jobs = end_no_jobs };
    const struct nacre_sessions_ender ender = { .end = end_none };
    struct nacre_sessions_report report;
    struct nacre_error err;

    for (int i = 0; i < 3; i++) {
        probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "over", look,
                     "read 3:note: NOENT");
        probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "over", leave,
                     "read 3:note: ok LEFT");
        if (nacre_sessions_end(nacre_engine_state_dir(fixture->engine), &how, &ender,
                               &report, &err) != NACRE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(report.workspaces, 1);
    }
}

/* Every sandbox that there is, as who ends it has it; closing them lets go. */
static int hold_all(const struct fixture *fixture, int ret_fds[WORKERS_MAX])
{
    char path[160];
    struct dirent *entry;
    int count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/sessions",
                   nacre_engine_state_dir(fixture->engine));
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL && count < WORKERS_MAX) {
        if (!strstr(entry->d_name, ".held"))
            continue;
        ret_fds[count] = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(ret_fds[count++], LOCK_EX | LOCK_NB), 0);
    }
    (void)closedir(dir);
    return count;
}

static void *run_stuck(void *data)
{
    const struct fixture *fixture = data;
    const struct nacre_request request = { .input_fd = -1, .session = "stuck",
                                           .scope = NACRE_SCOPE_SESSION,
                                           .timeout_ms = 1500, .arguments = look };
    struct nacre_result *result = NULL;
    struct nacre_error err;

    return nacre_run(fixture->engine, fixture->policy, fixture->probe, &request, &result,
                     &err) == NACRE_ERR_TIMEOUT
               ? data
               : NULL;
}

static void R08_who_waits_for_the_end_of_a_session_is_in_nobodys_way(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t start_ns;
    int fds[WORKERS_MAX], count;
    void *timed_out = NULL;
    pthread_t thread;

    probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "stuck", look,
                 "ls 3: ok");
    count = hold_all(fixture, fds);
    assert_true(count > 0);
    start_ns = nacre_clock_ns();
    assert_int_equal(pthread_create(&thread, NULL, run_stuck, (void *)fixture), 0);
    (void)usleep(100000);
    probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "free", look, "ls 3: ok");
    assert_true(nacre_clock_ns() - start_ns < NACRE_NS_PER_S);
    assert_int_equal(pthread_join(thread, &timed_out), 0);
    assert_non_null(timed_out);
    /* And it has waited no longer than it may run. */
    assert_in_range(nacre_clock_ns() - start_ns, 1400 * NACRE_NS_PER_MS,
                    2500 * NACRE_NS_PER_MS);
    while (count > 0)
        (void)close(fds[--count]);
    probe_scoped(fixture, fixture->policy, NACRE_SCOPE_SESSION, "stuck", look,
                 "ls 3: ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(W10_private_files_are_gone_in_the_next_run),
        cmocka_unit_test(S01_sessions_and_policies_have_workers_of_their_own),
        cmocka_unit_test(R01_a_guest_that_overruns_takes_no_other_along),
        cmocka_unit_test(R14_many_sessions_cost_a_bounded_number_of_workers_and_fds),
        cmocka_unit_test(F07_what_is_private_to_a_session_is_so_however_many_there_are),
        cmocka_unit_test(F08_a_workspace_that_was_replaced_is_the_new_one),
        cmocka_unit_test(
            F23_an_engine_that_knows_a_session_does_not_keep_it_from_its_end),
        cmocka_unit_test(R08_who_waits_for_the_end_of_a_session_is_in_nobodys_way),
    };

    return cmocka_run_group_tests_name("attack: sessions", tests, set_up, tear_down);
}
