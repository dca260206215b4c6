#include "draft.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

#define DECISION_ROOM_MIN 32

static bool make_room(struct draft *draft)
{
    struct nacre_plan *plan = draft->plan;
    uint32_t room = draft->decision_room ? 2 * draft->decision_room : DECISION_ROOM_MIN;
    struct nacre_decision *decisions;

    if (plan->decision_count < draft->decision_room)
        return true;
    decisions = realloc(plan->decisions, room * sizeof(*decisions));
    if (!decisions) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan of %u decisions",
                                   room);
        return false;
    }
    plan->decisions = decisions;
    draft->decision_room = room;
    return true;
}

void nacre_draft_add(struct draft *draft, const struct nacre_decision *decision)
{
    struct nacre_decision *added;

    assert(decision->rule[0]);
    assert(decision->verdict > NACRE_VERDICT_NONE &&
           decision->verdict < NACRE_VERDICT_COUNT);
    if (draft->status != NACRE_OK || !make_room(draft))
        return;
    added = &draft->plan->decisions[draft->plan->decision_count++];
    *added = *decision;
    nacre_trim(added->what);
    nacre_trim(added->fix);
}

char *nacre_draft_copy(struct draft *draft, const char *text)
{
    char *copy = nacre_copy(text);

    if (!copy && draft->status == NACRE_OK)
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan");
    return copy;
}

/* CKP demands a level; another dialect's default may bring one, but somebody wrote the
 * file. */
bool nacre_policy_is_absent(const struct nacre_policy *policy)
{
    return policy->level_place.line == 0 && policy->alias_count == 0;
}

struct nacre_denial nacre_decision_denial(const char *code,
                                          const struct nacre_decision *decision)
{
    struct nacre_denial denial = { .place = decision->place };

    assert(strlen(code) < sizeof(denial.code));
    (void)snprintf(denial.code, sizeof(denial.code), "%s", code);
    memcpy(denial.rule, decision->rule, sizeof(denial.rule));
    (void)snprintf(denial.text, sizeof(denial.text), "%s", decision->what);
    (void)snprintf(denial.fix, sizeof(denial.fix), "%s", decision->fix);
    return denial;
}

void nacre_draft_refuse(struct draft *draft, const char *code,
                        const struct nacre_decision *decision)
{
    struct nacre_decision refusal = *decision;
    struct nacre_denial denial;

    refusal.verdict = NACRE_VERDICT_REFUSE;
    refusal.mechanism[0] = '\0';
    if (nacre_policy_is_absent(draft->policy) &&
        strncmp(decision->fix, "add under ", 10) == 0)
        FIX(&refusal,
            "give a policy that grants it (--policy); in one of your own, %.190s",
            decision->fix);
    nacre_trim(refusal.what);
    nacre_trim(refusal.fix);
    denial = nacre_decision_denial(code, &refusal);
    nacre_draft_add(draft, &refusal);

    if (!draft->refused)
        draft->first = denial;
    draft->refused = true;
    draft->denied |= strcmp(code, CODE_NOT_ENFORCEABLE) != 0;
    if (draft->denials)
        nacre_result_deny(draft->denials, &denial);
}

char *nacre_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

bool nacre_draft_refuse_below(struct draft *draft, const char *rule,
                              const struct nacre_limit *limit, uint64_t least,
                              const char *unit)
{
    struct nacre_decision decision = { .place = limit->place };

    if (limit->place.line == 0 || limit->value >= least)
        return false;
    nacre_rule_name(decision.rule, rule, 0);
    WHAT(&decision, "%" PRIu64 " %s: no sandbox of level %s can be made with less than "
                    "%" PRIu64, limit->value, unit,
         nacre_level_name(draft->policy->level), least);
    FIX(&decision, "raise it to %" PRIu64 " or more", least);
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    return true;
}
