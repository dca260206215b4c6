#ifndef NACRE_CGROUP_DIVIDE_H
#define NACRE_CGROUP_DIVIDE_H

#include "cgroup_dir.h"
#include "cgroup_place.h"

/*
 * Our own cgroup of v2's, when whoever manages the cgroups of this machine has handed it
 * over to be divided: systemd does so for a unit with Delegate=yes, and marks it (a
 * user's own systemd only one of systemd-run's).  Where there is no systemd, one that an
 * ordinary user owns was handed over too.  The manager's
 * limits stay in force for all that is below, and nobody else changes it.
 *
 * A cgroup that hands controllers down holds no process: so the calling process moves
 * into a child of it, with those that it has started, which works when no other is there.
 *
 * True: it now hands down what it has of memory, cpu and pids.  False: nothing has
 * changed; ret_why is "" when it was not handed over.
 */
#define NACRE_CGROUP_WHY 128
bool nacre_cgroup_divide(const struct nacre_cgroup_tables *tables,
                         const struct nacre_cgroup_owner *owner,
                         char ret_why[NACRE_CGROUP_WHY]);

/* Does systemd manage this machine's cgroups? */
bool nacre_cgroup_has_systemd(void);

/* What to do to have one handed over; "" where that is not known. */
const char *nacre_cgroup_advice(void);

#endif
