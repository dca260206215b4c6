/* What is mounted at /dev, /proc and /sys, and what besides the plan's own.  The list is
 * that of an engine's container: its names are only compared. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dk_rows.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define GROUPS "/sys/fs/cgroup"
#define CLOSED "ro nosuid nodev noexec"

static bool is_planned(const struct dk_order *order, const char *path)
{
    struct dk_tmpfs item;

    for (size_t i = 0; i < order->bind_count; i++)
        if (strcmp(path, order->binds[i].target) == 0)
            return true;
    for (size_t n = 0; dk_create_tmpfs(order, n, &item); n++)
        if (strcmp(path, item.path) == 0)
            return true;
    return false;
}

void dk_expect_kernel(struct dk_making *making, const struct dk_parts *parts)
{
    const struct dk_order order = dk_parts_order(parts, NULL);
    const char *const *path = dk_create_readonly;

    dk_expect_mount(making, "/dev", "nosuid type=tmpfs");
    dk_expect_mount(making, "/dev/pts", "nosuid noexec type=devpts");
    if (!is_planned(&order, "/dev/mqueue"))
        dk_expect_mount(making, "/dev/mqueue", "nosuid nodev noexec type=mqueue");
    dk_expect_mount(making, "/proc", "rw nosuid nodev noexec type=proc");
    dk_expect_mount(making, "/sys", CLOSED " type=sysfs");
    /* Of v1 a directory for the hierarchies, which dk_judge_mounts() looks at. */
    dk_expect_mount(making, GROUPS, parts->site->is_cgroup2
                                        ? CLOSED " type=cgroup2"
                                        : "nosuid nodev noexec type=tmpfs");
    /* Runtimes pass over what is not there.  What another machine has, dk_far.c asks. */
    for (; !parts->far && *path; path++)
        if (access(*path, F_OK) == 0)
            dk_expect_mount(making, *path, DK_READONLY);
}

/* The kernel writes blank, tab, end of line and backslash as \ooo. */
static void unescape(const char *from, size_t count, char ret_path[NACRE_PATH_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < count && used < NACRE_PATH_MAX - 1; i++) {
        unsigned value = (unsigned char)from[i];

        if (from[i] == '\\' && sscanf(from + i + 1, "%3o", &value) == 1)
            i += 3;
        ret_path[used++] = (char)value;
    }
    ret_path[used] = '\0';
}

static enum nacre_status refuse(const char *path, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the sandbox is not as planned: the engine mounted something at "
                      "'%s'",
                      nacre_text_shown(shown, path));
}

static bool is_kernels(const char *path)
{
    return nacre_path_is_below(path, "/proc", NULL) ||
           nacre_path_is_below(path, "/sys", NULL);
}

/* One of the files that an engine makes for each container and binds there?  Known by its
 * name in the engine's directory for it: `from` is where it lies in its file system. */
static bool is_engines_file(const struct dk_parts *parts, const char *id,
                            const char *path, const char *from)
{
    static const char *const files[] = { "/etc/hostname", "/etc/hosts",
                                         "/etc/resolv.conf", NULL };
    char own[NACRE_PATH_MAX];
    int length;

    if (!dk_is_listed(files, path) || parts->kernel != DK_KERNEL_HOSTS)
        return dk_is_listed(files, path);
    length = snprintf(own, sizeof(own), "/containers/%s%s", id, strrchr(path, '/'));
    return strlen(from) >= (size_t)length &&
           strcmp(from + strlen(from) - (size_t)length, own) == 0;
}

/* With the root they are read-only; which of them there are is the engine's affair. */
static enum nacre_status judge_file(const struct dk_parts *parts, const char *path,
                                    const char *mountinfo, size_t count,
                                    struct nacre_error *err)
{
    const struct nt_expect row = { path, NT_CHECK_MOUNT, DK_MOUNTS, path, "ro" };

    return parts->kernel == DK_KERNEL_HOSTS && parts->plan->container.read_only_root
               ? nt_report_check(&row, mountinfo, count, err)
               : NACRE_OK;
}

/* Who could write to a hierarchy of cgroups could raise its own limits. */
static enum nacre_status judge_kernels(const struct dk_order *order, const char *path,
                                       const char *mountinfo, size_t count,
                                       struct nacre_error *err)
{
    static const char *const engines[] = { "/proc", "/sys", GROUPS, NULL };
    const struct nt_expect row = { path, NT_CHECK_MOUNT, DK_MOUNTS, path,
                                   CLOSED " type=cgroup" };

    if (dk_is_listed(engines, path) || dk_is_listed(dk_create_readonly, path) ||
        dk_is_listed((const char *const *)order->masked, path))
        return NACRE_OK;
    return nacre_path_is_below(path, GROUPS, NULL)
               ? nt_report_check(&row, mountinfo, count, err)
               : refuse(path, err);
}

/* Covers in a machine, which init puts wherever the image's links lead. */
static size_t covers_of(const struct dk_parts *parts)
{
    const struct nacre_plan *plan = parts->plan;
    size_t count = 0;

    if (parts->kernel != DK_KERNEL_MACHINE)
        return 0;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        count += plan->mounts[i].host ? 0 : plan->mounts[i].denied_count;
    return count + plan->denied_root_count;
}

/* A cover over a name of the image's own may lie where a link led: as many as there are
 * of them may be anywhere. */
enum nacre_status dk_judge_mounts(const struct dk_parts *parts, const char *id,
                                  const char *mountinfo, size_t count,
                                  struct nacre_error *err)
{
    static const char *const engines[] = { "/", "/dev", "/dev/pts", "/dev/mqueue", NULL };
    const struct dk_order order = dk_parts_order(parts, NULL);
    size_t anywhere = covers_of(parts);
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < order.bind_count; i++)
        anywhere += order.binds[i].in_image;
    for (const char *line = mountinfo; line && *line && status == NACRE_OK;) {
        const char *at = line, *end = strchrnul(line, '\n');
        char from[NACRE_PATH_MAX] = "", path[NACRE_PATH_MAX];

        for (int field = 0; field < 4 && at < end; field++) {
            unescape(at, strcspn(at, " \n"), from);
            at += strcspn(at, " \n") + 1;
        }
        if (at >= end)
            return refuse("?", err);
        unescape(at, strcspn(at, " \n"), path);
        if (is_kernels(path)) {
            if (parts->kernel == DK_KERNEL_HOSTS)
                status = judge_kernels(&order, path, mountinfo, count, err);
        } else if (is_planned(&order, path) || dk_is_listed(engines, path)) {
            /* each has its row */
        } else if (is_engines_file(parts, id, path, from)) {
            status = judge_file(parts, path, mountinfo, count, err);
        } else if (anywhere-- == 0) {
            status = refuse(path, err);
        }
        line = *end ? end + 1 : end;
    }
    return status;
}
