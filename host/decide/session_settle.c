/*
 * What a configuration means for one session.  The configuration is trusted; the
 * session's key, the agent's id and the sender come from whoever writes to the agent.
 * Nothing is looked up on a disk: what is written decides.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "defaults.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "settle.h"

#define KEY_BYTES_MAX 512
#define HOUR_MS UINT64_C(3600000)

const char *nacre_from_name(enum nacre_from from)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_FROM_##id] = name,
        NACRE_FROM_MAP(X)
#undef X
    };

    assert(from < NACRE_FROM_COUNT);
    return names[from];
}

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a session");
}

/* A malloc'ed text; NULL when memory is short. */
__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0)
        text = malloc((size_t)length + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void nacre_session_note(struct nacre_session *session, struct nacre_place place,
                        const char *format, ...)
{
    struct nacre_config_note *note = &session->notes[session->note_count];
    va_list args;

    if (session->note_count == NACRE_SESSION_NOTES_MAX)
        return;
    session->note_count++;
    *note = (struct nacre_config_note){ .place = place };
    va_start(args, format);
    (void)vsnprintf(note->text, sizeof(note->text), format, args);
    va_end(args);
    nacre_trim(note->text);
}

/* ---- who asks ---- */

/* "agent:ID:REST": where REST begins, and the id; NULL when it is no such key. */
static const char *agent_part(const char *key, char ret_id[NACRE_AGENT_ID])
{
    const char *id = key + strlen("agent:"), *colon;
    char raw[KEY_BYTES_MAX + 1];

    if (strncasecmp(key, "agent:", strlen("agent:")) != 0)
        return NULL;
    colon = strchr(id, ':');
    if (!colon || colon == id || !colon[1])
        return NULL;
    (void)snprintf(raw, sizeof(raw), "%.*s", (int)(colon - id), id);
    nacre_session_agent_id(raw, ret_id);
    return colon + 1;
}

static enum nacre_status read_key(const char *asked, char ret_key[KEY_BYTES_MAX + 1],
                                  struct nacre_error *err)
{
    size_t length;
    const char *key = nacre_session_trim(asked ? asked : "", &length);

    if (length > KEY_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE, "a session's key has at most %d bytes",
                          KEY_BYTES_MAX);
    if (length == 0 && asked && asked[0]) /* or it would be the main session, unasked */
        return nacre_fail(err, NACRE_ERR_USAGE, "the session's key is blank");
    if (!nacre_text_is_utf8(key, length))
        return nacre_fail(err, NACRE_ERR_USAGE, "the session's key is not UTF-8");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)key[i] < ' ' || key[i] == 0x7f)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "the session's key has a control character");
    memcpy(ret_key, key, length);
    ret_key[length] = '\0';
    return NACRE_OK;
}

static bool set_main_key(struct nacre_session *session, char ret_name[KEY_BYTES_MAX + 1])
{
    const char *said = session->config->main_key.text;
    size_t length;

    said = nacre_session_trim(said ? said : "", &length);
    (void)snprintf(ret_name, KEY_BYTES_MAX + 1, "%.*s",
                   (int)(length < KEY_BYTES_MAX ? length : KEY_BYTES_MAX), said);
    for (char *at = ret_name; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    if (!ret_name[0])
        (void)snprintf(ret_name, KEY_BYTES_MAX + 1, "%s",
                       nacre_config_defaults(session->config)->main_key);
    session->main_key = text_of("agent:%s:%s", session->agent, ret_name);
    return session->main_key != NULL;
}

/*
 * Agent and key in their one spelling.  A bare key is the main agent's; of another agent
 * it gets the agent in front, else two agents would meet in one sandbox.
 */
static enum nacre_status identify(const struct nacre_session_ask *ask,
                                  struct nacre_session *session, struct nacre_error *err)
{
    char key[KEY_BYTES_MAX + 1], main_name[KEY_BYTES_MAX + 1];
    char agent[NACRE_AGENT_ID], own[NACRE_AGENT_ID];
    const char *rest;
    enum nacre_status status = read_key(ask->session, key, err);

    if (status != NACRE_OK)
        return status;
    rest = agent_part(key, own);
    if (!rest && strncasecmp(key, "agent:", strlen("agent:")) == 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a session's key that begins with agent: goes on like "
                          "agent:ID:NAME");
    nacre_session_agent_id(ask->agent ? ask->agent : rest ? own : "", agent);
    if (rest && strcmp(own, agent) != 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the session is one of the agent '%s', not of '%s'", own,
                          agent);
    session->agent = text_of("%s", agent);
    if (!session->agent || !set_main_key(session, main_name))
        return no_memory(err);
    if (!key[0])
        session->key = text_of("%s", session->main_key);
    else if (rest || strcmp(agent, NACRE_MAIN_AGENT) != 0)
        session->key = text_of("agent:%s:%s", agent, rest ? rest : key);
    else
        session->key = text_of("%s", key);
    if (!session->key)
        return no_memory(err);
    session->is_main = strcmp(session->key, session->main_key) == 0 ||
                       strcmp(session->key, main_name) == 0;
    return NACRE_OK;
}

/* ---- which line decides ---- */

struct nacre_source nacre_source_choose(const struct nacre_session *session,
                                        const struct nacre_agent_rules *agent,
                                        struct nacre_place of_agent,
                                        struct nacre_place of_all, enum nacre_key key)
{
    struct nacre_source source = { .from = NACRE_FROM_DEFAULT };

    if (agent && of_agent.line > 0) {
        source.from = NACRE_FROM_AGENT;
        source.place = of_agent;
    } else if (of_all.line > 0) {
        source.from = NACRE_FROM_GLOBAL;
        source.place = of_all;
    }
    (void)nacre_config_key(session->config,
                           source.from == NACRE_FROM_AGENT ? agent : NULL, key,
                           source.key);
    return source;
}

#define CHOSEN(source, of_agent, of_all, by_default)        \
    ((source).from == NACRE_FROM_AGENT    ? (of_agent)      \
     : (source).from == NACRE_FROM_GLOBAL ? (of_all)        \
                                          : (by_default))

static void settle_words(const struct nacre_agent_rules *agent,
                         struct nacre_session *session)
{
    static const struct nacre_box_rules none;
    const struct nacre_dialect_defaults *defaults =
        nacre_config_defaults(session->config);
    const struct nacre_box_rules *own = agent ? &agent->box : &none;
    const struct nacre_box_rules *all = &session->config->all.box;

    session->mode_source = nacre_source_choose(session, agent, own->mode_place,
                                               all->mode_place, NACRE_KEY_MODE);
    session->mode = CHOSEN(session->mode_source, own->mode, all->mode, defaults->mode);
    session->scope_source = nacre_source_choose(session, agent, own->scope_place,
                                                all->scope_place, NACRE_KEY_SCOPE);
    session->scope =
        CHOSEN(session->scope_source, own->scope, all->scope, defaults->scope);
    session->access_source = nacre_source_choose(session, agent, own->access_place,
                                                 all->access_place, NACRE_KEY_ACCESS);
    session->access =
        CHOSEN(session->access_source, own->access, all->access, defaults->access);
    session->sandboxed = session->mode == NACRE_MODE_ALL ||
                         (session->mode == NACRE_MODE_NON_MAIN && !session->is_main);
    session->writes_off = session->sandboxed && session->access == NACRE_ACCESS_RO;
    if (session->config->dialect == NACRE_DIALECT_OPENCLAW &&
        session->scope_source.from == NACRE_FROM_DEFAULT)
        nacre_session_note(session, (struct nacre_place){ 0 },
                           "the scope is session, as OpenClaw's page has it; its code "
                           "has agent where nothing is said");
}

static uint64_t in_ms(uint64_t count, uint64_t unit_ms)
{
    return count > UINT64_MAX / unit_ms ? UINT64_MAX : count * unit_ms;
}

static void settle_prune(const struct nacre_agent_rules *agent,
                         struct nacre_session *session)
{
    const struct nacre_dialect_defaults *defaults =
        nacre_config_defaults(session->config);
    const struct nacre_box_rules *all = &session->config->all.box;
    bool own = agent && session->scope != NACRE_SCOPE_SHARED;
    uint64_t hours = defaults->prune_idle_hours, days = defaults->prune_age_days;

    if (own && agent->box.prune_idle_hours.place.line > 0)
        hours = agent->box.prune_idle_hours.value;
    else if (all->prune_idle_hours.place.line > 0)
        hours = all->prune_idle_hours.value;
    if (own && agent->box.prune_age_days.place.line > 0)
        days = agent->box.prune_age_days.value;
    else if (all->prune_age_days.place.line > 0)
        days = all->prune_age_days.value;
    session->prune_idle_ms = in_ms(hours, HOUR_MS);
    session->prune_age_ms = in_ms(days, 24 * HOUR_MS);
}

/* ---- directories ---- */

enum nacre_status nacre_session_path(const struct nacre_config *config, const char *home,
                                     const char *path, struct nacre_place place,
                                     char **ret_path, struct nacre_error *err)
{
    bool of_home = path[0] == '~' && (path[1] == '/' || path[1] == '\0');
    char joined[NACRE_PATH_MAX], normal[NACRE_PATH_MAX], shown[NACRE_SHOWN];
    int length = snprintf(joined, sizeof(joined), "%s%s", of_home && home ? home : "",
                          of_home ? path + 1 : path);

    (void)nacre_text_shown(shown, path);
    if (of_home && (!home || home[0] != '/'))
        return nacre_fail_at(err, NACRE_ERR_USAGE, config->source, place.line,
                             place.column, "'%s': whose home is that?  $HOME is not set",
                             shown);
    if (joined[0] != '/' || length < 0 || (size_t)length >= sizeof(joined) ||
        !nacre_path_normalise(joined, normal, sizeof(normal)))
        return nacre_fail_at(err, NACRE_ERR_PARSE, config->source, place.line,
                             place.column,
                             "'%s' is not an absolute path, nor one that begins with ~/",
                             shown);
    *ret_path = text_of("%s", normal);
    return *ret_path ? NACRE_OK : no_memory(err);
}

/* Of the agents without a directory of their own the main one has the default as it is,
 * every other one has one beside or below it. */
static enum nacre_status settle_workspace(const struct nacre_agent_rules *agent,
                                          const char *home, struct nacre_session *session,
                                          struct nacre_error *err)
{
    const struct nacre_config *config = session->config;
    const struct nacre_rule *said = &config->all.workspace;
    const char *by_default = nacre_config_defaults(config)->workspace;
    /* A mount is one and the same for all. */
    bool is_default = strcmp(session->agent, NACRE_MAIN_AGENT) == 0 ||
                      (config->dialect == NACRE_DIALECT_CONFIG_YML && said->text);
    NACRE_AUTO(nacre_heap_guard) char *path = NULL;
    enum nacre_status status;

    if (agent && agent->workspace.text)
        return nacre_session_path(config, home, agent->workspace.text,
                                  agent->workspace.place, &session->workspace, err);
    if (!said->text && !by_default)
        return NACRE_OK;
    /* As OpenClaw has it: without an agent called main the first one is the default. */
    if (config->agent_count > 0 && agent == &config->agents[0] &&
        !nacre_session_agent(config, NACRE_MAIN_AGENT))
        is_default = true;
    status = nacre_session_path(config, home, said->text ? said->text : by_default,
                                said->place, &path, err);
    if (status != NACRE_OK)
        return status;
    session->workspace = is_default ? NACRE_HEAP_TAKE(path)
                                    : text_of("%s%s%s", path, said->text ? "/" : "-",
                                              session->agent);
    return session->workspace ? NACRE_OK : no_memory(err);
}

static enum nacre_status settle_root(const struct nacre_agent_rules *agent,
                                     const char *home, struct nacre_session *session,
                                     struct nacre_error *err)
{
    static const struct nacre_rule none;
    const struct nacre_config *config = session->config;
    const struct nacre_rule *own = agent ? &agent->box.workspace_root : &none;
    const struct nacre_rule *all = &config->all.box.workspace_root;
    enum nacre_status status;

    session->root_source =
        nacre_source_choose(session, agent, own->place, all->place, NACRE_KEY_ROOT);
    status = nacre_session_path(config, home,
                                CHOSEN(session->root_source, own->text, all->text,
                                       nacre_config_defaults(config)->workspace_root),
                                session->root_source.place, &session->workspace_root,
                                err);
    if (status != NACRE_OK)
        return status;
    session->box_workspace = text_of(
        "%s/%s", strcmp(session->workspace_root, "/") ? session->workspace_root : "",
        session->slug);
    return session->box_workspace ? NACRE_OK : no_memory(err);
}

/* ---- names ---- */

static enum nacre_status name_clawpy(struct nacre_session *session,
                                     struct nacre_error *err)
{
    const char *profile = session->config->profile.text;
    bool heartbeat = profile && strcmp(profile, "heartbeat") == 0;
    bool is_main = strcmp(session->agent, NACRE_MAIN_AGENT) == 0;
    char id[NACRE_AGENT_ID];
    const char *rest = agent_part(session->key, id);
    NACRE_AUTO(nacre_heap_guard) char *name = NULL;

    if (heartbeat)
        name = text_of("heartbeat_worker%s%s", is_main ? "" : "_",
                       is_main ? "" : session->agent);
    else if (session->scope == NACRE_SCOPE_SESSION)
        name = text_of("agent_%s_session_%s", session->agent, rest ? rest : session->key);
    else
        name = text_of("agent_%s", session->agent);
    if (!name)
        return no_memory(err);
    nacre_session_safe_name(name, session->box_name);
    return NACRE_OK;
}

static enum nacre_status settle_names(const struct nacre_agent_rules *agent,
                                      struct nacre_session *session,
                                      struct nacre_error *err)
{
    const struct nacre_rule *prefix = &session->config->all.box.container_prefix;

    if (agent && agent->box.container_prefix.text && session->scope != NACRE_SCOPE_SHARED)
        prefix = &agent->box.container_prefix;
    session->scope_key = session->scope == NACRE_SCOPE_SHARED ? text_of("shared")
                         : session->scope == NACRE_SCOPE_AGENT
                             ? text_of("agent:%s", session->agent)
                             : text_of("%s", session->key);
    if (!session->scope_key)
        return no_memory(err);
    nacre_session_slug(session->scope_key, session->slug);
    if (session->config->dialect == NACRE_DIALECT_CLAWPY)
        return name_clawpy(session, err);
    nacre_session_box_name(prefix->text
                               ? prefix->text
                               : nacre_config_defaults(session->config)->container_prefix,
                           session->scope_key, session->box_name);
    return NACRE_OK;
}

/* ---- the whole ---- */

enum nacre_status nacre_session_settle(const struct nacre_config *config,
                                       const struct nacre_session_ask *ask,
                                       struct nacre_session **ret_session,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_session_guard)
    struct nacre_session *session = calloc(1, sizeof(*session));
    const struct nacre_agent_rules *agent;
    enum nacre_status status;

    if (!session)
        return no_memory(err);
    session->config = config;
    if (ask->home && !(session->home = text_of("%s", ask->home)))
        return no_memory(err);
    status = identify(ask, session, err);
    if (status != NACRE_OK)
        return status;
    agent = nacre_session_agent(config, session->agent);
    if (!agent && config->agent_count > 0 &&
        strcmp(session->agent, NACRE_MAIN_AGENT) != 0)
        nacre_session_note(session, (struct nacre_place){ 0 },
                           "the file has no agent '%s': what it says for all holds",
                           session->agent);
    settle_words(agent, session);
    settle_prune(agent, session);
    status = settle_names(agent, session, err);
    if (status == NACRE_OK)
        status = settle_root(agent, ask->home, session, err);
    if (status == NACRE_OK)
        status = settle_workspace(agent, ask->home, session, err);
    if (status == NACRE_OK)
        status = nacre_session_tools(agent, session, err);
    if (status == NACRE_OK)
        status = nacre_session_compile(agent, session, err);
    if (status != NACRE_OK)
        return status;
    nacre_session_elevation(agent, ask->sender, session);
    *ret_session = nacre_session_take(&session);
    return NACRE_OK;
}

void nacre_session_free(struct nacre_session *session)
{
    if (!session)
        return;
    for (uint32_t i = 0; i < session->mount_count; i++) {
        free((char *)session->mounts[i].guest);
        free((char *)session->mounts[i].host);
    }
    free(session->mounts);
    nacre_policy_free(session->shell);
    nacre_policy_free(session->files);
    nacre_policy_free(session->host);
    nacre_session_tools_clear(session);
    free(session->agent);
    free(session->key);
    free(session->main_key);
    free(session->home);
    free(session->scope_key);
    free(session->workspace_root);
    free(session->workspace);
    free(session->box_workspace);
    free(session);
}
