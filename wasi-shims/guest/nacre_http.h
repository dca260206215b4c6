#ifndef NACRE_HTTP_H
#define NACRE_HTTP_H

/*
 * HTTP for a tool that runs in nacre.  Build nacre_http.c along with the tool:
 *
 *     clang --target=wasm32-wasi -I wasi-shims/guest -I wasi-shims/abi \
 *         tool.c wasi-shims/guest/nacre_http.c -o tool.wasm
 *
 * Whether a request is made is the policy's decision, for each host; a refusal comes back
 * as NACRE_HTTP_DENIED with a sentence that says by which rule and what to do instead:
 * pass it on, a person or a model can act on it.  A tool holds no keys: where a secret
 * belongs, in a header's value or the URL's query, it writes {{secret:NAME}}, and the
 * host puts the value in if the secret is bound to the host that is called.
 *
 *     static char body[65536];
 *     size_t count;
 *     uint32_t status;
 *     int code = nacre_http_get("https://example.com/", body, sizeof body, &count,
 *                               &status);
 *
 *     if (code != NACRE_HTTP_OK)
 *         fprintf(stderr, "%s: %s\n", nacre_http_code_name(code), nacre_http_sentence());
 *
 * Nothing here allocates memory or keeps a pointer of the caller's.  Only http and https;
 * redirects are followed by the host, which judges each hop; bodies come decoded.  Host,
 * Content-Length and the like are set by the host.  A call that waits ends at the latest
 * when the run does.
 */
#include <stddef.h>
#include <stdint.h>

#include "nacre_http_abi.h"

enum nacre_http_code {
#define X(id, value, name) NACRE_HTTP_##id = value,
    NACRE_HTTP_ABI_MAP(X)
#undef X
};

/* ---- the simple way ---- */

/* GET `url`.  The body goes to `body`, not terminated; TOO_LARGE when it does not fit,
 * and the first `size` bytes of it are there.  A status such as 404 is no failure. */
int nacre_http_get(const char *url, void *body, size_t size, size_t *ret_count,
                   uint32_t *ret_status);

/* ---- any request, and its answer in pieces ---- */

struct nacre_http_call {
    const char *method;  /* NULL: GET */
    const char *url;
    const char *headers; /* "Name: value\n" each; or NULL */
    const void *body;    /* or NULL */
    size_t body_size;
};

/* When it is OK, *ret_answer has the status and a handle that is to be closed. */
int nacre_http_send(const struct nacre_http_call *call,
                    struct nacre_http_answer *ret_answer);

/* The value of the first header called `name` in any spelling of case, terminated; false
 * when there is none or it does not fit.  `text` is what nacre_http_headers() gave. */
_Bool nacre_http_header(const char *text, size_t text_size, const char *name,
                        char *ret_value, size_t size);

/* All that is left of a body; as nacre_http_get(). */
int nacre_http_read_all(uint32_t handle, void *bytes, size_t size, size_t *ret_count);

/* Why the last call failed; one buffer, overwritten by the next question. */
const char *nacre_http_sentence(void);
const char *nacre_http_code_name(int code);

/* ---- the host's own calls, described in nacre_http_abi.h ---- */

#define NACRE_HTTP_IMPORT(name) \
    __attribute__((import_module(NACRE_HTTP_MODULE), import_name(#name)))

NACRE_HTTP_IMPORT(http_request)
int nacre_http_request(const struct nacre_http_ask *ask,
                       struct nacre_http_answer *ret_answer);
NACRE_HTTP_IMPORT(http_headers)
int nacre_http_headers(uint32_t handle, char *bytes, uint32_t size, uint32_t *ret_count);
NACRE_HTTP_IMPORT(http_read)
int nacre_http_read(uint32_t handle, void *bytes, uint32_t size, uint32_t *ret_count);
NACRE_HTTP_IMPORT(http_error)
int nacre_http_error(char *bytes, uint32_t size, uint32_t *ret_count);
NACRE_HTTP_IMPORT(http_close)
int nacre_http_close(uint32_t handle);

#endif
