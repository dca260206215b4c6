/*
 * The native filter against real calls: each in a process of its own, first without the
 * filter, to show that it gets past the door there, then under it.  As root where the
 * test is root, so that it is the filter that refuses.  And what must go on working.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <termios.h>

#include <cmocka.h>

#include "scene.h"
#include "seccomp_program.h"
#include "under_filter.h"

#define native nacre_seccomp_program(NACRE_SECCOMP_NATIVE)

struct call {
    const char *name;
    long number;
    long args[6];
    int refusal; /* 0: EPERM */
};

/* 0 when it succeeds, else its errno. */
static int make_call(void *data)
{
    const struct call *call = data;
    const long *a = call->args;
    long result = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);

    return result >= 0 ? 0 : errno;
}

#define BAD { -1, -1, -1, -1, -1, -1 }
#define REFUSED(name) { #name, SYS_##name, BAD }
#define REFUSED_NUMBER(name, number) { #name, number, BAD }
#define NOT_THERE(name, number) { #name, number, BAD, ENOSYS }

/* With arguments that no kernel accepts where success would do harm. */
static const struct call refused[] = {
    REFUSED(ptrace), REFUSED(process_vm_readv), REFUSED(process_vm_writev),
    REFUSED_NUMBER(process_madvise, 440), REFUSED_NUMBER(process_mrelease, 448),
    REFUSED(kcmp), REFUSED_NUMBER(pidfd_getfd, 438),
    REFUSED(bpf), REFUSED(perf_event_open), REFUSED(userfaultfd),
    REFUSED_NUMBER(io_uring_setup, 425), REFUSED_NUMBER(io_uring_enter, 426),
    REFUSED_NUMBER(io_uring_register, 427), REFUSED_NUMBER(memfd_secret, 447),
    REFUSED(keyctl), REFUSED(add_key), REFUSED(request_key), REFUSED(fanotify_init),
    REFUSED(fanotify_mark), REFUSED(name_to_handle_at), REFUSED(open_by_handle_at),
    REFUSED(mount), REFUSED(umount2), REFUSED(pivot_root), REFUSED(chroot),
    REFUSED_NUMBER(open_tree, 428), REFUSED_NUMBER(move_mount, 429),
    REFUSED_NUMBER(fsopen, 430), REFUSED_NUMBER(fsconfig, 431),
    REFUSED_NUMBER(fsmount, 432), REFUSED_NUMBER(fspick, 433),
    REFUSED_NUMBER(mount_setattr, 442), REFUSED(unshare), REFUSED(setns),
    { "unshare of files", SYS_unshare, { CLONE_FILES } },
    { "unshare of the user", SYS_unshare, { CLONE_NEWUSER } },
    REFUSED(kexec_load), { "init_module", SYS_init_module, { -1, 0, -1 } },
    REFUSED(finit_module), REFUSED(delete_module), REFUSED(reboot), REFUSED(swapon),
    REFUSED(swapoff), REFUSED(acct), REFUSED(quotactl), REFUSED_NUMBER(quotactl_fd, 443),
    REFUSED(syslog), REFUSED(settimeofday), REFUSED(clock_settime), REFUSED(sethostname),
    REFUSED(setdomainname), REFUSED(get_mempolicy), REFUSED(mbind),
    REFUSED(set_mempolicy), REFUSED(migrate_pages), REFUSED(move_pages),
    REFUSED(nfsservctl), REFUSED(lookup_dcookie),
    { "prlimit64 of another", SYS_prlimit64, BAD },
    { "personality without randomness", SYS_personality, { ADDR_NO_RANDOMIZE } },
    { "personality that reads as execute", SYS_personality, { READ_IMPLIES_EXEC } },
#ifdef __x86_64__
    REFUSED(modify_ldt), REFUSED(iopl), REFUSED(ioperm), REFUSED(kexec_file_load),
    REFUSED(uselib), REFUSED(ustat), REFUSED(sysfs), REFUSED(_sysctl),
#endif
    NOT_THERE(clone3, 435), NOT_THERE(io_setup, SYS_io_setup),
    NOT_THERE(statmount, 457), NOT_THERE(listmount, 458),
    NOT_THERE(lsm_set_self_attr, 460), NOT_THERE(open_tree_attr, 467),
    NOT_THERE(some day, 600),
};

static void each_refused_call_has_its_errno_and_kills_nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        struct call call = refused[i];
        int expected = call.refusal ? call.refusal : EPERM;
        int control = try(NULL, make_call, &call);
        int status = try(native, make_call, &call);

        /* Old calls are gone from kernels, newer ones are not in all of them yet. */
        if (!WIFEXITED(control) ||
            (geteuid() == 0 && expected == EPERM && WEXITSTATUS(control) == EPERM))
            fail_msg("%s: the control says %d", call.name, WEXITSTATUS(control));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
            fail_msg("%s: %d, expected %d", call.name, status, expected);
    }
}

/* ---- calls that are judged by their arguments ---- */

static const struct {
    struct call call;
    bool allowed;
} sockets[] = {
    { { "unix", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 } }, true },
    { { "unix packets", SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC } }, true },
    { { "tcp", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0 } }, true },
    { { "udp", SYS_socket, { AF_INET, SOCK_DGRAM, 0 } }, true },
    { { "tcp6", SYS_socket, { AF_INET6, SOCK_STREAM, 0 } }, true },
    { { "route", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE } }, true },
    { { "audit", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_AUDIT } }, false },
    { { "netfilter", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER } }, false },
    { { "raw", SYS_socket, { AF_INET, SOCK_RAW, 255 } }, false },
    { { "raw6", SYS_socket, { AF_INET6, SOCK_RAW, 255 } }, false },
    { { "old packet", SYS_socket, { AF_INET, SOCK_PACKET, 768 } }, false },
    { { "packet", SYS_socket, { AF_PACKET, SOCK_RAW, 768 } }, false },
    { { "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 } }, false },
    { { "vsock with high bits", SYS_socket, { AF_VSOCK + (1L << 32), 1, 0 } }, false },
    { { "crypto", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 } }, false },
    { { "bluetooth", SYS_socket, { AF_BLUETOOTH, SOCK_RAW, 1 } }, false },
    { { "tipc", SYS_socket, { AF_TIPC, SOCK_STREAM, 0 } }, false },
    { { "no family", SYS_socket, { -1, SOCK_STREAM, 0 } }, false },
    { { "tipc pair", SYS_socketpair, { AF_TIPC, SOCK_STREAM, 0, -1 } }, false },
    { { "inet pair", SYS_socketpair, { AF_INET, SOCK_STREAM, 0, -1 } }, false },
};

static void only_ordinary_sockets_are_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sockets); i++) {
        struct call call = sockets[i].call;
        int control = try(NULL, make_call, &call);
        int status = try(native, make_call, &call);
        int expected = sockets[i].allowed ? WEXITSTATUS(control) : EPERM;

        if (!WIFEXITED(control) ||
            (geteuid() == 0 && !sockets[i].allowed && WEXITSTATUS(control) == EPERM))
            fail_msg("%s: the control says %d", call.name, control);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
            fail_msg("%s: %d, expected %d", call.name, WEXITSTATUS(status), expected);
    }
}

static int clone_with(void *data)
{
    long pid = syscall(SYS_clone, *(unsigned long *)data | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid > 0 ? 0 : errno;
}

static void a_child_is_fine_and_a_namespace_is_not(void **state)
{
    static const unsigned long flags[] = {
        CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
        CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET, CLONE_NEWNET | 1UL << 32,
    };
    unsigned long none = 0;

    (void)state;
    assert_exited(try(native, clone_with, &none), 0);
    for (size_t i = 0; i < NACRE_COUNT(flags); i++) {
        unsigned long flag = flags[i];

        if (geteuid() == 0)
            assert_exited(try(NULL, clone_with, &flag), 0);
        assert_exited(try(native, clone_with, &flag), EPERM);
    }
}

struct node {
    mode_t type;
    bool at;
};

static int make_node(void *data)
{
    const struct node *node = data;
    int result = 0;

#ifdef SYS_mknod
    if (!node->at)
        result = (int)syscall(SYS_mknod, "node", node->type | 0600, makedev(1, 3));
    else
#endif
        result = (int)syscall(SYS_mknodat, AT_FDCWD, "node", node->type | 0600,
                              makedev(1, 3));
    return result == 0 ? 0 : errno;
}

static void fifos_are_made_and_devices_are_not(void **state)
{
    static const struct {
        mode_t type;
        bool allowed;
    } rows[] = {
        { S_IFIFO, true },  { S_IFSOCK, true },  { S_IFREG, true }, { 0, true },
        { S_IFCHR, false }, { S_IFBLK, false },  { S_IFCHR | 1u << 20, false },
    };

    (void)state;
    for (size_t i = 0; i < 2 * NACRE_COUNT(rows); i++) {
        bool allowed = rows[i / 2].allowed;
        struct node node = { rows[i / 2].type, i % 2 };

        if (geteuid() == 0 || allowed) {
            assert_exited(try(NULL, make_node, &node), 0);
            assert_int_equal(unlink("node"), 0);
        }
        assert_exited(try(native, make_node, &node), allowed ? 0 : EPERM);
        assert_int_equal(scene_has("node"), allowed);
        (void)unlink("node");
    }
}

/* A program with such a mode is its owner's to whoever runs it, and would outlive the
 * sandbox in a directory of the host's. */
static void no_file_gets_a_set_id_bit(void **state)
{
    static const long here = AT_FDCWD, bits[] = { S_ISUID, S_ISGID, S_ISUID | S_ISGID };
    static const long name = (long)"made", path = (long)"file";
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    (void)state;
    fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    for (size_t i = 0; i < NACRE_COUNT(bits); i++) {
        const long mode = bits[i] | 0755;
        struct call calls[] = {
            { "fchmod", SYS_fchmod, { fd, mode } },
            { "fchmod with high bits", SYS_fchmod, { fd, mode | 1L << 32 } },
            { "fchmodat", SYS_fchmodat, { here, path, mode } },
            { "fchmodat2", 452, { here, path, mode }, ENOSYS },
            { "openat", SYS_openat, { here, name, O_CREAT | O_RDWR, mode } },
            { "openat without a name", SYS_openat,
              { here, (long)".", O_TMPFILE | O_RDWR, mode } },
            { "openat2", SYS_openat2,
              { here, name, (long)(uint64_t[]){ O_CREAT | O_RDWR, (uint64_t)mode, 0 },
                24 }, ENOSYS },
            { "mknodat", SYS_mknodat, { here, name, S_IFREG | mode } },
            { "mknodat of no kind", SYS_mknodat, { here, name, mode } },
#ifdef __x86_64__
            { "chmod", SYS_chmod, { path, mode } },
            { "open", SYS_open, { name, O_CREAT | O_RDWR, mode } },
            { "creat", SYS_creat, { name, mode } },
            { "mknod", SYS_mknod, { name, S_IFREG | mode } },
#endif
        };

        for (size_t k = 0; k < NACRE_COUNT(calls); k++) {
            int status = try(native, make_call, &calls[k]);
            struct stat info;

            if (!WIFEXITED(status) ||
                WEXITSTATUS(status) != (calls[k].refusal ? calls[k].refusal : EPERM))
                fail_msg("%s: %d", calls[k].name, WEXITSTATUS(status));
            assert_false(scene_has("made"));
            assert_true(fstat(fd, &info) == 0 && (info.st_mode & 07777) == 0755);
            status = try(NULL, make_call, &calls[k]);
            /* A kernel need not have the newest. */
            if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != ENOSYS)
                fail_msg("%s: the control says %d", calls[k].name, WEXITSTATUS(status));
            assert_int_equal(fchmod(fd, 0755), 0);
            (void)unlink("made");
        }
    }
}

/* What is no mode is not judged as one. */
static void other_modes_are_given_and_files_opened(void **state)
{
    const struct call calls[] = {
        { "openat", SYS_openat, { AT_FDCWD, (long)"made", O_CREAT | O_RDWR, 0640 } },
        { "openat of what is there", SYS_openat,
          { AT_FDCWD, (long)"made", O_RDWR, -1 } },
        { "openat of a directory", SYS_openat,
          { AT_FDCWD, (long)".", O_RDONLY | O_DIRECTORY, 06777 } },
        { "fchmodat", SYS_fchmodat, { AT_FDCWD, (long)"made", 01777 } },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(calls); i++) {
        struct call call = calls[i];

        assert_exited(try(native, make_call, &call), 0);
    }
}

struct typing {
    int terminal;
    unsigned long request;
};

static int type_into(void *data)
{
    const struct typing *typing = data;
    char key = 'x';

    return syscall(SYS_ioctl, typing->terminal, typing->request, &key) == 0 ? 0 : errno;
}

static int waiting(int fd)
{
    int count = -1;

    assert_int_equal(ioctl(fd, FIONREAD, &count), 0);
    return count;
}

static void nobody_types_into_a_terminal(void **state)
{
    static const unsigned long requests[] = { TIOCSTI, TIOCSTI | 1UL << 32,
                                              TIOCSTI | 0xffffffffUL << 32 };
    NACRE_AUTO(nacre_fd_guard) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct typing typing = { .terminal = -1 };
    struct termios modes;
    struct call console;
    int typed = 0;

    (void)state;
    assert_true(master >= 0 && unlockpt(master) == 0);
    typing.terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(typing.terminal >= 0);
    assert_int_equal(tcgetattr(typing.terminal, &modes), 0);
    cfmakeraw(&modes); /* or nothing is there to read before a line's end */
    assert_int_equal(tcsetattr(typing.terminal, TCSANOW, &modes), 0);
    for (size_t i = 0; i < NACRE_COUNT(requests); i++) {
        typing.request = requests[i];
        if (geteuid() == 0) {
            assert_exited(try(NULL, type_into, &typing), 0);
            assert_int_equal(waiting(typing.terminal), ++typed);
        }
        assert_exited(try(native, type_into, &typing), EPERM);
        assert_int_equal(waiting(typing.terminal), typed);
    }
    console = (struct call){ "TIOCLINUX", SYS_ioctl, { typing.terminal, TIOCLINUX } };
    assert_exited(try(native, make_call, &console), EPERM);
    console.args[1] = TIOCGWINSZ;
    console.args[2] = (long)(char[64]){ 0 };
    assert_exited(try(native, make_call, &console), 0);
    close(typing.terminal);
}

#ifdef __x86_64__
/* getpid of i386 is 20, which is writev here. */
static int call_as_i386(void *data)
{
    long result = 20;

    (void)data;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result == getpid() ? 0 : CHILD_CHECK_FAILED;
}

static void a_foreign_architecture_is_the_last_call(void **state)
{
    struct call x32 = { "getpid by x32", 0x40000000 + SYS_getpid, { 0 } };
    int control = try(NULL, call_as_i386, NULL);

    (void)state;
    assert_killed(try(native, make_call, &x32), SIGSYS);
    /* A kernel without 32-bit emulation refuses it by itself. */
    assert_killed(try(native, call_as_i386, NULL),
                  WIFEXITED(control) ? SIGSYS : SIGSEGV);
}
#endif

/* ---- what must go on working ---- */

static int run_shell(void *data)
{
    char *const arguments[] = { (char[]){ "sh" }, (char[]){ "-ec" }, data, NULL };

    execv("/bin/sh", arguments);
    return errno;
}

static const char *const scripts[] = {
    "true; (exit 3) || test $? = 3",
    "seq 1000 | sort -rn | head -1 | grep -qx 1000",
    "sleep 30 & kill $!; wait $! 2>/dev/null || test $? = 143",
    "mkdir -p d && cp -a /etc/passwd d/p && mv d/p d/q && chmod 600 d/q && rm -r d",
    "mkfifo f; cat f >g & echo through >f; wait; grep -q through g",
    "date >/dev/null; id -u >/dev/null; uname -a >/dev/null; df . >/dev/null",
    "tar -cf - /etc/hostname 2>/dev/null | tar -tf - >/dev/null",
    "exec 9>lock; flock -n 9; ls -laR . >/dev/null; stat . >/dev/null; touch -d @0 lock",
    "nice -n 5 setsid timeout 5 true",
    "printf 'int main(void) { return 0; }' >m.c && cc -O2 -o m m.c && ./m",
    "python3 -c 'import json, os, subprocess, threading, socket, tempfile\n"
    "subprocess.run([\"true\"], check=True)\n"
    "t = threading.Thread(target=os.getpid); t.start(); t.join()\n"
    "a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"\n"
    "s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()\n"
    "c = socket.create_connection(s.getsockname()); c.close()\n"
    "u = socket.socket(socket.AF_UNIX); u.bind(\"sock\"); u.close()\n"
    "socket.getaddrinfo(\"localhost\", 80)\n"
    "tempfile.TemporaryFile().write(b\"x\")\n"
    "p = os.fork()\n"
    "os._exit(0) if p == 0 else os.waitpid(p, 0)'",
    "python3 -c 'import multiprocessing as m\n"
    "with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]'",
    "python3 -c 'import asyncio\n"
    "async def f():\n"
    " p = await asyncio.create_subprocess_exec(\"true\"); assert await p.wait() == 0\n"
    "asyncio.run(f())'",
};

static void programs_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(scripts); i++) {
        char script[2048];
        int control, status;

        (void)snprintf(script, sizeof(script), "%s", scripts[i]);
        assert_int_equal(scene_clear(state), 0);
        control = try(NULL, run_shell, script);
        if (!WIFEXITED(control) || WEXITSTATUS(control) != 0)
            fail_msg("%s: the control failed with %d", scripts[i], control);
        assert_int_equal(scene_clear(state), 0);
        status = try(native, run_shell, script);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: status %d", scripts[i], status);
    }
}

static void *add_one(void *data)
{
    (*(int *)data)++;
    return NULL;
}

static int start_thread(void *data)
{
    pthread_t thread;
    int count = 0;

    (void)data;
    CHILD_CHECK(pthread_create(&thread, NULL, add_one, &count) == 0);
    CHILD_CHECK(pthread_join(thread, NULL) == 0 && count == 1);
    return 0;
}

static void threads_start(void **state)
{
    (void)state;
    assert_exited(try(native, start_thread, NULL), 0);
}

/* ---- in addition ---- */

static int ask_twice(void *data)
{
    struct nacre_error err;
    struct utsname name;

    CHILD_CHECK(nacre_seccomp_install(native, &err) == NACRE_OK);
    CHILD_CHECK(uname(&name) == 0);
    CHILD_CHECK(nacre_seccomp_install(data, &err) == NACRE_OK);
    CHILD_CHECK(getppid() > 0);
    return uname(&name) == 0 ? 0 : errno;
}

static void further_calls_are_blocked_on_top(void **state)
{
    static const char *const names[] = { "uname" }, *const others[] = { "sysinfo" };
    struct nacre_seccomp_program list;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_seccomp_blocklist_build(others, 1, &list, &err), NACRE_OK);
    assert_exited(in_child(ask_twice, &list), 0);
    assert_int_equal(nacre_seccomp_blocklist_build(names, 1, &list, &err), NACRE_OK);
    assert_exited(in_child(ask_twice, &list), EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refused_call_has_its_errno_and_kills_nobody),
        cmocka_unit_test(only_ordinary_sockets_are_made),
        cmocka_unit_test(a_child_is_fine_and_a_namespace_is_not),
        cmocka_unit_test_setup(fifos_are_made_and_devices_are_not, scene_clear),
        cmocka_unit_test_setup(no_file_gets_a_set_id_bit, scene_clear),
        cmocka_unit_test_setup(other_modes_are_given_and_files_opened, scene_clear),
        cmocka_unit_test(nobody_types_into_a_terminal),
#ifdef __x86_64__
        cmocka_unit_test(a_foreign_architecture_is_the_last_call),
#endif
        cmocka_unit_test(programs_run),
        cmocka_unit_test(threads_start),
        cmocka_unit_test(further_calls_are_blocked_on_top),
    };

    return cmocka_run_group_tests_name("seccomp_native", tests, scene_enter, scene_leave);
}
