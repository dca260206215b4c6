#include "leak_memory.h"

#include <stdlib.h>

#include "nacre/locked.h"

void *leak_memory_new(size_t size, bool is_secret)
{
    return is_secret ? nacre_locked_new(size, false) : calloc(1, size);
}

void leak_memory_free(void *memory, size_t size, bool is_secret)
{
    if (is_secret)
        nacre_locked_free(memory, size);
    else
        free(memory);
}
