#include "box_cgroup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "box_group.h"
#include "cgroup_divide.h"
#include "nacre/text.h"

#define EMPTY_MS_MAX 50

static const char *const controller_names[BOX_CONTROLLERS] = {
    [BOX_MEMORY] = "memory",   [BOX_CPU] = "cpu",         [BOX_PIDS] = "pids",
    [BOX_FREEZER] = "freezer", [BOX_CPUACCT] = "cpuacct",
};

struct nacre_box_cgroups {
    pthread_mutex_t lock; /* of the lists */
    struct nacre_cgroup_owner owner;
    struct box_hierarchy hierarchies[NACRE_BOX_HIERARCHIES_MAX];
    size_t count;
    int of[BOX_CONTROLLERS]; /* index into hierarchies; -1: not usable */
    bool has_swap;
    unsigned extent; /* see BOX_BIT */
    char texts[NACRE_BOX_FEATURES][256];
    struct nacre_box_group *idle, *lingering;
    size_t idle_count;
};

/* ---- groups ---- */

static void close_group(struct nacre_box_group *group)
{
    for (size_t i = 0; i < NACRE_BOX_HIERARCHIES_MAX; i++) {
        nacre_fd_guard(&group->dirs[i].dir_fd);
        nacre_fd_guard(&group->dirs[i].procs_fd);
    }
    nacre_fd_guard(&group->peak_fd);
    free(group);
}

/* Frees it when all its directories are gone; false when one is not. */
static bool remove_group(const struct nacre_box_cgroups *cgroups,
                         struct nacre_box_group *group, unsigned ms_max)
{
    bool gone = true;

    for (size_t i = 0; i < cgroups->count; i++)
        if (!nacre_cgroup_remove(cgroups->hierarchies[i].dir_fd, group->name, ms_max))
            gone = false;
    if (gone)
        close_group(group);
    return gone;
}

static void sweep(struct nacre_box_cgroups *cgroups)
{
    struct nacre_box_group **at = &cgroups->lingering;

    while (*at) {
        struct nacre_box_group *group = *at, *next = group->next;

        if (remove_group(cgroups, group, 0))
            *at = next;
        else
            at = &group->next;
    }
}

/* One directory of the group; false with errno. */
static bool make_dir(const struct box_hierarchy *hierarchy, const char *name,
                     struct box_dir *ret_dir)
{
    int flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW;

    if (mkdirat(hierarchy->dir_fd, name, 0755) < 0)
        return false;
    ret_dir->dir_fd = openat(hierarchy->dir_fd, name, flags);
    if (ret_dir->dir_fd < 0)
        return false;
    /* A process moves by a lock for which the kernel waits 5 to 7 ms when it has been at
     * rest; a thread that moves itself (v1 only) needs no lock. */
    ret_dir->procs_fd = openat(ret_dir->dir_fd,
                               hierarchy->version == NACRE_CGROUP_V1 ? "tasks"
                                                                     : "cgroup.procs",
                               O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return ret_dir->procs_fd >= 0;
}

static enum nacre_status new_group(const struct nacre_box_cgroups *cgroups,
                                   struct nacre_box_group **ret_group,
                                   struct nacre_error *err)
{
    struct nacre_box_group *group = calloc(1, sizeof(*group));
    enum nacre_status status;

    if (!group)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a cgroup");
    group->peak_fd = -1;
    group->is_fresh = true;
    for (size_t i = 0; i < NACRE_BOX_HIERARCHIES_MAX; i++)
        group->dirs[i] = (struct box_dir){ -1, -1 };
    status = nacre_cgroup_name(&cgroups->owner, group->name, err);
    if (status == NACRE_OK)
        *ret_group = group;
    else
        close_group(group);
    return status;
}

/* Where its controllers are, once its directories are there. */
static void settle_group(const struct nacre_box_cgroups *cgroups,
                         struct nacre_box_group *group)
{
    const struct box_dir *memory;

    group->count = cgroups->count;
    group->has_swap = cgroups->has_swap;
    for (size_t i = 0; i < BOX_CONTROLLERS; i++) {
        int at = cgroups->of[i];

        group->of[i] = at < 0 ? NULL : &group->dirs[at];
        group->v2[i] = at >= 0 && cgroups->hierarchies[at].version == NACRE_CGROUP_V2;
    }
    memory = group->of[BOX_MEMORY];
    if (memory && group->v2[BOX_MEMORY]) {
        group->peak_fd = openat(memory->dir_fd, "memory.peak", O_RDWR | O_CLOEXEC);
        /* Before Linux 6.12 it is for reading only. */
        if (group->peak_fd < 0)
            group->peak_fd = openat(memory->dir_fd, "memory.peak", O_RDONLY | O_CLOEXEC);
    }
}

static enum nacre_status make_group(const struct nacre_box_cgroups *cgroups,
                                    struct nacre_box_group **ret_group,
                                    struct nacre_error *err)
{
    struct nacre_box_group *group = NULL;
    enum nacre_status status = new_group(cgroups, &group, err);

    if (status != NACRE_OK)
        return status;
    for (size_t i = 0; i < cgroups->count; i++) {
        char shown[NACRE_SHOWN];

        if (make_dir(&cgroups->hierarchies[i], group->name, &group->dirs[i]))
            continue;
        status = nacre_fail(err, NACRE_ERR_IO, "no cgroup below %s",
                            nacre_text_shown(shown, cgroups->hierarchies[i].path));
        if (!remove_group(cgroups, group, EMPTY_MS_MAX))
            close_group(group);
        return status;
    }
    settle_group(cgroups, group);
    *ret_group = group;
    return NACRE_OK;
}

static bool keep_idle(struct nacre_box_cgroups *cgroups, struct nacre_box_group *group)
{
    bool kept;

    pthread_mutex_lock(&cgroups->lock);
    kept = cgroups->idle_count < NACRE_BOX_GROUPS_KEPT;
    if (kept) {
        group->next = cgroups->idle;
        cgroups->idle = group;
        cgroups->idle_count++;
    }
    pthread_mutex_unlock(&cgroups->lock);
    return kept;
}

/* ---- what there is ---- */

static void __attribute__((format(printf, 3, 4)))
say(struct nacre_box_cgroups *cgroups, enum nacre_box_feature feature,
    const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(cgroups->texts[feature], sizeof(cgroups->texts[feature]), format,
                    arguments);
    va_end(arguments);
}

static enum nacre_box_feature feature_of(size_t controller)
{
    static const enum nacre_box_feature features[BOX_CONTROLLERS] = {
        [BOX_MEMORY] = NACRE_BOX_MEMORY,   [BOX_CPU] = NACRE_BOX_CPU,
        [BOX_PIDS] = NACRE_BOX_PIDS,       [BOX_FREEZER] = NACRE_BOX_FREEZER,
        [BOX_CPUACCT] = NACRE_BOX_CPU_TIME,
    };

    return features[controller];
}

static void use_place(struct nacre_box_cgroups *cgroups, size_t controller,
                      const struct nacre_cgroup_place *place)
{
    size_t at = 0;

    while (at < cgroups->count &&
           strcmp(cgroups->hierarchies[at].path, place->path) != 0)
        at++;
    if (at == cgroups->count) {
        struct box_hierarchy *hierarchy = &cgroups->hierarchies[cgroups->count++];

        hierarchy->version = place->version;
        hierarchy->dir_fd = -1;
        memcpy(hierarchy->path, place->path, sizeof(hierarchy->path));
    }
    cgroups->of[controller] = (int)at;
}

static void say_none(struct nacre_box_cgroups *cgroups, size_t controller,
                     const struct nacre_cgroup_place *place, const char *why)
{
    const char *advice =
        place->version == NACRE_CGROUP_V2 ? nacre_cgroup_advice() : "";

    say(cgroups, feature_of(controller), "no cgroup above this process has %s%s%s%s%s",
        controller_names[controller], why[0] ? ": " : "", why, advice[0] ? "; " : "",
        advice);
}

static bool is_wanted(const struct nacre_box_cgroups *cgroups, size_t controller)
{
    return cgroups->extent == BOX_ALL || controller == BOX_MEMORY ||
           cgroups->extent & BOX_BIT(controller);
}

/* v1 has a hierarchy for each; what it has not may be in v2's one.  There freezing and
 * counting time need no controller, and a process is in one cgroup only. */
static void find_places(struct nacre_box_cgroups *cgroups,
                        const struct nacre_cgroup_tables *tables)
{
    static const size_t handed_down[] = { BOX_MEMORY, BOX_CPU, BOX_PIDS };
    const char *wanted[NACRE_COUNT(handed_down)];
    bool handed[NACRE_COUNT(handed_down)], v2_has[BOX_CONTROLLERS] = { false };
    bool needs_v2 = false;
    size_t wanted_of[NACRE_COUNT(handed_down)], count = 0;
    struct nacre_cgroup_place place;
    char why[NACRE_CGROUP_WHY] = "";

    for (size_t i = 0; i < BOX_CONTROLLERS; i++) {
        cgroups->of[i] = -1;
        if (!is_wanted(cgroups, i))
            continue;
        nacre_cgroup_place_v1(tables, controller_names[i], &place);
        if (place.version == NACRE_CGROUP_NONE)
            needs_v2 = v2_has[i] = true;
        else
            use_place(cgroups, i, &place);
    }
    if (!needs_v2)
        return;
    for (size_t i = 0; i < NACRE_COUNT(handed_down); i++) {
        if (!v2_has[handed_down[i]])
            continue;
        wanted_of[count] = handed_down[i];
        wanted[count++] = controller_names[handed_down[i]];
    }
    if (count > 0)
        (void)nacre_cgroup_divide(tables, &cgroups->owner, why);
    nacre_cgroup_place_v2(tables, wanted, count, handed, &place);
    for (size_t i = 0; i < count; i++)
        v2_has[wanted_of[i]] = handed[i];
    for (size_t i = 0; i < BOX_CONTROLLERS; i++) {
        if (cgroups->of[i] < 0 && v2_has[i] && place.version != NACRE_CGROUP_NONE)
            use_place(cgroups, i, &place);
        else if (cgroups->of[i] < 0 && is_wanted(cgroups, i))
            say_none(cgroups, i, &place, why);
    }
}

/* Takes the hierarchy out: none of its controllers is usable, and this is why. */
static void give_up(struct nacre_box_cgroups *cgroups, size_t at, int reason)
{
    struct box_hierarchy *hierarchy = &cgroups->hierarchies[at];
    const char *version = hierarchy->version == NACRE_CGROUP_V2 ? "v2" : "v1";
    const char *advice =
        hierarchy->version == NACRE_CGROUP_V2 ? nacre_cgroup_advice() : "";
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, hierarchy->path);
    for (size_t i = 0; i < BOX_CONTROLLERS; i++) {
        if (cgroups->of[i] > (int)at)
            cgroups->of[i]--;
        else if (cgroups->of[i] == (int)at) {
            cgroups->of[i] = -1;
            if (reason == EACCES || reason == EPERM)
                say(cgroups, feature_of(i),
                    "cgroup %s %s below %s is not delegated to user %u%s%s", version,
                    controller_names[i], shown, (unsigned)geteuid(),
                    advice[0] ? "; " : "", advice);
            else
                say(cgroups, feature_of(i), "cgroup %s %s: none can be used below %s: %s",
                    version, controller_names[i], shown, strerrordesc_np(reason));
        }
    }
    nacre_fd_guard(&hierarchy->dir_fd);
    cgroups->count--;
    memmove(hierarchy, hierarchy + 1, (cgroups->count - at) * sizeof(*hierarchy));
}

/* Can a process go in?  In v2 that is up to the cgroup that it comes from as well.  A
 * child of ours tries, in our memory, which is the cheapest; the answer for each is 0 or
 * its errno. */
static void try_to_enter(const struct box_dir dirs[], size_t count,
                         volatile int ret_results[NACRE_BOX_HIERARCHIES_MAX])
{
    pid_t pid;

    for (size_t i = 0; i < count; i++)
        ret_results[i] = EIO; /* that of a child that was killed on the way */
    pid = vfork();
    if (pid == 0) {
        for (size_t i = 0; i < count; i++)
            ret_results[i] = write(dirs[i].procs_fd, "0", 1) == 1 ? 0 : errno;
        _exit(0);
    }
    for (size_t i = 0; pid < 0 && i < count; i++)
        ret_results[i] = errno;
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

static void drop(struct nacre_box_cgroups *cgroups, struct nacre_box_group *group,
                 size_t at, int reason)
{
    struct box_dir *dir = &group->dirs[at];

    if (cgroups->hierarchies[at].dir_fd >= 0)
        (void)nacre_cgroup_remove(cgroups->hierarchies[at].dir_fd, group->name,
                                  EMPTY_MS_MAX);
    nacre_fd_guard(&dir->dir_fd);
    nacre_fd_guard(&dir->procs_fd);
    give_up(cgroups, at, reason);
    memmove(dir, dir + 1, (cgroups->count - at) * sizeof(*dir));
    group->dirs[cgroups->count] = (struct box_dir){ -1, -1 };
}

/* What is left of the hierarchies after each was tried with `group`. */
static void try_hierarchies(struct nacre_box_cgroups *cgroups,
                            struct nacre_box_group *group)
{
    volatile int results[NACRE_BOX_HIERARCHIES_MAX] = { 0 };
    bool needs_try = false;

    for (size_t i = cgroups->count; i-- > 0;) {
        struct box_hierarchy *hierarchy = &cgroups->hierarchies[i];

        hierarchy->dir_fd = open(hierarchy->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (hierarchy->dir_fd >= 0)
            nacre_cgroup_remove_leftovers(hierarchy->dir_fd);
        if (hierarchy->dir_fd < 0 || !make_dir(hierarchy, group->name, &group->dirs[i]))
            drop(cgroups, group, i, errno);
    }
    /* Where a directory of v1's was made and can be written, one can enter. */
    for (size_t i = 0; i < cgroups->count; i++)
        needs_try |= cgroups->extent == BOX_ALL ||
                     cgroups->hierarchies[i].version == NACRE_CGROUP_V2;
    if (needs_try)
        try_to_enter(group->dirs, cgroups->count, results);
    group->is_fresh = !needs_try;
    for (size_t i = cgroups->count; i-- > 0;)
        if (results[i] != 0)
            drop(cgroups, group, i, results[i]);
}

static void describe(struct nacre_box_cgroups *cgroups)
{
    static const char *const files[BOX_CONTROLLERS][2] = {
        [BOX_MEMORY] = { "memory.limit_in_bytes", "memory.max" },
        [BOX_CPU] = { "cpu.shares", "cpu.weight" },
        [BOX_PIDS] = { "pids.max", "pids.max" },
        [BOX_FREEZER] = { "freezer.state", "cgroup.freeze" },
        [BOX_CPUACCT] = { "cpuacct.usage", "cpu.stat" },
    };
    bool memory = cgroups->of[BOX_MEMORY] >= 0;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < BOX_CONTROLLERS; i++) {
        const struct box_hierarchy *hierarchy;
        bool v2;

        if (cgroups->of[i] < 0)
            continue;
        hierarchy = &cgroups->hierarchies[cgroups->of[i]];
        v2 = hierarchy->version == NACRE_CGROUP_V2;
        say(cgroups, feature_of(i), "cgroup %s %s below %s", v2 ? "v2" : "v1",
            files[i][v2], nacre_text_shown(shown, hierarchy->path));
    }
    if (cgroups->has_swap)
        say(cgroups, NACRE_BOX_SWAP, "with %s", cgroups->texts[NACRE_BOX_MEMORY]);
    else if (memory)
        say(cgroups, NACRE_BOX_SWAP, "this kernel does not count swap by cgroup "
            "(swapaccount=1 on its command line)");
    else
        say(cgroups, NACRE_BOX_SWAP, "%s", cgroups->texts[NACRE_BOX_MEMORY]);
}

/* The group that it takes is the first to be given out. */
static enum nacre_status probe(struct nacre_box_cgroups *cgroups, struct nacre_error *err)
{
    struct nacre_box_group *group = NULL;
    enum nacre_status status = new_group(cgroups, &group, err);
    const struct box_dir *memory;

    if (status != NACRE_OK)
        return status;
    try_hierarchies(cgroups, group);
    memory = cgroups->of[BOX_MEMORY] < 0 ? NULL : &group->dirs[cgroups->of[BOX_MEMORY]];
    cgroups->has_swap =
        memory &&
        (faccessat(memory->dir_fd, "memory.memsw.limit_in_bytes", W_OK, 0) == 0 ||
         faccessat(memory->dir_fd, "memory.swap.max", W_OK, 0) == 0);
    describe(cgroups);
    settle_group(cgroups, group);
    if (!group->is_fresh || !keep_idle(cgroups, group))
        nacre_box_group_put(cgroups, group);
    return NACRE_OK;
}

enum nacre_status box_cgroups_open_from(const struct nacre_cgroup_tables *tables,
                                        unsigned extent,
                                        struct nacre_box_cgroups **ret_cgroups,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups =
        calloc(1, sizeof(*cgroups));
    enum nacre_status status;

    if (!cgroups)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for cgroups");
    (void)pthread_mutex_init(&cgroups->lock, NULL);
    cgroups->extent = extent;
    status = nacre_cgroup_owner_self(&cgroups->owner, err);
    if (status != NACRE_OK)
        return status;
    find_places(cgroups, tables);
    status = probe(cgroups, err);
    if (status == NACRE_OK)
        *ret_cgroups = nacre_box_cgroups_take(&cgroups);
    return status;
}

static enum nacre_status open_with(unsigned extent, const char *const *names,
                                   struct nacre_box_cgroups **ret_cgroups,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables tables = { NULL };
    enum nacre_status status = nacre_cgroup_tables_read(names, &tables, err);

    return status == NACRE_OK
               ? box_cgroups_open_from(&tables, extent, ret_cgroups, err)
               : status;
}

enum nacre_status nacre_box_cgroups_open(struct nacre_box_cgroups **ret_cgroups,
                                         struct nacre_error *err)
{
    return open_with(BOX_ALL, NULL, ret_cgroups, err);
}

enum nacre_status nacre_box_cgroups_open_plain(bool weighs, bool counts,
                                               struct nacre_box_cgroups **ret_cgroups,
                                               struct nacre_error *err)
{
    const char *names[BOX_CONTROLLERS + 1] = { controller_names[BOX_MEMORY] };
    unsigned extent = 0;
    size_t count = 1;

    if (weighs) {
        names[count++] = controller_names[BOX_CPU];
        extent |= BOX_BIT(BOX_CPU);
    }
    if (counts) {
        names[count++] = controller_names[BOX_PIDS];
        extent |= BOX_BIT(BOX_PIDS);
    }
    return open_with(extent, names, ret_cgroups, err);
}

void nacre_box_cgroups_free(struct nacre_box_cgroups *cgroups)
{
    if (!cgroups)
        return;
    while (cgroups->idle) {
        struct nacre_box_group *group = cgroups->idle;

        cgroups->idle = group->next;
        if (!remove_group(cgroups, group, EMPTY_MS_MAX))
            close_group(group);
    }
    while (cgroups->lingering) {
        struct nacre_box_group *group = cgroups->lingering;

        cgroups->lingering = group->next;
        if (!remove_group(cgroups, group, EMPTY_MS_MAX))
            close_group(group);
    }
    for (size_t i = 0; i < cgroups->count; i++)
        nacre_fd_guard(&cgroups->hierarchies[i].dir_fd);
    (void)pthread_mutex_destroy(&cgroups->lock);
    free(cgroups);
}

bool nacre_box_cgroups_has(const struct nacre_box_cgroups *cgroups,
                           enum nacre_box_feature feature)
{
    if (feature == NACRE_BOX_SWAP)
        return cgroups->has_swap;
    for (size_t i = 0; i < BOX_CONTROLLERS; i++)
        if (feature_of(i) == feature)
            return cgroups->of[i] >= 0;
    return false;
}

const char *nacre_box_cgroups_text(const struct nacre_box_cgroups *cgroups,
                                   enum nacre_box_feature feature)
{
    assert(feature < NACRE_BOX_FEATURES);
    return cgroups->texts[feature];
}

/* ---- giving out ---- */

static enum nacre_status check(const struct nacre_box_cgroups *cgroups,
                               const struct nacre_box_limits *limits,
                               struct nacre_error *err)
{
    const struct {
        bool asked;
        enum nacre_box_feature feature;
        const char *what;
    } needs[] = {
        { limits->memory_bytes_max || limits->memory_bytes_target, NACRE_BOX_MEMORY,
          "memory" },
        { limits->swap_bytes_max, NACRE_BOX_SWAP, "swap" },
        { limits->cpu_shares || limits->cpu_quota_us, NACRE_BOX_CPU, "processor time" },
        { limits->processes_max, NACRE_BOX_PIDS, "the number of processes" },
    };

    if (limits->cpu_shares && (limits->cpu_shares < NACRE_CPU_SHARES_MIN ||
                               limits->cpu_shares > NACRE_CPU_SHARES_MAX))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "cpu_shares: expected %d to %d, not %" PRIu64,
                          NACRE_CPU_SHARES_MIN, NACRE_CPU_SHARES_MAX, limits->cpu_shares);
    if (limits->cpu_quota_us && limits->cpu_quota_us < 1000)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "processors: expected at least 1000 us of each 100 ms, not %"
                          PRIu64, limits->cpu_quota_us);
    if (limits->swap_bytes_max &&
        (!limits->memory_bytes_max ||
         limits->swap_bytes_max > UINT64_MAX - limits->memory_bytes_max))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "swap: expected a limit of memory that it comes on top of");
    for (size_t i = 0; i < NACRE_COUNT(needs); i++) {
        if (needs[i].asked && !nacre_box_cgroups_has(cgroups, needs[i].feature))
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "%s can't be limited here: %s",
                              needs[i].what, cgroups->texts[needs[i].feature]);
    }
    return NACRE_OK;
}

static struct nacre_box_group *pop_idle(struct nacre_box_cgroups *cgroups)
{
    struct nacre_box_group *group;

    pthread_mutex_lock(&cgroups->lock);
    sweep(cgroups);
    group = cgroups->idle;
    if (group) {
        cgroups->idle = group->next;
        cgroups->idle_count--;
    }
    pthread_mutex_unlock(&cgroups->lock);
    return group;
}

/* Not to be used again. */
static void retire(struct nacre_box_cgroups *cgroups, struct nacre_box_group *group,
                   unsigned wait_ms)
{
    if (remove_group(cgroups, group, wait_ms))
        return;
    pthread_mutex_lock(&cgroups->lock);
    group->next = cgroups->lingering;
    cgroups->lingering = group;
    pthread_mutex_unlock(&cgroups->lock);
}

enum nacre_status nacre_box_group_take(struct nacre_box_cgroups *cgroups,
                                       const struct nacre_box_limits *limits,
                                       struct nacre_box_group **ret_group,
                                       struct nacre_error *err)
{
    struct nacre_box_group *group;
    enum nacre_status status = check(cgroups, limits, err);

    if (status != NACRE_OK)
        return status;
    while ((group = pop_idle(cgroups)) != NULL) {
        struct nacre_error stale;

        /* Somebody who may do so has removed its directory, or put a process in it. */
        if ((group->is_fresh || box_group_is_empty(group)) &&
            box_group_limit(group, limits, &stale) == NACRE_OK) {
            box_group_begin(group);
            *ret_group = group;
            return NACRE_OK;
        }
        retire(cgroups, group, 0);
    }
    status = make_group(cgroups, &group, err);
    if (status != NACRE_OK)
        return status;
    status = box_group_limit(group, limits, err);
    if (status != NACRE_OK) {
        retire(cgroups, group, 0);
        return status;
    }
    box_group_begin(group);
    *ret_group = group;
    return NACRE_OK;
}

void nacre_box_group_put(struct nacre_box_cgroups *cgroups, struct nacre_box_group *group)
{
    bool is_empty;

    if (!group)
        return;
    box_group_thaw(group);
    is_empty = box_group_is_empty(group);
    for (int i = 0; i < EMPTY_MS_MAX && !is_empty; i++) {
        nacre_cgroup_pause_ms(1);
        is_empty = box_group_is_empty(group);
    }
    if (!is_empty || !box_group_is_clean(group) || !box_group_forget_peak(group) ||
        !keep_idle(cgroups, group))
        retire(cgroups, group, 0);
}

void nacre_box_group_drop(struct nacre_box_cgroups *cgroups,
                          struct nacre_box_group *group)
{
    if (!group)
        return;
    box_group_thaw(group);
    retire(cgroups, group, EMPTY_MS_MAX);
}
