/* Private directories: gone at the end, also when their owner was killed, and nobody
 * else's ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "scene.h"
#include "scratch_root.h"

/* Linked with -Wl,--wrap=time: a root counts as left behind only when it is some
 * seconds old. */
static time_t later_s;

time_t __real_time(time_t *ret_now);
time_t __wrap_time(time_t *ret_now);

time_t __wrap_time(time_t *ret_now)
{
    return __real_time(ret_now) + later_s;
}

static int start(void **state)
{
    later_s = 60;
    return scene_clear(state) || mkdir("base", 0700) || mkdir("out", 0700);
}

static int names_in(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static struct nacre_scratch *open_base(void)
{
    struct nacre_scratch *scratch = NULL;
    struct nacre_error err;

    if (nacre_scratch_open("base", &scratch, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return scratch;
}

static void sweep(void)
{
    nacre_scratch_free(open_base());
}

static void a_root_is_private_and_removed_at_the_end(void **state)
{
    int fds = scene_fds();
    struct nacre_scratch *scratch = open_base();
    char one[NACRE_SCRATCH_NAME], two[NACRE_SCRATCH_NAME];
    int one_fd, two_fd;
    struct nacre_error err;
    struct stat info;

    (void)state;
    assert_int_equal(names_in("base"), 1);
    assert_int_equal(nacre_scratch_make(scratch, one, &one_fd, &err), NACRE_OK);
    assert_int_equal(nacre_scratch_make(scratch, two, &two_fd, &err), NACRE_OK);
    assert_string_not_equal(one, two);
    assert_int_equal(fstat(one_fd, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(fstatat(one_fd, "..", &info, 0), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(mkdirat(one_fd, "made", 0700), 0);
    nacre_scratch_drop(scratch, one);
    assert_int_equal(fstat(one_fd, &info), 0);
    assert_int_equal(info.st_nlink, 0); /* gone, but for our own fd */
    assert_int_equal(fstat(two_fd, &info), 0);
    assert_true(info.st_nlink > 0);
    (void)close(one_fd);
    (void)close(two_fd);
    nacre_scratch_free(scratch);
    assert_int_equal(names_in("base"), 0);
    assert_int_equal(scene_fds(), fds);
}

static void what_was_never_used_can_go_at_once_and_nothing_else(void **state)
{
    struct nacre_scratch *scratch = open_base();
    char name[NACRE_SCRATCH_NAME];
    struct nacre_error err;
    struct stat info;
    int fd;

    (void)state;
    assert_int_equal(nacre_scratch_make(scratch, name, &fd, &err), NACRE_OK);
    assert_int_equal(mkdirat(fd, "made", 0700), 0);
    assert_false(nacre_scratch_drop_unused(scratch, name));
    assert_int_equal(fstatat(fd, "made", &info, 0), 0);
    assert_int_equal(unlinkat(fd, "made", AT_REMOVEDIR), 0);
    assert_true(nacre_scratch_drop_unused(scratch, name));
    assert_int_equal(mkdirat(fd, "late", 0700), -1); /* for whoever has it open still */
    assert_int_equal(errno, ENOENT);
    assert_false(nacre_scratch_drop_unused(scratch, name));
    (void)close(fd);
    nacre_scratch_free(scratch);
    assert_int_equal(names_in("base"), 0);
}

/* What an owner that is killed leaves: a file, and links to what is not its own. */
static int leave_things(void *data)
{
    struct nacre_scratch *scratch;
    char name[NACRE_SCRATCH_NAME];
    struct nacre_error err;
    int fd;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHILD_CHECK(nacre_scratch_open("base", &scratch, &err) == NACRE_OK);
    CHILD_CHECK(nacre_scratch_make(scratch, name, &fd, &err) == NACRE_OK);
    CHILD_CHECK(symlinkat("../../../out", fd, "out") == 0);
    CHILD_CHECK(symlinkat(scene_top, fd, "top") == 0 && mkdirat(fd, "d", 0700) == 0);
    CHILD_CHECK(symlinkat("../../../../out/canary", fd, "d/file") == 0);
    if (data) {
        CHILD_CHECK(write(*(int *)data, "r", 1) == 1);
        for (;;)
            (void)pause();
    }
    return 0;
}

static void a_killed_owners_root_is_swept_and_its_links_lead_nowhere(void **state)
{
    (void)state;
    scene_file("out/canary", "outside");
    assert_exited(in_child(leave_things, NULL), 0);
    assert_int_equal(names_in("base"), 1);
    sweep();
    assert_int_equal(names_in("base"), 0);
    assert_true(scene_holds("out/canary", "outside"));
}

static void a_young_root_is_left_alone(void **state)
{
    (void)state;
    later_s = 0; /* it may not have its lock yet */
    assert_exited(in_child(leave_things, NULL), 0);
    sweep();
    assert_int_equal(names_in("base"), 1);
    later_s = 60;
    sweep();
    assert_int_equal(names_in("base"), 0);
}

static void a_living_owners_root_is_left_alone(void **state)
{
    int ready[2];
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0)
        _exit(leave_things(&ready[1]));
    assert_true(pid > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    sweep();
    assert_int_equal(names_in("base"), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    sweep();
    assert_int_equal(names_in("base"), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void what_only_looks_like_a_root_is_not_touched(void **state)
{
    char command[600];
    unsigned uid = (unsigned)geteuid();

    (void)state;
    (void)snprintf(command, sizeof(command),
                   "mkdir base/nacre-%u base/nacre-x%u-0 base/nacre-%u0-1 base/other && "
                   ": >base/nacre-%u-file && ln -s ../out base/nacre-%u-link && "
                   "mkfifo base/nacre-%u-fifo && ln -s nowhere base/nacre-%u-dangling",
                   uid, uid, uid, uid, uid, uid, uid);
    scene_shell(command);
    scene_file("out/canary", "outside");
    if (uid == 0) { /* only root can make what is another's */
        assert_int_equal(mkdir("base/nacre-0-foreign", 0777), 0);
        scene_file("base/nacre-0-foreign/file", "theirs");
        assert_int_equal(chown("base/nacre-0-foreign", 65534, 65534), 0);
    }
    sweep();
    assert_int_equal(names_in("base"), uid == 0 ? 9 : 8);
    assert_true(scene_holds("out/canary", "outside"));
    assert_true(uid != 0 || scene_holds("base/nacre-0-foreign/file", "theirs"));
}

static void a_crowd_of_others_does_not_hide_what_is_ours(void **state)
{
    (void)state;
    scene_shell("cd base && for i in $(seq 1000); do : >other-$i; done");
    assert_exited(in_child(leave_things, NULL), 0);
    assert_int_equal(names_in("base"), 1001);
    sweep();
    assert_int_equal(names_in("base"), 1000);
}

static void failures_leave_nothing_behind(void **state)
{
    static const char *const bad[] = { "missing", "file", "file/none", "" };
    struct nacre_scratch *scratch = NULL;
    struct nacre_error err;
    bool fired = true;
    int fds = scene_fds();

    (void)state;
    scene_file("file", "");
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        assert_int_equal(nacre_scratch_open(bad[i], &scratch, &err), NACRE_ERR_IO);
        assert_null(scratch);
    }
    for (int n = 0; fired; n++) {
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = nacre_scratch_open("base", &scratch, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        if (status != NACRE_OK)
            assert_int_equal(status, NACRE_ERR_MEMORY);
        else
            nacre_scratch_free(scratch);
        scratch = NULL;
        assert_int_equal(names_in("base"), 0);
        assert_int_equal(scene_fds(), fds);
    }
    nacre_scratch_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_root_is_private_and_removed_at_the_end, start),
        cmocka_unit_test_setup(what_was_never_used_can_go_at_once_and_nothing_else,
                               start),
        cmocka_unit_test_setup(a_killed_owners_root_is_swept_and_its_links_lead_nowhere,
                               start),
        cmocka_unit_test_setup(a_young_root_is_left_alone, start),
        cmocka_unit_test_setup(a_living_owners_root_is_left_alone, start),
        cmocka_unit_test_setup(what_only_looks_like_a_root_is_not_touched, start),
        cmocka_unit_test_setup(a_crowd_of_others_does_not_hide_what_is_ours, start),
        cmocka_unit_test_setup(failures_leave_nothing_behind, start),
    };

    return cmocka_run_group_tests_name("scratch_root", tests, scene_enter, scene_leave);
}
