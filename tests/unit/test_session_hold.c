/* A session's turn and its workspace: made in the right place or not at all, one run at a
 * time, and nothing of a killed one stays for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "scene.h"
#include "session_scene.h"

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_workspace_is_made_with_its_root_and_empty(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;
    struct stat st;
    int fds = scene_fds();

    (void)state;
    hand_make(&hand, "one");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    assert_string_equal(nacre_session_hold_path(hold), hand.box);
    assert_int_equal(count_names(hand.box, ""), 0);
    assert_int_equal(lstat(hand.box, &st), 0);
    assert_int_equal(st.st_uid, geteuid() == 0 ? 1000 : geteuid());
    assert_int_equal(mode_of(hand.box), 0700);
    assert_int_equal(mode_of("root"), 0700);
    assert_int_equal(mode_of("state/sessions"), 0700);
    assert_int_equal(records(), 1);
    assert_false(scene_has("agent")); /* access none: not its affair */
    nacre_session_hold_free(hold);
    assert_int_equal(scene_fds(), fds);
}

static void whom_a_container_runs_as_owns_it(void **state)
{
    struct hand hand;
    struct stat st;

    (void)state;
    if (geteuid() != 0)
        skip();
    hand_make(&hand, "one");
    hand.shell.container.user.text = (char *)"1234:5";
    hand_use(&hand);
    assert_int_equal(lstat(hand.box, &st), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(mode_of(hand.box), 0700);
    hand.shell.container.user.text = (char *)"somebody";
    {
        struct nacre_session_hold *hold = NULL;
        struct nacre_error err;

        assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_UNAVAILABLE);
        assert_null(hold);
    }
}

/* The parts of root/slug, each once a link and once a file. */
static void a_link_at_every_step_is_refused(void **state)
{
    static const char *const parts[] = { "p", "p/q", "p/q/root", "p/q/root/slug" };
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < NACRE_COUNT(parts); i++) {
            int fds;

            (void)scene_clear(NULL);
            hand_make(&hand, "one");
            (void)scene_path(hand.root, "p/q/root");
            (void)snprintf(hand.box, sizeof(hand.box), "%s/slug", hand.root);
            scene_shell("mkdir -p p/q/root elsewhere");
            scene_shell(i == 0   ? "rm -r p"
                        : i == 1 ? "rm -r p/q"
                        : i == 2 ? "rmdir p/q/root"
                                 : "true");
            if (kind == 0)
                assert_int_equal(symlink(i == 0 ? "elsewhere" : "../elsewhere", parts[i]),
                                 0);
            else if (kind == 1)
                assert_int_equal(symlink("nowhere", parts[i]), 0);
            else
                scene_file(parts[i], "");
            fds = scene_fds();
            assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_DENIED);
            assert_non_null(strstr(err.text, "link or no directory"));
            assert_int_equal(scene_fds(), fds);
            assert_int_equal(count_names("elsewhere", ""), 0);
            assert_false(scene_has("nowhere"));
        }
    /* The control. */
    (void)scene_clear(NULL);
    hand_use(&hand);
    assert_true(scene_has("p/q/root/slug"));
}

static void a_place_that_others_rule_is_refused(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    assert_int_equal(mkdir("root", 0700), 0);
    assert_int_equal(chmod("root", 0777), 0);
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_DENIED);
    assert_int_equal(count_names("root", ""), 0);
    assert_int_equal(chmod("root", 01777), 0); /* as /tmp is */
    hand_use(&hand);
    if (geteuid() != 0)
        return;
    scene_shell("rm -r root && mkdir root && chown 4242 root");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_DENIED);
    assert_non_null(strstr(err.text, "4242"));
    scene_shell("chown 0 root && mkdir root/$(ls state/sessions >/dev/null; echo x)");
    assert_int_equal(mkdir(hand.box, 0700), 0);
    assert_int_equal(chown(hand.box, 4242, 4242), 0);
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_DENIED);
}

static void what_a_guest_did_to_its_mode_is_put_right(void **state)
{
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand_use(&hand);
    assert_int_equal(chmod(hand.box, 0777), 0);
    hand_use(&hand);
    assert_int_equal(mode_of(hand.box), 0700);
}

static void what_was_in_it_stays(void **state)
{
    struct hand hand;
    char file[NACRE_PATH_MAX + 128];

    (void)state;
    hand_make(&hand, "one");
    hand_use(&hand);
    (void)snprintf(file, sizeof(file), "%s/note", hand.box);
    scene_file(file, "kept");
    hand_use(&hand);
    assert_true(scene_holds(file, "kept"));
}

/* ---- access, and no sandbox ---- */

static void access_decides_which_workspaces_there_are(void **state)
{
    static const struct {
        enum nacre_access access;
        bool sandboxed, box, agents, recorded;
    } rows[] = {
        { NACRE_ACCESS_NONE, true, true, false, true },
        { NACRE_ACCESS_RO, true, true, true, true },
        { NACRE_ACCESS_RW, true, false, true, true },
        { NACRE_ACCESS_NONE, false, false, true, false },
        { NACRE_ACCESS_RO, false, false, true, false },
        { NACRE_ACCESS_RW, false, false, true, false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_session_hold *hold = NULL;
        struct nacre_error err;
        struct hand hand;

        (void)scene_clear(NULL);
        hand_make(&hand, "one");
        hand.session.access = rows[i].access;
        hand.session.sandboxed = rows[i].sandboxed;
        hand.shell.level = rows[i].sandboxed ? NACRE_LEVEL_CONTAINER : NACRE_LEVEL_NONE;
        assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
        assert_int_equal(scene_has(hand.box), rows[i].box);
        assert_int_equal(scene_has("agent"), rows[i].agents);
        assert_int_equal(records() == 1, rows[i].recorded);
        assert_string_equal(nacre_session_hold_path(hold),
                            rows[i].box ? hand.box : hand.agents);
        nacre_session_hold_free(hold);
    }
}

static void an_agent_without_a_workspace_has_none_to_share(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand.session.workspace = NULL;
    hand.session.access = NACRE_ACCESS_RW;
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_USAGE);
    hand.session.sandboxed = false;
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    assert_int_equal(nacre_session_hold_fd(hold), -1);
    assert_null(nacre_session_hold_path(hold));
    nacre_session_hold_free(hold);
}

static void the_agents_own_may_be_a_link_of_the_operator(void **state)
{
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand.session.access = NACRE_ACCESS_RW;
    scene_shell("mkdir real && ln -s real agent");
    hand_use(&hand);
}

static void what_is_no_text_is_refused(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "\xff");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_USAGE);
    assert_false(scene_has("root"));
}

static void short_memory_is_told_and_leaves_nothing_held(void **state)
{
    int after;

    (void)state;
    for (after = 0; after < 1000; after++) {
        struct nacre_session_hold *hold = NULL;
        struct nacre_error err;
        enum nacre_status status;
        struct hand hand;
        int fds = scene_fds();
        bool fired;

        (void)scene_clear(NULL);
        hand_make(&hand, "one");
        fail_alloc_after(after);
        status = hand_open(&hand, 0, &hold, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_true(fired || status == NACRE_OK);
        nacre_session_hold_free(hold);
        assert_int_equal(scene_fds(), fds);
        hand_use(&hand); /* and what it left is in nobody's way */
        if (!fired)
            break;
        assert_true(status == NACRE_OK || status == NACRE_ERR_MEMORY ||
                    status == NACRE_ERR_USAGE);
    }
    assert_in_range(after, 1, 999);
}

/* ---- turns ---- */

static int hold_until_told(void *data)
{
    const struct hand *hand = ((void **)data)[0];
    const int *fds = ((void **)data)[1];
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    char byte;

    CHILD_CHECK(hand_open(hand, 0, &hold, &err) == NACRE_OK);
    CHILD_CHECK(write(fds[1], "h", 1) == 1);
    (void)!read(fds[2], &byte, 1);
    nacre_session_hold_free(hold);
    return 0;
}

static pid_t start_holder(const struct hand *hand, int fds[4])
{
    void *data[] = { (void *)hand, fds };
    char byte;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe(fds + 2), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(hold_until_told(data));
    assert_int_equal(read(fds[0], &byte, 1), 1);
    return pid;
}

static void close_all(const int fds[4])
{
    for (int i = 0; i < 4; i++)
        (void)close(fds[i]);
}

static void one_runs_at_a_time(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct hand hand, other;
    struct nacre_error err;
    char pid_text[32];
    int fds[4], status;
    pid_t pid;

    (void)state;
    hand_make(&hand, "one");
    hand_make(&other, "two");
    pid = start_holder(&hand, fds);
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_ERR_TIMEOUT);
    (void)snprintf(pid_text, sizeof(pid_text), "process %d", (int)pid);
    assert_non_null(strstr(err.text, pid_text));
    assert_non_null(strstr(err.text, "'one'"));
    hand_use(&other); /* another session's turn is another's */
    (void)snprintf(other.agent, sizeof(other.agent), "second");
    (void)snprintf(other.key, sizeof(other.key), "one");
    hand_use(&other); /* and so is another agent's */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    hand_use(&hand); /* a dead one has no turn */
    close_all(fds);
}

static void who_does_not_run_needs_no_turn(void **state)
{
    const struct nacre_session_open_options options = { .state_dir = session_state,
                                                        .out_of_turn = true };
    struct nacre_session_hold *first = NULL, *second = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    assert_int_equal(hand_open(&hand, 0, &first, &err), NACRE_OK);
    assert_int_equal(nacre_session_open(&hand.session, &options, &second, &err),
                     NACRE_OK);
    nacre_session_hold_free(second);
    nacre_session_hold_free(first);
}

struct waiting {
    const struct hand *hand;
    const _Atomic int *cancelled;
    enum nacre_status status;
    struct nacre_error err;
};

static void *wait_for_turn(void *data)
{
    struct waiting *waiting = data;
    const struct nacre_session_open_options options = {
        .state_dir = session_state, .deadline_ns = in_seconds(50),
        .cancelled = waiting->cancelled,
    };
    struct nacre_session_hold *hold = NULL;

    waiting->status =
        nacre_session_open(&waiting->hand->session, &options, &hold, &waiting->err);
    nacre_session_hold_free(hold);
    return NULL;
}

static void others_wait_and_then_have_it(void **state)
{
    struct nacre_session_hold *hold = NULL;
    _Atomic int cancelled = 0;
    struct waiting waits, gives_up;
    pthread_t first, second;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    waits = (struct waiting){ .hand = &hand };
    gives_up = (struct waiting){ .hand = &hand, .cancelled = &cancelled };
    assert_int_equal(pthread_create(&first, NULL, wait_for_turn, &waits), 0);
    assert_int_equal(pthread_create(&second, NULL, wait_for_turn, &gives_up), 0);
    atomic_store(&cancelled, SIGINT);
    (void)pthread_join(second, NULL);
    assert_int_equal(gives_up.status, NACRE_ERR_TIMEOUT);
    nacre_session_hold_free(hold);
    (void)pthread_join(first, NULL);
    assert_int_equal(waits.status, NACRE_OK);
}

/* ---- many at once ---- */

#define MANY 50

static void fifty_at_once_are_fifty(void **state)
{
    int status, go[2];
    struct hand hand;

    (void)state;
    hand_make(&hand, "none");
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < MANY; i++) {
        pid_t pid = fork();
        char key[32], byte;

        assert_true(pid >= 0);
        if (pid > 0)
            continue;
        (void)snprintf(key, sizeof(key), "session %d", i);
        hand_make(&hand, key);
        (void)close(go[1]);
        (void)!read(go[0], &byte, 1); /* until the parent closes it */
        {
            struct nacre_session_hold *hold = NULL;
            struct nacre_error err;

            _exit(hand_open(&hand, in_seconds(30), &hold, &err) == NACRE_OK ? 0 : 1);
        }
    }
    (void)close(go[0]);
    (void)close(go[1]);
    for (int i = 0; i < MANY; i++) {
        assert_true(wait(&status) > 0);
        assert_exited(status, 0);
    }
    assert_int_equal(records(), MANY);
    assert_int_equal(count_names("root", ""), MANY);
}

static void who_race_for_one_scope_get_one(void **state)
{
    int status, go[2];
    struct hand hand;

    (void)state;
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        char key[32], byte;

        assert_true(pid >= 0);
        if (pid > 0)
            continue;
        (void)snprintf(key, sizeof(key), "session %d", i);
        hand_make(&hand, key);
        hand_scope(&hand, NACRE_SCOPE_AGENT, "agent:main");
        (void)close(go[1]);
        (void)!read(go[0], &byte, 1);
        {
            struct nacre_session_hold *hold = NULL;
            struct nacre_error err;

            _exit(hand_open(&hand, in_seconds(30), &hold, &err) == NACRE_OK ? 0 : 1);
        }
    }
    (void)close(go[0]);
    (void)close(go[1]);
    for (int i = 0; i < 8; i++) {
        assert_true(wait(&status) > 0);
        assert_exited(status, 0);
    }
    assert_int_equal(records(), 1);
    assert_int_equal(count_names("root", ""), 1);
}

/* ---- dying ---- */

static int open_dying(void *data)
{
    struct hand *hand = ((void **)data)[0];
    struct dying *dying = ((void **)data)[1];
    const struct nacre_session_open_options options = {
        .state_dir = session_state, .deadline_ns = in_seconds(10), .step = die_at,
        .step_data = dying,
    };
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;

    CHILD_CHECK(nacre_session_open(&hand->session, &options, &hold, &err) == NACRE_OK);
    return 0;
}

/* Another session starts, and all that there is then is that one's and what records
 * know; when those are pruned, nothing is left. */
static void who_is_killed_at_any_step_leaves_nothing_for_ever(void **state)
{
    const struct nacre_sessions_prune all = { .limits_given = true, .age_ms = 1 };
    int steps;

    (void)state;
    for (steps = 0; steps < 100; steps++) {
        struct dying dying = { .left = steps };
        struct fake_boxes boxes = { 0 };
        const struct nacre_sessions_ender ender = { fake_end, &boxes };
        const struct timespec pause = { .tv_nsec = 5000000 };
        struct nacre_sessions_report report;
        struct nacre_error err;
        struct hand hand, next;
        void *data[] = { &hand, &dying };
        int status;

        (void)scene_clear(NULL);
        hand_make(&hand, "dies");
        hand_make(&next, "lives");
        status = in_child(open_dying, data);
        if (WIFEXITED(status)) {
            assert_exited(status, 0);
            break;
        }
        assert_killed(status, SIGKILL);
        hand_use(&next);
        assert_false(scene_has("state/sessions/fresh"));
        assert_int_equal(count_names("root", "") <= records(), 1);
        (void)nanosleep(&pause, NULL); /* strictly more than a millisecond old */
        assert_int_equal(nacre_sessions_prune(session_state, &all, &ender, &report, &err),
                         NACRE_OK);
        assert_int_equal(records(), 0);
        assert_int_equal(count_names("root", ""), 0);
        assert_int_equal(count_names("state/sessions", ".held"), 0);
        assert_int_equal(count_names("state/sessions", ".turn"), 0);
        hand_use(&hand); /* and the dead one's own session starts as if nothing had been */
    }
    assert_in_range(steps, 6, 99);
}

/* Two keys whose names are equal down to the eight digits of their hashes. */
static void a_name_that_is_another_sessions_is_refused(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand first, second, shared, elsewhere;
    char kept[NACRE_PATH_MAX + 80];

    (void)state;
    hand_make(&first, "discord!&(=&$room");
    hand_make(&second, "discord!*=^!)room");
    assert_string_equal(first.box, second.box); /* else this shows nothing */
    hand_use(&first);
    (void)snprintf(kept, sizeof(kept), "%s/kept", first.box);
    scene_file(kept, "of the first");
    assert_int_equal(hand_open(&second, 0, &hold, &err), NACRE_ERR_DENIED);
    assert_null(hold);
    assert_null(strstr(err.text, "discord!")); /* a key may be somebody's number */
    assert_int_equal(records(), 1);
    assert_int_equal(access(kept, F_OK), 0);
    hand_use(&first);
    /* The scope's own key is also one that a session may have. */
    hand_make(&shared, "any");
    hand_scope(&shared, NACRE_SCOPE_SHARED, "shared");
    hand_use(&shared);
    hand_make(&second, "shared");
    assert_string_equal(shared.box, second.box);
    assert_int_equal(hand_open(&second, 0, &hold, &err), NACRE_ERR_DENIED);
    /* The control: one key in two roots has one container's name and two workspaces. */
    hand_make(&elsewhere, "discord!&(=&$room");
    (void)scene_path(elsewhere.root, "root2");
    (void)snprintf(elsewhere.box, sizeof(elsewhere.box), "%s/%s", elsewhere.root,
                   elsewhere.session.slug);
    hand_use(&elsewhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_workspace_is_made_with_its_root_and_empty, scene_clear),
        cmocka_unit_test_setup(whom_a_container_runs_as_owns_it, scene_clear),
        cmocka_unit_test_setup(a_link_at_every_step_is_refused, scene_clear),
        cmocka_unit_test_setup(a_place_that_others_rule_is_refused, scene_clear),
        cmocka_unit_test_setup(what_a_guest_did_to_its_mode_is_put_right, scene_clear),
        cmocka_unit_test_setup(what_was_in_it_stays, scene_clear),
        cmocka_unit_test_setup(a_name_that_is_another_sessions_is_refused, scene_clear),
        cmocka_unit_test_setup(access_decides_which_workspaces_there_are, scene_clear),
        cmocka_unit_test_setup(an_agent_without_a_workspace_has_none_to_share,
                               scene_clear),
        cmocka_unit_test_setup(the_agents_own_may_be_a_link_of_the_operator, scene_clear),
        cmocka_unit_test_setup(what_is_no_text_is_refused, scene_clear),
        cmocka_unit_test_setup(short_memory_is_told_and_leaves_nothing_held, scene_clear),
        cmocka_unit_test_setup(one_runs_at_a_time, scene_clear),
        cmocka_unit_test_setup(who_does_not_run_needs_no_turn, scene_clear),
        cmocka_unit_test_setup(others_wait_and_then_have_it, scene_clear),
        cmocka_unit_test_setup(fifty_at_once_are_fifty, scene_clear),
        cmocka_unit_test_setup(who_race_for_one_scope_get_one, scene_clear),
        cmocka_unit_test_setup(who_is_killed_at_any_step_leaves_nothing_for_ever,
                               scene_clear),
    };

    return cmocka_run_group_tests_name("session hold", tests, scene_enter, scene_leave);
}
