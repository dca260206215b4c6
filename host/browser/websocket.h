#ifndef BROWSER_WEBSOCKET_H
#define BROWSER_WEBSOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "io.h"
#include "nacre/base64.h"
#include "nacre/buf.h"
#include "nacre/hash.h"
#include "nacre/url.h"

/* The client's side of RFC 6455: texts, no extensions.  What comes is a browser's and is
 * not trusted: a message has a ceiling, and what is no text frame in order ends it. */
struct websocket {
    int fd;
    struct nacre_buf bytes; /* that came and are not read yet */
    size_t used;
};
#define WEBSOCKET_NONE { .fd = -1 }

/* What RFC 6455 has a server answer to `key`. */
#define WEBSOCKET_ACCEPT NACRE_BASE64_SIZE(NACRE_SHA1_BYTES)
void websocket_accept(const char *key, char ret_accept[WEBSOCKET_ACCEPT]);

/* `url` as http: it is read by nacre_url_parse().  TLS is not spoken here. */
NACRE_MUST_CHECK enum nacre_status websocket_open(const struct nacre_url *url,
                                                  uint64_t deadline_ns,
                                                  struct websocket *ret_socket,
                                                  struct nacre_error *err);
void websocket_clear(struct websocket *socket);

NACRE_MUST_CHECK enum nacre_status websocket_send(struct websocket *socket,
                                                  const char *text, size_t count,
                                                  uint64_t deadline_ns,
                                                  struct nacre_error *err);
/* One message into `ret_text`, emptied before. */
NACRE_MUST_CHECK enum nacre_status websocket_receive(struct websocket *socket,
                                                     uint64_t deadline_ns,
                                                     struct nacre_buf *ret_text,
                                                     struct nacre_error *err);

/* A connection to an address by name or number, without a proxy. */
NACRE_MUST_CHECK enum nacre_status websocket_connect(const struct nacre_url *url,
                                                     uint64_t deadline_ns, int *ret_fd,
                                                     struct nacre_error *err);

#endif
