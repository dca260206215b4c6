/* Trusts the state directory once it has seen that only our user can write there, and
 * whoever listens in it once the kernel has said that it is of our user. */
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "message.h"
#include "nacre/clock.h"
#include "nacre/nacre.h"
#include "nacre/own.h"

#define SOCKET_NAME "keeper.sock"
#define LOCK_NAME "keeper.lock"
#define BACKLOG 64
#define WELCOME_MS 60000 /* it may be as busy as it can be */
#define LEAVING_MS 30000 /* for one that ends its commands */
#define LOOK_MS 20

const char keeper_own_version[] = NACRE_VERSION " protocol 3";

bool keeper_is_same(const char *version)
{
    return strcmp(version, keeper_own_version) == 0;
}

static enum nacre_status open_dir(const char *state_dir, int *ret_fd,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat info;

    fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no %.300s", state_dir);
    if (fd < 0 || fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "opening %.300s", state_dir);
    if (info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%.300s belongs to another user, or others may write it: no "
                          "keeper can be trusted there",
                          state_dir);
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* By way of the directory's fd: an address has room for 107 bytes. */
static struct sockaddr_un address_of(int dir_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(address.sun_path, sizeof(address.sun_path),
                   "/proc/self/fd/%d/" SOCKET_NAME, dir_fd);
    return address;
}

static enum nacre_status dial(int dir_fd, int *ret_socket, struct nacre_error *err)
{
    struct sockaddr_un address = address_of(dir_fd);
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    enum nacre_status status;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "a socket");
    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        if (errno == ENOENT || errno == ECONNREFUSED)
            return nacre_fail(err, NACRE_ERR_NOT_FOUND, "no keeper runs");
        else if (errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "connecting to the keeper");
    status = message_check_peer(fd, err);
    if (status != NACRE_OK)
        return status;
    *ret_socket = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status keeper_connect(const char *state_dir, char ret_version[KEEPER_VERSION],
                                 int *ret_socket, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(KEEPER_VERSION - 1);
    enum message_kind kind = MESSAGE_NONE;
    enum nacre_status status = open_dir(state_dir, &dir_fd, err);

    if (status == NACRE_OK)
        status = dial(dir_fd, &fd, err);
    if (status == NACRE_OK)
        status = message_receive(fd, message_within_ms(WELCOME_MS), &kind, &bytes, NULL,
                                 err);
    if (status == NACRE_OK && kind != MESSAGE_HELLO)
        status = nacre_fail(err, NACRE_ERR_PARSE,
                            "what listens at %.300s/" SOCKET_NAME " is no keeper",
                            state_dir);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(ret_version, KEEPER_VERSION, "%s", bytes.bytes);
    *ret_socket = nacre_fd_take(&fd);
    return NACRE_OK;
}

static enum nacre_status open_lock(const char *state_dir, int *ret_dir, int *ret_lock,
                                   struct nacre_error *err)
{
    enum nacre_status status = open_dir(state_dir, ret_dir, err);

    if (status != NACRE_OK)
        return status;
    *ret_lock = openat(*ret_dir, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                       0600);
    return *ret_lock < 0 ? nacre_fail(err, NACRE_ERR_IO, "the keeper's lock") : NACRE_OK;
}

enum nacre_status keeper_await_end(const char *state_dir, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint64_t until_ns = message_within_ms(LEAVING_MS);
    enum nacre_status status = open_lock(state_dir, &dir_fd, &fd, err);

    while (status == NACRE_OK && flock(fd, LOCK_SH | LOCK_NB) != 0) {
        if (nacre_clock_ns() > until_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "the keeper was told to leave, and has not after %d s",
                              LEAVING_MS / 1000);
        (void)poll(NULL, 0, LOOK_MS);
    }
    return status;
}

enum nacre_status keeper_lock(const char *state_dir, int *ret_lock,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint64_t until_ns = message_within_ms(LEAVING_MS);
    enum nacre_status status = open_lock(state_dir, &dir_fd, &fd, err);

    if (status != NACRE_OK)
        return status;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        NACRE_AUTO(nacre_fd_guard) int other = -1;

        if (errno != EWOULDBLOCK && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "the keeper's lock");
        /* It has the lock and does not listen: not yet, or not any more. */
        if (dial(dir_fd, &other, err) != NACRE_ERR_NOT_FOUND ||
            nacre_clock_ns() > until_ns)
            return nacre_fail(err, NACRE_ERR_USAGE, "there is a keeper already");
        (void)poll(NULL, 0, LOOK_MS);
    }
    *ret_lock = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status keeper_listen(const char *state_dir, int *ret_socket,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct sockaddr_un address;
    enum nacre_status status = open_dir(state_dir, &dir_fd, err);

    if (status != NACRE_OK)
        return status;
    address = address_of(dir_fd);
    (void)unlinkat(dir_fd, SOCKET_NAME, 0);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the file that bind() makes; the umask is the whole process's. */
    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, BACKLOG) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the keeper's socket in %.300s", state_dir);
    *ret_socket = nacre_fd_take(&fd);
    return NACRE_OK;
}

void keeper_unlisten(const char *state_dir)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    struct nacre_error ignored;

    if (open_dir(state_dir, &dir_fd, &ignored) == NACRE_OK)
        (void)unlinkat(dir_fd, SOCKET_NAME, 0);
}
