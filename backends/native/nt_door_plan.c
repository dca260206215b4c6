/* What of a door follows from the plan alone: nothing is looked at, nothing is opened. */
#include <stdio.h>
#include <string.h>

#include "nacre/buf.h"
#include "nacre/own.h"
#include "nt_door.h"

#define HOSTS_MAX ((size_t)1 << 20)

bool nt_door_is_planned(const struct nacre_plan *plan)
{
    return nacre_egress_is_open(&plan->egress);
}

/* ---- names ---- */

void nt_door_names_clear(struct nt_door_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    free(names->hosts);
    *names = (struct nt_door_names){ 0 };
}

static enum nacre_status add_name(struct nt_door_names *names, struct nacre_buf *hosts,
                                  const char *name, bool below, struct nacre_error *err)
{
    char *text = NULL;

    if (asprintf(&text, "%s%s", below ? "*." : "", name) < 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the names of a sandbox's door");
    names->names[names->count++] = text;
    if (below || strcmp(name, "*") == 0)
        return NACRE_OK;
    return nacre_buf_addf(hosts, err, DOORWAY_HOST_ADDRESS " %s\n", name);
}

enum nacre_status nt_door_names_make(const struct nacre_plan *plan,
                                     struct nt_door_names *ret_names,
                                     struct nacre_error *err)
{
    const struct nacre_egress *egress = &plan->egress;
    NACRE_AUTO(nt_door_names_clear) struct nt_door_names names = { 0 };
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf hosts = NACRE_BUF(HOSTS_MAX);
    enum nacre_status status = NACRE_OK;

    if (nt_door_is_planned(plan)) {
        names.names = calloc(egress->allowed_count + 2u, sizeof(*names.names));
        if (!names.names)
            return nacre_fail(err, NACRE_ERR_MEMORY, "the names of a sandbox's door");
        if (egress->mode == NACRE_NETWORK_ALLOW_ALL)
            status = add_name(&names, &hosts, "*", false, err);
        for (uint32_t i = 0; i < egress->allowed_count && status == NACRE_OK; i++)
            if (!egress->allowed[i].is_address)
                status = add_name(&names, &hosts, egress->allowed[i].name,
                                  egress->allowed[i].below, err);
    }
    if (status != NACRE_OK)
        return status;
    names.hosts = strdup(hosts.bytes ? hosts.bytes : "");
    if (!names.hosts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the names of a sandbox's door");
    *ret_names = names;
    names = (struct nt_door_names){ 0 };
    return NACRE_OK;
}

/* ---- variables ---- */

size_t nt_door_variables(const struct nacre_plan *plan, const char **defaults,
                         size_t count)
{
    static const char *const leading[] = {
        "HTTP_PROXY=" DOORWAY_PROXY_URL,  "http_proxy=" DOORWAY_PROXY_URL,
        "HTTPS_PROXY=" DOORWAY_PROXY_URL, "https_proxy=" DOORWAY_PROXY_URL,
        "NO_PROXY=",                      "no_proxy=",
    };
    static const char *const trusting[] = {
        "SSL_CERT_FILE=" START_CERTIFICATES,
        "NODE_EXTRA_CA_CERTS=" START_CERTIFICATES,
        "REQUESTS_CA_BUNDLE=" START_CERTIFICATES,
        "GIT_SSL_CAINFO=" START_CERTIFICATES,
        "CURL_CA_BUNDLE=" START_CERTIFICATES,
    };
    bool intercepts = nacre_egress_intercepts(&plan->egress);

    _Static_assert(NACRE_COUNT(leading) + NACRE_COUNT(trusting) <= NT_DOOR_VARIABLES,
                   "there is room");
    for (size_t i = 0; nt_door_is_planned(plan) && i < NACRE_COUNT(leading); i++)
        defaults[count++] = leading[i];
    for (size_t i = 0; i < NACRE_COUNT(trusting) && intercepts; i++)
        defaults[count++] = trusting[i];
    return count;
}
