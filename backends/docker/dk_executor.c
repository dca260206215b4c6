/*
 * The container executor: takes a plan and a command, finds or makes a container, and
 * lets init run the command in it.  The engine is asked for the first time when a plan
 * for a container comes: whoever never runs one never waits for an engine.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dk_executor.h"
#include "dk_gvisor.h"
#include "dk_io.h"
#include "dk_sandbox_image.h"
#include "dk_thread.h"
#include "nacre/boxes.h"
#include "nacre/disk.h"
#include "nacre/executor.h"
#include "nacre/tool.h"
#include "nt_door.h"

static struct dk_executor *executor_of(struct nacre_executor *base)
{
    return (struct dk_executor *)base;
}

/* ---- what can be enforced here: what the engine says of its machine ---- */

static bool has_option(const json_t *info, const char *name)
{
    const json_t *options = json_object_get(info, "SecurityOptions");

    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *text = json_string_value(json_array_get(options, i));

        if (text && strncmp(text, "name=", 5) == 0 &&
            strncmp(text + 5, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

/* AppArmor and SELinux: the engine may say so and the kernel know nothing of it. */
static bool kernel_has(const char *path)
{
    return access(path, F_OK) == 0;
}

static uint64_t find_disks(struct dk_executor *executor)
{
    struct nacre_error why;
    bool has_disks = nacre_disk_probe(&why) == NACRE_OK, has_operations, has_weights;

    nacre_mechanism_add(&executor->base, "disk of a session", has_disks, "%s",
                        has_disks ? "an ext4 in a file" : why.text);
    has_operations = dk_io_probe(executor->site, false, &why) == NACRE_OK;
    nacre_mechanism_add(&executor->base, "disk_iops", has_operations, "%.180s",
                        has_operations ? "io.max of the container's cgroup, of each disk"
                                       : why.text);
    has_weights = dk_io_probe(executor->site, true, &why) == NACRE_OK;
    nacre_mechanism_add(&executor->base, "disk_io_weight", has_weights, "%.180s",
                        has_weights ? "io.bfq.weight of the container's cgroup"
                                    : why.text);
    return (has_disks ? NACRE_FEATURE_DISK_OF_SESSION : 0) |
           (has_operations ? NACRE_FEATURE_DISK_IOPS : 0) |
           (has_weights ? NACRE_FEATURE_DISK_IO_WEIGHT : 0);
}

static void find_features(struct dk_executor *executor)
{
    const struct dk_site *site = executor->site;
    const json_t *info = site->info;
    const struct {
        uint32_t feature;
        bool there;
        const char *name, *wall;
    } rows[] = {
        { NACRE_FEATURE_MEMORY_LIMIT, dk_site_says(site, "MemoryLimit"), "memory",
          "the container's cgroup" },
        { NACRE_FEATURE_SWAP_LIMIT, dk_site_says(site, "SwapLimit"), "swap",
          "the container's cgroup" },
        { NACRE_FEATURE_MEMORY_RESERVATION, dk_site_says(site, "MemoryLimit"),
          "reservation", "the container's cgroup" },
        { NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY,
          dk_site_says(site, "CPUShares"), "cpu_shares", "the container's cgroup" },
        { NACRE_FEATURE_CPUS, dk_site_says(site, "CpuCfsQuota"), "cpus", "cfs quota" },
        { NACRE_FEATURE_CPUSET, dk_site_says(site, "CPUSet"), "cpuset",
          "the container's cgroup" },
        { NACRE_FEATURE_PROCESSES, dk_site_says(site, "PidsLimit"), "processes",
          "the container's pids cgroup" },
        { NACRE_FEATURE_APPARMOR,
          has_option(info, "apparmor") && kernel_has("/sys/kernel/security/apparmor"),
          "apparmor", "by the engine" },
        { NACRE_FEATURE_SELINUX,
          has_option(info, "selinux") && kernel_has("/sys/fs/selinux/enforce"), "selinux",
          "by the engine" },
        /* tmpfs have their sizes anywhere. */
        { NACRE_FEATURE_DISK_OF_ROOT, dk_site_has_quota(site), "disk of a writable root",
          "the driver's quota" },
    };
    const struct dk_engine *engine = dk_client_engine(site->client);
    char gvisor[DK_RUNTIME_TEXT], where[DK_ENDPOINT_TEXT];
    uint64_t features = NACRE_FEATURE_NATIVE | NACRE_FEATURE_WALL_LIMIT |
                        NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |
                        NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED |
                        NACRE_FEATURE_FS_FULL | NACRE_FEATURE_NO_NETWORK |
                        NACRE_FEATURE_WARM | NACRE_FEATURE_SECRET_FILES;

    nacre_mechanism_add(&executor->base, "engine", true,
                        "Docker %.20s, API %s, at %.60s (by %.60s); read back twice",
                        engine->version, engine->api,
                        dk_endpoint_text(dk_client_endpoint(site->client), where),
                        dk_client_endpoint(site->client)->origin);
    nacre_mechanism_add(&executor->base, "init", true,
                        "nacre's own, pid 1: deadlines, reaping, one channel");
    nacre_mechanism_add(&executor->base, "seccomp", true,
                        "allowlist, by init; also sent to the engine");
    features |= find_disks(executor);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        features |= rows[i].there ? rows[i].feature : 0;
        nacre_mechanism_add(&executor->base, rows[i].name, rows[i].there, "%s",
                            rows[i].there ? rows[i].wall
                                          : "not on the engine's machine");
    }
    if (site->gvisor)
        features |= NACRE_FEATURE_RUNTIME;
    nacre_mechanism_add(&executor->base, "gvisor", site->gvisor != NULL, "%s%s",
                        site->gvisor ? dk_runtime_text(info, site->gvisor, gvisor)
                                     : DK_NO_GVISOR,
                        site->gvisor ? "; whether it is gVisor, init proves each time"
                                     : "");
    atomic_fetch_or(&executor->base.features, features);
}

enum nacre_status dk_executor_reach(struct dk_executor *executor,
                                    const struct dk_caller *caller,
                                    struct nacre_error *err)
{
    const struct nt_wait wait = dk_caller_wait(caller);
    enum nacre_status status = NACRE_OK;

    if (!dk_thread_lock(&executor->lock, &wait))
        return nacre_fail(err, NACRE_ERR_TIMEOUT,
                          "another call still looks for the engine");
    if (!executor->warm) {
        if (!executor->site)
            status = dk_site_open(&executor->options, caller, &executor->site, err);
        if (status == NACRE_OK)
            status = dk_warm_new(executor->site, &executor->warm, err);
        if (status == NACRE_OK)
            find_features(executor);
    }
    (void)pthread_mutex_unlock(&executor->lock);
    return status;
}

static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    struct dk_executor *executor = executor_of(base);
    const struct dk_caller caller = dk_executor_caller(executor);
    struct nacre_error err;

    if (atomic_load(&base->features) == 0 &&
        dk_executor_reach(executor, &caller, &err) != NACRE_OK &&
        atomic_load(&base->mechanism_count) == 0)
        nacre_mechanism_add(base, "engine", false, "%.180s", err.text);
    if (wanted & NACRE_FEATURE_EGRESS && atomic_load(&base->features) != 0)
        nt_door_probe(base, executor->options.doors, &executor->lock);
}

static void executor_free(struct nacre_executor *base)
{
    struct dk_executor *executor = executor_of(base);

    if (!executor)
        return;
    dk_warm_free(executor->warm);
    dk_site_free(executor->site);
    (void)pthread_mutex_destroy(&executor->lock);
    free(executor);
}

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    struct dk_executor *executor = calloc(1, sizeof(*executor));

    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "container executor");
    executor->base.ops = &nacre_container_executor;
    executor->options = *options;
    (void)pthread_mutex_init(&executor->lock, NULL);
    *ret_executor = &executor->base;
    return NACRE_OK;
}

/* ---- running ---- */

/* A sandbox for this run: warm, or one of its own. */
static enum nacre_status take(struct dk_executor *executor, const struct nacre_plan *plan,
                              const struct nacre_request *request,
                              const struct dk_caller *caller, struct dk_box **ret_box,
                              struct nacre_error *err)
{
    const struct dk_box_order order = { .plan = plan, .caller = *caller };
    enum nacre_status status = dk_executor_reach(executor, caller, err);
    bool reached = status == NACRE_OK;

    if (reached)
        status = plan->scope_key
                     ? dk_warm_get(executor->warm, plan, request->box_name, caller,
                                   ret_box, err)
                     : dk_box_open(executor->site, &order, ret_box, err);
    if (reached)
        dk_warm_watch(executor->warm);
    if (status == NACRE_OK || status == NACRE_ERR_MEMORY ||
        status == NACRE_ERR_NOT_RUNNABLE ||
        (status == NACRE_ERR_TIMEOUT && nacre_clock_ns() >= *caller->deadline_ns))
        return status;
    /* Nothing of the guest has run: that is what the caller has to know. */
    err->status = NACRE_ERR_UNAVAILABLE;
    return NACRE_ERR_UNAVAILABLE;
}

static void give_back(struct dk_executor *executor, const struct nacre_plan *plan,
                      struct dk_box *box)
{
    if (plan->scope_key)
        dk_warm_put(executor->warm, box);
    else
        dk_box_free(box);
    dk_warm_watch(executor->warm);
}

/* A setup command that has been outside and failed: that comes first, before what it was
 * denied there. */
static enum nacre_status refuse_setup(struct nacre_result *result,
                                      const struct nacre_error *err)
{
    struct nacre_denial *first = &result->denials[0];

    if (result->denial_count < NACRE_DENIALS_MAX)
        result->denial_count++;
    memmove(first + 1, first, (result->denial_count - 1) * sizeof(*first));
    *first = (struct nacre_denial){ .code = "unavailable" };
    (void)snprintf(first->text, sizeof(first->text), "%s", err->text);
    result->denials_seen++;
    result->outcome = NACRE_OUTCOME_DENIED;
    return NACRE_OK;
}

enum nacre_status dk_executor_run(struct nacre_executor *base,
                                  const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_result *result, struct nacre_error *err)
{
    struct dk_executor *executor = executor_of(base);
    /* The policy's time is the whole run's, its sandbox included. */
    uint64_t deadline_ns = nacre_clock_ns() + plan->limits.wall_ms_max * NACRE_NS_PER_MS;
    const struct dk_caller caller = { .cancelled = &executor->cancelled,
                                      .run_cancelled = request->cancelled,
                                      .deadline_ns = &deadline_ns, .result = result };
    struct dk_box *box = NULL;
    enum nacre_status status;
    bool timed_out;
    int cancelled;

    assert(tool->kind != NACRE_TOOL_MODULE);
    status = take(executor, plan, request, &caller, &box, err);
    timed_out = status == NACRE_ERR_TIMEOUT;
    if (status == NACRE_OK) {
        status = dk_box_run(box, plan, tool, request, &caller, result, err);
        give_back(executor, plan, box);
    }
    /* What broke because the caller wants no more of it is no failure. */
    cancelled = nt_cancelled_by(caller.cancelled, caller.run_cancelled);
    if (status != NACRE_OK && cancelled != 0) {
        result->outcome = NACRE_OUTCOME_KILLED;
        result->signal = cancelled;
        (void)snprintf(result->reason, sizeof(result->reason), "cancelled");
        return NACRE_OK;
    }
    if (timed_out) {
        result->outcome = NACRE_OUTCOME_TIMED_OUT;
        (void)snprintf(result->reason, sizeof(result->reason),
                       "while its sandbox was made: %.150s", err->text);
        return NACRE_OK;
    }
    /* A failure is recorded without what was sent; a refusal with all of it. */
    return status == NACRE_ERR_UNAVAILABLE && result->egress_seen > 0
               ? refuse_setup(result, err)
               : status;
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&executor_of(base)->cancelled, signal);
}

const struct nacre_executor_ops nacre_container_executor = {
    .name = "container",
    .open = executor_open,
    .probe = executor_probe,
    .run = dk_executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};

/* ---- for the verbs ---- */

/* What is open already; a look at the boxes does not make an engine be asked. */
static struct dk_warm *warm_of(struct nacre_executor *base)
{
    struct dk_executor *executor = executor_of(base);
    struct dk_warm *warm;

    (void)pthread_mutex_lock(&executor->lock);
    warm = executor->warm;
    (void)pthread_mutex_unlock(&executor->lock);
    return warm;
}

void nacre_container_boxes_list(struct nacre_executor *base,
                                bool (*each)(void *data,
                                             const struct nacre_box_info *info),
                                void *data)
{
    struct dk_warm *warm = warm_of(base);

    if (warm)
        dk_warm_each(warm, each, data);
}

enum nacre_status nacre_container_boxes_labelled(
    struct nacre_executor *base,
    bool (*each)(void *data, const struct nacre_box_info *info), void *data,
    struct nacre_error *err)
{
    struct dk_executor *executor = executor_of(base);
    const struct dk_caller caller = dk_executor_caller(executor);
    enum nacre_status status = dk_executor_reach(executor, &caller, err);

    return status == NACRE_OK ? dk_registry_labelled(executor->site, each, data, err)
                              : status;
}

uint32_t nacre_container_boxes_end(struct nacre_executor *base, bool force,
                                   bool (*wanted)(void *data,
                                                  const struct nacre_box_info *info),
                                   void *data)
{
    struct dk_warm *warm = warm_of(base);

    return warm ? dk_warm_end(warm, force, wanted, data) : 0;
}

enum nacre_status nacre_container_image_build(struct nacre_executor *base,
                                              enum nacre_image image, const char *tag,
                                              void (*said)(void *data, const char *text),
                                              void *data, struct nacre_error *err)
{
    struct dk_executor *executor = executor_of(base);
    const struct dk_caller caller = dk_executor_caller(executor);
    const struct dk_progress progress = { said, data };
    enum nacre_status status = dk_executor_reach(executor, &caller, err);

    return status == NACRE_OK
               ? dk_sandbox_image(executor->site->client, dk_recipe(image), tag,
                                  &progress, err)
               : status;
}
