/*
 * nacre/require-intent: changes.  What only reads by its manifest's word needs no intent,
 * because it is held to that word; everything else needs one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_scene.h"
#include "nacre/intent.h"

#define POLICY(name, need, more)                                                    \
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: " name "\n  annotations:\n" \
    "    nacre/require-intent: \"" need "\"\nspec:\n  level: wasm\n"                \
    "  capabilities:\n" more                                                        \
    "  resource_limits: {timeout_ms: 20000, max_output_bytes: 1048576}\n"
#define WORKSPACE                                    \
    "    filesystem:\n      mode: scoped\n"          \
    "      mount_paths: [{path: /workspace, permissions: rw}]\n"

static const char look[] = "{\"do\": \"read\", \"path\": \"/workspace/f\"}";
static const char plant[] = "{\"do\": \"write\", \"path\": \"/workspace/new\", "
                            "\"text\": \"1\"}";

static int enter(void **state)
{
    if (open_engine(state) != 0)
        return -1;
    scene_file("policies/changes.yaml", POLICY("changes", "changes", WORKSPACE));
    scene_file("policies/always.yaml", POLICY("always", "true", WORKSPACE));
    scene_file("policies/never.yaml", POLICY("never", "false", WORKSPACE));
    scene_file("policies/tree.yaml",
               POLICY("tree", "changes", "    filesystem: {mode: full}\n"));
    scene_file("policies/online.yaml",
               POLICY("online", "changes", "    network: {mode: allow-all}\n"));
    scene_file("policies/shell.yaml",
               POLICY("shell", "changes", "    shell: {mode: full}\n"));
    scene_shell("sed -i 's/level: wasm/level: none/' policies/shell.yaml");
    put_probe("reader", "    nacre/access: read\n", "");
    scene_shell("cp -r " NACRE_TOOLS_DIR "/fetch tools/ && "
                "cp -r tools/fetch tools/looker && "
                "mv tools/looker/fetch.wasm tools/looker/looker.wasm && "
                "sed -i 's/name: fetch/name: looker/; /nacre.digest/d; "
                "s,^  annotations:,&\\n    nacre/access: read,' tools/looker/tool.yaml");
    scene_file("work/f", "content");
    return 0;
}

static json_t *under(const char *policy, const char *tool, const char *arguments)
{
    return call_with(tool, arguments, (struct asked){ .policy = policy });
}

static void expect_missing(json_t *answer, int line)
{
    const json_t *denial = json_array_get(meta_of(answer, "denials"), 0);
    char place[32];

    (void)snprintf(place, sizeof(place), ".yaml:%d:27", line);
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    assert_string_equal(json_string_value(json_object_get(denial, "code")),
                        "intent-missing");
    if (!strstr(json_string_value(json_object_get(denial, "place")), place))
        fail_msg("%s", json_dumps(denial, 0));
    json_decref(answer);
}

static void only_what_says_that_it_reads_needs_none(void **state)
{
    (void)state;
    expect_good(under("changes", "reader", look), "content");
    expect_missing(under("changes", "writer", plant), 6);
    expect_missing(under("changes", "probe", look), 6); /* it says nothing */
    expect_missing(under("always", "reader", look), 6);
    expect_good(under("never", "writer", "{\"do\": \"echo\"}"), "echo");
    assert_int_not_equal(access("work/new", F_OK), 0);
}

static void a_command_always_changes_something(void **state)
{
    (void)state;
    expect_missing(call_with("exec", "{\"command\": \"true\"}",
                             (struct asked){ .policy = "shell", .unsandboxed = true }),
                   6);
}

/* The same module, mount and policy: a plan that was kept for one of them must never
 * serve the other. */
static void who_says_that_it_reads_is_held_to_that(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        json_t *answer = under("changes", "reader", plant);
        const json_t *denial = json_array_get(meta_of(answer, "denials"), 0);

        assert_string_equal(text_of(answer), "can't write");
        assert_string_equal(json_string_value(json_object_get(denial, "rule")),
                            "metadata.annotations.nacre/require-intent");
        assert_non_null(strstr(json_string_value(json_object_get(denial, "place")),
                               "changes.yaml:6:27"));
        assert_non_null(strstr(json_string_value(json_object_get(denial, "fix")),
                               "nacre intent issue"));
        assert_non_null(strstr(json_string_value(meta_of(answer, "why")),
                               "held to reading"));
        json_decref(answer);
        assert_int_not_equal(access("work/new", F_OK), 0);
        expect_good(under("never", "reader", plant), "written");
        scene_shell("rm work/new");
    }
}

/* A request changes something as well as a file does. */
static void who_says_that_it_reads_reaches_nobody(void **state)
{
    static const char ask[] = "{\"url\": \"http://203.0.113.1/\"}";
    json_t *answer = call_with("looker", ask, (struct asked){ .policy = "online",
                                                              .no_workspace = true });
    const json_t *denial = json_array_get(meta_of(answer, "denials"), 0);

    (void)state;
    if (!denial || strcmp(json_string_value(json_object_get(denial, "rule")),
                          "metadata.annotations.nacre/require-intent") != 0)
        fail_msg("%s", json_dumps(answer, 0));
    json_decref(answer);
    expect_missing(call_with("fetch", ask, (struct asked){ .policy = "online",
                                                           .no_workspace = true }),
                   6);
}

static void issue(const char *tool, const char *arguments,
                  char ret_token[NACRE_INTENT_TOKEN])
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *module = NULL;
    const struct nacre_digest digest = nacre_hash(arguments, strlen(arguments));
    const struct nacre_request request = { .input_fd = -1, .input_digest = &digest };
    struct nacre_error err;
    char path[128];

    (void)snprintf(path, sizeof(path), "tools/%s/%s.wasm", tool, tool);
    if (nacre_tool_load(path, &module, &err) != NACRE_OK ||
        nacre_intent_issue(nacre_engine_key_dir(engine), module, &request, 60000,
                           ret_token, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

/* With an intent for it, it has what the policy grants; kept plans are told apart. */
static void an_intent_frees_it_for_one_call(void **state)
{
    char token[NACRE_INTENT_TOKEN];

    (void)state;
    issue("reader", plant, token);
    expect_good(under("changes", "reader", look), "content");
    expect_good(call_with("reader", plant, (struct asked){ .policy = "changes",
                                                           .intent = token }),
                "written");
    scene_shell("rm work/new");
    json_decref(call_with("reader", plant,
                          (struct asked){ .policy = "changes", .intent = token }));
    json_decref(under("changes", "reader", plant));
    assert_int_not_equal(access("work/new", F_OK), 0);
}

/* What can't be held to reading is not believed. */
static void a_whole_tree_or_a_mount_to_write_needs_an_intent(void **state)
{
    struct nacre_mount_request mount = { .guest = "/workspace", .mode = 'w' };
    char work[NACRE_PATH_MAX];
    struct nacre_call asked = {
        .tool = "reader", .arguments = look, .argument_bytes = strlen(look),
        .policy = "changes",
        .request = { .input_fd = -1, .mounts = &mount, .mount_count = 1 },
    };
    struct nacre_error err;
    json_t *answer = NULL;

    (void)state;
    mount.host = scene_path(work, "work");
    assert_int_equal(nacre_call(engine, &asked, &answer, &err), NACRE_OK);
    expect_missing(answer, 6);
    mount.mode = 'r';
    assert_int_equal(nacre_call(engine, &asked, &answer, &err), NACRE_OK);
    expect_good(answer, "content");
    expect_missing(call_with("reader", "{\"do\": \"echo\"}",
                             (struct asked){ .policy = "tree", .no_workspace = true }),
                   6);
}

static void explain_tells_whether_and_by_which_line(void **state)
{
    static const struct {
        const char *policy, *tool;
        bool free;
        int line;
        const char *text;
    } rows[] = {
        { "changes", "reader", true, 6, "held to reading" },
        { "changes", "writer", false, 6, "nacre/access: read" },
        { "changes", "probe", false, 6, "nacre/access: read" },
        { "always", "reader", false, 6, "nothing runs without" },
        { "never", "writer", true, 6, "no intent is needed" },
        { "files", "writer", true, 0, "no intent is needed" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct nacre_call asked = { .tool = rows[i].tool, .policy = rows[i].policy,
                                          .request = { .input_fd = -1 } };
        struct nacre_answer answer, intent;
        enum nacre_level level;
        struct nacre_error err;

        assert_int_equal(nacre_call_explain(engine, &asked, &level, &answer, &intent,
                                            &err), NACRE_OK);
        assert_int_equal(intent.allowed, rows[i].free);
        assert_int_equal(intent.place.line, rows[i].line);
        if (!strstr(intent.text, rows[i].text))
            fail_msg("row %zu: %s", i, intent.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_says_that_it_reads_needs_none),
        cmocka_unit_test(a_command_always_changes_something),
        cmocka_unit_test(who_says_that_it_reads_is_held_to_that),
        cmocka_unit_test(who_says_that_it_reads_reaches_nobody),
        cmocka_unit_test(an_intent_frees_it_for_one_call),
        cmocka_unit_test(a_whole_tree_or_a_mount_to_write_needs_an_intent),
        cmocka_unit_test(explain_tells_whether_and_by_which_line),
    };

    return cmocka_run_group_tests(tests, enter, close_engine);
}
