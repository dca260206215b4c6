/*
 * The door's end of nacre/door_wire.h.  At the other end are a guest's shims in a worker
 * process that the guest may have taken over: sizes are judged before anything is kept,
 * and what makes no sense ends the connection.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "door.h"
#include "nacre/own.h"

#define METHOD_MAX 32
#define ASK_MAX                                                                   \
    (sizeof(struct nacre_door_ask) + METHOD_MAX + NACRE_URL_BYTES_MAX +           \
     NACRE_DOOR_HEADERS_MAX + NACRE_DOOR_BODY_MAX)
#define READ_BYTES 65536
#define AHEAD_BYTES ((size_t)NACRE_DOOR_DATA_MAX) /* of a body, before it is asked for */

struct guest;

/* A response that the guest may read; free when `guest` is NULL. */
struct response {
    struct guest *guest;
    struct door_fetch *fetch; /* NULL once it has ended and was freed */
    struct nacre_buf body;    /* come, and not read */
    bool answered, ended;
    enum nacre_http_code code; /* how it ended */
    char text[512];
};

struct guest {
    struct door_watch watch; /* first */
    struct guest *next;
    struct door *door;
    struct nacre_buf in, out;
    size_t out_at;
    struct response responses[NACRE_DOOR_HANDLES];
    struct response *asked;  /* whose answer the guest waits for */
    struct response *read;   /* of whose body it waits for more, */
    uint32_t read_max;       /* as many bytes */
};

static struct guest *guests;

static void guest_free(struct guest *guest);
static void go_on(struct guest *guest);

/* ---- saying something ---- */

static uint32_t handle_of(const struct response *response)
{
    return (uint32_t)(response - response->guest->responses) + 1;
}

/* Only one answer is ever on its way, so that `out` is bounded by the largest. */
static bool say(struct guest *guest, struct nacre_door_message message, const void *bytes,
                size_t count)
{
    struct nacre_error err;

    message.size = (uint32_t)count;
    return nacre_buf_add(&guest->out, &message, sizeof(message), &err) == NACRE_OK &&
           nacre_buf_add(&guest->out, bytes, count, &err) == NACRE_OK;
}

static bool say_failure(struct guest *guest, enum nacre_door_what what, uint32_t handle,
                        enum nacre_http_code code, const char *text)
{
    struct nacre_door_message message = { .what = what, .code = code, .handle = handle };

    return say(guest, message, text, strlen(text));
}

/* False: the guest is gone. */
static bool flush(struct guest *guest)
{
    while (guest->out_at < guest->out.size) {
        ssize_t sent = send(guest->watch.fd, guest->out.bytes + guest->out_at,
                            guest->out.size - guest->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return true;
        if (sent < 0)
            return false;
        guest->out_at += (size_t)sent;
    }
    guest->out.size = guest->out_at = 0;
    return true;
}

/* ---- responses ---- */

static void response_clear(struct response *response)
{
    struct guest *guest = response->guest;

    if (!guest)
        return;
    if (guest->asked == response)
        guest->asked = NULL;
    if (guest->read == response)
        guest->read = NULL;
    door_fetch_free(response->fetch);
    nacre_buf_clear(&response->body);
    *response = (struct response){ 0 };
}

/* What the guest waits for, if it is there.  False: it could not be said. */
static bool give_body(struct guest *guest)
{
    struct response *response = guest->read;
    struct nacre_door_message message = { .what = NACRE_DOOR_DATA };
    size_t count;

    if (!response || (response->body.size == 0 && !response->ended))
        return true;
    message.handle = handle_of(response);
    guest->read = NULL;
    if (response->body.size == 0 && response->code != NACRE_HTTP_OK)
        return say_failure(guest, NACRE_DOOR_DATA, message.handle, response->code,
                           response->text);
    count = response->body.size < guest->read_max ? response->body.size : guest->read_max;
    if (!say(guest, message, response->body.bytes, count))
        return false;
    response->body.size -= count;
    if (response->body.size > 0)
        memmove(response->body.bytes, response->body.bytes + count, response->body.size);
    if (response->fetch && !response->ended)
        door_fetch_resume(response->fetch);
    return true;
}

static void answered(void *data, uint32_t status, const char *headers, size_t size)
{
    struct response *response = data;
    struct guest *guest = response->guest;
    struct nacre_door_message message = { .what = NACRE_DOOR_ANSWER,
                                          .handle = handle_of(response),
                                          .number = status };

    response->answered = true;
    guest->asked = NULL;
    if (size > NACRE_DOOR_HEADERS_MAX) {
        (void)say_failure(guest, NACRE_DOOR_ANSWER, 0, NACRE_HTTP_TOO_LARGE,
                          "The answer's headers are too large for a guest.");
        response_clear(response);
    } else if (!say(guest, message, headers, size)) {
        guest_free(guest);
        return;
    }
    go_on(guest);
}

static bool take_body(void *data, const char *bytes, size_t count)
{
    struct response *response = data;
    struct guest *guest = response->guest;
    struct nacre_error err;
    bool more;

    if (nacre_buf_add(&response->body, bytes, count, &err) != NACRE_OK) {
        response->code = NACRE_HTTP_INTERNAL;
        (void)snprintf(response->text, sizeof(response->text), "%s", err.text);
        response->ended = true;
        door_fetch_free(response->fetch);
        response->fetch = NULL;
        go_on(guest);
        return false;
    }
    more = response->body.size < AHEAD_BYTES;
    if (guest->read == response)
        go_on(guest); /* which may free all of this, and says so by nothing */
    return more;
}

static void ended(void *data, enum nacre_http_code code, const char *text)
{
    struct response *response = data;
    struct guest *guest = response->guest;

    response->ended = true;
    response->code = code;
    (void)snprintf(response->text, sizeof(response->text), "%s", text);
    door_fetch_free(response->fetch);
    response->fetch = NULL;
    if (!response->answered) {
        bool said = say_failure(guest, NACRE_DOOR_ANSWER, 0, code, response->text);

        response_clear(response);
        if (!said) {
            guest_free(guest);
            return;
        }
    }
    go_on(guest);
}

static const struct door_fetch_events events = { answered, take_body, ended };

/* ---- questions ---- */

static struct response *find_free(struct guest *guest)
{
    for (size_t i = 0; i < NACRE_COUNT(guest->responses); i++) {
        if (!guest->responses[i].guest)
            return &guest->responses[i];
    }
    return NULL;
}

static struct response *find_open(struct guest *guest, uint32_t handle)
{
    struct response *response;

    if (handle < 1 || handle > NACRE_DOOR_HANDLES)
        return NULL;
    response = &guest->responses[handle - 1];
    return response->guest && response->answered ? response : NULL;
}

static bool refuse(struct guest *guest, enum nacre_http_code code, const char *text)
{
    return say_failure(guest, NACRE_DOOR_ANSWER, 0, code, text);
}

/* A refusal before any host was judged is a record all the same. */
static bool refuse_url(struct guest *guest, const char *method, const char *text)
{
    struct nacre_egress_record record = { 0 };

    (void)snprintf(record.method, sizeof(record.method), "%.7s", method);
    (void)snprintf(record.code, sizeof(record.code), "%s",
                   door_code_name(NACRE_HTTP_BAD_URL));
    door_record(guest->door, &record);
    return refuse(guest, NACRE_HTTP_BAD_URL, text);
}

static bool ask(struct guest *guest, const struct nacre_door_ask *sizes,
                const char *bytes)
{
    char method[METHOD_MAX + 1];
    struct door_ask asked = { .method = method, .follow = true };
    const char *url = bytes + sizes->method_size;
    struct response *response;
    struct nacre_error err;

    memcpy(method, bytes, sizes->method_size);
    method[sizes->method_size] = '\0';
    if (strlen(method) != sizes->method_size)
        return refuse(guest, NACRE_HTTP_BAD_REQUEST, "The method has a NUL in it.");
    if (nacre_url_parse(url, sizes->url_size, &asked.url, &err) != NACRE_OK)
        return refuse_url(guest, method, err.text);
    asked.headers = url + sizes->url_size;
    asked.headers_size = sizes->headers_size;
    asked.body = asked.headers + sizes->headers_size;
    asked.body_size = sizes->body_size;
    response = find_free(guest);
    if (!response)
        return refuse(guest, NACRE_HTTP_TOO_MANY,
                      "Too many responses are open. Close one that you have read.");
    *response = (struct response){ .guest = guest,
                                   .body = NACRE_BUF(2 * AHEAD_BYTES) };
    response->fetch = door_fetch_new(guest->door, &asked, &events, response);
    if (!response->fetch) {
        response_clear(response);
        return refuse(guest, NACRE_HTTP_INTERNAL, "No memory for the request.");
    }
    guest->asked = response;
    return true;
}

static bool take_ask(struct guest *guest, const char *bytes, size_t count)
{
    struct nacre_door_ask sizes;

    if (count < sizeof(sizes))
        return false;
    memcpy(&sizes, bytes, sizeof(sizes));
    if (sizes.method_size > METHOD_MAX || sizes.url_size > NACRE_URL_BYTES_MAX ||
        sizes.headers_size > NACRE_DOOR_HEADERS_MAX ||
        sizes.body_size > NACRE_DOOR_BODY_MAX ||
        (size_t)sizes.method_size + sizes.url_size + sizes.headers_size +
                sizes.body_size !=
            count - sizeof(sizes))
        return false;
    return ask(guest, &sizes, bytes + sizeof(sizes));
}

static bool take_read(struct guest *guest, const struct nacre_door_message *message)
{
    struct response *response = find_open(guest, message->handle);

    if (!response)
        return say_failure(guest, NACRE_DOOR_DATA, message->handle, NACRE_HTTP_BAD_HANDLE,
                           "This handle is not of an open response.");
    guest->read = response;
    guest->read_max =
        message->number < NACRE_DOOR_DATA_MAX ? message->number : NACRE_DOOR_DATA_MAX;
    if (guest->read_max == 0) { /* an answer of no bytes would be the body's end */
        guest->read = NULL;
        return say_failure(guest, NACRE_DOOR_DATA, message->handle,
                           NACRE_HTTP_BAD_REQUEST, "No byte was asked for.");
    }
    return give_body(guest);
}

static bool take_message(struct guest *guest, const struct nacre_door_message *message,
                         const char *bytes)
{
    struct response *response;

    switch (message->what) {
    case NACRE_DOOR_ASK: return take_ask(guest, bytes, message->size);
    case NACRE_DOOR_READ: return message->size == 0 && take_read(guest, message);
    case NACRE_DOOR_CLOSE:
        response = find_open(guest, message->handle);
        if (response)
            response_clear(response);
        return message->size == 0;
    default: return false;
    }
}

/* The questions that are there, one at a time: the next is looked at when the one before
 * has its answer.  False: what came is none. */
static bool take_messages(struct guest *guest)
{
    size_t at = 0;
    bool good = true;

    while (good && !guest->asked && !guest->read && guest->out.size == 0) {
        struct nacre_door_message message;
        size_t have = guest->in.size - at;

        if (have < sizeof(message))
            break;
        memcpy(&message, guest->in.bytes + at, sizeof(message));
        if (message.size > ASK_MAX)
            return false;
        if (have - sizeof(message) < message.size)
            break;
        good = take_message(guest, &message, guest->in.bytes + at + sizeof(message));
        at += sizeof(message) + message.size;
        good = good && flush(guest);
    }
    guest->in.size -= at;
    if (guest->in.size > 0 && at > 0)
        memmove(guest->in.bytes, guest->in.bytes + at, guest->in.size);
    else if (guest->in.size == 0)
        nacre_buf_clear(&guest->in); /* a large body's room is not kept */
    return good;
}

/* ---- the connection ---- */

static bool is_busy(const struct guest *guest)
{
    return guest->asked || guest->read || guest->out.size > 0;
}

/* Says what can be said, takes the next question, and waits for what is due. */
static void go_on(struct guest *guest)
{
    bool good = flush(guest);

    if (good && guest->out.size == 0)
        good = give_body(guest) && flush(guest) && take_messages(guest);
    /* While it waits for us only its end is of interest, which is always told. */
    if (good)
        good = door_watch_set(guest->door->loop, &guest->watch,
                              EPOLLRDHUP | (guest->out.size > 0 ? EPOLLOUT : 0) |
                                  (is_busy(guest) ? 0 : EPOLLIN));
    if (!good)
        guest_free(guest);
}

/* False: it is gone, or there is no memory for what it says. */
static bool receive(struct guest *guest)
{
    char bytes[READ_BYTES];
    struct nacre_error err;
    ssize_t got = recv(guest->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return got > 0 && nacre_buf_add(&guest->in, bytes, (size_t)got, &err) == NACRE_OK;
}

static void guest_ready(struct door_watch *watch, uint32_t events_seen)
{
    struct guest *guest = (struct guest *)watch;

    if ((events_seen & EPOLLIN && !receive(guest)) ||
        events_seen & (EPOLLHUP | EPOLLERR) ||
        (events_seen & EPOLLRDHUP && !(events_seen & EPOLLIN)))
        guest_free(guest);
    else
        go_on(guest);
}

static void guest_free(struct guest *guest)
{
    struct guest **at = &guests;

    while (*at != guest)
        at = &(*at)->next;
    *at = guest->next;
    for (size_t i = 0; i < NACRE_COUNT(guest->responses); i++)
        response_clear(&guest->responses[i]);
    (void)door_watch_set(guest->door->loop, &guest->watch, 0);
    (void)close(guest->watch.fd);
    nacre_buf_clear(&guest->in);
    nacre_buf_clear(&guest->out);
    free(guest);
}

void door_guest_serve(struct door *door, int fd)
{
    struct guest *guest = calloc(1, sizeof(*guest));

    if (!guest) {
        (void)close(fd);
        return;
    }
    *guest = (struct guest){
        .watch = { .fd = fd, .ready = guest_ready }, .next = guests, .door = door,
        .in = NACRE_BUF(ASK_MAX + sizeof(struct nacre_door_message) + READ_BYTES),
        .out = NACRE_BUF(NACRE_DOOR_DATA_MAX + 2 * sizeof(struct nacre_door_message)),
    };
    guests = guest;
    go_on(guest);
}

/* Who still waits gets an answer, so that question and answer stay in step. */
static void end_responses(struct guest *guest)
{
    static const char over[] = "The run is over.";
    bool said = true;

    if (guest->asked)
        said = say_failure(guest, NACRE_DOOR_ANSWER, 0, NACRE_HTTP_TIMED_OUT, over);
    else if (guest->read)
        said = say_failure(guest, NACRE_DOOR_DATA, handle_of(guest->read),
                           NACRE_HTTP_TIMED_OUT, over);
    for (size_t i = 0; i < NACRE_COUNT(guest->responses); i++)
        response_clear(&guest->responses[i]);
    if (said)
        go_on(guest);
    else
        guest_free(guest);
}

void door_guests_end(struct door *door)
{
    struct guest *next;

    for (struct guest *guest = guests; guest; guest = next) {
        next = guest->next;
        assert(guest->door == door);
        end_responses(guest);
    }
}
