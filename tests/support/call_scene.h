#ifndef NACRE_TEST_CALL_SCENE_H
#define NACRE_TEST_CALL_SCENE_H

/*
 * The door, with a tool that does what it is told (guests/probe.c) under several names, a
 * few policies, and words to judge an answer by.  After <cmocka.h>.
 */

#include <jansson.h>

#include "nacre/call.h"
#include "scene.h"

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
static inline void put_probe(const char *name, const char *annotations, const char *spec)
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

static inline int open_engine(void **state)
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

static inline int close_engine(void **state)
{
    nacre_engine_free(engine);
    return scene_leave(state);
}

/* ---- a call, and words to judge it by ---- */

struct asked {
    const char *policy, *approval, *intent;
    const struct nacre_session *session;
    bool no_workspace, unsandboxed, elevated;
    uint64_t fuel, timeout_ms;
};

static inline json_t *call_with(const char *tool, const char *arguments, struct asked asked)
{
    char work[128];
    struct nacre_call call = {
        .tool = tool, .arguments = arguments, .argument_bytes = strlen(arguments),
        .policy = asked.session ? NULL : asked.policy ? asked.policy : "files",
        .session = asked.session, .approval = asked.approval, .elevated = asked.elevated,
        .request = { .input_fd = -1, .workspace = asked.no_workspace ? NULL : work,
                     .fuel = asked.fuel, .timeout_ms = asked.timeout_ms,
                     .intent = asked.intent,
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

static inline json_t *call(const char *tool, const char *arguments)
{
    return call_with(tool, arguments, (struct asked){ 0 });
}

static inline const json_t *meta_of(const json_t *answer, const char *key)
{
    return json_object_get(json_object_get(json_object_get(answer, "_meta"), "nacre"),
                           key);
}

static inline const char *text_of(const json_t *answer)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text"));
}

/* Takes `answer`. */
static inline void expect_good(json_t *answer, const char *text)
{
    if (json_is_true(json_object_get(answer, "isError")) ||
        !strstr(text_of(answer), text))
        fail_msg("expected '%s' in: %s", text, json_dumps(answer, 0));
    json_decref(answer);
}

static inline void expect_error(json_t *answer, const char *code, const char *outcome,
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

#endif
