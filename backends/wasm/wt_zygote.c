#include "wt_zygote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "nacre/zygote.h"
#include "wt_engine.h"

#define SOCKET_FD 3
#define GONE_MS 2000 /* SIGKILL to reaped took 34 ms with 4 GiB being filled */

extern char **environ;

struct wt_zygote {
    int socket;
    pid_t pid;
    pthread_mutex_t lock; /* one request and its answer at a time */
};

/* ---- the zygote's own side ---- */

/* A worker that a guest takes over shall find nothing of its caller here. */
static void forget_caller(int socket)
{
    int null_fd;

    for (char **entry = environ; *entry; entry++)
        explicit_bzero(*entry, strlen(*entry));
    environ[0] = NULL;
    if (socket != SOCKET_FD)
        (void)dup3(socket, SOCKET_FD, O_CLOEXEC);
    (void)close_range(SOCKET_FD + 1, ~0u, 0);
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null_fd, fd);
    if (null_fd > 2)
        (void)close(null_fd);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "nacre-zygote");
    (void)prctl(PR_SET_DUMPABLE, 0);
}

static _Noreturn void be_child(const struct wt_parts *parts, enum wt_request request,
                               const int *fds, uint32_t count, pid_t parent)
{
    (void)close(SOCKET_FD);
    /* The parent has one thread, so this follows its process. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (request == WT_REQUEST_COMPILE)
        wt_compile_main(fds, count);
    wt_worker_main(parts, fds, count);
}

/* Answers with this very process, and is a worker from then on. */
static _Noreturn void serve_become(const struct wt_parts *parts, const int *fds, uint32_t count,
                                   pid_t parent)
{
    struct wt_message answer = { .request = WT_REQUEST_BECOME, .pid = getpid() };
    int pidfd = pidfd_open(getpid(), 0);

    if (pidfd < 0 || !wt_send(SOCKET_FD, &answer, &pidfd, 1))
        _exit(1);
    (void)close(pidfd);
    be_child(parts, WT_REQUEST_BECOME, fds, count, parent);
}

static void serve_fork(const struct wt_parts *parts, enum wt_request request, const int *fds,
                       uint32_t count)
{
    struct wt_message answer = { .request = request };
    pid_t zygote = getpid();
    pid_t pid = fork();
    int pidfd = -1;

    if (pid == 0)
        be_child(parts, request, fds, count, zygote);
    answer.pid = pid > 0 ? pid : -errno;
    if (pid > 0) {
        pidfd = pidfd_open(pid, 0);
        if (pidfd < 0) {
            answer.pid = -errno;
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, NULL, 0);
        }
    }
    (void)wt_send(SOCKET_FD, &answer, &pidfd, pidfd >= 0 ? 1 : 0);
    if (pidfd >= 0)
        (void)close(pidfd);
}

static bool parts_make(struct wt_parts *ret_parts)
{
    struct nacre_error err;

    ret_parts->engine = wt_engine_new(false);
    ret_parts->linker = wasmtime_linker_new(ret_parts->engine);
    return nacre_wasi_link(ret_parts->linker, &err) == NACRE_OK;
}

static _Noreturn void serve(void)
{
    struct wt_parts parts = { 0 };
    pid_t parent = getppid();
    struct wt_message message;
    int fds[WT_FDS_MAX];
    uint32_t count;

    /* Without its parts it answers nothing; the supervisor sees the end of the
     * stream and says so. */
    if (!parts_make(&parts))
        _exit(1);
    while (wt_receive(SOCKET_FD, &message, fds, &count)) {
        if (message.request == WT_REQUEST_BECOME) {
            serve_become(&parts, fds, count, parent);
        } else if (message.request == WT_REQUEST_REAP) {
            struct wt_message answer = { .request = WT_REQUEST_REAP, .pid = message.pid };

            if (waitpid(message.pid, &answer.status, 0) < 0)
                answer.pid = -errno;
            (void)wt_send(SOCKET_FD, &answer, NULL, 0);
        } else {
            serve_fork(&parts, message.request, fds, count);
        }
        for (uint32_t i = 0; i < count; i++)
            (void)close(fds[i]);
    }
    _exit(0);
}

int nacre_zygote_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    forget_caller(SOCKET_FD);
    serve();
}

/* ---- the supervisor's side ---- */

static enum nacre_status spawn(const char *program, int socket, pid_t *ret_pid,
                               struct nacre_error *err)
{
    char *const arguments[] = { (char *)"nacre", (char *)"__zygote", NULL };
    char *const environment[] = { NULL };
    posix_spawn_file_actions_t actions;
    int failure;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, SOCKET_FD);
    failure = posix_spawn(ret_pid, program, &actions, NULL, arguments, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        errno = failure;
        return nacre_fail(err, NACRE_ERR_IO, "can't start '%.200s __zygote'", program);
    }
    return NACRE_OK;
}

enum nacre_status wt_zygote_start(const char *program, struct wt_zygote **ret_zygote,
                                  struct nacre_error *err)
{
    NACRE_AUTO(wt_zygote_guard) struct wt_zygote *zygote = calloc(1, sizeof(*zygote));
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    enum nacre_status status;
    int pair[2];

    if (!zygote)
        return nacre_fail(err, NACRE_ERR_MEMORY, "zygote");
    zygote->socket = -1;
    (void)pthread_mutex_init(&zygote->lock, NULL);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    zygote->socket = pair[0];
    theirs = pair[1];
    if (program) {
        status = spawn(program, theirs, &zygote->pid, err);
        if (status != NACRE_OK)
            return status;
    } else {
        zygote->pid = fork();
        if (zygote->pid < 0)
            return nacre_fail(err, NACRE_ERR_IO, "fork");
        if (zygote->pid == 0) {
            forget_caller(theirs);
            serve();
        }
    }
    *ret_zygote = wt_zygote_take(&zygote);
    return NACRE_OK;
}

void wt_zygote_free(struct wt_zygote *zygote)
{
    if (!zygote)
        return;
    if (zygote->socket >= 0)
        (void)close(zygote->socket);
    if (zygote->pid > 0) {
        (void)kill(zygote->pid, SIGKILL);
        while (waitpid(zygote->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    (void)pthread_mutex_destroy(&zygote->lock);
    free(zygote);
}

/* One question and its answer. */
static bool ask(struct wt_zygote *zygote, const struct wt_message *question, const int *fds,
                uint32_t fd_count, struct wt_message *ret_answer, int *ret_fd)
{
    int got[WT_FDS_MAX];
    uint32_t count = 0;
    bool ok;

    (void)pthread_mutex_lock(&zygote->lock);
    ok = wt_send(zygote->socket, question, fds, fd_count) &&
         wt_receive(zygote->socket, ret_answer, got, &count);
    (void)pthread_mutex_unlock(&zygote->lock);
    *ret_fd = ok && count > 0 ? got[0] : -1;
    for (uint32_t i = 1; i < count; i++)
        (void)close(got[i]);
    return ok;
}

enum nacre_status wt_zygote_fork(struct wt_zygote *zygote, enum wt_request request,
                                 const int *fds, uint32_t fd_count,
                                 struct wt_child *ret_child, struct nacre_error *err)
{
    struct wt_message question = { .request = request };
    struct wt_message answer;
    int pidfd;

    if (!ask(zygote, &question, fds, fd_count, &answer, &pidfd))
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "the process that workers are forked from has died");
    if (answer.pid <= 0 || pidfd < 0) {
        errno = -answer.pid;
        return nacre_fail(err, NACRE_ERR_IO, "can't fork a worker");
    }
    *ret_child = (struct wt_child){ .pid = answer.pid, .pidfd = pidfd };
    if (request == WT_REQUEST_BECOME) {
        (void)close(zygote->socket);
        zygote->socket = -1;
    }
    return NACRE_OK;
}

int wt_zygote_reap(struct wt_zygote *zygote, struct wt_child *child)
{
    struct wt_message question = { .request = WT_REQUEST_REAP, .pid = child->pid };
    struct wt_message answer = { .pid = -1 };
    struct pollfd wait = { .fd = child->pidfd, .events = POLLIN };
    int none, gone;

    (void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
    do
        gone = poll(&wait, 1, GONE_MS);
    while (gone < 0 && errno == EINTR);
    if (gone > 0 && child->pid == zygote->pid) {
        answer.pid = waitpid(child->pid, &answer.status, 0);
        zygote->pid = 0;
    } else if (gone > 0) {
        (void)ask(zygote, &question, NULL, 0, &answer, &none);
    }
    (void)close(child->pidfd);
    *child = (struct wt_child){ .pidfd = -1 };
    return gone > 0 && answer.pid > 0 ? answer.status : -1;
}
