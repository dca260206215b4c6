/*
 * What a guest could learn from memory that is not its own: all of it is zero at the
 * start but what its data segments say (a page beyond them is looked at), and so is the
 * padding of every structure that the host fills in.  FD 3 is a directory.
 */
#include <stdio.h>
#include <string.h>

#include "raw.h"

static unsigned dirty;

static void must_be_zero(const char *what, const unsigned char *bytes, size_t from,
                         size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i] != 0) {
            printf("%s: byte %zu is %02x\n", what, i, bytes[i]);
            dirty++;
        }
}

static void must_be_ours(const char *what, const unsigned char *bytes, size_t from,
                         size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i] != 0xa5) {
            printf("%s: byte %zu beyond it is %02x\n", what, i, bytes[i]);
            dirty++;
        }
}

static void structures(void)
{
    unsigned char out[512];
    /* userdata, tag, clock 1, due at once */
    const uint64_t clock[6] = { 0, 0, 1, 0, 0, 0 };
    uint32_t count;

    memset(out, 0xa5, sizeof out);
    (void)!raw_fd_fdstat_get(3, AT(out));
    must_be_zero("fdstat", out, 1, 2);
    must_be_zero("fdstat", out, 4, 8);
    must_be_ours("fdstat", out, 24, sizeof out);
    memset(out, 0xa5, sizeof out);
    (void)!raw_fd_filestat_get(3, AT(out));
    must_be_zero("filestat", out, 17, 24);
    must_be_ours("filestat", out, 64, sizeof out);
    memset(out, 0xa5, sizeof out);
    (void)!raw_fd_prestat_get(3, AT(out));
    must_be_zero("prestat", out, 1, 4);
    must_be_ours("prestat", out, 8, sizeof out);
    memset(out, 0xa5, sizeof out);
    (void)!raw_fd_readdir(3, AT(out), 24, 0, AT(&count));
    must_be_zero("dirent", out, 21, 24);
    must_be_ours("dirent", out, 24, sizeof out);
    memset(out, 0xa5, sizeof out);
    (void)!raw_poll_oneoff(AT(clock), AT(out), 1, AT(&count));
    must_be_zero("event", out, 11, 32);
    must_be_ours("event", out, 32, sizeof out);
}

int main(void)
{
    size_t page = __builtin_wasm_memory_grow(0, 64);

    must_be_zero("fresh memory", (const unsigned char *)(page * 65536), 0, 64 * 65536);
    memset((void *)(page * 65536), 0x5a, 64 * 65536);
    structures();
    printf("dirty %u\n", dirty);
    return 0;
}
