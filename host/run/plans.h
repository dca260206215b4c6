#ifndef NACRE_PLANS_H
#define NACRE_PLANS_H

#include "nacre/plan.h"

/*
 * Plans that were made before.  A plan is a function of policy and request, so for the
 * same two it is the same plan; making one takes as long as a small guest runs.  From
 * several threads.
 */
struct nacre_plans;

NACRE_MUST_CHECK enum nacre_status nacre_plans_new(struct nacre_plans **ret_plans,
                                                   struct nacre_error *err);
void nacre_plans_free(struct nacre_plans *plans); /* none is in use; accepts NULL */

/* As nacre_plan_make().  The plan is used until nacre_plans_put() gives it back. */
NACRE_MUST_CHECK enum nacre_status nacre_plans_get(struct nacre_plans *plans,
                                                   const struct nacre_policy *policy,
                                                   const struct nacre_request *request,
                                                   const struct nacre_plan **ret_plan,
                                                   struct nacre_result *ret_denials,
                                                   struct nacre_error *err);
void nacre_plans_put(struct nacre_plans *plans, const struct nacre_plan *plan); /* accepts NULL */

#endif
