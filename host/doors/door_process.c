#include "door_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "nacre/clock.h"
#include "nacre/spawn.h"

#define SPARE_FD 10 /* above what is arranged in the door */
#define TELL_MS 5000
#define CHECK_MS 10000

/* By the program's real place: what is given may be a link, /proc/self/exe among them. */
enum nacre_status door_process_find(const char *program, char ret_path[DOOR_PATH],
                                    struct nacre_error *err)
{
    static const char *const places[] = { "nacre-door", "../libexec/nacre/nacre-door" };
    const char *asked = program ? program : "/proc/self/exe";
    NACRE_AUTO(nacre_heap_guard) char *real = realpath(asked, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;

    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < NACRE_COUNT(places) && slash; i++) {
        int length = snprintf(ret_path, DOOR_PATH, "%s%s", real, places[i]);

        if (length < DOOR_PATH && access(ret_path, X_OK) == 0)
            return NACRE_OK;
    }
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "nacre-door, which carries a tool's requests, is not beside "
                      "%.200s: install it with the program",
                      asked);
}

static int arrange_fds(posix_spawn_file_actions_t *actions, int control)
{
    int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

    if (!failed)
        failed = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (!failed && control >= 0)
        failed = posix_spawn_file_actions_adddup2(actions, control,
                                                  NACRE_DOOR_CONTROL_FD);
    if (!failed)
        failed = posix_spawn_file_actions_addclosefrom_np(
            actions, control >= 0 ? NACRE_DOOR_CONTROL_FD + 1 : NACRE_DOOR_CONTROL_FD);
    if (!failed)
        failed = posix_spawn_file_actions_addchdir_np(actions, "/");
    return failed;
}

static int spawn(const char *path, const char *argument, int control, pid_t *ret_pid)
{
    const char *const argv[] = { "nacre-door", argument, NULL };
    char *const nothing[] = { NULL };
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn door = { .program = path, .argv = (char *const *)argv,
                                      .environment = nothing, .actions = &actions };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = arrange_fds(&actions, control);
    if (!failed)
        failed = nacre_spawn(&door, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static enum nacre_status start(const char *path, const char *argument, int control,
                               struct door_process *process, struct nacre_error *err)
{
    int failed = spawn(path, argument, control, &process->pid);

    if (failed) {
        errno = failed;
        return nacre_fail(err, NACRE_ERR_IO, "starting %.300s", path);
    }
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "the door's process can't be held");
    return NACRE_OK;
}

enum nacre_status door_process_start(const char *path, struct door_process *ret_process,
                                     struct nacre_error *err)
{
    struct door_process process = { -1, -1, -1 };
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    int ends[2], moved;
    enum nacre_status status;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the door's socket");
    process.control = ends[0];
    /* Its number there must not be one that is closed or made anew on the way. */
    moved = fcntl(ends[1], F_DUPFD_CLOEXEC, SPARE_FD);
    (void)close(ends[1]);
    theirs = moved;
    status = moved < 0 ? nacre_fail(err, NACRE_ERR_IO, "the door's socket")
                       : start(path, NULL, theirs, &process, err);
    if (status != NACRE_OK) {
        door_process_end(&process);
        return status;
    }
    *ret_process = process;
    return NACRE_OK;
}

void door_process_end(struct door_process *process)
{
    siginfo_t info;

    nacre_fd_guard(&process->control);
    /* By its pidfd, so that no stranger with the same number is ever meant. */
    if (process->pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
        while (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED) < 0 &&
               errno == EINTR)
            ;
    }
    nacre_fd_guard(&process->pidfd);
    *process = (struct door_process){ -1, -1, -1 };
}

/* What `ppoll` says about one fd, until `ms` are over: false when nothing came. */
static bool wait_for(int fd, short events, uint64_t ms)
{
    uint64_t until_ns = nacre_clock_ns() + ms * NACRE_NS_PER_MS;
    struct pollfd poll_fd = { .fd = fd, .events = events };

    for (;;) {
        struct timespec left = nacre_clock_until(until_ns);

        if (ppoll(&poll_fd, 1, &left, NULL) > 0)
            return true;
        if (nacre_clock_ns() >= until_ns)
            return false;
    }
}

enum nacre_status door_process_check(const char *path, struct nacre_error *err)
{
    struct door_process process = { -1, -1, -1 };
    enum nacre_status status = start(path, "--check", -1, &process, err);
    siginfo_t info = { 0 };

    if (status == NACRE_OK && wait_for(process.pidfd, POLLIN, CHECK_MS) &&
        waitid(P_PIDFD, (id_t)process.pidfd, &info, WEXITED | WNOWAIT) != 0)
        status = nacre_fail(err, NACRE_ERR_IO, "how %.300s ended", path);
    door_process_end(&process);
    if (status != NACRE_OK || (info.si_code == CLD_EXITED && info.si_status == 0))
        return status;
    if (info.si_code == CLD_EXITED && info.si_status == NACRE_DOOR_EXIT_NO_BUNDLE)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the system has no CA certificates to verify servers by: "
                          "install the package ca-certificates");
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "%.300s does not run (status %d): are libcurl, c-ares and OpenSSL "
                      "installed?",
                      path, info.si_status);
}

bool door_process_lives(const struct door_process *process)
{
    struct pollfd poll_fd = { .fd = process->control, .events = POLLIN };

    /* Between two runs it has nothing to say: anything there is its end. */
    return poll(&poll_fd, 1, 0) == 0;
}

enum nacre_status door_process_tell(const struct door_process *process,
                                    const struct nacre_door_control *head,
                                    const void *bytes, size_t count, int fd,
                                    struct nacre_error *err)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)head, sizeof(*head) },
                              { (void *)(uintptr_t)bytes, count } };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra = { .header = { .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    if (fd >= 0) {
        memcpy(CMSG_DATA(&extra.header), &fd, sizeof(fd));
        message.msg_control = &extra;
        message.msg_controllen = sizeof(extra);
    }
    for (;;) {
        ssize_t sent = sendmsg(process->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0)
            return NACRE_OK;
        if (errno == EAGAIN && !wait_for(process->control, POLLOUT, TELL_MS))
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "the door takes no orders");
        if (errno != EAGAIN && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "the door is gone");
    }
}

enum nacre_status door_process_hear(const struct door_process *process, uint64_t ms,
                                    struct nacre_door_control *ret_head, void *bytes,
                                    size_t size, size_t *ret_count,
                                    struct nacre_error *err)
{
    struct iovec parts[2] = { { ret_head, sizeof(*ret_head) }, { bytes, size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t got;

    if (!wait_for(process->control, POLLIN, ms))
        return nacre_fail(err, NACRE_ERR_TIMEOUT, "the door does not answer");
    do {
        got = recvmsg(process->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return nacre_fail(err, NACRE_ERR_BACKEND, "the door ended by itself");
    if (got < 0)
        return nacre_fail(err, NACRE_ERR_IO, "the door's socket");
    if ((size_t)got < sizeof(*ret_head) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return nacre_fail(err, NACRE_ERR_BACKEND, "what the door says makes no sense");
    *ret_count = (size_t)got - sizeof(*ret_head);
    return NACRE_OK;
}
