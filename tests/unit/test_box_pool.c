/*
 * The pool of cgroups: what is kept, what is not, what a dead owner leaves, and what is
 * said where there is none to be had.
 */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "box.h"
#include "fail_alloc.h"
#include "scene.h"

/* But for the one that this process itself may have moved into. */
static int count_at(const char *path, const char *prefix)
{
    struct nacre_cgroup_tables tables = { NULL };
    struct nacre_error err;
    const struct dirent *entry;
    DIR *dir = path[0] ? opendir(path) : NULL;
    int count = 0;

    assert_int_equal(nacre_cgroup_tables_read(NULL, &tables, &err), NACRE_OK);
    while (dir && (entry = readdir(dir)) != NULL)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
                 !strstr(tables.cgroups, entry->d_name);
    nacre_cgroup_tables_clear(&tables);
    if (dir)
        closedir(dir);
    return count;
}

/* In all hierarchies; v2 has one for all controllers. */
static int count_groups(const char *prefix)
{
    static const char *const names[] = { "memory", "cpu", "pids", "freezer", "cpuacct" };
    struct nacre_cgroup_place places[NACRE_COUNT(names)];
    struct nacre_cgroup_tables tables = { NULL };
    struct nacre_error err;
    int count = 0;

    assert_int_equal(nacre_cgroup_tables_read(NULL, &tables, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        bool is_new = true;

        nacre_cgroup_place_find(&tables, names[i], &places[i]);
        for (size_t k = 0; k < i; k++)
            is_new &= strcmp(places[k].path, places[i].path) != 0;
        count += is_new ? count_at(places[i].path, prefix) : 0;
    }
    nacre_cgroup_tables_clear(&tables);
    return count;
}

/* v2 from Linux 5.19 on counts a peak, and only from 6.12 on forgets it: between them a
 * group serves once. */
static bool serves_again(const struct nacre_box_group *group)
{
    return group->peak_fd < 0 || pwrite(group->peak_fd, "0\n", 2, 0) == 2;
}

static void an_empty_group_is_used_again(void **state)
{
    struct nacre_box_group *group, *second;
    char name[NACRE_CGROUP_NAME], prefix[32];
    bool again;
    int fds;

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    (void)snprintf(prefix, sizeof(prefix), "nacre-%d-", getpid());
    group = take(no_limits);
    again = serves_again(group);
    (void)snprintf(name, sizeof(name), "%s", group->name);
    fds = scene_fds();
    nacre_box_group_put(cgroups, group);
    for (int i = 0; i < 20; i++) {
        group = take((struct nacre_box_limits){ .processes_max = 5 });
        assert_int_equal(strcmp(group->name, name) == 0, again);
        assert_exited(wait_for(start(group, touch_memory, &(size_t){ MIB })), 0);
        nacre_box_group_put(cgroups, group);
    }
    group = take(no_limits);
    second = take(no_limits);
    assert_int_equal(strcmp(group->name, name) == 0, again);
    assert_string_not_equal(second->name, name);
    nacre_box_group_put(cgroups, second);
    nacre_box_group_put(cgroups, group);
    assert_true(scene_fds() <= 2 * fds);
}

static void a_group_that_is_dropped_is_gone_and_not_used_again(void **state)
{
    struct nacre_box_group *group;
    char name[NACRE_CGROUP_NAME];

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    group = take(no_limits);
    (void)snprintf(name, sizeof(name), "%s", group->name);
    assert_exited(wait_for(start(group, touch_memory, &(size_t){ MIB })), 0);
    nacre_box_group_drop(cgroups, group);
    assert_int_equal(count_groups(name), 0);
    group = take(no_limits);
    assert_string_not_equal(group->name, name);
    nacre_box_group_put(cgroups, group);
    nacre_box_group_drop(cgroups, NULL);
}

static void a_group_that_is_not_empty_is_not_used_again(void **state)
{
    struct nacre_box_group *group;
    char name[NACRE_CGROUP_NAME];
    uint64_t count = 0;
    pid_t pid;

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    group = take(no_limits);
    (void)snprintf(name, sizeof(name), "%s", group->name);
    pid = start(group, count_up, &count);
    while (box_group_is_empty(group))
        nacre_cgroup_pause_ms(1);
    nacre_box_group_put(cgroups, group);
    assert_true(count_groups(name) > 0);
    group = take(no_limits);
    assert_string_not_equal(group->name, name);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_killed(wait_for(pid), SIGKILL);
    nacre_box_group_put(cgroups, group);
    group = take(no_limits); /* the sweep */
    assert_int_equal(count_groups(name), 0);
    nacre_box_group_put(cgroups, group);
}

static void no_more_than_a_few_are_kept_and_none_in_the_end(void **state)
{
    struct nacre_box_group *groups[NACRE_BOX_GROUPS_KEPT + 3];
    char prefix[32];
    int hierarchies, kept;

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    (void)snprintf(prefix, sizeof(prefix), "nacre-%d-", getpid());
    for (size_t i = 0; i < NACRE_COUNT(groups); i++)
        groups[i] = take(no_limits);
    hierarchies = (int)groups[0]->count;
    kept = serves_again(groups[0]) ? NACRE_BOX_GROUPS_KEPT : 0;
    assert_int_equal(count_groups(prefix), (int)NACRE_COUNT(groups) * hierarchies);
    for (size_t i = 0; i < NACRE_COUNT(groups); i++)
        nacre_box_group_put(cgroups, groups[i]);
    assert_int_equal(count_groups(prefix), kept * hierarchies);
    (void)free_all(state);
    assert_int_equal(count_groups(prefix), 0);
}

static void a_group_that_somebody_removed_is_replaced(void **state)
{
    struct nacre_box_group *group;
    char name[NACRE_CGROUP_NAME], path[NACRE_PATH_MAX];
    bool again;

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    group = take(no_limits);
    again = serves_again(group);
    (void)snprintf(name, sizeof(name), "%s", group->name);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/../%s",
                   group->of[BOX_PIDS]->dir_fd, name);
    nacre_box_group_put(cgroups, group);
    assert_int_equal(rmdir(path), again ? 0 : -1);
    group = take((struct nacre_box_limits){ .processes_max = 9 });
    assert_string_not_equal(group->name, name);
    assert_int_equal(count_groups(name), 0);
    nacre_box_group_put(cgroups, group);
}

/* Leaves groups behind, one of them frozen with a process in it. */
static int crash(void *data)
{
    struct nacre_box_cgroups *own = NULL;
    struct nacre_box_group *group = NULL, *frozen = NULL;
    struct nacre_error err;
    pid_t pid;

    CHILD_CHECK(nacre_box_cgroups_open(&own, &err) == NACRE_OK);
    CHILD_CHECK(nacre_box_group_take(own, &no_limits, &group, &err) == NACRE_OK);
    CHILD_CHECK(nacre_box_group_take(own, &no_limits, &frozen, &err) == NACRE_OK);
    pid = fork();
    if (pid == 0) {
        /* Its owner's end, as a lifeline shows it. */
        pid_t owner = getppid();

        (void)enter(frozen);
        *(volatile pid_t *)data = getpid();
        while (getppid() == owner)
            nacre_cgroup_pause_ms(1);
        _exit(0);
    }
    while (*(volatile pid_t *)data == 0)
        nacre_cgroup_pause_ms(1);
    CHILD_CHECK(box_group_freeze(frozen, 1000));
    (void)kill(getpid(), SIGKILL);
    return 0;
}

static void what_a_dead_owner_left_is_removed(void **state)
{
    pid_t *guest =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *second = NULL;
    struct nacre_error err;
    char prefix[32];
    pid_t pid;

    (void)state;
    NEEDS(NACRE_BOX_FREEZER);
    assert_ptr_not_equal(guest, MAP_FAILED);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(crash(guest));
    assert_killed(wait_for(pid), SIGKILL);
    (void)snprintf(prefix, sizeof(prefix), "nacre-%d-", pid);
    assert_true(count_groups(prefix) > 0);
    assert_int_equal(kill(*guest, 0), 0);

    assert_int_equal(nacre_box_cgroups_open(&second, &err), NACRE_OK);
    for (int i = 0; i < 400 && kill(*guest, 0) == 0; i++)
        nacre_cgroup_pause_ms(5); /* thawed, it sees that its owner is gone */
    nacre_box_cgroups_free(nacre_box_cgroups_take(&second));
    assert_int_equal(nacre_box_cgroups_open(&second, &err), NACRE_OK);
    assert_int_equal(count_groups(prefix), 0);
    munmap(guest, 4096);
}

/* ---- where there is none ---- */

static int open_as_nobody(void *data)
{
    static const struct nacre_box_limits asks[] = {
        { .memory_bytes_max = 1 }, { .memory_bytes_target = 1 }, { .cpu_shares = 2 },
        { .cpu_quota_us = 1000 },  { .processes_max = 1 },
    };
    struct nacre_box_cgroups *own = NULL;
    struct nacre_box_group *group = NULL;
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    CHILD_CHECK(nacre_box_cgroups_open(&own, &err) == NACRE_OK);
    for (int i = 0; i < NACRE_BOX_FEATURES; i++) {
        CHILD_CHECK(!nacre_box_cgroups_has(own, (enum nacre_box_feature)i));
        CHILD_CHECK(strstr(nacre_box_cgroups_text(own, (enum nacre_box_feature)i),
                           "not delegated to user 65534") ||
                    strstr(nacre_box_cgroups_text(own, (enum nacre_box_feature)i),
                           "no cgroup above"));
    }
    for (size_t i = 0; i < NACRE_COUNT(asks); i++) {
        CHILD_CHECK(nacre_box_group_take(own, &asks[i], &group, &err) ==
                    NACRE_ERR_UNAVAILABLE);
        CHILD_CHECK(strstr(err.text, "can't be limited here: "));
    }
    /* Without limits there is nothing to refuse, and nothing to enter. */
    CHILD_CHECK(nacre_box_group_take(own, &no_limits, &group, &err) == NACRE_OK);
    CHILD_CHECK(nacre_box_group_procs(group, (int[NACRE_BOX_HIERARCHIES_MAX]){ 0 }) == 0);
    CHILD_CHECK(!box_group_freeze(group, 1));
    nacre_box_group_put(own, group);
    nacre_box_cgroups_free(own);
    return 0;
}

static void an_ordinary_user_is_told_why_not(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_exited(in_child(open_as_nobody, NULL), 0);
}

static void without_cgroups_every_feature_says_so(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *none = NULL;
    const struct nacre_cgroup_tables tables = { NULL };
    struct nacre_error err;

    (void)state;
    assert_int_equal(box_cgroups_open_from(&tables, BOX_ALL, &none, &err), NACRE_OK);
    for (int i = 0; i < NACRE_BOX_FEATURES; i++) {
        assert_false(nacre_box_cgroups_has(none, (enum nacre_box_feature)i));
        assert_non_null(strstr(nacre_box_cgroups_text(none, (enum nacre_box_feature)i),
                               "no cgroup above this process has "));
    }
}

static void open_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *own = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = nacre_box_cgroups_open(&own, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(own == NULL, fired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(an_empty_group_is_used_again),
        EACH(a_group_that_is_dropped_is_gone_and_not_used_again),
        EACH(a_group_that_is_not_empty_is_not_used_again),
        EACH(no_more_than_a_few_are_kept_and_none_in_the_end),
        EACH(a_group_that_somebody_removed_is_replaced),
        EACH(what_a_dead_owner_left_is_removed),
        cmocka_unit_test(an_ordinary_user_is_told_why_not),
        cmocka_unit_test(without_cgroups_every_feature_says_so),
        cmocka_unit_test(open_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("box_pool", tests, NULL, NULL);
}
