#ifndef NACRE_TEST_FAKE_DOORS_H
#define NACRE_TEST_FAKE_DOORS_H

#include <pthread.h>
#include <stdatomic.h>

#include "nacre/door.h"

/*
 * A door that leads nowhere: threads answer whoever comes, and say by which way.  It
 * stands in for the real one at link time, so that what is tested is the way to it.
 *
 *   to the proxy:  an HTTP answer "proxy REQUEST-LINE\n"
 *   to port 80:    "http HOST\n", the Host header
 *   to port 443:   "tls N\n" as plain bytes, N being how many bytes came first
 *
 * A request line with "/echo" gets its own body back, whatever its length, until it ends;
 * with "/flood", as many zero bytes as the number after it says.
 */
struct fake_doors {
    struct nacre_door *door; /* the one that there is */
    _Atomic int gets, puts, begins, ends, served, connections;
    const char *certificate; /* NULL: none */
    bool fails_probe, fails_end;
    char run_id[NACRE_RUN_ID];
};
extern struct fake_doors fake_doors;

#endif
