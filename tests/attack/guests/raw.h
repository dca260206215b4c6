#ifndef ATTACK_RAW_H
#define ATTACK_RAW_H

#include <stdint.h>

/* Preview1 as the machine has it: numbers for pointers, so that a guest can pass any,
 * and no libc between it and the host that would mend a path. */

typedef uint32_t u32;
typedef uint64_t u64;

#define RAW(name) \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) \
    uint32_t raw_##name

RAW(args_get)(u32 argv, u32 text);
RAW(args_sizes_get)(u32 count, u32 size);
RAW(environ_get)(u32 environ, u32 text);
RAW(environ_sizes_get)(u32 count, u32 size);
RAW(clock_res_get)(u32 id, u32 result);
RAW(clock_time_get)(u32 id, u64 precision, u32 result);
RAW(fd_advise)(u32 fd, u64 offset, u64 length, u32 advice);
RAW(fd_allocate)(u32 fd, u64 offset, u64 length);
RAW(fd_close)(u32 fd);
RAW(fd_datasync)(u32 fd);
RAW(fd_fdstat_get)(u32 fd, u32 result);
RAW(fd_fdstat_set_flags)(u32 fd, u32 flags);
RAW(fd_fdstat_set_rights)(u32 fd, u64 base, u64 inheriting);
RAW(fd_filestat_get)(u32 fd, u32 result);
RAW(fd_filestat_set_size)(u32 fd, u64 size);
RAW(fd_filestat_set_times)(u32 fd, u64 atim, u64 mtim, u32 flags);
RAW(fd_pread)(u32 fd, u32 iovs, u32 count, u64 offset, u32 result);
RAW(fd_prestat_get)(u32 fd, u32 result);
RAW(fd_prestat_dir_name)(u32 fd, u32 path, u32 length);
RAW(fd_pwrite)(u32 fd, u32 iovs, u32 count, u64 offset, u32 result);
RAW(fd_read)(u32 fd, u32 iovs, u32 count, u32 result);
RAW(fd_readdir)(u32 fd, u32 buf, u32 length, u64 cookie,
                u32 result);
RAW(fd_renumber)(u32 from, u32 to);
RAW(fd_seek)(u32 fd, u64 offset, u32 whence, u32 result);
RAW(fd_sync)(u32 fd);
RAW(fd_tell)(u32 fd, u32 result);
RAW(fd_write)(u32 fd, u32 iovs, u32 count, u32 result);
RAW(path_create_directory)(u32 fd, u32 path, u32 length);
RAW(path_filestat_get)(u32 fd, u32 flags, u32 path, u32 length,
                       u32 result);
RAW(path_filestat_set_times)(u32 fd, u32 flags, u32 path, u32 length,
                             u64 atim, u64 mtim, u32 which);
RAW(path_link)(u32 fd, u32 flags, u32 path, u32 length, u32 new_fd,
               u32 new_path, u32 new_length);
RAW(path_open)(u32 fd, u32 lookup, u32 path, u32 length, u32 oflags,
               u64 rights, u64 inheriting, u32 fdflags, u32 result);
RAW(path_readlink)(u32 fd, u32 path, u32 length, u32 buf, u32 room,
                   u32 result);
RAW(path_remove_directory)(u32 fd, u32 path, u32 length);
RAW(path_rename)(u32 fd, u32 path, u32 length, u32 new_fd,
                 u32 new_path, u32 new_length);
RAW(path_symlink)(u32 target, u32 target_length, u32 fd, u32 path,
                  u32 length);
RAW(path_unlink_file)(u32 fd, u32 path, u32 length);
RAW(poll_oneoff)(u32 in, u32 out, u32 count, u32 result);
RAW(proc_raise)(u32 number);
RAW(random_get)(u32 buf, u32 length);
RAW(sched_yield)(void);
RAW(sock_accept)(u32 fd, u32 flags, u32 result);
RAW(sock_recv)(u32 fd, u32 iovs, u32 count, u32 flags, u32 result,
               u32 result_flags);
RAW(sock_send)(u32 fd, u32 iovs, u32 count, u32 flags, u32 result);
RAW(sock_shutdown)(u32 fd, u32 how);

__attribute__((import_module("nacre"), import_name("rename_all")))
uint32_t raw_rename_all(u32 renames, u32 count, u32 done);

#define AT(object) ((uint32_t)(uintptr_t)(object))

enum { FOLLOW = 1 };
enum { CREAT = 1, DIRECTORY = 2, EXCL = 4, TRUNC = 8 };
enum { RIGHT_READ = 2, RIGHT_WRITE = 64 };
#define RIGHTS_ALL UINT64_C(0x1fffffff)
#define RIGHTS_OF_DIRECTORY (RIGHTS_ALL & ~(uint64_t)RIGHT_WRITE)

struct raw_iovec {
    uint32_t buf, length;
};

static inline uint32_t raw_open(uint32_t dir_fd, const char *path, uint32_t length,
                                uint32_t lookup, uint32_t oflags, uint64_t rights,
                                uint32_t *ret_fd)
{
    return raw_path_open(dir_fd, lookup, AT(path), length, oflags, rights, rights, 0,
                         AT(ret_fd));
}

#endif
