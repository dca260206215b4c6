#ifndef DOOR_REPLY_H
#define DOOR_REPLY_H

#include "door.h"
#include "stream.h"

/* An answer on its way back to a native tool, as HTTP/1.1. */
struct door_reply {
    bool begun;
    bool has_body;
    bool is_chunked;
    bool is_counted;    /* Content-Length was sent: `left` bytes are still to come */
    bool keeps_alive;   /* another request may follow on the connection */
    uint64_t left;
};

struct door_asked {
    const struct nacre_url *url; /* where it was sent */
    bool is_head;
    bool is_old;        /* HTTP/1.0: ends with its connection */
    bool keeps_alive;
    bool is_raw;        /* the body is what the server sent, byte for byte */
};

#define DOOR_OUT_MAX ((size_t)2 << 20) /* of what waits for one tool to read it */

/* The head: `fields` as "Name: value\n" each.  False when it can't be kept. */
bool door_reply_begin(struct door_reply *reply, struct door_queue *out,
                       const struct door *door, const struct door_asked *asked,
                       uint32_t status, const char *fields, size_t size);
bool door_reply_body(struct door_reply *reply, struct door_queue *out,
                      const char *bytes, size_t count);
/* False: the tool can't be told that it was all, and the connection has to break. */
bool door_reply_end(struct door_reply *reply, struct door_queue *out);

#endif
