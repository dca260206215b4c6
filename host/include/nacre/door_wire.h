#ifndef NACRE_DOOR_WIRE_H
#define NACRE_DOOR_WIRE_H

#include <stdint.h>

/*
 * What the shims of a wasm guest and its door say to each other, over a SOCK_STREAM
 * socketpair, one question and its answer at a time.  Integers are the machine's own: both
 * ends are on it.  Each side takes the other for hostile: sizes are checked against the
 * ceilings here before anything is read.
 *
 * A message is a struct nacre_door_message and `size` bytes.
 */
enum nacre_door_what {
    NACRE_DOOR_ASK = 1,  /* to the door: struct nacre_door_ask, then method, URL, headers
                            ("Name: value\n" each) and body in a row */
    NACRE_DOOR_ANSWER,   /* back: `code`; if OK: handle, status, and the response's headers
                            in the same form; else a sentence */
    NACRE_DOOR_READ,     /* to the door: `handle`, at most `number` bytes of the body */
    NACRE_DOOR_DATA,     /* back: `code`; if OK: bytes, none at the end of the body; else a
                            sentence */
    NACRE_DOOR_CLOSE,    /* to the door: `handle`; no answer */
};

struct nacre_door_message {
    uint32_t what;   /* enum nacre_door_what */
    uint32_t code;   /* enum nacre_http_code, in answers */
    uint32_t handle;
    uint32_t number; /* READ: bytes wanted; ANSWER: the HTTP status */
    uint32_t size;   /* of what follows */
};

struct nacre_door_ask {
    uint32_t method_size, url_size, headers_size, body_size;
};

#define NACRE_DOOR_HEADERS_MAX ((uint32_t)64 << 10)
#define NACRE_DOOR_BODY_MAX ((uint32_t)16 << 20) /* of a request */
#define NACRE_DOOR_DATA_MAX ((uint32_t)256 << 10)
#define NACRE_DOOR_HANDLES 8 /* responses open at once */

/* The closed set of what a guest is told; a sentence comes with each. */
#define NACRE_HTTP_CODE_MAP(X)                                                     \
    X(OK, 0, "ok")                                                                 \
    X(DENIED, 1, "denied")           /* by the policy: the sentence names the rule */ \
    X(BAD_URL, 2, "bad-url")                                                       \
    X(BAD_REQUEST, 3, "bad-request") /* method, header or body that is not sent */ \
    X(NOT_FOUND, 4, "name-not-found")                                              \
    X(UNREACHABLE, 5, "unreachable")                                               \
    X(TLS, 6, "tls")                 /* the certificate or the handshake */        \
    X(TIMED_OUT, 7, "timed-out")                                                   \
    X(TOO_LARGE, 8, "too-large")                                                   \
    X(TOO_MANY, 9, "too-many")       /* requests, redirects, handles */            \
    X(PROTOCOL, 10, "protocol")      /* the server's answer makes no sense */      \
    X(LEAK, 11, "leak")              /* it would carry a secret out */             \
    X(BAD_HANDLE, 12, "bad-handle")                                                \
    X(INTERNAL, 13, "internal")
enum nacre_http_code {
#define X(id, value, name) NACRE_HTTP_##id = value,
    NACRE_HTTP_CODE_MAP(X)
#undef X
};

#endif
