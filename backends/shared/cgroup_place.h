#ifndef NACRE_CGROUP_PLACE_H
#define NACRE_CGROUP_PLACE_H

#include "cgroup.h"
#include "nacre/buf.h"
#include "nacre/path.h"

enum nacre_cgroup_version {
    NACRE_CGROUP_NONE,
    NACRE_CGROUP_V1,
    NACRE_CGROUP_V2,
};

/* Where a cgroup of our own could be made. */
struct nacre_cgroup_place {
    enum nacre_cgroup_version version; /* NONE: nowhere */
    char path[NACRE_PATH_MAX];         /* "" when there is none */
};

/* The texts of /proc/self/cgroup and /proc/self/mountinfo.  Zeroed is empty. */
struct nacre_cgroup_tables {
    const char *cgroups, *mounts;    /* NULL counts as "" */
    struct nacre_buf own[2];         /* private: what tables_read() has read */
};

/* For `controllers` (NULL-terminated) alone, or NULL for all: where these are mounted as
 * nearly everywhere, the kernel does not have to list all mounts.  A kernel without
 * cgroups has none of the tables, which is no failure. */
NACRE_MUST_CHECK enum nacre_status
nacre_cgroup_tables_read(const char *const *controllers,
                         struct nacre_cgroup_tables *ret_tables, struct nacre_error *err);
void nacre_cgroup_tables_clear(struct nacre_cgroup_tables *tables);

/*
 * All three go by the tables, and for v2 by the cgroups' own files.  Nothing is written:
 * whether it works is for a probe to say.
 *
 * _v1: our own cgroup in the hierarchy of `controller`.
 *
 * _v2: the cgroup above us, of those that we may write to when there are any, that hands
 * most of `controllers` down, the nearest of equals; ret_handed[i] says whether it hands
 * controllers[i].  None of them is fine: freezing and killing need no controller.
 *
 * _find: whichever of them has `controller`.  One that v1 has, v2 has not.
 */
void nacre_cgroup_place_v1(const struct nacre_cgroup_tables *tables,
                           const char *controller, struct nacre_cgroup_place *ret_place);
void nacre_cgroup_place_v2(const struct nacre_cgroup_tables *tables,
                           const char *const controllers[], size_t count,
                           bool ret_handed[], struct nacre_cgroup_place *ret_place);
void nacre_cgroup_place_find(const struct nacre_cgroup_tables *tables,
                             const char *controller,
                             struct nacre_cgroup_place *ret_place);

/* Our own cgroup of v2's; false: none is to be seen. */
bool nacre_cgroup_own_v2(const struct nacre_cgroup_tables *tables,
                         char ret_path[NACRE_PATH_MAX]);

/* nacre_cpu_share_open() with the finding done: what can't be made at `place` becomes
 * nice. */
NACRE_MUST_CHECK enum nacre_status
nacre_cpu_share_open_at(const struct nacre_cgroup_place *place,
                        struct nacre_cpu_share **ret_share, struct nacre_error *err);

#endif
