/*
 * What `explain --config --json` prints: the fields of `openclaw sandbox explain --json`
 * under their names, and beside them what nacre knows.  jansson's "_new" setters take
 * their value over, NULL too, and then fail: one check of all of them together is enough.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "nacre/browser.h"
#include "nacre/render.h"
#include "nacre/session.h"
#include "nacre/text.h"

static void json_guard(json_t **owned)
{
    json_decref(*owned);
}

static json_t *json_take(json_t **owned)
{
    json_t *taken = *owned;

    *owned = NULL;
    return taken;
}

/* What comes from a file or a caller need not be UTF-8. */
static json_t *text_json(const char *text)
{
    char shown[NACRE_SHOWN];

    if (!text)
        return json_null();
    return json_string(nacre_text_is_utf8(text, strlen(text))
                           ? text
                           : nacre_text_shown(shown, text));
}

/* "openclaw.json:3:5", or null where a default decided. */
static json_t *place_json(const struct nacre_session *session, struct nacre_place place)
{
    char source[NACRE_SHOWN], text[NACRE_SHOWN + 32];

    if (place.line == 0)
        return json_null();
    (void)snprintf(text, sizeof(text), "%s:%d:%d",
                   nacre_text_shown(source, session->config->source), place.line,
                   place.column);
    return json_string(text);
}

static json_t *source_json(const struct nacre_session *session,
                           const struct nacre_source *source)
{
    return json_pack("{s:s, s:o, s:o}", "source", nacre_from_name(source->from), "key",
                     text_json(source->key), "place", place_json(session, source->place));
}

static json_t *list_json(const struct nacre_tool_list *list)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint32_t i = 0; i < list->count; i++)
        bad |= json_array_append_new(array, text_json(list->names[i]));
    return bad ? NULL : json_take(&array);
}

static json_t *pair_json(const struct nacre_session *session,
                         const struct nacre_tool_list *allow,
                         const struct nacre_tool_list *deny)
{
    return json_pack("{s:o, s:o, s:{s:o, s:o}}", "allow", list_json(allow), "deny",
                     list_json(deny), "sources", "allow",
                     source_json(session, &allow->source), "deny",
                     source_json(session, &deny->source));
}

/* ---- the sandbox ---- */

static json_int_t clamped(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

static json_t *mounts_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    const struct nacre_policy *policy = session->sandboxed ? session->shell
                                                           : session->files;
    const struct nacre_mount_rules *rules = &policy->filesystem.mounts;
    struct nacre_request request = { 0 };
    int bad = array ? 0 : -1;

    nacre_session_request(session, &request);
    for (size_t i = 0; i < rules->count; i++) {
        /* The first is the workspace, the others are the session's in their order. */
        const char *host = i == 0 ? request.workspace : session->mounts[i - 1].host;

        bad |= json_array_append_new(
            array, json_pack("{s:o, s:o, s:b, s:o}", "guest",
                             text_json(rules->items[i].path), "host", text_json(host),
                             "writable", rules->items[i].writable, "place",
                             place_json(session, rules->items[i].place)));
    }
    return bad ? NULL : json_take(&array);
}

static json_t *profile_json(const struct nacre_session *session)
{
    const struct nacre_tool_list *profile = &session->tools_profile;

    return json_pack("{s:o, s:o}", "allow", list_json(profile), "source",
                     source_json(session, &profile->source));
}

static json_t *answer_json(const struct nacre_session *session,
                           const struct nacre_answer *answer)
{
    return json_pack("{s:b, s:s, s:o, s:o, s:o}", "allowed", answer->allowed, "rule",
                     answer->rule, "place", place_json(session, answer->place), "text",
                     text_json(answer->text), "fix", text_json(answer->fix));
}

/* ---- the browser ---- */

static json_t *targets_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = object ? 0 : -1;

    for (int i = 0; i < NACRE_BROWSER_TARGET_COUNT; i++) {
        enum nacre_browser_target target = (enum nacre_browser_target)i;
        struct nacre_answer answer;
        struct nacre_error err;

        if (nacre_browser_target(session, target, NULL, &answer, &err) != NACRE_OK)
            return NULL;
        bad |= json_object_set_new(object, nacre_browser_target_name(target),
                                   answer_json(session, &answer));
    }
    return bad ? NULL : json_take(&object);
}

static json_t *port_json(const struct nacre_limit *port)
{
    return port->value ? json_integer(clamped(port->value)) : json_null();
}

/* null where the dialect has none. */
static json_t *browser_json(const struct nacre_session *session)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    NACRE_AUTO(json_guard) json_t *object = NULL;
    struct nacre_error err;
    int bad;

    if (nacre_browser_settle(session, &browser, &err) != NACRE_OK)
        return NULL;
    if (!browser.enabled_source.key[0])
        return json_null();
    object = json_pack("{s:b, s:s, s:b, s:b, s:b, s:I, s:o, s:o, s:o}", "enabled",
                       browser.enabled, "containerName", browser.name, "headless",
                       browser.headless, "noVnc", browser.no_vnc, "autoStart",
                       browser.auto_start, "autoStartTimeoutMs",
                       clamped(browser.start_ms), "cdpPort",
                       port_json(&browser.cdp_port), "noVncPort",
                       port_json(&browser.no_vnc_port), "targets",
                       targets_json(session));
    bad = json_object_set_new(
        object, "sources",
        json_pack("{s:o, s:o, s:o}", "enabled",
                  source_json(session, &browser.enabled_source), "allowHostControl",
                  source_json(session, &browser.host_control_source), "autoStart",
                  source_json(session, &browser.auto_start_source)));
    if (browser.policy) {
        bad |= json_object_set_new(object, "image",
                                   text_json(browser.policy->container.image.text));
        bad |= json_object_set_new(
            object, "network",
            json_string(nacre_network_mode_name(browser.policy->network.mode)));
    }
    return bad ? NULL : json_take(&object);
}

static json_t *sandbox_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard)
    json_t *object = json_pack(
        "{s:s, s:s, s:b, s:s, s:o, s:b, s:s, s:o}", "mode",
        nacre_mode_name(session->mode), "scope", nacre_scope_name(session->scope),
        "perSession", session->scope == NACRE_SCOPE_SESSION, "workspaceAccess",
        nacre_access_name(session->access), "workspaceRoot",
        text_json(session->workspace_root), "sessionIsSandboxed", session->sandboxed,
        "backend", "docker", "tools",
        pair_json(session, &session->tools_box.allow, &session->tools_box.deny));
    int bad = object ? 0 : -1;

    bad |= json_object_set_new(
        object, "sources",
        json_pack("{s:o, s:o, s:o, s:o}", "mode",
                  source_json(session, &session->mode_source), "scope",
                  source_json(session, &session->scope_source), "workspaceAccess",
                  source_json(session, &session->access_source), "workspaceRoot",
                  source_json(session, &session->root_source)));
    bad |= json_object_set_new(object, "scopeKey", text_json(session->scope_key));
    bad |= json_object_set_new(object, "containerName", text_json(session->box_name));
    bad |= json_object_set_new(object, "browser", browser_json(session));
    bad |= json_object_set_new(object, "workspace", text_json(session->box_workspace));
    bad |= json_object_set_new(object, "agentWorkspace", text_json(session->workspace));
    bad |= json_object_set_new(object, "mounts", mounts_json(session));
    bad |= json_object_set_new(
        object, "prune",
        json_pack("{s:I, s:I}", "idleMs", clamped(session->prune_idle_ms),
                  "maxAgeMs", clamped(session->prune_age_ms)));
    return bad ? NULL : json_take(&object);
}

/* ---- elevation ---- */

static json_t *elevated_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard) json_t *failures = json_array();
    int bad = failures ? 0 : -1;

    for (uint32_t i = 0; i < session->elevated.gate_count; i++) {
        const struct nacre_gate *gate = &session->elevated.gates[i];

        bad |= json_array_append_new(
            failures, json_pack("{s:s, s:o, s:o}", "gate", gate->gate, "key",
                                text_json(gate->key), "place",
                                place_json(session, gate->place)));
    }
    if (bad)
        return NULL;
    /* Never without a person's word for the command, see nacre_call_consent(). */
    return json_pack("{s:b, s:b, s:O, s:s}", "enabled", session->elevated.enabled,
                     "allowedByConfig", session->elevated.allowed, "failures", failures,
                     "approval", "elevated");
}

/* ---- what would flip it ---- */

static int add_fix(json_t *array, const char *key, const char *value)
{
    char text[NACRE_CONFIG_KEY + 16];

    if (!key[0])
        return 0;
    (void)snprintf(text, sizeof(text), "%s%s", key, value);
    return json_array_append_new(array, text_json(text));
}

static json_t *fixes_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    bool yml = session->config->dialect == NACRE_DIALECT_CONFIG_YML;
    int bad = array ? 0 : -1;

    bad |= add_fix(array, session->mode_source.key,
                   session->sandboxed ? (yml ? "=false" : "=off")
                                      : (yml ? "=true" : "=all"));
    bad |= add_fix(array, session->tools_box.allow.source.key, "");
    bad |= add_fix(array, session->tools_box.deny.source.key, "");
    for (uint32_t i = 0; i < session->elevated.gate_count; i++)
        if (session->elevated.gates[i].key[0] != '(')
            bad |= add_fix(array, session->elevated.gates[i].key, "");
    return bad ? NULL : json_take(&array);
}

/* ---- what runs ---- */

/* Why exec runs at its level, in a sentence. */
static void say_level(const struct nacre_session *session, char *ret_text, size_t size)
{
    const char *key = session->mode_source.key[0] ? session->mode_source.key : "mode";
    const char *mode = session->config->dialect != NACRE_DIALECT_CONFIG_YML
                           ? nacre_mode_name(session->mode)
                       : session->sandboxed ? "true"
                                            : "false";

    if (session->mode == NACRE_MODE_NON_MAIN)
        (void)snprintf(ret_text, size, "%s is %s, and this %s the main session", key,
                       mode, session->is_main ? "is" : "is not");
    else
        (void)snprintf(ret_text, size, "%s is %s%s", key, mode,
                       session->mode_source.from == NACRE_FROM_DEFAULT ? " by default"
                                                                       : "");
}

/* The smallest change that would take it in, or let it out. */
static void say_flip(const struct nacre_session *session, char *ret_text, size_t size)
{
    const struct nacre_source *mode = &session->mode_source;
    bool flag = session->config->dialect == NACRE_DIALECT_CONFIG_YML;
    const char *now = nacre_mode_name(session->mode);
    const char *then = session->sandboxed ? "off" : "all";
    char source[NACRE_SHOWN];

    if (flag) {
        now = session->sandboxed ? "true" : "false";
        then = session->sandboxed ? "false" : "true";
    }
    if (mode->place.line > 0)
        (void)snprintf(ret_text, size, "%s:%d:%d: change '%s' to '%s'",
                       nacre_text_shown(source, session->config->source),
                       mode->place.line, mode->place.column, now, then);
    else if (mode->key[0])
        (void)snprintf(ret_text, size, "add %s: %s", mode->key, then);
    else
        (void)snprintf(ret_text, size, "nothing in this dialect can say it");
}

static json_t *exec_json(const struct nacre_session *session)
{
    char why[NACRE_CONFIG_KEY + 64], fix[NACRE_CONFIG_KEY + NACRE_SHOWN];

    say_level(session, why, sizeof(why));
    say_flip(session, fix, sizeof(fix));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "level",
                     nacre_level_name(session->shell->level), "why", text_json(why),
                     "place", place_json(session, session->mode_source.place), "fix",
                     text_json(fix), "approval",
                     !session->sandboxed && session->shell->level_place.line == 0
                         ? json_string("unsandboxed")
                         : json_null());
}

static json_t *plan_json(const struct nacre_session *session)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_request request = { 0 };
    struct nacre_error err;

    nacre_session_request(session, &request);
    if (nacre_plan_draft(session->shell, &request, &plan, &err) != NACRE_OK)
        return NULL;
    return nacre_plan_json(session->shell, plan, NULL);
}

static json_t *notes_json(const struct nacre_session *session)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (size_t i = 0; i < session->config->note_count + session->note_count; i++) {
        const struct nacre_config_note *note =
            i < session->config->note_count
                ? &session->config->notes[i]
                : &session->notes[i - session->config->note_count];

        bad |= json_array_append_new(array, json_pack("{s:o, s:o, s:b}", "place",
                                                      place_json(session, note->place),
                                                      "text", text_json(note->text),
                                                      "unwise", note->unwise));
    }
    return bad ? NULL : json_take(&array);
}

static json_t *tool_json(const struct nacre_session *session, const char *tool)
{
    struct nacre_answer answer;
    struct nacre_error err;
    char name[NACRE_TOOL_NAME];

    if (nacre_session_tool(session, tool, &answer, &err) != NACRE_OK)
        return json_pack("{s:o, s:b, s:s}", "name", text_json(tool), "allowed", false,
                         "text", err.text);
    (void)nacre_tool_canonical(tool, name);
    return json_pack("{s:o, s:b, s:s, s:o, s:o, s:o}", "name", text_json(name), "allowed",
                     answer.allowed, "rule", answer.rule, "place",
                     place_json(session, answer.place), "text", text_json(answer.text),
                     "fix", text_json(answer.fix));
}

json_t *nacre_session_json(const struct nacre_session *session, const char *tool)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    const struct nacre_config *config = session->config;
    int bad = json_object_set_new(object, "agentId", text_json(session->agent));

    bad |= json_object_set_new(object, "sessionKey", text_json(session->key));
    bad |= json_object_set_new(object, "mainSessionKey", text_json(session->main_key));
    bad |= json_object_set_new(object, "sandbox", sandbox_json(session));
    bad |= json_object_set_new(object, "elevated", elevated_json(session));
    bad |= json_object_set_new(object, "fixIt", fixes_json(session));
    bad |= json_object_set_new(
        object, "config", json_pack("{s:o, s:s}", "source", text_json(config->source),
                                    "dialect", nacre_dialect_name(config->dialect)));
    bad |= json_object_set_new(
        object, "tools",
        json_pack("{s:o, s:o, s:o, s:b}", "profile", profile_json(session),
                  "global",
                  pair_json(session, &session->tools_global.allow,
                            &session->tools_global.deny),
                  "agent",
                  pair_json(session, &session->tools_agent.allow,
                            &session->tools_agent.deny),
                  "writesOff", session->writes_off));
    bad |= json_object_set_new(object, "exec", exec_json(session));
    bad |= json_object_set_new(object, "plan", plan_json(session));
    bad |= json_object_set_new(object, "notes", notes_json(session));
    if (tool)
        bad |= json_object_set_new(object, "tool", tool_json(session, tool));
    return bad ? NULL : json_take(&object);
}
