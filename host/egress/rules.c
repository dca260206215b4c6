/* Trusts the plan; names and addresses are anybody's. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/egress.h"
#include "nacre/text.h"

#define RULE_MODE "capabilities.network.mode"
#define RULE_ALLOWED "capabilities.network.allowed_hosts"
#define RULE_DENIED "capabilities.network.denied_hosts"
#define RULE_PRIVATE "capabilities.network.ssrf_protection.block_private_ips"
#define RULE_LEAKS "capabilities.secrets.leak_detection.enabled"

const char *nacre_way_name(enum nacre_way way)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_WAY_##id] = name,
        NACRE_WAY_MAP(X)
#undef X
    };

    return (size_t)way < NACRE_COUNT(names) ? names[way] : "?";
}

bool nacre_egress_is_open(const struct nacre_egress *egress)
{
    return egress->mode == NACRE_NETWORK_ALLOW_ALL ||
           (egress->mode == NACRE_NETWORK_ALLOWLIST && egress->allowed_count > 0);
}

bool nacre_egress_intercepts(const struct nacre_egress *egress)
{
    bool some = egress->way == NACRE_WAY_INTERCEPT;

    for (uint32_t i = 0; i < egress->allowed_count; i++)
        some = some || egress->allowed[i].way == NACRE_WAY_INTERCEPT;
    return some && nacre_egress_is_open(egress);
}

/* ---- does a rule speak of this host? ---- */

static bool is_named(const struct nacre_egress_host *host, const char *name)
{
    size_t length = strlen(name), tail = strlen(host->name);

    if (!host->below)
        return strcmp(host->name, name) == 0;
    /* At least one character, and the dot that keeps evilexample.com out. */
    return length >= tail + 2 && name[length - tail - 1] == '.' &&
           strcmp(name + length - tail, host->name) == 0;
}

static bool has_port(const struct nacre_egress_host *host, uint16_t port)
{
    return host->port != 0 ? host->port == port : port == 80 || port == 443;
}

bool nacre_egress_host_covers(const struct nacre_egress_host *host, const char *name,
                              uint16_t port)
{
    return is_named(host, name) && has_port(host, port);
}

bool nacre_egress_binds(const struct nacre_egress_secret *secret, const char *name,
                        uint16_t port)
{
    for (uint32_t i = 0; i < secret->host_count; i++)
        if (nacre_egress_host_covers(&secret->hosts[i], name, port))
            return true;
    return false;
}

/* ---- verdicts ---- */

static void say(struct nacre_egress_verdict *verdict, const char *code, const char *rule,
                struct nacre_place place)
{
    assert(strlen(code) < sizeof(verdict->code));
    (void)snprintf(verdict->code, sizeof(verdict->code), "%s", code);
    (void)snprintf(verdict->rule, sizeof(verdict->rule), "%s", rule);
    verdict->place = place;
}

static void say_entry(struct nacre_egress_verdict *verdict, const char *code,
                      const char *list, const struct nacre_egress_host *host)
{
    say(verdict, code, list, host->place);
    (void)snprintf(verdict->rule, sizeof(verdict->rule), "%s[%u]", list, host->index);
}

#define TEXT(verdict, ...) \
    (void)snprintf((verdict)->text, sizeof((verdict)->text), __VA_ARGS__)

/* The hosts that are open, as many as fit: what else a guest may try. */
static void list_allowed(const struct nacre_egress *egress, char *ret_text, size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (uint32_t i = 0; i < egress->allowed_count; i++) {
        char host[NACRE_EGRESS_HOST_TEXT];
        int length;

        (void)nacre_egress_host_text(&egress->allowed[i], host);
        length = snprintf(ret_text + used, size - used, "%s%s", used > 0 ? ", " : "",
                          host);
        if (length < 0 || (size_t)length >= size - used) {
            (void)snprintf(ret_text + used, size - used, ", ...");
            return;
        }
        used += (size_t)length;
    }
}

static void deny_unlisted(const struct nacre_egress *egress, const char *name,
                          struct nacre_egress_verdict *verdict)
{
    char others[128], shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, name);
    say(verdict, "host-not-allowed",
        egress->mode == NACRE_NETWORK_ALLOWLIST ? RULE_ALLOWED : RULE_MODE,
        (struct nacre_place){ 0 });
    if (!nacre_egress_is_open(egress)) {
        TEXT(verdict, "%s is denied: %s, so nothing is reachable; do without, or ask for "
                      "a policy that allows the host", shown,
             egress->mode == NACRE_NETWORK_ALLOWLIST ? "allowed_hosts is empty"
                                                     : "mode is deny");
        return;
    }
    list_allowed(egress, others, sizeof(others));
    TEXT(verdict, "%s is denied: no entry of allowed_hosts matches it; allowed: %s",
         shown, others);
}

static void deny_port(const struct nacre_egress_host *host, const char *name,
                      uint16_t port, struct nacre_egress_verdict *verdict)
{
    char shown[NACRE_SHOWN], rule[NACRE_EGRESS_HOST_TEXT];

    say_entry(verdict, "port-not-allowed", RULE_ALLOWED, host);
    (void)nacre_egress_host_text(host, rule);
    if (host->port != 0)
        TEXT(verdict, "port %u of %s is denied: %.120s allows port %u alone", port,
             nacre_text_shown(shown, name), rule, host->port);
    else
        TEXT(verdict, "port %u of %s is denied: %.120s allows ports 80 and 443", port,
             nacre_text_shown(shown, name), rule);
}

/*
 * Ports of other protocols, which a request's text can be made to speak: the list of the
 * Fetch standard.  An entry with the port in allowed_hosts opens it all the same.
 */
static bool is_foreign_port(uint16_t port)
{
    static const uint16_t foreign[] = {
        0,    1,    7,    9,    11,   13,   15,   17,   19,   20,    21,   22,
        23,   25,   37,   42,   43,   53,   69,   77,   79,   87,    95,   101,
        102,  103,  104,  109,  110,  111,  113,  115,  117,  119,   123,  135,
        137,  139,  143,  161,  179,  389,  427,  465,  512,  513,   514,  515,
        526,  530,  531,  532,  540,  548,  554,  556,  563,  587,   601,  636,
        989,  990,  993,  995,  1719, 1720, 1723, 2049, 3659, 4045,  4190, 5060,
        5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,  10080,
    };

    for (size_t i = 0; i < NACRE_COUNT(foreign); i++)
        if (foreign[i] == port)
            return true;
    return false;
}

/* The entry that opens name and port, the first; else *ret_other is one that opens the
 * name for another port, or NULL. */
static const struct nacre_egress_host *
find_allowed(const struct nacre_egress *egress, const char *name, uint16_t port,
             const struct nacre_egress_host **ret_other)
{
    *ret_other = NULL;
    for (uint32_t i = 0; i < egress->allowed_count; i++) {
        const struct nacre_egress_host *host = &egress->allowed[i];

        if (!is_named(host, name))
            continue;
        if (has_port(host, port))
            return host;
        if (!*ret_other)
            *ret_other = host;
    }
    return NULL;
}

/* A secret is put in by the door, and so a tunnel to its host is none. */
static enum nacre_way way_of(const struct nacre_egress *egress, enum nacre_way way,
                             const char *name, uint16_t port)
{
    for (uint32_t i = 0; way == NACRE_WAY_TUNNEL && i < egress->secret_count; i++)
        if (nacre_egress_binds(&egress->secrets[i], name, port))
            return NACRE_WAY_UPGRADE;
    return way;
}

static bool is_localhost(const char *name)
{
    size_t length = strlen(name);

    return strcmp(name, "localhost") == 0 ||
           (length > 10 && strcmp(name + length - 10, ".localhost") == 0);
}

static bool judge_denied(const struct nacre_egress *egress, const char *name,
                         uint16_t port, struct nacre_egress_verdict *verdict)
{
    char shown[NACRE_SHOWN], rule[NACRE_EGRESS_HOST_TEXT];

    for (uint32_t i = 0; i < egress->denied_count; i++) {
        const struct nacre_egress_host *host = &egress->denied[i];

        if (!is_named(host, name) || (host->port != 0 && host->port != port))
            continue;
        say_entry(verdict, "host-denied", RULE_DENIED, host);
        TEXT(verdict, "%s is denied by the entry %.120s of denied_hosts, which wins over "
                      "every other; do without it", nacre_text_shown(shown, name),
             nacre_egress_host_text(host, rule));
        return true;
    }
    if (!is_localhost(name))
        return false;
    say(verdict, "address-never", "(built in)", (struct nacre_place){ 0 });
    TEXT(verdict, "%s is denied: it is the machine itself, which no policy opens",
         nacre_text_shown(shown, name));
    return true;
}

static void judge_name(const struct nacre_egress *egress, const char *name, uint16_t port,
                       struct nacre_egress_verdict *verdict)
{
    const struct nacre_egress_host *other,
        *host = find_allowed(egress, name, port, &other);
    bool open_to_all = egress->mode == NACRE_NETWORK_ALLOW_ALL;
    char shown[NACRE_SHOWN], rule[NACRE_EGRESS_HOST_TEXT];

    if (judge_denied(egress, name, port, verdict))
        return;
    (void)nacre_text_shown(shown, name);
    if (!nacre_egress_is_open(egress) || (!open_to_all && !host && !other)) {
        deny_unlisted(egress, name, verdict);
    } else if (host && !open_to_all) {
        verdict->allowed = true;
        say_entry(verdict, "", RULE_ALLOWED, host);
        TEXT(verdict, "%s is allowed by %.120s", shown,
             nacre_egress_host_text(host, rule));
    } else if (!open_to_all) {
        deny_port(other, name, port, verdict);
    } else if (!host && is_foreign_port(port)) {
        say(verdict, "port-not-allowed", RULE_MODE, (struct nacre_place){ 0 });
        TEXT(verdict, "port %u of %s is denied: it belongs to another protocol than "
                      "http; an entry with the port in allowed_hosts opens it", port,
             shown);
    } else {
        verdict->allowed = true;
        say(verdict, "", RULE_MODE, (struct nacre_place){ 0 });
        TEXT(verdict, "%s is allowed: mode is allow-all", shown);
    }
    if (verdict->allowed)
        verdict->way = way_of(egress, host ? host->way : egress->way, name, port);
}

void nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                const struct nacre_address *address,
                                struct nacre_egress_verdict *ret_verdict)
{
    struct nacre_egress_verdict verdict = { 0 };
    char text[NACRE_ADDRESS_TEXT], shown[NACRE_SHOWN], where[NACRE_ADDRESS_TEXT + 16];
    const char *range;
    enum nacre_reach reach = nacre_address_reach(address, &range);

    (void)nacre_address_text(address, text);
    (void)nacre_text_shown(shown, name);
    (void)snprintf(where, sizeof(where), "it %s%s%s",
                   strcmp(name, text) == 0 ? "is" : "leads to ",
                   strcmp(name, text) == 0 ? "" : text, range[0] ? " in " : "");
    for (uint32_t i = 0; i < egress->denied_count && !verdict.code[0]; i++) {
        const struct nacre_egress_host *host = &egress->denied[i];

        if (!host->is_address || !nacre_address_equal(&host->address, address))
            continue;
        say_entry(&verdict, "address-denied", RULE_DENIED, host);
        TEXT(&verdict, "%s is denied: it leads to %s, which denied_hosts names", shown,
             text);
    }
    if (verdict.code[0]) {
        /* Denied by the list. */
    } else if (reach == NACRE_REACH_PUBLIC) {
        verdict.allowed = true;
        TEXT(&verdict, "%s leads to %s, a public address", shown, text);
    } else if (reach == NACRE_REACH_PRIVATE && !egress->block_private) {
        verdict.allowed = true;
        say(&verdict, "", RULE_PRIVATE, (struct nacre_place){ 0 });
        TEXT(&verdict, "%s is allowed: %s%s, which block_private_ips: false opens", shown,
             where, range);
    } else if (reach == NACRE_REACH_PRIVATE) {
        say(&verdict, "address-private", RULE_PRIVATE, (struct nacre_place){ 0 });
        TEXT(&verdict, "%s is denied: %s%s; only a policy with block_private_ips: false "
                       "opens private addresses", shown, where, range);
    } else {
        say(&verdict, "address-never", "(built in)", (struct nacre_place){ 0 });
        TEXT(&verdict, "%s is denied: %s%s, which no policy opens", shown, where, range);
    }
    *ret_verdict = verdict;
}

void nacre_egress_judge(const struct nacre_egress *egress, const char *name,
                        uint16_t port, struct nacre_egress_verdict *ret_verdict)
{
    struct nacre_egress_verdict verdict = { 0 }, answer;
    struct nacre_address address;

    judge_name(egress, name, port, &verdict);
    if (verdict.allowed && nacre_address_parse(name, strlen(name), &address)) {
        nacre_egress_judge_address(egress, name, &address, &answer);
        if (!answer.allowed)
            verdict = answer;
    }
    *ret_verdict = verdict;
}

/* ---- by what a tool calls ---- */

void nacre_egress_judge_url(const struct nacre_egress *egress, struct nacre_url *url,
                            struct nacre_egress_verdict *ret_verdict)
{
    uint16_t port = url->port == 80 ? 443 : url->port;

    if (!url->tls) {
        nacre_egress_judge(egress, url->host, port, ret_verdict);
        if (ret_verdict->allowed && ret_verdict->way == NACRE_WAY_UPGRADE) {
            url->tls = true;
            url->port = port;
            return;
        }
    }
    nacre_egress_judge(egress, url->host, url->port, ret_verdict);
}

/* Its bytes have to be seen: the scan wants it, or a secret that the door puts in. */
static void deny_opaque(const struct nacre_egress *egress,
                        const struct nacre_egress_host *host,
                        struct nacre_egress_verdict *verdict)
{
    char text[NACRE_EGRESS_HOST_TEXT];

    verdict->allowed = false;
    say(verdict, "call-http",
        egress->way == NACRE_WAY_UPGRADE ? RULE_LEAKS : "request.secrets",
        (struct nacre_place){ 0 });
    (void)nacre_egress_host_text(host, text);
    TEXT(verdict,
         "call http://%.100s/ instead: what is sent to this host is looked at, so the "
         "sandbox's door speaks TLS to it for you (git: url.http://%.50s/.insteadOf "
         "https://%.50s/)",
         text, text, text);
}

void nacre_egress_judge_tls(const struct nacre_egress *egress, const char *name,
                            uint16_t port, struct nacre_egress_verdict *ret_verdict)
{
    struct nacre_egress_host host = { .name = (char *)name,
                                      .port = port == 443 ? 0 : port };

    nacre_egress_judge(egress, name, port, ret_verdict);
    if (!ret_verdict->allowed)
        return;
    host.is_address = nacre_address_parse(name, strlen(name), &host.address);
    if (ret_verdict->way != NACRE_WAY_TUNNEL && ret_verdict->way != NACRE_WAY_INTERCEPT) {
        deny_opaque(egress, &host, ret_verdict);
    } else if (host.is_address) {
        /* No client names an address in its hello, and what has no name stays in. */
        ret_verdict->allowed = false;
        say(ret_verdict, "no-server-name", "(built in)", (struct nacre_place){ 0 });
        TEXT(ret_verdict, "%s is denied over TLS: a connection that names no host (SNI) "
                          "is not let out; connect by name, not by address", name);
    }
}
