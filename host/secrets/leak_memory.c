#include "leak_memory.h"

#include <string.h>
#include <sys/mman.h>

void *leak_memory_new(size_t size, bool is_secret)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (!is_secret)
        return memory;
    /* Whoever has to know asks. */
    (void)mlock(memory, size);
    if (madvise(memory, size, MADV_DONTDUMP) == 0 &&
        madvise(memory, size, MADV_WIPEONFORK) == 0)
        return memory;
    (void)munmap(memory, size);
    return NULL;
}

bool leak_memory_is_locked(void *memory, size_t size)
{
    return mlock(memory, size) == 0; /* a second time costs nothing */
}

void leak_memory_free(void *memory, size_t size)
{
    if (!memory)
        return;
    explicit_bzero(memory, size);
    (void)munmap(memory, size);
}
