/*
 * Trusts the kernel's files, but not the names beside ours: anybody who may make cgroups
 * may call one like ours, so a name counts only when it is exactly as we would write it.
 */
#include "cgroup_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/clock.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "pidfd.h"

#define WEIGHT_MAX 10000
#define LOG_BITS 48
#define LOG_ERROR 1e-12
#define LOG2_OF_10 3.32192809488736234787

/* When did `pid` start, in clock ticks since boot?  False when it is gone. */
static bool process_started(pid_t pid, uint64_t *ret_started)
{
    char path[64], text[1024];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *field;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (count < 0)
        return false;
    text[count] = '\0';
    /* The second field is the program's name, in which anything may stand. */
    field = strrchr(text, ')');
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field && sscanf(field, "%" SCNu64, ret_started) == 1;
}

enum nacre_status nacre_cgroup_owner_self(struct nacre_cgroup_owner *ret_owner,
                                          struct nacre_error *err)
{
    struct nacre_cgroup_owner owner = { .pid = getpid() };

    if (!process_started(owner.pid, &owner.started))
        return nacre_fail(err, NACRE_ERR_BACKEND, "/proc/%d/stat: expected a start time",
                          owner.pid);
    *ret_owner = owner;
    return NACRE_OK;
}

static void write_name(char ret_name[NACRE_CGROUP_NAME],
                       const struct nacre_cgroup_owner *owner, uint64_t number)
{
    (void)snprintf(ret_name, NACRE_CGROUP_NAME, "nacre-%d-%" PRIu64 "-%016" PRIx64,
                   owner->pid, owner->started, number);
}

enum nacre_status nacre_cgroup_name(const struct nacre_cgroup_owner *owner,
                                    char ret_name[NACRE_CGROUP_NAME],
                                    struct nacre_error *err)
{
    uint64_t number;
    enum nacre_status status = nacre_random(&number, sizeof(number), err);

    if (status == NACRE_OK)
        write_name(ret_name, owner, number);
    return status;
}

/* Is it one of ours, made by a process that is gone? */
static bool is_leftover(const char *name)
{
    char again[NACRE_CGROUP_NAME];
    struct nacre_cgroup_owner owner;
    uint64_t number, now;

    if (sscanf(name, "nacre-%d-%" SCNu64 "-%" SCNx64, &owner.pid, &owner.started,
               &number) != 3)
        return false;
    write_name(again, &owner, number);
    if (strcmp(name, again) != 0)
        return false;
    return !process_started(owner.pid, &now) || now != owner.started;
}

static void thaw(int parent_fd, const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(parent_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    (void)nacre_cgroup_write(fd, "freezer.state", "THAWED");
    (void)nacre_cgroup_write(fd, "cgroup.freeze", "0");
}

void nacre_cgroup_remove_leftovers(int dir_fd)
{
    const struct dirent *entry;
    struct stat info;
    DIR *dir;
    int fd;

    /* Its links are its name, its own "." and the ".." of each cgroup below it: looking
     * at every file of a cgroup takes 30 times as long. */
    if (fstat(dir_fd, &info) == 0 && info.st_nlink == 2)
        return;
    fd = openat(dir_fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        nacre_fd_guard(&fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (is_leftover(entry->d_name) &&
            unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR) < 0)
            thaw(dir_fd, entry->d_name);
    }
    (void)closedir(dir);
}

void nacre_cgroup_pause_ms(unsigned ms)
{
    const struct timespec pause = { .tv_nsec = (long)(ms * NACRE_NS_PER_MS) };

    (void)nanosleep(&pause, NULL);
}

bool nacre_cgroup_remove(int parent_fd, const char *name, unsigned ms_max)
{
    for (unsigned i = 0;; i++) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return true;
        if (errno != EBUSY || i >= ms_max)
            return false;
        nacre_cgroup_pause_ms(1);
    }
}

bool nacre_cgroup_write(int dir_fd, const char *name, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t length = strlen(text);

    return fd >= 0 && write(fd, text, length) == (ssize_t)length;
}

bool nacre_cgroup_write_number(int dir_fd, const char *name, uint64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return nacre_cgroup_write(dir_fd, name, text);
}

void nacre_cgroup_read(int dir_fd, const char *name, char *ret_text, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t count = fd < 0 ? 0 : read(fd, ret_text, size - 1);

    ret_text[count > 0 ? count : 0] = '\0';
}

/* For one number at a policy's limit, libm is not worth its loading at every start. */
static double binary_log(uint64_t number)
{
    double left = (double)number, power = 0, bit = 1;

    for (; left >= 2; left /= 2)
        power++;
    for (int i = 0; i < LOG_BITS; i++) {
        left *= left;
        bit /= 2;
        if (left >= 2) {
            left /= 2;
            power += bit;
        }
    }
    return power;
}

/*
 * As container engines translate since 2025: 2 is 1, 262144 is 10000, and an ordinary
 * 1024 is v2's ordinary 100, on a curve through these three.  With p = log2(shares):
 * 10 ^ ((p * p + 125 * p) / 612 - 7 / 34), rounded up.
 */
uint64_t nacre_cgroup_weight(uint64_t shares)
{
    double power = binary_log(shares);
    double wanted = ((power * power + 125 * power) / 612 - 7.0 / 34) * LOG2_OF_10;
    uint64_t low = 1, high = WEIGHT_MAX;

    while (low < high) {
        uint64_t middle = (low + high) / 2;

        if (binary_log(middle) >= wanted - LOG_ERROR)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- killing ---- */

/* Between the list and the signal the process may end and a stranger get its number: so
 * the number is pinned first, and then asked again where it belongs. */
static void kill_member(const char *name, pid_t pid)
{
    NACRE_AUTO(nacre_fd_guard) int pidfd = nacre_pidfd_open(pid);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[64], text[4096];
    ssize_t count;

    if (pidfd < 0)
        return;
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (count <= 0)
        return;
    text[count] = '\0';
    if (strstr(text, name))
        (void)nacre_pidfd_signal(pidfd, SIGKILL);
}

bool nacre_cgroup_kill_listed(int dir_fd, const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char text[4096];
    pid_t pid = 0;
    ssize_t count;
    bool found = false;

    while (fd >= 0 && (count = read(fd, text, sizeof(text))) > 0) {
        found = true;
        for (ssize_t i = 0; i < count; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 0) /* 0: of a pid namespace that we don't see */
                kill_member(name, pid);
            pid = 0;
        }
    }
    return found;
}
