#ifndef NACRE_INIT_GATE_H
#define NACRE_INIT_GATE_H

#include <poll.h>

#include "config.h"
#include "doorway.h"
#include "outbox.h"

/*
 * The sandbox's end of its door (doorway.h): the name server, and where no socket can be
 * handed out, the listening sockets and what comes in by them.  And the connections that
 * the owner dials (FRAME_DIAL), whether there is a door or not.
 */
struct gate_connection {
    int fd;         /* -1: gone */
    bool is_used;   /* until its CLOSE was sent */
    bool is_dialled; /* and not answered yet */
    bool read_ended, write_ended; /* nothing more comes from it; from the owner */
    bool shut;      /* it was told that nothing more comes */
    uint8_t id[FRAME_ID];
    uint64_t credit;      /* that the owner gave */
    uint64_t room, owed;  /* that the owner has; that it has to be given back */
    size_t start, used;   /* in a ring of DOORWAY_WINDOW bytes */
    nfds_t poll_at;       /* in the gate's part of a poll set; 0: it waits for nothing */
};

/* Those that are dialled come first. */
#define GATE_CONNECTIONS (DOORWAY_DIALS_MAX + DOORWAY_CONNECTIONS_MAX)

struct gate {
    const char *const *names; /* NULL: no name server */
    int names_fd;
    int listeners[DOORWAY_COUNT]; /* -1: none */
    bool is_polled; /* it has places in the poll set */
    bool is_full; /* no fd was to be had, until one is closed */
    size_t count; /* of the connections below: none in use is beyond */
    struct gate_connection connections[GATE_CONNECTIONS];
};

#define GATE_FDS (2 + DOORWAY_COUNT + GATE_CONNECTIONS)

/* All of it is zero, and most of that memory is never touched.  `names_fd`: the name
 * server's socket, taken; -1: it is made when there are names. */
void gate_init(struct gate *gate, int names_fd);
/* NULL, or what can't be opened, with errno. */
const char *gate_open(struct gate *gate, const struct init_config *config);

/* A frame of the owner.  For a connection that is gone it is for nobody.  NULL, or what
 * is wrong. */
const char *gate_take(struct gate *gate, const struct frame *frame, uint64_t number);

/* A connection to a port of the sandbox, with the frame's id, which no command has.  NULL,
 * or what is wrong; one that can't be made is closed. */
const char *gate_dial(struct gate *gate, const struct frame *frame);

/* What it waits for: so many places of a poll set are used; and what to do then. */
nfds_t gate_poll(struct gate *gate, const struct outbox *out, struct pollfd *ret_fds);
void gate_move(struct gate *gate, struct outbox *out, const struct pollfd *fds);

#endif
