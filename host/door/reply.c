/* Trusts no server: what it sent can neither end a line nor a body of ours. */
#include "reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client.h"
#include "nacre/own.h"
#include "nacre/text.h"

struct field {
    const char *name, *value;
    size_t name_count, value_count;
};

/* Those that concern one connection, the framing, or other ways to the host. */
static const char *const not_passed_on[] = {
    "alt-svc", "connection", "content-length", "keep-alive", "proxy-authenticate",
    "proxy-authentication-info", "proxy-connection", "strict-transport-security", "te",
    "trailer", "transfer-encoding", "upgrade",
};

static bool is(const struct field *field, const char *name)
{
    return field->name_count == strlen(name) &&
           strncasecmp(field->name, name, field->name_count) == 0;
}

static bool is_clean(const struct field *field)
{
    for (size_t i = 0; i < field->name_count; i++)
        if (field->name[i] <= ' ' || field->name[i] > '~')
            return false;
    for (size_t i = 0; i < field->value_count; i++) {
        unsigned char byte = (unsigned char)field->value[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return field->name_count > 0;
}

/* The next well-formed line; false at the end. */
static bool next_field(const char **at, const char *end, struct field *ret_field)
{
    while (*at < end) {
        const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line)), *colon;

        stop = stop ? stop : end;
        *at = stop < end ? stop + 1 : end;
        colon = memchr(line, ':', (size_t)(stop - line));
        if (!colon)
            continue;
        *ret_field = (struct field){ .name = line, .name_count = (size_t)(colon - line),
                                     .value = colon + 1,
                                     .value_count = (size_t)(stop - colon - 1) };
        while (ret_field->value_count > 0 && *ret_field->value == ' ') {
            ret_field->value++;
            ret_field->value_count--;
        }
        if (is_clean(ret_field))
            return true;
    }
    return false;
}

static bool read_length(const struct field *field, uint64_t *ret_length)
{
    char digits[20];

    if (field->value_count == 0 || field->value_count >= sizeof(digits))
        return false;
    memcpy(digits, field->value, field->value_count);
    digits[field->value_count] = '\0';
    return nacre_text_u64(digits, UINT64_MAX >> 1, ret_length);
}

static bool is_passed_on(const struct field *field, const struct door_asked *asked)
{
    for (size_t i = 0; i < NACRE_COUNT(not_passed_on); i++)
        if (is(field, not_passed_on[i]))
            return false;
    return asked->is_raw || !is(field, "content-encoding");
}

/*
 * Where https://HOST is reached by saying http://HOST, a Location says so: a tool that
 * followed it as it came would knock at a door that is shut.
 */
static bool rewrite_location(const struct door *door, const struct door_asked *asked,
                             const struct field *field, char *ret_text, size_t size)
{
    const char *hash = memchr(field->value, '#', field->value_count);
    size_t count = hash ? (size_t)(hash - field->value) : field->value_count, length;
    struct nacre_egress_verdict verdict;
    struct nacre_error err;
    struct nacre_url url;

    if (count < 2 || (strncasecmp(field->value, "https:", count < 6 ? count : 6) != 0 &&
                      memcmp(field->value, "//", 2) != 0) ||
        nacre_url_resolve(asked->url, field->value, count, &url, &err) != NACRE_OK ||
        !url.tls)
        return false;
    nacre_egress_judge(&door->egress, url.host, url.port, &verdict);
    if (!verdict.allowed || verdict.way != NACRE_WAY_UPGRADE)
        return false;
    url.tls = false;
    url.port = url.port == 443 ? 80 : url.port;
    if (!nacre_url_text(&url, ret_text, size))
        return false;
    length = strlen(ret_text);
    if (hash)
        (void)snprintf(ret_text + length, size - length, "%.*s",
                       (int)(field->value_count - count), hash);
    return true;
}

static bool add_line(struct door_queue *out, const struct field *field)
{
    return door_queue_add(out, field->name, field->name_count, DOOR_OUT_MAX) &&
           door_queue_add(out, ": ", 2, DOOR_OUT_MAX) &&
           door_queue_add(out, field->value, field->value_count, DOOR_OUT_MAX) &&
           door_queue_add(out, "\r\n", 2, DOOR_OUT_MAX);
}

static bool add_field(struct door_queue *out, const struct door *door,
                      const struct door_asked *asked, struct field *field)
{
    char text[2 * NACRE_URL_BYTES_MAX];

    if (is(field, "location") &&
        rewrite_location(door, asked, field, text, sizeof(text))) {
        field->value = text;
        field->value_count = strlen(text);
    }
    return add_line(out, field);
}

static bool add_framing(struct door_reply *reply, struct door_queue *out,
                        const struct door_asked *asked)
{
    char text[96];
    int count = 0;

    if (reply->is_counted)
        count = snprintf(text, sizeof(text), "Content-Length: %llu\r\n",
                         (unsigned long long)reply->left);
    else if (reply->has_body && !asked->is_old)
        count = snprintf(text, sizeof(text), "Transfer-Encoding: chunked\r\n");
    reply->is_chunked = reply->has_body && !reply->is_counted && !asked->is_old;
    reply->keeps_alive = asked->keeps_alive && !asked->is_old;
    count += snprintf(text + count, sizeof(text) - (size_t)count, "%s\r\n",
                      reply->keeps_alive ? "" : "Connection: close\r\n");
    return door_queue_add(out, text, (size_t)count, DOOR_OUT_MAX);
}

bool door_reply_begin(struct door_reply *reply, struct door_queue *out,
                       const struct door *door, const struct door_asked *asked,
                       uint32_t status, const char *fields, size_t size)
{
    const char *at = fields, *end = fields + size;
    char line[96];
    int count = snprintf(line, sizeof(line), "HTTP/1.1 %u %s\r\n", status,
                         door_reason(status));
    struct field field;

    if (status < 200 || status > 999 ||
        !door_queue_add(out, line, (size_t)count, DOOR_OUT_MAX))
        return false;
    *reply = (struct door_reply){ .begun = true };
    reply->has_body = !asked->is_head && status != 204 && status != 304;
    while (next_field(&at, end, &field)) {
        if (is(&field, "content-length") && asked->is_raw && status != 204)
            reply->is_counted = read_length(&field, &reply->left);
        if (is_passed_on(&field, asked) && !add_field(out, door, asked, &field))
            return false;
    }
    return add_framing(reply, out, asked);
}

bool door_reply_body(struct door_reply *reply, struct door_queue *out,
                      const char *bytes, size_t count)
{
    char size[24];
    int size_count = 0;

    if (!reply->has_body || count == 0)
        return true;
    if (reply->is_counted && count > reply->left)
        return false;
    reply->left -= reply->is_counted ? count : 0;
    if (reply->is_chunked)
        size_count = snprintf(size, sizeof(size), "%zx\r\n", count);
    return door_queue_add(out, size, (size_t)size_count, DOOR_OUT_MAX) &&
           door_queue_add(out, bytes, count, DOOR_OUT_MAX) &&
           (!reply->is_chunked || door_queue_add(out, "\r\n", 2, DOOR_OUT_MAX));
}

bool door_reply_end(struct door_reply *reply, struct door_queue *out)
{
    if (reply->has_body && reply->is_counted && reply->left > 0)
        return false;
    return !reply->is_chunked || door_queue_add(out, "0\r\n\r\n", 5, DOOR_OUT_MAX);
}
