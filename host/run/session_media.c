/*
 * What came in for a session, copied to where its sandbox sees it.  The file's name is
 * whatever a stranger called it; the directory is the guest's, who may be writing to it
 * right now.  So nothing is opened by a link, nothing that is there is replaced, and a
 * file appears under its name when it is whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/text.h"
#include "session_store.h"

#define NAME_BYTES_MAX 120 /* so that a number fits behind it, on any file system */
#define EXTENSION_BYTES_MAX 16
#define NUMBER_MAX 9999
#define PART ".nacre-part"
#define COPY_BYTES 65536

/* ---- names ---- */

/* Marks that turn the direction of what follows: they make "gpj.exe" of "exe.jpg". */
static size_t turning_mark(const unsigned char *at)
{
    if (at[0] != 0xe2)
        return 0;
    if (at[1] == 0x80 &&
        (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xaa && at[2] <= 0xae)))
        return 3;
    return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9 ? 3 : 0;
}

/* How many bytes of `at` stay as they are; 0: this one does not. */
static size_t kept_bytes(const char *at)
{
    unsigned char first = (unsigned char)at[0];
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first < 0x20 || first == 0x7f || first == '/' || first == '\\' ||
        (first == 0xc2 && (unsigned char)at[1] < 0xa0))
        return 0;
    return strnlen(at, length) == length && nacre_text_is_utf8(at, length) ? length : 0;
}

/* Cut at a letter's end, with what follows the last dot kept. */
static void shorten(char *name)
{
    const char *dot = strrchr(name, '.');
    size_t tail = dot ? strlen(dot) : 0, cut;
    char extension[EXTENSION_BYTES_MAX + 1] = "";

    if (strlen(name) <= NAME_BYTES_MAX)
        return;
    if (tail <= EXTENSION_BYTES_MAX)
        (void)snprintf(extension, sizeof(extension), "%s", dot ? dot : "");
    cut = NAME_BYTES_MAX - strlen(extension);
    while (cut > 0 && ((unsigned char)name[cut] & 0xc0) == 0x80)
        cut--;
    (void)snprintf(name + cut, sizeof(extension), "%s", extension);
}

#define MAKING_BYTES 512 /* a file's name has 255, and each stays or becomes one */

static void safe_name(const char *path, char ret_name[MAKING_BYTES])
{
    const char *slash = strrchr(path, '/');
    const char *at = slash ? slash + 1 : path;
    size_t used = 0;

    while (*at && used + 4 < MAKING_BYTES) {
        size_t mark = turning_mark((const unsigned char *)at);
        size_t kept = mark ? 0 : kept_bytes(at);

        if (kept)
            memcpy(ret_name + used, at, kept);
        else
            ret_name[used] = '_';
        used += kept ? kept : 1;
        at += mark ? mark : kept ? kept : 1;
    }
    while (used > 0 && (ret_name[used - 1] == ' ' || ret_name[used - 1] == '.'))
        used--;
    ret_name[used] = '\0';
    /* Neither hidden nor an option. */
    for (size_t i = 0; ret_name[i] == '.' || (i == 0 && ret_name[i] == '-'); i++)
        ret_name[i] = '_';
    if (used == 0)
        (void)snprintf(ret_name, MAKING_BYTES, "file");
    shorten(ret_name);
}

static void numbered(const char *name, unsigned number, char ret_name[NACRE_MEDIA_NAME])
{
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);

    if (number <= 1)
        (void)snprintf(ret_name, NACRE_MEDIA_NAME, "%s", name);
    else
        (void)snprintf(ret_name, NACRE_MEDIA_NAME, "%.*s-%u%s", (int)stem, name, number,
                       name + stem);
}

/* ---- copying ---- */

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t wrote = write(fd, bytes, count);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return true;
}

enum nacre_status session_copy(int from_fd, int to_fd, uint64_t bytes_max,
                               uint64_t *ret_bytes, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(COPY_BYTES);
    uint64_t copied = 0;

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a copy");
    for (;;) {
        ssize_t got = read(from_fd, bytes, COPY_BYTES);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return nacre_fail(err, NACRE_ERR_IO, "it can't be read");
        if (got == 0)
            break;
        copied += (uint64_t)got;
        if (copied > bytes_max)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "it has over %llu bytes",
                              (unsigned long long)bytes_max);
        if (!write_all(to_fd, bytes, (size_t)got))
            return nacre_fail(err, NACRE_ERR_IO, "it can't be written");
    }
    if (ret_bytes)
        *ret_bytes = copied;
    return NACRE_OK;
}

static enum nacre_status open_source(const char *path, int *ret_fd,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char shown[NACRE_SHOWN];
    struct stat st;

    (void)nacre_text_shown(shown, path);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no file '%s'", shown);
    if (fd < 0 && errno == ELOOP)
        return nacre_fail(err, NACRE_ERR_DENIED, "'%s' is a link: name the file itself",
                          shown);
    if (fd < 0 || fstat(fd, &st) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "'%s' can't be opened", shown);
    if (!S_ISREG(st.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE, "'%s' is no regular file", shown);
    if ((uint64_t)st.st_size > NACRE_MEDIA_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "'%s' has over %llu MiB", shown,
                          (unsigned long long)(NACRE_MEDIA_BYTES_MAX >> 20));
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status nacre_session_put_check(const char *path, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    return open_source(path, &fd, err);
}

/* What a killed one left; alone with the right to put, it is nobody's. */
static void remove_parts(int dir_fd)
{
    (void)unlinkat(dir_fd, PART, 0);
}

static enum nacre_status open_inbound(struct nacre_session_hold *hold, int *ret_fd,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int media_fd = -1;
    enum nacre_status status = session_dir_make(hold->fd, "media", &hold->owner, false,
                                                &hold->steps, &media_fd, err);

    if (status == NACRE_OK)
        status = session_dir_make(media_fd, "inbound", &hold->owner, false, &hold->steps,
                                  ret_fd, err);
    return status;
}

/* A link has no name of its own to take: what is there, be it a link, stays. */
static enum nacre_status give_name(const struct nacre_session_hold *hold, int dir_fd,
                                   const char *name, char ret_name[NACRE_MEDIA_NAME],
                                   struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    session_step(&hold->steps, "give the file its name");
    for (unsigned number = 1; number <= NUMBER_MAX; number++) {
        numbered(name, number, ret_name);
        if (linkat(dir_fd, PART, dir_fd, ret_name, 0) == 0)
            return NACRE_OK;
        if (errno != EEXIST)
            return nacre_fail(err, NACRE_ERR_IO, "'%s' can't be put in its place",
                              nacre_text_shown(shown, ret_name));
    }
    return nacre_fail(err, NACRE_ERR_TOO_BIG, "there are %u files called '%s'",
                      NUMBER_MAX, nacre_text_shown(shown, name));
}

static enum nacre_status put(const struct nacre_session_hold *hold, int dir_fd,
                             int from_fd, const char *name,
                             char ret_name[NACRE_MEDIA_NAME], struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;

    remove_parts(dir_fd);
    session_step(&hold->steps, "write a file aside");
    fd = openat(dir_fd, PART, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "a file can't be made in " NACRE_MEDIA_DIR);
    status = session_copy(from_fd, fd, NACRE_MEDIA_BYTES_MAX, NULL, err);
    if (status == NACRE_OK && fchown(fd, hold->owner.uid, hold->owner.gid) != 0)
        status = nacre_fail(err, NACRE_ERR_IO, "a file can't be given to the sandbox");
    if (status == NACRE_OK)
        status = give_name(hold, dir_fd, name, ret_name, err);
    remove_parts(dir_fd);
    return status;
}

enum nacre_status nacre_session_put_file(struct nacre_session_hold *hold,
                                         const char *path,
                                         char ret_name[NACRE_MEDIA_NAME],
                                         struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int from_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int lock_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    char name[MAKING_BYTES], given[NACRE_MEDIA_NAME];
    enum nacre_status status = open_source(path, &from_fd, err);

    if (status == NACRE_OK && hold->fd < 0)
        return nacre_fail(err, NACRE_ERR_USAGE, "the session's agent has no workspace");
    if (status == NACRE_OK)
        status = session_lock(hold->dir_fd, hold->id[0] ? hold->id : "agents",
                              SESSION_PUT, true, &hold->wait, &lock_fd, NULL, err);
    if (status == NACRE_OK)
        status = open_inbound(hold, &dir_fd, err);
    if (status != NACRE_OK)
        return status;
    safe_name(path, name);
    status = put(hold, dir_fd, from_fd, name, given, err);
    if (status == NACRE_OK)
        memcpy(ret_name, given, sizeof(given));
    return status;
}
