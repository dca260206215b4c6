#ifndef NACRE_DRAFT_H
#define NACRE_DRAFT_H

#include "nacre/plan.h"

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

#define RULE_FS_MODE "capabilities.filesystem.mode"
#define RULE_MOUNTS "capabilities.filesystem.mount_paths"
#define RULE_DENIED "capabilities.filesystem.denied_paths"
#define RULE_NET_MODE "capabilities.network.mode"
#define RULE_HOSTS "capabilities.network.allowed_hosts"
#define RULE_SHELL_MODE "capabilities.shell.mode"
#define RULE_COMMANDS "capabilities.shell.blocked_commands"
#define RULE_PATTERNS "capabilities.shell.blocked_patterns"

/*
 * Failure sticks: after the first allocation that fails, `status` and `err` hold it
 * and nothing is added any more, so that the sections read as lists of decisions.
 */
struct draft {
    const struct nacre_policy *policy;
    const struct nacre_request *request;
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
/* The same for what can't be: adds it with the verdict REFUSE and as a denial. */
void nacre_draft_refuse(struct draft *draft, const char *code,
                        const struct nacre_decision *decision);
/* What and fix in one text. */
struct nacre_denial nacre_decision_denial(const char *code,
                                          const struct nacre_decision *decision);

/* The sections of a policy, in the order of the schema. */
void nacre_draft_level(struct draft *draft);
void nacre_draft_network(struct draft *draft);
void nacre_draft_filesystem(struct draft *draft);
void nacre_draft_secrets(struct draft *draft);
void nacre_draft_shell(struct draft *draft);
void nacre_draft_limits(struct draft *draft);

/* Over all that a sandbox is made of. */
struct nacre_digest nacre_draft_digest(const struct nacre_policy *policy,
                                       const struct nacre_request *request,
                                       const struct nacre_plan *plan);

/* "key[2]" for item 3 of a list; items count from 1 here, and 0 gives "key". */
void nacre_rule_name(char ret_rule[64], const char *key, size_t item);

/* A word as it can stand in YAML, quoted where it must be.  Returns `ret_word`. */
#define NACRE_YAML_WORD 192
const char *nacre_yaml_word(char ret_word[NACRE_YAML_WORD], const char *text);

/* Drops half a character that a cut has left at the end. */
void nacre_trim(char *text);

char *nacre_copy(const char *text); /* malloc'ed; NULL when memory is short */

#endif
