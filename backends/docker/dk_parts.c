#include "dk_parts.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "dk_gvisor.h"
#include "dk_setup.h"
#include "nacre/disk.h"
#include "nacre/text.h"
#include "seccomp.h"

#define LOOK_MS 10000

void dk_parts_clear(struct dk_parts *parts)
{
    dk_binds_clear(&parts->binds);
    nacre_plan_free(parts->plan);
    *parts = (struct dk_parts){ 0 };
}

/* ---- the image ---- */

/* As it is now: from here on its id counts, not its name. */
static enum nacre_status find_image(struct dk_parts *parts, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    const char *arch = dk_client_engine(parts->site->client)->arch;
    const char *image = parts->plan->container.image, *theirs;
    char shown[NACRE_SHOWN], shown_arch[NACRE_SHOWN];
    enum nacre_status status = dk_image_inspect(parts->site->client, image,
                                                dk_within_ms(LOOK_MS), &found, err);

    (void)nacre_text_shown(shown, image);
    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine has no image '%s': make one with `nacre image "
                          "build --tag %s`, or load it into the engine",
                          shown, shown);
    if (status != NACRE_OK)
        return status;
    theirs = json_string_value(json_object_get(found, "Architecture"));
    if (theirs && theirs[0] && strcmp(theirs, arch) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "image '%s' is for %s and this engine for %s: nacre's init "
                          "can't run in it",
                          shown, nacre_text_shown(shown_arch, theirs), arch);
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
    if (!(parts->plan->required & NACRE_FEATURE_PROCESSES) &&
        parts->plan->runtime != NACRE_RUNTIME_GVISOR &&
        !dk_site_says(parts->site, "PidsLimit"))
        limits->processes_max = 0;
}

static enum nacre_status refuse_disk(const char *why, struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "container.disk can't be enforced here: %s", why);
}

/* Of everything that a guest can fill, the sum. */
static enum nacre_status settle_disk(struct dk_parts *parts, struct nacre_error *err)
{
    struct nacre_plan *plan = parts->plan;
    uint64_t disk = plan->container.disk_bytes, sum = 0;
    struct dk_order order = { .plan = plan };
    bool has_private = false, has_own = false;
    struct dk_tmpfs tmpfs;

    if (disk == 0)
        return NACRE_OK;
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        has_private |= !plan->mounts[i].host;
        has_own |= plan->mounts[i].host && plan->mounts[i].writable;
    }
    for (size_t n = 0; dk_create_tmpfs(&order, n, &tmpfs); n++)
        if (tmpfs.path[0] && tmpfs.files_max == 0)
            sum += tmpfs.bytes_max;
    if (sum > disk)
        return refuse_disk("the tmpfs of the policy are larger: lower their sizes", err);
    if (has_private && plan->limits.scratch_bytes_max > disk - sum)
        plan->limits.scratch_bytes_max = disk - sum;
    sum += has_private ? plan->limits.scratch_bytes_max : 0;
    if (plan->container.read_only_root)
        return NACRE_OK;
    if (sum >= disk || has_own)
        return refuse_disk("the root is writable, and workspace, private directories and "
                           "tmpfs take all of it: make it read-only", err);
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
        .covers = &site->covers,
        .init_path = site->init_path,
        .image_id = parts->image,
        .known = &site->known,
        .uid = parts->user.uid,
        .gid = parts->user.gid,
        .home = site->home[0] ? site->home : NULL,
    };
}

/* Planning lets only a session's own workspace come so far.  Whether it is bounded is
 * seen by the very fd that the engine's bind is compared with. */
static enum nacre_status check_disk(const struct dk_parts *parts, struct nacre_error *err)
{
    const struct nacre_open_mounts *mounts = parts->binds.mounts;
    uint64_t disk = parts->plan->container.disk_bytes, bytes = 0;

    for (uint32_t i = 0; disk > 0 && i < mounts->count; i++) {
        const struct nacre_open_mount *open = &mounts->items[i];

        if (open->fd < 0 || !open->mount->writable)
            continue;
        if (!nacre_disk_bound(open->fd, &bytes))
            return refuse_disk("the workspace has no bound, it was made before the "
                               "configuration said so: end the session (nacre session "
                               "end)", err);
        if (bytes > disk)
            return refuse_disk("the workspace was made with a larger one: end the "
                               "session (nacre session end)", err);
    }
    return NACRE_OK;
}

enum nacre_status dk_parts_rebind(struct dk_parts *parts, struct nacre_error *err)
{
    struct dk_binds_input input = dk_parts_input(parts);
    enum nacre_status status;

    dk_binds_clear(&parts->binds);
    status = dk_binds_open(&input, &parts->binds, err);
    return status == NACRE_OK ? check_disk(parts, err) : status;
}

enum nacre_status dk_parts_open(struct dk_site *site, const struct nacre_plan *plan,
                                const _Atomic int *cancelled, struct dk_parts *ret_parts,
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_parts_clear) struct dk_parts parts = { .site = site };
    enum nacre_status status = nacre_plan_copy(plan, &parts.plan, err);

    if (status != NACRE_OK)
        return status;
    if (plan->runtime == NACRE_RUNTIME_GVISOR && !site->gvisor)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, DK_NO_GVISOR);
    settle_defaults(&parts);
    status = settle_disk(&parts, err);
    if (status == NACRE_OK)
        status = nt_user_find(plan->container.user, &parts.user, err);
    if (status == NACRE_OK)
        status = find_image(&parts, err);
    /* Mounts are judged before a setup command is run for nothing. */
    if (status == NACRE_OK)
        status = dk_parts_rebind(&parts, err);
    if (status == NACRE_OK)
        status = nt_user_check(&parts.user, parts.binds.mounts, err);
    if (status == NACRE_OK && plan->container.setup_command) {
        status = dk_setup_image(site, plan->container.setup_command, cancelled,
                                parts.image, err);
        if (status == NACRE_OK)
            status = dk_parts_rebind(&parts, err);
    }
    if (status != NACRE_OK)
        return status;
    *ret_parts = parts;
    parts = (struct dk_parts){ 0 };
    return NACRE_OK;
}

struct dk_order dk_parts_order(const struct dk_parts *parts, const char *const *labels)
{
    const char *profile = parts->plan->container.seccomp_profile;
    bool gvisor = parts->plan->runtime == NACRE_RUNTIME_GVISOR;

    return (struct dk_order){
        .plan = parts->plan,
        .runtime = gvisor ? parts->site->gvisor : NULL,
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
        .masked = gvisor ? NULL : parts->site->masked, /* it shows nothing of the host */
        .layer_bytes_max = parts->layer_bytes_max,
        .labels = labels,
    };
}

/* Those that a policy may keep; planning refuses all others. */
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
        { "SYS_CHROOT", CAP_SYS_CHROOT },
    };
    char *const *kept = parts->plan->container.keep_capabilities;
    uint64_t mask = 0;

    for (; kept && *kept; kept++)
        for (size_t i = 0; i < NACRE_COUNT(rows); i++)
            if (strcmp(*kept, rows[i].name) == 0)
                mask |= UINT64_C(1) << rows[i].number;
    return mask;
}
