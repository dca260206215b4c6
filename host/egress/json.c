/*
 * Reads what came through a socket: the door's from its host, the keeper's from a client.
 * Strict: each member once, none unknown, everything in the one spelling that is written.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/buf.h"
#include "nacre/egress.h"
#include "nacre/leak.h"

#define HOSTS_MAX 4096
#define SECRETS_MAX 1024
#define TEXTS_MAX 1024

static const char *const mode_names[] = {
    [NACRE_NETWORK_UNSET] = "unset",
#define X(id, name) [NACRE_NETWORK_##id] = name,
    NACRE_NETWORK_MAP(X)
#undef X
};

static void json_guard(json_t **json)
{
    json_decref(*json);
}

/* ---- writing ---- */

/* jansson passes a NULL on: a failure anywhere is a failure of the whole. */

static json_t *write_host(const struct nacre_egress_host *host)
{
    char text[NACRE_EGRESS_HOST_TEXT];

    return json_pack("{s:s, s:s, s:I, s:i, s:i}", "host",
                     nacre_egress_host_text(host, text), "way", nacre_way_name(host->way),
                     "index", (json_int_t)host->index,
                     "line", host->place.line, "column", host->place.column);
}

static json_t *write_hosts(const struct nacre_egress_host *hosts, uint32_t count)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, write_host(&hosts[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *write_secrets(const struct nacre_egress *egress)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < egress->secret_count; i++) {
        const struct nacre_egress_secret *secret = &egress->secrets[i];

        if (json_array_append_new(array,
                                  json_pack("{s:s, s:o}", "name", secret->name, "hosts",
                                            write_hosts(secret->hosts,
                                                        secret->host_count))) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* NULL is not an empty list. */
static json_t *write_texts(char *const *texts)
{
    json_t *array = texts ? json_array() : json_null();

    for (size_t i = 0; array && texts && texts[i]; i++)
        if (json_array_append_new(array, json_string(texts[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *write_limits(const struct nacre_egress_limits *limits)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "header_bytes",
                     (json_int_t)limits->header_bytes_max, "body_bytes",
                     (json_int_t)limits->body_bytes_max, "redirects",
                     (json_int_t)limits->redirects_max, "requests",
                     (json_int_t)limits->requests_max, "requests_per_minute",
                     (json_int_t)limits->requests_per_minute_max, "connections",
                     (json_int_t)limits->connections_max);
}

struct sink {
    struct nacre_buf *buf;
    struct nacre_error *err;
    enum nacre_status status;
};

static int add(const char *bytes, size_t count, void *data)
{
    struct sink *sink = data;

    sink->status = nacre_buf_add(sink->buf, bytes, count, sink->err);
    return sink->status == NACRE_OK ? 0 : -1;
}

enum nacre_status nacre_egress_write(const struct nacre_egress *egress,
                                     struct nacre_buf *ret_json, struct nacre_error *err)
{
    struct sink sink = { .buf = ret_json, .err = err };
    NACRE_AUTO(json_guard) json_t *json = json_pack(
        "{s:s, s:o, s:o, s:b, s:b, s:I, s:s, s:o, s:o, s:o, s:o}", "mode",
        mode_names[egress->mode], "allowed",
        write_hosts(egress->allowed, egress->allowed_count), "denied",
        write_hosts(egress->denied, egress->denied_count), "block_private",
        egress->block_private, "scan", egress->scan, "patterns",
        (json_int_t)egress->patterns, "way", nacre_way_name(egress->way), "secrets",
        write_secrets(egress), "limits", write_limits(&egress->limits), "resolvers",
        write_texts(egress->resolvers), "fixed_hosts", write_texts(egress->fixed_hosts));
    size_t before = ret_json->size;

    if (json && json_dump_callback(json, add, &sink, JSON_COMPACT) == 0)
        return NACRE_OK;
    ret_json->size = before;
    if (ret_json->bytes)
        ret_json->bytes[before] = '\0';
    if (sink.status != NACRE_OK)
        return sink.status;
    return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
}

/* ---- reading ---- */

static enum nacre_status wrong(const char *what, struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_PARSE, "the rules of a network: %s", what);
}

static bool read_word(const char *word, const char *const *names, size_t count,
                      unsigned *ret_index)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

static bool read_way(const char *word, enum nacre_way *ret_way)
{
    for (unsigned i = 0; i < NACRE_WAY_COUNT; i++)
        if (strcmp(word, nacre_way_name((enum nacre_way)i)) == 0) {
            *ret_way = (enum nacre_way)i;
            return true;
        }
    return false;
}

static bool is_u32(json_int_t number)
{
    return number >= 0 && number <= UINT32_MAX;
}

static enum nacre_status read_host(json_t *json, struct nacre_egress_host *ret_host,
                                   struct nacre_error *err)
{
    struct nacre_egress_host host = { 0 };
    char again[NACRE_EGRESS_HOST_TEXT];
    const char *text, *way_name;
    enum nacre_status status;
    enum nacre_way way;
    json_int_t index;
    int line, column;

    if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s:I, s:i, s:i}", "host",
                       &text, "way", &way_name, "index", &index, "line", &line, "column",
                       &column) != 0 ||
        !is_u32(index) || line < 0 || column < 0 || !read_way(way_name, &way))
        return wrong("a host is not whole", err);
    status = nacre_egress_host_read(text, &host, err);
    if (status != NACRE_OK)
        return status;
    if (strcmp(nacre_egress_host_text(&host, again), text) != 0) {
        nacre_egress_host_clear(&host);
        return wrong("a host is not in its one spelling", err);
    }
    host.way = way;
    host.index = (uint32_t)index;
    host.place = (struct nacre_place){ line, column };
    *ret_host = host;
    return NACRE_OK;
}

static enum nacre_status read_hosts(json_t *json, struct nacre_egress_host **ret_hosts,
                                    uint32_t *ret_count, struct nacre_error *err)
{
    size_t count = json_array_size(json);

    if (!json_is_array(json) || count > HOSTS_MAX)
        return wrong("a list of hosts", err);
    *ret_hosts = calloc(count + 1, sizeof(**ret_hosts));
    if (!*ret_hosts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    while (*ret_count < count) {
        enum nacre_status status =
            read_host(json_array_get(json, *ret_count), &(*ret_hosts)[*ret_count], err);

        if (status != NACRE_OK)
            return status;
        ++*ret_count;
    }
    return NACRE_OK;
}

static enum nacre_status read_secrets(json_t *json, struct nacre_egress *egress,
                                      struct nacre_error *err)
{
    size_t count = json_array_size(json);

    if (!json_is_array(json) || count > SECRETS_MAX)
        return wrong("secrets", err);
    egress->secrets = calloc(count + 1, sizeof(*egress->secrets));
    if (!egress->secrets)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    while (egress->secret_count < count) {
        struct nacre_egress_secret *secret = &egress->secrets[egress->secret_count];
        enum nacre_status status;
        const char *name;
        json_t *hosts;

        if (json_unpack_ex(json_array_get(json, egress->secret_count), NULL, JSON_STRICT,
                           "{s:s, s:o}", "name", &name, "hosts", &hosts) != 0 ||
            name[0] == '\0')
            return wrong("a secret is not whole", err);
        egress->secret_count++;
        secret->name = strdup(name);
        if (!secret->name)
            return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
        status = read_hosts(hosts, &secret->hosts, &secret->host_count, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

static enum nacre_status read_texts(json_t *json, char ***ret_texts,
                                    struct nacre_error *err)
{
    size_t count = json_array_size(json);

    if (json_is_null(json))
        return NACRE_OK;
    if (!json_is_array(json) || count > TEXTS_MAX)
        return wrong("a list of texts", err);
    *ret_texts = calloc(count + 1, sizeof(**ret_texts));
    if (!*ret_texts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(json, i));

        if (!text)
            return wrong("a list of texts", err);
        (*ret_texts)[i] = strdup(text);
        if (!(*ret_texts)[i])
            return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    }
    return NACRE_OK;
}

static enum nacre_status read_limits(json_t *json, struct nacre_egress_limits *limits,
                                     struct nacre_error *err)
{
    json_int_t header, body, redirects, requests, rate, connections;

    if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:I, s:I, s:I, s:I, s:I, s:I}",
                       "header_bytes", &header, "body_bytes", &body, "redirects",
                       &redirects, "requests", &requests, "requests_per_minute", &rate,
                       "connections", &connections) != 0 ||
        header < 0 || body < 0 || !is_u32(redirects) || !is_u32(requests) ||
        !is_u32(rate) || !is_u32(connections))
        return wrong("limits", err);
    *limits = (struct nacre_egress_limits){
        .header_bytes_max = (uint64_t)header,
        .body_bytes_max = (uint64_t)body,
        .redirects_max = (uint32_t)redirects,
        .requests_max = (uint32_t)requests,
        .requests_per_minute_max = (uint32_t)rate,
        .connections_max = (uint32_t)connections,
    };
    return NACRE_OK;
}

static enum nacre_status read_parts(json_t *json, struct nacre_egress *egress,
                                    struct nacre_error *err)
{
    json_t *allowed, *denied, *secrets, *limits, *resolvers, *fixed_hosts;
    const char *mode_name, *way_name;
    int block_private, scan;
    enum nacre_status status;
    json_int_t patterns;
    unsigned mode;

    if (json_unpack_ex(json, NULL, JSON_STRICT,
                       "{s:s, s:o, s:o, s:b, s:b, s:I, s:s, s:o, s:o, s:o, s:o}", "mode",
                       &mode_name, "allowed", &allowed, "denied", &denied,
                       "block_private", &block_private, "scan", &scan, "patterns",
                       &patterns, "way", &way_name, "secrets", &secrets, "limits",
                       &limits, "resolvers", &resolvers, "fixed_hosts",
                       &fixed_hosts) != 0)
        return wrong("they are not whole", err);
    if (!read_word(mode_name, mode_names, NACRE_COUNT(mode_names), &mode) ||
        !read_way(way_name, &egress->way) || patterns < 0 ||
        patterns > NACRE_LEAK_PATTERNS)
        return wrong("mode, way or patterns", err);
    egress->mode = (enum nacre_network_mode)mode;
    egress->block_private = block_private;
    egress->scan = scan;
    egress->patterns = (uint32_t)patterns;
    status = read_hosts(allowed, &egress->allowed, &egress->allowed_count, err);
    if (status == NACRE_OK)
        status = read_hosts(denied, &egress->denied, &egress->denied_count, err);
    if (status == NACRE_OK)
        status = read_secrets(secrets, egress, err);
    if (status == NACRE_OK)
        status = read_limits(limits, &egress->limits, err);
    if (status == NACRE_OK)
        status = read_texts(resolvers, &egress->resolvers, err);
    if (status == NACRE_OK)
        status = read_texts(fixed_hosts, &egress->fixed_hosts, err);
    return status;
}

enum nacre_status nacre_egress_read(const char *json, size_t count,
                                    struct nacre_egress *ret_egress,
                                    struct nacre_error *err)
{
    struct nacre_egress egress = { 0 };
    json_error_t fault;
    NACRE_AUTO(json_guard) json_t *root =
        json_loadb(json, count, JSON_REJECT_DUPLICATES, &fault);
    enum nacre_status status;

    if (!root && json_error_code(&fault) == json_error_out_of_memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the rules of a network");
    if (!root)
        return wrong(fault.text, err);
    status = read_parts(root, &egress, err);
    if (status == NACRE_OK)
        *ret_egress = egress;
    else
        nacre_egress_clear(&egress);
    return status;
}
