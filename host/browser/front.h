#ifndef BROWSER_FRONT_H
#define BROWSER_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "token.h"

/*
 * The host's side of a browser: who comes to its ports with a token is joined to the
 * browser in the sandbox, a thread each.  What it can't have in the sandbox is asked of
 * whoever runs that, by `dial_fd` as nacre_request has it.
 */
#define FRONT_CONNECTIONS_MAX 32
/* Who has shown no token yet may be anybody on this machine, and is in nobody's way: when
 * so many are there, the next one takes the place of the first. */
#define FRONT_STRANGERS_MAX 32
#define FRONT_BROWSER_PATH 128
#define FRONT_VERSION 128

struct front;

struct front_options {
    int dial_fd;        /* the other end of the request's; borrowed */
    int stop_fd;        /* readable: all end; borrowed */
    uint16_t cdp_port, no_vnc_port; /* of the host to listen on; 0: any */
    bool no_vnc;
};

NACRE_MUST_CHECK enum nacre_status front_open(const struct front_options *options,
                                              struct front **ret_front,
                                              struct nacre_error *err);
/* Ends and waits for every connection: stop_fd has to say so by then. */
void front_free(struct front *front); /* accepts NULL */
NACRE_OWNED(front)

/* Waits for the browser to answer, until the deadline; NACRE_ERR_TIMEOUT.  Nobody is let
 * in before. */
NACRE_MUST_CHECK enum nacre_status front_await(struct front *front, uint64_t deadline_ns,
                                               struct nacre_error *err);

/* Its loopback ports; the second 0 where there is no screen. */
NACRE_MUST_CHECK enum nacre_status front_listen(struct front *front,
                                                struct nacre_error *err);
uint16_t front_port(const struct front *front, bool of_screen);
int front_fd(const struct front *front, bool of_screen); /* -1: none; to wait for */

/* Somebody is at that port. */
void front_accept(struct front *front, bool of_screen);

/* A fresh URL.  `kind` says of what. */
NACRE_MUST_CHECK enum nacre_status front_url(struct front *front, enum token_kind kind,
                                             char *ret_url, size_t size,
                                             struct nacre_error *err);

const char *front_version(const struct front *front); /* "Chrome/147..."; escaped */
/* Of those with a token: how many, and when the last one ended or began. */
uint32_t front_connections(const struct front *front);
uint64_t front_used_ns(const struct front *front);

#endif
