/*
 * A hop given to libcurl, caged: it neither looks up, nor follows, nor remembers, nor
 * reads a variable or a file but the CA bundle; and what it connects to is judged once
 * more.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fetch.h"
#include "headers.h"
#include "inject.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define CONNECT_MS 30000L
#define BUFFER_BYTES 65536L

/* ---- the last checks ---- */

static bool may_reach(struct door_fetch *fetch, const struct nacre_address *address,
                      unsigned port)
{
    struct nacre_egress_verdict verdict;

    nacre_egress_judge_address(&fetch->door->egress, fetch->url.host, address, &verdict);
    if (verdict.allowed && port == fetch->url.port)
        return true;
    fetch->address_refused = true;
    return false;
}

/* Before any packet: what libcurl is about to connect to. */
static curl_socket_t open_socket(void *data, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    struct door_fetch *fetch = data;
    struct nacre_address to;
    unsigned port = 0;

    if (purpose != CURLSOCKTYPE_IPCXN || address->socktype != SOCK_STREAM ||
        !door_sockaddr_read(&address->addr, &to, &port)) {
        fetch->address_refused = true;
        return CURL_SOCKET_BAD;
    }
    if (!may_reach(fetch, &to, port))
        return CURL_SOCKET_BAD;
    return socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  address->protocol);
}

/*
 * A server closed a connection that was used before, without an answer, and libcurl takes
 * another.  What changes something may have been done by then: it is not sent twice.  The
 * rest is another request.
 */
static bool may_repeat(struct door_fetch *fetch)
{
    static const char *const harmless[] = { "GET", "HEAD", "OPTIONS" };
    struct nacre_egress_record first = fetch->record;
    char text[256];

    for (size_t i = 0; i < NACRE_COUNT(harmless); i++) {
        if (strcmp(fetch->method, harmless[i]) != 0)
            continue;
        (void)snprintf(first.code, sizeof(first.code), "%s",
                       door_code_name(NACRE_HTTP_PROTOCOL));
        door_record(fetch->door, &first);
        if (door_admit(fetch->door, text, sizeof(text)))
            return true;
        fetch_fail(fetch, NACRE_HTTP_TOO_MANY, "%s", text);
        return false;
    }
    fetch_fail(fetch, NACRE_HTTP_PROTOCOL,
               "%.200s closed the connection without an answer. Whether it took the "
               "request is not known: look before you send it again.",
               fetch->url.host);
    return false;
}

/* Before any byte of the request, also on a connection that is used again. */
static int before_request(void *data, char *remote, char *local, int remote_port,
                          int local_port)
{
    struct door_fetch *fetch = data;
    struct nacre_address to = { .is_v6 = strchr(remote, ':') != NULL };

    (void)local;
    (void)local_port;
    if (inet_pton(to.is_v6 ? AF_INET6 : AF_INET, remote, to.bytes) != 1) {
        fetch->address_refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!may_reach(fetch, &to, (unsigned)remote_port) || !fetch->door->running ||
        (fetch->is_sent && !may_repeat(fetch)))
        return CURL_PREREQFUNC_ABORT;
    fetch->record.sent = fetch->is_sent = true;
    return CURL_PREREQFUNC_OK;
}

/* ---- the request's lines ---- */

static bool is_kept(const struct door_fetch *fetch, const struct door_field *field)
{
    bool authorization = door_field_is(field, "Authorization");

    if (door_field_is_ours(field))
        return false;
    if (!fetch->raw_body && door_field_is(field, "Accept-Encoding"))
        return false; /* what comes is decoded here, to be limited and scrubbed */
    if (fetch->body_dropped && door_field_is_of_body(field))
        return false;
    if (!fetch->crossed)
        return true;
    /* Another origin gets no credentials, the guest's own no more than ours. */
    return !door_field_is_sensitive(field) &&
           !(authorization
                 ? door_inject_wanted_authorization(field->value, field->value_size)
                 : door_inject_wanted(DOOR_IN_HEADER, field->value, field->value_size));
}

/* Appends "Name: value" and a terminator; libcurl has "Name;" for an empty value. */
static enum nacre_http_code add_field(const struct door_target *target,
                                      struct door_fetch *fetch,
                                      const struct door_field *field,
                                      struct nacre_egress_verdict *verdict)
{
    struct door_locked *lines = &fetch->lines;
    enum nacre_http_code code = NACRE_HTTP_OK;

    if (!door_locked_add(lines, field->name, field->name_size) ||
        !door_locked_add(lines, field->value_size ? ": " : ";",
                         field->value_size ? 2 : 1))
        return NACRE_HTTP_INTERNAL;
    if (door_field_is(field, "Authorization"))
        code = door_inject_authorization(target, field->value, field->value_size, lines,
                                         verdict);
    else
        code = door_inject(target, DOOR_IN_HEADER, field->value, field->value_size, lines,
                           verdict);
    if (code == NACRE_HTTP_OK && !door_locked_add(lines, "", 1))
        code = NACRE_HTTP_INTERNAL;
    return code;
}

static enum nacre_http_code add_own_fields(struct door_fetch *fetch, bool has_type,
                                           bool has_agent, size_t *count)
{
    static const char expect[] = "Expect:", type[] = "Content-Type:",
                      agent[] = "User-Agent: nacre";
    bool good = door_locked_add(&fetch->lines, expect, sizeof(expect));

    ++*count;
    if (!has_type) { /* else libcurl says that it is a form */
        good = good && door_locked_add(&fetch->lines, type, sizeof(type));
        ++*count;
    }
    if (!has_agent) {
        good = good && door_locked_add(&fetch->lines, agent, sizeof(agent));
        ++*count;
    }
    return good ? NACRE_HTTP_OK : NACRE_HTTP_INTERNAL;
}

/* libcurl's list, over lines that stay where they are: it would copy them into memory
 * that is not locked. */
static bool list_fields(struct door_fetch *fetch, size_t count)
{
    char *at = fetch->lines.bytes;

    fetch->fields = calloc(count, sizeof(*fetch->fields));
    for (size_t i = 0; fetch->fields && i < count; i++) {
        fetch->fields[i] = (struct curl_slist){
            .data = at, .next = i + 1 < count ? &fetch->fields[i + 1] : NULL
        };
        at += strlen(at) + 1;
    }
    return fetch->fields != NULL;
}

static enum nacre_http_code make_fields(const struct door_target *target,
                                        struct door_fetch *fetch,
                                        struct nacre_egress_verdict *verdict)
{
    const char *at = fetch->headers.bytes;
    size_t left = fetch->headers.size, count = 0;
    bool has_type = false, has_agent = false;
    enum nacre_http_code code = NACRE_HTTP_OK;
    struct door_field field;

    while (code == NACRE_HTTP_OK &&
           door_field_next(&at, &left, &field) == DOOR_NEXT_FIELD) {
        if (!is_kept(fetch, &field))
            continue;
        has_type = has_type || door_field_is(&field, "Content-Type");
        has_agent = has_agent || door_field_is(&field, "User-Agent");
        code = add_field(target, fetch, &field, verdict);
        count++;
    }
    if (code == NACRE_HTTP_OK)
        code = add_own_fields(fetch, has_type, has_agent, &count);
    if (code == NACRE_HTTP_OK && !list_fields(fetch, count))
        code = NACRE_HTTP_INTERNAL;
    return code;
}

static enum nacre_http_code refuse_path(struct nacre_egress_verdict *verdict)
{
    *verdict = (struct nacre_egress_verdict){
        .code = "secret-in-path", .rule = "capabilities.secrets",
        .text = "A secret can't stand in the path of a URL. Name it in a header or in "
                "the query.",
    };
    return NACRE_HTTP_DENIED;
}

/* The URL with values in its query.  What a server chose names no secrets of ours. */
static enum nacre_http_code make_url(const struct door_target *target,
                                     struct door_fetch *fetch,
                                     struct nacre_egress_verdict *verdict)
{
    const struct nacre_url *url = &fetch->url;
    struct door_locked *out = &fetch->line_url;
    size_t path = strcspn(url->target, "?");
    bool v6 = url->is_address && url->address.is_v6;
    char origin[NACRE_NAME_SIZE + 32];
    enum nacre_http_code code = NACRE_HTTP_OK;
    int length = snprintf(origin, sizeof(origin), "%s://%s%s%s:%u",
                          url->tls ? "https" : "http", v6 ? "[" : "", url->host,
                          v6 ? "]" : "", url->port);
    bool good = door_locked_add(out, origin, (size_t)length);

    if (fetch->record.hops == 0) {
        if (door_inject_wanted(DOOR_IN_QUERY, url->target, path))
            return refuse_path(verdict);
        good = good && door_locked_add(out, url->target, path);
        if (good)
            code = door_inject(target, DOOR_IN_QUERY, url->target + path,
                               strlen(url->target + path), out, verdict);
    } else {
        good = good && door_locked_add(out, url->target, strlen(url->target));
    }
    if (code == NACRE_HTTP_OK && (!good || !door_locked_add(out, "", 1)))
        code = NACRE_HTTP_INTERNAL;
    return code;
}

/* ---- libcurl's options ---- */

/* The addresses that were judged, as the only ones that this name has. */
static bool pin(struct door_fetch *fetch)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf entry = NACRE_BUF(8192);
    struct nacre_error err;
    enum nacre_status status;

    if (fetch->url.is_address)
        return true;
    status = nacre_buf_addf(&entry, &err, "%s:%u:", fetch->url.host, fetch->url.port);
    for (uint32_t i = 0; i < fetch->addresses.count && status == NACRE_OK; i++) {
        char text[NACRE_ADDRESS_TEXT];

        status = nacre_buf_addf(&entry, &err, "%s%s", i ? "," : "",
                                nacre_address_text(&fetch->addresses.items[i], text));
    }
    if (status != NACRE_OK)
        return false;
    fetch->resolve = curl_slist_append(NULL, entry.bytes);
    return fetch->resolve &&
           curl_easy_setopt(fetch->easy, CURLOPT_RESOLVE, fetch->resolve) == CURLE_OK;
}

#define SET(option, value) (curl_easy_setopt(easy, CURLOPT_##option, value) == CURLE_OK)

static bool set_cage(CURL *easy, const struct door_fetch *fetch)
{
    return SET(PROTOCOLS_STR, fetch->url.tls ? "https" : "http") &&
           SET(REDIR_PROTOCOLS_STR, "https") && SET(FOLLOWLOCATION, 0L) &&
           SET(PROXY, "") && SET(NOPROXY, "*") && SET(NETRC, (long)CURL_NETRC_IGNORED) &&
           SET(HTTPAUTH, (long)CURLAUTH_NONE) && SET(DISALLOW_USERNAME_IN_URL, 1L) &&
           SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(HTTP09_ALLOWED, 0L) &&
           SET(PATH_AS_IS, 1L) && SET(NOSIGNAL, 1L);
}

static bool set_tls(CURL *easy, const struct door_fetcher *fetcher)
{
    /* Without a CAPATH, of which Debian has one by default, libcurl keeps the bundle that
     * it has read: reading it takes longer than a handshake. */
    return SET(SSL_VERIFYPEER, 1L) && SET(SSL_VERIFYHOST, 2L) &&
           SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
           SET(CAINFO, fetcher->bundle) && SET(CAPATH, NULL);
}

static bool set_limits(CURL *easy, const struct door_fetch *fetch)
{
    const struct door *door = fetch->door;
    uint64_t now_ns = nacre_clock_ns();
    uint64_t left_ms = door->deadline_ns > now_ns
                           ? (door->deadline_ns - now_ns) / NACRE_NS_PER_MS + 1
                           : 1;

    if (left_ms > INT32_MAX)
        left_ms = INT32_MAX;
    /* A body that is announced as too large is not begun; of HEAD none comes. */
    if (strcmp(fetch->method, "HEAD") != 0 &&
        !SET(MAXFILESIZE_LARGE, (curl_off_t)door->egress.limits.body_bytes_max))
        return false;
    return SET(TIMEOUT_MS, (long)left_ms) && SET(CONNECTTIMEOUT_MS, CONNECT_MS) &&
           SET(BUFFERSIZE, BUFFER_BYTES);
}

static bool set_calls(CURL *easy, struct door_fetch *fetch)
{
    return SET(PRIVATE, (char *)(void *)fetch) && SET(OPENSOCKETFUNCTION, open_socket) &&
           SET(OPENSOCKETDATA, fetch) && SET(PREREQFUNCTION, before_request) &&
           SET(PREREQDATA, fetch) && SET(HEADERFUNCTION, fetch_take_head) &&
           SET(HEADERDATA, fetch) && SET(WRITEFUNCTION, fetch_take_body) &&
           SET(WRITEDATA, fetch);
}

static bool set_request(CURL *easy, struct door_fetch *fetch)
{
    bool reads = strcmp(fetch->method, "GET") == 0 && fetch->body.size == 0;
    bool good = SET(URL, fetch->line_url.bytes) && SET(HTTPHEADER, fetch->fields);

    if (!fetch->raw_body)
        good = good && SET(ACCEPT_ENCODING, "");
    if (strcmp(fetch->method, "HEAD") == 0)
        return good && SET(NOBODY, 1L);
    if (reads)
        return good && SET(HTTPGET, 1L);
    return good && SET(POST, 1L) &&
           SET(POSTFIELDS, fetch->body.bytes ? fetch->body.bytes : "") &&
           SET(POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.size) &&
           SET(CUSTOMREQUEST, fetch->method);
}

void fetch_send(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher = fetch->door->fetcher;
    struct door_target target = { fetch->door, fetch->url.host, fetch->url.port,
                                  fetch->url.tls };
    struct nacre_egress_verdict verdict;
    enum nacre_http_code code = make_url(&target, fetch, &verdict);

    if (code == NACRE_HTTP_OK)
        code = make_fields(&target, fetch, &verdict);
    if (code == NACRE_HTTP_DENIED) {
        fetch_deny(fetch, code, &verdict);
        return;
    }
    fetch->easy = code == NACRE_HTTP_OK ? curl_easy_init() : NULL;
    if (!fetch->easy || !set_cage(fetch->easy, fetch) || !set_tls(fetch->easy, fetcher) ||
        !set_limits(fetch->easy, fetch) || !set_calls(fetch->easy, fetch) ||
        !set_request(fetch->easy, fetch) || !pin(fetch)) {
        fetch_fail(fetch, NACRE_HTTP_INTERNAL,
                   "The request can't be made: memory for it can't be had or locked.");
        return;
    }
    fetch->is_sent = false;
    fetch->state = FETCH_SENDING;
    if (curl_multi_add_handle(fetcher->multi, fetch->easy) != CURLM_OK)
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "libcurl does not take the request.");
}

void fetch_stop(struct door_fetch *fetch)
{
    if (fetch->easy) {
        (void)curl_multi_remove_handle(fetch->door->fetcher->multi, fetch->easy);
        curl_easy_cleanup(fetch->easy);
        fetch->easy = NULL;
    }
    curl_slist_free_all(fetch->resolve);
    fetch->resolve = NULL;
    free(fetch->fields);
    fetch->fields = NULL;
    fetch->curl_waits = false;
    door_locked_clear(&fetch->lines);
    door_locked_clear(&fetch->line_url);
}
