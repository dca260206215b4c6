/* Each limit is run into, after the same thing has worked without it; what the kernel
 * holds is read from outside, in /proc/PID/limits. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "in_child.h"
#include "nacre/own.h"
#include "rlimits.h"

#define MIB ((size_t)1 << 20)

static const struct nacre_rlimits limits = {
    .memory_bytes_max = 64 * MIB,
    .open_files_max = 40,
    .file_bytes_max = 4096,
};

static int limit(void)
{
    struct nacre_error err;

    if (nacre_rlimits_worker(&limits, &err) == NACRE_OK)
        return 0;
    dprintf(2, "%s\n", err.text);
    return CHILD_CHECK_FAILED;
}

static void *map(size_t bytes, int protection)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

    return mmap(NULL, bytes, protection, flags, -1, 0);
}

static int take_memory(void *data)
{
    const int both = PROT_READ | PROT_WRITE;
    size_t over = limits.memory_bytes_max + NACRE_RLIMITS_SLACK + MIB;
    void *reserved;

    (void)data;
    CHILD_CHECK(map(over, both) != MAP_FAILED);
    CHILD_CHECK(limit() == 0);
    CHILD_CHECK(map(over, both) == MAP_FAILED && errno == ENOMEM);
    /* As the engine does it: reserve far more, then open a part. */
    reserved = map((size_t)64 << 30, PROT_NONE);
    CHILD_CHECK(reserved != MAP_FAILED);
    CHILD_CHECK(mprotect(reserved, over, both) < 0 && errno == ENOMEM);
    CHILD_CHECK(mprotect(reserved, limits.memory_bytes_max, both) == 0);
    memset(reserved, 1, limits.memory_bytes_max);
    return 0;
}

static void memory_ends_at_the_limit_and_reservations_do_not_count(void **state)
{
    (void)state;
    assert_exited(in_child(take_memory, NULL), 0);
}

static int open_files(void *data)
{
    int fd;

    CHILD_CHECK(fcntl(0, F_DUPFD_CLOEXEC, 40) >= 40);
    CHILD_CHECK(limit() == 0);
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        *(int *)data = fd;
    return errno;
}

static void fds_end_at_the_limit(void **state)
{
    int *last =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(last, MAP_FAILED);
    assert_exited(in_child(open_files, last), EMFILE);
    assert_int_equal(*last, 39);
    munmap(last, 4096);
}

static int write_much(void *data)
{
    int fd = *(int *)data;
    char bytes[8192] = { 0 };

    CHILD_CHECK(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
    CHILD_CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    CHILD_CHECK(limit() == 0);
    CHILD_CHECK(write(fd, bytes, sizeof(bytes)) == 4096);
    CHILD_CHECK(ftruncate(fd, (off_t)1 << 40) < 0 && errno == EFBIG);
    return write(fd, bytes, 1) < 0 ? errno : 0;
}

static void a_file_ends_at_the_limit_with_an_errno(void **state)
{
    char path[] = "/tmp/nacre-rlimits-XXXXXX";
    NACRE_AUTO(nacre_fd_guard) int fd = mkostemp(path, O_CLOEXEC);
    struct stat status;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_exited(in_child(write_much, &fd), EFBIG);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 4096);
}

static int limit_and_stop(void *data)
{
    (void)data;
    CHILD_CHECK(prctl(PR_GET_DUMPABLE) == 1);
    CHILD_CHECK(limit() == 0);
    CHILD_CHECK(prctl(PR_GET_DUMPABLE) == 0);
    return raise(SIGSTOP);
}

static void read_proc(pid_t pid, const char *name, char *ret_text, size_t size)
{
    char path[64];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? 0 : read(fd, ret_text, size - 1);
    ret_text[count > 0 ? count : 0] = '\0';
}

/* Soft and hard, so that the process can't raise it again. */
static void assert_limit(const char *text, const char *name, const char *value)
{
    const char *line = strstr(text, name);
    char soft[32] = "", hard[32] = "";

    assert_non_null(line);
    assert_int_equal(sscanf(line + strlen(name), "%31s %31s", soft, hard), 2);
    assert_string_equal(soft, value);
    assert_string_equal(hard, value);
}

static void the_kernel_shows_every_limit(void **state)
{
    char text[4096];
    pid_t pid;
    int status;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(limit_and_stop(NULL));
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));

    read_proc(pid, "limits", text, sizeof(text));
    assert_limit(text, "Max core file size", "0");
    assert_limit(text, "Max locked memory", "0");
    assert_limit(text, "Max stack size", "8388608");
    assert_limit(text, "Max open files", "40");
    assert_limit(text, "Max file size", "4096");
    assert_null(strstr(text, "Max data size             unlimited"));
    assert_non_null(strstr(text, "Max data size             "));
    read_proc(pid, "status", text, sizeof(text));
    assert_non_null(strstr(text, "NoNewPrivs:\t1"));

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static int ask_for_too_many_files(void *data)
{
    const struct rlimit low = { 20, 20 };
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CHILD_CHECK(nacre_rlimits_worker(&limits, &err) == NACRE_ERR_UNAVAILABLE);
    CHILD_CHECK(strstr(err.text, "40 open files are needed and this process may have"));
    return 0;
}

static int keep_lower_limits(void *data)
{
    const struct rlimit low = { MIB, 4 * MIB };
    struct rlimit now;

    (void)data;
    CHILD_CHECK(setrlimit(RLIMIT_STACK, &low) == 0);
    CHILD_CHECK(limit() == 0);
    CHILD_CHECK(getrlimit(RLIMIT_STACK, &now) == 0);
    CHILD_CHECK(now.rlim_cur == 4 * MIB && now.rlim_max == 4 * MIB);
    return 0;
}

static void the_callers_own_limits_are_never_raised(void **state)
{
    (void)state;
    assert_exited(in_child(ask_for_too_many_files, NULL), 0);
    assert_exited(in_child(keep_lower_limits, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_ends_at_the_limit_and_reservations_do_not_count),
        cmocka_unit_test(fds_end_at_the_limit),
        cmocka_unit_test(a_file_ends_at_the_limit_with_an_errno),
        cmocka_unit_test(the_kernel_shows_every_limit),
        cmocka_unit_test(the_callers_own_limits_are_never_raised),
    };

    return cmocka_run_group_tests_name("rlimits", tests, NULL, NULL);
}
