/* From the policy's lines and the request to the rules that the door goes by. */
#include <string.h>

#include "draft.h"
#include "nacre/secrets.h"
#include "nacre/text.h"
#include "network.h"

#define MIB ((uint64_t)1 << 20)

bool nacre_tunnel_is_waived(const struct nacre_request *request)
{
    for (size_t i = 0; request->waive && request->waive[i]; i++)
        if (strcmp(request->waive[i], NACRE_WAIVER_TUNNEL) == 0)
            return true;
    return false;
}

bool nacre_secret_is_doors(const struct nacre_policy *policy,
                           const struct nacre_request *request, uint32_t index)
{
    if (policy->secrets.injection == NACRE_INJECTION_HOST_BOUNDARY ||
        policy->secrets.injection == NACRE_INJECTION_UNSET)
        return true;
    for (uint32_t i = 0; i < request->granted->token_count; i++)
        if (request->granted->tokens[i].secret == index)
            return true;
    return false;
}

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "a plan's network");
}

/* ---- lists ---- */

static enum nacre_status read_list(const struct nacre_rules *rules, enum nacre_way way,
                                   struct nacre_egress_host *hosts, uint32_t *count,
                                   struct nacre_error *err)
{
    for (size_t i = 0; i < rules->count; i++) {
        enum nacre_status status =
            nacre_egress_host_read(rules->items[i].text, &hosts[*count], err);

        if (status != NACRE_OK)
            return status;
        hosts[*count].way = way;
        hosts[*count].index = (uint32_t)i;
        hosts[*count].place = rules->items[i].place;
        ++*count;
    }
    return NACRE_OK;
}

static enum nacre_status bad_host(const char *what, const char *name, const char *host,
                                  struct nacre_error *err)
{
    struct nacre_error why = *err;
    char shown_name[NACRE_SHOWN], shown_host[NACRE_SHOWN];

    if (err->status != NACRE_ERR_PARSE)
        return err->status;
    return nacre_fail(err, NACRE_ERR_DENIED, "%s%s: '%s': %.200s", what,
                      nacre_text_shown(shown_name, name),
                      nacre_text_shown(shown_host, host), why.text);
}

/* One that the door does not put in is bound to no host; but the door has to know it, as
 * what must not leave. */
static enum nacre_status add_secret(const struct nacre_secret *granted, bool is_bound,
                                    struct nacre_egress *egress, struct nacre_error *err)
{
    struct nacre_egress_secret *secret = &egress->secrets[egress->secret_count++];
    size_t count = 0;

    while (is_bound && granted->hosts && granted->hosts[count])
        count++;
    secret->name = nacre_copy(granted->name);
    secret->hosts = calloc(count + 1, sizeof(*secret->hosts));
    if (!secret->name || !secret->hosts)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (nacre_egress_host_read(granted->hosts[i], &secret->hosts[i], err) != NACRE_OK)
            return bad_host("a host of the secret ", granted->name, granted->hosts[i],
                            err);
        secret->hosts[i].index = (uint32_t)i;
        secret->host_count++;
    }
    return NACRE_OK;
}

static enum nacre_status add_secrets(const struct nacre_policy *policy,
                                     const struct nacre_request *request,
                                     struct nacre_egress *egress, struct nacre_error *err)
{
    const struct nacre_secret_set *granted = request->granted;

    if (!granted || granted->count == 0)
        return NACRE_OK;
    egress->secrets = calloc(granted->count, sizeof(*egress->secrets));
    if (!egress->secrets)
        return no_memory(err);
    /* One that the guest holds itself can't pass the scan raw: there its name can. */
    for (uint32_t i = 0; i < granted->count; i++) {
        enum nacre_status status =
            add_secret(&granted->items[i],
                       egress->scan || nacre_secret_is_doors(policy, request, i), egress,
                       err);

        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* ---- what the door may look into ---- */

/* Are all names that `inner` speaks of also spoken of by `outer`? */
static bool names_hold(const struct nacre_egress_host *outer,
                       const struct nacre_egress_host *inner)
{
    size_t length = strlen(inner->name), tail = strlen(outer->name);

    if (strcmp(outer->name, inner->name) == 0)
        return outer->below == inner->below;
    return outer->below && length > tail + 1 &&
           strcmp(inner->name + length - tail, outer->name) == 0 &&
           inner->name[length - tail - 1] == '.';
}

/* --intercept without a port means each that the rule opens, and never one more. */
static bool rule_opens_port(const struct nacre_egress_host *rule, uint16_t port)
{
    return port == 0 || rule->port == port ||
           (rule->port == 0 && (port == 80 || port == 443));
}

/* A host that a wider rule opens gets a rule of its own, in front of all others, with
 * that rule's port and place. */
static enum nacre_status add_intercepted(struct nacre_egress *egress,
                                         const struct nacre_egress_host *host,
                                         struct nacre_egress_host wider,
                                         struct nacre_error *err)
{
    struct nacre_egress_host added = *host, *allowed;

    allowed = realloc(egress->allowed, (egress->allowed_count + 1u) * sizeof(*allowed));
    if (allowed)
        egress->allowed = allowed;
    added.name = allowed ? nacre_copy(host->name) : NULL;
    if (!added.name)
        return no_memory(err);
    added.way = NACRE_WAY_INTERCEPT;
    added.index = wider.index;
    added.place = wider.place;
    if (added.port == 0)
        added.port = wider.port;
    memmove(&allowed[1], allowed, egress->allowed_count * sizeof(*allowed));
    allowed[0] = added;
    egress->allowed_count++;
    return NACRE_OK;
}

/* In the rules of the policy, of which there are `count` at the end of the list. */
static enum nacre_status intercept_listed(struct nacre_egress *egress, uint32_t count,
                                          const struct nacre_egress_host *host,
                                          bool *ret_found, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t left = count; left > 0 && status == NACRE_OK; left--) {
        struct nacre_egress_host *rule = &egress->allowed[egress->allowed_count - left];

        if (names_hold(host, rule) && (host->port == 0 || host->port == rule->port))
            rule->way = NACRE_WAY_INTERCEPT;
        else if (names_hold(rule, host) && rule_opens_port(rule, host->port))
            status = add_intercepted(egress, host, *rule, err);
        else
            continue;
        *ret_found = true;
    }
    return status;
}

static enum nacre_status intercept(struct nacre_egress *egress, uint32_t count,
                                   const char *text, const struct nacre_egress_host *host,
                                   struct nacre_error *err)
{
    struct nacre_egress_verdict verdict;
    char shown[NACRE_SHOWN];
    bool found = false;
    enum nacre_status status = intercept_listed(egress, count, host, &found, err);

    if (status == NACRE_OK && !found && egress->mode == NACRE_NETWORK_ALLOW_ALL) {
        /* A port that the mode leaves shut is not opened by looking into it. */
        nacre_egress_judge(egress, host->name, host->port ? host->port : 443, &verdict);
        found = verdict.allowed;
        if (found)
            status = add_intercepted(egress, host, (struct nacre_egress_host){ 0 }, err);
    }
    if (status != NACRE_OK || found)
        return status;
    return nacre_fail(err, NACRE_ERR_DENIED,
                      "--intercept '%s': not a host that this policy opens",
                      nacre_text_shown(shown, text));
}

static enum nacre_status intercept_all(const struct nacre_request *request,
                                       struct nacre_egress *egress,
                                       struct nacre_error *err)
{
    uint32_t count = egress->allowed_count;

    for (size_t i = 0; request->intercept && request->intercept[i]; i++) {
        struct nacre_egress_host host;
        enum nacre_status status =
            nacre_egress_host_read(request->intercept[i], &host, err);

        if (status != NACRE_OK)
            return bad_host("--intercept", "", request->intercept[i], err);
        status = intercept(egress, count, request->intercept[i], &host, err);
        nacre_egress_host_clear(&host);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* ---- where names lead ---- */

bool nacre_fixed_host_read(const char *text, char ret_name[NACRE_NAME_SIZE],
                           struct nacre_address *ret_address)
{
    const char *equals = strchr(text, '=');
    struct nacre_egress_host host;
    struct nacre_error err;
    char name[NACRE_NAME_SIZE];
    bool good;

    if (!equals || (size_t)(equals - text) >= sizeof(name) ||
        !nacre_address_parse(equals + 1, strlen(equals + 1), ret_address))
        return false;
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    if (nacre_egress_host_read(name, &host, &err) != NACRE_OK)
        return false;
    good = !host.below && !host.is_address && host.port == 0;
    if (good)
        (void)snprintf(ret_name, NACRE_NAME_SIZE, "%s", host.name);
    nacre_egress_host_clear(&host);
    return good;
}

/* What is no address, or no name with one, is left out here and refused by its line. */
static enum nacre_status add_answers(const struct nacre_policy *policy,
                                     struct nacre_egress *egress, struct nacre_error *err)
{
    const struct nacre_rules *resolvers = &policy->network.resolvers;
    const struct nacre_rules *fixed = &policy->network.fixed_hosts;
    char name[NACRE_NAME_SIZE], text[NACRE_NAME_SIZE + NACRE_ADDRESS_TEXT];
    char spelt[NACRE_ADDRESS_TEXT];
    struct nacre_address address;
    size_t used = 0;

    if (resolvers->count > 0) {
        egress->resolvers = calloc(resolvers->count + 1, sizeof(*egress->resolvers));
        for (size_t i = 0; egress->resolvers && i < resolvers->count; i++)
            if (nacre_address_parse(resolvers->items[i].text,
                                    strlen(resolvers->items[i].text), &address) &&
                !(egress->resolvers[used++] = nacre_copy(resolvers->items[i].text)))
                return no_memory(err);
        if (!egress->resolvers)
            return no_memory(err);
    }
    if (fixed->count == 0)
        return NACRE_OK;
    egress->fixed_hosts = calloc(fixed->count + 1, sizeof(*egress->fixed_hosts));
    if (!egress->fixed_hosts)
        return no_memory(err);
    used = 0;
    for (size_t i = 0; i < fixed->count; i++) {
        if (!nacre_fixed_host_read(fixed->items[i].text, name, &address))
            continue;
        (void)snprintf(text, sizeof(text), "%s=%s", name,
                       nacre_address_text(&address, spelt));
        if (!(egress->fixed_hosts[used++] = nacre_copy(text)))
            return no_memory(err);
    }
    return NACRE_OK;
}

/* ---- the whole ---- */

static enum nacre_status fill(const struct nacre_policy *policy,
                              const struct nacre_request *request,
                              struct nacre_egress *egress, struct nacre_error *err)
{
    bool native = nacre_level_is_native(policy->level);
    enum nacre_status status;

    egress->allowed =
        calloc(policy->network.allowed_hosts.count + 1, sizeof(*egress->allowed));
    egress->denied =
        calloc(policy->network.denied_hosts.count + 1, sizeof(*egress->denied));
    if (!egress->allowed || !egress->denied)
        return no_memory(err);
    status = read_list(&policy->network.allowed_hosts, egress->way, egress->allowed,
                       &egress->allowed_count, err);
    if (status == NACRE_OK)
        status = read_list(&policy->network.denied_hosts, NACRE_WAY_NONE, egress->denied,
                           &egress->denied_count, err);
    if (status == NACRE_OK)
        status = add_answers(policy, egress, err);
    if (status == NACRE_OK)
        status = add_secrets(policy, request, egress, err);
    if (status == NACRE_OK && native)
        status = intercept_all(request, egress, err);
    return status;
}

enum nacre_status nacre_network_rules(const struct nacre_policy *policy,
                                      const struct nacre_request *request,
                                      struct nacre_egress *ret_egress,
                                      struct nacre_error *err)
{
    bool scan = policy->secrets.leak_detection.on;
    struct nacre_egress egress = {
        .mode = policy->network.mode,
        .block_private =
            policy->network.ssrf_enabled.on && policy->network.block_private_ips.on,
        .scan = scan,
        .patterns = scan ? (uint32_t)policy->secrets.leak_patterns.value : 0,
        /* A wasm guest's requests are seen whole; a native tool's TLS is not. */
        .way = !nacre_level_is_native(policy->level) ? NACRE_WAY_NONE
               : scan && !nacre_tunnel_is_waived(request) ? NACRE_WAY_UPGRADE
                                                          : NACRE_WAY_TUNNEL,
        .limits = { .header_bytes_max = MIB / 16, .body_bytes_max = 64 * MIB,
                    .redirects_max = 10, .requests_max = 10000,
                    .requests_per_minute_max = 3000, .connections_max = 512 },
    };
    enum nacre_status status = fill(policy, request, &egress, err);

    if (status == NACRE_OK)
        *ret_egress = egress;
    else
        nacre_egress_clear(&egress);
    return status;
}
