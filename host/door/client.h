#ifndef DOOR_CLIENT_H
#define DOOR_CLIENT_H

#include "door.h"
#include "stream.h"

/*
 * One connection of a native tool, from its first byte to its last.  Exactly one of the
 * files at the bottom has it at a time, by `ready`.
 *
 * A client that was ended stays allocated until the loop's next turn, so that whoever
 * calls something by which it may have ended can look at `over`.
 */
struct door_client {
    struct door *door;
    struct door_client *next, **link;
    int kind;        /* enum nacre_door_kind, without LISTEN */
    bool is_waiting; /* for others to end */
    bool is_parting, over;
    struct door_stream stream;
    struct door_watch watch;
    struct door_timer timer;
    uint64_t late_ns;
    struct door_queue in, out;

    void (*begin)(struct door_client *client); /* once there is a place for it */
    void (*ready)(struct door_client *client, uint32_t events);
    void (*late)(struct door_client *client); /* its time is up; NULL: it is ended */

    /* Whom it may talk to and nobody else: the name of CONNECT or of the hello. */
    char host[NACRE_NAME_SIZE]; /* "": not fixed */
    uint16_t port;
    struct door_talk *talk;     /* proxy.c's */
    struct door_tunnel *tunnel; /* tunnel.c's */
};

#define DOOR_HEAD_NS (15 * NACRE_NS_PER_S)    /* for a head or a hello to be whole */
#define DOOR_IDLE_NS (60 * NACRE_NS_PER_S)    /* between requests, and between bytes */
#define DOOR_TUNNEL_NS (300 * NACRE_NS_PER_S) /* for a tunnel in which nothing moves */

/* Takes over the fd; with LISTEN in its kind, whoever comes through it.  `begin` is
 * called once there is a place for it. */
void door_client_serve(struct door *door, int fd, int kind,
                       void (*begin)(struct door_client *client));

/* It has so long until `late`, and never longer than the run. */
void door_client_patience(struct door_client *client, uint64_t ns);
/* What to wait for; what the stream and `out` need is added.  Ends it when that fails. */
void door_client_watch(struct door_client *client, uint32_t events);
void door_client_end(struct door_client *client);

/* How many bytes of requests are held for it; false when that is too much for all
 * clients together, and then the count is changed all the same. */
bool door_client_hold(struct door_client *client, size_t *held, size_t count);

/* `out` is sent, our side is closed, and what still comes is thrown away for a moment: a
 * reset would take our last words with it. */
void door_client_part(struct door_client *client);

/* ---- who has it ---- */

/* proxy.c: requests, one after the other.  With `host` set, all of them go there. */
void door_proxy_begin(struct door_client *client);
void door_proxy_end(struct door_client *client); /* frees `talk`; NULL is fine */

/* tls.c: a hello, and what comes of it. */
void door_hello_begin(struct door_client *client);

/* tunnel.c: has the name, which is asked for and said in clear, a secret in it?  Then the
 * verdict says so. */
bool door_tunnel_leaks(struct door *door, const char *host,
                       struct nacre_egress_verdict *ret_verdict);

/*
 * tunnel.c: looks the client's host up and connects; then `dialed` is called once, later,
 * with the code OK or why not, in a word and in a sentence; that is in the records then.
 */
typedef void door_dialed(struct door_client *client, enum nacre_http_code code,
                         const char *word, const char *text);
void door_tunnel_dial(struct door_client *client, door_dialed *dialed);
/* What is in `in` and all that follows goes through, both ways. */
void door_tunnel_open(struct door_client *client);
/* Frees `tunnel` and records what went through it, also when that is nothing: a host was
 * called.  The second leaves the record to who refused it.  NULL is fine for both. */
void door_tunnel_end(struct door_client *client);
void door_tunnel_drop(struct door_client *client);

/* ---- refusals (refuse.c) ---- */

/* A verdict of the door's own, in `rule`'s name. */
void door_verdict(struct nacre_egress_verdict *verdict, const char *code,
                  const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Into the records of the run; the first into its denials too. */
void door_client_denied(struct door_client *client, const char *method, const char *host,
                        uint16_t port, const struct nacre_egress_verdict *verdict);
void door_client_refused(struct door_client *client, const char *method, const char *host,
                         uint16_t port, const char *code);

struct door_refusal {
    uint32_t status;
    const char *code, *text;
    bool is_bare;     /* to HEAD: no body */
    bool keeps_alive;
};
/* As an answer of HTTP; false when memory ran out. */
bool door_refusal_write(struct door_queue *out, const struct door_refusal *refusal);
uint32_t door_status_of(enum nacre_http_code code);
const char *door_reason(uint32_t status);

#endif
