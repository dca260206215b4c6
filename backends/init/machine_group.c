#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "machine_parts.h"
#include "mount_api.h"
#include "nacre/own.h"

#define GROUP "nacre"
#define GROUP_TARGET "sys/fs/cgroup"
_Static_assert(sizeof("/" GROUP_TARGET "/" GROUP "/memory.events") ==
                   sizeof(MACHINE_OOM_FILE),
               "the owner knows where it is");

static bool write_to(int dir, const char *name, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static void limit(int dir, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    if (!write_to(dir, name, text))
        launch_fail("set a limit by", name);
}

void machine_group_enter(struct machine_making *making)
{
    const struct init_machine *order = making->order;
    const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    static const char *const no_options[] = { NULL };
    NACRE_AUTO(nacre_fd_guard)
    int top = machine_fs("cgroup2",
                         MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                         "mount", "cgroup2", no_options);
    NACRE_AUTO(nacre_fd_guard) int group = -1;

    if (!write_to(top, "cgroup.subtree_control", "+memory +pids"))
        launch_fail("limit by", "cgroup2");
    if (mkdirat(top, GROUP, 0755) != 0 ||
        (group = openat(top, GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        launch_fail("make the group", GROUP);
    if (order->memory_bytes_max > 0) {
        limit(group, "memory.max", order->memory_bytes_max);
        /* A kernel without swap has no such file. */
        if (!write_to(group, "memory.swap.max", "0") && errno != ENOENT)
            launch_fail("set a limit by", "memory.swap.max");
    }
    if (order->processes_max > 0)
        limit(group, "pids.max", order->processes_max + 1); /* this process is init */
    if (!write_to(group, "cgroup.procs", "0"))
        launch_fail("enter the group", GROUP);
    if (api_mount_setattr(top, &read_only) != 0)
        launch_fail("mount", "/" GROUP_TARGET);
    machine_attach_at(making, GROUP_TARGET, top);
}
