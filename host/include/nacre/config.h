#ifndef NACRE_CONFIG_H
#define NACRE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/policy.h"

/*
 * A configuration: what OpenClaw, Clawdbot, Clawdis, config.yml and Clawpy say about
 * sandboxes.  The rules as they were written, each with its place, for all agents and for
 * single ones; what then holds for one session of one agent is settled by nacre/session.h.
 * Immutable once loaded and so usable from several threads.
 */

#define NACRE_DIALECT_MAP(X)     \
    X(CKP, "ckp")                \
    X(OPENCLAW, "openclaw")      /* and Clawdbot, which has the same keys */ \
    X(CLAWDIS, "clawdis")        \
    X(CONFIG_YML, "config.yml")  \
    X(CLAWPY, "clawpy")
#define NACRE_MODE_MAP(X)        \
    X(OFF, "off")                \
    X(NON_MAIN, "non-main")      \
    X(ALL, "all")
#define NACRE_ACCESS_MAP(X)      \
    X(NONE, "none")              \
    X(RO, "ro")                  \
    X(RW, "rw")

#define X(id, name) NACRE_DIALECT_##id,
NACRE_POLICY_ENUM(nacre_dialect, NACRE_DIALECT, NACRE_DIALECT_MAP(X));
#undef X
#define X(id, name) NACRE_MODE_##id,
NACRE_POLICY_ENUM(nacre_mode, NACRE_MODE, NACRE_MODE_MAP(X));
#undef X
#define X(id, name) NACRE_ACCESS_##id,
NACRE_POLICY_ENUM(nacre_access, NACRE_ACCESS, NACRE_ACCESS_MAP(X));
#undef X

const char *nacre_dialect_name(enum nacre_dialect dialect);
const char *nacre_mode_name(enum nacre_mode mode);
const char *nacre_access_name(enum nacre_access access);

struct nacre_bind_rule {
    char *host;  /* as written; a leading ~ is not yet a home */
    char *guest; /* normalised */
    bool writable;
    struct nacre_place place;
};

struct nacre_bind_rules {
    struct nacre_bind_rule *items;
    size_t count;
    struct nacre_place place;
};

struct nacre_tool_rules {
    struct nacre_rules allow, also_allow, deny; /* as written: globs, groups, aliases */
    struct nacre_rule profile; /* a base of OpenClaw's own: minimal, coding, messaging */
};

/* tools.elevated; of allowFrom each entry is "provider:sender", the place is the
 * sender's. */
struct nacre_elevated_rules {
    struct nacre_place place; /* of the section; line 0 when there is none */
    struct nacre_flag enabled;
    struct nacre_rules allow_from;
};

/* A browser in a sandbox; settled by nacre/browser.h. */
struct nacre_browser_rules {
    struct nacre_place place;
    struct nacre_flag enabled, headless, no_vnc_enabled, allow_host_control, auto_start;
    struct nacre_rule image, container_prefix, network, cdp_source_range;
    struct nacre_limit cdp_port, vnc_port, no_vnc_port, auto_start_timeout_ms;
    struct nacre_rules allowed_control_urls, allowed_control_hosts,
        allowed_control_ports;
    struct nacre_bind_rules binds;
};

/*
 * One `sandbox`: of all agents, or of one.  Where a place has line 0 it says nothing and
 * the wider one holds, in the end the dialect's default.
 */
struct nacre_box_rules {
    struct nacre_place place; /* of the section; line 0 when there is none */
    enum nacre_mode mode;
    struct nacre_place mode_place;
    enum nacre_scope scope; /* perSession: true is session, false shared */
    struct nacre_place scope_place;
    enum nacre_access access;
    struct nacre_place access_place;
    struct nacre_rule workspace_root; /* as written, ~ and all */
    struct nacre_rule session_tools_visibility;

    struct nacre_rule container_prefix;
    struct nacre_container_rules container;
    struct nacre_limit memory_bytes, pids, cpu_shares, timeout_ms, output_bytes;

    enum nacre_network_mode network; /* none: DENY, bridge: ALLOW_ALL */
    struct nacre_place network_place;
    struct nacre_rules allowed_hosts, denied_hosts;
    struct nacre_rules resolvers;   /* dns: addresses */
    struct nacre_rules fixed_hosts; /* extraHosts: "name=address", normalised */

    struct nacre_bind_rules binds;
    struct nacre_rules denied_paths; /* blocked_paths: of the sandbox, normalised */

    struct nacre_tool_rules tools; /* tools.sandbox.tools, or a sandbox's own */
    struct nacre_browser_rules browser;
    struct nacre_limit prune_idle_hours, prune_age_days; /* 0 disables */
};

struct nacre_agent_rules {
    char *id; /* NULL: of all agents */
    bool listed; /* written in the older agents.list */
    struct nacre_place place;
    struct nacre_rule workspace; /* the agent's own directory, as written */
    struct nacre_box_rules box;
    struct nacre_tool_rules tools; /* before any sandbox */
    struct nacre_elevated_rules elevated;
};

/* What is legal and has no effect, or is unwise: told by `check` and `explain`. */
struct nacre_config_note {
    bool unwise; /* false: only told */
    struct nacre_place place;
    char text[256];
};

struct nacre_config {
    char *source; /* as an error would name it */
    char *file;   /* the real path of its file, which no guest may change; or NULL */
    enum nacre_dialect dialect;
    struct nacre_digest digest;
    struct nacre_agent_rules all;
    struct nacre_agent_rules *agents;
    size_t agent_count;
    struct nacre_rule main_key; /* session.mainKey */
    struct nacre_rule profile;  /* Clawpy: "agent" or "heartbeat"; else NULL */
    struct nacre_config_note *notes;
    size_t note_count;
};

/*
 * From a file of any dialect but CKP, known by its content (NACRE_ERR_USAGE names the
 * dialect when it is a CKP policy), or "clawpy:agent", "clawpy:heartbeat" for the
 * profiles that are built in.
 */
NACRE_MUST_CHECK enum nacre_status nacre_config_load(const char *reference,
                                                     struct nacre_config **ret_config,
                                                     struct nacre_error *err);
/* The same from memory; `source` is the name that errors use. */
NACRE_MUST_CHECK enum nacre_status nacre_config_parse(const char *source,
                                                      const char *bytes, size_t count,
                                                      struct nacre_config **ret_config,
                                                      struct nacre_error *err);
/* Which dialect is it?  By its keys; UNSET when it is none.  An error is a document that
 * can't be read at all. */
NACRE_MUST_CHECK enum nacre_status nacre_config_recognise(const char *source,
                                                          const char *bytes, size_t count,
                                                          enum nacre_dialect *ret_dialect,
                                                          struct nacre_error *err);
void nacre_config_free(struct nacre_config *config); /* accepts NULL */
NACRE_OWNED(nacre_config)

/* The rules of one agent; NULL where the file has none of that name. */
const struct nacre_agent_rules *nacre_config_agent(const struct nacre_config *config,
                                                   const char *id);

#endif
