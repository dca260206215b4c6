#ifndef NACRE_INIT_WALLS_H
#define NACRE_INIT_WALLS_H

#include <linux/filter.h>

#include "config.h"

/* What stands around every command, as far as it is the same for all of them. */
struct walls {
    bool none; /* level none: rlimits and no_new_privs only */
    bool held; /* inherited: seccomp and Landlock */
    bool landlock_none;
    bool yields; /* to init and its shepherds */
    int landlock_fd;
    uint64_t capabilities_kept;
    uint16_t filter_count;
    struct sock_filter filter[CONFIG_FILTER_MAX];
};

/* The seccomp filter of every command, around init itself: for each of them it would cost
 * 0.3 ms, and nothing that inherits it gets rid of it. */
bool walls_filter(bool browser);

/*
 * For a process that is about to execute a guest's program, in this order; what lies
 * between is done without capabilities and may still make any system call.  NULL, or the
 * name of the wall that can't be put up, with errno: nothing may be executed then.
 *
 * `start` may be NULL: no limits of its own.  `processes_ours` are the processes of this
 * user that are not the guest's and are counted by the kernel all the same.
 */
const char *walls_lower(const struct walls *walls, const struct init_start *start,
                        uint64_t processes_ours);
const char *walls_close(const struct walls *walls);

#endif
