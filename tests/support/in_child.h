#ifndef NACRE_TEST_IN_CHILD_H
#define NACRE_TEST_IN_CHILD_H

#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Walls stand until a process ends, so each is tried in a process of its own: runs
 * `body` in a forked child, which leaves with what it returned (0 to 255).  Returns the
 * wait status.  cmocka's assertions are for the parent; a child uses CHILD_CHECK.
 */
static inline int in_child(int (*body)(void *data), void *data)
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(body(data));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

#define CHILD_CHECK_FAILED 99

/* In a child's body: leave with CHILD_CHECK_FAILED, and say where, unless it holds. */
#define CHILD_CHECK(condition)                                                        \
    do {                                                                              \
        if (!(condition)) {                                                           \
            dprintf(2, "%s:%d: child: %s (errno %m)\n", __FILE__, __LINE__, #condition); \
            return CHILD_CHECK_FAILED;                                                \
        }                                                                             \
    } while (0)

#define assert_exited(status, code)           \
    do {                                      \
        int status_ = (status);               \
        assert_true(WIFEXITED(status_));      \
        assert_int_equal(WEXITSTATUS(status_), code); \
    } while (0)

#define assert_killed(status, signal_)        \
    do {                                      \
        int status_ = (status);               \
        assert_true(WIFSIGNALED(status_));    \
        assert_int_equal(WTERMSIG(status_), signal_); \
    } while (0)

#endif
