#ifndef WT_INPROCESS_H
#define WT_INPROCESS_H

#include <stdatomic.h>

#include "nacre/executor.h"
#include "nacre/own.h"
#include "nacre/tool.h"

/*
 * Guests on the caller's own thread, for embedders who ask for it by name.  The
 * engine and the shims still bound memory, fuel, files, output and time; what is
 * given up is the second wall, and the kill: a host call that hangs in the kernel
 * hangs its caller.
 */
struct wt_inprocess;

/* Runs end when *cancelled is not 0 and a nudge tells them to look; borrowed for life. */
NACRE_MUST_CHECK enum nacre_status wt_inprocess_open(
    const struct nacre_executor_options *options, const _Atomic int *cancelled,
    struct wt_inprocess **ret_inprocess, struct nacre_error *err);
void wt_inprocess_free(struct wt_inprocess *inprocess); /* accepts NULL */
NACRE_OWNED(wt_inprocess)

/* Safe in signal handlers.  A guest that waits in a host call looks when that is over. */
void wt_inprocess_nudge(struct wt_inprocess *inprocess);

/* Is the tool's code loaded?  If not, load it from a sealed memfd. */
bool wt_inprocess_has(struct wt_inprocess *inprocess, const struct nacre_tool *tool);
NACRE_MUST_CHECK enum nacre_status wt_inprocess_load(struct wt_inprocess *inprocess,
                                                     const struct nacre_tool *tool,
                                                     int code_fd,
                                                     struct nacre_error *err);

/* From several threads. */
NACRE_MUST_CHECK enum nacre_status wt_inprocess_run(struct wt_inprocess *inprocess,
                                                    const struct nacre_plan *plan,
                                                    const struct nacre_tool *tool,
                                                    const struct nacre_request *request,
                                                    uint64_t deadline_ns,
                                                    struct nacre_result *result,
                                                    struct nacre_error *err);

#endif
