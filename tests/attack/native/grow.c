/*
 * grow OP ARG...: a guest that takes what it can get, and says how much that was.
 *
 *   bomb                  forks for ever, each child in a session of its own
 *   starve                the same, after it has seen to it that pid 1 gets no turn
 *   zombies               children that die and are not waited for
 *   orphans N             N daemons by two forks, which sleep for ever; then it exits
 *   private MIB | shared MIB | memfd MIB | sysv MIB | many MIB     memory of that kind;
 *                         `many` is private memory in 16 processes
 *   fds | files DIR | bytes DIR | inotify | aio      until it is refused
 *   flood                 both streams, for ever
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PARTS 16

static char block[65536];

static int say(const char *what, unsigned long count)
{
    (void)printf("%s %lu, then %s\n", what, count, strerrorname_np(errno));
    (void)fflush(stdout);
    return 0;
}

static _Noreturn void bomb(void)
{
    for (int number = 1; number < 32; number++)
        (void)signal(number, SIG_IGN);
    for (;;)
        if (fork() == 0)
            (void)setsid();
}

/* Whoever is of the same user may: the sandbox's first process comes last from now on. */
static _Noreturn void starve(void)
{
    const struct sched_param none = { .sched_priority = 0 };

    (void)sched_setscheduler(1, SCHED_IDLE, &none);
    bomb();
}

static _Noreturn void zombies(void)
{
    unsigned long count = 0;
    pid_t child;

    while ((child = fork()) > 0)
        count++;
    if (child == 0)
        _exit(0);
    (void)say("zombies", count);
    for (;;)
        (void)pause();
}

static int orphans(int count)
{
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            (void)setsid();
            if (fork() != 0)
                _exit(0);
            (void)signal(SIGTERM, SIG_IGN);
            (void)signal(SIGHUP, SIG_IGN);
            for (;;)
                (void)pause();
        }
    (void)usleep(50000);
    (void)printf("left %d\n", count);
    return 0;
}

static int filled(char *at, size_t mib)
{
    for (size_t i = 0; at != MAP_FAILED && at && i < mib * MIB; i += 4096)
        at[i] = 1;
    (void)printf("got %zu MiB\n", at == MAP_FAILED || !at ? 0 : mib);
    (void)fflush(stdout);
    return at == MAP_FAILED || !at;
}

static int map(size_t mib, int flags, int fd)
{
    return filled(mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, flags, fd, 0), mib);
}

static int memfd(size_t mib)
{
    int fd = memfd_create("grow", 0);

    return fd < 0 || ftruncate(fd, (off_t)(mib * MIB)) != 0 ||
           map(mib, MAP_SHARED, fd) != 0;
}

static int sysv(size_t mib)
{
    int id = shmget(IPC_PRIVATE, mib * MIB, IPC_CREAT | 0600);
    void *at = id < 0 ? NULL : shmat(id, NULL, 0);

    return filled(at == (void *)-1 ? NULL : at, mib);
}

static int many(size_t mib)
{
    int status, failed = 0;

    for (int i = 0; i < PARTS; i++)
        if (fork() == 0) {
            int got = map(mib / PARTS, MAP_PRIVATE | MAP_ANONYMOUS, -1);

            (void)sleep(1);
            _exit(got);
        }
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    (void)printf("failed %d\n", failed);
    return failed > 0;
}

static int fds(void)
{
    unsigned long count = 0;

    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    return say("fds", count);
}

static int files(const char *dir)
{
    unsigned long count = 0;
    char path[256];
    int fd;

    do {
        (void)snprintf(path, sizeof(path), "%s/f%lu", dir, count++);
        fd = open(path, O_CREAT | O_WRONLY, 0600);
        if (fd >= 0)
            (void)close(fd);
    } while (fd >= 0);
    return say("files", count - 1);
}

static int bytes(const char *dir)
{
    char path[256];
    unsigned long count = 0;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/bytes", dir);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    while ((got = write(fd, block, sizeof(block))) > 0)
        count += (unsigned long)got;
    return say("bytes", count);
}

/* In as many processes as there may be: a limit of each one is no limit of all. */
static _Noreturn void inotify(void)
{
    unsigned long count = 0;
    int fd;

    for (int i = 0; i < 8; i++)
        if (fork() == 0)
            break;
    while ((fd = inotify_init1(0)) >= 0)
        count++;
    (void)say("inotify", count);
    for (;;)
        (void)pause();
}

static _Noreturn void aio(void)
{
    unsigned long count = 0;
    aio_context_t context = 0;

    while (syscall(SYS_io_setup, 1024, &context) == 0) {
        context = 0;
        count++;
    }
    (void)say("aio", count);
    for (;;)
        (void)pause();
}

static _Noreturn void flood(void)
{
    memset(block, 'x', sizeof(block));
    for (;;) {
        (void)!write(1, block, sizeof(block));
        (void)!write(2, block, sizeof(block));
    }
}

int main(int argc, char **argv)
{
    const char *op = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : "";
    size_t number = strtoul(word, NULL, 10);

    if (strcmp(op, "bomb") == 0)
        bomb();
    if (strcmp(op, "starve") == 0)
        starve();
    if (strcmp(op, "flood") == 0)
        flood();
    if (strcmp(op, "zombies") == 0)
        zombies();
    if (strcmp(op, "orphans") == 0)
        return orphans((int)number);
    if (strcmp(op, "private") == 0)
        return map(number, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (strcmp(op, "shared") == 0)
        return map(number, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (strcmp(op, "memfd") == 0)
        return memfd(number);
    if (strcmp(op, "sysv") == 0)
        return sysv(number);
    if (strcmp(op, "many") == 0)
        return many(number);
    if (strcmp(op, "fds") == 0)
        return fds();
    if (strcmp(op, "files") == 0)
        return files(word);
    if (strcmp(op, "bytes") == 0)
        return bytes(word);
    if (strcmp(op, "inotify") == 0)
        inotify();
    if (strcmp(op, "aio") == 0)
        aio();
    return 2;
}
