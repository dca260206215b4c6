#include "nacre/clock.h"

#include <assert.h>
#include <stdio.h>

uint64_t nacre_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NACRE_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t nacre_clock_wall_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NACRE_NS_PER_MS;
}

struct timespec nacre_clock_until(uint64_t deadline_ns)
{
    uint64_t now = nacre_clock_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;

    return (struct timespec){ .tv_sec = (time_t)(left / NACRE_NS_PER_S),
                              .tv_nsec = (long)(left % NACRE_NS_PER_S) };
}

const char *nacre_clock_timestamp(char ret_text[NACRE_TIMESTAMP])
{
    struct timespec now;
    struct tm utc;
    size_t used;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    used = strftime(ret_text, NACRE_TIMESTAMP, "%Y-%m-%dT%H:%M:%S", &utc);
    assert(used == 19);
    (void)snprintf(ret_text + used, NACRE_TIMESTAMP - used, ".%06uZ",
                   (unsigned)(now.tv_nsec / 1000) % 1000000u);
    return ret_text;
}
