/* What a tool is told that may not, and what its host is told of it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"

void door_verdict(struct nacre_egress_verdict *verdict, const char *code,
                  const char *rule, const char *format, ...)
{
    va_list args;

    *verdict = (struct nacre_egress_verdict){ .allowed = false };
    (void)snprintf(verdict->code, sizeof(verdict->code), "%s", code);
    (void)snprintf(verdict->rule, sizeof(verdict->rule), "%s", rule);
    va_start(args, format);
    (void)vsnprintf(verdict->text, sizeof(verdict->text), format, args);
    va_end(args);
}

void door_client_denied(struct door_client *client, const char *method, const char *host,
                        uint16_t port, const struct nacre_egress_verdict *verdict)
{
    door_denied(client->door, verdict, host);
    door_client_refused(client, method, host, port, verdict->code);
}

void door_client_refused(struct door_client *client, const char *method, const char *host,
                         uint16_t port, const char *code)
{
    struct nacre_egress_record record = { .port = port };

    (void)snprintf(record.method, sizeof(record.method), "%s", method);
    (void)snprintf(record.host, sizeof(record.host), "%s", host);
    (void)snprintf(record.code, sizeof(record.code), "%s", code);
    door_record(client->door, &record);
}

uint32_t door_status_of(enum nacre_http_code code)
{
    switch (code) {
    case NACRE_HTTP_DENIED:
    case NACRE_HTTP_LEAK: return 403;
    case NACRE_HTTP_BAD_URL:
    case NACRE_HTTP_BAD_REQUEST: return 400;
    case NACRE_HTTP_TIMED_OUT: return 504;
    case NACRE_HTTP_TOO_MANY: return 429;
    case NACRE_HTTP_NOT_FOUND:
    case NACRE_HTTP_UNREACHABLE:
    case NACRE_HTTP_TLS:
    case NACRE_HTTP_TOO_LARGE:
    case NACRE_HTTP_PROTOCOL: return 502;
    case NACRE_HTTP_OK:
    case NACRE_HTTP_BAD_HANDLE:
    case NACRE_HTTP_INTERNAL: break;
    }
    return 500;
}

const char *door_reason(uint32_t status)
{
    static const struct {
        uint32_t status;
        const char *reason;
    } rows[] = {
        { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" }, { 204, "No Content" },
        { 206, "Partial Content" }, { 301, "Moved Permanently" }, { 302, "Found" },
        { 303, "See Other" }, { 304, "Not Modified" }, { 307, "Temporary Redirect" },
        { 308, "Permanent Redirect" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
        { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
        { 409, "Conflict" }, { 410, "Gone" }, { 413, "Content Too Large" },
        { 414, "URI Too Long" }, { 416, "Range Not Satisfiable" },
        { 417, "Expectation Failed" }, { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" }, { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
        { 501, "Not Implemented" }, { 502, "Bad Gateway" },
        { 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Unnamed";
}

/* Most clients show nothing of the answer to a CONNECT but its first line: so that is
 * where the sentence stands too. */
static void write_reason(char *ret_text, size_t size, const char *code, const char *text)
{
    (void)snprintf(ret_text, size, "%s: %s", code, text);
    for (char *at = ret_text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = ' ';
}

bool door_refusal_write(struct door_queue *out, const struct door_refusal *refusal)
{
    char head[1024], reason[320], body[640];
    int body_count, head_count;

    if (refusal->status == 403)
        write_reason(reason, sizeof(reason), refusal->code, refusal->text);
    else
        (void)snprintf(reason, sizeof(reason), "%s", door_reason(refusal->status));
    body_count = snprintf(body, sizeof(body), "nacre: %s: %s\n", refusal->code,
                          refusal->text);
    if (body_count < 0 || (size_t)body_count >= sizeof(body))
        body_count = (int)strlen(body);
    head_count = snprintf(head, sizeof(head),
                          "HTTP/1.1 %u %s\r\n"
                          "Content-Type: text/plain; charset=utf-8\r\n"
                          "Content-Length: %d\r\n"
                          "X-Nacre-%s: %s\r\n"
                          "%s\r\n",
                          refusal->status, reason, body_count,
                          refusal->status == 403 ? "Denied" : "Error", refusal->code,
                          refusal->keeps_alive ? "" : "Connection: close\r\n");
    if (head_count < 0 || (size_t)head_count >= sizeof(head))
        return false;
    return door_queue_add(out, head, (size_t)head_count, SIZE_MAX >> 1) &&
           (refusal->is_bare ||
            door_queue_add(out, body, (size_t)body_count, SIZE_MAX >> 1));
}
