/* Which limit of a policy ended a run, or left its mark on it; pure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/explain.h"

struct told {
    const struct nacre_policy *policy;
    const struct nacre_result *result;
    struct nacre_denial *denial;
};

static void say(const struct told *told, const char *code, const char *rule,
                struct nacre_place place)
{
    *told->denial = (struct nacre_denial){ .place = place };
    (void)snprintf(told->denial->code, sizeof(told->denial->code), "%s", code);
    nacre_rule_name(told->denial->rule, rule, 0);
    (void)snprintf(told->denial->fix, sizeof(told->denial->fix), "raise spec.%s", rule);
    nacre_policy_spell(told->policy, told->denial->rule, told->denial->fix,
                       sizeof(told->denial->fix));
}

#define TEXT(told, ...) \
    (void)snprintf((told)->denial->text, sizeof((told)->denial->text), __VA_ARGS__)

static void say_time(const struct told *told, uint64_t asked_ms)
{
    const struct nacre_limit *limit = &told->policy->limits.timeout_ms;
    bool asked = asked_ms > 0 && asked_ms < limit->value;

    say(told, nacre_outcome_name(NACRE_OUTCOME_TIMED_OUT), "resource_limits.timeout_ms",
        limit->place);
    TEXT(told, "timed out after %" PRIu64 " ms", asked ? asked_ms : limit->value);
    if (!asked)
        return;
    nacre_rule_name(told->denial->rule, "request.timeout_ms", 0);
    told->denial->place = (struct nacre_place){ 0 };
    (void)snprintf(told->denial->fix, sizeof(told->denial->fix),
                   "give a higher --timeout-ms, up to the policy's %" PRIu64,
                   limit->value);
}

static void say_fuel(const struct told *told, uint64_t fuel)
{
    size_t used;

    say(told, nacre_outcome_name(NACRE_OUTCOME_OUT_OF_FUEL), "resource_limits.timeout_ms",
        told->policy->limits.timeout_ms.place);
    if (fuel == 0) {
        TEXT(told, "out of fuel: the default budget, which grows with the time allowed, "
                   "is used up");
        used = strlen(told->denial->fix);
        (void)snprintf(told->denial->fix + used, sizeof(told->denial->fix) - used,
                       ", or give the budget by --fuel N");
        return;
    }
    nacre_rule_name(told->denial->rule, "request.fuel", 0);
    told->denial->place = (struct nacre_place){ 0 };
    TEXT(told, "out of fuel after %" PRIu64 " units", fuel);
    (void)snprintf(told->denial->fix, sizeof(told->denial->fix), "give a higher --fuel");
}

static void say_memory(const struct told *told, const char *code)
{
    const struct nacre_limit *limit = &told->policy->limits.memory_mb;

    say(told, code, "resource_limits.memory_mb", limit->place);
    if (told->result->outcome == NACRE_OUTCOME_OUT_OF_MEMORY)
        TEXT(told, "out of memory: the guest asked for more than %" PRIu64 " MiB",
             limit->value);
    else if (nacre_level_is_native(told->policy->level))
        TEXT(told, "the kernel killed processes of it for memory: they took more than "
                   "%" PRIu64 " MiB", limit->value);
    else
        TEXT(told, "it was refused memory: it asked for more than %" PRIu64 " MiB",
             limit->value);
}

/* Limits that a guest may have met and gone on. */
static bool say_met(const struct told *told)
{
    const struct nacre_usage *usage = &told->result->usage;
    const struct nacre_limit *processes = &told->policy->limits.max_processes;
    bool native = nacre_level_is_native(told->policy->level);

    if (usage->memory_refused && (native || nacre_result_exit(told->result) != 0)) {
        say_memory(told, "memory-refused");
        return true;
    }
    if (!usage->processes_refused)
        return false;
    say(told, "processes-refused", "resource_limits.max_processes", processes->place);
    TEXT(told, "it was refused processes: it may have %" PRIu64 " at once",
         processes->value);
    return true;
}

bool nacre_explain_limit(const struct nacre_policy *policy,
                         const struct nacre_result *result, uint64_t timeout_ms,
                         uint64_t fuel, struct nacre_denial *ret_limit)
{
    struct nacre_denial denial;
    const struct told told = { policy, result, &denial };

    switch (result->outcome) {
    case NACRE_OUTCOME_TIMED_OUT:
        say_time(&told, timeout_ms);
        break;
    case NACRE_OUTCOME_OUT_OF_FUEL:
        say_fuel(&told, fuel);
        break;
    case NACRE_OUTCOME_OUT_OF_MEMORY:
        say_memory(&told, nacre_outcome_name(result->outcome));
        break;
    case NACRE_OUTCOME_OUTPUT_LIMIT:
        say(&told, nacre_outcome_name(result->outcome),
            "resource_limits.max_output_bytes", policy->limits.max_output_bytes.place);
        TEXT(&told, "output cut at %" PRIu64 " bytes, and the guest ended",
             policy->limits.max_output_bytes.value);
        break;
    case NACRE_OUTCOME_EXITED:
    case NACRE_OUTCOME_TRAPPED:
    case NACRE_OUTCOME_KILLED:
        if (!say_met(&told))
            return false;
        break;
    case NACRE_OUTCOME_NONE:
    case NACRE_OUTCOME_DENIED:
    case NACRE_OUTCOME_COUNT:
        return false;
    }
    *ret_limit = denial;
    return true;
}
