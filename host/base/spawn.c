#include "nacre/spawn.h"

#include <signal.h>

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
