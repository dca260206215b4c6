/*
 * bench_crowd ROW ADDRESS PORT CONNECTIONS ROUNDS URL: so many connections, all open from
 * the first round to the last; in each round all of them ask at once, and it ends with the
 * last answer.  Prints how many were held and what a round took.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define ANSWER_MAX 4096
#define ROUND_MS_MAX 60000
#define ROUNDS_MAX 1000

struct asker {
    int fd;
    size_t count;
    bool answered;
    char answer[ANSWER_MAX + 1];
};

static struct asker *askers;
static uint32_t asker_count;
static int epoll;

static void open_all(const char *address, const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)measure_count(port)) };

    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        measure_die("%s is no address", address);
    for (uint32_t i = 0; i < asker_count; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

        askers[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (askers[i].fd < 0 ||
            connect(askers[i].fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, askers[i].fd, &event) != 0)
            measure_die("connection %u: %s", i, strerror(errno));
    }
}

/* Is it whole, to the byte?  Content-Length is what these servers send. */
static bool is_whole(const struct asker *asker)
{
    const char *end = strstr(asker->answer, "\r\n\r\n");
    const char *length = strcasestr(asker->answer, "\r\nContent-Length: ");

    if (!end)
        return false;
    if (strncmp(asker->answer, "HTTP/1.1 200 ", 13) != 0 || !length || length > end)
        measure_die("an answer: %.*s", (int)(end - asker->answer), asker->answer);
    return asker->count == (size_t)(end + 4 - asker->answer) +
                               strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
}

static void hear(struct asker *asker)
{
    ssize_t got = recv(asker->fd, asker->answer + asker->count,
                       ANSWER_MAX - asker->count, 0);

    if (got <= 0)
        measure_die("a connection was closed before its answer");
    asker->count += (size_t)got;
    asker->answer[asker->count] = '\0';
    asker->answered = is_whole(asker);
}

static uint64_t ask_all(const char *request)
{
    uint64_t begun_ns = measure_now_ns();
    uint32_t left = asker_count;

    for (uint32_t i = 0; i < asker_count; i++) {
        askers[i].count = 0;
        askers[i].answered = false;
        if (send(askers[i].fd, request, strlen(request), MSG_NOSIGNAL) < 0)
            measure_die("connection %u: %s", i, strerror(errno));
    }
    while (left > 0) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, ROUND_MS_MAX);

        if (ready <= 0)
            measure_die("%u of %u were not answered", left, asker_count);
        for (int i = 0; i < ready; i++) {
            hear(&askers[events[i].data.u32]);
            left -= askers[events[i].data.u32].answered;
        }
    }
    return measure_now_ns() - begun_ns;
}

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

int main(int argc, char **argv)
{
    static uint64_t took_ns[ROUNDS_MAX];
    char request[1024], host[256];
    uint32_t rounds;

    if (argc != 7 || sscanf(argv[6], "http://%255[^/]", host) != 1)
        measure_die("ROW ADDRESS PORT CONNECTIONS ROUNDS URL");
    asker_count = measure_count(argv[4]);
    rounds = measure_count(argv[5]);
    if (rounds > ROUNDS_MAX)
        measure_die("at most %d rounds", ROUNDS_MAX);
    askers = calloc(asker_count, sizeof(*askers));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!askers || epoll < 0)
        measure_die("no memory");
    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[6],
                   host);
    open_all(argv[2], argv[3]);
    (void)ask_all(request); /* for warming up */
    for (uint32_t i = 0; i < rounds; i++)
        took_ns[i] = ask_all(request);
    qsort(took_ns, rounds, sizeof(took_ns[0]), by_size);
    measure_print(argv[1], "held", asker_count);
    measure_print(argv[1], "round_ns", took_ns[rounds / 2]);
    return 0;
}
