/* An embedder that keeps its own sandboxes warm, beside the program's verbs: those see
 * them, say whose they are and leave them; prune is the embedder's, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "nacre/keeper.h"
#include "nacre/nacre.h"
#include "nacre/sessions.h"
#include "scene.h"

static const char policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n  level: container\n"
    "  capabilities:\n    shell: {mode: full}\n";
static struct nacre_engine *engine;
static struct nacre_policy *policy;

static int enter(void **state)
{
    const char *where = getenv("NACRE_TEST_DOCKER");
    const struct nacre_engine_options own = { .commands_only = true, .own_boxes = true,
                                              .program = NACRE_PROGRAM };
    struct nacre_error err = { .text = "" };

    if (scene_enter(state) != 0 || chmod(scene_top, 0755) != 0 ||
        setenv("HOME", scene_top, 1) != 0)
        return -1;
    if (!where)
        return 0;
    scene_file("p.yaml", policy_text);
    if (setenv("DOCKER_HOST", where, 1) == 0 &&
        nacre_engine_open(&own, &engine, &err) == NACRE_OK &&
        nacre_engine_policy(engine, "./p.yaml", &policy, &err) == NACRE_OK)
        return 0;
    print_message("%s\n", err.text);
    return -1;
}

static int leave(void **state)
{
    nacre_policy_free(policy);
    nacre_engine_free(engine);
    return scene_leave(state);
}

static void run_in(const char *session)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1, .session = session,
                                           .image = "nacre-test-busybox:latest" };
    struct nacre_error err;

    assert_int_equal(nacre_tool_shell("true", &tool, &err), NACRE_OK);
    if (nacre_run(engine, policy, tool, &request, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    if (result->outcome != NACRE_OUTCOME_EXITED)
        fail_msg("%s", result->denial_count ? result->denials[0].text : result->reason);
}

static bool take_name(void *data, const struct nacre_box_info *info)
{
    (void)snprintf(data, sizeof(info->name), "%s", info->name);
    return true;
}

/* Once the registry has it. */
static void await_registered(char ret_name[64])
{
    char note[NACRE_BOXES_NOTE];
    struct nacre_error err;

    ret_name[0] = '\0';
    for (int i = 0; i < 250 && !(ret_name[0] && !note[0]); i++) {
        ret_name[0] = '\0';
        assert_int_equal(nacre_engine_boxes(engine, take_name, ret_name, note, &err),
                         NACRE_OK);
        (void)usleep(20000);
    }
    assert_true(ret_name[0]);
}

/* What the program says; its status is the answer. */
static int said(const char *words, char ret_text[1024])
{
    char command[512];
    size_t count;
    FILE *pipe;

    (void)snprintf(command, sizeof(command), NACRE_PROGRAM " %s 2>&1", words);
    pipe = popen(command, "re");
    assert_non_null(pipe);
    count = fread(ret_text, 1, 1023, pipe);
    ret_text[count] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

static void a_verb_says_whose_sandbox_it_is_and_leaves_it(void **state)
{
    static const char *const verbs[] = { "stop", "rm", "recreate", "recreate --force" };
    char name[64], text[1024], words[160], wanted[160];
    int32_t pid = 0;

    (void)state;
    if (!engine)
        skip();
    run_in("mine");
    await_registered(name);
    assert_int_equal(said("ps", text), 0);
    assert_non_null(strstr(text, name));
    for (size_t i = 0; i < NACRE_COUNT(verbs); i++) {
        (void)snprintf(words, sizeof(words), "%s %s", verbs[i], name);
        (void)snprintf(wanted, sizeof(wanted),
                       "'%s' belongs to process %d (test_engine_b", name, getpid());
        assert_int_not_equal(said(words, text), 0);
        if (!strstr(text, wanted))
            fail_msg("%s: %s", words, text);
    }
    assert_int_not_equal(said("stop no-such", text), 0);
    assert_non_null(strstr(text, "no sandbox 'no-such' is warm"));
    assert_false(nacre_engine_box_is_anothers(engine, name, &pid));
    /* It is there still. */
    assert_int_equal(said("ps", text), 0);
    assert_non_null(strstr(text, name));
}

static void prune_is_the_embedders_too(void **state)
{
    const struct nacre_sessions_prune never = { .limits_given = true };
    const struct nacre_sessions_prune day = { .limits_given = true,
                                              .idle_ms = NACRE_PRUNE_IDLE_MS,
                                              .age_ms = NACRE_PRUNE_AGE_MS };
    const struct nacre_sessions_prune soon = { .limits_given = true, .idle_ms = 1 };
    struct nacre_sessions_report report;
    struct nacre_error err;

    (void)state;
    if (!engine)
        skip();
    run_in("mine");
    (void)usleep(20000);
    assert_int_equal(nacre_engine_prune(engine, &never, &report, &err), NACRE_OK);
    assert_int_equal(report.ended, 0);
    assert_int_equal(nacre_engine_prune(engine, &day, &report, &err), NACRE_OK);
    assert_int_equal(report.ended, 0);
    assert_int_equal(nacre_engine_prune(engine, &soon, &report, &err), NACRE_OK);
    assert_int_equal(report.ended, 1);
    assert_int_equal(nacre_engine_prune(engine, &soon, &report, &err), NACRE_OK);
    assert_int_equal(report.ended, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verb_says_whose_sandbox_it_is_and_leaves_it),
        cmocka_unit_test(prune_is_the_embedders_too),
    };

    return cmocka_run_group_tests_name("engine_boxes", tests, enter, leave);
}
