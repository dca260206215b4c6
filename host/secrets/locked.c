#include "locked.h"

#include <unistd.h>

#include "nacre/locked.h"

enum nacre_status locked_new(size_t size, struct locked *ret_locked,
                             struct nacre_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size / page + 1) * page;
    unsigned char *bytes = nacre_locked_new(whole, true);

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "%zu bytes for secrets can't be locked into memory, and without "
                          "that they could be swapped to a disk: raise the limit (ulimit "
                          "-l)",
                          whole);
    *ret_locked = (struct locked){ bytes, whole };
    return NACRE_OK;
}

void locked_clear(struct locked *locked)
{
    nacre_locked_free(locked->bytes, locked->size);
    *locked = (struct locked){ 0 };
}
