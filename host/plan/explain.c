/* Trusts the policy; hosts and commands are anybody's. */
#include "nacre/explain.h"

#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/text.h"
#include "network.h"

/* ---- hosts ---- */

/* The line that a verdict without a place of its own came from. */
static struct nacre_place place_of(const struct nacre_policy *policy, const char *rule)
{
    if (strcmp(rule, RULE_NET_MODE) == 0)
        return policy->network.mode_place;
    if (strcmp(rule, RULE_HOSTS) == 0)
        return policy->network.allowed_hosts.place;
    if (strcmp(rule, RULE_PRIVATE) == 0 &&
        policy->network.block_private_ips.place.line > 0)
        return policy->network.block_private_ips.place;
    if (strcmp(rule, RULE_PRIVATE) == 0)
        return policy->network.ssrf_enabled.place;
    if (strcmp(rule, RULE_LEAKS) == 0)
        return policy->secrets.leak_detection.place;
    return (struct nacre_place){ 0 };
}

static void open_mode(const struct nacre_policy *policy, struct nacre_answer *answer)
{
    if (policy->network.mode_place.line > 0)
        nacre_answer_change(answer, policy, policy->network.mode_place, "deny",
                            "allowlist");
    else
        nacre_answer_fix(answer, "add under spec.capabilities.network: mode: allowlist");
}

/* An entry that opens exactly this; its port where it is not one of the usual two. */
static void open_host(const struct nacre_policy *policy, const char *name, uint16_t port,
                      struct nacre_answer *answer)
{
    struct nacre_egress_host host = { .name = (char *)name };
    char text[NACRE_EGRESS_HOST_TEXT];

    host.is_address = nacre_address_parse(name, strlen(name), &host.address);
    host.port = port == 80 || port == 443 ? 0 : port;
    nacre_answer_add(answer, policy->network.allowed_hosts.place, "capabilities.network",
                     "allowed_hosts", nacre_egress_host_text(&host, text));
}

static void open_private(const struct nacre_policy *policy, struct nacre_answer *answer)
{
    const struct nacre_flag *flag = &policy->network.block_private_ips;

    if (flag->place.line > 0)
        nacre_answer_change(answer, policy, flag->place, "true", "false");
    else
        nacre_answer_fix(answer,
                         "add under spec." RULE_SSRF ": block_private_ips: false");
}

/* An address that a list would open has still to be one that may be reached. */
static void open_address(const struct nacre_policy *policy,
                         const struct nacre_egress *egress, const char *name,
                         struct nacre_answer *answer)
{
    struct nacre_egress_verdict verdict;
    struct nacre_address address;

    if (!nacre_address_parse(name, strlen(name), &address))
        return;
    nacre_egress_judge_address(egress, name, &address, &verdict);
    if (strcmp(verdict.code, "address-private") == 0)
        open_private(policy, answer);
    if (strcmp(verdict.code, "address-never") != 0)
        return;
    answer->fix[0] = '\0';
    nacre_answer_fix(answer, "no change opens it");
}

/* Every entry that opens it, each of which would alone. */
static void close_hosts(const struct nacre_policy *policy,
                        const struct nacre_egress *egress, const char *name,
                        uint16_t port, struct nacre_answer *answer)
{
    const struct nacre_rules *rules = &policy->network.allowed_hosts;

    for (size_t item = 0; item < rules->count; item++)
        for (uint32_t i = 0; i < egress->allowed_count; i++) {
            char rule[NACRE_SHOWN];

            if (egress->allowed[i].index != item ||
                !nacre_egress_host_covers(&egress->allowed[i], name, port))
                continue;
            nacre_answer_fix(answer, "remove '%s' from allowed_hosts (line %d)",
                             nacre_text_shown(rule, rules->items[item].text),
                             rules->items[item].place.line);
            break;
        }
}

/* What flips a refusal that its code alone tells; false: it does not. */
static bool flip_code(const struct nacre_policy *policy, const char *code,
                      struct nacre_place place, const char *name,
                      struct nacre_answer *answer)
{
    char shown[NACRE_SHOWN];
    struct nacre_address address;

    if (strcmp(code, "host-denied") == 0 || strcmp(code, "address-denied") == 0)
        nacre_answer_fix(answer, "remove the entry from denied_hosts (line %d)",
                         place.line);
    else if (strcmp(code, "address-private") == 0)
        open_private(policy, answer);
    else if (strcmp(code, "call-http") == 0 &&
             !nacre_address_parse(name, strlen(name), &address))
        nacre_answer_fix(answer, "run it with --intercept %s",
                         nacre_text_shown(shown, name));
    else if (strcmp(code, "call-http") == 0 || strcmp(code, "address-never") == 0 ||
             strcmp(code, "no-server-name") == 0)
        nacre_answer_fix(answer, "no change opens it");
    else
        return false;
    return true;
}

/* The smallest change that flips `verdict`. */
static void flip(const struct nacre_policy *policy, const struct nacre_egress *egress,
                 const struct nacre_egress_verdict *verdict, const char *name,
                 uint16_t port, struct nacre_answer *answer)
{
    bool listed = false;

    for (uint32_t i = 0; i < egress->allowed_count; i++)
        listed |= nacre_egress_host_covers(&egress->allowed[i], name, port);
    if (verdict->allowed && policy->network.mode == NACRE_NETWORK_ALLOW_ALL) {
        nacre_answer_change(answer, policy, policy->network.mode_place, "allow-all",
                            "deny");
    } else if (verdict->allowed) {
        close_hosts(policy, egress, name, port, answer);
    } else if (!flip_code(policy, verdict->code, verdict->place, name, answer)) {
        if (policy->network.mode == NACRE_NETWORK_DENY)
            open_mode(policy, answer);
        if (!listed)
            open_host(policy, name, port, answer);
        open_address(policy, egress, name, answer);
    }
}

/* As the door will judge it, as far as the question says what is called; `url` becomes
 * what the door makes of it. */
static void judge(const struct nacre_policy *policy, const struct nacre_egress *egress,
                  struct nacre_url *url, struct nacre_egress_verdict *verdict)
{
    if (!url->target[0]) {
        url->port = url->port ? url->port : 443;
        nacre_egress_judge(egress, url->host, url->port, verdict);
    } else if (url->tls && nacre_level_is_native(policy->level)) {
        nacre_egress_judge_tls(egress, url->host, url->port, verdict);
    } else {
        nacre_egress_judge_url(egress, url, verdict);
    }
}

/* Who names neither port nor scheme is told of the other one too, where it differs. */
static void other_words(const struct nacre_egress *egress, const struct nacre_url *asked,
                        bool allowed, char *ret_text, size_t size)
{
    struct nacre_url clear = { .port = 80, .is_address = asked->is_address,
                               .address = asked->address, .target = "/" };
    struct nacre_egress_verdict verdict;

    (void)snprintf(clear.host, sizeof(clear.host), "%s", asked->host);
    nacre_egress_judge_url(egress, &clear, &verdict);
    if (verdict.allowed != allowed)
        (void)snprintf(ret_text, size, "; this is of port 443, http (port 80) is %s",
                       verdict.allowed ? "allowed" : "denied");
}

static void answer_host(const struct nacre_policy *policy,
                        const struct nacre_egress *egress, struct nacre_url *url,
                        struct nacre_answer *answer)
{
    struct nacre_egress_verdict verdict;
    bool is_clear, is_bare = !url->target[0] && url->port == 0;
    char other[80] = "";

    judge(policy, egress, url, &verdict);
    if (is_bare)
        other_words(egress, url, verdict.allowed, other, sizeof(other));
    is_clear = url->target[0] && !url->tls;
    answer->allowed = verdict.allowed;
    nacre_answer_say(answer, verdict.rule, 0,
                     verdict.place.line > 0 ? verdict.place
                                            : place_of(policy, verdict.rule),
                     "%s%s%s%s", verdict.text,
                     verdict.allowed && !is_clear ? nacre_way_words(verdict.way) : "",
                     verdict.allowed && !url->is_address
                         ? "; each address it leads to is judged then" : "", other);
    flip(policy, egress, &verdict, url->host, url->port, answer);
}

enum nacre_status nacre_explain_host(const struct nacre_policy *policy,
                                     const struct nacre_request *request,
                                     const char *host, struct nacre_answer *ret_answer,
                                     struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    struct nacre_egress egress;
    struct nacre_error why;
    struct nacre_url url;
    char shown[NACRE_SHOWN];
    enum nacre_status status = nacre_egress_asked(host, &url, &why);

    (void)nacre_text_shown(shown, host);
    if (status != NACRE_OK)
        return nacre_fail(err, status == NACRE_ERR_PARSE ? NACRE_ERR_USAGE : status,
                          "'%s' is not HOST, HOST:PORT or a URL: %.300s", shown,
                          why.text);
    if (policy->level == NACRE_LEVEL_NONE) {
        answer.allowed = true;
        nacre_answer_say(&answer, "level", 0, policy->level_place,
                         "%s is judged by nobody: at level none a command has the host's "
                         "network", shown);
        nacre_answer_change(&answer, policy, policy->level_place, "none", "process");
        *ret_answer = answer;
        return NACRE_OK;
    }
    if (policy->input.held_to_reading) {
        nacre_answer_held(policy, shown, "is not reachable", &answer);
        *ret_answer = answer;
        return NACRE_OK;
    }
    status = nacre_network_rules(policy, request, &egress, err);
    if (status != NACRE_OK)
        return status;
    answer_host(policy, &egress, &url, &answer);
    nacre_egress_clear(&egress);
    *ret_answer = answer;
    return NACRE_OK;
}

bool nacre_explain_denial(const struct nacre_policy *policy,
                          const struct nacre_denial *denial,
                          struct nacre_answer *ret_answer)
{
    struct nacre_answer answer = { 0 };
    struct nacre_place place =
        denial->place.line > 0 ? denial->place : place_of(policy, denial->rule);

    if (!flip_code(policy, denial->code, place, denial->path, &answer))
        return false;
    nacre_answer_say(&answer, denial->rule, 0, place, "%s", denial->text);
    *ret_answer = answer;
    return true;
}

/* ---- commands ---- */

/* What the shell's own lines leave to be changed for a command to run. */
static void open_level(const struct nacre_policy *policy, struct nacre_answer *answer)
{
    if (policy->level_place.line == 0) {
        answer->fix[0] = '\0';
        nacre_answer_fix(answer,
                         "take a policy of level process, with shell mode restricted");
        return;
    }
    nacre_answer_change(answer, policy, policy->level_place, "wasm", "process");
    if (policy->runtime_place.line > 0)
        nacre_answer_change(answer, policy, policy->runtime_place,
                            nacre_runtime_name(policy->runtime), "native");
}

enum nacre_status nacre_explain_command(const struct nacre_policy *policy,
                                        const char *command,
                                        struct nacre_answer *ret_answer,
                                        struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    enum nacre_status status = nacre_shell_judge(
        policy, &(struct nacre_command){ .shell_text = command }, &answer, err);
    char shown[NACRE_SHOWN];
    size_t used;

    if (status != NACRE_OK)
        return status;
    if (policy->level == NACRE_LEVEL_WASM) {
        if (answer.allowed) {
            answer = (struct nacre_answer){ 0 };
            nacre_answer_say(&answer, "level", 0, policy->level_place, "'%s' is denied",
                             nacre_text_shown(shown, command));
        }
        used = strlen(answer.text);
        (void)snprintf(answer.text + used, sizeof(answer.text) - used,
                       "; no native command runs at level wasm");
        open_level(policy, &answer);
    }
    *ret_answer = answer;
    return NACRE_OK;
}
