/* Reading, writing and moving about in what is open. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "fdtable.h"
#include "functions.h"
#include "guest_memory.h"
#include "scratch.h"
#include "secrets.h"

/* Part of it is done: that is a success, unless there is no more running. */
static int partly(int error, uint64_t total)
{
    return total > 0 && error != NACRE_WASI_UNWIND ? P1_SUCCESS : error;
}

/* ---- streams ---- */

/* Append to a stream's buffer.  A reader on the other side of shared memory, or one
 * that comes after a kill, sees bytes only once they are all there. */
static int output_write(struct nacre_wasi *wasi, uint32_t stream, struct ws_iov *iov,
                        uint32_t *ret_count)
{
    const struct nacre_wasi_call *call = &wasi->call;
    _Atomic uint64_t *used = &call->record->output_used[stream];
    uint64_t other = atomic_load_explicit(&call->record->output_used[1 - stream],
                                          memory_order_relaxed);
    uint64_t at = atomic_load_explicit(used, memory_order_relaxed), begun = at;
    bool full = false;
    int error = P1_SUCCESS;

    while (!full && (error = ws_iov_next(wasi, iov)) == P1_SUCCESS && iov->count > 0) {
        for (int i = 0; i < iov->count && !full; i++) {
            uint64_t room = call->output_bytes_max - other - at;
            size_t count = iov->items[i].iov_len;

            full = count > room;
            if (full)
                count = (size_t)room;
            memcpy(call->output[stream] + at, iov->items[i].iov_base, count);
            at += count;
        }
        atomic_store_explicit(used, at, memory_order_release);
    }
    call->record->bytes_written += at - begun;
    if (at != begun && call->on_output)
        call->on_output(call->on_output_data);
    if (full)
        return ws_end_by(wasi, NACRE_WASI_OUTPUT_LIMIT);
    *ret_count = (uint32_t)(at - begun);
    return partly(error, at - begun);
}

/* Wait for input, never past the deadline. */
static int input_wait(struct nacre_wasi *wasi, const struct ws_file *file)
{
    for (;;) {
        struct pollfd item = { .fd = file->fd, .events = POLLIN };
        struct timespec left = nacre_clock_until(wasi->call.deadline_ns);
        int ready;

        if (file->flags & P1_FDFLAG_NONBLOCK)
            left = (struct timespec){ 0, 0 };
        ready = ppoll(&item, 1, &left, NULL);
        if (ready > 0)
            return P1_SUCCESS;
        if (ready < 0 && errno != EINTR)
            return ws_errno(errno);
        if (ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
        if (file->flags & P1_FDFLAG_NONBLOCK)
            return P1_AGAIN;
    }
}

static int input_copy(struct nacre_wasi *wasi, struct ws_file *file, struct ws_iov *iov,
                      uint32_t *ret_count)
{
    uint64_t begun = file->position;
    int error = ws_iov_fill(wasi, iov, wasi->call.input, wasi->call.input_bytes,
                            &file->position);

    *ret_count = (uint32_t)(file->position - begun);
    return error;
}

static int input_read(struct nacre_wasi *wasi, struct ws_file *file, struct ws_iov *iov,
                      uint32_t *ret_count)
{
    int error;
    ssize_t got;

    *ret_count = 0;
    if (wasi->call.input)
        return input_copy(wasi, file, iov, ret_count);
    error = ws_iov_next(wasi, iov);
    if (error != P1_SUCCESS || iov->count == 0 || file->fd < 0)
        return error;
    do {
        error = input_wait(wasi, file);
        if (error != P1_SUCCESS)
            return error;
        got = readv(file->fd, iov->items, iov->count);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return ws_errno(errno);
    *ret_count = (uint32_t)got;
    return P1_SUCCESS;
}

/* ---- files ---- */

#define AT_POSITION (-1) /* the file's own, instead of an offset of the guest's */

static int file_read(struct nacre_wasi *wasi, const struct ws_file *file, int64_t offset,
                     struct ws_iov *iov, uint32_t *ret_count)
{
    uint64_t total = 0;
    int error;

    while ((error = ws_iov_next(wasi, iov)) == P1_SUCCESS && iov->count > 0) {
        int64_t at = offset + (int64_t)total;
        ssize_t got = offset == AT_POSITION
                          ? readv(file->fd, iov->items, iov->count)
                          : preadv(file->fd, iov->items, iov->count, at);

        if (got < 0)
            error = ws_errno(errno);
        else
            total += (uint64_t)got;
        if (got < 0 || (size_t)got < iov->bytes)
            break;
        if (iov->left > 0 && ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
    *ret_count = (uint32_t)total;
    return partly(error, total);
}

/* Where a write of the file would begin: -1 and errno on failure. */
static int64_t write_start(const struct ws_file *file, int64_t offset)
{
    struct stat st;

    if (file->flags & P1_FDFLAG_APPEND) /* pwrite appends too, as on Linux */
        return fstat(file->fd, &st) == 0 ? (int64_t)st.st_size : -1;
    return offset == AT_POSITION ? (int64_t)lseek(file->fd, 0, SEEK_CUR) : offset;
}

static ssize_t write_some(const struct ws_file *file, int64_t offset,
                          const struct ws_iov *iov)
{
    return offset == AT_POSITION ? writev(file->fd, iov->items, iov->count)
                                 : pwritev(file->fd, iov->items, iov->count, offset);
}

static int file_write(struct nacre_wasi *wasi, struct ws_file *file, int64_t offset,
                      struct ws_iov *iov, uint32_t *ret_count)
{
    bool counted = wasi->mounts[file->mount].is_private;
    uint64_t total = 0;
    int error;

    while ((error = ws_iov_next(wasi, iov)) == P1_SUCCESS && iov->count > 0) {
        int64_t at = offset == AT_POSITION ? AT_POSITION : offset + (int64_t)total;
        int64_t start = counted ? write_start(file, at) : 0;
        ssize_t put;

        if (start < 0)
            error = ws_errno(errno);
        else if (counted)
            error = ws_scratch_reach(wasi, file, (uint64_t)start + iov->bytes);
        if (error != P1_SUCCESS)
            break;
        put = write_some(file, at, iov);
        if (put < 0) {
            error = ws_errno(errno);
            break;
        }
        total += (uint64_t)put;
        if (counted)
            ws_scratch_paid(wasi, file, (uint64_t)start + (uint64_t)put);
        if ((size_t)put < iov->bytes)
            break;
        if (iov->left > 0 && ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
    wasi->call.record->bytes_written += total;
    *ret_count = (uint32_t)total;
    return partly(error, total);
}

/* ---- the functions ---- */

static int finish(struct nacre_wasi *wasi, int error, uint32_t address, uint32_t count)
{
    return error == P1_SUCCESS ? ws_guest_put_u32(wasi, address, count) : error;
}

int ws_fd_write(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    uint32_t count = 0;
    struct ws_iov iov;
    int error;

    if (!file || !(file->rights & P1_RIGHT_FD_WRITE))
        return P1_BADF;
    /* Before anything is written, so that no success goes unreported. */
    if (!ws_guest(wasi, ws_u32(&cells[3]), sizeof(count)))
        return P1_FAULT;
    error = ws_iov_begin(wasi, &iov, ws_u32(&cells[1]), ws_u32(&cells[2]));
    if (error == P1_SUCCESS)
        error = file->kind == WS_OUTPUT
                    ? output_write(wasi, file->stream, &iov, &count)
                    : file_write(wasi, file, AT_POSITION, &iov, &count);
    return finish(wasi, error, ws_u32(&cells[3]), count);
}

int ws_fd_read(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));
    uint32_t count = 0;
    struct ws_iov iov;
    int error;

    if (!file || !(file->rights & P1_RIGHT_FD_READ))
        return P1_BADF;
    if (!ws_guest(wasi, ws_u32(&cells[3]), sizeof(count)))
        return P1_FAULT;
    error = ws_iov_begin(wasi, &iov, ws_u32(&cells[1]), ws_u32(&cells[2]));
    if (error == P1_SUCCESS)
        error = file->kind == WS_INPUT ? input_read(wasi, file, &iov, &count)
                : file->kind == WS_SECRET
                    ? ws_secret_read(wasi, file, AT_POSITION, &iov, &count)
                    : file_read(wasi, file, AT_POSITION, &iov, &count);
    wasi->call.record->bytes_read += count;
    return finish(wasi, error, ws_u32(&cells[3]), count);
}

/* What fd_pread and fd_pwrite share: SPIPE for streams, BADF for the rest. */
static int positioned(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells,
                      uint64_t right, struct ws_file **ret_file, struct ws_iov *iov)
{
    struct ws_file *file = ws_file_get(wasi, ws_u32(&cells[0]));

    if (!file || !(file->rights & right))
        return P1_BADF;
    if (file->kind != WS_FILE && file->kind != WS_SECRET)
        return P1_SPIPE;
    if (ws_u64(&cells[3]) > INT64_MAX - UINT32_MAX)
        return P1_INVAL;
    if (!ws_guest(wasi, ws_u32(&cells[4]), sizeof(uint32_t)))
        return P1_FAULT;
    *ret_file = file;
    return ws_iov_begin(wasi, iov, ws_u32(&cells[1]), ws_u32(&cells[2]));
}

int ws_fd_pread(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = NULL;
    uint32_t count = 0;
    struct ws_iov iov;
    int error = positioned(wasi, cells, P1_RIGHT_FD_READ, &file, &iov);

    if (error == P1_SUCCESS)
        error = file->kind == WS_SECRET
                    ? ws_secret_read(wasi, file, cells[3].i64, &iov, &count)
                    : file_read(wasi, file, cells[3].i64, &iov, &count);
    wasi->call.record->bytes_read += count;
    return finish(wasi, error, ws_u32(&cells[4]), count);
}

int ws_fd_pwrite(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file = NULL;
    uint32_t count = 0;
    struct ws_iov iov;
    int error = positioned(wasi, cells, P1_RIGHT_FD_WRITE, &file, &iov);

    if (error == P1_SUCCESS)
        error = file_write(wasi, file, cells[3].i64, &iov, &count);
    return finish(wasi, error, ws_u32(&cells[4]), count);
}

static int seek(struct nacre_wasi *wasi, uint32_t number, int64_t offset, int whence,
                uint32_t address)
{
    struct ws_file *file = ws_file_get(wasi, number);
    uint64_t in_secret;
    off_t position;
    int error;

    if (!file || file->kind == WS_DIRECTORY || file->kind == WS_SECRETS)
        return P1_BADF;
    if (file->kind != WS_FILE && file->kind != WS_SECRET)
        return P1_SPIPE;
    if (!ws_guest(wasi, address, sizeof(uint64_t)))
        return P1_FAULT;
    if (file->kind == WS_SECRET) {
        error = ws_secret_seek(wasi, file, offset, whence, &in_secret);
        return error == P1_SUCCESS ? ws_guest_put_u64(wasi, address, in_secret) : error;
    }
    position = lseek(file->fd, offset, whence);
    if (position < 0)
        return ws_errno(errno);
    return ws_guest_put_u64(wasi, address, (uint64_t)position);
}

int ws_fd_seek(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    static const int whences[] = {
        [P1_WHENCE_SET] = SEEK_SET,
        [P1_WHENCE_CUR] = SEEK_CUR,
        [P1_WHENCE_END] = SEEK_END,
    };
    uint32_t whence = ws_u32(&cells[2]);

    if (whence >= NACRE_COUNT(whences))
        return P1_INVAL;
    return seek(wasi, ws_u32(&cells[0]), cells[1].i64, whences[whence],
                ws_u32(&cells[3]));
}

int ws_fd_tell(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return seek(wasi, ws_u32(&cells[0]), 0, SEEK_CUR, ws_u32(&cells[1]));
}

static int sync_with(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells,
                     int (*sync_fd)(int))
{
    struct ws_file *file;
    int error = ws_regular_get(wasi, ws_u32(&cells[0]), P1_BADF, &file);

    if (error == P1_SUCCESS && file->kind == WS_FILE && sync_fd(file->fd) != 0)
        error = ws_errno(errno);
    return error;
}

int ws_fd_sync(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return sync_with(wasi, cells, fsync);
}

int ws_fd_datasync(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return sync_with(wasi, cells, fdatasync);
}

/* A hint, so it may be left unheard; but nonsense is answered as such. */
int ws_fd_advise(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file;
    int error = ws_regular_get(wasi, ws_u32(&cells[0]), P1_BADF, &file);

    if (error != P1_SUCCESS)
        return error;
    if (ws_u64(&cells[1]) > INT64_MAX || ws_u64(&cells[2]) > INT64_MAX ||
        ws_u32(&cells[3]) >= P1_ADVICE_COUNT)
        return P1_INVAL;
    return P1_SUCCESS;
}

/* As the reference implementation answers: there is no portable way to do it. */
int ws_fd_allocate(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct ws_file *file;
    int error = ws_regular_get(wasi, ws_u32(&cells[0]), P1_BADF, &file);

    return error == P1_SUCCESS ? P1_NOTSUP : error;
}
