/*
 * What holds for every executor, seen as an embedder sees it: from several threads,
 * through libnacre alone.  Each test runs once for each executor there is; the same acts
 * are played by a module at level wasm and by a command at the others.
 */
#include "scene.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nacre/clock.h"

#define WASI "(import \"wasi_snapshot_preview1\" "

enum act { HELLO, EXIT_42, SPIN, FLOOD, GROW, ECHO, LEAVE_TRACE, ACTS };

static const char *const modules[ACTS] = {
    [HELLO] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 1) (data (i32.const 16) \"hello\\n\")"
        " (func (export \"_start\") (i32.store (i32.const 0) (i32.const 16))"
        " (i32.store (i32.const 4) (i32.const 6))"
        " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))",
    [EXIT_42] =
        "(module " WASI "\"proc_exit\" (func $x (param i32)))"
        " (memory (export \"memory\") 1)"
        " (func (export \"_start\") (call $x (i32.const 42))))",
    [SPIN] = "(module (func (export \"_start\") (loop (br 0))))",
    [FLOOD] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 1) (func (export \"_start\")"
        " (memory.fill (i32.const 16) (i32.const 65) (i32.const 1000))"
        " (i32.store (i32.const 0) (i32.const 16))"
        " (i32.store (i32.const 4) (i32.const 1000))"
        " (loop $l (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const "
        "8))) (br $l))))",
    /* Grows until refused, then traps, as an allocator that gives up does. */
    [GROW] =
        "(module (memory (export \"memory\") 1) (func (export \"_start\")"
        " (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))"
        " unreachable))",
    /* Copies stdin to stdout, 4 KiB at a time. */
    [ECHO] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " " WASI "\"fd_read\" (func $r (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 2) (func (export \"_start\")"
        " (i32.store (i32.const 0) (i32.const 4096))"
        " (loop $l (i32.store (i32.const 4) (i32.const 4096))"
        "  (drop (call $r (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"
        "  (i32.store (i32.const 4) (i32.load (i32.const 8)))"
        "  (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))"
        "  (br_if $l (i32.gt_u (i32.load (i32.const 8)) (i32.const 0))))))",
    /* Exits with 1 if its memory holds anything but zeros, then fills it. */
    [LEAVE_TRACE] =
        "(module " WASI "\"proc_exit\" (func $x (param i32)))"
        " (memory (export \"memory\") 6) (func (export \"_start\") (local $i i32)"
        " (loop $l (if (i32.ne (i32.load (local.get $i)) (i32.const 0))"
        "   (then (call $x (i32.const 1))))"
        "  (local.set $i (i32.add (local.get $i) (i32.const 4)))"
        "  (br_if $l (i32.lt_u (local.get $i) (i32.const 393216))))"
        " (memory.fill (i32.const 0) (i32.const 255) (i32.const 393216))))",
};

static const char *const commands[ACTS] = {
    [HELLO] = "echo hello",
    [EXIT_42] = "exit 42",
    [SPIN] = "while :; do :; done",
    [FLOOD] = "while :; do printf AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; done",
    [GROW] = "x=AAAAAAAAAAAAAAAA; while :; do x=$x$x; done",
    [ECHO] = "cat",
    [LEAVE_TRACE] = "test ! -e /tmp/trace && touch /tmp/trace",
};

/* ---- the executors ---- */

struct stage {
    const char *name;
    const char *level;
    bool gvisor; /* the runtime of a container */
    bool machine; /* that takes seconds to boot: one serves for all that it can */
    bool in_process;
    const char *image;   /* of a container */
    const char *more;    /* of a policy's capabilities */
    unsigned memory_mb;  /* 0 where it can't be limited */
    int calls;           /* of each thread */
};

static const struct stage stages[] = {
    { "contract: wasm workers", "wasm", .more = "", .memory_mb = 4,
      .calls = 100 },
    { "contract: wasm in-process", "wasm", .in_process = true, .more = "",
      .memory_mb = 4, .calls = 100 },
    { "contract: process", "process",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .calls = 8 },
    { "contract: none", "none", .more = "  capabilities: {shell: {mode: full}}\n",
      .calls = 8 },
    { "contract: container", "container", .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .calls = 4 },
    /* Some 45 MiB of these are gVisor's own. */
    { "contract: gvisor", "container", .gvisor = true, .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 128, .calls = 2 },
    { "contract: vm", "vm", .machine = true, .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .calls = 2 },
};

static const struct stage *stage_of(const struct scene *scene)
{
    return scene->own;
}

static bool is_wasm(const struct scene *scene)
{
    return strcmp(stage_of(scene)->level, "wasm") == 0;
}

static struct nacre_tool *tool_of(const struct scene *scene, enum act act)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;

    if (is_wasm(scene))
        return scene_module(scene, modules[act]);
    assert_int_equal(nacre_tool_shell(commands[act], &tool, &err), NACRE_OK);
    return tool;
}

/* As a policy has it. */
static const char *level_of(const struct scene *scene)
{
    return stage_of(scene)->gvisor ? "container\n  runtime: gvisor"
                                   : stage_of(scene)->level;
}

#define POLICY 1024
static const char *policy_text(const struct scene *scene, const char *limits,
                               char ret_text[POLICY])
{
    const struct stage *stage = stage_of(scene);
    char memory[32] = "";

    if (stage->memory_mb)
        (void)snprintf(memory, sizeof(memory), "memory_mb: %u, ", stage->memory_mb);
    (void)snprintf(ret_text, POLICY,
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n%s  resource_limits: {%s%s}\n",
                   level_of(scene), stage->more, memory, limits);
    return ret_text;
}

/* Half a second for what must not end by itself; a container takes longer to come up. */
#define SHORT "timeout_ms: 1500, max_output_bytes: 2500"
#define PATIENT "timeout_ms: 60000"
#define LITTLE PATIENT ", max_output_bytes: 2500"

/* Here it may be emulated; then it says so. */
static const char *const waived[] = { NACRE_WAIVER_EMULATION, NULL };

static struct nacre_request request_of(const struct scene *scene)
{
    return (struct nacre_request){
        .input_fd = -1,
        .image = stage_of(scene)->image,
        .unsandboxed = strcmp(stage_of(scene)->level, "none") == 0,
        .session = stage_of(scene)->image ? "contract" : NULL,
        .waive = stage_of(scene)->machine ? waived : NULL,
    };
}

static struct nacre_result *play(const struct scene *scene, enum act act,
                                 const char *limits)
{
    struct nacre_request request = request_of(scene);
    char text[POLICY];

    return scene_run(scene, policy_text(scene, limits, text), tool_of(scene, act),
                     &request);
}

/* ---- what holds ---- */

static void a_guest_runs_and_says_so(void **state)
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

static void each_ending_is_told_apart(void **state)
{
    static const struct {
        enum act act;
        enum nacre_outcome outcome;
        int exit;
    } cases[] = {
        { EXIT_42, NACRE_OUTCOME_EXITED, 42 },
        { SPIN, NACRE_OUTCOME_TIMED_OUT, 124 },
        { FLOOD, NACRE_OUTCOME_OUTPUT_LIMIT, 153 },
        { GROW, NACRE_OUTCOME_OUT_OF_MEMORY, 137 },
    };

    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        /* A machine of other limits is another one, and has a test of its own. */
        if (cases[i].act == GROW &&
            (!stage_of(*state)->memory_mb || stage_of(*state)->machine))
            continue;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            play(*state, cases[i].act,
                 cases[i].act == SPIN ? SHORT : LITTLE);

        assert_int_equal(result->outcome, cases[i].outcome);
        assert_int_equal(nacre_result_exit(result), cases[i].exit);
    }
}

static void nothing_of_a_run_is_seen_by_the_next(void **state)
{
    for (int i = 0; i < 3; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            play(*state, LEAVE_TRACE, PATIENT);

        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(result->exit_status, 0);
    }
}

static void output_is_cut_at_the_byte_and_flagged(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = play(*state, FLOOD, LITTLE);

    assert_int_equal(result->output.size, 2500);
    assert_true(result->output_cut);
    for (size_t i = 0; i < result->output.size; i++)
        assert_int_equal(result->output.bytes[i], 'A');
}

static void memory_is_bounded_and_its_peak_is_told(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        play(*state, GROW, PATIENT);
    uint64_t limit = (uint64_t)stage_of(*state)->memory_mb << 20;

    assert_int_equal(result->outcome, NACRE_OUTCOME_OUT_OF_MEMORY);
    /* What the kernel counts for a process beyond its cgroup's pages is little. */
    assert_true(result->usage.memory_bytes_peak <= limit + (UINT64_C(4) << 20));
    assert_true(result->usage.memory_bytes_peak > limit / 4);
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

static void input_reaches_the_guest_whole_and_ends(void **state)
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

static void a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused(void **state)
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

static void output_is_streamed_whole_and_in_order(void **state)
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

static void several_threads_share_an_engine(void **state)
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

static struct nacre_result *run_shell(const struct scene *scene, const char *shell,
                                      const char *limits)
{
    struct nacre_request request = request_of(scene);
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char text[POLICY];

    assert_int_equal(nacre_tool_shell(shell, &tool, &err), NACRE_OK);
    return scene_run(scene, policy_text(scene, limits, text), tool, &request);
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

static void what_a_command_leaves_behind_is_gone_with_it(void **state)
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
static void what_a_command_leaves_behind_is_gone_before_the_next(void **state)
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

static void a_program_that_is_not_there_is_told_apart(void **state)
{
    const struct scene *scene = *state;
    const char *const argv[] = { "/no/such/program", NULL };
    struct nacre_request request = request_of(scene);
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;
    char text[POLICY];

    assert_int_equal(nacre_tool_command(argv, &tool, &err), NACRE_OK);
    policy = scene_policy(policy_text(scene, PATIENT, text));
    assert_int_equal(nacre_run(scene->engine, policy, tool, &request, &result, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_null(result);
    assert_non_null(strstr(err.text, "/no/such/program"));
}

static void a_command_that_dies_of_a_signal_says_which(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_shell(*state, "kill -SEGV $$", PATIENT);

    assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(nacre_result_exit(result), 128 + SIGSEGV);
}

/* ---- files ---- */

/* Runs `text` with a /workspace that is `workspace`, or private, less `denied`. */
static struct nacre_result *run_in(const struct scene *scene, const char *workspace,
                                   const char *denied, const char *text)
{
    struct nacre_request request = request_of(scene);
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char policy[POLICY];

    request.workspace = workspace;
    request.session = NULL;
    (void)snprintf(policy, sizeof(policy),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n  capabilities:\n    shell: {mode: full}\n"
                   "    filesystem:\n      mode: scoped\n      mount_paths:\n"
                   "        - {path: /workspace, permissions: rw}\n"
                   "      denied_paths: [%s]\n",
                   level_of(scene), denied);
    assert_int_equal(nacre_tool_shell(text, &tool, &err), NACRE_OK);
    return scene_run(scene, policy, tool, &request);
}

/* The names need not be there; what leads to them is the guest's. */
static void the_way_to_a_denied_name_of_a_private_directory_can_be_written(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "/workspace/.git/hooks, /workspace/.env, /workspace/.git/a/b",
        "cd /workspace; echo ours >.git/config && cat .git/config\n"
        "mkdir .git/objects && echo made; echo also >.git/a/c && cat .git/a/c\n"
        "for name in .git/hooks .env .git/a/b; do\n"
        "  test -d $name && echo held\n"
        "  { ls $name || cat $name || echo x >$name || echo x >$name/x || rmdir $name ||\n"
        "    mv $name other || mkdir $name/y; } 2>/dev/null && echo \"opened $name\"\n"
        "done\n"
        "{ mv .git other || mv .git/a other; } 2>/dev/null && echo moved\n"
        "exit 0");

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_string_equal(result->output.bytes, "ours\nmade\nalso\nheld\nheld\nheld\n");
}

static bool landlock_judges_sockets(void)
{
    return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1U) >= 9;
}

/* Listens at `path` for whoever may come. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(listen(fd, 5), 0);
    return fd;
}

/* What the observers of the host see, not what the guest says. */
static void who_listens_in_a_granted_directory_is_reached_unless_denied(void **state)
{
    const struct scene *scene = *state;
    bool sockets = strcmp(stage_of(scene)->level, "process") != 0 ||
                   !landlock_judges_sockets();
    char dir[128], path[192], command[512], byte;

    (void)snprintf(dir, sizeof(dir), "%s/listened", scene->dir);
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    (void)snprintf(command, sizeof(command), "cp '%s' '%s/reach'", getenv("NACRE_REACH"),
                   dir);
    assert_int_equal(system(command), 0);
    for (int denied = 0; denied < 2; denied++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        NACRE_AUTO(nacre_fd_guard) int listener = -1, fifo = -1, caller = -1;

        (void)snprintf(path, sizeof(path), "%s/sock", dir);
        (void)unlink(path);
        listener = listen_at(path);
        (void)snprintf(path, sizeof(path), "%s/fifo", dir);
        (void)unlink(path);
        assert_int_equal(mkfifo(path, 0666), 0);
        assert_int_equal(chmod(path, 0666), 0);
        fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        result = run_in(scene, dir, denied ? "/workspace/sock, /workspace/fifo" : "",
                        "/workspace/reach path /workspace/sock; echo x >/workspace/fifo");
        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        caller = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_int_equal(caller >= 0, sockets && !denied);
        assert_int_equal(read(fifo, &byte, 1) == 1, !denied);
    }
}

/* Whom a guest may signal is none of nacre's, where it has a sandbox of its own. */
static void a_command_that_signals_all_it_can_goes_on(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "", "kill -9 -1 2>/dev/null; kill -STOP -1 2>/dev/null; exit 3");

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 3);
}

/* `explain` has these numbers: unit.plan_container. */
static void private_directories_are_as_large_as_told(void **state)
{
    bool parts = strcmp(stage_of(*state)->level, "process") != 0;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_in(
        *state, NULL, "", "for d in /tmp /workspace; do stat -f -c '%b %S' $d; "
                          "stat -f -c '%c' $d; done");
    unsigned long blocks, size, files;
    const char *at = result->output.bytes;

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sscanf(at, "%lu %lu\n%lu", &blocks, &size, &files), 3);
        assert_int_equal(blocks * size, (parts ? 128ul : 256ul) << 20);
        assert_int_equal(files, parts ? 8192 : 16384);
        at = strchr(strchr(at, '\n') + 1, '\n') + 1;
    }
}

/* Tries to make a file wherever something is mounted or programs write by habit. */
#define TRY_ALL                                                                       \
    "try() { test -d \"$1\" || return 0\n"                                             \
    "  if touch \"$1/.tried\" 2>/dev/null; then echo \"w $1\"; else echo \"- $1\"; fi; }\n" \
    "while read -r id parent device root place rest; do try \"$place\"; done "         \
    "</proc/self/mountinfo\n"                                                         \
    "for place in / /dev /dev/mqueue /dev/shm /etc /home /opt /root /run /srv /tmp /usr " \
    "/var /var/tmp /workspace; do try $place; done"

/* What the guest could write is what `explain` says, place by place. */
static void in_deny_and_read_only_only_what_explain_says_can_be_written(void **state)
{
    static const struct {
        const char *mode;
        bool tmp, rest;
    } rows[] = {
        { "mode: deny", true, false },
        { "mode: read-only", false, false },
        { "mode: read-only, mount_paths: [{path: /tmp, permissions: rw}]", false, false },
        /* Where these can be written. */
        { "mode: scoped, mount_paths: [{path: /workspace, permissions: rw}]", true, true },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_request request = request_of(*state);
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_tool *tool = NULL;
        struct nacre_error err;
        char text[POLICY], *rest, *line;

        request.session = NULL;
        (void)snprintf(text, sizeof(text),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                       "  level: %s\n  capabilities:\n    shell: {mode: full}\n"
                       "    filesystem: {%s}\n",
                       level_of(*state), rows[i].mode);
        policy = scene_policy(text);
        assert_int_equal(nacre_tool_shell(TRY_ALL, &tool, &err), NACRE_OK);
        result = scene_run(*state, text, tool, &request);
        assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(strstr(result->output.bytes, "w /tmp\n") != NULL, rows[i].tmp);
        assert_int_equal(strstr(result->output.bytes, "w /dev/shm\n") != NULL,
                         rows[i].rest);
        assert_int_equal(strstr(result->output.bytes, "w /workspace\n") != NULL,
                         rows[i].rest);
        for (rest = result->output.bytes; (line = strsep(&rest, "\n")) && line[0];) {
            struct nacre_answer answer = { 0 };

            assert_int_equal(nacre_explain_path(policy, &request, line + 2, false,
                                                &answer, &err), NACRE_OK);
            if (answer.write != (line[0] == 'w'))
                fail_msg("%s: '%s', but explain: %s", rows[i].mode, line, answer.text);
        }
    }
}

static void *cancel_soon(void *data)
{
    nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    nacre_cancel(data, SIGTERM);
    return NULL;
}

/* The last test of its group: a cancelled engine stays cancelled. */
static void cancelling_ends_a_run_as_if_by_a_signal(void **state)
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

/* ---- the groups ---- */

static const struct stage *next_stage;

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (!scene)
        return -1;
    if (next_stage->image && getenv("NACRE_TEST_DOCKER"))
        (void)setenv("DOCKER_HOST", getenv("NACRE_TEST_DOCKER"), 1);
    scene->own = next_stage;
    *state = scene;
    return scene_open(scene, (struct nacre_engine_options){
                                 .in_process = next_stage->in_process,
                                 .own_boxes = true,
                             });
}

static int tear_down(void **state)
{
    int failed = scene_close(*state);

    free(*state);
    return failed;
}

#define EVERY                                                    \
    cmocka_unit_test(a_guest_runs_and_says_so),                  \
    cmocka_unit_test(each_ending_is_told_apart),                 \
    cmocka_unit_test(output_is_cut_at_the_byte_and_flagged),     \
    cmocka_unit_test(output_is_streamed_whole_and_in_order),     \
    cmocka_unit_test(input_reaches_the_guest_whole_and_ends),    \
    cmocka_unit_test(several_threads_share_an_engine)
#define SANDBOX                                                  \
    cmocka_unit_test(memory_is_bounded_and_its_peak_is_told),    \
    cmocka_unit_test(a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused)
#define LEFT cmocka_unit_test(what_a_command_leaves_behind_is_gone_with_it)
#define WRITTEN                                                                  \
    cmocka_unit_test(in_deny_and_read_only_only_what_explain_says_can_be_written)
#define FILES                                                                    \
    cmocka_unit_test(the_way_to_a_denied_name_of_a_private_directory_can_be_written), \
    cmocka_unit_test(who_listens_in_a_granted_directory_is_reached_unless_denied), \
    cmocka_unit_test(a_command_that_signals_all_it_can_goes_on),                 \
    cmocka_unit_test(private_directories_are_as_large_as_told),                  \
    WRITTEN
#define NATIVE                                                   \
    cmocka_unit_test(a_program_that_is_not_there_is_told_apart), \
    cmocka_unit_test(a_command_that_dies_of_a_signal_says_which), \
    cmocka_unit_test(cancelling_ends_a_run_as_if_by_a_signal)

/* Of a machine those with the same limits follow each other: they share one. */
#define MACHINE                                                  \
    cmocka_unit_test(a_guest_runs_and_says_so),                  \
    cmocka_unit_test(each_ending_is_told_apart),                 \
    cmocka_unit_test(output_is_cut_at_the_byte_and_flagged),     \
    cmocka_unit_test(output_is_streamed_whole_and_in_order),     \
    cmocka_unit_test(a_program_that_is_not_there_is_told_apart), \
    cmocka_unit_test(a_command_that_dies_of_a_signal_says_which), \
    cmocka_unit_test(a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused), \
    cmocka_unit_test(input_reaches_the_guest_whole_and_ends),    \
    cmocka_unit_test(several_threads_share_an_engine),           \
    cmocka_unit_test(what_a_command_leaves_behind_is_gone_before_the_next), \
    cmocka_unit_test(memory_is_bounded_and_its_peak_is_told),    \
    WRITTEN,                                                     \
    cmocka_unit_test(cancelling_ends_a_run_as_if_by_a_signal)

/* The tests' engine has the runtime where this is installed. */
static bool has_runsc(void)
{
    return system("command -v runsc >/dev/null 2>&1") == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest wasm[] = {
        EVERY, SANDBOX, cmocka_unit_test(nothing_of_a_run_is_seen_by_the_next)
    };
    const struct CMUnitTest process[] = {
        EVERY, SANDBOX, cmocka_unit_test(nothing_of_a_run_is_seen_by_the_next), LEFT,
        FILES, NATIVE
    };
    const struct CMUnitTest container[] = { EVERY, SANDBOX, LEFT, FILES, NATIVE };
    const struct CMUnitTest gvisor[] = {
        EVERY, SANDBOX,
        cmocka_unit_test(what_a_command_leaves_behind_is_gone_before_the_next), WRITTEN,
        NATIVE
    };
    const struct CMUnitTest none[] = { EVERY, LEFT, NATIVE };
    const struct CMUnitTest machine[] = { MACHINE };
    int failed = 0;

    for (size_t i = 0; i < NACRE_COUNT(stages); i++) {
        next_stage = &stages[i];
        if (argc > 1 && strcmp(argv[1], next_stage->gvisor ? "gvisor"
                                                           : next_stage->level) != 0)
            continue;
        if (strcmp(next_stage->level, "wasm") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, wasm, set_up,
                                                  tear_down);
        else if (strcmp(next_stage->level, "process") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, process, set_up,
                                                  tear_down);
        else if (next_stage->gvisor && !has_runsc())
            return argc > 1 ? 77 : failed;
        else if (next_stage->gvisor)
            failed += cmocka_run_group_tests_name(next_stage->name, gvisor, set_up,
                                                  tear_down);
        else if (next_stage->machine)
            failed += cmocka_run_group_tests_name(next_stage->name, machine, set_up,
                                                  tear_down);
        else if (strcmp(next_stage->level, "container") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, container, set_up,
                                                  tear_down);
        else
            failed += cmocka_run_group_tests_name(next_stage->name, none, set_up,
                                                  tear_down);
    }
    return failed;
}
