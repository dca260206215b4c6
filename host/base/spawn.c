#include "nacre/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"

int nacre_spawn(const struct nacre_spawn *spawn, pid_t *ret_pid)
{
    short group = spawn->own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int failed = posix_spawnattr_init(&attributes);

    if (failed)
        return failed;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(
        &attributes, (short)(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    failed = (spawn->by_path ? posix_spawnp : posix_spawn)(
        ret_pid, spawn->program, spawn->actions, &attributes, spawn->argv,
        spawn->environment);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

static bool wait_for(int pid_fd, uint64_t deadline_ns)
{
    struct pollfd watched = { .fd = pid_fd, .events = POLLIN };

    while (pid_fd >= 0) {
        struct timespec left = nacre_clock_until(deadline_ns);
        int ready = ppoll(&watched, 1, &left, NULL);

        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
    return false;
}

bool nacre_spawn_wait(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
    NACRE_AUTO(nacre_fd_guard) int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool in_time = wait_for(pid_fd, deadline_ns);

    /* Before it is reaped: until then the number of its group is nobody else's. */
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
    return in_time;
}
