#ifndef NACRE_RUN_GUARD_H
#define NACRE_RUN_GUARD_H

#include "engine.h"
#include "nacre/input.h"
#include "nacre/intent.h"

/* What is judged of a request beyond the policy's grants: its input and its intent.  Not
 * pure: stdin is read, and keys and used intents are files. */

#define NACRE_GUARD_RULE_SCAN "metadata.annotations." NACRE_ANNOTATION_SCAN
#define NACRE_GUARD_RULE_SUSPECT "metadata.annotations." NACRE_ANNOTATION_SUSPECT
#define NACRE_GUARD_RULE_ATTACK "metadata.annotations." NACRE_ANNOTATION_ATTACK
#define NACRE_GUARD_RULE_INTENT "metadata.annotations." NACRE_ANNOTATION_INTENT

/* Of one run; NACRE_GUARD_INIT before, clear() after. */
struct nacre_guard {
    struct nacre_request request; /* the caller's, with stdin as it was scanned */
    int input_fd;                 /* a sealed copy of stdin; -1: there is none */
    bool has_intent;
    struct nacre_intent intent;
};
#define NACRE_GUARD_INIT { .input_fd = -1 }
void nacre_guard_clear(struct nacre_guard *guard);

/* `denial` is whole but for its code.  Returns NACRE_ERR_DENIED. */
enum nacre_status nacre_guard_deny(const struct nacre_policy *policy, const char *code,
                                   struct nacre_denial *denial,
                                   struct nacre_result *result, struct nacre_error *err);

/* Does the request's intent hold?  It is not taken yet: the run may be refused for other
 * reasons. */
NACRE_MUST_CHECK enum nacre_status
nacre_guard_intent(const struct nacre_engine *engine, const struct nacre_policy *policy,
                   const struct nacre_tool *tool, const struct nacre_request *request,
                   struct nacre_guard *guard, struct nacre_result *result,
                   struct nacre_error *err);

/* Takes it, last of all before something runs. */
NACRE_MUST_CHECK enum nacre_status
nacre_guard_take(const struct nacre_engine *engine, const struct nacre_policy *policy,
                 struct nacre_guard *guard, struct nacre_result *result,
                 struct nacre_error *err);

/*
 * Scans the tool's words, its arguments and its stdin as the policy says, into
 * result->input.  Stdin is read to its end, within the run's time, and the copy that was
 * scanned is what the guest gets: guard->request is the request to go on with.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_guard_input(const struct nacre_engine *engine, const struct nacre_policy *policy,
                  const struct nacre_tool *tool, const struct nacre_request *request,
                  struct nacre_guard *guard, struct nacre_result *result,
                  struct nacre_error *err);

#endif
