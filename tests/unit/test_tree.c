/* Trees that a guest left are removed: whatever their shape, and nothing beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>

#include "in_child.h"
#include "nacre/tree.h"
#include "scene.h"

static void removes(const char *name)
{
    struct nacre_error err;
    int fds = scene_fds();

    if (nacre_tree_remove(AT_FDCWD, name, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_false(scene_has(name));
    assert_int_equal(scene_fds(), fds);
}

#define LEVELS 10000

static int remove_with_few_fds(void *data)
{
    const struct rlimit few = { 8, 8 };
    struct nacre_error err;
    int here = open(".", O_RDONLY | O_DIRECTORY);
    int fd = here;

    (void)data;
    CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int i = 0; i < LEVELS; i++) {
        int below;

        CHILD_CHECK(mkdirat(fd, "d", 0700) == 0);
        below = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        CHILD_CHECK(below >= 0);
        if (fd != here)
            (void)close(fd);
        fd = below;
    }
    (void)close(fd);
    CHILD_CHECK(nacre_tree_remove(here, "d", &err) == NACRE_OK);
    return 0;
}

static void depth_costs_no_fds(void **state)
{
    (void)state;
    assert_exited(in_child(remove_with_few_fds, NULL), 0);
    assert_false(scene_has("d"));
}

static void width_is_no_matter(void **state)
{
    (void)state;
    scene_shell("mkdir wide && cd wide && for i in $(seq 400); do mkdir -p d$i/e/f; "
                ": >d$i/file; : >d$i/e/file; : >file$i; done");
    removes("wide");
}

static void names_like_our_own_are_only_names(void **state)
{
    (void)state;
    scene_shell("mkdir -p t/.nacre-moved-0/.nacre-moved-1/x t/.nacre-moved-3/y "
                "t/a/.nacre-moved-0/.nacre-moved-2/z t/a/b/c t/a/.nacre-moved-1 && "
                ": >t/.nacre-moved-2 && : >t/a/b/c/.nacre-moved-0 && "
                "ln -s .. t/.nacre-moved-4");
    removes("t");
}

static void links_lead_nowhere(void **state)
{
    (void)state;
    scene_shell("mkdir -p out/dir t/deep/deeper && ln -s \"$PWD/out\" t/out && "
                "ln -s ../../../out t/deep/deeper/out && ln -s ../out/canary t/file && "
                "ln -s loop t/loop && ln -s nowhere t/dangling && ln -s / t/root && "
                "ln -s . t/deep/self");
    scene_file("out/canary", "outside");
    scene_file("out/dir/canary", "outside");
    assert_int_equal(link("out/canary", "t/deep/hard"), 0);
    removes("t");
    assert_true(scene_holds("out/canary", "outside"));
    assert_true(scene_holds("out/dir/canary", "outside"));
    /* Nor when the name itself is one. */
    assert_int_equal(symlink("out", "link"), 0);
    removes("link");
    assert_true(scene_holds("out/dir/canary", "outside"));
    /* The control: by its own name it goes. */
    removes("out");
}

static void special_files_are_removed_unopened(void **state)
{
    (void)state;
    scene_shell("mkdir -p t/d && mkfifo t/fifo t/d/fifo");
    removes("t");
}

static void what_is_missing_is_no_failure(void **state)
{
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_tree_remove(AT_FDCWD, "nothing", &err), NACRE_OK);
    scene_file("file", "");
    removes("file");
}

static void empty_leaves_the_directory(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_error err;

    (void)state;
    scene_shell("mkdir -p t/a/b && : >t/a/b/c && : >t/d");
    fd = open("t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(nacre_tree_empty(fd, &err), NACRE_OK);
    assert_int_equal(rmdir("t"), 0); /* which takes an empty one only */
    assert_int_equal(nacre_tree_empty(-1, &err), NACRE_ERR_IO);
}

/* As a user: root may do everything, so root becomes one. */
static bool become_a_user(void)
{
    return geteuid() != 0 || (setresgid(65534, 65534, 65534) == 0 &&
                              setresuid(65534, 65534, 65534) == 0);
}

static int remove_anothers_as_a_user(void *data)
{
    struct nacre_error err;
    int fds = scene_fds();

    (void)data;
    CHILD_CHECK(become_a_user());
    CHILD_CHECK(nacre_tree_remove(AT_FDCWD, "t", &err) == NACRE_ERR_IO);
    CHILD_CHECK(err.sys_errno == EACCES && strstr(err.text, "\\x1b[31mshut"));
    CHILD_CHECK(!strchr(err.text, '\033'));
    /* A directory in one that may not be written. */
    CHILD_CHECK(nacre_tree_remove(AT_FDCWD, "ro", &err) == NACRE_ERR_IO);
    CHILD_CHECK(err.sys_errno == EACCES);
    CHILD_CHECK(scene_fds() == fds);
    return 0;
}

static void go_where_a_user_may_write(void)
{
    assert_int_equal(mkdir("user", 0777), 0);
    assert_int_equal(chmod("user", 0777), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(chdir("user"), 0);
}

static void what_cannot_be_removed_is_told_by_its_name(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* who else has something of another's? */
    go_where_a_user_may_write();
    assert_int_equal(mkdir("t", 0777) | chmod("t", 0777), 0);
    scene_shell("mkdir -p t/'\033[31mshut'/in ro/sub && chmod 700 t/*shut && chmod 755 ro");
    assert_exited(in_child(remove_anothers_as_a_user, NULL), 0);
    removes("t"); /* the control */
    removes("ro");
    assert_int_equal(chdir(".."), 0);
}

/* At every depth, and of every kind of shutting. */
static int remove_shut_as_a_user(void *data)
{
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(become_a_user());
    CHILD_CHECK(system("mkdir -p t/a/b/c/d t/x/y t/only-r/in t/only-x/in out/dir && "
                       ": >t/a/b/c/d/file && : >t/x/y/file && : >out/dir/canary && "
                       "ln -s ../../out t/a/link && ln -s ../out t/x/link && "
                       "chmod 0 t/a/b/c/d t/a/b/c t/a/b t/x/y && chmod 500 t/x && "
                       "chmod 400 t/only-r && chmod 100 t/only-x && chmod 500 out && "
                       "chmod 0 t/a && chmod 0 t") == 0);
    if (nacre_tree_remove(AT_FDCWD, "t", &err) != NACRE_OK) {
        dprintf(2, "%s\n", err.text);
        return 1;
    }
    CHILD_CHECK(!scene_has("t") && scene_has("out/dir/canary"));
    return 0;
}

static void what_its_owner_shut_is_opened_and_removed(void **state)
{
    struct stat st;

    (void)state;
    go_where_a_user_may_write();
    assert_exited(in_child(remove_shut_as_a_user, NULL), 0);
    assert_int_equal(stat("out", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500); /* beyond a link nothing is opened */
    assert_int_equal(chdir(".."), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(depth_costs_no_fds, scene_clear),
        cmocka_unit_test_setup(width_is_no_matter, scene_clear),
        cmocka_unit_test_setup(names_like_our_own_are_only_names, scene_clear),
        cmocka_unit_test_setup(links_lead_nowhere, scene_clear),
        cmocka_unit_test_setup(special_files_are_removed_unopened, scene_clear),
        cmocka_unit_test_setup(what_is_missing_is_no_failure, scene_clear),
        cmocka_unit_test_setup(empty_leaves_the_directory, scene_clear),
        cmocka_unit_test_setup(what_cannot_be_removed_is_told_by_its_name, scene_clear),
        cmocka_unit_test_setup(what_its_owner_shut_is_opened_and_removed, scene_clear),
    };

    return cmocka_run_group_tests_name("tree", tests, scene_enter, scene_leave);
}
