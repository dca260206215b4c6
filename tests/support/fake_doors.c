#include "fake_doors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nacre/clock.h"

#define LISTENERS_MAX 64
#define PATIENCE_MS 10000

struct fake_doors fake_doors;

struct nacre_doors {
    int unused;
};

struct nacre_door {
    pthread_mutex_t lock;
    int listeners[LISTENERS_MAX];
    int kinds[LISTENERS_MAX];
    size_t count;
    bool running;
};

/* ---- a connection ---- */

struct visit {
    int fd, kind;
};

static bool send_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t done = send(fd, at, count, MSG_NOSIGNAL);
        struct pollfd ready = { .fd = fd, .events = POLLOUT };

        if (done < 0 && errno == EAGAIN && poll(&ready, 1, PATIENCE_MS) > 0)
            continue;
        if (done <= 0)
            return false;
        at += done;
        count -= (size_t)done;
    }
    return true;
}

static ssize_t receive(int fd, void *bytes, size_t count)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    return poll(&ready, 1, PATIENCE_MS) > 0 ? recv(fd, bytes, count, 0) : -1;
}

static void flood(int fd, size_t left)
{
    static const char zeros[65536];

    while (left > 0) {
        size_t part = left < sizeof(zeros) ? left : sizeof(zeros);

        if (!send_all(fd, zeros, part))
            return;
        left -= part;
    }
}

static void echo(int fd, const char *first, size_t count)
{
    char bytes[8192];
    ssize_t got;

    if (!send_all(fd, first, count))
        return;
    while ((got = receive(fd, bytes, sizeof(bytes))) > 0)
        if (!send_all(fd, bytes, (size_t)got))
            return;
}

static void answer(int fd, int kind, char *request, size_t used)
{
    char body[512], text[1024];
    char *end = strstr(request, "\r\n"), *host = strcasestr(request, "\r\nhost: ");
    char *after = strstr(request, "\r\n\r\n") + 4, *number = strstr(request, "/flood");
    static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

    if (strstr(request, "/echo")) {
        if (send_all(fd, head, sizeof(head) - 1))
            echo(fd, after, used - (size_t)(after - request));
        return;
    }
    if (number) {
        if (send_all(fd, head, sizeof(head) - 1))
            flood(fd, strtoul(number + 6, NULL, 10));
        return;
    }
    if (kind == NACRE_DOOR_PROXY)
        (void)snprintf(body, sizeof(body), "proxy %.*s\n", (int)(end - request), request);
    else
        (void)snprintf(body, sizeof(body), "http %.*s\n",
                       host ? (int)strcspn(host + 8, "\r") : 0, host ? host + 8 : "");
    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n"
                   "\r\n%s",
                   strlen(body), body);
    (void)send_all(fd, text, strlen(text));
}

static void *visit(void *data)
{
    struct visit *visit = data;
    char request[8192];
    size_t used = 0;
    ssize_t got;

    while (used < sizeof(request) - 1 &&
           (got = receive(visit->fd, request + used, sizeof(request) - 1 - used)) > 0) {
        used += (size_t)got;
        request[used] = '\0';
        if (visit->kind == NACRE_DOOR_TLS) {
            char text[32];

            (void)snprintf(text, sizeof(text), "tls %zu\n", used);
            (void)send_all(visit->fd, text, strlen(text));
            break;
        }
        if (strstr(request, "\r\n\r\n")) {
            answer(visit->fd, visit->kind, request, used);
            break;
        }
    }
    (void)shutdown(visit->fd, SHUT_WR);
    (void)close(visit->fd);
    free(visit);
    return NULL;
}

static void receive_visit(int fd, int kind)
{
    struct visit *new = malloc(sizeof(*new));
    pthread_t thread;

    *new = (struct visit){ fd, kind };
    atomic_fetch_add(&fake_doors.connections, 1);
    if (pthread_create(&thread, NULL, visit, new) != 0) {
        (void)close(fd);
        free(new);
        return;
    }
    (void)pthread_detach(thread);
}

static void *listen_on(void *data)
{
    struct visit *listening = data;
    struct pollfd ready = { .fd = listening->fd, .events = POLLIN };
    uint64_t until = nacre_clock_ns() + 60 * NACRE_NS_PER_S;

    while (nacre_clock_ns() < until) {
        int fd = -1;

        if (poll(&ready, 1, 100) > 0)
            fd = accept4(listening->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            receive_visit(fd, listening->kind);
        else if (ready.revents & (POLLNVAL | POLLERR))
            break;
    }
    (void)close(listening->fd);
    free(listening);
    return NULL;
}

/* ---- the contract ---- */

enum nacre_status nacre_doors_new(const struct nacre_doors_options *options,
                                  struct nacre_doors **ret_doors, struct nacre_error *err)
{
    (void)options;
    *ret_doors = calloc(1, sizeof(**ret_doors));
    return *ret_doors ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "doors");
}

void nacre_doors_free(struct nacre_doors *doors)
{
    free(doors);
}

enum nacre_status nacre_doors_probe(struct nacre_doors *doors, struct nacre_error *err)
{
    (void)doors;
    if (fake_doors.fails_probe)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "there is no door program");
    return NACRE_OK;
}

enum nacre_status nacre_doors_get(struct nacre_doors *doors,
                                  const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_door **ret_door, struct nacre_error *err)
{
    (void)doors, (void)plan, (void)tool, (void)request;
    *ret_door = calloc(1, sizeof(**ret_door));
    if (!*ret_door)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a door");
    fake_doors.door = *ret_door;
    atomic_fetch_add(&fake_doors.gets, 1);
    return NACRE_OK;
}

void nacre_doors_put(struct nacre_doors *doors, struct nacre_door *door)
{
    (void)doors;
    atomic_fetch_add(&fake_doors.puts, 1);
    free(door);
}

enum nacre_status nacre_door_serve(struct nacre_door *door, int kind, int fd,
                                   struct nacre_error *err)
{
    struct visit *listening;
    pthread_t thread;

    (void)door;
    atomic_fetch_add(&fake_doors.served, 1);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (kind < NACRE_DOOR_LISTEN) {
        receive_visit(fd, kind);
        return NACRE_OK;
    }
    listening = malloc(sizeof(*listening));
    *listening = (struct visit){ fd, kind - NACRE_DOOR_LISTEN };
    if (pthread_create(&thread, NULL, listen_on, listening) != 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread");
    (void)pthread_detach(thread);
    return NACRE_OK;
}

enum nacre_status nacre_door_begin(struct nacre_door *door, const char *run_id,
                                   uint64_t deadline_ns, struct nacre_error *err)
{
    (void)err;
    if (door->running || deadline_ns <= nacre_clock_ns())
        abort();
    door->running = true;
    (void)snprintf(fake_doors.run_id, sizeof(fake_doors.run_id), "%s", run_id);
    atomic_fetch_add(&fake_doors.begins, 1);
    return NACRE_OK;
}

enum nacre_status nacre_door_end(struct nacre_door *door, struct nacre_result *result,
                                 struct nacre_error *err)
{
    const struct nacre_denial denial = { .code = "host-not-allowed",
                                         .text = "by the fake door" };

    if (!door->running)
        abort();
    door->running = false;
    atomic_fetch_add(&fake_doors.ends, 1);
    if (fake_doors.fails_end)
        return nacre_fail(err, NACRE_ERR_IO, "the door is gone");
    nacre_result_deny(result, &denial);
    return NACRE_OK;
}

const char *nacre_door_certificate(const struct nacre_door *door)
{
    (void)door;
    return fake_doors.certificate ? fake_doors.certificate : "";
}
