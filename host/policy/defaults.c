#include "defaults.h"

#include <assert.h>
#include <string.h>

/* The network is off in each of them, even where its own code has bridge (Clawdis), and
 * the scope is session, even where its own code has agent (OpenClaw): what is wider has
 * to be written. */

#define GIB ((uint64_t)1 << 30)
#define NANO 1000000000u

static const char *const tmpfs[] = { "/tmp", "/var/tmp", "/run", NULL };
static const char *const environment[] = { "LANG=C.UTF-8", NULL };

static const char *const openclaw_allow[] = {
    "exec",          "process",          "read",          "ls",
    "write",         "edit",             "apply_patch",   "image",
    "view_image",    "sessions_list",    "sessions_history",
    "sessions_send", "sessions_spawn",   "session_status", NULL,
};
static const char *const openclaw_deny[] = {
    "browser", "canvas",     "nodes", "cron",   "gateway",  "telegram", "whatsapp",
    "discord", "googlechat", "slack", "signal", "imessage", NULL,
};
static const char *const clawdis_allow[] = { "bash", "process", "read",
                                             "write", "edit",   NULL };
static const char *const clawdis_deny[] = { "browser", "canvas",  "nodes", "cron",
                                            "discord", "gateway", NULL };

/* What OpenClaw and the names it had before share. */
#define CLAW_FAMILY                                                              \
    .mode = NACRE_MODE_OFF, .scope = NACRE_SCOPE_SESSION,                        \
    .access = NACRE_ACCESS_NONE, .network = NACRE_NETWORK_DENY,                  \
    .read_only_root = true, .main_key = "main", .workdir = "/workspace",         \
    .tmpfs = tmpfs, .environment = environment, .prune_idle_hours = 24,          \
    .prune_age_days = 7
#define CLAW_TOOLS .tools_allow = openclaw_allow, .tools_deny = openclaw_deny

static const struct nacre_dialect_defaults openclaw = {
    CLAW_FAMILY, CLAW_TOOLS,
    .workspace_root = "~/.openclaw/sandboxes",
    .workspace = "~/.openclaw/workspace",
    .image = "openclaw-sandbox:bookworm-slim",
    .container_prefix = "openclaw-sbx-",
};
static const struct nacre_dialect_defaults clawdbot = {
    CLAW_FAMILY, CLAW_TOOLS,
    .workspace_root = "~/.clawdbot/sandboxes",
    .workspace = "~/clawd",
    .image = "clawdbot-sandbox:bookworm-slim",
    .container_prefix = "clawdbot-sbx-",
};
static const struct nacre_dialect_defaults moltbot = {
    CLAW_FAMILY, CLAW_TOOLS,
    .workspace_root = "~/.clawdbot/sandboxes",
    .workspace = "~/clawd",
    .image = "moltbot-sandbox:bookworm-slim",
    .container_prefix = "moltbot-sbx-",
};
static const struct nacre_dialect_defaults clawdis = {
    CLAW_FAMILY,
    .tools_allow = clawdis_allow,
    .tools_deny = clawdis_deny,
    .workspace_root = "~/.clawdis/sandboxes",
    .workspace = "~/clawd",
    .image = "clawdis-sandbox:bookworm-slim",
    .container_prefix = "clawdis-sbx-",
};

/* Who writes the section wants the sandbox: only `enabled: false` switches it off. */
static const struct nacre_dialect_defaults config_yml = {
    .mode = NACRE_MODE_ALL,
    .scope = NACRE_SCOPE_SESSION,
    .access = NACRE_ACCESS_NONE,
    .network = NACRE_NETWORK_DENY,
    .read_only_root = true,
    .main_key = "main",
    .workspace_root = "~/.openclaw/sandboxes",
    .workspace = "~/.openclaw/workspace",
    .image = "openclaw-sandbox:bookworm-slim",
    .container_prefix = "openclaw-sbx-",
    .workdir = "/workspace",
    .timeout_ms = 120000,
    .prune_idle_hours = 24,
    .prune_age_days = 7,
};

#define CLAWPY                                                              \
    .mode = NACRE_MODE_ALL, .access = NACRE_ACCESS_NONE, .main_key = "main", \
    .workspace_root = "~/.clawpy/sandboxes", .workspace = "~/.clawpy/workspace", \
    .container_prefix = "", .workdir = "/workspace", .timeout_ms = 120000,  \
    .tokens = true,                                                         \
    .prune_idle_hours = 24, .prune_age_days = 7
static const struct nacre_dialect_defaults clawpy_agent = {
    CLAWPY,
    .scope = NACRE_SCOPE_SESSION,
    .network = NACRE_NETWORK_DENY,
    .read_only_root = true,
    .memory_bytes = GIB / 2,
    .cpus_nano = NANO,
};
static const struct nacre_dialect_defaults clawpy_heartbeat = {
    CLAWPY,
    .scope = NACRE_SCOPE_AGENT,
    .network = NACRE_NETWORK_ALLOW_ALL,
    .read_only_root = false,
    .memory_bytes = GIB / 4,
    .cpus_nano = NANO / 2,
};

/* The example of CKP's own page, and the ways to write its first line.  An expansion that
 * may come to one of these is held by it, as is the glob of "rm -rf /" followed by '*'. */
const char *const nacre_host_blocked[] = {
    "rm -rf /",   "rm -fr /",      "rm -r -f /",
    "rm -f -r /", "curl * | bash", "chmod 777", NULL,
};

/* As its page about tools has them; later versions have added tools that nacre does not
 * serve. */
const char *const *nacre_tool_profile(const char *name)
{
    static const char *const minimal[] = { "session_status", NULL };
    static const char *const coding[] = { "group:fs",       "group:runtime",
                                          "group:sessions", "group:memory",
                                          "image",          NULL };
    static const char *const messaging[] = { "group:messaging", "sessions_list",
                                             "sessions_history", "sessions_send",
                                             "session_status", NULL };
    static const char *const full[] = { NULL };
    static const struct {
        const char *name;
        const char *const *tools;
    } profiles[] = { { "minimal", minimal },
                     { "coding", coding },
                     { "messaging", messaging },
                     { "full", full } };

    for (size_t i = 0; i < NACRE_COUNT(profiles); i++)
        if (strcmp(profiles[i].name, name) == 0)
            return profiles[i].tools;
    return NULL;
}

const struct nacre_dialect_defaults *nacre_dialect_defaults(enum nacre_dialect dialect)
{
    static const struct nacre_dialect_defaults *const all[] = {
        [NACRE_DIALECT_UNSET] = &openclaw,   [NACRE_DIALECT_CKP] = &openclaw,
        [NACRE_DIALECT_OPENCLAW] = &openclaw, [NACRE_DIALECT_CLAWDIS] = &clawdis,
        [NACRE_DIALECT_CONFIG_YML] = &config_yml, [NACRE_DIALECT_CLAWPY] = &clawpy_agent,
    };

    assert(dialect < NACRE_DIALECT_COUNT);
    return all[dialect];
}

const struct nacre_dialect_defaults *
nacre_config_defaults(const struct nacre_config *config)
{
    const char *slash = strrchr(config->source, '/');
    const char *name = slash ? slash + 1 : config->source;

    if (config->dialect == NACRE_DIALECT_OPENCLAW) {
        if (strncmp(name, "clawdbot", strlen("clawdbot")) == 0)
            return &clawdbot;
        if (strncmp(name, "moltbot", strlen("moltbot")) == 0)
            return &moltbot;
    }
    if (config->dialect == NACRE_DIALECT_CLAWPY && config->profile.text &&
        strcmp(config->profile.text, "heartbeat") == 0)
        return &clawpy_heartbeat;
    return nacre_dialect_defaults(config->dialect);
}
