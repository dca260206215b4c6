#ifndef NACRE_EGRESS_H
#define NACRE_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/address.h"
#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/policy.h"
#include "nacre/url.h"

/*
 * What may leave a sandbox: a part of the plan, made from the policy's network lines.  One
 * judge for every level, for `explain --host` and for the door; pure.
 */

/* How a native tool reaches a host; a wasm guest's requests are always seen whole. */
#define NACRE_WAY_MAP(X)         \
    X(NONE, "none")              \
    X(TUNNEL, "tunnel")          /* opaque: nothing is scanned or put in */ \
    X(UPGRADE, "upgrade")        /* it says http, the door speaks TLS */ \
    X(INTERCEPT, "intercept")    /* the door ends the TLS with a CA made for the sandbox */
enum nacre_way {
#define X(id, name) NACRE_WAY_##id,
    NACRE_WAY_MAP(X)
#undef X
    NACRE_WAY_COUNT
};
const char *nacre_way_name(enum nacre_way way);

struct nacre_egress_host {
    char *name;      /* normalised, without "*." */
    bool below;      /* "*.name": any depth below, not itself */
    bool is_address; /* a denied address denies every name that resolves to it */
    struct nacre_address address;
    uint16_t port;   /* 0: 80 and 443, and for a denied host any */
    enum nacre_way way;
    uint32_t index;  /* in its list of the policy */
    struct nacre_place place;
};

/* A secret's hosts, as the plan knows them; values never come near a plan. */
struct nacre_egress_secret {
    char *name;
    struct nacre_egress_host *hosts;
    uint32_t host_count;
};

struct nacre_egress_limits {
    uint64_t header_bytes_max, body_bytes_max; /* of a response, decoded; and a request's */
    uint32_t redirects_max, requests_max, requests_per_minute_max, connections_max;
};

struct nacre_egress {
    enum nacre_network_mode mode; /* DENY or UNSET: there is no door */
    struct nacre_egress_host *allowed, *denied;
    uint32_t allowed_count, denied_count;
    bool block_private; /* ssrf_protection.block_private_ips and .enabled */
    bool scan;          /* leak_detection: outbound requests are scanned */
    uint32_t patterns;  /* how many of the leak patterns; see nacre/leak.h */
    enum nacre_way way; /* of hosts that no rule of the list names (allow-all) */
    struct nacre_egress_secret *secrets;
    uint32_t secret_count;
    struct nacre_egress_limits limits;
    char **resolvers;   /* NULL-terminated addresses; NULL: those of resolv.conf */
    char **fixed_hosts; /* NULL-terminated "name=address", judged like any answer */
};

bool nacre_egress_is_open(const struct nacre_egress *egress);
/* Is the TLS of some host ended by the door, so that a sandbox needs its certificate? */
bool nacre_egress_intercepts(const struct nacre_egress *egress);

/* Why a request may or may not leave. */
struct nacre_egress_verdict {
    bool allowed;
    enum nacre_way way;
    char code[24];            /* host-not-allowed, host-denied, port-not-allowed,
                                 address-denied, address-private, address-never,
                                 call-http, no-server-name */
    char rule[64];            /* the policy's key, capabilities.network.allowed_hosts[1] */
    struct nacre_place place;
    char text[384];           /* what, by which rule, what may be done instead */
};

/* `name` is normalised.  Before any lookup: a name that is denied here is never asked
 * for.  An address as `name` is judged as a name and then as its own answer. */
void nacre_egress_judge(const struct nacre_egress *egress, const char *name,
                        uint16_t port, struct nacre_egress_verdict *ret_verdict);

/* The same for a request that the door sees whole.  http:// to a host that is reached by
 * upgrade is judged as what the door makes of it, and `url` becomes that. */
void nacre_egress_judge_url(const struct nacre_egress *egress, struct nacre_url *url,
                            struct nacre_egress_verdict *ret_verdict);

/* The same for TLS that a native tool speaks itself: by upgrade it is denied, with what
 * to call instead. */
void nacre_egress_judge_tls(const struct nacre_egress *egress, const char *name,
                            uint16_t port, struct nacre_egress_verdict *ret_verdict);

/* One answer of the lookup; every one has to pass. */
void nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                const struct nacre_address *address,
                                struct nacre_egress_verdict *ret_verdict);

/* May this secret go to that host? */
bool nacre_egress_binds(const struct nacre_egress_secret *secret, const char *name,
                        uint16_t port);

/* Reads "name", "*.name", "name:port" as in allowed_hosts, into *ret_host; for policies,
 * bindings and --intercept. */
NACRE_MUST_CHECK enum nacre_status
nacre_egress_host_read(const char *text, struct nacre_egress_host *ret_host,
                       struct nacre_error *err);

/* As it was read, in its one spelling: for policies and for people. */
#define NACRE_EGRESS_HOST_TEXT (NACRE_NAME_SIZE + 10)
const char *nacre_egress_host_text(const struct nacre_egress_host *host,
                                   char ret_text[NACRE_EGRESS_HOST_TEXT]);
/* Does it speak of this host?  A port that it does not say is 80 and 443. */
bool nacre_egress_host_covers(const struct nacre_egress_host *host, const char *name,
                              uint16_t port);
void nacre_egress_host_clear(struct nacre_egress_host *host);

/* Reads "HOST", "HOST:PORT" or a URL, as a person asks about one.  What is no URL has no
 * target, and port 0 where none was said. */
NACRE_MUST_CHECK enum nacre_status nacre_egress_asked(const char *text,
                                                      struct nacre_url *ret_url,
                                                      struct nacre_error *err);

void nacre_egress_clear(struct nacre_egress *egress);
NACRE_MUST_CHECK enum nacre_status nacre_egress_copy(const struct nacre_egress *egress,
                                                     struct nacre_egress *ret_copy,
                                                     struct nacre_error *err);

/* As JSON and back: for the door process and for the keeper. */
struct nacre_buf;
NACRE_MUST_CHECK enum nacre_status nacre_egress_write(const struct nacre_egress *egress,
                                                      struct nacre_buf *ret_json,
                                                      struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_egress_read(const char *json, size_t count,
                                                     struct nacre_egress *ret_egress,
                                                     struct nacre_error *err);

#endif
