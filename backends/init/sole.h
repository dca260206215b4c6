#ifndef NACRE_INIT_SOLE_H
#define NACRE_INIT_SOLE_H

#include <sys/types.h>

#include "shepherd.h"

/*
 * A command without a shepherd.  In a sandbox that is made for one command, with init as
 * its pid 1, whatever lives besides init is the command's, and falls back to init, which
 * no guest can kill or stop.  So init does what a shepherd would do: a process and
 * several wake-ups less.
 */
struct sole {
    pid_t pid; /* of the command; 0: it has a shepherd */
    bool has_ended;
    int signal_held; /* came before there was anything to signal */
    struct shepherd_word word; /* its last, in the making */
    uint64_t user_us, system_us; /* that init's children had used before it */
};

/* Forks the command.  -1 with errno; else `ret_executing` ends when it was executed, and
 * carries a struct exec_refusal when it was not. */
pid_t sole_start(struct sole *sole, const struct exec_plan *plan,
                 const struct shepherd_fds *fds, int *ret_executing);

void sole_signal(struct sole *sole, int number, bool is_started);

/* A child of init's was reaped while the command was there. */
void sole_reaped(struct sole *sole, pid_t pid, int status);

/* None is left: the last word is whole. */
void sole_account(struct sole *sole, bool was_ordered);

#endif
