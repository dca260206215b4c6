/* Weights by cgroup and by nice: where a cgroup may be made, that it is removed again,
 * and how much of one processor two busy processes really get. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "cgroup.h"
#include "cgroup_place.h"
#include "fail_alloc.h"
#include "in_child.h"
#include "nacre/own.h"

/* ---- finding the place ---- */

#define V1_MOUNT "32 31 0:29 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu\n"

static const struct {
    const char *cgroups, *mounts, *path; /* path is NULL when there is none */
} places[] = {
    { "1:cpu:/\n0::/\n", V1_MOUNT, "/cg/cpu" },
    { "1:cpu:/mine\n", V1_MOUNT, "/cg/cpu/mine" },
    { "9:pids:/x\n4:cpuacct,cpu:/mine\n", V1_MOUNT, "/cg/cpu/mine" },
    { "1:cpu:/box/a",
      "1 2 0:3 /box /cg/cpu rw shared:4 master:5 - cgroup none rw,cpu,cpuacct",
      "/cg/cpu/a" },
    { "1:cpu:/box", "1 2 0:3 /box /c\\040g\\134 rw - cgroup none rw,cpu", "/c g\\" },
    { "1:cpu:/a:b", V1_MOUNT, "/cg/cpu/a:b" },

    { "", "", NULL },
    { "", V1_MOUNT, NULL },
    { "1:cpu:/", "", NULL },
    { "1:cpu", V1_MOUNT, NULL },
    { "1:cpu:", V1_MOUNT, NULL },
    { "1:cpu:mine", V1_MOUNT, NULL },
    { "1:cpuset,cpuacct:/", V1_MOUNT, NULL },
    { "1:cpu:/../../other", V1_MOUNT, NULL },
    { "1:cpu:/a/../../b", V1_MOUNT, NULL },
    { "1:cpu:/boxed", "1 2 0:3 /box /cg rw - cgroup none rw,cpu", NULL },
    { "1:cpu:/", "1 2 0:3 /.. /cg rw - cgroup none rw,cpu", NULL },
    { "1:cpu:/", "1 2 0:3 / /cg rw - cgroup none rw,cpuset", NULL },
    { "1:cpu:/", "1 2 0:3 / /cg rw - tmpfs none rw,cpu", NULL },
    { "1:cpu:/", "1 2 0:3 / /cg rw cgroup none rw,cpu", NULL },
    { "1:cpu:/", "1 2 0:3 / - cgroup none rw,cpu", NULL },
    { "1:cpu:/", " - cgroup none rw,cpu", NULL },
    { "1:cpu:/", "1 2 0:3 / /cg rw - cgroup none", NULL },
    { "1:cpu:/", "1 2 0:3 / relative rw - cgroup none rw,cpu", NULL },
    { "0::/", "1 2 0:3 / /nowhere/cg rw - cgroup2 none rw", NULL },
};

static void the_place_is_our_own_cgroup_or_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(places); i++) {
        const struct nacre_cgroup_tables tables = { places[i].cgroups, places[i].mounts };
        struct nacre_cgroup_place place;

        nacre_cgroup_place_find(&tables, "cpu", &place);
        assert_string_equal(place.path, places[i].path ? places[i].path : "");
        assert_int_equal(place.version,
                         places[i].path ? NACRE_CGROUP_V1 : NACRE_CGROUP_NONE);
    }
}

static void a_line_too_long_to_be_a_cgroups_is_passed_over(void **state)
{
    NACRE_AUTO(nacre_heap_guard) char *text = malloc(20000 + sizeof(V1_MOUNT));
    struct nacre_cgroup_place place;

    (void)state;
    memset(text, 'x', 20000);
    text[19999] = '\n';
    memcpy(text + 20000, V1_MOUNT, sizeof(V1_MOUNT));
    nacre_cgroup_place_find(&(struct nacre_cgroup_tables){ "1:cpu:/", text }, "cpu",
                            &place);
    assert_string_equal(place.path, "/cg/cpu");
    text[0] = ':';
    text[1] = ':';
    text[2] = '/';
    nacre_cgroup_place_find(
        &(struct nacre_cgroup_tables){ text, "1 2 0:3 / /cg rw - cgroup2 none rw" },
        "cpu", &place);
    assert_int_equal(place.version, NACRE_CGROUP_NONE);
}

/* ---- v2, on a tree of ordinary files ---- */

static char tree[] = "/tmp/nacre-cgroup-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", tree, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void make(const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", tree, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static bool has_place(const char *own, const char *expected)
{
    char cgroups[128], mounts[256], path[256];
    struct nacre_cgroup_place place;

    (void)snprintf(cgroups, sizeof(cgroups), "0::%s\n", own);
    (void)snprintf(mounts, sizeof(mounts), "1 2 0:3 / %s rw - cgroup2 none rw\n", tree);
    (void)snprintf(path, sizeof(path), "%s%s", tree, expected ? expected : "");
    nacre_cgroup_place_find(&(struct nacre_cgroup_tables){ cgroups, mounts }, "cpu",
                            &place);
    return strcmp(place.path, expected ? path : "") == 0 &&
           place.version == (expected ? NACRE_CGROUP_V2 : NACRE_CGROUP_NONE);
}

static void assert_place(const char *own, const char *expected)
{
    assert_true(has_place(own, expected));
}

static int look_as_nobody(void *data)
{
    (void)data;
    CHILD_CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    CHILD_CHECK(has_place("/user/app/shell", "/user/app"));
    CHILD_CHECK(has_place("/user", "")); /* where nothing is ours, a probe says why */
    put("user/app/cgroup.subtree_control", "pids\n");
    CHILD_CHECK(has_place("/user/app/shell", NULL));
    return 0;
}

static void in_v2_what_belongs_to_somebody_else_is_no_place(void **state)
{
    char command[128];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(tree));
    make("user");
    make("user/app");
    make("user/app/shell");
    put("cgroup.subtree_control", "cpu memory pids\n");
    put("user/cgroup.subtree_control", "memory pids\n");
    put("user/app/cgroup.subtree_control", "cpu\n");
    put("user/app/shell/cgroup.subtree_control", "\n");
    assert_place("/user/app/shell", "/user/app");
    (void)snprintf(command, sizeof(command),
                   "cd %s && chmod -R a+rX . && chown -R 65534 user/app", tree);
    assert_int_equal(system(command), 0);
    assert_exited(in_child(look_as_nobody, NULL), 0);
    assert_place("/user/app/shell", "");
    (void)snprintf(command, sizeof(command), "rm -r %s", tree);
    assert_int_equal(system(command), 0);
    (void)snprintf(tree, sizeof(tree), "/tmp/nacre-cgroup-XXXXXX");
}

static void in_v2_a_worker_moves_only_where_it_leaves_no_limit_behind(void **state)
{
    static const char *const limits[] = { "memory.max",  "memory.high", "pids.max",
                                          "cpu.max",     "cpu.weight",  "cpu.idle",
                                          "cpuset.cpus", "cpuset.mems", "io.max" };
    char name[64], command[128];

    (void)state;
    assert_non_null(mkdtemp(tree));
    make("user");
    make("user/app");
    make("user/app/shell");
    put("cgroup.subtree_control", "cpuset memory\n");
    put("user/cgroup.subtree_control", "memory cpu pids\n");
    put("user/app/cgroup.subtree_control", "\n");
    put("user/app/shell/cgroup.subtree_control", "\n");
    put("user/app/shell/memory.max", "max\n");
    put("user/app/shell/cpu.max", "max 100000\n");

    assert_place("/user", "/user");
    assert_place("/user/app", "/user");
    assert_place("/user/app/shell", "/user");
    assert_place("/", NULL);
    for (size_t i = 0; i < NACRE_COUNT(limits); i++) {
        (void)snprintf(name, sizeof(name), "user/app/shell/%s", limits[i]);
        put(name, "7\n");
        assert_place("/user/app/shell", NULL);
        assert_place("/user/app", "/user");
        put(name, "");
    }
    put("user/memory.max", "4096\n"); /* stays in force below it */
    assert_place("/user/app/shell", "/user");
    put("user/cgroup.subtree_control", "cpuset\n");
    assert_place("/user/app/shell", NULL);

    (void)snprintf(command, sizeof(command), "rm -r %s", tree);
    assert_int_equal(system(command), 0);
}

/* ---- for real ---- */

static const struct nacre_cgroup_place nowhere = { .version = NACRE_CGROUP_NONE };

static void read_text(const char *path, char *ret_text, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? 0 : read(fd, ret_text, size - 1);

    ret_text[count > 0 ? count : 0] = '\0';
}

/* The real place, for an observer's eyes. */
static struct nacre_cgroup_place real_place(void)
{
    static char cgroups[65536], mounts[1 << 20];
    struct nacre_cgroup_place place;

    read_text("/proc/self/cgroup", cgroups, sizeof(cgroups));
    read_text("/proc/self/mountinfo", mounts, sizeof(mounts));
    nacre_cgroup_place_find(&(struct nacre_cgroup_tables){ cgroups, mounts }, "cpu",
                            &place);
    return place;
}

static int groups_at(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    int count = 0;

    while (dir && (entry = readdir(dir)) != NULL)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (dir)
        closedir(dir);
    return count;
}

static pid_t start_busy(size_t cpu)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        cpu_set_t one;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
        for (volatile unsigned spin = 0;; spin++)
            ;
    }
    return pid;
}

static void stop(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static double cpu_ns(pid_t pid)
{
    char path[64], text[128];

    (void)snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
    read_text(path, text, sizeof(text));
    return strtod(text, NULL);
}

/* How much more of one processor `high` gets than `low`, over `ms`. */
static double measure_ratio(const struct nacre_cpu_share *share, uint64_t high,
                            uint64_t low, long ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000 };
    const uint64_t shares[] = { high, low };
    struct nacre_cpu_group groups[2];
    struct nacre_error err;
    double before[2], ratio;
    size_t cpu = (size_t)sched_getcpu();
    pid_t pids[2] = { start_busy(cpu), start_busy(cpu) };

    for (int i = 0; i < 2; i++)
        assert_int_equal(
            nacre_cpu_share_apply(share, pids[i], shares[i], &groups[i], &err), NACRE_OK);
    before[0] = cpu_ns(pids[0]);
    before[1] = cpu_ns(pids[1]);
    assert_int_equal(nanosleep(&pause, NULL), 0);
    ratio = (cpu_ns(pids[0]) - before[0]) / (cpu_ns(pids[1]) - before[1] + 1);
    for (int i = 0; i < 2; i++) {
        stop(pids[i]);
        nacre_cpu_share_release(share, &groups[i]);
        assert_string_equal(groups[i].name, "");
    }
    return ratio;
}

/* Twice, because the machine may have had other things to do. */
static void assert_weights_count(const struct nacre_cpu_share *share)
{
    double equal = measure_ratio(share, 128, 128, 400);
    double ratio = measure_ratio(share, 1024, 128, 800);

    if (equal > 2 || equal < 0.5)
        equal = measure_ratio(share, 128, 128, 400);
    if (ratio < 2)
        ratio = measure_ratio(share, 1024, 128, 800);
    print_message("%s: 128:128 gives %.2f, 1024:128 gives %.1f\n",
                  nacre_cpu_share_text(share), equal, ratio);
    assert_true(equal > 0.5 && equal < 2);
    assert_true(ratio > 2);
}

static void weights_count_by_whatever_there_is(void **state)
{
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_cpu_share_open(&share, &err), NACRE_OK);
    /* Root, with a cpu controller in sight, has no excuse. */
    if (geteuid() == 0 && real_place().version != NACRE_CGROUP_NONE)
        assert_int_equal(nacre_cpu_share_kind(share),
                         real_place().version == NACRE_CGROUP_V2
                             ? NACRE_CPU_SHARE_CGROUP2
                             : NACRE_CPU_SHARE_CGROUP1);
    assert_weights_count(share);
}

static void weights_count_by_nice(void **state)
{
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_cpu_share_open_at(&nowhere, &share, &err), NACRE_OK);
    assert_int_equal(nacre_cpu_share_kind(share), NACRE_CPU_SHARE_NICE);
    assert_weights_count(share);
}

static const struct {
    uint64_t shares;
    int nice; /* -1: refused */
} nices[] = {
    { 1024, 0 }, { 1000, 0 }, { 820, 1 }, { 512, 3 },  { 128, 9 }, { 100, 10 },
    { 16, 19 },  { 15, 19 },  { 2, 19 },  { 1025, -1 }, { 262144, -1 },
};

static void nice_is_the_nearest_and_goes_down_only(void **state)
{
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
    int own = getpriority(PRIO_PROCESS, 0);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_cpu_share_open_at(&nowhere, &share, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(nices); i++) {
        struct nacre_cpu_group group = { "" };
        pid_t pid = start_busy(0);
        enum nacre_status status =
            nacre_cpu_share_apply(share, pid, nices[i].shares, &group, &err);
        int expected = nices[i].nice < 0 ? own : own + nices[i].nice;
        int seen = getpriority(PRIO_PROCESS, (id_t)pid);

        assert_int_equal(status, nices[i].nice < 0 ? NACRE_ERR_UNAVAILABLE : NACRE_OK);
        assert_int_equal(seen, expected > 19 ? 19 : expected);
        assert_string_equal(group.name, "");
        stop(pid);
    }
    assert_non_null(strstr(err.text, "at most 1024"));
}

static void shares_out_of_range_are_refused(void **state)
{
    static const uint64_t bad[] = { 0, 1, 262145, UINT64_MAX };
    const struct nacre_cgroup_place here[] = { nowhere, real_place() };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(here); i++) {
        NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
        struct nacre_cpu_group group = { "untouched" };
        struct nacre_error err;

        assert_int_equal(nacre_cpu_share_open_at(&here[i], &share, &err), NACRE_OK);
        for (size_t k = 0; k < NACRE_COUNT(bad); k++)
            assert_int_equal(nacre_cpu_share_apply(share, getpid(), bad[k], &group, &err),
                             NACRE_ERR_USAGE);
        assert_string_equal(group.name, "untouched");
    }
}

static void a_cgroup_holds_the_process_and_goes_with_it(void **state)
{
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
    struct nacre_cgroup_place place = real_place();
    struct nacre_cpu_group group = { "" };
    char path[NACRE_PATH_MAX + 128], text[4096], prefix[64];
    struct nacre_error err;
    pid_t pid;

    (void)state;
    assert_int_equal(nacre_cpu_share_open(&share, &err), NACRE_OK);
    if (nacre_cpu_share_kind(share) == NACRE_CPU_SHARE_NICE) {
        assert_non_null(strstr(nacre_cpu_share_text(share), "no cgroup"));
        return;
    }
    (void)snprintf(prefix, sizeof(prefix), "nacre-%d-", getpid());
    assert_int_equal(groups_at(place.path, prefix), 0); /* the probe is gone */
    pid = start_busy(0);
    assert_int_equal(nacre_cpu_share_apply(share, pid, 4096, &group, &err), NACRE_OK);
    assert_int_equal(groups_at(place.path, prefix), 1);
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
    read_text(path, text, sizeof(text));
    assert_non_null(strstr(text, group.name));
    (void)snprintf(path, sizeof(path), "%s/%s/%s", place.path, group.name,
                   place.version == NACRE_CGROUP_V2 ? "cpu.weight" : "cpu.shares");
    read_text(path, text, sizeof(text));
    assert_string_equal(text, place.version == NACRE_CGROUP_V2 ? "303\n" : "4096\n");
    stop(pid);
    nacre_cpu_share_release(share, &group);
    assert_int_equal(groups_at(place.path, prefix), 0);

    /* Nobody has that pid any more. */
    assert_int_equal(nacre_cpu_share_apply(share, pid, 4096, &group, &err), NACRE_ERR_IO);
    assert_int_equal(err.sys_errno, ESRCH);
    assert_int_equal(groups_at(place.path, prefix), 0);
    assert_string_equal(group.name, "");
}

/* Leaves a cgroup behind, as a crash would. */
static int crash(void *data)
{
    struct nacre_cpu_share *share = NULL;
    struct nacre_error err;

    CHILD_CHECK(nacre_cpu_share_open(&share, &err) == NACRE_OK);
    CHILD_CHECK(nacre_cpu_share_apply(share, getpid(), 512, data, &err) == NACRE_OK);
    return 0;
}

static void what_a_dead_owner_left_is_removed_and_nothing_else(void **state)
{
    struct nacre_cpu_group *left =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *first = NULL;
    NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *second = NULL;
    struct nacre_cgroup_place place = real_place();
    struct nacre_cpu_group mine;
    struct nacre_error err;
    char other[NACRE_PATH_MAX + 64];
    pid_t pid;

    (void)state;
    assert_ptr_not_equal(left, MAP_FAILED);
    assert_int_equal(nacre_cpu_share_open(&first, &err), NACRE_OK);
    if (nacre_cpu_share_kind(first) == NACRE_CPU_SHARE_NICE)
        return; /* nothing can be left */
    pid = start_busy(0);
    assert_int_equal(nacre_cpu_share_apply(first, pid, 512, &mine, &err), NACRE_OK);
    stop(pid); /* empty, but its owner lives */
    (void)snprintf(other, sizeof(other), "%s/nacre-elsewhere", place.path);
    assert_int_equal(mkdir(other, 0755), 0);
    assert_exited(in_child(crash, left), 0);
    assert_int_equal(groups_at(place.path, left->name), 1);

    assert_int_equal(nacre_cpu_share_open(&second, &err), NACRE_OK);
    assert_int_equal(groups_at(place.path, left->name), 0);
    assert_int_equal(groups_at(place.path, mine.name), 1);
    assert_int_equal(groups_at(place.path, "nacre-elsewhere"), 1);
    assert_int_equal(rmdir(other), 0);
    nacre_cpu_share_release(first, &mine);
    munmap(left, 4096);
}

static void a_place_that_is_none_becomes_nice_and_says_why(void **state)
{
    static const struct nacre_cgroup_place bad[] = {
        { NACRE_CGROUP_V1, "/nonexistent" },
        { NACRE_CGROUP_V2, "/proc" },
        { NACRE_CGROUP_V1, "/dev/null" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_cpu_share_open_at(&bad[i], &share, &err), NACRE_OK);
        assert_int_equal(nacre_cpu_share_kind(share), NACRE_CPU_SHARE_NICE);
        assert_non_null(strstr(nacre_cpu_share_text(share), bad[i].path));
    }
}

static void open_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_cpu_share_guard) struct nacre_cpu_share *share = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = nacre_cpu_share_open(&share, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(share == NULL, fired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_is_our_own_cgroup_or_none),
        cmocka_unit_test(a_line_too_long_to_be_a_cgroups_is_passed_over),
        cmocka_unit_test(in_v2_what_belongs_to_somebody_else_is_no_place),
        cmocka_unit_test(in_v2_a_worker_moves_only_where_it_leaves_no_limit_behind),
        cmocka_unit_test(nice_is_the_nearest_and_goes_down_only),
        cmocka_unit_test(shares_out_of_range_are_refused),
        cmocka_unit_test(a_cgroup_holds_the_process_and_goes_with_it),
        cmocka_unit_test(what_a_dead_owner_left_is_removed_and_nothing_else),
        cmocka_unit_test(a_place_that_is_none_becomes_nice_and_says_why),
        cmocka_unit_test(open_survives_every_allocation_failure),
        cmocka_unit_test(weights_count_by_whatever_there_is),
        cmocka_unit_test(weights_count_by_nice),
    };

    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
