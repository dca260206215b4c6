#include "doorway.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

static const struct {
    const char *address;
    uint16_t port;
    const char *text;
} places[DOORWAY_COUNT] = {
#define X(id, address, port) [DOORWAY_##id] = { address, port, address ":" #port },
    DOORWAY_MAP(X)
#undef X
};

const char *doorway_text(enum doorway_kind kind)
{
    assert(kind > DOORWAY_NONE && kind < DOORWAY_COUNT);
    return places[kind].text;
}

static bool settle(int fd, enum doorway_kind kind)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(places[kind].port) };
    const int on = 1;

    if (inet_pton(AF_INET, places[kind].address, &address.sin_addr) != 1)
        return false;
    if (kind == DOORWAY_NAMES)
        return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           listen(fd, BACKLOG) == 0;
}

int doorway_open(enum doorway_kind kind)
{
    int type = kind == DOORWAY_NAMES ? SOCK_DGRAM : SOCK_STREAM;
    int fd, number;

    assert(kind > DOORWAY_NONE && kind < DOORWAY_COUNT);
    fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || settle(fd, kind))
        return fd;
    number = errno;
    (void)close(fd);
    errno = number;
    return -1;
}
