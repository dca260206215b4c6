/*
 * What a native guest may call: programs that nobody has written for a sandbox, so the
 * list is long.  Every row is about numbers that the kernel itself looks at; an argument
 * of which it takes the low bits only is judged by those bits, or the rest of them would
 * be a way past.
 *
 * All that Docker's default profile refuses to a container without capabilities is
 * refused here too, and more: other processes' memory (ptrace, process_vm_*, kcmp),
 * handles (name_to_handle_at), device nodes, memfd_secret, io_uring, modify_ldt,
 * fanotify, and sockets of any family but those below.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "seccomp_rules.h"

static const char *const free_calls[] = {
    /* files and directories */
    "access", "chdir", "chown", "close", "close_range", "copy_file_range", "dup", "dup2",
    "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchown",
    "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr",
    "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd",
    "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init",
    "inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr", "link", "linkat",
    "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir",
    "mkdirat", "newfstatat", "pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64",
    "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv",
    "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr",
    "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync",
    "sync_file_range", "syncfs", "tee", "truncate", "umask", "unlink", "unlinkat",
    "utime", "utimensat", "utimes", "vmsplice", "write", "writev",
    /* waiting for several things at once */
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
    "epoll_wait", "eventfd", "eventfd2", "poll", "ppoll", "pselect6", "select",
    "signalfd", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_settime",
    /* memory */
    "brk", "madvise", "membarrier", "memfd_create", "mincore", "mlock", "mlock2",
    "mlockall", "mmap", "mprotect", "mremap", "msync", "munlock", "munlockall", "munmap",
    "pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages", "shmat", "shmctl",
    "shmdt", "shmget",
    /* processes and threads, of its own pid namespace */
    "arch_prctl", "execve", "execveat", "exit", "exit_group", "fork", "futex",
    "futex_waitv", "get_robust_list", "getcpu", "getpgid", "getpgrp", "getpid", "getppid",
    "getpriority", "getrlimit", "getrusage", "getsid", "gettid", "ioprio_get",
    "ioprio_set", "kill", "pause", "pidfd_open", "pidfd_send_signal", "prctl",
    "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
    "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler", "sched_yield", "set_robust_list",
    "set_tid_address", "setpgid", "setpriority", "setrlimit", "setsid", "sigaltstack",
    "tgkill", "tkill", "vfork", "wait4", "waitid",
    /* who it is; with no_new_privs and no capability it can only become less */
    "capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid",
    "getresuid", "getuid", "landlock_add_rule", "landlock_create_ruleset",
    "landlock_restrict_self", "seccomp", "setfsgid", "setfsuid", "setgid", "setgroups",
    "setregid", "setresgid", "setresuid", "setreuid", "setuid",
    /* sockets that are there, and messages */
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
    "listen", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend",
    "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "recvfrom", "recvmmsg",
    "recvmsg", "semctl", "semget", "semop", "semtimedop", "sendmmsg", "sendmsg", "sendto",
    "setsockopt", "shutdown",
    /* time, chance, the machine's name */
    "adjtimex", "alarm", "clock_adjtime", "clock_getres", "clock_gettime",
    "clock_nanosleep", "getitimer", "getrandom", "gettimeofday", "nanosleep", "setitimer",
    "sysinfo", "time", "timer_create", "timer_delete", "timer_getoverrun",
    "timer_gettime", "timer_settime", "times", "uname",
};

#define LOW32 UINT64_C(0xffffffff)
#define NEW_NAMESPACES                                                              \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |       \
                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
#define SOCKET_TYPE 0xf /* above it are SOCK_CLOEXEC and SOCK_NONBLOCK */

#define IF(index, mask, value) { { index, mask, value } }, 1
#define IF_BOTH(index, mask, value, index2, mask2, value2) \
    { { index, mask, value }, { index2, mask2, value2 } }, 2

/* A program with one of them is its owner's to whoever runs it, and what a guest leaves
 * in a directory of the host's outlives the sandbox. */
#define SET_ID (S_ISUID | S_ISGID)
#define MAKES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) /* else no mode is looked at */
#define NODE (S_IFMT | SET_ID)

static const struct nacre_seccomp_row judged_calls[] = {
    { "clone", 0, IF(0, NEW_NAMESPACES, 0) },
    /* Takes its flags by pointer, where a filter can't look; at ENOSYS the C library
     * turns to clone. */
    { "clone3", ENOSYS },
    /* The machine has so many of them in all, and one guest could take the last. */
    { "io_setup", ENOSYS },
    { "chmod", 0, IF(1, SET_ID, 0) },
    { "creat", 0, IF(1, SET_ID, 0) },
    { "fchmod", 0, IF(1, SET_ID, 0) },
    { "fchmodat", 0, IF(2, SET_ID, 0) },
    { "open", 0, IF(1, MAKES, 0) },
    { "open", 0, IF(2, SET_ID, 0) },
    { "openat", 0, IF(2, MAKES, 0) },
    { "openat", 0, IF(3, SET_ID, 0) },
    { "openat2", ENOSYS }, /* as clone3: a mode by pointer */
    { "mknod", 0, IF(1, NODE, 0) },
    { "mknod", 0, IF(1, NODE, S_IFREG) },
    { "mknod", 0, IF(1, NODE, S_IFIFO) },
    { "mknod", 0, IF(1, NODE, S_IFSOCK) },
    { "mknodat", 0, IF(2, NODE, 0) },
    { "mknodat", 0, IF(2, NODE, S_IFREG) },
    { "mknodat", 0, IF(2, NODE, S_IFIFO) },
    { "mknodat", 0, IF(2, NODE, S_IFSOCK) },
    { "personality", 0, IF(0, LOW32, PER_LINUX) },
    { "personality", 0, IF(0, LOW32, 0x0008) }, /* PER_LINUX32: uname says i686 */
    { "personality", 0, IF(0, LOW32, UNAME26) },
    { "personality", 0, IF(0, LOW32, UNAME26 | 0x0008) },
    { "personality", 0, IF(0, LOW32, LOW32) }, /* asks */
    /* Of itself, or asking only: a guest has the uid of init and its shepherds; without
     * fds or time they could not end it, and that would look like a failure of ours. */
    { "prlimit64", 0, IF(0, LOW32, 0) },
    { "prlimit64", 0, IF(2, INT64_MAX, 0) }, /* a pointer, never with the highest bit */
    { "socket", 0, IF(0, LOW32, AF_UNIX) },
    { "socket", 0, IF_BOTH(0, LOW32, AF_INET, 1, SOCKET_TYPE, SOCK_STREAM) },
    { "socket", 0, IF_BOTH(0, LOW32, AF_INET, 1, SOCKET_TYPE, SOCK_DGRAM) },
    { "socket", 0, IF_BOTH(0, LOW32, AF_INET6, 1, SOCKET_TYPE, SOCK_STREAM) },
    { "socket", 0, IF_BOTH(0, LOW32, AF_INET6, 1, SOCKET_TYPE, SOCK_DGRAM) },
    /* How the C library asks for the addresses of its interfaces. */
    { "socket", 0, IF_BOTH(0, LOW32, AF_NETLINK, 2, LOW32, NETLINK_ROUTE) },
    { "socketpair", 0, IF(0, LOW32, AF_UNIX) },
};

/* Both push characters into a terminal, as if its user had typed them. */
static const uint32_t refused_ioctls[] = { TIOCSTI, TIOCLINUX };

/* Does a refused number begin with the bits of `value` under `mask`?  Only those before
 * number `end` count. */
static bool begins_refused(uint32_t mask, uint32_t value, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        if ((refused_ioctls[i] & mask) == value)
            return true;
    }
    return false;
}

/*
 * A condition can say that bits are equal, and several rows are joined by "or", so what
 * is allowed is written as all the beginnings of a 32-bit number that no refused one
 * has: each is a refused one's beginning with its last bit turned.
 */
static enum nacre_status visit_ioctls(nacre_seccomp_visit *visit, void *data,
                                      struct nacre_error *err)
{
    for (size_t i = 0; i < NACRE_COUNT(refused_ioctls); i++) {
        for (int bit = 31; bit >= 0; bit--) {
            uint32_t mask = UINT32_MAX << bit;
            uint32_t value = (refused_ioctls[i] & mask) ^ (UINT32_C(1) << bit);
            const struct nacre_seccomp_row row = { "ioctl", 0, IF(1, mask, value) };
            enum nacre_status status;

            /* The second: a beginning that an earlier one has given already. */
            if (begins_refused(mask, value, NACRE_COUNT(refused_ioctls)) ||
                begins_refused(mask << 1, value & (mask << 1), i))
                continue;
            status = visit(data, &row, err);
            if (status != NACRE_OK)
                return status;
        }
    }
    return NACRE_OK;
}

enum nacre_status nacre_seccomp_native_rows(nacre_seccomp_visit *visit, void *data,
                                            struct nacre_error *err)
{
    enum nacre_status status;

    for (size_t i = 0; i < NACRE_COUNT(free_calls); i++) {
        const struct nacre_seccomp_row row = { .name = free_calls[i] };

        status = visit(data, &row, err);
        if (status != NACRE_OK)
            return status;
    }
    for (size_t i = 0; i < NACRE_COUNT(judged_calls); i++) {
        status = visit(data, &judged_calls[i], err);
        if (status != NACRE_OK)
            return status;
    }
    return visit_ioctls(visit, data, err);
}
