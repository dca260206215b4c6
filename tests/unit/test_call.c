/*
 * The door: a tool that does what it is told (guests/probe.c) is called well and badly,
 * and each time there is an answer that a model can act on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_scene.h"

#define MIXED_CALLS 1000

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
    struct nacre_answer answer, intent;
    enum nacre_level level;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_call_explain(engine, &bare, &level, &answer, &intent, &err),
                     NACRE_OK);
    assert_true(answer.allowed);
    assert_int_equal(level, NACRE_LEVEL_WASM);
    assert_non_null(strstr(answer.text, "policy files, its manifest's sandbox_ref"));
    assert_true(answer.place.line > 0);
    assert_non_null(strstr(answer.file, "/files.yaml"));
    bare.tool = "probe";
    assert_int_equal(nacre_call_explain(engine, &bare, &level, &answer, &intent, &err),
                     NACRE_OK);
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
        cmocka_unit_test(a_thousand_calls_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
