/*
 * A TLS connection of a native tool: to port 443 of a name, or behind a CONNECT.  Its
 * first message names the host; that name is judged and looked up, and nothing else.
 * Trusts nothing of it.
 *
 * What is opaque stays so: behind a hello for an allowed name a client may ask the server
 * for another host that it serves too, in an encrypted request.  Only ways UPGRADE and
 * INTERCEPT see that.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "client.h"
#include "hello.h"
#include "intercept.h"
#include "nacre/clock.h"

#define RULE "capabilities.network"

enum alert {
    ALERT_NONE = 0, /* to what does not speak TLS */
    ALERT_ACCESS_DENIED = 49,
    ALERT_DECODE_ERROR = 50,
    ALERT_INTERNAL_ERROR = 80,
    ALERT_MISSING_EXTENSION = 109,
    ALERT_UNRECOGNIZED_NAME = 112,
};

static void ready(struct door_client *client, uint32_t events);

void door_hello_begin(struct door_client *client)
{
    client->ready = ready;
    client->late = NULL;
    door_client_patience(client, DOOR_HEAD_NS);
    ready(client, 0);
}

void door_tls_serve(struct door *door, int fd, int kind)
{
    door_client_serve(door, fd, kind, door_hello_begin);
}

static void refuse(struct door_client *client, enum alert alert)
{
    const unsigned char fatal[] = { 21, 3, 3, 0, 2, 2, (unsigned char)alert };

    door_tunnel_drop(client);
    if (alert != ALERT_NONE)
        (void)door_queue_add(&client->out, fatal, sizeof(fatal), SIZE_MAX >> 1);
    door_client_part(client);
}

static uint16_t port_of(const struct door_client *client)
{
    return client->port ? client->port : 443;
}

static void deny(struct door_client *client, enum alert alert, const char *name,
                 const struct nacre_egress_verdict *verdict)
{
    door_client_denied(client, "CONNECT", name[0] ? name : client->host, port_of(client),
                       verdict);
    refuse(client, alert);
}

/* ---- what it leads to ---- */

static void intercept(struct door_client *client)
{
    struct nacre_error err;

    client->stream.early = client->in;
    client->in = (struct door_queue){ .bytes = NULL };
    if (!client->door->ca || door_tls_start(&client->stream, client->door->ca,
                                            client->host, &err) != NACRE_OK) {
        door_client_refused(client, "CONNECT", client->host, client->port,
                            door_code_name(NACRE_HTTP_INTERNAL));
        refuse(client, ALERT_INTERNAL_ERROR);
        return;
    }
    door_proxy_begin(client);
}

/* A client that speaks TLS is told no sentences. */
static void dialed(struct door_client *client, enum nacre_http_code code,
                   const char *word, const char *text)
{
    (void)word;
    (void)text;
    if (code == NACRE_HTTP_OK)
        door_tunnel_open(client);
    else
        refuse(client, code == NACRE_HTTP_DENIED ? ALERT_ACCESS_DENIED
                                                 : ALERT_INTERNAL_ERROR);
}

/* It went away while we dialled. */
static void gone(struct door_client *client, uint32_t events)
{
    (void)events;
    door_client_end(client);
}

static void dial(struct door_client *client)
{
    char text[256];

    if (door_admit(client->door, text, sizeof(text))) {
        client->ready = gone;
        door_client_watch(client, 0);
        door_tunnel_dial(client, dialed);
    } else if (!client->over) { /* asking may have ended the run */
        door_client_refused(client, "CONNECT", client->host, client->port,
                            door_code_name(NACRE_HTTP_TOO_MANY));
        refuse(client, ALERT_INTERNAL_ERROR);
    }
}

/* The name is the only one there is: nothing was said before the hello. */
static void judge(struct door_client *client, const char *name)
{
    struct nacre_egress_verdict verdict;

    nacre_egress_judge_tls(&client->door->egress, name, 443, &verdict);
    if (!verdict.allowed || (verdict.way == NACRE_WAY_TUNNEL &&
                             door_tunnel_leaks(client->door, name, &verdict))) {
        deny(client, verdict.way == NACRE_WAY_UPGRADE ? ALERT_ACCESS_DENIED
                                                      : ALERT_UNRECOGNIZED_NAME,
             name, &verdict);
        return;
    }
    (void)snprintf(client->host, sizeof(client->host), "%s", name);
    client->port = 443;
    if (verdict.way == NACRE_WAY_TUNNEL)
        dial(client);
    else
        intercept(client);
}

static void named(struct door_client *client, const char *asked)
{
    struct nacre_egress_verdict verdict;
    char name[NACRE_NAME_SIZE];
    struct nacre_error err;

    /* But for its case it has to be the one form of a name: it is passed on as it is. */
    if (nacre_name_normalise(asked, strlen(asked), name, &err) != NACRE_OK ||
        strcasecmp(asked, name) != 0) {
        door_verdict(&verdict, "bad-hello", RULE,
                     "the TLS server name is not a host's name in its one form");
        deny(client, ALERT_UNRECOGNIZED_NAME, "", &verdict);
    } else if (client->host[0] == '\0') {
        judge(client, name);
    } else if (strcmp(name, client->host) != 0) {
        door_verdict(&verdict, "name-mismatch", RULE,
                     "CONNECT asked for %.120s, but the TLS server name is %.120s: both "
                     "have to be the host that is meant", client->host, name);
        deny(client, ALERT_UNRECOGNIZED_NAME, name, &verdict);
    } else if (client->tunnel) {
        door_tunnel_open(client);
    } else {
        intercept(client);
    }
}

/* ---- the hello ---- */

static void heard(struct door_client *client, enum door_hello_is is,
                  const struct door_hello *hello)
{
    struct nacre_egress_verdict verdict;

    switch (is) {
    case DOOR_HELLO_WHOLE:
        named(client, hello->name);
        return;
    case DOOR_HELLO_NO_NAME:
        door_verdict(&verdict, "no-server-name", RULE,
                     "a TLS connection that names no host (SNI) is not let out: connect "
                     "by name, not by address");
        deny(client, ALERT_MISSING_EXTENSION, "", &verdict);
        return;
    case DOOR_HELLO_ENCRYPTED:
        door_verdict(&verdict, "encrypted-hello", RULE,
                     "a TLS connection with an encrypted client hello (ECH) is not let "
                     "out, as the host can't be known: switch ECH off in the client");
        deny(client, ALERT_ACCESS_DENIED, hello->name, &verdict);
        return;
    case DOOR_HELLO_NOT_TLS:
        door_verdict(&verdict, "not-tls", RULE,
                     "only TLS goes through a tunnel or port 443; plain HTTP goes to the "
                     "proxy as http://HOST/, other protocols do not leave a sandbox");
        deny(client, ALERT_NONE, "", &verdict);
        return;
    case DOOR_HELLO_MORE:
    case DOOR_HELLO_BAD:
    case DOOR_HELLO_TOO_BIG:
        door_verdict(&verdict, "bad-hello", RULE,
                     "the TLS client hello is not well formed, or too big");
        deny(client, ALERT_DECODE_ERROR, "", &verdict);
        return;
    }
}

static void ready(struct door_client *client, uint32_t events)
{
    struct door_hello hello = { .name = "" };
    enum door_hello_is is;
    enum door_io io = door_stream_flush(&client->stream, &client->out);

    if (io == DOOR_IO_BROKEN || events & (EPOLLERR | EPOLLHUP)) {
        door_client_end(client);
        return;
    }
    for (;;) {
        is = door_hello_read((const uint8_t *)door_queue_bytes(&client->in),
                             client->in.count, &hello);
        if (is != DOOR_HELLO_MORE) {
            heard(client, is, &hello);
            return;
        }
        io = door_stream_fill(&client->stream, &client->in, DOOR_HELLO_BYTES_MAX);
        if (io == DOOR_IO_AGAIN)
            break;
        if (io != DOOR_IO_SOME) {
            door_client_end(client);
            return;
        }
    }
    door_client_watch(client, EPOLLIN);
}
