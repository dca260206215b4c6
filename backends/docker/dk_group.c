/* Trusts the kernel's files.  The engine's word for a pid is checked by the name of its
 * groups. */
#include "dk_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cgroup_dir.h"
#include "nacre/text.h"

#define ROOT "/sys/fs/cgroup"
#define LAST_ALARM_MS 2000 /* from a group's removal to what the kernel says of it */
#define LIST_BYTES 8192
#define ROUND_MS 20 /* between two looks at what still lives */

struct dk_group {
    bool is_cgroup2;
    pid_t pid; /* of the container's first process, as the engine names it */
    char list[LIST_BYTES]; /* as /proc/PID/cgroup has it */
    int kills_fd; /* -1: not to be had */
    _Atomic uint64_t kills;
    int alarm_fd; /* of v1, for root: the kernel counts alarms there; else -1 */
};

void dk_group_free(struct dk_group *group)
{
    if (!group)
        return;
    nacre_fd_guard(&group->alarm_fd);
    nacre_fd_guard(&group->kills_fd);
    free(group);
}

static ssize_t read_text(int fd, char *ret_text, size_t size)
{
    ssize_t count = fd < 0 ? -1 : pread(fd, ret_text, size - 1, 0);

    if (count >= 0)
        ret_text[count] = '\0';
    return count;
}

/* "N:controllers:/path": the line of `controller`, or of v2 the one without any. */
static bool find_path(const struct dk_group *group, const char *controller,
                      char ret_dir[NACRE_PATH_MAX], char ret_path[NACRE_PATH_MAX])
{
    size_t length = strlen(controller);

    for (const char *line = group->list; *line; line += strcspn(line, "\n"),
                    line += *line == '\n') {
        const char *names = line + strcspn(line, ":\n"), *path;
        bool found = length == 0 && strncmp(names, "::", 2) == 0;

        if (*names != ':')
            return false;
        names++;
        path = names + strcspn(names, ":\n");
        if (*path != ':')
            return false;
        for (const char *at = names; length > 0 && at < path && !found;) {
            size_t count = strcspn(at, ",:");

            found = count == length && strncmp(at, controller, length) == 0;
            at += count + 1;
        }
        if (!found)
            continue;
        (void)snprintf(ret_dir, NACRE_PATH_MAX, "%.*s", (int)(path - names), names);
        (void)snprintf(ret_path, NACRE_PATH_MAX, "%.*s", (int)strcspn(path + 1, "\n"),
                       path + 1);
        return true;
    }
    return false;
}

static int open_file(const struct dk_group *group, const char *file, int flags)
{
    char controller[64] = "", dir[NACRE_PATH_MAX], path[NACRE_PATH_MAX];
    char whole[2 * NACRE_PATH_MAX + 128];
    const char *name = file;
    int fd;

    if (!group->is_cgroup2) {
        (void)snprintf(controller, sizeof(controller), "%.*s", (int)strcspn(file, "/"),
                       file);
        name = file + strcspn(file, "/") + 1;
    }
    if (!find_path(group, controller, dir, path))
        return -1;
    (void)snprintf(whole, sizeof(whole), ROOT "%s%s%s/%s", controller[0] ? "/" : "",
                   controller, path, name);
    fd = open(whole, flags | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 || !controller[0])
        return fd;
    /* Mounted together with others, without a link of its own. */
    (void)snprintf(whole, sizeof(whole), ROOT "/%s%s/%s", dir, path, name);
    return open(whole, flags | O_CLOEXEC | O_NOFOLLOW);
}

const char *dk_group_read(const struct dk_group *group, const char *file,
                          char ret_text[DK_GROUP_TEXT])
{
    NACRE_AUTO(nacre_fd_guard) int fd = open_file(group, file, O_RDONLY);

    if (read_text(fd, ret_text, DK_GROUP_TEXT) < 0)
        (void)snprintf(ret_text, DK_GROUP_TEXT, "error: %s can't be read on this host",
                       file);
    return ret_text;
}

/* ---- memory ---- */

/* False: the group is gone, and with it what it counted. */
static bool look(struct dk_group *group)
{
    char text[4096];
    const char *at;
    uint64_t kills;

    if (read_text(group->kills_fd, text, sizeof(text)) <= 0 ||
        !(at = strstr(text, "oom_kill ")) ||
        sscanf(at, "oom_kill %" SCNu64, &kills) != 1)
        return false;
    atomic_store(&group->kills, kills);
    return true;
}

void dk_group_look(struct dk_group *group)
{
    (void)look(group);
}

uint64_t dk_group_begin(struct dk_group *group)
{
    eventfd_t earlier;

    (void)look(group);
    if (group->alarm_fd >= 0)
        (void)eventfd_read(group->alarm_fd, &earlier);
    return atomic_load(&group->kills);
}

/* One alarm is for the removal itself: with a second one there was no memory before. */
static bool has_rung_twice(const struct dk_group *group)
{
    struct pollfd ready = { .fd = group->alarm_fd, .events = POLLIN };
    uint64_t until = dk_within_ms(LAST_ALARM_MS).deadline_ns, now, count = 0;
    eventfd_t rung;

    while (count < 2 && (now = nacre_clock_ns()) < until)
        if (poll(&ready, 1, (int)((until - now) / NACRE_NS_PER_MS) + 1) == 1 &&
            eventfd_read(group->alarm_fd, &rung) == 0)
            count += rung;
    return count >= 2;
}

bool dk_group_ran_out(struct dk_group *group, uint64_t kills_before)
{
    bool is_gone = !look(group);

    return atomic_load(&group->kills) != kills_before ||
           (is_gone && group->alarm_fd >= 0 && has_rung_twice(group));
}

static void set_alarm(struct dk_group *group)
{
    NACRE_AUTO(nacre_fd_guard) int alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    NACRE_AUTO(nacre_fd_guard)
    int control = open_file(group, "memory/cgroup.event_control", O_WRONLY);

    if (alarm >= 0 && control >= 0 && group->kills_fd >= 0 &&
        dprintf(control, "%d %d", alarm, group->kills_fd) > 0)
        group->alarm_fd = nacre_fd_take(&alarm);
}

/* ---- its end ---- */

bool dk_group_may_kill(const struct dk_group *group)
{
    return kill(group->pid, 0) == 0 || errno != EPERM;
}

bool dk_group_stop_forks(const struct dk_group *group)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open_file(group, group->is_cgroup2 ? "pids.max" : "pids/pids.max", O_WRONLY);

    return fd >= 0 && write(fd, "1", 1) == 1;
}

bool dk_group_kill(const struct dk_group *group, const char *id, struct nt_wait wait)
{
    static const char *const v1[] = { "pids/.", "memory/.", "cpu/." };
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;

    if (group->is_cgroup2)
        dir_fd = open_file(group, ".", O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; !group->is_cgroup2 && dir_fd < 0 && i < NACRE_COUNT(v1); i++)
        dir_fd = open_file(group, v1[i], O_RDONLY | O_DIRECTORY);
    if (dir_fd < 0)
        return false;
    /* From 5.14 on v2 does it at one stroke; else what forked meanwhile is listed next. */
    if (group->is_cgroup2)
        (void)nacre_cgroup_write(dir_fd, "cgroup.kill", "1");
    while (nacre_cgroup_kill_listed(dir_fd, id)) {
        if (nt_wait_is_over(&wait))
            return false;
        nacre_cgroup_pause_ms(ROUND_MS);
    }
    return true;
}

/* ---- finding it ---- */

static enum nacre_status pid_of(struct dk_client *client, const char *id,
                                struct nt_wait wait, uint64_t *ret_pid,
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    const json_t *pid;
    enum nacre_status status =
        dk_container_inspect(client, id, wait, &inspect, err);

    if (status != NACRE_OK)
        return status;
    pid = json_object_get(json_object_get(inspect, "State"), "Pid");
    if (!json_is_integer(pid) || json_integer_value(pid) <= 0 ||
        json_integer_value(pid) > INT32_MAX)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine names no process of the container that it started");
    *ret_pid = (uint64_t)json_integer_value(pid);
    return NACRE_OK;
}

/* Every group of it is called by the container's id. */
static bool is_of(const struct dk_group *group, const char *id)
{
    static const char *const v1[] = { "memory", "cpu", "cpuset" };
    char dir[NACRE_PATH_MAX], path[NACRE_PATH_MAX];

    if (group->is_cgroup2)
        return find_path(group, "", dir, path) && strstr(path, id);
    for (size_t i = 0; i < NACRE_COUNT(v1); i++)
        if (find_path(group, v1[i], dir, path) && !strstr(path, id))
            return false;
    return true;
}

enum nacre_status dk_group_open(struct dk_client *client, const char *id, bool is_cgroup2,
                                struct nt_wait wait, struct dk_group **ret_group,
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_group_guard) struct dk_group *group = calloc(1, sizeof(*group));
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[64];
    uint64_t pid = 0;
    enum nacre_status status;

    if (!group)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container's cgroups");
    group->kills_fd = group->alarm_fd = -1;
    group->is_cgroup2 = is_cgroup2;
    status = pid_of(client, id, wait, &pid, err);
    if (status != NACRE_OK)
        return status;
    group->pid = (pid_t)pid;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/cgroup", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (read_text(fd, group->list, sizeof(group->list)) <= 0 || !is_of(group, id))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the container's cgroups can't be seen from here: its limits "
                          "can't be read back (is the engine on this machine?)");
    group->kills_fd = open_file(group, is_cgroup2 ? "memory.events"
                                                  : "memory/memory.oom_control", O_RDONLY);
    if (!is_cgroup2)
        set_alarm(group);
    *ret_group = dk_group_take(&group);
    return NACRE_OK;
}
