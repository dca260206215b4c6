#ifndef DK_EXECUTOR_H
#define DK_EXECUTOR_H

#include <pthread.h>

#include "dk_warm.h"
#include "nacre/executor.h"

/*
 * The container executor, which that of machines shares: a machine is run in a container,
 * and what is warm of either is on one list.
 */
struct dk_executor {
    struct nacre_executor base;
    struct nacre_executor_options options;
    pthread_mutex_t lock; /* over what is opened at first use */
    struct dk_site *site; /* NULL until then */
    struct dk_warm *warm;
    _Atomic int cancelled; /* a signal's number */
};

/* The engine, at first use; one that could not be reached is tried again next time. */
NACRE_MUST_CHECK enum nacre_status dk_executor_reach(struct dk_executor *executor,
                                                     const struct dk_caller *caller,
                                                     struct nacre_error *err);

/* Who asks without a run: whoever cancels all runs cancels that too. */
static inline struct dk_caller dk_executor_caller(const struct dk_executor *executor)
{
    return (struct dk_caller){ .cancelled = &executor->cancelled };
}

/* As struct nacre_executor_ops has it, for plans of either level. */
NACRE_MUST_CHECK enum nacre_status dk_executor_run(struct nacre_executor *base,
                                                   const struct nacre_plan *plan,
                                                   const struct nacre_tool *tool,
                                                   const struct nacre_request *request,
                                                   struct nacre_result *result,
                                                   struct nacre_error *err);

#endif
