/*
 * A bound on what a session's own workspace may hold.  The file of it lies with the
 * records, where no guest comes; its mount is over the workspace, so that every level,
 * and whoever looks from outside, sees the same directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/clock.h"
#include "nacre/disk.h"
#include "session_store.h"

#define DISK_KIND "disk"
#define MAKE_MS 60000

static void name_of(char ret_name[SESSION_FILE], const char *id)
{
    (void)snprintf(ret_name, SESSION_FILE, "%s." DISK_KIND, id);
}

/* -1 with errno. */
static int open_image(int dir_fd, const char *id)
{
    char name[SESSION_FILE];

    name_of(name, id);
    return openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

bool session_dir_is_empty(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    bool empty = dir != NULL;

    while (empty && (entry = readdir(dir)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        (void)closedir(dir);
    else
        nacre_fd_guard(&again);
    return empty;
}

static bool can_be_made(const struct session_disk *disk, int fd)
{
    struct nacre_error ignored;

    return disk->bytes > 0 && nacre_disk_probe(&ignored) == NACRE_OK &&
           session_dir_is_empty(fd);
}

/* The workspace as its name leads to it now: in the mount, where there is one. */
static enum nacre_status reopen(const struct session_disk *disk, int *fd,
                                struct nacre_error *err)
{
    nacre_fd_guard(fd);
    *fd = -1;
    return session_dir_make(disk->root_fd, disk->name, disk->owner, true, disk->steps, fd,
                            err);
}

static enum nacre_status make_image(const struct session_disk *disk,
                                    struct nacre_error *err)
{
    uint64_t until_ns = nacre_clock_ns() + MAKE_MS * NACRE_NS_PER_MS;
    char name[SESSION_FILE];

    name_of(name, disk->id);
    session_step(disk->steps, "make a disk");
    return nacre_disk_make(disk->dir_fd, name, disk->bytes, until_ns, err);
}

/* Whoever comes here is alone with the file; somebody may have been before. */
static enum nacre_status mount_it(const struct session_disk *disk, int *fd,
                                  struct nacre_error *err)
{
    enum nacre_status status = reopen(disk, fd, err);
    NACRE_AUTO(nacre_fd_guard) int image_fd = open_image(disk->dir_fd, disk->id);
    bool is_fresh = image_fd < 0 && errno == ENOENT;

    if (status == NACRE_OK && is_fresh) {
        if (!can_be_made(disk, *fd))
            return NACRE_OK;
        status = make_image(disk, err);
        image_fd = open_image(disk->dir_fd, disk->id);
    }
    if (status != NACRE_OK)
        return status;
    if (image_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "its file can't be opened");
    if (nacre_disk_holds(image_fd, *fd))
        return NACRE_OK;
    session_step(disk->steps, "mount a disk");
    status = nacre_disk_mount(image_fd, *fd, err);
    if (status == NACRE_OK)
        status = reopen(disk, fd, err);
    if (status == NACRE_OK && is_fresh) {
        (void)unlinkat(*fd, "lost+found", AT_REMOVEDIR);
        *disk->made = true;
    }
    return status;
}

enum nacre_status session_disk_open(const struct session_disk *disk, int *fd,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int image_fd = open_image(disk->dir_fd, disk->id);
    NACRE_AUTO(nacre_fd_guard) int alone = -1;
    enum nacre_status status;

    if (image_fd >= 0 ? nacre_disk_holds(image_fd, *fd) : !can_be_made(disk, *fd))
        return NACRE_OK;
    status = session_lock(disk->dir_fd, disk->id, SESSION_PUT, true, disk->wait, &alone,
                          NULL, err);
    if (status == NACRE_OK)
        status = mount_it(disk, fd, err);
    return status == NACRE_OK ? status
                              : nacre_fail_context(err, "the disk of a session");
}

enum nacre_status session_disk_remove(int dir_fd, const char *id, int root_fd,
                                      const char *name, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int image_fd = open_image(dir_fd, id);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status = NACRE_OK;
    char image[SESSION_FILE];

    if (image_fd < 0 && errno == ENOENT)
        return NACRE_OK;
    fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (image_fd >= 0 && fd >= 0 && nacre_disk_holds(image_fd, fd))
        status = nacre_disk_unmount(fd, err);
    if (status != NACRE_OK)
        return status;
    name_of(image, id);
    return unlinkat(dir_fd, image, 0) == 0
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_IO, "the file of a session's disk");
}
