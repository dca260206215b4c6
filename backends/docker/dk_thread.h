#ifndef DK_THREAD_H
#define DK_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that no signal is delivered to: signals are for the threads of the
 * program that we are part of.  False: there is none. */
bool dk_thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data);

#endif
