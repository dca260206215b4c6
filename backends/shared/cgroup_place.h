#ifndef NACRE_CGROUP_PLACE_H
#define NACRE_CGROUP_PLACE_H

#include "cgroup.h"
#include "nacre/path.h"

/* Where a cgroup with a weight of its own could be made. */
struct nacre_cgroup_place {
    enum nacre_cpu_share_kind kind; /* NICE: nowhere */
    char path[NACRE_PATH_MAX];      /* "" when there is none */
};

/* From the texts of /proc/self/cgroup and /proc/self/mountinfo, and for v2 from the
 * cgroups' own files.  Nothing is written: whether it works is for a probe to say. */
void nacre_cgroup_place_find(const char *cgroups, const char *mounts,
                             struct nacre_cgroup_place *ret_place);

/* nacre_cpu_share_open() with the finding done: what can't be made at `place` becomes
 * nice. */
NACRE_MUST_CHECK enum nacre_status
nacre_cpu_share_open_at(const struct nacre_cgroup_place *place,
                        struct nacre_cpu_share **ret_share, struct nacre_error *err);

#endif
