#ifndef ATTACK_RAW_H
#define ATTACK_RAW_H

#include <stdint.h>

/* Preview1 as the machine has it: numbers for pointers, so that a guest can pass any,
 * and no libc between it and the host that would mend a path. */

#define RAW(name) \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) \
    uint32_t raw_##name

RAW(args_get)(uint32_t argv, uint32_t text);
RAW(args_sizes_get)(uint32_t count, uint32_t size);
RAW(environ_get)(uint32_t environ, uint32_t text);
RAW(environ_sizes_get)(uint32_t count, uint32_t size);
RAW(clock_res_get)(uint32_t id, uint32_t result);
RAW(clock_time_get)(uint32_t id, uint64_t precision, uint32_t result);
RAW(fd_advise)(uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice);
RAW(fd_allocate)(uint32_t fd, uint64_t offset, uint64_t length);
RAW(fd_close)(uint32_t fd);
RAW(fd_datasync)(uint32_t fd);
RAW(fd_fdstat_get)(uint32_t fd, uint32_t result);
RAW(fd_fdstat_set_flags)(uint32_t fd, uint32_t flags);
RAW(fd_fdstat_set_rights)(uint32_t fd, uint64_t base, uint64_t inheriting);
RAW(fd_filestat_get)(uint32_t fd, uint32_t result);
RAW(fd_filestat_set_size)(uint32_t fd, uint64_t size);
RAW(fd_filestat_set_times)(uint32_t fd, uint64_t atim, uint64_t mtim, uint32_t flags);
RAW(fd_pread)(uint32_t fd, uint32_t iovs, uint32_t count, uint64_t offset, uint32_t result);
RAW(fd_prestat_get)(uint32_t fd, uint32_t result);
RAW(fd_prestat_dir_name)(uint32_t fd, uint32_t path, uint32_t length);
RAW(fd_pwrite)(uint32_t fd, uint32_t iovs, uint32_t count, uint64_t offset, uint32_t result);
RAW(fd_read)(uint32_t fd, uint32_t iovs, uint32_t count, uint32_t result);
RAW(fd_readdir)(uint32_t fd, uint32_t buf, uint32_t length, uint64_t cookie,
                uint32_t result);
RAW(fd_renumber)(uint32_t from, uint32_t to);
RAW(fd_seek)(uint32_t fd, uint64_t offset, uint32_t whence, uint32_t result);
RAW(fd_sync)(uint32_t fd);
RAW(fd_tell)(uint32_t fd, uint32_t result);
RAW(fd_write)(uint32_t fd, uint32_t iovs, uint32_t count, uint32_t result);
RAW(path_create_directory)(uint32_t fd, uint32_t path, uint32_t length);
RAW(path_filestat_get)(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length,
                       uint32_t result);
RAW(path_filestat_set_times)(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length,
                             uint64_t atim, uint64_t mtim, uint32_t which);
RAW(path_link)(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length, uint32_t new_fd,
               uint32_t new_path, uint32_t new_length);
RAW(path_open)(uint32_t fd, uint32_t lookup, uint32_t path, uint32_t length, uint32_t oflags,
               uint64_t rights, uint64_t inheriting, uint32_t fdflags, uint32_t result);
RAW(path_readlink)(uint32_t fd, uint32_t path, uint32_t length, uint32_t buf, uint32_t room,
                   uint32_t result);
RAW(path_remove_directory)(uint32_t fd, uint32_t path, uint32_t length);
RAW(path_rename)(uint32_t fd, uint32_t path, uint32_t length, uint32_t new_fd,
                 uint32_t new_path, uint32_t new_length);
RAW(path_symlink)(uint32_t target, uint32_t target_length, uint32_t fd, uint32_t path,
                  uint32_t length);
RAW(path_unlink_file)(uint32_t fd, uint32_t path, uint32_t length);
RAW(poll_oneoff)(uint32_t in, uint32_t out, uint32_t count, uint32_t result);
RAW(proc_raise)(uint32_t number);
RAW(random_get)(uint32_t buf, uint32_t length);
RAW(sched_yield)(void);
RAW(sock_accept)(uint32_t fd, uint32_t flags, uint32_t result);
RAW(sock_recv)(uint32_t fd, uint32_t iovs, uint32_t count, uint32_t flags, uint32_t result,
               uint32_t result_flags);
RAW(sock_send)(uint32_t fd, uint32_t iovs, uint32_t count, uint32_t flags, uint32_t result);
RAW(sock_shutdown)(uint32_t fd, uint32_t how);

#define AT(object) ((uint32_t)(uintptr_t)(object))

enum { FOLLOW = 1 };
enum { CREAT = 1, DIRECTORY = 2, EXCL = 4, TRUNC = 8 };
enum { RIGHT_READ = 2, RIGHT_WRITE = 64 };
#define RIGHTS_ALL UINT64_C(0x1fffffff)

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
