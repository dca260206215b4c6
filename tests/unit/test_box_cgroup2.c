/*
 * v2's files, played by ordinary ones: a directory that is made gets the files that the
 * kernel would put there, and cgroup.procs swallows what is written to it.  What is
 * written, and what is made of what is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "box_group.h"
#include "cgroup_dir.h"
#include "scene.h"

#define MIB (UINT64_C(1) << 20)

static const char *const files[] = {
    "memory.max",   "memory.swap.max", "memory.low",    "memory.current", "memory.events",
    "memory.peak",  "cpu.weight",      "cpu.max",       "cpu.stat",       "pids.max",
    "pids.current", "pids.events",     "cgroup.freeze", "cgroup.events",  "cgroup.kill",
};
static bool peak_is_for_reading;
static const char *own = "0::/app\n";
static bool is_crowded; /* the kernel lets it hand nothing down */

int __real_mkdirat(int dir_fd, const char *name, mode_t mode);
int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode);
int __real_unlinkat(int dir_fd, const char *name, int flags);
int __wrap_unlinkat(int dir_fd, const char *name, int flags);
int __real_openat(int dir_fd, const char *name, int flags, ...);
int __wrap_openat(int dir_fd, const char *name, int flags, ...);
int __wrap___openat_2(int dir_fd, const char *name, int flags);

int __wrap_openat(int dir_fd, const char *name, int flags, ...)
{
    const char *slash = strrchr(name, '/');

    if (strcmp(slash ? slash + 1 : name, "cgroup.procs") == 0)
        return open("/dev/null", flags & ~O_NOFOLLOW);
    if (peak_is_for_reading && strcmp(name, "memory.peak") == 0 && (flags & O_RDWR)) {
        errno = EINVAL;
        return -1;
    }
    if (strcmp(name, "cgroup.subtree_control") == 0 && (flags & O_WRONLY)) {
        if (is_crowded)
            return open("/dev/full", flags & ~O_NOFOLLOW);
        scene_file("app/cgroup.subtree_control", "cpu memory pids\n");
        return open("/dev/null", flags & ~O_NOFOLLOW);
    }
    return __real_openat(dir_fd, name, flags);
}

int __wrap___openat_2(int dir_fd, const char *name, int flags)
{
    return __wrap_openat(dir_fd, name, flags);
}

int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    if (__real_mkdirat(dir_fd, name, mode) < 0)
        return -1;
    fd = __real_openat(dir_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < NACRE_COUNT(files); i++) {
        int file = __real_openat(fd, files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(file >= 0);
        close(file);
    }
    return 0;
}

int __wrap_unlinkat(int dir_fd, const char *name, int flags)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        __real_openat(dir_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < NACRE_COUNT(files); i++)
        (void)__real_unlinkat(fd, files[i], 0);
    return __real_unlinkat(dir_fd, name, flags);
}

static struct nacre_box_cgroups *open_tree(const char *handed)
{
    char mounts[256];
    const struct nacre_cgroup_tables tables = { own, mounts };
    struct nacre_box_cgroups *cgroups = NULL;
    struct nacre_error err;

    scene_shell("mkdir -p app");
    scene_file("cgroup.subtree_control", handed);
    (void)snprintf(mounts, sizeof(mounts), "1 2 0:3 / %s rw - cgroup2 none rw\n",
                   scene_top);
    if (box_cgroups_open_from(&tables, BOX_ALL, &cgroups, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return cgroups;
}

static struct nacre_box_group *take(struct nacre_box_cgroups *cgroups,
                                    struct nacre_box_limits limits)
{
    struct nacre_box_group *group = NULL;
    struct nacre_error err;

    if (nacre_box_group_take(cgroups, &limits, &group, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return group;
}

/* Ordinary files keep the rest of what was longer. */
static void assert_begins(const struct nacre_box_group *group, const char *file,
                          const char *expected)
{
    char text[256];

    nacre_cgroup_read(group->dirs[0].dir_fd, file, text, sizeof(text));
    if (strncmp(text, expected, strlen(expected)) != 0)
        fail_msg("%s: %s, expected %s", file, text, expected);
}

static void put(const struct nacre_box_group *group, const char *file, const char *text)
{
    assert_true(nacre_cgroup_write(group->dirs[0].dir_fd, file, text));
}

static void one_directory_has_all_the_limits(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups =
        open_tree("cpu memory pids\n");
    struct nacre_box_group *group;
    char name[NACRE_CGROUP_NAME];
    int fds[NACRE_BOX_HIERARCHIES_MAX];

    (void)state;
    for (int i = 0; i < NACRE_BOX_FEATURES; i++) {
        assert_true(nacre_box_cgroups_has(cgroups, (enum nacre_box_feature)i));
        assert_non_null(
            strstr(nacre_box_cgroups_text(cgroups, (enum nacre_box_feature)i),
                   "cgroup v2 "));
    }
    group = take(cgroups, (struct nacre_box_limits){ .memory_bytes_max = 32 * MIB,
                                                     .memory_bytes_target = 16 * MIB,
                                                     .cpu_shares = 512,
                                                     .cpu_quota_us = 150000,
                                                     .processes_max = 77 });
    assert_int_equal(nacre_box_group_procs(group, fds), 1);
    assert_begins(group, "memory.max", "33554432");
    assert_begins(group, "memory.swap.max", "0");
    assert_begins(group, "memory.low", "16777216");
    assert_begins(group, "cpu.weight", "59");
    assert_begins(group, "cpu.max", "150000 100000");
    assert_begins(group, "pids.max", "77");
    (void)snprintf(name, sizeof(name), "%s", group->name);
    nacre_box_group_put(cgroups, group);

    /* The next one has none of them. */
    group = take(cgroups, (struct nacre_box_limits){ .processes_max = UINT64_MAX });
    assert_string_equal(group->name, name);
    assert_begins(group, "memory.max", "max");
    assert_begins(group, "memory.swap.max", "max");
    assert_begins(group, "memory.low", "0");
    assert_begins(group, "cpu.weight", "100");
    assert_begins(group, "cpu.max", "max 100000");
    assert_begins(group, "pids.max", "max");
    nacre_box_group_put(cgroups, group);
}

static void counters_are_since_take(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups =
        open_tree("cpu memory pids\n");
    struct nacre_box_group *group = take(cgroups, (struct nacre_box_limits){ 0 });
    struct nacre_box_usage usage;

    (void)state;
    put(group, "memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\n");
    put(group, "memory.peak", "5000\n");
    put(group, "cpu.stat", "usage_usec 1500\nuser_usec 1\n");
    put(group, "pids.events", "max 4\n");
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 2);
    assert_int_equal(usage.memory_bytes_peak, 5000);
    assert_int_equal(usage.cpu_ns, 1500000);
    assert_int_equal(usage.forks_refused, 4);
    nacre_box_group_put(cgroups, group);

    group = take(cgroups, (struct nacre_box_limits){ 0 });
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_int_equal(usage.memory_bytes_peak, 0);
    assert_int_equal(usage.cpu_ns, 0);
    assert_int_equal(usage.forks_refused, 0);
    put(group, "memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\n");
    put(group, "cpu.stat", "usage_usec 1700\nuser_usec 1\n");
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 1);
    assert_int_equal(usage.cpu_ns, 200000);
    nacre_box_group_put(cgroups, group);
}

/* Not empty of cost, or with a peak that the kernel can't forget. */
static void a_group_that_would_mislead_is_not_used_again(void **state)
{
    static const struct {
        const char *file, *text;
        bool reading;
    } rows[] = {
        { "memory.current", "104857600\n", false },
        { "pids.current", "1\n", false },
        { "memory.peak", "5000\n", true },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_box_cgroups *cgroups;
        struct nacre_box_group *group;
        char name[NACRE_CGROUP_NAME];

        assert_int_equal(scene_clear(state), 0);
        peak_is_for_reading = rows[i].reading;
        cgroups = open_tree("cpu memory pids\n");
        group = take(cgroups, (struct nacre_box_limits){ 0 });
        (void)snprintf(name, sizeof(name), "%s", group->name);
        put(group, rows[i].file, rows[i].text);
        nacre_box_group_put(cgroups, group);
        assert_false(scene_has(name));
        group = take(cgroups, (struct nacre_box_limits){ 0 });
        assert_string_not_equal(group->name, name);
        nacre_box_group_put(cgroups, group);
        nacre_box_cgroups_free(cgroups);
        peak_is_for_reading = false;
    }
}

static void what_is_not_handed_down_is_missing(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups =
        open_tree("pids\n");
    const struct nacre_box_limits memory = { .memory_bytes_max = MIB };
    struct nacre_box_group *group = NULL;
    struct nacre_error err;

    (void)state;
    assert_true(nacre_box_cgroups_has(cgroups, NACRE_BOX_PIDS));
    assert_true(nacre_box_cgroups_has(cgroups, NACRE_BOX_FREEZER));
    assert_true(nacre_box_cgroups_has(cgroups, NACRE_BOX_CPU_TIME));
    assert_false(nacre_box_cgroups_has(cgroups, NACRE_BOX_MEMORY));
    assert_false(nacre_box_cgroups_has(cgroups, NACRE_BOX_SWAP));
    assert_false(nacre_box_cgroups_has(cgroups, NACRE_BOX_CPU));
    assert_int_equal(nacre_box_group_take(cgroups, &memory, &group, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "memory can't be limited here: no cgroup above this "
                                     "process has memory"));
}

/* As systemd marks what it hands over; false: this file system keeps no attributes. */
static bool hand_over(const char *mark)
{
    char path[256];

    scene_shell("mkdir app");
    scene_file("app/cgroup.controllers", "cpuset cpu io memory pids\n");
    (void)snprintf(path, sizeof(path), "%s/app", scene_top);
    return setxattr(path, "user.delegate", mark, strlen(mark), 0) == 0;
}

static bool is_divided(void)
{
    return scene_has("app/cgroup.subtree_control");
}

static void a_cgroup_that_was_handed_over_is_divided(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups = NULL;
    struct nacre_box_group *group;
    char path[256];

    (void)state;
    if (!hand_over("1"))
        skip();
    cgroups = open_tree("cpu memory pids\n"); /* what is above it is not used */
    assert_true(is_divided());
    group = take(cgroups, (struct nacre_box_limits){ .memory_bytes_max = MIB,
                                                     .cpu_shares = 512 });
    (void)snprintf(path, sizeof(path), "app/%s", group->name);
    assert_true(scene_has(path));
    nacre_box_group_put(cgroups, group);
}

/* A user's own systemd marks nothing. */
static void a_scope_of_systemd_run_is_known_by_its_unit(void **state)
{
    static const struct {
        const char *unit;
        bool is_divided;
    } rows[] = {
        { "[Unit]\nDescription=x\n\n[Scope]\nDelegate=yes\n", true },
        { "[Unit]\nDescription=Delegate=yes\n\n[Scope]\nDelegate=no\n", false },
        { "", false },
    };

    (void)state;
    if (geteuid() != 0) /* else, without systemd, all that is one's own is handed over */
        skip();
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_box_cgroups *cgroups;

        assert_int_equal(scene_clear(state), 0);
        scene_shell("mkdir -p systemd/transient user@7.service/app");
        scene_shell("ln -s user@7.service/app");
        scene_file("app/cgroup.controllers", "cpu memory pids\n");
        scene_file("systemd/transient/app", rows[i].unit);
        own = "0::/user@7.service/app\n";
        assert_int_equal(setenv("XDG_RUNTIME_DIR", scene_top, 1), 0);
        cgroups = open_tree("pids\n");
        assert_int_equal(is_divided(), rows[i].is_divided);
        assert_int_equal(nacre_box_cgroups_has(cgroups, NACRE_BOX_MEMORY),
                         rows[i].is_divided);
        nacre_box_cgroups_free(cgroups);
        own = "0::/app\n";
        (void)unsetenv("XDG_RUNTIME_DIR");
    }
}

/* Not marked, marked with a no, or full of others: then all stays as it was. */
static void a_cgroup_that_is_not_ours_to_divide_stays_whole(void **state)
{
    static const struct {
        const char *mark, *why;
        bool is_crowded;
    } rows[] = {
        { "0", "", false },
        { "1", "its own was delegated, but ", true },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_box_cgroups *cgroups;

        assert_int_equal(scene_clear(state), 0);
        if (!hand_over(rows[i].mark) || geteuid() != 0)
            skip(); /* where there is no systemd, an ordinary user's own needs no mark */
        is_crowded = rows[i].is_crowded;
        cgroups = open_tree("pids\n");
        assert_false(is_divided());
        scene_shell("! ls app | grep nacre-");
        assert_false(nacre_box_cgroups_has(cgroups, NACRE_BOX_MEMORY));
        assert_true(nacre_box_cgroups_has(cgroups, NACRE_BOX_PIDS));
        assert_non_null(strstr(nacre_box_cgroups_text(cgroups, NACRE_BOX_MEMORY),
                               rows[i].why));
        nacre_box_cgroups_free(cgroups);
        is_crowded = false;
    }
}

static void freezing_is_asked_for_and_waited_for(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *cgroups =
        open_tree("pids\n");
    struct nacre_box_group *group = take(cgroups, (struct nacre_box_limits){ 0 });

    (void)state;
    put(group, "cgroup.events", "populated 1\nfrozen 1\n");
    assert_true(box_group_freeze(group, 20));
    assert_begins(group, "cgroup.freeze", "1");
    box_group_thaw(group);
    assert_begins(group, "cgroup.freeze", "0");
    put(group, "cgroup.events", "populated 1\nfrozen 0\n");
    assert_false(box_group_freeze(group, 20));
    assert_begins(group, "cgroup.freeze", "1");
    box_group_thaw(group);
    assert_begins(group, "cgroup.freeze", "0");
    nacre_box_group_put(cgroups, group);
}

/* The three points that the curve goes through, and some between them. */
static void shares_become_weights_as_engines_translate_them(void **state)
{
    static const struct {
        uint64_t shares, weight;
    } rows[] = {
        { 2, 1 },          { 3, 2 },          { 4, 2 },      { 100, 17 },
        { 512, 59 },       { 1023, 100 },     { 1024, 100 }, { 1025, 101 },
        { 2048, 174 },     { 10000, 627 },    { 262143, 10000 },
        { 262144, 10000 }, { UINT64_MAX, 10000 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (nacre_cgroup_weight(rows[i].shares) != rows[i].weight)
            fail_msg("%" PRIu64 " shares are %" PRIu64 ", expected %" PRIu64,
                     rows[i].shares, nacre_cgroup_weight(rows[i].shares), rows[i].weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_directory_has_all_the_limits, scene_clear),
        cmocka_unit_test_setup(counters_are_since_take, scene_clear),
        cmocka_unit_test_setup(a_group_that_would_mislead_is_not_used_again, scene_clear),
        cmocka_unit_test_setup(what_is_not_handed_down_is_missing, scene_clear),
        cmocka_unit_test_setup(a_cgroup_that_was_handed_over_is_divided, scene_clear),
        cmocka_unit_test_setup(a_scope_of_systemd_run_is_known_by_its_unit, scene_clear),
        cmocka_unit_test_setup(a_cgroup_that_is_not_ours_to_divide_stays_whole,
                               scene_clear),
        cmocka_unit_test_setup(freezing_is_asked_for_and_waited_for, scene_clear),
        cmocka_unit_test(shares_become_weights_as_engines_translate_them),
    };

    return cmocka_run_group_tests_name("box_cgroup2", tests, scene_enter, scene_leave);
}
