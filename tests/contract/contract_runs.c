/* What runs: input, output, endings, and that nothing of it stays. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "stage.h"

void a_guest_runs_and_says_so(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        play(*state, HELLO, PATIENT);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 0);
    assert_string_equal(result->output.bytes, "hello\n");
    assert_int_equal(result->errors.size, 0);
    assert_int_equal(result->usage.bytes_written, 6);
    assert_true(result->mechanism_count > 0);
    assert_true(result->usage.memory_bytes_peak > 0);
    assert_int_equal(result->waived &
                         ~(stage_of(*state)->machine ? NACRE_FEATURE_KVM : UINT64_C(0)),
                     0);
    assert_int_equal(result->unsandboxed,
                     strcmp(stage_of(*state)->level, "none") == 0);
}

static void *write_all(void *data)
{
    const int *fd = data;
    char block[1000];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 300; i++)
        for (size_t used = 0; used < sizeof(block);) {
            ssize_t put = write(*fd, block + used, sizeof(block) - used);

            if (put <= 0)
                return NULL;
            used += (size_t)put;
        }
    (void)close(*fd);
    return NULL;
}

void input_reaches_the_guest_whole_and_ends(void **state)
{
    struct nacre_request request = request_of(*state);
    char text[POLICY];
    pthread_t writer;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    request.input_fd = ends[0];
    assert_int_equal(pthread_create(&writer, NULL, write_all, &ends[1]), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            scene_run(*state, policy_text(*state, PATIENT, text), tool_of(*state, ECHO),
                      &request);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(result->output.size, 300000);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    (void)close(ends[0]);
}

static struct nacre_result *run_with_network(const struct scene *scene,
                                             const char *network)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tool_of(scene, HELLO);
    struct nacre_request request = request_of(scene);
    struct nacre_result *result;
    struct nacre_error err;
    char text[POLICY];

    (void)snprintf(text, sizeof(text),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n  capabilities:\n    network: {%s}\n%s",
                   level_of(scene), network,
                   is_wasm(scene) ? "" : "    shell: {mode: full}\n");
    policy = scene_policy(text);
    assert_int_equal(nacre_run(scene->engine, policy, tool, &request, &result, &err),
                     NACRE_OK);
    return result;
}

void a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *opened =
        run_with_network(*state, "mode: allowlist, allowed_hosts: [example.com]");
    NACRE_AUTO(nacre_result_guard) struct nacre_result *refused =
        run_with_network(*state, "mode: allowlist, allowed_hosts: [example.com], "
                                 "ssrf_protection: {dns_pinning: false}");

    assert_int_equal(opened->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(opened->egress_seen, 0);
    assert_int_equal(refused->outcome, NACRE_OUTCOME_DENIED);
    assert_int_equal(refused->denials[0].place.line, stage_of(*state)->gvisor ? 8 : 7);
    assert_int_equal(refused->output.size, 0);
}

static void collect(void *data, int stream, const char *bytes, size_t count)
{
    struct nacre_buf *buf = data;
    struct nacre_error err;

    assert_int_equal(stream, 1);
    assert_int_equal(nacre_buf_add(buf, bytes, count, &err), NACRE_OK);
}

void output_is_streamed_whole_and_in_order(void **state)
{
    struct nacre_buf seen = NACRE_BUF(10000);
    struct nacre_request request = request_of(*state);
    char text[POLICY];

    request.on_output = collect;
    request.on_output_data = &seen;
    request.stream_only = true;
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            scene_run(*state, policy_text(*state, LITTLE, text), tool_of(*state, FLOOD),
                      &request);

        assert_int_equal(result->output.size, 0);
    }
    assert_int_equal(seen.size, 2500);
    nacre_buf_clear(&seen);
}

#define THREADS 4

struct caller {
    const struct scene *scene;
    const struct nacre_policy *policy;
    const struct nacre_tool *tool;
    int good;
};

static void *call_often(void *data)
{
    struct caller *caller = data;
    struct nacre_request request = request_of(caller->scene);
    char name[32];

    (void)snprintf(name, sizeof(name), "%p", data);
    if (!stage_of(caller->scene)->machine)
        request.session = name;
    for (int i = 0; i < stage_of(caller->scene)->calls; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_error err;

        if (nacre_run(caller->scene->engine, caller->policy, caller->tool, &request,
                      &result, &err) == NACRE_OK &&
            result->outcome == NACRE_OUTCOME_EXITED && result->output.size == 6)
            caller->good++;
    }
    return NULL;
}

void several_threads_share_an_engine(void **state)
{
    const struct scene *scene = *state;
    char text[POLICY];
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tool_of(scene, HELLO);
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = scene_policy(policy_text(scene, PATIENT, text));
    struct caller callers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){ scene, policy, tool, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].good, stage_of(scene)->calls);
    }
}

/* ---- of native levels ---- */

/* Is there a process on this machine with `word` in its command line? */
static bool lives(const char *word)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    assert_non_null(proc);
    while (!found && (entry = readdir(proc)) != NULL) {
        char path[300], line[4096];
        size_t count;
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re")
                                                                  : NULL;
        if (!file)
            continue;
        count = fread(line, 1, sizeof(line), file);
        found = memmem(line, count, word, strlen(word)) != NULL;
        (void)fclose(file);
    }
    (void)closedir(proc);
    return found;
}

/* How long it sleeps: this program's own number, since others play the same act. */
static char sleeper[16];

static void *look_for(void *data)
{
    bool *seen = data;

    for (int i = 0; i < 600 && !*seen; i++) {
        *seen = lives(sleeper);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return NULL;
}

/* By a pattern that does not find itself. */
#define COUNT "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sl[e]ep 4242'; true"

void what_a_command_leaves_behind_is_gone_with_it(void **state)
{
    bool seen = false;
    pthread_t observer;
    char text[128];

    (void)snprintf(sleeper, sizeof(sleeper), "%d", 100000000 + (int)getpid());
    (void)snprintf(text, sizeof(text),
                   "(setsid sleep %s >/dev/null 2>&1 &); sleep 1; echo done", sleeper);
    assert_int_equal(pthread_create(&observer, NULL, look_for, &seen), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run_shell(*state, text, PATIENT);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_string_equal(result->output.bytes, "done\n");
    }
    assert_int_equal(pthread_join(observer, NULL), 0);
    assert_true(seen); /* it had been there */
    assert_false(lives(sleeper));
}

/* Nobody outside sees gVisor's processes: the command itself sees that it is there, and
 * the next one in the same sandbox that it is not. */
void what_a_command_leaves_behind_is_gone_before_the_next(void **state)
{
    static const char *const texts[] = {
        "(setsid sleep 4242 >/dev/null 2>&1 &); sleep 1; touch /tmp/first; " COUNT,
        "test -e /tmp/first && " COUNT,
    };
    static const char *const said[] = { "1\n", "0\n" };

    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run_shell(*state, texts[i], PATIENT);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_string_equal(result->output.bytes, said[i]);
    }
}

void a_program_that_is_not_there_is_told_apart(void **state)
{
    const struct scene *scene = *state;
    const char *const argv[] = { "/no/such/program", NULL };
    struct nacre_request request = request_of(scene);
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;
    json_t *begin, *end;
    char text[POLICY];

    assert_int_equal(nacre_tool_command(argv, &tool, &err), NACRE_OK);
    policy = scene_policy(policy_text(scene, PATIENT, text));
    assert_int_equal(nacre_run(scene->engine, policy, tool, &request, &result, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_null(result);
    assert_non_null(strstr(err.text, "/no/such/program"));
    scene_records(scene, NULL, &begin, &end);
    assert_true(json_is_null(json_object_get(end, "outcome")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(end, "error"), "status")),
        "not-found");
    json_decref(begin);
    json_decref(end);
}

void a_command_that_dies_of_a_signal_says_which(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_shell(*state, "kill -SEGV $$", PATIENT);

    assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(nacre_result_exit(result), 128 + SIGSEGV);
}

static void *cancel_soon(void *data)
{
    nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    nacre_cancel(data, SIGTERM);
    return NULL;
}

/* The last test of its group: a cancelled engine stays cancelled. */
void cancelling_ends_a_run_as_if_by_a_signal(void **state)
{
    const struct scene *scene = *state;
    pthread_t canceller;

    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, scene->engine), 0);
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            play(*state, SPIN, PATIENT);

        assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
        assert_int_equal(nacre_result_exit(result), 128 + SIGTERM);
    }
    assert_int_equal(pthread_join(canceller, NULL), 0);
}
