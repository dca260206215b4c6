#include "fake_line.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition) \
    do {                \
        if (!(condition)) \
            abort();    \
    } while (0)

struct response {
    bool is_open;
    char kind; /* of its body: 'h'ello, 'e'cho, 'b'ig, 'c'ut */
    uint32_t given;
    char *body;
    uint32_t size;
};

struct server {
    struct fake_line *line;
    struct response responses[NACRE_DOOR_HANDLES];
};

/* Handles that look like nobody's business. */
#define HANDLE(index) (0xd00d0000u + (index))

static bool take(int fd, void *bytes, size_t count)
{
    return count == 0 || recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static void give(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);

        if (sent < 0)
            return;
        at += sent;
        count -= (size_t)sent;
    }
}

static void answer(int fd, uint32_t what, uint32_t code, uint32_t handle, uint32_t number,
                   const void *bytes, size_t size)
{
    struct nacre_door_message message = { what, code, handle, number, (uint32_t)size };

    give(fd, &message, sizeof(message));
    give(fd, bytes, size);
}

static void sentence(int fd, uint32_t what, uint32_t code, const char *text)
{
    answer(fd, what, code, 0, 0, text, strlen(text));
}

static struct response *open_one(struct server *server, uint32_t *ret_handle)
{
    for (uint32_t i = 0; i < NACRE_DOOR_HANDLES; i++)
        if (!server->responses[i].is_open) {
            server->responses[i] = (struct response){ .is_open = true };
            *ret_handle = HANDLE(i);
            return &server->responses[i];
        }
    abort(); /* the guest's end counts, too */
}

static const char *path_of(const char *url)
{
    const char *authority = strstr(url, "://");
    const char *path = authority ? strchr(authority + 3, '/') : NULL;

    return path ? path : "";
}

struct request {
    char method[64], url[8200];
    char *headers, *body;
    struct nacre_door_ask sizes;
};

static bool take_request(struct fake_line *line, uint32_t size, struct request *request)
{
    int fd = line->own_fd;

    MUST(take(fd, &request->sizes, sizeof(request->sizes)));
    if (size != sizeof(request->sizes) + request->sizes.method_size +
                    request->sizes.url_size + request->sizes.headers_size +
                    request->sizes.body_size ||
        request->sizes.method_size >= sizeof(request->method) ||
        request->sizes.url_size >= sizeof(request->url) ||
        request->sizes.headers_size > NACRE_DOOR_HEADERS_MAX ||
        request->sizes.body_size > NACRE_DOOR_BODY_MAX) {
        line->misuses++;
        return false;
    }
    request->headers = malloc(request->sizes.headers_size + 1u);
    request->body = malloc(request->sizes.body_size + 1u);
    MUST(request->headers && request->body);
    return take(fd, request->method, request->sizes.method_size) &&
           take(fd, request->url, request->sizes.url_size) &&
           take(fd, request->headers, request->sizes.headers_size) &&
           take(fd, request->body, request->sizes.body_size);
}

/* False: hang up. */
static bool serve_request(struct server *server, struct request *request)
{
    int fd = server->line->own_fd;
    const char *path = path_of(request->url);
    struct response *response;
    char headers[256];
    uint32_t handle;

    (void)snprintf(server->line->url, sizeof(server->line->url), "%.255s", request->url);
    if (strcmp(path, "/gone") == 0)
        return false;
    if (strcmp(path, "/silent") == 0)
        return true;
    if (strcmp(path, "/denied") == 0) {
        sentence(fd, NACRE_DOOR_ANSWER, NACRE_HTTP_DENIED,
                 "evil.example is not on the policy's allowed_hosts");
        return true;
    }
    if (strcmp(path, "/ok") != 0 && strcmp(path, "/echo") != 0 &&
        strcmp(path, "/big") != 0 && strcmp(path, "/cut") != 0) {
        sentence(fd, NACRE_DOOR_ANSWER, NACRE_HTTP_NOT_FOUND, "no such name");
        return true;
    }
    response = open_one(server, &handle);
    response->kind = path[1] == 'o' ? 'h' : path[1];
    (void)snprintf(headers, sizeof(headers), "Content-Type: text/plain\nX-Method: %s\n",
                   request->method);
    if (response->kind == 'e') {
        response->body = request->body;
        response->size = request->sizes.body_size;
        request->body = NULL;
        answer(fd, NACRE_DOOR_ANSWER, NACRE_HTTP_OK, handle, 200, request->headers,
               request->sizes.headers_size);
    } else {
        answer(fd, NACRE_DOOR_ANSWER, NACRE_HTTP_OK, handle, 200, headers,
               strlen(headers));
    }
    return true;
}

static void serve_read(struct server *server, const struct nacre_door_message *message)
{
    static const char text[] = "hello";
    struct response *response = &server->responses[message->handle - HANDLE(0)];
    uint32_t size = response->kind == 'e'   ? response->size
                    : response->kind == 'b' ? 600000
                                            : (uint32_t)sizeof(text) - 1;
    uint32_t count = size - response->given;
    char *bytes;

    if (count > message->number)
        count = message->number;
    if (response->kind == 'c' && response->given > 0) {
        sentence(server->line->own_fd, NACRE_DOOR_DATA, NACRE_HTTP_PROTOCOL,
                 "the server hung up in the middle");
        return;
    }
    bytes = malloc(count + 1u);
    MUST(bytes);
    if (response->kind == 'b')
        memset(bytes, 'b', count);
    else
        memcpy(bytes, (response->kind == 'e' ? response->body : text) + response->given,
               count);
    response->given += count;
    answer(server->line->own_fd, NACRE_DOOR_DATA, NACRE_HTTP_OK, 0, 0, bytes, count);
    free(bytes);
}

static bool serve_message(struct server *server, const struct nacre_door_message *message)
{
    struct fake_line *line = server->line;
    uint32_t index = message->handle - HANDLE(0);
    struct request request = { .headers = NULL };
    bool goes_on;

    if (message->what == NACRE_DOOR_ASK) {
        line->asked++;
        goes_on = take_request(line, message->size, &request) &&
                  serve_request(server, &request);
        free(request.headers);
        free(request.body);
        return goes_on;
    }
    if (index >= NACRE_DOOR_HANDLES || !server->responses[index].is_open ||
        message->size != 0 || message->number > NACRE_DOOR_DATA_MAX ||
        (message->what == NACRE_DOOR_READ) == (message->number == 0)) {
        line->misuses++;
        return false;
    }
    if (message->what == NACRE_DOOR_READ) {
        line->read++;
        serve_read(server, message);
    } else {
        line->closed++;
        server->responses[index].is_open = false;
        free(server->responses[index].body);
        server->responses[index].body = NULL;
    }
    return true;
}

static void *serve(void *data)
{
    struct server server = { .line = data };
    struct nacre_door_message message;

    while (take(server.line->own_fd, &message, sizeof(message)) &&
           serve_message(&server, &message))
        ;
    (void)shutdown(server.line->own_fd, SHUT_RDWR);
    for (uint32_t i = 0; i < NACRE_DOOR_HANDLES; i++)
        free(server.responses[i].body);
    return NULL;
}

void fake_line_serve(struct fake_line *line, int fd)
{
    *line = (struct fake_line){ .fd = -1, .own_fd = fd };
    MUST(pthread_create(&line->thread, NULL, serve, line) == 0);
}

void fake_line_start(struct fake_line *line)
{
    int ends[2];

    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    fake_line_serve(line, ends[1]);
    line->fd = ends[0];
}

void fake_line_stop(struct fake_line *line)
{
    (void)shutdown(line->own_fd, SHUT_RDWR);
    MUST(pthread_join(line->thread, NULL) == 0);
    (void)close(line->own_fd);
    if (line->fd >= 0)
        (void)close(line->fd);
}
