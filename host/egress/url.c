/*
 * Trusts nobody: URLs come from guests, and from servers that redirect them.  Read once,
 * into parts that are put together again where a URL is needed: what was judged is what
 * is asked for.
 */
#include "nacre/url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/text.h"

static enum nacre_status wrong(struct nacre_error *err, const char *why)
{
    return nacre_fail(err, NACRE_ERR_PARSE, "the URL is refused: %s", why);
}

static bool is_hex(char character)
{
    return (character >= '0' && character <= '9') ||
           (character >= 'a' && character <= 'f') ||
           (character >= 'A' && character <= 'F');
}

/* What no part of a URL may have, in words, or NULL. */
static const char *fault_of_bytes(const char *text, size_t length)
{
    if (length == 0)
        return "it is empty";
    if (length > NACRE_URL_BYTES_MAX)
        return "it has more than 8192 bytes";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte <= ' ' || byte == 0x7f)
            return "it has a blank or a control character; write %20 and the like";
        if (byte == '\\')
            return "it has a backslash; write %5C";
        if (byte == '%' &&
            (i + 2 >= length || !is_hex(text[i + 1]) || !is_hex(text[i + 2])))
            return "a '%' is not followed by two hexadecimal digits; write %25";
    }
    return NULL;
}

/* Path and query; `text` begins with '/' or '?', or is empty. */
static enum nacre_status read_target(const char *text, size_t length,
                                     struct nacre_url *url, struct nacre_error *err)
{
    size_t slash = length == 0 || text[0] != '/';

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return wrong(err, "its path or query has letters beyond ASCII; write their "
                              "bytes as %XX");
    if (slash + length >= sizeof(url->target))
        return wrong(err, "it is too long");
    url->target[0] = '/';
    memcpy(url->target + slash, text, length);
    url->target[slash + length] = '\0';
    return NACRE_OK;
}

/* Digits behind the last ':' that no bracket encloses. */
static const char *find_port(const char *text, size_t length)
{
    for (size_t i = length; i > 0 && text[i - 1] != ']'; i--)
        if (text[i - 1] == ':')
            return text + i - 1;
    return NULL;
}

static enum nacre_status read_port(const char *text, size_t length, struct nacre_url *url,
                                   struct nacre_error *err)
{
    char digits[6];
    uint64_t port;

    if (length == 0 || length >= sizeof(digits) || text[0] == '0')
        return wrong(err, "the port must be a number from 1 to 65535");
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!nacre_text_u64(digits, UINT16_MAX, &port))
        return wrong(err, "the port must be a number from 1 to 65535");
    url->port = (uint16_t)port;
    return NACRE_OK;
}

/* HOST or HOST:PORT. */
static enum nacre_status read_authority(const char *text, size_t length,
                                        struct nacre_url *url, struct nacre_error *err)
{
    const char *colon = find_port(text, length);
    size_t host_length = colon ? (size_t)(colon - text) : length;
    enum nacre_status status = NACRE_OK;

    if (memchr(text, '@', length))
        return wrong(err, "a user or password in it; send an Authorization header");
    if (host_length == 0)
        return wrong(err, "it names no host");
    /* A bare IPv6 address would be read as host and port. */
    if (text[0] != '[' && memchr(text, ':', host_length))
        return wrong(err, "an IPv6 address is written in brackets");
    url->port = url->tls ? 443 : 80;
    if (colon)
        status = read_port(colon + 1, length - host_length - 1, url, err);
    if (status != NACRE_OK)
        return status;
    status = nacre_name_normalise(text, host_length, url->host, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the URL is refused: its host");
    url->is_address = nacre_address_parse(url->host, strlen(url->host), &url->address);
    return NACRE_OK;
}

static size_t authority_length(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length && text[at] != '/' && text[at] != '?' && text[at] != '#')
        at++;
    return at;
}

/* What follows "scheme://". */
static enum nacre_status read_rest(bool tls, const char *text, size_t length,
                                   struct nacre_url *ret_url, struct nacre_error *err)
{
    size_t authority = authority_length(text, length);
    struct nacre_url url = { .tls = tls };
    enum nacre_status status;

    if (memchr(text, '#', length))
        return wrong(err, "it has a fragment ('#...'), which is never sent; write %23");
    status = read_authority(text, authority, &url, err);
    if (status == NACRE_OK)
        status = read_target(text + authority, length - authority, &url, err);
    if (status == NACRE_OK)
        *ret_url = url;
    return status;
}

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && strncasecmp(text, with, strlen(with)) == 0;
}

enum nacre_status nacre_url_parse(const char *text, size_t length,
                                  struct nacre_url *ret_url, struct nacre_error *err)
{
    const char *fault = fault_of_bytes(text, length);

    if (fault)
        return wrong(err, fault);
    if (begins(text, length, "https://"))
        return read_rest(true, text + 8, length - 8, ret_url, err);
    if (begins(text, length, "http://"))
        return read_rest(false, text + 7, length - 7, ret_url, err);
    return wrong(err, "it must begin with http:// or https://");
}

/* ---- redirects ---- */

/* "a/b/../c" of RFC 3986, 5.2.4, in place; a query is left as it is. */
static void remove_dots(char *target)
{
    size_t path = strcspn(target, "?"), read = 0, written = 0;

    while (read < path) {
        size_t segment = 1; /* with the slash in front of it */

        while (read + segment < path && target[read + segment] != '/')
            segment++;
        if (segment == 3 && memcmp(target + read, "/..", 3) == 0) {
            while (written > 0 && target[--written] != '/')
                ;
            if (read + segment == path)
                target[written++] = '/';
        } else if (segment == 2 && memcmp(target + read, "/.", 2) == 0) {
            if (read + segment == path)
                target[written++] = '/';
        } else {
            memmove(target + written, target + read, segment);
            written += segment;
        }
        read += segment;
    }
    if (written == 0)
        target[written++] = '/';
    memmove(target + written, target + path, strlen(target + path) + 1);
}

/* A path, with or without its beginning, or a query alone. */
static enum nacre_status resolve_target(const struct nacre_url *base, const char *text,
                                        size_t length, struct nacre_url *ret_url,
                                        struct nacre_error *err)
{
    char merged[2 * NACRE_URL_BYTES_MAX + 2];
    enum nacre_status status;
    struct nacre_url url;
    size_t kept = 0;

    if (length == 0) {
        kept = strlen(base->target);
    } else if (text[0] == '?') {
        kept = strcspn(base->target, "?");
    } else if (text[0] != '/') {
        kept = strcspn(base->target, "?");
        while (base->target[kept - 1] != '/')
            kept--;
    }
    url = *base;
    memcpy(merged, base->target, kept);
    memcpy(merged + kept, text, length);
    merged[kept + length] = '\0';
    if (kept + length > NACRE_URL_BYTES_MAX)
        return wrong(err, "it is too long");
    remove_dots(merged);
    status = read_target(merged, strlen(merged), &url, err);
    if (status == NACRE_OK)
        *ret_url = url;
    return status;
}

/* Letters, digits, '+', '-', '.', then a ':' before any '/', '?' or '#'. */
static bool has_scheme(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length && !strchr(":/?#", text[at]))
        at++;
    return at < length && text[at] == ':';
}

enum nacre_status nacre_url_resolve(const struct nacre_url *base, const char *text,
                                    size_t length, struct nacre_url *ret_url,
                                    struct nacre_error *err)
{
    const char *fault = length > 0 ? fault_of_bytes(text, length) : NULL;
    const char *mark = length > 0 ? memchr(text, '#', length) : NULL;
    size_t start = begins(text, length, "https://") ? 8
                   : begins(text, length, "http://") ? 7
                   : begins(text, length, "//")      ? 2
                                                     : 0;

    if (fault)
        return wrong(err, fault);
    if (mark) {
        /* http://good.example#@evil.example is read in two ways; behind a path, a
         * fragment is the reader's own and never sent. */
        if (start > 0 &&
            text + start + authority_length(text + start, length - start) == mark)
            return wrong(err, "it has a fragment where a path is expected");
        length = (size_t)(mark - text);
    }
    if (start == 2)
        return read_rest(base->tls, text + start, length - start, ret_url, err);
    if (start > 0 || has_scheme(text, length))
        return nacre_url_parse(text, length, ret_url, err);
    return resolve_target(base, text, length, ret_url, err);
}

bool nacre_url_text(const struct nacre_url *url, char *ret_text, size_t size)
{
    bool v6 = url->is_address && url->address.is_v6;
    char port[8] = "";
    int length;

    if (url->port != (url->tls ? 443 : 80))
        (void)snprintf(port, sizeof(port), ":%u", (unsigned)url->port);
    length = snprintf(ret_text, size, "%s://%s%s%s%s%s", url->tls ? "https" : "http",
                      v6 ? "[" : "", url->host, v6 ? "]" : "", port, url->target);
    return length >= 0 && (size_t)length < size;
}
