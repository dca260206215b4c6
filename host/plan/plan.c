/*
 * Planning is pure: no file, clock or socket.  The same policy and request give the
 * same plan or the same refusals, which is what `explain` and the golden tests rely
 * on.  The policy is trusted, the request is not.
 */
#include "nacre/plan.h"

#include <assert.h>
#include <string.h>

#include "draft.h"

const char *nacre_feature_name(enum nacre_feature feature)
{
    static const struct {
        enum nacre_feature feature;
        const char *name;
    } names[] = {
        { NACRE_FEATURE_WASM, "wasm" },
        { NACRE_FEATURE_MEMORY_LIMIT, "memory-limit" },
        { NACRE_FEATURE_WALL_LIMIT, "wall-limit" },
        { NACRE_FEATURE_FUEL, "fuel" },
        { NACRE_FEATURE_OPEN_FILES, "open-files" },
        { NACRE_FEATURE_OUTPUT_LIMIT, "output-limit" },
        { NACRE_FEATURE_PROCESSES, "processes" },
        { NACRE_FEATURE_CPU_SHARES_LOW, "cpu-shares-low" },
        { NACRE_FEATURE_CPU_SHARES_ANY, "cpu-shares-any" },
        { NACRE_FEATURE_FS_BENEATH, "fs-beneath" },
        { NACRE_FEATURE_FS_DENIED, "fs-denied" },
        { NACRE_FEATURE_FS_FULL, "fs-full" },
        { NACRE_FEATURE_NO_NETWORK, "no-network" },
        { NACRE_FEATURE_NO_SHELL, "no-shell" },
        { NACRE_FEATURE_NATIVE, "native" },
        { NACRE_FEATURE_CPUS, "cpus" },
        { NACRE_FEATURE_CPUSET, "cpuset" },
        { NACRE_FEATURE_SWAP_LIMIT, "swap-limit" },
        { NACRE_FEATURE_MEMORY_RESERVATION, "memory-reservation" },
        { NACRE_FEATURE_DISK_OF_ROOT, "disk-of-root" },
        { NACRE_FEATURE_DISK_IOPS, "disk-iops" },
        { NACRE_FEATURE_DISK_IO_WEIGHT, "disk-io-weight" },
        { NACRE_FEATURE_APPARMOR, "apparmor" },
        { NACRE_FEATURE_SELINUX, "selinux" },
        { NACRE_FEATURE_WARM, "warm" },
        { NACRE_FEATURE_EGRESS, "egress" },
        { NACRE_FEATURE_SECRET_FILES, "secret-files" },
        { NACRE_FEATURE_TUNNEL_SCAN, "tunnel-scan" },
        { NACRE_FEATURE_SECCOMP_PROFILE, "seccomp-profile" },
        { NACRE_FEATURE_DISK_OF_HOST, "disk-of-host" },
        { NACRE_FEATURE_RUNTIME, "runtime" },
        { NACRE_FEATURE_KVM, "kvm" },
        { NACRE_FEATURE_DISK_OF_SESSION, "disk-of-session" },
    };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (names[i].feature == feature)
            return names[i].name;
    assert(false && "one bit of enum nacre_feature");
    return NULL;
}

const char *nacre_verdict_name(enum nacre_verdict verdict)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_VERDICT_##id] = name,
        NACRE_VERDICT_MAP(X)
#undef X
    };

    assert(verdict < NACRE_VERDICT_COUNT);
    return names[verdict];
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static void free_list(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

static void container_clear(struct nacre_container *container)
{
    free(container->image);
    free(container->workdir);
    free(container->user);
    free(container->seccomp_profile);
    free(container->apparmor_profile);
    free(container->selinux_label);
    free(container->setup_command);
    free(container->cpuset);
    free_list(container->tmpfs);
    free_list(container->keep_capabilities);
    free_list(container->blocked_syscalls);
    free_list(container->environment);
    free_list(container->ulimits);
}

void nacre_plan_free(struct nacre_plan *plan)
{
    if (!plan)
        return;
    free(plan->directory);
    free(plan->scope_key);
    container_clear(&plan->container);
    nacre_egress_clear(&plan->egress);
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        free(plan->mounts[i].guest);
        free(plan->mounts[i].host);
        free_names(plan->mounts[i].denied, plan->mounts[i].denied_count);
        free_names(plan->mounts[i].covered, plan->mounts[i].covered_count);
    }
    free(plan->mounts);
    free(plan->decisions);
    free_names(plan->denied_host_paths, plan->denied_host_count);
    free_names(plan->denied_root, plan->denied_root_count);
    free(plan);
}

/* By a denied name other than number `k` at or above it; "" is the mount itself. */
static bool is_covered(const struct nacre_mount *mount, const char *name, uint32_t k)
{
    for (uint32_t i = 0; i < mount->denied_count; i++)
        if (i != k && (!mount->denied[i][0] ||
                       nacre_path_is_below(name, mount->denied[i], NULL)))
            return true;
    return false;
}

/* Was the way of `length` bytes of denied name `k` told with an earlier one? */
static bool is_way_told(const struct nacre_mount *mount, uint32_t k, size_t length)
{
    for (uint32_t i = 0; i < k; i++)
        if (strncmp(mount->denied[i], mount->denied[k], length) == 0 &&
            mount->denied[i][length] == '/')
            return true;
    return false;
}

bool nacre_plan_way(const struct nacre_plan *plan, size_t n,
                    const struct nacre_mount **ret_mount, char ret_path[NACRE_PATH_MAX])
{
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *mount = &plan->mounts[i];

        for (uint32_t k = 0; !mount->host && k < mount->denied_count; k++)
            for (const char *slash = mount->denied[k];
                 (slash = strchr(slash, '/')) != NULL; slash++) {
                size_t length = (size_t)(slash - mount->denied[k]);
                size_t top = strlen(mount->guest) + 1;
                char way[NACRE_PATH_MAX];

                if (snprintf(way, sizeof(way), "%s/%.*s", mount->guest, (int)length,
                             mount->denied[k]) >= NACRE_PATH_MAX ||
                    is_way_told(mount, k, length) || is_covered(mount, way + top, k) ||
                    n-- > 0)
                    continue;
                *ret_mount = mount;
                memcpy(ret_path, way, strlen(way) + 1);
                return true;
            }
    }
    return false;
}

bool nacre_mount_covers_denied(const struct nacre_mount *mount, uint32_t k)
{
    return is_covered(mount, mount->denied[k], k);
}

uint64_t nacre_plan_private_count(const struct nacre_plan *plan)
{
    const struct nacre_mount *mount;
    uint64_t count = plan->own_tmp;
    char path[NACRE_PATH_MAX];

    for (uint32_t i = 0; i < plan->mount_count; i++)
        count += plan->mounts[i].host == NULL;
    for (size_t n = 0; nacre_plan_way(plan, n, &mount, path); n++)
        count++;
    return count;
}

uint64_t nacre_plan_shared_bytes(const struct nacre_plan *plan)
{
    uint64_t quarter = plan->container.disk_bytes / 4;

    /* 0 would be no limit. */
    if (!plan->shared_memory ||
        (plan->container.disk_bytes > 0 && quarter < NACRE_PAGE_BYTES))
        return NACRE_PAGE_BYTES;
    return plan->container.disk_bytes == 0 || quarter > NACRE_SHARED_BYTES_MAX
               ? NACRE_SHARED_BYTES_MAX
               : quarter / NACRE_PAGE_BYTES * NACRE_PAGE_BYTES;
}

/* `draft` comes with policy, request, err and, where wanted, denials. */
static enum nacre_status make(struct draft *draft, struct nacre_plan **ret_plan)
{
    static void (*const sections[])(struct draft *) = {
        nacre_draft_level,     nacre_draft_network, nacre_draft_filesystem,
        nacre_draft_secrets,   nacre_draft_shell,   nacre_draft_limits,
        nacre_draft_container, nacre_draft_input,   nacre_draft_request,
        nacre_draft_disk,
    };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan");
    draft->plan = plan;
    draft->walls = nacre_walls_of(draft->policy->level, draft->policy->runtime);
    plan->required = draft->walls->always;
    for (size_t i = 0; i < NACRE_COUNT(sections) && draft->status == NACRE_OK; i++)
        sections[i](draft);
    if (draft->status != NACRE_OK)
        return draft->status;
    plan->digest = nacre_draft_digest(draft->policy, draft->request, plan);
    *ret_plan = nacre_plan_take(&plan);
    return NACRE_OK;
}

enum nacre_status nacre_plan_draft(const struct nacre_policy *policy,
                                   const struct nacre_request *request,
                                   struct nacre_plan **ret_plan, struct nacre_error *err)
{
    struct draft draft = { .policy = policy, .request = request, .err = err };

    return make(&draft, ret_plan);
}

enum nacre_status nacre_plan_make(const struct nacre_policy *policy,
                                  const struct nacre_request *request,
                                  struct nacre_plan **ret_plan,
                                  struct nacre_result *ret_denials,
                                  struct nacre_error *err)
{
    struct draft draft = {
        .policy = policy, .request = request, .denials = ret_denials, .err = err,
    };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    uint32_t kept = ret_denials->denial_count;
    uint64_t seen = ret_denials->denials_seen;
    enum nacre_status status = make(&draft, &plan);

    if (status != NACRE_OK) {
        ret_denials->denial_count = kept;
        ret_denials->denials_seen = seen;
        return status;
    }
    if (draft.refused) {
        status = draft.denied ? NACRE_ERR_DENIED : NACRE_ERR_UNAVAILABLE;
        nacre_policy_spell(policy, draft.first.rule, draft.first.fix,
                           sizeof(draft.first.fix));
        if (draft.first.place.line > 0)
            return nacre_fail_at(err, status, policy->source, draft.first.place.line,
                                 draft.first.place.column, "%.254s; %.255s",
                                 draft.first.text, draft.first.fix);
        return nacre_fail(err, status, "%.254s; %.255s", draft.first.text,
                          draft.first.fix);
    }
    plan->sealed = true;
    *ret_plan = nacre_plan_take(&plan);
    return NACRE_OK;
}
