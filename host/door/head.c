/* Trusts nothing of what goes in: it comes from the sandbox. */
#include "head.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/own.h"
#include "nacre/text.h"

#define NOMINATED_MAX 16

struct slice {
    const char *bytes;
    size_t count;
};

/* What the fields say, before it is judged as a whole. */
struct facts {
    struct slice host;
    struct slice nominated[NOMINATED_MAX]; /* by Connection */
    uint32_t nominated_count;
    uint32_t hosts, lengths, codings, fields;
    bool says_close, says_upgrade, names_websocket;
};

/* Those that concern one connection, the framing or the host: we make our own. */
static const char *const not_passed_on[] = {
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive",
    "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
};

__attribute__((format(printf, 3, 4))) static enum door_head_is
bad(struct door_head *head, uint32_t status, const char *format, ...)
{
    va_list args;

    head->refusal = status;
    va_start(args, format);
    (void)vsnprintf(head->text, sizeof(head->text), format, args);
    va_end(args);
    return DOOR_HEAD_BAD;
}

static bool is(struct slice slice, const char *word)
{
    return slice.count == strlen(word) &&
           strncasecmp(slice.bytes, word, slice.count) == 0;
}

static bool is_token_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool is_token(struct slice slice)
{
    for (size_t i = 0; i < slice.count; i++)
        if (!is_token_byte(slice.bytes[i]))
            return false;
    return slice.count > 0;
}

static struct slice trimmed(struct slice slice)
{
    while (slice.count > 0 && (slice.bytes[0] == ' ' || slice.bytes[0] == '\t')) {
        slice.bytes++;
        slice.count--;
    }
    while (slice.count > 0 && (slice.bytes[slice.count - 1] == ' ' ||
                               slice.bytes[slice.count - 1] == '\t'))
        slice.count--;
    return slice;
}

/* Up to `end`, which is taken off too; false when there is no such byte. */
static bool cut(struct slice *from, char end, struct slice *ret_part)
{
    const char *at = memchr(from->bytes, end, from->count);

    if (!at)
        return false;
    *ret_part = (struct slice){ from->bytes, (size_t)(at - from->bytes) };
    from->count -= ret_part->count + 1;
    from->bytes = at + 1;
    return true;
}

/* Lines end in CR LF, and neither stands anywhere else. */
static enum door_head_is find_end(const char *bytes, size_t count, struct door_head *head,
                                  size_t *ret_used)
{
    for (size_t i = head->scanned; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte == '\n' ? i == 0 || bytes[i - 1] != '\r' : i > 0 && bytes[i - 1] == '\r')
            return bad(head, 400, "a CR or LF that does not end a line");
        if ((byte < ' ' && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f)
            return bad(head, 400, "a control character in the head of a request");
        if (byte == '\n' && i >= 3 && bytes[i - 2] == '\n') {
            *ret_used = i + 1;
            return DOOR_HEAD_WHOLE;
        }
        head->scanned = i + 1;
    }
    if (count >= DOOR_HEAD_BYTES_MAX)
        return bad(head, 431, "the head of a request is over %zu bytes",
                   DOOR_HEAD_BYTES_MAX);
    return DOOR_HEAD_MORE;
}

/* ---- where it goes ---- */

/* The URL that scheme, authority and target make, read by the one reader of URLs. */
static enum door_head_is read_url(struct door_head *head, bool tls,
                                  struct slice authority, struct slice target,
                                  struct nacre_url *ret_url)
{
    char text[NACRE_URL_BYTES_MAX + 1];
    struct nacre_error err;
    int length;

    for (size_t i = 0; i < authority.count; i++)
        if (!is_token_byte(authority.bytes[i]) && !strchr("[]:", authority.bytes[i]))
            return bad(head, 400, "a host with a character that no name has");
    length = snprintf(text, sizeof(text), "%s://%.*s%.*s", tls ? "https" : "http",
                      (int)authority.count, authority.bytes, (int)target.count,
                      target.bytes);
    if (length < 0 || (size_t)length >= sizeof(text))
        return bad(head, 414, "a URL over %d bytes", NACRE_URL_BYTES_MAX);
    if (nacre_url_parse(text, (size_t)length, ret_url, &err) != NACRE_OK)
        return bad(head, 400, "%.200s", err.text);
    return DOOR_HEAD_WHOLE;
}

static bool has_port(struct slice authority)
{
    const char *colon = memrchr(authority.bytes, ':', authority.count);

    return colon &&
           !memchr(colon, ']', authority.count - (size_t)(colon - authority.bytes));
}

static enum door_head_is read_target(struct door_head *head, struct slice target,
                                     bool over_tls, const struct facts *facts)
{
    static const struct slice root = { "/", 1 };
    struct nacre_error err;

    for (size_t i = 0; i < target.count; i++)
        if (target.bytes[i] <= ' ' || target.bytes[i] > '~')
            return bad(head, 400, "a blank or a byte beyond ASCII in the URL");
    if (strcmp(head->method, "CONNECT") == 0) {
        head->form = DOOR_TARGET_AUTHORITY;
        if (!has_port(target))
            return bad(head, 400, "CONNECT takes HOST:PORT");
        return read_url(head, true, target, root, &head->url);
    }
    if (target.count > 0 && target.bytes[0] == '/') {
        head->form = DOOR_TARGET_ORIGIN;
        if (facts->hosts == 0 || facts->host.count == 0)
            return bad(head, 400, "a request without a Host");
        return read_url(head, over_tls, facts->host, target, &head->url);
    }
    head->form = DOOR_TARGET_ABSOLUTE;
    if (target.count > NACRE_URL_BYTES_MAX)
        return bad(head, 414, "a URL over %d bytes", NACRE_URL_BYTES_MAX);
    if (nacre_url_parse(target.bytes, target.count, &head->url, &err) != NACRE_OK)
        return bad(head, 400, "%.200s", err.text);
    return DOOR_HEAD_WHOLE;
}

/* What Host says has to be where the request goes: it is what a careless reader heeds. */
static enum door_head_is check_host(struct door_head *head, const struct facts *facts)
{
    static const struct slice root = { "/", 1 };
    enum door_head_is found;
    struct nacre_url url;

    if (facts->hosts > 1)
        return bad(head, 400, "more than one Host");
    if (facts->hosts == 0)
        return head->is_old ? DOOR_HEAD_WHOLE
                            : bad(head, 400, "a request without a Host");
    if (head->form == DOOR_TARGET_ORIGIN)
        return DOOR_HEAD_WHOLE; /* it came from there */
    found = read_url(head, head->url.tls, facts->host, root, &url);
    if (found != DOOR_HEAD_WHOLE)
        return found;
    if (head->form == DOOR_TARGET_AUTHORITY && !has_port(facts->host))
        url.port = head->url.port;
    if (strcmp(url.host, head->url.host) != 0 || url.port != head->url.port)
        return bad(head, 400, "Host is not the host of the URL");
    return DOOR_HEAD_WHOLE;
}

/* ---- fields ---- */

static enum door_head_is note_length(struct door_head *head, struct facts *facts,
                                     struct slice value)
{
    char digits[20];

    if (facts->lengths++ > 0)
        return bad(head, 400, "more than one Content-Length");
    if (value.count == 0 || value.count >= sizeof(digits))
        return bad(head, 400, "a Content-Length that is no number");
    memcpy(digits, value.bytes, value.count);
    digits[value.count] = '\0';
    if (!nacre_text_u64(digits, UINT64_MAX >> 1, &head->body_bytes))
        return bad(head, 400, "a Content-Length that is no number");
    return DOOR_HEAD_WHOLE;
}

static enum door_head_is note_coding(struct door_head *head, struct facts *facts,
                                     struct slice value)
{
    if (facts->codings++ > 0)
        return bad(head, 400, "more than one Transfer-Encoding");
    if (!is(value, "chunked"))
        return bad(head, 501, "a Transfer-Encoding other than chunked");
    head->is_chunked = true;
    return DOOR_HEAD_WHOLE;
}

static enum door_head_is note_connection(struct door_head *head, struct facts *facts,
                                         struct slice value)
{
    struct slice word;

    while (value.count > 0) {
        if (!cut(&value, ',', &word)) {
            word = value;
            value.count = 0;
        }
        word = trimmed(word);
        if (word.count == 0)
            continue;
        if (!is_token(word))
            return bad(head, 400, "a Connection field that is not well formed");
        if (is(word, "close"))
            facts->says_close = true;
        if (is(word, "upgrade"))
            facts->says_upgrade = true;
        if (facts->nominated_count == NOMINATED_MAX)
            return bad(head, 400, "a Connection field with too many names");
        facts->nominated[facts->nominated_count++] = word;
    }
    return DOOR_HEAD_WHOLE;
}

static enum door_head_is note_field(struct door_head *head, struct facts *facts,
                                    struct slice name, struct slice value)
{
    if (is(name, "host")) {
        facts->hosts++;
        facts->host = value;
    } else if (is(name, "content-length")) {
        return note_length(head, facts, value);
    } else if (is(name, "transfer-encoding")) {
        return note_coding(head, facts, value);
    } else if (is(name, "connection")) {
        return note_connection(head, facts, value);
    } else if (is(name, "upgrade")) {
        facts->names_websocket = is(value, "websocket");
    } else if (is(name, "expect")) {
        if (!is(value, "100-continue"))
            return bad(head, 417, "an Expect other than 100-continue");
        head->expects_continue = true;
    }
    return DOOR_HEAD_WHOLE;
}

/* The next line that is not empty, cut in two; false at the end. */
static bool next_field(struct slice *lines, struct slice *ret_name,
                       struct slice *ret_value)
{
    struct slice line;

    if (!cut(lines, '\n', &line) || line.count <= 1)
        return false;
    line.count--; /* the CR */
    if (!cut(&line, ':', ret_name)) {
        *ret_name = (struct slice){ line.bytes, 0 };
        line.count = 0;
    }
    *ret_value = trimmed(line);
    return true;
}

static enum door_head_is read_fields(struct door_head *head, struct slice lines,
                                     struct facts *facts)
{
    enum door_head_is found = DOOR_HEAD_WHOLE;
    struct slice name, value;

    while (found == DOOR_HEAD_WHOLE && next_field(&lines, &name, &value)) {
        if (++facts->fields > DOOR_HEAD_FIELDS_MAX)
            return bad(head, 431, "more than %d header fields", DOOR_HEAD_FIELDS_MAX);
        /* A folded line begins with a blank, which no name does. */
        if (!is_token(name))
            return bad(head, 400, "a header field that is not \"Name: value\"");
        found = note_field(head, facts, name, value);
    }
    if (found != DOOR_HEAD_WHOLE)
        return found;
    if (facts->codings > 0 && facts->lengths > 0)
        return bad(head, 400, "both Content-Length and Transfer-Encoding");
    if (facts->codings > 0 && head->is_old)
        return bad(head, 400, "Transfer-Encoding in HTTP/1.0");
    /* An answer to 1.0 ends with the connection. */
    head->keeps_alive = !head->is_old && !facts->says_close;
    head->expects_continue = head->expects_continue && !head->is_old;
    head->asks_websocket = facts->says_upgrade && facts->names_websocket && !head->is_old;
    return DOOR_HEAD_WHOLE;
}

static bool is_passed_on(struct slice name, const struct facts *facts)
{
    for (size_t i = 0; i < NACRE_COUNT(not_passed_on); i++)
        if (is(name, not_passed_on[i]))
            return false;
    for (uint32_t i = 0; i < facts->nominated_count; i++)
        if (name.count == facts->nominated[i].count &&
            strncasecmp(name.bytes, facts->nominated[i].bytes, name.count) == 0)
            return false;
    return true;
}

static enum door_head_is keep_fields(struct door_head *head, struct slice lines,
                                     const struct facts *facts)
{
    struct slice name, value;
    struct nacre_error err;

    head->fields = (struct nacre_buf)NACRE_BUF(DOOR_HEAD_BYTES_MAX);
    while (next_field(&lines, &name, &value)) {
        if (!is_passed_on(name, facts))
            continue;
        if (nacre_buf_add(&head->fields, name.bytes, name.count, &err) != NACRE_OK ||
            nacre_buf_add(&head->fields, ": ", 2, &err) != NACRE_OK ||
            nacre_buf_add(&head->fields, value.bytes, value.count, &err) != NACRE_OK ||
            nacre_buf_add(&head->fields, "\n", 1, &err) != NACRE_OK)
            return bad(head, 431, "no room for the head of the request");
    }
    return DOOR_HEAD_WHOLE;
}

static enum door_head_is read_request_line(struct door_head *head, struct slice line,
                                           struct slice *ret_target)
{
    struct slice method;

    if (!cut(&line, ' ', &method) || !cut(&line, ' ', ret_target) || !is_token(method) ||
        ret_target->count == 0)
        return bad(head, 400, "the first line is not \"METHOD URL HTTP/1.1\"");
    if (method.count >= sizeof(head->method))
        return bad(head, 501, "a method that nobody knows");
    memcpy(head->method, method.bytes, method.count);
    head->method[method.count] = '\0';
    if (line.count == 8 && memcmp(line.bytes, "HTTP/1.0", 8) == 0)
        head->is_old = true;
    else if (line.count != 8 || memcmp(line.bytes, "HTTP/1.1", 8) != 0)
        return bad(head, 505, "HTTP/1.1 is spoken here");
    return DOOR_HEAD_WHOLE;
}

enum door_head_is door_head_read(const char *bytes, size_t count, bool over_tls,
                                 struct door_head *head, size_t *ret_used)
{
    struct slice lines = { bytes, 0 }, line = { bytes, 0 };
    struct slice target = { bytes, 0 };
    struct facts facts = { .hosts = 0 };
    enum door_head_is found;

    /* Known before all of it is here, so that what is no HTTP is not waited for. */
    if (count > 0 && !is_token_byte(bytes[0]))
        return bad(head, 400, "what came is no HTTP request");
    if ((found = find_end(bytes, count, head, &lines.count)) != DOOR_HEAD_WHOLE)
        return found;
    *ret_used = lines.count;
    (void)cut(&lines, '\n', &line);
    line.count--; /* the CR */
    if ((found = read_request_line(head, line, &target)) != DOOR_HEAD_WHOLE ||
        (found = read_fields(head, lines, &facts)) != DOOR_HEAD_WHOLE ||
        (found = read_target(head, target, over_tls, &facts)) != DOOR_HEAD_WHOLE ||
        (found = check_host(head, &facts)) != DOOR_HEAD_WHOLE)
        return found;
    return keep_fields(head, lines, &facts);
}

void door_head_clear(struct door_head *head)
{
    nacre_buf_clear(&head->fields);
    *head = (struct door_head){ .form = DOOR_TARGET_NONE };
}
