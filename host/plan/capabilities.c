/* Level, network, secrets and shell: what this build enforces and what it refuses. */
#include <stdio.h>

#include "draft.h"
#include "nacre/text.h"

#define NO_NETWORK_WALL "no socket import exists; seccomp refuses socket()"
#define NO_SHELL_WALL "a wasm guest can't start a process; seccomp refuses fork and exec"
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

    if (policy->runtime == NACRE_RUNTIME_WASMTIME) {
        (void)snprintf(decision.what, sizeof(decision.what), "%s", name);
        (void)snprintf(decision.mechanism, sizeof(decision.mechanism),
                       "the pinned engine; proposals off by name");
        nacre_draft_add(draft, &decision);
    } else if (policy->runtime_place.line == 0) {
        decision.verdict = NACRE_VERDICT_NOTE;
        (void)snprintf(decision.what, sizeof(decision.what),
                       "%s, inferred from the level", name);
        nacre_draft_add(draft, &decision);
    } else {
        (void)snprintf(decision.what, sizeof(decision.what),
                       "runtime %s: its executor is not in this build yet", name);
        (void)snprintf(decision.fix, sizeof(decision.fix), "change '%s' to 'wasmtime'",
                       name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    }
}

void nacre_draft_level(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_level_name(policy->level);
    struct nacre_decision decision = {
        .rule = "level",
        .place = policy->level_place,
        .verdict = NACRE_VERDICT_GRANT,
        .what = "wasm: a WebAssembly guest in a worker process of its own",
        .mechanism =
            "wasmtime; seccomp; landlock where the kernel has it; a worker can be killed",
    };

    if (policy->level == NACRE_LEVEL_WASM) {
        nacre_draft_add(draft, &decision);
    } else {
        (void)snprintf(decision.what, sizeof(decision.what),
                       "level %s: its executor is not in this build yet", name);
        (void)snprintf(decision.fix, sizeof(decision.fix), "change '%s' to 'wasm'", name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    }
    runtime(draft);
    draft->plan->level = policy->level;
    draft->plan->runtime = policy->runtime;
}

static void network_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_network_mode_name(policy->network.mode);
    bool open = policy->network.mode == NACRE_NETWORK_ALLOW_ALL ||
                (policy->network.mode == NACRE_NETWORK_ALLOWLIST &&
                 policy->network.allowed_hosts.count > 0);
    struct nacre_decision decision = {
        .rule = RULE_NET_MODE,
        .place = policy->network.mode_place,
        .verdict = NACRE_VERDICT_DENY,
        .mechanism = NO_NETWORK_WALL,
        .fix = NO_EGRESS_FIX,
    };

    if (open) {
        (void)snprintf(
            decision.what, sizeof(decision.what),
            "network mode %s: the egress engine that enforces it is not in this build "
            "yet",
            name);
        (void)snprintf(decision.fix, sizeof(decision.fix), "change '%s' to 'deny'", name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
        return;
    }
    (void)snprintf(decision.what, sizeof(decision.what), "%s",
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
            (void)snprintf(decision.mechanism, sizeof(decision.mechanism),
                           NO_NETWORK_WALL);
            (void)snprintf(decision.fix, sizeof(decision.fix), NO_EGRESS_FIX);
        }
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

    network_mode(draft);
    network_hosts(draft);
    for (size_t i = 0; i < NACRE_COUNT(guards); i++) {
        struct nacre_decision decision = {
            .place = guards[i].flag.place,
            .verdict = NACRE_VERDICT_NOTE,
        };

        if (decision.place.line == 0)
            continue;
        nacre_rule_name(decision.rule, guards[i].rule, 0);
        (void)snprintf(decision.what, sizeof(decision.what),
                       "%s: no request leaves in this build, so there is none to guard",
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
    struct nacre_decision decision = { .place = place, .verdict = NACRE_VERDICT_NOTE };
    char shown[NACRE_SHOWN];

    nacre_rule_name(decision.rule, rule, item);
    (void)snprintf(decision.what, sizeof(decision.what),
                   "'%s': no command runs in this build", nacre_text_shown(shown, text));
    nacre_draft_add(draft, &decision);
}

void nacre_draft_shell(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const char *name = nacre_shell_mode_name(policy->shell.mode);
    struct nacre_decision decision = {
        .rule = RULE_SHELL_MODE,
        .place = policy->shell.mode_place,
        .verdict = NACRE_VERDICT_DENY,
        .what = "deny: no command runs",
        .mechanism = NO_SHELL_WALL,
        .fix = "no change allows one in this build: native levels are not there yet",
    };

    if (policy->shell.mode == NACRE_SHELL_DENY) {
        nacre_draft_add(draft, &decision);
    } else {
        (void)snprintf(
            decision.what, sizeof(decision.what), "shell mode %s: %s", name,
            policy->level == NACRE_LEVEL_WASM
                ? "no native command runs at level wasm; native levels are not in "
                  "this build"
                : "native levels are not in this build");
        (void)snprintf(decision.fix, sizeof(decision.fix), "change '%s' to 'deny'", name);
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    }
    for (size_t i = 0; i < policy->shell.blocked_commands.count; i++)
        shell_item(draft, RULE_COMMANDS, i + 1,
                   policy->shell.blocked_commands.items[i].text,
                   policy->shell.blocked_commands.items[i].place);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
        shell_item(draft, RULE_PATTERNS, i + 1,
                   policy->shell.blocked_patterns.items[i].text,
                   policy->shell.blocked_patterns.items[i].place);
}
