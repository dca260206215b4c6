/*
 * The file itself.  Its name is the operator's; whoever could change what it leads to
 * could approve, so every step of the way is looked at with an fd in hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/ancestry.h"
#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "soul.h"
#include "store.h"

#define SOUL_BYTES_MAX ((size_t)1 << 20)
#define TRUSTED "soul.trusted"

static bool is_closed(const struct stat *info)
{
    bool sticky = S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX);

    return (info->st_uid == geteuid() || info->st_uid == 0) &&
           (sticky || (info->st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

/* Is this directory one that a guest sees? */
static bool is_mounted(const struct stat *info, const char *const *mounts)
{
    for (size_t i = 0; mounts && mounts[i]; i++) {
        struct stat mount;

        if (stat(mounts[i], &mount) == 0 && mount.st_dev == info->st_dev &&
            mount.st_ino == info->st_ino)
            return true;
    }
    return false;
}

/* Opens a normalised absolute path part by part; -1 with a sentence in `why`. */
static int open_way(const char *path, const char *const *mounts, char *why, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *part = path + 1;

    for (;;) {
        size_t length = strcspn(part, "/");
        bool last = part[length] == '\0';
        char name[NAME_MAX + 1];
        struct stat info;
        int next;

        if (fd < 0 || fstat(fd, &info) < 0 || length == 0 || length > NAME_MAX)
            break;
        if (!is_closed(&info) || is_mounted(&info, mounts)) {
            (void)snprintf(why, size,
                           "SOUL.md approves nothing: %s",
                           is_mounted(&info, mounts)
                               ? "it lies in a directory that a guest sees; move it"
                               : "others may change a directory above it; close it");
            return -1;
        }
        memcpy(name, part, length);
        name[length] = '\0';
        next = openat(fd, name,
                      last ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
                           : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            break;
        (void)close(fd);
        fd = next;
        if (last)
            return nacre_fd_take(&fd);
        part += length + 1;
    }
    (void)snprintf(why, size,
                   "SOUL.md approves nothing: it can't be opened without following a "
                   "link (%s)", strerror(errno));
    return -1;
}

/* False with a sentence in `why`. */
static bool read_soul(const char *soul, const char *const *mounts, struct nacre_buf *buf,
                      char *why, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[NACRE_PATH_MAX];
    struct nacre_error err;
    struct stat info;

    if (soul[0] != '/' || !nacre_path_normalise(soul, path, sizeof(path))) {
        (void)snprintf(why, size, "SOUL.md approves nothing: its path is not absolute");
        return false;
    }
    fd = open_way(path, mounts, why, size);
    if (fd < 0)
        return false;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || !is_closed(&info) ||
        info.st_uid != geteuid() || info.st_nlink != 1) {
        (void)snprintf(why, size,
                       "SOUL.md approves nothing: it has to be a plain file of this "
                       "user's that nobody else can write, with one name");
        return false;
    }
    if (is_mounted(&info, mounts)) {
        (void)snprintf(why, size,
                       "SOUL.md approves nothing: it is mounted itself; unmount it");
        return false;
    }
    if (nacre_buf_read(buf, fd, &err) == NACRE_OK)
        return true;
    (void)snprintf(why, size, "SOUL.md approves nothing: %s", err.text);
    return false;
}

/* What the operator trusts: this content at this place. */
static struct nacre_digest trusted_mark(const uint8_t key[NACRE_KEY_BYTES],
                                        const char *soul, const struct nacre_buf *buf)
{
    struct nacre_hasher hasher;
    struct nacre_digest digest;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre soul 1");
    nacre_hash_add_text(&hasher, soul);
    nacre_hash_add_u64(&hasher, buf->size);
    nacre_hash_add(&hasher, buf->bytes ? buf->bytes : "", buf->size);
    digest = nacre_hash_end(&hasher);
    return nacre_hmac(key, NACRE_KEY_BYTES, digest.bytes, sizeof(digest.bytes));
}

static bool is_trusted(const char *key_dir, const struct nacre_digest *mark)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char text[NACRE_HEX] = "";
    struct nacre_digest kept;
    struct nacre_error err;

    if (nacre_private_dir_open(key_dir, &dir_fd, &err) != NACRE_OK)
        return false;
    fd = openat(dir_fd, TRUSTED, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && read(fd, text, NACRE_HEX - 1) == NACRE_HEX - 1 &&
           nacre_digest_from_hex(text, &kept) && nacre_digest_equal(&kept, mark);
}

enum nacre_status soul_ask(const struct nacre_approval_options *options, const char *tool,
                           const char *arguments, bool *ret_approved, char *ret_why,
                           size_t why_size, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(SOUL_BYTES_MAX);
    struct nacre_digest bound = nacre_hash(arguments, strlen(arguments)), mark;
    uint8_t key[NACRE_KEY_BYTES];
    char hex[NACRE_HEX], name[NACRE_SHOWN];
    bool approved = false;
    enum nacre_status status = nacre_key_load(options->key_dir, APPROVAL_KEY, key, err);

    if (status != NACRE_OK)
        return status;
    *ret_approved = false;
    if (!read_soul(options->soul, options->mounts, &buf, ret_why, why_size))
        return NACRE_OK;
    mark = trusted_mark(key, options->soul, &buf);
    explicit_bzero(key, sizeof(key));
    if (!is_trusted(options->key_dir, &mark)) {
        (void)snprintf(ret_why, why_size,
                       "SOUL.md approves nothing: it is not the one that was trusted; "
                       "the operator reads it and runs nacre approvals trust");
        return NACRE_OK;
    }
    status = soul_judge(options->soul, buf.bytes ? buf.bytes : "", buf.size, tool, &bound,
                        nacre_clock_wall_ms(), &approved, err);
    if (status == NACRE_ERR_PARSE) {
        (void)snprintf(ret_why, why_size, "SOUL.md approves nothing: line %d: %.160s",
                       err->line, err->text);
        return NACRE_OK;
    }
    if (status != NACRE_OK)
        return status;
    *ret_approved = approved;
    if (!approved)
        (void)snprintf(ret_why, why_size,
                       "SOUL.md does not name %s with these arguments (sha256:%s)",
                       nacre_text_shown(name, tool), nacre_digest_hex(&bound, hex));
    return NACRE_OK;
}

enum nacre_status nacre_soul_trust(const char *soul, const char *key_dir,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(SOUL_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_digest none = { 0 }, mark;
    uint8_t key[NACRE_KEY_BYTES];
    char why[256] = "", hex[NACRE_HEX];
    bool ignored;
    enum nacre_status status = NACRE_OK;

    if (nacre_is_inside())
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "a command that nacre runs can't answer for a person");
    if (!read_soul(soul, NULL, &buf, why, sizeof(why)))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s", why);
    status = soul_judge(soul, buf.bytes ? buf.bytes : "", buf.size, "", &none, 0,
                        &ignored, err);
    if (status == NACRE_OK)
        status = nacre_key_load(key_dir, APPROVAL_KEY, key, err);
    if (status == NACRE_OK)
        status = nacre_private_dir_open(key_dir, &dir_fd, err);
    if (status != NACRE_OK)
        return status;
    mark = trusted_mark(key, soul, &buf);
    explicit_bzero(key, sizeof(key));
    (void)unlinkat(dir_fd, TRUSTED ".new", 0);
    fd = openat(dir_fd, TRUSTED ".new",
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 ||
        write(fd, nacre_digest_hex(&mark, hex), NACRE_HEX - 1) != NACRE_HEX - 1 ||
        fsync(fd) != 0 || renameat(dir_fd, TRUSTED ".new", dir_fd, TRUSTED) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "recording the trusted SOUL.md");
    return NACRE_OK;
}
