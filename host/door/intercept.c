/*
 * OpenSSL on a socket that does not block.  What goes over the socket passes through a
 * BIO of ours: its reads begin with what was read before (the hello, by which we knew the
 * name), and its writes raise no signal.
 */
#include "intercept.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "ca.h"

static BIO_METHOD *method; /* for the life of the process */

static int bio_read(BIO *bio, char *bytes, size_t count, size_t *ret_count)
{
    struct door_stream *stream = BIO_get_data(bio);
    size_t early = stream->early.count < count ? stream->early.count : count;
    ssize_t got;

    BIO_clear_retry_flags(bio);
    if (early > 0) {
        memcpy(bytes, door_queue_bytes(&stream->early), early);
        door_queue_drop(&stream->early, early);
        *ret_count = early;
        return 1;
    }
    do
        got = recv(stream->fd, bytes, count, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    if (got <= 0)
        return 0;
    *ret_count = (size_t)got;
    return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t count, size_t *ret_count)
{
    struct door_stream *stream = BIO_get_data(bio);
    ssize_t sent;

    BIO_clear_retry_flags(bio);
    do
        sent = send(stream->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        BIO_set_retry_write(bio);
    if (sent <= 0)
        return 0;
    *ret_count = (size_t)sent;
    return 1;
}

static long bio_control(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH; /* nothing is held back */
}

static bool make_method(void)
{
    if (method)
        return true;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "door");
    return method && BIO_meth_set_read_ex(method, bio_read) &&
           BIO_meth_set_write_ex(method, bio_write) &&
           BIO_meth_set_ctrl(method, bio_control);
}

enum nacre_status door_tls_start(struct door_stream *stream, struct door_ca *ca,
                                 const char *name, struct nacre_error *err)
{
    SSL_CTX *context;
    enum nacre_status status = door_ca_context(ca, name, &context, err);
    BIO *bio = NULL;
    SSL *tls = NULL;

    if (status != NACRE_OK)
        return status;
    if (make_method() && (bio = BIO_new(method)))
        tls = SSL_new(context);
    if (!tls) {
        BIO_free(bio);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a TLS connection");
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls, bio, bio);
    SSL_set_accept_state(tls);
    stream->tls = tls;
    return NACRE_OK;
}

static enum door_io why_not(struct door_stream *stream, int result)
{
    int error = SSL_get_error(stream->tls, result);

    ERR_clear_error();
    if (error == SSL_ERROR_WANT_WRITE)
        stream->tls_wants_out = true;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return DOOR_IO_AGAIN;
    return error == SSL_ERROR_ZERO_RETURN ? DOOR_IO_END : DOOR_IO_BROKEN;
}

enum door_io door_tls_read(struct door_stream *stream, void *bytes, size_t count,
                           size_t *ret_count)
{
    int result;

    ERR_clear_error();
    stream->tls_wants_out = false;
    result = SSL_read_ex(stream->tls, bytes, count, ret_count);
    return result == 1 ? DOOR_IO_SOME : why_not(stream, result);
}

enum door_io door_tls_write(struct door_stream *stream, const void *bytes, size_t count,
                            size_t *ret_count)
{
    int result;

    ERR_clear_error();
    result = SSL_write_ex(stream->tls, bytes, count, ret_count);
    return result == 1 ? DOOR_IO_SOME : why_not(stream, result);
}

void door_tls_shut(struct door_stream *stream)
{
    if (!SSL_in_init(stream->tls))
        (void)SSL_shutdown(stream->tls);
    ERR_clear_error();
}

void door_tls_free(struct door_stream *stream)
{
    SSL_free(stream->tls); /* and the BIO with it */
    stream->tls = NULL;
}
