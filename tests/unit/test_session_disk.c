/*
 * Workspaces of sessions that hold so much and no more: an ext4 in a file.  For root;
 * another user is told so, and has workspaces as ever.  All of it in a mount namespace of
 * the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "in_child.h"
#include "nacre/disk.h"
#include "nacre/own.h"
#include "scene.h"
#include "session_scene.h"

#define MIB (UINT64_C(1) << 20)
#define LOOP_MAJOR 7

static struct fake_boxes boxes;
static const struct nacre_sessions_ender ender = { fake_end, &boxes };

static int enter(void **state)
{
    int failed = scene_enter(state);

    if (failed == 0 && geteuid() == 0 &&
        (unshare(CLONE_NEWNS) != 0 ||
         mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0))
        return -1;
    return failed;
}

/* Whatever a test that failed has left. */
static int clear(void **state)
{
    scene_shell("for d in root/*; do while umount \"$d\" 2>/dev/null; do :; done; done");
    return scene_clear(state);
}

static int leave(void **state)
{
    return clear(state) || scene_leave(state);
}

static void make(struct hand *hand, const char *key, uint64_t bytes)
{
    hand_make(hand, key);
    hand->shell.container.disk_bytes.value = bytes;
}

static struct nacre_session_hold *held(const struct hand *hand)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;

    if (hand_open(hand, in_seconds(10), &hold, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return hold;
}

static enum nacre_status no_jobs(void *data, const char *key, uint32_t *ret_ended,
                                 struct nacre_error *err)
{
    (void)data, (void)key, (void)err;
    *ret_ended = 0;
    return NACRE_OK;
}

static void end(const struct hand *hand)
{
    const struct nacre_sessions_end how = { .key = hand->key,
                                            .deadline_ns = in_seconds(10),
                                            .end_jobs = no_jobs };
    struct nacre_sessions_report report;
    struct nacre_error err;

    if (nacre_sessions_end(session_state, &how, &ender, &report, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(report.workspaces, 1);
}

/* Loop devices that are at a file below this scene. */
static int devices(void)
{
    char path[PATH_MAX], text[PATH_MAX], here[PATH_MAX];
    int count = 0;

    (void)scene_path(here, "state");
    for (int i = 0; i < 256; i++) {
        FILE *file;

        (void)snprintf(path, sizeof(path), "/sys/block/loop%d/loop/backing_file", i);
        file = fopen(path, "re");
        if (file && fgets(text, sizeof(text), file))
            count += strncmp(text, here, strlen(here)) == 0;
        if (file)
            (void)fclose(file);
    }
    return count;
}

static int mounts(void)
{
    char line[PATH_MAX], here[PATH_MAX];
    FILE *file = fopen("/proc/self/mountinfo", "re");
    int count = 0;

    assert_non_null(file);
    (void)scene_path(here, "root");
    while (fgets(line, sizeof(line), file))
        count += strstr(line, here) != NULL;
    (void)fclose(file);
    return count;
}

/* A loop device goes a moment after its last mount. */
static void assert_nothing_is_left(void)
{
    int left;

    for (left = 200; left > 0 && devices() > 0; left--)
        (void)usleep(10000);
    assert_int_equal(devices(), 0);
    assert_int_equal(mounts(), 0);
    assert_int_equal(count_names("root", ""), 0);
    assert_int_equal(count_names("state/sessions", ".disk"), 0);
    assert_int_equal(records(), 0);
}

/* How much can be written to `name` until something says no; that is *ret_why. */
static uint64_t fill(int dir_fd, const char *name, uint64_t most, int *ret_why)
{
    static char block[64 << 10];
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t count = 0;
    ssize_t put = 0;

    assert_true(fd >= 0);
    while (count < most && (put = write(fd, block, sizeof(block))) > 0)
        count += (uint64_t)put;
    *ret_why = put < 0 ? errno : 0;
    return count;
}

static void a_workspace_holds_what_it_may_and_no_more(void **state)
{
    struct hand hand, free_one;
    NACRE_AUTO(nacre_session_hold_guard) struct nacre_session_hold *hold = NULL;
    NACRE_AUTO(nacre_session_hold_guard) struct nacre_session_hold *other = NULL;
    uint64_t bytes = 0;
    struct stat info, image;
    int why = 0;

    (void)state;
    make(&hand, "one", 16 * MIB);
    hold = held(&hand);
    assert_int_equal(count_names("root", ""), 1);
    assert_int_equal(count_names(hand.box, ""), 0); /* no lost+found */
    assert_true(nacre_disk_bound(nacre_session_hold_fd(hold), &bytes));
    assert_int_equal(bytes, 16 * MIB);
    assert_int_equal(fstat(nacre_session_hold_fd(hold), &info), 0);
    assert_int_equal(major(info.st_dev), LOOP_MAJOR);
    assert_int_equal(info.st_uid, 1000);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_in_range(fill(nacre_session_hold_fd(hold), "x", 64 * MIB, &why), 8 * MIB,
                    16 * MIB);
    assert_int_equal(why, ENOSPC);
    assert_int_equal(count_names("state/sessions", ".disk"), 1);
    assert_int_equal(stat(hand.box, &image), 0);
    assert_int_equal(image.st_dev, info.st_dev); /* by its name it is the same */
    /* And where nothing was asked for, nothing is bounded. */
    make(&free_one, "two", 0);
    other = held(&free_one);
    assert_false(nacre_disk_bound(nacre_session_hold_fd(other), &bytes));
    assert_int_equal(fill(nacre_session_hold_fd(other), "x", 24 * MIB, &why), 24 * MIB);
    nacre_session_hold_free(nacre_session_hold_take(&hold));
    nacre_session_hold_free(nacre_session_hold_take(&other));
    end(&hand);
    end(&free_one);
    assert_nothing_is_left();
}

static void what_is_in_it_is_there_the_next_time(void **state)
{
    struct hand hand;

    (void)state;
    make(&hand, "one", 16 * MIB);
    hand_use(&hand);
    scene_shell("cd root/one-* && echo kept >note");
    hand_use(&hand);
    assert_int_equal(mounts(), 1);
    assert_int_equal(devices(), 1);
    scene_shell("grep -q kept root/one-*/note");
    /* As after the machine's end: the mount is gone, the file is there. */
    assert_int_equal(umount2(hand.box, 0), 0);
    assert_int_equal(count_names(hand.box, ""), 0);
    hand_use(&hand);
    scene_shell("grep -q kept root/one-*/note");
    /* The configuration says nothing of it any more: it is where it was. */
    hand.shell.container.disk_bytes.value = 0;
    hand_use(&hand);
    scene_shell("grep -q kept root/one-*/note");
    end(&hand);
    assert_nothing_is_left();
}

static void one_with_files_already_stays_as_it_is(void **state)
{
    struct hand hand;
    NACRE_AUTO(nacre_session_hold_guard) struct nacre_session_hold *hold = NULL;
    uint64_t bytes = 0;

    (void)state;
    make(&hand, "one", 0);
    hand_use(&hand);
    scene_shell("cd root/one-* && echo kept >note");
    hand.shell.container.disk_bytes.value = 16 * MIB;
    hold = held(&hand);
    assert_false(nacre_disk_bound(nacre_session_hold_fd(hold), &bytes));
    scene_shell("grep -q kept root/one-*/note");
    nacre_session_hold_free(nacre_session_hold_take(&hold));
    end(&hand);
    assert_nothing_is_left();
}

static int use_elsewhere(void *data)
{
    const struct hand *hand = data;
    NACRE_AUTO(nacre_session_hold_guard) struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct stat info;

    CHILD_CHECK(unshare(CLONE_NEWNS) == 0 && umount2(hand->box, 0) == 0);
    CHILD_CHECK(access(hand->box, F_OK) == 0 && count_names(hand->box, "") == 0);
    CHILD_CHECK(hand_open(hand, in_seconds(10), &hold, &err) == NACRE_OK);
    CHILD_CHECK(devices() == 1);
    CHILD_CHECK(fstatat(nacre_session_hold_fd(hold), "note", &info, 0) == 0);
    return 0;
}

/* Two devices over one file would be two file systems that know nothing of each other. */
static void in_another_mount_namespace_it_is_the_same_device(void **state)
{
    struct hand hand;

    (void)state;
    make(&hand, "one", 16 * MIB);
    hand_use(&hand);
    scene_shell("cd root/one-* && echo kept >note");
    assert_exited(in_child(use_elsewhere, &hand), 0);
    end(&hand);
    assert_nothing_is_left();
}

/* Of the steps from the disk on: those before are test_session_hold's. */
static void die_later(void *data, const char *name)
{
    static bool is_disk;

    is_disk |= strcmp(name, "make a disk") == 0;
    if (is_disk)
        die_at(data, name);
}

static int open_dying(void *data)
{
    struct hand hand;
    const struct nacre_session_open_options options = {
        .state_dir = session_state, .deadline_ns = in_seconds(10),
        .step = die_later, .step_data = data,
    };
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;

    make(&hand, "one", 16 * MIB);
    CHILD_CHECK(nacre_session_open(&hand.session, &options, &hold, &err) == NACRE_OK);
    return 0;
}

static void who_is_killed_at_any_step_leaves_nothing_for_ever(void **state)
{
    struct hand hand;
    int steps, status = 0;

    (void)state;
    make(&hand, "one", 16 * MIB);
    for (steps = 0; steps < 100; steps++) {
        struct dying dying = { .left = steps };

        status = in_child(open_dying, &dying);
        hand_use(&hand);
        assert_int_equal(devices(), 1);
        end(&hand);
        assert_nothing_is_left();
        if (WIFEXITED(status))
            break;
        assert_killed(status, SIGKILL);
    }
    assert_exited(status, 0);
    assert_in_range(steps, 3, 99);
}

static void what_can_not_be_made_says_so_and_leaves_nothing(void **state)
{
    struct hand hand;
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;

    (void)state;
    make(&hand, "one", 4096); /* no file system is so small */
    assert_int_not_equal(hand_open(&hand, in_seconds(10), &hold, &err), NACRE_OK);
    assert_non_null(strstr(err.text, "the disk of a session"));
    assert_non_null(strstr(err.text, "mkfs.ext4 failed: "));
    assert_int_equal(count_names("state/sessions", ".disk"), 0);
    assert_int_equal(devices(), 0);
    assert_int_equal(mounts(), 0);
    end(&hand);
    assert_nothing_is_left();
}

static void another_user_is_told_and_has_an_ordinary_one(void **state)
{
    struct hand hand;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_disk_probe(&err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "only root"));
    make(&hand, "one", 16 * MIB);
    hand_use(&hand);
    assert_int_equal(count_names("state/sessions", ".disk"), 0);
}

int main(void)
{
    const struct CMUnitTest of_root[] = {
        cmocka_unit_test_setup(a_workspace_holds_what_it_may_and_no_more, clear),
        cmocka_unit_test_setup(what_is_in_it_is_there_the_next_time, clear),
        cmocka_unit_test_setup(one_with_files_already_stays_as_it_is, clear),
        cmocka_unit_test_setup(in_another_mount_namespace_it_is_the_same_device,
                               clear),
        cmocka_unit_test_setup(who_is_killed_at_any_step_leaves_nothing_for_ever,
                               clear),
        cmocka_unit_test_setup(what_can_not_be_made_says_so_and_leaves_nothing,
                               clear),
    };
    const struct CMUnitTest of_others[] = {
        cmocka_unit_test_setup(another_user_is_told_and_has_an_ordinary_one, clear),
    };

    return geteuid() == 0
               ? cmocka_run_group_tests_name("session_disk", of_root, enter, leave)
               : cmocka_run_group_tests_name("session_disk", of_others, enter, leave);
}
