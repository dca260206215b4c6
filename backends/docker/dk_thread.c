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
