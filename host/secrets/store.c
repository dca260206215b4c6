/* Trusts the kernel's word about an open fd; what a file holds is its reader's affair. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/clock.h"
#include "nacre/own.h"

#define LOCK_MS 5000
#define NAME_MAX_BYTES 96

static enum nacre_status check(int fd, const char *name, struct nacre_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine %s", name);
    if (!S_ISREG(st.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is not a plain file", name);
    if (st.st_uid != geteuid())
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s belongs to user %u, not to user %u who runs nacre", name,
                          st.st_uid, geteuid());
    if (st.st_mode & 077)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s is open to other users (mode %04o): nobody knows who used "
                          "it; if it is sound, run chmod 600 on it",
                          name, st.st_mode & 07777);
    return NACRE_OK;
}

enum nacre_status store_read(int dir_fd, const char *name, struct nacre_buf *buf,
                             bool *ret_there, struct nacre_error *err)
{
    /* O_NONBLOCK: a FIFO planted under the name must not hold us up. */
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum nacre_status status;

    if (fd < 0 && errno == ENOENT) {
        *ret_there = false;
        return NACRE_OK;
    }
    if (fd < 0 && errno == ELOOP)
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is a link", name);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", name);
    status = check(fd, name, err);
    if (status == NACRE_OK)
        status = nacre_buf_read(buf, fd, err);
    if (status != NACRE_OK)
        return status;
    *ret_there = true;
    return NACRE_OK;
}

static enum nacre_status write_all(int fd, const char *name, const char *bytes,
                                   size_t count, struct nacre_error *err)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return nacre_fail(err, NACRE_ERR_IO, "cannot write %s", name);
        bytes += written;
        count -= (size_t)written;
    }
    if (fsync(fd) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot write %s", name);
    return NACRE_OK;
}

/* What a file is to become, beside it. */
static void name_fresh(const char *name, char ret_fresh[NAME_MAX_BYTES])
{
    (void)snprintf(ret_fresh, NAME_MAX_BYTES, ".%s.new", name);
}

void store_drop(int dir_fd, const char *name)
{
    char fresh[NAME_MAX_BYTES];

    name_fresh(name, fresh);
    (void)unlinkat(dir_fd, fresh, 0);
}

enum nacre_status store_prepare(int dir_fd, const char *name, const void *bytes,
                                size_t count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char fresh[NAME_MAX_BYTES];
    enum nacre_status status;

    name_fresh(name, fresh);
    /* Of one who was stopped in the middle. */
    if (unlinkat(dir_fd, fresh, 0) < 0 && errno != ENOENT)
        return nacre_fail(err, NACRE_ERR_IO, "cannot remove %s", fresh);
    fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot make %s", fresh);
    status = write_all(fd, name, bytes, count, err);
    if (status != NACRE_OK)
        store_drop(dir_fd, name);
    return status;
}

enum nacre_status store_commit(int dir_fd, const char *name, struct nacre_error *err)
{
    char fresh[NAME_MAX_BYTES];

    name_fresh(name, fresh);
    if (renameat(dir_fd, fresh, dir_fd, name) < 0) {
        (void)nacre_fail(err, NACRE_ERR_IO, "cannot replace %s", name);
        store_drop(dir_fd, name);
        return err->status;
    }
    if (fsync(dir_fd) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot write the directory of %s", name);
    return NACRE_OK;
}

enum nacre_status store_replace(int dir_fd, const char *name, const void *bytes,
                                size_t count, struct nacre_error *err)
{
    enum nacre_status status = store_prepare(dir_fd, name, bytes, count, err);

    return status == NACRE_OK ? store_commit(dir_fd, name, err) : status;
}

enum nacre_status store_append(int dir_fd, const char *name, const void *bytes,
                               size_t count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name,
               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", name);
    return write_all(fd, name, bytes, count, err);
}

enum nacre_status store_lock(int dir_fd, const char *name, int *ret_fd,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
               0600);
    uint64_t deadline_ns = nacre_clock_ns() + LOCK_MS * NACRE_NS_PER_MS;
    struct timespec pause = { .tv_nsec = 50000 };

    /* Where nothing can be written it may still be read; a lock is had by any fd. */
    if (fd < 0 && errno == EROFS)
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", name);
    /* By the open file, not by the process: it keeps threads apart, too. */
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return nacre_fail(err, NACRE_ERR_IO, "cannot lock %s", name);
        if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the vault is locked by another process for too long");
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 5000000)
            pause.tv_nsec *= 2;
    }
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}
