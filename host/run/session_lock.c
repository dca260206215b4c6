/*
 * Who may do what now.  Locks are on open files (flock), so that the kernel lets go of
 * them when their holder dies, however it dies; the files lie in a directory of ours
 * alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/clock.h"
#include "nacre/text.h"
#include "session_store.h"

#define PAUSE_NS_MAX (50 * NACRE_NS_PER_MS)
#define PID_MAX INT32_MAX
#define TURNS_MAX 65536

static void name_of(char ret_name[SESSION_FILE], const char *id, const char *kind)
{
    (void)snprintf(ret_name, SESSION_FILE, "%s.%s", id, kind);
}

/* Whoever removes a lock's file has it alone: one that was waited for meanwhile is
 * nobody's, and its name leads to another or to none. */
static bool is_still_there(int dir_fd, const char *name, int fd)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 &&
           fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* For whom has to wait: a hint, and nothing is decided by it. */
static void write_pid(int fd)
{
    char text[16];
    int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    (void)!ftruncate(fd, 0);
    (void)!pwrite(fd, text, (size_t)length, 0);
}

static int read_pid(int fd)
{
    char text[16] = "";
    uint64_t pid;

    if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return nacre_text_u64(text, PID_MAX, &pid) ? (int)pid : 0;
}

bool session_may_wait(const struct session_wait *wait)
{
    return nacre_clock_ns() < wait->deadline_ns &&
           !(wait->cancelled && atomic_load(wait->cancelled));
}

void session_pause(const struct session_wait *wait, uint64_t *pause_ns)
{
    struct timespec left = nacre_clock_until(wait->deadline_ns);
    struct timespec pause = { .tv_nsec = (long)*pause_ns };

    if (left.tv_sec == 0 && left.tv_nsec < pause.tv_nsec)
        pause = left;
    (void)nanosleep(&pause, NULL);
    *pause_ns = *pause_ns * 2 < PAUSE_NS_MAX ? *pause_ns * 2 : PAUSE_NS_MAX;
}

enum nacre_status session_lock(int dir_fd, const char *id, const char *kind, bool alone,
                               const struct session_wait *wait, int *ret_fd, int *ret_pid,
                               struct nacre_error *err)
{
    uint64_t pause_ns = SESSION_PAUSE_NS;
    char name[SESSION_FILE];

    name_of(name, id, kind);
    for (;;) {
        NACRE_AUTO(nacre_fd_guard) int fd =
            openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "the lock of a session can't be opened");
        if (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
            if (!is_still_there(dir_fd, name, fd))
                continue;
            if (alone)
                write_pid(fd);
            *ret_fd = nacre_fd_take(&fd);
            return NACRE_OK;
        }
        if (errno != EWOULDBLOCK && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "the lock of a session can't be taken");
        if (!session_may_wait(wait)) {
            if (ret_pid)
                *ret_pid = read_pid(fd);
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "the session is in use");
        }
        session_pause(wait, &pause_ns);
    }
}

bool session_lock_is_there(int dir_fd, const char *id, const char *kind)
{
    char name[SESSION_FILE];
    struct stat st;

    name_of(name, id, kind);
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void session_lock_remove(int dir_fd, const char *id, const char *kind)
{
    char name[SESSION_FILE];

    name_of(name, id, kind);
    (void)unlinkat(dir_fd, name, 0);
}

/* A turn is nobody's between runs; what is of a sandbox stays as long as its record. */
static bool is_left_over(int dir_fd, const char *name, const char *kind)
{
    char record[SESSION_FILE];
    struct stat st;

    if (strcmp(kind, SESSION_TURN) == 0)
        return true;
    if (strcmp(kind, SESSION_HELD) != 0 && strcmp(kind, SESSION_PUT) != 0)
        return false;
    (void)snprintf(record, sizeof(record), "%.*s.json", SESSION_ID - 1, name);
    return fstatat(dir_fd, record, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

void session_locks_tidy(int dir_fd)
{
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;

    if (!dir) {
        nacre_fd_guard(&again);
        return;
    }
    for (int i = 0; i < TURNS_MAX && (entry = readdir(dir)); i++) {
        const char *dot = strrchr(entry->d_name, '.');
        NACRE_AUTO(nacre_fd_guard) int fd = -1;

        if (!dot || dot != entry->d_name + SESSION_ID - 1 ||
            !is_left_over(dir_fd, entry->d_name, dot + 1))
            continue;
        fd = openat(dir_fd, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
            is_still_there(dir_fd, entry->d_name, fd) &&
            is_left_over(dir_fd, entry->d_name, dot + 1))
            (void)unlinkat(dir_fd, entry->d_name, 0);
    }
    (void)closedir(dir);
}
