#include "dk_wire.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* What fits one TLS record. */
#define RETRY_MAX 16384

struct dk_wire {
    const struct dk_curl *curl;
    struct dk_handle handle; /* owns the socket */
    char error_text[CURL_ERROR_SIZE];
    int fd;
    bool is_tls;
    pthread_mutex_t lock; /* TLS: one state for both directions */
    unsigned char *retry; /* TLS: what a send that gave EAGAIN has to come with again, */
    size_t retry_count;   /* from the same address */
};

enum nacre_status dk_wire_open(const struct dk_client *client, const char *doing,
                               struct nt_wait wait, struct dk_wire **ret_wire,
                               struct nacre_error *err)
{
    NACRE_AUTO(dk_wire_guard) struct dk_wire *wire = calloc(1, sizeof(*wire));
    curl_socket_t fd = CURL_SOCKET_BAD;
    enum nacre_status status;

    if (!wire)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    (void)pthread_mutex_init(&wire->lock, NULL);
    wire->curl = client->curl;
    wire->is_tls = client->endpoint.transport == DK_TRANSPORT_TLS;
    wire->handle = dk_handle_new(client->curl);
    if (wire->is_tls)
        wire->retry = malloc(RETRY_MAX);
    if (!wire->handle.easy || (wire->is_tls && !wire->retry))
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    status = dk_prepare(client, wire->handle.easy, "/", wire->error_text, err);
    if (status == NACRE_OK &&
        client->curl->easy_setopt(wire->handle.easy, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "libcurl takes no option");
    if (status == NACRE_OK)
        status = dk_perform(client, &wire->handle, wait, doing, wire->error_text, err);
    if (status != NACRE_OK)
        return status;
    (void)client->curl->easy_getinfo(wire->handle.easy, CURLINFO_ACTIVESOCKET, &fd);
    if (fd == CURL_SOCKET_BAD)
        return nacre_fail(err, NACRE_ERR_BACKEND, "libcurl gives no socket");
    wire->fd = fd;
    *ret_wire = dk_wire_take(&wire);
    return NACRE_OK;
}

void dk_wire_free(struct dk_wire *wire)
{
    struct dk_quiet quiet;

    if (!wire)
        return;
    dk_quiet_begin(&quiet);
    dk_handle_free(wire->curl, &wire->handle);
    dk_quiet_end(&quiet);
    (void)pthread_mutex_destroy(&wire->lock);
    free(wire->retry);
    free(wire);
}

int dk_wire_fd(const struct dk_wire *wire)
{
    return wire->fd;
}

static ssize_t count_or_errno(CURLcode code, size_t count)
{
    if (code == CURLE_OK)
        return (ssize_t)count;
    errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
    return -1;
}

static ssize_t recv_tls(struct dk_wire *wire, void *bytes, size_t count)
{
    struct dk_quiet quiet;
    size_t got = 0;
    CURLcode code;

    (void)pthread_mutex_lock(&wire->lock);
    dk_quiet_begin(&quiet);
    code = wire->curl->easy_recv(wire->handle.easy, bytes, count, &got);
    dk_quiet_end(&quiet);
    (void)pthread_mutex_unlock(&wire->lock);
    return count_or_errno(code, got);
}

static ssize_t send_tls(struct dk_wire *wire, const void *bytes, size_t count)
{
    struct dk_quiet quiet;
    size_t sent = 0;
    CURLcode code;

    (void)pthread_mutex_lock(&wire->lock);
    if (wire->retry_count == 0) {
        wire->retry_count = count < RETRY_MAX ? count : RETRY_MAX;
        memcpy(wire->retry, bytes, wire->retry_count);
    }
    assert(wire->retry_count <= count);
    dk_quiet_begin(&quiet);
    code = wire->curl->easy_send(wire->handle.easy, wire->retry, wire->retry_count, &sent);
    dk_quiet_end(&quiet);
    if (code != CURLE_AGAIN)
        wire->retry_count = 0;
    (void)pthread_mutex_unlock(&wire->lock);
    return count_or_errno(code, sent);
}

ssize_t dk_wire_recv(struct dk_wire *wire, void *bytes, size_t count)
{
    ssize_t got;

    do
        got = wire->is_tls ? recv_tls(wire, bytes, count)
                           : recv(wire->fd, bytes, count, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t dk_wire_send(struct dk_wire *wire, const void *bytes, size_t count)
{
    ssize_t sent;

    do
        sent = wire->is_tls ? send_tls(wire, bytes, count)
                            : send(wire->fd, bytes, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

enum nacre_status dk_wire_end(struct dk_wire *wire, struct nacre_error *err)
{
    if (wire->is_tls)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "over TLS the end of input can't be told to the engine: use a "
                          "unix socket");
    if (shutdown(wire->fd, SHUT_WR) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "telling the engine the end of input");
    return NACRE_OK;
}

enum nacre_status dk_wire_wait(const struct dk_wire *wire, short events,
                               struct nt_wait wait, struct nacre_error *err)
{
    struct pollfd ready = { .fd = wire->fd, .events = events };

    while (!nt_wait_is_over(&wait)) {
        int polled = poll(&ready, 1, dk_left_ms(nt_wait_next_ns(&wait)));

        if (polled > 0)
            return NACRE_OK;
        if (polled < 0 && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "poll");
    }
    return nacre_fail(err, NACRE_ERR_TIMEOUT,
                      "the engine did not answer in the time it had");
}
