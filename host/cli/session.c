#include "session.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"

#define HAND_ON_MS 60000 /* until the other process asks */

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
                         ? snprintf(gates + used, sizeof(gates) - used, "%s%s (%s:%d:%d)",
                                    i > 0 ? ", " : "", gate->key,
                                    settled->config->source, gate->place.line,
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

/* A question, and what it borrows. */
struct question {
    struct nacre_approval_ask ask;
    struct nacre_request settled;
    char *arguments;
    char canonical[NACRE_TOOL_NAME];
};

static void question_clear(struct question *question)
{
    free(question->arguments);
}

static enum nacre_status make_question(const struct cli_session *session,
                                       const struct nacre_tool *tool, const char *name,
                                       const struct nacre_request *request,
                                       struct question *question, struct nacre_error *err)
{
    struct nacre_request *settled = &question->settled;
    char *arguments = describe(tool, request);

    *question = (struct question){ .settled = *request, .arguments = arguments };
    if (!arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    if (!nacre_tool_canonical(name, question->canonical))
        return nacre_fail(err, NACRE_ERR_USAGE, "the tool's name is too long");
    nacre_session_request(session->session, settled);
    question->ask = (struct nacre_approval_ask){
        .tool = question->canonical, .arguments = arguments, .caller = request->caller,
        .also = tool->argv ? "exec" : NULL, /* process starts it, and it is a command */
        .digest = tool->argv ? nacre_hash(arguments, strlen(arguments)) : tool->digest,
        .session = settled->session, .agent = settled->agent,
        .directory = settled->directory   ? settled->directory
                     : settled->workspace ? settled->workspace
                                          : "/",
        .timeout_ms = request->timeout_ms,
    };
    return NACRE_OK;
}

enum nacre_status
cli_session_approve(const struct cli_session *session, struct nacre_engine *engine,
                    const struct nacre_policy *policy, const struct nacre_tool *tool,
                    const char *name, const struct nacre_request *request,
                    const char *token, struct nacre_approval *ret_approval,
                    struct nacre_error *err)
{
    NACRE_AUTO(question_clear) struct question question = { .arguments = NULL };
    enum nacre_status status =
        make_question(session, tool, name, request, &question, err);

    question.ask.token = token;
    return status == NACRE_OK
               ? nacre_call_consent(engine, session->session, policy, &question.settled,
                                    &question.ask, ret_approval, err)
               : status;
}

enum nacre_status cli_session_hand_on(const struct cli_session *session,
                                      struct nacre_engine *engine,
                                      const struct nacre_tool *tool, const char *name,
                                      const struct nacre_request *request,
                                      char ret_token[NACRE_APPROVAL_TOKEN],
                                      struct nacre_error *err)
{
    NACRE_AUTO(question_clear) struct question question = { .arguments = NULL };
    enum nacre_status status =
        make_question(session, tool, name, request, &question, err);

    return status == NACRE_OK
               ? nacre_approval_issue(nacre_engine_key_dir(engine), &question.ask,
                                      HAND_ON_MS, ret_token, err)
               : status;
}

const struct nacre_policy *cli_session_policy(const struct cli_session *session,
                                              bool is_module, bool elevated)
{
    const struct nacre_session *settled = session->session;

    if (is_module)
        return settled->files;
    return elevated && settled->sandboxed ? settled->host : settled->shell;
}
