/*
 * Wild fds, iovecs that add up beyond 2^32, fd_renumber onto everything.  FD 3 is a
 * directory.  Says "survived" on what is then fd 1.
 */
#include <stdio.h>

#include "raw.h"

static const uint32_t wild[] = { 4, 5, 63, 64, 1023, 1024, 65535, 0x7fffffff, 0x80000000,
                                 0xfffffffe, 0xffffffff };

int main(void)
{
    static struct raw_iovec many[4096];
    static unsigned char buf[64];
    uint32_t count, bad = 0;
    const uint32_t end = (uint32_t)__builtin_wasm_memory_size(0) * 65536;

    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
        uint32_t fd = wild[i];
        struct raw_iovec one = { AT(buf), 1 };

        bad += raw_fd_read(fd, AT(&one), 1, AT(&count)) != 8;
        bad += raw_fd_write(fd, AT(&one), 1, AT(&count)) != 8;
        bad += raw_fd_seek(fd, 0, 0, AT(buf)) != 8;
        bad += raw_fd_close(fd) != 8;
        bad += raw_fd_renumber(1, fd) != 8;
        bad += raw_fd_renumber(fd, 1) != 8;
        bad += raw_fd_fdstat_get(fd, AT(buf)) != 8;
        bad += raw_fd_readdir(fd, AT(buf), 64, 0, AT(&count)) != 8;
        bad += raw_fd_filestat_set_size(fd, 0) != 8;
        bad += raw_path_create_directory(fd, AT("x"), 1) != 8;
        bad += raw_sock_accept(fd, 0, AT(&count)) == 0;
        bad += raw_sock_send(fd, AT(&one), 1, 0, AT(&count)) == 0;
        bad += raw_fd_readdir(3, AT(buf), 64, UINT64_MAX - i, AT(&count)) != 0;
    }
    /* Together far more than an i32 counts: cut, refused, but never wrapped. */
    for (unsigned i = 0; i < 4096; i++)
        many[i] = (struct raw_iovec){ 0, end };
    {
        uint32_t fd, error;

        if (raw_open(3, "big", 3, 0, CREAT, RIGHTS_ALL, &fd) != 0)
            return 2;
        error = raw_fd_pread(fd, AT(many), 4096, UINT64_MAX, AT(&count));
        bad += error == 0;
        error = raw_fd_pwrite(fd, AT(many), 1, (uint64_t)INT64_MAX - 1, AT(&count));
        bad += error == 0;
        error = raw_fd_seek(fd, (uint64_t)INT64_MIN, 1, AT(buf));
        bad += error == 0;
        error = raw_fd_allocate(fd, UINT64_MAX - 4, 8);
        bad += error == 0;
        error = raw_fd_advise(fd, UINT64_MAX, UINT64_MAX, 99);
        bad += error == 0;
        /* A preopen and stdin replaced by a file, twice, then closed. */
        bad += raw_fd_renumber(fd, 0) != 0;
        bad += raw_fd_renumber(0, 3) != 0;
        bad += raw_fd_close(3) != 0;
        bad += raw_fd_close(3) != 8;
    }
    printf("survived, %u surprises\n", bad);
    return 0;
}
