/* Trusts nothing that the engine sends: size, time and shape are bounded here. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_client.h"
#include "dk_endpoint.h"
#include "nacre/text.h"

#define HEAD_MAX ((size_t)64 << 10)

/* One request under way. */
struct transfer {
    struct dk_client *client;
    const struct dk_request *request;
    struct dk_answer *answer;
    struct dk_handle handle;
    size_t head_bytes;
    struct nacre_error *err;  /* written by the callback that ended it */
    enum nacre_status status; /* of that callback */
};

struct dk_handle dk_handle_new(const struct dk_curl *curl)
{
    struct dk_handle handle = { curl->easy_init(), curl->multi_init() };

    if (!handle.easy || !handle.multi)
        dk_handle_free(curl, &handle);
    return handle;
}

/* A transfer is in it or not: libcurl does not mind.  The connections go with the second
 * of the two. */
void dk_handle_free(const struct dk_curl *curl, struct dk_handle *handle)
{
    if (handle->easy && handle->multi)
        (void)curl->multi_remove_handle(handle->multi, handle->easy);
    if (handle->easy)
        curl->easy_cleanup(handle->easy);
    if (handle->multi)
        (void)curl->multi_cleanup(handle->multi);
    *handle = (struct dk_handle){ NULL, NULL };
}

static struct dk_handle take_handle(struct dk_client *client)
{
    struct dk_handle handle = { NULL, NULL };

    (void)pthread_mutex_lock(&client->lock);
    if (client->idle_count > 0)
        handle = client->idle[--client->idle_count];
    (void)pthread_mutex_unlock(&client->lock);
    return handle.easy ? handle : dk_handle_new(client->curl);
}

/* After a transfer that failed too: libcurl has closed its connection. */
static void give_handle(struct dk_client *client, struct dk_handle *handle)
{
    bool kept;

    (void)client->curl->multi_remove_handle(handle->multi, handle->easy);
    (void)pthread_mutex_lock(&client->lock);
    kept = client->idle_count < DK_IDLE_MAX;
    if (kept)
        client->idle[client->idle_count++] = *handle;
    (void)pthread_mutex_unlock(&client->lock);
    if (!kept)
        dk_handle_free(client->curl, handle);
}

/* Every fd is CLOEXEC from birth; and a name that was let through as loopback's may
 * resolve to something else. */
static curl_socket_t open_socket(void *data, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    const struct dk_client *client = data;

    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (client->endpoint.transport == DK_TRANSPORT_TCP &&
        !dk_address_is_loopback(&address->addr)) {
        errno = EACCES;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int dk_left_ms(uint64_t deadline_ns)
{
    struct timespec left = nacre_clock_until(deadline_ns);
    const time_t day_s = 86400;

    if (left.tv_sec >= day_s)
        return (int)day_s * 1000;
    return (int)left.tv_sec * 1000 + (int)(left.tv_nsec / 1000000) + 1;
}

static bool set_endpoint(const struct dk_client *client, CURL *handle)
{
    const struct dk_endpoint *endpoint = &client->endpoint;
    CURLcode (*set)(CURL *, CURLoption, ...) = client->curl->easy_setopt;

    if (endpoint->transport == DK_TRANSPORT_UNIX)
        return set(handle, CURLOPT_UNIX_SOCKET_PATH, endpoint->path) == CURLE_OK;
    if (endpoint->transport == DK_TRANSPORT_TCP)
        return true;
    return set(handle, CURLOPT_CAINFO, endpoint->ca) == CURLE_OK &&
           set(handle, CURLOPT_SSLCERT, endpoint->cert) == CURLE_OK &&
           set(handle, CURLOPT_SSLKEY, endpoint->key) == CURLE_OK &&
           set(handle, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           set(handle, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
           set(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
}

enum nacre_status dk_prepare(const struct dk_client *client, CURL *handle,
                             const char *path, char *error_text, struct nacre_error *err)
{
    CURLcode (*set)(CURL *, CURLoption, ...) = client->curl->easy_setopt;
    struct nacre_buf url = NACRE_BUF(DK_PATH_MAX + 512);
    enum nacre_status status;

    status = nacre_buf_addf(&url, err, "%s%s%s", client->base, client->prefix, path);
    if (status != NACRE_OK)
        return status;
    error_text[0] = '\0';
    client->curl->easy_reset(handle);
    /* No proxy, no .netrc, no redirect, no other protocol, no unpacking: what decides is
     * in the endpoint, not in the surroundings, nor in the engine's answer. */
    if (set(handle, CURLOPT_ERRORBUFFER, error_text) != CURLE_OK ||
        set(handle, CURLOPT_URL, url.bytes) != CURLE_OK ||
        set(handle, CURLOPT_PATH_AS_IS, 1L) != CURLE_OK ||
        set(handle, CURLOPT_PROXY, "") != CURLE_OK ||
        set(handle, CURLOPT_NOPROXY, "*") != CURLE_OK ||
        set(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) != CURLE_OK ||
        set(handle, CURLOPT_FOLLOWLOCATION, 0L) != CURLE_OK ||
        set(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) != CURLE_OK ||
        set(handle, CURLOPT_NOSIGNAL, 1L) != CURLE_OK ||
        set(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket) != CURLE_OK ||
        set(handle, CURLOPT_OPENSOCKETDATA, client) != CURLE_OK ||
        !set_endpoint(client, handle))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "libcurl takes no option");
    nacre_buf_clear(&url);
    return status;
}

static enum nacre_status fail_unreachable(const struct dk_client *client, long os_errno,
                                          const char *error_text, struct nacre_error *err)
{
    char endpoint[DK_ENDPOINT_TEXT], shown[NACRE_SHOWN];

    (void)dk_endpoint_text(&client->endpoint, endpoint);
    if (os_errno == EACCES && client->endpoint.transport == DK_TRANSPORT_UNIX)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "this user may not open the engine's socket %s: become a "
                          "member of its group, or name another by DOCKER_HOST",
                          endpoint);
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "no Docker engine answers at %s (from %s): %s; start it, or name "
                      "another by DOCKER_HOST", endpoint,
                      nacre_text_shown(shown, client->endpoint.origin),
                      os_errno ? strerrordesc_np((int)os_errno) : error_text);
}

static enum nacre_status fail_transfer(const struct dk_client *client, CURL *handle,
                                       CURLcode code, const char *error_text,
                                       struct nacre_error *err)
{
    char shown[256];
    const char *words = error_text[0] ? error_text : client->curl->easy_strerror(code);
    long os_errno = 0;

    (void)client->curl->easy_getinfo(handle, CURLINFO_OS_ERRNO, &os_errno);
    (void)nacre_text_show(shown, sizeof(shown), words, strlen(words));
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return nacre_fail(err, NACRE_ERR_TIMEOUT,
                          "the engine did not answer in the time it had");
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
        return fail_unreachable(client, os_errno, shown, err);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
        return fail_unreachable(client, 0, shown, err);
    case CURLE_OUT_OF_MEMORY:
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        errno = os_errno != 0 ? (int)os_errno : ECONNRESET;
        return nacre_fail(err, NACRE_ERR_IO, "the connection to the engine broke");
    default:
        return nacre_fail(err, NACRE_ERR_PARSE, "the engine's answer is not HTTP: %s",
                          shown);
    }
}

/* Here the time is kept, not by libcurl: curl_easy_perform() would look around only once a
 * second, and its own timeouts end a little before what they are told. */
static CURLcode perform(const struct dk_curl *curl, const struct dk_handle *handle,
                        const struct nt_wait *wait)
{
    CURLMcode code = curl->multi_add_handle(handle->multi, handle->easy);
    const CURLMsg *done = NULL;
    int running = 1, left;

    while (code == CURLM_OK && running > 0 && !nt_wait_is_over(wait)) {
        code = curl->multi_perform(handle->multi, &running);
        if (code == CURLM_OK && running > 0)
            code = curl->multi_poll(handle->multi, NULL, 0,
                                    dk_left_ms(nt_wait_next_ns(wait)), NULL);
    }
    if (code != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    if (running == 0)
        done = curl->multi_info_read(handle->multi, &left);
    return done ? done->data.result : CURLE_OPERATION_TIMEDOUT;
}

enum nacre_status dk_perform(const struct dk_client *client,
                             const struct dk_handle *handle, struct nt_wait wait,
                             const char *doing, const char *error_text,
                             struct nacre_error *err)
{
    bool quiet_needed = client->endpoint.transport == DK_TRANSPORT_TLS;
    struct dk_quiet quiet;
    CURLcode code;

    if (quiet_needed)
        dk_quiet_begin(&quiet);
    code = perform(client->curl, handle, &wait);
    if (quiet_needed)
        dk_quiet_end(&quiet);
    if (code == CURLE_OK)
        return NACRE_OK;
    (void)fail_transfer(client, handle->easy, code, error_text, err);
    return nacre_fail_context(err, doing);
}

static size_t on_head(char *bytes, size_t one, size_t count, void *data)
{
    struct transfer *transfer = data;

    (void)bytes;
    (void)one;
    /* libcurl bounds a line, but not how many there are. */
    if (count > HEAD_MAX - transfer->head_bytes) {
        transfer->status = nacre_fail(transfer->err, NACRE_ERR_TOO_BIG,
                                      "%s: the head of the engine's answer is over %zu "
                                      "bytes", transfer->request->doing, HEAD_MAX);
        return 0;
    }
    transfer->head_bytes += count;
    return count;
}

static size_t on_body(char *bytes, size_t one, size_t count, void *data)
{
    struct transfer *transfer = data;
    const struct dk_request *request = transfer->request;
    long http_status = 0;

    (void)one;
    (void)transfer->client->curl->easy_getinfo(transfer->handle.easy,
                                               CURLINFO_RESPONSE_CODE, &http_status);
    if (request->sink && http_status / 100 == 2)
        transfer->status = request->sink(request->sink_data, bytes, count, transfer->err);
    else
        transfer->status = nacre_buf_add(&transfer->answer->body, bytes, count,
                                         transfer->err);
    if (transfer->status == NACRE_OK)
        return count;
    (void)nacre_fail_context(transfer->err, request->doing);
    return 0;
}

/* The caller's pipe may stand still: the wait ends here too. */
static size_t on_send(char *bytes, size_t one, size_t count, void *data)
{
    struct transfer *transfer = data;
    const struct dk_request *request = transfer->request;
    struct pollfd ready = { .fd = *request->body_fd, .events = POLLIN };

    (void)one;
    while (!nt_wait_is_over(&request->wait)) {
        int polled = poll(&ready, 1, dk_left_ms(nt_wait_next_ns(&request->wait)));
        ssize_t got = polled < 0 ? -1 : polled == 0 ? 0 : read(ready.fd, bytes, count);

        if (polled > 0 && got >= 0)
            return (size_t)got;
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            transfer->status = nacre_fail(transfer->err, NACRE_ERR_IO,
                                          "%s: reading what is to be sent",
                                          request->doing);
            return CURL_READFUNC_ABORT;
        }
    }
    transfer->status = nacre_fail(transfer->err, NACRE_ERR_TIMEOUT,
                                  "%s: what is to be sent did not come in time",
                                  request->doing);
    return CURL_READFUNC_ABORT;
}

static struct curl_slist *make_headers(const struct dk_client *client,
                                       const struct dk_request *request)
{
    static const char *const for_tar[] = { "Expect:", "Content-Type: application/x-tar",
                                           "Transfer-Encoding: chunked" };
    static const char *const for_json[] = { "Expect:", "Content-Type: application/json" };
    const char *const *lines = request->body_fd ? for_tar : for_json;
    size_t count = request->body_fd ? NACRE_COUNT(for_tar) : NACRE_COUNT(for_json);
    struct curl_slist *list = NULL;

    for (size_t i = 0; i < count; i++) {
        struct curl_slist *longer = client->curl->slist_append(list, lines[i]);

        if (!longer) {
            client->curl->slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static bool set_request(struct transfer *transfer, const struct curl_slist *headers)
{
    const struct dk_request *request = transfer->request;
    CURLcode (*set)(CURL *, CURLoption, ...) = transfer->client->curl->easy_setopt;
    CURL *handle = transfer->handle.easy;
    const char *body = request->body ? request->body : "";
    bool done = set(handle, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
                set(handle, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
                set(handle, CURLOPT_HEADERDATA, transfer) == CURLE_OK &&
                set(handle, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
                set(handle, CURLOPT_WRITEDATA, transfer) == CURLE_OK;

    if (strcmp(request->method, "GET") == 0)
        return done;
    if (strcmp(request->method, "DELETE") == 0)
        return done && set(handle, CURLOPT_CUSTOMREQUEST, "DELETE") == CURLE_OK;
    assert(strcmp(request->method, "POST") == 0);
    done = done && set(handle, CURLOPT_POST, 1L) == CURLE_OK;
    if (!request->body_fd)
        return done && set(handle, CURLOPT_POSTFIELDS, body) == CURLE_OK &&
               set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body)) ==
                   CURLE_OK;
    /* A kept connection may prove dead after a part was sent, and a pipe has no way
     * back. */
    return done && set(handle, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
           set(handle, CURLOPT_READFUNCTION, on_send) == CURLE_OK &&
           set(handle, CURLOPT_READDATA, transfer) == CURLE_OK;
}

static enum nacre_status send_with(struct transfer *transfer, struct nacre_error *err)
{
    struct dk_client *client = transfer->client;
    const struct dk_request *request = transfer->request;
    struct curl_slist *headers = make_headers(client, request);
    char error_text[CURL_ERROR_SIZE];
    struct nacre_error broken;
    enum nacre_status status;

    status = !headers ? nacre_fail(err, NACRE_ERR_MEMORY, "out of memory")
                      : dk_prepare(client, transfer->handle.easy, request->path,
                                   error_text, err);
    if (status == NACRE_OK && !set_request(transfer, headers))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "libcurl takes no option");
    if (status == NACRE_OK) {
        status = dk_perform(client, &transfer->handle, request->wait, request->doing,
                            error_text, &broken);
        if (transfer->status != NACRE_OK) /* what it is that libcurl gave up for */
            status = transfer->status;
        else if (status != NACRE_OK)
            *err = broken;
    }
    if (status == NACRE_OK)
        (void)client->curl->easy_getinfo(transfer->handle.easy, CURLINFO_RESPONSE_CODE,
                                         &transfer->answer->http_status);
    client->curl->slist_free_all(headers);
    return status;
}

enum nacre_status dk_check_time(const struct dk_request *request, struct nacre_error *err)
{
    if (!nt_wait_is_over(&request->wait))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_TIMEOUT, "%s: no time was left to ask the engine",
                      request->doing);
}

enum nacre_status dk_send(struct dk_client *client, const struct dk_request *request,
                          struct dk_answer *answer, struct nacre_error *err)
{
    struct transfer transfer = { .client = client, .request = request, .answer = answer,
                                 .err = err };
    enum nacre_status status;

    status = dk_check_time(request, err);
    if (status != NACRE_OK)
        return status;
    transfer.handle = take_handle(client);
    if (!transfer.handle.easy)
        return nacre_fail(err, NACRE_ERR_MEMORY, "libcurl gives no handle");
    status = send_with(&transfer, err);
    give_handle(client, &transfer.handle);
    return status;
}
