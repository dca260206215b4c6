#include "nacre_http.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

int nacre_http_send(const struct nacre_http_call *call,
                    struct nacre_http_answer *ret_answer)
{
    const char *method = call->method ? call->method : "GET";
    const char *headers = call->headers ? call->headers : "";
    const struct nacre_http_ask ask = {
        .method = method,
        .method_size = strlen(method),
        .url = call->url,
        .url_size = strlen(call->url),
        .headers = headers,
        .headers_size = strlen(headers),
        .body = call->body,
        .body_size = call->body ? call->body_size : 0,
    };

    return nacre_http_request(&ask, ret_answer);
}

int nacre_http_read_all(uint32_t handle, void *bytes, size_t size, size_t *ret_count)
{
    uint32_t count;
    char more;
    int code;

    *ret_count = 0;
    while (*ret_count < size) {
        code = nacre_http_read(handle, (char *)bytes + *ret_count, size - *ret_count,
                               &count);
        if (code != NACRE_HTTP_OK || count == 0)
            return code;
        *ret_count += count;
    }
    /* It is full: was that all? */
    code = nacre_http_read(handle, &more, 1, &count);
    return code == NACRE_HTTP_OK && count > 0 ? NACRE_HTTP_TOO_LARGE : code;
}

int nacre_http_get(const char *url, void *body, size_t size, size_t *ret_count,
                   uint32_t *ret_status)
{
    const struct nacre_http_call call = { .url = url };
    struct nacre_http_answer answer;
    int code = nacre_http_send(&call, &answer);

    *ret_count = 0;
    if (code != NACRE_HTTP_OK)
        return code;
    *ret_status = answer.status;
    code = nacre_http_read_all(answer.handle, body, size, ret_count);
    (void)nacre_http_close(answer.handle);
    return code;
}

bool nacre_http_header(const char *text, size_t text_size, const char *name,
                       char *ret_value, size_t size)
{
    const char *end = text + text_size;
    size_t length = strlen(name);

    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));

        if (!line_end)
            line_end = end;
        if ((size_t)(line_end - text) > length && text[length] == ':' &&
            strncasecmp(text, name, length) == 0) {
            const char *value = text + length + 1;
            size_t count;

            while (value < line_end && *value == ' ')
                value++;
            count = (size_t)(line_end - value);
            if (count >= size)
                return false;
            memcpy(ret_value, value, count);
            ret_value[count] = '\0';
            return true;
        }
        text = line_end + 1;
    }
    return false;
}

const char *nacre_http_sentence(void)
{
    static char text[NACRE_HTTP_ERROR_MAX + 1];
    uint32_t count = 0;

    if (nacre_http_error(text, NACRE_HTTP_ERROR_MAX, &count) != NACRE_HTTP_OK ||
        count > NACRE_HTTP_ERROR_MAX)
        count = 0;
    text[count] = '\0';
    return text;
}

const char *nacre_http_code_name(int code)
{
    static const char *const names[] = {
#define X(id, value, name) [value] = name,
        NACRE_HTTP_ABI_MAP(X)
#undef X
    };

    return code >= 0 && (size_t)code < sizeof names / sizeof names[0] ? names[code]
                                                                      : "unknown";
}
