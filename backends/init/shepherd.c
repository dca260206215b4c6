#include "shepherd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "fds.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "signals.h"

#define ROUND_MS 2 /* between two looks at what still lives; a death wakes earlier */

struct shepherd {
    int socket, signals;
    int executing; /* at its end once the command was executed */
    pid_t command;
    bool started, command_ended;
    int signal_held; /* came before there was anything to signal */
    struct shepherd_word last;
};

static void say(const struct shepherd *shepherd, const struct shepherd_word *word)
{
    (void)send(shepherd->socket, word, sizeof(*word), MSG_NOSIGNAL);
}

static void refuse(struct shepherd *shepherd, enum init_refusal refusal, int error,
                   const char *text)
{
    shepherd->last.kind = SHEPHERD_REFUSED;
    exec_refusal_set(&shepherd->last.refusal, refusal, error, text);
}

/* False with the refusal. */
static bool take_streams(const struct shepherd_fds *fds, struct exec_refusal *refusal)
{
    int input = fds->input < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fds->input;

    if (input < 0) {
        exec_refusal_set(refusal, INIT_REFUSAL_WALL, errno, "/dev/null");
        return false;
    }
    if (dup2(input, 0) < 0 || dup2(fds->output, 1) < 0 || dup2(fds->errors, 2) < 0) {
        exec_refusal_set(refusal, INIT_REFUSAL_FULL, errno, "fds");
        return false;
    }
    return true;
}

_Noreturn void shepherd_be_command(const struct exec_plan *plan,
                                   const struct shepherd_fds *fds, int executing)
{
    struct exec_refusal refusal = { 0 };

    if (take_streams(fds, &refusal))
        exec_command(plan, &refusal);
    (void)!write(executing, &refusal, sizeof(refusal));
    _exit(127);
}

/* False with a refusal for its last word. */
static bool start(struct shepherd *shepherd, const struct exec_plan *plan,
                  const struct shepherd_fds *fds)
{
    int ends[2];

    shepherd->signals = signals_take();
    shepherd->last.is_no_reaper = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0;
    if ((shepherd->last.is_no_reaper && errno != EINVAL) || shepherd->signals < 0 ||
        pipe2(ends, O_CLOEXEC) < 0) {
        refuse(shepherd, INIT_REFUSAL_FULL, errno, "shepherd");
        return false;
    }
    shepherd->command = fork();
    if (shepherd->command == 0)
        shepherd_be_command(plan, fds, ends[1]);
    if (shepherd->command < 0) {
        refuse(shepherd, INIT_REFUSAL_FULL, errno, "fork");
        return false;
    }
    shepherd->executing = ends[0];
    /* Without the ends of other commands' pipes: who reads them waits for their end. */
    fds_keep((const int[]){ shepherd->socket, shepherd->signals, ends[0] }, 3);
    return true;
}

/* The command's own process has said why not, or was executed. */
static void hear_executing(struct shepherd *shepherd)
{
    struct exec_refusal refusal;
    ssize_t count = read(shepherd->executing, &refusal, sizeof(refusal));

    fd_close(&shepherd->executing);
    if (count == sizeof(refusal)) {
        shepherd->last.kind = SHEPHERD_REFUSED;
        shepherd->last.refusal = refusal;
        return;
    }
    shepherd->started = true;
    say(shepherd, &(const struct shepherd_word){ .kind = SHEPHERD_STARTED });
    if (shepherd->signal_held > 0)
        (void)kill(-shepherd->command, shepherd->signal_held);
}

static void reaped(struct shepherd *shepherd, pid_t pid, int status, bool ending)
{
    if (pid == shepherd->command) {
        shepherd->command_ended = true;
        shepherd->last.wait_status = status;
    } else if (ending && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        shepherd->last.left_behind++;
    }
}

/* Until none is left.  A process that dies hands its children on to this one, and each
 * round takes all that are there, so a tree that forks on is followed down. */
static bool end_all(struct shepherd *shepherd)
{
    uint64_t until = nacre_clock_ns() + SHEPHERD_KILL_MS * NACRE_NS_PER_MS;
    struct pollfd death = { .fd = shepherd->signals, .events = POLLIN };
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    for (;;) {
        while ((pid = children_reap(&status)) > 0)
            reaped(shepherd, pid, status, true);
        if (pid < 0)
            return true;
        if (nacre_clock_ns() > until || !children_kill())
            return false;
        (void)poll(&death, 1, ROUND_MS);
        while (read(shepherd->signals, &info, sizeof(info)) > 0)
            ;
    }
}

/* True: end it. */
static bool hear_order(struct shepherd *shepherd)
{
    struct shepherd_order order;
    ssize_t count = recv(shepherd->socket, &order, sizeof(order), MSG_DONTWAIT);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    /* Init itself is dead when the socket is at its end. */
    if (count != sizeof(order) || order.signal == 0)
        return true;
    if (!shepherd->started)
        shepherd->signal_held = order.signal;
    else if (!shepherd->command_ended)
        (void)kill(-shepherd->command, order.signal);
    return false;
}

static void watch(struct shepherd *shepherd)
{
    struct signalfd_siginfo info;
    bool ordered = false;
    int status;
    pid_t pid;

    while (!ordered && !shepherd->command_ended) {
        struct pollfd fds[] = {
            { .fd = shepherd->executing, .events = POLLIN },
            { .fd = shepherd->signals, .events = POLLIN },
            { .fd = shepherd->socket, .events = POLLIN },
        };

        (void)poll(fds, NACRE_COUNT(fds), -1);
        if (fds[0].revents)
            hear_executing(shepherd);
        if (fds[1].revents) {
            while (read(shepherd->signals, &info, sizeof(info)) > 0)
                ;
            while ((pid = children_reap(&status)) > 0)
                reaped(shepherd, pid, status, false);
        }
        if (fds[2].revents)
            ordered = hear_order(shepherd);
    }
    if (!shepherd->command_ended)
        shepherd->last.was_ordered = true;
    else if (shepherd->executing >= 0)
        hear_executing(shepherd);
}

void shepherd_account(struct shepherd_word *word)
{
    struct rusage usage;

    if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    word->user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 +
                    (uint64_t)usage.ru_utime.tv_usec;
    word->system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 +
                      (uint64_t)usage.ru_stime.tv_usec;
    word->memory_bytes_peak = (uint64_t)usage.ru_maxrss * 1024;
}

_Noreturn void shepherd_main(const struct exec_plan *plan,
                             const struct shepherd_fds *fds)
{
    struct shepherd shepherd = { .socket = fds->socket, .signals = -1, .executing = -1 };

    (void)prctl(PR_SET_NAME, "nacre-shepherd");
    if (start(&shepherd, plan, fds)) {
        bool all;

        watch(&shepherd);
        all = end_all(&shepherd);
        if (shepherd.last.was_ordered)
            shepherd.last.left_behind = 0; /* nothing outlived it: all were ended */
        if (!all)
            shepherd.last.kind = SHEPHERD_BEATEN;
        else if (shepherd.last.kind == SHEPHERD_NONE)
            shepherd.last.kind = SHEPHERD_ENDED;
        shepherd_account(&shepherd.last);
    }
    say(&shepherd, &shepherd.last);
    _exit(0);
}
