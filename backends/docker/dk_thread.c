#include "dk_thread.h"

#include <signal.h>

bool dk_thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data)
{
    sigset_t all, old;
    bool started;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    started = pthread_create(ret_thread, NULL, run, data) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

struct timespec dk_thread_moment(uint64_t moment_ns)
{
    return (struct timespec){ .tv_sec = (time_t)(moment_ns / NACRE_NS_PER_S),
                              .tv_nsec = (long)(moment_ns % NACRE_NS_PER_S) };
}

bool dk_thread_lock(pthread_mutex_t *lock, const struct nt_wait *wait)
{
    while (!nt_wait_is_over(wait)) {
        const struct timespec next = dk_thread_moment(nt_wait_next_ns(wait));

        if (pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &next) == 0)
            return true;
    }
    return false;
}
