#include "rlimits.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "nacre/own.h"

#define STACK_BYTES (UINT64_C(8) << 20)

/*
 * What RLIMIT_DATA counts of this process so far.  The limit is set on top of it: a
 * fork inherits all the private memory of its parent, and a sanitizer's shadow alone
 * is terabytes.
 */
static enum nacre_status data_bytes(uint64_t *ret_bytes, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128];
    uint64_t pages;
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (count < 0)
        return nacre_fail(err, NACRE_ERR_IO, "/proc/self/statm");
    text[count] = '\0';
    if (sscanf(text, "%*u %*u %*u %*u %*u %" SCNu64, &pages) != 1)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "/proc/self/statm: expected seven numbers");
    *ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return NACRE_OK;
}

/* Never above what the caller of nacre has set for itself. */
static enum nacre_status lower(__rlimit_resource_t resource, const char *name,
                               uint64_t value, struct nacre_error *err)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s can't be read", name);
    if (value < limit.rlim_max)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s can't be set to %" PRIu64, name,
                          (uint64_t)limit.rlim_max);
    return NACRE_OK;
}

/* Unlike the others not to be lowered in silence: the policy promises that many. */
static enum nacre_status limit_files(uint64_t value, struct nacre_error *err)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "RLIMIT_NOFILE can't be read");
    if (value > limit.rlim_max)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "%" PRIu64 " open files are needed and this process may have "
                          "%" PRIu64 ": lower max_open_files or raise the limit "
                          "(ulimit -Hn)",
                          value, (uint64_t)limit.rlim_max);
    return lower(RLIMIT_NOFILE, "RLIMIT_NOFILE", value, err);
}

enum nacre_status nacre_rlimits_worker(const struct nacre_rlimits *limits,
                                       struct nacre_error *err)
{
    uint64_t held = 0;
    enum nacre_status status = data_bytes(&held, err);

    assert(limits->memory_bytes_max > 0 && limits->memory_bytes_max < UINT64_MAX / 2);
    assert(limits->open_files_max > 0 && limits->file_bytes_max > 0);

    if (status == NACRE_OK)
        status = limit_files(limits->open_files_max, err);
    if (status == NACRE_OK)
        status = lower(RLIMIT_DATA, "RLIMIT_DATA",
                       held + limits->memory_bytes_max + NACRE_RLIMITS_SLACK, err);
    if (status == NACRE_OK)
        status = lower(RLIMIT_FSIZE, "RLIMIT_FSIZE", limits->file_bytes_max, err);
    if (status == NACRE_OK)
        status = lower(RLIMIT_CORE, "RLIMIT_CORE", 0, err);
    if (status == NACRE_OK)
        status = lower(RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 0, err);
    if (status == NACRE_OK)
        status = lower(RLIMIT_STACK, "RLIMIT_STACK", STACK_BYTES, err);
    if (status != NACRE_OK)
        return status;

    /* Else a write past RLIMIT_FSIZE kills instead of giving EFBIG. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
        return nacre_fail(err, NACRE_ERR_IO, "SIGXFSZ");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "PR_SET_DUMPABLE");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "PR_SET_NO_NEW_PRIVS");
    return NACRE_OK;
}
