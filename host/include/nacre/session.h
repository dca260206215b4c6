#ifndef NACRE_SESSION_H
#define NACRE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/answer.h"
#include "nacre/config.h"
#include "nacre/plan.h"

/*
 * What a configuration means for one session of one agent: is it sandboxed, whose sandbox
 * is it and what does that see, which tools may run, what needs a person's word.  Settling
 * is pure: no file is touched, and `explain` prints what a run then does.
 */

/* Who asks.  Zeroed: the main session of the agent "main". */
struct nacre_session_ask {
    const char *agent;   /* NULL: the agent in an "agent:<id>:…" key, else "main" */
    const char *session; /* NULL: the main session */
    const char *sender;  /* "provider:id" of the person behind the call, or NULL */
    const char *home;    /* absolute: what ~ means */
};

/* Which line decided: the agent's, the one for all, or nobody's. */
#define NACRE_FROM_MAP(X)        \
    X(DEFAULT, "default")        \
    X(GLOBAL, "global")          \
    X(AGENT, "agent")
enum nacre_from {
#define X(id, name) NACRE_FROM_##id,
    NACRE_FROM_MAP(X)
#undef X
    NACRE_FROM_COUNT
};
const char *nacre_from_name(enum nacre_from from);

#define NACRE_CONFIG_KEY 128
struct nacre_source {
    enum nacre_from from;
    struct nacre_place place;   /* line 0 for a default */
    char key[NACRE_CONFIG_KEY]; /* agents.defaults.sandbox.mode, as this dialect spells it;
                                   for a default the key that one would write */
};

/* A list of tools that holds, expanded: groups resolved, aliases folded, lower case. */
struct nacre_tool_list {
    char **names; /* NULL-terminated globs; never NULL */
    struct nacre_place *places; /* of each; line 0 for a default */
    uint32_t count;
    struct nacre_source source;
};

/* A gate of tools.elevated that stays shut. */
struct nacre_gate {
    char gate[16]; /* "enabled" or "allowFrom" */
    char key[NACRE_CONFIG_KEY];
    struct nacre_place place;
};
#define NACRE_GATES_MAX 4

#define NACRE_SLUG 42     /* 32 letters, '-', 8 hex digits, the terminator */
#define NACRE_BOX_NAME 64 /* of a container, with the terminator */

#define NACRE_SESSION_NOTES_MAX 12

struct nacre_session {
    const struct nacre_config *config; /* borrowed */
    char *agent, *key;   /* trimmed */
    char *main_key;      /* canonical: agent:<id>:main */
    bool is_main;
    enum nacre_mode mode;
    enum nacre_scope scope;
    enum nacre_access access;
    struct nacre_source mode_source, scope_source, access_source, root_source;
    bool sandboxed;

    char *scope_key;     /* the key, "agent:<id>" or "shared" */
    char slug[NACRE_SLUG];
    char box_name[NACRE_BOX_NAME]; /* of the container */
    char *home;            /* what ~ means; or NULL */
    char *workspace_root;  /* absolute */
    char *workspace;       /* the agent's own, absolute; NULL when the file has none */
    char *box_workspace;   /* the sandbox's own: root/slug */

    /* What it is compiled to; their source and places are the configuration's. */
    struct nacre_policy *shell; /* for exec and process: level container, or none where
                                   the session is not sandboxed */
    struct nacre_policy *files; /* for tools at level wasm */
    struct nacre_policy *host;  /* for an elevated exec: level none */
    struct nacre_mount_request *mounts; /* binds and /agent; `guest` and `host` owned */
    uint32_t mount_count;
    bool writes_off; /* access ro: write, edit and apply_patch are off */

    /* A tool has to pass the profile and each pair that holds: all agents', this agent's
     * and, in a sandbox, the sandbox's. */
    struct nacre_tool_list tools_profile;
    struct {
        struct nacre_tool_list allow, deny;
    } tools_global, tools_agent, tools_box;

    struct {
        bool enabled, allowed; /* allowed: every gate is open for this sender */
        uint32_t gate_count;
        struct nacre_gate gates[NACRE_GATES_MAX]; /* that are shut */
    } elevated;

    uint64_t prune_idle_ms, prune_age_ms; /* 0: never */

    /* What settling has to tell, beside the configuration's own notes. */
    struct nacre_config_note notes[NACRE_SESSION_NOTES_MAX];
    uint32_t note_count;
};

NACRE_MUST_CHECK enum nacre_status nacre_session_settle(const struct nacre_config *config,
                                                        const struct nacre_session_ask *ask,
                                                        struct nacre_session **ret_session,
                                                        struct nacre_error *err);
void nacre_session_free(struct nacre_session *session); /* accepts NULL */
NACRE_OWNED(nacre_session)

/* May this tool be called?  `name` as the agent wrote it: aliases hold on this side too.
 * rule is the key that decided, fix the smallest change. */
NACRE_MUST_CHECK enum nacre_status nacre_session_tool(const struct nacre_session *session,
                                                      const char *name,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_error *err);

/* The name that a tool goes by: lower case, "bash" is exec, "apply-patch" is apply_patch.
 * False: longer than any tool's name. */
#define NACRE_TOOL_NAME 128
bool nacre_tool_canonical(const char *name, char ret_name[NACRE_TOOL_NAME]);
/* Does an entry of a list, which may be a name, a glob or a group, speak of the tool with
 * this canonical name?  NACRE_ERR_PARSE: it is blank, too long or no group there is. */
NACRE_MUST_CHECK enum nacre_status nacre_tool_is_meant(const char *entry,
                                                       const char *name, bool *ret_is,
                                                       struct nacre_error *err);

/* Slug and names as their users know them; `key` is trimmed. */
void nacre_session_slug(const char *key, char ret_slug[NACRE_SLUG]);
void nacre_session_box_name(const char *prefix, const char *key,
                            char ret_name[NACRE_BOX_NAME]);

/* Puts what the session says into a request for its shell policy, or for its
 * tools at level wasm: workspace, mounts, session, agent, scope, box_name.  Borrowed.
 * A session that is not sandboxed consents to level none: its file says so. */
void nacre_session_request(const struct nacre_session *session,
                           struct nacre_request *request);
/* The same for `host`, the policy of an elevated exec: there are no mounts, and the
 * caller's consent to level none is the file's. */
void nacre_session_request_host(const struct nacre_session *session,
                                struct nacre_request *request);

/* All of it as `explain --config --json` prints it; `tool` may be NULL.  The caller owns
 * it: json_decref().  NULL only when memory is short. */
struct json_t;
struct json_t *nacre_session_json(const struct nacre_session *session, const char *tool);

#endif
