#include "nacre/executor.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void nacre_mechanism_add(struct nacre_executor *executor, const char *name, bool present,
                         const char *format, ...)
{
    uint32_t count = atomic_load(&executor->mechanism_count);
    struct nacre_mechanism *mechanism = &executor->mechanisms[count];
    va_list args;

    if (count == NACRE_MECHANISMS_MAX)
        return;
    mechanism->present = present;
    (void)snprintf(mechanism->name, sizeof(mechanism->name), "%s", name);
    va_start(args, format);
    (void)vsnprintf(mechanism->detail, sizeof(mechanism->detail), format, args);
    va_end(args);
    atomic_store(&executor->mechanism_count, count + 1); /* whole before it is seen */
}

enum nacre_status nacre_executor_run(struct nacre_executor *executor,
                                     const struct nacre_plan *plan,
                                     const struct nacre_tool *tool,
                                     const struct nacre_request *request,
                                     struct nacre_result *result, struct nacre_error *err)
{
    uint64_t waived = plan->required & ~executor->features;
    struct nacre_plan view;
    enum nacre_status status;

    assert(plan->sealed);
    assert((waived & ~plan->waivable) == 0);

    result->outcome = NACRE_OUTCOME_NONE;
    result->waived = waived;
    result->mechanism_count = atomic_load(&executor->mechanism_count);
    memcpy(result->mechanisms, executor->mechanisms,
           result->mechanism_count * sizeof(result->mechanisms[0]));
    /* A backend never learns of waivers: it is not asked for what it can't do. */
    if (waived != 0) {
        view = nacre_plan_without(plan, waived);
        plan = &view;
    }
    status = executor->ops->run(executor, plan, tool, request, result, err);
    if (status != NACRE_OK)
        return status;

    assert(result->outcome != NACRE_OUTCOME_NONE);
    assert(result->outcome < NACRE_OUTCOME_COUNT);
    return NACRE_OK;
}

enum nacre_status nacre_executor_select(struct nacre_executor *const executors[],
                                        uint32_t count, const struct nacre_plan *plan,
                                        struct nacre_executor **ret_executor,
                                        struct nacre_result *ret_denials,
                                        struct nacre_error *err)
{
    /* Each level has the executor of its name; it never falls back to another. */
    const char *wanted = nacre_level_name(plan->level);
    char missing[256] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t lacking;

        if (strcmp(executors[i]->ops->name, wanted) != 0)
            continue;
        executors[i]->ops->probe(executors[i], plan->required);
        lacking = plan->required & ~plan->waivable &
                  ~atomic_load(&executors[i]->features);
        if (lacking == 0) {
            *ret_executor = executors[i];
            return NACRE_OK;
        }
        nacre_plan_deny(plan, ~lacking, ret_denials);
        for (uint64_t bit = 1; bit != 0 && used < sizeof(missing); bit <<= 1)
            if (lacking & bit)
                used += (size_t)snprintf(
                    missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
                    nacre_feature_name((enum nacre_feature)bit));
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "level %s can't enforce here: %s",
                          wanted, missing);
    }
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "level %s: its executor is not in this build", wanted);
}
