#ifndef BROWSER_ROUTE_H
#define BROWSER_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "head.h"
#include "token.h"

/*
 * What a request to a browser's port asks for.  Pure.  Whoever asks may be any process of
 * this machine, and any web page in a browser on it: a page can make requests to
 * loopback, under names that its own server gives out, but not without saying which host
 * and which origin it takes this for.
 */
enum route_is {
    ROUTE_REFUSED,
    ROUTE_VERSION, /* /TOKEN/json/version */
    ROUTE_CDP,     /* /TOKEN/devtools/..., a WebSocket */
    ROUTE_ENTER,   /* /TOKEN: of the screen */
    ROUTE_FILE,    /* /VISIT/path: of noVNC's page */
    ROUTE_SCREEN,  /* /VISIT/websockify, a WebSocket */
};

#define ROUTE_PATH 256
#define ROUTE_FIELD 256

/* What a WebSocket is opened with, as the client says it. */
struct route_socket {
    char key[25], extensions[ROUTE_FIELD], protocol[64];
};

struct route {
    enum route_is is;
    char host[32];          /* "127.0.0.1:1234", as the client has it */
    char token[TOKEN_HEX];  /* the path's first part */
    char cookie[TOKEN_HEX]; /* of a visit; "" */
    char path[ROUTE_PATH];  /* the rest: begins with a slash, no query */
    struct route_socket socket;
};

/* `is_screen`: it came to the port of noVNC. */
void route_read(const struct door_head *head, uint16_t port, bool is_screen,
                struct route *ret_route);

#define ROUTE_COOKIE "nacre-screen"

#endif
