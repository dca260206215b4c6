/*
 * Any bytes as a name, a URL, a redirect, an entry of a list and as rules: what is
 * accepted has one form that reads as itself, and holds nothing that another reader would
 * trip over.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/buf.h"
#include "nacre/egress.h"
#include "nacre/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
    char again[NACRE_NAME_SIZE];
    struct nacre_error err;
    struct nacre_address address;

    assert(name[0] && strlen(name) < NACRE_NAME_SIZE);
    for (const char *at = name; *at; at++)
        assert((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') ||
               strchr("-_.:", *at));
    assert(nacre_name_normalise(name, strlen(name), again, &err) == NACRE_OK);
    assert(strcmp(name, again) == 0);
    if (strchr(name, ':') || nacre_address_is_numeric(name, strlen(name)))
        assert(nacre_address_parse(name, strlen(name), &address));
}

static void check_url(const struct nacre_url *url)
{
    static char text[NACRE_URL_BYTES_MAX + 300];
    static struct nacre_url again;
    struct nacre_error err;

    check_name(url->host);
    assert(url->port != 0 && url->target[0] == '/');
    for (const char *at = url->target; *at; at++)
        assert(*at > ' ' && *at < 0x7f && *at != '\\' && *at != '#');
    assert(nacre_url_text(url, text, sizeof(text)));
    if (strlen(text) > NACRE_URL_BYTES_MAX)
        return; /* a name grew in its A-labels */
    assert(nacre_url_parse(text, strlen(text), &again, &err) == NACRE_OK);
    assert(strcmp(again.host, url->host) == 0 && again.port == url->port &&
           again.tls == url->tls && strcmp(again.target, url->target) == 0);
}

static void check_redirect(const char *bytes, size_t size)
{
    static struct nacre_url base, url;
    static const char from[] = "https://a.example:81/b/c?d";
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status;

    assert(nacre_url_parse(from, strlen(from), &base, &err) == NACRE_OK);
    status = nacre_url_resolve(&base, bytes, size, &url, &err);
    assert(status == err.status);
    if (status != NACRE_OK)
        return;
    check_url(&url);
    /* Without two slashes nobody is led away. */
    if (size < 2 || !memmem(bytes, size, "//", 2))
        assert(strcmp(url.host, "a.example") == 0 && url.port == 81 && url.tls);
}

static void check_entry(const char *text)
{
    char again[NACRE_EGRESS_HOST_TEXT];
    struct nacre_egress_host host, second;
    struct nacre_egress_verdict verdict;
    struct nacre_error err;

    if (nacre_egress_host_read(text, &host, &err) != NACRE_OK)
        return;
    check_name(host.name);
    (void)nacre_egress_host_text(&host, again);
    assert(nacre_egress_host_read(again, &second, &err) == NACRE_OK);
    assert(strcmp(host.name, second.name) == 0 && host.port == second.port &&
           host.below == second.below);
    nacre_egress_judge(&(struct nacre_egress){ .mode = NACRE_NETWORK_ALLOWLIST,
                                               .allowed = &host, .allowed_count = 1,
                                               .block_private = true },
                       host.name, host.port ? host.port : 443, &verdict);
    assert(!host.below || !verdict.allowed); /* never the name itself */
    nacre_egress_host_clear(&host);
    nacre_egress_host_clear(&second);
}

static void check_rules(const char *bytes, size_t size)
{
    struct nacre_buf first = NACRE_BUF((size_t)1 << 20), second = first;
    struct nacre_egress egress, again;
    struct nacre_error err;

    if (nacre_egress_read(bytes, size, &egress, &err) != NACRE_OK)
        return;
    assert(nacre_egress_write(&egress, &first, &err) == NACRE_OK);
    assert(nacre_egress_read(first.bytes, first.size, &again, &err) == NACRE_OK);
    assert(nacre_egress_write(&again, &second, &err) == NACRE_OK);
    assert(first.size == second.size);
    assert(memcmp(first.bytes, second.bytes, first.size) == 0);
    nacre_egress_clear(&egress);
    nacre_egress_clear(&again);
    nacre_buf_clear(&first);
    nacre_buf_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nacre_url url;
    const char *bytes = (const char *)data;
    struct nacre_error err = { .status = NACRE_OK };
    char name[NACRE_NAME_SIZE], *text = calloc(1, size + 1);
    enum nacre_status status = nacre_name_normalise(bytes, size, name, &err);

    assert(status == err.status && text);
    if (status == NACRE_OK)
        check_name(name);
    err.status = NACRE_OK;
    status = nacre_url_parse(bytes, size, &url, &err);
    assert(status == err.status);
    if (status == NACRE_OK)
        check_url(&url);
    check_redirect(bytes, size);
    check_rules(bytes, size);
    if (size > 0)
        memcpy(text, bytes, size);
    check_entry(text);
    free(text);
    return 0;
}
