/*
 * Trusts the journals, which lie in a directory of our own, for where to look; what is
 * found there may be anybody's by now.  Directories are reached without following a link:
 * a guest may have left one where its mount was.
 */
#include "nt_placeholders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "mounts.h"
#include "nacre/buf.h"
#include "nacre/hash.h"
#include "nacre/key.h"
#include "nacre/text.h"

#define DIRECTORY "placeholders" /* of the journals, in the state directory */
#define FILE_MODE 01600
#define DIRECTORY_MODE 01700
#define JOURNAL_BYTES_MAX ((size_t)4 << 20)
#define JOURNALS_MAX 4096

struct held {
    int dir_fd;
    char *name;
    char *record; /* its absolute path, as the journal has it */
};

struct nt_placeholders {
    char path[NACRE_PATH_MAX]; /* of the journals' directory */
    int dir_fd;                /* of it; -1 until it is needed */
    int journal_fd;            /* locked while we live; -1 until it is needed */
    char journal[24];
    struct held *items;
    size_t count;
};

/* ---- what a placeholder is ---- */

static bool is_empty_directory(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int entries = 0;

    if (!dir) {
        nacre_fd_guard(&fd);
        return false;
    }
    while (entries < 3 && readdir(dir))
        entries++;
    (void)closedir(dir);
    return entries <= 2;
}

bool nt_placeholders_is(int dir_fd, const char *name, const struct stat *info)
{
    if (S_ISREG(info->st_mode))
        return (info->st_mode & 07777) == FILE_MODE && info->st_size == 0 &&
               info->st_nlink == 1;
    return S_ISDIR(info->st_mode) && (info->st_mode & 07777) == DIRECTORY_MODE &&
           is_empty_directory(dir_fd, name);
}

static void remove_placeholder(int dir_fd, const char *name)
{
    struct stat info;

    if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        nt_placeholders_is(dir_fd, name, &info))
        (void)unlinkat(dir_fd, name, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0);
}

/* ---- journals: records one after another, each ended by a zero byte ---- */

static bool has_record(const struct nacre_buf *journal, const char *record)
{
    size_t length = strlen(record) + 1;

    for (size_t at = 0; at < journal->size;) {
        size_t next = strnlen(journal->bytes + at, journal->size - at) + 1;

        if (next == length && memcmp(journal->bytes + at, record, length) == 0)
            return true;
        at += next;
    }
    return false;
}

/* Whether its owner lives; the content is read in either case. */
static bool read_journal(int dir_fd, const char *name, struct nacre_buf *ret_journal,
                         bool *ret_lives)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct nacre_error err;

    if (fd < 0 || nacre_buf_read(ret_journal, fd, &err) != NACRE_OK)
        return false;
    *ret_lives = flock(fd, LOCK_EX | LOCK_NB) != 0;
    return true;
}

static DIR *list_journals(int dir_fd)
{
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;

    if (!dir)
        nacre_fd_guard(&again);
    return dir;
}

/* Does an owner that lives, other than `own`, lean on it?  Yes, when in doubt. */
static bool is_held_by_others(int dir_fd, const char *own, const char *record)
{
    DIR *dir = list_journals(dir_fd);
    struct dirent *entry;
    bool is_held = dir == NULL;

    for (int i = 0; dir && !is_held && i < JOURNALS_MAX && (entry = readdir(dir)); i++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf journal = NACRE_BUF(JOURNAL_BYTES_MAX);
        bool lives;

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0)
            continue;
        is_held = !read_journal(dir_fd, entry->d_name, &journal, &lives) ||
                  (lives && has_record(&journal, record));
    }
    if (dir)
        (void)closedir(dir);
    return is_held;
}

static void remove_recorded(const char *record)
{
    struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_heap_guard) char *parent = strdup(record);
    char *slash = parent ? strrchr(parent, '/') : NULL;

    if (!slash)
        return;
    *slash = '\0';
    fd = (int)syscall(SYS_openat2, AT_FDCWD, parent[0] ? parent : "/", &how, sizeof(how));
    if (fd >= 0)
        remove_placeholder(fd, slash + 1);
}

/* With the directory locked, so that nobody begins to lean on what is removed. */
static void sweep(int dir_fd)
{
    DIR *dir = list_journals(dir_fd);
    struct dirent *entry;

    for (int i = 0; dir && i < JOURNALS_MAX && (entry = readdir(dir)); i++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf journal = NACRE_BUF(JOURNAL_BYTES_MAX);
        bool lives;

        if (entry->d_name[0] == '.' ||
            !read_journal(dir_fd, entry->d_name, &journal, &lives) || lives)
            continue;
        for (size_t at = 0; at < journal.size;) {
            const char *record = journal.bytes + at;
            size_t length = strnlen(record, journal.size - at);

            /* One without its zero byte was being written when its owner died; nothing
             * had been made for it. */
            if (at + length < journal.size &&
                !is_held_by_others(dir_fd, entry->d_name, record))
                remove_recorded(record);
            at += length + 1;
        }
        (void)unlinkat(dir_fd, entry->d_name, 0);
    }
    if (dir)
        (void)closedir(dir);
}

/* Two calls of the kernel's and no memory: it is asked at each start. */
static bool has_entries(const char *path)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _Alignas(struct dirent64) char bytes[1024];
    ssize_t got = fd < 0 ? 0 : getdents64(fd, bytes, sizeof(bytes));

    for (ssize_t at = 0; at < got;) {
        const struct dirent64 *entry = (const void *)(bytes + at);

        if (entry->d_name[0] != '.')
            return true;
        at += entry->d_reclen;
    }
    return false;
}

void nt_placeholders_sweep(const char *state_dir)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[NACRE_PATH_MAX];
    struct nacre_error err;

    if (!state_dir || snprintf(path, sizeof(path), "%s/" DIRECTORY, state_dir) >=
                          (int)sizeof(path) ||
        !has_entries(path) || nacre_private_dir_open(path, &fd, &err) != NACRE_OK)
        return;
    /* Whoever has it locked sweeps itself, or has done so. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        sweep(fd);
}

/* ---- an owner ---- */

enum nacre_status nt_placeholders_open(const char *state_dir,
                                       struct nt_placeholders **ret_held,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nt_placeholders_guard)
    struct nt_placeholders *held = calloc(1, sizeof(*held));
    enum nacre_status status;

    if (!held)
        return nacre_fail(err, NACRE_ERR_MEMORY, "placeholders");
    held->dir_fd = -1;
    held->journal_fd = -1;
    if (snprintf(held->path, sizeof(held->path), "%s/" DIRECTORY, state_dir) >=
        (int)sizeof(held->path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    if (access(held->path, F_OK) == 0) {
        status = nacre_private_dir_open(held->path, &held->dir_fd, err);
        if (status != NACRE_OK)
            return status;
        if (flock(held->dir_fd, LOCK_EX) == 0)
            sweep(held->dir_fd);
        (void)flock(held->dir_fd, LOCK_UN);
    }
    *ret_held = nt_placeholders_take(&held);
    return NACRE_OK;
}

void nt_placeholders_free(struct nt_placeholders *held)
{
    if (!held)
        return;
    if (held->count > 0)
        (void)flock(held->dir_fd, LOCK_EX);
    for (size_t i = 0; i < held->count; i++) {
        const struct held *item = &held->items[i];

        if (!is_held_by_others(held->dir_fd, held->journal, item->record))
            remove_placeholder(item->dir_fd, item->name);
        (void)close(item->dir_fd);
        free(item->name);
        free(item->record);
    }
    if (held->journal_fd >= 0)
        (void)unlinkat(held->dir_fd, held->journal, 0);
    nacre_fd_guard(&held->journal_fd);
    nacre_fd_guard(&held->dir_fd); /* which also unlocks it */
    free(held->items);
    free(held);
}

/* The directory and our journal in it, both locked. */
static enum nacre_status open_journal(struct nt_placeholders *held,
                                      struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    uint64_t number;

    if (held->dir_fd < 0)
        status = nacre_private_dir_open(held->path, &held->dir_fd, err);
    if (status != NACRE_OK)
        return status;
    if (flock(held->dir_fd, LOCK_EX) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't lock %.200s", held->path);
    if (held->journal_fd >= 0)
        return NACRE_OK;
    status = nacre_random(&number, sizeof(number), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(held->journal, sizeof(held->journal), "%016" PRIx64, number);
    held->journal_fd =
        openat(held->dir_fd, held->journal,
               O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (held->journal_fd < 0 || flock(held->journal_fd, LOCK_EX | LOCK_NB) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't write down a placeholder in %.200s",
                          held->path);
    return NACRE_OK;
}

static enum nacre_status write_down(struct nt_placeholders *held, int dir_fd,
                                    const char *name, struct nacre_error *err)
{
    char path[NACRE_PATH_MAX], record[NACRE_PATH_MAX];
    enum nacre_status status = NACRE_OK;
    struct held *grown, item;
    size_t count;

    if (!nacre_mounts_real_name(dir_fd, path) ||
        snprintf(record, sizeof(record), "%s/%s", path[1] ? path : "", name) >=
            (int)sizeof(record))
        return nacre_fail(err, NACRE_ERR_IO, "a denied path's directory has no name");
    grown = realloc(held->items, (held->count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "placeholders");
    held->items = grown;
    count = strlen(record) + 1;
    item = (struct held){ fcntl(dir_fd, F_DUPFD_CLOEXEC, 3), strdup(name),
                          strdup(record) };
    if (!item.name || !item.record)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "placeholders");
    else if (item.dir_fd < 0 ||
             write(held->journal_fd, record, count) != (ssize_t)count)
        status = nacre_fail(err, NACRE_ERR_IO, "can't write down a placeholder in %.200s",
                            held->path);
    if (status == NACRE_OK) {
        held->items[held->count++] = item;
        return NACRE_OK;
    }
    nacre_fd_guard(&item.dir_fd);
    free(item.name);
    free(item.record);
    return status;
}

/* 0, or why it could not be made. */
static int make(int dir_fd, const char *name, bool as_directory)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat parent;

    if (as_directory && mkdirat(dir_fd, name, DIRECTORY_MODE) != 0)
        return errno;
    fd = as_directory
             ? openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
             : openat(dir_fd, name,
                      O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return errno;
    /* Whoever the directory belongs to may find a use for the name meanwhile.  A mask of
     * the caller's may have taken bits. */
    if (geteuid() == 0 && fstat(dir_fd, &parent) == 0)
        (void)!fchown(fd, parent.st_uid, parent.st_gid);
    return fchmod(fd, as_directory ? DIRECTORY_MODE : FILE_MODE) == 0 ? 0 : errno;
}

static enum nacre_status hold_locked(struct nt_placeholders *held, int dir_fd,
                                     const char *name, bool as_directory, int *ret_fd,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;
    struct stat info;
    int failure = 0;

    status = write_down(held, dir_fd, name, err);
    if (status != NACRE_OK)
        return status;
    if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        failure = make(dir_fd, name, as_directory);
    if (failure == EACCES || failure == EROFS || failure == EPERM) {
        *ret_fd = -1;
        return NACRE_OK;
    }
    errno = failure;
    if (failure != 0 && failure != EEXIST)
        return nacre_fail(err, NACRE_ERR_IO, "can't hold a denied name");
    fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !nt_placeholders_is(dir_fd, name, &info))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "a denied name changed while it was being covered; try again");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status nt_placeholders_hold(struct nt_placeholders *held, int dir_fd,
                                       const char *name, bool as_directory, int *ret_fd,
                                       struct nacre_error *err)
{
    enum nacre_status status = open_journal(held, err);
    char shown[NACRE_SHOWN];

    if (status == NACRE_OK)
        status = hold_locked(held, dir_fd, name, as_directory, ret_fd, err);
    if (held->dir_fd >= 0)
        (void)flock(held->dir_fd, LOCK_UN);
    if (status != NACRE_OK)
        return nacre_fail_context(err, nacre_text_shown(shown, name));
    return NACRE_OK;
}
