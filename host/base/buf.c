#include "nacre/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* And for a terminator. */
enum nacre_status nacre_buf_reserve(struct nacre_buf *buf, size_t count,
                                    struct nacre_error *err)
{
    size_t needed, doubled, wanted;
    char *grown;

    assert(buf->size <= buf->size_max);
    assert(buf->size_max <= NACRE_BUF_LIMIT_MAX);

    /* By subtraction: size + count could wrap, size_max - size cannot. */
    if (count > buf->size_max - buf->size)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over the limit of %zu bytes",
                          buf->size_max);

    needed = buf->size + count + 1;
    if (needed <= buf->allocated)
        return NACRE_OK;
    doubled = buf->allocated * 2;
    wanted = doubled > needed ? doubled : needed;
    grown = realloc(buf->bytes, wanted);
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "cannot grow to %zu bytes", wanted);
    buf->bytes = grown;
    buf->allocated = wanted;
    return NACRE_OK;
}

enum nacre_status nacre_buf_add(struct nacre_buf *buf, const void *bytes, size_t count,
                                struct nacre_error *err)
{
    enum nacre_status status = nacre_buf_reserve(buf, count, err);

    if (status != NACRE_OK)
        return status;
    if (count > 0)
        memcpy(buf->bytes + buf->size, bytes, count);
    buf->size += count;
    buf->bytes[buf->size] = '\0';
    return NACRE_OK;
}

enum nacre_status nacre_buf_addf(struct nacre_buf *buf, struct nacre_error *err,
                                 const char *format, ...)
{
    enum nacre_status status;
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(count >= 0);

    status = nacre_buf_reserve(buf, (size_t)count, err);
    if (status != NACRE_OK)
        return status;
    va_start(args, format);
    (void)vsnprintf(buf->bytes + buf->size, (size_t)count + 1, format, args);
    va_end(args);
    buf->size += (size_t)count;
    return NACRE_OK;
}

enum nacre_status nacre_buf_read(struct nacre_buf *buf, int fd, struct nacre_error *err)
{
    for (;;) {
        size_t room = buf->size_max - buf->size;
        /* One byte past the limit is asked for, so that too much is seen. */
        char chunk[16384];
        ssize_t got =
            read(fd, chunk, room + 1 < sizeof(chunk) ? room + 1 : sizeof(chunk));
        enum nacre_status status;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return nacre_fail(err, NACRE_ERR_IO, "read");
        if (got == 0)
            return nacre_buf_add(buf, "", 0, err);
        status = nacre_buf_add(buf, chunk, (size_t)got, err);
        if (status != NACRE_OK)
            return status;
    }
}

void nacre_buf_clear(struct nacre_buf *buf)
{
    free(buf->bytes);
    *buf = (struct nacre_buf)NACRE_BUF(buf->size_max);
}
