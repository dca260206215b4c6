#ifndef NACRE_BOX_GROUP_H
#define NACRE_BOX_GROUP_H

#include "box_cgroup.h"
#include "cgroup_dir.h"
#include "cgroup_place.h"

/* Inside of the pool: the hierarchies it stands on, and one group in all of them. */
enum box_controller {
    BOX_MEMORY,
    BOX_CPU,
    BOX_PIDS,
    BOX_FREEZER,
    BOX_CPUACCT,
    BOX_CONTROLLERS
};

struct box_hierarchy {
    enum nacre_cgroup_version version;
    int dir_fd; /* where groups are made; -1 for none */
    char path[NACRE_PATH_MAX];
};

struct box_dir {
    int dir_fd, procs_fd; /* -1 where there is none */
};

struct nacre_box_group {
    struct nacre_box_group *next; /* of the list that it is in */
    char name[NACRE_CGROUP_NAME];
    struct box_dir dirs[NACRE_BOX_HIERARCHIES_MAX];
    size_t count;
    /* For each controller where it is; NULL when it can't be used. */
    const struct box_dir *of[BOX_CONTROLLERS];
    bool v2[BOX_CONTROLLERS];
    bool has_swap;
    int peak_fd; /* v2's memory.peak: it starts anew for the fd that is written to */
    struct nacre_box_usage before; /* what the counters said at take() */
    bool is_fresh; /* nobody has had it yet: no limit, no count, no process */
};

/* Every limit that there is, also those that are not asked for, unless it is fresh: the
 * group had another owner. */
NACRE_MUST_CHECK enum nacre_status box_group_limit(struct nacre_box_group *group,
                                                   const struct nacre_box_limits *limits,
                                                   struct nacre_error *err);
/* From now on is counted. */
void box_group_begin(struct nacre_box_group *group);
/* False when this kernel can't: then the next one must not get it. */
bool box_group_forget_peak(struct nacre_box_group *group);
bool box_group_is_empty(const struct nacre_box_group *group);
/* Is there nothing in it that the next one would pay for? */
bool box_group_is_clean(const struct nacre_box_group *group);

/* All that is in it stands still from here on, until it is thawed.  False when that takes
 * longer than `ms_max`: then some do, and the others will; or there is no freezer. */
bool box_group_freeze(struct nacre_box_group *group, int ms_max);
void box_group_thaw(struct nacre_box_group *group);

/* Which controllers are looked for: memory's, and those whose bits are set; or all. */
#define BOX_BIT(controller) (1u << (controller))
#define BOX_ALL BOX_BIT(BOX_CONTROLLERS)

/* nacre_box_cgroups_open() with the finding begun. */
NACRE_MUST_CHECK enum nacre_status
box_cgroups_open_from(const struct nacre_cgroup_tables *tables, unsigned extent,
                      struct nacre_box_cgroups **ret_cgroups, struct nacre_error *err);

#endif
