/* What is said of a run: before it by explain, and of a refusal.  What the audit log
 * says, scene_run() looks up for every run of every case. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "stage.h"

/* A policy with something of each section that the level can keep, each on a line. */
static const char *whole_policy(const struct scene *scene, char ret_text[POLICY])
{
    const struct stage *stage = stage_of(scene);
    bool bare = strcmp(stage->level, "none") == 0;
    char memory[32] = "";

    if (stage->memory_mb)
        (void)snprintf(memory, sizeof(memory), "    memory_mb: %u\n", stage->memory_mb);
    (void)snprintf(ret_text, POLICY,
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n"
                   "  level: %s\n  capabilities:\n%s    shell:\n%s"
                   "  resource_limits:\n    timeout_ms: 60000\n"
                   "    max_output_bytes: 2500\n    max_open_files: " FILES_MAX "\n%s%s",
                   level_of(scene),
                   bare ? ""
                        : "    network:\n      mode: deny\n    filesystem:\n"
                          "      mode: scoped\n      mount_paths:\n"
                          "        - {path: /workspace, permissions: rw}\n"
                          "      denied_paths:\n        - /workspace/.env\n",
                   is_wasm(scene) ? "      mode: deny\n"
                                  : "      mode: restricted\n      blocked_commands:\n"
                                    "        - shutdown\n      blocked_patterns:\n"
                                    "        - 'x{3}y'\n",
                   memory, bare ? "" : "    max_processes: " PROCESSES_MAX "\n");
    return ret_text;
}

static bool is_enforced(const struct nacre_plan *plan, int line)
{
    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (plan->decisions[i].place.line == line && plan->decisions[i].mechanism[0])
            return true;
    return false;
}

/* A section's name stands alone on its line; what it says is below. */
void each_line_of_a_policy_has_a_mechanism(void **state)
{
    const struct scene *scene = *state;
    char text[POLICY];
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = scene_policy(whole_policy(scene, text));
    const struct nacre_request request = request_of(scene);
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_error err;
    int line = 1, said = 0;

    assert_int_equal(nacre_plan_draft(policy, &request, &plan, &err), NACRE_OK);
    for (uint32_t i = 0; i < plan->decision_count; i++)
        assert_int_not_equal(plan->decisions[i].verdict, NACRE_VERDICT_REFUSE);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1, line++) {
        const char *end = strchr(at, '\n');

        if (line < line_of(text, "level:") || end[-1] == ':')
            continue;
        if (!is_enforced(plan, line))
            fail_msg("no mechanism for line %d: %.*s", line, (int)(end - at), at);
        said++;
    }
    assert_true(said >= 7);
}

void a_denied_command_is_told_with_its_rule_and_line(void **state)
{
    static const struct {
        const char *command, *rule, *line; /* rule NULL: it runs */
    } rows[] = {
        { "echo hello", NULL, NULL },
        { "echo hello; sh\\utdown now", "capabilities.shell.blocked_commands[0]",
          "- shutdown" },
        { "echo hello xxxy", "capabilities.shell.blocked_patterns[0]", "- 'x{3}y'" },
    };
    const struct scene *scene = *state;
    const struct nacre_request request = request_of(scene);
    char text[POLICY];

    (void)whole_policy(scene, text);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_tool *tool = NULL;
        struct nacre_error err;

        if (!rows[i].rule && stage_of(scene)->machine)
            continue; /* another policy is another machine to boot */
        assert_int_equal(nacre_tool_shell(rows[i].command, &tool, &err), NACRE_OK);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            scene_run(scene, text, tool, &request);

        assert_int_equal(result->outcome,
                         rows[i].rule ? NACRE_OUTCOME_DENIED : NACRE_OUTCOME_EXITED);
        assert_int_equal(result->output.size, rows[i].rule ? 0 : 6);
        assert_int_equal(result->denials_seen, rows[i].rule ? 1 : 0);
        if (!rows[i].rule)
            continue;
        assert_string_equal(result->denials[0].rule, rows[i].rule);
        assert_int_equal(result->denials[0].place.line, line_of(text, rows[i].line));
        assert_true(result->denials[0].text[0] && result->denials[0].fix[0]);
    }
}
