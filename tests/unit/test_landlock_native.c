/*
 * Rules for programs that were not written for us: what may be executed, single files,
 * devices, FIFOs and sockets.  Each deed is done once by a process with the flag and once
 * by one without, so that nothing but the flag makes the difference.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/random.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "in_child.h"
#include "landlock.h"
#include "scene.h"

#define RESULT(call) ((call) >= 0 ? 0 : errno)
#define RULES_MAX 8

/* What a child is confined to, and what it tries then. */
struct attempt {
    struct {
        const char *path;
        struct nacre_landlock_rule flags;
    } rules[RULES_MAX];
    bool all; /* files and everything else that is judged */
    int (*deed)(void *data);
    void *data;
};

static int confined(void *data)
{
    const struct attempt *attempt = data;
    struct nacre_landlock_rule rules[RULES_MAX];
    struct nacre_error err;
    size_t count = 0;
    uint32_t abi;
    int fd = -1;

    for (; count < RULES_MAX && attempt->rules[count].path; count++) {
        rules[count] = attempt->rules[count].flags;
        rules[count].dir_fd = open(attempt->rules[count].path, O_PATH | O_CLOEXEC);
        CHILD_CHECK(rules[count].dir_fd >= 0);
    }
    if (attempt->all) {
        CHILD_CHECK(nacre_landlock_enforce(rules, count, &abi, &err) == NACRE_OK);
    } else {
        CHILD_CHECK(nacre_landlock_ruleset_open(rules, count, &fd, &err) == NACRE_OK);
        CHILD_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHILD_CHECK(syscall(SYS_landlock_restrict_self, fd, 0) == 0);
    }
    return attempt->deed(attempt->data);
}

#define NEEDS_ABI(abi)                       \
    do {                                     \
        if (nacre_landlock_abi() < (abi))    \
            skip();                          \
    } while (0)

#define READ { .writable = false }
#define WRITE { .writable = true }
#define RUN { .executable = true }
#define SYSTEM(flags) { "/usr", flags }, { "/lib", flags }, { "/bin", flags }

static int run_program(void *data)
{
    char *const arguments[] = { data, NULL };

    execve(data, arguments, NULL);
    return errno;
}

static void only_what_is_executable_is_executed(void **state)
{
    static const struct {
        struct attempt attempt;
        const char *program;
        int result;
    } rows[] = {
        { { { SYSTEM(RUN) } }, "/bin/true", 0 },
        { { { SYSTEM(READ) } }, "/bin/true", EACCES },
        { { { SYSTEM(WRITE) } }, "/bin/true", EACCES },
        { { { SYSTEM(RUN), { ".", READ } } }, "./tool", EACCES },
        { { { SYSTEM(RUN), { ".", WRITE } } }, "./tool", EACCES },
        { { { SYSTEM(RUN), { ".", RUN } } }, "./tool", 0 },
        { { { SYSTEM(RUN), { "tool", RUN } } }, "./tool", 0 },
        { { { SYSTEM(RUN), { "tool", READ } } }, "./tool", EACCES },
        { { { SYSTEM(RUN), { "tool", RUN } } }, "./other", EACCES },
        /* The loader is executed as well. */
        { { { { ".", RUN } } }, "./tool", EACCES },
    };

    (void)state;
    NEEDS_ABI(1);
    scene_shell("cp /bin/true tool; cp /bin/true other");
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct attempt attempt = rows[i].attempt;
        char program[32];
        int status;

        (void)snprintf(program, sizeof(program), "%s", rows[i].program);
        assert_exited(in_child(run_program, program), 0);
        attempt.deed = run_program;
        attempt.data = program;
        status = in_child(confined, &attempt);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != rows[i].result)
            fail_msg("row %zu: %d, expected %d", i, WEXITSTATUS(status), rows[i].result);
    }
}

struct opening {
    const char *path;
    int flags;
};

static int open_file(void *data)
{
    const struct opening *opening = data;

    return RESULT(open(opening->path, opening->flags | O_CLOEXEC, 0600));
}

static void a_rule_on_a_file_is_about_that_file(void **state)
{
    static const struct {
        struct attempt attempt;
        struct opening opening;
        int result;
    } rows[] = {
        { { { { "/dev/null", WRITE } } }, { "/dev/null", O_RDWR }, 0 },
        { { { { "/dev/null", WRITE } } }, { "/dev/null", O_WRONLY | O_TRUNC }, 0 },
        { { { { "/dev/null", READ } } }, { "/dev/null", O_RDONLY }, 0 },
        { { { { "/dev/null", READ } } }, { "/dev/null", O_WRONLY }, EACCES },
        { { { { "/dev/null", WRITE } } }, { "/dev/zero", O_RDONLY }, EACCES },
        { { { { "/dev/null", WRITE } } }, { "/dev", O_RDONLY }, EACCES },
        { { { { "one", WRITE } } }, { "one", O_RDWR }, 0 },
        { { { { "one", READ } } }, { "one", O_RDONLY }, 0 },
        { { { { "one", READ } } }, { "one", O_WRONLY }, EACCES },
        { { { { "one", WRITE } } }, { "two", O_RDONLY }, EACCES },
        { { { { "one", WRITE } } }, { "three", O_WRONLY | O_CREAT }, EACCES },
        { { { { "one", WRITE } } }, { ".", O_RDONLY }, EACCES },
    };

    (void)state;
    NEEDS_ABI(1);
    scene_file("one", "1");
    scene_file("two", "2");
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct attempt attempt = rows[i].attempt;
        struct opening opening = rows[i].opening;
        int status;

        assert_exited(in_child(open_file, &opening), 0);
        (void)unlink("three");
        attempt.deed = open_file;
        attempt.data = &opening;
        status = in_child(confined, &attempt);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != rows[i].result)
            fail_msg("row %zu: %d, expected %d", i, WEXITSTATUS(status), rows[i].result);
        assert_false(scene_has("three"));
    }
}

static int ask_device(void *data)
{
    int fd = open("/dev/random", O_RDONLY | O_CLOEXEC);
    int bits;

    (void)data;
    CHILD_CHECK(fd >= 0);
    return RESULT(ioctl(fd, RNDGETENTCNT, &bits));
}

static void a_device_is_asked_only_where_the_rule_says_so(void **state)
{
    struct attempt attempt = { .rules = { { "/dev/random", WRITE } },
                               .deed = ask_device };

    (void)state;
    NEEDS_ABI(5);
    assert_exited(in_child(confined, &attempt), EACCES);
    attempt.rules[0].flags.ioctls = true;
    assert_exited(in_child(confined, &attempt), 0);
    attempt.rules[0].path = "/dev";
    assert_exited(in_child(confined, &attempt), 0);
}

static int make_node(void *data)
{
    return RESULT(mknod("node", *(mode_t *)data | 0600, makedev(1, 3)));
}

static void fifos_and_sockets_are_made_where_the_rule_says_so_and_devices_never(
    void **state)
{
    static const struct {
        mode_t type;
        bool ipc, writable;
        int result;
    } rows[] = {
        { S_IFIFO, true, true, 0 },        { S_IFSOCK, true, true, 0 },
        { S_IFIFO, false, true, EACCES },  { S_IFSOCK, false, true, EACCES },
        { S_IFIFO, true, false, EACCES },  { S_IFSOCK, true, false, EACCES },
        { S_IFCHR, true, true, EACCES },   { S_IFBLK, true, true, EACCES },
    };

    (void)state;
    NEEDS_ABI(1);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        mode_t type = rows[i].type;
        struct attempt attempt = { .rules = { { ".", { .writable = rows[i].writable,
                                                       .makes_ipc = rows[i].ipc,
                                                       .executable = true,
                                                       .ioctls = true } } },
                                   .deed = make_node,
                                   .data = &type };

        /* An ordinary user makes no device anywhere. */
        if (geteuid() == 0 || rows[i].type == S_IFIFO || rows[i].type == S_IFSOCK) {
            assert_exited(in_child(make_node, &type), 0);
            assert_int_equal(unlink("node"), 0);
        }
        assert_exited(in_child(confined, &attempt), rows[i].result);
        assert_int_equal(scene_has("node"), rows[i].result == 0);
        (void)unlink("node");
    }
}

static int connect_to(void *data)
{
    const struct sockaddr_in *address = data;
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return RESULT(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
}

static int signal_parent(void *data)
{
    (void)data;
    return RESULT(kill(getppid(), 0));
}

static void files_alone_are_judged_where_namespaces_judge_the_rest(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    struct opening opening = { "/", O_RDONLY };
    struct attempt attempt = { .deed = connect_to, .data = &address };

    (void)state;
    NEEDS_ABI(6);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_exited(in_child(confined, &attempt), 0);
    attempt.all = true;
    assert_exited(in_child(confined, &attempt), EACCES);

    attempt = (struct attempt){ .deed = signal_parent };
    assert_exited(in_child(confined, &attempt), 0);
    attempt.all = true;
    assert_exited(in_child(confined, &attempt), EPERM);

    attempt = (struct attempt){ .deed = open_file, .data = &opening };
    assert_exited(in_child(confined, &attempt), EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_what_is_executable_is_executed, scene_clear),
        cmocka_unit_test_setup(a_rule_on_a_file_is_about_that_file, scene_clear),
        cmocka_unit_test_setup(a_device_is_asked_only_where_the_rule_says_so,
                               scene_clear),
        cmocka_unit_test_setup(
            fifos_and_sockets_are_made_where_the_rule_says_so_and_devices_never,
            scene_clear),
        cmocka_unit_test_setup(files_alone_are_judged_where_namespaces_judge_the_rest,
                               scene_clear),
    };

    return cmocka_run_group_tests_name("landlock_native", tests, scene_enter,
                                       scene_leave);
}
