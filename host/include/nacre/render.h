#ifndef NACRE_RENDER_H
#define NACRE_RENDER_H

#include <stdbool.h>

#include "nacre/buf.h"
#include "nacre/executor.h"
#include "nacre/explain.h"
#include "nacre/plan.h"

/*
 * A plan and an answer in the two forms that people and programs read.  Pure:
 * where it is printed is the caller's affair.  Text from outside was made fit to
 * print when the plan was made.
 */

struct json_t; /* jansson's; the caller owns what it gets: json_decref() */

/* Room for any plan of a policy that loads. */
#define NACRE_RENDER_BYTES_MAX ((size_t)16 << 20)

/*
 * Aligned text, a line for each decision: place, verdict, rule, what, [mechanism];
 * then the change that would flip each refusal and denial; then the executor's
 * walls, unless `executor` is NULL.  The plan may be a draft, and with an executor one
 * that nacre_plan_settle() has seen: else no line is named for what is lacking.
 * `colour` adds terminal colours to the verdicts and changes no other byte.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_render_plan(const struct nacre_policy *policy, const struct nacre_plan *plan,
                  const struct nacre_executor *executor, bool colour,
                  struct nacre_buf *out, struct nacre_error *err);

/* `question` is shown as it was asked: "path /workspace/x". */
NACRE_MUST_CHECK enum nacre_status nacre_render_answer(const struct nacre_policy *policy,
                                                       const char *question,
                                                       const struct nacre_answer *answer,
                                                       bool colour, struct nacre_buf *out,
                                                       struct nacre_error *err);

/*
 * The same as JSON objects.  NULL only when memory is short.
 *
 * plan:   {"policy": {"name", "version", "source", "digest"}, "level", "runtime",
 *          "runnable", "digest", "full_tree", "mounts": [{"guest", "host" (null:
 *          private), "writable", "denied": [], "covered": [], "line", "column"}],
 *          "limits": {...}, "required": [feature names], "directory", "scope": {"name",
 *          "key"}, "container": null or {...}, "unsandboxed", "waived": [lines that are
 *          not enforced], "degraded", "decisions": [{"rule",
 *          "verdict", "file", "line", "column", "what", "mechanism", "fix"}],
 *          "executor": {"name", "lacks": [feature names], "walls": [{"name",
 *          "present", "detail"}]}}; no "executor" when it is NULL, and file, line and
 *          column are null where a default decided
 * answer: {"question", "allowed", "rule", "file", "line", "column", "text", "fix"}, and
 *          "read" and "write" when the question is about a path
 */
struct json_t *nacre_plan_json(const struct nacre_policy *policy,
                               const struct nacre_plan *plan,
                               const struct nacre_executor *executor);
struct json_t *nacre_answer_json(const struct nacre_policy *policy, const char *question,
                                 const struct nacre_answer *answer);

#endif
