#ifndef DOOR_FETCH_H
#define DOOR_FETCH_H

#include <curl/curl.h>

#include "door.h"
#include "locked.h"

/*
 * The inside of a fetch, shared by fetch.c (its life and what its owner is told),
 * fetch_hop.c (one hop: judging, scanning, redirects), fetch_send.c (libcurl's options)
 * and fetch_answer.c (what comes back).
 */
enum fetch_state {
    FETCH_NEW,        /* nothing was looked at yet */
    FETCH_LOOKING_UP,
    FETCH_FOUND,      /* the name's addresses are there and may be reached */
    FETCH_SENDING,    /* it is libcurl's */
    FETCH_HOP_OVER,   /* libcurl is done with this hop */
    FETCH_OVER,       /* code and text are settled */
};

struct door_fetch {
    struct door *door;
    const struct door_fetch_events *events;
    void *data;
    struct door_fetch *next;   /* of those with something to do */
    bool queued;
    enum fetch_state state;
    struct door_timer deadline;

    /* what is asked */
    char method[16];
    struct nacre_url url;      /* of this hop */
    struct nacre_buf headers;  /* the guest's, in lines */
    struct nacre_buf body;
    bool follow, raw_body;
    bool crossed;              /* another origin was entered: credentials stay behind */
    bool body_dropped;         /* a redirect made a GET of it */

    /* this hop */
    struct door_lookup *lookup;
    struct door_addresses addresses;
    CURL *easy;
    struct curl_slist *resolve;
    struct curl_slist *fields; /* an array; its lines lie in `lines` */
    struct door_locked lines;
    struct door_locked line_url;
    CURLcode result;
    bool is_sent;              /* what follows would be libcurl trying again */
    bool address_refused;      /* the last check stopped a socket or a request */

    /* its answer */
    uint32_t status;
    struct nacre_buf head;     /* lines, not scrubbed yet */
    size_t head_bytes;         /* of all heads of this hop, dropped lines among them */
    bool head_over;
    char *location;            /* or NULL */
    bool encoded;              /* it has a Content-Encoding, which libcurl takes off */
    uint64_t body_bytes;       /* decoded */
    uint64_t dropped_bytes;    /* of a redirect's body */
    struct nacre_leak_stream *scrubber;

    /* what the owner is told */
    bool told_answer, owner_waits, curl_waits;
    struct nacre_buf pending;  /* body, scrubbed; from pending_at on not told */
    size_t pending_at;
    size_t held;               /* of it, in the count of all that is held */
    enum nacre_http_code code;
    char text[512];
    struct nacre_egress_record record;
    bool recorded;
};

#define FETCH_PENDING_BYTES ((size_t)256 << 10) /* when as much waits, libcurl does */
#define FETCH_HELD_MAX ((size_t)256 << 20)      /* of all of them together */
#define FETCH_DROPPED_BYTES ((size_t)64 << 10) /* of a redirect's body, until it is cut */

/* ---- fetch.c ---- */

struct door_fetcher {
    struct door *door;
    CURLM *multi;
    const char *bundle;
    struct door_timer timer;    /* libcurl's */
    struct door_timer soon;     /* something is queued */
    struct door_fetch *first, *last;
    struct door_fetch *current; /* whose owner is being told; NULL once it is freed */
    size_t held_bytes;          /* of bodies that came and were not told */
};

/* It has something to do, from the loop. */
void fetch_queue(struct door_fetch *fetch);
/* What is pending is counted anew; false when that is too much for all of them. */
bool fetch_hold(struct door_fetch *fetch);
/* Settles how it ends; the first time counts. */
void fetch_fail(struct door_fetch *fetch, enum nacre_http_code code, const char *format,
                ...) __attribute__((format(printf, 3, 4)));
/* The same, by the policy: `verdict` becomes a denial and the record's code. */
void fetch_deny(struct door_fetch *fetch, enum nacre_http_code code,
                const struct nacre_egress_verdict *verdict);

/* ---- fetch_hop.c ---- */

/* Is the request one that can be sent at all? */
void fetch_check(struct door_fetch *fetch);
void fetch_begin_hop(struct door_fetch *fetch);
/* libcurl is done: another hop, or the end. */
void fetch_end_hop(struct door_fetch *fetch);
/* Is what came a redirect that is followed? */
bool fetch_is_redirected(const struct door_fetch *fetch);

/* ---- fetch_send.c ---- */

/* Puts values in and gives the hop to libcurl. */
void fetch_send(struct door_fetch *fetch);
void fetch_stop(struct door_fetch *fetch); /* takes it back, if it is there */

/* ---- fetch_answer.c ---- */

size_t fetch_take_head(char *bytes, size_t size, size_t count, void *data);
size_t fetch_take_body(char *bytes, size_t size, size_t count, void *data);
/* What the scrubber still holds. */
void fetch_end_body(struct door_fetch *fetch);
/* The head as the owner gets it; false: memory. */
bool fetch_clean_head(struct door_fetch *fetch, struct nacre_buf *ret_head);
void fetch_forget_answer(struct door_fetch *fetch); /* for the next hop */

#endif
