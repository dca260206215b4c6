#include "config_model.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model.h"
#include "schema.h"

#define NAMES(FUNCTION, TYPE, PREFIX, MAP)                         \
    const char *FUNCTION(enum TYPE value)                          \
    {                                                              \
        static const char *const names[] = { "unset", MAP };       \
                                                                   \
        assert(value < PREFIX##_COUNT);                            \
        return names[value];                                       \
    }
#define X(id, name) name,
NAMES(nacre_dialect_name, nacre_dialect, NACRE_DIALECT, NACRE_DIALECT_MAP(X))
NAMES(nacre_mode_name, nacre_mode, NACRE_MODE, NACRE_MODE_MAP(X))
NAMES(nacre_access_name, nacre_access, NACRE_ACCESS, NACRE_ACCESS_MAP(X))
#undef X

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
}

enum nacre_status nacre_config_new(const char *source, struct nacre_config **ret_config,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_guard)
    struct nacre_config *config = calloc(1, sizeof(*config));
    enum nacre_status status;

    if (!config)
        return fail_memory(err);
    status = nacre_schema_copy(source, &config->source, err);
    if (status != NACRE_OK)
        return status;
    *ret_config = nacre_config_take(&config);
    return NACRE_OK;
}

enum nacre_status nacre_config_note(struct nacre_config *config, struct nacre_place place,
                                    bool unwise, struct nacre_error *err,
                                    const char *format, ...)
{
    struct nacre_config_note note = { .unwise = unwise, .place = place };
    struct nacre_config_note *notes;
    va_list args;

    if (config->note_count >= NACRE_CONFIG_NOTES_MAX)
        return NACRE_OK;
    va_start(args, format);
    (void)vsnprintf(note.text, sizeof(note.text), format, args);
    va_end(args);
    notes = realloc(config->notes, (config->note_count + 1) * sizeof(*notes));
    if (!notes)
        return fail_memory(err);
    notes[config->note_count++] = note;
    config->notes = notes;
    return NACRE_OK;
}

enum nacre_status nacre_config_add(struct nacre_config *config,
                                   struct nacre_agent_rules *rules,
                                   struct nacre_error *err)
{
    struct nacre_agent_rules *agents;

    if (!rules->id) {
        nacre_agent_rules_clear(&config->all);
        config->all = *rules;
        *rules = (struct nacre_agent_rules){ .id = NULL };
        return NACRE_OK;
    }
    agents = realloc(config->agents, (config->agent_count + 1) * sizeof(*agents));
    if (!agents)
        return fail_memory(err);
    agents[config->agent_count++] = *rules;
    config->agents = agents;
    *rules = (struct nacre_agent_rules){ .id = NULL };
    return NACRE_OK;
}

const struct nacre_agent_rules *nacre_config_agent(const struct nacre_config *config,
                                                   const char *id)
{
    for (size_t i = 0; i < config->agent_count; i++)
        if (strcasecmp(config->agents[i].id, id) == 0)
            return &config->agents[i];
    return NULL;
}

/* ---- the end ---- */

void nacre_bind_rules_clear(struct nacre_bind_rules *binds)
{
    for (size_t i = 0; i < binds->count; i++) {
        free(binds->items[i].host);
        free(binds->items[i].guest);
    }
    free(binds->items);
}

static void clear_tools(struct nacre_tool_rules *tools)
{
    nacre_rules_clear(&tools->allow);
    nacre_rules_clear(&tools->also_allow);
    nacre_rules_clear(&tools->deny);
    free(tools->profile.text);
}

static void clear_browser(struct nacre_browser_rules *browser)
{
    free(browser->image.text);
    free(browser->container_prefix.text);
    free(browser->network.text);
    free(browser->cdp_source_range.text);
    nacre_rules_clear(&browser->allowed_control_urls);
    nacre_rules_clear(&browser->allowed_control_hosts);
    nacre_rules_clear(&browser->allowed_control_ports);
    nacre_bind_rules_clear(&browser->binds);
}

static void clear_box(struct nacre_box_rules *box)
{
    free(box->workspace_root.text);
    free(box->session_tools_visibility.text);
    free(box->container_prefix.text);
    nacre_container_rules_clear(&box->container);
    nacre_rules_clear(&box->allowed_hosts);
    nacre_rules_clear(&box->denied_hosts);
    nacre_rules_clear(&box->resolvers);
    nacre_rules_clear(&box->fixed_hosts);
    nacre_bind_rules_clear(&box->binds);
    nacre_rules_clear(&box->denied_paths);
    clear_tools(&box->tools);
    clear_browser(&box->browser);
}

void nacre_agent_rules_clear(struct nacre_agent_rules *rules)
{
    free(rules->id);
    free(rules->workspace.text);
    clear_box(&rules->box);
    clear_tools(&rules->tools);
    nacre_rules_clear(&rules->elevated.allow_from);
}

void nacre_config_free(struct nacre_config *config)
{
    if (!config)
        return;
    free(config->source);
    free(config->file);
    free(config->main_key.text);
    free(config->profile.text);
    nacre_agent_rules_clear(&config->all);
    for (size_t i = 0; i < config->agent_count; i++)
        nacre_agent_rules_clear(&config->agents[i]);
    free(config->agents);
    free(config->notes);
    free(config);
}
