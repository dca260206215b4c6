#ifndef NACRE_INIT_COMMAND_H
#define NACRE_INIT_COMMAND_H

#include <poll.h>
#include <sys/types.h>

#include "config.h"
#include "exec.h"
#include "files.h"
#include "init.h"
#include "outbox.h"
#include "sole.h"

/* What all commands of a sandbox have in common. */
struct sandbox {
    struct init_place place;
    struct init_config config; /* as it came, in memory that stays */
    struct walls walls;
    struct outbox out;
    int oom_fd, forks_fd; /* -1: nobody counts */
    struct files files;
};

enum command_state {
    COMMAND_FREE,
    COMMAND_ALIVE, /* it has a shepherd, or needs none */
    COMMAND_LOST,  /* its shepherd is dead or beaten: what it started may live on */
    COMMAND_ENDED, /* all of it is dead; its last output and words are on the way */
};

struct command_lane {
    int fd; /* -1: at its end */
    uint64_t credit;
};

struct command {
    enum command_state state;
    uint8_t id[FRAME_ID];
    pid_t shepherd;
    int socket; /* -1: the shepherd has said its last word */
    struct sole sole; /* where there is none, this is: `shepherd` is the command itself,
                         and `socket` ends when it was executed */
    bool started, spoken; /* STARTED was sent; the last word is known */
    bool refused;
    bool has_files;
    bool has_orphans; /* whom its shepherd could not take: init ends them */
    struct exec_refusal refusal;
    uint64_t wall_ns; /* its deadline; 0: an order to end it was given */
    uint64_t grace_ns; /* when that order must have been followed */
    bool shepherd_killed; /* it was not */
    enum init_how ordered;
    bool output_dropped; /* the owner ended it: what it gives no credit for is lost */
    struct init_exit exit;
    uint64_t oom_kills_before, forks_before; /* that the kernel had counted */

    int input; /* -1: the command has closed it, or none was wanted */
    bool input_ended;
    uint64_t input_credit, input_owed;
    size_t input_start, input_used; /* in a ring of FRAME_WINDOW bytes */
    uint8_t *input_bytes;
    bool input_touched;

    struct command_lane lanes[2]; /* stdout, stderr */
};

/* Each command has this many places in a poll set. */
#define COMMAND_FDS 4

/* Forks a shepherd for `start`, or the command itself; or says REFUSED and leaves the
 * command free.  `others` is how many commands are alive already. */
void command_start(struct command *command, struct sandbox *sandbox, const uint8_t *id,
                   const struct init_start *start, size_t others);

/* Orders its end, once; its shepherd has `grace_ms` for it. */
void command_end(struct command *command, enum init_how how, bool by_owner,
                 uint64_t grace_ms);
void command_signal(struct command *command, int number);

/* Frames of the owner.  False: more than it had credit for. */
bool command_input(struct command *command, const uint8_t *bytes, size_t count);
void command_input_end(struct command *command);
bool command_credit(struct command *command, uint8_t lane, uint64_t count);

/* What it waits for, and what to do then. */
void command_poll(const struct command *command, const struct sandbox *sandbox,
                  struct pollfd *ret_fds);
void command_move(struct command *command, struct sandbox *sandbox,
                  const struct pollfd *fds);

/* Its shepherd was reaped. */
void command_reaped(struct command *command, struct sandbox *sandbox);
/* A child of init's was; `none_left`: it was the last.  Of a command without a shepherd
 * alone. */
void command_sole_reaped(struct command *command, pid_t pid, int status);
void command_sole_settle(struct command *command, struct sandbox *sandbox,
                         bool none_left);
/* All that a lost command left is dead. */
void command_cleared(struct command *command);

#endif
