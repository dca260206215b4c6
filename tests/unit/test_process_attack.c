/* What a hostile guest of level process tries, what happens when something that the level
 * stands on is missing, and what is left when its owner dies.  Judged from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "in_child.h"
#include "jail_world.h"
#include "nacre/clock.h"
#include "nt_launch.h"
#include "pr_spec.h"
#include "seccomp_program.h"

/* ---- processes and limits ---- */

static int forks(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.limits.wall_ms_max = 1500;
    jail.plan.limits.processes_max = 20;
    CHILD_CHECK(jail_run(&jail, "bomb() { bomb | bomb & }; bomb; sleep 7.98761") ==
                NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_TIMED_OUT ||
                jail.result->outcome == NACRE_OUTCOME_EXITED);
    CHILD_CHECK(jail_all_gone("7.98761"));
    /* The limit is the policy's: one less than asked for works, so many more do not. */
    CHILD_CHECK(jail_exits(&jail,
                           "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; echo made",
                           0));
    CHILD_CHECK(jail_run(&jail, "for i in $(seq 40); do sleep 1 & done; echo made") ==
                NACRE_OK);
    CHILD_CHECK(jail.result->exit_status != 0 && jail.result->output.size == 0);
    jail_finish(&jail);
    return 0;
}

#define MANY "for i in $(seq 40); do sleep 1 & done"

/* Where no memory can be bounded and that was waived, processes are counted all the same,
 * if they can be. */
static int forks_with_memory_waived(void *data)
{
    struct jail jail;
    bool counted;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.limits.processes_max = 20;
    jail.plan.limits.processes_asked = true;
    CHILD_CHECK(jail_run(&jail, MANY) == NACRE_OK);
    counted = jail.result->usage.processes_refused;
    CHILD_CHECK(!(jail.executor->features & NACRE_FEATURE_MEMORY_LIMIT));
    jail.plan.limits.memory_asked = true;
    CHILD_CHECK(jail_run(&jail, MANY) == NACRE_OK);
    CHILD_CHECK(jail.result->usage.processes_refused == counted);
    jail_finish(&jail);
    return 0;
}

static void processes_are_counted_where_memory_is_waived(void **state)
{
    (void)state;
    assert_true(jail_as_both(forks_with_memory_waived, NULL));
}

static void a_fork_bomb_ends_with_its_sandbox(void **state)
{
    (void)state;
    assert_true(jail_as_both(forks, NULL));
}

static int daemonises(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_exits(&jail,
                           "setsid sh -c 'sleep 61.2345 & sleep 61.2345' </dev/null "
                           ">/dev/null 2>&1 & sleep 0.1; pgrep -c sleep >/dev/null",
                           0));
    CHILD_CHECK(jail_all_gone("61.2345"));
    jail_finish(&jail);
    return 0;
}

static void a_daemonised_child_does_not_outlive_its_command(void **state)
{
    (void)state;
    assert_true(jail_as_both(daemonises, NULL));
}

static int overruns(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.limits.wall_ms_max = 300;
    CHILD_CHECK(jail_run(&jail, "trap '' TERM INT HUP; sleep 62.3456") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_TIMED_OUT);
    CHILD_CHECK(jail_all_gone("62.3456"));
    jail_finish(&jail);
    return 0;
}

static void a_command_that_ignores_signals_ends_at_its_deadline(void **state)
{
    (void)state;
    assert_true(jail_as_both(overruns, NULL));
}

static int floods(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.limits.output_bytes_max = 100000;
    CHILD_CHECK(jail_exits(&jail, "head -c 100000 /dev/zero", 0));
    CHILD_CHECK(jail.result->output.size == 100000);
    CHILD_CHECK(jail_run(&jail, "yes") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_OUTPUT_LIMIT);
    CHILD_CHECK(jail.result->output.size == 100000 && jail.result->output_cut);
    jail_finish(&jail);
    return 0;
}

static void an_output_flood_is_cut_at_the_byte(void **state)
{
    (void)state;
    assert_true(jail_as_both(floods, NULL));
}

static int fills_disk(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", NULL, true, NULL);
    CHILD_CHECK(jail_exits(&jail, "head -c 8m /dev/zero >/tmp/x", 0));
    CHILD_CHECK(jail_exits(&jail, "head -c 17m /dev/zero 2>/dev/null >/tmp/x", 1));
    /* One size for all of its private places together. */
    CHILD_CHECK(jail_exits(&jail,
                           "head -c 7m /dev/zero >/tmp/x && head -c 7m /dev/zero >y && "
                           "head -c 7m /dev/zero 2>/dev/null >/dev/shm/z",
                           1));
    CHILD_CHECK(jail_exits(&jail, "for i in $(seq 600); do : 2>/dev/null >$i || exit 9; "
                                  "done",
                           2));
    jail_finish(&jail);
    return 0;
}

static void what_a_guest_writes_privately_is_bounded_in_bytes_and_files(void **state)
{
    (void)state;
    assert_true(jail_as_both(fills_disk, NULL));
}

static int eats_memory(void *data)
{
    struct jail jail;
    uint64_t features;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    CHILD_CHECK(!(jail.executor->features & NACRE_FEATURE_MEMORY_LIMIT));
    jail.ops->probe(jail.executor, ~UINT32_C(0));
    features = jail.executor->features;
    jail.plan.limits.memory_bytes_max = UINT64_C(48) << 20;
    jail.plan.limits.memory_asked = true;
    CHILD_CHECK(jail_exits(&jail, "perl -e '$x = \"a\" x (8 << 20); print length($x)'",
                           0));
    CHILD_CHECK(jail_run(&jail, "exec perl -e '$x = \"a\" x (200 << 20); print 1'") ==
                NACRE_OK);
    CHILD_CHECK(jail.result->output.size == 0);
    if (features & NACRE_FEATURE_MEMORY_LIMIT) {
        CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_OUT_OF_MEMORY);
        CHILD_CHECK(jail.result->usage.memory_refused);
        /* Many small ones add up. */
        CHILD_CHECK(jail_run(&jail,
                             "for i in 1 2 3 4 5 6; do perl -e '$x = \"a\" x (15 << 20); "
                             "sleep 2; print 1' & done; wait") == NACRE_OK);
        CHILD_CHECK(jail.result->usage.memory_refused);
    } else {
        /* Each process by itself, which is less than the policy could ask for. */
        CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_EXITED &&
                    jail.result->exit_status != 0);
    }
    jail_finish(&jail);
    return 0;
}

static void memory_is_bounded_as_far_as_the_features_say(void **state)
{
    (void)state;
    assert_true(jail_as_both(eats_memory, NULL));
}

/* ---- ways out ---- */

static int looks_around(void *data)
{
    static const char *const refused[] = {
        "cat /proc/kcore", "cat /proc/kmsg", "cat /proc/keys", "cat /proc/timer_list",
        "ls /proc/1/root/", "ls /proc/1/cwd/", "ls /proc/1/fd/", "cat /proc/1/environ",
        "cat /proc/1/maps", "dd if=/proc/1/mem bs=1 count=1",
        "echo b >/proc/sysrq-trigger", "echo x >/proc/sys/kernel/core_pattern",
        "echo x >/proc/sys/kernel/hostname", "echo -1000 >/proc/self/oom_score_adj",
        "ls /sys", "hostname x", "mount -t tmpfs x /tmp", "umount /proc",
        "unshare -U true", "unshare -r true", "chroot / true", "nsenter -t 1 -m true",
        "mknod /tmp/n c 1 1", "kill -9 1 && test -e /nonexistent", "dmesg", "su -c true",
        "ip link add x type dummy", "cd /proc/self/root/../../../root",
    };
    struct jail jail;
    char text[256];

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        (void)snprintf(text, sizeof(text),
                       "if { %s; } >/dev/null 2>&1; then exit 40; fi; echo still",
                       refused[i]);
        if (!jail_exits(&jail, text, 0) || !jail_says(&jail, "still\n")) {
            dprintf(2, "not refused: %s\n", refused[i]);
            return CHILD_CHECK_FAILED;
        }
    }
    jail_finish(&jail);
    return 0;
}

static void no_way_leads_out_by_proc_sys_or_new_namespaces(void **state)
{
    (void)state;
    assert_true(jail_as_both(looks_around, NULL));
}

#define TIOCSTI_OF(fd) "perl -e 'ioctl(" fd ", 0x5412, my $c = \"x\"); print $! + 0'"

static int pushes_input(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    /* Outside the same call gets as far as "not a terminal". */
    CHILD_CHECK(system("test $(" TIOCSTI_OF("STDIN") " </dev/null) = 25") == 0);
    CHILD_CHECK(jail_exits(&jail, TIOCSTI_OF("STDIN"), 0) && jail_says(&jail, "1"));
    jail_finish(&jail);
    return 0;
}

static void nobody_types_into_a_terminal(void **state)
{
    (void)state;
    assert_true(jail_as_both(pushes_input, NULL));
}

static int races_ancestors(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    CHILD_CHECK(jail_exits(&jail,
                           "perl -e 'for (1 .. 20000) { "
                           "exit 40 if rename(\"a\", \"x\") || rename(\"a/b\", \"x\") || "
                           "unlink(\"a/b/deep\") || open(F, \"<\", \"a/b/deep\"); }'",
                           0));
    CHILD_CHECK(jail_holds(&jail, "ws/a/b/deep", "deep inside"));
    jail_finish(&jail);
    return 0;
}

static void renaming_in_a_loop_uncovers_nothing(void **state)
{
    (void)state;
    assert_true(jail_as_both(races_ancestors, NULL));
}

/* ---- what the level stands on, taken away ---- */

struct missing {
    const char *call;
    bool at_open; /* the executor refuses to open */
};

static int runs_without(void *data)
{
    const struct missing *missing = data;
    struct nacre_seccomp_program filter;
    struct nacre_error err;
    struct jail jail;
    enum nacre_status status;

    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    if (missing) {
        CHILD_CHECK(nacre_seccomp_blocklist_build(&missing->call, 1, &filter, &err) ==
                    NACRE_OK);
        CHILD_CHECK(nacre_seccomp_install(&filter, &err) == NACRE_OK);
    }
    status = jail_run(&jail, "touch ran");
    if (missing && status != NACRE_ERR_UNAVAILABLE) {
        dprintf(2, "without %s: %s\n", missing->call, nacre_status_name(status));
        return CHILD_CHECK_FAILED;
    }
    CHILD_CHECK(jail_has(&jail, "ws/ran") == !missing);
    CHILD_CHECK(!missing || !missing->at_open == (jail.executor != NULL));
    jail_finish(&jail);
    CHILD_CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* and nobody is left to be reaped */
    return 0;
}

static void each_step_that_fails_means_that_nothing_is_executed(void **state)
{
    static const struct missing calls[] = {
        { "clone3", false },      { "open_tree", false }, { "mount_setattr", false },
        { "move_mount", false },  { "fsopen", false },    { "fsconfig", false },
        { "fsmount", false },     { "pivot_root", false }, { "umount2", false },
        { "mount", false },       { "sethostname", false }, { "setresuid", false },
        { "setresgid", false },   { "capset", false },    { "openat2", false },
        { "symlinkat", false },   { "mkdirat", false },   { "landlock_add_rule", false },
        { "landlock_restrict_self", false },              { "seccomp", true },
        { "pidfd_open", false },
    };

    (void)state;
    assert_true(jail_as_both(runs_without, NULL)); /* the control */
    for (size_t i = 0; i < NACRE_COUNT(calls); i++) {
        struct missing missing = calls[i];

        if (!jail_as_both(runs_without, &missing))
            fail_msg("%s", missing.call);
    }
}

/* Another directory or file than the one that the host holds: by number, since the moment
 * between looking and binding is too short to be hit. */
static int is_swapped(void *data)
{
    const enum spec_kind kind = *(const enum spec_kind *)data;
    struct pr_spec_input input = { .uid = geteuid() == 0 ? 1000 : geteuid(),
                                   .gid = geteuid() == 0 ? 1000 : getegid(),
                                   .mountinfo = "", .door_fd = -1 };
    const struct nt_user user = { (uint32_t)input.uid, (uint32_t)input.gid };
    NACRE_AUTO(nt_launcher_guard) struct nt_launcher *launcher = NULL;
    NACRE_AUTO(nacre_mounts_clear) struct nacre_open_mounts mounts = { 0 };
    NACRE_AUTO(nt_masks_guard) struct nt_masks *masks = NULL;
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = { 0 };
    NACRE_AUTO(nacre_heap_guard) uint8_t *packed = NULL;
    NACRE_AUTO(nt_box_guard) struct nt_box *box = NULL;
    const struct init_config config = { .beat_ms_max = 5000, .commands_max = 1,
                                        .oom_file = "", .landlock_none = true };
    struct nt_launch_options options = { .deadline_ns = nacre_clock_ns() +
                                                        10 * NACRE_NS_PER_S };
    struct nt_launched launched;
    struct nt_stream stream;
    struct nacre_error err;
    enum nacre_status status;
    struct jail jail;
    bool changed = false;

    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    input.plan = &jail.plan;
    input.mounts = &mounts;
    CHILD_CHECK(nacre_mounts_open(&jail.plan, NULL, &mounts, &err) == NACRE_OK);
    CHILD_CHECK(nt_masks_open(&mounts, &user, jail.state, &masks, &err) == NACRE_OK);
    input.masks = nt_masks_items(masks, &input.mask_count);
    CHILD_CHECK(pr_spec_make(&input, &spec, &err) == NACRE_OK);
    for (size_t i = 0; i < spec.op_count; i++)
        if (spec.ops[i].kind == kind && spec.ops[i].inode > 0) {
            spec.ops[i].inode++;
            changed = true;
        }
    CHILD_CHECK(changed == (kind != SPEC_NONE));
    CHILD_CHECK(pr_spec_pack(&spec, &packed, &options.spec_bytes, &err) == NACRE_OK);
    options.spec = packed;
    options.fds = spec.fds;
    options.fd_count = spec.fd_count;
    CHILD_CHECK(nt_launcher_open(false, &launcher, &err) == NACRE_OK);
    CHILD_CHECK(nt_launch(launcher, &options, &launched, &err) == NACRE_OK);
    CHILD_CHECK(nt_launched_join(&launched, NULL, 0, &err) == NACRE_OK);
    CHILD_CHECK(nt_stream_fd(launched.channel_fd, &stream, &err) == NACRE_OK);
    launched.channel_fd = -1;
    status = nt_box_open(&stream, &config,
                         (struct nt_wait){ .deadline_ns = options.deadline_ns }, &box,
                         &err);
    CHILD_CHECK(status == (kind == SPEC_NONE ? NACRE_OK : NACRE_ERR_UNAVAILABLE));
    CHILD_CHECK(kind == SPEC_NONE || strstr(err.text, "Stale") != NULL);
    nt_box_free(nt_box_take(&box));
    CHILD_CHECK(nt_launched_end(&launched, &err) == NACRE_OK);
    jail_finish(&jail);
    return 0;
}

static void what_was_put_in_place_of_a_mount_or_a_denied_name_is_refused(void **state)
{
    enum spec_kind none = SPEC_NONE, held = SPEC_SELF, covered = SPEC_COVER,
                   bound = SPEC_TREE;

    (void)state;
    assert_true(jail_as_both(is_swapped, &none)); /* the control */
    assert_true(jail_as_both(is_swapped, &held));
    assert_true(jail_as_both(is_swapped, &covered));
    /* Root binds the very fd, so that there is nothing to compare. */
    assert_true(jail_as_nobody(is_swapped, &bound));
}

/* ---- the owner's end ---- */

static int dies(void *data)
{
    struct jail *jail = data;

    (void)jail_run(jail, "touch started; setsid sleep 63.4567 & sleep 63.4567");
    return 1;
}

static int is_killed(void *data)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    struct jail jail;
    pid_t owner;
    int status;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/missing");
    owner = fork();
    if (owner == 0)
        _exit(dies(&jail));
    for (int i = 0; i < 1000 && !(jail_has(&jail, "ws/started") &&
                                  jail_processes("63.4567") >= 2); i++)
        (void)nanosleep(&pause, NULL);
    CHILD_CHECK(jail_has(&jail, "ws/started"));
    CHILD_CHECK(kill(owner, SIGKILL) == 0 && waitpid(owner, &status, 0) == owner);
    CHILD_CHECK(jail_all_gone("63.4567"));
    /* What it could not clean up itself, the next one does. */
    CHILD_CHECK(jail_exits(&jail, "rm started", 0));
    CHILD_CHECK(!jail_has(&jail, "ws/a/missing"));
    jail_finish(&jail);
    return 0;
}

static void killing_the_owner_leaves_nothing_running(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_killed, NULL));
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static int repeats(void *data)
{
    struct jail jail;
    int fds;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    CHILD_CHECK(jail_exits(&jail, "true", 0));
    fds = count_fds();
    for (int i = 0; i < 20; i++)
        CHILD_CHECK(jail_exits(&jail, i % 2 ? "sleep 64.5678 & true" : "exit 3",
                               i % 2 ? 0 : 3));
    CHILD_CHECK(count_fds() == fds);
    CHILD_CHECK(jail_all_gone("64.5678"));
    jail_finish(&jail);
    CHILD_CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* no child, dead or alive */
    return 0;
}

static void many_runs_leave_no_process_and_no_fd(void **state)
{
    (void)state;
    assert_true(jail_as_both(repeats, NULL));
}

/* It waits for the next run as a child like any other, and may be killed. */
static int loses_launcher(void *data)
{
    struct jail jail;
    char text[64];

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_exits(&jail, "true", 0));
    (void)snprintf(text, sizeof(text), "pkill -KILL -P %d -f nacre-init", getpid());
    for (int i = 0; i < 3; i++) {
        (void)!system(text);
        CHILD_CHECK(jail_exits(&jail, "exit 4", 4));
    }
    jail_finish(&jail);
    return 0;
}

static void a_launcher_that_was_killed_is_replaced(void **state)
{
    (void)state;
    assert_true(jail_as_both(loses_launcher, NULL));
}

/* At whatever point of its way it is killed: it is the caller's own child. */
static int kills_pid1_early(void *data)
{
    const struct spec_head head = { .uid = geteuid() ? geteuid() : 1000,
                                    .gid = geteuid() ? getegid() : 1000,
                                    .hostname = "nacre" };

    (void)data;
    for (int i = 0; i < 150; i++) {
        struct timespec pause = { .tv_nsec = i * 10000 };
        struct nt_launcher *launcher = NULL;
        struct nacre_error err;
        siginfo_t info;
        char text[64];
        FILE *children;
        int pid = 0;

        CHILD_CHECK(nt_launcher_open(false, &launcher, &err) == NACRE_OK);
        nt_launcher_prepare(launcher, &head);
        (void)snprintf(text, sizeof(text), "/proc/self/task/%d/children", getpid());
        children = fopen(text, "re");
        CHILD_CHECK(children && fscanf(children, "%d", &pid) == 1);
        (void)fclose(children);
        (void)nanosleep(&pause, NULL);
        CHILD_CHECK(kill(pid, SIGKILL) == 0);
        nt_launcher_free(launcher);
        CHILD_CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0);
    }
    return 0;
}

static void a_pid_1_that_is_killed_early_leaves_no_zombie(void **state)
{
    (void)state;
    assert_exited(in_child(kills_pid1_early, NULL), 0);
}

static void *run_once(void *data)
{
    return jail_exits(data, "true", 0) ? NULL : data;
}

/* The thread whose launcher serves a run may be gone before that run is. */
static int outlives_thread(void *data)
{
    struct jail jail;
    pthread_t thread;
    void *failed;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    for (int i = 0; i < 3; i++) {
        CHILD_CHECK(pthread_create(&thread, NULL, run_once, &jail) == 0);
        CHILD_CHECK(pthread_join(thread, &failed) == 0 && failed == NULL);
        CHILD_CHECK(jail_exits(&jail, "sleep 0.2; exit 5", 5));
    }
    jail_finish(&jail);
    return 0;
}

static void a_run_does_not_end_with_the_thread_of_another(void **state)
{
    (void)state;
    assert_true(jail_as_both(outlives_thread, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_bomb_ends_with_its_sandbox),
        cmocka_unit_test(processes_are_counted_where_memory_is_waived),
        cmocka_unit_test(a_daemonised_child_does_not_outlive_its_command),
        cmocka_unit_test(a_command_that_ignores_signals_ends_at_its_deadline),
        cmocka_unit_test(an_output_flood_is_cut_at_the_byte),
        cmocka_unit_test(what_a_guest_writes_privately_is_bounded_in_bytes_and_files),
        cmocka_unit_test(memory_is_bounded_as_far_as_the_features_say),
        cmocka_unit_test(no_way_leads_out_by_proc_sys_or_new_namespaces),
        cmocka_unit_test(nobody_types_into_a_terminal),
        cmocka_unit_test(renaming_in_a_loop_uncovers_nothing),
        cmocka_unit_test(each_step_that_fails_means_that_nothing_is_executed),
        cmocka_unit_test(what_was_put_in_place_of_a_mount_or_a_denied_name_is_refused),
        cmocka_unit_test(killing_the_owner_leaves_nothing_running),
        cmocka_unit_test(many_runs_leave_no_process_and_no_fd),
        cmocka_unit_test(a_launcher_that_was_killed_is_replaced),
        cmocka_unit_test(a_pid_1_that_is_killed_early_leaves_no_zombie),
        cmocka_unit_test(a_run_does_not_end_with_the_thread_of_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
