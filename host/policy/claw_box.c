/*
 * The tables below `sandbox` that OpenClaw and Clawdis share.  A key is here if one of
 * their releases has it: what has no effect is noted, what nacre will not do is refused
 * by name with the reason, so that nobody believes in a setting that is not there.
 */
#include <stddef.h>
#include <string.h>

#include "claw.h"
#include "entries.h"
#include "nacre/text.h"

#define X(id, name) name,
const char *const nacre_claw_mode_words[3] = { NACRE_MODE_MAP(X) };
#undef X

/* ---- without effect ---- */

static enum nacre_status note_cap_drop(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rules rules = { .count = 0 };
    enum nacre_status status =
        nacre_schema_read_rules(at, node, nacre_entry_text, &rules, err);

    for (size_t i = 0; i < rules.count; i++)
        free(rules.items[i].text);
    free(rules.items);
    if (status != NACRE_OK)
        return status;
    return nacre_config_note(draft->config, node->key_place, false, err,
                             "%s: adds nothing, every capability is dropped already",
                             at->where);
}

static enum nacre_status set_propagation(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    static const char *const words[] = { "private", "rslave", "rshared" };
    struct nacre_config_draft *draft = target;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    if (status != NACRE_OK)
        return status;
    if (index > 0)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: '%s' is refused: mounts made on the host later would appear inside; "
            "remove it, private holds",
            at->where, words[index]);
    return nacre_config_note(draft->config, node->key_place, false, err,
                             "%s: adds nothing, mounts are always private", at->where);
}

/* ---- refused by name ---- */

static enum nacre_status refuse_gpus(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    (void)target;
    return NACRE_READING_FAIL(at, node->key_place, err,
                              "%s is refused: devices of the host are not given to a "
                              "sandbox; remove it",
                              at->where);
}

/* Whatever comes after the word, now or later: who wants it hears why not. */
enum nacre_status nacre_claw_enter_docker(const struct nacre_reading *at,
                                          const struct nacre_node *node, void *target,
                                          struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    for (const struct nacre_node *child = node->first; child; child = child->next)
        if (strncmp(child->key, "dangerously", strlen("dangerously")) == 0 &&
            child->kind == NACRE_NODE_BOOLEAN && strcmp(child->text, "true") == 0)
            return NACRE_READING_FAIL(
                at, child->place, err,
                "%s.%s: true is refused in any configuration: it takes a wall of the "
                "sandbox away; remove it, and what needs it",
                at->where, nacre_text_shown(shown, child->key));
    return NACRE_OK;
}

static enum nacre_status note_harmless(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    if (node->kind != NACRE_NODE_BOOLEAN)
        return nacre_schema_fail_type(at, node, "true or false", err);
    return nacre_config_note(draft->config, node->key_place, false, err,
                             "%s: adds nothing, it is always false", at->where);
}

#define DANGEROUS(key) { NACRE_ROW_SET(key, ANY, note_harmless) }

static const struct nacre_schema_key docker_keys[] = {
    { NACRE_ROW_RULE("image", rules.box.container.image) },
    { NACRE_ROW_RULE_BY("containerPrefix", rules.box.container_prefix,
                        nacre_claw_prefix) },
    { NACRE_ROW_RULE("workdir", rules.box.container.workdir) },
    { NACRE_ROW_FLAG("readOnlyRoot", rules.box.container.read_only_root) },
    { NACRE_ROW_RULES("tmpfs", rules.box.container.tmpfs, nacre_entry_text) },
    { NACRE_ROW_SET("network", TEXT, nacre_claw_network) },
    { NACRE_ROW_RULE("user", rules.box.container.user) },
    { NACRE_ROW_SET("capDrop", LIST, note_cap_drop) },
    { NACRE_ROW_SET("env", OPEN, nacre_claw_env) },
    { NACRE_ROW_SET("setupCommand", ANY, nacre_claw_setup) },
    { NACRE_ROW_LIMIT("pidsLimit", rules.box.pids, 1, 4194304) },
    { NACRE_ROW_BYTES("memory", rules.box.memory_bytes) },
    { NACRE_ROW_BYTES("memorySwap", rules.box.container.memory_swap) },
    { NACRE_ROW_CPUS("cpus", rules.box.container.cpus_nano) },
    { NACRE_ROW_SET("gpus", ANY, refuse_gpus) },
    { NACRE_ROW_SET("ulimits", OPEN, nacre_claw_ulimits) },
    { NACRE_ROW_RULE("seccompProfile", rules.box.container.seccomp_profile) },
    { NACRE_ROW_RULE("apparmorProfile", rules.box.container.apparmor_profile) },
    { NACRE_ROW_RULES("dns", rules.box.resolvers, nacre_claw_resolver) },
    { NACRE_ROW_RULES("extraHosts", rules.box.fixed_hosts, nacre_claw_extra_host) },
    { NACRE_ROW_SET("binds", LIST, nacre_claw_docker_binds) },
    { NACRE_ROW_SET("workspaceMountPropagation", ANY, set_propagation) },
    DANGEROUS("dangerouslyAllowReservedContainerTargets"),
    DANGEROUS("dangerouslyAllowExternalBindSources"),
    DANGEROUS("dangerouslyAllowContainerNamespaceJoin"),
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_claw_docker_schema = NACRE_SCHEMA_OF(docker_keys);

/* ---- browser ---- */

enum nacre_status nacre_claw_enter_browser(const struct nacre_reading *at,
                                           const struct nacre_node *node, void *target,
                                           struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    (void)at, (void)err;
    draft->rules.box.browser.place = node->key_place;
    return NACRE_OK;
}

/* Its own network, a bridge that holds the browsers alone, is OpenClaw's default. */
static enum nacre_status set_browser_network(const struct nacre_reading *at,
                                             const struct nacre_node *node, void *target,
                                             struct nacre_error *err)
{
    static const char *const words[] = { "none", "bridge", "openclaw-sandbox-browser" };
    struct nacre_config_draft *draft = target;
    struct nacre_rule *network = &draft->rules.box.browser.network;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strcmp(node->text, words[i]) == 0) {
            network->place = node->place;
            return nacre_schema_copy(words[i], &network->text, err);
        }
    return NACRE_READING_FAIL(
        at, node->place, err,
        "%s: '%s' is refused: what passes a network of the engine's own is not judged "
        "here; write none or bridge",
        at->where, nacre_text_shown(shown, node->text));
}

static enum nacre_status set_control_ports(const struct nacre_reading *at,
                                           const struct nacre_node *list, void *target,
                                           struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;
    struct nacre_rules *ports = &draft->rules.box.browser.allowed_control_ports;

    ports->place = list->key_place;
    if (list->count > 0)
        ports->items = calloc(list->count, sizeof(*ports->items));
    if (list->count > 0 && !ports->items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        struct nacre_reading entry = nacre_reading_entry(at, ports->count);
        struct nacre_rule *port = &ports->items[ports->count];
        enum nacre_status status;
        uint64_t number = 0;

        if (node->kind != NACRE_NODE_NUMBER ||
            !nacre_text_u64(node->text, 65535, &number) || number == 0)
            return nacre_schema_fail_type(&entry, node, "a port from 1 to 65535", err);
        status = nacre_schema_copy(node->text, &port->text, err);
        if (status != NACRE_OK)
            return status;
        port->place = node->place;
        ports->count++;
    }
    return NACRE_OK;
}

/* noVncEnabled is the name today and wins: it stands below in the table. */
static const struct nacre_schema_key browser_keys[] = {
    { NACRE_ROW_FLAG("enabled", rules.box.browser.enabled) },
    { NACRE_ROW_RULE("image", rules.box.browser.image) },
    { NACRE_ROW_RULE_BY("containerPrefix", rules.box.browser.container_prefix,
                        nacre_claw_prefix) },
    { NACRE_ROW_SET("network", TEXT, set_browser_network) },
    { NACRE_ROW_LIMIT("cdpPort", rules.box.browser.cdp_port, 1, 65535) },
    { NACRE_ROW_RULE("cdpSourceRange", rules.box.browser.cdp_source_range) },
    { NACRE_ROW_LIMIT("vncPort", rules.box.browser.vnc_port, 1, 65535) },
    { NACRE_ROW_LIMIT("noVncPort", rules.box.browser.no_vnc_port, 1, 65535) },
    { NACRE_ROW_FLAG("headless", rules.box.browser.headless) },
    { NACRE_ROW_FLAG("enableNoVnc", rules.box.browser.no_vnc_enabled) },
    { NACRE_ROW_FLAG("noVncEnabled", rules.box.browser.no_vnc_enabled) },
    { NACRE_ROW_FLAG("allowHostControl", rules.box.browser.allow_host_control) },
    { NACRE_ROW_RULES("allowedControlUrls", rules.box.browser.allowed_control_urls,
                      nacre_entry_text) },
    { NACRE_ROW_RULES("allowedControlHosts", rules.box.browser.allowed_control_hosts,
                      nacre_entry_text) },
    { NACRE_ROW_SET("allowedControlPorts", LIST, set_control_ports) },
    { NACRE_ROW_FLAG("autoStart", rules.box.browser.auto_start) },
    { NACRE_ROW_LIMIT("autoStartTimeoutMs", rules.box.browser.auto_start_timeout_ms, 1,
                      NACRE_TIMEOUT_MS_MAX) },
    { NACRE_ROW_SET("binds", LIST, nacre_claw_browser_binds) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_claw_browser_schema = NACRE_SCHEMA_OF(browser_keys);

/* ---- prune, tools ---- */

/* A hundred years: in milliseconds it still fits. */
#define HOURS_MAX 876000
#define DAYS_MAX 36500

static const struct nacre_schema_key prune_keys[] = {
    { NACRE_ROW_LIMIT("idleHours", rules.box.prune_idle_hours, 0, HOURS_MAX) },
    { NACRE_ROW_LIMIT("maxAgeDays", rules.box.prune_age_days, 0, DAYS_MAX) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_claw_prune_schema = NACRE_SCHEMA_OF(prune_keys);

static const struct nacre_schema_key tools_keys[] = {
    { NACRE_ROW_RULES("allow", rules.box.tools.allow, nacre_entry_text) },
    { NACRE_ROW_RULES("alsoAllow", rules.box.tools.also_allow, nacre_entry_text) },
    { NACRE_ROW_RULES("deny", rules.box.tools.deny, nacre_entry_text) },
    NACRE_CLAW_INCLUDE,
};
const struct nacre_schema nacre_claw_box_tools_schema = NACRE_SCHEMA_OF(tools_keys);
