/*
 * HTTP for guests: each request is handed to the guest's door, a process that judges it,
 * sends it and hands the answer back (nacre/door_wire.h).  Nothing is decided here; but
 * neither side is trusted.  The guest's pointers and sizes are checked as everywhere, and
 * the door has spoken with servers: what it says of sizes is held against the ceilings
 * before anything is read, and its handles never reach the guest.
 *
 * After a wait that was cut short, or an answer that makes no sense, the line is out of
 * step: nothing is said on it any more, and this sandbox serves no other run.
 */
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "functions.h"
#include "guest_memory.h"
#include "nacre/text.h"

_Static_assert(NACRE_HTTP_HEADERS_MAX == NACRE_DOOR_HEADERS_MAX &&
                   NACRE_HTTP_BODY_MAX == NACRE_DOOR_BODY_MAX &&
                   NACRE_HTTP_OPEN_MAX == NACRE_DOOR_HANDLES,
               "the guest's ceilings are the door's");
#define X(id, number, name) \
    _Static_assert(NACRE_HTTP_##id == (number), "the guest's codes are the door's");
NACRE_HTTP_ABI_MAP(X)
#undef X

#define OUTSIDE "a pointer or a length leads out of the guest's memory"

/* Returns `code`. */
static int fail(struct nacre_wasi *wasi, int code, const char *text, size_t size)
{
    struct ws_http *http = &wasi->http;

    nacre_text_show(http->error, sizeof(http->error), text, size);
    http->error_size = (uint32_t)strlen(http->error);
    return code;
}

static int fail_text(struct nacre_wasi *wasi, int code, const char *text)
{
    return fail(wasi, code, text, strlen(text));
}

/* ---- the line ---- */

/* Until the door takes or gives something, never past the deadline.  An end of the line
 * counts as something: the call after this one sees it. */
static int line_wait(struct nacre_wasi *wasi, short events)
{
    for (;;) {
        struct pollfd item = { .fd = wasi->config.door_fd, .events = events };
        struct timespec left = nacre_clock_until(wasi->call.deadline_ns);
        int ready = ppoll(&item, 1, &left, NULL);

        if (ready > 0)
            return NACRE_HTTP_OK;
        if (ready < 0 && errno != EINTR)
            return fail_text(wasi, NACRE_HTTP_INTERNAL, "the line to the network broke");
        if (ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
}

static int line_gone(struct nacre_wasi *wasi)
{
    return fail_text(wasi, NACRE_HTTP_INTERNAL,
                     "the process that makes this tool's requests has ended; nothing "
                     "more can be sent in this run");
}

static int line_send(struct nacre_wasi *wasi, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    while (count > 0) {
        ssize_t sent =
            send(wasi->config.door_fd, at, count, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            at += sent;
            count -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EINTR) {
            int code = line_wait(wasi, POLLOUT);

            if (code != NACRE_HTTP_OK)
                return code;
        } else {
            return line_gone(wasi);
        }
    }
    return NACRE_HTTP_OK;
}

/* read() and no recv(): that is one call less that a worker may make.  Nobody else reads
 * here, so after the wait it can't block. */
static int line_receive(struct nacre_wasi *wasi, void *ret_bytes, size_t count)
{
    unsigned char *at = ret_bytes;

    while (count > 0) {
        int code = line_wait(wasi, POLLIN);
        ssize_t got;

        if (code != NACRE_HTTP_OK)
            return code;
        got = read(wasi->config.door_fd, at, count);
        if (got > 0) {
            at += got;
            count -= (size_t)got;
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            return line_gone(wasi);
        }
    }
    return NACRE_HTTP_OK;
}

/* A sentence that takes the place of an answer.  Returns its code. */
static int line_sentence(struct nacre_wasi *wasi, const struct nacre_door_message *answer)
{
    char text[NACRE_HTTP_ERROR_MAX], rest[1024];
    size_t kept = answer->size < sizeof(text) ? answer->size : sizeof(text);
    size_t left = answer->size - kept;
    int code = line_receive(wasi, text, kept);

    while (code == NACRE_HTTP_OK && left > 0) {
        size_t count = left < sizeof(rest) ? left : sizeof(rest);

        code = line_receive(wasi, rest, count);
        left -= count;
    }
    return code == NACRE_HTTP_OK ? fail(wasi, (int)answer->code, text, kept) : code;
}

struct part {
    const void *bytes;
    size_t count;
};

/*
 * Says `parts` and hears the head of the answer.  OK: its `size` bytes, `size_max` at
 * most, are still to be received, and the message ends with line_done().
 */
static int line_ask(struct nacre_wasi *wasi, const struct part *parts, size_t count,
                    uint32_t what_back, uint32_t size_max,
                    struct nacre_door_message *ret_answer)
{
    int code = NACRE_HTTP_OK;

    if (wasi->http.in_message)
        return line_gone(wasi);
    wasi->http.in_message = true;
    for (size_t i = 0; i < count && code == NACRE_HTTP_OK; i++)
        code = line_send(wasi, parts[i].bytes, parts[i].count);
    if (code == NACRE_HTTP_OK)
        code = line_receive(wasi, ret_answer, sizeof(*ret_answer));
    if (code != NACRE_HTTP_OK)
        return code;
    if (ret_answer->what != what_back || ret_answer->code > NACRE_HTTP_INTERNAL ||
        ret_answer->size >
            (ret_answer->code == NACRE_HTTP_OK ? size_max : NACRE_DOOR_HEADERS_MAX))
        return fail_text(wasi, NACRE_HTTP_INTERNAL,
                         "the process that makes this tool's requests answers nonsense");
    if (ret_answer->code == NACRE_HTTP_OK)
        return NACRE_HTTP_OK;
    code = line_sentence(wasi, ret_answer);
    wasi->http.in_message = code != (int)ret_answer->code;
    return code;
}

static int line_done(struct nacre_wasi *wasi, int code)
{
    if (code == NACRE_HTTP_OK)
        wasi->http.in_message = false;
    return code;
}

/* ---- responses ---- */

static struct ws_response *response_of(struct nacre_wasi *wasi, uint32_t handle)
{
    struct ws_http *http = &wasi->http;

    if (handle == 0 || handle > NACRE_COUNT(http->responses) ||
        !http->responses[handle - 1].is_open) {
        (void)fail_text(wasi, NACRE_HTTP_BAD_HANDLE, "no response is open by that handle");
        return NULL;
    }
    return &http->responses[handle - 1];
}

static void response_clear(struct ws_http *http, struct ws_response *response)
{
    free(response->headers);
    *response = (struct ws_response){ .is_open = false };
    http->open_count--;
}

void ws_http_begin(struct nacre_wasi *wasi)
{
    wasi->http.error_size = 0;
}

enum nacre_status ws_http_end(struct nacre_wasi *wasi, struct nacre_error *err)
{
    struct ws_http *http = &wasi->http;

    for (uint32_t i = 0; http->open_count > 0 && i < NACRE_COUNT(http->responses); i++)
        if (http->responses[i].is_open)
            response_clear(http, &http->responses[i]);
    if (http->in_message)
        return nacre_fail(err, NACRE_ERR_IO, "the line to the door is out of step");
    return NACRE_OK;
}

/* ---- a request ---- */

/* Where a URL leads, for the record: its path, its query and who asks are not told. */
static void note_denial(struct nacre_wasi *wasi, const char *url, uint32_t size)
{
    const char *start = memmem(url, size, "://", 3);
    char host[256];
    size_t length = 0;

    start = start ? start + 3 : url;
    for (; start < url + size && !strchr("/?#\\", *start); start++) {
        if (*start == '@')
            length = 0;
        else if (length < sizeof(host) - 1)
            host[length++] = *start;
    }
    host[length] = '\0';
    ws_deny(wasi, UINT32_MAX, "no-network", host);
}

static int judge_sizes(struct nacre_wasi *wasi, const struct nacre_http_ask *ask)
{
    if (ask->method_size == 0 || ask->method_size > NACRE_HTTP_METHOD_MAX)
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST,
                         "a method is one word of at most 16 letters, such as GET");
    if (ask->url_size == 0 || ask->url_size > NACRE_HTTP_URL_MAX)
        return fail_text(wasi, NACRE_HTTP_BAD_URL,
                         ask->url_size == 0 ? "the URL is empty"
                                            : "the URL is over 8192 bytes");
    if (ask->headers_size > NACRE_HTTP_HEADERS_MAX)
        return fail_text(wasi, NACRE_HTTP_TOO_LARGE,
                         "the request's headers are over 64 KiB");
    if (ask->body_size > NACRE_HTTP_BODY_MAX)
        return fail_text(wasi, NACRE_HTTP_TOO_LARGE, "the request's body is over 16 MiB");
    return NACRE_HTTP_OK;
}

/* The guest's four pieces, checked and where they are. */
static int take_ask(struct nacre_wasi *wasi, uint32_t address, struct nacre_http_ask *ask,
                    struct part ret_parts[4])
{
    int code;

    if (ws_guest_get(wasi, address, ask, sizeof(*ask)) != P1_SUCCESS)
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
    ret_parts[0] = (struct part){ ws_guest(wasi, ask->method, ask->method_size),
                                  ask->method_size };
    ret_parts[1] = (struct part){ ws_guest(wasi, ask->url, ask->url_size), ask->url_size };
    ret_parts[2] = (struct part){ ws_guest(wasi, ask->headers, ask->headers_size),
                                  ask->headers_size };
    ret_parts[3] = (struct part){ ws_guest(wasi, ask->body, ask->body_size),
                                  ask->body_size };
    for (int i = 0; i < 4; i++)
        if (!ret_parts[i].bytes)
            return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
    code = judge_sizes(wasi, ask);
    if (code != NACRE_HTTP_OK)
        return code;
    if (!wasi->config.has_door) {
        note_denial(wasi, ret_parts[1].bytes, ask->url_size);
        return fail_text(
            wasi, NACRE_HTTP_DENIED,
            "the policy grants this tool no network (capabilities.network), so no request "
            "is made; work with what the arguments, the input and the files hold, or ask "
            "for the host to be put on the policy's allowed_hosts");
    }
    if (wasi->http.open_count == NACRE_DOOR_HANDLES)
        return fail_text(wasi, NACRE_HTTP_TOO_MANY,
                         "8 responses are open; close one before the next request");
    return NACRE_HTTP_OK;
}

/* The head has come: keep the response, and tell the guest at `address`. */
static int keep_response(struct nacre_wasi *wasi, const struct nacre_door_message *answer,
                         uint32_t address)
{
    struct ws_http *http = &wasi->http;
    char *headers = malloc(answer->size + 1u);
    struct nacre_http_answer out = { .status = answer->number,
                                     .headers_size = answer->size };
    int code;

    if (!headers)
        return fail_text(wasi, NACRE_HTTP_INTERNAL,
                         "no memory for the response's headers");
    code = line_receive(wasi, headers, answer->size);
    if (code != NACRE_HTTP_OK) {
        free(headers);
        return code;
    }
    while (http->responses[out.handle].is_open)
        out.handle++;
    http->responses[out.handle++] = (struct ws_response){ .is_open = true,
                                                          .door_handle = answer->handle,
                                                          .headers = headers,
                                                          .headers_size = answer->size };
    http->open_count++;
    (void)line_done(wasi, NACRE_HTTP_OK);
    return ws_guest_put(wasi, address, &out, sizeof(out)) == P1_SUCCESS
               ? NACRE_HTTP_OK
               : fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
}

int ws_http_request(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    uint32_t address = ws_u32(&cells[1]);
    struct nacre_door_message message = { .what = NACRE_DOOR_ASK }, answer;
    struct nacre_door_ask sizes;
    struct nacre_http_ask ask;
    struct part parts[6] = { { &message, sizeof(message) }, { &sizes, sizeof(sizes) } };
    int code;

    /* Before anything is sent, so that no success goes unreported. */
    if (!ws_guest(wasi, address, sizeof(struct nacre_http_answer)))
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
    code = take_ask(wasi, ws_u32(&cells[0]), &ask, parts + 2);
    if (code != NACRE_HTTP_OK)
        return code;
    sizes = (struct nacre_door_ask){ ask.method_size, ask.url_size, ask.headers_size,
                                     ask.body_size };
    message.size = (uint32_t)sizeof(sizes) + ask.method_size + ask.url_size +
                   ask.headers_size + ask.body_size;
    code = line_ask(wasi, parts, NACRE_COUNT(parts), NACRE_DOOR_ANSWER,
                    NACRE_DOOR_HEADERS_MAX, &answer);
    return code == NACRE_HTTP_OK ? keep_response(wasi, &answer, address) : code;
}

/* ---- what comes back ---- */

int ws_http_headers(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    const struct ws_response *response = response_of(wasi, ws_u32(&cells[0]));
    uint32_t room = ws_u32(&cells[2]);
    void *bytes = ws_guest(wasi, ws_u32(&cells[1]), room);

    if (!response)
        return NACRE_HTTP_BAD_HANDLE;
    if (!bytes || ws_guest_put_u32(wasi, ws_u32(&cells[3]), response->headers_size) !=
                      P1_SUCCESS)
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
    memcpy(bytes, response->headers,
           room < response->headers_size ? room : response->headers_size);
    return NACRE_HTTP_OK;
}

int ws_http_read(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    const struct ws_response *response = response_of(wasi, ws_u32(&cells[0]));
    uint32_t room = ws_u32(&cells[2]), count_at = ws_u32(&cells[3]);
    struct nacre_door_message message = { .what = NACRE_DOOR_READ }, answer;
    const struct part part = { &message, sizeof(message) };
    void *bytes = ws_guest(wasi, ws_u32(&cells[1]), room);
    int code;

    if (!response)
        return NACRE_HTTP_BAD_HANDLE;
    if (!bytes || !ws_guest(wasi, count_at, sizeof(uint32_t)))
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, OUTSIDE);
    /* No bytes is how the body's end is told. */
    if (room == 0)
        return fail_text(wasi, NACRE_HTTP_BAD_REQUEST, "there is no room to read into");
    message.handle = response->door_handle;
    message.number = room < NACRE_DOOR_DATA_MAX ? room : NACRE_DOOR_DATA_MAX;
    code = line_ask(wasi, &part, 1, NACRE_DOOR_DATA, message.number, &answer);
    if (code == NACRE_HTTP_OK)
        code = line_done(wasi, line_receive(wasi, bytes, answer.size));
    if (code == NACRE_HTTP_OK)
        (void)ws_guest_put_u32(wasi, count_at, answer.size);
    return code;
}

int ws_http_error(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    const struct ws_http *http = &wasi->http;
    uint32_t room = ws_u32(&cells[1]);
    void *bytes = ws_guest(wasi, ws_u32(&cells[0]), room);

    if (!bytes ||
        ws_guest_put_u32(wasi, ws_u32(&cells[2]), http->error_size) != P1_SUCCESS)
        return NACRE_HTTP_BAD_REQUEST;
    memcpy(bytes, http->error, room < http->error_size ? room : http->error_size);
    return NACRE_HTTP_OK;
}

int ws_http_close(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_response *response = response_of(wasi, ws_u32(&cells[0]));
    struct nacre_door_message message = { .what = NACRE_DOOR_CLOSE };

    if (!response)
        return NACRE_HTTP_BAD_HANDLE;
    message.handle = response->door_handle;
    response_clear(&wasi->http, response);
    if (wasi->http.in_message)
        return NACRE_HTTP_OK; /* the door has closed it with all the rest */
    wasi->http.in_message = true;
    return line_done(wasi, line_send(wasi, &message, sizeof(message)));
}
