/* Calls that wait for a person's word, and the words that count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_scene.h"
#include "nacre/approval.h"

static void a_tool_that_needs_a_persons_word_waits_for_it_in_vain(void **state)
{
    (void)state;
    expect_error(call("careful", "{\"do\": \"write\", \"path\": \"/workspace/careful\"}"),
                 "approval-timed-out", "denied", "");
    assert_int_not_equal(access("work/careful", F_OK), 0);
}

static void a_token_is_good_for_one_call_like_it(void **state)
{
    static const char arguments[] = "{\"do\": \"echo\"}";
    char token[NACRE_APPROVAL_TOKEN], work[128], sorted[] = "{\"do\":\"echo\"}";
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct nacre_approval_ask ask = { .tool = "careful", .arguments = sorted,
                                      .directory = work, .reason = "manifest" };
    struct nacre_error err;

    (void)state;
    (void)snprintf(work, sizeof(work), "%s/work", scene_top);
    assert_int_equal(nacre_tool_load("tools/careful/careful.wasm", &tool, &err),
                     NACRE_OK);
    ask.digest = tool->digest;
    if (nacre_approval_issue(nacre_engine_key_dir(engine), &ask, 60000, token, &err) !=
        NACRE_OK)
        fail_msg("%s", err.text);
    expect_error(call_with("careful", "{\"do\": \"fail\"}",
                           (struct asked){ .approval = token }),
                 "approval-changed", "denied", "");
    expect_good(call_with("careful", arguments, (struct asked){ .approval = token }),
                "echo");
    expect_error(call_with("careful", arguments, (struct asked){ .approval = token }),
                 "approval-replayed", "denied", "");
}

static void expect_asked(const char *tool, const char *arguments, const char *policy)
{
    expect_error(call_with(tool, arguments,
                           (struct asked){ .policy = policy, .unsandboxed = true }),
                 "approval-timed-out", "denied", "");
}

/* Whichever way a shell command is asked for, and however the mark is spelt. */
static void what_the_operator_marks_is_asked_about_by_each_of_its_names(void **state)
{
    static const char *const marks[] = { "exec", "bash", "Bash ", "ex*",
                                         "group:runtime" };
    char text[128];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(marks); i++) {
        (void)snprintf(text, sizeof(text),
                       "approvals: {wait_ms: 50, require: [\"%s\"]}\n", marks[i]);
        scene_file("host.yaml", text);
        expect_asked("exec", "{\"command\": \"touch work/marked\"}", "bare");
        expect_asked("process",
                     "{\"action\": \"start\", \"command\": \"touch work/marked\"}",
                     "bare");
        expect_asked("process",
                     "{\"action\": \"write\", \"id\": \"0123456789abcdef\", "
                     "\"input\": \"x\"}",
                     "bare");
        expect_good(call("probe", "{\"do\": \"echo\"}"), "echo");
    }
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
    assert_int_not_equal(access("work/marked", F_OK), 0);
}

/* The same file, as large as before, within one tick of the clock. */
static void a_mark_that_was_changed_holds_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        scene_file("host.yaml", "approvals: {wait_ms: 1, require: [\"homed\"]}");
        expect_good(call("probe", "{\"do\": \"echo\"}"), "echo");
        scene_file("host.yaml", "approvals: {wait_ms: 1, require: [\"probe\"]}");
        expect_asked("probe", "{\"do\": \"echo\"}", "files");
    }
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
    expect_good(call("probe", "{\"do\": \"echo\"}"), "echo");
}

static void a_mark_that_means_nothing_stops_every_call(void **state)
{
    static const char *const marks[] = { "group:runtimes", "\xc2\xa0", " " };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(marks); i++) {
        struct nacre_call asked = { .tool = "probe", .arguments = "{\"do\": \"echo\"}",
                                    .argument_bytes = strlen("{\"do\": \"echo\"}"),
                                    .policy = "files", .request = { .input_fd = -1 } };
        struct nacre_error err = { 0 };
        json_t *answer = NULL;
        char text[128];

        (void)snprintf(text, sizeof(text),
                       "approvals: {wait_ms: 50, require: [\"%s\"]}\n", marks[i]);
        scene_file("host.yaml", text);
        assert_int_equal(nacre_call(engine, &asked, &answer, &err), NACRE_ERR_PARSE);
        assert_null(answer);
    }
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
}

/* "sub" is one place in this workspace and another in that. */
static void an_approval_is_for_one_workspace(void **state)
{
    static const char arguments[] = "{\"command\":\"touch here\",\"directory\":\"sub\"}";
    char token[NACRE_APPROVAL_TOKEN], elsewhere[256], work[256];
    struct nacre_approval_ask ask = { .tool = "exec", .arguments = arguments,
                                      .directory = elsewhere, .unsandboxed = true,
                                      .reason = "operator" };
    struct nacre_error err;

    (void)state;
    scene_shell("mkdir -p work/sub");
    scene_file("host.yaml", "approvals: {wait_ms: 50, require: [exec]}\n");
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere/sub", scene_top);
    (void)snprintf(work, sizeof(work), "%s/work/sub", scene_top);
    ask.digest = nacre_hash(arguments, strlen(arguments));
    for (int i = 0; i < 2; i++) {
        struct asked asked = { .policy = "bare", .unsandboxed = true, .approval = token };

        if (nacre_approval_issue(nacre_engine_key_dir(engine), &ask, 60000, token,
                                 &err) != NACRE_OK)
            fail_msg("%s", err.text);
        if (i == 0)
            expect_error(call_with("exec", arguments, asked), "approval-changed",
                         "denied", "");
        else
            expect_good(call_with("exec", arguments, asked), "exit status 0");
        assert_int_equal(access("work/sub/here", F_OK), i == 0 ? -1 : 0);
        ask.directory = work;
    }
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
}

static void a_soul_in_any_mount_approves_nothing(void **state)
{
    static const char arguments[] = "{\"do\": \"echo\"}";
    char text[512];
    struct nacre_error err;

    (void)state;
    scene_shell("mkdir -p kept && chmod 755 kept");
    scene_file("kept/SOUL.md", "```nacre-approve\ntool: careful\narguments: *\n"
                               "expires: 2099-01-01T00:00:00Z\n```\n");
    scene_shell("chmod 600 kept/SOUL.md");
    (void)snprintf(text, sizeof(text),
                   "approvals: {wait_ms: 50, soul: %s/kept/SOUL.md}\n", scene_top);
    scene_file("host.yaml", text);
    (void)snprintf(text, sizeof(text), "%s/kept/SOUL.md", scene_top);
    if (nacre_soul_trust(text, nacre_engine_key_dir(engine), &err) != NACRE_OK)
        fail_msg("%s", err.text);
    (void)snprintf(text, sizeof(text),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: wide}\nspec:\n"
                   "  level: wasm\n  capabilities:\n    filesystem:\n      mode: scoped\n"
                   "      mount_paths: [{path: %s/kept, permissions: rw}]\n"
                   "  resource_limits: {timeout_ms: 20000}\n", scene_top);
    scene_file("policies/wide.yaml", text);
    expect_error(call_with("careful", arguments,
                           (struct asked){ .policy = "wide", .no_workspace = true }),
                 "approval-not-in-soul", "denied", "a guest sees");
    expect_good(call("careful", arguments), "echo");
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_that_needs_a_persons_word_waits_for_it_in_vain),
        cmocka_unit_test(a_token_is_good_for_one_call_like_it),
        cmocka_unit_test(what_the_operator_marks_is_asked_about_by_each_of_its_names),
        cmocka_unit_test(a_mark_that_was_changed_holds_at_once),
        cmocka_unit_test(a_mark_that_means_nothing_stops_every_call),
        cmocka_unit_test(an_approval_is_for_one_workspace),
        cmocka_unit_test(a_soul_in_any_mount_approves_nothing),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
