#ifndef NT_WAIT_H
#define NT_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/clock.h"

/*
 * How long somebody waits for a sandbox, and who may end that before.  A value: the flags
 * are borrowed.
 */
struct nt_wait {
    uint64_t deadline_ns; /* a moment of nacre_clock_ns() */
    /* A signal's number in either ends it; each may be NULL. */
    const _Atomic int *cancelled;     /* of all runs */
    const _Atomic int *run_cancelled; /* of this one */
};

#define NT_LOOK_MS 100 /* the longest that a wait goes without a look at its flags */

/* By which signal; 0: nobody has. */
static inline int nt_cancelled_by(const _Atomic int *cancelled,
                                  const _Atomic int *run_cancelled)
{
    int number = cancelled ? atomic_load(cancelled) : 0;

    return number == 0 && run_cancelled ? atomic_load(run_cancelled) : number;
}

static inline bool nt_wait_is_cancelled(const struct nt_wait *wait)
{
    return nt_cancelled_by(wait->cancelled, wait->run_cancelled) != 0;
}

static inline bool nt_wait_is_over(const struct nt_wait *wait)
{
    return nacre_clock_ns() >= wait->deadline_ns || nt_wait_is_cancelled(wait);
}

/* The moment of the next look. */
static inline uint64_t nt_wait_next_ns(const struct nt_wait *wait)
{
    uint64_t next = nacre_clock_ns() + NT_LOOK_MS * NACRE_NS_PER_MS;

    return next < wait->deadline_ns ? next : wait->deadline_ns;
}

#endif
