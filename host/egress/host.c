/* Reads hosts as people write them: in policies, bindings and on the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/egress.h"
#include "nacre/text.h"

/* What is wrong with an entry before its name is looked at, in words, or NULL. */
static const char *fault_of_entry(const char *text)
{
    const char *name = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
    const char *colon = strchr(name, ':');

    if (text[0] == '\0')
        return "a host must not be empty";
    if (strcmp(text, "*") == 0)
        return "'*' alone is not a host; list the hosts, or say mode: allow-all";
    if (strstr(text, "://"))
        return "a host is written without a scheme, like api.example.com";
    if (strpbrk(text, "/?#@\\"))
        return "a host is written without a user and a path, like api.example.com";
    if (strchr(name, '*'))
        return "'*' may stand only for whole labels in front, like *.example.com";
    if (name[0] != '[' && colon && strchr(colon + 1, ':'))
        return "an IPv6 address is written in brackets, like [2001:db8::1]";
    return NULL;
}

/* Where the name ends; *ret_port is 0 when none is said.  NULL: it is not a port. */
static const char *split_port(const char *text, uint16_t *ret_port)
{
    const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(bracket ? bracket : text, ':');
    uint64_t port;

    *ret_port = 0;
    if (!colon)
        return text + strlen(text);
    if (colon[1] == '0' || !nacre_text_u64(colon + 1, UINT16_MAX, &port))
        return NULL;
    *ret_port = (uint16_t)port;
    return colon;
}

static enum nacre_status read_name(const char *text, char ret_name[NACRE_NAME_SIZE],
                                   uint16_t *ret_port, struct nacre_error *err)
{
    const char *end = split_port(text, ret_port);

    if (!end)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the port must be a number from 1 to 65535");
    return nacre_name_normalise(text, (size_t)(end - text), ret_name, err);
}

enum nacre_status nacre_egress_host_read(const char *text,
                                         struct nacre_egress_host *ret_host,
                                         struct nacre_error *err)
{
    const char *fault = fault_of_entry(text);
    struct nacre_egress_host host = { .below = strncmp(text, "*.", 2) == 0 };
    char name[NACRE_NAME_SIZE];
    enum nacre_status status;

    if (fault)
        return nacre_fail(err, NACRE_ERR_PARSE, "%s", fault);
    status = read_name(host.below ? text + 2 : text, name, &host.port, err);
    if (status != NACRE_OK)
        return status;
    host.is_address = nacre_address_parse(name, strlen(name), &host.address);
    if (host.is_address && host.below)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "'*' has no meaning in front of an address");
    host.name = strdup(name);
    if (!host.name)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a host");
    *ret_host = host;
    return NACRE_OK;
}

const char *nacre_egress_host_text(const struct nacre_egress_host *host,
                                   char ret_text[NACRE_EGRESS_HOST_TEXT])
{
    bool v6 = host->is_address && host->address.is_v6;
    char port[8] = "";

    if (host->port != 0)
        (void)snprintf(port, sizeof(port), ":%u", (unsigned)host->port);
    (void)snprintf(ret_text, NACRE_EGRESS_HOST_TEXT, "%s%s%s%s%s",
                   host->below ? "*." : "", v6 ? "[" : "", host->name, v6 ? "]" : "",
                   port);
    return ret_text;
}

enum nacre_status nacre_egress_asked(const char *text, struct nacre_url *ret_url,
                                     struct nacre_error *err)
{
    struct nacre_url url = { 0 };
    enum nacre_status status;
    const char *fault;

    if (strstr(text, "://"))
        return nacre_url_parse(text, strlen(text), ret_url, err);
    fault = text[0] == '*' ? "a question is about one host, without '*'"
                           : fault_of_entry(text);
    if (fault)
        return nacre_fail(err, NACRE_ERR_PARSE, "%s", fault);
    status = read_name(text, url.host, &url.port, err);
    if (status != NACRE_OK)
        return status;
    url.is_address = nacre_address_parse(url.host, strlen(url.host), &url.address);
    *ret_url = url;
    return NACRE_OK;
}

void nacre_egress_host_clear(struct nacre_egress_host *host)
{
    free(host->name);
    *host = (struct nacre_egress_host){ 0 };
}

/* ---- the whole ---- */

static void hosts_free(struct nacre_egress_host *hosts, uint32_t count)
{
    for (uint32_t i = 0; hosts && i < count; i++)
        free(hosts[i].name);
    free(hosts);
}

static void texts_free(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

void nacre_egress_clear(struct nacre_egress *egress)
{
    hosts_free(egress->allowed, egress->allowed_count);
    hosts_free(egress->denied, egress->denied_count);
    for (uint32_t i = 0; egress->secrets && i < egress->secret_count; i++) {
        free(egress->secrets[i].name);
        hosts_free(egress->secrets[i].hosts, egress->secrets[i].host_count);
    }
    free(egress->secrets);
    texts_free(egress->resolvers);
    texts_free(egress->fixed_hosts);
    *egress = (struct nacre_egress){ 0 };
}

/* Each returns false when memory is short; a copy that is not whole can be cleared. */

static bool copy_hosts(const struct nacre_egress_host *from, uint32_t count,
                       struct nacre_egress_host **ret_to, uint32_t *ret_count)
{
    *ret_to = calloc(count + 1u, sizeof(**ret_to));
    for (uint32_t i = 0; *ret_to && i < count; i++) {
        (*ret_to)[i] = from[i];
        (*ret_to)[i].name = strdup(from[i].name);
        *ret_count = i + 1;
        if (!(*ret_to)[i].name)
            return false;
    }
    return *ret_to;
}

static bool copy_secrets(const struct nacre_egress *from, struct nacre_egress *to)
{
    to->secrets = calloc(from->secret_count + 1u, sizeof(*to->secrets));
    for (uint32_t i = 0; to->secrets && i < from->secret_count; i++) {
        to->secret_count = i + 1;
        to->secrets[i].name = strdup(from->secrets[i].name);
        if (!to->secrets[i].name ||
            !copy_hosts(from->secrets[i].hosts, from->secrets[i].host_count,
                        &to->secrets[i].hosts, &to->secrets[i].host_count))
            return false;
    }
    return to->secrets;
}

static bool copy_texts(char *const *from, char ***ret_to)
{
    size_t count = 0;

    if (!from)
        return true;
    while (from[count])
        count++;
    *ret_to = calloc(count + 1, sizeof(**ret_to));
    for (size_t i = 0; *ret_to && i < count; i++) {
        (*ret_to)[i] = strdup(from[i]);
        if (!(*ret_to)[i])
            return false;
    }
    return *ret_to;
}

enum nacre_status nacre_egress_copy(const struct nacre_egress *egress,
                                    struct nacre_egress *ret_copy,
                                    struct nacre_error *err)
{
    struct nacre_egress copy = {
        .mode = egress->mode,
        .block_private = egress->block_private,
        .scan = egress->scan,
        .patterns = egress->patterns,
        .way = egress->way,
        .limits = egress->limits,
    };

    if (!copy_hosts(egress->allowed, egress->allowed_count, &copy.allowed,
                    &copy.allowed_count) ||
        !copy_hosts(egress->denied, egress->denied_count, &copy.denied,
                    &copy.denied_count) ||
        !copy_secrets(egress, &copy) || !copy_texts(egress->resolvers, &copy.resolvers) ||
        !copy_texts(egress->fixed_hosts, &copy.fixed_hosts)) {
        nacre_egress_clear(&copy);
        return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    }
    *ret_copy = copy;
    return NACRE_OK;
}
