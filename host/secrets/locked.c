#include "locked.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum nacre_status locked_new(size_t size, struct locked *ret_locked,
                             struct nacre_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size / page + 1) * page;
    unsigned char *bytes = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for secrets");
    if (mlock(bytes, whole) < 0) {
        (void)munmap(bytes, whole);
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "%zu bytes for secrets can't be locked into memory, and "
                          "without that they could be swapped to a disk: raise the limit "
                          "(ulimit -l)",
                          whole);
    }
    if (madvise(bytes, whole, MADV_DONTDUMP) < 0 ||
        madvise(bytes, whole, MADV_WIPEONFORK) < 0) {
        (void)munmap(bytes, whole);
        return nacre_fail(err, NACRE_ERR_IO, "memory for secrets can't be kept private");
    }
    *ret_locked = (struct locked){ bytes, whole };
    return NACRE_OK;
}

void locked_clear(struct locked *locked)
{
    if (!locked->bytes)
        return;
    explicit_bzero(locked->bytes, locked->size);
    (void)munmap(locked->bytes, locked->size);
    *locked = (struct locked){ 0 };
}
