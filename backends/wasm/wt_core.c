#include "wt_core.h"

#define HOLD_CALLS 64 /* for which a caller that was moved is kept in its place */

void wt_core_share(struct wt_core *core, struct wt_worker *worker)
{
    int cpu = sched_getcpu();
    cpu_set_t one;

    core->is_held = false;
    if (cpu < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (cpu != worker->pinned_cpu) {
        if (sched_setaffinity(worker->child.pid, sizeof(one), &one) == 0)
            worker->pinned_cpu = cpu;
        worker->calls_held = HOLD_CALLS;
    }
    /* Holding costs two calls into the kernel, so only who was moved is held. */
    if (worker->calls_held == 0)
        return;
    worker->calls_held--;
    core->is_held = sched_getaffinity(0, sizeof(core->before), &core->before) == 0 &&
                    CPU_COUNT(&core->before) > 1 &&
                    sched_setaffinity(0, sizeof(one), &one) == 0;
}

void wt_core_leave(struct wt_core *core)
{
    if (core->is_held)
        (void)sched_setaffinity(0, sizeof(core->before), &core->before);
    core->is_held = false;
}

void wt_core_release(struct wt_core *core, struct wt_worker *worker)
{
    cpu_set_t all;

    wt_core_leave(core);
    if (worker->pinned_cpu >= 0 && sched_getaffinity(0, sizeof(all), &all) == 0)
        (void)sched_setaffinity(worker->child.pid, sizeof(all), &all);
    worker->pinned_cpu = -1;
}
