/*
 * Trusts the kernel's word about an open fd, and nothing that a path says: the
 * directory is opened once, judged by fstat(), and used by its fd from then on.
 */
#include "nacre/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"

static enum nacre_status make_with_parents(char *path, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int made;

        *slash = '\0';
        made = mkdir(path, 0700);
        if (made < 0 && errno != EEXIST)
            return nacre_fail(err, NACRE_ERR_IO, "cannot make the directory %s",
                              nacre_text_shown(shown, path));
        *slash = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return nacre_fail(err, NACRE_ERR_IO, "cannot make the directory %s",
                          nacre_text_shown(shown, path));
    return NACRE_OK;
}

/* Is it ours alone?  `what` is shown text, `mode` what chmod should be told. */
static enum nacre_status check_private(const struct stat *st, const char *what, int mode,
                                       struct nacre_error *err)
{
    if (st->st_uid != geteuid())
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s belongs to user %u, not to user %u who runs nacre", what,
                          st->st_uid, geteuid());
    if (st->st_mode & 077)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s is open to other users (mode %04o): nobody knows who used "
                          "it; if it is sound, run chmod %o on it",
                          what, st->st_mode & 07777, mode);
    return NACRE_OK;
}

enum nacre_status nacre_private_dir_open(const char *path, int *ret_fd,
                                         struct nacre_error *err)
{
    static const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char plain[NACRE_PATH_MAX], shown[NACRE_SHOWN];
    size_t length = strlen(path);
    enum nacre_status status;
    struct stat st;

    (void)nacre_text_shown(shown, path);
    /* "link/" would be followed in spite of O_NOFOLLOW. */
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof(plain))
        return nacre_fail(err, NACRE_ERR_USAGE, "not the name of a directory: \"%s\"",
                          shown);
    memcpy(plain, path, length);
    plain[length] = '\0';

    fd = open(plain, flags);
    if (fd < 0 && errno == ENOENT) {
        status = make_with_parents(plain, err);
        if (status != NACRE_OK)
            return status;
        fd = open(plain, flags);
    }
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s must be a directory, not a link or a file", shown);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open the directory %s", shown);
    if (fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine the directory %s", shown);
    status = check_private(&st, shown, 0700, err);
    if (status != NACRE_OK)
        return status;
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

static enum nacre_status key_read(int fd, const char *shown,
                                  uint8_t ret_key[NACRE_KEY_BYTES],
                                  struct nacre_error *err)
{
    uint8_t bytes[NACRE_KEY_BYTES + 1]; /* one more, to see that the file ends */
    enum nacre_status status;
    struct stat st;
    ssize_t got;

    if (fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine the key file %s", shown);
    if (!S_ISREG(st.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE, "the key file %s is not a plain file",
                          shown);
    status = check_private(&st, shown, 0600, err);
    if (status != NACRE_OK)
        return status;
    got = pread(fd, bytes, sizeof(bytes), 0);
    if (got < 0)
        status = nacre_fail(err, NACRE_ERR_IO, "cannot read the key file %s", shown);
    else if (got != NACRE_KEY_BYTES)
        status = nacre_fail(err, NACRE_ERR_USAGE,
                            "the key file %s must hold %d bytes: put the right one back, "
                            "or remove it and lose what it vouches for",
                            shown, NACRE_KEY_BYTES);
    else
        memcpy(ret_key, bytes, NACRE_KEY_BYTES);
    explicit_bzero(bytes, sizeof(bytes));
    return status;
}

static enum nacre_status key_write(int fd, const char *shown, struct nacre_error *err)
{
    uint8_t key[NACRE_KEY_BYTES];
    enum nacre_status status = nacre_random(key, sizeof(key), err);

    /* On disk before it has its name: after a power cut, what the key vouches for
     * may not stand beside an empty key file. */
    if (status == NACRE_OK &&
        (write(fd, key, sizeof(key)) != (ssize_t)sizeof(key) || fsync(fd) < 0))
        status = nacre_fail(err, NACRE_ERR_IO, "cannot write the key file %s", shown);
    explicit_bzero(key, sizeof(key));
    return status;
}

/* Leaves the file `name` there, this call's or another process's. */
static enum nacre_status key_make(int dir_fd, const char *name, const char *shown,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char temporary[NAME_MAX + 1];
    enum nacre_status status;
    uint64_t number;

    status = nacre_random(&number, sizeof(number), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(temporary, sizeof(temporary), ".key-%016llx",
                   (unsigned long long)number);
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot make the key file %s", shown);
    status = key_write(fd, shown, err);
    /* A link, because a rename would replace the key that another process has just
     * made and already uses. */
    if (status == NACRE_OK && linkat(dir_fd, temporary, dir_fd, name, 0) < 0 &&
        errno != EEXIST)
        status = nacre_fail(err, NACRE_ERR_IO, "cannot make the key file %s", shown);
    (void)unlinkat(dir_fd, temporary, 0);
    if (status == NACRE_OK && fsync(dir_fd) < 0)
        status = nacre_fail(err, NACRE_ERR_IO, "cannot make the key file %s", shown);
    return status;
}

/* O_NONBLOCK: a FIFO planted under the name must not hold us up. */
static int key_open(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

enum nacre_status nacre_key_load(const char *dir, const char *name,
                                 uint8_t ret_key[NACRE_KEY_BYTES],
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[NACRE_PATH_MAX], shown[NACRE_SHOWN];
    enum nacre_status status;

    status = nacre_private_dir_open(dir, &dir_fd, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)nacre_text_shown(shown, path);

    fd = key_open(dir_fd, name);
    if (fd < 0 && errno == ENOENT) {
        status = key_make(dir_fd, name, shown, err);
        if (status != NACRE_OK)
            return status;
        fd = key_open(dir_fd, name);
    }
    if (fd < 0 && errno == ELOOP)
        return nacre_fail(err, NACRE_ERR_USAGE, "the key file %s is a link", shown);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open the key file %s", shown);
    return key_read(fd, shown, ret_key, err);
}
