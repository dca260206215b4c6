/* Clawpy's SandboxConfig: one flat mapping.  The document is untrusted. */
#include <stddef.h>
#include <string.h>

#include "claw.h"

static enum nacre_status set_scope(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    static const char *const words[] = { "session", "agent" };
    struct nacre_config_draft *draft = target;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    if (status != NACRE_OK)
        return status;
    draft->rules.box.scope = index == 0 ? NACRE_SCOPE_SESSION : NACRE_SCOPE_AGENT;
    draft->rules.box.scope_place = node->place;
    return NACRE_OK;
}

static const struct nacre_schema_key keys[] = {
    { NACRE_ROW_BYTES("memory", rules.box.memory_bytes) },
    { NACRE_ROW_CPUS("cpus", rules.box.container.cpus_nano) },
    { NACRE_ROW_SET("network", TEXT, nacre_claw_network) },
    { NACRE_ROW_FLAG("read_only_root", rules.box.container.read_only_root) },
    { NACRE_ROW_SET("scope", ANY, set_scope) },
    { NACRE_ROW_TIMEOUT("timeout", rules.box.timeout_ms) },
};
const struct nacre_schema nacre_clawpy_schema = NACRE_SCHEMA_OF(keys);

enum nacre_status nacre_clawpy_read(const struct nacre_node *root,
                                    struct nacre_config *config, struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_draft_clear)
    struct nacre_config_draft draft = { .config = config };
    struct nacre_reading at = { .source = config->source };
    enum nacre_status status =
        nacre_schema_read(&nacre_clawpy_schema, &at, root, &draft, err);

    draft.rules.box.place = root->place;
    return status == NACRE_OK ? nacre_config_add(config, &draft.rules, err) : status;
}

/* Documents like any other: so each of their settings has a place that can be named. */
const char *nacre_clawpy_profile(const char *name)
{
    static const struct {
        const char *name, *text;
    } profiles[] = {
        { "agent", "memory: 512m\n"
                   "cpus: 1.0\n"
                   "network: none\n"
                   "read_only_root: true\n"
                   "scope: session\n"
                   "timeout: 120s\n" },
        { "heartbeat", "memory: 256m\n"
                       "cpus: 0.5\n"
                       "network: bridge\n"
                       "read_only_root: false\n"
                       "scope: agent\n"
                       "timeout: 120s\n" },
    };

    for (size_t i = 0; i < NACRE_COUNT(profiles); i++)
        if (strcmp(profiles[i].name, name) == 0)
            return profiles[i].text;
    return NULL;
}
