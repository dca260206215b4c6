#include "nacre/clock.h"

#include <stdio.h>

#define SECONDS_A_DAY 86400
#define SECOND_LAST UINT64_C(253402300799) /* of the year 9999 */
#define DAYS_AN_ERA 146097
#define DAYS_TO_1970 719468

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

/* Years are counted from March on, so that a leap day is the last of its year, and eras
 * are 400 years of equal length; day 0 is the first of March of the year 0. */
const char *nacre_clock_second(char ret_text[NACRE_SECOND], uint64_t seconds)
{
    uint32_t clock = (uint32_t)(seconds % SECONDS_A_DAY);
    uint64_t day = seconds / SECONDS_A_DAY + DAYS_TO_1970, of_era = day % DAYS_AN_ERA;
    uint64_t year, of_year, month;

    if (seconds > SECOND_LAST)
        return nacre_clock_second(ret_text, SECOND_LAST);
    year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (DAYS_AN_ERA - 1)) / 365;
    of_year = of_era - (365 * year + year / 4 - year / 100);
    month = (5 * of_year + 2) / 153; /* 0 is March */
    year += day / DAYS_AN_ERA * 400 + (month >= 10);
    day = of_year - (153 * month + 2) / 5 + 1;
    (void)snprintf(ret_text, NACRE_SECOND, "%04u-%02u-%02uT%02u:%02u:%02uZ",
                   (unsigned)year % 10000,
                   (unsigned)(month < 10 ? month + 3 : month - 9) % 100,
                   (unsigned)day % 100, clock / 3600 % 100, clock / 60 % 60, clock % 60);
    return ret_text;
}

const char *nacre_clock_timestamp(char ret_text[NACRE_TIMESTAMP])
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)nacre_clock_second(ret_text, (uint64_t)now.tv_sec);
    (void)snprintf(ret_text + NACRE_SECOND - 2, NACRE_TIMESTAMP - NACRE_SECOND + 2,
                   ".%06uZ", (unsigned)(now.tv_nsec / 1000) % 1000000u);
    return ret_text;
}
