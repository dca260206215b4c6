#ifndef NACRE_POLICY_DEFAULTS_H
#define NACRE_POLICY_DEFAULTS_H

#include "nacre/config.h"

/*
 * What holds in a dialect where its file is silent.  A reader never writes these into the
 * rules: there a line 0 means that nobody said it.  Numbers that are 0 and texts and
 * lists that are NULL have no default of the dialect's; nacre's own holds.
 */
struct nacre_dialect_defaults {
    enum nacre_mode mode;
    enum nacre_scope scope;
    enum nacre_access access;
    enum nacre_network_mode network;
    bool read_only_root;
    bool tokens; /* secrets may be used, by stand-ins in the environment */
    const char *main_key;
    const char *workspace_root;   /* with its ~ */
    const char *workspace;        /* of the agent "main", with its ~ */
    const char *image;
    const char *container_prefix; /* "" where names are made another way (Clawpy) */
    const char *workdir;
    const char *const *tmpfs;       /* NULL-terminated, as are those below */
    const char *const *environment; /* "K=V" */
    const char *const *tools_allow; /* of a sandbox; NULL: no tool policy */
    const char *const *tools_deny;
    uint64_t memory_bytes, cpus_nano, timeout_ms;
    uint64_t prune_idle_hours, prune_age_days; /* 0: never */
};

/* Never NULL; of CKP and UNSET, which have no sessions, those of OpenClaw. */
const struct nacre_dialect_defaults *nacre_dialect_defaults(enum nacre_dialect dialect);

/* What no command of a session may hold that runs on the host itself, in any dialect;
 * NULL-terminated. */
extern const char *const nacre_host_blocked[];

/* The tools of one of OpenClaw's profiles, as globs and groups, NULL-terminated, none for
 * "full", which takes nothing away; NULL: there is no profile of that name. */
const char *const *nacre_tool_profile(const char *name);

/*
 * Of one configuration: Clawdbot has OpenClaw's keys and other names, and only the name
 * of its file (clawdbot.json, moltbot.json) tells them apart; Clawpy's heartbeat differs
 * from its agent.
 */
const struct nacre_dialect_defaults *
nacre_config_defaults(const struct nacre_config *config);

#endif
