/*
 * One group: its limits, its counters, and its end.  Trusts the kernel's files; the
 * processes in the group are the guest's and do what they can to stay.
 */
#include "box_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/clock.h"

#define PERIOD_US 100000
#define FREEZE_MS_MAX 20 /* then it is killed as it is */
/* The kernel has no more pids than this, and takes no higher limit. */
#define PIDS_MAX 4194304
/* Caches of the kernel's that stay charged after the last process; they give way. */
#define MEMORY_KEPT_MAX (UINT64_C(4) << 20)

/* ---- limits ---- */

static enum nacre_status set(const struct nacre_box_group *group,
                             enum box_controller controller, const char *file,
                             uint64_t value, struct nacre_error *err)
{
    if (nacre_cgroup_write_number(group->of[controller]->dir_fd, file, value))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_IO, "cgroup: %s = %" PRIu64, file, value);
}

/* A limit that is asked for, or else none, which the kernel calls `none`. */
static enum nacre_status set_or(const struct nacre_box_group *group,
                                enum box_controller controller, const char *file,
                                uint64_t value, const char *none, struct nacre_error *err)
{
    if (value)
        return set(group, controller, file, value, err);
    /* What is not there can't have been set by the owner before either. */
    if (group->is_fresh ||
        nacre_cgroup_write(group->of[controller]->dir_fd, file, none) || errno == ENOENT)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_IO, "cgroup: %s = %s", file, none);
}

/* v1 keeps the sum of memory and swap at or above memory, so the way leads over no limit
 * at all. */
static enum nacre_status limit_memory1(const struct nacre_box_group *group,
                                       const struct nacre_box_limits *limits,
                                       struct nacre_error *err)
{
    uint64_t max = limits->memory_bytes_max;
    enum nacre_status status =
        set_or(group, BOX_MEMORY, "memory.memsw.limit_in_bytes", 0, "-1", err);

    if (status == NACRE_OK)
        status = set_or(group, BOX_MEMORY, "memory.limit_in_bytes", max, "-1", err);
    if (status == NACRE_OK && group->has_swap)
        status = set_or(group, BOX_MEMORY, "memory.memsw.limit_in_bytes",
                        max ? max + limits->swap_bytes_max : 0, "-1", err);
    if (status == NACRE_OK)
        status = set_or(group, BOX_MEMORY, "memory.soft_limit_in_bytes",
                        limits->memory_bytes_target, "-1", err);
    return status;
}

static enum nacre_status limit_memory2(const struct nacre_box_group *group,
                                       const struct nacre_box_limits *limits,
                                       struct nacre_error *err)
{
    enum nacre_status status = set_or(group, BOX_MEMORY, "memory.max",
                                      limits->memory_bytes_max, "max", err);

    if (status == NACRE_OK && group->has_swap)
        status = limits->memory_bytes_max
                     ? set(group, BOX_MEMORY, "memory.swap.max", limits->swap_bytes_max,
                           err)
                     : set_or(group, BOX_MEMORY, "memory.swap.max", 0, "max", err);
    if (status == NACRE_OK)
        status = set_or(group, BOX_MEMORY, "memory.low", limits->memory_bytes_target, "0",
                        err);
    return status;
}

static enum nacre_status limit_cpu1(const struct nacre_box_group *group,
                                    const struct nacre_box_limits *limits,
                                    struct nacre_error *err)
{
    enum nacre_status status =
        set_or(group, BOX_CPU, "cpu.shares", limits->cpu_shares, "1024", err);

    if (status == NACRE_OK && limits->cpu_quota_us)
        status = set(group, BOX_CPU, "cpu.cfs_period_us", PERIOD_US, err);
    if (status == NACRE_OK)
        status = set_or(group, BOX_CPU, "cpu.cfs_quota_us", limits->cpu_quota_us, "-1",
                        err);
    return status;
}

static enum nacre_status limit_cpu2(const struct nacre_box_group *group,
                                    const struct nacre_box_limits *limits,
                                    struct nacre_error *err)
{
    uint64_t shares = limits->cpu_shares;
    enum nacre_status status =
        set_or(group, BOX_CPU, "cpu.weight", shares ? nacre_cgroup_weight(shares) : 0,
               "100", err);
    char text[64];

    if (status != NACRE_OK)
        return status;
    if (!limits->cpu_quota_us)
        return set_or(group, BOX_CPU, "cpu.max", 0, "max 100000", err);
    (void)snprintf(text, sizeof(text), "%" PRIu64 " %d", limits->cpu_quota_us, PERIOD_US);
    return nacre_cgroup_write(group->of[BOX_CPU]->dir_fd, "cpu.max", text)
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_IO, "cgroup: cpu.max = %s", text);
}

enum nacre_status box_group_limit(struct nacre_box_group *group,
                                  const struct nacre_box_limits *limits,
                                  struct nacre_error *err)
{
    uint64_t processes =
        limits->processes_max < PIDS_MAX ? limits->processes_max : 0;
    enum nacre_status status = NACRE_OK;

    if (group->of[BOX_MEMORY])
        status = group->v2[BOX_MEMORY] ? limit_memory2(group, limits, err)
                                       : limit_memory1(group, limits, err);
    if (status == NACRE_OK && group->of[BOX_CPU])
        status = group->v2[BOX_CPU] ? limit_cpu2(group, limits, err)
                                    : limit_cpu1(group, limits, err);
    if (status == NACRE_OK && group->of[BOX_PIDS])
        status = set_or(group, BOX_PIDS, "pids.max", processes, "max", err);
    return status;
}

/* ---- counters ---- */

/* The number in `file`: its first, or the one after the word `key` at a line's start. */
static uint64_t read_counter(const struct box_dir *dir, const char *file, const char *key)
{
    char text[4096];
    const char *at = text;
    uint64_t number = 0;

    nacre_cgroup_read(dir->dir_fd, file, text, sizeof(text));
    while (key && *at) {
        size_t length = strlen(key);

        if (strncmp(at, key, length) == 0 && at[length] == ' ') {
            at += length;
            break;
        }
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return sscanf(at, "%" SCNu64, &number) == 1 ? number : 0;
}

static void read_memory(const struct nacre_box_group *group,
                        struct nacre_box_usage *usage)
{
    const struct box_dir *dir = group->of[BOX_MEMORY];
    char text[32] = "";

    if (!group->v2[BOX_MEMORY]) {
        usage->memory_bytes_peak = read_counter(dir, "memory.max_usage_in_bytes", NULL);
        usage->oom_kills = read_counter(dir, "memory.oom_control", "oom_kill");
        return;
    }
    if (group->peak_fd >= 0 && pread(group->peak_fd, text, sizeof(text) - 1, 0) > 0)
        (void)sscanf(text, "%" SCNu64, &usage->memory_bytes_peak);
    usage->oom_kills = read_counter(dir, "memory.events", "oom_kill");
}

static void read_all(const struct nacre_box_group *group, struct nacre_box_usage *usage)
{
    *usage = (struct nacre_box_usage){ 0 };
    if (group->of[BOX_MEMORY])
        read_memory(group, usage);
    if (group->of[BOX_PIDS])
        usage->forks_refused = read_counter(group->of[BOX_PIDS], "pids.events", "max");
    if (group->of[BOX_CPUACCT])
        usage->cpu_ns =
            group->v2[BOX_CPUACCT]
                ? read_counter(group->of[BOX_CPUACCT], "cpu.stat", "usage_usec") * 1000
                : read_counter(group->of[BOX_CPUACCT], "cpuacct.usage", NULL);
}

void box_group_begin(struct nacre_box_group *group)
{
    if (group->is_fresh)
        group->before = (struct nacre_box_usage){ 0 };
    else
        read_all(group, &group->before);
    group->is_fresh = false;
}

bool box_group_forget_peak(struct nacre_box_group *group)
{
    if (!group->of[BOX_MEMORY])
        return true;
    if (group->v2[BOX_MEMORY])
        return group->peak_fd < 0 || pwrite(group->peak_fd, "0\n", 2, 0) == 2;
    return nacre_cgroup_write(group->of[BOX_MEMORY]->dir_fd, "memory.max_usage_in_bytes",
                              "0");
}

void nacre_box_group_usage(const struct nacre_box_group *group,
                           struct nacre_box_usage *ret_usage)
{
    read_all(group, ret_usage);
    ret_usage->oom_kills -= group->before.oom_kills;
    ret_usage->forks_refused -= group->before.forks_refused;
    ret_usage->cpu_ns -= group->before.cpu_ns;
}

bool box_group_is_empty(const struct nacre_box_group *group)
{
    char text[16];

    /* In all of them: one that was killed on its way in is in some. */
    for (size_t i = 0; i < group->count; i++) {
        nacre_cgroup_read(group->dirs[i].dir_fd, "cgroup.procs", text, sizeof(text));
        if (text[0])
            return false;
    }
    return true;
}

/* A process that nobody has waited for counts among pids though it is in no list. */
bool box_group_is_clean(const struct nacre_box_group *group)
{
    if (group->of[BOX_PIDS] &&
        read_counter(group->of[BOX_PIDS], "pids.current", NULL) > 0)
        return false;
    return !group->of[BOX_MEMORY] ||
           read_counter(group->of[BOX_MEMORY],
                        group->v2[BOX_MEMORY] ? "memory.current"
                                              : "memory.usage_in_bytes",
                        NULL) <= MEMORY_KEPT_MAX;
}

/* ---- its end ---- */

static bool begin_freeze(const struct nacre_box_group *group, bool frozen)
{
    const struct box_dir *dir = group->of[BOX_FREEZER];

    if (group->v2[BOX_FREEZER])
        return nacre_cgroup_write(dir->dir_fd, "cgroup.freeze", frozen ? "1" : "0");
    return nacre_cgroup_write(dir->dir_fd, "freezer.state", frozen ? "FROZEN" : "THAWED");
}

static bool is_frozen(const struct nacre_box_group *group)
{
    const struct box_dir *dir = group->of[BOX_FREEZER];
    char text[32];

    if (group->v2[BOX_FREEZER])
        return read_counter(dir, "cgroup.events", "frozen") == 1;
    nacre_cgroup_read(dir->dir_fd, "freezer.state", text, sizeof(text));
    return strcmp(text, "FROZEN\n") == 0;
}

bool box_group_freeze(struct nacre_box_group *group, int ms_max)
{
    if (!group->of[BOX_FREEZER] || !begin_freeze(group, true))
        return false;
    for (int i = 0; i < ms_max; i++) {
        if (is_frozen(group))
            return true;
        nacre_cgroup_pause_ms(1);
    }
    return false;
}

void box_group_thaw(struct nacre_box_group *group)
{
    if (group->of[BOX_FREEZER])
        (void)begin_freeze(group, false);
}

/* Whoever is frozen does not fork, and dies when thawed. */
static void kill_once(struct nacre_box_group *group)
{
    bool done = group->v2[BOX_FREEZER] &&
                nacre_cgroup_write(group->of[BOX_FREEZER]->dir_fd, "cgroup.kill", "1");

    if (!done)
        (void)box_group_freeze(group, FREEZE_MS_MAX);
    /* Mostly they are in all of the directories: one list is as good as the others. */
    for (size_t i = 0; i < group->count &&
                       !nacre_cgroup_kill_listed(group->dirs[i].dir_fd, group->name); i++)
        ;
    box_group_thaw(group);
}

enum nacre_status nacre_box_group_kill(struct nacre_box_group *group,
                                       uint64_t deadline_ns, struct nacre_error *err)
{
    while (!box_group_is_empty(group)) {
        if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "processes of a sandbox are left after SIGKILL");
        kill_once(group);
        nacre_cgroup_pause_ms(1);
    }
    return NACRE_OK;
}

size_t nacre_box_group_procs(const struct nacre_box_group *group,
                             int ret_fds[NACRE_BOX_HIERARCHIES_MAX])
{
    for (size_t i = 0; i < group->count; i++)
        ret_fds[i] = group->dirs[i].procs_fd;
    return group->count;
}
