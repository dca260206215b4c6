/*
 * Between nacre and the program stands a process that watches over it: the kernel tells
 * it when nacre has died, by whatever signal, and it ends the program's whole group.  To
 * tell the program itself is not enough: mmdebstrap waits for its children then.
 */
#include "dk_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nacre/clock.h"

#define GRACE_S 20 /* it has mounts and files of its own to undo */
#define LOOK_NS (10 * (long)NACRE_NS_PER_MS)

extern char **environ;

struct order {
    const char *const *words;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t asker; /* whose end is its end */
    int told_fd; /* an errno, where it could not be started */
};

/* ---- the process that watches; what it was forked from has threads ---- */

static bool has_ended(pid_t program)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == program;
}

/* By itself, or because it is told to.  As long as nobody has collected it, its group is
 * no other's. */
static int await(pid_t program)
{
    static const int ends[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    const struct timespec grace = { .tv_sec = GRACE_S };
    int status = 0, number;
    bool is_told = false;
    sigset_t awaited;

    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < NACRE_COUNT(ends); i++)
        (void)sigaddset(&awaited, ends[i]);
    while (!has_ended(program)) {
        number = sigtimedwait(&awaited, NULL, is_told ? &grace : NULL);
        if (number > 0 && number != SIGCHLD) {
            (void)kill(-program, SIGTERM);
            is_told = true;
        } else if (number < 0 && errno == EAGAIN) {
            (void)kill(-program, SIGKILL);
        }
    }
    (void)kill(-program, SIGKILL); /* what it left behind */
    (void)waitpid(program, &status, 0);
    return status;
}

static _Noreturn void watch(const struct order *order)
{
    pid_t program;
    int failed, status;

    if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 || getppid() != order->asker)
        _exit(1);
    failed = posix_spawnp(&program, order->words[0], &order->actions, &order->attributes,
                          (char *const *)order->words, environ);
    if (failed) {
        (void)!write(order->told_fd, &failed, sizeof(failed));
        _exit(1);
    }
    closefrom(0); /* the program's output ends when it closes it */
    status = await(program);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- starting it ---- */

static enum nacre_status fail(int failed, const char *name, struct nacre_error *err)
{
    errno = failed;
    return nacre_fail(err, failed == ENOENT ? NACRE_ERR_NOT_FOUND : NACRE_ERR_IO,
                      "can't start %s", name);
}

/* With every signal blocked: none may end it before it waits for them. */
static enum nacre_status start(struct dk_maker *maker, struct order *order,
                               struct nacre_error *err)
{
    int told[2], failed = 0;
    sigset_t every, before;

    if (pipe2(told, O_CLOEXEC) != 0)
        return fail(errno, order->words[0], err);
    order->told_fd = told[1];
    order->asker = getpid();
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    (void)posix_spawnattr_setsigmask(&order->attributes, &before);
    maker->pid = fork();
    if (maker->pid == 0)
        watch(order);
    if (maker->pid < 0)
        failed = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(told[1]);
    if (failed == 0 && read(told[0], &failed, sizeof(failed)) < 0)
        failed = errno;
    (void)close(told[0]);
    if (failed == 0)
        return NACRE_OK;
    if (maker->pid > 0)
        (void)waitpid(maker->pid, NULL, 0);
    maker->pid = 0;
    return fail(failed, order->words[0], err);
}

enum nacre_status dk_maker_start(const char *const *words, struct dk_maker *ret_maker,
                                 struct nacre_error *err)
{
    NACRE_AUTO(dk_maker_end) struct dk_maker maker = DK_MAKER_NONE;
    NACRE_AUTO(nacre_fd_guard) int out = -1;
    struct order order = { .words = words };
    enum nacre_status status;
    int ends[2];

    /* A file, and not a pipe: nobody reads it before the end. */
    maker.errors_fd = memfd_create("nacre-maker", MFD_CLOEXEC);
    if (maker.errors_fd < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return fail(errno, words[0], err);
    maker.out_fd = ends[0];
    out = ends[1];
    (void)posix_spawn_file_actions_init(&order.actions);
    (void)posix_spawn_file_actions_addopen(&order.actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&order.actions, out, 1);
    (void)posix_spawn_file_actions_adddup2(&order.actions, maker.errors_fd, 2);
    (void)posix_spawn_file_actions_addclosefrom_np(&order.actions, 3);
    (void)posix_spawnattr_init(&order.attributes);
    (void)posix_spawnattr_setflags(&order.attributes,
                                   POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    status = start(&maker, &order, err);
    (void)posix_spawn_file_actions_destroy(&order.actions);
    (void)posix_spawnattr_destroy(&order.attributes);
    if (status != NACRE_OK)
        return status;
    *ret_maker = maker;
    maker = (struct dk_maker)DK_MAKER_NONE;
    return NACRE_OK;
}

bool dk_maker_has_ended(struct dk_maker *maker, uint32_t ms, int *ret_status)
{
    const uint64_t deadline_ns = nacre_clock_ns() + ms * NACRE_NS_PER_MS;
    const struct timespec pause = { .tv_nsec = LOOK_NS };

    do {
        if (waitpid(maker->pid, ret_status, WNOHANG) != 0) {
            maker->pid = 0;
            return true;
        }
        (void)nanosleep(&pause, NULL);
    } while (nacre_clock_ns() < deadline_ns);
    return false;
}

void dk_maker_end(struct dk_maker *maker)
{
    nacre_fd_guard(&maker->out_fd);
    nacre_fd_guard(&maker->errors_fd);
    if (maker->pid > 0) {
        (void)kill(maker->pid, SIGTERM);
        (void)waitpid(maker->pid, NULL, 0);
    }
}
