#ifndef NACRE_HTTP_ABI_H
#define NACRE_HTTP_ABI_H

#include <stdint.h>

/*
 * The imports of module "nacre" by which a guest makes HTTP requests, for both sides.
 * Numbers and layouts are fixed for good: modules that were built against them are out
 * there.  All is little-endian, as in WebAssembly.
 *
 *   http_request (i32 ask, i32 answer) -> code
 *       Sends the request at `ask` and waits for the head of its answer, which is put at
 *       `answer`.  Redirects are followed by the host.
 *   http_headers (i32 handle, i32 bytes, i32 size, i32 count) -> code
 *       The response's headers, "Name: value\n" each, as far as they fit; *count is how
 *       long they are in all.
 *   http_read (i32 handle, i32 bytes, i32 size, i32 count) -> code
 *       The next bytes of the body; waits until there are some.  *count 0 is its end.
 *   http_error (i32 bytes, i32 size, i32 count) -> code
 *       The sentence that says why the last call failed, as far as it fits, without a
 *       terminator; *count is how long it is in all.
 *   http_close (i32 handle) -> code
 *       The response is not wanted any more.
 *
 * Nothing of a run outlives it: what is left open is closed by the host.
 */
#define NACRE_HTTP_MODULE "nacre"

/* The closed set of what goes wrong; the sentence of http_error says more.  The same
 * numbers as enum nacre_http_code of the host (nacre/door_wire.h). */
#define NACRE_HTTP_ABI_MAP(X)                                                          \
    X(OK, 0, "ok")                                                                     \
    X(DENIED, 1, "denied")           /* by the policy: the sentence names the rule */  \
    X(BAD_URL, 2, "bad-url")                                                           \
    X(BAD_REQUEST, 3, "bad-request") /* what can't be sent; a pointer out of memory */ \
    X(NOT_FOUND, 4, "name-not-found")                                                  \
    X(UNREACHABLE, 5, "unreachable")                                                   \
    X(TLS, 6, "tls")                 /* the certificate or the handshake */            \
    X(TIMED_OUT, 7, "timed-out")                                                       \
    X(TOO_LARGE, 8, "too-large")                                                       \
    X(TOO_MANY, 9, "too-many")       /* requests, redirects, open responses */         \
    X(PROTOCOL, 10, "protocol")      /* the server's answer makes no sense */          \
    X(LEAK, 11, "leak")              /* it would carry a secret out */                 \
    X(BAD_HANDLE, 12, "bad-handle")                                                    \
    X(INTERNAL, 13, "internal")

/* An address in the guest's memory. */
#ifdef __wasm32__
#define NACRE_HTTP_ADDRESS(type) const type *
#else
#define NACRE_HTTP_ADDRESS(type) uint32_t
#endif

/* What http_request is given.  Texts have no terminator. */
struct nacre_http_ask {
    NACRE_HTTP_ADDRESS(char) method;
    uint32_t method_size;
    NACRE_HTTP_ADDRESS(char) url;
    uint32_t url_size;
    NACRE_HTTP_ADDRESS(char) headers; /* "Name: value\n" each */
    uint32_t headers_size;
    NACRE_HTTP_ADDRESS(void) body;
    uint32_t body_size;
};
_Static_assert(sizeof(struct nacre_http_ask) == 32, "ask");

struct nacre_http_answer {
    uint32_t handle;       /* for the other calls; never 0 */
    uint32_t status;       /* 200, 404, ... */
    uint32_t headers_size; /* in all */
};
_Static_assert(sizeof(struct nacre_http_answer) == 12, "answer");

#define NACRE_HTTP_METHOD_MAX 16
#define NACRE_HTTP_URL_MAX 8192
#define NACRE_HTTP_HEADERS_MAX 65536
#define NACRE_HTTP_BODY_MAX (16 << 20) /* of a request */
#define NACRE_HTTP_OPEN_MAX 8          /* responses at once */
#define NACRE_HTTP_ERROR_MAX 1024      /* a sentence is never longer */

#endif
