#ifndef NACRE_BOX_CGROUP_H
#define NACRE_BOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * Limits of a native sandbox by cgroups: v2, where one directory has it all, or v1, where
 * each controller has a hierarchy of its own.  Directories that are empty again are kept
 * and given to the next.
 *
 * From several threads; one group is used by one thread at a time.
 */
enum nacre_box_feature {
    NACRE_BOX_MEMORY,
    NACRE_BOX_SWAP, /* together with MEMORY: swap can be bounded too */
    NACRE_BOX_CPU,
    NACRE_BOX_PIDS,
    NACRE_BOX_FREEZER,
    NACRE_BOX_CPU_TIME, /* counted, not limited */
    NACRE_BOX_FEATURES
};

struct nacre_box_limits { /* 0: not asked for */
    uint64_t memory_bytes_max;
    uint64_t swap_bytes_max;      /* beyond memory_bytes_max, and only with it; 0: none */
    uint64_t memory_bytes_target; /* what is left to it when memory gets scarce */
    uint64_t cpu_shares;          /* NACRE_CPU_SHARES_MIN to _MAX */
    uint64_t cpu_quota_us;        /* of each 100 ms, from 1000 on: 150000 is 1.5
                                     processors */
    uint64_t processes_max;       /* and threads */
};

struct nacre_box_usage { /* since take(); 0 where it can't be known */
    uint64_t memory_bytes_peak;
    uint64_t oom_kills;
    uint64_t forks_refused;
    uint64_t cpu_ns;
};

struct nacre_box_cgroups;
struct nacre_box_group;

/* Empty ones that are kept. */
#define NACRE_BOX_GROUPS_KEPT 8
/* Hierarchies that one group can be in. */
#define NACRE_BOX_HIERARCHIES_MAX 5

/*
 * Find out what can be limited here, by doing: a group is made in each hierarchy and a
 * process put in it.  Removes the groups of owners that are gone.  Nothing usable is no
 * failure.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_box_cgroups_open(struct nacre_box_cgroups **ret_cgroups, struct nacre_error *err);

/* The same with MEMORY (and SWAP) alone, a third of the time; or with CPU and PIDS too. */
NACRE_MUST_CHECK enum nacre_status
nacre_box_cgroups_open_plain(bool weighs, bool counts,
                             struct nacre_box_cgroups **ret_cgroups,
                             struct nacre_error *err);

/* Removes all its groups; what still holds a process is removed by a later open().  Every
 * group has been put back.  Accepts NULL. */
void nacre_box_cgroups_free(struct nacre_box_cgroups *cgroups);
NACRE_OWNED(nacre_box_cgroups)

bool nacre_box_cgroups_has(const struct nacre_box_cgroups *cgroups,
                           enum nacre_box_feature feature);
/* The mechanism, or why there is none, in words; lives as long as `cgroups`. */
const char *nacre_box_cgroups_text(const struct nacre_box_cgroups *cgroups,
                                   enum nacre_box_feature feature);

/*
 * A group with these limits and no other, without processes; its counters begin anew.
 * NACRE_ERR_UNAVAILABLE when something is asked that can't be limited here,
 * NACRE_ERR_USAGE when a number is out of range.  On failure no group is left.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_box_group_take(struct nacre_box_cgroups *cgroups,
                     const struct nacre_box_limits *limits,
                     struct nacre_box_group **ret_group, struct nacre_error *err);

/*
 * Give it back, once what was in it has ended: waits up to 50 ms for the kernel to
 * notice.  A group that is not empty then, or still holds much memory, is not used again
 * but removed as soon as it can be.  Accepts NULL.
 */
void nacre_box_group_put(struct nacre_box_cgroups *cgroups,
                         struct nacre_box_group *group);

/* The same for one that nobody will need again: it is not made ready for that. */
void nacre_box_group_drop(struct nacre_box_cgroups *cgroups,
                          struct nacre_box_group *group);

/* A process of one thread that writes "0" to all of these is in the group, with all that
 * it starts later.  They belong to the group.  Returns how many. */
size_t nacre_box_group_procs(const struct nacre_box_group *group,
                             int ret_fds[NACRE_BOX_HIERARCHIES_MAX]);

void nacre_box_group_usage(const struct nacre_box_group *group,
                           struct nacre_box_usage *ret_usage);

/* Freeze all that is in it, where there is a freezer, and kill it, however fast it forks.
 * NACRE_ERR_TIMEOUT when something is left at `deadline_ns` (nacre_clock_ns). */
NACRE_MUST_CHECK enum nacre_status nacre_box_group_kill(struct nacre_box_group *group,
                                                        uint64_t deadline_ns,
                                                        struct nacre_error *err);

#endif
