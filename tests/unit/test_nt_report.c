/* The kernel's own words against a plan: every difference is named, and what is not in
 * the kernel's form is a difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "box_scene.h"
#include "nt_report.h"
#include "scene.h"

#define STATUS                                                                         \
    "Name:\tx\nUmask:\t0022\nUid:\t1000\t1000\t1000\t1000\nGid:\t1\t1\t1\t1\n"         \
    "Groups:\t \nCapInh:\t0000000000000000\nCapEff:\t00000000a80425fb\n"               \
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
#define LIMITS                                                                         \
    "Limit                     Soft Limit           Hard Limit           Units     \n" \
    "Max cpu time              unlimited            unlimited            seconds   \n" \
    "Max open files            1024                 2048                 files     \n"
#define MOUNTS                                                                         \
    "1 0 0:1 / / ro,nosuid - overlay overlay rw,lowerdir=/ro\n"                        \
    "2 1 0:2 / /tmp rw,nosuid,nodev,noexec shared:7 - tmpfs none "                     \
    "rw,size=65536k,nr_inodes=100\n"                                                   \
    "3 1 8:1 /w /a\\040b rw,relatime - ext4 /dev/sda1 ro\n"                            \
    "5 4 0:5 / /over ro - tmpfs  rw\n4 1 0:4 / /over rw - tmpfs top rw\n"
#define STAT "64769 42 40755 0 1000 16914836 15 67108864 100"
#define NET_HEAD                                                                       \
    "Inter-|   Receive                                                |  Transmit\n"   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
#define LO "    lo:       0       0    0    0    0     0          0         0        0\n"
#define NINES "99999999999999999999999"

static const struct row {
    enum nt_check check;
    const char *key, *answer, *planned;
    const char *is; /* in the message; NULL: it is as planned */
} rows[] = {
    /* As planned. */
    { NT_CHECK_STATUS, "Uid", STATUS, "1000 1000 1000 1000", NULL },
    { NT_CHECK_STATUS, "Groups", STATUS, "", NULL },
    { NT_CHECK_STATUS, "CapEff", STATUS, "00000000a80425fb", NULL },
    { NT_CHECK_STATUS, "Seccomp", STATUS, "2", NULL },
    { NT_CHECK_LIMIT, "Max open files", LIMITS, "1024 2048", NULL },
    { NT_CHECK_LIMIT, "Max cpu time", LIMITS, "unlimited unlimited", NULL },
    { NT_CHECK_MOUNT, "/", MOUNTS, "ro nosuid type=overlay", NULL },
    { NT_CHECK_MOUNT, "/tmp", MOUNTS,
      "rw nosuid nodev noexec type=tmpfs bytes=67108864 inodes=100", NULL },
    { NT_CHECK_MOUNT, "/a b", MOUNTS, "ro type=ext4", NULL },
    { NT_CHECK_MOUNT, "/over", MOUNTS, "ro", NULL },
    { NT_CHECK_STAT, NULL, STAT,
      "device=64769 inode=42 mode=40755 uid=0 gid=1000 type=16914836 ro nosuid nodev "
      "noexec bytes=67108864 inodes=100", NULL },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD LO, NULL, NULL },
    { NT_CHECK_TEXT, NULL, "docker-default (enforce)\n", "docker-default (enforce)",
      NULL },
    { NT_CHECK_TEXT, NULL, "same", "same", NULL },
    { NT_CHECK_ONE_OF, NULL, "20\n", "20 59", NULL },
    { NT_CHECK_ONE_OF, NULL, "59\n", "20 59", NULL },
    { NT_CHECK_LINES, NULL, "b 2\na 1\n", "a 1\nb 2", NULL },
    { NT_CHECK_LINES, NULL, "a 1\n", "a 1", NULL },
    { NT_CHECK_LINES, NULL, "", "", NULL },
    { NT_CHECK_ERROR, NULL, "error EACCES", "EACCES", NULL },
    /* Different. */
    { NT_CHECK_STATUS, "Uid", STATUS, "1000 1000 1000 0", "1000 1000 1000 1000" },
    { NT_CHECK_STATUS, "Uid", STATUS, "1000", "1000 1000 1000 1000" },
    { NT_CHECK_STATUS, "Groups", "Groups:\t0 27\n", "", "0 27" },
    { NT_CHECK_STATUS, "CapEff", STATUS, "0000000000000000", "00000000a80425fb" },
    { NT_CHECK_STATUS, "Seccomp", "Seccomp_filters:\t2\n", "2", "missing" },
    { NT_CHECK_STATUS, "Seccomp", "xSeccomp:\t2\n", "2", "missing" },
    { NT_CHECK_STATUS, "Seccomp", "Seccomp:\t2\nSeccomp:\t0\n", "2", "missing" },
    { NT_CHECK_STATUS, "Seccomp", "Seccomp:\t2\nSeccomp:\t2\n", "2", "missing" },
    { NT_CHECK_STATUS, "Seccomp", "", "2", "missing" },
    { NT_CHECK_STATUS, "Seccomp", "error ENOENT", "2", "error ENOENT" },
    { NT_CHECK_STATUS, "Groups",
      "Groups:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n", "",
      "\\x091 2 3" },
    { NT_CHECK_LIMIT, "Max open files", LIMITS, "1024 1024", "1024 2048" },
    { NT_CHECK_LIMIT, "Max open", LIMITS, "1024 2048", "files 1024" },
    { NT_CHECK_LIMIT, "Max open files", "Max open files", "1024 2048", "missing" },
    { NT_CHECK_LIMIT, "Max open files", "Max open files 1024", "1024 2048", "missing" },
    { NT_CHECK_LIMIT, "Max processes", LIMITS, "1 1", "missing" },
    { NT_CHECK_MOUNT, "/", MOUNTS, "rw", "1 0 0:1 / / ro,nosuid" },
    { NT_CHECK_MOUNT, "/", MOUNTS, "nodev", "1 0 0:1 / / ro,nosuid" },
    { NT_CHECK_MOUNT, "/tmp", MOUNTS, "bytes=67108863", "2 1 0:2" },
    { NT_CHECK_MOUNT, "/tmp", MOUNTS, "size=67108864", "2 1 0:2" },
    { NT_CHECK_MOUNT, "/tmp", MOUNTS, "nosuid,nodev", "2 1 0:2" },
    { NT_CHECK_MOUNT, "/", MOUNTS, "inodes=", "1 0 0:1" },
    { NT_CHECK_MOUNT, "/", MOUNTS, "bytes=", "1 0 0:1" },
    { NT_CHECK_MOUNT, "/a b", MOUNTS, "rw", "3 1 8:1" },
    { NT_CHECK_MOUNT, "/a\\040b", MOUNTS, "ro", "not mounted" },
    { NT_CHECK_MOUNT, "/a", MOUNTS, "ro", "not mounted" },
    { NT_CHECK_MOUNT, "/over", MOUNTS, "rw", "5 4 0:5" },
    { NT_CHECK_MOUNT, "/tmp", "2 1 0:2 / /tmp ro\n" MOUNTS, "rw", "not mounted" },
    { NT_CHECK_MOUNT, "/tmp", "2 1 0:2 / /tm\\1 ro - a b c\n", "ro", "not mounted" },
    { NT_CHECK_MOUNT, "/tmp", "2 1 0:2 / /tm\\999 ro - a b c\n", "ro", "not mounted" },
    { NT_CHECK_MOUNT, "/tmp", "2 1 0:2 / /tmp rw - tmpfs t size=" NINES "k\n",
      "bytes=" NINES, "2 1 0:2" },
    { NT_CHECK_MOUNT, "/tmp", "2 1 0:2 / /tmp rw - tmpfs t size=64\n", "bytes=64",
      "2 1 0:2" },
    { NT_CHECK_MOUNT, "/m", "1 2 0:0 / /m ro - a b c\n2 1 0:0 / /m ro - a b c\n", "ro",
      "not mounted" },
    { NT_CHECK_STAT, NULL, STAT, "rw", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT, "inode=4", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT, "inode=422", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT, "inode=", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT, "inode", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT, "nonsense=1", "64769 42" },
    { NT_CHECK_STAT, NULL, STAT " 1", "inode=42", "64769 42" },
    { NT_CHECK_STAT, NULL, "64769 42 40755", "inode=42", "64769 42" },
    { NT_CHECK_STAT, NULL, "64769 42 40755 0 0 1 -1 1 1", "inode=42", "64769 42" },
    { NT_CHECK_STAT, NULL, "", "rw", "" },
    { NT_CHECK_STAT, NULL, "error EACCES", "rw", "error EACCES" },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD LO "  eth0: 1 2\n", NULL, "eth0" },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD "  eth0: 1 2\n" LO, NULL, "eth0" },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD LO LO, NULL, "lo" },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD "  loo: 1\n", NULL, "loo" },
    { NT_CHECK_LOOPBACK, NULL, NET_HEAD, NULL, "no device" },
    { NT_CHECK_LOOPBACK, NULL, LO, NULL, "    lo:" },
    { NT_CHECK_LOOPBACK, NULL, "", NULL, "" },
    { NT_CHECK_TEXT, NULL, "same\n\n", "same", "same\\x0a" },
    { NT_CHECK_TEXT, NULL, "sam", "same", "sam" },
    { NT_CHECK_TEXT, NULL, "unconfined\n", "docker-default (enforce)", "unconfined" },
    { NT_CHECK_TEXT, NULL, "error ENOENT", "error ENOENT", "error ENOENT" },
    { NT_CHECK_ONE_OF, NULL, "100\n", "20 59", "100" },
    { NT_CHECK_ONE_OF, NULL, "5\n", "20 59", "5" },
    { NT_CHECK_ONE_OF, NULL, "20 59\n", "20 59", "20 59" },
    { NT_CHECK_ONE_OF, NULL, "\n", "20 59", "" },
    { NT_CHECK_ONE_OF, NULL, "", "20 59", "" },
    { NT_CHECK_LINES, NULL, "a 1\nc 3\n", "a 1\nb 2", "c 3" },
    { NT_CHECK_LINES, NULL, "a 1\n", "a 1\nb 2", "a 1" },
    { NT_CHECK_LINES, NULL, "a 1\na 1\n", "a 1\nb 2", "a 1\\x0aa 1" },
    { NT_CHECK_LINES, NULL, "a 1\na 1\n", "a 1", "a 1\\x0aa 1" },
    { NT_CHECK_LINES, NULL, "a 1 2\n", "a 1", "a 1 2" },
    { NT_CHECK_LINES, NULL, "", "a 1", "" },
    { NT_CHECK_ERROR, NULL, "error ENOENT", "EACCES", "ENOENT" },
    { NT_CHECK_ERROR, NULL, "error EACCES\n", "EACCES", "EACCES\\x0a" },
    { NT_CHECK_ERROR, NULL, "secret", "EACCES", "secret" },
    { NT_CHECK_ERROR, NULL, "error ", "", "error " },
    { NT_CHECK_ERROR, NULL, "", "EACCES", "" },
};

static enum nacre_status check(const struct row *row, const char *answer, size_t count)
{
    const struct nt_expect expect = { "it", row->check, "file /x", row->key,
                                      row->planned };

    return nt_report_check(&expect, answer, count, &err);
}

static void what_differs_from_the_plan_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        enum nacre_status status = check(&rows[i], rows[i].answer,
                                         strlen(rows[i].answer));
        char said[256];

        (void)snprintf(said, sizeof(said), "not as planned: it is '%s",
                       rows[i].is ? rows[i].is : "");
        if (status != (rows[i].is ? NACRE_ERR_UNAVAILABLE : NACRE_OK) ||
            (rows[i].is && !strstr(err.text, said)))
            fail_msg("row %zu: %d %s", i, (int)status, err.text);
    }
}

/* Of each right answer every beginning, read to its very end and not beyond. */
static void a_cut_answer_is_judged_within_its_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        for (size_t count = 0; count < strlen(rows[i].answer); count++) {
            char *exact = malloc(count + 1);

            assert_non_null(exact);
            memcpy(exact, rows[i].answer, count);
            exact[count] = '\0';
            (void)!check(&rows[i], exact, count);
            free(exact);
        }
}

static void an_answer_that_is_missing_or_cut_short_is_a_difference(void **state)
{
    char *long_answer = malloc(ANSWER_BYTES_MAX + 1);

    (void)state;
    assert_non_null(long_answer);
    memset(long_answer, '\n', ANSWER_BYTES_MAX);
    memcpy(long_answer, STATUS, strlen(STATUS));
    long_answer[ANSWER_BYTES_MAX] = '\0';
    assert_int_equal(check(&rows[0], NULL, 0), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "init has not answered"));
    assert_int_equal(check(&rows[0], long_answer, ANSWER_BYTES_MAX - 1), NACRE_OK);
    assert_int_equal(check(&rows[0], long_answer, ANSWER_BYTES_MAX),
                     NACRE_ERR_UNAVAILABLE);
    free(long_answer);
    assert_int_equal(check(&rows[12], "same\0x", 6), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(check(&rows[13], "same\0", 5), NACRE_OK);
}

static void report_and_idle(struct fake_init *self)
{
    (void)fake_init_report(self);
    fake_init_idle(self);
}

static void every_row_is_judged(void **state)
{
    const struct nt_expect expects[] = {
        { "a", NT_CHECK_TEXT, "file /a", NULL, "one" },
        { "b", NT_CHECK_TEXT, "stat /b", NULL, "" },
        { "c", NT_CHECK_TEXT, "stat /c", NULL, "" },
    };
    struct nt_box *box = opened(report_and_idle, NULL);

    (void)state;
    assert_int_equal(nt_report_judge(box, expects, 2, &err), NACRE_OK);
    assert_int_equal(nt_report_judge(box, expects, 3, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "c is 'unknown"));
    closed(box);
}

/* ---- what nacre holds, and what the sandbox sees ---- */

static void a_bind_is_known_by_what_the_fd_holds(void **state)
{
    char words_of[NT_IDENTITY], answer[128];
    struct nt_expect expect = { "/w", NT_CHECK_STAT, "stat /w", NULL, words_of };
    int fd = open(scene_top, O_PATH | O_CLOEXEC);
    struct stat info;

    (void)state;
    assert_int_equal(nt_report_identity(fd, words_of, &err), NACRE_OK);
    assert_int_equal(stat(scene_top, &info), 0);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(answer, sizeof(answer), "%ju %ju 40755 0 0 1 0 0 0",
                       (uintmax_t)info.st_dev + (i == 1),
                       (uintmax_t)info.st_ino + (i == 2));
        assert_int_equal(nt_report_check(&expect, answer, strlen(answer), &err),
                         i == 0 ? NACRE_OK : NACRE_ERR_UNAVAILABLE);
    }
    (void)close(fd);
    assert_int_equal(nt_report_identity(-1, words_of, &err), NACRE_ERR_IO);
}

/* As init answers for what lies at `name`. */
static int answer_for(const char *name, char ret_answer[128])
{
    struct stat info;

    if (lstat(name, &info) != 0)
        return snprintf(ret_answer, 128, "error ENOENT");
    return snprintf(ret_answer, 128, "1 2 %o %u %u 3 0 4 5", info.st_mode, info.st_uid,
                    info.st_gid);
}

static void a_nonce_is_seen_by_who_sees_the_directory(void **state)
{
    struct nt_nonce *nonce = NULL;
    const struct nt_expect *expect;
    int fd = open(scene_top, O_PATH | O_CLOEXEC), fds = scene_fds(), count;
    char answer[128], name[128], state_dir[NACRE_PATH_MAX];

    (void)state;
    (void)scene_path(state_dir, "state");
    assert_int_equal(mkdir(state_dir, 0700), 0);
    assert_int_equal(nt_nonce_make(state_dir, fd, "/w", &nonce, &err), NACRE_OK);
    expect = nt_nonce_expect(nonce);
    assert_int_equal(strncmp(expect->question, "stat /w/.nacre-nonce-", 21), 0);
    (void)snprintf(name, sizeof(name), "%s", expect->question + strlen("stat /w/"));
    assert_int_equal(strlen(name), strlen(".nacre-nonce-") + 64);
    count = answer_for(name, answer);
    assert_int_equal(nt_report_check(expect, answer, (size_t)count, &err), NACRE_OK);
    /* Another file of that name is none, nor is another name. */
    assert_int_equal(chmod(name, 0644), 0);
    count = answer_for(name, answer);
    assert_int_equal(nt_report_check(expect, answer, (size_t)count, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_int_equal(chmod(name, 01600), 0);
    count = answer_for("state/nothing", answer);
    assert_int_equal(nt_report_check(expect, answer, (size_t)count, &err),
                     NACRE_ERR_UNAVAILABLE);
    nt_nonce_free(nonce);
    assert_false(scene_has(name));
    assert_int_equal(scene_fds(), fds);

    assert_int_equal(nt_nonce_make(state_dir, fd, "/", &nonce, &err), NACRE_OK);
    assert_int_equal(strncmp(nt_nonce_expect(nonce)->question, "stat /.nacre", 12), 0);
    nt_nonce_free(nonce);
    assert_int_not_equal(nt_nonce_make(state_dir, -1, "/w", &nonce, &err), NACRE_OK);
    (void)close(fd);
}

static void the_nonce_of_an_owner_that_died_goes_with_the_next(void **state)
{
    int fd = open(scene_top, O_PATH | O_CLOEXEC), status;
    char state_dir[NACRE_PATH_MAX];
    struct nt_nonce *nonce = NULL;
    pid_t pid;

    (void)state;
    (void)scene_path(state_dir, "state");
    pid = fork();
    if (pid == 0)
        _exit(nt_nonce_make(state_dir, fd, "/w", &nonce, &err) == NACRE_OK ? 7 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(system("ls -A | grep -q nonce"), 0);
    assert_int_equal(nt_nonce_make(state_dir, fd, "/w", &nonce, &err), NACRE_OK);
    nt_nonce_free(nonce);
    assert_int_not_equal(system("ls -A | grep -q nonce"), 0);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_from_the_plan_is_named),
        cmocka_unit_test(a_cut_answer_is_judged_within_its_bounds),
        cmocka_unit_test(an_answer_that_is_missing_or_cut_short_is_a_difference),
        cmocka_unit_test(every_row_is_judged),
        cmocka_unit_test(a_bind_is_known_by_what_the_fd_holds),
        cmocka_unit_test(a_nonce_is_seen_by_who_sees_the_directory),
        cmocka_unit_test(the_nonce_of_an_owner_that_died_goes_with_the_next),
    };

    return cmocka_run_group_tests_name("nt_report", tests, scene_enter, scene_leave);
}
