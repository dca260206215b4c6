#include "draft.h"

/* Sandboxes are reused by this digest: two plans that differ in anything a sandbox
 * is made of must never meet in one.  Fuel and time belong to a single call. */

static void add_names(struct nacre_hasher *hasher, char *const *names, uint32_t count)
{
    nacre_hash_add_u64(hasher, count);
    for (uint32_t i = 0; i < count; i++)
        nacre_hash_add_text(hasher, names[i]);
}

static void add_list(struct nacre_hasher *hasher, char *const *texts)
{
    uint32_t count = 0;

    while (texts && texts[count])
        count++;
    add_names(hasher, texts, count);
}

static void add_container(struct nacre_hasher *hasher,
                          const struct nacre_container *container)
{
    const char *const texts[] = {
        container->image,           container->workdir,
        container->user,            container->seccomp_profile,
        container->apparmor_profile, container->selinux_label,
        container->setup_command,   container->cpuset,
    };
    const uint64_t numbers[] = {
        container->read_only_root, container->memory_swap_bytes,
        container->memory_reservation_bytes, container->cpus_nano,
        container->disk_bytes, container->disk_iops, container->disk_io_weight,
    };

    for (size_t i = 0; i < NACRE_COUNT(texts); i++)
        nacre_hash_add_text(hasher, texts[i]);
    for (size_t i = 0; i < NACRE_COUNT(numbers); i++)
        nacre_hash_add_u64(hasher, numbers[i]);
    add_list(hasher, container->tmpfs);
    add_list(hasher, container->keep_capabilities);
    add_list(hasher, container->blocked_syscalls);
    add_list(hasher, container->environment);
    add_list(hasher, container->ulimits);
}

struct nacre_digest nacre_draft_digest(const struct nacre_policy *policy,
                                       const struct nacre_request *request,
                                       const struct nacre_plan *plan)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre plan 2");
    nacre_hash_add(&hasher, policy->digest.bytes, sizeof(policy->digest.bytes));
    nacre_hash_add_u64(&hasher, plan->level);
    nacre_hash_add_u64(&hasher, plan->runtime);
    nacre_hash_add_u64(&hasher, plan->full_tree);
    nacre_hash_add_u64(&hasher, plan->mount_count);
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *mount = &plan->mounts[i];

        nacre_hash_add_text(&hasher, mount->guest);
        nacre_hash_add_text(&hasher, mount->host);
        nacre_hash_add_u64(&hasher, mount->writable);
        add_names(&hasher, mount->denied, mount->denied_count);
        add_names(&hasher, mount->covered, mount->covered_count);
    }
    add_names(&hasher, plan->denied_host_paths, plan->denied_host_count);
    add_names(&hasher, plan->denied_root, plan->denied_root_count);
    nacre_hash_add_u64(&hasher, plan->limits.memory_bytes_max);
    nacre_hash_add_u64(&hasher, plan->limits.memory_asked);
    nacre_hash_add_u64(&hasher, plan->limits.open_files_max);
    nacre_hash_add_u64(&hasher, plan->limits.output_bytes_max);
    nacre_hash_add_u64(&hasher, plan->limits.cpu_shares);
    nacre_hash_add_u64(&hasher, plan->limits.processes_max);
    nacre_hash_add_u64(&hasher, plan->limits.scratch_bytes_max);
    nacre_hash_add_u64(&hasher, plan->limits.scratch_files_max);
    /* A sandbox that may lack a wall is none for who did not agree to that. */
    nacre_hash_add_u64(&hasher, plan->waivable);
    nacre_hash_add_u64(&hasher, plan->scope);
    nacre_hash_add_text(&hasher, plan->scope_key);
    add_container(&hasher, &plan->container);
    nacre_hash_add_text(&hasher, request->session);
    nacre_hash_add_text(&hasher, request->agent);
    return nacre_hash_end(&hasher);
}
