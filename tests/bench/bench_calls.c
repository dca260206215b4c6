/*
 * nacre as an embedder has it, through libnacre: a policy, a tool, and a fresh instance
 * for each call; in jailed workers and in this process, with audit records and without.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "nacre/nacre.h"
#include "nacre/tree.h"

static const char policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: bench}\nspec:\n  level: wasm\n"
    "  resource_limits: {memory_mb: 512, timeout_ms: 600000}\n";

static char directory[512];

/* One engine and what it runs. */
struct side {
    struct nacre_engine *engine;
    const struct nacre_policy *policy;
    const struct nacre_tool *tool;
    size_t expected; /* bytes that the tool writes */
};

static void check(enum nacre_status status, const struct nacre_error *err)
{
    if (status != NACRE_OK)
        measure_die("%s", err->text);
}

/* The audit log lies on a disk, as it would. */
static void side_open(struct side *side, const char *name, bool in_process, bool audit)
{
    char state[600], cache[600], keys[600];
    struct nacre_engine_options options = {
        .in_process = in_process, .audit_off = !audit,
        .state_dir = state, .cache_dir = cache, .key_dir = keys,
    };
    struct nacre_error err;

    (void)snprintf(state, sizeof(state), "%s/%s", directory, name);
    (void)snprintf(cache, sizeof(cache), "%s/cache", directory);
    (void)snprintf(keys, sizeof(keys), "%s/keys", directory);
    check(nacre_engine_open(&options, &side->engine, &err), &err);
}

static void call_in_session(const struct side *side, const char *session)
{
    struct nacre_request request = { .input_fd = -1, .session = session };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    check(nacre_run(side->engine, side->policy, side->tool, &request, &result, &err),
          &err);
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0 ||
        result->output.size != side->expected)
        measure_die("the guest %s with status %d and %zu bytes of output instead of %zu",
                    nacre_outcome_name(result->outcome), result->exit_status,
                    result->output.size, side->expected);
}

static void call(void *data)
{
    call_in_session(data, NULL);
}

static void measure_calls(const struct side *common, uint32_t count)
{
    static const struct {
        const char *row;
        bool in_process, audit;
    } kinds[] = {
        { "call.worker", false, true },
        { "call.worker.quiet", false, false },
        { "call.inprocess", true, true },
        { "call.inprocess.quiet", true, false },
    };
    struct side sides[NACRE_COUNT(kinds)];
    struct measure_variant variants[NACRE_COUNT(kinds)];

    for (size_t i = 0; i < NACRE_COUNT(kinds); i++) {
        sides[i] = *common;
        side_open(&sides[i], kinds[i].row, kinds[i].in_process, kinds[i].audit);
        variants[i] = (struct measure_variant){ .row = kinds[i].row, .call = call,
                                                .data = &sides[i] };
    }
    measure_by_turns(variants, NACRE_COUNT(kinds), count);
    for (size_t i = 0; i < NACRE_COUNT(kinds); i++)
        nacre_engine_free(sides[i].engine);
}

/* ---- clients ---- */

/* A session of its own means a worker of its own. */
static void call_of_client(void *data, uint32_t client)
{
    char session[16];

    (void)snprintf(session, sizeof(session), "client-%u", client);
    call_in_session(data, session);
}

static void measure_crowds(const struct side *common, uint32_t count)
{
    static const uint32_t clients[] = { 1, 2, 8 };
    struct side worker = *common, inprocess = *common;
    char metric[32];

    side_open(&worker, "worker", false, true);
    side_open(&inprocess, "inprocess", true, true);
    for (size_t i = 0; i < NACRE_COUNT(clients); i++) {
        (void)snprintf(metric, sizeof(metric), "per_s_%u", clients[i]);
        measure_clients("clients.worker", metric, clients[i], count / clients[i] + 1,
                        call_of_client, &worker);
        measure_clients("clients.inprocess", metric, clients[i], count / clients[i] + 1,
                        call_of_client, &inprocess);
    }
    nacre_engine_free(worker.engine);
    nacre_engine_free(inprocess.engine);
}

/* ---- live instances ---- */

struct life {
    struct side *side;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t alive;
};

static void on_alive(void *data, int stream, const char *bytes, size_t count)
{
    struct life *life = data;

    (void)stream;
    (void)bytes;
    (void)count;
    (void)pthread_mutex_lock(&life->lock);
    life->alive++;
    (void)pthread_cond_signal(&life->changed);
    (void)pthread_mutex_unlock(&life->lock);
}

struct soul {
    struct life *life;
    char session[16];
};

static void *live(void *data)
{
    struct soul *soul = data;
    struct nacre_request request = { .input_fd = -1, .session = soul->session,
                                     .on_output = on_alive,
                                     .on_output_data = soul->life };
    const struct side *side = soul->life->side;
    struct nacre_result *result;
    struct nacre_error err;

    check(nacre_run(side->engine, side->policy, side->tool, &request, &result, &err),
          &err);
    measure_die("the guest ended (%s) while it was to be measured",
                nacre_outcome_name(result->outcome));
}

static void start_life(void *data, uint32_t number)
{
    static struct soul souls[MEASURE_CLIENTS_MAX];
    struct life *life = data;
    struct soul *soul = &souls[number];
    pthread_t thread;

    soul->life = life;
    (void)snprintf(soul->session, sizeof(soul->session), "live-%u", number);
    if (pthread_create(&thread, NULL, live, soul) != 0)
        measure_die("can't start a thread");
    (void)pthread_mutex_lock(&life->lock);
    while (life->alive <= number)
        (void)pthread_cond_wait(&life->changed, &life->lock);
    (void)pthread_mutex_unlock(&life->lock);
}

static void measure_lives(struct side *side, bool in_process)
{
    struct life life = { side, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

    side_open(side, "live", in_process, true);
    measure_live(in_process ? "live.inprocess" : "live.worker", start_life, &life);
    (void)fflush(stdout);
}

static void clean_up(void)
{
    struct nacre_error err;

    if (nacre_tree_remove(AT_FDCWD, directory, &err) != NACRE_OK)
        (void)fprintf(stderr, "%s is left behind: %s\n", directory, err.text);
}

int main(int argc, char **argv)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    const char *what = argc > 2 ? argv[1] : "";
    struct side common = { 0 };
    struct nacre_error err;

    (void)snprintf(directory, sizeof(directory), "%s/nacre-bench-XXXXXX",
                   getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(directory))
        measure_die("%s can't be made", directory);
    if (argc > 2)
        check(nacre_tool_load(argv[2], &tool, &err), &err);
    check(nacre_policy_parse("bench.yaml", policy_text, strlen(policy_text), &policy,
                             &err), &err);
    common.tool = tool;
    common.policy = policy;
    if (argc == 5)
        common.expected = measure_count(argv[3]);
    if (strcmp(what, "calls") == 0 && argc == 5) {
        measure_calls(&common, measure_count(argv[4]));
    } else if (strcmp(what, "clients") == 0 && argc == 5) {
        measure_crowds(&common, measure_count(argv[4]));
    } else if (strcmp(what, "live") == 0 || strcmp(what, "live-inprocess") == 0) {
        measure_lives(&common, what[4] != '\0');
        clean_up();
        /* The guests sleep for longer than anybody wants to wait; the workers die with
         * their supervisor. */
        _exit(0);
    } else {
        measure_die("calls|clients MODULE OUTPUT-BYTES COUNT, or "
                    "live|live-inprocess MODULE");
    }
    clean_up();
    return 0;
}
