/*
 * The wasm executor: takes a plan and a module, finds or makes a worker for them, and
 * holds the deadline while the guest runs.  What comes back from a worker is believed
 * only after it was copied and checked: a guest may have taken the worker over.
 */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "landlock.h"
#include "mounts.h"
#include "nacre/clock.h"
#include "nacre/cache.h"
#include "nacre/executor.h"
#include "nacre/module.h"
#include "pidfd.h"
#include "seccomp.h"
#include "wt_core.h"
#include "wt_hand.h"
#include "wt_inprocess.h"
#include "wt_module.h"
#include "wt_pool.h"
#include "wt_result.h"
#include "wt_source.h"

#define PIN_NS (2 * NACRE_NS_PER_MS)     /* then the worker may leave the caller's core */
#define SLICE_NS (100 * NACRE_NS_PER_MS) /* how long a wait goes without a look around */
#define NUDGE_NS (20 * NACRE_NS_PER_MS)  /* between signals once the time is up */
#define GRACE_NS (150 * NACRE_NS_PER_MS) /* from the deadline to SIGKILL */

struct executor {
    struct nacre_executor base;
    struct nacre_executor_options options;
    struct wt_zygote *zygote;
    struct wt_source *source;
    struct wt_pool *pool;
    struct wt_inprocess *inprocess; /* instead of the pool, when asked for by name */
    pthread_mutex_t probing;
    struct nacre_cpu_share *cpu_share; /* once probed; guarded by `probing` until then */
    _Atomic int cancelled; /* a signal's number */
};

static struct executor *executor_of(struct nacre_executor *base)
{
    return (struct executor *)base;
}

/* ---- opening: what stands here ---- */

static void add_walls(struct executor *executor)
{
    struct nacre_executor *base = &executor->base;
    uint32_t abi = nacre_landlock_abi();
    bool jailed = !executor->options.in_process;

    nacre_mechanism_add(base, "wasm", true, "wasmtime " WASMTIME_VERSION
                                            ", preview1 by nacre's own shims");
    nacre_mechanism_add(
        base, "worker", jailed,
        jailed ? "own process, killable; one plan, one module"
               : "in-process: a stuck or broken guest takes the caller along");
    nacre_mechanism_add(base, "seccomp", jailed,
                        jailed ? "allowlist; no exec, no fork, no socket"
                               : "in-process: no system call filter");
    if (!jailed)
        nacre_mechanism_add(base, "landlock", false,
                            "in-process: the shims alone bound paths");
    else if (abi == 0)
        nacre_mechanism_add(base, "landlock", false, "this kernel has none");
    else if (nacre_landlock_lacks(abi)[0])
        nacre_mechanism_add(base, "landlock", true, "ABI %u; lacks: %s", abi,
                            nacre_landlock_lacks(abi));
    else
        nacre_mechanism_add(base, "landlock", true, "ABI %u", abi);
    nacre_mechanism_add(base, "rlimits", jailed,
                        jailed ? "data, files, file size, no core" : "in-process: none");
    nacre_mechanism_add(base, "memory", true,
                        "nacre's own allocator: exact sum and peak");
    nacre_mechanism_add(base, "fuel", true, "counted for every instruction");
    nacre_mechanism_add(base, "deadline", true,
                        jailed ? "epoch interrupt, SIGKILL 150 ms later"
                               : "epoch interrupt only");
}

/* Weights are probed by making a cgroup, which costs as much as a short run. */
static void probe_shares(struct executor *executor)
{
    const uint32_t shares = NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY;
    struct nacre_error err;
    bool by_nice;

    if (executor->cpu_share || executor->options.in_process ||
        nacre_cpu_share_open(&executor->cpu_share, &err) != NACRE_OK)
        return;
    by_nice = nacre_cpu_share_kind(executor->cpu_share) == NACRE_CPU_SHARE_NICE;
    nacre_mechanism_add(&executor->base, "cpu_shares", true, "%s",
                        nacre_cpu_share_text(executor->cpu_share));
    atomic_fetch_or(&executor->base.features,
                    by_nice ? NACRE_FEATURE_CPU_SHARES_LOW : shares);
}

/* A door is another program, which has to be there with all that it needs. */
static void probe_egress(struct executor *executor)
{
    struct nacre_error err;

    if ((atomic_load(&executor->base.features) & NACRE_FEATURE_EGRESS) ||
        !executor->options.doors ||
        nacre_doors_probe(executor->options.doors, &err) != NACRE_OK)
        return;
    nacre_mechanism_add(&executor->base, "egress", true,
                        "a door in a process of its own; guests ask it by a host call");
    atomic_fetch_or(&executor->base.features, NACRE_FEATURE_EGRESS);
}

static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    struct executor *executor = executor_of(base);

    (void)pthread_mutex_lock(&executor->probing);
    if (wanted & (NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY))
        probe_shares(executor);
    if (wanted & NACRE_FEATURE_EGRESS)
        probe_egress(executor);
    (void)pthread_mutex_unlock(&executor->probing);
}

static enum nacre_status open_parts(struct executor *executor, struct nacre_error *err)
{
    const struct nacre_executor_options *options = &executor->options;
    enum nacre_status status = nacre_seccomp_probe(err);

    /* First, so that it gets ready while we do the rest. */
    if (status == NACRE_OK)
        status = wt_zygote_start(options->program, &executor->zygote, err);
    if (status == NACRE_OK)
        status = wt_source_open(options, &executor->cancelled, &executor->source, err);
    if (status == NACRE_OK && options->in_process)
        status =
            wt_inprocess_open(options, &executor->cancelled, &executor->inprocess, err);
    else if (status == NACRE_OK)
        status = wt_pool_open(executor->zygote, options, &executor->cpu_share,
                              &executor->pool, err);
    return status;
}

static void executor_free(struct nacre_executor *base)
{
    struct executor *executor = executor_of(base);

    if (!executor)
        return;
    wt_pool_free(executor->pool);
    wt_inprocess_free(executor->inprocess);
    wt_source_free(executor->source);
    nacre_cpu_share_free(executor->cpu_share);
    wt_zygote_free(executor->zygote);
    (void)pthread_mutex_destroy(&executor->probing);
    free(executor);
}

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    enum nacre_status status;

    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "executor");
    executor->base.ops = &nacre_wasm_executor;
    executor->options = *options;
    (void)pthread_mutex_init(&executor->probing, NULL);
    status = open_parts(executor, err);
    if (status != NACRE_OK) {
        executor_free(&executor->base);
        return status;
    }
    executor->base.features =
        NACRE_FEATURE_WASM | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_WALL_LIMIT |
        NACRE_FEATURE_FUEL | NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |
        NACRE_FEATURE_PROCESSES | NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED |
        NACRE_FEATURE_FS_FULL | NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_NO_SHELL |
        NACRE_FEATURE_SECRET_FILES;
    add_walls(executor);
    *ret_executor = &executor->base;
    return NACRE_OK;
}

/* ---- one call ---- */

/* False with errno, as wt_hand_fds(). */
static bool hand_over(struct wt_worker *worker, const struct nacre_request *request)
{
    if (!wt_hand_fds(worker->control, request))
        return false;
    atomic_store(&worker->share->word, (uint32_t)worker->child.pid | FUTEX_WAITERS);
    wt_futex_wake(&worker->share->word);
    return true;
}

static const unsigned char *output_of(const struct wt_worker *worker, int stream)
{
    return wt_share_output(worker->share, worker->output_bytes_max, stream);
}

static void drain(const struct wt_worker *worker, const struct nacre_request *request,
                  uint64_t shown[2])
{
    for (int stream = 0; request->on_output && stream < 2; stream++) {
        uint64_t there = wt_result_output(&worker->share->record, stream,
                                          worker->output_bytes_max);

        /* A count that falls and rises again would be output without end. */
        if (there <= shown[stream])
            continue;
        request->on_output(request->on_output_data, stream + 1,
                           (const char *)output_of(worker, stream) + shown[stream],
                           there - shown[stream]);
        shown[stream] = there;
    }
}

enum wait_end {
    WAIT_DONE,
    WAIT_DIED,
    WAIT_OVERRUN,
    WAIT_CANCELLED,
};

static enum wait_end await(struct executor *executor, struct wt_worker *worker,
                           const struct nacre_request *request, uint64_t deadline_ns,
                           struct wt_core *core, uint64_t shown[2])
{
    struct wt_share *share = worker->share;
    uint64_t start = nacre_clock_ns(), now = start, next;
    uint32_t word;

    while ((word = atomic_load(&share->word)) != 0) {
        if (word & FUTEX_OWNER_DIED)
            return WAIT_DIED;
        if (atomic_load(&executor->cancelled))
            return WAIT_CANCELLED;
        drain(worker, request, shown);
        if (now >= deadline_ns + GRACE_NS)
            return WAIT_OVERRUN;
        if (now >= deadline_ns)
            (void)nacre_pidfd_signal(worker->child.pidfd, SIGUSR1);
        if (now - start >= PIN_NS) {
            wt_core_release(core, worker);
            if (!wt_worker_lives(worker))
                return WAIT_DIED;
        }
        next = now - start < PIN_NS ? start + PIN_NS : now + SLICE_NS;
        if (now >= deadline_ns)
            next = now + NUDGE_NS;
        else if (next > deadline_ns)
            next = deadline_ns;
        (void)wt_futex_wait(&share->word, word, next - now);
        now = nacre_clock_ns();
    }
    return WAIT_DONE;
}

static const char *signal_reason(int number)
{
    if (number == SIGSYS)
        return "the worker made a system call that its filter forbids";
    return "the worker was killed";
}

static void end_by_force(struct executor *executor, struct wt_worker *worker,
                         enum wait_end end, struct nacre_result *result)
{
    int status = wt_zygote_reap(executor->zygote, &worker->child);

    result->outcome = NACRE_OUTCOME_KILLED;
    result->usage.fuel_exact = false;
    if (end == WAIT_OVERRUN) {
        result->outcome = NACRE_OUTCOME_TIMED_OUT;
    } else if (end == WAIT_CANCELLED) {
        result->signal = atomic_load(&executor->cancelled);
        (void)snprintf(result->reason, sizeof(result->reason), "cancelled");
    } else {
        result->signal = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
        (void)snprintf(result->reason, sizeof(result->reason), "%s",
                       signal_reason(result->signal));
    }
}

/* From the hand-over to the end, whatever the end is.  Fails when the call could not be
 * handed over, by the caller's fault. */
static enum nacre_status attend(struct executor *executor, struct wt_worker *worker,
                                const struct nacre_plan *plan,
                                const struct nacre_tool *tool,
                                const struct nacre_request *request,
                                uint64_t deadline_ns, uint64_t shown[2],
                                enum wait_end *ret_end, struct nacre_error *err)
{
    struct wt_core core = { .is_held = false };
    enum nacre_status status;

    *ret_end = WAIT_DIED;
    if (worker->has_call) {
        worker->has_call = false;
        *ret_end = await(executor, worker, request, deadline_ns, &core, shown);
        /* Walls that never stood are what it would have said of itself; run_in_worker()
         * asks again, step by step. */
        if (*ret_end == WAIT_DONE && !wt_worker_stands(worker))
            *ret_end = WAIT_DIED;
        return NACRE_OK;
    }
    status = wt_hand_write(worker->share, 0, plan, tool, request, deadline_ns,
                           &worker->wipe, err);
    if (status != NACRE_OK)
        return status;
    wt_core_share(&core, worker);
    if (hand_over(worker, request))
        *ret_end = await(executor, worker, request, deadline_ns, &core, shown);
    else if (errno != EPIPE && errno != EAGAIN)
        status = nacre_fail(err, NACRE_ERR_IO, "can't hand over the guest's input");
    wt_core_leave(&core);
    return status;
}

static enum nacre_status call(struct executor *executor, struct wt_worker *worker,
                              const struct nacre_plan *plan,
                              const struct nacre_tool *tool,
                              const struct nacre_request *request, uint64_t deadline_ns,
                              struct nacre_result *result, bool *ret_healthy,
                              struct nacre_error *err)
{
    struct wt_share *share = worker->share;
    uint64_t shown[2] = { 0, 0 };
    enum wait_end end;
    enum nacre_status status;

    *ret_healthy = false;
    status = attend(executor, worker, plan, tool, request, deadline_ns, shown, &end, err);
    if (status != NACRE_OK)
        return status;
    if (end == WAIT_DONE) {
        status = wt_result_reply(&share->reply, result, err);
        *ret_healthy = status != NACRE_ERR_BACKEND && !share->reply.spent &&
                       (result->outcome == NACRE_OUTCOME_EXITED ||
                        result->outcome == NACRE_OUTCOME_TRAPPED ||
                        result->outcome == NACRE_OUTCOME_OUT_OF_FUEL);
    } else {
        end_by_force(executor, worker, end, result);
    }
    if (status != NACRE_OK)
        return status;
    drain(worker, request, shown);
    return wt_result_record(
        &share->record,
        (const unsigned char *[]){ output_of(worker, 0), output_of(worker, 1) },
        worker->output_bytes_max, plan, request, result, err);
}

/* An idle worker that can begin at once, its door too; or NULL. */
static struct wt_worker *idle_worker(struct executor *executor,
                                     const struct nacre_plan *plan,
                                     const struct wt_key *key, const char *run_id,
                                     uint64_t deadline_ns)
{
    struct wt_worker *worker;
    struct nacre_error err;

    while ((worker = wt_pool_get(executor->pool, key)) != NULL) {
        /* One that died while it was idle is noticed when it does not begin. */
        if (atomic_load(&worker->share->word) == 0 &&
            nacre_mounts_are_at(plan, worker->places) &&
            wt_door_begin(&worker->door, run_id, deadline_ns, &err) == NACRE_OK)
            break;
        (void)wt_pool_drop(executor->pool, worker);
    }
    return worker;
}

static enum nacre_status worker_for(struct executor *executor,
                                    const struct nacre_plan *plan,
                                    const struct nacre_tool *tool,
                                    const struct nacre_request *request, bool is_first,
                                    uint64_t deadline_ns, struct nacre_result *result,
                                    struct wt_worker **ret_worker,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int code_fd = -1;
    const struct wt_key key = { plan->digest, tool->digest };
    struct wt_purpose purpose = { .plan = plan, .tool = tool, .request = request,
                                  .is_first = is_first, .run_id = result->run_id,
                                  .deadline_ns = deadline_ns };
    struct wt_worker *worker = NULL;
    enum nacre_status status;

    if (!wt_door_is_for_one(plan, request))
        worker = idle_worker(executor, plan, &key, result->run_id, deadline_ns);
    if (worker) {
        *ret_worker = worker;
        return NACRE_OK;
    }
    status = wt_module_check(tool, request, err);
    if (status == NACRE_OK)
        status = wt_source_get(executor->source, executor->zygote, tool, deadline_ns,
                               &code_fd, &result->usage.compile_ns, err);
    if (status != NACRE_OK)
        return status;
    purpose.code_fd = code_fd;
    return wt_pool_make(executor->pool, &key, &purpose, ret_worker, err);
}

/* Time was up before the guest began, or the caller did not want to wait any longer: an
 * outcome like any other. */
static enum nacre_status timed_out(struct executor *executor, struct nacre_result *result,
                                   const struct nacre_error *err)
{
    result->signal = atomic_load(&executor->cancelled);
    result->outcome = result->signal ? NACRE_OUTCOME_KILLED : NACRE_OUTCOME_TIMED_OUT;
    (void)snprintf(result->reason, sizeof(result->reason), "%s",
                   result->signal ? "cancelled" : err->text);
    return NACRE_OK;
}

/* An idle worker may die just before it is needed, and a new one before its walls stand:
 * then nothing has happened yet. */
static bool died_unbegun(const struct wt_worker *worker,
                         const struct nacre_result *result)
{
    return result->outcome == NACRE_OUTCOME_KILLED &&
           !atomic_load(&worker->share->begun) && worker->child.pid == 0;
}

/* Nothing of a run that never began is told, whatever its worker left. */
static void forget_run(struct nacre_result *result)
{
    nacre_buf_clear(&result->output);
    nacre_buf_clear(&result->errors);
    result->outcome = NACRE_OUTCOME_NONE;
    result->signal = 0;
    result->reason[0] = '\0';
    result->denial_count = 0;
    result->denials_seen = 0;
}

/* False when the door does not say what was sent; then the run has failed, unless it had
 * failed before. */
static bool end_at_door(struct wt_worker *worker, struct nacre_result *result,
                        enum nacre_status *status, struct nacre_error *err)
{
    struct nacre_error unheard;
    enum nacre_status ended =
        wt_door_end(&worker->door, result, *status == NACRE_OK ? err : &unheard);

    if (ended != NACRE_OK && *status == NACRE_OK)
        *status = ended;
    return ended == NACRE_OK;
}

static enum nacre_status run_in_worker(struct executor *executor,
                                       const struct nacre_plan *plan,
                                       const struct nacre_tool *tool,
                                       const struct nacre_request *request,
                                       uint64_t deadline_ns, struct nacre_result *result,
                                       struct nacre_error *err)
{
    bool for_one = wt_door_is_for_one(plan, request);
    struct wt_worker *worker;
    enum nacre_status status;
    bool healthy, again = true;

    for (bool retried = false; again; retried = true) {
        status = worker_for(executor, plan, tool, request, !retried, deadline_ns, result,
                            &worker, err);
        if (status == NACRE_ERR_TIMEOUT)
            return timed_out(executor, result, err);
        if (status != NACRE_OK)
            return status;
        status = call(executor, worker, plan, tool, request, deadline_ns, result,
                      &healthy, err);
        again = status == NACRE_OK && !retried && !atomic_load(&executor->cancelled) &&
                died_unbegun(worker, result);
        if (again)
            forget_run(result);
        /* After that: what a door has done is done, whatever became of the run. */
        if (!end_at_door(worker, result, &status, err))
            again = healthy = false;
        if (healthy && !for_one)
            wt_pool_keep(executor->pool, worker);
        else
            (void)wt_pool_drop(executor->pool, worker);
    }
    return status;
}

static enum nacre_status executor_run(struct nacre_executor *base,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    struct executor *executor = executor_of(base);
    uint64_t deadline_ns = nacre_clock_ns() + plan->limits.wall_ms_max * NACRE_NS_PER_MS;
    NACRE_AUTO(nacre_fd_guard) int code_fd = -1;
    enum nacre_status status;

    if (!executor->inprocess)
        return run_in_worker(executor, plan, tool, request, deadline_ns, result, err);
    if (!wt_inprocess_has(executor->inprocess, tool)) {
        status = wt_module_check(tool, request, err);
        if (status == NACRE_OK)
            status = wt_source_get(executor->source, executor->zygote, tool, deadline_ns,
                                   &code_fd, &result->usage.compile_ns, err);
        if (status == NACRE_ERR_TIMEOUT)
            return timed_out(executor, result, err);
        if (status == NACRE_OK)
            status = wt_inprocess_load(executor->inprocess, tool, code_fd, err);
        if (status != NACRE_OK)
            return status;
    }
    return wt_inprocess_run(executor->inprocess, plan, tool, request, deadline_ns, result,
                            err);
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    struct executor *executor = executor_of(base);

    atomic_store(&executor->cancelled, signal);
    if (executor->inprocess)
        wt_inprocess_nudge(executor->inprocess);
}

const struct nacre_executor_ops nacre_wasm_executor = {
    .name = "wasm",
    .open = executor_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};

/* ---- the cache, for whoever looks after it ---- */

static enum nacre_status cache_of(struct nacre_executor *base,
                                  struct wt_cache **ret_cache, struct nacre_error *err)
{
    enum nacre_status status;

    assert(base->ops == &nacre_wasm_executor);
    status = wt_source_cache(executor_of(base)->source, ret_cache, err);
    if (status == NACRE_OK && !*ret_cache)
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "this engine keeps no compiled code");
    return status;
}

enum nacre_status nacre_wasm_cache_add(struct nacre_executor *base,
                                       const struct nacre_tool *tool, uint64_t timeout_ms,
                                       struct nacre_error *err)
{
    struct executor *executor = executor_of(base);
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    struct wt_cache *cache;
    enum nacre_status status = cache_of(base, &cache, err);

    if (status == NACRE_OK)
        status = nacre_module_read(tool, &info, err);
    if (status != NACRE_OK)
        return status;
    return wt_source_add(executor->source, executor->zygote, tool, timeout_ms, err);
}

enum nacre_status nacre_wasm_cache_report(struct nacre_executor *base,
                                          struct nacre_cache_report *ret_report,
                                          struct nacre_error *err)
{
    struct wt_cache *cache;
    enum nacre_status status = cache_of(base, &cache, err);

    return status == NACRE_OK ? wt_cache_report(cache, ret_report, err) : status;
}

enum nacre_status
nacre_wasm_cache_list(struct nacre_executor *base,
                      void (*each)(void *data, const struct nacre_cache_entry *entry),
                      void *data, struct nacre_error *err)
{
    struct wt_cache *cache;
    enum nacre_status status = cache_of(base, &cache, err);

    return status == NACRE_OK ? wt_cache_list(cache, each, data, err) : status;
}

enum nacre_status nacre_wasm_cache_clear(struct nacre_executor *base,
                                         struct nacre_cache_report *ret_removed,
                                         struct nacre_error *err)
{
    struct wt_cache *cache;
    enum nacre_status status = cache_of(base, &cache, err);

    return status == NACRE_OK ? wt_cache_clear(cache, ret_removed, err) : status;
}
