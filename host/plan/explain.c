/* Trusts the policy; hosts and commands are anybody's. */
#include "nacre/explain.h"

#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/decide.h"
#include "nacre/text.h"

/* What follows a verdict of the policy that this build can't enforce. */
#define NO_NETWORK                                                                       \
    "; this build can't open the network yet, so a run that needs it is refused"

/* ---- hosts ---- */

static void host_open_mode(const struct nacre_policy *policy, const char *host,
                           struct nacre_answer *answer)
{
    if (policy->network.mode_place.line > 0)
        nacre_answer_change(answer, policy, policy->network.mode_place, "deny",
                            "allowlist");
    else
        nacre_answer_fix(answer, "add under spec.capabilities.network: mode: allowlist");
    for (size_t i = 0; i < policy->network.allowed_hosts.count; i++)
        if (nacre_host_matches(policy->network.allowed_hosts.items[i].text, host))
            return;
    nacre_answer_add(answer, policy->network.allowed_hosts.place, "capabilities.network",
                     "allowed_hosts", host);
}

static void host_in_list(const struct nacre_policy *policy, const char *host,
                         const char *shown, struct nacre_answer *answer)
{
    const struct nacre_rules *rules = &policy->network.allowed_hosts;

    for (size_t i = 0; i < rules->count; i++) {
        char rule[NACRE_SHOWN];

        if (!nacre_host_matches(rules->items[i].text, host))
            continue;
        (void)nacre_text_shown(rule, rules->items[i].text);
        if (!answer->allowed)
            nacre_answer_say(answer, RULE_HOSTS, i + 1, rules->items[i].place,
                             "%s is allowed by %s" NO_NETWORK, shown, rule);
        nacre_answer_fix(answer, "remove '%s' from allowed_hosts (line %d)", rule,
                         rules->items[i].place.line);
        answer->allowed = true;
    }
    if (answer->allowed)
        return;
    nacre_answer_say(answer, rules->place.line > 0 ? RULE_HOSTS : RULE_NET_MODE, 0,
                     rules->place.line > 0 ? rules->place : policy->network.mode_place,
                     "%s is denied: no entry of allowed_hosts matches it", shown);
    nacre_answer_add(answer, rules->place, "capabilities.network", "allowed_hosts", host);
}

enum nacre_status nacre_explain_host(const struct nacre_policy *policy, const char *host,
                                     struct nacre_answer *ret_answer,
                                     struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, host);
    /* A host that does not match itself is not a host. */
    if (host[0] == '*' || !nacre_host_matches(host, host))
        return nacre_fail(
            err, NACRE_ERR_USAGE,
            "'%s' is not NAME or NAME:PORT; give a host without scheme or path", shown);
    if (policy->network.mode == NACRE_NETWORK_ALLOW_ALL) {
        answer.allowed = true;
        nacre_answer_say(&answer, RULE_NET_MODE, 0, policy->network.mode_place,
                         "%s is allowed: mode is allow-all" NO_NETWORK, shown);
        nacre_answer_change(&answer, policy, policy->network.mode_place, "allow-all",
                            "deny");
    } else if (policy->network.mode == NACRE_NETWORK_ALLOWLIST) {
        host_in_list(policy, host, shown, &answer);
    } else {
        nacre_answer_say(&answer, RULE_NET_MODE, 0, policy->network.mode_place,
                         "%s is denied: mode is deny" NO_NETWORK, shown);
        host_open_mode(policy, host, &answer);
    }
    *ret_answer = answer;
    return NACRE_OK;
}

/* ---- commands ---- */

enum nacre_status nacre_explain_command(const struct nacre_policy *policy,
                                        const char *command,
                                        struct nacre_answer *ret_answer,
                                        struct nacre_error *err)
{
    enum nacre_status status = nacre_shell_judge(
        policy, &(struct nacre_command){ .shell_text = command }, ret_answer, err);
    size_t used;

    if (status != NACRE_OK)
        return status;
    used = strlen(ret_answer->text);
    if (policy->level == NACRE_LEVEL_WASM)
        (void)snprintf(ret_answer->text + used, sizeof(ret_answer->text) - used,
                       "; no native command runs at level wasm");
    else if (nacre_level_features(policy->level) == 0)
        (void)snprintf(ret_answer->text + used, sizeof(ret_answer->text) - used,
                       "; level %s has no executor in this build, so none runs",
                       nacre_level_name(policy->level));
    return NACRE_OK;
}
