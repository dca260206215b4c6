/* A plan outlives its request only as a copy: whoever keeps a sandbox warm needs one. */
#include <stdlib.h>
#include <string.h>

#include "nacre/plan.h"

/* Each returns false when memory is short; a copy that is not whole can be freed. */

static bool copy_text(const char *from, char **ret_to)
{
    *ret_to = from ? strdup(from) : NULL;
    return !from || *ret_to;
}

static bool copy_names(char *const *from, uint32_t count, char ***ret_to,
                       uint32_t *ret_count)
{
    *ret_count = 0;
    *ret_to = calloc(count + 1u, sizeof(**ret_to));
    if (!*ret_to)
        return false;
    for (; *ret_count < count; ++*ret_count)
        if (!copy_text(from[*ret_count], &(*ret_to)[*ret_count]))
            return false;
    return true;
}

static bool copy_list(char *const *from, char ***ret_to)
{
    uint32_t count = 0, copied;

    *ret_to = NULL;
    if (!from)
        return true;
    while (from[count])
        count++;
    return copy_names(from, count, ret_to, &copied);
}

static bool copy_container(const struct nacre_container *from, struct nacre_container *to)
{
    *to = (struct nacre_container){
        .read_only_root = from->read_only_root,
        .user_namespaces = from->user_namespaces,
        .memory_swap_bytes = from->memory_swap_bytes,
        .memory_reservation_bytes = from->memory_reservation_bytes,
        .cpus_nano = from->cpus_nano,
        .disk_bytes = from->disk_bytes,
        .disk_iops = from->disk_iops,
        .disk_io_weight = from->disk_io_weight,
    };
    return copy_text(from->image, &to->image) && copy_text(from->workdir, &to->workdir) &&
           copy_text(from->user, &to->user) &&
           copy_text(from->seccomp_profile, &to->seccomp_profile) &&
           copy_text(from->apparmor_profile, &to->apparmor_profile) &&
           copy_text(from->selinux_label, &to->selinux_label) &&
           copy_text(from->setup_command, &to->setup_command) &&
           copy_text(from->cpuset, &to->cpuset) && copy_list(from->tmpfs, &to->tmpfs) &&
           copy_list(from->keep_capabilities, &to->keep_capabilities) &&
           copy_list(from->blocked_syscalls, &to->blocked_syscalls) &&
           copy_list(from->environment, &to->environment) &&
           copy_list(from->ulimits, &to->ulimits);
}

static bool copy_mounts(const struct nacre_plan *from, struct nacre_plan *to)
{
    to->mounts = calloc(from->mount_count + 1u, sizeof(*to->mounts));
    if (!to->mounts)
        return false;
    for (; to->mount_count < from->mount_count; to->mount_count++) {
        const struct nacre_mount *mount = &from->mounts[to->mount_count];
        struct nacre_mount *copy = &to->mounts[to->mount_count];

        copy->own = mount->own;
        copy->writable = mount->writable;
        copy->place = mount->place;
        if (!copy_text(mount->guest, &copy->guest) ||
            !copy_text(mount->host, &copy->host) ||
            !copy_names(mount->denied, mount->denied_count, &copy->denied,
                        &copy->denied_count) ||
            !copy_names(mount->covered, mount->covered_count, &copy->covered,
                        &copy->covered_count)) {
            to->mount_count++; /* what there is of it is freed with the rest */
            return false;
        }
    }
    return true;
}

static bool copy_decisions(const struct nacre_plan *from, struct nacre_plan *to)
{
    to->decisions = calloc(from->decision_count + 1u, sizeof(*to->decisions));
    if (!to->decisions)
        return false;
    to->decision_count = from->decision_count;
    if (from->decision_count > 0)
        memcpy(to->decisions, from->decisions,
               from->decision_count * sizeof(*to->decisions));
    return true;
}

enum nacre_status nacre_plan_copy(const struct nacre_plan *plan,
                                  struct nacre_plan **ret_plan, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *copy = calloc(1, sizeof(*copy));
    enum nacre_status status;

    if (!copy)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
    status = nacre_egress_copy(&plan->egress, &copy->egress, err);
    if (status != NACRE_OK)
        return status;
    copy->injection = plan->injection;
    copy->leak_scan = plan->leak_scan;
    copy->leak_patterns = plan->leak_patterns;
    copy->level = plan->level;
    copy->runtime = plan->runtime;
    copy->full_tree = plan->full_tree;
    copy->own_tmp = plan->own_tmp;
    copy->tmp_writable = plan->tmp_writable;
    copy->shared_memory = plan->shared_memory;
    copy->strict_binds = plan->strict_binds;
    copy->limits = plan->limits;
    copy->required = plan->required;
    copy->waivable = plan->waivable;
    copy->scope = plan->scope;
    copy->digest = plan->digest;
    copy->sealed = plan->sealed;
    if (!copy_mounts(plan, copy) || !copy_decisions(plan, copy) ||
        !copy_names(plan->denied_host_paths, plan->denied_host_count,
                    &copy->denied_host_paths, &copy->denied_host_count) ||
        !copy_names(plan->denied_root, plan->denied_root_count, &copy->denied_root,
                    &copy->denied_root_count) ||
        !copy_text(plan->directory, &copy->directory) ||
        !copy_text(plan->scope_key, &copy->scope_key) ||
        !copy_container(&plan->container, &copy->container))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
    *ret_plan = nacre_plan_take(&copy);
    return NACRE_OK;
}
