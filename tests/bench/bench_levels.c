/*
 * The native levels as an embedder has them, through libnacre, by turns with whole
 * programs: one command that does nothing, in a sandbox of its own or in a warm one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_exec.h"
#include "measure.h"
#include "nacre/nacre.h"
#include "nacre/tree.h"

#define VARIANTS_MAX 16
#define ENGINE_MS 30000
#define COSTLY_ONE_IN 10 /* what an engine starts takes tens of ms, a warm command one */

static char directory[512];

static void check(enum nacre_status status, const struct nacre_error *err)
{
    if (status != NACRE_OK)
        measure_die("%s", err->text);
}

/* ---- nacre ---- */

/* One way of running the command: a row, and what differs between the rows. */
struct side {
    const char *row;
    const char *policy_path;
    bool audit_off;
    const char *image, *session;
    struct nacre_engine *engine;
    struct nacre_policy *policy;
    struct nacre_tool *tool;
};

/* The audit log lies on a disk, as it would. */
static void side_open(struct side *side)
{
    static const char *const command[] = { "/bin/true", NULL };
    char state[600], cache[600], keys[600];
    struct nacre_engine_options options = {
        .commands_only = true, .own_boxes = true, .audit_off = side->audit_off,
        .state_dir = state, .cache_dir = cache, .key_dir = keys,
    };
    struct nacre_error err;

    (void)snprintf(state, sizeof(state), "%s/%s", directory, side->row);
    (void)snprintf(cache, sizeof(cache), "%s/cache", directory);
    (void)snprintf(keys, sizeof(keys), "%s/keys", directory);
    check(nacre_engine_open(&options, &side->engine, &err), &err);
    check(nacre_engine_policy(side->engine, side->policy_path, &side->policy, &err),
          &err);
    check(nacre_tool_command(command, &side->tool, &err), &err);
}

static void side_close(struct side *side)
{
    nacre_tool_free(side->tool);
    nacre_policy_free(side->policy);
    nacre_engine_free(side->engine);
}

static void call(void *data)
{
    const struct side *side = data;
    /* Without KVM a machine is emulated, and the report's machine says so. */
    static const char *const waive[] = { NACRE_WAIVER_EMULATION, NULL };
    struct nacre_request request = { .input_fd = -1, .image = side->image,
                                     .session = side->session,
                                     .unsandboxed =
                                         side->policy->level == NACRE_LEVEL_NONE,
                                     .waive = side->policy->level == NACRE_LEVEL_VM
                                                  ? waive
                                                  : NULL };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    check(nacre_run(side->engine, side->policy, side->tool, &request, &result, &err),
          &err);
    if (result->outcome == NACRE_OUTCOME_DENIED && result->denial_count > 0)
        measure_die("%s: denied: %s", side->row, result->denials[0].text);
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0)
        measure_die("%s: the command %s with status %d", side->row,
                    nacre_outcome_name(result->outcome), result->exit_status);
}

/* ---- the engine's own exec, without a program around it ---- */

struct exec {
    struct dk_client *client;
    const char *container;
    json_t *body;
};

static void exec_open(struct exec *exec, const char *container)
{
    struct dk_places places = dk_places_environment();
    struct dk_endpoint endpoint;
    struct nacre_error err;

    check(dk_endpoint_find(&places, &endpoint, &err), &err);
    check(dk_client_open(&endpoint, dk_within_ms(ENGINE_MS), &exec->client, &err), &err);
    exec->container = container;
    exec->body = json_pack("{s:[s], s:b, s:b}", "Cmd", "/bin/true", "AttachStdout", 1,
                           "AttachStderr", 1);
    if (!exec->body)
        measure_die("out of memory");
}

static void exec_close(struct exec *exec)
{
    json_decref(exec->body);
    dk_client_free(exec->client);
}

static void drain(struct dk_stream *stream)
{
    struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
    enum dk_output output;
    char bytes[256];
    ssize_t got;

    while ((got = dk_stream_read_any(stream, bytes, sizeof(bytes), &output)) != 0) {
        if (got < 0 && errno != EAGAIN)
            measure_die("the stream of an exec: %s", strerror(errno));
        if (got < 0 && poll(&ready, 1, ENGINE_MS) == 0)
            measure_die("an exec does not end");
    }
}

static void call_exec(void *data)
{
    const struct exec *exec = data;
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
    const struct nt_wait wait = dk_within_ms(ENGINE_MS);
    struct engine_exec_state state;
    struct nacre_error err;
    char id[DK_ID];

    check(engine_exec_create(exec->client, exec->container, exec->body, wait, id,
                         &err), &err);
    check(engine_exec_start(exec->client, id, wait, &stream, &err), &err);
    drain(stream);
    check(engine_exec_inspect(exec->client, id, wait, &state, &err), &err);
    if (state.running || state.exit_status != 0)
        measure_die("an exec ended with status %d", state.exit_status);
}

/* ---- what is measured together ---- */

/* `sides` and the programs in `words`, by turns. */
static void measure_sides(struct side *sides, size_t side_count,
                          const struct measure_variant *exec, char **words,
                          uint32_t costly_one_in, uint32_t count)
{
    struct measure_variant variants[VARIANTS_MAX];
    size_t used = 0, programs;

    for (size_t i = 0; i < side_count; i++) {
        side_open(&sides[i]);
        variants[used++] = (struct measure_variant){ .row = sides[i].row, .call = call,
                                                     .data = &sides[i] };
    }
    if (exec)
        variants[used++] = *exec;
    programs = measure_programs(words, variants + used, VARIANTS_MAX - used);
    for (size_t i = 0; i < programs; i++)
        variants[used + i].one_in = costly_one_in;
    measure_by_turns(variants, used + programs, count);
    for (size_t i = 0; i < side_count; i++)
        side_close(&sides[i]);
}

static void measure_none(char **words, uint32_t count)
{
    struct side side = { .row = "none.nacre", .policy_path = words[0] };

    measure_sides(&side, 1, NULL, words + 1, 1, count);
}

/* Where cgroups can't be made, the second policy is "". */
static void measure_process(char **words, uint32_t count)
{
    struct side sides[] = {
        { .row = "process.nacre", .policy_path = words[0] },
        { .row = "process.nacre.quiet", .policy_path = words[0], .audit_off = true },
        { .row = "process.nacre.limited", .policy_path = words[1] },
    };

    measure_sides(sides, NACRE_COUNT(sides) - (words[1][0] ? 0 : 1), NULL, words + 2, 1,
                  count);
}

static void measure_warm(char **words, uint32_t count)
{
    struct side sides[] = {
        { .row = "warm.nacre", .policy_path = words[0], .image = words[1],
          .session = "bench" },
        { .row = "warm.nacre.quiet", .policy_path = words[0], .image = words[1],
          .session = "quiet", .audit_off = true },
    };
    struct exec exec = { 0 };
    struct measure_variant variant = { .row = "warm.api.exec", .call = call_exec,
                                       .data = &exec, .one_in = COSTLY_ONE_IN };

    exec_open(&exec, words[2]);
    measure_sides(sides, NACRE_COUNT(sides), &variant, words + 3, COSTLY_ONE_IN, count);
    exec_close(&exec);
}

static void measure_fresh(char **words, uint32_t count)
{
    struct side sides[] = {
        { .row = "fresh.nacre", .policy_path = words[0], .image = words[1] },
    };

    measure_sides(sides, NACRE_COUNT(sides), NULL, words + 2, 1, count);
}

/* One side of a kind that has no peer here: "ROW POLICY IMAGE". */
static void measure_warm_alone(char **words, uint32_t count)
{
    struct side side = { .row = words[0], .policy_path = words[1], .image = words[2],
                         .session = "bench" };

    measure_sides(&side, 1, NULL, words + 3, 1, count);
}

static void measure_fresh_alone(char **words, uint32_t count)
{
    struct side side = { .row = words[0], .policy_path = words[1], .image = words[2] };

    measure_sides(&side, 1, NULL, words + 3, 1, count);
}

static void clean_up(void)
{
    struct nacre_error err;

    if (nacre_tree_remove(AT_FDCWD, directory, &err) != NACRE_OK)
        (void)fprintf(stderr, "%s is left behind: %s\n", directory, err.text);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *usage;
        int words; /* at least so many */
        void (*measure)(char **words, uint32_t count);
    } parts[] = {
        { "none", "POLICY", 1, measure_none },
        { "process", "POLICY POLICY-WITH-LIMITS", 2, measure_process },
        { "warm", "POLICY IMAGE CONTAINER", 3, measure_warm },
        { "fresh", "POLICY IMAGE", 2, measure_fresh },
        { "warm-alone", "ROW POLICY IMAGE", 3, measure_warm_alone },
        { "fresh-alone", "ROW POLICY IMAGE", 3, measure_fresh_alone },
    };

    (void)snprintf(directory, sizeof(directory), "%s/nacre-bench-XXXXXX",
                   getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    for (size_t i = 0; i < NACRE_COUNT(parts); i++) {
        if (argc < 3 + parts[i].words || strcmp(argv[1], parts[i].name) != 0)
            continue;
        if (!mkdtemp(directory))
            measure_die("%s can't be made", directory);
        parts[i].measure(argv + 3, measure_count(argv[2]));
        clean_up();
        return 0;
    }
    for (size_t i = 0; i < NACRE_COUNT(parts); i++)
        (void)fprintf(stderr, "%s COUNT %s [ROW PROGRAM [ARGUMENT...] [+]]...\n",
                      parts[i].name, parts[i].usage);
    return 1;
}
