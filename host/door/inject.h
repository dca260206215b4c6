#ifndef DOOR_INJECT_H
#define DOOR_INJECT_H

#include "door.h"
#include "locked.h"

/*
 * Values put in where a guest has named a secret: {{secret:NAME}}, or a token nct_...
 * that stands for one.  In header values, in the query, and inside Authorization: Basic;
 * not in the path and not in the body.  Over https alone, and for the hosts alone to
 * which the secret is bound.
 */
struct door_target {
    struct door *door;
    const char *host;
    uint16_t port;
    bool tls;
};

enum door_place {
    DOOR_IN_HEADER,
    DOOR_IN_QUERY, /* values are percent-encoded, and so may the placeholder be */
};

/* Does `text` name a secret, well or badly? */
bool door_inject_wanted(enum door_place place, const char *text, size_t count);

/*
 * Appends `text` with values in the place of what stands for them.  Anything but OK: a
 * refusal, `ret_verdict` says why (INTERNAL: memory), and `out` may have part of it.
 */
enum nacre_http_code door_inject(const struct door_target *target, enum door_place place,
                                 const char *text, size_t count, struct door_locked *out,
                                 struct nacre_egress_verdict *ret_verdict);

/* The same for the value of an Authorization field that is Basic; others as they are. */
enum nacre_http_code door_inject_authorization(const struct door_target *target,
                                               const char *text, size_t count,
                                               struct door_locked *out,
                                               struct nacre_egress_verdict *ret_verdict);
/* Does it name a secret, also inside Basic? */
bool door_inject_wanted_authorization(const char *text, size_t count);

#endif
