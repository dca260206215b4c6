/*
 * System calls one by one, each in a process of its own: first without the filter, to
 * show that it works (or, where that would do harm, that it comes back), then under
 * each of the filters.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#include "seccomp_rules.h"
#include "under_filter.h"

static struct nacre_seccomp_program *filters[3];

static int build_filters(void **state)
{
    static const struct {
        enum nacre_seccomp_kind kind;
        uint32_t extras;
    } kinds[] = {
        { NACRE_SECCOMP_WORKER, 0 },
        { NACRE_SECCOMP_WORKER, NACRE_SECCOMP_MAP_CODE | NACRE_SECCOMP_RECEIVE_FDS },
        { NACRE_SECCOMP_COMPILER, NACRE_SECCOMP_MAP_CODE },
    };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(filters); i++) {
        if (nacre_seccomp_build(kinds[i].kind, kinds[i].extras, &filters[i], &err) !=
            NACRE_OK)
            return -1;
    }
    return 0;
}

static int free_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(filters); i++)
        nacre_seccomp_program_free(filters[i]);
    return 0;
}

struct call {
    const char *name;
    long number;
    long args[6];
};

/* 0 when it succeeds, else its errno. */
static int make_call(void *data)
{
    const struct call *call = data;
    const long *a = call->args;

    return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) >= 0 ? 0 : errno;
}

#define BAD { -1, -1, -1, -1, -1, -1 }
#define FATAL(name) { #name, SYS_##name, BAD }
#define FATAL_NUMBER(name, number) { #name, number, BAD }

/* With arguments that no kernel accepts, so that the control does no harm. */
static const struct call fatal[] = {
    FATAL(execve), FATAL(execveat), FATAL(ptrace), FATAL(process_vm_readv),
    FATAL(process_vm_writev), FATAL_NUMBER(process_madvise, 440),
    FATAL_NUMBER(process_mrelease, 448), FATAL(kcmp), FATAL_NUMBER(pidfd_open, 434),
    FATAL_NUMBER(pidfd_getfd, 438), FATAL_NUMBER(pidfd_send_signal, 424),
    { "kill", SYS_kill, { 0x3fffffff, 0 } }, FATAL(tkill), FATAL(rt_sigqueueinfo),
    FATAL(rt_tgsigqueueinfo),
    FATAL(socket), FATAL(socketpair), FATAL(connect), FATAL(bind), FATAL(listen),
    FATAL(accept), FATAL(accept4),
    FATAL(bpf), FATAL(perf_event_open), FATAL(userfaultfd),
    FATAL_NUMBER(io_uring_setup, 425), FATAL_NUMBER(io_uring_enter, 426),
    FATAL_NUMBER(io_uring_register, 427), FATAL_NUMBER(memfd_secret, 447), FATAL(keyctl),
    FATAL(add_key), FATAL(request_key), FATAL(personality), FATAL(fanotify_init),
    FATAL(open_by_handle_at),
    FATAL(mount), FATAL(umount2), FATAL(pivot_root), FATAL(chroot),
    FATAL_NUMBER(move_mount, 429), FATAL_NUMBER(open_tree, 428),
    FATAL_NUMBER(fsopen, 430), FATAL_NUMBER(fsconfig, 431), FATAL_NUMBER(fsmount, 432),
    FATAL_NUMBER(fspick, 433),
    FATAL_NUMBER(mount_setattr, 442), FATAL(unshare), FATAL(setns), FATAL(mknodat),
    FATAL(kexec_load), { "init_module", SYS_init_module, { -1, 0, -1 } },
    FATAL(finit_module), FATAL(delete_module), FATAL(reboot), FATAL(swapon),
    FATAL(swapoff), FATAL(acct), FATAL(quotactl), FATAL(syslog), FATAL(settimeofday),
    FATAL(clock_settime), FATAL(adjtimex), FATAL(clock_adjtime), FATAL(sethostname),
    FATAL(setdomainname),
    FATAL(setuid), FATAL(setgid), FATAL(setreuid), FATAL(setregid), FATAL(setresuid),
    FATAL(setresgid), FATAL(setgroups), FATAL(setfsuid), FATAL(setfsgid), FATAL(capset),
#ifdef __x86_64__
    { "fork", SYS_fork, { 0 } }, FATAL(mknod), FATAL(modify_ldt), FATAL(iopl),
    FATAL(ioperm), FATAL(kexec_file_load),
    { "getpid by x32", 0x40000000 + SYS_getpid, { 0 } },
#endif
};

static void a_call_that_only_an_attacker_makes_is_the_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fatal); i++) {
        struct call call = fatal[i];
        int control = try(NULL, make_call, &call);

        if (!WIFEXITED(control))
            fail_msg("%s: the control did not come back", call.name);
        for (size_t k = 0; k < NACRE_COUNT(filters); k++) {
            int status = try(filters[k], make_call, &call);

            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                fail_msg("%s: survived filter %zu", call.name, k);
        }
    }
}

/* These work for anybody without the filter; nothing of ours needs them.  100 is a
 * directory, 101 and 102 are the ends of a socket pair. */
static const struct call harmless[] = {
    { "prctl", SYS_prctl, { PR_GET_DUMPABLE } },
    { "umask", SYS_umask, { 077 } },
    { "getuid", SYS_getuid, { 0 } },
    { "getppid", SYS_getppid, { 0 } },
    { "setsid", SYS_setsid, { 0 } },
    { "dup", SYS_dup, { 2 } },
    { "dup3", SYS_dup3, { 2, 100, O_CLOEXEC } },
    { "chdir", SYS_chdir, { (long)"/" } },
    { "fchmod set-id", SYS_fchmod, { 100, 04700 } },
    { "fchmodat", SYS_fchmodat, { 100, (long)".", 0700 } },
    { "memfd_create", SYS_memfd_create, { (long)"x", 0 } },
    { "epoll_create1", SYS_epoll_create1, { 0 } },
    { "eventfd2", SYS_eventfd2, { 0, 0 } },
    { "timerfd_create", SYS_timerfd_create, { CLOCK_MONOTONIC, 0 } },
    { "inotify_init1", SYS_inotify_init1, { 0 } },
    { "prlimit64", SYS_prlimit64, { 0, RLIMIT_CORE } },
    { "setpriority", SYS_setpriority, { PRIO_PROCESS, 0, 19 } },
    { "sched_getparam", SYS_sched_getparam, { 0, (long)(char[64]){ 0 } } },
    { "fcntl F_SETOWN", SYS_fcntl, { 100, F_SETOWN, 0 } },
    { "fcntl F_NOTIFY", SYS_fcntl, { 100, F_NOTIFY, 0 } },
    { "ioctl FIONBIO", SYS_ioctl, { 101, FIONBIO, (long)(char[64]){ 0 } } },
    { "sendmsg", SYS_sendmsg, { 101, (long)(char[64]){ 0 }, 0 } },
    { "sendto with other flags", SYS_sendto, { 101, (long)"x", 1, MSG_DONTWAIT, 0, 0 } },
    { "sendto with other flags", SYS_sendto, { 101, (long)"x", 1, MSG_NOSIGNAL, 0, 0 } },
    { "recvfrom", SYS_recvfrom, { 102, (long)(char[64]){ 0 }, 1, MSG_PEEK, 0, 0 } },
    { "munlockall", SYS_munlockall, { 0 } },
    { "flock", SYS_flock, { 100, 8 } },
};

static void what_is_not_listed_gets_eperm(void **state)
{
    char directory[] = "/tmp/nacre-seccomp-calls-XXXXXX";
    int pair[2], dir_fd;

    (void)state;
    assert_non_null(mkdtemp(directory));
    dir_fd = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(dup2(pair[0], 101), 101);
    assert_int_equal(dup2(pair[1], 102), 102);
    assert_int_equal(write(101, "x", 1), 1);
    assert_int_equal(dup2(dir_fd, 100), 100);
    for (size_t i = 0; i < NACRE_COUNT(harmless); i++) {
        struct call call = harmless[i];
        int control = try(NULL, make_call, &call);

        if (!WIFEXITED(control) || WEXITSTATUS(control) != 0)
            fail_msg("%s: the control failed with %d", call.name, WEXITSTATUS(control));
        for (size_t k = 0; k < NACRE_COUNT(filters); k++) {
            int status = try(filters[k], make_call, &call);

            if (!WIFEXITED(status) || WEXITSTATUS(status) != EPERM)
                fail_msg("%s: %d under filter %zu", call.name, status, k);
        }
    }
    close(100);
    close(101);
    close(102);
    close(dir_fd);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_only_an_attacker_makes_is_the_last),
        cmocka_unit_test(what_is_not_listed_gets_eperm),
    };

    return cmocka_run_group_tests_name("seccomp_calls", tests, build_filters,
                                       free_filters);
}
