#ifndef DOOR_DOOR_H
#define DOOR_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop.h"
#include "nacre/door.h"
#include "nacre/door_wire.h"
#include "nacre/egress.h"
#include "nacre/leak.h"
#include "nacre/url.h"

/*
 * The process behind a sandbox's only way out.  It trusts its control socket (the host)
 * and nothing else: not the guest, not the servers, not DNS.
 */

struct door_secret {
    const char *name; /* as in egress.secrets, at the same index */
    unsigned char *value; /* locked memory */
    size_t count;
    bool by_token; /* a placeholder does not stand for it */
};

struct door_token {
    struct nacre_digest digest;
    uint32_t secret;
    uint64_t expires_ms; /* wall clock */
};

struct door {
    struct door_loop *loop;
    struct door_watch control; /* the socket to the host: the door ends when it does */
    struct nacre_egress egress;
    struct door_secret *secrets;
    uint32_t secret_count;
    struct door_token *tokens;
    uint32_t token_count;
    bool has_revoked;
    int revoked_fd; /* see revoked.h */
    struct nacre_leaks *leaks; /* values and patterns; NULL: nothing is scanned */
    struct nacre_leaks *scrub; /* the values alone, out of what comes back; NULL: none */
    struct door_fetcher *fetcher;
    struct door_resolver *resolver;
    struct door_ca *ca;        /* for hosts of way INTERCEPT; or NULL */
    struct door_clients *clients; /* connections of native tools; NULL: none came yet */

    /* The runs under way (a kept sandbox may have several commands); outside of them
     * nothing is sent. */
    uint32_t runs;
    bool running;
    uint64_t deadline_ns; /* of the last of them */
    uint64_t requests;
    uint64_t *minute_ns;  /* when the last requests_per_minute_max of them were let go */
    uint64_t minute_next;
    /* What it did, until end() takes it. */
    struct nacre_result *done; /* denials, egress records, leak tally */
};

/* ---- the host's orders (control.c) ---- */

/* What the host has sent so far is done, up to the order that lets a run begin: a guest
 * may be quicker than it.  Who finds `running` false calls this and looks again. */
void door_control_drain(struct door *door);

/* ---- the process (cage.c) ---- */

/* At the start, and once everything is open that it needs. */
NACRE_MUST_CHECK enum nacre_status door_cage_begin(struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status door_cage_close(struct nacre_error *err);

/* Memory that is locked, in no dump and wiped; NULL when it can't be had.  For values and
 * what they are put into; before door_locked_begin() there are none, and nothing is
 * locked: a door without secrets needs no limit on locked memory. */
void door_locked_begin(void);
void *door_locked_new(size_t count); /* given back by nacre_locked_free() */

/* ---- what was done (record.c) ---- */

/* One request or tunnel that ended. */
void door_record(struct door *door, const struct nacre_egress_record *record);
/* A refusal, for the result's denials. */
void door_denied(struct door *door, const struct nacre_egress_verdict *verdict,
                 const char *host);
/* Values that a server has put into what is told, out of it. */
void door_scrub_text(const struct door *door, char *text, size_t size);
/* May one more request begin?  Counts it.  False: outside of a run, over requests_max or
 * over the rate; `text` receives the sentence. */
bool door_admit(struct door *door, char *ret_text, size_t size);
/* What the scan found in something outbound; true: it may not leave. */
bool door_leaked(struct door *door, const struct nacre_leak_counts *counts,
                 enum nacre_leak_class worst);
/* A code's name, as records have it. */
const char *door_code_name(enum nacre_http_code code);

/* ---- where a name leads (resolve.c) ---- */

NACRE_MUST_CHECK enum nacre_status door_resolver_new(struct door *door,
                                                     struct door_resolver **ret_resolver,
                                                     struct nacre_error *err);
#define DOOR_ADDRESSES_MAX 32
struct door_addresses {
    struct nacre_address items[DOOR_ADDRESSES_MAX];
    uint32_t count;
    char denied[24]; /* for DENIED: the verdict's code; its denial is already kept */
};
struct door_lookup;
/*
 * One lookup (A and AAAA) of a name that nacre_egress_judge() has allowed, every answer
 * judged.  `done` is called once, later: code OK with the addresses, or why not with a
 * sentence.  An address is its own answer.  To be freed by its owner, before `done`
 * (which is never called then) or after, also inside it.
 */
typedef void door_looked_up(void *data, enum nacre_http_code code,
                            const struct door_addresses *addresses, const char *text);
NACRE_MUST_CHECK enum nacre_status door_lookup(struct door *door, const char *name,
                                               door_looked_up *done, void *data,
                                               struct door_lookup **ret_lookup,
                                               struct nacre_error *err);
void door_lookup_free(struct door_lookup *lookup);

/* False: neither IPv4 nor IPv6, and *ret_port is as it was. */
struct sockaddr;
bool door_sockaddr_read(const struct sockaddr *from, struct nacre_address *ret_address,
                        unsigned *ret_port);

/* ---- one request from asking to answer (fetch.c) ---- */

NACRE_MUST_CHECK enum nacre_status door_fetcher_new(struct door *door,
                                                    struct door_fetcher **ret_fetcher,
                                                    struct nacre_error *err);

struct door_fetch;

/* What a fetch tells its owner: from the loop, never from inside door_fetch_*(). */
struct door_fetch_events {
    /* The last hop's answer is here; headers as "Name: value\n" each, scrubbed. */
    void (*answered)(void *data, uint32_t status, const char *headers, size_t size);
    /* Body, decoded and scrubbed.  Returning false pauses until door_fetch_resume(). */
    bool (*body)(void *data, const char *bytes, size_t count);
    /* The end: OK, or why not with a sentence for the guest.  The fetch is still to be
     * freed by its owner. */
    void (*ended)(void *data, enum nacre_http_code code, const char *text);
};

struct door_ask {
    const char *method;
    struct nacre_url url;         /* parsed, not judged yet */
    const char *headers;          /* "Name: value\n" each, from the guest */
    size_t headers_size;
    const void *body;             /* whole; copied */
    size_t body_size;
    bool follow;                  /* redirects, each judged like the first */
    bool raw_body;                /* leave Content-Encoding alone (a proxy's client asked
                                     for it itself); scanned and scrubbed all the same */
};

/*
 * Judge, look up, check, scan, put secrets in, send, follow, scrub.  What is refused ends
 * in events->ended like every failure; NULL only when memory ran out.
 */
struct door_fetch *door_fetch_new(struct door *door, const struct door_ask *ask,
                                  const struct door_fetch_events *events, void *data);
void door_fetch_resume(struct door_fetch *fetch);
void door_fetch_free(struct door_fetch *fetch); /* wherever it is; accepts NULL */

/* ---- who comes in ---- */

/* Each takes over the fd, which with NACRE_DOOR_LISTEN in its kind is a listening one.
 * guest.c: nacre/door_wire.h; proxy.c: kinds PROXY and HTTP;
 * tls.c: kind TLS. */
void door_guest_serve(struct door *door, int fd);
void door_proxy_serve(struct door *door, int fd, int kind);
void door_tls_serve(struct door *door, int fd, int kind);
/* Close all of them, at the end of a run: guests' sockets stay, their responses go. */
void door_guests_end(struct door *door);
void door_clients_end(struct door *door); /* listening sockets too */
void door_clients_free(struct door *door);

/* ---- the sandbox's own CA (ca.c) ---- */

/* Name-constrained to the hosts of way INTERCEPT, valid for the door's life, its key in
 * memory only. */
NACRE_MUST_CHECK enum nacre_status door_ca_new(const struct nacre_egress *egress,
                                               uint64_t life_s, struct door_ca **ret_ca,
                                               struct nacre_error *err);
const char *door_ca_certificate(const struct door_ca *ca); /* PEM */
void door_ca_free(struct door_ca *ca); /* accepts NULL */

#endif
