#ifndef NACRE_SPAWN_H
#define NACRE_SPAWN_H

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A child that is nobody's but ours: with no signal blocked or ignored and, so that the
 * terminal's Ctrl-C is for us to judge, in a session or a process group of its own.
 * Returns 0, or an errno.
 */
struct nacre_spawn {
    const char *program;
    bool by_path; /* it is a name that PATH is searched for */
    char *const *argv, *const *environment;
    const posix_spawn_file_actions_t *actions; /* its fds and its directory */
    bool own_session; /* else: a process group */
};
int nacre_spawn(const struct nacre_spawn *spawn, pid_t *ret_pid);

/* Waits for its end, at most until `deadline_ns` of nacre_clock_ns(), and reaps it; what
 * is left of its group is killed.  False: it was killed at the deadline. */
bool nacre_spawn_wait(pid_t pid, uint64_t deadline_ns, int *ret_status);

#endif
