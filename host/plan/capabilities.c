/* Level and shell: what this build enforces and what it refuses. */
#include <assert.h>
#include <stdio.h>

#include "draft.h"
#include "nacre/text.h"

/* By name it is Firecracker or nothing; only where no name is said one is chosen. */
static void firecracker(struct draft *draft, struct nacre_decision *decision)
{
    if (draft->policy->runtime_place.line > 0) {
        draft->plan->required |= NACRE_FEATURE_RUNTIME;
        WALL(decision, "kata-fc, registered at the engine; proved from inside, never "
                       "another");
        return;
    }
    WHAT(decision, "kata-fc or kata, where the engine has one, else nacre's own microVM");
}

static void runtime(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_runtime_name(policy->runtime);
    struct nacre_decision decision = {
        .rule = "runtime",
        .place = policy->runtime_place,
        .verdict = NACRE_VERDICT_GRANT,
    };

    WHAT(&decision, "%s%s", name,
         policy->runtime_place.line > 0 ? "" : ", inferred from the level");
    WALL(&decision, draft->walls->runtime);
    if (policy->runtime == NACRE_RUNTIME_FIRECRACKER)
        firecracker(draft, &decision);
    switch (policy->runtime) {
    case NACRE_RUNTIME_WASMTIME:
    case NACRE_RUNTIME_NATIVE:
    case NACRE_RUNTIME_DOCKER:
    case NACRE_RUNTIME_GVISOR:
    case NACRE_RUNTIME_FIRECRACKER:
        nacre_draft_add(draft, &decision);
        return;
    case NACRE_RUNTIME_APPLE_CONTAINER:
        WHAT(&decision, "runtime %s is not there on Linux", name);
        FIX(&decision, "change '%s' to 'docker'", name);
        break;
    case NACRE_RUNTIME_UNSET:
    case NACRE_RUNTIME_COUNT:
        assert(false && "a policy has a runtime");
    }
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
}

void nacre_draft_level(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_level_name(policy->level);
    struct nacre_decision decision = {
        .rule = "level",
        .place = policy->level_place,
        .verdict = NACRE_VERDICT_GRANT,
    };

    WHAT(&decision, "%s: %s", name, draft->walls->level);
    WALL(&decision, draft->walls->jail);
    if (policy->level == NACRE_LEVEL_NONE && !draft->request->unsandboxed) {
        WHAT(&decision, "level none runs on the host without a sandbox, and the caller "
                        "has not agreed to that");
        FIX(&decision, "give --unsandboxed, or change 'none' to 'process'");
        nacre_draft_refuse(draft, CODE_UNSANDBOXED, &decision);
    } else {
        nacre_draft_add(draft, &decision);
    }
    runtime(draft);
    draft->plan->level = policy->level;
    draft->plan->runtime = policy->runtime;
}

static void shell_item(struct draft *draft, const char *rule, size_t item,
                       const char *text, struct nacre_place place, const char *wall)
{
    bool native = nacre_level_is_native(draft->policy->level);
    struct nacre_decision decision = { .place = place, .verdict = NACRE_VERDICT_NOTE };
    char shown[NACRE_SHOWN];

    nacre_rule_name(decision.rule, rule, item);
    (void)nacre_text_shown(shown, text);
    if (!native) {
        WHAT(&decision, "'%s': no command runs at level wasm", shown);
    } else if (draft->policy->shell.mode == NACRE_SHELL_RESTRICTED) {
        decision.verdict = NACRE_VERDICT_DENY;
        WHAT(&decision, "'%s' is blocked", shown);
        WALL(&decision, wall);
        FIX(&decision, "remove '%s' (line %d)", shown, place.line);
    } else {
        WHAT(&decision, "'%s' has no effect: mode is %s", shown,
             nacre_shell_mode_name(draft->policy->shell.mode));
    }
    nacre_draft_add(draft, &decision);
}

static void shell_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_shell_mode_name(policy->shell.mode);
    struct nacre_decision decision = {
        .rule = RULE_SHELL_MODE,
        .place = policy->shell.mode_place,
        .verdict = NACRE_VERDICT_DENY,
        .what = "deny: no command runs",
    };

    WALL(&decision, draft->walls->command);
    if (!nacre_level_is_native(policy->level)) {
        FIX(&decision, "take a policy of level process, with shell mode restricted");
        if (policy->shell.mode == NACRE_SHELL_DENY) {
            nacre_draft_add(draft, &decision);
            return;
        }
        WHAT(&decision, "shell mode %s: no native command runs at level wasm", name);
        FIX(&decision, "change '%s' to 'deny', or the level 'wasm' to 'process'", name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
        return;
    }
    if (policy->shell.mode == NACRE_SHELL_DENY) {
        if (policy->shell.mode_place.line > 0)
            FIX(&decision, "change 'deny' to 'restricted'");
        else
            FIX(&decision, "add under spec.capabilities.shell: mode: restricted");
    } else {
        decision.verdict = NACRE_VERDICT_GRANT;
        WHAT(&decision, "restricted: any command that nothing below blocks");
    }
    if (policy->shell.mode == NACRE_SHELL_FULL) {
        WHAT(&decision, "full: any command, judged by nobody");
        WALL(&decision, "");
    }
    nacre_draft_add(draft, &decision);
}

void nacre_draft_shell(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;

    shell_mode(draft);
    for (size_t i = 0; i < policy->shell.blocked_commands.count; i++)
        shell_item(draft, RULE_COMMANDS, i + 1,
                   policy->shell.blocked_commands.items[i].text,
                   policy->shell.blocked_commands.items[i].place, draft->walls->command);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
        shell_item(draft, RULE_PATTERNS, i + 1,
                   policy->shell.blocked_patterns.items[i].text,
                   policy->shell.blocked_patterns.items[i].place,
                   "PCRE2, searched in the text as it was given, before anything starts");
}
