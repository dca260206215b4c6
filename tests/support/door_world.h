#ifndef NACRE_TEST_DOOR_WORLD_H
#define NACRE_TEST_DOOR_WORLD_H

#include "door.h"

/*
 * A door without a way out: its loop, records and native side are the real ones, what it
 * asks for is noted, and the test plays the servers and the resolver.
 *
 * Hosts: tunnel.example, upgrade.example, intercept.example and *.below.example of the way
 * that their name says (the last: tunnel), plain.example:80 of way UPGRADE.
 *
 * Linked with --wrap=nacre_egress_judge_address, so that a tunnel may lead to loopback,
 * and with --wrap=nacre_clock_ns, so that time can pass.
 */
struct door_world {
    struct door door;
    /* The last fetch that was begun and not freed. */
    struct door_fetch *fetch;
    uint32_t asked, resumed, freed, looked_up;
};

extern struct door_world world;

struct door_fetch {
    const struct door_fetch_events *events;
    void *data;
    struct nacre_url url;
    char method[32], headers[4096];
    char *body;
    size_t body_size;
    bool raw_body, follow;
};

int door_world_open(void **state);
int door_world_close(void **state);

/* A connection of that kind; the tool's end of it, which does not block. */
int door_world_connect(int kind);
/* Until nothing moves. */
void door_world_settle(void);
void door_world_pass(uint64_t ns);
/* How often the loop wakes up within some 50 ms: a few times when nothing moves. */
unsigned door_world_wakes(void);

void door_world_send(int fd, const void *bytes, size_t count);
void door_world_say(int fd, const char *text);
/* What has come, as text; "" for nothing.  Valid until the next call. */
const char *door_world_hear(int fd);
size_t door_world_take(int fd, void *bytes, size_t size);
/* Has the other side closed?  What came before is thrown away. */
bool door_world_is_closed(int fd);

/* The fetch's answers. */
void door_world_answer(uint32_t status, const char *headers);
bool door_world_body(const char *bytes, size_t count);
void door_world_end(enum nacre_http_code code, const char *text);

/* The lookup under way finds the loopback address, or ends in `code`. */
void door_world_found(enum nacre_http_code code);

/* A client's hello, as OpenSSL sends it; `name` NULL: without one. */
size_t door_world_hello(const char *name, void *bytes, size_t size);

/* Listens on loopback, and lets the next dialling lead there. */
int door_world_server(uint16_t *ret_port);

#endif
