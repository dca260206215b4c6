#include "warm_keeper.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nacre/secrets.h"
#include "nacre/tool.h"

_Atomic int warm_begun, warm_ended;
struct nacre_box_info warm_boxes[WARM_BOXES_MAX];
_Atomic uint32_t warm_box_count;
static pthread_mutex_t boxes_lock = PTHREAD_MUTEX_INITIALIZER;

struct played {
    struct nacre_executor base;
    _Atomic int cancelled;
};

/* ---- the executor ---- */

static int cancelled(struct nacre_executor *base, const struct nacre_request *request)
{
    int all = atomic_load(&((struct played *)base)->cancelled);

    return all ? all : atomic_load(request->cancelled);
}

static void say(const struct nacre_request *request, int stream, const char *text)
{
    request->on_output(request->on_output_data, stream, text, strlen(text));
}

static void play_cat(const struct nacre_request *request)
{
    char bytes[4096];
    ssize_t count;

    if (request->input_fd < 0)
        say(request, 1, "-");
    else if (isatty(request->input_fd))
        say(request, 1, "T");
    while (request->input_fd >= 0 &&
           (count = read(request->input_fd, bytes, sizeof(bytes))) > 0)
        request->on_output(request->on_output_data, 1, bytes, (size_t)count);
}

static void play_until_cancelled(struct nacre_executor *base,
                                 const struct nacre_request *request, bool floods)
{
    static char bytes[65536];

    while (!cancelled(base, request))
        if (floods)
            request->on_output(request->on_output_data, 1, bytes, sizeof(bytes));
        else
            (void)poll(NULL, 0, 5);
}

static void play_plan(const struct nacre_plan *plan, const struct nacre_request *request,
                      const struct nacre_result *result)
{
    char hex[NACRE_HEX];

    for (uint32_t i = 0; i < plan->denied_host_count; i++) {
        say(request, 1, plan->denied_host_paths[i]);
        say(request, 1, "\n");
    }
    say(request, 2, nacre_digest_hex(&plan->digest, hex));
    say(request, 1, result->run_id);
    for (size_t i = 0; request->environment && request->environment[i]; i++)
        say(request, 1, request->environment[i]);
    for (uint32_t i = 0; i < request->secret_file_count; i++) {
        say(request, 1, request->secret_files[i].name);
        say(request, 1, (const char *)request->secret_files[i].bytes);
    }
    for (uint32_t i = 0; request->granted && i < request->granted->count; i++) {
        say(request, 1, request->granted->items[i].name);
        say(request, 1, (const char *)request->granted->items[i].value);
    }
    for (size_t i = 0; request->arguments && request->arguments[i]; i++)
        say(request, 1, request->arguments[i]);
}

static enum nacre_status play(struct nacre_executor *base, const struct nacre_plan *plan,
                              const struct nacre_tool *tool,
                              const struct nacre_request *request,
                              struct nacre_result *result, struct nacre_error *err)
{
    const char *word = tool->argv[0];

    result->outcome = NACRE_OUTCOME_EXITED;
    result->usage.cpu_ns = 12345;
    if (strcmp(word, "fail") == 0)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "it can't \xff");
    if (strcmp(word, "cat") == 0)
        play_cat(request);
    if (strcmp(word, "plan") == 0)
        play_plan(plan, request, result);
    if (strcmp(word, "say") == 0) {
        for (size_t i = 1; tool->argv[i]; i++)
            say(request, 1, tool->argv[i]);
        say(request, 2, "err");
        result->exit_status = 7;
    }
    if (strcmp(word, "wait") == 0 || strcmp(word, "flood") == 0) {
        play_until_cancelled(base, request, word[0] == 'f');
        result->outcome = NACRE_OUTCOME_KILLED;
        result->signal = cancelled(base, request);
    }
    return NACRE_OK;
}

static enum nacre_status played_run(struct nacre_executor *base,
                                    const struct nacre_plan *plan,
                                    const struct nacre_tool *tool,
                                    const struct nacre_request *request,
                                    struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_status status;

    atomic_fetch_add(&warm_begun, 1);
    status = play(base, plan, tool, request, result, err);
    atomic_fetch_add(&warm_ended, 1);
    return status;
}

static void played_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&((struct played *)base)->cancelled, signal);
}

static void played_probe(struct nacre_executor *base, uint64_t wanted)
{
    (void)base;
    (void)wanted;
}

static const struct nacre_executor_ops played_ops = {
    .name = "container", .probe = played_probe, .run = played_run,
    .cancel = played_cancel,
};

static struct played played = {
    .base = { .ops = &played_ops,
              .features = NACRE_FEATURE_NATIVE | NACRE_FEATURE_WARM,
              .mechanisms = { { "played", "by a test \xff", true } },
              .mechanism_count = 1 },
};

/* ---- its sandboxes ---- */

void warm_box_add(const char *scope_key, const char *name, const char *id,
                  uint64_t age_ms, uint64_t idle_ms, uint32_t commands)
{
    struct nacre_box_info box = { .commands = commands, .owner_pid = getpid() };
    struct timespec now;
    uint64_t now_ms;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    box.created_ms = now_ms - age_ms;
    box.used_ms = now_ms - idle_ms;
    (void)snprintf(box.scope_key, sizeof(box.scope_key), "%s", scope_key);
    (void)snprintf(box.name, sizeof(box.name), "%s", name);
    (void)snprintf(box.id, sizeof(box.id), "%s", id);
    (void)pthread_mutex_lock(&boxes_lock);
    warm_boxes[warm_box_count++] = box;
    (void)pthread_mutex_unlock(&boxes_lock);
}

static void list(struct nacre_executor *executor,
                 bool (*each)(void *data, const struct nacre_box_info *info), void *data)
{
    (void)executor;
    (void)pthread_mutex_lock(&boxes_lock);
    for (uint32_t i = 0; i < warm_box_count && each(data, &warm_boxes[i]); i++)
        ;
    (void)pthread_mutex_unlock(&boxes_lock);
}

static uint32_t end(struct nacre_executor *executor, bool force,
                    bool (*wanted)(void *data, const struct nacre_box_info *info),
                    void *data)
{
    uint32_t kept = 0, ended;

    (void)executor;
    (void)pthread_mutex_lock(&boxes_lock);
    for (uint32_t i = 0; i < warm_box_count; i++)
        if (!wanted(data, &warm_boxes[i]) || (warm_boxes[i].commands > 0 && !force))
            warm_boxes[kept++] = warm_boxes[i];
    ended = warm_box_count - kept;
    warm_box_count = kept;
    (void)pthread_mutex_unlock(&boxes_lock);
    return ended;
}

/* ---- the keeper ---- */

void warm_keeper_init(struct warm_keeper *keeper, const char *state_dir)
{
    *keeper = (struct warm_keeper){
        .options = { .state_dir = state_dir, .idle_ms = 3600000, .prune_ms = 3600000,
                     .ready_fd = -1, .executor = &played.base, .list = list, .end = end },
    };
    atomic_store(&warm_box_count, 0);
    atomic_store(&warm_begun, 0);
    atomic_store(&warm_ended, 0);
}

static void *serve(void *data)
{
    struct warm_keeper *keeper = data;

    keeper->status = nacre_keeper_serve(&keeper->options, &keeper->err);
    (void)close(keeper->options.ready_fd);
    return NULL;
}

void warm_keeper_start(struct warm_keeper *keeper)
{
    int ends[2];
    char byte;

    if (pipe(ends) != 0)
        abort();
    keeper->options.leaving = &keeper->leaving;
    keeper->options.ready_fd = ends[1];
    keeper->runs = pthread_create(&keeper->thread, NULL, serve, keeper) == 0;
    (void)!read(ends[0], &byte, 1);
    (void)close(ends[0]);
}

enum nacre_status warm_keeper_join(struct warm_keeper *keeper)
{
    if (keeper->runs)
        (void)pthread_join(keeper->thread, NULL);
    keeper->runs = false;
    return keeper->status;
}

enum nacre_status warm_keeper_stop(struct warm_keeper *keeper)
{
    atomic_store(&keeper->leaving, 15);
    return warm_keeper_join(keeper);
}

bool warm_soon(bool (*so)(void))
{
    for (int i = 0; i < 12000; i++) { /* a minute: a busy disk takes its time, too */
        if (so())
            return true;
        (void)poll(NULL, 0, 5);
    }
    return false;
}
