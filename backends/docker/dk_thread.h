#ifndef DK_THREAD_H
#define DK_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "nt_wait.h"

/* Starts a thread that no signal is delivered to: signals are for the threads of the
 * program that we are part of.  False: there is none. */
bool dk_thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data);

/* A moment of nacre_clock_ns(), for who waits on CLOCK_MONOTONIC. */
struct timespec dk_thread_moment(uint64_t moment_ns);

/* False: the wait was over first. */
bool dk_thread_lock(pthread_mutex_t *lock, const struct nt_wait *wait);

#endif
