#ifndef NACRE_WASI_FUNCTIONS_H
#define NACRE_WASI_FUNCTIONS_H

#include "nacre_wasi.h"

/* Name, signature, capability.  One list: the table and the prototypes come from it. */
#define WS_FUNCTION_MAP(X)                          \
    X(args_get, "ii:i", NONE)                       \
    X(args_sizes_get, "ii:i", NONE)                 \
    X(environ_get, "ii:i", NONE)                    \
    X(environ_sizes_get, "ii:i", NONE)              \
    X(clock_res_get, "ii:i", CLOCK)                 \
    X(clock_time_get, "iIi:i", CLOCK)               \
    X(fd_advise, "iIIi:i", FILES)                   \
    X(fd_allocate, "iII:i", FILES)                  \
    X(fd_close, "i:i", OUTPUT)                      \
    X(fd_datasync, "i:i", FILES)                    \
    X(fd_fdstat_get, "ii:i", OUTPUT)                \
    X(fd_fdstat_set_flags, "ii:i", OUTPUT)          \
    X(fd_fdstat_set_rights, "iII:i", OUTPUT)        \
    X(fd_filestat_get, "ii:i", OUTPUT)              \
    X(fd_filestat_set_size, "iI:i", FILES)          \
    X(fd_filestat_set_times, "iIIi:i", FILES)       \
    X(fd_pread, "iiiIi:i", FILES)                   \
    X(fd_prestat_get, "ii:i", FILES)                \
    X(fd_prestat_dir_name, "iii:i", FILES)          \
    X(fd_pwrite, "iiiIi:i", FILES)                  \
    X(fd_read, "iiii:i", OUTPUT)                    \
    X(fd_readdir, "iiiIi:i", FILES)                 \
    X(fd_renumber, "ii:i", OUTPUT)                  \
    X(fd_seek, "iIii:i", OUTPUT)                    \
    X(fd_sync, "i:i", FILES)                        \
    X(fd_tell, "ii:i", OUTPUT)                      \
    X(fd_write, "iiii:i", OUTPUT)                   \
    X(path_create_directory, "iii:i", FILES)        \
    X(path_filestat_get, "iiiii:i", FILES)          \
    X(path_filestat_set_times, "iiiiIIi:i", FILES)  \
    X(path_link, "iiiiiii:i", FILES)                \
    X(path_open, "iiiiiIIii:i", FILES)              \
    X(path_readlink, "iiiiii:i", FILES)             \
    X(path_remove_directory, "iii:i", FILES)        \
    X(path_rename, "iiiiii:i", FILES)               \
    X(path_symlink, "iiiii:i", FILES)               \
    X(path_unlink_file, "iii:i", FILES)             \
    X(poll_oneoff, "iiii:i", CLOCK)                 \
    X(proc_exit, "i:", NONE)                        \
    X(proc_raise, "i:i", PROCESS)                   \
    X(random_get, "ii:i", RANDOM)                   \
    X(sched_yield, ":i", NONE)                      \
    X(sock_accept, "iii:i", NETWORK)                \
    X(sock_recv, "iiiiii:i", NETWORK)               \
    X(sock_send, "iiiii:i", NETWORK)                \
    X(sock_shutdown, "ii:i", NETWORK)

/* Module "nacre": see nacre_http_abi.h and nacre_files_abi.h. */
#define WS_OWN_FUNCTION_MAP(X)           \
    X(rename_all, "iii:i", FILES)        \
    X(http_request, "ii:i", NETWORK)     \
    X(http_headers, "iiii:i", NETWORK)   \
    X(http_read, "iiii:i", NETWORK)      \
    X(http_error, "iii:i", NETWORK)      \
    X(http_close, "i:i", NETWORK)

#define X(name, signature, capability) \
    int ws_##name(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells);
WS_FUNCTION_MAP(X)
WS_OWN_FUNCTION_MAP(X)
#undef X

#endif
