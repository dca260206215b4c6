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
        container->read_only_root, container->user_namespaces,
        container->memory_swap_bytes,
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

static void add_hosts(struct nacre_hasher *hasher, const struct nacre_egress_host *hosts,
                      uint32_t count)
{
    nacre_hash_add_u64(hasher, count);
    for (uint32_t i = 0; i < count; i++) {
        nacre_hash_add_text(hasher, hosts[i].name);
        nacre_hash_add_u64(hasher, hosts[i].below);
        nacre_hash_add_u64(hasher, hosts[i].port);
        nacre_hash_add_u64(hasher, hosts[i].way);
    }
}

void nacre_plan_hash_egress(struct nacre_hasher *hasher, const struct nacre_egress *egress)
{
    const uint64_t numbers[] = {
        egress->mode,
        egress->block_private,
        egress->scan,
        egress->patterns,
        egress->way,
        egress->limits.header_bytes_max,
        egress->limits.body_bytes_max,
        egress->limits.redirects_max,
        egress->limits.requests_max,
        egress->limits.requests_per_minute_max,
        egress->limits.connections_max,
        egress->secret_count,
    };

    for (size_t i = 0; i < NACRE_COUNT(numbers); i++)
        nacre_hash_add_u64(hasher, numbers[i]);
    add_hosts(hasher, egress->allowed, egress->allowed_count);
    add_hosts(hasher, egress->denied, egress->denied_count);
    for (uint32_t i = 0; i < egress->secret_count; i++) {
        nacre_hash_add_text(hasher, egress->secrets[i].name);
        add_hosts(hasher, egress->secrets[i].hosts, egress->secrets[i].host_count);
    }
    nacre_hash_add_u64(hasher, egress->resolvers != NULL);
    add_list(hasher, egress->resolvers);
    nacre_hash_add_u64(hasher, egress->fixed_hosts != NULL);
    add_list(hasher, egress->fixed_hosts);
}

struct nacre_digest nacre_draft_digest(const struct nacre_policy *policy,
                                       const struct nacre_request *request,
                                       const struct nacre_plan *plan)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre plan 3");
    nacre_hash_add(&hasher, policy->digest.bytes, sizeof(policy->digest.bytes));
    nacre_hash_add_u64(&hasher, plan->level);
    nacre_hash_add_u64(&hasher, plan->runtime);
    nacre_hash_add_u64(&hasher, (uint64_t)plan->full_tree |
                                    (uint64_t)plan->strict_binds << 1 |
                                    (uint64_t)plan->own_tmp << 2 |
                                    (uint64_t)plan->tmp_writable << 3 |
                                    (uint64_t)plan->shared_memory << 4);
    nacre_hash_add_u64(&hasher, plan->mount_count);
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *mount = &plan->mounts[i];

        nacre_hash_add_text(&hasher, mount->guest);
        nacre_hash_add_text(&hasher, mount->host);
        nacre_hash_add_u64(&hasher,
                           (uint64_t)mount->writable | (uint64_t)mount->own << 1);
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
    nacre_hash_add_u64(&hasher, plan->limits.processes_asked);
    nacre_hash_add_u64(&hasher, plan->limits.scratch_bytes_max);
    nacre_hash_add_u64(&hasher, plan->limits.scratch_files_max);
    /* A sandbox that may lack a wall is none for who did not agree to that. */
    nacre_hash_add_u64(&hasher, plan->waivable);
    nacre_hash_add_u64(&hasher, plan->scope);
    nacre_hash_add_text(&hasher, plan->scope_key);
    add_container(&hasher, &plan->container);
    nacre_plan_hash_egress(&hasher, &plan->egress);
    nacre_hash_add_u64(&hasher, plan->injection);
    nacre_hash_add_u64(&hasher, plan->leak_scan);
    nacre_hash_add_u64(&hasher, plan->leak_patterns);
    nacre_hash_add_text(&hasher, request->session);
    nacre_hash_add_text(&hasher, request->agent);
    return nacre_hash_end(&hasher);
}
