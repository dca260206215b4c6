/*
 * Prints the door's system call filter as C while nacre is being built: numbers alone are
 * left at run time, libseccomp is no part of the door.
 *
 * It is assumed that whoever speaks TLS, HTTP or DNS with the door has taken it over.
 * What it may still do is what it was doing: talk over IP and over the fds that it holds,
 * read the CA bundle (Landlock keeps to that one), have memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "nacre/own.h"

static const int allowed[] = {
    /* memory, time, signals, the end */
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(munlock), SCMP_SYS(futex),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(rseq), SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    /* who and where it is */
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrusage),
    SCMP_SYS(uname), SCMP_SYS(sysinfo),
    /* fds */
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev),
    SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(close), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select),
    SCMP_SYS(pselect6), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_create1),
    SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
    /* connections */
    SCMP_SYS(connect), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(shutdown),
    SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg), SCMP_SYS(bind),
};

/* Nothing of the door's makes these, so whoever does is not the door: no second try. */
static const int fatal[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
    SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(listen), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(keyctl),
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(mount), SCMP_SYS(umount2),
    SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(move_mount), SCMP_SYS(open_tree),
    SCMP_SYS(fsopen), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(kexec_load),
};

/* With a value in one argument: all of its bits below `mask` are as in `value`. */
static const struct {
    int call;
    unsigned argument;
    uint64_t mask, value;
} narrowed[] = {
    /* IP, and pairs that libcurl wakes itself up by: no packet, netlink or unix socket */
    { SCMP_SYS(socket), 0, UINT32_MAX, AF_INET },
    { SCMP_SYS(socket), 0, UINT32_MAX, AF_INET6 },
    { SCMP_SYS(socketpair), 0, UINT32_MAX, AF_UNIX },
    { SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
    { SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
    { SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL },
    { SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFL },
    { SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD },
    { SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFD },
    { SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC },
    { SCMP_SYS(ioctl), 1, UINT32_MAX, FIONBIO },
    { SCMP_SYS(ioctl), 1, UINT32_MAX, FIONREAD },
};

static int add_all(scmp_filter_ctx filter)
{
    int code = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

    if (code == 0) /* a tree: quicker for each call, and to load */
        code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; code == 0 && i < NACRE_COUNT(allowed); i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; code == 0 && i < NACRE_COUNT(fatal); i++)
        code = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
    for (size_t i = 0; code == 0 && i < NACRE_COUNT(narrowed); i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, narrowed[i].call, 1,
                                SCMP_CMP(narrowed[i].argument, SCMP_CMP_MASKED_EQ,
                                         narrowed[i].mask, narrowed[i].value));
    return code;
}

/* libseccomp writes to an fd alone. */
static int print(scmp_filter_ctx filter)
{
    FILE *file = tmpfile();
    struct {
        uint16_t code;
        uint8_t jt, jf;
        uint32_t k;
    } step;
    int failed = !file || seccomp_export_bpf(filter, fileno(file)) != 0;

    if (!failed)
        rewind(file);
    (void)printf("static const struct sock_filter filter[] = {\n");
    while (!failed && fread(&step, sizeof(step), 1, file) == 1)
        (void)printf("    { 0x%04x, %u, %u, 0x%08x },\n", step.code, step.jt, step.jf,
                     step.k);
    (void)printf("};\n");
    if (file)
        (void)fclose(file);
    return failed || fflush(stdout) != 0;
}

int main(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int code = filter ? add_all(filter) : -ENOMEM;
    int failed = code != 0 || print(filter) != 0;

    if (failed)
        (void)fprintf(stderr, "filter_generate: libseccomp fails: %d\n", code);
    seccomp_release(filter);
    return failed;
}
