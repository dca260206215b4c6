/* The text is a guest's: what it asks for is given when it is one of the run's own. */
#include "inject.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "basic.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/text.h"
#include "revoked.h"

#define TOKEN_SIZE (NACRE_TOKEN_TEXT - 1)
#define RULE "capabilities.secrets"

/* Something in a text that stands for a secret. */
struct stand_in {
    size_t at, size;
    const char *name; /* of a placeholder; NULL: a token */
    size_t name_size;
    bool broken;      /* begins like a placeholder and is none */
};

static enum nacre_http_code refuse(struct nacre_egress_verdict *verdict, const char *code,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum nacre_http_code refuse(struct nacre_egress_verdict *verdict, const char *code,
                                   const char *format, ...)
{
    va_list args;

    *verdict = (struct nacre_egress_verdict){ .rule = RULE };
    (void)snprintf(verdict->code, sizeof(verdict->code), "%s", code);
    va_start(args, format);
    (void)vsnprintf(verdict->text, sizeof(verdict->text), format, args);
    va_end(args);
    return NACRE_HTTP_DENIED;
}

/* ---- finding them ---- */

/* How many bytes at `at` are this character, in a query also as %XX; 0: none. */
static size_t match(enum door_place place, const char *text, size_t count, size_t at,
                    char wanted)
{
    char coded[4];

    if (at < count && text[at] == wanted)
        return 1;
    (void)snprintf(coded, sizeof(coded), "%%%02x", (unsigned char)wanted);
    if (place == DOOR_IN_QUERY && count - at >= 3 && at < count &&
        text[at] == '%' && text[at + 1] == coded[1] &&
        tolower((unsigned char)text[at + 2]) == coded[2])
        return 3;
    return 0;
}

static size_t match_all(enum door_place place, const char *text, size_t count, size_t at,
                        const char *wanted)
{
    size_t begin = at;

    for (; *wanted; wanted++) {
        size_t taken = match(place, text, count, at, *wanted);

        if (taken == 0)
            return 0;
        at += taken;
    }
    return at - begin;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_of_token(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_placeholder(enum door_place place, const char *text, size_t count,
                           size_t at, struct stand_in *ret)
{
    size_t head = match_all(place, text, count, at, "{{secret:"), tail;
    size_t end = at + head;

    if (head == 0)
        return false;
    while (end < count && is_name(text[end]) && end - at - head < NACRE_SECRET_NAME_MAX)
        end++;
    tail = match_all(place, text, count, end, "}}");
    *ret = (struct stand_in){ .at = at, .size = end + tail - at, .name = text + at + head,
                              .name_size = end - at - head };
    ret->broken = tail == 0 || ret->name_size == 0;
    return true;
}

static bool is_token(const char *text, size_t count, size_t at, struct stand_in *ret)
{
    static const char prefix[] = NACRE_TOKEN_PREFIX;
    size_t end = at;

    if (count - at < TOKEN_SIZE || memcmp(text + at, prefix, sizeof(prefix) - 1) != 0)
        return false;
    while (end < count && is_of_token(text[end]))
        end++;
    if (end - at != TOKEN_SIZE)
        return false;
    *ret = (struct stand_in){ .at = at, .size = TOKEN_SIZE };
    return true;
}

static bool find(enum door_place place, const char *text, size_t count, size_t from,
                 struct stand_in *ret)
{
    for (size_t at = from; at < count; at++) {
        if (text[at] == '{' || text[at] == '%') {
            if (is_placeholder(place, text, count, at, ret))
                return true;
        } else if (text[at] == 'n' && is_token(text, count, at, ret)) {
            return true;
        }
    }
    return false;
}

bool door_inject_wanted(enum door_place place, const char *text, size_t count)
{
    struct stand_in found;

    return find(place, text, count, 0, &found);
}

/* ---- whose they are ---- */

static enum nacre_http_code find_named(const struct door *door, const struct stand_in *in,
                                       uint32_t *ret_index,
                                       struct nacre_egress_verdict *verdict)
{
    char shown[NACRE_SHOWN];

    if (in->broken)
        return refuse(verdict, "secret-malformed",
                      "\"{{secret:\" begins a placeholder that does not end. Write "
                      "{{secret:NAME}}.");
    for (uint32_t i = 0; i < door->secret_count; i++) {
        const struct door_secret *secret = &door->secrets[i];

        if (secret->value && !secret->by_token &&
            strlen(secret->name) == in->name_size &&
            memcmp(secret->name, in->name, in->name_size) == 0) {
            *ret_index = i;
            return NACRE_HTTP_OK;
        }
    }
    return refuse(verdict, "secret-unknown",
                  "This run has no secret of the name %s. Use one that it was given, or "
                  "ask for this one to be granted.",
                  nacre_text_show(shown, sizeof(shown), in->name, in->name_size));
}

static enum nacre_http_code find_token(const struct door *door, const char *text,
                                       uint32_t *ret_index,
                                       struct nacre_egress_verdict *verdict)
{
    struct nacre_digest digest = nacre_hash(text, TOKEN_SIZE);

    for (uint32_t i = 0; i < door->token_count; i++) {
        const struct door_token *token = &door->tokens[i];

        if (!nacre_digest_equal(&token->digest, &digest))
            continue;
        /* Here and not by whoever reaps: a token is over when its time is. */
        if (nacre_clock_wall_ms() >= token->expires_ms)
            return refuse(verdict, "token-expired",
                          "The token for secret %s has expired. Ask for a new one.",
                          door->secrets[token->secret].name);
        if (door_revoked(door, &digest))
            return refuse(verdict, "token-revoked",
                          "The token for secret %s was revoked. Ask for a new one.",
                          door->secrets[token->secret].name);
        *ret_index = token->secret;
        return NACRE_HTTP_OK;
    }
    return refuse(verdict, "token-unknown",
                  "A token in this request is not one of this run, or has been "
                  "withdrawn. Use the one in the environment.");
}

/* "api.example.com:8443, *.example.org", as much as fits. */
static void list_hosts(const struct nacre_egress_secret *secret, char *ret_text,
                       size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (uint32_t i = 0; i < secret->host_count && used + 1 < size; i++) {
        char host[NACRE_EGRESS_HOST_TEXT];
        int more = snprintf(ret_text + used, size - used, "%s%s", i ? ", " : "",
                            nacre_egress_host_text(&secret->hosts[i], host));

        used += more > 0 ? (size_t)more : 0;
    }
}

static enum nacre_http_code check(const struct door_target *target, uint32_t index,
                                  struct nacre_egress_verdict *verdict)
{
    const struct nacre_egress_secret *rule = &target->door->egress.secrets[index];
    char hosts[160];

    if (rule->host_count == 0)
        return refuse(verdict, "secret-not-bound",
                      "Secret %.64s is put in nowhere: it is bound to no host, or this "
                      "run was handed the value itself.",
                      rule->name);
    list_hosts(rule, hosts, sizeof(hosts));
    if (!nacre_egress_binds(rule, target->host, target->port))
        return refuse(verdict, "secret-not-bound",
                      "Secret %.64s is bound to %s and may not go to %.100s:%u. Send it "
                      "there, or leave it out.",
                      rule->name, hosts, target->host, target->port);
    if (!target->tls)
        return refuse(verdict, "secret-in-clear",
                      "Secret %.64s goes over https only. Ask for https://%.100s "
                      "instead.",
                      rule->name, target->host);
    if (!target->door->secrets[index].value)
        return refuse(verdict, "secret-unknown", "This run was not given secret %.64s.",
                      rule->name);
    return NACRE_HTTP_OK;
}

/* ---- putting in ---- */

static bool put_in_query(const struct door_secret *secret, struct door_locked *out)
{
    bool good = true;

    for (size_t i = 0; i < secret->count && good; i++) {
        unsigned char c = secret->value[i];
        char coded[4] = { (char)c };

        if (isalnum(c) || (c != '\0' && strchr("-._~", c))) {
            good = door_locked_add(out, coded, 1);
        } else {
            (void)snprintf(coded, sizeof(coded), "%%%02X", c);
            good = door_locked_add(out, coded, 3);
        }
        explicit_bzero(coded, sizeof(coded));
    }
    return good;
}

static enum nacre_http_code put(const struct door_target *target, enum door_place place,
                                uint32_t index, struct door_locked *out,
                                struct nacre_egress_verdict *verdict)
{
    const struct door_secret *secret = &target->door->secrets[index];

    if (place == DOOR_IN_QUERY)
        return put_in_query(secret, out) ? NACRE_HTTP_OK : NACRE_HTTP_INTERNAL;
    for (size_t i = 0; i < secret->count; i++) {
        if (secret->value[i] < ' ' || secret->value[i] == 0x7f)
            return refuse(verdict, "secret-not-for-header",
                          "Secret %.64s has line ends or other control characters: it "
                          "can't stand in a header.",
                          secret->name);
    }
    return door_locked_add(out, secret->value, secret->count) ? NACRE_HTTP_OK
                                                              : NACRE_HTTP_INTERNAL;
}

enum nacre_http_code door_inject(const struct door_target *target, enum door_place place,
                                 const char *text, size_t count, struct door_locked *out,
                                 struct nacre_egress_verdict *ret_verdict)
{
    struct stand_in in;
    size_t at = 0;

    while (find(place, text, count, at, &in)) {
        uint32_t index = 0;
        enum nacre_http_code code =
            in.name ? find_named(target->door, &in, &index, ret_verdict)
                    : find_token(target->door, text + in.at, &index, ret_verdict);

        if (code == NACRE_HTTP_OK)
            code = check(target, index, ret_verdict);
        if (code == NACRE_HTTP_OK && !door_locked_add(out, text + at, in.at - at))
            code = NACRE_HTTP_INTERNAL;
        if (code == NACRE_HTTP_OK)
            code = put(target, place, index, out, ret_verdict);
        if (code != NACRE_HTTP_OK)
            return code;
        at = in.at + in.size;
    }
    return door_locked_add(out, text + at, count - at) ? NACRE_HTTP_OK
                                                       : NACRE_HTTP_INTERNAL;
}

/* ---- inside Basic ---- */

bool door_inject_wanted_authorization(const char *text, size_t count)
{
    NACRE_AUTO(door_locked_clear) struct door_locked inside = { 0 };

    return door_inject_wanted(DOOR_IN_HEADER, text, count) ||
           (door_basic_read(text, count, &inside) &&
            door_inject_wanted(DOOR_IN_HEADER, inside.bytes, inside.size));
}

enum nacre_http_code door_inject_authorization(const struct door_target *target,
                                               const char *text, size_t count,
                                               struct door_locked *out,
                                               struct nacre_egress_verdict *ret_verdict)
{
    NACRE_AUTO(door_locked_clear) struct door_locked inside = { 0 };
    NACRE_AUTO(door_locked_clear) struct door_locked filled = { 0 };
    enum nacre_http_code code;

    if (!door_basic_read(text, count, &inside) ||
        !door_inject_wanted(DOOR_IN_HEADER, inside.bytes, inside.size))
        return door_inject(target, DOOR_IN_HEADER, text, count, out, ret_verdict);
    code = door_inject(target, DOOR_IN_HEADER, inside.bytes, inside.size, &filled,
                       ret_verdict);
    if (code == NACRE_HTTP_OK && !door_basic_write(filled.bytes, filled.size, out))
        code = NACRE_HTTP_INTERNAL;
    return code;
}
