#ifndef NACRE_DECIDE_SETTLE_H
#define NACRE_DECIDE_SETTLE_H

#include "nacre/session.h"
#include "nacre/text.h"

/* Private to host/decide: the parts that a session is settled by. */

/* ---- names ---- */

/* What JavaScript's trim() leaves of `text`: its start, and its length. */
const char *nacre_session_trim(const char *text, size_t *ret_length);

/* An agent's id in its one spelling: lower case, [a-z0-9_-], "main" when nothing is
 * left. */
#define NACRE_AGENT_ID 65
void nacre_session_agent_id(const char *id, char ret_id[NACRE_AGENT_ID]);
#define NACRE_MAIN_AGENT "main"

/* A name of another making (Clawpy's) in letters that an engine takes.  Where one had to
 * be replaced or the end be cut, a hash tells it from its neighbours. */
void nacre_session_safe_name(const char *name, char ret_name[NACRE_BOX_NAME]);

/* ---- keys, as the dialect spells them ---- */

#define NACRE_KEY_MAP(X)                                                                 \
    X(MODE) X(SCOPE) X(ACCESS) X(ROOT) X(WORKSPACE) X(PREFIX)                            \
    X(BOX_ALLOW) X(BOX_ALSO_ALLOW) X(BOX_DENY)                                           \
    X(TOOLS_PROFILE) X(TOOLS_ALLOW) X(TOOLS_ALSO_ALLOW) X(TOOLS_DENY)                    \
    X(ELEVATED_ENABLED) X(ELEVATED_FROM) X(PRUNE_IDLE) X(PRUNE_AGE)                      \
    X(NETWORK) X(ALLOWED_HOSTS) X(DENIED_HOSTS) X(RESOLVERS) X(FIXED_HOSTS)              \
    X(BINDS) X(DENIED_PATHS) X(MEMORY) X(PIDS) X(CPU_SHARES) X(TIMEOUT) X(OUTPUT)        \
    X(IMAGE) X(WORKDIR) X(USER) X(SECCOMP) X(APPARMOR) X(SELINUX) X(SETUP) X(CPUSET)     \
    X(TMPFS) X(KEEP_CAPABILITIES) X(BLOCKED_SYSCALLS) X(ENVIRONMENT) X(ULIMITS)          \
    X(READ_ONLY_ROOT) X(MEMORY_SWAP) X(MEMORY_RESERVATION) X(CPUS) X(DISK) X(DISK_IOPS)  \
    X(DISK_IO_WEIGHT)                                                                    \
    X(BROWSER_ENABLED) X(BROWSER_IMAGE) X(BROWSER_NETWORK) X(BROWSER_BINDS)              \
    X(BROWSER_CDP_PORT) X(BROWSER_NO_VNC_PORT) X(BROWSER_HOST_CONTROL)                   \
    X(BROWSER_URLS) X(BROWSER_HOSTS) X(BROWSER_PORTS) X(BROWSER_AUTO_START)
enum nacre_key {
#define X(id) NACRE_KEY_##id,
    NACRE_KEY_MAP(X)
#undef X
    NACRE_KEY_COUNT
};

/* `agent` is NULL for the key of all agents.  False, and "" in ret_key, where this
 * dialect has no such key. */
bool nacre_config_key(const struct nacre_config *config,
                      const struct nacre_agent_rules *agent, enum nacre_key key,
                      char ret_key[NACRE_CONFIG_KEY]);

/* The rules of an agent by its normalised id, or NULL. */
const struct nacre_agent_rules *nacre_session_agent(const struct nacre_config *config,
                                                    const char *id);

/* Which line decides: the agent's, that for all, or none. */
struct nacre_source nacre_source_choose(const struct nacre_session *session,
                                        const struct nacre_agent_rules *agent,
                                        struct nacre_place of_agent,
                                        struct nacre_place of_all, enum nacre_key key);

/* "openclaw.json:4:5: " for the edit of a fix; "" where nobody wrote it. */
#define NACRE_PLACE_TEXT (NACRE_SHOWN + 32)
const char *nacre_session_at(const struct nacre_session *session,
                             struct nacre_place place, char ret_text[NACRE_PLACE_TEXT]);

/* A key as an answer has room for it. */
void nacre_key_shorten(const char *key, char ret_key[64]);

/* ---- the parts ---- */

/* One more to tell; beyond NACRE_SESSION_NOTES_MAX none is. */
void nacre_session_note(struct nacre_session *session, struct nacre_place place,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

/* `path` as the file has it at `place`, absolute and normalised; the caller owns it. */
NACRE_MUST_CHECK enum nacre_status
nacre_session_path(const struct nacre_config *config, const char *home, const char *path,
                   struct nacre_place place, char **ret_path, struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status
nacre_session_tools(const struct nacre_agent_rules *agent, struct nacre_session *session,
                    struct nacre_error *err);
void nacre_session_tools_clear(struct nacre_session *session);

/* What the sandbox's settings come to: `own` over `all` over the dialect's defaults.
 * Under scope shared an agent has none of its own, and `own` is empty. */
struct nacre_box_view {
    const struct nacre_config *config;
    const struct nacre_agent_rules *agent; /* whose keys are named; NULL: there is none */
    const struct nacre_box_rules *own, *all; /* never NULL */
    bool of_browser; /* image, network and binds are called as `browser` has them */
};

struct nacre_box_view nacre_session_view(const struct nacre_session *session,
                                         const struct nacre_agent_rules *agent);

/* What a rule is called in the dialect, in `policy`'s table; `key` may have none there.
 * False when memory is short. */
bool nacre_box_alias(const struct nacre_box_view *view, bool of_agent, enum nacre_key key,
                     const char *rule, size_t item, struct nacre_policy *policy);
/* The last one gets a fix in the dialect's words. */
void nacre_alias_fix(struct nacre_policy *policy, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The commands that are blocked wherever a session has no sandbox. */
NACRE_MUST_CHECK enum nacre_status nacre_host_block(struct nacre_policy *policy,
                                                    struct nacre_error *err);

/* A list of `own`, else of `all`, copied. */
NACRE_MUST_CHECK enum nacre_status
nacre_box_list(const struct nacre_box_view *view, size_t offset, enum nacre_key key,
               const char *rule, struct nacre_rules *ret_rules,
               struct nacre_policy *policy, struct nacre_error *err);
/* A number of `own`, else of `all`; false: neither has it. */
bool nacre_box_limit(const struct nacre_box_view *view, size_t offset, enum nacre_key key,
                     const char *rule, struct nacre_limit *ret_limit,
                     struct nacre_policy *policy);
/* Everything in struct nacre_container_rules. */
NACRE_MUST_CHECK enum nacre_status nacre_box_container(const struct nacre_box_view *view,
                                                       struct nacre_policy *policy,
                                                       struct nacre_error *err);

/* The sandbox's policy, in session->shell, and its mounts by this view. */
NACRE_MUST_CHECK enum nacre_status nacre_box_compile(const struct nacre_box_view *view,
                                                     struct nacre_session *session,
                                                     struct nacre_error *err);

/* The policies and mounts, of all that is settled otherwise. */
NACRE_MUST_CHECK enum nacre_status
nacre_session_compile(const struct nacre_agent_rules *agent,
                      struct nacre_session *session, struct nacre_error *err);

/* What `browser` says that moves nothing. */
void nacre_browser_tell(struct nacre_session *session,
                        const struct nacre_browser_rules *rules);

void nacre_session_elevation(const struct nacre_agent_rules *agent, const char *sender,
                             struct nacre_session *session);

#endif
