/* Which limit of a policy ended a run, or left its mark on it; pure. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/clock.h"
#include "nacre/explain.h"
#include "nacre/text.h"

struct told {
    const struct nacre_policy *policy;
    const struct nacre_result *result;
    struct nacre_denial *denial;
};

static void say_item(const struct told *told, const char *code, const char *rule,
                     size_t item, struct nacre_place place, const char *fix)
{
    *told->denial = (struct nacre_denial){ .place = place };
    (void)snprintf(told->denial->code, sizeof(told->denial->code), "%s", code);
    nacre_rule_name(told->denial->rule, rule, item);
    (void)snprintf(told->denial->fix, sizeof(told->denial->fix), "%s", fix);
    nacre_policy_spell(told->policy, told->denial->rule, told->denial->fix,
                       sizeof(told->denial->fix));
}

static void say(const struct told *told, const char *code, const char *rule,
                struct nacre_place place)
{
    char fix[80];

    (void)snprintf(fix, sizeof(fix), "raise spec.%s", rule);
    say_item(told, code, rule, 0, place, fix);
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

/* ---- limits of each process, of a container ---- */

/* "cpu=1:2" */
static bool read_pair(const char *text, uint64_t *ret_soft, uint64_t *ret_hard)
{
    const char *value = strchr(text, '='), *colon = value ? strchr(value, ':') : NULL;
    char soft[24];

    if (!value)
        return false;
    value++;
    (void)snprintf(soft, sizeof(soft), "%.*s", (int)strcspn(value, ":"), value);
    return nacre_text_u64(soft, INT64_MAX, ret_soft) &&
           nacre_text_u64(colon ? colon + 1 : soft, INT64_MAX, ret_hard);
}

/* The kernel says which by the signal; at the hard limit of time that is SIGKILL, as
 * anybody's may be, and what was used has to bear it out: three quarters, for it kills by
 * counting ticks and tells what it measured. */
static bool is_met(const struct nacre_result *result, const char *name, uint64_t hard)
{
    if (strcmp(name, "fsize") == 0)
        return result->signal == SIGXFSZ;
    return result->signal == SIGXCPU ||
           (result->signal == SIGKILL &&
            strncmp(result->reason, NACRE_REASON_DIED, strlen(NACRE_REASON_DIED)) == 0 &&
            result->usage.cpu_ns / NACRE_NS_PER_MS * 4 / 3 / 1000 >= hard);
}

static bool say_ulimit(const struct told *told)
{
    static const struct {
        const char *name, *what;
    } rows[] = {
        { "cpu", "s of processor time" },
        { "fsize", "bytes in one file" },
    };
    const struct nacre_rules *rules = &told->policy->container.ulimits;

    if (told->result->outcome != NACRE_OUTCOME_KILLED)
        return false;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        for (size_t k = 0; k < rules->count; k++) {
            const char *text = rules->items[k].text, *name = rows[i].name;
            uint64_t soft, hard;

            if (strncmp(text, name, strlen(name)) != 0 || text[strlen(name)] != '=' ||
                !read_pair(text, &soft, &hard) || !is_met(told->result, name, hard))
                continue;
            say_item(told, "ulimit", "container.ulimits", k + 1, rules->items[k].place,
                     "raise it, soft and hard");
            TEXT(told, "a process of it may have %" PRIu64 " %s (%s), and the kernel "
                       "killed it there", soft, rows[i].what, name);
            return true;
        }
    return false;
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
        if (!say_ulimit(&told) && !say_met(&told))
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
