/* A plan is made without a look at the machine; what the machine lacks is told in the
 * words of the line that needs it. */
#include <stdio.h>
#include <string.h>

#include "draft.h"

/* Which line is to blame for a feature, and the way out. */
struct need {
    const char *rule, *why, *fix;
};

static struct need need_of(enum nacre_feature feature)
{
    if (feature == NACRE_FEATURE_CPU_SHARES_ANY)
        return (struct need){ "resource_limits.cpu_shares",
                              "more than 1024 takes a cgroup with the cpu controller, "
                              "and there is none to be had here",
                              "lower it to 1024 or give this user a cgroup" };
    if (feature == NACRE_FEATURE_CPU_SHARES_LOW)
        return (struct need){ "resource_limits.cpu_shares",
                              "neither a cgroup nor nice can set it here",
                              "remove it, or run guests in workers of their own" };
    return (struct need){ "level", "", "see nacre backends for what this machine lacks" };
}

static bool blames(const struct need *need, const struct nacre_decision *decision)
{
    return strcmp(decision->rule, need->rule) == 0;
}

/* `decision` becomes the refusal that it would have been, had the machine been known. */
static void refuse(const struct need *need, enum nacre_feature feature,
                   struct nacre_decision *decision)
{
    size_t used = strlen(decision->what);

    decision->verdict = NACRE_VERDICT_REFUSE;
    decision->mechanism[0] = '\0';
    if (need->why[0])
        (void)snprintf(decision->what + used, sizeof(decision->what) - used, ": %s",
                       need->why);
    else
        (void)snprintf(decision->what + used, sizeof(decision->what) - used,
                       "%s%s can't be enforced here", used ? ": " : "",
                       nacre_feature_name(feature));
    (void)snprintf(decision->fix, sizeof(decision->fix), "%s", need->fix);
    nacre_trim(decision->what);
}

void nacre_plan_settle(struct nacre_plan *draft, uint32_t features)
{
    uint32_t lacking = draft->required & ~features;

    for (uint32_t bit = 1; bit != 0 && bit <= lacking; bit <<= 1) {
        struct need need = need_of((enum nacre_feature)bit);

        for (uint32_t i = 0; (lacking & bit) && i < draft->decision_count; i++)
            if (blames(&need, &draft->decisions[i]))
                refuse(&need, (enum nacre_feature)bit, &draft->decisions[i]);
    }
}

void nacre_plan_deny(const struct nacre_plan *plan, uint32_t features,
                     struct nacre_result *ret_denials)
{
    uint32_t lacking = plan->required & ~features;

    for (uint32_t bit = 1; bit != 0 && bit <= lacking; bit <<= 1) {
        struct need need = need_of((enum nacre_feature)bit);
        struct nacre_decision decision = { 0 };
        struct nacre_denial denial;

        if (!(lacking & bit))
            continue;
        nacre_rule_name(decision.rule, need.rule, 0);
        for (uint32_t i = 0; i < plan->decision_count; i++)
            if (blames(&need, &plan->decisions[i]))
                decision = plan->decisions[i];
        refuse(&need, (enum nacre_feature)bit, &decision);
        denial = nacre_decision_denial(CODE_NOT_ENFORCEABLE, &decision);
        nacre_result_deny(ret_denials, &denial);
    }
}
