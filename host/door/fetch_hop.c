/*
 * One hop of a fetch: every rule is asked again for each, whoever chose where it goes.
 * Guest and servers are both hostile here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic.h"
#include "fetch.h"
#include "headers.h"
#include "inject.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"

#define URL_TEXT (NACRE_URL_BYTES_MAX + NACRE_NAME_SIZE + 32)

/* ---- what is asked ---- */

static bool check_fields(struct door_fetch *fetch)
{
    const char *at = fetch->headers.bytes;
    size_t left = fetch->headers.size, count = 0;
    struct door_field field;
    enum door_next next;

    while ((next = door_field_next(&at, &left, &field)) == DOOR_NEXT_FIELD) {
        if (++count > DOOR_FIELDS_MAX) {
            fetch_fail(fetch, NACRE_HTTP_BAD_REQUEST, "More than %d header lines.",
                       DOOR_FIELDS_MAX);
            return false;
        }
        if (fetch->door->leaks && door_field_is(&field, "Content-Encoding") &&
            fetch->body.size > 0) {
            fetch_fail(fetch, NACRE_HTTP_BAD_REQUEST,
                       "The body of this request is encoded (Content-Encoding), so that "
                       "it can't be scanned for secrets. Send it as it is.");
            return false;
        }
    }
    if (next == DOOR_NEXT_BAD)
        fetch_fail(fetch, NACRE_HTTP_BAD_REQUEST,
                   "Header line %zu is not \"Name: value\", or has a line end or another "
                   "control character in it.",
                   count + 1);
    return next == DOOR_NEXT_END;
}

void fetch_check(struct door_fetch *fetch)
{
    uint64_t most = fetch->door->egress.limits.body_bytes_max;

    if (!door_method_is_sent(fetch->method)) {
        fetch_fail(fetch, NACRE_HTTP_BAD_REQUEST,
                   "The method is not one that is sent. Use GET, HEAD, POST, PUT, PATCH, "
                   "DELETE or OPTIONS.");
        return;
    }
    if (fetch->headers.size > NACRE_DOOR_HEADERS_MAX || !check_fields(fetch)) {
        fetch_fail(fetch, NACRE_HTTP_BAD_REQUEST, "Over %u KiB of header lines.",
                   NACRE_DOOR_HEADERS_MAX >> 10);
        return;
    }
    if (fetch->body.size > most)
        fetch_fail(fetch, NACRE_HTTP_TOO_LARGE,
                   "The request's body has %zu bytes; %llu may be sent at once.",
                   fetch->body.size, (unsigned long long)most);
}

/* ---- what it would carry out ---- */

/* `again`: of what was looked at in another form, of which only a refusal counts. */
static bool scan(struct door_fetch *fetch, const struct nacre_leaks *leaks,
                 const char *where, const void *bytes, size_t count, bool again)
{
    struct nacre_leak_counts counts = { 0 };
    struct nacre_egress_verdict verdict = {
        .code = "leak", .rule = "capabilities.secrets.leak_detection"
    };
    enum nacre_leak_class worst;

    if (count == 0)
        return true;
    worst = nacre_leaks_find(leaks, bytes, count, &counts);
    if (again && worst < NACRE_LEAK_REDACT)
        return true;
    if (!door_leaked(fetch->door, &counts, worst))
        return true;
    (void)snprintf(verdict.text, sizeof(verdict.text),
                   "The %s of this request to %.100s has a secret in it (%.31s), and may "
                   "not leave. Take it out; a secret that was granted for this host is "
                   "named as {{secret:NAME}} in a header or the query instead.",
                   where, fetch->url.host, counts.first);
    fetch_deny(fetch, NACRE_HTTP_LEAK, &verdict);
    return false;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In place: as a server would read it. */
static size_t decode(char *text, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (text[i] == '%' && count - i > 2 && hex(text[i + 1]) >= 0 &&
            hex(text[i + 2]) >= 0) {
            text[used++] = (char)(hex(text[i + 1]) << 4 | hex(text[i + 2]));
            i += 2;
        } else {
            text[used++] = text[i];
        }
    }
    return used;
}

/* As it was written and as it is read, so that no spelling hides a pattern. */
static bool scan_url(struct door_fetch *fetch, const struct nacre_leaks *leaks)
{
    char text[URL_TEXT];
    size_t count;

    if (!nacre_url_text(&fetch->url, text, sizeof(text))) {
        fetch_fail(fetch, NACRE_HTTP_BAD_URL, "The URL is too long.");
        return false;
    }
    count = strlen(text);
    return scan(fetch, leaks, "URL", text, count, false) &&
           (!memchr(text, '%', count) ||
            scan(fetch, leaks, "URL", text, decode(text, count), true));
}

static bool scan_fields(struct door_fetch *fetch)
{
    const struct nacre_leaks *leaks = fetch->door->leaks;
    const char *at = fetch->headers.bytes;
    size_t left = fetch->headers.size;
    struct door_field field;

    if (!scan(fetch, leaks, "headers", at, left, false))
        return false;
    while (door_field_next(&at, &left, &field) == DOOR_NEXT_FIELD) {
        NACRE_AUTO(door_locked_clear) struct door_locked inside = { 0 };

        if (door_field_is(&field, "Authorization") &&
            door_basic_read(field.value, field.value_size, &inside) &&
            !scan(fetch, leaks, "Authorization header", inside.bytes, inside.size, true))
            return false;
    }
    return true;
}

/* The same for what a form carries, whatever its type says. */
static bool scan_body(struct door_fetch *fetch, const struct nacre_leaks *leaks)
{
    NACRE_AUTO(nacre_heap_guard) char *copy = NULL;
    size_t count = fetch->body.size;

    if (!scan(fetch, leaks, "body", fetch->body.bytes, count, false))
        return false;
    if (count == 0 || !memchr(fetch->body.bytes, '%', count))
        return true;
    copy = malloc(count);
    if (!copy) {
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "No memory to scan the request's body.");
        return false;
    }
    memcpy(copy, fetch->body.bytes, count);
    return scan(fetch, leaks, "body", copy, decode(copy, count), true);
}

static bool scan_all(struct door_fetch *fetch)
{
    const struct nacre_leaks *leaks = fetch->door->leaks;

    /* A guest can have a server put the value that it was sent into where it leads on to:
     * that is no other host's, whether the policy has requests scanned or not. */
    if (!leaks && fetch->crossed)
        leaks = fetch->door->scrub;
    if (!leaks)
        return true;
    if (!scan_url(fetch, leaks))
        return false;
    if (fetch->record.hops > 0)
        return true; /* the rest is what it was on the first hop */
    return scan(fetch, leaks, "method", fetch->method, strlen(fetch->method), false) &&
           scan_fields(fetch) && scan_body(fetch, leaks);
}

/* ---- a hop ---- */

static void looked_up(void *data, enum nacre_http_code code,
                      const struct door_addresses *addresses, const char *text)
{
    struct door_fetch *fetch = data;

    if (code == NACRE_HTTP_OK) {
        fetch->addresses = *addresses;
        fetch->state = FETCH_FOUND;
        fetch_queue(fetch);
    } else {
        if (addresses->denied[0])
            (void)snprintf(fetch->record.code, sizeof(fetch->record.code), "%s",
                           addresses->denied);
        fetch_fail(fetch, code, "%s%s",
                   fetch->record.hops > 0 ? "The server redirects: " : "", text);
    }
    door_lookup_free(fetch->lookup);
    fetch->lookup = NULL;
}

/* Nothing is looked up for a name that is not allowed, nor for one that is itself what
 * would leak. */
void fetch_begin_hop(struct door_fetch *fetch)
{
    struct door *door = fetch->door;
    struct nacre_egress_verdict verdict;
    struct nacre_error err;
    char text[256];

    nacre_egress_judge(&door->egress, fetch->url.host, fetch->url.port, &verdict);
    if (!verdict.allowed) {
        fetch_deny(fetch, NACRE_HTTP_DENIED, &verdict);
        return;
    }
    if (!scan_all(fetch))
        return;
    if (!door_admit(door, text, sizeof(text))) {
        fetch_fail(fetch, NACRE_HTTP_TOO_MANY, "%s", text);
        return;
    }
    door_timer_set(door->loop, &fetch->deadline, door->deadline_ns);
    fetch->state = FETCH_LOOKING_UP;
    if (door_lookup(door, fetch->url.host, looked_up, fetch, &fetch->lookup, &err) !=
        NACRE_OK)
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "%s", err.text);
}

/* ---- redirects ---- */

bool fetch_is_redirected(const struct door_fetch *fetch)
{
    switch (fetch->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308: return fetch->follow && fetch->location;
    default: return false;
    }
}

static bool same_origin(const struct nacre_url *a, const struct nacre_url *b)
{
    return a->tls == b->tls && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* 303 asks for another thing to be read; so do, by custom, 301 and 302 after a POST. */
static void change_method(struct door_fetch *fetch)
{
    bool reads = strcmp(fetch->method, "GET") == 0 || strcmp(fetch->method, "HEAD") == 0;

    if ((fetch->status == 303 && !reads) ||
        (fetch->status <= 302 && strcmp(fetch->method, "POST") == 0)) {
        (void)snprintf(fetch->method, sizeof(fetch->method), "GET");
        nacre_buf_clear(&fetch->body);
        fetch->body_dropped = true;
    }
}

/* Where it leads; false: nowhere, and the fetch has failed. */
static bool find_next(struct door_fetch *fetch, struct nacre_url *ret_url)
{
    static const struct nacre_egress_verdict downgrade = {
        .code = "https-to-http", .rule = "capabilities.network",
        .text = "The server redirects from https to http, which is never followed. Ask "
                "for the https URL of what you want.",
    };
    size_t length = strcspn(fetch->location, "#"); /* a fragment is for browsers */
    struct nacre_error err;
    char shown[NACRE_SHOWN];

    if (fetch->record.hops >= fetch->door->egress.limits.redirects_max) {
        fetch_fail(fetch, NACRE_HTTP_TOO_MANY,
                   "The server redirects further after %u redirects. Ask for where it "
                   "leads, if you know it.",
                   fetch->record.hops);
        return false;
    }
    if (nacre_url_resolve(&fetch->url, fetch->location, length, ret_url, &err) !=
        NACRE_OK) {
        /* With secrets its text is not told: cut to fit, half a value would pass. */
        fetch_fail(fetch, NACRE_HTTP_PROTOCOL,
                   "The server redirects to %s, which is not followed%s%.200s.",
                   fetch->door->scrub ? "something that is no such URL"
                                      : nacre_text_show(shown, sizeof(shown),
                                                        fetch->location, length),
                   fetch->door->scrub ? "" : ": ", fetch->door->scrub ? "" : err.text);
        return false;
    }
    if (fetch->url.tls && !ret_url->tls) {
        fetch_deny(fetch, NACRE_HTTP_DENIED, &downgrade);
        return false;
    }
    return true;
}

static void follow(struct door_fetch *fetch)
{
    struct nacre_url next;

    if (!find_next(fetch, &next))
        return;
    if (!same_origin(&fetch->url, &next))
        fetch->crossed = true;
    change_method(fetch);
    fetch->url = next;
    fetch->record.hops++;
    fetch_forget_answer(fetch);
    fetch_begin_hop(fetch);
}

/* ---- the end of one ---- */

static void fail_by(struct door_fetch *fetch, const char *host)
{
    const char *words = curl_easy_strerror(fetch->result);

    switch ((int)fetch->result) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
        fetch_fail(fetch, NACRE_HTTP_UNREACHABLE,
                   "No connection to %.200s, port %u. The server may be down.", host,
                   fetch->url.port);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        fetch_fail(fetch, NACRE_HTTP_TIMED_OUT, "%.200s did not answer in time.", host);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        fetch_fail(fetch, NACRE_HTTP_TLS,
                   "%.200s can't prove who it is, or speaks no TLS that is accepted "
                   "(%s). Nothing was sent.",
                   host, words);
        break;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_COULDNT_RESOLVE_HOST:
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The door itself has failed (%s).", words);
        break;
    case CURLE_FILESIZE_EXCEEDED:
        fetch_fail(fetch, NACRE_HTTP_TOO_LARGE,
                   "The answer of %.200s is larger than the %llu bytes that may come. "
                   "Ask for a part of it.",
                   host, (unsigned long long)fetch->door->egress.limits.body_bytes_max);
        break;
    default:
        fetch_fail(fetch, NACRE_HTTP_PROTOCOL,
                   "The connection to %.200s broke, or its answer makes no sense (%s).",
                   host, words);
    }
}

void fetch_end_hop(struct door_fetch *fetch)
{
    static const struct nacre_egress_verdict refused = {
        .code = "address-denied", .rule = "capabilities.network.ssrf_protection",
        .text = "The connection led to an address that may not be reached. Nothing was "
                "sent.",
    };
    bool redirected = fetch->head_over && fetch_is_redirected(fetch);
    curl_off_t sent = 0;

    if (curl_easy_getinfo(fetch->easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK)
        fetch->record.bytes_sent += (uint64_t)sent;
    fetch_stop(fetch);
    if (fetch->address_refused) {
        fetch_deny(fetch, NACRE_HTTP_DENIED, &refused);
        return;
    }
    /* A redirect's body is of no interest, also when it was cut. */
    if (redirected) {
        follow(fetch);
        return;
    }
    if (fetch->result != CURLE_OK) {
        fail_by(fetch, fetch->url.host);
        return;
    }
    if (!fetch->head_over) {
        fetch_fail(fetch, NACRE_HTTP_PROTOCOL, "%.200s gave no answer.", fetch->url.host);
        return;
    }
    fetch_end_body(fetch);
    if (fetch->state != FETCH_OVER) {
        fetch->code = NACRE_HTTP_OK;
        fetch->state = FETCH_OVER;
    }
}
