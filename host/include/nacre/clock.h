#ifndef NACRE_CLOCK_H
#define NACRE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NACRE_NS_PER_MS UINT64_C(1000000)
#define NACRE_NS_PER_S UINT64_C(1000000000)

/* CLOCK_MONOTONIC.  Deadlines are in this clock; 0 is never one. */
uint64_t nacre_clock_ns(void);

/* Milliseconds since 1970, by the clock of the wall, which may be set: for what other
 * processes and later ones have to understand. */
uint64_t nacre_clock_wall_ms(void);

/* Is it strictly more than `most_ms` ago?  What is as old as it may be is not over, and
 * with 0 nothing ever is. */
static inline bool nacre_clock_is_over(uint64_t now_ms, uint64_t since_ms,
                                       uint64_t most_ms)
{
    return most_ms > 0 && now_ms > since_ms && now_ms - since_ms > most_ms;
}

/* What is left until `deadline_ns`; zero when it has passed. */
struct timespec nacre_clock_until(uint64_t deadline_ns);

/* RFC 3339 in UTC with microseconds: 2026-11-16T04:00:00.123456Z */
#define NACRE_TIMESTAMP 28
const char *nacre_clock_timestamp(char ret_text[NACRE_TIMESTAMP]);

/* A second since 1970 in the same way: 2026-11-16T04:00:00Z.  One beyond the year 9999
 * is shown as its last.  By itself: the C library's gmtime_r() reads the time zone's file
 * first, at each start of a program. */
#define NACRE_SECOND 21
const char *nacre_clock_second(char ret_text[NACRE_SECOND], uint64_t seconds);

#endif
