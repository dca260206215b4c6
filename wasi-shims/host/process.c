/* Arguments, environment, clocks, random bytes, the end; and sockets, which there are
 * none of. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "fdtable.h"
#include "functions.h"
#include "guest_memory.h"

static int put_sizes(struct nacre_wasi *wasi, const char *const *words, uint32_t count,
                     const union nacre_wasi_cell *cells)
{
    uint64_t bytes = 0;
    int error;

    for (uint32_t i = 0; i < count; i++)
        bytes += strlen(words[i]) + 1;
    if (bytes > UINT32_MAX)
        return P1_OVERFLOW;
    error = ws_guest_put_u32(wasi, ws_u32(&cells[0]), count);
    if (error == P1_SUCCESS)
        error = ws_guest_put_u32(wasi, ws_u32(&cells[1]), (uint32_t)bytes);
    return error;
}

static int put_words(struct nacre_wasi *wasi, const char *const *words, uint32_t count,
                     const union nacre_wasi_cell *cells)
{
    uint64_t pointers = ws_u32(&cells[0]), bytes = ws_u32(&cells[1]);

    for (uint32_t i = 0; i < count; i++) {
        size_t size = strlen(words[i]) + 1;
        int error = ws_guest_put(wasi, bytes, words[i], size);

        if (error == P1_SUCCESS)
            error = ws_guest_put_u32(wasi, pointers, (uint32_t)bytes);
        if (error != P1_SUCCESS)
            return error;
        pointers += sizeof(uint32_t);
        bytes += size;
    }
    return P1_SUCCESS;
}

int ws_args_sizes_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return put_sizes(wasi, wasi->call.arguments, wasi->call.argument_count, cells);
}

int ws_args_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return put_words(wasi, wasi->call.arguments, wasi->call.argument_count, cells);
}

int ws_environ_sizes_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return put_sizes(wasi, wasi->call.environment, wasi->call.environment_count, cells);
}

int ws_environ_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return put_words(wasi, wasi->call.environment, wasi->call.environment_count, cells);
}

/* ---- clocks ---- */

static bool clock_of(uint32_t id, clockid_t *ret_clock)
{
    switch (id) {
    case P1_CLOCK_REALTIME:
        *ret_clock = CLOCK_REALTIME;
        return true;
    case P1_CLOCK_MONOTONIC:
        *ret_clock = CLOCK_MONOTONIC;
        return true;
    case P1_CLOCK_PROCESS_CPU: /* a guest is one thread of ours */
    case P1_CLOCK_THREAD_CPU:
        *ret_clock = CLOCK_THREAD_CPUTIME_ID;
        return true;
    default:
        return false;
    }
}

static uint64_t ns_of(struct timespec time)
{
    return (uint64_t)time.tv_sec * NACRE_NS_PER_S + (uint64_t)time.tv_nsec;
}

int ws_clock_res_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct timespec time;
    clockid_t clock;

    if (!clock_of(ws_u32(&cells[0]), &clock))
        return P1_INVAL;
    if (clock_getres(clock, &time) != 0)
        return ws_errno(errno);
    return ws_guest_put_u64(wasi, ws_u32(&cells[1]), ns_of(time));
}

int ws_clock_time_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct timespec time;
    clockid_t clock;
    uint64_t ns;

    if (!clock_of(ws_u32(&cells[0]), &clock))
        return P1_INVAL;
    if (clock_gettime(clock, &time) != 0)
        return ws_errno(errno);
    ns = ns_of(time);
    if (clock == CLOCK_THREAD_CPUTIME_ID) {
        /* Counted from the run's first question: what this thread did for an earlier
         * run is none of the guest's business. */
        if (wasi->cpu_base_ns == 0)
            wasi->cpu_base_ns = ns;
        ns -= wasi->cpu_base_ns;
    }
    return ws_guest_put_u64(wasi, ws_u32(&cells[2]), ns);
}

/* ---- the rest ---- */

int ws_random_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    uint32_t count = ws_u32(&cells[1]);
    unsigned char *bytes = ws_guest(wasi, ws_u32(&cells[0]), count);

    if (!bytes)
        return P1_FAULT;
    while (count > 0) {
        size_t chunk = count < (1u << 20) ? count : 1u << 20;
        ssize_t got = getrandom(bytes, chunk, 0);

        if (ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ws_errno(errno);
        bytes += got;
        count -= (uint32_t)got;
    }
    return P1_SUCCESS;
}

int ws_proc_exit(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    wasi->call.record->exit_status = ws_u32(&cells[0]);
    return ws_end_by(wasi, NACRE_WASI_EXITED);
}

int ws_proc_raise(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    (void)wasi;
    (void)cells;
    return P1_NOSYS;
}

int ws_sched_yield(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    (void)cells;
    return ws_is_late(wasi) ? ws_end_by(wasi, NACRE_WASI_TIMED_OUT) : P1_SUCCESS;
}

static int no_socket(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return ws_file_get(wasi, ws_u32(&cells[0])) ? P1_NOTSOCK : P1_BADF;
}

int ws_sock_accept(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return no_socket(wasi, cells);
}

int ws_sock_recv(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return no_socket(wasi, cells);
}

int ws_sock_send(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return no_socket(wasi, cells);
}

int ws_sock_shutdown(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return no_socket(wasi, cells);
}
