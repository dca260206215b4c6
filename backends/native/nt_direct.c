/*
 * From clone() to exec the child shares all memory with this thread, which waits
 * meanwhile: it makes system calls and nothing else, with all signals blocked.
 */
#include "nt_direct.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ids.h"
#include "pass.h"
#include "spec.h"
#include "trees.h"

/* The network's and the mounts' it makes itself, while this process goes on. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define STACK_BYTES 16384
#define ENDED_MS 200 /* from a failure that its end explains to that end */

struct birth {
    int program, socket; /* above 2 */
    const cpu_set_t *elsewhere; /* NULL: it may run anywhere */
};

/* It never returns to where a sanitizer would tidy up its stack, which is its parent's. */
#define APART __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* Those over its own namespace that making the sandbox takes: as a user whose id is not
 * mapped yet it would lose them by exec.  init gives them up before the first command. */
APART static bool keep_capabilities(void)
{
    static const unsigned long needed[] = {
        CAP_SYS_ADMIN,        /* mounts, namespaces, its name */
        CAP_NET_ADMIN,        /* loopback */
        CAP_NET_BIND_SERVICE, /* a door's ports */
        CAP_SETUID, CAP_SETGID,
        CAP_SETPCAP,          /* to bound what is left */
        CAP_SYS_RESOURCE,     /* its namespace's limits */
    };
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    for (size_t i = 0; i < NACRE_COUNT(sets); i++)
        sets[i].inheritable = sets[i].permitted;
    if (syscall(SYS_capset, &header, sets) != 0)
        return false;
    for (size_t i = 0; i < NACRE_COUNT(needed); i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) != 0)
            return false;
    return true;
}

APART static int be_inner(void *data)
{
    static const char *const arguments[] = { "nacre-init", "inner", NULL };
    static const char *const environment[] = { NULL };
    const struct birth *birth = data;

    /* That it can't be kept apart costs time alone. */
    if (birth->elsewhere)
        (void)sched_setaffinity(0, sizeof(*birth->elsewhere), birth->elsewhere);
    if (dup2(birth->socket, 0) == 0 && keep_capabilities())
        (void)syscall(SYS_execveat, birth->program, "", arguments, environment,
                      AT_EMPTY_PATH);
    _exit(127);
}

static pid_t clone_blocked(struct birth *birth, int *ret_pidfd)
{
    _Alignas(16) char stack[STACK_BYTES];
    sigset_t every, before;
    pid_t pid;

    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    pid = clone(be_inner, stack + sizeof(stack),
                CLONE_VM | CLONE_VFORK | CLONE_PIDFD | NAMESPACES | SIGCHLD, birth,
                ret_pidfd);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Root's further groups would stay in force on the host's files; an ordinary user may not
 * drop its own, and has no more than it had.  By number: the C library would change those
 * of all threads. */
static pid_t clone_alone(struct birth *birth, int *ret_pidfd, const char **ret_failed)
{
    int count = geteuid() == 0 ? getgroups(0, NULL) : 0, number;
    NACRE_AUTO(nacre_heap_guard) gid_t *groups = NULL;
    pid_t pid;

    if (count <= 0)
        return clone_blocked(birth, ret_pidfd);
    groups = malloc((size_t)count * sizeof(*groups));
    if (!groups || getgroups(count, groups) != count ||
        syscall(SYS_setgroups, 0, NULL) != 0) {
        *ret_failed = "leave further groups behind";
        return -1;
    }
    pid = clone_blocked(birth, ret_pidfd);
    number = errno;
    (void)syscall(SYS_setgroups, count, groups);
    errno = number;
    return pid;
}

/* Where it is to run: on any processor that this thread may use but the one it is on. */
static bool find_elsewhere(struct nt_direct *direct, cpu_set_t *ret_elsewhere)
{
    int here = sched_getcpu();

    if (here < 0 || here >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof(direct->cpus), &direct->cpus) != 0)
        return false;
    *ret_elsewhere = direct->cpus;
    CPU_CLR((size_t)here, ret_elsewhere);
    return CPU_COUNT(ret_elsewhere) > 0;
}

static bool send_head(int socket, const struct spec_head *head)
{
    uint8_t bytes[SPEC_HEAD_MAX];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    spec_head_pack(&pack, head);
    assert(!pack.failed);
    return pass_send(socket, bytes, pack.used, NULL, 0);
}

enum nacre_status nt_direct_begin(int init_fd, const struct spec_head *head,
                                  struct nt_direct *ret_direct, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int program = fcntl(init_fd, F_DUPFD_CLOEXEC, 3);
    NACRE_AUTO(nacre_fd_guard) int ours = -1;
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    const char *failed = "make the namespaces";
    struct nt_direct direct = { .thread = gettid() };
    cpu_set_t elsewhere;
    int pair[2];

    if (program < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a socket for the sandbox");
    ours = pair[0];
    theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 3);
    (void)close(pair[1]);
    if (theirs < 0 || !send_head(ours, head))
        return nacre_fail(err, NACRE_ERR_IO, "a socket for the sandbox");
    direct.is_apart = find_elsewhere(&direct, &elsewhere);
    direct.pid = clone_alone(
        &(struct birth){ program, theirs, direct.is_apart ? &elsewhere : NULL },
        &direct.pid1_fd, &failed);
    if (direct.pid < 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "can't %s", failed);
    direct.socket = nacre_fd_take(&ours);
    *ret_direct = direct;
    return NACRE_OK;
}

/* In the middle of exec its files belong to root: so it says when that is over. */
static bool is_born(const struct nt_direct *direct)
{
    size_t count;
    char byte = 0;

    return pass_receive(direct->socket, false, &byte, 1, NULL, 0, &count) == 1 &&
           byte == LAUNCH_BORN;
}

static enum nacre_status map_ids(const struct nt_direct *direct,
                                 const struct spec_head *head,
                                 const struct nt_launch_options *options,
                                 struct nacre_error *err)
{
    struct pollfd ended = { .fd = direct->pid1_fd, .events = POLLIN };
    enum nacre_status status = nt_launch_await(direct->socket, options, err);
    const char *unmapped;

    if (status != NACRE_OK)
        return status;
    unmapped = is_born(direct) ? nacre_ids_map(direct->pid, head->uid, head->gid)
                               : "its birth";
    if (!unmapped)
        return NACRE_OK;
    (void)nacre_fail(err, NACRE_ERR_UNAVAILABLE, "can't map the sandbox's ids by %s",
                     unmapped);
    if (poll(&ended, 1, ENDED_MS) == 1)
        return nacre_fail(err, NACRE_ERR_IO,
                          "the sandbox's first process has ended (was it killed, or is a "
                          "system call that it needs forbidden?)");
    return err->status;
}

enum nacre_status nt_order_send(int socket, bool loose, int channel, int spec_fd,
                                const struct nt_launch_options *options,
                                struct nacre_error *err)
{
    const struct launch_order order = { .loose = loose };
    int fds[LAUNCH_FDS_MAX + 2] = { channel, spec_fd };

    if (options->fd_count > 0)
        memcpy(fds + 2, options->fds, options->fd_count * sizeof(int));
    if (!pass_send(socket, &order, sizeof(order), fds, options->fd_count + 2) &&
        errno != EPIPE && errno != ECONNRESET)
        return nacre_fail(err, NACRE_ERR_IO, "the sandbox's spec can't be handed over");
    return NACRE_OK;
}

/* All at once, so that it is woken once. */
static enum nacre_status give_order(const struct nt_direct *direct, int channel,
                                    int spec_fd, struct unpack *ops, uint64_t op_count,
                                    const struct nt_launch_options *options,
                                    struct nacre_error *err)
{
    enum nacre_status status;
    struct spec_op failed = { .text = "" };
    int trees[TREES_MAX];
    size_t count = 0;

    if (!trees_open(ops, op_count, options->fds, options->fd_count, trees, &count,
                    &failed))
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE, "can't %s %.300s",
                            spec_kind_words(failed.kind), failed.text);
    else
        status = nt_order_send(direct->socket, direct->thread != gettid(), channel,
                               spec_fd, options, err);
    if (status == NACRE_OK && !trees_send(direct->socket, trees, count) &&
        errno != EPIPE && errno != ECONNRESET)
        status = nacre_fail(err, NACRE_ERR_IO, "the sandbox's mounts can't be handed over");
    for (size_t i = 0; i < count; i++)
        (void)close(trees[i]);
    return status;
}

enum nacre_status nt_direct_order(struct nt_direct *direct, int channel, int spec_fd,
                                  const struct nt_launch_options *options,
                                  struct nt_launched *launched, struct nacre_error *err)
{
    struct unpack spec = { .bytes = options->spec, .size = options->spec_bytes };
    struct spec_head head;
    bool is_spec = spec_head_unpack(&spec, &head);
    enum nacre_status status;

    assert(is_spec);
    status = map_ids(direct, &head, options, err);
    if (status == NACRE_OK)
        status = give_order(direct, channel, spec_fd, &spec, head.op_count, options, err);
    launched->pid1_fd = nacre_fd_take(&direct->pid1_fd);
    launched->apart = direct->is_apart ? direct->pid : 0;
    launched->cpus = direct->cpus;
    (void)close(nacre_fd_take(&direct->socket));
    return status;
}

void nt_direct_end(struct nt_direct *direct)
{
    struct nt_launched launched = { nacre_fd_take(&direct->pid1_fd), -1,
                                    nacre_fd_take(&direct->socket) };
    struct nacre_error err;

    (void)!nt_launched_end(&launched, &err);
}
