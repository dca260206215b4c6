#ifndef NACRE_TEST_GUEST_DOORS_H
#define NACRE_TEST_GUEST_DOORS_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_line.h"
#include "nacre/door.h"

/*
 * All of nacre/door.h, played inside the test: behind each guest's line stands a
 * fake_line.  What executors do with doors is counted, and a test can make doors fail.
 */
struct guest_doors {
    uint32_t got, put;      /* doors */
    uint32_t served;        /* guests' lines */
    uint32_t begun, ended;  /* runs */
    uint32_t open;          /* got and not put */
    uint32_t secrets_seen;  /* of the last request's granted */
    char run_id[NACRE_RUN_ID];
    uint64_t deadline_ns;
    /* What fails next, once. */
    bool get_fails, serve_fails, begin_fails, end_fails;
    bool is_missing; /* probe() says so */
};
extern struct guest_doors guest_doors;

/* The line of the last guest that was served. */
struct fake_line *guest_doors_line(void);

#endif
