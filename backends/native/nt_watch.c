/*
 * Trusts the kernel's events and nothing that lies in the directories: a guest that may
 * write there can cause any number of them, but none with a name that is watched, for in
 * its sandbox those names are mount points.
 */
#include "nt_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "nacre/text.h"

#define NAMES_MAX 65536
#define EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define READS_MAX 64 /* in one call: a guest can make events as fast as we read them */

struct directory {
    int fd; /* O_PATH */
    int wd;
    dev_t device;
    ino_t inode;
};

struct watched {
    size_t directory;
    char *name, *shown;
    bool is_there;
    dev_t device;
    ino_t inode;
};

struct nt_watch {
    struct directory *directories;
    size_t directory_count;
    struct watched *names;
    size_t name_count;
    int fd;

    pthread_mutex_t lock; /* guards what is below */
    bool changed;
    char reason[256];
};

enum nacre_status nt_watch_new(struct nt_watch **ret_watch, struct nacre_error *err)
{
    struct nt_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a watch over denied paths");
    watch->fd = -1;
    (void)pthread_mutex_init(&watch->lock, NULL);
    *ret_watch = watch;
    return NACRE_OK;
}

void nt_watch_free(struct nt_watch *watch)
{
    if (!watch)
        return;
    nacre_fd_guard(&watch->fd);
    for (size_t i = 0; i < watch->directory_count; i++)
        nacre_fd_guard(&watch->directories[i].fd);
    for (size_t i = 0; i < watch->name_count; i++) {
        free(watch->names[i].name);
        free(watch->names[i].shown);
    }
    free(watch->directories);
    free(watch->names);
    (void)pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static enum nacre_status find_directory(struct nt_watch *watch, int dir_fd,
                                        size_t *ret_index, struct nacre_error *err)
{
    struct directory *grown;
    struct stat info;

    if (fstat(dir_fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't look at a directory");
    for (size_t i = 0; i < watch->directory_count; i++)
        if (watch->directories[i].device == info.st_dev &&
            watch->directories[i].inode == info.st_ino) {
            *ret_index = i;
            return NACRE_OK;
        }
    grown = realloc(watch->directories, (watch->directory_count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a watch over denied paths");
    watch->directories = grown;
    grown += watch->directory_count;
    *grown = (struct directory){ .fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3),
                                 .wd = -1,
                                 .device = info.st_dev,
                                 .inode = info.st_ino };
    if (grown->fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't hold a directory");
    *ret_index = watch->directory_count++;
    return NACRE_OK;
}

enum nacre_status nt_watch_add(struct nt_watch *watch, int dir_fd, const char *name,
                               const struct stat *info, const char *shown,
                               struct nacre_error *err)
{
    struct watched *grown;
    size_t directory = 0;
    enum nacre_status status = find_directory(watch, dir_fd, &directory, err);

    if (status != NACRE_OK)
        return status;
    for (size_t i = 0; i < watch->name_count; i++)
        if (watch->names[i].directory == directory &&
            strcmp(watch->names[i].name, name) == 0)
            return NACRE_OK;
    if (watch->name_count == NAMES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d denied paths", NAMES_MAX);
    grown = realloc(watch->names, (watch->name_count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a watch over denied paths");
    watch->names = grown;
    grown += watch->name_count++;
    *grown = (struct watched){ .directory = directory,
                               .name = strdup(name),
                               .shown = strdup(shown),
                               .is_there = info != NULL };
    if (info) {
        grown->device = info->st_dev;
        grown->inode = info->st_ino;
    }
    if (!grown->name || !grown->shown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a watch over denied paths");
    return NACRE_OK;
}

static bool is_as_it_was(const struct nt_watch *watch, const struct watched *name)
{
    struct stat info;

    if (fstatat(watch->directories[name->directory].fd, name->name, &info,
                AT_SYMLINK_NOFOLLOW) != 0)
        return !name->is_there && errno == ENOENT;
    return name->is_there && info.st_dev == name->device && info.st_ino == name->inode;
}

static const struct watched *find_other(const struct nt_watch *watch)
{
    for (size_t i = 0; i < watch->name_count; i++)
        if (!is_as_it_was(watch, &watch->names[i]))
            return &watch->names[i];
    return NULL;
}

static const char *any_name_in(const struct nt_watch *watch, size_t directory)
{
    for (size_t i = 0; i < watch->name_count; i++)
        if (watch->names[i].directory == directory)
            return watch->names[i].shown;
    return "";
}

enum nacre_status nt_watch_arm(struct nt_watch *watch, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    const struct watched *other;
    char shown[NACRE_SHOWN], path[40];

    /* Never one of the three that a caller may have closed: 0 means there is none. */
    watch->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (watch->fd < 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "denied paths can't be watched: %s; see "
                          "/proc/sys/fs/inotify/max_user_instances",
                          strerrordesc_np(errno));
    for (size_t i = 0; i < watch->directory_count; i++) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", watch->directories[i].fd);
        watch->directories[i].wd =
            inotify_add_watch(watch->fd, path, EVENTS | IN_ONLYDIR);
        if (watch->directories[i].wd < 0)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the directory of the denied path %s can't be watched: "
                              "%s%s",
                              nacre_text_shown(shown, any_name_in(watch, i)),
                              strerrordesc_np(errno),
                              errno == ENOSPC
                                  ? "; see /proc/sys/fs/inotify/max_user_watches"
                                  : "");
    }
    other = find_other(watch);
    if (other)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the denied path %s changed while it was being covered; try "
                          "again",
                          nacre_text_shown(shown, other->shown));
    return NACRE_OK;
}

static void note(struct nt_watch *watch, const struct watched *name)
{
    char shown[NACRE_SHOWN];

    watch->changed = true;
    (void)snprintf(watch->reason, sizeof(watch->reason),
                   "%s, denied or above what is, changed on the host, so that a cover "
                   "may have fallen off; run the command again",
                   nacre_text_shown(shown, name->shown));
}

static void judge(struct nt_watch *watch, const struct inotify_event *event)
{
    const struct watched *other;

    if (event->mask & IN_Q_OVERFLOW) {
        other = find_other(watch);
        if (other)
            note(watch, other);
        return;
    }
    for (size_t i = 0; i < watch->name_count && event->len > 0; i++) {
        const struct watched *name = &watch->names[i];

        if (watch->directories[name->directory].wd == event->wd &&
            strcmp(name->name, event->name) == 0)
            note(watch, name);
    }
    /* Nothing of the names is left to be told about. */
    if (event->mask & (IN_UNMOUNT | IN_IGNORED))
        for (size_t i = 0; i < watch->name_count && !watch->changed; i++)
            if (watch->directories[watch->names[i].directory].wd == event->wd)
                note(watch, &watch->names[i]);
}

static void read_events(struct nt_watch *watch)
{
    _Alignas(struct inotify_event) char bytes[4096];

    for (size_t i = 0; i < READS_MAX && !watch->changed; i++) {
        ssize_t got = read(watch->fd, bytes, sizeof(bytes));
        const char *at = bytes;

        if (got <= 0)
            return;
        while (at < bytes + got) {
            const struct inotify_event *event = (const void *)at;

            judge(watch, event);
            at += sizeof(*event) + event->len;
        }
    }
}

int nt_watch_fd(const struct nt_watch *watch)
{
    return watch->fd > 0 ? watch->fd : 0;
}

bool nt_watch_changed(struct nt_watch *watch, char *reason, size_t size)
{
    bool changed;

    (void)pthread_mutex_lock(&watch->lock);
    if (!watch->changed)
        read_events(watch);
    changed = watch->changed;
    if (changed)
        (void)snprintf(reason, size, "%s", watch->reason);
    (void)pthread_mutex_unlock(&watch->lock);
    return changed;
}
