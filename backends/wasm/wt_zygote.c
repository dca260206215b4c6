#include "wt_zygote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "nacre/zygote.h"
#include "pidfd.h"
#include "wt_engine.h"

#define SOCKET_FD 3
#define GONE_MS 2000 /* SIGKILL to reaped took 34 ms with 4 GiB being filled */
#define CALLER_BYTES_MAX (8 << 20) /* Linux takes 6 MiB of arguments and environment */
#define ANSWER_S 5  /* a fork takes 0.2 ms; what takes that long will never answer */

extern char **environ;

struct wt_zygote {
    char *program; /* NULL: this process forks itself */
    int socket;    /* -1: there is none, or none any more */
    pid_t pid;
    pthread_mutex_t lock; /* one request and its answer at a time; guards the rest */
};

/* ---- the zygote's own side ---- */

/* A worker that a guest takes over shall find nothing of its caller here. */
static void forget_caller(int socket)
{
    char *arguments = program_invocation_name; /* argv[0] */
    char *end = (char *)getauxval(AT_EXECFN);
    sigset_t none;
    int null_fd;

    for (char **entry = environ; *entry; entry++)
        explicit_bzero(*entry, strlen(*entry));
    environ[0] = NULL;
    /* The kernel puts the arguments, the environment and this name in one row; a guest's
     * own arguments and variables may be on nacre's command line. */
    if (arguments < end && end - arguments <= CALLER_BYTES_MAX)
        explicit_bzero(arguments, (size_t)(end - arguments));
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
    /* A caller's thread may have blocked them all: then a guest's trap would kill its
     * worker, and no deadline would be heard of. */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
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

static void serve_fork(const struct wt_parts *parts, enum wt_request request,
                       const int *fds, uint32_t count)
{
    struct wt_message answer = { .request = request };
    pid_t zygote = getpid();
    pid_t pid = fork();
    int pidfd = -1;

    if (pid == 0)
        be_child(parts, request, fds, count, zygote);
    answer.pid = pid > 0 ? pid : -errno;
    if (pid > 0) {
        pidfd = nacre_pidfd_open(pid);
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

/* It has ended, or it shall end by `number`, or it is no child of this zygote's: never
 * wait here for one that lives on. */
static pid_t reap(pid_t pid, int number, int *ret_status)
{
    pid_t reaped = waitpid(pid, ret_status, WNOHANG);

    if (reaped == 0 && number > 0 && kill(pid, number) == 0)
        reaped = waitpid(pid, ret_status, 0);
    return reaped > 0 ? reaped : -ECHILD;
}

static bool parts_make(struct wt_parts *ret_parts)
{
    struct nacre_error err;

    if (nacre_wasmtime_load(&err) != NACRE_OK)
        return false;
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
            be_child(&parts, WT_REQUEST_BECOME, fds, count, parent);
        } else if (message.request == WT_REQUEST_REAP) {
            struct wt_message answer = { .request = WT_REQUEST_REAP, .pid = message.pid };

            answer.pid = reap(message.pid, message.status, &answer.status);
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

/* How many on this machine run or want to, this thread among them; 0: unknown. */
static int count_running(void)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    int running;

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
        sscanf(text, "%*s %*s %*s %d/", &running) != 1)
        return 0;
    return running;
}

/*
 * The kernel may leave a forked child on its parent's core, where it has to wait until
 * the parent sleeps; here both have a millisecond of work to do side by side.  Only where
 * a core is free: in another queue it would wait longer.
 */
static void move_away(pid_t child, int running)
{
    int core = sched_getcpu();
    cpu_set_t all, others;

    if (core < 0 || sched_getaffinity(0, sizeof(all), &all) != 0 || running < 1 ||
        running >= CPU_COUNT(&all))
        return;
    others = all;
    CPU_CLR((size_t)core, &others);
    if (sched_setaffinity(child, sizeof(others), &others) == 0)
        (void)sched_setaffinity(child, sizeof(all), &all);
}

/* A fresh process behind a fresh socket. */
static enum nacre_status start(struct wt_zygote *zygote, struct nacre_error *err)
{
    const struct timeval patience = { .tv_sec = ANSWER_S };
    NACRE_AUTO(nacre_fd_guard) int ours = -1;
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    enum nacre_status status = NACRE_OK;
    pid_t pid = 0;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    ours = pair[0];
    theirs = pair[1];
    (void)setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (zygote->program) {
        status = spawn(zygote->program, theirs, &pid, err);
    } else {
        int running = count_running();

        pid = fork();
        if (pid == 0) {
            forget_caller(theirs);
            serve();
        }
        if (pid > 0)
            move_away(pid, running);
        else
            status = nacre_fail(err, NACRE_ERR_IO, "fork");
    }
    if (status != NACRE_OK)
        return status;
    zygote->pid = pid;
    zygote->socket = nacre_fd_take(&ours);
    return NACRE_OK;
}

static void end(struct wt_zygote *zygote)
{
    if (zygote->socket >= 0)
        (void)close(zygote->socket);
    zygote->socket = -1;
    /* The caller may reap all its children itself: then the number is no longer ours. */
    if (zygote->pid > 0 && waitpid(zygote->pid, NULL, WNOHANG) == 0) {
        (void)kill(zygote->pid, SIGKILL);
        while (waitpid(zygote->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    zygote->pid = 0;
}

enum nacre_status wt_zygote_start(const char *program, struct wt_zygote **ret_zygote,
                                  struct nacre_error *err)
{
    NACRE_AUTO(wt_zygote_guard) struct wt_zygote *zygote = calloc(1, sizeof(*zygote));
    enum nacre_status status;

    if (!zygote)
        return nacre_fail(err, NACRE_ERR_MEMORY, "zygote");
    zygote->socket = -1;
    (void)pthread_mutex_init(&zygote->lock, NULL);
    if (program) {
        zygote->program = strdup(program);
        if (!zygote->program)
            return nacre_fail(err, NACRE_ERR_MEMORY, "zygote");
    }
    status = start(zygote, err);
    if (status != NACRE_OK)
        return status;
    *ret_zygote = wt_zygote_take(&zygote);
    return NACRE_OK;
}

void wt_zygote_free(struct wt_zygote *zygote)
{
    if (!zygote)
        return;
    end(zygote);
    (void)pthread_mutex_destroy(&zygote->lock);
    free(zygote->program);
    free(zygote);
}

static bool send_and_receive(const struct wt_zygote *zygote,
                             const struct wt_message *question, const int *fds,
                             uint32_t fd_count, struct wt_message *ret_answer,
                             int *ret_fds, uint32_t *ret_count)
{
    if (question->request != WT_REQUEST_BECOME)
        return wt_send(zygote->socket, question, fds, fd_count) &&
               wt_receive(zygote->socket, ret_answer, ret_fds, ret_count);
    /* It is a child of ours that nobody has reaped: its number is its own. */
    ret_fds[0] = nacre_pidfd_open(zygote->pid);
    if (ret_fds[0] < 0)
        return false;
    *ret_count = 1;
    if (!wt_send(zygote->socket, question, fds, fd_count))
        return false;
    *ret_answer = (struct wt_message){ .pid = zygote->pid };
    return true;
}

/* One question and its answer, with the lock held; false with errno set.  A zygote that
 * has died is ended, and one that does not answer too: an answer that came late would be
 * taken for that of the next question. */
static bool ask(struct wt_zygote *zygote, const struct wt_message *question,
                const int *fds, uint32_t fd_count, struct wt_message *ret_answer,
                int *ret_fd)
{
    int got[WT_FDS_MAX];
    uint32_t count = 0;
    bool ok;
    int failure;

    *ret_fd = -1;
    ret_answer->pid = -1;
    ok = send_and_receive(zygote, question, fds, fd_count, ret_answer, got, &count);
    failure = errno;
    if (ok && count > 0)
        *ret_fd = got[0];
    for (uint32_t i = ok ? 1 : 0; i < count; i++)
        (void)close(got[i]);
    if (!ok &&
        (failure == 0 || failure == EPIPE || failure == ECONNRESET || failure == EAGAIN))
        end(zygote);
    errno = failure;
    return ok;
}

/* The answer came without the child's pidfd, because this process has no fd left. */
static void disown(struct wt_zygote *zygote, pid_t pid)
{
    const struct wt_message question = { .request = WT_REQUEST_REAP, .pid = pid,
                                         .status = SIGKILL };
    struct wt_message answer;
    int none;

    (void)ask(zygote, &question, NULL, 0, &answer, &none);
}

/* Who asks for a child and finds the zygote dead starts another, once. */
static enum nacre_status ask_for_child(struct wt_zygote *zygote,
                                       const struct wt_message *question, const int *fds,
                                       uint32_t fd_count, struct wt_message *ret_answer,
                                       int *ret_pidfd, struct nacre_error *err)
{
    enum nacre_status status;

    for (int tries = 0; tries < 2; tries++) {
        if (zygote->socket < 0) {
            status = start(zygote, err);
            if (status != NACRE_OK)
                return status;
        }
        if (ask(zygote, question, fds, fd_count, ret_answer, ret_pidfd))
            return NACRE_OK;
        if (zygote->socket >= 0) {
            status = nacre_fail(err, NACRE_ERR_IO, "can't ask for a worker");
            if (ret_answer->pid > 0)
                disown(zygote, ret_answer->pid);
            return status;
        }
    }
    /* What keeps a forked one from getting ready keeps this process from it, too. */
    if (!zygote->program) {
        status = nacre_wasmtime_load(err);
        if (status != NACRE_OK)
            return status;
    }
    return nacre_fail(
        err, NACRE_ERR_BACKEND,
        "the process that workers are forked from ends or does not answer%s%.200s",
        zygote->program ? "; is this the nacre program: " : "",
        zygote->program ? zygote->program : "");
}

enum nacre_status wt_zygote_fork(struct wt_zygote *zygote, enum wt_request request,
                                 const int *fds, uint32_t fd_count,
                                 struct wt_child *ret_child, struct nacre_error *err)
{
    struct wt_message question = { .request = request };
    struct wt_message answer;
    enum nacre_status status;
    int pidfd;

    (void)pthread_mutex_lock(&zygote->lock);
    status = ask_for_child(zygote, &question, fds, fd_count, &answer, &pidfd, err);
    if (status == NACRE_OK && request == WT_REQUEST_BECOME && answer.pid > 0) {
        zygote->pid = 0; /* the child's from now on */
        end(zygote);
    }
    (void)pthread_mutex_unlock(&zygote->lock);
    if (status != NACRE_OK)
        return status;
    if (answer.pid <= 0 || pidfd < 0) {
        if (pidfd >= 0)
            (void)close(pidfd);
        errno = -answer.pid;
        return nacre_fail(err, NACRE_ERR_IO, "can't fork a worker");
    }
    *ret_child = (struct wt_child){ .pid = answer.pid, .pidfd = pidfd,
                                    .is_ours = request == WT_REQUEST_BECOME };
    return NACRE_OK;
}

int wt_zygote_reap(struct wt_zygote *zygote, struct wt_child *child)
{
    struct wt_message question = { .request = WT_REQUEST_REAP, .pid = child->pid };
    struct wt_message answer = { .pid = -1 };
    struct pollfd wait = { .fd = child->pidfd, .events = POLLIN };
    int none, gone;

    (void)nacre_pidfd_signal(child->pidfd, SIGKILL);
    do
        gone = poll(&wait, 1, GONE_MS);
    while (gone < 0 && errno == EINTR);
    if (gone > 0 && child->is_ours) {
        answer.pid = waitpid(child->pid, &answer.status, 0);
    } else if (gone > 0) {
        (void)pthread_mutex_lock(&zygote->lock);
        if (zygote->socket >= 0)
            (void)ask(zygote, &question, NULL, 0, &answer, &none);
        (void)pthread_mutex_unlock(&zygote->lock);
    }
    (void)close(child->pidfd);
    *child = (struct wt_child){ .pidfd = -1 };
    return gone > 0 && answer.pid > 0 ? answer.status : -1;
}
