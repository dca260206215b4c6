/*
 * What native tools say in HTTP: to a proxy, to port 80 of a name, or inside a TLS
 * connection that is ended here.  Trusts nothing of it.
 *
 * Every request goes out by door_fetch_new(), which judges it again; what is refused here
 * closes the connection, so that what was to follow is never taken for a request.
 *
 * A host of way UPGRADE is called as http://HOST[:PORT] and spoken to in TLS on the same
 * port, 443 for 80; only where a rule names port 80 itself is it spoken to in clear.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "reply.h"
#include "client.h"
#include "head.h"
#include "inflate.h"
#include "nacre/clock.h"

#define OUT_HIGH ((size_t)128 << 10) /* the server waits when so much does */
#define OUT_LOW ((size_t)32 << 10)

enum stage {
    STAGE_HEAD,
    STAGE_BODY,
    STAGE_ASKED,   /* the answer is on its way */
    STAGE_ENDED,   /* and all of it is in `out` */
};

struct door_talk {
    enum stage stage;
    bool has_begun;      /* a head has */
    bool is_paused, is_broken, is_half_closed;
    struct door_head head;
    struct door_body body;
    struct nacre_buf sent;
    size_t held;         /* of it, in the count of all that is held */
    struct door_fetch *fetch;
    struct door_asked asked;
    struct door_reply reply;
};

static void ready(struct door_client *client, uint32_t events);

static void clear_request(struct door_client *client)
{
    struct door_talk *talk = client->talk;

    door_fetch_free(talk->fetch);
    door_head_clear(&talk->head);
    nacre_buf_clear(&talk->sent);
    door_client_hold(client, &talk->held, 0);
    *talk = (struct door_talk){ .is_half_closed = talk->is_half_closed };
}

void door_proxy_end(struct door_client *client)
{
    if (!client->talk)
        return;
    clear_request(client);
    free(client->talk);
    client->talk = NULL;
}

void door_proxy_begin(struct door_client *client)
{
    client->talk = calloc(1, sizeof(*client->talk));
    if (!client->talk) {
        door_client_end(client);
        return;
    }
    client->ready = ready;
    client->late = NULL;
    door_client_patience(client, DOOR_IDLE_NS);
    ready(client, 0);
}

/* ---- refusals ---- */

static void refuse(struct door_client *client, uint32_t status, const char *code,
                   const char *text)
{
    struct door_refusal refusal = {
        .status = status, .code = code, .text = text,
        .is_bare = strcmp(client->talk->head.method, "HEAD") == 0,
    };

    if (!door_refusal_write(&client->out, &refusal)) {
        door_client_end(client);
        return;
    }
    door_proxy_end(client);
    door_client_part(client);
}

/* Refused by the door, not by a rule. */
static void refuse_request(struct door_client *client, uint32_t status, const char *text)
{
    const struct door_head *head = &client->talk->head;

    door_client_refused(client, head->method, head->url.host, head->url.port,
                        door_code_name(NACRE_HTTP_BAD_REQUEST));
    refuse(client, status, door_code_name(NACRE_HTTP_BAD_REQUEST), text);
}

static void deny(struct door_client *client, const struct nacre_egress_verdict *verdict)
{
    const struct door_head *head = &client->talk->head;

    door_client_denied(client, head->method, head->url.host, head->url.port, verdict);
    refuse(client, 403, verdict->code, verdict->text);
}

/* ---- CONNECT ---- */

/* The bytes after the head are the tunnel's. */
static void say_connected(struct door_client *client)
{
    static const char line[] = "HTTP/1.1 200 Connection established\r\n\r\n";

    if (!door_queue_add(&client->out, line, sizeof(line) - 1, DOOR_OUT_MAX)) {
        door_client_end(client);
        return;
    }
    door_proxy_end(client);
    door_hello_begin(client);
}

static void dialed(struct door_client *client, enum nacre_http_code code,
                   const char *word, const char *text)
{
    if (code == NACRE_HTTP_OK)
        say_connected(client);
    else
        refuse(client, door_status_of(code), word, text);
}

/* The client's one host from here on. */
static void fix_host(struct door_client *client, const struct nacre_url *url)
{
    memcpy(client->host, url->host, sizeof(client->host));
    client->port = url->port;
}

static void connect_asked(struct door_client *client)
{
    const struct door_head *head = &client->talk->head;
    struct nacre_egress_verdict verdict;
    char text[256];

    if (head->body_bytes > 0 || head->is_chunked) {
        refuse_request(client, 400, "CONNECT has no body");
        return;
    }
    nacre_egress_judge_tls(&client->door->egress, head->url.host, head->url.port,
                           &verdict);
    if (!verdict.allowed ||
        (verdict.way == NACRE_WAY_TUNNEL &&
         door_tunnel_leaks(client->door, head->url.host, &verdict))) {
        deny(client, &verdict);
        return;
    }
    fix_host(client, &head->url);
    if (verdict.way == NACRE_WAY_INTERCEPT) {
        say_connected(client);
    } else if (door_admit(client->door, text, sizeof(text))) {
        client->talk->stage = STAGE_ASKED;
        door_tunnel_dial(client, dialed);
    } else if (!client->over) { /* asking may have ended the run */
        door_client_refused(client, head->method, head->url.host, head->url.port,
                            door_code_name(NACRE_HTTP_TOO_MANY));
        refuse(client, client->door->running ? 429 : 503,
               door_code_name(NACRE_HTTP_TOO_MANY), text);
    }
}

/* ---- an answer comes ---- */

/* Called by the fetch, which may not be freed meanwhile: what follows is done when the
 * loop calls ready(). */
static void go_on_later(struct door_client *client)
{
    door_client_patience(client, DOOR_TUNNEL_NS);
    if (!door_watch_set(client->door->loop, &client->watch, EPOLLOUT))
        door_timer_set(client->door->loop, &client->timer, nacre_clock_ns());
}

static void answered(void *data, uint32_t status, const char *fields, size_t size)
{
    struct door_client *client = data;
    struct door_talk *talk = client->talk;

    talk->is_broken = !door_reply_begin(&talk->reply, &client->out, client->door,
                                         &talk->asked, status, fields, size);
    go_on_later(client);
}

static bool body_came(void *data, const char *bytes, size_t count)
{
    struct door_client *client = data;
    struct door_talk *talk = client->talk;

    if (talk->is_broken || !door_reply_body(&talk->reply, &client->out, bytes, count))
        talk->is_broken = true;
    talk->is_paused = talk->is_broken || client->out.count > OUT_HIGH;
    go_on_later(client);
    return !talk->is_paused;
}

static void ended(void *data, enum nacre_http_code code, const char *text)
{
    struct door_client *client = data;
    struct door_talk *talk = client->talk;
    struct door_refusal refusal = {
        .status = door_status_of(code), .code = door_code_name(code), .text = text,
        .is_bare = talk->asked.is_head, .keeps_alive = talk->asked.keeps_alive,
    };

    talk->stage = STAGE_ENDED;
    if (talk->reply.begun) {
        if (code != NACRE_HTTP_OK || !door_reply_end(&talk->reply, &client->out))
            talk->is_broken = true;
    } else {
        talk->reply.keeps_alive = refusal.keeps_alive;
        if (!door_refusal_write(&client->out, &refusal))
            talk->is_broken = true;
    }
    go_on_later(client);
}

/* ---- a request is whole ---- */

/* The field's line; NULL: there is none.  Each ends in a line feed. */
static char *find_field(const struct nacre_buf *fields, const char *name)
{
    size_t length = strlen(name);
    char *at = fields->bytes, *end = fields->size > 0 ? at + fields->size : at;

    for (; at < end; at = (char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        if ((size_t)(end - at) > length && at[length] == ':' &&
            strncasecmp(at, name, length) == 0)
            return at;
    return NULL;
}

static void drop_line(struct nacre_buf *fields, char *line)
{
    char *end = fields->bytes + fields->size;
    char *next = (char *)memchr(line, '\n', (size_t)(end - line)) + 1;

    memmove(line, next, (size_t)(end - next) + 1); /* with the zero behind it */
    fields->size -= (size_t)(next - line);
}

/* A body that is scanned is sent as it was scanned: git, for one, sends its own
 * compressed.  Other encodings, and a second one, are left for the fetch to refuse.
 * False: refused. */
static bool decode_body(struct door_client *client)
{
    struct door_talk *talk = client->talk;
    struct nacre_buf clear = NACRE_BUF(talk->sent.size_max);
    char *field = find_field(&talk->head.fields, "content-encoding");
    enum door_body_is is;

    if (!client->door->leaks || talk->sent.size == 0 || !field ||
        strncasecmp(field, "content-encoding: gzip\n", 23) != 0)
        return true;
    is = door_inflate(talk->sent.bytes, talk->sent.size, &clear);
    if (is != DOOR_BODY_WHOLE || !door_client_hold(client, &talk->held, clear.size)) {
        nacre_buf_clear(&clear);
        refuse_request(client, is == DOOR_BODY_BAD ? 400 : 413,
                       is == DOOR_BODY_BAD
                           ? "the body is not what its Content-Encoding says"
                           : "the body of the request is larger than may be sent");
        return false;
    }
    nacre_buf_clear(&talk->sent);
    talk->sent = clear;
    drop_line(&talk->head.fields, field);
    return true;
}

static void ask(struct door_client *client)
{
    static const struct door_fetch_events events = { .answered = answered,
                                                     .body = body_came, .ended = ended };
    struct door_talk *talk = client->talk;
    struct door_head *head = &talk->head;
    struct door_ask question = { .method = head->method, .url = head->url };
    char *field;

    if (!decode_body(client))
        return;
    /* What is taken out of an answer must be seen in clear, so then it comes decoded. */
    question.raw_body = !client->door->scrub;
    while (!question.raw_body && (field = find_field(&head->fields, "accept-encoding")))
        drop_line(&head->fields, field);
    question.headers = head->fields.bytes ? head->fields.bytes : "";
    question.headers_size = head->fields.size;
    question.body = talk->sent.bytes ? talk->sent.bytes : "";
    question.body_size = talk->sent.size;
    talk->asked = (struct door_asked){
        .url = &head->url, .is_head = strcmp(head->method, "HEAD") == 0,
        .is_old = head->is_old, .keeps_alive = head->keeps_alive,
        .is_raw = question.raw_body,
    };
    talk->stage = STAGE_ASKED;
    door_client_patience(client, DOOR_TUNNEL_NS);
    talk->fetch = door_fetch_new(client->door, &question, &events, client);
    if (!talk->fetch)
        refuse(client, 503, door_code_name(NACRE_HTTP_INTERNAL),
               "the door has no memory");
    else
        nacre_buf_clear(&talk->sent); /* it was copied */
}

/* Is the request one for whom it was sent to? */
static const char *misdirected(const struct door_client *client)
{
    const struct door_head *head = &client->talk->head;
    bool is_connect = head->form == DOOR_TARGET_AUTHORITY;

    if (client->host[0] != '\0') {
        if (is_connect || !head->url.tls || head->url.port != client->port ||
            strcmp(head->url.host, client->host) != 0)
            return "this connection leads to the host of its TLS name and no other";
    } else if (client->kind == NACRE_DOOR_HTTP) {
        if (is_connect || head->url.tls || head->url.port != 80)
            return "this is port 80 of a host; for other ports use the proxy in "
                   "$HTTP_PROXY";
    } else if (head->form == DOOR_TARGET_ORIGIN) {
        return "this is a proxy: ask it for http://HOST/PATH, or set HTTP_PROXY to it "
               "and let your client do so";
    }
    return NULL;
}

static void head_came(struct door_client *client)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct door_talk *talk = client->talk;
    struct door_head *head = &talk->head;
    uint64_t body_max = client->door->egress.limits.body_bytes_max;
    struct nacre_egress_verdict verdict;
    const char *why = misdirected(client);

    if (why) {
        refuse_request(client, head->form == DOOR_TARGET_ORIGIN ? 400 : 421, why);
        return;
    }
    if (head->form == DOOR_TARGET_AUTHORITY) {
        connect_asked(client);
        return;
    }
    nacre_egress_judge_url(&client->door->egress, &head->url, &verdict);
    if (!verdict.allowed) {
        deny(client, &verdict);
        return;
    }
    if (body_max > NACRE_DOOR_BODY_MAX)
        body_max = NACRE_DOOR_BODY_MAX;
    if (head->body_bytes > body_max) {
        refuse_request(client, 413, "the body of the request is larger than may be sent");
        return;
    }
    if (head->expects_continue && (head->body_bytes > 0 || head->is_chunked) &&
        client->in.count == 0 &&
        !door_queue_add(&client->out, go_on, sizeof(go_on) - 1, DOOR_OUT_MAX)) {
        door_client_end(client);
        return;
    }
    talk->sent = (struct nacre_buf)NACRE_BUF((size_t)body_max);
    door_body_init(&talk->body, head);
    talk->stage = STAGE_BODY;
}

/* ---- bytes come ---- */

/* False: more are needed. */
static bool use_head(struct door_client *client)
{
    struct door_talk *talk = client->talk;
    size_t used = 0;

    if (client->in.count == 0)
        return false;
    if (!talk->has_begun) {
        talk->has_begun = true;
        door_client_patience(client, DOOR_HEAD_NS);
    }
    switch (door_head_read(door_queue_bytes(&client->in), client->in.count,
                           client->stream.tls != NULL, &talk->head, &used)) {
    case DOOR_HEAD_MORE:
        return false;
    case DOOR_HEAD_BAD:
        refuse_request(client, talk->head.refusal, talk->head.text);
        return true;
    case DOOR_HEAD_WHOLE:
        door_queue_drop(&client->in, used);
        door_client_patience(client, DOOR_IDLE_NS);
        head_came(client);
    }
    return true;
}

static bool use_body(struct door_client *client)
{
    struct door_talk *talk = client->talk;
    size_t used = 0;
    enum door_body_is is = door_body_take(&talk->body, door_queue_bytes(&client->in),
                                          client->in.count, &talk->sent, &used);

    door_queue_drop(&client->in, used);
    if (used > 0)
        door_client_patience(client, DOOR_IDLE_NS);
    if (!door_client_hold(client, &talk->held, talk->sent.size)) {
        refuse_request(client, 503, "the sandbox is sending too much at once: send less, "
                                    "or one after the other");
        return true;
    }
    switch (is) {
    case DOOR_BODY_MORE:
        return false;
    case DOOR_BODY_WHOLE:
        ask(client);
        return true;
    case DOOR_BODY_BAD:
        refuse_request(client, 400, "the chunks of the body are not well formed");
        return true;
    case DOOR_BODY_TOO_BIG:
        refuse_request(client, 413, "the body of the request is larger than may be sent");
        return true;
    }
    return true;
}

/* One step; false: nothing to be done before something comes. */
static bool use_input(struct door_client *client)
{
    struct door_talk *talk = client->talk;
    enum door_io io;

    if (talk->stage == STAGE_HEAD ? use_head(client) : use_body(client))
        return true;
    io = door_stream_fill(&client->stream, &client->in, DOOR_HEAD_BYTES_MAX);
    if (io == DOOR_IO_END || io == DOOR_IO_BROKEN)
        door_client_end(client);
    return io == DOOR_IO_SOME;
}

/* The answer is out: the next one, or good-bye. */
static void finish(struct door_client *client)
{
    struct door_talk *talk = client->talk;
    bool keeps_alive = talk->reply.keeps_alive && !talk->is_half_closed;

    clear_request(client);
    if (keeps_alive) {
        door_client_patience(client, DOOR_IDLE_NS);
        return;
    }
    door_proxy_end(client);
    door_client_part(client);
}

/* An answer that stays unfinished must not look like one that is not. */
static void break_off(struct door_client *client)
{
    struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

    (void)setsockopt(client->stream.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    door_client_end(client);
}

/* True: there is more to do at once. */
static bool step(struct door_client *client)
{
    struct door_talk *talk = client->talk;

    switch (talk->stage) {
    case STAGE_HEAD:
    case STAGE_BODY:
        return use_input(client);
    case STAGE_ASKED:
        if (talk->is_paused && client->out.count <= OUT_LOW) {
            talk->is_paused = false;
            door_fetch_resume(talk->fetch);
        }
        return false;
    case STAGE_ENDED:
        if (client->out.count > 0)
            return false;
        finish(client);
        return true;
    }
    return false;
}

static void ready(struct door_client *client, uint32_t events)
{
    struct door_talk *talk = client->talk;
    uint32_t wanted = 0;

    if (events & EPOLLRDHUP)
        talk->is_half_closed = true;
    do {
        size_t waiting = client->out.count;
        enum door_io io = door_stream_flush(&client->stream, &client->out);

        if (io == DOOR_IO_BROKEN || io == DOOR_IO_END || events & (EPOLLERR | EPOLLHUP)) {
            door_client_end(client);
            return;
        }
        if (client->out.count < waiting)
            door_client_patience(client, client->out.count > 0 ||
                                                 client->talk->stage != STAGE_ASKED
                                             ? DOOR_IDLE_NS
                                             : DOOR_TUNNEL_NS);
        if (client->talk->is_broken) {
            break_off(client);
            return;
        }
    } while (step(client) && !client->over && client->talk);
    talk = client->talk;
    if (client->over || !talk)
        return;
    if (talk->stage <= STAGE_BODY)
        wanted = EPOLLIN;
    else if (!talk->is_half_closed)
        wanted = EPOLLRDHUP;
    door_client_watch(client, wanted);
}

void door_proxy_serve(struct door *door, int fd, int kind)
{
    door_client_serve(door, fd, kind, door_proxy_begin);
}
