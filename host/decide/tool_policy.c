/*
 * Which tools a session may call.  The lists are as their author wrote them; the name
 * that is asked for is an agent's, and so anybody's.
 *
 * OpenClaw folds aliases in its lists alone, so that deny: ["bash"] misses a call of
 * "bash" there.  Here both sides are folded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defaults.h"
#include "nacre/text.h"
#include "schema.h"
#include "settle.h"

#define BUILT_IN "(built in)"

/* ---- names ---- */

static const struct {
    const char *alias, *name;
} aliases[] = {
    { "bash", "exec" },
    { "apply-patch", "apply_patch" },
};

#define GROUP_MAX 20
static const struct {
    const char *name;
    const char *tools[GROUP_MAX]; /* NULL-terminated */
} groups[] = {
    { "group:fs", { "read", "write", "edit", "apply_patch" } },
    { "group:runtime", { "exec", "process" } },
    { "group:memory", { "memory_search", "memory_get" } },
    { "group:web", { "web_search", "web_fetch" } },
    { "group:sessions",
      { "sessions_list", "sessions_history", "sessions_send", "sessions_spawn",
        "session_status" } },
    { "group:ui", { "browser", "canvas" } },
    { "group:automation", { "cron", "gateway" } },
    { "group:messaging", { "message" } },
    { "group:nodes", { "nodes" } },
    { "group:agents",
      { "agents_list", "get_goal", "create_goal", "update_goal", "progress_card",
        "ask_user", "skill_workshop" } },
    { "group:media",
      { "image", "view_image", "image_generate", "music_generate", "video_generate",
        "transcripts", "tts", "pdf" } },
    /* All tools of OpenClaw's own but those of fs and runtime. */
    { "group:openclaw",
      { "browser", "canvas", "nodes", "cron", "message", "gateway", "agents_list",
        "sessions_list", "sessions_history", "sessions_send", "sessions_spawn",
        "session_status", "memory_search", "memory_get", "web_search", "web_fetch",
        "image" } },
};

bool nacre_tool_canonical(const char *name, char ret_name[NACRE_TOOL_NAME])
{
    size_t length;

    name = nacre_session_trim(name, &length);
    if (length >= NACRE_TOOL_NAME)
        return false;
    for (size_t i = 0; i < length; i++)
        ret_name[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    ret_name[length] = '\0';
    for (size_t i = 0; i < NACRE_COUNT(aliases); i++)
        if (strcmp(ret_name, aliases[i].alias) == 0)
            (void)snprintf(ret_name, NACRE_TOOL_NAME, "%s", aliases[i].name);
    return true;
}

/* '*' is any text; every other letter is itself. */
static bool glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *from = name;

    while (*name) {
        if (*glob == '*') {
            star = glob++;
            from = name;
        } else if (*glob == *name) {
            glob++;
            name++;
        } else if (star) {
            glob = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

/* By one of its names: "ba*" speaks of exec, too. */
static bool speaks_of(const char *glob, const char *name)
{
    bool found = glob_matches(glob, name);

    for (size_t i = 0; i < NACRE_COUNT(aliases); i++)
        found |= strcmp(name, aliases[i].name) == 0 &&
                 glob_matches(glob, aliases[i].alias);
    return found;
}

/* The entry that speaks of it, from 1; 0: none does. */
static uint32_t find(const struct nacre_tool_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (speaks_of(list->names[i], name))
            return i + 1;
    return 0;
}

static bool is_in_group(size_t group, const char *name)
{
    for (size_t i = 0; i < GROUP_MAX && groups[group].tools[i]; i++)
        if (strcmp(groups[group].tools[i], name) == 0)
            return true;
    return false;
}

enum nacre_status nacre_tool_is_meant(const char *entry, const char *name, bool *ret_is,
                                      struct nacre_error *err)
{
    char glob[NACRE_TOOL_NAME], shown[NACRE_SHOWN];

    if (!nacre_tool_canonical(entry, glob) || !glob[0])
        return nacre_fail(err, NACRE_ERR_PARSE, "'%s' is not the name of a tool",
                          nacre_text_shown(shown, entry));
    for (size_t i = 0; i < NACRE_COUNT(groups); i++)
        if (strcmp(glob, groups[i].name) == 0) {
            *ret_is = is_in_group(i, name);
            return NACRE_OK;
        }
    if (strncmp(glob, "group:", 6) == 0)
        return nacre_fail(err, NACRE_ERR_PARSE, "'%s' is no group of tools",
                          nacre_text_shown(shown, entry));
    *ret_is = speaks_of(glob, name);
    return NACRE_OK;
}

/* ---- lists ---- */

static void list_clear(struct nacre_tool_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    free(list->places);
}

/* The arrays have room for one more and the end. */
static bool list_room(struct nacre_tool_list *list)
{
    char **names = realloc(list->names, (list->count + 2u) * sizeof(*names));
    struct nacre_place *places;

    if (!names)
        return false;
    list->names = names;
    places = realloc(list->places, (list->count + 2u) * sizeof(*places));
    if (!places)
        return false;
    list->places = places;
    return true;
}

static bool list_add(struct nacre_tool_list *list, const char *name,
                     struct nacre_place place)
{
    struct nacre_error err;

    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return true;
    if (!list_room(list) ||
        nacre_schema_copy(name, &list->names[list->count], &err) != NACRE_OK)
        return false;
    list->places[list->count++] = place;
    list->names[list->count] = NULL;
    return true;
}

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a session's tools");
}

static enum nacre_status unknown_group(const struct nacre_config *config,
                                       const struct nacre_rule *rule,
                                       struct nacre_error *err)
{
    const char *known[NACRE_COUNT(groups)], *near;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(groups); i++)
        known[i] = groups[i].name;
    near = nacre_text_nearest(rule->text, known, NACRE_COUNT(known));
    return nacre_fail_at(err, NACRE_ERR_PARSE, config->source, rule->place.line,
                         rule->place.column,
                         "'%s' is no group of tools, and so would deny nothing%s%s%s",
                         nacre_text_shown(shown, rule->text),
                         near ? "; did you mean '" : "", near ? near : "",
                         near ? "'?" : "");
}

/* An unknown group allows nothing, which is safe; that it denies nothing is not. */
static enum nacre_status list_add_rule(const struct nacre_config *config,
                                       const struct nacre_rule *rule, bool denies,
                                       struct nacre_tool_list *list,
                                       struct nacre_error *err)
{
    char name[NACRE_TOOL_NAME];

    if (!nacre_tool_canonical(rule->text, name))
        return nacre_fail_at(err, NACRE_ERR_PARSE, config->source, rule->place.line,
                             rule->place.column,
                             "longer than any tool's name, which has at most %d letters",
                             NACRE_TOOL_NAME - 1);
    for (size_t i = 0; i < NACRE_COUNT(groups); i++) {
        if (strcmp(name, groups[i].name) != 0)
            continue;
        for (size_t k = 0; k < GROUP_MAX && groups[i].tools[k]; k++)
            if (!list_add(list, groups[i].tools[k], rule->place))
                return no_memory(err);
        return NACRE_OK;
    }
    if (denies && strncmp(name, "group:", 6) == 0)
        return unknown_group(config, rule, err);
    /* Of blanks alone: an allow list of them would be an empty one, which allows all. */
    if (name[0] == '\0')
        return nacre_fail_at(err, NACRE_ERR_PARSE, config->source, rule->place.line,
                             rule->place.column, "the name of a tool must not be empty");
    return list_add(list, name, rule->place) ? NACRE_OK : no_memory(err);
}

static enum nacre_status list_add_rules(const struct nacre_config *config,
                                        const struct nacre_rules *rules, bool denies,
                                        struct nacre_tool_list *list,
                                        struct nacre_error *err)
{
    enum nacre_status status = list_room(list) ? NACRE_OK : no_memory(err);

    if (status == NACRE_OK)
        list->names[list->count] = NULL;
    for (size_t i = 0; i < rules->count && status == NACRE_OK; i++)
        status = list_add_rule(config, &rules->items[i], denies, list, err);
    return status;
}

static enum nacre_status list_add_defaults(const char *const *names,
                                           struct nacre_tool_list *list,
                                           struct nacre_error *err)
{
    char name[NACRE_TOOL_NAME];

    for (size_t i = 0; names && names[i]; i++)
        if (!nacre_tool_canonical(names[i], name) ||
            !list_add(list, name, (struct nacre_place){ 0 }))
            return no_memory(err);
    return NACRE_OK;
}

/* A pair that one section says; what also_allow adds to "everything" is nothing. */
static enum nacre_status read_pair(const struct nacre_config *config,
                                   const struct nacre_tool_rules *rules,
                                   struct nacre_tool_list *allow,
                                   struct nacre_tool_list *deny, struct nacre_error *err)
{
    enum nacre_status status = list_add_rules(config, &rules->allow, false, allow, err);

    if (status == NACRE_OK && allow->count > 0)
        status = list_add_rules(config, &rules->also_allow, false, allow, err);
    if (status == NACRE_OK)
        status = list_add_rules(config, &rules->deny, true, deny, err);
    return status;
}

/* ---- a sandbox's own pair ---- */

/* The agent's, else that of all, else NULL: the default holds. */
static const struct nacre_rules *said(const struct nacre_rules *of_agent,
                                      const struct nacre_rules *of_all)
{
    if (of_agent && of_agent->place.line > 0)
        return of_agent;
    return of_all->place.line > 0 ? of_all : NULL;
}

static void set_source(const struct nacre_config *config,
                       const struct nacre_agent_rules *agent,
                       const struct nacre_rules *rules,
                       const struct nacre_rules *of_agent, enum nacre_key key,
                       struct nacre_source *ret_source)
{
    bool is_said = rules && rules->place.line > 0;
    bool is_agents = agent && rules && rules == of_agent;

    ret_source->from = !is_said    ? NACRE_FROM_DEFAULT
                       : is_agents ? NACRE_FROM_AGENT
                                   : NACRE_FROM_GLOBAL;
    ret_source->place = is_said ? rules->place : (struct nacre_place){ 0 };
    (void)nacre_config_key(config, is_agents ? agent : NULL, key, ret_source->key);
}

static enum nacre_status read_box(const struct nacre_config *config,
                                  const struct nacre_agent_rules *agent,
                                  struct nacre_session *session, struct nacre_error *err)
{
    static const struct nacre_tool_rules none;
    const struct nacre_dialect_defaults *defaults = nacre_config_defaults(config);
    const struct nacre_tool_rules *own = agent ? &agent->box.tools : &none;
    const struct nacre_tool_rules *all = &config->all.box.tools;
    const struct nacre_rules *allow = said(&own->allow, &all->allow);
    const struct nacre_rules *also = said(&own->also_allow, &all->also_allow);
    const struct nacre_rules *deny = said(&own->deny, &all->deny);
    struct nacre_tool_list *allows = &session->tools_box.allow;
    struct nacre_tool_list *denies = &session->tools_box.deny;
    enum nacre_status status;

    set_source(config, agent, allow, &own->allow, NACRE_KEY_BOX_ALLOW, &allows->source);
    set_source(config, agent, deny, &own->deny, NACRE_KEY_BOX_DENY, &denies->source);
    status = list_add_rules(config, allow ? allow : &none.allow, false, allows, err);
    if (status == NACRE_OK && !allow)
        status = list_add_defaults(defaults->tools_allow, allows, err);
    if (status == NACRE_OK && also && allows->count > 0)
        status = list_add_rules(config, also, false, allows, err);
    if (status == NACRE_OK)
        status = list_add_rules(config, deny ? deny : &none.deny, true, denies, err);
    if (status == NACRE_OK && !deny)
        status = list_add_defaults(defaults->tools_deny, denies, err);
    return status;
}

/* The agent's instead of that of all, with what is also allowed: it narrows what the
 * lists then allow, and brings nothing back. */
static enum nacre_status read_profile(const struct nacre_config *config,
                                      const struct nacre_agent_rules *agent,
                                      struct nacre_session *session,
                                      struct nacre_error *err)
{
    const struct nacre_tool_rules *all = &config->all.tools;
    const struct nacre_tool_rules *own = agent ? &agent->tools : all;
    bool is_agents = agent && own->profile.text;
    const struct nacre_rule *profile = is_agents ? &own->profile : &all->profile;
    const struct nacre_rules *also = said(&own->also_allow, &all->also_allow);
    struct nacre_tool_list *list = &session->tools_profile;
    const char *const *names = profile->text ? nacre_tool_profile(profile->text) : NULL;
    enum nacre_status status = list_room(list) ? NACRE_OK : no_memory(err);

    if (status == NACRE_OK)
        list->names[0] = NULL;
    (void)nacre_config_key(config, is_agents ? agent : NULL, NACRE_KEY_TOOLS_PROFILE,
                           list->source.key);
    if (!names || !names[0])
        return status;
    list->source.from = is_agents ? NACRE_FROM_AGENT : NACRE_FROM_GLOBAL;
    list->source.place = profile->place;
    for (size_t i = 0; names[i] && status == NACRE_OK; i++)
        status = list_add_rule(config,
                               &(struct nacre_rule){ (char *)names[i], profile->place },
                               false, list, err);
    if (status == NACRE_OK && also)
        status = list_add_rules(config, also, false, list, err);
    return status;
}

enum nacre_status nacre_session_tools(const struct nacre_agent_rules *agent,
                                      struct nacre_session *session,
                                      struct nacre_error *err)
{
    static const struct nacre_tool_rules none;
    const struct nacre_config *config = session->config;
    const struct nacre_tool_rules *own = agent ? &agent->tools : &none;
    const struct nacre_tool_rules *all = &config->all.tools;
    enum nacre_status status;

    set_source(config, NULL, &all->allow, NULL, NACRE_KEY_TOOLS_ALLOW,
               &session->tools_global.allow.source);
    set_source(config, NULL, &all->deny, NULL, NACRE_KEY_TOOLS_DENY,
               &session->tools_global.deny.source);
    set_source(config, agent, &own->allow, &own->allow, NACRE_KEY_TOOLS_ALLOW,
               &session->tools_agent.allow.source);
    set_source(config, agent, &own->deny, &own->deny, NACRE_KEY_TOOLS_DENY,
               &session->tools_agent.deny.source);
    status = read_pair(config, all, &session->tools_global.allow,
                       &session->tools_global.deny, err);
    if (status == NACRE_OK)
        status = read_pair(config, own, &session->tools_agent.allow,
                           &session->tools_agent.deny, err);
    if (status == NACRE_OK)
        status = read_profile(config, agent, session, err);
    if (status == NACRE_OK)
        status = read_box(config, agent, session, err);
    return status;
}

void nacre_session_tools_clear(struct nacre_session *session)
{
    list_clear(&session->tools_profile);
    list_clear(&session->tools_global.allow);
    list_clear(&session->tools_global.deny);
    list_clear(&session->tools_agent.allow);
    list_clear(&session->tools_agent.deny);
    list_clear(&session->tools_box.allow);
    list_clear(&session->tools_box.deny);
}

/* ---- the answer ---- */

struct question {
    const struct nacre_session *session;
    const char *name; /* canonical */
    char shown[NACRE_SHOWN];
    struct nacre_answer *answer;
};

/* An id may be longer than an answer has room for. */
static void rule_of(const struct nacre_source *source, char ret_rule[64])
{
    static const char entries[] = "agents.entries.";
    const char *rest = source->key;

    if (strlen(source->key) >= 64 && strncmp(rest, entries, strlen(entries)) == 0 &&
        (rest = strstr(rest, ".tools.")))
        (void)snprintf(ret_rule, 64, "agents.entries.*%.40s", rest);
    else
        (void)snprintf(ret_rule, 64, "%.63s", source->key[0] ? source->key : BUILT_IN);
}

static void say(const struct question *question, const struct nacre_source *source,
                struct nacre_place place, const char *verdict, const char *why)
{
    char rule[64];

    rule_of(source, rule);
    if (question->answer->text[0])
        return; /* the first that decides is told, the others in the fix */
    nacre_answer_say(question->answer, rule, 0, place, "'%s' is %s: %s%s",
                     question->shown, verdict, rule, why);
}

static void deny_by_entry(const struct question *question,
                          const struct nacre_tool_list *list, uint32_t entry)
{
    struct nacre_place place = list->places[entry - 1];
    char at[NACRE_PLACE_TEXT], word[NACRE_SHOWN], why[NACRE_SHOWN + 32];

    (void)snprintf(why, sizeof(why), " has '%s'%s",
                   nacre_text_shown(word, list->names[entry - 1]),
                   place.line > 0 ? "" : " by default");
    say(question, &list->source, place, "denied", why);
    if (place.line > 0)
        nacre_answer_fix(question->answer, "%sremove from %s what denies '%s'",
                         nacre_session_at(question->session, place, at), list->source.key,
                         question->shown);
    else
        nacre_answer_fix(question->answer, "write %s without '%s': the default has it",
                         list->source.key, question->shown);
}

static void deny_by_absence(const struct question *question,
                            const struct nacre_tool_list *list)
{
    const struct nacre_config *config = question->session->config;
    struct nacre_place place = list->source.place;
    char at[NACRE_PLACE_TEXT], also[NACRE_CONFIG_KEY];

    say(question, &list->source, place, "denied",
        place.line > 0 ? " does not list it" : " does not list it by default");
    if (list == &question->session->tools_profile &&
        nacre_config_key(config, NULL, NACRE_KEY_TOOLS_ALSO_ALLOW, also))
        nacre_answer_fix(question->answer, "add %s: [\"%s\"], or change %s%s", also,
                         question->shown, nacre_session_at(question->session, place, at),
                         list->source.key);
    else if (place.line > 0)
        nacre_answer_fix(question->answer, "%sadd '%s' to %s",
                         nacre_session_at(question->session, place, at), question->shown,
                         list->source.key);
    else if (nacre_config_key(config, NULL, NACRE_KEY_BOX_ALSO_ALLOW, also))
        nacre_answer_fix(question->answer, "add %s: [\"%s\"]", also, question->shown);
    else
        nacre_answer_fix(question->answer, "write %s: the default and '%s'",
                         list->source.key, question->shown);
}

static bool is_blocked(const struct question *question,
                       const struct nacre_tool_list *allow,
                       const struct nacre_tool_list *deny)
{
    uint32_t entry = find(deny, question->name);

    if (entry > 0)
        deny_by_entry(question, deny, entry);
    if (allow->count > 0 && find(allow, question->name) == 0)
        deny_by_absence(question, allow);
    else if (entry == 0)
        return false;
    return true;
}

static bool is_write(const char *name)
{
    return strcmp(name, "write") == 0 || strcmp(name, "edit") == 0 ||
           strcmp(name, "apply_patch") == 0;
}

static void deny_writing(const struct question *question)
{
    const struct nacre_source *source = &question->session->access_source;
    char at[NACRE_PLACE_TEXT];

    say(question, source, source->place, "denied",
        " is ro: the agent's workspace is read and not written");
    nacre_answer_fix(question->answer, "%schange 'ro' to 'rw'",
                     nacre_session_at(question->session, source->place, at));
}

/* By the innermost list that names it, or by the silence of all. */
static void allow(const struct question *question)
{
    const struct nacre_session *session = question->session;
    const struct nacre_tool_list *lists[] = {
        session->sandboxed ? &session->tools_box.allow : &session->tools_agent.allow,
        &session->tools_agent.allow,
        &session->tools_global.allow,
        &session->tools_profile,
    };
    const struct nacre_tool_list *deny =
        session->sandboxed ? &session->tools_box.deny : &session->tools_global.deny;
    char at[NACRE_PLACE_TEXT];

    question->answer->allowed = true;
    for (size_t i = 0; i < NACRE_COUNT(lists) && !question->answer->text[0]; i++) {
        uint32_t entry = find(lists[i], question->name);

        if (entry > 0)
            say(question, &lists[i]->source, lists[i]->places[entry - 1], "allowed",
                lists[i]->places[entry - 1].line > 0 ? " lists it"
                                                     : " lists it by default");
    }
    say(question, &deny->source, deny->source.place, "allowed",
        " does not have it, and no allow list holds");
    if (deny->source.place.line > 0)
        nacre_answer_fix(question->answer, "%sadd '%s' to %s",
                         nacre_session_at(question->session, deny->source.place, at),
                         question->shown, deny->source.key);
    else if (deny->source.key[0])
        nacre_answer_fix(question->answer, "write %s with '%s'", deny->source.key,
                         question->shown);
    else
        nacre_answer_fix(question->answer, "this dialect has no rules for tools");
}

enum nacre_status nacre_session_tool(const struct nacre_session *session,
                                     const char *name, struct nacre_answer *ret_answer,
                                     struct nacre_error *err)
{
    static const struct nacre_tool_list none;
    char canonical[NACRE_TOOL_NAME];
    struct nacre_answer answer = { 0 };
    struct question question = { .session = session, .name = canonical,
                                 .answer = &answer };
    bool blocked;

    if (!nacre_tool_canonical(name, canonical) || !canonical[0])
        return nacre_fail(err, NACRE_ERR_USAGE, "'%s' is not the name of a tool",
                          nacre_text_shown(question.shown, name));
    (void)nacre_text_shown(question.shown, canonical);
    blocked = is_blocked(&question, &session->tools_profile, &none);
    blocked |= is_blocked(&question, &session->tools_global.allow,
                          &session->tools_global.deny);
    blocked |= is_blocked(&question, &session->tools_agent.allow,
                          &session->tools_agent.deny);
    if (session->sandboxed)
        blocked |= is_blocked(&question, &session->tools_box.allow,
                              &session->tools_box.deny);
    if (session->writes_off && is_write(canonical)) {
        deny_writing(&question);
        blocked = true;
    }
    if (!blocked)
        allow(&question);
    *ret_answer = answer;
    return NACRE_OK;
}
