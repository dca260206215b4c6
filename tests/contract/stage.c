#include "stage.h"

#include <stdio.h>
#include <string.h>

#define WASI "(import \"wasi_snapshot_preview1\" "

static const char *const modules[ACTS] = {
    [HELLO] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 1) (data (i32.const 16) \"hello\\n\")"
        " (func (export \"_start\") (i32.store (i32.const 0) (i32.const 16))"
        " (i32.store (i32.const 4) (i32.const 6))"
        " (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))",
    [EXIT_42] =
        "(module " WASI "\"proc_exit\" (func $x (param i32)))"
        " (memory (export \"memory\") 1)"
        " (func (export \"_start\") (call $x (i32.const 42))))",
    [SPIN] = "(module (func (export \"_start\") (loop (br 0))))",
    [FLOOD] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 1) (func (export \"_start\")"
        " (memory.fill (i32.const 16) (i32.const 65) (i32.const 1000))"
        " (i32.store (i32.const 0) (i32.const 16))"
        " (i32.store (i32.const 4) (i32.const 1000))"
        " (loop $l (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const "
        "8))) (br $l))))",
    /* Grows until refused, then traps, as an allocator that gives up does. */
    [GROW] =
        "(module (memory (export \"memory\") 1) (func (export \"_start\")"
        " (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))"
        " unreachable))",
    /* Copies stdin to stdout, 4 KiB at a time. */
    [ECHO] =
        "(module " WASI "\"fd_write\" (func $w (param i32 i32 i32 i32) (result i32)))"
        " " WASI "\"fd_read\" (func $r (param i32 i32 i32 i32) (result i32)))"
        " (memory (export \"memory\") 2) (func (export \"_start\")"
        " (i32.store (i32.const 0) (i32.const 4096))"
        " (loop $l (i32.store (i32.const 4) (i32.const 4096))"
        "  (drop (call $r (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"
        "  (i32.store (i32.const 4) (i32.load (i32.const 8)))"
        "  (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))"
        "  (br_if $l (i32.gt_u (i32.load (i32.const 8)) (i32.const 0))))))",
    /* Exits with 1 if its memory holds anything but zeros, then fills it. */
    [LEAVE_TRACE] =
        "(module " WASI "\"proc_exit\" (func $x (param i32)))"
        " (memory (export \"memory\") 6) (func (export \"_start\") (local $i i32)"
        " (loop $l (if (i32.ne (i32.load (local.get $i)) (i32.const 0))"
        "   (then (call $x (i32.const 1))))"
        "  (local.set $i (i32.add (local.get $i) (i32.const 4)))"
        "  (br_if $l (i32.lt_u (local.get $i) (i32.const 393216))))"
        " (memory.fill (i32.const 0) (i32.const 255) (i32.const 393216))))",
};

static const char *const commands[ACTS] = {
    [HELLO] = "echo hello",
    [EXIT_42] = "exit 42",
    [SPIN] = "while :; do :; done",
    [FLOOD] = "while :; do printf AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; done",
    [GROW] = "x=AAAAAAAAAAAAAAAA; while :; do x=$x$x; done",
    [ECHO] = "cat",
    [LEAVE_TRACE] = "test ! -e /tmp/trace && touch /tmp/trace",
};

const struct stage *stage_of(const struct scene *scene)
{
    return scene->own;
}

bool is_wasm(const struct scene *scene)
{
    return strcmp(stage_of(scene)->level, "wasm") == 0;
}

struct nacre_tool *tool_of(const struct scene *scene, enum act act)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;

    if (is_wasm(scene))
        return scene_module(scene, modules[act]);
    assert_int_equal(nacre_tool_shell(commands[act], &tool, &err), NACRE_OK);
    return tool;
}

const char *level_of(const struct scene *scene)
{
    return stage_of(scene)->gvisor ? "container\n  runtime: gvisor"
                                   : stage_of(scene)->level;
}

const char *policy_text(const struct scene *scene, const char *limits,
                        char ret_text[POLICY])
{
    const struct stage *stage = stage_of(scene);
    char memory[32] = "";

    if (stage->memory_mb)
        (void)snprintf(memory, sizeof(memory), "memory_mb: %u, ", stage->memory_mb);
    (void)snprintf(ret_text, POLICY,
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n%s  resource_limits: {%s%s%s}\n",
                   level_of(scene), stage->more, memory, stage->bounds, limits);
    return ret_text;
}

int line_of(const char *text, const char *word)
{
    const char *found = strstr(text, word);
    int line = 1;

    assert_non_null(found);
    for (; text < found; text++)
        line += *text == '\n';
    return line;
}

/* Here it may be emulated; then it says so. */
static const char *const waived[] = { NACRE_WAIVER_EMULATION, NULL };

struct nacre_request request_of(const struct scene *scene)
{
    return (struct nacre_request){
        .input_fd = -1,
        .image = stage_of(scene)->image,
        .unsandboxed = strcmp(stage_of(scene)->level, "none") == 0,
        .session = stage_of(scene)->image ? "contract" : NULL,
        .waive = stage_of(scene)->machine ? waived : NULL,
    };
}

struct nacre_result *play(const struct scene *scene, enum act act, const char *limits)
{
    struct nacre_request request = request_of(scene);
    char text[POLICY];

    return scene_run(scene, policy_text(scene, limits, text), tool_of(scene, act),
                     &request);
}

struct nacre_result *run_shell(const struct scene *scene, const char *shell,
                               const char *limits)
{
    struct nacre_request request = request_of(scene);
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char text[POLICY];

    assert_int_equal(nacre_tool_shell(shell, &tool, &err), NACRE_OK);
    return scene_run(scene, policy_text(scene, limits, text), tool, &request);
}

struct nacre_result *run_in(const struct scene *scene, const char *workspace,
                            const char *denied, const char *text)
{
    struct nacre_request request = request_of(scene);
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char policy[POLICY];

    request.workspace = workspace;
    request.session = NULL;
    (void)snprintf(policy, sizeof(policy),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n  capabilities:\n    shell: {mode: full}\n"
                   "    filesystem:\n      mode: scoped\n      mount_paths:\n"
                   "        - {path: /workspace, permissions: rw}\n"
                   "      denied_paths: [%s]\n",
                   level_of(scene), denied);
    assert_int_equal(nacre_tool_shell(text, &tool, &err), NACRE_OK);
    return scene_run(scene, policy, tool, &request);
}
