#include "ids.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"

static bool write_file(pid_t pid, const char *name, const char *text)
{
    char path[64];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

const char *nacre_ids_map(pid_t pid, uint64_t uid, uint64_t gid)
{
    char users[80], groups[80];

    (void)snprintf(users, sizeof(users), "%" PRIu64 " %" PRIu64 " 1", uid, uid);
    (void)snprintf(groups, sizeof(groups), "%" PRIu64 " %" PRIu64 " 1", gid, gid);
    return !write_file(pid, "setgroups", "deny")   ? "setgroups"
           : !write_file(pid, "uid_map", users)    ? "uid_map"
           : !write_file(pid, "gid_map", groups)   ? "gid_map"
                                                   : NULL;
}
