/*
 * The door: a tool that does what it is told (guests/probe.c) is called well and badly,
 * and each time there is an answer that a model can act on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "nacre/approval.h"
#include "nacre/call.h"
#include "nacre/text.h"
#include "scene.h"

#define MIXED_CALLS 1000
#define CROSSED_CALLS 60

static struct nacre_engine *engine;

static const char workspace_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: files}\nspec:\n  level: wasm\n"
    "  capabilities:\n    filesystem:\n      mode: scoped\n"
    "      mount_paths: [{path: /workspace, permissions: rw}]\n"
    "  resource_limits: {timeout_ms: 20000, max_output_bytes: 1048576}\n";
static const char read_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: looks}\nspec:\n  level: wasm\n"
    "  capabilities:\n    filesystem:\n      mode: scoped\n"
    "      mount_paths: [{path: /workspace, permissions: ro}]\n"
    "  resource_limits: {timeout_ms: 20000}\n";
static const char leak_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: leaks}\nspec:\n  level: wasm\n"
    "  capabilities: {secrets: {leak_detection: {enabled: true}}}\n"
    "  resource_limits: {timeout_ms: 20000}\n";
static const char host_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: bare}\nspec:\n  level: none\n"
    "  capabilities: {shell: {mode: full}}\n"
    "  resource_limits: {timeout_ms: 20000}\n";

#define PROBE_SCHEMA                                                             \
    "{type: object, properties: {do: {type: string}, path: {type: string}, "     \
    "text: {type: string}, count: {type: integer, minimum: 1}}, required: [do], " \
    "additionalProperties: false}"

/* A folder around the probe; `annotations` are lines of YAML with their indent. */
static void put_probe(const char *name, const char *annotations, const char *spec)
{
    char text[2048], path[256];

    (void)snprintf(text, sizeof(text),
                   "mkdir -p tools/%s && cp %s/probe.wasm tools/%s/%s.wasm", name,
                   NACRE_GUESTS_DIR, name, name);
    scene_shell(text);
    (void)snprintf(text, sizeof(text),
                   "claw: \"0.3.0\"\nkind: Tool\nmetadata:\n  name: %s\n"
                   "  version: 1.2.3\n  annotations:\n    example.org/test: \"1\"\n%s"
                   "spec:\n  description: Do as told\n  input_schema: " PROBE_SCHEMA
                   "\n%s",
                   name, annotations, spec);
    (void)snprintf(path, sizeof(path), "tools/%s/tool.yaml", name);
    scene_file(path, text);
}

static int open_engine(void **state)
{
    static char paths[7][128];
    static const char *const names[] = { "state", "cache", "keys", "policies", "tools",
                                         "host.yaml", "work" };
    const char *policy_dirs[2] = { paths[3], NULL }, *tool_dirs[2] = { paths[4], NULL };
    struct nacre_engine_options options = {
        .program = NACRE_PROGRAM_FILE, .state_dir = paths[0], .cache_dir = paths[1],
        .key_dir = paths[2], .policy_dirs = policy_dirs, .tool_dirs = tool_dirs,
        .host_file = paths[5],
    };
    struct nacre_error err;

    if (scene_enter(state) != 0)
        return -1;
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", scene_top, names[i]);
    scene_shell("mkdir policies tools work && chmod 755 . work");
    scene_file("policies/files.yaml", workspace_policy);
    scene_file("policies/looks.yaml", read_policy);
    scene_file("policies/leaks.yaml", leak_policy);
    scene_file("policies/bare.yaml", host_policy);
    scene_file("host.yaml", "approvals: {wait_ms: 50}\n");
    put_probe("probe", "", "");
    put_probe("writer", "    nacre/access: write\n", "");
    put_probe("bounded", "", "  timeout_ms: 300\n");
    put_probe("starved", "    nacre/fuel: \"1000\"\n", "");
    put_probe("careful", "    nacre/approval: required\n", "");
    put_probe("homed", "", "  sandbox_ref: claw://local/sandbox/files\n");
    put_probe("strict", "",
              "  output_schema: {type: object, properties: {args: {type: object}}}\n");
    if (nacre_engine_open(&options, &engine, &err) == NACRE_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_engine(void **state)
{
    nacre_engine_free(engine);
    return scene_leave(state);
}

/* ---- a call, and words to judge it by ---- */

struct asked {
    const char *policy, *approval;
    const struct nacre_session *session;
    bool no_workspace, unsandboxed, elevated;
    uint64_t fuel, timeout_ms;
};

static json_t *call_with(const char *tool, const char *arguments, struct asked asked)
{
    char work[128];
    struct nacre_call call = {
        .tool = tool, .arguments = arguments, .argument_bytes = strlen(arguments),
        .policy = asked.session ? NULL : asked.policy ? asked.policy : "files",
        .session = asked.session, .approval = asked.approval, .elevated = asked.elevated,
        .request = { .input_fd = -1, .workspace = asked.no_workspace ? NULL : work,
                     .fuel = asked.fuel, .timeout_ms = asked.timeout_ms,
                     .unsandboxed = asked.unsandboxed },
    };
    struct nacre_error err = { 0 };
    json_t *answer = NULL;

    (void)snprintf(work, sizeof(work), "%s/work", scene_top);
    if (nacre_call(engine, &call, &answer, &err) != NACRE_OK)
        fail_msg("%s %s: %s", tool, arguments, err.text);
    assert_true(json_is_boolean(json_object_get(answer, "isError")));
    return answer;
}

static json_t *call(const char *tool, const char *arguments)
{
    return call_with(tool, arguments, (struct asked){ 0 });
}

static const json_t *meta_of(const json_t *answer, const char *key)
{
    return json_object_get(json_object_get(json_object_get(answer, "_meta"), "nacre"),
                           key);
}

static const char *text_of(const json_t *answer)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text"));
}

/* Takes `answer`. */
static void expect_good(json_t *answer, const char *text)
{
    if (json_is_true(json_object_get(answer, "isError")) ||
        !strstr(text_of(answer), text))
        fail_msg("expected '%s' in: %s", text, json_dumps(answer, 0));
    json_decref(answer);
}

static void expect_error(json_t *answer, const char *code, const char *outcome,
                         const char *text)
{
    const char *found = json_string_value(
        json_object_get(json_object_get(answer, "structuredContent"), "code"));

    if (!json_is_true(json_object_get(answer, "isError")) || !found ||
        strcmp(found, code) != 0 ||
        strcmp(json_string_value(meta_of(answer, "outcome")), outcome) != 0 ||
        !strstr(text_of(answer), text))
        fail_msg("expected %s, %s, '%s' in: %s", code, outcome, text,
                 json_dumps(answer, 0));
    json_decref(answer);
}

/* ---- tests ---- */

static void a_call_answers_with_what_the_tool_and_the_host_say(void **state)
{
    json_t *answer = call("probe", "{\"do\": \"echo\", \"count\": 3}");
    const json_t *args = json_object_get(json_object_get(answer, "structuredContent"),
                                         "args");

    (void)state;
    assert_false(json_is_true(json_object_get(answer, "isError")));
    assert_int_equal(json_integer_value(json_object_get(args, "count")), 3);
    assert_string_equal(json_string_value(meta_of(answer, "tool")), "probe");
    assert_string_equal(json_string_value(meta_of(answer, "version")), "1.2.3");
    assert_string_equal(json_string_value(meta_of(answer, "level")), "wasm");
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "exited");
    assert_int_equal(json_string_length(meta_of(answer, "run_id")), NACRE_RUN_ID - 1);
    assert_true(json_integer_value(meta_of(answer, "fuel")) > 0);
    assert_true(json_is_false(meta_of(answer, "unsandboxed")));
    assert_non_null(strstr(json_string_value(meta_of(answer, "why")), "policy files"));
    json_decref(answer);
}

static void a_name_is_known_in_any_case(void **state)
{
    (void)state;
    expect_good(call("Probe", "{\"do\": \"echo\"}"), "echo");
}

static void arguments_that_do_not_fit_run_nothing(void **state)
{
    static const struct {
        const char *arguments, *text;
    } rows[] = {
        { "", "not JSON" },
        { "{", "not JSON" },
        { "{\"do\": \"echo\"} x", "not JSON" },
        { "{\"do\": 1, \"do\": 2}", "not JSON" },
        { "{\"do\": \"\xff\"}", "not JSON" },
        { "[]", "not a JSON object" },
        { "{}", "the property \"do\" is missing" },
        { "{\"do\": 5}", "/do: expected a string, found the number 5" },
        { "{\"do\": \"echo\", \"pth\": \"a\"}", "did you mean \"path\"?" },
        { "{\"do\": \"echo\", \"count\": 0}", "/count: expected at least 1" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        json_t *answer = call("probe", rows[i].arguments);

        assert_true(json_is_null(meta_of(answer, "run_id")));
        expect_error(answer, "invalid-arguments", "invalid", rows[i].text);
    }
}

static void arguments_that_are_too_large_run_nothing(void **state)
{
    NACRE_AUTO(nacre_heap_guard) char *text = malloc(NACRE_CALL_ARGUMENT_BYTES_MAX + 2);

    (void)state;
    memset(text, ' ', NACRE_CALL_ARGUMENT_BYTES_MAX + 1);
    text[NACRE_CALL_ARGUMENT_BYTES_MAX + 1] = '\0';
    expect_error(call("probe", text), "invalid-arguments", "invalid",
                 "larger than 16 MiB");
}

static void a_tool_that_is_not_there_names_the_nearest(void **state)
{
    (void)state;
    expect_error(call("prode", "{}"), "unknown-tool", "invalid", "did you mean 'probe'?");
    expect_error(call("../probe", "{}"), "unknown-tool", "invalid", "there is no tool");
    expect_error(call("", "{}"), "unknown-tool", "invalid", "there is no tool");
}

static void how_a_tool_ends_is_told(void **state)
{
    static const struct {
        const char *tool, *arguments, *code, *text;
    } rows[] = {
        { "probe", "{\"do\": \"trap\"}", "trapped", "failed inside" },
        { "writer", "{\"do\": \"trap\"}", "trapped", "look at the files first" },
        { "bounded", "{\"do\": \"loop\"}", "timed-out", "ask for less" },
        { "starved", "{\"do\": \"loop\"}", "out-of-fuel", "budget" },
        { "probe", "{\"do\": \"flood\"}", "output-limit", "more than may be kept" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        expect_error(call(rows[i].tool, rows[i].arguments), rows[i].code, rows[i].code,
                     rows[i].text);
}

static void a_manifests_fuel_is_exact_every_time(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        json_t *answer = call("starved", "{\"do\": \"loop\"}");

        assert_int_equal(json_integer_value(meta_of(answer, "fuel")), 1000);
        expect_error(answer, "out-of-fuel", "out-of-fuel", "budget");
    }
}

static void what_is_no_answer_is_told_with_an_excerpt(void **state)
{
    static const struct {
        const char *arguments, *text;
    } rows[] = {
        { "{\"do\": \"bad\"}", "It wrote: this is not JSON \\x1b[31m {" },
        { "{\"do\": \"silent\"}", "gave no answer (it ended with status 3)" },
        { "{\"do\": \"grumble\"}", "its last words: out of luck" },
        { "{\"do\": \"array\"}", "it is no object" },
        { "{\"do\": \"extra\"}", "a key that is none of" },
        { "{\"do\": \"type\"}", "of no known type" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        expect_error(call("probe", rows[i].arguments), "bad-answer", "exited",
                     rows[i].text);
}

static void a_tools_own_error_and_status_are_errors(void **state)
{
    json_t *answer = call("probe", "{\"do\": \"fail\"}");

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(text_of(answer), "mend this");
    json_decref(answer);
    answer = call("probe", "{\"do\": \"status\"}");
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(text_of(answer), "half done");
    json_decref(answer);
}

static void structured_content_is_judged_by_its_schema(void **state)
{
    (void)state;
    expect_good(call("strict", "{\"do\": \"echo\"}"), "echo");
    expect_error(call("strict", "{\"do\": \"read\", \"path\": \"/workspace\"}"),
                 "bad-answer", "exited", "structuredContent: /args: expected an object");
}

static void no_guest_speaks_for_the_host(void **state)
{
    json_t *answer = call("probe", "{\"do\": \"forge\"}");

    (void)state;
    assert_string_equal(json_string_value(meta_of(answer, "level")), "wasm");
    assert_int_equal(json_object_size(json_object_get(answer, "_meta")), 1);
    json_decref(answer);
}

static void a_module_that_is_not_the_manifests_is_refused(void **state)
{
    char annotations[256], line[NACRE_HEX + 64];
    FILE *digest = popen("sha256sum < " NACRE_GUESTS_DIR "/probe.wasm", "r");
    json_t *answer;

    (void)state;
    assert_true(digest && fgets(line, sizeof(line), digest));
    (void)pclose(digest);
    line[NACRE_HEX - 1] = '\0';
    (void)snprintf(annotations, sizeof(annotations), "    nacre/digest: \"%s\"\n", line);
    put_probe("sealed", annotations, "");
    expect_good(call("sealed", "{\"do\": \"echo\"}"), "echo");
    scene_shell("cp " NACRE_GUESTS_DIR "/args.wasm tools/sealed/sealed.wasm");
    answer = call("sealed", "{\"do\": \"echo\"}");
    assert_non_null(strstr(text_of(answer), line));
    assert_non_null(strstr(text_of(answer), "the module's is"));
    expect_error(answer, "digest-mismatch", "denied", "not the one");
    put_probe("sealed", annotations, "");
    expect_good(call("sealed", "{\"do\": \"echo\"}"), "echo");
}

static void a_folder_that_was_replaced_is_read_again(void **state)
{
    json_t *answer;

    (void)state;
    put_probe("fresh", "", "");
    expect_good(call("fresh", "{\"do\": \"echo\"}"), "echo");
    scene_shell("sed -i 's/1.2.3/4.5.6/' tools/fresh/tool.yaml");
    answer = call("fresh", "{\"do\": \"echo\"}");
    assert_string_equal(json_string_value(meta_of(answer, "version")), "4.5.6");
    expect_good(answer, "echo");
    scene_shell("rm -r tools/fresh");
    expect_error(call("fresh", "{\"do\": \"echo\"}"), "unknown-tool", "invalid",
                 "no tool");
}

static void a_policy_that_was_changed_holds_at_once(void **state)
{
    struct asked asked = { .policy = "shifting" };

    (void)state;
    scene_file("policies/shifting.yaml", workspace_policy);
    scene_shell("sed -i 's/name: files/name: shifting/' policies/shifting.yaml");
    expect_good(call_with("writer", "{\"do\": \"write\", \"path\": \"/workspace/s\", "
                                    "\"text\": \"1\"}", asked), "written");
    /* In place: its directory does not change. */
    scene_shell("sed 's/: rw/: ro/' policies/shifting.yaml > changed && "
                "cat changed > policies/shifting.yaml");
    expect_error(call_with("writer", "{\"do\": \"write\", \"path\": \"/workspace/s\", "
                                     "\"text\": \"2\"}", asked), "writes-off", "denied",
                 "lets no tool write");
}

static void a_tool_that_writes_is_off_where_nothing_may_be_written(void **state)
{
    static const char write[] = "{\"do\": \"write\", \"path\": \"/workspace/new\", "
                                "\"text\": \"1\"}";
    json_t *answer;

    (void)state;
    expect_error(call_with("writer", write, (struct asked){ .policy = "looks" }),
                 "writes-off", "denied", "lets no tool write");
    assert_int_not_equal(access("work/new", F_OK), 0);
    /* One that does not say that it writes meets the wall itself. */
    answer = call_with("probe", write, (struct asked){ .policy = "looks" });
    assert_string_equal(text_of(answer), "can't write");
    assert_int_equal(json_array_size(meta_of(answer, "denials")), 1);
    json_decref(answer);
    assert_int_not_equal(access("work/new", F_OK), 0);
    expect_good(call("writer", write), "written");
    assert_int_equal(access("work/new", F_OK), 0);
}

static void a_manifest_bounds_what_a_caller_may_ask_for(void **state)
{
    (void)state;
    expect_error(call_with("starved", "{\"do\": \"loop\"}",
                           (struct asked){ .fuel = 500000000 }),
                 "out-of-fuel", "out-of-fuel", "budget");
    expect_error(call_with("probe", "{\"do\": \"loop\"}", (struct asked){ .fuel = 1000 }),
                 "out-of-fuel", "out-of-fuel", "budget");
    expect_error(call_with("bounded", "{\"do\": \"loop\"}",
                           (struct asked){ .timeout_ms = 60000 }),
                 "timed-out", "timed-out", "in time");
    /* More than the policy grants is not asked for, so it is not refused. */
    expect_good(call_with("probe", "{\"do\": \"echo\"}",
                          (struct asked){ .timeout_ms = 90000000 }), "echo");
}

static void a_manifests_sandbox_holds_where_none_is_named(void **state)
{
    struct nacre_call bare = { .tool = "homed", .arguments = "{\"do\": \"echo\"}",
                               .argument_bytes = 14, .request = { .input_fd = -1 } };
    struct nacre_answer answer;
    enum nacre_level level;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_call_explain(engine, &bare, &level, &answer, &err), NACRE_OK);
    assert_true(answer.allowed);
    assert_int_equal(level, NACRE_LEVEL_WASM);
    assert_non_null(strstr(answer.text, "policy files, its manifest's sandbox_ref"));
    assert_true(answer.place.line > 0);
    assert_non_null(strstr(answer.file, "/files.yaml"));
    bare.tool = "probe";
    assert_int_equal(nacre_call_explain(engine, &bare, &level, &answer, &err), NACRE_OK);
    assert_non_null(strstr(answer.text, "grants nothing"));
}

static void a_redacted_answer_is_still_an_answer(void **state)
{
    json_t *answer = call_with(
        "probe", "{\"do\": \"say\", \"text\": \"key AKIAIOSFODNN7EXAMPLQ end\"}",
        (struct asked){ .policy = "leaks", .no_workspace = true });

    (void)state;
    assert_null(strstr(text_of(answer), "AKIAIOSFODNN7EXAMPLQ"));
    expect_good(answer, "[redacted:");
}

/* ---- a person's word ---- */

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
                                      .directory = elsewhere, .reason = "operator" };
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

/* ---- exec ---- */

static json_t *exec(const char *arguments)
{
    return call_with("bash", arguments,
                     (struct asked){ .policy = "bare", .unsandboxed = true });
}

static void a_command_runs_with_what_it_is_given(void **state)
{
    json_t *answer = exec("{\"command\": \"pwd; echo $GREETING; cat; echo bad >&2\", "
                          "\"environment\": {\"GREETING\": \"hi there\"}, \"directory\": "
                          "\"/tmp\", \"stdin\": \"from stdin\\n\"}");

    (void)state;
    assert_string_equal(json_string_value(meta_of(answer, "tool")), "exec");
    assert_string_equal(json_string_value(meta_of(answer, "level")), "none");
    assert_true(json_is_true(meta_of(answer, "unsandboxed")));
    expect_good(answer, "/tmp\nhi there\nfrom stdin\n");
}

static void a_commands_status_is_told(void **state)
{
    json_t *answer = exec("{\"command\": \"echo out; exit 3\"}");
    const json_t *more = json_object_get(answer, "structuredContent");

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(text_of(answer), "out\n[exit status 3]\n");
    assert_int_equal(json_integer_value(json_object_get(more, "exit_status")), 3);
    json_decref(answer);
}

static void of_long_output_head_and_tail_are_kept(void **state)
{
    json_t *answer =
        exec("{\"command\": \"echo first; yes x | head -c 300000; echo last\"}");
    const json_t *more = json_object_get(answer, "structuredContent");

    (void)state;
    assert_true(json_is_true(json_object_get(more, "cut")));
    assert_int_equal(json_integer_value(json_object_get(more, "output_bytes")), 300011);
    assert_true(strlen(text_of(answer)) < 70000);
    assert_non_null(strstr(text_of(answer), "234475 bytes are left out"));
    assert_int_equal(strncmp(text_of(answer), "first\nx\n", 8), 0);
    expect_good(answer, "x\nlast\n");
}

static void what_is_no_text_is_escaped(void **state)
{
    (void)state;
    expect_good(exec("{\"command\": \"printf 'a\\\\377b\\\\033[1m\\\\303\\\\244'\"}"),
                "a\\xffb\\x1b[1m\xc3\xa4");
}

static void a_command_ends_in_its_time(void **state)
{
    json_t *answer = exec("{\"command\": \"echo begun; sleep 30\", \"timeout_ms\": 300}");

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "timed-out");
    assert_non_null(strstr(text_of(answer), "begun\n[exec did not end in time"));
    json_decref(answer);
}

static void a_command_is_not_run_where_none_may(void **state)
{
    json_t *answer;

    (void)state;
    answer = call("exec", "{\"command\": \"touch work/escaped\"}");
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    assert_true(json_is_true(json_object_get(answer, "isError")));
    json_decref(answer);
    expect_error(call_with("exec", "{\"command\": \"touch work/escaped\"}",
                           (struct asked){ .policy = "bare", .elevated = true }),
                 "not-elevated", "denied", "without");
    answer = call_with("exec", "{\"command\": \"touch work/escaped\"}",
                       (struct asked){ .policy = "bare" });
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    json_decref(answer);
    expect_error(exec("{\"command\": \"touch work/escaped\", \"environment\": "
                      "{\"A=B\": \"1\"}}"), "invalid-arguments", "invalid", "A=B");
    assert_int_not_equal(access("work/escaped", F_OK), 0);
}

/* ---- sessions ---- */

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
        .agent = settled->session->agent,
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

/* ---- what is left ---- */

static int count_entries(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, NULL);

    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return count;
}

/* Of the zygote that this process started, and of it alone. */
static int count_children(void)
{
    char path[64], line[4096] = "";
    int count = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    assert_non_null(file);
    (void)!fgets(line, sizeof(line), file);
    (void)fclose(file);
    for (char *at = line; *at; at++)
        count += *at == ' ';
    return count;
}

static void a_thousand_calls_leave_nothing_behind(void **state)
{
    static const char *const mixed[] = {
        "{\"do\": \"echo\"}", "{\"do\": \"fail\"}", "{\"do\": \"bad\"}",
        "{\"do\": \"trap\"}", "{\"no\": 1}", "{", "{\"do\": \"silent\"}",
        "{\"do\": \"read\", \"path\": \"/workspace/none\"}",
    };
    int fds = 0, children = 0, files = 0;

    (void)state;
    for (size_t i = 0; i < MIXED_CALLS; i++) {
        if (i == 2 * NACRE_COUNT(mixed)) { /* all that is made once is made */
            fds = count_entries("/proc/self/fd");
            files = count_entries("work");
            children = count_children();
        }
        json_decref(call(i % 50 == 49 ? "no-tool" : "probe",
                         mixed[i % NACRE_COUNT(mixed)]));
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_entries("work"), files);
    assert_int_equal(count_children(), children);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_answers_with_what_the_tool_and_the_host_say),
        cmocka_unit_test(a_name_is_known_in_any_case),
        cmocka_unit_test(arguments_that_do_not_fit_run_nothing),
        cmocka_unit_test(arguments_that_are_too_large_run_nothing),
        cmocka_unit_test(a_tool_that_is_not_there_names_the_nearest),
        cmocka_unit_test(how_a_tool_ends_is_told),
        cmocka_unit_test(a_manifests_fuel_is_exact_every_time),
        cmocka_unit_test(what_is_no_answer_is_told_with_an_excerpt),
        cmocka_unit_test(a_tools_own_error_and_status_are_errors),
        cmocka_unit_test(structured_content_is_judged_by_its_schema),
        cmocka_unit_test(no_guest_speaks_for_the_host),
        cmocka_unit_test(a_module_that_is_not_the_manifests_is_refused),
        cmocka_unit_test(a_folder_that_was_replaced_is_read_again),
        cmocka_unit_test(a_policy_that_was_changed_holds_at_once),
        cmocka_unit_test(a_tool_that_writes_is_off_where_nothing_may_be_written),
        cmocka_unit_test(a_manifest_bounds_what_a_caller_may_ask_for),
        cmocka_unit_test(a_manifests_sandbox_holds_where_none_is_named),
        cmocka_unit_test(a_redacted_answer_is_still_an_answer),
        cmocka_unit_test(a_tool_that_needs_a_persons_word_waits_for_it_in_vain),
        cmocka_unit_test(a_token_is_good_for_one_call_like_it),
        cmocka_unit_test(what_the_operator_marks_is_asked_about_by_each_of_its_names),
        cmocka_unit_test(a_mark_that_was_changed_holds_at_once),
        cmocka_unit_test(a_mark_that_means_nothing_stops_every_call),
        cmocka_unit_test(an_approval_is_for_one_workspace),
        cmocka_unit_test(a_soul_in_any_mount_approves_nothing),
        cmocka_unit_test(a_command_runs_with_what_it_is_given),
        cmocka_unit_test(a_commands_status_is_told),
        cmocka_unit_test(of_long_output_head_and_tail_are_kept),
        cmocka_unit_test(what_is_no_text_is_escaped),
        cmocka_unit_test(a_command_ends_in_its_time),
        cmocka_unit_test(a_command_is_not_run_where_none_may),
        cmocka_unit_test(a_sessions_tool_policy_decides_first),
        cmocka_unit_test(a_session_that_may_not_write_has_no_tools_that_do),
        cmocka_unit_test(an_elevated_command_needs_open_gates_and_a_persons_word),
        cmocka_unit_test(a_session_without_a_sandbox_needs_a_line_or_a_word),
        cmocka_unit_test(a_soul_in_a_bind_of_the_session_approves_nothing),
        cmocka_unit_test(two_agents_at_once_never_see_each_others_files),
        cmocka_unit_test(a_thousand_calls_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
