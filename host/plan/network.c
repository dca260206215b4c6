/* The network's lines: what is open, by which way, and what guards it. */
#include "network.h"

#include <inttypes.h>
#include <string.h>

#include "draft.h"
#include "nacre/text.h"

#define GUARD_WALL                                                                       \
    "the door checks every answer of DNS, and each socket before it connects"

static void network_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    bool said = policy->network.mode_place.line > 0;
    struct nacre_decision decision = {
        .rule = RULE_NET_MODE,
        .place = policy->network.mode_place,
        .verdict = NACRE_VERDICT_DENY,
    };

    if (nacre_egress_is_open(&draft->plan->egress)) {
        decision.verdict = NACRE_VERDICT_GRANT;
        WHAT(&decision, "%s",
             policy->network.mode == NACRE_NETWORK_ALLOW_ALL
                 ? "allow-all: every public host, by http and https alone"
                 : "allowlist: the hosts below, by http and https alone");
        WALL(&decision, draft->walls->door);
        draft->plan->required |= NACRE_FEATURE_EGRESS;
        nacre_draft_add(draft, &decision);
        return;
    }
    WALL(&decision, draft->walls->network);
    if (policy->network.mode == NACRE_NETWORK_ALLOWLIST) {
        WHAT(&decision, "allowlist without a host: nothing is reachable");
        FIX(&decision, "add hosts under spec.capabilities.network.allowed_hosts");
    } else {
        WHAT(&decision, "deny: nothing is reachable");
        FIX(&decision, "%s, and list hosts under allowed_hosts",
            said ? "change 'deny' to 'allowlist'"
                 : "add under spec.capabilities.network: mode: allowlist");
    }
    nacre_draft_add(draft, &decision);
}

const char *nacre_way_words(enum nacre_way way)
{
    switch (way) {
    case NACRE_WAY_TUNNEL:
        return "; by tunnel: its TLS goes through unseen";
    case NACRE_WAY_UPGRADE:
        return "; by upgrade: call it as http://, the door speaks TLS";
    case NACRE_WAY_INTERCEPT:
        return "; by intercept: the door ends its TLS with a CA made for the sandbox";
    case NACRE_WAY_NONE:
    case NACRE_WAY_COUNT:
        break;
    }
    return "";
}

/* Does the caller's waiver alone keep the scan from this host? */
static bool is_unscanned(const struct draft *draft, enum nacre_way way)
{
    return way == NACRE_WAY_TUNNEL && draft->plan->egress.scan;
}

static void open_host(struct draft *draft, const struct nacre_egress_host *host)
{
    const struct nacre_egress *egress = &draft->plan->egress;
    struct nacre_decision decision = { .place = host->place,
                                       .verdict = NACRE_VERDICT_GRANT };
    char text[NACRE_EGRESS_HOST_TEXT], ports[24] = "ports 80 and 443";
    struct nacre_egress_verdict verdict;
    enum nacre_way way = host->way;

    /* A secret that is bound to just this host raises its way. */
    if (!host->below) {
        nacre_egress_judge(egress, host->name, host->port ? host->port : 443, &verdict);
        way = verdict.allowed ? verdict.way : way;
    }
    nacre_rule_name(decision.rule, RULE_HOSTS, (size_t)host->index + 1);
    if (host->place.line == 0) /* of mode allow-all: the caller alone has named it */
        nacre_rule_name(decision.rule, "request.intercept", 0);
    if (host->port != 0)
        (void)snprintf(ports, sizeof(ports), "port %u", (unsigned)host->port);
    WHAT(&decision, "%.120s: %s%s%s", nacre_egress_host_text(host, text), ports,
         nacre_way_words(way),
         is_unscanned(draft, way) ? "; not scanned, waived by the caller" : "");
    WALL(&decision, "judged by name, then by each address that it leads to");
    if (is_unscanned(draft, way))
        decision.verdict = NACRE_VERDICT_WAIVE;
    nacre_draft_add(draft, &decision);
}

static void closed_host(struct draft *draft, const struct nacre_egress_host *host)
{
    struct nacre_decision decision = { .place = host->place,
                                       .verdict = NACRE_VERDICT_DENY };
    char text[NACRE_EGRESS_HOST_TEXT];

    nacre_rule_name(decision.rule, RULE_HOSTS, (size_t)host->index + 1);
    WHAT(&decision, "%.120s: not granted: mode is deny",
         nacre_egress_host_text(host, text));
    WALL(&decision, draft->walls->network);
    if (draft->policy->network.mode_place.line > 0)
        FIX(&decision, "change 'deny' to 'allowlist' (line %d)",
            draft->policy->network.mode_place.line);
    else
        FIX(&decision, "add under spec.capabilities.network: mode: allowlist");
    nacre_draft_add(draft, &decision);
}

static void denied_host(struct draft *draft, const struct nacre_egress_host *host)
{
    struct nacre_decision decision = { .place = host->place,
                                       .verdict = NACRE_VERDICT_DENY };
    char text[NACRE_EGRESS_HOST_TEXT];

    nacre_rule_name(decision.rule, RULE_DENIED_HOSTS, (size_t)host->index + 1);
    WHAT(&decision, "%.120s%s", nacre_egress_host_text(host, text),
         host->is_address ? ": denied, and every name that leads to it"
                          : ": denied, whatever allows it");
    WALL(&decision, "judged before every other rule");
    FIX(&decision, "remove the entry from denied_hosts (line %d)", host->place.line);
    nacre_draft_add(draft, &decision);
}

static void network_hosts(struct draft *draft)
{
    const struct nacre_egress *egress = &draft->plan->egress;
    struct nacre_decision rest = { .rule = RULE_NET_MODE,
                                   .place = draft->policy->network.mode_place,
                                   .verdict = NACRE_VERDICT_GRANT };

    for (uint32_t i = 0; i < egress->allowed_count; i++)
        if (egress->mode == NACRE_NETWORK_DENY)
            closed_host(draft, &egress->allowed[i]);
        else
            open_host(draft, &egress->allowed[i]);
    for (uint32_t i = 0; i < egress->denied_count; i++)
        denied_host(draft, &egress->denied[i]);
    if (egress->mode != NACRE_NETWORK_ALLOW_ALL || egress->way == NACRE_WAY_NONE)
        return;
    WHAT(&rest, "every other host%s%s", nacre_way_words(egress->way),
         is_unscanned(draft, egress->way) ? "; not scanned, waived by the caller" : "");
    if (is_unscanned(draft, egress->way))
        rest.verdict = NACRE_VERDICT_WAIVE;
    nacre_draft_add(draft, &rest);
}

/* ---- where names lead ---- */

static void resolver_line(struct draft *draft, size_t item)
{
    const struct nacre_rule *rule = &draft->policy->network.resolvers.items[item];
    struct nacre_decision decision = { .place = rule->place,
                                       .verdict = NACRE_VERDICT_GRANT };
    struct nacre_address address;
    char shown[NACRE_SHOWN];

    nacre_rule_name(decision.rule, RULE_RESOLVERS, item + 1);
    (void)nacre_text_shown(shown, rule->text);
    if (!nacre_address_parse(rule->text, strlen(rule->text), &address)) {
        WHAT(&decision, "'%s' is not the address of a resolver", shown);
        FIX(&decision, "give an address, as 192.0.2.53");
        nacre_draft_refuse(draft, CODE_BAD_REQUEST, &decision);
        return;
    }
    if (nacre_egress_is_open(&draft->plan->egress)) {
        WHAT(&decision, "%s: asked for names, instead of the host's own", shown);
        WALL(&decision, "the door's resolver; each answer is judged");
    } else {
        decision.verdict = NACRE_VERDICT_NOTE;
        WHAT(&decision, "%s: no effect: nothing is reachable, so no name is asked for",
             shown);
    }
    nacre_draft_add(draft, &decision);
}

/* A fixed answer is an answer: one that leads to a private place is refused like any
 * other, here at once. */
static void fixed_line(struct draft *draft, size_t item)
{
    const struct nacre_rule *rule = &draft->policy->network.fixed_hosts.items[item];
    struct nacre_decision decision = { .place = rule->place,
                                       .verdict = NACRE_VERDICT_GRANT };
    struct nacre_egress_verdict verdict = { .allowed = true };
    char name[NACRE_NAME_SIZE], shown[NACRE_SHOWN];
    struct nacre_address address;

    nacre_rule_name(decision.rule, RULE_FIXED_HOSTS, item + 1);
    (void)nacre_text_shown(shown, rule->text);
    if (!nacre_fixed_host_read(rule->text, name, &address)) {
        WHAT(&decision, "'%s' is not a name with its address", shown);
        FIX(&decision, "give a host's name and the address that it leads to");
        nacre_draft_refuse(draft, CODE_BAD_REQUEST, &decision);
        return;
    }
    if (!nacre_egress_is_open(&draft->plan->egress)) {
        decision.verdict = NACRE_VERDICT_NOTE;
        WHAT(&decision, "%s: no effect: nothing is reachable", shown);
        nacre_draft_add(draft, &decision);
        return;
    }
    nacre_egress_judge_address(&draft->plan->egress, name, &address, &verdict);
    WHAT(&decision, "%s: a fixed answer%s", shown,
         verdict.allowed ? "" : ", which no guest may reach");
    WALL(&decision, "judged like any answer of DNS");
    if (!verdict.allowed) {
        decision.verdict = NACRE_VERDICT_DENY;
        FIX(&decision, "give a public address");
    }
    nacre_draft_add(draft, &decision);
}

static void network_answers(struct draft *draft)
{
    for (size_t i = 0; i < draft->policy->network.resolvers.count; i++)
        resolver_line(draft, i);
    for (size_t i = 0; i < draft->policy->network.fixed_hosts.count; i++)
        fixed_line(draft, i);
}

static void network_limits(struct draft *draft)
{
    const struct nacre_egress_limits *limits = &draft->plan->egress.limits;
    struct nacre_decision decision = { .rule = "network",
                                       .verdict = NACRE_VERDICT_LIMIT,
                                       .mechanism = "counted by the door" };

    WHAT(&decision,
         "%u requests a run, %u a minute; %" PRIu64 " MiB a body, decoded; %" PRIu64
         " KiB of headers; %u redirects; %u connections",
         limits->requests_max, limits->requests_per_minute_max,
         limits->body_bytes_max >> 20, limits->header_bytes_max >> 10,
         limits->redirects_max, limits->connections_max);
    nacre_draft_add(draft, &decision);
}

/* ---- guards ---- */

static void guard_private(struct draft *draft, const char *rule,
                          const struct nacre_flag *flag, bool warns)
{
    struct nacre_decision decision = { .place = flag->place,
                                       .verdict = NACRE_VERDICT_LIMIT };

    if (flag->place.line == 0)
        return;
    nacre_rule_name(decision.rule, rule, 0);
    WALL(&decision, GUARD_WALL);
    WHAT(&decision, "true: no host leads to a private, local or special address");
    if (!flag->on) {
        decision.verdict = NACRE_VERDICT_GRANT;
        WHAT(&decision, "%sfalse%s: private addresses are reachable; loopback, "
                        "link-local and metadata never are", warns ? "warning: " : "",
             warns ? " is block_private_ips: false" : "");
    }
    nacre_draft_add(draft, &decision);
}

static void guard_pinning(struct draft *draft)
{
    const struct nacre_flag *flag = &draft->policy->network.dns_pinning;
    struct nacre_decision decision = {
        .rule = RULE_SSRF ".dns_pinning",
        .place = flag->place,
        .verdict = NACRE_VERDICT_LIMIT,
        .what = "true: one lookup a hop, and the connection goes to what was checked",
        .mechanism = "the door's own resolver; addresses pinned for each request",
    };

    if (flag->place.line == 0)
        return;
    if (!flag->on && draft->policy->network.mode == NACRE_NETWORK_ALLOWLIST) {
        WHAT(&decision, "dns_pinning: false with mode allowlist: a name that is looked "
                        "up again after the check may lead anywhere");
        FIX(&decision, "set it to true");
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
        return;
    }
    if (!flag->on) {
        decision.verdict = NACRE_VERDICT_NOTE;
        WHAT(&decision, "false: no effect, addresses are pinned all the same");
        WALL(&decision, "");
    }
    nacre_draft_add(draft, &decision);
}

static void idle_guards(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct {
        const char *rule;
        const struct nacre_flag *flag;
    } guards[] = {
        { RULE_SSRF ".enabled", &policy->network.ssrf_enabled },
        { RULE_PRIVATE, &policy->network.block_private_ips },
        { RULE_SSRF ".dns_pinning", &policy->network.dns_pinning },
    };
    bool none = policy->level == NACRE_LEVEL_NONE;

    for (size_t i = 0; i < NACRE_COUNT(guards); i++) {
        struct nacre_decision decision = { .place = guards[i].flag->place,
                                           .verdict = NACRE_VERDICT_NOTE };

        if (decision.place.line == 0)
            continue;
        nacre_rule_name(decision.rule, guards[i].rule, 0);
        /* What an allowlist can't do without, it can't with no host either. */
        if (!none && guards[i].flag == &policy->network.dns_pinning &&
            policy->network.mode == NACRE_NETWORK_ALLOWLIST && !guards[i].flag->on) {
            guard_pinning(draft);
            continue;
        }
        if (none && guards[i].flag->on) {
            WHAT(&decision, "true can't be enforced at level none");
            FIX(&decision, "set it to false, or change the level 'none' to 'process'");
            nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
            continue;
        }
        WHAT(&decision, "%s: no effect: %s", guards[i].flag->on ? "true" : "false",
             none ? "the host's network is not guarded"
                  : "nothing is reachable, so there is nothing to guard");
        nacre_draft_add(draft, &decision);
    }
}

/* ---- the host's own ---- */

/* Nothing stands between a command on the host and its network: a line that restricts
 * it would be a lie, and silence is said aloud. */
static void denied_of_the_host(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = RULE_DENIED_HOSTS,
        .place = draft->policy->network.denied_hosts.place,
        .what = "denied hosts can't be enforced at level none: the command has the "
                "host's network",
        .fix = "change the level 'none' to 'process', or remove the list",
    };

    if (decision.place.line > 0)
        nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
}

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

/* ---- the whole ---- */

/* What the request asks of the network and can't have. */
static void refuse_request(struct draft *draft, const struct nacre_error *why)
{
    struct nacre_decision decision = { 0 };
    bool intercept = strncmp(why->text, "--intercept", 11) == 0;

    nacre_rule_name(decision.rule, intercept ? "request.intercept" : "request.secrets",
                    0);
    WHAT(&decision, "%.250s", why->text);
    FIX(&decision, "%s", intercept ? "leave --intercept out, or list the host under "
                                     "allowed_hosts"
                                   : "bind the secret to hosts like api.example.com");
    nacre_draft_refuse(draft, CODE_BAD_REQUEST, &decision);
}

static void note_intercept(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = "request.intercept",
        .verdict = NACRE_VERDICT_NOTE,
        .what = "no effect: at this level no door ends a tool's TLS",
    };

    if (draft->request->intercept && draft->request->intercept[0])
        nacre_draft_add(draft, &decision);
}

void nacre_draft_network(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    struct nacre_error why = { 0 };
    enum nacre_status status;

    if (policy->level == NACRE_LEVEL_NONE) {
        network_of_the_host(draft);
        denied_of_the_host(draft);
        idle_guards(draft);
        note_intercept(draft);
        return;
    }
    status = nacre_network_rules(policy, draft->request, &draft->plan->egress, &why);
    if (status == NACRE_ERR_DENIED) {
        refuse_request(draft, &why);
        return;
    }
    if (status != NACRE_OK) {
        *draft->err = why;
        draft->status = status;
        return;
    }
    network_mode(draft);
    network_hosts(draft);
    network_answers(draft);
    if (nacre_egress_is_open(&draft->plan->egress)) {
        network_limits(draft);
        guard_private(draft, RULE_SSRF ".enabled", &policy->network.ssrf_enabled, true);
        guard_private(draft, RULE_PRIVATE, &policy->network.block_private_ips, false);
        guard_pinning(draft);
    } else {
        idle_guards(draft);
    }
    if (!nacre_level_is_native(policy->level))
        note_intercept(draft);
}
