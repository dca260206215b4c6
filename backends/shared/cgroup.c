#include "cgroup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cgroup_dir.h"
#include "cgroup_place.h"
#include "nacre/text.h"

#define RELEASE_MS 50

struct nacre_cpu_share {
    enum nacre_cpu_share_kind kind;
    int dir_fd; /* where groups are made; -1 for nice */
    struct nacre_cgroup_owner owner;
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

/* An empty cgroup with its weight; its fd, or -1 with errno and nothing left. */
static int make_group(const struct nacre_cpu_share *share, const char *name,
                      uint64_t shares)
{
    bool v2 = share->kind == NACRE_CPU_SHARE_CGROUP2;
    int fd, failed;

    if (mkdirat(share->dir_fd, name, 0755) < 0)
        return -1;
    fd = openat(share->dir_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && nacre_cgroup_write_number(fd, v2 ? "cpu.weight" : "cpu.shares",
                                             v2 ? nacre_cgroup_weight(shares) : shares))
        return fd;

    failed = errno;
    nacre_fd_guard(&fd);
    (void)unlinkat(share->dir_fd, name, AT_REMOVEDIR);
    errno = failed;
    return -1;
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
    enum nacre_status status = nacre_cgroup_name(&share->owner, probe.name, err);
    int fd = -1;

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, place->path);
    share->kind = place->version == NACRE_CGROUP_V2 ? NACRE_CPU_SHARE_CGROUP2
                                                    : NACRE_CPU_SHARE_CGROUP1;
    share->dir_fd = open(place->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (share->dir_fd >= 0) {
        nacre_cgroup_remove_leftovers(share->dir_fd);
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
    enum nacre_status status;

    if (!share)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for cpu shares");
    share->dir_fd = -1;
    status = nacre_cgroup_owner_self(&share->owner, err);
    if (status != NACRE_OK)
        return status;
    if (place->version == NACRE_CGROUP_NONE)
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
    NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables tables = { NULL };
    static const char *const cpu[] = { "cpu", NULL };
    struct nacre_cgroup_place place;
    enum nacre_status status = nacre_cgroup_tables_read(cpu, &tables, err);

    if (status != NACRE_OK)
        return status;
    nacre_cgroup_place_find(&tables, "cpu", &place);
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
        status = nacre_cgroup_name(&share->owner, group.name, err);
        if (status != NACRE_OK)
            return status;
        fd = make_group(share, group.name, shares);
        if (fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "cpu_shares: no %s", share->text);
        if (!nacre_cgroup_write_number(fd, "cgroup.procs", (uint64_t)pid)) {
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
    if (group->name[0])
        (void)nacre_cgroup_remove(share->dir_fd, group->name, RELEASE_MS);
    group->name[0] = '\0';
}
