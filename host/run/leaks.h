#ifndef NACRE_RUN_LEAKS_H
#define NACRE_RUN_LEAKS_H

#include "nacre/buf.h"
#include "nacre/leak.h"
#include "nacre/plan.h"
#include "nacre/tool.h"

/*
 * The leak scan of one run: between the executor and everybody who hears of the run.
 * A run that is not scanned has none, and pays nothing.
 */
struct run_leaks;

/*
 * *ret_leaks is NULL where neither the policy asks for a scan nor secrets were granted;
 * to have files scanned is then NACRE_ERR_USAGE.
 * Otherwise it is made of both, and what goes to the executor is *ret_request: the
 * caller's, with output that passes the scan first.  It borrows from all
 * of them.  `protected_paths` (NULL-terminated, or NULL) are nacre's own directories.
 */
NACRE_MUST_CHECK enum nacre_status run_leaks_begin(const struct nacre_plan *plan,
                                                   const struct nacre_request *request,
                                                   const char *const *protected_paths,
                                                   struct nacre_request *ret_request,
                                                   struct run_leaks **ret_leaks,
                                                   struct nacre_error *err);
void run_leaks_free(struct run_leaks *leaks); /* accepts NULL */
NACRE_OWNED(run_leaks)

/*
 * The executor has ended with `status`; what it left in `result`, or in `err` if it
 * failed, is scanned, and the counts are added to result->leaks.  Returns `status`, or
 * why the scan failed: then result has no output.
 */
NACRE_MUST_CHECK enum nacre_status run_leaks_end(struct run_leaks *leaks,
                                                 enum nacre_status status,
                                                 struct nacre_result *result,
                                                 struct nacre_error *err);

/*
 * The same for a run that was refused, or failed with `failure` (else NULL), before there
 * was anything to run: words of the command may be in what is told of it.
 */
void run_leaks_refused(const struct nacre_policy *policy,
                       const struct nacre_request *request, struct nacre_result *result,
                       struct nacre_error *failure);

/*
 * The command of `tool` as the audit record of a run without a sandbox tells it: the text,
 * or its words as a shell would read them, without anything that is or looks like a
 * secret.  Where that can't be searched, it says so instead.
 */
void run_leaks_command(const struct nacre_tool *tool,
                       const struct nacre_request *request, struct nacre_buf *ret_text);

#endif
