#ifndef NACRE_LEAK_MEMORY_H
#define NACRE_LEAK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Zeroed pages; for what is made of secrets locked where RLIMIT_MEMLOCK lets us, in no
 * core dump, empty in a forked child, and wiped when given back.  NULL: no memory.
 */
void *leak_memory_new(size_t size, bool is_secret);
void leak_memory_free(void *memory, size_t size, bool is_secret); /* accepts NULL */

#endif
