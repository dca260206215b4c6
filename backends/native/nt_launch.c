/* Trusts the launcher's first byte and its pidfd: no guest has run yet. */
#include "nt_launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "init_image.h"
#include "nacre/clock.h"
#include "nt_direct.h"
#include "pass.h"
#include "pidfd.h"
#include "spec.h"

#define SLICE_MS 50
#ifndef P_PIDFD
#define P_PIDFD 3 /* Linux 5.4 */
#endif

struct nt_launcher {
    pthread_mutex_t lock; /* guards all of it */
    int init_fd;          /* the program; -1: not yet */
    bool again;
    int control_fd, pidfd; /* of the process that makes sandboxes; -1: there is none */
    pid_t thread;          /* that spawned it */
    struct nt_direct direct; /* without one */
};

/* ---- what the launcher is given ---- */

static enum nacre_status spec_memfd(const void *spec, size_t spec_bytes, int *ret_fd,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = memfd_create("nacre-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 ||
        write(fd, spec, spec_bytes) != (ssize_t)spec_bytes ||
        fcntl(fd, F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the sandbox's spec can't be handed over");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/*
 * Nothing of the caller's goes along: no variable, no blocked signal.  Those that it
 * ignores and its fds without CLOEXEC do, until init sees to them.  A caller that has
 * closed its own fds 0 to 2 may have got the program as one of them.
 */
static int spawn(int init_fd, int socket, const char *mode, pid_t *ret_pid)
{
    NACRE_AUTO(nacre_fd_guard) int program = fcntl(init_fd, F_DUPFD_CLOEXEC, 3);
    char path[40];
    char *const arguments[] = { (char *)"nacre-init", (char *)mode, NULL };
    char *const environment[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set;
    int failure;

    if (program < 0)
        return errno;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", program);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, 1);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)sigemptyset(&set);
    (void)posix_spawnattr_setsigmask(&attributes, &set);
    failure = posix_spawn(ret_pid, path, &actions, &attributes, arguments, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* ---- what it answers ---- */

enum nacre_status nt_launch_await(int socket, const struct nt_launch_options *options,
                                  struct nacre_error *err)
{
    struct pollfd waiting = { .fd = socket, .events = POLLIN };

    while (poll(&waiting, 1, SLICE_MS) <= 0) {
        if (options->cancelled && atomic_load(options->cancelled))
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "cancelled while the sandbox was being made");
        if (nacre_clock_ns() >= options->deadline_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "the sandbox was not made in time");
    }
    return NACRE_OK;
}

/* The pid 1 that serves this order; -1 when there is none because of what the channel
 * tells. */
static enum nacre_status receive_born(int control, int channel, int *ret_pidfd,
                                      struct nacre_error *err)
{
    size_t count = 0;
    char byte = 0;

    if (pass_receive(control, true, &byte, 1, ret_pidfd, 1, &count) == 1 &&
        byte == LAUNCH_BORN && count == 1)
        return NACRE_OK;
    *ret_pidfd = -1;
    if (recv(channel, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_IO,
                      "the launcher ended without a word (was it killed, or is a system "
                      "call that it needs forbidden?)");
}

/* ---- launchers ---- */

/* A process that has ended, or a socket with something to say. */
static bool ready(int fd, uint64_t deadline_ns)
{
    struct pollfd waiting = { .fd = fd, .events = POLLIN };

    do {
        uint64_t now = nacre_clock_ns();
        int left_ms = now < deadline_ns ? (int)((deadline_ns - now) / NACRE_NS_PER_MS)
                                        : 0;

        if (poll(&waiting, 1, left_ms) > 0)
            return true;
    } while (nacre_clock_ns() < deadline_ns);
    return false;
}

/* Copying it takes longer than opening an executor may: so only when it is needed. */
static enum nacre_status have_program(struct nt_launcher *launcher,
                                      struct nacre_error *err)
{
    return launcher->init_fd < 0 ? nacre_init_fd(&launcher->init_fd, err) : NACRE_OK;
}

/* Spawns the program with one end of a new pair of sockets; the other is ours. */
static enum nacre_status start(struct nt_launcher *launcher, int type, const char *mode,
                               int *ret_pidfd, int *ret_fd, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int ours = -1;
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    enum nacre_status status = have_program(launcher, err);
    pid_t pid = 0;
    int pair[2], failure;

    if (status != NACRE_OK)
        return status;
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    ours = pair[0];
    theirs = pair[1];
    failure = spawn(launcher->init_fd, theirs, mode, &pid);
    if (failure != 0) {
        errno = failure;
        return nacre_fail(err, NACRE_ERR_IO, "the sandbox's first process can't be "
                                             "started");
    }
    *ret_pidfd = nacre_pidfd_open(pid);
    if (*ret_pidfd < 0) {
        (void)nacre_fail(err, NACRE_ERR_IO, "the sandbox's first process can't be held");
        /* It leaves by itself when there is nobody at the other end. */
        (void)close(nacre_fd_take(&ours));
        (void)close(nacre_fd_take(&theirs));
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
        return err->status;
    }
    *ret_fd = nacre_fd_take(&ours);
    return NACRE_OK;
}

static void stop(struct nt_launcher *launcher)
{
    uint64_t deadline_ns = nacre_clock_ns() + NT_END_MS * NACRE_NS_PER_MS;
    struct nt_launched launched = { -1, launcher->pidfd, -1 };
    struct nacre_error err;
    size_t count;
    char byte;

    if (launcher->control_fd < 0)
        return;
    (void)shutdown(launcher->control_fd, SHUT_WR);
    (void)!nt_launched_end(&launched, &err);
    /* Those that it has made beforehand are children of this process, and tell of
     * themselves before they let go of the socket. */
    while (ready(launcher->control_fd, deadline_ns) &&
           pass_receive(launcher->control_fd, false, &byte, 1, &launched.pid1_fd, 1,
                        &count) == 1)
        (void)!nt_launched_end(&launched, &err);
    (void)close(launcher->control_fd);
    launcher->pidfd = launcher->control_fd = -1;
}

enum nacre_status nt_launcher_open(bool again, struct nt_launcher **ret_launcher,
                                   struct nacre_error *err)
{
    struct nt_launcher *launcher = calloc(1, sizeof(*launcher));

    if (!launcher)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a launcher");
    launcher->init_fd = launcher->control_fd = launcher->pidfd = -1;
    launcher->direct = (struct nt_direct){ .pid1_fd = -1, .socket = -1 };
    launcher->again = again;
    (void)pthread_mutex_init(&launcher->lock, NULL);
    *ret_launcher = launcher;
    return NACRE_OK;
}

void nt_launcher_free(struct nt_launcher *launcher)
{
    if (!launcher)
        return;
    stop(launcher);
    nt_direct_end(&launcher->direct);
    nacre_fd_guard(&launcher->init_fd);
    (void)pthread_mutex_destroy(&launcher->lock);
    free(launcher);
}

/* To the one that is there, else to a new one.  Orders and answers go in step: after any
 * failure there has to be another launcher. */
static enum nacre_status order(struct nt_launcher *launcher, int channel, int spec_fd,
                               const struct nt_launch_options *options,
                               struct nt_launched *launched, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (launcher->control_fd < 0) {
        launcher->thread = gettid();
        status = start(launcher, SOCK_SEQPACKET, "launch", &launcher->pidfd,
                       &launcher->control_fd, err);
    }
    if (status == NACRE_OK)
        status = nt_order_send(launcher->control_fd, launcher->thread != gettid(),
                               channel, spec_fd, options, err);
    if (status == NACRE_OK)
        status = nt_launch_await(launcher->control_fd, options, err);
    if (status == NACRE_OK)
        status = receive_born(launcher->control_fd, launched->channel_fd,
                              &launched->pid1_fd, err);
    if (launched->pid1_fd < 0)
        stop(launcher);
    return status;
}

static enum nacre_status begin_direct(struct nt_launcher *launcher,
                                      const struct spec_head *head,
                                      struct nacre_error *err)
{
    enum nacre_status status = have_program(launcher, err);

    if (status == NACRE_OK)
        status = nt_direct_begin(launcher->init_fd, head, &launcher->direct, err);
    /* To free the program's copy takes time, and there is none later; whoever is to be
     * made in place of this one gets another copy. */
    if (launcher->init_fd >= 0)
        (void)close(nacre_fd_take(&launcher->init_fd));
    return status;
}

static enum nacre_status order_direct(struct nt_launcher *launcher, int channel,
                                      int spec_fd,
                                      const struct nt_launch_options *options,
                                      struct nt_launched *launched,
                                      struct nacre_error *err)
{
    struct unpack unpack = { .bytes = options->spec, .size = options->spec_bytes };
    enum nacre_status status = NACRE_OK;
    struct spec_head head;
    bool is_spec = spec_head_unpack(&unpack, &head);

    assert(is_spec);
    if (launcher->direct.pid1_fd < 0)
        status = begin_direct(launcher, &head, err);
    return status == NACRE_OK
               ? nt_direct_order(&launcher->direct, channel, spec_fd, options,
                                 launched, err)
               : status;
}

static enum nacre_status launch_spec(struct nt_launcher *launcher,
                                     const struct nt_launch_options *options,
                                     struct nt_launched *launched,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int spec_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    enum nacre_status status;
    int pair[2];

    if (options->fd_count > LAUNCH_FDS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d mounts", LAUNCH_FDS_MAX);
    status = spec_memfd(options->spec, options->spec_bytes, &spec_fd, err);
    if (status != NACRE_OK)
        return status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    launched->channel_fd = pair[0];
    theirs = pair[1];
    (void)pthread_mutex_lock(&launcher->lock);
    status = (launcher->again ? order : order_direct)(launcher, theirs, spec_fd, options,
                                                      launched, err);
    (void)pthread_mutex_unlock(&launcher->lock);
    return status;
}

void nt_launcher_prepare(struct nt_launcher *launcher, const struct spec_head *head)
{
    struct nacre_error err;

    assert(!launcher->again);
    (void)pthread_mutex_lock(&launcher->lock);
    if (launcher->direct.pid1_fd < 0)
        (void)!begin_direct(launcher, head, &err);
    (void)pthread_mutex_unlock(&launcher->lock);
}

enum nacre_status nt_launch(struct nt_launcher *launcher,
                            const struct nt_launch_options *options,
                            struct nt_launched *ret_launched, struct nacre_error *err)
{
    enum nacre_status status;

    *ret_launched = (struct nt_launched){ -1, -1, -1 };
    if (options->spec)
        return launch_spec(launcher, options, ret_launched, err);
    (void)pthread_mutex_lock(&launcher->lock);
    status = start(launcher, SOCK_STREAM, "none", &ret_launched->plain_fd,
                   &ret_launched->channel_fd, err);
    (void)pthread_mutex_unlock(&launcher->lock);
    return status;
}

enum nacre_status nt_launched_join(const struct nt_launched *launched, const int *fds,
                                   size_t count, struct nacre_error *err)
{
    const char join = LAUNCH_JOIN;

    assert(count <= LAUNCH_GROUPS_MAX);
    /* What it starts has the processors that the caller has. */
    if (launched->apart > 0 &&
        sched_setaffinity(launched->apart, sizeof(launched->cpus), &launched->cpus) != 0 &&
        errno != ESRCH)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the sandbox can't be given all processors");
    if (!pass_send(launched->channel_fd, &join, 1, fds, count) && errno != EPIPE &&
        errno != ECONNRESET)
        return nacre_fail(err, NACRE_ERR_IO, "the sandbox's cgroups can't be handed over");
    return NACRE_OK;
}

/* ---- the end ---- */

/* Somebody else may have reaped it already; that is no matter. */
static void reap(int pidfd)
{
    siginfo_t info;

    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) != 0 && errno == EINTR)
        ;
}

static bool end(int pidfd, uint64_t deadline_ns)
{
    bool is_gone = pidfd < 0 || ready(pidfd, deadline_ns);

    if (pidfd < 0)
        return true;
    if (is_gone)
        reap(pidfd);
    (void)close(pidfd);
    return is_gone;
}

void nt_launched_strike(const struct nt_launched *launched)
{
    if (launched->pid1_fd >= 0)
        (void)nacre_pidfd_signal(launched->pid1_fd, SIGKILL);
}

void nt_launched_doom(struct nt_launched *launched, struct nt_launched *ret_later)
{
    nacre_fd_guard(&launched->channel_fd);
    nt_launched_strike(launched);
    *ret_later = *launched;
    *launched = (struct nt_launched){ -1, -1, -1 };
}

enum nacre_status nt_launched_end(struct nt_launched *launched, struct nacre_error *err)
{
    uint64_t deadline_ns = nacre_clock_ns() + NT_END_MS * NACRE_NS_PER_MS;
    bool all;

    if (launched->channel_fd >= 0)
        (void)close(launched->channel_fd);
    nt_launched_strike(launched);
    if (launched->pid1_fd < 0 && launched->plain_fd >= 0 &&
        !ready(launched->plain_fd, deadline_ns - NT_END_MS / 2 * NACRE_NS_PER_MS))
        (void)nacre_pidfd_signal(launched->plain_fd, SIGKILL);
    all = end(launched->pid1_fd, deadline_ns);
    all = end(launched->plain_fd, deadline_ns) && all;
    *launched = (struct nt_launched){ -1, -1, -1 };
    if (!all)
        return nacre_fail(err, NACRE_ERR_TIMEOUT,
                          "the sandbox was killed, and was still there %d s later",
                          NT_END_MS / 1000);
    return NACRE_OK;
}
