#ifndef DOOR_HEAD_H
#define DOOR_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/url.h"

/*
 * The head of an HTTP/1 request, read strictly: what two readers could take for two
 * different requests is refused.  Pure.
 */
#define DOOR_HEAD_BYTES_MAX ((size_t)64 << 10)
#define DOOR_HEAD_FIELDS_MAX 128

enum door_head_is {
    DOOR_HEAD_MORE,
    DOOR_HEAD_WHOLE,
    DOOR_HEAD_BAD, /* `refusal` and `text` say why */
};

enum door_target {
    DOOR_TARGET_NONE,
    DOOR_TARGET_ORIGIN,    /* /path: to the host of the connection */
    DOOR_TARGET_ABSOLUTE,  /* http://host/path: to a proxy */
    DOOR_TARGET_AUTHORITY, /* host:port, of CONNECT */
};

struct door_head {
    char method[20];
    enum door_target form;
    struct nacre_url url;     /* where it goes; of CONNECT host and port alone */
    bool is_old;              /* HTTP/1.0 */
    bool keeps_alive;
    bool expects_continue;
    bool asks_websocket;      /* to go on as one */
    bool is_chunked;
    uint64_t body_bytes;      /* when it is not chunked; 0: there is none */
    struct nacre_buf fields;  /* "Name: value\n" each, without those that concern one
                                 connection alone, the body's framing or the host */
    uint32_t refusal;         /* the status to answer with */
    char text[256];           /* a sentence for whoever sent it */
    size_t scanned;           /* private: so far there is no end */
};

/*
 * `bytes` are all that came of it so far, at least as many as the last time; `ret_used`
 * is how long the head is, when it is WHOLE.  `over_tls`: it came inside a TLS
 * connection, and a path is one of https.  `head` is all zero at first, and to be cleared
 * in any case.
 */
enum door_head_is door_head_read(const char *bytes, size_t count, bool over_tls,
                                 struct door_head *head, size_t *ret_used);

void door_head_clear(struct door_head *head); /* all zero again */

/* ---- the body that follows ---- */

struct door_body {
    bool is_chunked;
    uint64_t left;      /* of it, or of the chunk */
    uint32_t state;     /* of a chunked one; private */
    uint32_t digits;
};

enum door_body_is {
    DOOR_BODY_MORE,
    DOOR_BODY_WHOLE,
    DOOR_BODY_BAD,
    DOOR_BODY_TOO_BIG, /* for the buffer it goes into, or for the memory there is */
};

void door_body_init(struct door_body *body, const struct door_head *head);

/* Takes what it can use of `bytes`; what is left of them when it is WHOLE belongs to the
 * next request. */
enum door_body_is door_body_take(struct door_body *body, const char *bytes, size_t count,
                                 struct nacre_buf *out, size_t *ret_taken);

#endif
