#ifndef NACRE_KEEPER_FEED_H
#define NACRE_KEEPER_FEED_H

#include <poll.h>
#include <stddef.h>

#include "nacre/error.h"

/*
 * A terminal as a command's input.  Any other input is handed to the keeper as it is; but
 * a terminal is read by whoever holds it, and the keeper, of another session, would take
 * what is typed for the shell while this process is stopped or in the background.  So it
 * is read here and passed on.
 */
struct feed {
    int from; /* the terminal; borrowed */
    int to;   /* a socket, whose other end the keeper reads; -1: there is no feed */
    int other_end; /* until it was handed over */
    char bytes[1024];
    size_t used, sent;
};
#define FEED_NONE { .from = -1, .to = -1, .other_end = -1 }

/* *fd is what the keeper is to read: the same as before, unless it is a terminal. */
NACRE_MUST_CHECK enum nacre_status feed_open(struct feed *feed, int *fd,
                                             struct nacre_error *err);
void feed_handed_over(struct feed *feed);
void feed_close(struct feed *feed);

/* What to wait for, and what to do then. */
struct pollfd feed_poll(const struct feed *feed);
void feed_move(struct feed *feed);

#endif
