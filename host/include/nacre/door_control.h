#ifndef NACRE_DOOR_CONTROL_H
#define NACRE_DOOR_CONTROL_H

#include <stdint.h>

#include "nacre/hash.h"
#include "nacre/result.h"

/*
 * What the host and its door say to each other over a SOCK_SEQPACKET socketpair, one
 * packet a message: a struct nacre_door_control, then what the kind says.  Integers and
 * structs are the machine's own: both ends come from one build, which HELLO proves.
 *
 * Secrets go as packets and not in a memfd: a socket's buffers are never swapped out.
 */
enum nacre_door_order {
    /* host to door */
    NACRE_DOOR_EGRESS = 1, /* a piece of the egress as JSON */
    NACRE_DOOR_SECRET, /* `number` is its place in egress.secrets; its value follows */
    NACRE_DOOR_TOKEN_SECRET, /* the same, of one that tokens alone stand for */
    NACRE_DOOR_TOKENS, /* struct nacre_door_token each, instead of those there; `number`
                          not 0: further ones */
    NACRE_DOOR_REVOKED, /* an fd comes along: of the file that digests of revoked tokens
                           are appended to, read whenever one is used; no answer */
    NACRE_DOOR_OPEN,   /* `number` is NACRE_DOOR_BUILD, `at_ns` how long it is there for;
                          all is said: OPENED or FAILED */
    NACRE_DOOR_SERVE,  /* `number` is the kind, and an fd comes along; no answer */
    NACRE_DOOR_BEGIN,  /* `at_ns` is the run's deadline, its id follows; no answer */
    NACRE_DOOR_END,    /* RECORDS, DENIALS, ENDED come back */
    /* door to host */
    NACRE_DOOR_OPENED = 32, /* the CA's certificate follows, or nothing */
    NACRE_DOOR_FAILED,      /* a sentence follows */
    NACRE_DOOR_RECORDS,     /* struct nacre_egress_record each */
    NACRE_DOOR_DENIALS,     /* struct nacre_denial each */
    NACRE_DOOR_ENDED,       /* struct nacre_door_totals */
};

struct nacre_door_control {
    uint32_t order; /* enum nacre_door_order */
    uint32_t number;
    uint64_t at_ns;
};

struct nacre_door_token {
    struct nacre_digest digest;
    uint32_t secret;     /* its place in egress.secrets */
    uint64_t expires_ms; /* of the wall clock */
};

struct nacre_door_totals {
    uint64_t denials_seen, egress_seen;
    struct nacre_leak_tally leaks;
    uint8_t leak;
};

/* Changes with whatever the two say to each other. */
#define NACRE_DOOR_BUILD                                                          \
    ((uint32_t)(4 + 1000 * sizeof(struct nacre_denial) +                          \
                8 * sizeof(struct nacre_egress_record) + sizeof(struct nacre_door_totals)))

#define NACRE_DOOR_CONTROL_FD 3
#define NACRE_DOOR_EXIT_NO_BUNDLE 3 /* of nacre-door --check */
/* What follows the struct.  Half of what a socket holds by default. */
#define NACRE_DOOR_PACKET_MAX ((size_t)96 << 10)
#define NACRE_DOOR_EGRESS_MAX ((size_t)4 << 20)
#define NACRE_DOOR_TOKENS_MAX 4096

#endif
