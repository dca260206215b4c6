#include "dk_parts.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dk_disk.h"
#include "dk_gvisor.h"
#include "dk_io.h"
#include "dk_kvm.h"
#include "dk_machine.h"
#include "dk_setup.h"
#include "nacre/disk.h"
#include "nacre/text.h"
#include "seccomp.h"

#define LOOK_MS 10000

/* As engines call it; there is no init of ours for another (CMakeLists.txt). */
#if defined(__x86_64__)
#define INIT_ARCH "amd64"
#elif defined(__aarch64__)
#define INIT_ARCH "arm64"
#else
#error "what does an engine call this architecture?"
#endif

void dk_parts_clear(struct dk_parts *parts)
{
    if (parts->inside) {
        dk_parts_clear(parts->inside);
        free(parts->inside);
    }
    free(parts->disk);
    free(parts->masked);
    dk_binds_clear(&parts->binds);
    nacre_plan_free(parts->plan);
    *parts = (struct dk_parts){ 0 };
}

/* ---- the image ---- */

/* As it is now: from here on its id counts, not its name. */
static enum nacre_status find_image(struct dk_parts *parts,
                                    const struct dk_caller *caller,
                                    struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    const char *arch = dk_client_engine(parts->site->client)->arch;
    const char *image = parts->plan->container.image, *theirs;
    char shown[NACRE_SHOWN], shown_arch[NACRE_SHOWN];
    enum nacre_status status =
        dk_image_inspect(parts->site->client, image,
                         dk_site_within(parts->site, caller, LOOK_MS), &found, err);

    (void)nacre_text_shown(shown, image);
    if (status == NACRE_ERR_NOT_FOUND && strcmp(image, NACRE_VM_IMAGE) == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, DK_NO_VM_IMAGE);
    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine has no image '%s': make one with `nacre image "
                          "build --tag %s`, or load it into the engine",
                          shown, shown);
    if (status != NACRE_OK)
        return status;
    theirs = json_string_value(json_object_get(found, "Architecture"));
    if (strcmp(arch, INIT_ARCH) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine's machine is %s, and this nacre brings an init for "
                          INIT_ARCH ": use a nacre that was built for %s", arch, arch);
    if (theirs && theirs[0] && strcmp(theirs, arch) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "image '%s' is for %s and the engine's machine is %s: its "
                          "programs can't run there; use an image for %s",
                          shown, nacre_text_shown(shown_arch, theirs), arch, arch);
    (void)snprintf(parts->image, sizeof(parts->image), "%s",
                   json_string_value(json_object_get(found, "Id")));
    return NACRE_OK;
}

/* ---- limits that depend on the engine ---- */

/* What is only a default is enforced where that can be done. */
static void settle_defaults(struct dk_parts *parts)
{
    struct nacre_limits *limits = &parts->plan->limits;

    if (!limits->memory_asked && !dk_site_says(parts->site, "MemoryLimit")) {
        limits->memory_bytes_max = 0;
        parts->plan->container.memory_swap_bytes = 0;
    }
    if (!(parts->plan->required & NACRE_FEATURE_SWAP_LIMIT) &&
        limits->memory_bytes_max > 0 && !dk_site_says(parts->site, "SwapLimit"))
        parts->plan->container.memory_swap_bytes = DK_SWAP_UNBOUND;
    if (!(parts->plan->required & NACRE_FEATURE_PROCESSES) &&
        parts->kernel != DK_KERNEL_GVISOR && !dk_site_says(parts->site, "PidsLimit"))
        limits->processes_max = 0;
}

static enum nacre_status refuse_disk(const char *why, const char *fix,
                                     struct nacre_error *err)
{
    (void)nacre_fail(err, NACRE_ERR_UNAVAILABLE, "%s", why);
    return nacre_fail_blame(err, "container.disk", "", fix);
}

/* Of everything that a guest can fill, the sum. */
static enum nacre_status settle_disk(struct dk_parts *parts, struct nacre_error *err)
{
    struct nacre_plan *plan = parts->plan;
    uint64_t disk = plan->container.disk_bytes, sum = 0;
    struct dk_order order = { .plan = plan };
    uint64_t privates = nacre_plan_private_count(plan);
    bool has_own = false;
    struct dk_tmpfs tmpfs;

    if (disk == 0)
        return NACRE_OK;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        has_own |= plan->mounts[i].host && plan->mounts[i].writable;
    for (size_t n = 0; dk_create_tmpfs(&order, n, &tmpfs); n++)
        if (tmpfs.path[0] && tmpfs.writable && !tmpfs.of_scratch)
            sum += tmpfs.bytes_max;
    /* Of a private one, 0 would be no limit. */
    if (sum > disk || disk - sum < privates * NACRE_PAGE_BYTES)
        return refuse_disk("the tmpfs of the policy are larger, with shared memory and a "
                           "run's own files", "lower their sizes, or raise disk", err);
    if (privates > 0 && plan->limits.scratch_bytes_max > disk - sum)
        plan->limits.scratch_bytes_max = disk - sum;
    sum += privates > 0 ? plan->limits.scratch_bytes_max : 0;
    if (plan->container.read_only_root)
        return NACRE_OK;
    if (sum >= disk || has_own)
        return refuse_disk("the root is writable, and workspace, private directories and "
                           "tmpfs take all of it", "make the root read-only", err);
    parts->layer_bytes_max = disk - sum;
    return NACRE_OK;
}

/* ---- all of it ---- */

struct dk_binds_input dk_parts_input(const struct dk_parts *parts)
{
    struct dk_site *site = parts->site;

    return (struct dk_binds_input){
        .plan = parts->plan,
        .protected_paths = site->options->protected_paths,
        .state_dir = site->options->state_dir,
        .options = site->options,
        .covers = &site->covers,
        .init_path = site->init_path,
        .init_target = parts->setup ? DK_INIT_TARGET_SETUP : DK_INIT_TARGET,
        .carried = parts->far ? &parts->carried : NULL,
        .image_id = parts->image,
        .known = &site->known,
        .uid = parts->user.uid,
        .gid = parts->user.gid,
        .extra = parts->extra,
        .extra_count = parts->extra_count,
    };
}

#define END_SESSION "end the session (nacre session end)"

/* Planning lets only a session's own workspace come so far.  Whether it is bounded is
 * seen by the very fd that the engine's bind is compared with. */
static enum nacre_status check_disk(uint64_t disk, const struct nacre_open_mounts *mounts,
                                    struct nacre_error *err)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; disk > 0 && i < mounts->count; i++) {
        const struct nacre_open_mount *open = &mounts->items[i];

        if (open->fd < 0 || !open->mount->writable)
            continue;
        if (!nacre_disk_bound(open->fd, &bytes))
            return refuse_disk("the workspace has no bound, it was made before the "
                               "configuration said so", END_SESSION, err);
        if (bytes > disk)
            return refuse_disk("the workspace was made with a larger one", END_SESSION,
                               err);
    }
    return NACRE_OK;
}

bool dk_parts_may_be_far(const struct dk_parts *parts)
{
    return parts->kernel == DK_KERNEL_HOSTS && !parts->inside && parts->extra_count == 0;
}

/* What is private to a session lies in files that such an engine does not see: there it
 * is private to the sandbox, as it is without a session. */
static void keep_apart(struct nacre_plan *plan)
{
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        if (!plan->mounts[i].own)
            continue;
        free(plan->mounts[i].host);
        plan->mounts[i].host = NULL;
        plan->mounts[i].own = false;
    }
}

/* gVisor reads and writes for its guests: whose cgroup counts that was not tried.  And the
 * disks of an engine that is elsewhere can't be looked at. */
static enum nacre_status find_disks(struct dk_parts *parts, struct nacre_error *err)
{
    const struct nacre_container *container = &parts->plan->container;
    bool own_kernel = parts->kernel != DK_KERNEL_HOSTS;

    if ((own_kernel || parts->far) &&
        (container->disk_iops > 0 || container->disk_io_weight > 0)) {
        (void)nacre_fail(err, NACRE_ERR_UNAVAILABLE, "%s",
                         own_kernel ? "with a kernel of its own nobody counts a "
                                      "container's operations"
                                    : "the engine does not see the files that nacre "
                                      "sees, so its disks can't be known");
        return nacre_fail_blame(
            err, dk_io_rule(container), "",
            own_kernel ? "change the runtime to 'docker', or remove the line"
                       : "use an engine on this machine, or remove the line");
    }
    return dk_io_find(parts->site, container, parts->binds.items, parts->binds.count,
                      &parts->io, err);
}

enum nacre_status dk_parts_rebind(struct dk_parts *parts, const struct dk_caller *caller,
                                  struct nacre_error *err)
{
    struct dk_binds_input input;
    enum nacre_status status = NACRE_OK;

    if (!parts->far && atomic_load(&parts->site->is_far) && dk_parts_may_be_far(parts)) {
        status = dk_carrier_find(parts->site->client, caller, &parts->carried, err);
        parts->far = status == NACRE_OK;
    }
    if (status == NACRE_OK && parts->far) {
        keep_apart(parts->plan);
        free(parts->masked);
        parts->masked = dk_far_masked(&parts->site->far);
        if (!parts->masked)
            status = nacre_fail(err, NACRE_ERR_MEMORY, "what a container masks");
    }
    if (status != NACRE_OK)
        return status;
    input = dk_parts_input(parts);
    dk_binds_clear(&parts->binds);
    status = dk_binds_open(&input, &parts->binds, err);
    if (status == NACRE_OK) /* of the container around a machine, the machine's plan */
        status = check_disk(dk_parts_inner(parts)->plan->container.disk_bytes,
                            parts->binds.mounts, err);
    return status == NACRE_OK ? find_disks(parts, err) : status;
}

/* A kernel for the plan: what is said by name is that or nothing. */
static enum nacre_status find_kernel(const struct dk_site *site,
                                     const struct nacre_plan *plan,
                                     struct dk_parts *parts, struct nacre_error *err)
{
    bool named = plan->required & NACRE_FEATURE_RUNTIME;

    if (plan->level == NACRE_LEVEL_VM) {
        parts->runtime = site->firecracker || named ? site->firecracker : site->kata;
        parts->kernel = parts->runtime ? DK_KERNEL_KATA : DK_KERNEL_MACHINE;
    } else if (plan->runtime == NACRE_RUNTIME_GVISOR) {
        parts->runtime = site->gvisor;
        parts->kernel = DK_KERNEL_GVISOR;
    }
    if (parts->kernel == DK_KERNEL_GVISOR && !parts->runtime)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, DK_NO_GVISOR);
    if (parts->kernel == DK_KERNEL_MACHINE && named)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine has no kata-fc among its runtimes");
    return NACRE_OK;
}

static enum nacre_status open_container(const struct dk_parts_input *input,
                                        struct dk_parts *parts, struct nacre_error *err)
{
    enum nacre_status status;

    settle_defaults(parts);
    status = settle_disk(parts, err);
    if (status == NACRE_OK)
        status = nt_user_find(input->plan->container.user, &parts->user, err);
    if (status == NACRE_OK)
        status = find_image(parts, &input->caller, err);
    /* Mounts are judged before a setup command is run for nothing. */
    if (status == NACRE_OK)
        status = dk_parts_rebind(parts, &input->caller, err);
    if (status == NACRE_OK)
        status = nt_user_check(&parts->user, parts->binds.mounts, err);
    if (status != NACRE_OK || !parts->plan->container.setup_command)
        return status;
    status = dk_setup_image(input->site, parts->plan, &input->caller, parts->image, err);
    return status == NACRE_OK ? dk_parts_rebind(parts, &input->caller, err) : status;
}

/* The sandbox in the machine: its image is packed, its mounts are the container's. */
static enum nacre_status open_inside(const struct dk_parts_input *input,
                                     struct dk_parts *inside, struct dk_parts *around,
                                     struct nacre_error *err)
{
    uint64_t memory = input->plan->limits.memory_bytes_max;
    char path[NACRE_PATH_MAX];
    enum nacre_status status = nacre_plan_copy(input->plan, &inside->plan, err);

    inside->site = input->site;
    inside->kernel = DK_KERNEL_MACHINE;
    if (status == NACRE_OK)
        status = settle_disk(inside, err);
    if (inside->layer_bytes_max == 0)
        inside->layer_bytes_max = memory / 2;
    if (status == NACRE_OK)
        status = nt_user_find(input->plan->container.user, &inside->user, err);
    if (status == NACRE_OK)
        status = find_image(inside, &input->caller, err);
    if (status == NACRE_OK)
        status = dk_disk_find(input->site, inside->image, &input->caller, path, err);
    if (status == NACRE_OK && !(around->disk = strdup(path)))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "a machine");
    return status;
}

static enum nacre_status without_lead(enum nacre_status status, struct nacre_error *err)
{
    if (status != NACRE_OK) {
        dk_machine_drop_lead(err->text);
        dk_machine_drop_lead(err->path);
    }
    return status;
}

static enum nacre_status open_machine(const struct dk_parts_input *input,
                                      struct dk_parts *parts, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct dk_parts_input around = *input;
    enum nacre_status status;

    parts->inside = calloc(1, sizeof(*parts->inside));
    if (!parts->inside)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine");
    status = open_inside(input, parts->inside, parts, err);
    if (status == NACRE_OK)
        status = dk_machine_plan(input->plan, &plan, err);
    if (status != NACRE_OK)
        return status;
    parts->kernel = DK_KERNEL_HOSTS;
    parts->kvm = input->plan->required & NACRE_FEATURE_KVM;
    parts->machine_extra[0] = (struct dk_extra){ parts->disk, DK_MACHINE_DISK, false };
    parts->machine_extra[1] = (struct dk_extra){ input->site->initrd_path,
                                                 DK_MACHINE_INITRD, false };
    parts->extra = parts->machine_extra;
    parts->extra_count = NACRE_COUNT(parts->machine_extra);
    parts->plan = nacre_plan_take(&plan);
    around.plan = parts->plan;
    status = without_lead(open_container(&around, parts, err), err);
    if (status == NACRE_OK)
        status = dk_machine_binds(&parts->binds, &parts->inside->binds, err);
    return status == NACRE_OK ? dk_machine_digest(parts->inside, &parts->machine, err)
                              : status;
}

enum nacre_status dk_parts_open(const struct dk_parts_input *input,
                                struct dk_parts *ret_parts, struct nacre_error *err)
{
    NACRE_AUTO(dk_parts_clear)
    struct dk_parts parts = { .site = input->site, .extra = input->extra,
                              .extra_count = input->extra_count, .kvm = input->kvm,
                              .setup = input->setup };
    enum nacre_status status = find_kernel(input->site, input->plan, &parts, err);

    if (status == NACRE_OK && parts.kernel == DK_KERNEL_MACHINE) {
        status = open_machine(input, &parts, err);
    } else if (status == NACRE_OK) {
        status = nacre_plan_copy(input->plan, &parts.plan, err);
        if (status == NACRE_OK)
            status = open_container(input, &parts, err);
    }
    if (status != NACRE_OK)
        return status;
    *ret_parts = parts;
    if (parts.inside) /* that is where they are now */
        ret_parts->extra = ret_parts->machine_extra;
    parts = (struct dk_parts){ 0 };
    return NACRE_OK;
}

const struct dk_parts *dk_parts_inner(const struct dk_parts *parts)
{
    return parts->inside ? parts->inside : parts;
}

struct dk_order dk_parts_order(const struct dk_parts *parts, const char *const *labels)
{
    const char *profile = parts->plan->container.seccomp_profile;
    bool own_kernel = parts->kernel != DK_KERNEL_HOSTS;
    struct stat device;
    bool has_device = parts->kvm && stat(DK_KVM_DEVICE, &device) == 0;

    return (struct dk_order){
        .plan = parts->plan,
        .runtime = parts->runtime,
        .image_id = parts->image,
        .uid = parts->user.uid,
        .gid = parts->user.gid,
        .binds = parts->binds.items,
        .bind_count = parts->binds.count,
        .seccomp_json = profile && strcmp(profile, "docker-default") == 0
                            ? NULL
                            : nacre_seccomp_profile_json(
                                  parts->plan->container.user_namespaces
                                      ? NACRE_SECCOMP_BROWSER
                                      : NACRE_SECCOMP_NATIVE),
        .masked = own_kernel    ? NULL /* nothing of the host's */
                  : parts->far ? parts->masked
                               : parts->site->masked,
        .far = parts->far,
        .layer_bytes_max = parts->layer_bytes_max,
        .io = &parts->io,
        .setup = parts->setup,
        .labels = labels,
        .device = has_device ? DK_KVM_DEVICE : NULL,
        .device_gid = has_device ? device.st_gid : 0,
        .inside = parts->inside ? parts->inside->plan : NULL,
        .machine = parts->inside ? &parts->machine : NULL,
    };
}

/* Those that a policy may keep, planning refuses all others; and those that only a setup
 * command has. */
uint64_t dk_parts_capabilities(const struct dk_parts *parts)
{
    static const struct {
        const char *name;
        unsigned number;
    } rows[] = {
        { "AUDIT_WRITE", CAP_AUDIT_WRITE }, { "CHOWN", CAP_CHOWN },
        { "DAC_OVERRIDE", CAP_DAC_OVERRIDE }, { "FOWNER", CAP_FOWNER },
        { "FSETID", CAP_FSETID }, { "KILL", CAP_KILL },
        { "NET_BIND_SERVICE", CAP_NET_BIND_SERVICE }, { "SETFCAP", CAP_SETFCAP },
        { "SETGID", CAP_SETGID }, { "SETPCAP", CAP_SETPCAP }, { "SETUID", CAP_SETUID },
        { "SYS_CHROOT", CAP_SYS_CHROOT }, { "MKNOD", CAP_MKNOD },
        { "NET_RAW", CAP_NET_RAW },
    };
    char *const *kept = parts->plan->container.keep_capabilities;
    uint64_t mask = 0;

    for (; kept && *kept; kept++)
        for (size_t i = 0; i < NACRE_COUNT(rows); i++)
            if (strcmp(*kept, rows[i].name) == 0)
                mask |= UINT64_C(1) << rows[i].number;
    return mask;
}
