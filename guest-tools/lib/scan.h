#ifndef NACRE_SCAN_H
#define NACRE_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes, 16 at a time where the machine has that. */

/* The first `byte` at or behind `from`; `count` when there is none. */
size_t scan_byte(const uint8_t *bytes, size_t count, size_t from, uint8_t byte);
/* Behind the last `byte` before `from`; 0 when there is none: where a line begins. */
size_t scan_behind(const uint8_t *bytes, size_t from, uint8_t byte);
/* How many there are. */
size_t scan_count(const uint8_t *bytes, size_t count, uint8_t byte);

#endif
