#include "pr_groups.h"

#include "nacre/clock.h"
#include "nt_launch.h"

#define PROCESSES_OURS 1 /* init, which a cgroup counts with the command's */
/* Of the net beneath it: what refuses first has to be what counts refusals. */
#define PROCESSES_SLACK 8
/* More of them could keep everybody else from the processors when they have to end; below,
 * a second directory for each run would cost more than it gives. */
#define PROCESSES_FEW 256

static void tell(struct nacre_executor *base, const char *name,
                 const struct nacre_box_cgroups *cgroups, enum nacre_box_feature feature)
{
    nacre_mechanism_add(base, name, nacre_box_cgroups_has(cgroups, feature), "%.180s",
                        nacre_box_cgroups_text(cgroups, feature));
}

static void tell_memory(struct pr_groups *groups, struct nacre_executor *base,
                        const struct nacre_box_cgroups *cgroups)
{
    if (!groups->memory_told)
        tell(base, "memory", cgroups, NACRE_BOX_MEMORY);
    groups->memory_told = true;
}

static void probe(struct pr_groups *groups, struct nacre_executor *base)
{
    struct nacre_box_cgroups *cgroups = NULL;
    struct nacre_error err;
    uint32_t found = 0;

    if (nacre_box_cgroups_open(&cgroups, &err) != NACRE_OK) {
        nacre_mechanism_add(base, "cgroups", false, "%.180s", err.text);
        return;
    }
    if (nacre_box_cgroups_has(cgroups, NACRE_BOX_MEMORY))
        found |= NACRE_FEATURE_MEMORY_LIMIT;
    if (nacre_box_cgroups_has(cgroups, NACRE_BOX_CPU))
        found |= NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY;
    tell_memory(groups, base, cgroups);
    tell(base, "cpu_shares", cgroups, NACRE_BOX_CPU);
    atomic_store(&groups->asked, cgroups);
    atomic_fetch_or(&base->features, found);
}

void pr_groups_probe(struct pr_groups *groups, struct nacre_executor *base)
{
    (void)pthread_mutex_lock(&groups->opening);
    if (!atomic_load(&groups->asked))
        probe(groups, base);
    (void)pthread_mutex_unlock(&groups->opening);
}

void pr_groups_clear(struct pr_groups *groups)
{
    for (size_t i = 0; i < NACRE_COUNT(groups->plain); i++)
        nacre_box_cgroups_free(atomic_load(&groups->plain[i]));
    nacre_box_cgroups_free(atomic_load(&groups->asked));
    (void)pthread_mutex_destroy(&groups->opening);
}

bool pr_groups_bound(const struct nacre_executor *base, const struct nacre_plan *plan)
{
    return plan->limits.memory_asked &&
           atomic_load(&base->features) & NACRE_FEATURE_MEMORY_LIMIT;
}

/* ---- what is no condition ---- */

static struct nacre_box_cgroups *plain_pool(struct pr_groups *groups,
                                            struct nacre_executor *base,
                                            const struct nacre_limits *limits)
{
    bool weighs = limits->processes_max > PROCESSES_FEW;
    bool counts = limits->processes_asked;
    struct nacre_box_cgroups *_Atomic *place = &groups->plain[weighs + 2 * counts];
    struct nacre_box_cgroups *plain = atomic_load(place);
    struct nacre_error err;

    if (plain)
        return plain;
    (void)pthread_mutex_lock(&groups->opening);
    plain = atomic_load(place);
    if (!plain &&
        nacre_box_cgroups_open_plain(weighs, counts, &plain, &err) == NACRE_OK) {
        tell_memory(groups, base, plain);
        atomic_store(place, plain);
    }
    (void)pthread_mutex_unlock(&groups->opening);
    return plain;
}

static enum nacre_status take_plain(struct pr_groups *groups, struct nacre_executor *base,
                                    const struct nacre_plan *plan,
                                    struct pr_group *ret_group, struct nacre_error *err)
{
    struct nacre_box_limits wanted = { 0 };

    ret_group->pool = plain_pool(groups, base, &plan->limits);
    if (!ret_group->pool)
        return NACRE_OK;
    if (nacre_box_cgroups_has(ret_group->pool, NACRE_BOX_MEMORY))
        wanted.memory_bytes_max = plan->limits.memory_bytes_max;
    if (nacre_box_cgroups_has(ret_group->pool, NACRE_BOX_PIDS))
        wanted.processes_max = plan->limits.processes_max + PROCESSES_OURS;
    if (wanted.memory_bytes_max == 0 && wanted.processes_max == 0 &&
        !nacre_box_cgroups_has(ret_group->pool, NACRE_BOX_CPU))
        return NACRE_OK;
    return nacre_box_group_take(ret_group->pool, &wanted, &ret_group->group, err);
}

/* ---- giving out ---- */

enum nacre_status pr_group_take(struct pr_groups *groups, struct nacre_executor *base,
                                const struct nacre_plan *plan, struct pr_group *ret_group,
                                struct nacre_error *err)
{
    const struct nacre_limits *limits = &plan->limits;
    struct nacre_box_limits wanted = { 0 };
    uint64_t features = atomic_load(&base->features);

    *ret_group = (struct pr_group){ NULL, NULL };
    if (features & NACRE_FEATURE_CPU_SHARES_ANY)
        wanted.cpu_shares = limits->cpu_shares;
    if (wanted.cpu_shares == 0 && !pr_groups_bound(base, plan))
        return take_plain(groups, base, plan, ret_group, err);
    if (features & NACRE_FEATURE_MEMORY_LIMIT)
        wanted.memory_bytes_max = limits->memory_bytes_max;
    ret_group->pool = atomic_load(&groups->asked);
    if (nacre_box_cgroups_has(ret_group->pool, NACRE_BOX_PIDS))
        wanted.processes_max = limits->processes_max + PROCESSES_OURS;
    return nacre_box_group_take(ret_group->pool, &wanted, &ret_group->group, err);
}

uint64_t pr_group_processes(const struct pr_group *group, const struct nacre_plan *plan)
{
    bool counts = group->group && nacre_box_cgroups_has(group->pool, NACRE_BOX_PIDS);

    return plan->limits.processes_max + (counts ? PROCESSES_SLACK : 0);
}

bool pr_group_weighs(const struct pr_group *group)
{
    return group->group && nacre_box_cgroups_has(group->pool, NACRE_BOX_CPU);
}

void pr_group_kill(const struct pr_group *group)
{
    uint64_t deadline_ns = nacre_clock_ns() + NT_END_MS * NACRE_NS_PER_MS;
    struct nacre_error err;

    if (group->group)
        (void)!nacre_box_group_kill(group->group, deadline_ns, &err);
}

void pr_group_put(struct pr_group *group)
{
    nacre_box_group_put(group->pool, group->group);
    *group = (struct pr_group){ NULL, NULL };
}

void pr_group_drop(struct pr_group *group)
{
    nacre_box_group_drop(group->pool, group->group);
    *group = (struct pr_group){ NULL, NULL };
}
