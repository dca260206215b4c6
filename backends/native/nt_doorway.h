#ifndef NACRE_NATIVE_DOORWAY_H
#define NACRE_NATIVE_DOORWAY_H

#include <poll.h>

#include "doorway.h"
#include "nt_private.h"

/*
 * The connections that init carries out of a sandbox (FRAME_OPEN).  Each is a pair of
 * sockets: one end goes to whoever the running command's `connected` is, the other is
 * moved here, by the thread of that command.  And those that come in by the command's
 * `dial_fd` (FRAME_DIAL): theirs is the socket that was sent.  The box's lock guards all
 * of it.
 */
struct nt_connection {
    uint8_t id[FRAME_ID];
    bool is_used;  /* until init's CLOSE */
    int kind;
    int fd;        /* our end; -1: closed here, and init was asked to close it too */
    int theirs;    /* the other end, until it is handed on; else -1 */
    bool read_ended, write_ended; /* nothing more comes from them; from init */
    bool shut;     /* they know of the latter */
    uint64_t window;         /* that we may send */
    uint64_t room, ungiven;  /* that init has; that it has to be given back */
    size_t start, used;      /* in a ring of DOORWAY_WINDOW bytes */
    uint8_t *bytes;
    nfds_t poll_at; /* in the part of a poll set; 0: it waits for nothing */
};

/* Those that are dialled come first. */
#define NT_CONNECTIONS (DOORWAY_DIALS_MAX + DOORWAY_CONNECTIONS_MAX)

struct nt_doorway {
    bool carries; /* init may open some */
    bool is_open; /* a command runs whose connections they are */
    size_t count; /* none in use is beyond */
    struct nt_connection connections[NT_CONNECTIONS];
};

#define NT_DOORWAY_FDS (1 + NT_CONNECTIONS)

/* For a box whose init `carries`, or that somebody dials. */
struct nt_doorway *nt_doorway_new(bool carries);
void nt_doorway_free(struct nt_doorway *doorway); /* accepts NULL */

/* A frame of no command.  NULL, or what is wrong with it. */
const char *nt_doorway_take(struct nt_box *box, const struct frame *frame);

/* Around a command: at its end they are all closed. */
void nt_doorway_begin(struct nt_box *box);
void nt_doorway_end(struct nt_box *box);

/* One that has to be handed on: false when there is none.  Both are the caller's. */
bool nt_doorway_next(struct nt_box *box, int *ret_kind, int *ret_fd);

/* Takes one that came by `dial_fd`, if one did: false when none will any more.  To be
 * asked only where there is room for it. */
bool nt_doorway_dial(struct nt_box *box, int dial_fd);
bool nt_doorway_may_dial(const struct nt_box *box);

/* What they wait for: so many places of a poll set; and what to do then.  With `may_send`
 * false nothing more is read for init. */
nfds_t nt_doorway_poll(struct nt_box *box, bool may_send, struct pollfd *ret_fds);
void nt_doorway_move(struct nt_box *box, const struct pollfd *fds);

#endif
