/* The directory is the guests' as well: what an earlier one has put there is neither
 * followed nor written into. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/own.h"

static bool is_kept(const struct files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->names[i], name) == 0)
            return true;
    return false;
}

static void remove_all(struct files *files)
{
    NACRE_AUTO(nacre_fd_guard)
    int dir = open(START_FILES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; i < files->count && dir >= 0; i++)
        (void)unlinkat(dir, files->names[i], 0);
    files->count = 0;
}

static bool write_file(int dir, const struct init_file *file, mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *at = file->bytes;
    size_t left = file->count;

    if (unlinkat(dir, file->name, 0) != 0 && errno != ENOENT)
        return false;
    fd = openat(dir, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                mode);
    while (fd >= 0 && left > 0) {
        ssize_t count = write(fd, at, left);

        if (count < 0 && errno != EINTR)
            return false;
        if (count > 0) {
            at += count;
            left -= (size_t)count;
        }
    }
    return fd >= 0;
}

static bool write_all(struct files *files, const struct init_start *start)
{
    NACRE_AUTO(nacre_fd_guard)
    int dir = open(START_FILES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return false;
    for (size_t i = 0; i < start->file_count; i++) {
        const struct init_file *file = &start->files[i];

        if (!is_kept(files, file->name)) {
            if (files->count == START_FILES_MAX) {
                errno = ENOSPC;
                return false;
            }
            (void)snprintf(files->names[files->count++], START_FILE_NAME_MAX, "%s",
                           file->name);
        }
        if (!write_file(dir, file, 0400))
            return false;
    }
    return true;
}

const char *files_enter(struct files *files, const struct init_start *start)
{
    bool good = write_all(files, start);
    int number = errno;

    /* Neither the command's own process nor its shepherd shall be a copy of them. */
    for (size_t i = 0; i < start->file_count; i++)
        explicit_bzero((void *)(uintptr_t)start->files[i].bytes, start->files[i].count);
    if (good) {
        files->users++;
        return NULL;
    }
    if (files->users == 0)
        remove_all(files);
    errno = number;
    return "the files in " START_FILES_DIR;
}

void files_leave(struct files *files)
{
    if (--files->users == 0)
        remove_all(files);
}

const char *files_certify(const char *certificates)
{
    const struct init_file file = { .name = strrchr(START_CERTIFICATES, '/') + 1,
                                    .bytes = certificates,
                                    .count = strlen(certificates) };
    NACRE_AUTO(nacre_fd_guard)
    int dir = open(START_CERTIFICATES_DIR,
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return dir >= 0 && write_file(dir, &file, 0444) ? NULL : START_CERTIFICATES;
}
