/*
 * The executor of level vm.  It has no engine of its own: a machine is a container with
 * QEMU in it, or one that a runtime of the engine makes a machine, and the container
 * executor runs it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "dk_executor.h"
#include "dk_kata.h"
#include "dk_kvm.h"
#include "nacre/executor.h"
#include "nt_door.h"

#define LOOK_MS 10000

/* What the container around a machine keeps, where the engine's machine can. */
#define AROUND                                                                       \
    (NACRE_FEATURE_CPU_SHARES_ANY | NACRE_FEATURE_CPUS | NACRE_FEATURE_CPUSET |      \
     NACRE_FEATURE_DISK_OF_SESSION)
/* What the machine's own kernel and init keep anywhere. */
#define INSIDE                                                                       \
    (NACRE_FEATURE_NATIVE | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_WALL_LIMIT |   \
     NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |                          \
     NACRE_FEATURE_PROCESSES | NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED |   \
     NACRE_FEATURE_FS_FULL | NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_DISK_OF_ROOT |  \
     NACRE_FEATURE_WARM | NACRE_FEATURE_SECRET_FILES)

struct executor {
    struct nacre_executor base;
    struct dk_executor *containers; /* borrowed */
    pthread_mutex_t probing;
    bool knows_kvm; /* under `probing` */
};

static struct executor *executor_of(struct nacre_executor *base)
{
    return (struct executor *)base;
}

/* ---- what can be enforced here ---- */

/* The image that QEMU is in; NACRE_ERR_UNAVAILABLE says how to make it. */
static enum nacre_status find_image(struct dk_site *site, const struct dk_caller *caller,
                                    struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    enum nacre_status status = dk_image_inspect(site->client, NACRE_VM_IMAGE,
                                                dk_caller_within(caller, LOOK_MS),
                                                &image, err);

    return status == NACRE_ERR_NOT_FOUND
               ? nacre_fail(err, NACRE_ERR_UNAVAILABLE, DK_NO_VM_IMAGE)
               : status;
}

/* NULL: nacre's own machine serves. */
static const char *runtime_of(const struct dk_site *site)
{
    return site->firecracker ? site->firecracker : site->kata;
}

static void find_walls(struct executor *executor)
{
    const struct dk_site *site = executor->containers->site;
    const char *runtime = runtime_of(site);
    struct nacre_executor *base = &executor->base;
    uint64_t features =
        INSIDE | (atomic_load(&executor->containers->base.features) & AROUND);
    char text[DK_RUNTIME_TEXT];

    if (site->firecracker)
        features |= NACRE_FEATURE_RUNTIME;
    nacre_mechanism_add(base, "machine", true, "%s%s",
                        runtime ? dk_runtime_text(site->info, runtime, text)
                                : "QEMU microvm in image " NACRE_VM_IMAGE,
                        runtime ? "; whether it is a machine, init proves each time"
                                : ", as an ordinary user without capabilities");
    nacre_mechanism_add(base, "init", true,
                        "nacre's own, the machine's first process and pid 1 around QEMU");
    nacre_mechanism_add(base, "firecracker", site->firecracker != NULL, "%s",
                        site->firecracker
                            ? dk_runtime_text(site->info, site->firecracker, text)
                            : "the engine has no kata-fc among its runtimes");
    atomic_fetch_or(&base->features, features);
}

/* Takes seconds where nobody has asked since the machine's start. */
static void find_kvm(struct executor *executor, const struct dk_caller *caller)
{
    struct dk_site *site = executor->containers->site;
    struct nacre_executor *base = &executor->base;
    char why[DK_KVM_TEXT] = "brought by the engine's runtime";
    bool usable = runtime_of(site) ||
                  dk_kvm_is_usable(site, caller, why);

    nacre_mechanism_add(base, "kvm", usable, "%s", why);
    if (usable)
        atomic_fetch_or(&base->features, NACRE_FEATURE_KVM);
    executor->knows_kvm = true;
}

static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    struct executor *executor = executor_of(base);
    const struct dk_caller caller = dk_executor_caller(executor->containers);
    struct nacre_error err;
    enum nacre_status status;

    (void)pthread_mutex_lock(&executor->probing);
    if (atomic_load(&base->features) == 0) {
        status = dk_executor_reach(executor->containers, &caller, &err);
        if (status == NACRE_OK && !runtime_of(executor->containers->site))
            status = find_image(executor->containers->site, &caller, &err);
        if (status == NACRE_OK)
            find_walls(executor);
        else if (atomic_load(&base->mechanism_count) == 0)
            nacre_mechanism_add(base, "machine", false, "%.180s", err.text);
    }
    if (atomic_load(&base->features) != 0) {
        if (wanted & NACRE_FEATURE_KVM && !executor->knows_kvm)
            find_kvm(executor, &caller);
        if (wanted & NACRE_FEATURE_EGRESS)
            nt_door_probe(base, executor->containers->options.doors,
                          &executor->containers->lock);
    }
    (void)pthread_mutex_unlock(&executor->probing);
}

/* ---- the rest of an executor ---- */

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    struct executor *executor = calloc(1, sizeof(*executor));

    assert(options->containers);
    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "machine executor");
    executor->base.ops = &nacre_vm_executor;
    executor->containers = (struct dk_executor *)options->containers;
    (void)pthread_mutex_init(&executor->probing, NULL);
    *ret_executor = &executor->base;
    return NACRE_OK;
}

static enum nacre_status executor_run(struct nacre_executor *base,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    return dk_executor_run(&executor_of(base)->containers->base, plan, tool, request,
                           result, err);
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&executor_of(base)->containers->cancelled, signal);
}

static void executor_free(struct nacre_executor *base)
{
    struct executor *executor = executor_of(base);

    if (!executor)
        return;
    (void)pthread_mutex_destroy(&executor->probing);
    free(executor);
}

const struct nacre_executor_ops nacre_vm_executor = {
    .name = "vm",
    .open = executor_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};
