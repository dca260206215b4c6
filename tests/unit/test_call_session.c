/* Calls of a session: what its configuration says of tools, elevation and files. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_scene.h"
#include "nacre/approval.h"

#define CROSSED_CALLS 60

struct settled {
    struct nacre_config *config;
    struct nacre_session *session;
};

static void settled_clear(struct settled *settled)
{
    nacre_session_free(settled->session);
    nacre_config_free(settled->config);
}

static struct settled settle(const char *sandbox, const char *more, const char *agent)
{
    struct nacre_session_ask ask = { .agent = agent, .home = scene_top,
                                     .sender = "webchat:me" };
    struct settled settled = { 0 };
    struct nacre_error err;
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "{agents: {defaults: {sandbox: {%s}}, list: [{id: 'a', workspace: "
                   "'%s/work/a'}, {id: 'b', workspace: '%s/work/b'}]}%s}",
                   sandbox, scene_top, scene_top, more);
    if (nacre_config_parse("openclaw.json", text, strlen(text), &settled.config, &err) !=
            NACRE_OK ||
        nacre_session_settle(settled.config, &ask, &settled.session, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return settled;
}

static void make_agents(void)
{
    scene_shell("mkdir -p work/a work/b && echo of-a > work/a/f && echo of-b > work/b/f");
}

static void a_sessions_tool_policy_decides_first(void **state)
{
    NACRE_AUTO(settled_clear)
    struct settled settled = settle("mode: 'all', workspaceAccess: 'rw'",
                                    ", tools: {deny: ['probe']}", "a");
    struct asked asked = { .session = settled.session };
    json_t *answer;
    const json_t *denial;

    (void)state;
    make_agents();
    answer = call_with("PROBE", "{\"do\": \"echo\"}", asked);
    denial = json_array_get(meta_of(answer, "denials"), 0);
    assert_non_null(strstr(json_string_value(json_object_get(denial, "place")),
                           "openclaw.json:"));
    expect_error(answer, "tool-denied", "denied", "use another tool");
}

static void a_session_that_may_not_write_has_no_tools_that_do(void **state)
{
    NACRE_AUTO(settled_clear)
    struct settled settled =
        settle("mode: 'all', workspaceAccess: 'ro'",
               ", tools: {sandbox: {tools: {allow: ['writer', 'probe']}}}", "a");

    (void)state;
    make_agents();
    expect_error(call_with("writer", "{\"do\": \"write\", \"path\": \"/workspace/n\"}",
                           (struct asked){ .session = settled.session }),
                 "writes-off", "denied", "read-only");
    assert_int_not_equal(access("work/a/n", F_OK), 0);
}

static void issue(const struct settled *settled, const char *arguments,
                  char ret_token[NACRE_APPROVAL_TOKEN])
{
    json_t *value = json_loads(arguments, 0, NULL);
    char *sorted = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
    struct nacre_approval_ask ask = {
        .tool = "exec", .arguments = sorted, .directory = settled->session->workspace,
        .digest = nacre_hash(sorted, strlen(sorted)), .session = settled->session->key,
        .agent = settled->session->agent, .unsandboxed = true,
    };
    struct nacre_error err;

    if (nacre_approval_issue(nacre_engine_key_dir(engine), &ask, 60000, ret_token,
                             &err) != NACRE_OK)
        fail_msg("%s", err.text);
    free(sorted);
    json_decref(value);
}

static void an_elevated_command_needs_open_gates_and_a_persons_word(void **state)
{
    static const char sandbox[] = "mode: 'all', workspaceAccess: 'rw'";
    NACRE_AUTO(settled_clear)
    struct settled open = settle(sandbox, ", tools: {elevated: {enabled: true, "
                                          "allowFrom: {webchat: ['me']}}}", "a");
    NACRE_AUTO(settled_clear)
    struct settled shut = settle(sandbox, ", tools: {elevated: {enabled: true, "
                                          "allowFrom: {webchat: ['you']}}}", "a");
    static const char up[] = "{\"command\": \"touch up; pwd\"}";
    char token[NACRE_APPROVAL_TOKEN];
    json_t *answer;

    (void)state;
    make_agents();
    expect_error(call_with("exec", up,
                           (struct asked){ .session = shut.session, .elevated = true }),
                 "not-elevated", "denied", "the gate allowFrom is shut");
    assert_int_not_equal(access("work/a/up", F_OK), 0);
    /* Open gates are the file's word; this command's is a person's to give. */
    expect_error(call_with("exec", up, (struct asked){ .session = open.session,
                                                       .elevated = true }),
                 "approval-timed-out", "denied", "nacre approve");
    assert_int_not_equal(access("work/a/up", F_OK), 0);
    issue(&open, up, token);
    expect_error(call_with("exec", "{\"command\": \"touch down\"}",
                           (struct asked){ .session = open.session, .elevated = true,
                                           .approval = token }),
                 "approval-changed", "denied", "");
    answer = call_with("exec", up, (struct asked){ .session = open.session,
                                                   .elevated = true,
                                                   .approval = token });
    assert_string_equal(json_string_value(meta_of(answer, "level")), "none");
    assert_true(json_is_true(meta_of(answer, "unsandboxed")));
    expect_good(answer, "/work/a");
    assert_int_equal(access("work/a/up", F_OK), 0);
    expect_error(call_with("exec", up, (struct asked){ .session = open.session,
                                                       .elevated = true,
                                                       .approval = token }),
                 "approval-replayed", "denied", "");
    scene_shell("grep -q '\"approver\":\"token\"' state/audit.jsonl");
}

/* Where the file says "no sandbox" that is its word; where it says nothing it is not. */
static void a_session_without_a_sandbox_needs_a_line_or_a_word(void **state)
{
    static const char up[] = "{\"command\": \"pwd\"}";
    NACRE_AUTO(settled_clear) struct settled said = settle("mode: 'off'", "", "a");
    NACRE_AUTO(settled_clear) struct settled silent = settle("", "", "a");

    (void)state;
    make_agents();
    expect_good(call_with("exec", up, (struct asked){ .session = said.session }),
                "/work/a");
    expect_error(call_with("exec", up, (struct asked){ .session = silent.session }),
                 "approval-timed-out", "denied", "nacre approve");
}

static void a_soul_in_a_bind_of_the_session_approves_nothing(void **state)
{
    static const char echo[] = "{\"do\": \"echo\"}";
    char binds[256], host[256];
    NACRE_AUTO(settled_clear) struct settled apart = settle("mode: 'off'", "", "a");
    struct settled bound;
    struct nacre_error err;

    (void)state;
    make_agents();
    (void)snprintf(host, sizeof(host), "%s/soul/SOUL.md", scene_top);
    (void)snprintf(binds, sizeof(binds),
                   "mode: 'all', docker: {binds: ['%s/soul:/soul:ro']}", scene_top);
    scene_shell("mkdir -m 700 soul");
    scene_file("soul/SOUL.md", "```nacre-approve\ntool: careful\narguments: *\n"
                               "expires: 2099-01-01T00:00:00Z\n```\n");
    scene_shell("chmod 600 soul/SOUL.md && chmod go-w .");
    scene_shell("printf 'approvals: {wait_ms: 50, soul: %s/soul/SOUL.md}\n' \"$PWD\" "
                ">host.yaml");
    assert_int_equal(nacre_soul_trust(host, nacre_engine_key_dir(engine), &err),
                     NACRE_OK);
    expect_good(call_with("careful", echo, (struct asked){ .session = apart.session }),
                "echo");
    bound = settle(binds, ", tools: {sandbox: {tools: {allow: ['careful']}}}", "a");
    expect_error(call_with("careful", echo, (struct asked){ .session = bound.session }),
                 "approval-not-in-soul", "denied", "a guest sees");
    settled_clear(&bound);
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
}

/* Neither the session's turn nor anything of its place is there for it. */
static void a_command_that_the_rules_refuse_makes_nothing(void **state)
{
    static const char good[] = "{\"command\": \"true\"}";
    NACRE_AUTO(settled_clear) struct settled said = settle("mode: 'off'", "", "a");
    struct asked asked = { .session = said.session };
    json_t *answer;

    (void)state;
    make_agents();
    scene_shell("rm -rf state/sessions");
    answer = call_with("exec", "{\"command\": \"true\", \"environment\": "
                               "{\"LD_PRELOAD\": \"/x.so\"}}", asked);
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    assert_non_null(strstr(text_of(answer), "LD_PRELOAD"));
    json_decref(answer);
    expect_error(call_with("exec", "{\"command\": \"true\", \"environment\": "
                                   "{\"A=B\": \"1\"}}", asked),
                 "invalid-arguments", "invalid", "A=B");
    json_decref(call_with("process", "{\"action\": \"list\"}", asked));
    assert_int_not_equal(access("state/sessions", F_OK), 0);
    expect_good(call_with("exec", good, asked), "exit status 0");
    assert_int_equal(access("state/sessions", F_OK), 0);
}

struct reader {
    const struct nacre_session *session;
    const char *mine;
    int wrong;
};

/* No assertion of cmocka's in a thread: what is wrong is counted. */
static void *read_on(void *data)
{
    static const char arguments[] = "{\"do\": \"read\", \"path\": \"/workspace/f\"}";
    struct reader *reader = data;

    for (int i = 0; i < CROSSED_CALLS; i++) {
        struct nacre_call call = { .tool = "probe", .arguments = arguments,
                                   .argument_bytes = strlen(arguments),
                                   .session = reader->session,
                                   .request = { .input_fd = -1 } };
        struct nacre_error err;
        json_t *answer = NULL;

        if (nacre_call(engine, &call, &answer, &err) != NACRE_OK || !text_of(answer) ||
            strcmp(text_of(answer), reader->mine) != 0)
            reader->wrong++;
        json_decref(answer);
    }
    return NULL;
}

static void two_agents_at_once_never_see_each_others_files(void **state)
{
    static const char sandbox[] = "mode: 'all', workspaceAccess: 'rw'";
    static const char tools[] = ", tools: {sandbox: {tools: {allow: ['probe']}}}";
    NACRE_AUTO(settled_clear) struct settled a = settle(sandbox, tools, "a");
    NACRE_AUTO(settled_clear) struct settled b = settle(sandbox, tools, "b");
    struct reader readers[] = { { a.session, "of-a", 0 }, { b.session, "of-b", 0 },
                                { a.session, "of-a", 0 }, { b.session, "of-b", 0 } };
    pthread_t threads[NACRE_COUNT(readers)];

    (void)state;
    make_agents();
    expect_good(call_with("probe", "{\"do\": \"read\", \"path\": \"/workspace/f\"}",
                          (struct asked){ .session = a.session }), "of-a");
    for (size_t i = 0; i < NACRE_COUNT(readers); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (size_t i = 0; i < NACRE_COUNT(readers); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sessions_tool_policy_decides_first),
        cmocka_unit_test(a_session_that_may_not_write_has_no_tools_that_do),
        cmocka_unit_test(an_elevated_command_needs_open_gates_and_a_persons_word),
        cmocka_unit_test(a_session_without_a_sandbox_needs_a_line_or_a_word),
        cmocka_unit_test(a_soul_in_a_bind_of_the_session_approves_nothing),
        cmocka_unit_test(a_command_that_the_rules_refuse_makes_nothing),
        cmocka_unit_test(two_agents_at_once_never_see_each_others_files),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
