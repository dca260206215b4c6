#ifndef DK_ROWS_H
#define DK_ROWS_H

#include "dk_report.h"

/* A report in the making: the first failure, which is want of memory, sticks. */
struct dk_making {
    struct dk_report *report;
    enum dk_kernel kernel;
    bool gvisor;
    const char *state_dir;
    bool failed;
};

/* Kept as long as the report; "" after a failure. */
const char *dk_text(struct dk_making *making, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define DK_MOUNTS "file /proc/self/mountinfo"

/* Is `path` one of `paths`?  NULL-terminated; or NULL, and then it is not. */
bool dk_is_listed(const char *const *paths, const char *path);

/* A question that starts so is for the host: then comes a file of dk_group_read(). */
#define DK_HOSTS "cgroup "

/* The limits that the container's cgroups hold: each version has its own files. */
void dk_expect_groups(struct dk_making *making, const struct dk_parts *parts);

/* /dev, /proc and /sys where the kernel is that of the engine's machine. */
void dk_expect_kernel(struct dk_making *making, const struct dk_parts *parts);

/* Nothing is mounted that was not planned: NACRE_ERR_UNAVAILABLE names what is.  `id` is
 * the container's, of a machine in it NULL.  `mountinfo` is terminated at `count`; NULL:
 * init gave none. */
NACRE_MUST_CHECK enum nacre_status dk_judge_mounts(const struct dk_parts *parts,
                                                   const char *id,
                                                   const char *mountinfo, size_t count,
                                                   struct nacre_error *err);

/* One more row; what it points to lives as long as the report. */
void dk_expect(struct dk_making *making, struct nt_expect row);
void dk_expect_mount(struct dk_making *making, const char *target, const char *planned);

#endif
