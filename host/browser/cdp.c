#include "cdp.h"

#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"

#define VERSION_BYTES_MAX ((size_t)64 << 10)

/* ---- opening ---- */

/* One answer, to its end. */
static enum nacre_status get(const struct nacre_url *url, uint64_t deadline_ns,
                             struct nacre_buf *bytes, size_t *ret_used,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf head = NACRE_BUF(NACRE_URL_BYTES_MAX + 512);
    const struct io io = { -1, deadline_ns };
    struct answer answer = { .status = 0 };
    char some[4096];
    ssize_t count = 0;
    enum nacre_status status = websocket_connect(url, deadline_ns, &fd, err);

    if (status == NACRE_OK)
        status = nacre_buf_addf(&head, err,
                                "GET %s HTTP/1.1\r\nHost: %s:%u\r\n"
                                "Connection: close\r\n\r\n",
                                url->target, url->host, (unsigned)url->port);
    if (status != NACRE_OK)
        return status;
    if (io_write(&io, fd, head.bytes, head.size))
        while (status == NACRE_OK &&
               (answer_read(bytes->bytes ? bytes->bytes : "", bytes->size, &answer,
                            ret_used) != ANSWER_WHOLE ||
                !answer.has_length || bytes->size - *ret_used < answer.length) &&
               (count = io_read(&io, fd, some, sizeof(some))) > 0)
            status = nacre_buf_add(bytes, some, (size_t)count, err);
    if (status == NACRE_OK && answer.status != 200)
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "what listens at %.200s port %u is no browser (status %d)",
                            url->host, (unsigned)url->port, answer.status);
    return status;
}

/* Where it names another place than the one that was let through, the latter holds. */
static enum nacre_status find_socket(struct nacre_url *url, uint64_t deadline_ns,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(VERSION_BYTES_MAX);
    size_t used = 0, length = strlen(url->target);
    struct nacre_url asked = *url;
    const char *socket, *path;
    enum nacre_status status;
    json_t *told;

    while (length > 0 && asked.target[length - 1] == '/')
        length--;
    (void)snprintf(asked.target + length, sizeof(asked.target) - length,
                   "/json/version");
    status = get(&asked, deadline_ns, &bytes, &used, err);
    if (status != NACRE_OK)
        return status;
    told = json_loadb(bytes.bytes + used, bytes.size - used, 0, NULL);
    socket = json_string_value(json_object_get(told, "webSocketDebuggerUrl"));
    path = socket && strncmp(socket, "ws://", 5) == 0 ? strchr(socket + 5, '/') : NULL;
    if (!path || strlen(path) >= sizeof(url->target) || strpbrk(path, " \r\n"))
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "what listens at %.200s port %u names no WebSocket",
                            url->host, (unsigned)url->port);
    else
        (void)snprintf(url->target, sizeof(url->target), "%s", path);
    json_decref(told);
    return status;
}

enum nacre_status cdp_open(const char *url, uint64_t deadline_ns, struct cdp *ret_cdp,
                           struct nacre_error *err)
{
    bool is_socket = strncmp(url, "ws", 2) == 0;
    char http[NACRE_URL_BYTES_MAX + 8];
    int length = snprintf(http, sizeof(http), "%s%s", is_socket ? "http" : "",
                          is_socket ? url + 2 : url);
    struct cdp cdp = { .socket = WEBSOCKET_NONE, .deadline_ns = deadline_ns,
                       .text = NACRE_BUF(CDP_MESSAGE_BYTES_MAX) };
    struct nacre_url read;
    enum nacre_status status =
        length < 0 || (size_t)length >= sizeof(http)
            ? nacre_fail(err, NACRE_ERR_USAGE, "the browser's URL is too long")
            : nacre_url_parse(http, (size_t)length, &read, err);

    if (status == NACRE_OK && !is_socket)
        status = find_socket(&read, deadline_ns, err);
    if (status == NACRE_OK)
        status = websocket_open(&read, deadline_ns, &cdp.socket, err);
    if (status == NACRE_OK)
        *ret_cdp = cdp;
    return status;
}

void cdp_clear(struct cdp *cdp)
{
    websocket_clear(&cdp->socket);
    nacre_buf_clear(&cdp->text);
}

/* ---- talking ---- */

/* What it says of the tab by itself. */
static void note_event(struct cdp *cdp, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const char *session = json_string_value(json_object_get(message, "sessionId"));
    const json_t *params = json_object_get(message, "params");
    const char *type = json_string_value(json_object_get(params, "type"));
    const json_t *response = json_object_get(params, "response");

    if (!method || !session || strcmp(session, cdp->session) != 0)
        return;
    if (strcmp(method, "Page.loadEventFired") == 0)
        cdp->loaded = true;
    if (strcmp(method, "Network.responseReceived") == 0 && type &&
        strcmp(type, "Document") == 0 && cdp->page_status == 0)
        cdp->page_status = (int)json_integer_value(json_object_get(response, "status"));
}

static enum nacre_status next(struct cdp *cdp, json_t **ret_message,
                              struct nacre_error *err)
{
    enum nacre_status status =
        websocket_receive(&cdp->socket, cdp->deadline_ns, &cdp->text, err);

    if (status != NACRE_OK && nacre_clock_ns() >= cdp->deadline_ns)
        return nacre_fail(err, NACRE_ERR_TIMEOUT, "the page took too long");
    if (status != NACRE_OK)
        return status;
    *ret_message = json_loadb(cdp->text.bytes ? cdp->text.bytes : "", cdp->text.size, 0,
                              NULL);
    nacre_buf_clear(&cdp->text);
    if (!json_is_object(*ret_message)) {
        json_decref(*ret_message);
        return nacre_fail(err, NACRE_ERR_PARSE, "the browser sends what is no JSON");
    }
    note_event(cdp, *ret_message);
    return NACRE_OK;
}

static enum nacre_status ask(struct cdp *cdp, const char *method, json_t *params,
                             struct nacre_error *err)
{
    json_t *message = json_pack("{s:i, s:s, s:o}", "id", ++cdp->last_id, "method", method,
                                "params", params);
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;

    if (message && cdp->session[0] &&
        json_object_set_new(message, "sessionId", json_string(cdp->session)) == 0)
        text = json_dumps(message, JSON_COMPACT);
    else if (message && !cdp->session[0])
        text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    return websocket_send(&cdp->socket, text, strlen(text), cdp->deadline_ns, err);
}

enum nacre_status cdp_call(struct cdp *cdp, const char *method, json_t *params,
                           json_t **ret_result, struct nacre_error *err)
{
    enum nacre_status status = ask(cdp, method, params, err);

    while (status == NACRE_OK) {
        json_t *message = NULL, *result;
        const char *failed;
        char shown[NACRE_SHOWN];

        status = next(cdp, &message, err);
        if (status != NACRE_OK)
            return status;
        if (json_integer_value(json_object_get(message, "id")) != cdp->last_id) {
            json_decref(message);
            continue;
        }
        result = json_object_get(message, "result");
        failed = json_string_value(
            json_object_get(json_object_get(message, "error"), "message"));
        if (json_is_object(result))
            *ret_result = json_incref(result);
        else
            status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                                "the browser refuses %s: %s", method,
                                nacre_text_shown(shown, failed ? failed : "no reason"));
        json_decref(message);
        return status;
    }
    return status;
}

enum nacre_status cdp_await_load(struct cdp *cdp, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    while (status == NACRE_OK && !cdp->loaded) {
        json_t *message = NULL;

        status = next(cdp, &message, err);
        if (status == NACRE_OK)
            json_decref(message);
    }
    return status;
}
