#ifndef BROWSER_IO_H
#define BROWSER_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sockets with an end to every wait: at a deadline, or when `stop_fd` can be read (-1:
 * there is none).  The sockets do not block.
 */
struct io {
    int stop_fd;
    uint64_t deadline_ns;
};

/* At most `size`; 0 at its end, -1 for an error or no time left. */
ssize_t io_read(const struct io *io, int fd, void *ret_bytes, size_t size);
bool io_write(const struct io *io, int fd, const void *bytes, size_t count);

/* Both ways until both have ended, one breaks or `stop_fd` says so; `first` goes to `b`
 * ahead of what `a` sends.  Of the deadline nothing is taken: a connection may idle, but
 * what can't be delivered for IO_STALL_MS ends it.  Once `a` has ended, `b` serves
 * nobody: it may say what is left, and not be silent for IO_LAST_MS. */
#define IO_STALL_MS 600000
#define IO_LAST_MS 1000
#define IO_FIRST_MAX 32768
void io_join(int stop_fd, int a, int b, const char *first, size_t count);

#endif
