#ifndef WT_CORE_H
#define WT_CORE_H

#include <sched.h>
#include <stdbool.h>

#include "wt_pool.h"

/*
 * A hand-over within one core costs a tenth of one across cores, where each side wakes
 * an idle processor.  So both sides of a short call keep to the core that the caller is
 * on: the worker, and the caller too, because the kernel moves whom it wakes to an idle
 * core.  A guest that really works shall not compete with its caller: after a moment
 * both go where they like.
 */
struct wt_core {
    cpu_set_t before; /* where the calling thread may run */
    bool is_held;
};

void wt_core_share(struct wt_core *core, struct wt_worker *worker);

/* The caller is as it was; the worker waits where it is for the next call. */
void wt_core_leave(struct wt_core *core);

/* The worker is free as well. */
void wt_core_release(struct wt_core *core, struct wt_worker *worker);

#endif
