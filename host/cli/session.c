#include "session.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"

void cli_session_clear(struct cli_session *session)
{
    nacre_session_hold_free(session->hold);
    nacre_session_free(session->session);
    nacre_config_free(session->config);
    *session = (struct cli_session){ 0 };
}

enum nacre_status cli_session_settle(struct cli_session *session, const char *config,
                                     const struct cli_value *key,
                                     const struct cli_value *agent,
                                     const struct cli_value *sender,
                                     struct nacre_error *err)
{
    const char *home = getenv("HOME");
    /* Workspaces are made by no link; where the home itself is one, its place is. */
    NACRE_AUTO(nacre_heap_guard) char *real = home ? realpath(home, NULL) : NULL;
    const struct nacre_session_ask ask = {
        .agent = agent ? agent->text : NULL,
        .session = key ? key->text : NULL,
        .sender = sender ? sender->text : NULL,
        .home = real ? real : home,
    };
    enum nacre_status status = nacre_config_load(config, &session->config, err);

    if (status == NACRE_OK)
        status = nacre_session_settle(session->config, &ask, &session->session, err);
    return status;
}

enum nacre_status cli_session_allow(const struct cli_session *session, const char *tool,
                                    struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    enum nacre_status status = nacre_session_tool(session->session, tool, &answer, err);
    char shown[NACRE_SHOWN];

    if (status != NACRE_OK || answer.allowed)
        return status;
    (void)nacre_text_shown(shown, tool);
    if (answer.place.line > 0)
        return nacre_fail_at(err, NACRE_ERR_DENIED, session->config->source,
                             answer.place.line, answer.place.column,
                             "tool '%s' is denied by %.120s; fix: %.200s", shown,
                             answer.rule, answer.fix);
    return nacre_fail(err, NACRE_ERR_DENIED, "tool '%s' is denied by %.120s; fix: %.200s",
                      shown, answer.rule, answer.fix);
}

enum nacre_status cli_session_elevate(const struct cli_session *session,
                                      struct nacre_error *err)
{
    const struct nacre_session *settled = session->session;
    char gates[384] = "";
    size_t used = 0;

    /* Where there is no sandbox, there is nothing to be lifted out of. */
    if (!settled->sandboxed || settled->elevated.allowed)
        return NACRE_OK;
    for (uint32_t i = 0; i < settled->elevated.gate_count && used < sizeof(gates); i++) {
        const struct nacre_gate *gate = &settled->elevated.gates[i];
        int length = gate->place.line > 0
                         ? snprintf(gates + used, sizeof(gates) - used, "%s%s (%d:%d)",
                                    i > 0 ? ", " : "", gate->key, gate->place.line,
                                    gate->place.column)
                         : snprintf(gates + used, sizeof(gates) - used,
                                    "%s%s (not written)", i > 0 ? ", " : "", gate->key);

        used += length > 0 ? (size_t)length : 0;
    }
    return nacre_fail(err, NACRE_ERR_DENIED,
                      "--elevated is denied: shut by %s; see nacre explain --config",
                      gates);
}

/* ---- a person's word ---- */

static json_t *words_json(const char *const *words)
{
    json_t *list = json_array();

    for (size_t i = 0; words && words[i]; i++)
        if (json_array_append_new(list, cli_json_text(words[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* {"NAME": "VALUE"}, as a tool's call has it. */
static json_t *environment_json(const char *const *variables)
{
    json_t *object = json_object();

    for (size_t i = 0; variables[i]; i++) {
        const char *equals = strchr(variables[i], '=');
        json_t *value = cli_json_text(equals ? equals + 1 : "");
        NACRE_AUTO(nacre_heap_guard) char *name =
            strndup(variables[i], strcspn(variables[i], "="));

        if (!name || json_object_set_new(object, name, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* Everything that makes it this run and no other, as one line of JSON: what a person
 * reads is what their word is bound to.  A text for the shell is told as the arguments of
 * the tool exec are, so that a token of nacre tool approve is good here.  NULL: out of
 * memory. */
static char *describe(const struct nacre_tool *tool, const struct nacre_request *request)
{
    json_t *object = json_object();
    int bad;
    char *text;

    if (tool->kind == NACRE_TOOL_SHELL)
        bad = json_object_set_new(object, "command", cli_json_text(tool->argv[2]));
    else
        bad = json_object_set_new(object, tool->argv ? "command" : "arguments",
                                  words_json(tool->argv ? (const char *const *)tool->argv
                                                        : request->arguments));
    if (request->environment)
        bad |= json_object_set_new(object, "environment",
                                   environment_json(request->environment));
    if (request->directory)
        bad |= json_object_set_new(object, "directory",
                                   cli_json_text(request->directory));
    if (request->invoke)
        bad |= json_object_set_new(object, "invoke", cli_json_text(request->invoke));
    text = bad ? NULL : json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}

enum nacre_status
cli_session_approve(const struct cli_session *session, struct nacre_engine *engine,
                    const struct nacre_policy *policy, const struct nacre_tool *tool,
                    const char *name, const struct nacre_request *request,
                    const char *token, struct nacre_approval *ret_approval,
                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *arguments = describe(tool, request);
    struct nacre_request settled = *request;
    char canonical[NACRE_TOOL_NAME];
    struct nacre_approval_ask ask = {
        .tool = canonical, .arguments = arguments,
        .caller = request->caller, .token = token,
    };

    if (!arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    if (!nacre_tool_canonical(name, canonical))
        return nacre_fail(err, NACRE_ERR_USAGE, "the tool's name is too long");
    ask.digest = tool->argv ? nacre_hash(arguments, strlen(arguments)) : tool->digest;
    nacre_session_request(session->session, &settled);
    ask.session = settled.session;
    ask.agent = settled.agent;
    ask.directory = settled.directory   ? settled.directory
                    : settled.workspace ? settled.workspace
                                        : "/";
    return nacre_call_consent(engine, session->session, policy, &settled, &ask,
                              ret_approval, err);
}

const struct nacre_policy *cli_session_policy(const struct cli_session *session,
                                              bool is_module, bool elevated)
{
    const struct nacre_session *settled = session->session;

    if (is_module)
        return settled->files;
    return elevated && settled->sandboxed ? settled->host : settled->shell;
}
