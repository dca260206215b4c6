#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nt_box.h"

struct fd_stream {
    int fd;
    bool is_socket;
};

static ssize_t fd_read(void *stream, void *bytes, size_t count)
{
    return read(((struct fd_stream *)stream)->fd, bytes, count);
}

static ssize_t fd_write(void *stream, const void *bytes, size_t count)
{
    const struct fd_stream *self = stream;

    /* An init that dies must not take an embedder along by SIGPIPE. */
    if (self->is_socket)
        return send(self->fd, bytes, count, MSG_NOSIGNAL);
    return write(self->fd, bytes, count);
}

static int fd_poll_fd(void *stream)
{
    return ((struct fd_stream *)stream)->fd;
}

static void fd_close(void *stream)
{
    struct fd_stream *self = stream;

    (void)close(self->fd);
    free(self);
}

enum nacre_status nt_stream_fd(int fd, struct nt_stream *ret_stream,
                               struct nacre_error *err)
{
    static const struct nt_stream_ops ops = { fd_read, fd_write, fd_poll_fd, fd_close };
    NACRE_AUTO(nacre_fd_guard) int owned = fd;
    struct fd_stream *self;
    struct stat info;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the channel's end can't be used");
    self = malloc(sizeof(*self));
    if (!self)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the channel's end");
    *self = (struct fd_stream){ nacre_fd_take(&owned), S_ISSOCK(info.st_mode) };
    *ret_stream = (struct nt_stream){ &ops, self };
    return NACRE_OK;
}
