/*
 * The native tables in their two forms, a filter and an engine's profile: that both say the
 * same to every call, and that it is what the table means.  Judged by numbers, as the
 * kernel does; test_seccomp_native.c tries the calls for real.  And the lists of further
 * calls that a caller wants blocked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "bpf_run.h"
#include "fail_alloc.h"
#include "nacre/own.h"
#include "profile_filter.h"
#include "seccomp_program.h"

#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define NEWEST 449 /* futex_waitv, the newest call that the table has a row for */
#define I386 0x40000003

static enum nacre_seccomp_kind kind = NACRE_SECCOMP_NATIVE; /* that is judged */
static struct sock_filter profile[4096];
static size_t profile_count;
static uint32_t native_arch;

static int make_profile(void **state)
{
    (void)state;
    profile_count =
        profile_filter(nacre_seccomp_profile_json(kind), profile, NACRE_COUNT(profile));
    /* Every filter begins with the name of its architecture. */
    native_arch = nacre_seccomp_program(NACRE_SECCOMP_NATIVE)->code[1].k;
    return profile_count > 0 ? 0 : -1;
}

static struct seccomp_data call_of(long number, uint64_t a0, uint64_t a1, uint64_t a2)
{
    return (struct seccomp_data){ .nr = (int)number, .arch = native_arch,
                                  .args = { a0, a1, a2 } };
}

static uint32_t ask_filter(const struct seccomp_data *call)
{
    const struct nacre_seccomp_program *program = nacre_seccomp_program(kind);

    return bpf_run(program->code, program->count, call);
}

static uint32_t verdict(long number, uint64_t a0, uint64_t a1, uint64_t a2)
{
    struct seccomp_data call = call_of(number, a0, a1, a2);

    return ask_filter(&call);
}

static void assert_agree(const struct seccomp_data *call)
{
    uint32_t ours = ask_filter(call), theirs = bpf_run(profile, profile_count, call);

    /* runc's part: what is newer than the profile. */
    if (call->arch == native_arch && call->nr > NEWEST && call->nr < 0x40000000) {
        assert_int_equal(theirs, ERRNO(EPERM));
        theirs = ERRNO(ENOSYS);
    }
    /* Only the victim's extent differs: libseccomp's standard is the thread. */
    if (theirs == SECCOMP_RET_KILL_THREAD)
        theirs = SECCOMP_RET_KILL_PROCESS;
    if (ours != theirs)
        fail_msg("call %d (%llx, %llx, %llx) of %x: filter %x, profile %x", call->nr,
                 call->args[0], call->args[1], call->args[2], call->arch, ours, theirs);
}

#define HIGH UINT64_C(0x100000000)

/* Whatever an argument may be that some row looks at, right and nearly right. */
static const uint64_t values[] = {
    0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 15, 16, 17, 38, 40, 44,
    HIGH, HIGH + 1, HIGH + 2, HIGH + 16, HIGH * 8 + 2,
    SOCK_STREAM | SOCK_CLOEXEC, SOCK_DGRAM | SOCK_NONBLOCK, SOCK_RAW | SOCK_CLOEXEC,
    S_IFREG, S_IFIFO | 0644, S_IFSOCK, S_IFCHR | 0600, S_IFBLK, S_IFDIR, S_IFLNK,
    HIGH | S_IFCHR, 0x10000 | S_IFCHR, HIGH | S_IFIFO,
    S_ISUID | 0755, S_ISGID, HIGH | S_ISUID, S_IFREG | S_ISUID, O_CREAT | O_RDWR,
    O_TMPFILE, O_DIRECTORY,
    CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
    CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWUSER | CLONE_VM, HIGH | CLONE_NEWUSER,
    CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, CLONE_VM | CLONE_VFORK,
    TIOCSTI, TIOCLINUX, HIGH | TIOCSTI, HIGH | TIOCLINUX, TIOCSTI - 1, TIOCSTI + 1,
    TIOCSTI | 0x80000000, UINT64_MAX - UINT32_MAX + TIOCSTI, TCGETS, FIONREAD,
    UNAME26, UNAME26 | 8, 0x40000, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63, 0x80000000,
};

static const long judged[] = {
#ifdef SYS_mknod
    SYS_mknod, SYS_chmod, SYS_creat, SYS_open,
#endif
    SYS_fchmod, SYS_fchmodat, SYS_clone, SYS_mknodat, SYS_personality, SYS_socket, SYS_socketpair, SYS_ioctl,
    SYS_setsockopt,
};

static void filter_and_profile_agree(void **state)
{
    static const uint32_t machines[] = { 0, I386, 0xc00000b7, UINT32_MAX };
    static const int far[] = { 0x3fffffff, 0x40000000, 0x40000027, INT32_MIN };

    (void)state;
    for (int number = 0; number < 1200; number++) {
        for (size_t i = 0; i < NACRE_COUNT(values); i++) {
            struct seccomp_data call = call_of(number, values[i], values[i], values[i]);

            assert_agree(&call);
        }
    }
    for (size_t n = 0; n < NACRE_COUNT(judged); n++)
        for (size_t i = 0; i < NACRE_COUNT(values); i++)
            for (size_t j = 0; j < NACRE_COUNT(values); j++)
                for (size_t k = 0; k < NACRE_COUNT(values); k++) {
                    struct seccomp_data call =
                        call_of(judged[n], values[i], values[j], values[k]);

                    assert_agree(&call);
                }
    for (size_t i = 0; i < NACRE_COUNT(machines); i++)
        for (int number = 0; number < 600; number++) {
            struct seccomp_data call = call_of(number, 0, 0, 0);

            call.arch = machines[i] ? machines[i] : native_arch;
            assert_agree(&call);
        }
    for (size_t i = 0; i < NACRE_COUNT(far); i++) {
        struct seccomp_data call = call_of(far[i], 0, 0, 0);

        assert_agree(&call);
    }
}

static void a_browsers_agree_too(void **state)
{
    kind = NACRE_SECCOMP_BROWSER;
    assert_int_equal(make_profile(state), 0);
    filter_and_profile_agree(state);
    kind = NACRE_SECCOMP_NATIVE;
    assert_int_equal(make_profile(state), 0);
}

/* Everything else is refused to a browser as it is to any other; options of sockets have
 * a test of their own. */
static void a_browser_may_make_three_namespaces_and_leave_its_root_and_no_more(void **state)
{
    const uint64_t theirs = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    const uint64_t nobodys = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC;

    (void)state;
    for (int number = 0; number < 1200; number++)
        for (size_t i = 0; i < NACRE_COUNT(values); i++) {
            uint32_t ordinary = verdict(number, values[i], values[i], values[i]), browsers;
            bool more = number == SYS_chroot ||
                        (number == SYS_unshare &&
                         (uint32_t)values[i] == CLONE_NEWUSER) ||
                        (number == SYS_clone && values[i] & theirs &&
                         !(values[i] & nobodys));

            if (number == SYS_getsockopt || number == SYS_setsockopt)
                continue;
            kind = NACRE_SECCOMP_BROWSER;
            browsers = verdict(number, values[i], values[i], values[i]);
            kind = NACRE_SECCOMP_NATIVE;
            assert_int_equal(browsers, more ? SECCOMP_RET_ALLOW : ordinary);
            assert_int_equal(ordinary == browsers, !more);
        }
}

/* With a network namespace of its own it could configure one by these. */
static void a_browser_has_no_netlink_and_no_packet_filter(void **state)
{
    static const struct {
        long number;
        uint64_t args[3];
        bool allowed;
    } rows[] = {
        { SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, false },
        { SYS_socket, { AF_INET, SOCK_STREAM, 0 }, true },
        { SYS_setsockopt, { 3, SOL_SOCKET, SO_REUSEADDR }, true },
        { SYS_setsockopt, { 3, SOL_SOCKET, 64 }, true },
        { SYS_setsockopt, { 3, IPPROTO_TCP, 1 }, true },
        { SYS_setsockopt, { 3, IPPROTO_IP, IP_TOS }, true },
        { SYS_setsockopt, { 3, IPPROTO_IPV6, IPV6_V6ONLY }, true },
        { SYS_setsockopt, { 3, IPPROTO_IP, 64 }, false }, /* IPT_SO_SET_REPLACE */
        { SYS_setsockopt, { 3, HIGH | IPPROTO_IP, HIGH | 64 }, false },
        { SYS_setsockopt, { 3, IPPROTO_IP, 96 }, false }, /* ARPT_SO_SET_REPLACE */
        { SYS_setsockopt, { 3, IPPROTO_IP, 128 }, false }, /* EBT_SO_SET_ENTRIES */
        { SYS_setsockopt, { 3, IPPROTO_IPV6, 64 }, false }, /* IP6T_SO_SET_REPLACE */
        { SYS_setsockopt, { 3, IPPROTO_RAW, 0 }, false },
        { SYS_getsockopt, { 3, SOL_SOCKET, SO_ERROR }, true },
        { SYS_getsockopt, { 3, IPPROTO_IP, 66 }, false }, /* it loads modules */
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const uint64_t *args = rows[i].args;

        assert_int_equal(verdict(rows[i].number, args[0], args[1], args[2]),
                         SECCOMP_RET_ALLOW);
        kind = NACRE_SECCOMP_BROWSER;
        assert_int_equal(verdict(rows[i].number, args[0], args[1], args[2]),
                         rows[i].allowed ? SECCOMP_RET_ALLOW : ERRNO(EPERM));
        kind = NACRE_SECCOMP_NATIVE;
    }
}

/* Or the comparison could be looking in the wrong place. */
static void a_changed_profile_is_noticed(void **state)
{
    static const struct {
        const char *from, *to; /* of one length */
        long number;
        uint64_t argument;
    } changes[] = {
        { "\"uname\"", "\"mount\"", SYS_mount, 0 },
        { "\"uname\"", "\"mount\"", SYS_uname, 0 },
        { "\"value\":2114060288", "\"value\":1845624832", SYS_clone, CLONE_NEWUSER },
        { "\"errnoRet\":38", "\"errnoRet\":22", 435 /* clone3 */, 0 },
    };
    static struct sock_filter changed[4096];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(changes); i++) {
        NACRE_AUTO(nacre_heap_guard) char *text = strdup(nacre_seccomp_profile_json(kind));
        char *at = strstr(text, changes[i].from);
        struct seccomp_data call = call_of(changes[i].number, changes[i].argument, 0, 0);
        size_t count;

        assert_non_null(at);
        memcpy(at, changes[i].to, strlen(changes[i].to));
        count = profile_filter(text, changed, NACRE_COUNT(changed));
        assert_true(count > 0);
        assert_int_not_equal(bpf_run(changed, count, &call), ask_filter(&call));
    }
}

static void two_ioctls_are_refused_and_no_other(void **state)
{
    static const uint32_t uppers[] = { 0, 1, 0x1000, 0x8004, 0x4008, 0xc0de, 0xffff };
    static const uint64_t highs[] = { 0, HIGH, UINT64_MAX << 32, UINT64_C(1) << 63 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(uppers); i++)
        for (size_t k = 0; k < NACRE_COUNT(highs); k++)
            for (uint32_t low = 0; low <= 0xffff; low++) {
                uint32_t number = uppers[i] << 16 | low;
                bool refused = number == TIOCSTI || number == TIOCLINUX;

                assert_int_equal(verdict(SYS_ioctl, 0, highs[k] | number, 0),
                                 refused ? ERRNO(EPERM) : SECCOMP_RET_ALLOW);
            }
}

static void namespaces_come_with_no_clone(void **state)
{
    static const uint32_t allowed[] = {
        0, 17, CLONE_VM | CLONE_VFORK | 17,
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
            CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
    };
    static const uint32_t namespaces[] = { CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS,
                                           CLONE_NEWIPC,  CLONE_NEWUSER,   CLONE_NEWPID,
                                           CLONE_NEWNET };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(allowed); i++) {
        assert_int_equal(verdict(SYS_clone, allowed[i], 0, 0), SECCOMP_RET_ALLOW);
        for (size_t k = 0; k < NACRE_COUNT(namespaces); k++) {
            assert_int_equal(verdict(SYS_clone, allowed[i] | namespaces[k], 0, 0),
                             ERRNO(EPERM));
            assert_int_equal(verdict(SYS_clone, HIGH | allowed[i] | namespaces[k], 0, 0),
                             ERRNO(EPERM));
        }
    }
    assert_int_equal(verdict(435 /* clone3 */, 0, 0, 0), ERRNO(ENOSYS));
}

static void a_newer_call_is_not_there_and_an_older_one_is_forbidden(void **state)
{
    struct seccomp_data foreign = call_of(SYS_getpid, 0, 0, 0);

    (void)state;
    assert_int_equal(verdict(NEWEST, 0, 0, 0), SECCOMP_RET_ALLOW);
    for (int number = NEWEST + 1; number < 2000; number++)
        assert_int_equal(verdict(number, 0, 0, 0), ERRNO(ENOSYS));
    assert_int_equal(verdict(0x3fffffff, 0, 0, 0), ERRNO(ENOSYS));
#ifdef __x86_64__
    assert_int_equal(verdict(0x40000000 + SYS_getpid, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
    assert_int_equal(verdict(214 /* epoll_ctl_old */, 0, 0, 0), ERRNO(EPERM));
#endif
    foreign.arch = I386;
    assert_int_equal(ask_filter(&foreign), SECCOMP_RET_KILL_PROCESS);
}

/* ---- further calls ---- */

static uint32_t ask_list(const struct nacre_seccomp_program *list, long number,
                         uint32_t machine)
{
    struct seccomp_data call = call_of(number, 0, 0, 0);

    call.arch = machine;
    return bpf_run(list->code, list->count, &call);
}

static void a_blocklist_refuses_what_it_names_and_nothing_else(void **state)
{
    static const char *const names[] = { "uname", "sysinfo", "uname", "socketcall",
                                         "getrandom" };
    struct nacre_seccomp_program list;
    struct nacre_error err;

    (void)state;
    assert_int_equal(
        nacre_seccomp_blocklist_build(names, NACRE_COUNT(names), &list, &err), NACRE_OK);
    assert_int_equal(list.own_pid, 0);
    assert_int_equal(list.count, 6 + 2 * 3 + 1);
    for (long number = 0; number < 1000; number++) {
        bool refused = number == SYS_uname || number == SYS_sysinfo ||
                       number == SYS_getrandom;

        assert_int_equal(ask_list(&list, number, native_arch),
                         refused ? ERRNO(EPERM) : SECCOMP_RET_ALLOW);
    }
    assert_int_equal(ask_list(&list, 0x40000000 + SYS_uname, native_arch),
                     SECCOMP_RET_KILL_PROCESS);
    assert_int_equal(ask_list(&list, SYS_getpid, I386), SECCOMP_RET_KILL_PROCESS);

    assert_int_equal(nacre_seccomp_blocklist_build(NULL, 0, &list, &err), NACRE_OK);
    assert_int_equal(ask_list(&list, SYS_uname, native_arch), SECCOMP_RET_ALLOW);
}

static void what_is_no_system_call_is_named(void **state)
{
    static const struct {
        const char *word, *said;
    } rows[] = {
        { "sethostnam", "is \"sethostname\" meant?" },
        { "", "\"\" is no system call" },
        { "SETHOSTNAME", "\"SETHOSTNAME\" is no system call" },
        { "sethostname ", "is \"sethostname\" meant?" },
        { "sys_sethostname", "\"sys_sethostname\"" },
        { "*", "\"*\"" },
        { "170", "\"170\"" },
        { "-1", "\"-1\"" },
        { "\x1b[31m", "\\x1b[31m" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const char *names[] = { "uname", rows[i].word };
        struct nacre_seccomp_program list = { .count = 77 };
        struct nacre_error err;

        assert_int_equal(nacre_seccomp_blocklist_build(names, 2, &list, &err),
                         NACRE_ERR_USAGE);
        if (!strstr(err.text, rows[i].said))
            fail_msg("%s: %s", rows[i].word, err.text);
        assert_int_equal(list.count, 77);
    }
}

static void a_list_of_everything_many_times_over_fits(void **state)
{
    static const char *const some[] = { "uname", "mount", "umount2", "open", "bpf" };
    static const char *names[100000];
    struct nacre_seccomp_program list;
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        names[i] = some[i % NACRE_COUNT(some)];
    assert_int_equal(
        nacre_seccomp_blocklist_build(names, NACRE_COUNT(names), &list, &err), NACRE_OK);
    assert_true(list.count <= 6 + 2 * 5 + 1);
}

static void blocklist_survives_every_allocation_failure(void **state)
{
    static const char *const names[] = { "uname", "mount" };
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_seccomp_program list = { .count = 77 };
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = nacre_seccomp_blocklist_build(names, 2, &list, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(list.count == 77, fired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_and_profile_agree),
        cmocka_unit_test(a_browsers_agree_too),
        cmocka_unit_test(a_browser_has_no_netlink_and_no_packet_filter),
        cmocka_unit_test(
            a_browser_may_make_three_namespaces_and_leave_its_root_and_no_more),
        cmocka_unit_test(a_changed_profile_is_noticed),
        cmocka_unit_test(two_ioctls_are_refused_and_no_other),
        cmocka_unit_test(namespaces_come_with_no_clone),
        cmocka_unit_test(a_newer_call_is_not_there_and_an_older_one_is_forbidden),
        cmocka_unit_test(a_blocklist_refuses_what_it_names_and_nothing_else),
        cmocka_unit_test(what_is_no_system_call_is_named),
        cmocka_unit_test(a_list_of_everything_many_times_over_fits),
        cmocka_unit_test(blocklist_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("seccomp_table", tests, make_profile, NULL);
}
