#ifndef NACRE_TEST_SCENE_H
#define NACRE_TEST_SCENE_H

/*
 * A directory of the test's own, which its process goes into: every path below is
 * relative to it.  And what an observer outside asks.  After <cmocka.h>.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/path.h"

static char scene_top[] = "/tmp/nacre-scene-XXXXXX";

static inline int scene_enter(void **state)
{
    (void)state;
    (void)umask(022);
    return mkdtemp(scene_top) && chdir(scene_top) == 0 ? 0 : -1;
}

static inline int scene_leave(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", scene_top,
                   scene_top);
    return chdir("/") < 0 || system(command) != 0;
}

/* For each test: nothing of the one before. */
static inline int scene_clear(void **state)
{
    (void)state;
    return system("chmod -R u+rwx . && find . -mindepth 1 -delete");
}

static inline void scene_shell(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s", command);
}

static inline void scene_file(const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path,
                                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                             0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline bool scene_holds(const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[256];
    ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

    return count == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)count) == 0;
}

static inline bool scene_has(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

static inline const char *scene_path(char ret_path[NACRE_PATH_MAX], const char *path)
{
    (void)snprintf(ret_path, NACRE_PATH_MAX, "%s/%s", scene_top, path);
    return ret_path;
}

/* How many fds this process has open. */
static inline int scene_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

#endif
