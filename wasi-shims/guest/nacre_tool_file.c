/*
 * Whole files.  What lies in a workspace may have been planted: links lead only where the
 * host lets them, and what is no regular file is refused before it is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre_tool.h"

#define LINKS_MAX 40
#define LINK_BYTES_MAX 4096
#define PARENTS_MAX 2048
#define NAME_TRIES_MAX 16

noreturn static void too_large(const char *path, size_t bytes_max)
{
    nacre_tool_fail("too-large",
                    "%s is over %zu bytes, the most that is read as a whole.", path,
                    bytes_max);
}

int nacre_tool_open_file(const char *path, struct stat *ret_info)
{
    /* Without waiting: what looks like a file may be a pipe that nobody writes to. */
    int fd = open(path, O_RDONLY | O_NONBLOCK);

    if (fd < 0)
        nacre_tool_fail_errno("Reading", path);
    if (fstat(fd, ret_info) != 0)
        nacre_tool_fail_errno("Reading", path);
    if (!S_ISREG(ret_info->st_mode)) {
        errno = S_ISDIR(ret_info->st_mode) ? EISDIR : EINVAL;
        nacre_tool_fail_errno("Reading", path);
    }
    return fd;
}

char *nacre_tool_read_file(const char *path, size_t bytes_max, size_t *ret_count)
{
    struct stat info;
    int fd = nacre_tool_open_file(path, &info);
    size_t room, count = 0;
    char *bytes;
    ssize_t got;

    if ((uint64_t)info.st_size > bytes_max)
        too_large(path, bytes_max);
    /* One byte more than it says: the end shows itself without growing. */
    room = (size_t)info.st_size + 2;
    bytes = nacre_arena(room);
    while ((got = read(fd, bytes + count, room - 1 - count)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            nacre_tool_fail_errno("Reading", path);
        count += (size_t)got;
        if (count > bytes_max)
            too_large(path, bytes_max);
        if (count == room - 1) {
            bytes = nacre_arena_grow(bytes, room, room * 2);
            room *= 2;
        }
    }
    close(fd);
    bytes[count] = '\0';
    *ret_count = count;
    return bytes;
}

/* The directory part with its slash; "" has none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

static char *joined(const char *start, size_t start_count, const char *rest)
{
    size_t rest_count = strlen(rest);
    char *path = nacre_arena(start_count + rest_count + 1);

    memcpy(path, start, start_count);
    memcpy(path + start_count, rest, rest_count + 1);
    return path;
}

/* Where a write has to go: behind the links that `path` ends in, which stay.  NULL with
 * errno; *ret_exists tells if there is a file. */
static const char *behind_links(const char *path, struct stat *ret_info, bool *ret_exists)
{
    for (int links = 0; links < LINKS_MAX; links++) {
        char *target;
        ssize_t count;

        *ret_exists = lstat(path, ret_info) == 0;
        if (!*ret_exists)
            return errno == ENOENT ? path : NULL;
        if (!S_ISLNK(ret_info->st_mode)) {
            if (S_ISREG(ret_info->st_mode))
                return path;
            errno = S_ISDIR(ret_info->st_mode) ? EISDIR : EINVAL;
            return NULL;
        }
        target = nacre_arena(LINK_BYTES_MAX + 1);
        count = readlink(path, target, LINK_BYTES_MAX);
        if (count < 0)
            return NULL;
        target[count] = '\0';
        /* Outside it means another place than in here: nobody may follow it. */
        if (count == 0 || target[0] == '/') {
            errno = EACCES;
            return NULL;
        }
        path = joined(path, directory_length(path), target);
    }
    errno = ELOOP;
    return NULL;
}

/* Makes what is missing above `path`; *ret_made is how many, the innermost last. */
static bool parents_make(const char *path, char *made[PARENTS_MAX], size_t *ret_made)
{
    struct stat info;
    char *missing[PARENTS_MAX], *parent = joined(path, directory_length(path), "");
    size_t count = 0;

    *ret_made = 0;
    for (;;) {
        size_t length = strlen(parent);

        while (length > 1 && parent[length - 1] == '/')
            parent[--length] = '\0';
        if (length <= 1 || stat(parent, &info) == 0)
            break;
        if (errno != ENOENT)
            return false;
        if (count == PARENTS_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        missing[count++] = parent;
        parent = joined(parent, directory_length(parent), "");
    }
    while (count > 0) {
        char *next = missing[--count];

        if (mkdir(next, 0777) == 0)
            made[(*ret_made)++] = next;
        else if (errno != EEXIST)
            return false;
    }
    return true;
}

static void parents_undo(char *made[], size_t count)
{
    int number = errno;

    while (count > 0)
        (void)rmdir(made[--count]);
    errno = number;
}

/* A file beside `path` that nobody has; its name is not derived from the other's, which
 * may be as long as a name can be. */
static int beside_open(const char *path, char **ret_beside)
{
    char name[32];
    uint32_t word;
    int fd = -1;

    for (int i = 0; i < NAME_TRIES_MAX && fd < 0; i++) {
        if (getentropy(&word, sizeof word) != 0)
            return -1;
        snprintf(name, sizeof name, ".nacre-new-%08x", (unsigned)word);
        *ret_beside = joined(path, directory_length(path), name);
        fd = open(*ret_beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

bool nacre_tool_write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

static bool replace(const char *path, const struct stat *old, const char *bytes,
                    size_t count)
{
    char *beside;
    int fd = beside_open(path, &beside), number;
    bool done;

    if (fd < 0)
        return false;
    done = nacre_tool_write_all(fd, bytes, count);
#ifndef __wasi__
    done = done && (!old || fchmod(fd, old->st_mode & 0777) == 0);
#else
    (void)old; /* preview1 has no modes: the host's rename keeps the old one's */
#endif
    done = close(fd) == 0 && done;
    done = done && rename(beside, path) == 0;
    if (!done) {
        number = errno;
        (void)unlink(beside);
        errno = number;
    }
    return done;
}

bool nacre_tool_replace_file(const char *path, const char *bytes, size_t count,
                             bool parents)
{
    char **made = NULL;
    struct stat info;
    size_t made_count = 0;
    bool exists, done;

    path = behind_links(path, &info, &exists);
    if (!path)
        return false;
    if (parents && !exists) {
        made = nacre_arena(PARENTS_MAX * sizeof *made);
        if (!parents_make(path, made, &made_count)) {
            parents_undo(made, made_count);
            return false;
        }
    }
    done = replace(path, exists ? &info : NULL, bytes, count);
    if (!done)
        parents_undo(made, made_count);
    return done;
}
