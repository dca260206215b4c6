/* The end of sessions: what is over goes with its workspace, what is in use stays, and
 * nothing beyond a link is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "scene.h"
#include "session_scene.h"

#define HOUR_MS UINT64_C(3600000)

static struct fake_boxes boxes;
static const struct nacre_sessions_ender ender = { fake_end, &boxes };

static int enter(void **state)
{
    struct hand hand;

    hand_make(&hand, "");
    boxes = (struct fake_boxes){ 0 };
    return scene_clear(state);
}

static struct nacre_sessions_report prune(const struct nacre_sessions_prune *how)
{
    struct nacre_sessions_report report;
    struct nacre_error err;

    if (nacre_sessions_prune(session_state, how, &ender, &report, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return report;
}

static const struct nacre_sessions_prune by_records = { 0 };

/* Used so long ago, and made as well. */
static void make_old(const char *hours)
{
    char command[256];

    (void)snprintf(command, sizeof(command),
                   "for f in state/sessions/*.json; do "
                   "now=$(($(date +%%s%%3N) - %s * 3600000)) && "
                   "sed -i \"s/\\\"created_ms\\\": [0-9]*/\\\"created_ms\\\": $now/\" $f && "
                   "touch -d '%s hours ago' $f; done", hours, hours);
    scene_shell(command);
}

static void use(const char *key, uint64_t idle_hours, uint64_t age_hours)
{
    struct hand hand;

    hand_make(&hand, key);
    hand.session.prune_idle_ms = idle_hours * HOUR_MS;
    hand.session.prune_age_ms = age_hours * HOUR_MS;
    hand_use(&hand);
}

static void limits_are_the_configurations(void **state)
{
    static const struct {
        const char *hours;
        uint64_t idle, age;
        uint32_t pruned;
    } rows[] = {
        { "5", 0, 0, 0 },  { "5", 6, 0, 0 }, { "5", 0, 6, 0 }, { "5", 6, 6, 0 },
        { "5", 4, 0, 1 },  { "5", 0, 4, 1 }, { "5", 4, 6, 1 }, { "5", 6, 4, 1 },
        { "0", 1, 1, 0 },  { "100000", 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        (void)scene_clear(NULL);
        use("one", rows[i].idle, rows[i].age);
        make_old(rows[i].hours);
        assert_int_equal(prune(&by_records).workspaces, rows[i].pruned);
        assert_int_equal(records(), 1 - (int)rows[i].pruned);
        assert_int_equal(count_names("root", ""), 1 - (int)rows[i].pruned);
    }
}

static bool learn_times(void *data, const struct nacre_session_info *info)
{
    *(struct nacre_session_info *)data = *info;
    return true;
}

/* On the limit, and a millisecond later; 0 is no limit. */
static void a_limit_is_over_one_millisecond_after_it(void **state)
{
    static const struct {
        uint64_t idle_hours, age_hours; /* of the record */
        uint64_t hours, more_ms;        /* since it was used, or made */
        bool since_made;
        uint32_t pruned;
    } rows[] = {
        { 24, 0, 24, 0, false, 0 },  { 24, 0, 24, 1, false, 1 },
        { 0, 168, 168, 0, true, 0 }, { 0, 168, 168, 1, true, 1 },
        { 0, 0, 100000, 1, true, 0 }, { 24, 168, 24, 0, false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_sessions_prune how = { 0 };
        struct nacre_session_info info = { 0 };
        struct nacre_error err;

        (void)scene_clear(NULL);
        use("one", rows[i].idle_hours, rows[i].age_hours);
        assert_int_equal(nacre_sessions_each(session_state, learn_times, &info, &err),
                         NACRE_OK);
        how.now_ms = (rows[i].since_made ? info.created_ms : info.used_ms) +
                     rows[i].hours * HOUR_MS + rows[i].more_ms;
        if (prune(&how).workspaces != rows[i].pruned)
            fail_msg("row %zu", i);
    }
}

static void use_makes_it_young_but_not_new(void **state)
{
    (void)state;
    use("one", 4, 0);
    make_old("5");
    use("one", 4, 0);
    assert_int_equal(prune(&by_records).workspaces, 0);
    use("one", 0, 4); /* the file says something else now */
    assert_int_equal(prune(&by_records).workspaces, 1);
}

static void numbers_that_are_given_are_for_all(void **state)
{
    const struct nacre_sessions_prune given = { .limits_given = true,
                                                .idle_ms = 2 * HOUR_MS };
    const struct nacre_sessions_prune never = { .limits_given = true };

    (void)state;
    use("one", 0, 0);
    use("two", 100, 100);
    make_old("3");
    assert_int_equal(prune(&never).workspaces, 0);
    assert_int_equal(prune(&given).workspaces, 2);
}

static void only_one_configurations_if_asked(void **state)
{
    const struct nacre_sessions_prune other = { .limits_given = true, .idle_ms = 1,
                                                .config = "elsewhere" };
    const struct nacre_sessions_prune here = { .limits_given = true, .idle_ms = 1,
                                               .config = "here" };

    (void)state;
    use("one", 1, 1);
    make_old("3");
    assert_int_equal(prune(&other).workspaces, 0);
    assert_int_equal(prune(&here).workspaces, 1);
}

static void a_live_one_is_never_taken(void **state)
{
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand.session.prune_idle_ms = 1;
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    make_old("3");
    assert_int_equal(prune(&by_records).in_use, 1);
    assert_true(scene_has(hand.box));
    assert_int_equal(boxes.asked, 0);
    nacre_session_hold_free(hold);
    make_old("3");
    boxes.left = 1; /* a command that was left running in it */
    assert_int_equal(prune(&by_records).in_use, 1);
    assert_true(scene_has(hand.box));
    assert_false(boxes.forced);
    boxes.left = 0;
    assert_int_equal(prune(&by_records).workspaces, 1);
    assert_string_equal(boxes.which[0], hand.session.box_name);
    assert_false(scene_has(hand.box));
}

static void once_a_day_is_the_timers_affair(void **state)
{
    const struct nacre_sessions_prune timer = { .timer = true };
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand.config.dialect = NACRE_DIALECT_CLAWPY;
    hand.session.prune_idle_ms = HOUR_MS;
    hand_use(&hand);
    (void)prune(&timer); /* the day's */
    make_old("3");
    use("two", 1, 0);
    scene_shell("touch -d '3 hours ago' state/sessions/*.json");
    assert_int_equal(prune(&timer).workspaces, 1); /* not of once a day */
    assert_true(scene_has(hand.box));
    scene_shell("touch -d '23 hours ago' state/sessions/daily");
    assert_int_equal(prune(&timer).workspaces, 0);
    scene_shell("touch -d '25 hours ago' state/sessions/daily");
    assert_int_equal(prune(&timer).workspaces, 1);
    hand_use(&hand);
    make_old("3");
    assert_int_equal(prune(&by_records).workspaces, 1); /* by the verb: at once */
}

static void nothing_beyond_a_link_is_touched(void **state)
{
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    use("one", 1, 0);
    scene_shell("mkdir victim; echo kept >victim/file; "
                "ln -s ../../victim root/$(ls root)/way; "
                "mkdir root/$(ls root)/sub; ln -s /etc root/$(ls root)/sub/etc");
    make_old("3");
    assert_int_equal(prune(&by_records).workspaces, 1);
    assert_true(scene_holds("victim/file", "kept\n"));
    /* The workspace itself. */
    use("one", 1, 0);
    scene_shell("name=$(ls root); rmdir root/$name; ln -s ../victim root/$name");
    make_old("3");
    assert_int_equal(prune(&by_records).workspaces, 1);
    assert_int_equal(count_names("root", ""), 0);
    assert_true(scene_holds("victim/file", "kept\n"));
    /* The root: then nothing is known of what it leads to. */
    use("one", 1, 0);
    scene_shell("mv root moved; ln -s moved root");
    make_old("3");
    assert_int_equal(prune(&by_records).workspaces, 0);
    assert_int_equal(count_names("moved", ""), 1);
    assert_int_equal(records(), 1);
}

static void a_record_that_is_broken_ends_nothing(void **state)
{
    static const char *const edits[] = {
        "s/\"version\": 1/\"version\": 2/", "s/\"scope\": \"session\"/\"scope\": \"x\"/",
        "s/\"workspace\": \"[^\"]*\"/\"workspace\": \"..\"/",
        "s/\"workspace\": \"[^\"]*\"/\"workspace\": \"..\\/victim\"/",
        "s/\"workspace\": \"[^\"]*\"/\"workspace\": \"\"/",
        "s/\"root\": \"\\//\"root\": \"/", "s/\"idle_ms\": [0-9]*/\"idle_ms\": -1/",
        "s/\"daily\"/\"more\"/", "1d",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(edits); i++) {
        char command[256];

        (void)scene_clear(NULL);
        scene_shell("mkdir victim");
        use("one", 1, 0);
        make_old("3");
        (void)snprintf(command, sizeof(command),
                       "sed -i '%s' state/sessions/*.json && touch -d '3 hours ago' "
                       "state/sessions/*.json", edits[i]);
        scene_shell(command);
        assert_int_equal(prune(&by_records).workspaces, 0);
        assert_true(scene_has("victim"));
        assert_int_equal(count_names("root", ""), 1);
        use("one", 1, 0); /* which writes it anew */
        make_old("3");
        assert_int_equal(prune(&by_records).workspaces, 1);
    }
}

static enum nacre_status end(const char *key, bool force,
                             struct nacre_sessions_report *report)
{
    const struct nacre_sessions_end how = fake_ending(key, force, &boxes);
    struct nacre_error err;

    return nacre_sessions_end(session_state, &how, &ender, report, &err);
}

/* Each would have another directory removed than the one that its session has. */
static void a_record_that_was_changed_removes_no_other_directory(void **state)
{
    static const char *const edits[] = {
        "s/\"workspace\": \"[^\"]*\"/\"workspace\": \"victim\"/",
        "s/\"root\": \"\\([^\"]*\\)root\"/\"root\": \"\\1elsewhere\"/",
        "s/\"scope\": \"session\"/\"scope\": \"agent\"/",
        "s/\"scope_key\": \"one\"/\"scope_key\": \"two\"/; "
        "s/\"workspace\": \"[^\"]*\"/\"workspace\": \"two-ad782ecd\"/",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(edits); i++) {
        struct nacre_sessions_report report;
        char command[512];

        (void)scene_clear(NULL);
        use("one", 1, 0);
        scene_shell("mkdir -p root/victim root/two-ad782ecd elsewhere && "
                    "cp -r root/one-* elsewhere");
        make_old("3");
        (void)snprintf(command, sizeof(command),
                       "sed -i '%s' state/sessions/*.json && touch -d '3 hours ago' "
                       "state/sessions/*.json", edits[i]);
        scene_shell(command);
        assert_int_equal(prune(&by_records).workspaces, 0);
        (void)!end("one", true, &report);
        (void)!end("two", true, &report);
        assert_int_equal(count_names("root", ""), 3);
        assert_int_equal(count_names("elsewhere", ""), 1);
    }
}

/* What it is called is asked for with whose it is, which can't be changed. */
static void a_record_that_was_changed_ends_no_other_sandbox(void **state)
{
    struct nacre_sessions_report report;

    (void)state;
    for (int pruned = 0; pruned < 2; pruned++) {
        use("one", 1, 0);
        scene_shell("sed -i 's/\"box_name\": \"[^\"]*\"/\"box_name\": \"box-two\"/' "
                    "state/sessions/*.json");
        make_old("3");
        boxes.asked = 0;
        if (pruned)
            (void)prune(&by_records);
        else
            assert_int_equal(end("one", true, &report), NACRE_OK);
        assert_true(boxes.asked > 0);
        assert_string_equal(boxes.which[0], "box-two");
        for (int i = 0; i < boxes.asked; i++)
            if (strcmp(boxes.which[i], "box-two") == 0)
                assert_string_equal(boxes.scope_keys[i], "session:one");
    }
}

static bool limits_of_agent(void *data, const char *agent, uint64_t *ret_idle_ms,
                            uint64_t *ret_age_ms)
{
    (void)data;
    *ret_idle_ms = strcmp(agent, "short") == 0 ? HOUR_MS : 10 * HOUR_MS;
    *ret_age_ms = 0;
    return strcmp(agent, "gone") != 0;
}

static void each_agents_limits_are_its_own(void **state)
{
    static const char *const agents[] = { "short", "long", "gone" };
    const struct nacre_sessions_prune now = { .limits = limits_of_agent };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(agents); i++) {
        struct hand hand;

        hand_make(&hand, agents[i]);
        (void)snprintf(hand.agent, sizeof(hand.agent), "%s", agents[i]);
        hand.session.prune_idle_ms = 2 * HOUR_MS; /* as the file said then */
        hand_use(&hand);
    }
    make_old("5");
    assert_int_equal(prune(&now).workspaces, 1);
    assert_int_equal(records(), 2);
    assert_int_equal(prune(&by_records).workspaces, 2);
}

/* ---- the end of one ---- */

static void the_end_takes_the_sessions_own_and_no_others(void **state)
{
    struct nacre_sessions_report report = { 0 };
    struct hand own, agents, other;

    (void)state;
    hand_make(&own, "agent:main:chat");
    hand_make(&other, "agent:main:chat:2");
    hand_make(&agents, "agent:main:chat");
    hand_scope(&agents, NACRE_SCOPE_AGENT, "agent:main");
    hand_use(&own);
    hand_use(&other);
    hand_use(&agents);
    assert_int_equal(end("agent:main:chat", false, &report), NACRE_OK);
    assert_int_equal(report.workspaces, 1);
    assert_int_equal(report.kept, 1);
    assert_false(scene_has(own.box));
    assert_true(scene_has(other.box));
    assert_true(scene_has(agents.box));
    assert_string_equal(boxes.which[0], own.session.box_name);
    assert_string_equal(boxes.which[1], "session:agent:main:chat");
    assert_int_equal(end("nobody", false, &report), NACRE_ERR_NOT_FOUND);
}

static void the_agents_own_workspace_outlives_every_session(void **state)
{
    struct nacre_sessions_report report;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand.session.access = NACRE_ACCESS_RW;
    hand_use(&hand);
    scene_file("agent/file", "kept");
    assert_int_equal(end("one", true, &report), NACRE_OK);
    assert_int_equal(report.workspaces, 0);
    assert_true(scene_holds("agent/file", "kept"));
    assert_int_equal(records(), 0);
}

static void one_that_runs_is_ended_by_force_alone(void **state)
{
    struct nacre_sessions_report report;
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    assert_int_equal(end("one", false, &report), NACRE_ERR_UNAVAILABLE);
    assert_true(scene_has(hand.box));
    assert_int_equal(boxes.asked, 0);
    assert_int_equal(boxes.jobs_asked, 0); /* nor is its background touched */
    nacre_session_hold_free(hold);
    boxes.left = 1;
    assert_int_equal(end("one", false, &report), NACRE_ERR_UNAVAILABLE);
    assert_true(scene_has(hand.box));
    assert_int_equal(end("one", true, &report), NACRE_OK);
    assert_true(boxes.forced);
    assert_false(scene_has(hand.box));
}

static void without_a_sandbox_there_is_nothing_to_remove_and_no_failure(void **state)
{
    struct nacre_sessions_report report = { 0 };
    struct nacre_session_hold *hold = NULL;
    struct nacre_error err;
    struct hand hand;

    (void)state;
    hand_make(&hand, "agent:work:one");
    (void)snprintf(hand.agent, sizeof(hand.agent), "work");
    hand.session.sandboxed = false;
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    boxes.jobs = 2;
    assert_int_equal(end("agent:work:one", false, &report), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(boxes.jobs_asked, 0);
    assert_int_equal(end("agent:work:one", true, &report), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(boxes.jobs_asked, 0);
    nacre_session_hold_free(hold);
    scene_file("agent/file", "kept");
    assert_int_equal(end("agent:work:one", false, &report), NACRE_OK);
    assert_int_equal(report.ended + report.workspaces + report.kept, 0);
    assert_int_equal(report.jobs, 2);
    assert_true(scene_holds("agent/file", "kept"));
    boxes.jobs = 0;
    assert_int_equal(end("agent:work:one", false, &report), NACRE_ERR_NOT_FOUND);
    assert_int_equal(count_names("state/sessions", ".turn"), 0);
}

static void what_was_half_removed_is_removed_before_it_is_used_again(void **state)
{
    char command[NACRE_PATH_MAX + 128];
    struct hand hand;

    (void)state;
    hand_make(&hand, "one");
    hand_use(&hand);
    (void)snprintf(command, sizeof(command),
                   "mv root/%s root/.nacre-gone-%s && echo half >root/.nacre-gone-%s/file",
                   hand.session.slug, hand.session.slug, hand.session.slug);
    scene_shell(command);
    hand_use(&hand);
    assert_int_equal(count_names("root", ""), 1);
    assert_int_equal(count_names(hand.box, ""), 0);
}

static bool count_live(void *data, const struct nacre_session_info *info)
{
    int *counts = data;

    counts[0]++;
    counts[1] += info->live;
    return true;
}

static void they_are_listed_with_who_is_live(void **state)
{
    struct nacre_session_hold *hold = NULL;
    int counts[2] = { 0, 0 };
    struct nacre_error err;
    struct hand hand;

    (void)state;
    use("one", 0, 0);
    hand_make(&hand, "two");
    assert_int_equal(hand_open(&hand, 0, &hold, &err), NACRE_OK);
    assert_int_equal(nacre_sessions_each(session_state, count_live, counts, &err),
                     NACRE_OK);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    nacre_session_hold_free(hold);
}

/* ---- dying over it ---- */

static int end_dying(void *data)
{
    struct dying *dying = data;
    struct nacre_sessions_end how = fake_ending("dies", false, &boxes);
    struct nacre_sessions_report report;
    struct nacre_error err;

    how.step = die_at;
    how.step_data = dying;
    CHILD_CHECK(nacre_sessions_end(session_state, &how, &ender, &report, &err) ==
                NACRE_OK);
    return 0;
}

static int prune_dying(void *data)
{
    const struct nacre_sessions_prune how = { .limits_given = true, .idle_ms = 1,
                                              .step = die_at, .step_data = data };
    struct nacre_sessions_report report;
    struct nacre_error err;

    CHILD_CHECK(nacre_sessions_prune(session_state, &how, &ender, &report, &err) ==
                NACRE_OK);
    return 0;
}

/* How many steps are there?  After each of them the session starts as if it were new, or
 * the next prune finds all that is left. */
static int die_at_each_step(int (*remove)(void *data), bool comes_back)
{
    const struct nacre_sessions_prune all = { .limits_given = true, .idle_ms = 1 };

    for (int steps = 0;; steps++) {
        struct dying dying = { .left = steps };
        struct hand hand;
        int status;

        (void)scene_clear(NULL);
        hand_make(&hand, "dies");
        hand_use(&hand);
        scene_shell("box=root/$(ls root) && mkdir $box/deep && echo x >$box/deep/file");
        make_old("1");
        status = in_child(remove, &dying);
        if (WIFEXITED(status)) {
            assert_exited(status, 0);
            return steps;
        }
        assert_killed(status, SIGKILL);
        /* What lies there is known by a record, or is gone. */
        assert_int_equal(count_names("root", "") <= records(), 1);
        if (comes_back) {
            hand_use(&hand);
            assert_int_equal(count_names("root", ""), 1);
            assert_int_equal(records(), 1);
            make_old("1");
        }
        (void)prune(&all);
        assert_int_equal(records(), 0);
        assert_int_equal(count_names("root", ""), 0);
        assert_int_equal(count_names("state/sessions", ".held"), 0);
        assert_int_equal(count_names("state/sessions", ".put"), 0);
        assert_int_equal(count_names("state/sessions", ".turn"), 0);
    }
}

static void who_is_killed_while_removing_leaves_nothing_for_ever(void **state)
{
    (void)state;
    assert_in_range(die_at_each_step(end_dying, false), 8, 99);
    assert_in_range(die_at_each_step(end_dying, true), 8, 99);
    assert_in_range(die_at_each_step(prune_dying, false), 7, 99);
    assert_in_range(die_at_each_step(prune_dying, true), 7, 99);
}

/* ---- who comes while one is being ended ---- */

static struct {
    struct hand hand;
    pthread_t thread;
    sem_t waits;
    struct nacre_session_hold *hold;
    enum nacre_status status;
} late;

static void tell_that_it_waits(void *data, const char *name)
{
    (void)data;
    if (strcmp(name, "hold the sandbox") == 0)
        (void)sem_post(&late.waits);
}

static void *come_late(void *data)
{
    const struct nacre_session_open_options options = {
        .state_dir = session_state, .deadline_ns = in_seconds(30),
        .step = tell_that_it_waits, .out_of_turn = true,
    };
    struct nacre_error err;

    (void)data;
    late.status = nacre_session_open(&late.hand.session, &options, &late.hold, &err);
    return NULL;
}

static enum nacre_status end_while_one_comes(void *data, const char *which,
                                             const char *scope_key, bool force,
                                             uint32_t *ret_ended, uint32_t *ret_left,
                                             struct nacre_error *err)
{
    const struct timespec pause = { .tv_nsec = 30000000 };

    (void)data;
    (void)scope_key;
    (void)force;
    (void)err;
    *ret_ended = *ret_left = 0;
    if (strncmp(which, "box-", 4) != 0)
        return NACRE_OK;
    if (pthread_create(&late.thread, NULL, come_late, NULL) != 0)
        return NACRE_ERR_IO;
    (void)sem_wait(&late.waits);
    (void)nanosleep(&pause, NULL); /* for it to have opened the lock that goes */
    return NACRE_OK;
}

static void who_waited_for_a_lock_that_went_has_the_new_one(void **state)
{
    const struct nacre_sessions_ender slow = { end_while_one_comes, NULL };
    const struct nacre_sessions_end how = fake_ending("one", false, &boxes);
    struct nacre_sessions_report report;
    int counts[2] = { 0, 0 };
    struct nacre_error err;

    (void)state;
    hand_make(&late.hand, "one");
    late.hold = NULL;
    assert_int_equal(sem_init(&late.waits, 0, 0), 0);
    hand_use(&late.hand);
    assert_int_equal(nacre_sessions_end(session_state, &how, &slow, &report, &err),
                     NACRE_OK);
    (void)pthread_join(late.thread, NULL);
    assert_int_equal(late.status, NACRE_OK);
    assert_true(scene_has(late.hand.box));
    assert_int_equal(nacre_sessions_each(session_state, count_live, counts, &err),
                     NACRE_OK);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    nacre_session_hold_free(late.hold);
}

static void short_memory_prunes_nothing_by_halves(void **state)
{
    int after;

    (void)state;
    for (after = 0; after < 1000; after++) {
        struct nacre_sessions_report report;
        struct nacre_error err;
        enum nacre_status status;
        int fds;
        bool fired;

        (void)scene_clear(NULL);
        use("one", 1, 0);
        scene_shell("touch -d '3 hours ago' state/sessions/*.json");
        fds = scene_fds();
        fail_alloc_after(after);
        status = nacre_sessions_prune(session_state, &by_records, &ender, &report, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(scene_fds(), fds);
        assert_true(status == NACRE_OK || status == NACRE_ERR_MEMORY ||
                    status == NACRE_ERR_IO);
        /* A workspace without a record would stay for ever. */
        assert_true(records() == 1 || count_names("root", "") == 0);
        if (!fired)
            break;
    }
    assert_int_equal(records(), 0);
    assert_in_range(after, 3, 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(limits_are_the_configurations, enter),
        cmocka_unit_test_setup(a_limit_is_over_one_millisecond_after_it, enter),
        cmocka_unit_test_setup(use_makes_it_young_but_not_new, enter),
        cmocka_unit_test_setup(numbers_that_are_given_are_for_all, enter),
        cmocka_unit_test_setup(only_one_configurations_if_asked, enter),
        cmocka_unit_test_setup(a_live_one_is_never_taken, enter),
        cmocka_unit_test_setup(once_a_day_is_the_timers_affair, enter),
        cmocka_unit_test_setup(nothing_beyond_a_link_is_touched, enter),
        cmocka_unit_test_setup(a_record_that_is_broken_ends_nothing, enter),
        cmocka_unit_test_setup(a_record_that_was_changed_removes_no_other_directory,
                               enter),
        cmocka_unit_test_setup(a_record_that_was_changed_ends_no_other_sandbox, enter),
        cmocka_unit_test_setup(each_agents_limits_are_its_own, enter),
        cmocka_unit_test_setup(the_end_takes_the_sessions_own_and_no_others, enter),
        cmocka_unit_test_setup(the_agents_own_workspace_outlives_every_session, enter),
        cmocka_unit_test_setup(one_that_runs_is_ended_by_force_alone, enter),
        cmocka_unit_test_setup(
            without_a_sandbox_there_is_nothing_to_remove_and_no_failure, enter),
        cmocka_unit_test_setup(what_was_half_removed_is_removed_before_it_is_used_again,
                               enter),
        cmocka_unit_test_setup(they_are_listed_with_who_is_live, enter),
        cmocka_unit_test_setup(who_is_killed_while_removing_leaves_nothing_for_ever,
                               enter),
        cmocka_unit_test_setup(who_waited_for_a_lock_that_went_has_the_new_one, enter),
        cmocka_unit_test_setup(short_memory_prunes_nothing_by_halves, enter),
    };

    return cmocka_run_group_tests_name("session prune", tests, scene_enter, scene_leave);
}
