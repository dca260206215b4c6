#ifndef NACRE_INIT_H
#define NACRE_INIT_H

#include <stdbool.h>

/*
 * The first process of a native sandbox.  It starts commands for the owner at the other
 * end of the channel, keeps their deadlines, reaps, and kills what they leave behind.
 *
 * It trusts the owner, and nobody in the sandbox: guests have its uid.  It is not
 * dumpable, holds no inheritable fd, and everything it keeps has a ceiling; nothing is
 * allocated after the start.
 */
struct init_place {
    bool is_pid1; /* else a subreaper, which guests may kill: level none */
    bool walls;   /* commands lose their capabilities and get seccomp and Landlock; false
                     only at level none */
    bool browser; /* that filter is a browser's */
    bool setup;   /* there is no filter of ours: the engine's is around this process */
    bool held;    /* this process is behind the commands' seccomp filter and, where there
                     is one, their Landlock ruleset already, and so is all that it starts;
                     its signals have their defaults */
    int landlock_fd; /* a finished ruleset, for every command; taken.  -1: there is none,
                        and the configuration has to say landlock_none */
    int names_fd;    /* of the name server (doorway.h), CLOEXEC; taken.  -1: none yet */
};

/*
 * fd 0 is the channel in, fd 1 the channel out; every other fd but the ruleset's is
 * closed.  The process may be anything up to here; from here on it is init: its signals,
 * its mask, its directory and its name change.  Returns the status to leave with, when
 * all that it started is dead.
 */
int init_main(const struct init_place *place);

#endif
