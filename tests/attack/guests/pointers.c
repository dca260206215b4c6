/*
 * Every import with pointers that leave the memory at once, at its last byte and by
 * wrapping around.  Each must come back with FAULT, and nothing at all may change: a
 * copy of the guest's data is compared.  FD 3 is a directory that may be written to.
 */
#include <stdio.h>
#include <string.h>

#include "raw.h"

#define FAULT 21

static unsigned tried, wrong;

static void judge(const char *what, uint32_t error)
{
    tried++;
    if (error == FAULT)
        return;
    wrong++;
    printf("%s: error %u\n", what, error);
}
#define MUST_FAULT(call) judge(#call, raw_##call)

static void texts(uint32_t bad)
{
    uint32_t ok[2];

    MUST_FAULT(args_get(bad, AT(ok)));
    MUST_FAULT(args_get(AT(ok), bad));
    MUST_FAULT(args_sizes_get(bad, AT(ok)));
    MUST_FAULT(args_sizes_get(AT(ok), bad));
    MUST_FAULT(environ_get(AT(ok), bad));
    MUST_FAULT(environ_sizes_get(bad, AT(ok)));
    MUST_FAULT(environ_sizes_get(AT(ok), bad));
    MUST_FAULT(clock_res_get(0, bad));
    MUST_FAULT(clock_time_get(0, 0, bad));
    MUST_FAULT(random_get(bad, 8));
    MUST_FAULT(poll_oneoff(bad, AT(ok), 1, AT(ok)));
}

static void numbers(uint32_t fd, uint32_t bad)
{
    static char byte;
    struct raw_iovec good = { AT(&byte), 1 }, evil = { bad, 8 };
    uint32_t ok;

    MUST_FAULT(fd_fdstat_get(fd, bad));
    MUST_FAULT(fd_filestat_get(fd, bad));
    MUST_FAULT(fd_prestat_get(3, bad));
    MUST_FAULT(fd_prestat_dir_name(3, bad, 64));
    MUST_FAULT(fd_seek(fd, 0, 0, bad));
    MUST_FAULT(fd_tell(fd, bad));
    MUST_FAULT(fd_read(fd, bad, 1, AT(&ok)));
    MUST_FAULT(fd_read(fd, AT(&evil), 1, AT(&ok)));
    MUST_FAULT(fd_read(fd, AT(&good), 0x20000001, AT(&ok)));
    MUST_FAULT(fd_write(fd, bad, 1, AT(&ok)));
    MUST_FAULT(fd_write(fd, AT(&evil), 1, AT(&ok)));
    MUST_FAULT(fd_write(1, AT(&evil), 1, AT(&ok)));
    MUST_FAULT(fd_write(1, bad, 1, AT(&ok)));
    MUST_FAULT(fd_write(fd, AT(&good), 0xffffffff, AT(&ok)));
    MUST_FAULT(fd_pread(fd, AT(&evil), 1, 0, AT(&ok)));
    MUST_FAULT(fd_pwrite(fd, AT(&evil), 1, 0, AT(&ok)));
    MUST_FAULT(fd_readdir(3, bad, 64, 0, AT(&ok)));
    MUST_FAULT(fd_readdir(3, AT(&byte), 1, 0, bad));
}

static void paths(uint32_t bad)
{
    uint32_t ok[16];

    MUST_FAULT(path_create_directory(3, bad, 8));
    MUST_FAULT(path_filestat_get(3, 0, bad, 8, AT(ok)));
    MUST_FAULT(path_filestat_get(3, 0, AT("."), 1, bad));
    MUST_FAULT(path_filestat_set_times(3, 0, bad, 8, 1, 1, 5));
    MUST_FAULT(path_link(3, 0, bad, 8, 3, AT("made"), 4));
    MUST_FAULT(path_link(3, 0, AT("file"), 4, 3, bad, 8));
    MUST_FAULT(path_open(3, 0, bad, 8, CREAT, RIGHTS_ALL, RIGHTS_ALL, 0, AT(ok)));
    MUST_FAULT(path_open(3, 0, AT("made"), 4, CREAT, RIGHTS_ALL, RIGHTS_ALL, 0, bad));
    MUST_FAULT(path_readlink(3, bad, 8, AT(ok), 8, AT(ok)));
    MUST_FAULT(path_readlink(3, AT("link"), 4, bad, 8, AT(ok)));
    MUST_FAULT(path_remove_directory(3, bad, 8));
    MUST_FAULT(path_rename(3, bad, 8, 3, AT("made"), 4));
    MUST_FAULT(path_rename(3, AT("file"), 4, 3, bad, 8));
    MUST_FAULT(path_symlink(bad, 8, 3, AT("made"), 4));
    MUST_FAULT(path_symlink(AT("to"), 2, 3, bad, 8));
    MUST_FAULT(path_unlink_file(3, bad, 8));
}

static void renames(uint32_t bad)
{
    const uint32_t good[] = { 3, AT("file"), 4, 3, AT("made"), 4 };
    const uint32_t from[] = { 3, bad, 8, 3, AT("made"), 4 };
    const uint32_t to[] = { 3, AT("file"), 4, 3, bad, 8 };
    uint32_t ok;

    MUST_FAULT(rename_all(bad, 1, AT(&ok)));
    MUST_FAULT(rename_all(bad, 2048, AT(&ok)));
    MUST_FAULT(rename_all(AT(good), 1, bad));
    MUST_FAULT(rename_all(AT(good), 0, bad));
    MUST_FAULT(rename_all(AT(from), 1, AT(&ok)));
    MUST_FAULT(rename_all(AT(to), 1, AT(&ok)));
}

static uint32_t held[1024], copy[1024];

int main(void)
{
    const uint32_t end = (uint32_t)__builtin_wasm_memory_size(0) * 65536;
    const uint32_t bads[] = { end - 3,    end - 1,    end,        end + 1,   0x7fffffff,
                              0x80000000, 0xfffffff8, 0xfffffffe, 0xffffffff };
    uint32_t fd;

    for (unsigned i = 0; i < 1024; i++)
        held[i] = copy[i] = i * 2654435761u;
    if (raw_open(3, "file", 4, 0, CREAT, RIGHTS_ALL, &fd) != 0 ||
        raw_path_symlink(AT("to"), 2, 3, AT("link"), 4) != 0)
        return 2;
    for (unsigned i = 0; i < sizeof bads / sizeof *bads; i++) {
        texts(bads[i]);
        numbers(fd, bads[i]);
        paths(bads[i]);
        renames(bads[i]);
    }
    if (memcmp(held, copy, sizeof held) != 0)
        puts("the guest's own memory changed");
    printf("tried %u wrong %u\n", tried, wrong);
    return 0;
}
