#include "nacre/ancestry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "nacre/own.h"

#define GENERATIONS_MAX 4096

/* "PID (NAME) STATE PPID ...": a name may hold anything, and ends at the last ')'. */
static bool read_process(pid_t pid, bool *ret_is_init, pid_t *ret_parent)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[32], text[512], *name, *end;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (count <= 0)
        return false;
    text[count] = '\0';
    name = strchr(text, '(');
    end = strrchr(text, ')');
    if (!name || !end || end < name || strlen(end) < 5)
        return false;
    *end = '\0';
    *ret_is_init = strcmp(name + 1, NACRE_INIT_NAME) == 0;
    *ret_parent = (pid_t)strtol(end + 4, NULL, 10);
    return true;
}

bool nacre_is_inside(void)
{
    pid_t pid = getpid();

    for (int i = 0; i < GENERATIONS_MAX && pid > 0; i++) {
        bool is_init = false;

        if (!read_process(pid, &is_init, &pid) || is_init)
            return true;
    }
    return pid != 0;
}
