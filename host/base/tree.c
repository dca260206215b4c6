#include "nacre/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"

static void dir_guard(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* By the fd of the very directory, never by a link: for chmod, an O_PATH fd has its name
 * in /proc alone. */
bool nacre_tree_open_up(int parent_fd, const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[32];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || (st.st_mode & S_IRWXU) == S_IRWXU ||
        st.st_uid != geteuid())
        return false;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, S_IRWXU) == 0;
}

static DIR *dir_open(int parent_fd, const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    DIR *dir;

    (void)nacre_tree_open_up(parent_fd, name);
    fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir)
        (void)nacre_fd_take(&fd);
    return dir;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* 0 when it is gone, ENOTEMPTY for a directory with content, else an errno. */
static int remove_one(int fd, const char *name)
{
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return errno;
    return unlinkat(fd, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

/* Under a name that nobody has; 0, or an errno. */
static int move_up(int fd, const char *name, int top_fd, uint64_t *serial)
{
    char moved[40];
    int failure;

    do {
        (void)snprintf(moved, sizeof(moved), ".nacre-moved-%" PRIu64, (*serial)++);
        failure = renameat2(fd, name, top_fd, moved, 1 /* NOREPLACE */) == 0 ? 0 : errno;
        /* Its entry ".." changes, so that it has to be writable itself. */
    } while (failure == EEXIST || (failure == EACCES && nacre_tree_open_up(fd, name)));
    return failure;
}

/* Empty `name` in `top_fd` by one level: what has content of its own is moved up
 * beside it, so that depth never costs an fd. */
static int remove_level(int top_fd, const char *name, uint64_t *serial)
{
    NACRE_AUTO(dir_guard) DIR *dir = dir_open(top_fd, name);
    struct dirent *entry;

    if (!dir)
        return errno;
    while ((entry = readdir(dir)) != NULL) {
        int failure = is_dots(entry->d_name) ? 0 : remove_one(dirfd(dir), entry->d_name);

        if (failure == ENOTEMPTY || failure == EEXIST)
            failure = move_up(dirfd(dir), entry->d_name, top_fd, serial);
        if (failure != 0)
            return failure;
    }
    return unlinkat(top_fd, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

/* A guest may have chosen the name. */
static enum nacre_status cannot(int failure, const char *name, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, name);
    errno = failure;
    return nacre_fail(err, NACRE_ERR_IO, "can't remove '%s'", shown);
}

static enum nacre_status empty(DIR *dir, struct nacre_error *err)
{
    uint64_t serial = 0;
    bool again = true;
    struct dirent *entry;

    while (again) {
        again = false;
        rewinddir(dir);
        while ((entry = readdir(dir)) != NULL) {
            int failure =
                is_dots(entry->d_name) ? 0 : remove_one(dirfd(dir), entry->d_name);

            if (failure == ENOTEMPTY || failure == EEXIST) {
                again = true;
                failure = remove_level(dirfd(dir), entry->d_name, &serial);
            }
            /* What was moved up while we removed shows in the next pass. */
            if (failure != 0 && failure != ENOTEMPTY)
                return cannot(failure, entry->d_name, err);
        }
    }
    return NACRE_OK;
}

enum nacre_status nacre_tree_empty(int dir_fd, struct nacre_error *err)
{
    NACRE_AUTO(dir_guard) DIR *dir = dir_open(dir_fd, ".");

    if (!dir)
        return nacre_fail(err, NACRE_ERR_IO, "can't list a directory");
    return empty(dir, err);
}

enum nacre_status nacre_tree_remove(int parent_fd, const char *name,
                                    struct nacre_error *err)
{
    NACRE_AUTO(dir_guard) DIR *dir = NULL;
    enum nacre_status status;
    int failure = remove_one(parent_fd, name);

    if (failure == 0)
        return NACRE_OK;
    if (failure != ENOTEMPTY && failure != EEXIST)
        return cannot(failure, name, err);
    dir = dir_open(parent_fd, name);
    if (!dir)
        return cannot(errno, name, err);
    status = empty(dir, err);
    if (status != NACRE_OK)
        return status;
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) != 0)
        return cannot(errno, name, err);
    return NACRE_OK;
}
