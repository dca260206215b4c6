/*
 * What a confined process tries is tried first by one that is not.  The parent looks
 * at the files, counts the calls at its listener and the signals that reach it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "in_child.h"
#include "landlock.h"
#include "nacre/own.h"

/* top/ro/file, top/rw/file, top/rw/a/, top/rw/b/, top/outside/file */
static char top[] = "/tmp/nacre-landlock-XXXXXX";
static int top_fd = -1;

static bool put(const char *path, mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(top_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    return fd >= 0 && write(fd, "canary", 6) == 6;
}

static bool is_canary(const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(top_fd, path, O_RDONLY | O_CLOEXEC);
    char bytes[16];

    return fd >= 0 && read(fd, bytes, sizeof(bytes)) == 6 &&
           memcmp(bytes, "canary", 6) == 0;
}

static const char *const directories[] = { "ro", "outside", "rw", "rw/a", "rw/b" };
static const char *const made[] = { "ro/file",      "ro/made",  "outside/file",
                                    "outside/made", "rw/file",  "rw/made",
                                    "rw/a/file",    "rw/b/file", "ro/from" };

static int make_tree(void **state)
{
    (void)state;
    if (nacre_landlock_abi() == 0) {
        print_message("this kernel has no Landlock: %s\n", nacre_landlock_lacks(0));
        return 0;
    }
    if (!mkdtemp(top) || (top_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return -1;
    for (size_t i = 0; i < NACRE_COUNT(directories); i++) {
        if (mkdirat(top_fd, directories[i], 0700) < 0)
            return -1;
    }
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    if (top_fd < 0)
        return 0;
    for (size_t i = 0; i < NACRE_COUNT(made); i++)
        (void)unlinkat(top_fd, made[i], 0);
    for (size_t i = NACRE_COUNT(directories); i-- > 0;)
        (void)unlinkat(top_fd, directories[i], AT_REMOVEDIR);
    nacre_fd_guard(&top_fd);
    return rmdir(top);
}

/* Before each test: every file as it was. */
static int reset(void **state)
{
    (void)state;
    if (top_fd < 0)
        return 0;
    for (size_t i = 0; i < NACRE_COUNT(made); i++)
        (void)unlinkat(top_fd, made[i], 0);
    if (!put("ro/file", 0600) || !put("rw/file", 0700) || !put("outside/file", 0600))
        return -1;
    return 0;
}

/* No Landlock at all is the one reason to skip.  An ABI that can't judge `what` says so,
 * and that is all there is to test. */
#define NEEDS_ABI(abi, what)                                                      \
    do {                                                                          \
        uint32_t here = nacre_landlock_abi();                                     \
                                                                                  \
        if (here == 0)                                                            \
            skip();                                                               \
        if (here < (abi)) {                                                       \
            assert_non_null(strstr(nacre_landlock_lacks(here), what));            \
            return;                                                               \
        }                                                                         \
    } while (0)

struct attempt {
    bool confined;
    int (*deed)(void *data);
    void *data;
};

static int try_child(void *data)
{
    const struct attempt *attempt = data;
    struct nacre_error err;
    uint32_t abi = 0;
    struct nacre_landlock_rule rules[] = {
        { .dir_fd = openat(top_fd, "ro", O_PATH | O_DIRECTORY | O_CLOEXEC) },
        { .dir_fd = openat(top_fd, "rw", O_PATH | O_DIRECTORY | O_CLOEXEC),
          .writable = true },
    };

    if (attempt->confined) {
        CHILD_CHECK(nacre_landlock_enforce(rules, 2, &abi, &err) == NACRE_OK);
        CHILD_CHECK(abi == nacre_landlock_abi());
    }
    return attempt->deed(attempt->data);
}

static int try(bool confined, int (*deed)(void *data), void *data)
{
    struct attempt attempt = { confined, deed, data };

    return in_child(try_child, &attempt);
}

/* 0 or errno, so that a row can say what is expected. */
#define RESULT(call) ((call) >= 0 ? 0 : errno)

struct file_deed {
    const char *name;
    enum { OPEN, MAKE_DIR, MAKE_NODE, MAKE_LINK, REMOVE, MOVE, TRUNCATE } kind;
    const char *path, *to;
    int flags;       /* of open, or the type of the node */
    int result;      /* when confined: 0, or its errno */
    uint32_t abi;    /* from which the row holds */
};

static int do_file(void *data)
{
    const struct file_deed *deed = data;

    switch (deed->kind) {
    case OPEN:
        return RESULT(openat(top_fd, deed->path, deed->flags | O_CLOEXEC, 0600));
    case MAKE_DIR:
        return RESULT(mkdirat(top_fd, deed->path, 0700)) ||
               RESULT(unlinkat(top_fd, deed->path, AT_REMOVEDIR))
                   ? errno
                   : 0;
    case MAKE_NODE:
        return RESULT(mknodat(top_fd, deed->path, (mode_t)deed->flags | 0600, 0));
    case MAKE_LINK:
        return RESULT(deed->flags ? symlinkat(deed->to, top_fd, deed->path)
                                  : linkat(top_fd, deed->to, top_fd, deed->path, 0));
    case REMOVE:
        return RESULT(unlinkat(top_fd, deed->path, 0));
    case MOVE:
        return RESULT(renameat(top_fd, deed->path, top_fd, deed->to));
    case TRUNCATE: {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/%s", top, deed->path);
        return RESULT(truncate(path, 0));
    }
    }
    return CHILD_CHECK_FAILED;
}

static const struct file_deed file_deeds[] = {
    { "read outside", OPEN, "outside/file", NULL, O_RDONLY, EACCES, 1 },
    { "list outside", OPEN, "outside", NULL, O_RDONLY | O_DIRECTORY, EACCES, 1 },
    { "write outside", OPEN, "outside/file", NULL, O_WRONLY, EACCES, 1 },
    { "make outside", OPEN, "outside/made", NULL, O_WRONLY | O_CREAT, EACCES, 1 },
    { "remove outside", REMOVE, "outside/file", NULL, 0, EACCES, 1 },
    { "truncate outside", TRUNCATE, "outside/file", NULL, 0, EACCES, 3 },
    { "read above", OPEN, ".", NULL, O_RDONLY | O_DIRECTORY, EACCES, 1 },
    { "write read-only", OPEN, "ro/file", NULL, O_WRONLY, EACCES, 1 },
    { "append read-only", OPEN, "ro/file", NULL, O_WRONLY | O_APPEND, EACCES, 1 },
    { "O_TRUNC read-only", OPEN, "ro/file", NULL, O_RDONLY | O_TRUNC, EACCES, 3 },
    { "truncate read-only", TRUNCATE, "ro/file", NULL, 0, EACCES, 3 },
    { "make in read-only", OPEN, "ro/made", NULL, O_RDWR | O_CREAT, EACCES, 1 },
    { "mkdir in read-only", MAKE_DIR, "ro/made", NULL, 0, EACCES, 1 },
    { "symlink in read-only", MAKE_LINK, "ro/made", "file", 1, EACCES, 1 },
    { "remove in read-only", REMOVE, "ro/file", NULL, 0, EACCES, 1 },
    { "link writable to read-only", MAKE_LINK, "ro/made", "rw/file", 0, EACCES, 2 },
    { "move writable to read-only", MOVE, "rw/file", "ro/from", 0, EACCES, 2 },
    { "move read-only to writable", MOVE, "ro/file", "rw/made", 0, EACCES, 2 },
    { "link outside to writable", MAKE_LINK, "rw/made", "outside/file", 0, EXDEV, 2 },
    { "FIFO in writable", MAKE_NODE, "rw/made", NULL, S_IFIFO, EACCES, 1 },
    { "socket in writable", MAKE_NODE, "rw/made", NULL, S_IFSOCK, EACCES, 1 },

    { "read read-only", OPEN, "ro/file", NULL, O_RDONLY, 0, 1 },
    { "list read-only", OPEN, "ro", NULL, O_RDONLY | O_DIRECTORY, 0, 1 },
    { "write writable", OPEN, "rw/file", NULL, O_RDWR | O_TRUNC, 0, 1 },
    { "make in writable", OPEN, "rw/made", NULL, O_RDWR | O_CREAT, 0, 1 },
    { "mkdir in writable", MAKE_DIR, "rw/made", NULL, 0, 0, 1 },
    { "symlink in writable", MAKE_LINK, "rw/made", "file", 1, 0, 1 },
    { "remove in writable", REMOVE, "rw/file", NULL, 0, 0, 1 },
    { "move within writable", MOVE, "rw/file", "rw/a/file", 0, 0, 2 },
    { "link within writable", MAKE_LINK, "rw/b/file", "rw/file", 0, 0, 2 },
    { "truncate writable", TRUNCATE, "rw/file", NULL, 0, 0, 1 },
};

static void files_are_what_the_rules_say(void **state)
{
    NEEDS_ABI(1, "");
    for (size_t i = 0; i < NACRE_COUNT(file_deeds); i++) {
        struct file_deed deed = file_deeds[i];
        int control, confined;

        if (nacre_landlock_abi() < deed.abi)
            continue;
        assert_int_equal(reset(state), 0);
        control = try(false, do_file, &deed);
        if (!WIFEXITED(control) || WEXITSTATUS(control) != 0)
            fail_msg("%s: the control failed with %d", deed.name, WEXITSTATUS(control));
        assert_int_equal(reset(state), 0);
        confined = try(true, do_file, &deed);
        if (!WIFEXITED(confined) || WEXITSTATUS(confined) != deed.result)
            fail_msg("%s: %d, expected %d", deed.name, WEXITSTATUS(confined),
                     deed.result);
        if (!is_canary("ro/file") || !is_canary("outside/file") ||
            faccessat(top_fd, "ro/made", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
            faccessat(top_fd, "outside/made", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            fail_msg("%s: left a mark", deed.name);
    }
}

static int run_file(void *data)
{
    char path[128];
    char *const arguments[] = { path, NULL };

    (void)data;
    (void)snprintf(path, sizeof(path), "%s/rw/file", top);
    execve(path, arguments, NULL);
    return errno;
}

/* A program proper would prove nothing: its loader lies outside.  With a text that is
 * no program, ENOEXEC says that the kernel was willing. */
static void nothing_is_executed_even_where_it_may_be_written(void **state)
{
    (void)state;
    NEEDS_ABI(1, "");
    assert_exited(try(false, run_file, NULL), ENOEXEC);
    assert_exited(try(true, run_file, NULL), EACCES);
}

static int read_below_inherited_fd(void *data)
{
    return RESULT(openat(*(int *)data, "file", O_RDONLY | O_CLOEXEC));
}

static void an_inherited_directory_opens_nothing_new(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    (void)state;
    NEEDS_ABI(1, "");
    fd = openat(top_fd, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_exited(try(false, read_below_inherited_fd, &fd), 0);
    assert_exited(try(true, read_below_inherited_fd, &fd), EACCES);
}

static int connect_to(void *data)
{
    const struct sockaddr_in *address = data;
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return RESULT(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
}

static int bind_a_port(void *data)
{
    const struct sockaddr_in any = { .sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)data;
    return RESULT(bind(fd, (const struct sockaddr *)&any, sizeof(any)));
}

static int calls_at(int listener)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    int count = 0;

    while (poll(&ready, 1, 0) == 1) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        count += fd >= 0;
        nacre_fd_guard(&fd);
    }
    return count;
}

static void no_tcp_from_abi_4(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    (void)state;
    NEEDS_ABI(4, "TCP");
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_exited(try(false, connect_to, &address), 0);
    assert_int_equal(calls_at(fd), 1);
    assert_exited(try(true, connect_to, &address), EACCES);
    assert_int_equal(calls_at(fd), 0);
    assert_exited(try(false, bind_a_port, NULL), 0);
    assert_exited(try(true, bind_a_port, NULL), EACCES);
}

static int ask_device(void *data)
{
    struct nacre_landlock_rule rule = { .dir_fd = open("/dev", O_PATH | O_CLOEXEC),
                                        .writable = true };
    struct nacre_error err;
    uint32_t abi;
    int fd, bits;

    if (*(bool *)data)
        CHILD_CHECK(nacre_landlock_enforce(&rule, 1, &abi, &err) == NACRE_OK);
    fd = open("/dev/random", O_RDONLY | O_CLOEXEC);
    CHILD_CHECK(fd >= 0);
    return RESULT(ioctl(fd, RNDGETENTCNT, &bits));
}

static void no_device_ioctl_from_abi_5(void **state)
{
    bool confined = false;

    (void)state;
    NEEDS_ABI(5, "device ioctls");
    assert_exited(in_child(ask_device, &confined), 0);
    confined = true;
    assert_exited(in_child(ask_device, &confined), EACCES);
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static int signal_parent(void *data)
{
    return RESULT(kill(*(pid_t *)data, SIGUSR1));
}

static int connect_abstract(void *data)
{
    const struct sockaddr_un *address = data;
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return RESULT(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
}

static void no_signal_and_no_abstract_socket_leave_from_abi_6(void **state)
{
    struct sigaction count = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
    struct sigaction before;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    pid_t own = getpid();

    (void)state;
    NEEDS_ABI(6, "signals and abstract sockets");
    assert_int_equal(sigaction(SIGUSR1, &count, &before), 0);
    assert_exited(try(false, signal_parent, &own), 0);
    assert_int_equal(signals_seen, 1);
    assert_exited(try(true, signal_parent, &own), EPERM);
    assert_int_equal(signals_seen, 1);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);

    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "nacre-test-%d",
                   own);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_exited(try(false, connect_abstract, &address), 0);
    assert_int_equal(calls_at(fd), 1);
    assert_exited(try(true, connect_abstract, &address), EPERM);
    assert_int_equal(calls_at(fd), 0);
}

static int open_without_rules(void *data)
{
    struct nacre_error err;
    uint32_t abi;

    (void)data;
    CHILD_CHECK(nacre_landlock_enforce(NULL, 0, &abi, &err) == NACRE_OK);
    return RESULT(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void no_rules_mean_no_files(void **state)
{
    (void)state;
    NEEDS_ABI(1, "");
    assert_exited(in_child(open_without_rules, NULL), EACCES);
}

static int fail_and_go_on(void *data)
{
    const struct nacre_landlock_rule rules[] = {
        { .dir_fd = *(int *)data },
    };
    struct nacre_error err = { .status = NACRE_OK };
    uint32_t abi = 77;

    CHILD_CHECK(nacre_landlock_enforce(rules, 1, &abi, &err) == NACRE_ERR_IO);
    CHILD_CHECK(err.sys_errno != 0 && strstr(err.text, "expected a directory or file"));
    CHILD_CHECK(abi == 77);
    return RESULT(openat(top_fd, "outside/file", O_RDONLY | O_CLOEXEC));
}

static void a_bad_rule_confines_nothing(void **state)
{
    int closed = -1;
    int pipes[2];

    (void)state;
    NEEDS_ABI(1, "");
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_exited(in_child(fail_and_go_on, &closed), 0);
    assert_exited(in_child(fail_and_go_on, &pipes[0]), 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void each_abi_lacks_less_than_the_one_before(void **state)
{
    (void)state;
    for (uint32_t abi = 1; abi <= NACRE_LANDLOCK_ABI_FULL; abi++)
        assert_true(strlen(nacre_landlock_lacks(abi)) < 80);
    for (uint32_t abi = 1; abi < NACRE_LANDLOCK_ABI_FULL; abi++)
        assert_true(strlen(nacre_landlock_lacks(abi)) >
                    strlen(nacre_landlock_lacks(abi + 1)));
    assert_non_null(strstr(nacre_landlock_lacks(0), "all of it"));
    assert_non_null(strstr(nacre_landlock_lacks(2), "truncation"));
    assert_null(strstr(nacre_landlock_lacks(3), "truncation"));
    assert_string_equal(nacre_landlock_lacks(NACRE_LANDLOCK_ABI_FULL), "");
    assert_string_equal(nacre_landlock_lacks(UINT32_MAX), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(files_are_what_the_rules_say, reset),
        cmocka_unit_test_setup(nothing_is_executed_even_where_it_may_be_written, reset),
        cmocka_unit_test_setup(an_inherited_directory_opens_nothing_new, reset),
        cmocka_unit_test_setup(no_tcp_from_abi_4, reset),
        cmocka_unit_test_setup(no_device_ioctl_from_abi_5, reset),
        cmocka_unit_test_setup(no_signal_and_no_abstract_socket_leave_from_abi_6, reset),
        cmocka_unit_test_setup(no_rules_mean_no_files, reset),
        cmocka_unit_test_setup(a_bad_rule_confines_nothing, reset),
        cmocka_unit_test(each_abi_lacks_less_than_the_one_before),
    };

    return cmocka_run_group_tests_name("landlock", tests, make_tree, remove_tree);
}
