/* What is put into a session's workspace: under names that are safe, whole or not at all,
 * and never by a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "in_child.h"
#include "scene.h"
#include "session_scene.h"

static struct hand hand;
static struct nacre_session_hold *hold;

static int enter(void **state)
{
    struct nacre_error err;

    if (scene_clear(state) != 0)
        return -1;
    hand_make(&hand, "one");
    hold = NULL;
    return hand_open(&hand, 0, &hold, &err) == NACRE_OK ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    nacre_session_hold_free(hold);
    return 0;
}

static const char *inside(const char *name)
{
    static char path[2 * NACRE_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", hand.box, name);
    return path;
}

static void puts_as(const char *path, const char *wanted)
{
    char name[NACRE_MEDIA_NAME];
    struct nacre_error err;

    if (nacre_session_put_file(hold, path, name, &err) != NACRE_OK)
        fail_msg("%s: %s", path, err.text);
    assert_string_equal(name, wanted);
}

static void refuses(const char *path, enum nacre_status wanted)
{
    char name[NACRE_MEDIA_NAME] = "unchanged";
    struct nacre_error err;
    int before = count_names(inside("media/inbound"), "");

    assert_int_equal(nacre_session_put_file(hold, path, name, &err), wanted);
    assert_string_equal(name, "unchanged");
    assert_true(count_names(inside("media/inbound"), "") <= (before > 0 ? before : 0));
}

static void a_file_is_copied_and_is_the_sandboxs(void **state)
{
    struct stat st;

    (void)state;
    scene_file("photo.png", "pixels");
    puts_as("photo.png", "photo.png");
    assert_true(scene_holds(inside("media/inbound/photo.png"), "pixels"));
    assert_int_equal(lstat(inside("media/inbound/photo.png"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_uid, geteuid() == 0 ? 1000 : geteuid());
    assert_int_equal(count_names(inside("media/inbound"), ""), 1);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_folder_that_is_there_keeps_its_mode(void **state)
{
    (void)state;
    scene_file("photo.png", "pixels");
    puts_as("photo.png", "photo.png");
    assert_int_equal(mode_of(inside("media")), 0700);
    assert_int_equal(chmod(inside("media"), 0755), 0);
    assert_int_equal(chmod(inside("media/inbound"), 0751), 0);
    puts_as("photo.png", "photo-2.png");
    assert_int_equal(mode_of(inside("media")), 0755);
    assert_int_equal(mode_of(inside("media/inbound")), 0751);
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    scene_file("photo.png", "a");
    scene_file("plain", "b");
    scene_file(".png", "c");
    puts_as("photo.png", "photo.png");
    puts_as("photo.png", "photo-2.png");
    puts_as("./photo.png", "photo-3.png");
    puts_as("plain", "plain");
    puts_as("plain", "plain-2");
    puts_as(".png", "_png");
    puts_as(".png", "_png-2");
}

static void names_are_made_safe(void **state)
{
    static const struct {
        const char *name, *safe;
    } rows[] = {
        { "plain.txt", "plain.txt" },
        { "with space.txt", "with space.txt" },
        { "gr\xc3\xbc\xc3\x9f.txt", "gr\xc3\xbc\xc3\x9f.txt" },
        { ".bashrc", "_bashrc" },
        { "...", "file" },
        { "..x", "__x" },
        { "-rf", "_rf" },
        { "--", "_-" },
        { "a\nb", "a_b" },
        { "a\033[31mb", "a_[31mb" },
        { "a\x7f" "b", "a_b" },
        { "a\\b", "a_b" },
        { "a\xff\xfe", "a__" },
        { "cut\xe2\x80", "cut__" },
        { "c1\xc2\x85" "x", "c1__x" },
        { "exe\xe2\x80\xaegpj", "exe_gpj" },
        { "x\xe2\x81\xa6y", "x_y" },
        { "trailing. . ", "trailing" },
        { "   ", "file" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        scene_shell("rm -rf root/*/media");
        scene_file(rows[i].name, "x");
        puts_as(rows[i].name, rows[i].safe);
    }
}

static void a_long_name_keeps_its_ending(void **state)
{
    char name[256], wanted[256];

    (void)state;
    memset(name, 'n', 250);
    (void)snprintf(name + 250, 6, ".jpeg");
    memset(wanted, 'n', 115);
    (void)snprintf(wanted + 115, 6, ".jpeg");
    scene_file(name, "x");
    puts_as(name, wanted);
    memset(name, 'm', 255);
    name[255] = '\0';
    memset(wanted, 'm', 120);
    wanted[120] = '\0';
    scene_file(name, "x");
    puts_as(name, wanted);
    /* Never in the middle of a letter. */
    for (size_t i = 0; i + 2 < 254; i += 2)
        memcpy(name + i, "\xc3\xbc", 3);
    scene_file(name, "x");
    for (size_t i = 0; i < 120; i += 2)
        memcpy(wanted + i, "\xc3\xbc", 3);
    puts_as(name, wanted);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    scene_file("real", "x");
    scene_shell("ln -s real link; ln -s nowhere dangling; mkfifo fifo; mkdir dir; "
                "truncate -s 513M big");
    refuses("link", NACRE_ERR_DENIED);
    refuses("dangling", NACRE_ERR_DENIED);
    refuses("fifo", NACRE_ERR_USAGE);
    refuses("dir", NACRE_ERR_USAGE);
    refuses("/dev/zero", NACRE_ERR_USAGE);
    refuses("missing", NACRE_ERR_NOT_FOUND);
    refuses("", NACRE_ERR_NOT_FOUND);
    refuses("big", NACRE_ERR_TOO_BIG);
    puts_as("real", "real"); /* the control */
}

static void links_in_the_workspace_lead_nowhere(void **state)
{
    static const char *const plants[] = { "media", "media/inbound" };

    (void)state;
    scene_file("file", "x");
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    for (size_t i = 0; i < NACRE_COUNT(plants); i++) {
        char target[NACRE_PATH_MAX];

        scene_shell("rm -rf root/*/media");
        if (i == 1)
            assert_int_equal(mkdir(inside("media"), 0700), 0);
        assert_int_equal(symlink(scene_path(target, "elsewhere"), inside(plants[i])), 0);
        refuses("file", NACRE_ERR_DENIED);
        assert_int_equal(count_names("elsewhere", ""), 0);
    }
}

static void a_link_in_the_place_of_a_file_is_not_written_through(void **state)
{
    char target[NACRE_PATH_MAX];

    (void)state;
    scene_file("file", "new");
    scene_file("victim", "old");
    puts_as("file", "file");
    assert_int_equal(unlink(inside("media/inbound/file")), 0);
    assert_int_equal(symlink(scene_path(target, "victim"), inside("media/inbound/file")),
                     0);
    assert_int_equal(symlink(target, inside("media/inbound/.nacre-part")), 0);
    puts_as("file", "file-2");
    assert_true(scene_holds("victim", "old"));
    assert_true(scene_holds(inside("media/inbound/file-2"), "new"));
}

static int put_dying(void *data)
{
    const struct nacre_session_open_options options = {
        .state_dir = session_state, .out_of_turn = true, .deadline_ns = in_seconds(10),
        .step = die_at, .step_data = data,
    };
    struct nacre_session_hold *own = NULL;
    char name[NACRE_MEDIA_NAME];
    struct nacre_error err;

    CHILD_CHECK(nacre_session_open(&hand.session, &options, &own, &err) == NACRE_OK);
    CHILD_CHECK(nacre_session_put_file(own, "file", name, &err) == NACRE_OK);
    return 0;
}

static void who_is_killed_while_putting_leaves_no_half_of_it(void **state)
{
    int steps;

    (void)state;
    scene_file("file", "whole");
    for (steps = 0; steps < 100; steps++) {
        struct dying dying = { .left = steps };
        int status;

        scene_shell("rm -rf root/*/media");
        status = in_child(put_dying, &dying);
        if (WIFEXITED(status)) {
            assert_exited(status, 0);
            break;
        }
        assert_false(scene_has(inside("media/inbound/file")));
        puts_as("file", "file");
        assert_true(scene_holds(inside("media/inbound/file"), "whole"));
        assert_int_equal(count_names(inside("media/inbound"), ""), 1);
    }
    assert_in_range(steps, 4, 99);
}

/* ---- skills ---- */

static struct nacre_skills_report mirrors(const char *dir)
{
    struct nacre_skills_report report;
    struct nacre_error err;

    if (nacre_session_put_skills(hold, dir, &report, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_false(scene_has(inside(".nacre-skills")));
    return report;
}

static void will_not_mirror(const char *dir, enum nacre_status wanted)
{
    struct nacre_skills_report report = { .skills = 77 };
    struct nacre_error err;

    assert_int_equal(nacre_session_put_skills(hold, dir, &report, &err), wanted);
    assert_int_equal(report.skills, 77);
    assert_false(scene_has(inside(".nacre-skills")));
}

static void make_skills(void)
{
    scene_shell("mkdir -p s/one/sub s/two s/none && echo 1 >s/one/SKILL.md && "
                "echo deep >s/one/sub/file && echo run >s/one/run && chmod 755 s/one/run "
                "&& echo 2 >s/two/SKILL.md && echo x >s/none/README.md && echo y >s/loose");
}

static void skills_are_the_folders_with_a_skill_file(void **state)
{
    struct nacre_skills_report report;
    struct stat st;

    (void)state;
    make_skills();
    report = mirrors("s");
    assert_int_equal(report.skills, 2);
    assert_int_equal(report.files, 4);
    assert_int_equal(report.not_skills, 1);
    assert_int_equal(report.left_out, 0);
    assert_true(scene_holds(inside("skills/one/sub/file"), "deep\n"));
    assert_false(scene_has(inside("skills/none")));
    assert_false(scene_has(inside("skills/loose")));
    assert_int_equal(lstat(inside("skills/one/run"), &st), 0);
    assert_true(st.st_mode & 0100);
    assert_int_equal(lstat(inside("skills/one/SKILL.md"), &st), 0);
    assert_false(st.st_mode & 0111);
}

static void stale_skills_go(void **state)
{
    (void)state;
    make_skills();
    (void)mirrors("s");
    scene_shell("rm -r s/one; cd root/*/skills && echo mine >own-file");
    assert_int_equal(mirrors("s").skills, 1);
    assert_false(scene_has(inside("skills/one")));
    assert_false(scene_has(inside("skills/own-file")));
    assert_true(scene_has(inside("skills/two/SKILL.md")));
}

static void links_in_skills_are_left_out(void **state)
{
    struct nacre_skills_report report;

    (void)state;
    make_skills();
    scene_file("secret", "secret");
    scene_shell("ln -s ../../secret s/one/link; ln -s /etc s/one/etc; ln -s one s/three; "
                "mkfifo s/two/fifo; mkdir s/four; ln -s ../one/SKILL.md s/four/SKILL.md");
    report = mirrors("s");
    assert_int_equal(report.skills, 2);
    assert_int_equal(report.left_out, 4);
    assert_int_equal(report.not_skills, 2);
    assert_false(scene_has(inside("skills/one/link")));
    assert_false(scene_has(inside("skills/one/etc")));
    assert_false(scene_has(inside("skills/three")));
    will_not_mirror("s/three", NACRE_ERR_DENIED);
    will_not_mirror("missing", NACRE_ERR_NOT_FOUND);
    will_not_mirror("secret", NACRE_ERR_DENIED);
}

static void folders_without_end_are_not_mirrored(void **state)
{
    (void)state;
    make_skills();
    scene_shell("cd s/two && seq -f d%g 8200 | xargs mkdir");
    will_not_mirror("s", NACRE_ERR_TOO_BIG);
    scene_shell("cd s/two && rmdir d1?? d1???");
    assert_int_equal(mirrors("s").skills, 2);
}

static void a_link_in_the_place_of_skills_is_removed_as_it_is(void **state)
{
    char target[NACRE_PATH_MAX];

    (void)state;
    make_skills();
    scene_shell("mkdir elsewhere; echo kept >elsewhere/file");
    assert_int_equal(symlink(scene_path(target, "elsewhere"), inside("skills")), 0);
    assert_int_equal(symlink(target, inside(".nacre-skills")), 0);
    assert_int_equal(mirrors("s").skills, 2);
    assert_true(scene_holds("elsewhere/file", "kept\n"));
    assert_int_equal(count_names("elsewhere", ""), 1);
    assert_true(scene_has(inside("skills/one/SKILL.md")));
}

static void too_much_of_them_changes_nothing(void **state)
{
    (void)state;
    make_skills();
    (void)mirrors("s");
    scene_shell("d=s/two; for i in $(seq 20); do d=$d/d; done; mkdir -p $d");
    will_not_mirror("s", NACRE_ERR_TOO_BIG);
    assert_true(scene_has(inside("skills/two/SKILL.md")));
    scene_shell("rm -r s/two/d; truncate -s 300M s/two/big");
    will_not_mirror("s", NACRE_ERR_TOO_BIG);
    scene_shell("rm s/two/big; for i in $(seq 260); do mkdir s/k$i; : >s/k$i/SKILL.md; "
                "done");
    will_not_mirror("s", NACRE_ERR_TOO_BIG);
    assert_true(scene_holds(inside("skills/two/SKILL.md"), "2\n"));
    assert_false(scene_has(inside("skills/k1")));
    scene_shell("rm -r s/k*");
    assert_int_equal(mirrors("s").skills, 2);
}

static void the_agents_own_workspace_gets_no_skills(void **state)
{
    struct nacre_skills_report report;
    struct nacre_session_hold *rw = NULL;
    struct nacre_error err;
    struct hand agents;

    (void)state;
    make_skills();
    hand_make(&agents, "two");
    agents.session.access = NACRE_ACCESS_RW;
    assert_int_equal(hand_open(&agents, 0, &rw, &err), NACRE_OK);
    assert_int_equal(nacre_session_put_skills(rw, "s", &report, &err), NACRE_ERR_USAGE);
    assert_int_equal(count_names("agent", ""), 0);
    nacre_session_hold_free(rw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_copied_and_is_the_sandboxs, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_folder_that_is_there_keeps_its_mode, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_gets_a_number, enter, leave),
        cmocka_unit_test_setup_teardown(names_are_made_safe, enter, leave),
        cmocka_unit_test_setup_teardown(a_long_name_keeps_its_ending, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(links_in_the_workspace_lead_nowhere, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(
            a_link_in_the_place_of_a_file_is_not_written_through, enter, leave),
        cmocka_unit_test_setup_teardown(who_is_killed_while_putting_leaves_no_half_of_it,
                                        enter, leave),
        cmocka_unit_test_setup_teardown(skills_are_the_folders_with_a_skill_file, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(stale_skills_go, enter, leave),
        cmocka_unit_test_setup_teardown(links_in_skills_are_left_out, enter, leave),
        cmocka_unit_test_setup_teardown(folders_without_end_are_not_mirrored, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(a_link_in_the_place_of_skills_is_removed_as_it_is,
                                        enter, leave),
        cmocka_unit_test_setup_teardown(too_much_of_them_changes_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(the_agents_own_workspace_gets_no_skills, enter,
                                        leave),
    };

    return cmocka_run_group_tests_name("session put", tests, scene_enter, scene_leave);
}
