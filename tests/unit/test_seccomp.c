/*
 * Deeds under a filter, each in a process of its own and judged by what the parent sees:
 * first without the filter, to show that it works, then under it.  The calls one by one
 * are in test_seccomp_calls.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "seccomp_rules.h"
#include "under_filter.h"

static struct nacre_seccomp_program *worker, *worker_code, *compiler;
static char directory[] = "/tmp/nacre-seccomp-XXXXXX";
static int dir_fd = -1;

static int build_filters(void **state)
{
    struct nacre_error err;

    (void)state;
    if (!mkdtemp(directory) ||
        (dir_fd = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC)) < 0 ||
        nacre_seccomp_build(NACRE_SECCOMP_WORKER, 0, &worker, &err) != NACRE_OK ||
        nacre_seccomp_build(NACRE_SECCOMP_WORKER,
                            NACRE_SECCOMP_MAP_CODE | NACRE_SECCOMP_RECEIVE_FDS,
                            &worker_code, &err) != NACRE_OK ||
        nacre_seccomp_build(NACRE_SECCOMP_COMPILER, NACRE_SECCOMP_MAP_CODE, &compiler,
                            &err) != NACRE_OK)
        return -1;
    return 0;
}

static int free_filters(void **state)
{
    (void)state;
    nacre_seccomp_program_free(worker);
    nacre_seccomp_program_free(worker_code);
    nacre_seccomp_program_free(compiler);
    nacre_fd_guard(&dir_fd);
    return rmdir(directory);
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static int signal_parent(void *data)
{
    pid_t parent = *(pid_t *)data;

    return syscall(SYS_tgkill, parent, parent, SIGUSR1) == 0 ? 0 : errno;
}

static int signal_parent_by_kill(void *data)
{
    return kill(*(pid_t *)data, SIGUSR1) == 0 ? 0 : errno;
}

static int signal_self(void *data)
{
    (void)data;
    signals_seen = 0;
    return raise(SIGUSR1) == 0 && signals_seen == 1 ? 0 : CHILD_CHECK_FAILED;
}

static void signals_reach_nobody_but_oneself(void **state)
{
    pid_t own = getpid();
    struct sigaction count = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &count, &before), 0);
    signals_seen = 0;
    assert_exited(try(NULL, signal_parent, &own), 0);
    assert_exited(try(NULL, signal_parent_by_kill, &own), 0);
    assert_int_equal(signals_seen, 2);

    assert_exited(try(worker, signal_parent, &own), EPERM);
    assert_exited(try(compiler, signal_parent, &own), EPERM);
    assert_killed(try(worker, signal_parent_by_kill, &own), SIGSYS);
    assert_int_equal(signals_seen, 2);
    assert_exited(try(worker, signal_self, NULL), 0);
    assert_exited(try(compiler, signal_self, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

static int run_program(void *data)
{
    char *const arguments[] = { (char[]){ "sh" }, (char[]){ "-c" }, data, NULL };

    execve("/bin/sh", arguments, NULL);
    return errno;
}

static void no_program_is_started(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), ": > %s/canary", directory);
    assert_exited(try(NULL, run_program, command), 0);
    assert_int_equal(unlinkat(dir_fd, "canary", 0), 0);

    assert_killed(try(worker, run_program, command), SIGSYS);
    assert_killed(try(worker_code, run_program, command), SIGSYS);
    assert_killed(try(compiler, run_program, command), SIGSYS);
    assert_int_equal(faccessat(dir_fd, "canary", F_OK, 0), -1);
}

static int connect_to(void *data)
{
    const struct sockaddr_in *address = data;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return errno;
    return 0;
}

static bool somebody_called(int listener)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    int fd;

    if (poll(&ready, 1, 0) != 1)
        return false;
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    nacre_fd_guard(&fd);
    return true;
}

static void no_listener_is_reached(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    assert_exited(try(NULL, connect_to, &address), 0);
    assert_true(somebody_called(fd));

    assert_killed(try(worker, connect_to, &address), SIGSYS);
    assert_killed(try(compiler, connect_to, &address), SIGSYS);
    assert_false(somebody_called(fd));
}

/* One that parent and child both see. */
static void *shared_page(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Through the call that debuggers use; to itself, so that no other rule interferes. */
static int write_by_debugger(void *data)
{
    char text[] = "changed";
    struct iovec from = { text, sizeof(text) }, to = { data, sizeof(text) };

    return process_vm_writev(getpid(), &from, 1, &to, 1, 0) > 0 ? 0 : errno;
}

static void no_process_memory_is_written(void **state)
{
    char *page = shared_page();

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_exited(try(NULL, write_by_debugger, page), 0);
    assert_string_equal(page, "changed");
    memset(page, 0, 4096);
    assert_killed(try(worker, write_by_debugger, page), SIGSYS);
    assert_killed(try(compiler, write_by_debugger, page), SIGSYS);
    assert_string_equal(page, "");
    munmap(page, 4096);
}

static void *add_one(void *data)
{
    (*(int *)data)++;
    return NULL;
}

static int start_thread(void *data)
{
    int count = 0;
    pthread_t thread;
    int code = pthread_create(&thread, NULL, add_one, &count);

    (void)data;
    if (code != 0)
        return code;
    return pthread_join(thread, NULL) == 0 && count == 1 ? 0 : CHILD_CHECK_FAILED;
}

static int start_process(void *data)
{
    pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (pid == 0) {
        *(char *)data = 'x';
        _exit(0);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : errno;
}

/* A thread in all but the one flag that keeps it in its process. */
static int start_process_like_a_thread(void *data)
{
    (void)data;
    return syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, 0, 0, 0,
                   0) < 0
               ? errno
               : 0;
}

static void a_compiler_has_threads_and_nobody_has_processes(void **state)
{
    char *seen = shared_page();

    (void)state;
    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_exited(try(NULL, start_process, seen), 0);
    assert_int_equal(*seen, 'x');
    *seen = 0;
    assert_killed(try(worker, start_process, seen), SIGSYS);
    assert_exited(try(compiler, start_process, seen), EPERM);
    assert_int_equal(*seen, 0);

    assert_exited(try(NULL, start_thread, NULL), 0);
    assert_exited(try(compiler, start_thread, NULL), 0);
    assert_killed(try(worker, start_thread, NULL), SIGSYS);
    assert_exited(try(compiler, start_process_like_a_thread, NULL), EPERM);
    munmap(seen, 4096);
}

static int map_with(void *data)
{
    void *page = mmap(NULL, 4096, *(int *)data, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? errno : 0;
}

static int protect_with(void *data)
{
    void *page = shared_page();

    CHILD_CHECK(page != MAP_FAILED);
    return mprotect(page, 4096, *(int *)data) == 0 ? 0 : errno;
}

static void code_is_mapped_only_where_it_was_asked_for(void **state)
{
    int plain = PROT_READ | PROT_WRITE, code = PROT_READ | PROT_EXEC;
    int both = PROT_READ | PROT_WRITE | PROT_EXEC;
    int (*const ways[])(void *) = { map_with, protect_with };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(ways); i++) {
        assert_exited(try(NULL, ways[i], &both), 0);
        assert_exited(try(worker, ways[i], &plain), 0);
        assert_exited(try(worker, ways[i], &code), EPERM);
        assert_exited(try(worker, ways[i], &both), EPERM);
        assert_exited(try(worker_code, ways[i], &code), 0);
        assert_exited(try(worker_code, ways[i], &both), EPERM);
        assert_exited(try(compiler, ways[i], &plain), 0);
        assert_exited(try(compiler, ways[i], &code), 0);
        assert_exited(try(compiler, ways[i], &both), EPERM);
    }
}

static int open_file(void *data)
{
    (void)data;
    return openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 ? 0 : errno;
}

static void a_compiler_opens_nothing(void **state)
{
    (void)state;
    assert_exited(try(NULL, open_file, NULL), 0);
    assert_exited(try(worker, open_file, NULL), 0);
    assert_exited(try(compiler, open_file, NULL), EPERM);
}

static int receive_fd(void *data)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                              .msg_controllen = sizeof(control) };

    if (recvmsg(*(int *)data, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | MSG_PEEK) < 0)
        return errno;
    return CMSG_FIRSTHDR(&message) ? 0 : CHILD_CHECK_FAILED;
}

static void fds_are_received_only_where_it_was_asked_for(void **state)
{
    char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec part = { (char[]){ "x" }, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                              .msg_controllen = sizeof(control) };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int pair[2];

    (void)state;
    *header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(header), &dir_fd, sizeof(dir_fd));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(sendmsg(pair[1], &message, 0), 1);
    assert_exited(try(NULL, receive_fd, &pair[0]), 0);
    assert_exited(try(worker_code, receive_fd, &pair[0]), 0);
    assert_exited(try(worker, receive_fd, &pair[0]), EPERM);
    assert_exited(try(compiler, receive_fd, &pair[0]), EPERM);
    close(pair[0]);
    close(pair[1]);
}

static int send_plain(void *data)
{
    return send(*(int *)data, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : errno;
}

/* An unconnected socket that a caller gave as standard input would send it anywhere. */
static int send_to_somebody(void *data)
{
    const struct sockaddr_un nobody = { .sun_family = AF_UNIX, .sun_path = "\0nacre" };

    return sendto(*(int *)data, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&nobody, sizeof(nobody)) == 1
               ? 0
               : errno;
}

static void a_worker_sends_to_its_door_and_to_no_address(void **state)
{
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_exited(try(NULL, send_plain, &pair[0]), 0);
    assert_exited(try(worker, send_plain, &pair[0]), 0);
    assert_exited(try(worker_code, send_plain, &pair[0]), 0);
    assert_exited(try(compiler, send_plain, &pair[0]), EPERM);
    assert_exited(try(NULL, send_to_somebody, &pair[0]), EISCONN);
    assert_exited(try(worker, send_to_somebody, &pair[0]), EPERM);
    close(pair[0]);
    close(pair[1]);
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
    int control = try(NULL, call_as_i386, NULL);

    (void)state;
    /* A kernel without 32-bit emulation refuses it by itself. */
    assert_true(WIFEXITED(control) || WTERMSIG(control) == SIGSEGV);
    assert_killed(try(worker, call_as_i386, NULL),
                  WIFEXITED(control) ? SIGSYS : SIGSEGV);
    assert_killed(try(compiler, call_as_i386, NULL),
                  WIFEXITED(control) ? SIGSYS : SIGSEGV);
}
#endif

/* ---- what must go on working ---- */

static int work_with_files(void)
{
    struct stat status;
    struct statx more;
    struct statfs fs;
    char bytes[64], entries[1024];
    struct iovec part = { bytes, 4 };
    const struct timespec now = { .tv_nsec = UTIME_NOW };
    const struct timespec times[] = { now, now };
    int fd = openat(dir_fd, "file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int again;

    CHILD_CHECK(fd >= 0);
    CHILD_CHECK(write(fd, "text", 4) == 4 && pwrite(fd, "more", 4, 4) == 4);
    CHILD_CHECK(writev(fd, &part, 1) == 4 && pwritev(fd, &part, 1, 0) == 4);
    CHILD_CHECK(pwritev2(fd, &part, 1, 0, 0) == 4 && preadv2(fd, &part, 1, 0, 0) == 4);
    CHILD_CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, bytes, 4) == 4);
    CHILD_CHECK(readv(fd, &part, 1) == 4 && preadv(fd, &part, 1, 0) == 4);
    CHILD_CHECK(pread(fd, bytes, 1, 0) == 1 && fstat(fd, &status) == 0);
    CHILD_CHECK(fstatat(dir_fd, "file", &status, AT_SYMLINK_NOFOLLOW) == 0);
    CHILD_CHECK(statx(dir_fd, "file", 0, STATX_BASIC_STATS, &more) == 0);
    CHILD_CHECK(fstatfs(fd, &fs) == 0 && ftruncate(fd, 100) == 0);
    CHILD_CHECK(posix_fallocate(fd, 0, 200) == 0 && posix_fadvise(fd, 0, 0, 0) == 0);
    CHILD_CHECK(fsync(fd) == 0 && fdatasync(fd) == 0 && futimens(fd, times) == 0);
    CHILD_CHECK((again = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0 && close(again) == 0);
    CHILD_CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
    CHILD_CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND) == 0);
    CHILD_CHECK(close(fd) == 0 && mkdirat(dir_fd, "folder", 0700) == 0);
    CHILD_CHECK(renameat(dir_fd, "file", dir_fd, "folder/file") == 0);
    CHILD_CHECK(renameat2(dir_fd, "folder/file", dir_fd, "file", RENAME_NOREPLACE) == 0);
    CHILD_CHECK(linkat(dir_fd, "file", dir_fd, "link", 0) == 0);
    CHILD_CHECK(symlinkat("file", dir_fd, "symbolic") == 0);
    CHILD_CHECK(readlinkat(dir_fd, "symbolic", bytes, sizeof(bytes)) == 4);
    CHILD_CHECK(lseek(dir_fd, 0, SEEK_SET) == 0);
    CHILD_CHECK(syscall(SYS_getdents64, dir_fd, entries, sizeof(entries)) > 0);
    CHILD_CHECK(unlinkat(dir_fd, "link", 0) == 0 && unlinkat(dir_fd, "symbolic", 0) == 0);
    CHILD_CHECK(unlinkat(dir_fd, "file", 0) == 0);
    CHILD_CHECK(unlinkat(dir_fd, "folder", AT_REMOVEDIR) == 0);
    return 0;
}

static int work_with_memory_and_time(void)
{
    char stack[16384], random[8];
    stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    const stack_t none_of_it = { .ss_flags = SS_DISABLE };
    struct sigaction action = { .sa_handler = count_signal };
    struct timespec now, pause = { .tv_nsec = 1000 };
    struct pollfd none = { .fd = -1 };
    struct rusage usage;
    unsigned char present[2];
    uint32_t word = 1;
    void *page =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHILD_CHECK(page != MAP_FAILED && madvise(page, 8192, MADV_DONTNEED) == 0);
    CHILD_CHECK(mincore(page, 8192, present) == 0);
    page = mremap(page, 8192, 65536, MREMAP_MAYMOVE);
    CHILD_CHECK(page != MAP_FAILED && munmap(page, 65536) == 0);
    CHILD_CHECK(sigaltstack(&own, NULL) == 0 && sigaltstack(&none_of_it, NULL) == 0);
    CHILD_CHECK(sigaction(SIGUSR2, &action, NULL) == 0 && raise(SIGUSR2) == 0);
    CHILD_CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
    CHILD_CHECK(syscall(SYS_clock_getres, CLOCK_REALTIME, &now) == 0);
    CHILD_CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) == 0);
    CHILD_CHECK(syscall(SYS_nanosleep, &pause, NULL) == 0);
    CHILD_CHECK(poll(&none, 1, 0) == 0 && ppoll(&none, 1, &pause, NULL) == 0);
    CHILD_CHECK(getrandom(random, sizeof(random), 0) == sizeof(random));
    CHILD_CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && sched_yield() == 0);
    CHILD_CHECK(syscall(SYS_futex, &word, 1 /* WAKE */, 1, NULL, NULL, 0) == 0);
    CHILD_CHECK(gettid() == getpid());
    free(malloc(1 << 20));
    return 0;
}

static int work(void *data)
{
    (void)data;
    return work_with_files() != 0 || work_with_memory_and_time() != 0;
}

static void a_worker_can_do_its_work(void **state)
{
    (void)state;
    assert_exited(try(NULL, work, NULL), 0);
    assert_exited(try(worker, work, NULL), 0);
    assert_exited(try(worker_code, work, NULL), 0);
}

static int die_by_assertion(void *data)
{
    (void)data;
    abort();
}

static void an_abort_is_told_from_an_attack(void **state)
{
    (void)state;
    assert_killed(try(worker, die_by_assertion, NULL), SIGABRT);
    assert_killed(try(compiler, die_by_assertion, NULL), SIGABRT);
}

static void build_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_seccomp_program *program = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = nacre_seccomp_build(NACRE_SECCOMP_WORKER, 0, &program, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(program == NULL, fired);
        nacre_seccomp_program_free(program);
    }
}

static void the_kernel_has_filters(void **state)
{
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_seccomp_probe(&err), NACRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_has_filters),
        cmocka_unit_test(a_worker_can_do_its_work),
        cmocka_unit_test(an_abort_is_told_from_an_attack),
        cmocka_unit_test(signals_reach_nobody_but_oneself),
        cmocka_unit_test(no_program_is_started),
        cmocka_unit_test(no_listener_is_reached),
        cmocka_unit_test(no_process_memory_is_written),
        cmocka_unit_test(a_compiler_has_threads_and_nobody_has_processes),
        cmocka_unit_test(code_is_mapped_only_where_it_was_asked_for),
        cmocka_unit_test(a_compiler_opens_nothing),
        cmocka_unit_test(fds_are_received_only_where_it_was_asked_for),
        cmocka_unit_test(a_worker_sends_to_its_door_and_to_no_address),
#ifdef __x86_64__
        cmocka_unit_test(a_foreign_architecture_is_the_last_call),
#endif
        cmocka_unit_test(build_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("seccomp", tests, build_filters, free_filters);
}
