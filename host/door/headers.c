/* Reads what guests and servers say: hostile, both of them. */
#include "headers.h"

#include <string.h>
#include <strings.h>

#include "nacre/own.h"

/* Of a request.  Host is the name that was judged, lengths and encodings are what the
 * door makes of the body; the rest is between two ends of one connection. */
static const char *const ours[] = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE",
    "Trailer", "Upgrade", "Expect", "HTTP2-Settings", "Alt-Used", "Via",
};

static const char *const theirs[] = {
    "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade",
    "Alt-Svc", "Public-Key-Pins",
};

static const char *const sensitive[] = {
    "Authorization", "Cookie", "Cookie2", "X-Api-Key", "Api-Key", "X-Auth-Token",
    "X-Access-Token", "X-Amz-Security-Token", "X-Goog-Api-Key", "Private-Token",
    "X-Csrf-Token", "X-Xsrf-Token",
};

static const char *const of_body[] = {
    "Content-Type", "Content-Encoding", "Content-Language", "Content-Location",
    "Content-Disposition", "Digest", "Content-MD5",
};

/* RFC 9110, token. */
static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_value(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(struct door_field *field)
{
    while (field->value_size > 0 && is_blank(field->value[0])) {
        field->value++;
        field->value_size--;
    }
    while (field->value_size > 0 && is_blank(field->value[field->value_size - 1]))
        field->value_size--;
}

enum door_next door_field_next(const char **at, size_t *left,
                               struct door_field *ret_field)
{
    struct door_field field = { .name = *at };
    const char *end;

    if (*left == 0)
        return DOOR_NEXT_END;
    end = memchr(*at, '\n', *left);
    if (!end)
        return DOOR_NEXT_BAD;
    while (field.name + field.name_size < end &&
           is_token((unsigned char)field.name[field.name_size]))
        field.name_size++;
    if (field.name_size == 0 || field.name + field.name_size >= end ||
        field.name[field.name_size] != ':')
        return DOOR_NEXT_BAD;
    field.value = field.name + field.name_size + 1;
    field.value_size = (size_t)(end - field.value);
    for (size_t i = 0; i < field.value_size; i++) {
        if (!is_value((unsigned char)field.value[i]))
            return DOOR_NEXT_BAD;
    }
    trim(&field);
    *left -= (size_t)(end + 1 - *at);
    *at = end + 1;
    *ret_field = field;
    return DOOR_NEXT_FIELD;
}

bool door_field_is(const struct door_field *field, const char *name)
{
    return strlen(name) == field->name_size &&
           strncasecmp(field->name, name, field->name_size) == 0;
}

static bool is_one_of(const struct door_field *field, const char *const names[],
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (door_field_is(field, names[i]))
            return true;
    }
    return false;
}

static bool is_of_proxy(const struct door_field *field)
{
    static const char prefix[] = "Proxy-";

    return field->name_size >= sizeof(prefix) - 1 &&
           strncasecmp(field->name, prefix, sizeof(prefix) - 1) == 0;
}

bool door_field_is_ours(const struct door_field *field)
{
    return is_of_proxy(field) || is_one_of(field, ours, NACRE_COUNT(ours));
}

bool door_field_is_theirs(const struct door_field *field)
{
    return is_of_proxy(field) || is_one_of(field, theirs, NACRE_COUNT(theirs));
}

bool door_field_is_sensitive(const struct door_field *field)
{
    return is_one_of(field, sensitive, NACRE_COUNT(sensitive));
}

bool door_field_is_of_body(const struct door_field *field)
{
    return is_one_of(field, of_body, NACRE_COUNT(of_body));
}

bool door_method_is_sent(const char *method)
{
    static const char *const never[] = { "CONNECT", "TRACE", "TRACK" };
    size_t length = strlen(method);

    if (length == 0 || length > 15 ||
        strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") < length)
        return false;
    for (size_t i = 0; i < NACRE_COUNT(never); i++) {
        if (strcmp(method, never[i]) == 0)
            return false;
    }
    return true;
}
