/*
 * OpenClaw's and Clawdbot's configuration, openclaw.json.  The document is untrusted.
 * Most of it is not ours: gateways, channels, models are passed over.  Of what is ours
 * nothing is, and where OpenClaw would refuse a key (it is strict everywhere), so do we
 * wherever the key looks like one of ours.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "claw.h"
#include "defaults.h"
#include "entries.h"
#include "nacre/text.h"

#define AGENT_ID_MAX 64

/* ---- sandbox ---- */

static enum nacre_status enter_sandbox(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    draft->rules.box.place = node->key_place;
    return nacre_claw_refuse_variables(at, node, err);
}

static enum nacre_status set_backend(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    if (strcmp(node->text, "docker") == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(
        at, node->place, err,
        "%s: '%s' is refused: a sandbox elsewhere is not under nacre's walls; write "
        "docker, or remove it",
        at->where, nacre_text_shown(shown, node->text));
}

static enum nacre_status refuse_ssh(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(
        at, node->key_place, err,
        "%s is refused: a sandbox on another machine is not under nacre's walls; remove "
        "it",
        at->where);
}

static enum nacre_status refuse_tools(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(at, node->key_place, err,
                              "%s is no longer read there; say it in tools.sandbox.tools",
                              at->where);
}

static enum nacre_status set_scope(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    static const char *const words[] = { "session", "agent", "shared" };
    static const enum nacre_scope scopes[] = { NACRE_SCOPE_SESSION, NACRE_SCOPE_AGENT,
                                               NACRE_SCOPE_SHARED };
    struct nacre_config_draft *draft = target;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    if (status != NACRE_OK)
        return status;
    draft->rules.box.scope = scopes[index];
    draft->rules.box.scope_place = node->place;
    return NACRE_OK;
}

static enum nacre_status set_visibility(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    static const char *const words[] = { "spawned", "all" };
    struct nacre_config_draft *draft = target;
    struct nacre_rule *rule = &draft->rules.box.session_tools_visibility;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    if (status == NACRE_OK)
        status = nacre_schema_copy(words[index], &rule->text, err);
    if (status != NACRE_OK)
        return status;
    rule->place = node->place;
    return nacre_config_note(draft->config, node->key_place, false, err,
                             "%s: without effect, nacre has no tools that list sessions",
                             at->where);
}

#define X(id, name) name,
static const char *const access_words[] = { NACRE_ACCESS_MAP(X) };
#undef X

/* perSession after scope: it holds only where that says nothing. */
static const struct nacre_schema_key sandbox_keys[] = {
    { NACRE_ROW_WORD("mode", rules.box.mode, nacre_claw_mode_words) },
    { NACRE_ROW_SET("backend", TEXT, set_backend) },
    { NACRE_ROW_SET("scope", ANY, set_scope) },
    { NACRE_ROW_SET("perSession", ANY, nacre_claw_per_session) },
    { NACRE_ROW_WORD("workspaceAccess", rules.box.access, access_words) },
    { NACRE_ROW_RULE_BY("workspaceRoot", rules.box.workspace_root,
                        nacre_claw_directory) },
    { NACRE_ROW_SET("sessionToolsVisibility", ANY, set_visibility) },
    { NACRE_ROW_SECTION("docker", nacre_claw_docker_schema),
      .set = nacre_claw_enter_docker },
    { NACRE_ROW_SET("ssh", ANY, refuse_ssh) },
    { NACRE_ROW_SECTION("browser", nacre_claw_browser_schema),
      .set = nacre_claw_enter_browser },
    { NACRE_ROW_SECTION("prune", nacre_claw_prune_schema) },
    { NACRE_ROW_SET("tools", ANY, refuse_tools) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema sandbox_schema = NACRE_SCHEMA_OF(sandbox_keys);

/* ---- tools ---- */

static enum nacre_status enter_elevated(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    draft->rules.elevated.place = node->key_place;
    return nacre_claw_refuse_variables(at, node, err);
}

static enum nacre_status add_sender(const struct nacre_reading *at,
                                    const struct nacre_node *provider,
                                    const struct nacre_node *sender,
                                    struct nacre_rule *ret_rule, struct nacre_error *err)
{
    size_t size;
    char *text;

    if ((sender->kind != NACRE_NODE_TEXT && sender->kind != NACRE_NODE_NUMBER) ||
        sender->text[0] == '\0')
        return nacre_schema_fail_type(at, sender, "a text or a number", err);
    size = strlen(provider->key) + strlen(sender->text) + 2;
    text = malloc(size);
    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    (void)snprintf(text, size, "%s:%s", provider->key, sender->text);
    *ret_rule = (struct nacre_rule){ .text = text, .place = sender->place };
    return NACRE_OK;
}

static enum nacre_status set_allow_from(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rules *rules = &draft->rules.elevated.allow_from;
    char shown[NACRE_SHOWN];
    size_t count = 0;

    rules->place = node->key_place;
    for (const struct nacre_node *child = node->first; child; child = child->next) {
        if (child->key[0] == '\0' || strchr(child->key, ':'))
            return NACRE_READING_FAIL(at, child->key_place, err,
                                      "%s: '%s' is no name of a provider", at->where,
                                      nacre_text_shown(shown, child->key));
        if (child->kind != NACRE_NODE_LIST)
            return nacre_schema_fail_type(at, child, "a list of senders", err);
        count += child->count;
    }
    if (count == 0)
        return NACRE_OK;
    rules->items = calloc(count, sizeof(*rules->items));
    if (!rules->items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    for (const struct nacre_node *child = node->first; child; child = child->next)
        for (const struct nacre_node *one = child->first; one; one = one->next) {
            enum nacre_status status =
                add_sender(at, child, one, &rules->items[rules->count], err);

            if (status != NACRE_OK)
                return status;
            rules->count++;
        }
    return NACRE_OK;
}

static const struct nacre_schema_key elevated_keys[] = {
    { NACRE_ROW_FLAG("enabled", rules.elevated.enabled) },
    { NACRE_ROW_SET("allowFrom", OPEN, set_allow_from) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema elevated_schema = NACRE_SCHEMA_OF(elevated_keys);

static const struct nacre_schema_key tools_sandbox_keys[] = {
    { NACRE_ROW_SECTION("tools", nacre_claw_box_tools_schema) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema tools_sandbox_schema =
    NACRE_SCHEMA_OF(tools_sandbox_keys);

/* Somebody else's, but it takes tools away there and does not here. */
static enum nacre_status note_limits(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    return nacre_config_note(draft->config, node->key_place, true, err,
                             "%s: not read: what it withholds can be called here; of the "
                             "tools only profile, allow, alsoAllow and deny hold",
                             at->where);
}

/* "full" takes no tool away.  What a profile of another name withholds is not known. */
static enum nacre_status set_profile(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rule *profile = &draft->rules.tools.profile;

    if (node->kind == NACRE_NODE_TEXT && nacre_tool_profile(node->text)) {
        profile->place = node->place;
        return nacre_schema_copy(node->text, &profile->text, err);
    }
    return note_limits(at, node, target, err);
}

/* The same of single keys below it. */
static enum nacre_status note_below(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    static const char *const keys[] = { "host", "mode", "security", "ask", "tools" };
    enum nacre_status status = NACRE_OK;

    if (node->kind != NACRE_NODE_MAPPING)
        return NACRE_OK;
    for (size_t i = 0; i < NACRE_COUNT(keys) && status == NACRE_OK; i++) {
        const struct nacre_node *child = nacre_node_find(node, keys[i]);
        struct nacre_reading inner = nacre_reading_key(at, keys[i]);

        if (child)
            status = note_limits(&inner, child, target, err);
    }
    return status;
}

static const char *const no_likeness[] = { NULL };

static const struct nacre_schema_key tools_keys[] = {
    { NACRE_ROW_RULES("allow", rules.tools.allow, nacre_entry_text) },
    { NACRE_ROW_RULES("alsoAllow", rules.tools.also_allow, nacre_entry_text) },
    { NACRE_ROW_RULES("deny", rules.tools.deny, nacre_entry_text) },
    { NACRE_ROW_SECTION("sandbox", tools_sandbox_schema) },
    { NACRE_ROW_SECTION("elevated", elevated_schema), .set = enter_elevated },
    { NACRE_ROW_SET("profile", ANY, set_profile) },
    { NACRE_ROW_SET("byProvider", ANY, note_limits) },
    { NACRE_ROW_SET("toolsBySender", ANY, note_limits) },
    { NACRE_ROW_SET("exec", ANY, note_below) },
    { NACRE_ROW_SET("subagents", ANY, note_below) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema tools_schema = { .keys = tools_keys,
                                                  .count = NACRE_COUNT(tools_keys),
                                                  .foreign = no_likeness };

/* OpenClaw refuses it too: which of the two would be meant is not clear. */
static enum nacre_status refuse_both(const struct nacre_reading *at,
                                     const struct nacre_tool_rules *tools,
                                     const char *where, struct nacre_error *err)
{
    if (tools->allow.count == 0 || tools->also_allow.count == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, tools->also_allow.place, err,
                              "%s%s%s.alsoAllow adds to a list that is not said, and "
                              "allow is said at line %d; put all of it into allow",
                              at->where, at->where[0] ? "." : "", where,
                              tools->allow.place.line);
}

static enum nacre_status check_tools(const struct nacre_reading *at,
                                     const struct nacre_agent_rules *rules,
                                     struct nacre_error *err)
{
    enum nacre_status status = refuse_both(at, &rules->tools, "tools", err);

    return status == NACRE_OK
               ? refuse_both(at, &rules->box.tools, "tools.sandbox.tools", err)
               : status;
}

/* ---- agents ---- */

static enum nacre_status set_workspace(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    enum nacre_status status = nacre_claw_refuse_variables(at, node, err);

    draft->rules.workspace.place = node->place;
    return status == NACRE_OK
               ? nacre_claw_directory(at, node, &draft->rules.workspace.text, err)
               : status;
}

static const struct nacre_schema_key defaults_keys[] = {
    { NACRE_ROW_SECTION("sandbox", sandbox_schema), .set = enter_sandbox },
    { NACRE_ROW_SET("workspace", TEXT, set_workspace) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema defaults_schema = { .keys = defaults_keys,
                                                     .count = NACRE_COUNT(defaults_keys),
                                                     .foreign = no_likeness };

static enum nacre_status set_id(const struct nacre_reading *at,
                                const struct nacre_node *node, void *target,
                                struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    size_t length = strlen(node->text);
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    if (length == 0 || length > AGENT_ID_MAX || !isalnum((unsigned char)node->text[0]) ||
        strspn(node->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_-") != length)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: the id of an agent is 1 to %d letters, digits, "
                                  "'_' and '-', found '%s'",
                                  at->where, AGENT_ID_MAX,
                                  nacre_text_shown(shown, node->text));
    for (size_t i = 0; i < draft->config->agent_count; i++)
        if (strcasecmp(draft->config->agents[i].id, node->text) == 0)
            return NACRE_READING_FAIL(at, node->place, err,
                                      "%s: the agent '%s' is there twice; the first is "
                                      "at line %d",
                                      at->where, node->text,
                                      draft->config->agents[i].place.line);
    draft->rules.place = node->place;
    status = nacre_schema_copy(node->text, &draft->rules.id, err);
    for (char *at_id = draft->rules.id; status == NACRE_OK && *at_id; at_id++)
        *at_id = (char)tolower((unsigned char)*at_id);
    return status;
}

static enum nacre_status set_default(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    if (node->kind != NACRE_NODE_BOOLEAN || strcmp(node->text, "true") != 0 ||
        !draft->rules.id || strcmp(draft->rules.id, "main") == 0)
        return NACRE_OK;
    return nacre_config_note(draft->config, node->key_place, false, err,
                             "%s: who names no agent gets 'main' here; say --agent %s",
                             at->where, draft->rules.id);
}

static const struct nacre_schema_key agent_keys[] = {
    { NACRE_ROW_SET("id", TEXT, set_id), .required = true, .example = "id: \"NAME\"" },
    { NACRE_ROW_SET("default", ANY, set_default) },
    { NACRE_ROW_SECTION("sandbox", sandbox_schema), .set = enter_sandbox },
    { NACRE_ROW_SECTION("tools", tools_schema) },
    { NACRE_ROW_SET("workspace", TEXT, set_workspace) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_openclaw_agent_schema = {
    .keys = agent_keys, .count = NACRE_COUNT(agent_keys), .foreign = no_likeness
};
/* An entry's key is its id. */
static const struct nacre_schema entry_schema = { .keys = agent_keys + 1,
                                                  .count = NACRE_COUNT(agent_keys) - 1,
                                                  .foreign = no_likeness };

static enum nacre_status add_agent(const struct nacre_reading *at,
                                   const struct nacre_schema *schema,
                                   const struct nacre_node *node,
                                   struct nacre_config_draft *draft,
                                   struct nacre_error *err)
{
    enum nacre_status status = nacre_schema_read(schema, at, node, draft, err);

    if (status == NACRE_OK)
        status = check_tools(at, &draft->rules, err);
    return status == NACRE_OK ? nacre_config_add(draft->config, &draft->rules, err)
                              : status;
}

static enum nacre_status set_entries(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_config_draft *all = target;

    for (const struct nacre_node *child = node->first; child; child = child->next) {
        NACRE_AUTO(nacre_config_draft_clear)
        struct nacre_config_draft draft = { .config = all->config };
        struct nacre_node id = { .kind = NACRE_NODE_TEXT, .text = child->key,
                                 .place = child->key_place };
        enum nacre_status status;

        if (strcmp(child->key, "$include") == 0) {
            struct nacre_reading inner = nacre_reading_key(at, child->key);

            return nacre_claw_include(&inner, child, &draft, err);
        }
        status = set_id(at, &id, &draft, err);
        if (status == NACRE_OK) {
            struct nacre_reading inner = nacre_reading_key(at, child->key);

            status = add_agent(&inner, &entry_schema, child, &draft, err);
        }
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

static enum nacre_status set_list(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    struct nacre_config_draft *all = target;
    const struct nacre_node *include =
        node->kind == NACRE_NODE_MAPPING ? nacre_node_find(node, "$include") : NULL;
    size_t index = 0;

    if (include) {
        struct nacre_reading inner = nacre_reading_key(at, "$include");

        return nacre_claw_include(&inner, include, target, err);
    }
    if (node->kind != NACRE_NODE_LIST)
        return nacre_schema_fail_type(at, node, "a list", err);
    for (const struct nacre_node *child = node->first; child; child = child->next) {
        NACRE_AUTO(nacre_config_draft_clear)
        struct nacre_config_draft draft = { .config = all->config,
                                            .rules.listed = true };
        struct nacre_reading inner = nacre_reading_entry(at, index++);
        enum nacre_status status =
            add_agent(&inner, &nacre_openclaw_agent_schema, child, &draft, err);

        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

static const struct nacre_schema_key agents_keys[] = {
    { NACRE_ROW_SECTION("defaults", defaults_schema) },
    { NACRE_ROW_SET("entries", OPEN, set_entries) },
    { NACRE_ROW_SET("list", ANY, set_list) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema agents_schema = { .keys = agents_keys,
                                                   .count = NACRE_COUNT(agents_keys),
                                                   .foreign = no_likeness };

/* ---- the whole ---- */

static const struct nacre_schema_key session_keys[] = {
    { NACRE_ROW_SET("mainKey", TEXT, nacre_claw_main_key) },
    NACRE_CLAW_INCLUDE,
};
static const struct nacre_schema session_schema = { .keys = session_keys,
                                                    .count = NACRE_COUNT(session_keys),
                                                    .foreign = no_likeness };

static enum nacre_status refuse_agent(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    (void)target;
    if (node->kind != NACRE_NODE_MAPPING || !nacre_node_find(node, "sandbox"))
        return NACRE_OK;
    return NACRE_READING_FAIL(at, node->key_place, err,
                              "%s.sandbox is Clawdis's, and this file has OpenClaw's "
                              "agents too; say it in agents.defaults.sandbox",
                              at->where);
}

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
                              "%s.agents is no longer read there; say it in "
                              "agents.entries",
                              at->where);
}

static const char *const root_likeness[] = { "hooks", NULL };
static const struct nacre_schema_key root_keys[] = {
    { NACRE_ROW_SECTION("agents", agents_schema) },
    { NACRE_ROW_SECTION("tools", tools_schema) },
    { NACRE_ROW_SECTION("session", session_schema) },
    { NACRE_ROW_SET("agent", ANY, refuse_agent) },
    { NACRE_ROW_SET("routing", ANY, refuse_routing) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_openclaw_schema = { .keys = root_keys,
                                                    .count = NACRE_COUNT(root_keys),
                                                    .foreign = root_likeness };

enum nacre_status nacre_openclaw_read(const struct nacre_node *root,
                                      struct nacre_config *config,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_draft_clear)
    struct nacre_config_draft draft = { .config = config };
    struct nacre_reading at = { .source = config->source };
    enum nacre_status status =
        nacre_schema_read(&nacre_openclaw_schema, &at, root, &draft, err);

    if (status == NACRE_OK)
        status = check_tools(&at, &draft.rules, err);
    return status == NACRE_OK ? nacre_config_add(config, &draft.rules, err) : status;
}
