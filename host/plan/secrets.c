/* The secrets' lines, and what secrets a request asks for.  Values never come here. */
#include "nacre/secrets.h"

#include <inttypes.h>
#include <string.h>

#include "draft.h"
#include "nacre/leak.h"
#include "nacre/text.h"
#include "network.h"

#define CODE_SECRET "secret-not-granted"
#define RULE_SECRETS "capabilities.secrets"
#define RULE_INJECTION RULE_SECRETS ".injection"
#define RULE_LEAK_PATTERNS RULE_SECRETS ".leak_detection.patterns"

static bool is_asked(const char *const *names)
{
    return names && names[0];
}

/* ---- how a secret is handed over ---- */

/* At level none there is neither a door nor a place of the run's own. */
static void refuse_at_none(struct draft *draft, struct nacre_decision *decision,
                           const char *name)
{
    WHAT(decision, "%s can't be enforced at level none: it has no door and no files of "
                   "its own", name);
    FIX(decision, "change the level 'none' to 'process', or '%s' to 'environment'", name);
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, decision);
}

static void injection(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    enum nacre_injection how = draft->plan->injection;
    const char *name = nacre_injection_name(how);
    struct nacre_decision decision = {
        .rule = RULE_INJECTION,
        .place = policy->secrets.injection_place,
        .verdict = NACRE_VERDICT_GRANT,
    };

    if (policy->level == NACRE_LEVEL_NONE && how != NACRE_INJECTION_ENVIRONMENT) {
        if (decision.place.line > 0 || is_asked(draft->request->secrets)) {
            refuse_at_none(draft, &decision, name);
            return;
        }
        decision.verdict = NACRE_VERDICT_DENY;
        WHAT(&decision, "no secret reaches the command: host-boundary, the default, "
                        "needs a sandbox");
        FIX(&decision, "add under spec.capabilities.secrets: injection: environment");
        nacre_draft_add(draft, &decision);
        return;
    }
    if (how == NACRE_INJECTION_ENVIRONMENT) {
        WHAT(&decision, "environment: warning: the guest holds the raw value, which "
                        "can't be withdrawn from a running process");
        WALL(&decision, "in the run's environment; in no argument, label or inspection");
    } else if (how == NACRE_INJECTION_FILE_MOUNT) {
        WHAT(&decision, "file-mount: files in " NACRE_SECRET_DIR
                        "; the guest holds the raw value");
        WALL(&decision, draft->walls->secret_files);
        if (is_asked(draft->request->secrets))
            draft->plan->required |= NACRE_FEATURE_SECRET_FILES;
    } else {
        WHAT(&decision, "host-boundary: the guest names a secret, and never holds it");
        WALL(&decision, "put in by the door after all checks, for its bound hosts alone; "
                        "scrubbed from answers");
    }
    nacre_draft_add(draft, &decision);
}

static void encryption(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = RULE_SECRETS ".encryption",
        .place = draft->policy->secrets.encryption_place,
        .verdict = NACRE_VERDICT_GRANT,
        .what = "aes-256-gcm: how the vault keeps secrets",
        .mechanism = "OpenSSL; one nonce a write; name and bindings authenticated",
    };

    if (decision.place.line > 0)
        nacre_draft_add(draft, &decision);
}

/* ---- the scan ---- */

static void leak_detection(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct nacre_flag *scan = &policy->secrets.leak_detection;
    const struct nacre_limit *patterns = &policy->secrets.leak_patterns;
    struct nacre_decision decision = {
        .rule = RULE_LEAKS,
        .place = scan->place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "false: requests are not scanned; output, for a run's secrets alone",
    };

    draft->plan->leak_scan = scan->on;
    draft->plan->leak_patterns = scan->on ? (uint32_t)patterns->value : 0;
    if (scan->on) {
        decision.verdict = NACRE_VERDICT_LIMIT;
        WHAT(&decision, "true: output, traps, records%s are scanned for secrets",
             policy->level == NACRE_LEVEL_NONE
                 ? ", but not what goes over the host's network,"
                 : " and requests");
        WALL(&decision, "values read along the text in all their encodings; patterns by "
                        "PCRE2 with match limits");
    }
    if (scan->place.line > 0)
        nacre_draft_add(draft, &decision);
    decision.place = patterns->place;
    if (decision.place.line == 0)
        return;
    nacre_rule_name(decision.rule, RULE_LEAK_PATTERNS, 0);
    WALL(&decision, scan->on ? "the first of the table that nacre leak-scan --list shows"
                             : "");
    if (scan->on)
        WHAT(&decision, "%" PRIu64 " of %d patterns, and the secrets' values",
             patterns->value, NACRE_LEAK_PATTERNS);
    else
        WHAT(&decision, "no effect: leak_detection.enabled is false");
    nacre_draft_add(draft, &decision);
}

/* ---- what a request asks for ---- */

/* NAME of "NAME" or "NAME=VARIABLE". */
static const char *shown_name(char ret_shown[NACRE_SHOWN], const char *text)
{
    return nacre_text_show(ret_shown, NACRE_SHOWN, text, strcspn(text, "="));
}

static const struct nacre_secret *find_granted(const struct nacre_secret_set *granted,
                                               const char *text)
{
    size_t length = strcspn(text, "=");

    for (uint32_t i = 0; granted && i < granted->count; i++)
        if (strlen(granted->items[i].name) == length &&
            strncmp(granted->items[i].name, text, length) == 0)
            return &granted->items[i];
    return NULL;
}

static void list_hosts(const struct nacre_secret *secret, char *ret_text, size_t size)
{
    size_t used = 0;

    (void)snprintf(ret_text, size, "no host");
    for (size_t i = 0; secret->hosts && secret->hosts[i] && used < size; i++) {
        char shown[NACRE_SHOWN];
        int length = snprintf(ret_text + used, size - used, "%s%s", i > 0 ? ", " : "",
                              nacre_text_shown(shown, secret->hosts[i]));

        used += length > 0 ? (size_t)length : 0;
    }
}

static void asked_secret(struct draft *draft, const char *rule, const char *text,
                         bool is_token)
{
    const struct nacre_secret *secret = find_granted(draft->request->granted, text);
    bool bound = is_token || draft->plan->injection == NACRE_INJECTION_HOST_BOUNDARY;
    struct nacre_decision decision = { .verdict = NACRE_VERDICT_GRANT };
    char shown[NACRE_SHOWN], hosts[128] = "the hosts it is bound to";

    nacre_rule_name(decision.rule, rule, 0);
    (void)shown_name(shown, text);
    if (draft->policy->secrets.place.line == 0) {
        WHAT(&decision, "the secret %s is denied: the policy has no secrets section",
             shown);
        FIX(&decision, "add under spec.capabilities.secrets: injection: host-boundary");
        nacre_draft_refuse(draft, CODE_SECRET, &decision);
        return;
    }
    if (is_token && draft->policy->level == NACRE_LEVEL_NONE) {
        WHAT(&decision, "the token for %s can't be used at level none: it has no door",
             shown);
        FIX(&decision, "change the level 'none' to 'process'");
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
        return;
    }
    if (secret)
        list_hosts(secret, hosts, sizeof(hosts));
    if (bound && !nacre_egress_is_open(&draft->plan->egress))
        WHAT(&decision, "%s%s: of no use: nothing is reachable", shown,
             is_token ? ", as a token" : "");
    else if (bound)
        WHAT(&decision, "%s%s: for %s", shown, is_token ? ", as a token" : "", hosts);
    else
        WHAT(&decision, "%s, by %s", shown, nacre_injection_name(draft->plan->injection));
    WALL(&decision, is_token ? "swapped for the value by the door; refused when it has "
                               "expired"
                             : "");
    nacre_draft_add(draft, &decision);
}

static void asked_secrets(struct draft *draft)
{
    const char *const *secrets = draft->request->secrets;
    const char *const *tokens = draft->request->tokens;

    for (size_t i = 0; secrets && secrets[i]; i++)
        asked_secret(draft, "request.secrets", secrets[i], false);
    for (size_t i = 0; tokens && tokens[i]; i++)
        asked_secret(draft, "request.tokens", tokens[i], true);
}

void nacre_draft_secrets(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    struct nacre_decision none = {
        .rule = RULE_SECRETS,
        .place = policy->secrets.place,
        .verdict = NACRE_VERDICT_DENY,
        .what = "no secret reaches the guest",
        .mechanism = "nothing is injected: the environment is the request's alone",
    };

    FIX(&none, "add under spec.capabilities.secrets: injection: %s",
        policy->level == NACRE_LEVEL_NONE ? "environment" : "host-boundary");
    draft->plan->injection = policy->secrets.injection != NACRE_INJECTION_UNSET
                                 ? policy->secrets.injection
                                 : NACRE_INJECTION_HOST_BOUNDARY;
    if (policy->secrets.place.line > 0)
        injection(draft);
    else
        nacre_draft_add(draft, &none);
    encryption(draft);
    leak_detection(draft);
    asked_secrets(draft);
}
