#include "cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "cgroup_place.h"
#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/hash.h"
#include "nacre/text.h"

#define TABLE_BYTES_MAX ((size_t)1 << 20)
#define RELEASE_TRIES 50

struct nacre_cpu_share {
    enum nacre_cpu_share_kind kind;
    int dir_fd;       /* where groups are made; -1 for nice */
    pid_t owner;      /* this process; with its start, unique while the machine is up */
    uint64_t started;
    char text[320];
};

void nacre_cpu_share_free(struct nacre_cpu_share *share)
{
    if (!share)
        return;
    nacre_fd_guard(&share->dir_fd);
    free(share);
}

enum nacre_cpu_share_kind nacre_cpu_share_kind(const struct nacre_cpu_share *share)
{
    return share->kind;
}

const char *nacre_cpu_share_text(const struct nacre_cpu_share *share)
{
    return share->text;
}

static enum nacre_status read_file(const char *path, struct nacre_buf *buf,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum nacre_status status;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s", path);
    status = nacre_buf_read(buf, fd, err);
    if (status == NACRE_OK)
        status = nacre_buf_add(buf, "", 0, err);
    return status == NACRE_OK ? NACRE_OK : nacre_fail_context(err, path);
}

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

static void sleep_ms(long ms)
{
    const struct timespec pause = { .tv_nsec = ms * (long)NACRE_NS_PER_MS };

    (void)nanosleep(&pause, NULL);
}

static bool write_value(int dir_fd, const char *name, uint64_t value)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRIu64, value);
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd >= 0 && write(fd, text, (size_t)length) == length;
}

/* As container engines translate since 2025: 2 is 1, 262144 is 10000, and an ordinary
 * 1024 is v2's ordinary 100, on a curve through these three. */
static uint64_t weight_of(uint64_t shares)
{
    double power = log2((double)shares);

    return (uint64_t)ceil(pow(10, (power * power + 125 * power) / 612 - 7.0 / 34));
}

/* An empty cgroup with its weight; its fd, or -1 with errno and nothing left. */
static int make_group(const struct nacre_cpu_share *share, const char *name,
                      uint64_t shares)
{
    bool v2 = share->kind == NACRE_CPU_SHARE_CGROUP2;
    int fd, failed;

    if (mkdirat(share->dir_fd, name, 0755) < 0)
        return -1;
    fd = openat(share->dir_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && write_value(fd, v2 ? "cpu.weight" : "cpu.shares",
                               v2 ? weight_of(shares) : shares))
        return fd;

    failed = errno;
    nacre_fd_guard(&fd);
    (void)unlinkat(share->dir_fd, name, AT_REMOVEDIR);
    errno = failed;
    return -1;
}

static enum nacre_status make_name(const struct nacre_cpu_share *share,
                                   struct nacre_cpu_group *ret_group,
                                   struct nacre_error *err)
{
    uint64_t number;
    enum nacre_status status = nacre_random(&number, sizeof(number), err);

    if (status == NACRE_OK)
        (void)snprintf(ret_group->name, sizeof(ret_group->name),
                       "nacre-%d-%" PRIu64 "-%016" PRIx64, share->owner, share->started,
                       number);
    return status;
}

/* Is it one of ours, made by a process that is gone? */
static bool is_leftover(const char *name)
{
    char again[64];
    uint64_t started, number, now;
    int pid;

    if (sscanf(name, "nacre-%d-%" SCNu64 "-%" SCNx64, &pid, &started, &number) != 3)
        return false;
    (void)snprintf(again, sizeof(again), "nacre-%d-%" PRIu64 "-%016" PRIx64, pid, started,
                   number);
    if (strcmp(name, again) != 0)
        return false;
    return !process_started(pid, &now) || now != started;
}

/* A cgroup that still holds a process is not removed: the kernel says EBUSY. */
static void remove_leftovers(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!dir) {
        nacre_fd_guard(&fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (is_leftover(entry->d_name))
            (void)unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(dir);
}

static void use_nice(struct nacre_cpu_share *share, const char *why)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    char on = '0';
    bool grouped = fd >= 0 && read(fd, &on, 1) == 1 && on == '1';

    nacre_fd_guard(&share->dir_fd);
    share->dir_fd = -1;
    share->kind = NACRE_CPU_SHARE_NICE;
    (void)snprintf(share->text, sizeof(share->text), "nice, for at most %d (%s)%s",
                   NACRE_CPU_SHARES_ORDINARY, why,
                   grouped ? "; weighs within one session only (autogroup)" : "");
}

/* Told by doing: a cgroup is made, given a weight and removed. */
static enum nacre_status use_cgroup(struct nacre_cpu_share *share,
                                    const struct nacre_cgroup_place *place,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN], why[NACRE_SHOWN + 64];
    struct nacre_cpu_group probe;
    enum nacre_status status = make_name(share, &probe, err);
    int fd = -1;

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, place->path);
    share->kind = place->kind;
    share->dir_fd = open(place->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (share->dir_fd >= 0) {
        remove_leftovers(share->dir_fd);
        fd = make_group(share, probe.name, NACRE_CPU_SHARES_ORDINARY);
    }
    if (fd < 0) {
        (void)snprintf(why, sizeof(why), "no cgroup below %s: %s", shown,
                       strerrordesc_np(errno));
        use_nice(share, why);
        return NACRE_OK;
    }
    nacre_fd_guard(&fd);
    nacre_cpu_share_release(share, &probe);
    (void)snprintf(share->text, sizeof(share->text), "cgroup %s below %s",
                   share->kind == NACRE_CPU_SHARE_CGROUP2 ? "v2 cpu.weight"
                                                          : "v1 cpu.shares", shown);
    return NACRE_OK;
}

enum nacre_status nacre_cpu_share_open_at(const struct nacre_cgroup_place *place,
                                          struct nacre_cpu_share **ret_share,
                                          struct nacre_error *err)
{
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share =
        calloc(1, sizeof(*share));
    enum nacre_status status = NACRE_OK;

    if (!share)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for cpu shares");
    share->dir_fd = -1;
    share->owner = getpid();
    if (!process_started(share->owner, &share->started))
        return nacre_fail(err, NACRE_ERR_BACKEND, "/proc/%d/stat: expected a start time",
                          share->owner);
    if (place->kind == NACRE_CPU_SHARE_NICE)
        use_nice(share, "no cgroup here hands cpu down");
    else
        status = use_cgroup(share, place, err);
    if (status == NACRE_OK)
        *ret_share = nacre_cpu_share_take(&share);
    return status;
}

enum nacre_status nacre_cpu_share_open(struct nacre_cpu_share **ret_share,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf cgroups = NACRE_BUF(TABLE_BYTES_MAX);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf mounts = NACRE_BUF(TABLE_BYTES_MAX);
    struct nacre_cgroup_place place = { .kind = NACRE_CPU_SHARE_NICE };
    struct nacre_error failed;
    enum nacre_status status = read_file("/proc/self/cgroup", &cgroups, &failed);

    if (status == NACRE_OK)
        status = read_file("/proc/self/mountinfo", &mounts, &failed);
    if (status == NACRE_ERR_MEMORY) {
        *err = failed;
        return status;
    }
    /* A kernel without cgroups has no such table. */
    if (status == NACRE_OK)
        nacre_cgroup_place_find(cgroups.bytes, mounts.bytes, &place);
    return nacre_cpu_share_open_at(&place, ret_share, err);
}

/* The kernel's weights of nice 0 to 19: each step is a factor of 1.25. */
static int nice_of(uint64_t shares)
{
    static const uint64_t weights[] = {
        1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
        110,  87,  70,  56,  45,  36,  29,  23,  18,  15,
    };
    int nearest = 0;

    static_assert(NACRE_COUNT(weights) == 20, "one for each nice");
    for (int i = 1; i < (int)NACRE_COUNT(weights); i++) {
        /* The table falls, so the first that is not nearer ends the search. */
        uint64_t above = weights[nearest] > shares ? weights[nearest] - shares
                                                   : shares - weights[nearest];
        uint64_t here = weights[i] > shares ? weights[i] - shares : shares - weights[i];

        if (here >= above)
            break;
        nearest = i;
    }
    return nearest;
}

/* Counted from our own: 1024 is as much as the caller of nacre has.  The kernel keeps
 * nice for each thread; a worker has one. */
static enum nacre_status apply_nice(pid_t pid, uint64_t shares, struct nacre_error *err)
{
    int nice;

    if (shares > NACRE_CPU_SHARES_ORDINARY)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "cpu_shares %" PRIu64 ": without a writable cgroup that has "
                          "the cpu controller, at most %d can be enforced (by nice)",
                          shares, NACRE_CPU_SHARES_ORDINARY);
    errno = 0;
    nice = getpriority(PRIO_PROCESS, 0);
    if (errno != 0)
        return nacre_fail(err, NACRE_ERR_IO, "cpu_shares: nice can't be read");
    nice += nice_of(shares);
    if (setpriority(PRIO_PROCESS, (id_t)pid, nice > 19 ? 19 : nice) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cpu_shares: nice %d for process %d", nice,
                          pid);
    return NACRE_OK;
}

enum nacre_status nacre_cpu_share_apply(const struct nacre_cpu_share *share, pid_t pid,
                                        uint64_t shares,
                                        struct nacre_cpu_group *ret_group,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_cpu_group group = { "" };
    enum nacre_status status;

    assert(pid > 0); /* 0 would be ourselves */

    if (shares < NACRE_CPU_SHARES_MIN || shares > NACRE_CPU_SHARES_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "cpu_shares: expected %d to %d, not %" PRIu64,
                          NACRE_CPU_SHARES_MIN, NACRE_CPU_SHARES_MAX, shares);
    if (share->kind == NACRE_CPU_SHARE_NICE) {
        status = apply_nice(pid, shares, err);
    } else {
        status = make_name(share, &group, err);
        if (status != NACRE_OK)
            return status;
        fd = make_group(share, group.name, shares);
        if (fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "cpu_shares: no %s", share->text);
        if (!write_value(fd, "cgroup.procs", (uint64_t)pid)) {
            status = nacre_fail(err, NACRE_ERR_IO,
                                "cpu_shares: process %d can't be put in a %s", pid,
                                share->text);
            nacre_cpu_share_release(share, &group);
        }
    }
    if (status == NACRE_OK)
        *ret_group = group;
    return status;
}

void nacre_cpu_share_release(const struct nacre_cpu_share *share,
                             struct nacre_cpu_group *group)
{
    for (int i = 0; group->name[0] && i < RELEASE_TRIES; i++) {
        if (unlinkat(share->dir_fd, group->name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            break;
        sleep_ms(1);
    }
    group->name[0] = '\0';
}
