/*
 * The launcher: a small program of one thread that the host spawns, so that neither the
 * host's size nor its threads matter.  It makes sandboxes to order until the host has
 * gone, and reads from the host alone; no guest has run before init_main().
 *
 * Two processes.  This one, with the caller's rights, opens what only they can reach,
 * makes the inner one and maps its ids.  The inner one (launch_inner.c) is pid 1 of the
 * sandbox and, by CLONE_PARENT, a child of the host: nobody stands between the two.
 *
 * Most of the time that a sandbox takes is the kernel's, for its namespaces.  So the next
 * pid 1 is made while nobody waits for it.  It has all namespaces but the mounts' and the
 * cgroup's: it holds nothing that the host could want to unmount or remove.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame.h"
#include "ids.h"
#include "launch_ops.h"
#include "nacre/own.h"
#include "pass.h"
#include "pidfd.h"
#include "signals.h"

#define CONTROL 0
#define NOTHING 1 /* /dev/null */
#define INNER LAUNCH_SOCKET /* to the next pid 1; without one it leads nowhere */
#define NAMESPACES                                                                       \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

int launch_channel = -1;

static bool close_from(int first)
{
    return syscall(SYS_close_range, first, ~0u, 0) == 0;
}

_Noreturn void launch_fail(const char *step, const char *what)
{
    char text[512];
    uint8_t bytes[FRAME_HEADER + sizeof(text) + 16];
    const char *words = strerrordesc_np(errno);
    struct pack pack = { .bytes = bytes + FRAME_HEADER,
                         .size = sizeof(bytes) - FRAME_HEADER };
    struct frame frame = { .type = FRAME_FAILED };

    (void)snprintf(text, sizeof(text), "can't %s%s%.300s: %s", step, what ? " " : "",
                   what ? what : "", words ? words : "unknown");
    pack_text(&pack, text);
    frame.size = (uint32_t)pack.used;
    frame_header(bytes, &frame);
    (void)!write(launch_channel, bytes, FRAME_HEADER + pack.used);
    _exit(1);
}

void launch_read_spec(struct launch *launch, int spec_fd)
{
    struct unpack unpack = { 0 };
    struct stat info;

    if (fstat(spec_fd, &info) != 0 || info.st_size <= 0 ||
        (uint64_t)info.st_size > SPEC_BYTES_MAX)
        launch_fail("read the spec", NULL);
    unpack.size = (size_t)info.st_size;
    unpack.bytes = mmap(NULL, unpack.size, PROT_READ, MAP_PRIVATE, spec_fd, 0);
    if (unpack.bytes == MAP_FAILED)
        launch_fail("read the spec", NULL);
    if (!spec_head_unpack(&unpack, &launch->head)) {
        errno = EBADMSG;
        launch_fail("read the spec", NULL);
    }
    launch->spec = unpack.bytes;
    launch->spec_bytes = unpack.size;
    launch->ops = unpack.bytes + unpack.used;
    launch->op_bytes = unpack.size - unpack.used;
}

/* The host learns of its new child by a pidfd: a number could have become a stranger's by
 * the time that it waits for it. */
static bool announce(int pidfd)
{
    const char born = LAUNCH_BORN;

    return pass_send(CONTROL, &born, 1, &pidfd, 1);
}

/*
 * Without its ids mapped the new one is nobody, and with the launcher gone it never will
 * be somebody.  Then the host may not have heard of it, and would not wait for it: better
 * twice than not at all.
 */
static void await_ids(int socket)
{
    size_t count;
    char go;

    if (pass_receive(socket, true, &go, 1, NULL, 0, &count) != 1) {
        (void)announce(nacre_pidfd_open(getpid()));
        _exit(1);
    }
    (void)dup2(NOTHING, CONTROL); /* its end is the launcher's end */
}

/* It waits at INNER. */
static void make_inner(const struct spec_head *head)
{
    int pidfd = -1, pair[2];
    struct clone_args args = {
        .flags = NAMESPACES | CLONE_PARENT | CLONE_PIDFD,
        .pidfd = (uintptr_t)&pidfd,
    };
    const char *unmapped;
    long pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        launch_fail("make a socket", NULL);
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        (void)close(pair[0]);
        await_ids(pair[1]);
        launch_inner(head, pair[1], LAUNCH_MADE_SOME, 0);
    }
    if (pid < 0)
        launch_fail("make the namespaces", NULL);
    (void)close(pair[1]);
    if (!announce(pidfd))
        _exit(1); /* there is no host any more */
    unmapped = nacre_ids_map((pid_t)pid, head->uid, head->gid);
    if (unmapped)
        launch_fail("map the sandbox's ids by", unmapped);
    if (!pass_send(pair[0], "", 1, NULL, 0) || dup3(pair[0], INNER, O_CLOEXEC) < 0)
        launch_fail("go on", NULL);
}

/* Messages to somebody who has not been told yet where failures go: it ends without a
 * word when one is missing, and the host sees the channel's end. */
static void give_order(const struct launch *launch, int spec_fd)
{
    int fds[LAUNCH_FDS_MAX + 2] = { launch_channel, spec_fd };

    memcpy(fds + 2, launch->fds, launch->fd_count * sizeof(int));
    if (!pass_send(INNER, &launch->order, sizeof(launch->order), fds,
                   launch->fd_count + 2))
        launch_fail("hand the order on", NULL);
}

/* With the caller's own privileges. */
static void give_trees(struct launch *launch)
{
    struct unpack ops = { .bytes = launch->ops, .size = launch->op_bytes };
    struct spec_op op = { .text = "" };

    if (!trees_open(&ops, launch->head.op_count, launch->fds, launch->fd_count,
                    launch->trees, &launch->tree_count, &op))
        launch_fail(spec_kind_words(op.kind), op.text);
    if (!trees_send(INNER, launch->trees, launch->tree_count))
        launch_fail("hand the mounts on", NULL);
}

/* The order first: its namespace of mounts is made while the trees are opened here. */
static void make_sandbox(struct launch *launch, int spec_fd, bool has_inner)
{
    if (!has_inner)
        make_inner(&launch->head);
    give_order(launch, spec_fd);
    give_trees(launch);
    /* Nothing of this sandbox is held any longer, nor seen by the next one. */
    launch_channel = -1;
    (void)munmap((void *)(uintptr_t)launch->spec, launch->spec_bytes);
    (void)dup3(NOTHING, INNER, O_CLOEXEC);
    (void)close_from(INNER + 1);
}

/* False when there is nobody any more. */
static bool serve(struct launch *launch, bool has_inner)
{
    static char hostname[HOST_NAME_MAX + 1];
    int fds[LAUNCH_FDS_MAX + 2];
    size_t count;

    if (pass_receive(CONTROL, true, &launch->order, sizeof(launch->order), fds,
                     NACRE_COUNT(fds), &count) != sizeof(launch->order) || count < 2)
        return false;
    launch_channel = fds[0];
    launch->fd_count = count - 2;
    memcpy(launch->fds, fds + 2, launch->fd_count * sizeof(int));
    launch_read_spec(launch, fds[1]);
    (void)snprintf(hostname, sizeof(hostname), "%s", launch->head.hostname);
    launch->head.hostname = hostname;
    make_sandbox(launch, fds[1], has_inner);
    make_inner(&launch->head);
    (void)close_from(INNER + 1);
    return true;
}

/* In real time a guest would have a processor to itself; and cgroups may take none in.
 * By number: musl has its own opinion of these calls, and makes none. */
static bool leave_real_time(void)
{
    const int priority = 0;
    long policy = syscall(SYS_sched_getscheduler, 0);

    return (policy != SCHED_FIFO && policy != SCHED_RR) ||
           syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &priority) == 0;
}

/* A caller that is preferred, or spared when memory is short, is so for itself; and nobody
 * has asked for a guest without address randomisation. */
static bool leave_favours(void)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    char first;

    if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) != 0)
        return false;
    return personality(0) >= 0 &&
           (fd < 0 || read(fd, &first, 1) != 1 || first != '-' ||
            pwrite(fd, "0", 1, 0) == 1);
}

bool launch_begin(void)
{
    int null_fd;

    if (!close_from(CONTROL + 1) || chdir("/") != 0 || !leave_real_time() ||
        !leave_favours())
        return false;
    null_fd = open("/dev/null", O_RDWR);
    (void)umask(0);
    signals_reset();
    /* Those of root would stay in force on the host's files.  An ordinary user may not
     * drop its own, and has no more than it had. */
    return null_fd == NOTHING && dup2(NOTHING, 2) == 2 &&
           dup3(NOTHING, INNER, O_CLOEXEC) == INNER &&
           (setgroups(0, NULL) == 0 || errno == EPERM);
}

int launch_main(void)
{
    static struct launch launch;
    bool has_inner = false;

    if (!launch_begin())
        return 1;
    for (;;) {
        launch = (struct launch){ .root_fd = -1, .names_fd = -1 };
        if (!serve(&launch, has_inner))
            return 0;
        has_inner = true;
    }
}
