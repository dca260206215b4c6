/*
 * Clawdis's configuration, clawdis.json: OpenClaw's ancestor, with one `agent` and its
 * `sandbox`.  The document is untrusted; what is not about sandboxes is passed over.
 */
#include <stddef.h>
#include <string.h>

#include "claw.h"
#include "entries.h"

static enum nacre_status enter_sandbox(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    (void)at, (void)err;
    draft->rules.box.place = node->key_place;
    return NACRE_OK;
}

static enum nacre_status refuse_newer(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(at, node->key_place, err,
                              "%s is OpenClaw's, not Clawdis's; say it in "
                              "agents.defaults.sandbox, or remove it (perSession says "
                              "how many sandboxes there are)",
                              at->where);
}

static const struct nacre_schema_key tools_keys[] = {
    { NACRE_ROW_RULES("allow", rules.box.tools.allow, nacre_entry_text) },
    { NACRE_ROW_RULES("deny", rules.box.tools.deny, nacre_entry_text) },
};
static const struct nacre_schema tools_schema = NACRE_SCHEMA_OF(tools_keys);

static const struct nacre_schema_key sandbox_keys[] = {
    { NACRE_ROW_WORD("mode", rules.box.mode, nacre_claw_mode_words) },
    { NACRE_ROW_SET("perSession", ANY, nacre_claw_per_session) },
    { NACRE_ROW_RULE_BY("workspaceRoot", rules.box.workspace_root,
                        nacre_claw_directory) },
    { NACRE_ROW_SECTION("docker", nacre_claw_docker_schema),
      .set = nacre_claw_enter_docker },
    { NACRE_ROW_SECTION("browser", nacre_claw_browser_schema),
      .set = nacre_claw_enter_browser },
    { NACRE_ROW_SECTION("tools", tools_schema) },
    { NACRE_ROW_SECTION("prune", nacre_claw_prune_schema) },
    { NACRE_ROW_SET("scope", ANY, refuse_newer) },
    { NACRE_ROW_SET("workspaceAccess", ANY, refuse_newer) },
    { NACRE_ROW_SET("backend", ANY, refuse_newer) },
};
static const struct nacre_schema sandbox_schema = NACRE_SCHEMA_OF(sandbox_keys);

static const char *const no_likeness[] = { NULL };

static const struct nacre_schema_key agent_keys[] = {
    { NACRE_ROW_SECTION("sandbox", sandbox_schema), .set = enter_sandbox },
    { NACRE_ROW_RULE_BY("workspace", rules.workspace, nacre_claw_directory) },
};
static const struct nacre_schema agent_schema = { .keys = agent_keys,
                                                  .count = NACRE_COUNT(agent_keys),
                                                  .foreign = no_likeness };

static const struct nacre_schema_key session_keys[] = {
    { NACRE_ROW_SET("mainKey", TEXT, nacre_claw_main_key) },
};
static const struct nacre_schema session_schema = { .keys = session_keys,
                                                    .count = NACRE_COUNT(session_keys),
                                                    .foreign = no_likeness };

/* Releases between Clawdis and Clawdbot had it; it would say what an agent may do. */
static enum nacre_status refuse_routing(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    const struct nacre_node *agents =
        node->kind == NACRE_NODE_MAPPING ? nacre_node_find(node, "agents") : NULL;

    (void)target;
    if (!agents)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, agents->key_place, err,
                              "%s.agents is not Clawdis's; say agents.entries and "
                              "agents.defaults, as OpenClaw does",
                              at->where);
}

static enum nacre_status refuse_openclaw(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(at, node->key_place, err,
                              "%s is OpenClaw's, and this file has Clawdis's agent; say "
                              "all of it in agents and tools, or in agent.sandbox",
                              at->where);
}

static const char *const root_likeness[] = { "hooks", NULL };
static const struct nacre_schema_key root_keys[] = {
    { NACRE_ROW_SECTION("agent", agent_schema) },
    { NACRE_ROW_SECTION("session", session_schema) },
    { NACRE_ROW_SET("routing", ANY, refuse_routing) },
    { NACRE_ROW_SET("tools", ANY, refuse_openclaw) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_clawdis_schema = { .keys = root_keys,
                                                   .count = NACRE_COUNT(root_keys),
                                                   .foreign = root_likeness };

enum nacre_status nacre_clawdis_read(const struct nacre_node *root,
                                     struct nacre_config *config, struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_draft_clear)
    struct nacre_config_draft draft = { .config = config };
    struct nacre_reading at = { .source = config->source };
    enum nacre_status status =
        nacre_schema_read(&nacre_clawdis_schema, &at, root, &draft, err);

    return status == NACRE_OK ? nacre_config_add(config, &draft.rules, err) : status;
}
