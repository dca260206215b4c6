/* What is known about an open fd, and what may be changed of it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fdtable.h"
#include "filestat.h"
#include "functions.h"
#include "guard.h"
#include "guest_memory.h"
#include "scratch.h"
#include "secrets.h"

uint8_t ws_filetype(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return P1_FILETYPE_REGULAR_FILE;
    case S_IFDIR:
        return P1_FILETYPE_DIRECTORY;
    case S_IFLNK:
        return P1_FILETYPE_SYMBOLIC_LINK;
    case S_IFCHR:
        return P1_FILETYPE_CHARACTER_DEVICE;
    case S_IFBLK:
        return P1_FILETYPE_BLOCK_DEVICE;
    case S_IFSOCK:
        return P1_FILETYPE_SOCKET_STREAM;
    default:
        return P1_FILETYPE_UNKNOWN;
    }
}

/* Times before 1970 and after 2554 do not fit: the nearest that does. */
static uint64_t ns_of(struct timespec time)
{
    if (time.tv_sec < 0)
        return 0;
    if ((uint64_t)time.tv_sec >= UINT64_MAX / NACRE_NS_PER_S)
        return UINT64_MAX;
    return (uint64_t)time.tv_sec * NACRE_NS_PER_S + (uint64_t)time.tv_nsec;
}

int ws_filestat_put(const struct nacre_wasi *wasi, uint32_t address,
                    const struct stat *st)
{
    struct p1_filestat out = {
        .dev = st->st_dev,
        .ino = st->st_ino,
        .filetype = ws_filetype(st->st_mode),
        .nlink = st->st_nlink,
        .size = (uint64_t)st->st_size,
        .atim = ns_of(st->st_atim),
        .mtim = ns_of(st->st_mtim),
        .ctim = ns_of(st->st_ctim),
    };

    return ws_guest_put(wasi, address, &out, sizeof(out));
}

static bool time_of(uint64_t ns, bool set, bool now, struct timespec *ret_time)
{
    *ret_time = (struct timespec){ .tv_nsec = now ? UTIME_NOW : UTIME_OMIT };
    if (set)
        *ret_time = (struct timespec){ .tv_sec = (time_t)(ns / NACRE_NS_PER_S),
                                       .tv_nsec = (long)(ns % NACRE_NS_PER_S) };
    return !(set && now);
}

int ws_times(uint64_t atim, uint64_t mtim, uint32_t flags, struct timespec ret_times[2])
{
    if (flags & ~P1_FSTFLAGS_ALL)
        return P1_INVAL;
    if (!time_of(atim, flags & P1_FSTFLAG_ATIM, flags & P1_FSTFLAG_ATIM_NOW,
                 &ret_times[0]) ||
        !time_of(mtim, flags & P1_FSTFLAG_MTIM, flags & P1_FSTFLAG_MTIM_NOW,
                 &ret_times[1]))
        return P1_INVAL;
    return P1_SUCCESS;
}

/* Told by the caller: a worker may not ask a terminal anything. */
static uint8_t stream_type(const struct nacre_wasi *wasi, const struct ws_file *file)
{
    uint32_t number = file->kind == WS_INPUT ? 0 : 1 + file->stream;

    return wasi->call.terminals & UINT32_C(1) << number ? P1_FILETYPE_CHARACTER_DEVICE
                                                        : P1_FILETYPE_UNKNOWN;
}

int ws_fd_fdstat_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    struct p1_fdstat out = { 0 };

    if (!file)
        return P1_BADF;
    if (file->kind == WS_FILE || file->kind == WS_SECRET)
        out.filetype = P1_FILETYPE_REGULAR_FILE;
    else if (file->kind == WS_DIRECTORY || file->kind == WS_SECRETS)
        out.filetype = P1_FILETYPE_DIRECTORY;
    else
        out.filetype = stream_type(wasi, file);
    out.flags = file->flags;
    out.rights_base = file->rights;
    out.rights_inheriting = file->inheriting;
    return ws_guest_put(wasi, ws_u32(&cells[1]), &out, sizeof(out));
}

int ws_fd_fdstat_set_flags(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    uint32_t flags = ws_u32(&cells[1]);

    if (!file || file->kind == WS_DIRECTORY || file->kind == WS_SECRETS)
        return P1_BADF;
    if (flags & ~(uint32_t)(P1_FDFLAG_APPEND | P1_FDFLAG_NONBLOCK))
        return P1_INVAL;
    if (file->kind == WS_FILE) {
        int host = fcntl(file->fd, F_GETFL);

        host = flags & P1_FDFLAG_APPEND ? host | O_APPEND : host & ~O_APPEND;
        if (fcntl(file->fd, F_SETFL, host) != 0)
            return ws_errno(errno);
    }
    file->flags = (uint16_t)flags;
    return P1_SUCCESS;
}

int ws_fd_fdstat_set_rights(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    uint64_t base = ws_u64(&cells[1]), inheriting = ws_u64(&cells[2]);

    if (!file)
        return P1_BADF;
    if ((base & ~file->rights) || (inheriting & ~file->inheriting))
        return P1_NOTCAPABLE;
    file->rights = base;
    file->inheriting = inheriting;
    return P1_SUCCESS;
}

int ws_fd_filestat_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    uint32_t number = ws_u32(&cells[0]);
    struct ws_file *file = ws_file_get(wasi, number);
    struct stat st;
    int error = P1_SUCCESS;

    if (!file)
        return P1_BADF;
    if (file->kind == WS_INPUT || file->kind == WS_OUTPUT) {
        struct p1_filestat out = { .filetype = stream_type(wasi, file) };

        return ws_guest_put(wasi, ws_u32(&cells[1]), &out, sizeof(out));
    }
    if (file->kind == WS_SECRETS || file->kind == WS_SECRET)
        return ws_secrets_stat(wasi, file, ws_u32(&cells[1]));
    if (file->kind == WS_DIRECTORY)
        error = ws_directory_get(wasi, number, &file);
    if (error != P1_SUCCESS)
        return error;
    if (fstat(file->fd, &st) != 0)
        return ws_errno(errno);
    return ws_filestat_put(wasi, ws_u32(&cells[1]), &st);
}

int ws_fd_filestat_set_size(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file;
    uint64_t size = ws_u64(&cells[1]);
    int error = ws_regular_get(wasi, ws_u32(&cells[0]), P1_BADF, &file);

    if (error != P1_SUCCESS)
        return error;
    if (!(file->rights & P1_RIGHT_FD_WRITE) || size > INT64_MAX)
        return P1_INVAL;
    error = ws_scratch_reach(wasi, file, size);
    if (error != P1_SUCCESS)
        return error;
    if (ftruncate(file->fd, (off_t)size) != 0)
        return ws_errno(errno);
    ws_scratch_paid(wasi, file, size);
    return P1_SUCCESS;
}

int ws_fd_filestat_set_times(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    uint32_t number = ws_u32(&cells[0]);
    struct ws_file *file = ws_file_get(wasi, number);
    struct timespec times[2];
    int error;

    if (!file || file->kind == WS_INPUT || file->kind == WS_OUTPUT)
        return P1_BADF;
    error = ws_times(ws_u64(&cells[1]), ws_u64(&cells[2]), ws_u32(&cells[3]), times);
    if (error == P1_SUCCESS)
        error = ws_guard_write(wasi, file->mount, file->path);
    if (error == P1_SUCCESS && file->kind == WS_DIRECTORY)
        error = ws_directory_get(wasi, number, &file);
    if (error != P1_SUCCESS)
        return error;
    /* By name for directories: a preopen's fd may be an O_PATH one. */
    if (file->kind == WS_DIRECTORY ? utimensat(file->fd, ".", times, 0) != 0
                                   : futimens(file->fd, times) != 0)
        return ws_errno(errno);
    return P1_SUCCESS;
}

/* ---- preopens ---- */

int ws_fd_prestat_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    struct p1_prestat out = { 0 };

    if (!file || !file->preopen)
        return P1_BADF;
    out.name_length = (uint32_t)strlen(wasi->mounts[file->mount].config->guest);
    return ws_guest_put(wasi, ws_u32(&cells[1]), &out, sizeof(out));
}

int ws_fd_prestat_dir_name(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    const char *name;

    if (!file || !file->preopen)
        return P1_BADF;
    name = wasi->mounts[file->mount].config->guest;
    if (ws_u32(&cells[2]) < strlen(name))
        return P1_NAMETOOLONG;
    return ws_guest_put(wasi, ws_u32(&cells[1]), name, strlen(name));
}

/* ---- numbers ---- */

int ws_fd_close(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    if (!ws_file_get(wasi, ws_u32(&cells[0])))
        return P1_BADF;
    ws_file_close(wasi, ws_u32(&cells[0]));
    return P1_SUCCESS;
}

int ws_fd_renumber(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return ws_file_renumber(wasi, ws_u32(&cells[0]), ws_u32(&cells[1]));
}
