/* One table: what a setting is called in each dialect. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"
#include "settle.h"

/* Where OpenClaw keeps it; the others have one section each. */
enum section { BOX, TOOLS, AGENT };

static const struct spelling {
    enum section section;
    const char *openclaw, *clawdis, *config_yml, *clawpy; /* NULL: there is none */
} spellings[] = {
    [NACRE_KEY_MODE] = { BOX, "mode", "mode", "enabled", NULL },
    [NACRE_KEY_SCOPE] = { BOX, "scope", "perSession", NULL, "scope" },
    [NACRE_KEY_ACCESS] = { BOX, "workspaceAccess", NULL, "mounts", NULL },
    [NACRE_KEY_ROOT] = { BOX, "workspaceRoot", "workspaceRoot", NULL, NULL },
    [NACRE_KEY_WORKSPACE] = { AGENT, "workspace", NULL, "mounts", NULL },
    [NACRE_KEY_PREFIX] = { BOX, "docker.containerPrefix", "docker.containerPrefix", NULL,
                           NULL },
    [NACRE_KEY_BOX_ALLOW] = { TOOLS, "sandbox.tools.allow", "tools.allow", NULL, NULL },
    [NACRE_KEY_BOX_ALSO_ALLOW] = { TOOLS, "sandbox.tools.alsoAllow", NULL, NULL, NULL },
    [NACRE_KEY_BOX_DENY] = { TOOLS, "sandbox.tools.deny", "tools.deny", NULL, NULL },
    [NACRE_KEY_TOOLS_PROFILE] = { TOOLS, "profile", NULL, NULL, NULL },
    [NACRE_KEY_TOOLS_ALLOW] = { TOOLS, "allow", NULL, NULL, NULL },
    [NACRE_KEY_TOOLS_ALSO_ALLOW] = { TOOLS, "alsoAllow", NULL, NULL, NULL },
    [NACRE_KEY_TOOLS_DENY] = { TOOLS, "deny", NULL, NULL, NULL },
    [NACRE_KEY_ELEVATED_ENABLED] = { TOOLS, "elevated.enabled", NULL, NULL, NULL },
    [NACRE_KEY_ELEVATED_FROM] = { TOOLS, "elevated.allowFrom", NULL, NULL, NULL },
    [NACRE_KEY_PRUNE_IDLE] = { BOX, "prune.idleHours", "prune.idleHours", NULL, NULL },
    [NACRE_KEY_PRUNE_AGE] = { BOX, "prune.maxAgeDays", "prune.maxAgeDays", NULL, NULL },
    [NACRE_KEY_NETWORK] = { BOX, "docker.network", "docker.network", "network_policy",
                            "network" },
    [NACRE_KEY_ALLOWED_HOSTS] = { BOX, NULL, NULL, "allowed_hosts", NULL },
    [NACRE_KEY_DENIED_HOSTS] = { BOX, NULL, NULL, "denied_hosts", NULL },
    [NACRE_KEY_RESOLVERS] = { BOX, "docker.dns", "docker.dns", NULL, NULL },
    [NACRE_KEY_FIXED_HOSTS] = { BOX, "docker.extraHosts", "docker.extraHosts", NULL,
                                NULL },
    [NACRE_KEY_BINDS] = { BOX, "docker.binds", "docker.binds", "mounts", NULL },
    [NACRE_KEY_DENIED_PATHS] = { BOX, NULL, NULL, "blocked_paths", NULL },
    [NACRE_KEY_MEMORY] = { BOX, "docker.memory", "docker.memory",
                           "resource_limits.memory", "memory" },
    [NACRE_KEY_PIDS] = { BOX, "docker.pidsLimit", "docker.pidsLimit", NULL, NULL },
    [NACRE_KEY_CPU_SHARES] = { BOX, NULL, NULL, "resource_limits.cpu_shares", NULL },
    [NACRE_KEY_TIMEOUT] = { BOX, NULL, NULL, "timeout", "timeout" },
    [NACRE_KEY_OUTPUT] = { BOX, NULL, NULL, "logging.max_output_size", NULL },
    [NACRE_KEY_IMAGE] = { BOX, "docker.image", "docker.image", "default_image", NULL },
    [NACRE_KEY_WORKDIR] = { BOX, "docker.workdir", "docker.workdir", NULL, NULL },
    [NACRE_KEY_USER] = { BOX, "docker.user", "docker.user", NULL, NULL },
    [NACRE_KEY_SECCOMP] = { BOX, "docker.seccompProfile", "docker.seccompProfile",
                            "seccomp_profile", NULL },
    [NACRE_KEY_APPARMOR] = { BOX, "docker.apparmorProfile", "docker.apparmorProfile",
                             "apparmor_profile", NULL },
    [NACRE_KEY_SELINUX] = { BOX, NULL, NULL, "selinux_label", NULL },
    [NACRE_KEY_SETUP] = { BOX, "docker.setupCommand", "docker.setupCommand", NULL, NULL },
    [NACRE_KEY_CPUSET] = { BOX, NULL, NULL, "resource_limits.cpuset", NULL },
    [NACRE_KEY_TMPFS] = { BOX, "docker.tmpfs", "docker.tmpfs", "writable_tmpfs", NULL },
    [NACRE_KEY_KEEP_CAPABILITIES] = { BOX, NULL, NULL, "keep_capabilities", NULL },
    [NACRE_KEY_BLOCKED_SYSCALLS] = { BOX, NULL, NULL, "blocked_syscalls", NULL },
    [NACRE_KEY_ENVIRONMENT] = { BOX, "docker.env", "docker.env", NULL, NULL },
    [NACRE_KEY_ULIMITS] = { BOX, "docker.ulimits", "docker.ulimits", NULL, NULL },
    [NACRE_KEY_READ_ONLY_ROOT] = { BOX, "docker.readOnlyRoot", "docker.readOnlyRoot",
                                   "readonly_root", "read_only_root" },
    [NACRE_KEY_MEMORY_SWAP] = { BOX, "docker.memorySwap", "docker.memorySwap",
                                "resource_limits.memory_swap", NULL },
    [NACRE_KEY_MEMORY_RESERVATION] = { BOX, NULL, NULL,
                                       "resource_limits.memory_reservation", NULL },
    [NACRE_KEY_CPUS] = { BOX, "docker.cpus", "docker.cpus", "resource_limits.cpus",
                         "cpus" },
    [NACRE_KEY_DISK] = { BOX, NULL, NULL, "resource_limits.disk", NULL },
    [NACRE_KEY_DISK_IOPS] = { BOX, NULL, NULL, "resource_limits.disk_iops", NULL },
    [NACRE_KEY_DISK_IO_WEIGHT] = { BOX, NULL, NULL, "resource_limits.disk_io_weight",
                                   NULL },
#define BROWSER(id, word) \
    [NACRE_KEY_BROWSER_##id] = { BOX, "browser." word, "browser." word, NULL, NULL }
    BROWSER(ENABLED, "enabled"),
    BROWSER(IMAGE, "image"),
    BROWSER(NETWORK, "network"),
    BROWSER(BINDS, "binds"),
    BROWSER(CDP_PORT, "cdpPort"),
    BROWSER(NO_VNC_PORT, "noVncPort"),
    BROWSER(HOST_CONTROL, "allowHostControl"),
    BROWSER(URLS, "allowedControlUrls"),
    BROWSER(HOSTS, "allowedControlHosts"),
    BROWSER(PORTS, "allowedControlPorts"),
    BROWSER(AUTO_START, "autoStart"),
#undef BROWSER
};
_Static_assert(NACRE_COUNT(spellings) == NACRE_KEY_COUNT, "a row for each key");

static void openclaw(const struct nacre_agent_rules *agent, const struct spelling *row,
                     char ret_key[NACRE_CONFIG_KEY])
{
    static const char *const of_all[] = {
        [BOX] = "agents.defaults.sandbox.", [TOOLS] = "tools.",
        [AGENT] = "agents.defaults.",
    };
    static const char *const of_one[] = {
        [BOX] = ".sandbox.", [TOOLS] = ".tools.", [AGENT] = ".",
    };

    char id[NACRE_AGENT_ID];

    if (agent && agent->listed) /* as OpenClaw has it; the place tells whose it is */
        (void)snprintf(ret_key, NACRE_CONFIG_KEY, "agents.list[]%s%s",
                       of_one[row->section], row->openclaw);
    else if (agent)
        (void)snprintf(ret_key, NACRE_CONFIG_KEY, "agents.entries.%s%s%s",
                       nacre_text_show(id, sizeof(id), agent->id, strlen(agent->id)),
                       of_one[row->section], row->openclaw);
    else
        (void)snprintf(ret_key, NACRE_CONFIG_KEY, "%s%s", of_all[row->section],
                       row->openclaw);
}

bool nacre_config_key(const struct nacre_config *config,
                      const struct nacre_agent_rules *agent, enum nacre_key key,
                      char ret_key[NACRE_CONFIG_KEY])
{
    const struct spelling *row = &spellings[key];
    const char *section = "", *word = NULL;

    assert(key < NACRE_KEY_COUNT);
    ret_key[0] = '\0';
    switch (config->dialect) {
    case NACRE_DIALECT_CLAWDIS:
        section = key == NACRE_KEY_WORKSPACE ? "agent." : "agent.sandbox.";
        word = key == NACRE_KEY_WORKSPACE ? "workspace" : row->clawdis;
        break;
    case NACRE_DIALECT_CONFIG_YML:
        section = "sandbox.";
        word = row->config_yml;
        break;
    case NACRE_DIALECT_CLAWPY:
        word = row->clawpy;
        break;
    case NACRE_DIALECT_OPENCLAW:
        if (row->openclaw)
            openclaw(agent, row, ret_key);
        return row->openclaw != NULL;
    case NACRE_DIALECT_CKP:
    case NACRE_DIALECT_UNSET:
    case NACRE_DIALECT_COUNT:
        return false;
    }
    if (word)
        (void)snprintf(ret_key, NACRE_CONFIG_KEY, "%s%s", section, word);
    return word != NULL;
}

const struct nacre_agent_rules *nacre_session_agent(const struct nacre_config *config,
                                                    const char *id)
{
    for (size_t i = 0; i < config->agent_count; i++) {
        char own[NACRE_AGENT_ID];

        nacre_session_agent_id(config->agents[i].id, own);
        if (strcmp(own, id) == 0)
            return &config->agents[i];
    }
    return NULL;
}

const char *nacre_session_at(const struct nacre_session *session,
                             struct nacre_place place, char ret_text[NACRE_PLACE_TEXT])
{
    char source[NACRE_SHOWN];

    ret_text[0] = '\0';
    if (place.line > 0)
        (void)snprintf(ret_text, NACRE_PLACE_TEXT, "%s:%d:%d: ",
                       nacre_text_shown(source, session->config->source), place.line,
                       place.column);
    return ret_text;
}
