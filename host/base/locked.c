#include "nacre/locked.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void *nacre_locked_new(size_t size, bool must_lock)
{
    size_t whole = size > 0 ? size : 1;
    void *bytes = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    int number;

    if (bytes == MAP_FAILED)
        return NULL;
    if ((mlock(bytes, whole) == 0 || !must_lock) &&
        madvise(bytes, whole, MADV_DONTDUMP) == 0 &&
        madvise(bytes, whole, MADV_WIPEONFORK) == 0)
        return bytes;
    number = errno;
    (void)munmap(bytes, whole);
    errno = number;
    return NULL;
}

void nacre_locked_free(void *bytes, size_t size)
{
    if (!bytes)
        return;
    explicit_bzero(bytes, size);
    (void)munmap(bytes, size > 0 ? size : 1);
}
