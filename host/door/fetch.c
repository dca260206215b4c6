/* The life of a fetch, and its owner's view of it. */
#include "fetch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/trust.h"

#define CONNECTIONS_KEPT 64

/* A socket of libcurl's. */
struct curl_watch {
    struct door_watch watch; /* first */
    struct door_fetcher *fetcher;
};

/* ---- what is to be done ---- */

void fetch_queue(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher = fetch->door->fetcher;

    if (fetch->queued)
        return;
    fetch->queued = true;
    fetch->next = NULL;
    if (fetcher->last)
        fetcher->last->next = fetch;
    else
        fetcher->first = fetch;
    fetcher->last = fetch;
    door_timer_set(fetch->door->loop, &fetcher->soon, 1);
}

static void unqueue(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher = fetch->door->fetcher;
    struct door_fetch **at = &fetcher->first, *before = NULL;

    if (!fetch->queued)
        return;
    while (*at != fetch) {
        before = *at;
        at = &before->next;
    }
    *at = fetch->next;
    if (fetcher->last == fetch)
        fetcher->last = before;
    fetch->queued = false;
    fetch->next = NULL;
}

void fetch_fail(struct door_fetch *fetch, enum nacre_http_code code, const char *format,
                ...)
{
    va_list args;

    if (fetch->state == FETCH_OVER)
        return;
    va_start(args, format);
    (void)vsnprintf(fetch->text, sizeof(fetch->text), format, args);
    va_end(args);
    door_scrub_text(fetch->door, fetch->text, sizeof(fetch->text));
    fetch->code = code;
    if (!fetch->record.code[0])
        (void)snprintf(fetch->record.code, sizeof(fetch->record.code), "%s",
                       door_code_name(code));
    fetch->state = FETCH_OVER;
    fetch_queue(fetch);
}

void fetch_deny(struct door_fetch *fetch, enum nacre_http_code code,
                const struct nacre_egress_verdict *verdict)
{
    if (fetch->state == FETCH_OVER)
        return;
    (void)snprintf(fetch->record.code, sizeof(fetch->record.code), "%s", verdict->code);
    door_denied(fetch->door, verdict, fetch->url.host);
    if (fetch->record.hops > 0)
        fetch_fail(fetch, code, "The server redirects: %s", verdict->text);
    else
        fetch_fail(fetch, code, "%s", verdict->text);
}

bool fetch_hold(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher = fetch->door->fetcher;

    fetcher->held_bytes += fetch->pending.size - fetch->held;
    fetch->held = fetch->pending.size;
    return fetcher->held_bytes <= FETCH_HELD_MAX;
}

static void forget_pending(struct door_fetch *fetch)
{
    if (fetch->pending.size > FETCH_PENDING_BYTES)
        nacre_buf_clear(&fetch->pending); /* so much room is not kept */
    fetch->pending.size = fetch->pending_at = 0;
    (void)fetch_hold(fetch);
}

static void keep_record(struct door_fetch *fetch)
{
    if (fetch->recorded)
        return;
    fetch->recorded = true;
    fetch->record.status = fetch->status;
    fetch->record.bytes_received = fetch->body_bytes;
    door_record(fetch->door, &fetch->record);
}

/* ---- what the owner is told: it may free the fetch inside any of these ---- */

/* False: the fetch is gone. */
static bool tell_answer(struct door_fetch *fetch)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf head = NACRE_BUF((size_t)4 << 20);
    struct door_fetcher *fetcher = fetch->door->fetcher;

    if (!fetch_clean_head(fetch, &head)) {
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The answer's headers can't be kept.");
        return true;
    }
    fetch->told_answer = true;
    fetch->events->answered(fetch->data, fetch->status, head.bytes ? head.bytes : "",
                            head.size);
    return fetcher->current == fetch;
}

/* The next packet waits while the owner does, and comes when there is room again. */
static void pace(struct door_fetch *fetch)
{
    bool waits = fetch->pending.size - fetch->pending_at >= FETCH_PENDING_BYTES;

    if (fetch->pending_at == fetch->pending.size)
        forget_pending(fetch);
    else if (!waits)
        return;
    if (!fetch->easy || waits == fetch->curl_waits)
        return;
    fetch->curl_waits = waits;
    (void)curl_easy_pause(fetch->easy, waits ? CURLPAUSE_RECV : CURLPAUSE_CONT);
}

static bool tell_body(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher = fetch->door->fetcher;

    while (!fetch->owner_waits && fetch->pending_at < fetch->pending.size) {
        const char *bytes = fetch->pending.bytes + fetch->pending_at;
        size_t count = fetch->pending.size - fetch->pending_at;

        if (count > FETCH_DROPPED_BYTES)
            count = FETCH_DROPPED_BYTES;
        fetch->pending_at += count;
        fetch->owner_waits = !fetch->events->body(fetch->data, bytes, count);
        if (fetcher->current != fetch)
            return false;
    }
    pace(fetch);
    return true;
}

static void tell(struct door_fetch *fetch)
{
    if (fetch->head_over && !fetch->told_answer && !fetch_is_redirected(fetch) &&
        (fetch->state == FETCH_SENDING || fetch->code == NACRE_HTTP_OK) &&
        !tell_answer(fetch))
        return;
    if (fetch->told_answer && !tell_body(fetch))
        return;
    if (fetch->state != FETCH_OVER)
        return;
    if (fetch->code == NACRE_HTTP_OK && fetch->pending.size > 0)
        return; /* the owner takes the rest first */
    door_timer_set(fetch->door->loop, &fetch->deadline, 0);
    fetch_stop(fetch);
    keep_record(fetch);
    fetch->events->ended(fetch->data, fetch->code, fetch->text);
}

static void work(struct door_fetch *fetch)
{
    switch (fetch->state) {
    case FETCH_NEW:
        fetch_check(fetch);
        if (fetch->state == FETCH_NEW)
            fetch_begin_hop(fetch);
        break;
    case FETCH_FOUND: fetch_send(fetch); break;
    case FETCH_HOP_OVER: fetch_end_hop(fetch); break;
    case FETCH_LOOKING_UP:
    case FETCH_SENDING:
    case FETCH_OVER: break;
    }
    tell(fetch);
}

static void soon_due(struct door_timer *timer)
{
    struct door_fetcher *fetcher =
        (struct door_fetcher *)((char *)timer - offsetof(struct door_fetcher, soon));
    /* Those that are queued meanwhile come next turn. */
    const struct door_fetch *last = fetcher->last;
    bool more = fetcher->first != NULL;

    while (more && fetcher->first) {
        struct door_fetch *fetch = fetcher->first;

        more = fetch != last;
        unqueue(fetch);
        fetcher->current = fetch;
        work(fetch);
        fetcher->current = NULL;
    }
    if (fetcher->first)
        door_timer_set(fetcher->door->loop, &fetcher->soon, 1);
}

/* ---- libcurl in the loop ---- */

static void take_results(struct door_fetcher *fetcher)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(fetcher->multi, &left))) {
        char *private = NULL;
        struct door_fetch *fetch;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        fetch = (struct door_fetch *)(void *)private;
        fetch->result = message->data.result;
        if (fetch->state == FETCH_SENDING)
            fetch->state = FETCH_HOP_OVER;
        fetch_queue(fetch);
    }
}

static void act(struct door_fetcher *fetcher, curl_socket_t fd, int what)
{
    int running;

    (void)curl_multi_socket_action(fetcher->multi, fd, what, &running);
    take_results(fetcher);
}

static void watch_ready(struct door_watch *watch, uint32_t events)
{
    struct door_fetcher *fetcher = ((struct curl_watch *)watch)->fetcher;

    act(fetcher, watch->fd, (events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                                (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                (events & EPOLLERR ? CURL_CSELECT_ERR : 0));
}

static void timer_due(struct door_timer *timer)
{
    act((struct door_fetcher *)((char *)timer - offsetof(struct door_fetcher, timer)),
        CURL_SOCKET_TIMEOUT, 0);
}

static int timer_changed(CURLM *multi, long ms, void *data)
{
    struct door_fetcher *fetcher = data;

    (void)multi;
    door_timer_set(fetcher->door->loop, &fetcher->timer,
                   ms < 0    ? 0
                   : ms == 0 ? 1
                             : nacre_clock_ns() + (uint64_t)ms * NACRE_NS_PER_MS);
    return 0;
}

static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *data,
                          void *socket_data)
{
    struct door_fetcher *fetcher = data;
    struct curl_watch *watch = socket_data;
    uint32_t events = what == CURL_POLL_IN      ? EPOLLIN
                      : what == CURL_POLL_OUT   ? EPOLLOUT
                      : what == CURL_POLL_INOUT ? EPOLLIN | EPOLLOUT
                                                : 0;

    (void)easy;
    if (!watch && events != 0) {
        watch = calloc(1, sizeof(*watch));
        if (!watch)
            return -1;
        *watch = (struct curl_watch){ .watch = { .fd = fd, .ready = watch_ready },
                                      .fetcher = fetcher };
        (void)curl_multi_assign(fetcher->multi, fd, watch);
    }
    if (!watch)
        return 0;
    if (!door_watch_set(fetcher->door->loop, &watch->watch, events))
        return -1;
    if (what == CURL_POLL_REMOVE) {
        (void)curl_multi_assign(fetcher->multi, fd, NULL);
        free(watch);
    }
    return 0;
}

enum nacre_status door_fetcher_new(struct door *door, struct door_fetcher **ret_fetcher,
                                   struct nacre_error *err)
{
    struct door_fetcher *fetcher;
    uint32_t most = door->egress.limits.connections_max;
    long connections = most > 0 ? (long)most : 1; /* 0 would be without limit */

    if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK)
        return nacre_fail(err, NACRE_ERR_BACKEND, "libcurl does not start");
    fetcher = calloc(1, sizeof(*fetcher));
    if (!fetcher)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for libcurl");
    *fetcher = (struct door_fetcher){ .door = door, .bundle = nacre_trust_bundle(),
                                      .timer.due = timer_due, .soon.due = soon_due,
                                      .multi = curl_multi_init() };
    if (!fetcher->multi || !fetcher->bundle ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, socket_changed) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, timer_changed) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT) ||
        curl_multi_setopt(fetcher->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)) {
        free(fetcher);
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "libcurl does not start, or there are no CA certificates");
    }
    *ret_fetcher = fetcher;
    return NACRE_OK;
}

/* ---- one fetch ---- */

static void deadline_due(struct door_timer *timer)
{
    struct door_fetch *fetch =
        (struct door_fetch *)((char *)timer - offsetof(struct door_fetch, deadline));

    if (fetch->state == FETCH_OVER) { /* what the owner has not taken by now is lost */
        forget_pending(fetch);
        fetch_queue(fetch);
    }
    fetch_fail(fetch, NACRE_HTTP_TIMED_OUT,
               "The run's time was over before the answer of %.253s was whole.",
               fetch->url.host);
}

static bool copy_ask(struct door_fetch *fetch, const struct door_ask *ask)
{
    struct nacre_egress_record *record = &fetch->record;
    struct nacre_error err;

    (void)snprintf(fetch->method, sizeof(fetch->method), "%s", ask->method);
    (void)snprintf(record->method, sizeof(record->method), "%.7s", ask->method);
    (void)snprintf(record->host, sizeof(record->host), "%s", ask->url.host);
    record->port = ask->url.port;
    fetch->url = ask->url;
    fetch->follow = ask->follow;
    fetch->raw_body = ask->raw_body && !fetch->door->scrub; /* which reads no encoding */
    fetch->headers = (struct nacre_buf)NACRE_BUF(ask->headers_size);
    fetch->body = (struct nacre_buf)NACRE_BUF(ask->body_size);
    return nacre_buf_add(&fetch->headers, ask->headers, ask->headers_size, &err) ==
               NACRE_OK &&
           nacre_buf_add(&fetch->body, ask->body, ask->body_size, &err) == NACRE_OK;
}

struct door_fetch *door_fetch_new(struct door *door, const struct door_ask *ask,
                                  const struct door_fetch_events *events, void *data)
{
    struct door_fetch *fetch = calloc(1, sizeof(*fetch));

    if (!fetch)
        return NULL;
    *fetch = (struct door_fetch){
        .door = door, .events = events, .data = data, .deadline.due = deadline_due,
        .head = NACRE_BUF((size_t)1 << 20),
        .pending = NACRE_BUF(NACRE_BUF_LIMIT_MAX / 4),
    };
    /* A method of too many letters is refused with the others, not cut to a good one. */
    if (!copy_ask(fetch, ask)) {
        door_fetch_free(fetch);
        return NULL;
    }
    if (strlen(ask->method) >= sizeof(fetch->method))
        fetch->method[0] = '\0';
    fetch_queue(fetch);
    return fetch;
}

void door_fetch_resume(struct door_fetch *fetch)
{
    fetch->owner_waits = false;
    fetch_queue(fetch);
}

void door_fetch_free(struct door_fetch *fetch)
{
    struct door_fetcher *fetcher;

    if (!fetch)
        return;
    fetcher = fetch->door->fetcher;
    if (fetcher->current == fetch)
        fetcher->current = NULL;
    unqueue(fetch);
    door_timer_set(fetch->door->loop, &fetch->deadline, 0);
    door_lookup_free(fetch->lookup);
    fetch_stop(fetch);
    if (fetch->state != FETCH_NEW && !fetch->recorded) { /* its owner has lost interest */
        if (!fetch->status && !fetch->record.code[0])
            (void)snprintf(fetch->record.code, sizeof(fetch->record.code), "%s",
                           door_code_name(NACRE_HTTP_TIMED_OUT));
        keep_record(fetch);
    }
    fetch_forget_answer(fetch);
    forget_pending(fetch);
    nacre_buf_clear(&fetch->headers);
    nacre_buf_clear(&fetch->body);
    nacre_buf_clear(&fetch->pending);
    free(fetch);
}
