#ifndef NACRE_RUN_DECIDE_H
#define NACRE_RUN_DECIDE_H

#include "nacre/plan.h"
#include "nacre/tool.h"

/*
 * May this tool run under this policy at all?  NACRE_ERR_DENIED: `result` has received
 * the reasons, each with its line and the way out.  Pure, as planning is.
 */
NACRE_MUST_CHECK enum nacre_status nacre_decide(const struct nacre_policy *policy,
                                                const struct nacre_tool *tool,
                                                const struct nacre_request *request,
                                                struct nacre_result *result,
                                                struct nacre_error *err);

#endif
