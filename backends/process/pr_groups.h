#ifndef NACRE_PROCESS_GROUPS_H
#define NACRE_PROCESS_GROUPS_H

#include <pthread.h>

#include "box_cgroup.h"
#include "nacre/executor.h"

/*
 * The cgroups of level process.  What a policy asks for is a condition, and probed before
 * it; the default bound on memory holds where a memory cgroup can be had, and where none
 * can it is RLIMIT_DATA's, of each process for itself.
 */
struct pr_groups {
    pthread_mutex_t opening;
    struct nacre_box_cgroups *_Atomic asked; /* NULL until probed */
    /* What no line makes a condition: memory's alone; with 1, for many processes, cpu's
     * too; with 2, where a line bounds processes, pids'. */
    struct nacre_box_cgroups *_Atomic plain[4];
    bool memory_told; /* among the mechanisms; under `opening` */
};

struct pr_group {
    struct nacre_box_cgroups *pool;
    struct nacre_box_group *group; /* NULL: none */
};

/* Adds to the features and mechanisms of `base`, once. */
void pr_groups_probe(struct pr_groups *groups, struct nacre_executor *base);
void pr_groups_clear(struct pr_groups *groups);

/* Does a line of the policy bound the sum of all memory, and can that be done? */
bool pr_groups_bound(const struct nacre_executor *base, const struct nacre_plan *plan);

/* What the policy asks for was probed; without the feature the caller has waived it. */
NACRE_MUST_CHECK enum nacre_status pr_group_take(struct pr_groups *groups,
                                                 struct nacre_executor *base,
                                                 const struct nacre_plan *plan,
                                                 struct pr_group *ret_group,
                                                 struct nacre_error *err);
/* What RLIMIT_NPROC is to allow: what the plan does; where the group counts processes,
 * and so can tell that some were refused, a few more. */
uint64_t pr_group_processes(const struct pr_group *group, const struct nacre_plan *plan);
/* Has what is in it a weight of its own on the processors? */
bool pr_group_weighs(const struct pr_group *group);
/* All that is in it, also where its init can't: for want of the processor, or stopped. */
void pr_group_kill(const struct pr_group *group);
void pr_group_put(struct pr_group *group);
void pr_group_drop(struct pr_group *group); /* the last */

#endif
