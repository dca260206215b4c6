#include "children.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/own.h"

/* Of a long list the first ones: the others are first in the next round. */
#define LIST_BYTES 16384

static ssize_t read_file(const char *path, char *ret_text, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, ret_text, size - 1);

    if (count >= 0)
        ret_text[count] = '\0';
    return count;
}

/* The parent's number is the second word behind the name, which may hold anything. */
static bool is_child(const char *pid, pid_t parent)
{
    char path[64], stat[1024];
    const char *after;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    if (read_file(path, stat, sizeof(stat)) <= 0)
        return false;
    after = strrchr(stat, ')');
    return after && strlen(after) > 4 && strtol(after + 4, NULL, 10) == parent;
}

/* For kernels without CONFIG_PROC_CHILDREN. */
static bool kill_by_search(void)
{
    char place[4096];
    NACRE_AUTO(nacre_fd_guard)
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t own = getpid();
    ssize_t count = fd < 0 ? -1 : 1;

    while (count > 0) {
        count = syscall(SYS_getdents64, fd, place, sizeof(place));
        for (ssize_t at = 0; at < count;) {
            const struct dirent *entry = (const void *)(place + at);

            if (isdigit((unsigned char)entry->d_name[0]) && is_child(entry->d_name, own))
                (void)kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
            at += entry->d_reclen;
        }
    }
    return count == 0;
}

bool children_kill(void)
{
    char list[LIST_BYTES];
    char *at = list, *end;

    if (read_file("/proc/thread-self/children", list, sizeof(list)) < 0)
        return kill_by_search();
    for (;;) {
        long pid = strtol(at, &end, 10);

        /* Each is followed by a space: one that is not was cut. */
        if (end == at || *end != ' ' || pid <= 1)
            return true;
        (void)kill((pid_t)pid, SIGKILL);
        at = end;
    }
}

pid_t children_reap(int *ret_status)
{
    pid_t pid;

    do {
        pid = waitpid(-1, ret_status, WNOHANG | __WALL);
    } while (pid < 0 && errno == EINTR);
    return pid;
}
