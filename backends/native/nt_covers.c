#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "nacre/key.h"
#include "nt_masks.h"

static bool is_cover(int fd, mode_t type)
{
    struct stat info;

    return fd >= 0 && fstat(fd, &info) == 0 &&
           (info.st_mode & (S_IFMT | 0777)) == type && info.st_uid == geteuid() &&
           (type == S_IFDIR || info.st_size == 0);
}

/* Opened by O_PATH: neither has a mode that would let anybody open it. */
static int open_cover(int dir_fd, const char *name, mode_t type)
{
    NACRE_AUTO(nacre_fd_guard) int made = -1;
    int fd;

    if (type == S_IFDIR)
        (void)mkdirat(dir_fd, name, 0);
    else
        made = openat(dir_fd, name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0);
    fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (is_cover(fd, type))
        return fd;
    nacre_fd_guard(&fd);
    return -1;
}

enum nacre_status nt_covers_open(const char *state_dir, struct nt_covers *ret_covers,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    struct nt_covers covers = { -1, -1, "", "" };
    char path[NACRE_PATH_MAX - 8];
    enum nacre_status status;

    if (snprintf(path, sizeof(path), "%s/covers", state_dir) >= (int)sizeof(path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    status = nacre_private_dir_open(path, &dir_fd, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(covers.file_path, sizeof(covers.file_path), "%s/file", path);
    (void)snprintf(covers.dir_path, sizeof(covers.dir_path), "%s/dir", path);
    errno = 0;
    covers.file_fd = open_cover(dir_fd, "file", S_IFREG);
    covers.dir_fd = open_cover(dir_fd, "dir", S_IFDIR);
    if (covers.file_fd < 0 || covers.dir_fd < 0) {
        nt_covers_clear(&covers);
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%.300s does not hold the empty file and the empty directory "
                          "of mode 0000 that denied paths are covered with: remove it",
                          path);
    }
    *ret_covers = covers;
    return NACRE_OK;
}

void nt_covers_clear(struct nt_covers *covers)
{
    nacre_fd_guard(&covers->file_fd);
    nacre_fd_guard(&covers->dir_fd);
    covers->file_fd = -1;
    covers->dir_fd = -1;
}
