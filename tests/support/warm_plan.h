#ifndef NACRE_TEST_WARM_PLAN_H
#define NACRE_TEST_WARM_PLAN_H

#include "nacre/plan.h"

/* A sealed plan for a container that stays warm, in which no two fields are alike; NULL
 * when memory is short. */
struct nacre_plan *warm_plan(const char *scope_key);

#endif
