/*
 * reach OP ARG...: what a guest would do to processes and services that are not its own.
 * Says "ok ..." or the error's name.
 *
 *   ptrace PID | vmread PID | getfd PID | mem PID     another process's memory and fds
 *   forge PID             writes the end of a command into every fd of that process
 *   abstract NAME | path NAME | tcp PORT | dial ADDRESS PORT     a service
 *   sti                   types into each terminal that can be had
 *   limit PID             takes that process's limits away
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int say(long got)
{
    (void)printf("%s\n", got < 0 ? strerrorname_np(errno) : "ok");
    return got < 0;
}

static int vmread(pid_t pid)
{
    char bytes[64];
    struct iovec ours = { bytes, sizeof(bytes) };
    struct iovec theirs = { (void *)(uintptr_t)0x400000, sizeof(bytes) };

    return say(process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
}

static int getfd(pid_t pid)
{
    long pidfd = syscall(SYS_pidfd_open, pid, 0);

    if (pidfd < 0)
        return say(pidfd);
    return say(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static int mem(pid_t pid)
{
    char path[40];

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    return say(open(path, O_RDWR));
}

/* A frame of the channel as backends/channel has it: FAILED, about the whole sandbox,
 * with an empty text. */
static int forge(pid_t pid)
{
    static const unsigned char frame[24 + 8] = { 1, 36, 0, 0, 8 };
    int reached = 0;

    for (int fd = 0; fd < 16; fd++) {
        char path[40];
        int opened;

        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
        opened = open(path, O_WRONLY | O_NONBLOCK);
        if (opened >= 0 && write(opened, frame, sizeof(frame)) > 0)
            reached++;
    }
    (void)printf("forged %d\n", reached);
    return reached > 0;
}

static int unix_socket(const char *name, int is_abstract)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || length + 1 >= sizeof(address.sun_path))
        return say(-1);
    memcpy(address.sun_path + is_abstract, name, length);
    return say(connect(fd, (struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
                                   (is_abstract ? 1 : 0))));
}

static int dial(const char *text, const char *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(port)) };
    const struct timeval second = { 1, 0 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || inet_pton(AF_INET, text, &address.sin_addr) != 1)
        return say(-1);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
    return say(connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

static int sti(void)
{
    int typed = 0, tty = open("/dev/tty", O_RDWR);
    /* The kernel takes the low 32 bits of a request. */
    const unsigned long requests[] = { TIOCSTI, UINT64_C(1) << 32 | TIOCSTI, TIOCLINUX };

    for (int fd = -1; fd < 16; fd++)
        for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
            char byte = 'x';

            if (syscall(SYS_ioctl, fd < 0 ? tty : fd, requests[i], &byte) == 0)
                typed++;
        }
    (void)printf("typed %d\n", typed);
    return typed > 0;
}

static int limit(pid_t pid)
{
    const struct rlimit none = { 0, 0 }, second = { 1, 1 };
    struct rlimit found;
    int all = 0;

    all += prlimit(pid, RLIMIT_NOFILE, &none, NULL) == 0;
    all += prlimit(pid, RLIMIT_NPROC, &none, NULL) == 0;
    all += prlimit(pid, RLIMIT_FSIZE, &none, NULL) == 0;
    all += prlimit(pid, RLIMIT_STACK, &none, NULL) == 0;
    all += prlimit(pid, RLIMIT_CPU, &second, NULL) == 0;
    (void)printf("limited %d\n", all);
    return getrlimit(RLIMIT_NOFILE, &found) == 0 && all == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *op = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : "0";
    pid_t pid = atoi(word);

    if (strcmp(op, "ptrace") == 0)
        return say(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
    if (strcmp(op, "vmread") == 0)
        return vmread(pid);
    if (strcmp(op, "getfd") == 0)
        return getfd(pid);
    if (strcmp(op, "mem") == 0)
        return mem(pid);
    if (strcmp(op, "forge") == 0)
        return forge(pid);
    if (strcmp(op, "abstract") == 0)
        return unix_socket(word, 1);
    if (strcmp(op, "path") == 0)
        return unix_socket(word, 0);
    if (strcmp(op, "tcp") == 0)
        return dial("127.0.0.1", word);
    if (strcmp(op, "dial") == 0 && argc > 3)
        return dial(word, argv[3]);
    if (strcmp(op, "sti") == 0)
        return sti();
    if (strcmp(op, "limit") == 0)
        return limit(pid);
    return 2;
}
