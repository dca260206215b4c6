/* Trusts the policy; hosts and commands are anybody's. */
#include "nacre/explain.h"

#include <string.h>

#include "answer.h"
#include "draft.h"
#include "nacre/decide.h"
#include "nacre/text.h"

/* What follows a verdict of the policy that this build has no executor for. */
#define NO_NETWORK                                                                       \
    "; this build can't open the network yet, so a run that needs it is refused"
#define NO_COMMAND_WASM                                                                  \
    "; at level wasm no command runs, and native levels are not in this build"
#define NO_COMMAND "; native levels are not in this build, so none runs"

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

/* Adds one edit for each line that blocks the command; the first one is the rule.
 * Deny wins, so the lists hold in mode full as well. */
static bool command_blocked(const struct nacre_policy *policy, const char *command,
                            const char *shown, bool said, struct nacre_answer *answer)
{
    bool blocked = false;
    char rule[NACRE_SHOWN];

    for (size_t i = 0; i < policy->shell.blocked_commands.count; i++) {
        const struct nacre_rule *line = &policy->shell.blocked_commands.items[i];

        if (!nacre_command_matches(line->text, command))
            continue;
        (void)nacre_text_shown(rule, line->text);
        if (!blocked && !said)
            nacre_answer_say(answer, RULE_COMMANDS, i + 1, line->place,
                             "'%s' is denied: it holds the blocked command '%s'", shown,
                             rule);
        nacre_answer_fix(answer, "remove '%s' from blocked_commands (line %d)", rule,
                         line->place.line);
        blocked = true;
    }
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++) {
        const struct nacre_pattern_rule *line = &policy->shell.blocked_patterns.items[i];

        if (!nacre_pattern_matches(line->compiled, command, strlen(command)))
            continue;
        (void)nacre_text_shown(rule, line->text);
        if (!blocked && !said)
            nacre_answer_say(answer, RULE_PATTERNS, i + 1, line->place,
                             "'%s' is denied: the blocked pattern '%s' matches it", shown,
                             rule);
        nacre_answer_fix(answer, "remove '%s' from blocked_patterns (line %d)", rule,
                         line->place.line);
        blocked = true;
    }
    return blocked;
}

enum nacre_status nacre_explain_command(const struct nacre_policy *policy,
                                        const char *command,
                                        struct nacre_answer *ret_answer,
                                        struct nacre_error *err)
{
    const char *note = policy->level == NACRE_LEVEL_WASM ? NO_COMMAND_WASM : NO_COMMAND;
    struct nacre_answer answer = { 0 };
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, command);
    if (command[strspn(command, " \t\n")] == '\0')
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the command is empty; give it as one word");
    if (policy->shell.mode == NACRE_SHELL_DENY) {
        nacre_answer_say(&answer, RULE_SHELL_MODE, 0, policy->shell.mode_place,
                         "'%s' is denied: mode is deny%s", shown, note);
        if (policy->shell.mode_place.line > 0)
            nacre_answer_change(&answer, policy, policy->shell.mode_place, "deny",
                                "restricted");
        else
            nacre_answer_fix(&answer,
                             "add under spec.capabilities.shell: mode: restricted");
        (void)command_blocked(policy, command, shown, true, &answer);
    } else if (!command_blocked(policy, command, shown, false, &answer)) {
        answer.allowed = true;
        nacre_answer_say(&answer, RULE_SHELL_MODE, 0, policy->shell.mode_place,
                         "'%s' is allowed: mode is %s and nothing blocks it%s", shown,
                         nacre_shell_mode_name(policy->shell.mode), note);
        nacre_answer_add(&answer, policy->shell.blocked_commands.place,
                         "capabilities.shell", "blocked_commands", command);
    }
    *ret_answer = answer;
    return NACRE_OK;
}
