#ifndef WT_BOUNDS_H
#define WT_BOUNDS_H

#include "nacre/plan.h"
#include "nacre/tool.h"
#include "wt_call.h"

/* What a plan leaves a module: memory, and what its tables may become. */
NACRE_MUST_CHECK enum nacre_status wt_bounds_make(const struct nacre_plan *plan,
                                                  const struct nacre_tool *tool,
                                                  struct wt_bounds *ret_bounds,
                                                  struct nacre_error *err);

#endif
