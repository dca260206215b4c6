#ifndef DK_CALLER_H
#define DK_CALLER_H

#include "dk_api.h"

/* The run that a container is made for. */
struct dk_caller {
    const _Atomic int *cancelled; /* a number ends what is under way; may be NULL */
    const _Atomic int *run_cancelled; /* the same, for this run alone */
    uint64_t *deadline_ns; /* the end of the run's time; NULL: it has none */
    struct nacre_result *result; /* receives what a setup command sent and was denied; NULL
                                    only where the plan has none */
};

/* Until the run ends. */
static inline struct nt_wait dk_caller_wait(const struct dk_caller *caller)
{
    return (struct nt_wait){ caller->deadline_ns ? *caller->deadline_ns : UINT64_MAX,
                             caller->cancelled, caller->run_cancelled };
}

/* Within `ms`, and not beyond the run. */
static inline struct nt_wait dk_caller_within(const struct dk_caller *caller, uint32_t ms)
{
    struct nt_wait wait = dk_caller_wait(caller), own = dk_within_ms(ms);

    if (own.deadline_ns < wait.deadline_ns)
        wait.deadline_ns = own.deadline_ns;
    return wait;
}

/*
 * For what takes a time that nobody who writes a policy can know: what is made once and
 * serves later runs too, and a machine's boot.  It has an end of its own, and is cancelled
 * with the run, whose time stands still meanwhile: *ret_since_ns is for the second.
 */
static inline struct dk_caller dk_caller_pause(const struct dk_caller *caller,
                                               uint64_t *ret_since_ns)
{
    struct dk_caller paused = *caller;

    *ret_since_ns = nacre_clock_ns();
    paused.deadline_ns = NULL;
    return paused;
}

static inline void dk_caller_resume(const struct dk_caller *caller, uint64_t since_ns)
{
    if (caller->deadline_ns)
        *caller->deadline_ns += nacre_clock_ns() - since_ns;
}

#endif
