#ifndef DK_ROWS_H
#define DK_ROWS_H

#include <string.h>

#include "dk_report.h"

/* What is asked in both halves, */
#define DK_STATUS "file /proc/self/status"
#define DK_MOUNTS "file /proc/self/mountinfo"
#define DK_LABEL "file /proc/self/attr/current"
/* of the host and not of init where it begins so, */
#define DK_HOSTS "cgroup "
/* and what a row is about, by which the judge knows it again. */
#define DK_BOUND "what is bound at "
extern const char dk_kernels_id[];

static inline bool dk_is_hosts(const struct nt_expect *row)
{
    return strncmp(row->question, DK_HOSTS, strlen(DK_HOSTS)) == 0;
}

static inline bool dk_is_init(const char *target)
{
    return strcmp(target, DK_INIT_TARGET) == 0 ||
           strcmp(target, DK_INIT_TARGET_SETUP) == 0;
}

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

/* One more row; what it points to lives as long as the report. */
void dk_expect(struct dk_making *making, struct nt_expect row);

#endif
