#ifndef NACRE_DRAFT_H
#define NACRE_DRAFT_H

#include <stdio.h>

#include "nacre/answer.h"
#include "nacre/plan.h"
#include "nacre/shell.h"
#include "walls.h"

/* A plan in the making.  Private to host/plan. */

/* Why something is refused; the first is the build's fault, the others the request's. */
#define CODE_NOT_ENFORCEABLE "not-enforceable"
#define CODE_NOT_COVERED "mount-not-covered"
#define CODE_OVER_GRANT "over-grant"
#define CODE_OVER_LIMIT "over-limit"
#define CODE_DUPLICATE "duplicate-mount"
#define CODE_UNMAPPED "mount-unmapped"
#define CODE_BAD_MOUNT "bad-mount"
#define CODE_DENIED_PATH "denied-path"
#define CODE_BAD_BIND "bad-bind"
#define CODE_BAD_REQUEST "bad-request"
#define CODE_BAD_WAIVER "bad-waiver"
#define CODE_WRONG_LEVEL "wrong-level"
#define CODE_UNSANDBOXED "unsandboxed"
#define CODE_BAD_CONTAINER "bad-container"

#define RULE_ASKED_MOUNTS "request.mounts"
#define RULE_WAIVED_TUNNELS "request.waive.tunnel-scan"
#define RULE_FS_MODE "capabilities.filesystem.mode"
#define RULE_MOUNTS NACRE_RULE_MOUNTS
#define RULE_DENIED "capabilities.filesystem.denied_paths"
#define RULE_NET_MODE "capabilities.network.mode"
#define RULE_HOSTS "capabilities.network.allowed_hosts"
#define RULE_SHELL_MODE NACRE_RULE_SHELL_MODE
#define RULE_COMMANDS NACRE_RULE_COMMANDS
#define RULE_PATTERNS NACRE_RULE_PATTERNS
#define RULE_BUILT_IN "(built in)"

/* The texts of a decision, each cut at its end. */
#define WHAT(decision, ...) \
    (void)snprintf((decision)->what, sizeof((decision)->what), __VA_ARGS__)
#define FIX(decision, ...) \
    (void)snprintf((decision)->fix, sizeof((decision)->fix), __VA_ARGS__)
#define WALL(decision, text) \
    (void)snprintf((decision)->mechanism, sizeof((decision)->mechanism), "%s", text)

/*
 * Failure sticks: after the first allocation that fails, `status` and `err` hold it
 * and nothing is added any more, so that the sections read as lists of decisions.
 */
struct draft {
    const struct nacre_policy *policy;
    const struct nacre_request *request;
    const struct walls *walls; /* of the policy's level */
    struct nacre_plan *plan; /* not owned */
    uint32_t decision_room;
    struct nacre_result *denials; /* receives refusals; may be NULL */
    struct nacre_denial first;    /* refusal, when there is one */
    bool refused;
    bool denied; /* a refusal that another request would not have met */
    enum nacre_status status;
    struct nacre_error *err;
};

void nacre_draft_add(struct draft *draft, const struct nacre_decision *decision);
/* The same for what can't be: adds it with the verdict REFUSE and as a denial.  Its fix
 * is for a reader of the policy; where there is none, that is said. */
void nacre_draft_refuse(struct draft *draft, const char *code,
                        const struct nacre_decision *decision);
struct nacre_denial nacre_decision_denial(const char *code,
                                          const struct nacre_decision *decision);

/* True: `limit` is below `least`, and refused for that. */
bool nacre_draft_refuse_below(struct draft *draft, const char *rule,
                              const struct nacre_limit *limit, uint64_t least,
                              const char *unit);

/* The plan keeps a copy of `text`; NULL when memory is short, which the draft then
 * knows. */
char *nacre_draft_copy(struct draft *draft, const char *text);

/* Nobody wrote it: no document could be changed. */
bool nacre_policy_is_absent(const struct nacre_policy *policy);

/* A native sandbox with a root of its own, where neither mount nor tmpfs of the policy is
 * at /tmp. */
bool nacre_draft_has_own_tmp(const struct draft *draft);

/* The sections of a policy, in the order of the schema; last what a request adds. */
void nacre_draft_level(struct draft *draft);
void nacre_draft_network(struct draft *draft);
void nacre_draft_filesystem(struct draft *draft);
void nacre_draft_secrets(struct draft *draft);
void nacre_draft_shell(struct draft *draft);
void nacre_draft_container(struct draft *draft);
void nacre_draft_limits(struct draft *draft);
void nacre_draft_input(struct draft *draft);
void nacre_draft_request(struct draft *draft);
/* After all of them, as it takes what each came to and what the caller waives. */
void nacre_draft_disk(struct draft *draft);

/* "SHOWN WHAT", because the policy holds a tool to reading. */
void nacre_answer_held(const struct nacre_policy *policy, const char *shown,
                       const char *what, struct nacre_answer *answer);

/* Over all that a sandbox is made of. */
struct nacre_digest nacre_draft_digest(const struct nacre_policy *policy,
                                       const struct nacre_request *request,
                                       const struct nacre_plan *plan);

char *nacre_copy(const char *text); /* malloc'ed; NULL when memory is short */

#endif
