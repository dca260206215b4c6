#ifndef NACRE_POLICY_UNITS_H
#define NACRE_POLICY_UNITS_H

#include <stdint.h>

/*
 * Amounts as people write them in configurations, read to their end and exactly; what is
 * below the smallest step is cut off, so that a limit is never wider than written.  Each
 * returns NULL, or what is wrong in words that follow the value ("'2x' has ...").  Zero,
 * negative and overflowing amounts are wrong: to an engine they would mean no limit.
 */
typedef const char *nacre_unit_read(const char *text, uint64_t *ret_amount);

nacre_unit_read nacre_unit_bytes; /* 512m, 2gb, 2.5GiB: powers of 1024; 4096: bytes */
nacre_unit_read nacre_unit_cpus;  /* 1.5: in billionths of a processor */
nacre_unit_read nacre_unit_ms;    /* 120s, 2m, 1h, 500ms; 120: seconds */
nacre_unit_read nacre_unit_count; /* a whole number */

#endif
