/*
 * Limits by cgroup, for real where this machine lets us: children that try to get past
 * them, and the kernel's own files as the observer.  Freezing and killing.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "box.h"
#include "scene.h"

static void read_file(const struct nacre_box_group *group, enum box_controller where,
                      const char *file, char *ret_text, size_t size)
{
    nacre_cgroup_read(group->of[where]->dir_fd, file, ret_text, size);
}

/* ---- limits ---- */

static void too_much_memory_is_the_end_and_is_counted(void **state)
{
    struct nacre_box_group *group;
    struct nacre_box_usage usage;
    size_t little = 8 * MIB, much = 64 * MIB;

    (void)state;
    NEEDS(NACRE_BOX_MEMORY);
    group = take((struct nacre_box_limits){ .memory_bytes_max = 32 * MIB });
    assert_exited(wait_for(start(group, touch_memory, &little)), 0);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_true(usage.memory_bytes_peak >= little &&
                usage.memory_bytes_peak <= 32 * MIB);

    assert_killed(wait_for(start(group, touch_memory, &much)), SIGKILL);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 1);
    assert_true(usage.memory_bytes_peak > 24 * MIB &&
                usage.memory_bytes_peak <= 32 * MIB);
    nacre_box_group_put(cgroups, group);

    /* The control, and counters that begin anew. */
    group = take(no_limits);
    assert_exited(wait_for(start(group, touch_memory, &much)), 0);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.oom_kills, 0);
    assert_true(usage.memory_bytes_peak >= much);
    nacre_box_group_put(cgroups, group);
    group = take(no_limits);
    nacre_box_group_usage(group, &usage);
    assert_true(usage.memory_bytes_peak < 8 * MIB);
    nacre_box_group_put(cgroups, group);
}

/* How many children there can be at once, up to 20. */
static int fork_many(void *data)
{
    int count = 0;

    (void)data;
    while (count < 20) {
        pid_t pid = fork();

        if (pid == 0) {
            pause();
            _exit(0);
        }
        if (pid < 0) {
            CHILD_CHECK(errno == EAGAIN);
            break;
        }
        count++;
    }
    (void)signal(SIGTERM, SIG_IGN);
    (void)kill(0, SIGTERM);
    while (wait(NULL) > 0)
        ;
    return count;
}

static int fork_many_apart(void *data)
{
    return setsid() < 0 ? CHILD_CHECK_FAILED : fork_many(data);
}

static void too_many_processes_are_refused_and_counted(void **state)
{
    struct nacre_box_group *group;
    struct nacre_box_usage usage;

    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    group = take((struct nacre_box_limits){ .processes_max = 6 });
    assert_exited(wait_for(start(group, fork_many_apart, NULL)), 5);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.forks_refused, 1);
    nacre_box_group_put(cgroups, group);

    group = take(no_limits);
    assert_exited(wait_for(start(group, fork_many_apart, NULL)), 20);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.forks_refused, 0);
    nacre_box_group_put(cgroups, group);
}

static int spin(void *data)
{
    uint64_t end = nacre_clock_ns() + *(uint64_t *)data;

    while (nacre_clock_ns() < end)
        ;
    return 0;
}

static void processor_time_is_weighed_bounded_and_counted(void **state)
{
    uint64_t long_enough = 300 * NACRE_NS_PER_MS;
    struct nacre_box_group *group;
    struct nacre_box_usage usage;
    char text[64];

    (void)state;
    NEEDS(NACRE_BOX_CPU);
    group = take((struct nacre_box_limits){ .cpu_shares = 512, .cpu_quota_us = 20000 });
    if (group->v2[BOX_CPU]) {
        read_file(group, BOX_CPU, "cpu.weight", text, sizeof(text));
        assert_string_equal(text, "59\n");
        read_file(group, BOX_CPU, "cpu.max", text, sizeof(text));
        assert_string_equal(text, "20000 100000\n");
    } else {
        read_file(group, BOX_CPU, "cpu.shares", text, sizeof(text));
        assert_string_equal(text, "512\n");
        read_file(group, BOX_CPU, "cpu.cfs_quota_us", text, sizeof(text));
        assert_string_equal(text, "20000\n");
    }
    assert_exited(wait_for(start(group, spin, &long_enough)), 0);
    nacre_box_group_usage(group, &usage);
    if (nacre_box_cgroups_has(cgroups, NACRE_BOX_CPU_TIME))
        assert_true(usage.cpu_ns > 0 && usage.cpu_ns < 200 * NACRE_NS_PER_MS);
    nacre_box_group_put(cgroups, group);

    group = take(no_limits);
    nacre_box_group_usage(group, &usage);
    assert_int_equal(usage.cpu_ns, 0);
    read_file(group, BOX_CPU, group->v2[BOX_CPU] ? "cpu.max" : "cpu.cfs_quota_us", text,
              sizeof(text));
    assert_string_equal(text, group->v2[BOX_CPU] ? "max 100000\n" : "-1\n");
    nacre_box_group_put(cgroups, group);
}

static void swap_is_none_unless_asked_for(void **state)
{
    static const struct {
        struct nacre_box_limits limits;
        const char *sum; /* of v1, which counts both together */
    } rows[] = {
        { { .memory_bytes_max = 32 * MIB }, "33554432\n" },
        { { .memory_bytes_max = 32 * MIB, .swap_bytes_max = 16 * MIB }, "50331648\n" },
        { { .memory_bytes_max = 8 * MIB }, "8388608\n" },
        { { .memory_bytes_max = 64 * MIB }, "67108864\n" },
    };
    char text[64];

    (void)state;
    NEEDS(NACRE_BOX_SWAP);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_box_group *group = take(rows[i].limits);

        if (!group->v2[BOX_MEMORY]) {
            read_file(group, BOX_MEMORY, "memory.memsw.limit_in_bytes", text,
                      sizeof(text));
            assert_string_equal(text, rows[i].sum);
        }
        nacre_box_group_put(cgroups, group);
    }
}

static void limits_that_are_none_are_refused(void **state)
{
    static const struct nacre_box_limits bad[] = {
        { .cpu_shares = 1 },
        { .cpu_shares = 262145 },
        { .cpu_shares = UINT64_MAX },
        { .cpu_quota_us = 999 },
        { .swap_bytes_max = 1 },
        { .memory_bytes_max = 2, .swap_bytes_max = UINT64_MAX - 1 },
    };
    int before = scene_fds();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct nacre_box_group *group = (void *)&before;
        struct nacre_error err;

        assert_int_equal(nacre_box_group_take(cgroups, &bad[i], &group, &err),
                         NACRE_ERR_USAGE);
        assert_ptr_equal(group, &before);
    }
    assert_int_equal(scene_fds(), before);
}

/* ---- freezing and killing ---- */

/* Does it go on?  Asked for up to two seconds, and for 50 ms that it does not. */
static bool goes_on(const volatile uint64_t *count, bool expected)
{
    uint64_t seen = *count;

    for (int i = 0; i < (expected ? 400 : 10); i++) {
        nacre_cgroup_pause_ms(5);
        if (*count != seen)
            return true;
    }
    return false;
}

/* Who is to stand still needs the processor for it, which a busy machine gives late. */
static void freeze(struct nacre_box_group *group)
{
    assert_true(box_group_freeze(group, 90000));
}

static void wait_until_inside(const struct nacre_box_group *group)
{
    while (box_group_is_empty(group))
        nacre_cgroup_pause_ms(1);
}

static void freeze_thaw_and_kill(struct nacre_box_cgroups *pool)
{
    volatile uint64_t *count =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct nacre_box_group *group = NULL;
    struct nacre_error err;
    pid_t pid;

    assert_ptr_not_equal(count, MAP_FAILED);
    assert_int_equal(nacre_box_group_take(pool, &no_limits, &group, &err), NACRE_OK);
    pid = start(group, count_up, (void *)count);
    assert_true(goes_on(count, true));
    freeze(group);
    assert_false(goes_on(count, false));
    box_group_thaw(group);
    assert_true(goes_on(count, true));
    freeze(group);
    assert_int_equal(nacre_box_group_kill(group, nacre_clock_ns() + 30 * SECOND, &err),
                     NACRE_OK);
    assert_killed(wait_for(pid), SIGKILL);
    /* What comes next is not frozen. */
    pid = start(group, count_up, (void *)count);
    assert_true(goes_on(count, true));
    assert_int_equal(nacre_box_group_kill(group, nacre_clock_ns() + 30 * SECOND, &err),
                     NACRE_OK);
    assert_killed(wait_for(pid), SIGKILL);
    nacre_box_group_put(pool, group);
    munmap((void *)count, 4096);
}

static void what_is_frozen_stands_still_and_can_be_killed(void **state)
{
    (void)state;
    NEEDS(NACRE_BOX_FREEZER);
    freeze_thaw_and_kill(cgroups);
}

/* Each of a session of its own, and soon nobody's child; until well after the test. */
static int fork_without_end(void *data)
{
    uint64_t end = nacre_clock_ns() + 40 * SECOND;

    (void)data;
    while (nacre_clock_ns() < end) {
        if (fork() == 0)
            (void)setsid();
    }
    return 0;
}

static void kill_a_bomb(struct nacre_box_cgroups *pool)
{
    const struct nacre_box_limits limits = {
        .processes_max = nacre_box_cgroups_has(pool, NACRE_BOX_PIDS) ? 200 : 0,
    };
    struct nacre_box_group *group = NULL;
    struct nacre_error err;
    pid_t pid;

    assert_int_equal(nacre_box_group_take(pool, &limits, &group, &err), NACRE_OK);
    pid = start(group, fork_without_end, NULL);
    wait_until_inside(group);
    nacre_cgroup_pause_ms(20);
    assert_int_equal(nacre_box_group_kill(group, nacre_clock_ns() + 20 * SECOND, &err),
                     NACRE_OK);
    assert_true(box_group_is_empty(group));
    assert_killed(wait_for(pid), SIGKILL);
    nacre_box_group_put(pool, group);
}

static void a_fork_bomb_is_killed_to_the_last(void **state)
{
    (void)state;
    NEEDS(NACRE_BOX_PIDS);
    NEEDS(NACRE_BOX_FREEZER);
    kill_a_bomb(cgroups);
}

static void what_does_not_die_in_time_is_told(void **state)
{
    uint64_t count = 0;
    struct nacre_box_group *group;
    struct nacre_error err;
    pid_t pid;

    (void)state;
    NEEDS(NACRE_BOX_FREEZER);
    group = take(no_limits);
    pid = start(group, count_up, &count);
    wait_until_inside(group);
    assert_int_equal(nacre_box_group_kill(group, 1, &err), NACRE_ERR_TIMEOUT);
    assert_int_equal(nacre_box_group_kill(group, nacre_clock_ns() + 30 * SECOND, &err),
                     NACRE_OK);
    assert_killed(wait_for(pid), SIGKILL);
    nacre_box_group_put(cgroups, group);
}

/* On a machine with v1 as well there is a v2 without controllers: enough to freeze and to
 * kill. */
static void v2_freezes_and_kills_by_itself(void **state)
{
    NACRE_AUTO(nacre_box_cgroups_guard) struct nacre_box_cgroups *second = NULL;
    NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables tables = { NULL };
    char own[NACRE_PATH_MAX] = "";
    const char *line;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_cgroup_tables_read(NULL, &tables, &err), NACRE_OK);
    line = strstr(tables.cgroups, "0::");
    if (line)
        (void)snprintf(own, sizeof(own), "%.*s", (int)strcspn(line, "\n"), line);
    tables.cgroups = own; /* and no line of v1's */
    assert_int_equal(box_cgroups_open_from(&tables, BOX_ALL, &second, &err), NACRE_OK);
    if (!nacre_box_cgroups_has(second, NACRE_BOX_FREEZER)) {
        assert_string_not_equal(nacre_box_cgroups_text(second, NACRE_BOX_FREEZER), "");
        skip();
    }
    assert_non_null(strstr(nacre_box_cgroups_text(second, NACRE_BOX_FREEZER),
                           "cgroup v2 cgroup.freeze below "));
    freeze_thaw_and_kill(second);
    if (nacre_box_cgroups_has(second, NACRE_BOX_PIDS))
        kill_a_bomb(second);
}

/* Without the list of all mounts the place is the same as with it. */
static bool places_are_those_that_the_kernel_lists(void)
{
    static const char *const names[] = { "memory", "cpu", "pids", "freezer", "nothing" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables all = { NULL };
        NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables one = { NULL };
        const char *const wanted[] = { names[i], NULL };
        struct nacre_cgroup_place places[2];
        struct nacre_error err;

        if (nacre_cgroup_tables_read(NULL, &all, &err) != NACRE_OK ||
            nacre_cgroup_tables_read(wanted, &one, &err) != NACRE_OK)
            return false;
        nacre_cgroup_place_find(&all, names[i], &places[0]);
        nacre_cgroup_place_find(&one, names[i], &places[1]);
        if (places[0].version != places[1].version ||
            strcmp(places[0].path, places[1].path) != 0)
            return false;
    }
    return true;
}

static void the_usual_place_is_the_one_that_the_kernel_lists(void **state)
{
    (void)state;
    assert_true(places_are_those_that_the_kernel_lists());
}

/* There our own cgroup is called "/", and the mounts are those of before: their top is
 * not ours, and who made a group there would leave the limits around us. */
static void the_top_is_not_ours_in_a_cgroup_namespace(void **state)
{
    pid_t child = fork();
    int ended = 0;

    (void)state;
    if (child == 0)
        _exit(unshare(CLONE_NEWCGROUP) != 0                ? 77
              : places_are_those_that_the_kernel_lists() ? 0
                                                         : 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(ended), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(too_much_memory_is_the_end_and_is_counted),
        EACH(too_many_processes_are_refused_and_counted),
        EACH(processor_time_is_weighed_bounded_and_counted),
        EACH(swap_is_none_unless_asked_for),
        EACH(limits_that_are_none_are_refused),
        EACH(what_is_frozen_stands_still_and_can_be_killed),
        EACH(a_fork_bomb_is_killed_to_the_last),
        EACH(what_does_not_die_in_time_is_told),
        cmocka_unit_test(v2_freezes_and_kills_by_itself),
        cmocka_unit_test(the_usual_place_is_the_one_that_the_kernel_lists),
        cmocka_unit_test(the_top_is_not_ours_in_a_cgroup_namespace),
    };

    return cmocka_run_group_tests_name("box_cgroup", tests, NULL, NULL);
}
