/*
 * Level none: the command runs on the host as the caller, beneath our init, which holds
 * its deadline and kills what it leaves behind.  Nothing bounds what it may touch; the
 * plan is made only where both the policy and the caller have asked for that.
 */
#include <string.h>

#include "nacre/ancestry.h"
#include "nacre/clock.h"
#include "nacre/executor.h"
#include "nt_launch.h"
#include "nt_placeholders.h"
#include "nt_start.h"

#define MAKING_MS 10000
#define BEAT_MS 5000

struct executor {
    struct nacre_executor base;
    struct nt_launcher *launcher;
    _Atomic int cancelled; /* a signal's number */
};

static struct executor *executor_of(struct nacre_executor *base)
{
    return (struct executor *)base;
}

static void executor_free(struct nacre_executor *base)
{
    struct executor *executor = executor_of(base);

    if (!executor)
        return;
    nt_launcher_free(executor->launcher);
    free(executor);
}

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    struct executor *executor;
    enum nacre_status status;

    /* A guest would call it: without a sandbox there is one run, not a chain. */
    if (nacre_is_inside())
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "level none is not to be had by a command that nacre itself runs");
    executor = calloc(1, sizeof(*executor));
    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "executor");
    executor->base.ops = &nacre_none_executor;
    nt_placeholders_sweep(options->state_dir);
    status = nt_launcher_open(false, &executor->launcher, err);
    if (status != NACRE_OK) {
        executor_free(&executor->base);
        return status;
    }
    executor->base.features = NACRE_FEATURE_NATIVE | NACRE_FEATURE_WALL_LIMIT |
                              NACRE_FEATURE_OUTPUT_LIMIT | NACRE_FEATURE_OPEN_FILES;
    nacre_mechanism_add(&executor->base, "sandbox", false,
                        "none: the command runs on the host, as the caller");
    nacre_mechanism_add(&executor->base, "rlimits", true, "open files, no core");
    nacre_mechanism_add(&executor->base, "deadline", true,
                        "init kills the command and all that it started");
    *ret_executor = &executor->base;
    return NACRE_OK;
}

static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    (void)base;
    (void)wanted;
}

struct place {
    struct nt_launched launched;
    struct nt_box *box;
};

static void place_end(struct place *place)
{
    struct nacre_error err;

    nt_box_free(place->box);
    (void)!nt_launched_end(&place->launched, &err);
}

static enum nacre_status place_make(struct executor *executor, struct place *place,
                                    struct nacre_error *err)
{
    const struct init_config config = { .beat_ms_max = BEAT_MS, .commands_max = 1,
                                        .landlock_none = true, .oom_file = "" };
    const struct nt_launch_options options = {
        .deadline_ns = nacre_clock_ns() + MAKING_MS * NACRE_NS_PER_MS,
        .cancelled = &executor->cancelled,
    };
    const struct nt_wait wait = { options.deadline_ns, options.cancelled, NULL };
    struct nt_stream stream;
    enum nacre_status status =
        nt_launch(executor->launcher, &options, &place->launched, err);

    if (status == NACRE_OK)
        status = nt_stream_fd(nacre_fd_take(&place->launched.channel_fd), &stream, err);
    if (status == NACRE_OK)
        status = nt_box_open(&stream, &config, wait, &place->box, err);
    return status;
}

/* Of the caller's variables those that say who and where it is; a secret in another one
 * stays with the caller. */
static size_t pick_environment(const char **ret_defaults, size_t max)
{
    static const char *const names[] = { "PATH", "HOME",   "USER",   "LOGNAME", "SHELL",
                                         "LANG", "LC_ALL", "TMPDIR", "TZ",      "TERM" };
    size_t count = 0;

    for (char **entry = environ; entry && *entry && count < max; entry++)
        for (size_t i = 0; i < NACRE_COUNT(names); i++) {
            size_t length = strlen(names[i]);

            if (strncmp(*entry, names[i], length) == 0 && (*entry)[length] == '=')
                ret_defaults[count++] = *entry;
        }
    return count;
}

/* Where it begins: what was asked for, else the host directory of the workspace. */
static const char *directory_of(const struct nacre_plan *plan,
                                const struct nacre_request *request)
{
    if (request->directory)
        return request->directory;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (strcmp(plan->mounts[i].guest, "/workspace") == 0 && plan->mounts[i].host)
            return plan->mounts[i].host;
    return request->workspace ? request->workspace : "/";
}

static enum nacre_status executor_run(struct nacre_executor *base,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    struct executor *executor = executor_of(base);
    const char *defaults[16 + 1] = { NULL };
    NACRE_AUTO(nt_words_clear) struct nt_words words = { 0 };
    NACRE_AUTO(place_end) struct place place = { .launched = { -1, -1, -1 } };
    struct nt_command command = {
        .start = { .directory = directory_of(plan, request),
                   .wall_ms_max = plan->limits.wall_ms_max,
                   .open_files_max = plan->limits.open_files_max },
        .output_bytes_max = plan->limits.output_bytes_max,
        .request = request,
        .cancelled = &executor->cancelled,
    };
    enum nacre_status status;

    if (!request->unsandboxed)
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "level none needs the caller's own consent");
    result->unsandboxed = true;
    (void)pick_environment(defaults, NACRE_COUNT(defaults) - 1);
    status = nt_words_make(tool, request, defaults, &words, err);
    if (status != NACRE_OK)
        return status;
    command.start.arguments = words.arguments;
    command.start.environment = words.environment;
    status = place_make(executor, &place, err);
    if (status == NACRE_OK)
        return nt_box_run(place.box, &command, result, err);
    if (!atomic_load(&executor->cancelled)) {
        err->status = NACRE_ERR_UNAVAILABLE;
        return nacre_fail_context(err, "nothing was started");
    }
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = atomic_load(&executor->cancelled);
    return NACRE_OK;
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&executor_of(base)->cancelled, signal);
}

const struct nacre_executor_ops nacre_none_executor = {
    .name = "none",
    .open = executor_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};
