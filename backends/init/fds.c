#include "fds.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

bool fd_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void close_between(unsigned first, unsigned last)
{
    struct rlimit limit;

    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    /* Linux before 5.9, and sandboxes of others that do not know the call. */
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > 1 << 20)
        limit.rlim_max = 1 << 20;
    for (unsigned fd = first; fd <= last && fd < limit.rlim_max; fd++)
        (void)close((int)fd);
}

void fds_keep(const int *kept, size_t count)
{
    unsigned from = 0;

    for (;;) {
        unsigned next = UINT_MAX;

        for (size_t i = 0; i < count; i++)
            if (kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next)
                next = (unsigned)kept[i];
        if (next == UINT_MAX)
            break;
        if (next > from)
            close_between(from, next - 1);
        from = next + 1;
    }
    close_between(from, UINT_MAX);
}
