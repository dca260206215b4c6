#ifndef NACRE_CHANNEL_DOORWAY_H
#define NACRE_CHANNEL_DOORWAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where a sandbox with an open network has its door: on the loopback of a network
 * namespace that has nothing else.  The sockets are bound before any guest is there, so
 * that none can stand in their place.
 */
#define DOORWAY_MAP(X)                                                              \
    X(PROXY, "127.0.0.1", 3128) /* for who knows of proxies */                      \
    X(HTTP, "127.0.1.1", 80)    /* allowed names lead here, */                      \
    X(TLS, "127.0.1.1", 443)    /* and here */                                      \
    X(NAMES, "127.0.0.53", 53)  /* init answers for them; UDP */

enum doorway_kind {
    DOORWAY_NONE,
#define X(id, address, port) DOORWAY_##id,
    DOORWAY_MAP(X)
#undef X
    DOORWAY_COUNT
};

#define DOORWAY_PROXY_URL "http://127.0.0.1:3128"
#define DOORWAY_NAMES_ADDRESS "127.0.0.53"
#define DOORWAY_HOST_ADDRESS "127.0.1.1"

/* "127.0.0.1:3128", for messages. */
const char *doorway_text(enum doorway_kind kind);

/* The socket, listening, non-blocking and CLOEXEC; -1 with errno.  Below port 1024 the
 * caller has to be privileged in its network namespace, or the namespace to be lax. */
int doorway_open(enum doorway_kind kind);

/* What a connection through the doorway may have under way each way at once, and how many
 * of them a sandbox has: as many as a plan lets out (connections_max); and so many that
 * its owner dials.  Each side counts its own, or what crosses would be one too many. */
#define DOORWAY_WINDOW 65536
#define DOORWAY_CONNECTIONS_MAX 512
#define DOORWAY_DIALS_MAX 64

#endif
