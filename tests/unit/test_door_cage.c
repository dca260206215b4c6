/* What is left to whoever takes the door over: each attempt in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "door.h"
#include "nacre/own.h"
#include "nacre/trust.h"

/* 0: it works; else the errno. */
typedef int attempt(void);

static int done(long result)
{
    return result < 0 ? errno : 0;
}

/* As an exit status, or 128 and the signal. */
static int behind_the_walls(attempt *attempted)
{
    struct nacre_error err;
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (door_cage_begin(&err) != NACRE_OK || door_cage_close(&err) != NACRE_OK)
            _exit(125);
        _exit(attempted());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int an_ip4_socket(void) { return done(socket(AF_INET, SOCK_STREAM, 0)); }
static int an_ip6_socket(void) { return done(socket(AF_INET6, SOCK_DGRAM, 0)); }
static int a_wake_up_pair(void)
{
    int pair[2];

    return done(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
}
static const char *bundle; /* looked for in front of the walls */
static int the_bundle(void) { return done(open(bundle, O_RDONLY | O_CLOEXEC)); }
static int more_memory(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);

    return at == MAP_FAILED ? errno : 0;
}

static int a_unix_socket(void) { return done(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int a_netlink_socket(void) { return done(socket(AF_NETLINK, SOCK_RAW, 0)); }
static int a_packet_socket(void) { return done(socket(AF_PACKET, SOCK_RAW, 0)); }
static int a_file_for_writing(void)
{
    return done(open("/dev/null", O_WRONLY | O_CLOEXEC));
}
static int another_file(void) { return done(open("/etc/passwd", O_RDONLY | O_CLOEXEC)); }
static int code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);

    return at == MAP_FAILED ? errno : 0;
}
static int memory_made_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);

    return at == MAP_FAILED ? 125 : done(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}
static int another_directory(void) { return done(chdir("/tmp")); }
static int a_link(void) { return done(symlink("x", "/tmp/nacre-door-was-here")); }
static int being_dumpable(void) { return done(syscall(SYS_prctl, 4, 1, 0, 0, 0)); }

static int another_program(void)
{
    char name[] = "true";
    char *words[] = { name, NULL };

    return done(execve("/bin/true", words, words + 1));
}
static int another_process(void) { return done(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }
static int another_s_memory(void) { return done(ptrace(PTRACE_ATTACH, getppid(), 0, 0)); }
static int a_signal(void) { return done(kill(getppid(), SIGCONT)); }
static int a_namespace(void) { return done(syscall(SYS_unshare, 0x10000000)); }
static int a_ring(void) { return done(syscall(SYS_io_uring_setup, 1, NULL)); }

static void the_door_can_do_its_work(void **state)
{
    static attempt *const attempts[] = { an_ip4_socket, an_ip6_socket, a_wake_up_pair,
                                         the_bundle, more_memory };

    (void)state;
    bundle = nacre_trust_bundle();
    assert_non_null(bundle);
    for (size_t i = 0; i < NACRE_COUNT(attempts); i++)
        assert_int_equal(behind_the_walls(attempts[i]), 0);
}

static void what_is_not_its_work_is_refused(void **state)
{
    static attempt *const attempts[] = {
        a_unix_socket, a_netlink_socket, a_packet_socket, a_file_for_writing, code,
        memory_made_code, another_directory, a_link, being_dumpable,
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(attempts); i++)
        assert_int_equal(behind_the_walls(attempts[i]), EPERM);
    assert_int_equal(behind_the_walls(another_file), EACCES);
}

static void what_only_an_attacker_does_is_its_end(void **state)
{
    static attempt *const attempts[] = { another_program, another_process,
                                         another_s_memory, a_signal, a_namespace,
                                         a_ring };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(attempts); i++)
        assert_int_equal(behind_the_walls(attempts[i]), 128 + SIGSYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_door_can_do_its_work),
        cmocka_unit_test(what_is_not_its_work_is_refused),
        cmocka_unit_test(what_only_an_attacker_does_is_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
