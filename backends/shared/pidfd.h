#ifndef NACRE_PIDFD_H
#define NACRE_PIDFD_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As in <sys/pidfd.h>, which the C library has only since 2.36.  CLOEXEC from birth. */
static inline int nacre_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Never reaches a stranger that has got the same number. */
static inline int nacre_pidfd_signal(int pidfd, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

#endif
