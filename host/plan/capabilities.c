/* Level, network, secrets and shell: what this build enforces and what it refuses. */
#include <stdio.h>

#include "draft.h"
#include "nacre/text.h"

#define NO_EGRESS_FIX                                                                    \
    "no change opens it in this build: the egress engine is not there yet"

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
    switch (policy->runtime) {
    case NACRE_RUNTIME_WASMTIME:
    case NACRE_RUNTIME_NATIVE:
    case NACRE_RUNTIME_DOCKER:
        nacre_draft_add(draft, &decision);
        return;
    case NACRE_RUNTIME_APPLE_CONTAINER:
        WHAT(&decision, "runtime %s is not there on Linux", name);
        FIX(&decision, "change '%s' to 'docker'", name);
        break;
    case NACRE_RUNTIME_GVISOR:
    case NACRE_RUNTIME_FIRECRACKER:
    case NACRE_RUNTIME_UNSET:
    case NACRE_RUNTIME_COUNT:
        /* The level's line has said it. */
        if (policy->runtime_place.line == 0)
            return;
        WHAT(&decision, "runtime %s comes later: it has no executor in this build", name);
        FIX(&decision, "change '%s' to 'docker' at level container", name);
        break;
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
    if (policy->level == NACRE_LEVEL_VM) {
        WHAT(&decision, "level vm comes later: it has no executor in this build");
        FIX(&decision, "change 'vm' to 'container'");
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    } else if (policy->level == NACRE_LEVEL_NONE && !draft->request->unsandboxed) {
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

static bool network_is_open(const struct nacre_policy *policy)
{
    return policy->network.mode == NACRE_NETWORK_ALLOW_ALL ||
           (policy->network.mode == NACRE_NETWORK_ALLOWLIST &&
            policy->network.allowed_hosts.count > 0);
}

static void network_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_network_mode_name(policy->network.mode);
    struct nacre_decision decision = {
        .rule = RULE_NET_MODE,
        .place = policy->network.mode_place,
        .verdict = NACRE_VERDICT_DENY,
        .fix = NO_EGRESS_FIX,
    };

    WALL(&decision, draft->walls->network);
    if (network_is_open(policy)) {
        WHAT(&decision, "network mode %s: the egress engine that enforces it is not in "
                        "this build yet", name);
        FIX(&decision, "change '%s' to 'deny'", name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
        return;
    }
    WHAT(&decision, "%s",
         policy->network.mode == NACRE_NETWORK_ALLOWLIST
             ? "allowlist without a host: nothing is reachable"
             : "deny: nothing is reachable");
    nacre_draft_add(draft, &decision);
}

static void network_hosts(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    bool closed = policy->network.mode == NACRE_NETWORK_DENY;

    for (size_t i = 0; i < policy->network.allowed_hosts.count; i++) {
        const struct nacre_rule *host = &policy->network.allowed_hosts.items[i];
        struct nacre_decision decision = {
            .place = host->place,
            .verdict = closed ? NACRE_VERDICT_DENY : NACRE_VERDICT_NOTE,
        };
        char shown[NACRE_SHOWN];

        nacre_rule_name(decision.rule, RULE_HOSTS, i + 1);
        (void)snprintf(decision.what, sizeof(decision.what), "%s: %s",
                       nacre_text_shown(shown, host->text),
                       closed ? "not granted: mode is deny"
                              : "waits for the egress engine");
        if (closed) {
            WALL(&decision, draft->walls->network);
            FIX(&decision, NO_EGRESS_FIX);
        }
        nacre_draft_add(draft, &decision);
    }
}

/* Nothing stands between a command on the host and its network: a line that restricts
 * it would be a lie, and silence is said aloud. */
static void network_of_the_host(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    bool said = policy->network.mode_place.line > 0;
    struct nacre_decision decision = {
        .rule = RULE_NET_MODE,
        .place = policy->network.mode_place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "not enforced at level none: the command has the host's network",
    };

    if (!said && policy->network.allowed_hosts.place.line > 0) {
        nacre_rule_name(decision.rule, RULE_HOSTS, 0);
        decision.place = policy->network.allowed_hosts.place;
    }
    if (policy->network.mode == NACRE_NETWORK_ALLOW_ALL) {
        WHAT(&decision, "allow-all: the host's network, unguarded");
        nacre_draft_add(draft, &decision);
    } else if (decision.place.line > 0) {
        WHAT(&decision, "%s can't be enforced at level none: the command has the host's "
                        "network",
             said ? nacre_network_mode_name(policy->network.mode) : "allowed_hosts");
        FIX(&decision, "change the level 'none' to 'process', or %s",
            said ? "the mode to 'allow-all'" : "remove the list");
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    } else {
        nacre_draft_add(draft, &decision);
    }
}

void nacre_draft_network(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct {
        const char *rule;
        struct nacre_flag flag;
    } guards[] = {
        { "capabilities.network.ssrf_protection.enabled", policy->network.ssrf_enabled },
        { "capabilities.network.ssrf_protection.block_private_ips",
          policy->network.block_private_ips },
        { "capabilities.network.ssrf_protection.dns_pinning",
          policy->network.dns_pinning },
    };

    if (policy->level == NACRE_LEVEL_NONE) {
        network_of_the_host(draft);
    } else {
        network_mode(draft);
        network_hosts(draft);
    }
    for (size_t i = 0; i < NACRE_COUNT(guards); i++) {
        struct nacre_decision decision = {
            .place = guards[i].flag.place,
            .verdict = NACRE_VERDICT_NOTE,
        };

        if (decision.place.line == 0)
            continue;
        nacre_rule_name(decision.rule, guards[i].rule, 0);
        if (policy->level == NACRE_LEVEL_NONE && guards[i].flag.on) {
            WHAT(&decision, "true can't be enforced at level none");
            FIX(&decision, "set it to false, or change the level 'none' to 'process'");
            nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
            continue;
        }
        WHAT(&decision, "%s: no request leaves in this build, so there is none to guard",
             guards[i].flag.on ? "true" : "false");
        nacre_draft_add(draft, &decision);
    }
}

static void refuse_secret(struct draft *draft, const char *rule, struct nacre_place place,
                          const char *value, const char *fix)
{
    struct nacre_decision decision = { .place = place };

    nacre_rule_name(decision.rule, rule, 0);
    (void)snprintf(decision.what, sizeof(decision.what),
                   "%s: %s: the secrets engine is not in this build yet", rule, value);
    (void)snprintf(decision.fix, sizeof(decision.fix), "%s", fix);
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
}

static void leak_detection(struct draft *draft)
{
    const struct nacre_flag *scan = &draft->policy->secrets.leak_detection;
    struct nacre_decision decision = {
        .rule = "capabilities.secrets.leak_detection.enabled",
        .place = scan->place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "false: output is not scanned",
    };

    if (scan->place.line > 0 && scan->on)
        refuse_secret(draft, decision.rule, scan->place, "true",
                      "set leak_detection.enabled: false");
    else if (scan->place.line > 0)
        nacre_draft_add(draft, &decision);
    decision.place = draft->policy->secrets.leak_patterns.place;
    if (decision.place.line == 0)
        return;
    nacre_rule_name(decision.rule, "capabilities.secrets.leak_detection.patterns", 0);
    (void)snprintf(decision.what, sizeof(decision.what),
                   "no effect of its own: leak_detection.enabled decides");
    nacre_draft_add(draft, &decision);
}

void nacre_draft_secrets(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    struct nacre_decision none = {
        .rule = "capabilities.secrets",
        .place = policy->secrets.place,
        .verdict = NACRE_VERDICT_DENY,
        .what = "no secret reaches the guest",
        .mechanism = "nothing is injected: the environment is the request's alone",
        .fix = "no change grants one in this build: the secrets engine is not there yet",
    };

    if (policy->secrets.injection_place.line > 0)
        refuse_secret(
            draft, "capabilities.secrets.injection", policy->secrets.injection_place,
            nacre_injection_name(policy->secrets.injection), "remove this line");
    else
        nacre_draft_add(draft, &none);
    if (policy->secrets.encryption_place.line > 0)
        refuse_secret(draft, "capabilities.secrets.encryption",
                      policy->secrets.encryption_place, "aes-256-gcm",
                      "remove this line");
    leak_detection(draft);
}

static void shell_item(struct draft *draft, const char *rule, size_t item,
                       const char *text, struct nacre_place place)
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
        WALL(&decision, draft->walls->command);
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
                   policy->shell.blocked_commands.items[i].place);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
        shell_item(draft, RULE_PATTERNS, i + 1,
                   policy->shell.blocked_patterns.items[i].text,
                   policy->shell.blocked_patterns.items[i].place);
}
