#ifndef NACRE_CGROUP_H
#define NACRE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * cpu_shares: a worker's weight when the processors are busy.  By a cgroup of its own
 * (v2 or v1) where this process may make one, else by nice, which goes down only.
 * 1024 is the weight of an ordinary process.
 */
#define NACRE_CPU_SHARES_MIN 2
#define NACRE_CPU_SHARES_MAX 262144
#define NACRE_CPU_SHARES_ORDINARY 1024

enum nacre_cpu_share_kind {
    NACRE_CPU_SHARE_NONE,
    NACRE_CPU_SHARE_CGROUP2,
    NACRE_CPU_SHARE_CGROUP1,
    NACRE_CPU_SHARE_NICE, /* at most NACRE_CPU_SHARES_ORDINARY */
};

struct nacre_cpu_share;

/* One weighted worker.  Zeroed is none. */
struct nacre_cpu_group {
    char name[64]; /* of its cgroup; "" when there is none */
};

/* Find out how weights can be given here, and remove the cgroups of owners that are
 * gone.  Without a usable cgroup it is nice; that is no failure. */
NACRE_MUST_CHECK enum nacre_status
nacre_cpu_share_open(struct nacre_cpu_share **ret_share, struct nacre_error *err);
void nacre_cpu_share_free(struct nacre_cpu_share *share); /* accepts NULL */
NACRE_OWNED(nacre_cpu_share)

enum nacre_cpu_share_kind nacre_cpu_share_kind(const struct nacre_cpu_share *share);
/* The mechanism in words, for a person; lives as long as `share`. */
const char *nacre_cpu_share_text(const struct nacre_cpu_share *share);

/*
 * Give `pid` the weight `shares`.  NACRE_ERR_UNAVAILABLE when there is only nice and
 * `shares` is above NACRE_CPU_SHARES_ORDINARY; NACRE_ERR_USAGE when it is out of range.
 * On failure `pid` is where it was and no cgroup is left.  From several threads.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_cpu_share_apply(const struct nacre_cpu_share *share, pid_t pid, uint64_t shares,
                      struct nacre_cpu_group *ret_group, struct nacre_error *err);

/* After the process is gone (reaped): remove its cgroup, waiting up to 50 ms for the
 * kernel.  What stays is removed by a later open.  `group` is none afterwards. */
void nacre_cpu_share_release(const struct nacre_cpu_share *share,
                             struct nacre_cpu_group *group);

#endif
