/*
 * The door.  Name and arguments are an agent's, and hostile; what refuses them here is
 * told to the agent as an answer, in words that it can act on, and is recorded like a run
 * that failed.
 */
#include "nacre/call.h"

#include <stdio.h>
#include <string.h>

#include "door.h"
#include "json_read.h"
#include "nacre/text.h"
#include "native.h"

void tools_call_clear(struct tools_call *call)
{
    json_decref(call->arguments);
    nacre_session_hold_free(call->hold);
    tools_policy_put(call->engine, call->held);
    tools_cache_put(call->engine, call->entry);
}

/* ---- refusals ---- */

/* Told to the agent and recorded.  `why` names the status that the record has. */
static enum nacre_status refuse(struct tools_call *call, const char *code,
                                const char *outcome, const struct nacre_denial *denial,
                                const struct nacre_error *why, json_t **ret_answer,
                                struct nacre_error *err)
{
    const struct nacre_digest digest =
        nacre_hash(call->asked->arguments, call->asked->argument_bytes);
    struct nacre_error recorded = *why;
    struct nacre_request request = call->asked->request;
    const char *name = call->name[0] ? call->name : call->asked->tool;
    enum nacre_status status;

    if (call->asked->session) {
        request.session = call->asked->session->key;
        request.agent = call->asked->session->agent;
    }
    request.input_digest = &digest;
    (void)nacre_run_failed(call->engine, call->policy, name, &request, &recorded);
    status = tools_answer(true, tools_text(why->text, strlen(why->text)),
                          json_pack("{s:s}", "code", code), ret_answer, err);
    return status == NACRE_OK
               ? tools_add_meta(call, NULL, outcome, denial, ret_answer, err)
               : status;
}

static enum nacre_status refuse_denied(struct tools_call *call,
                                       const struct nacre_denial *denial,
                                       const struct nacre_error *why,
                                       json_t **ret_answer, struct nacre_error *err)
{
    return refuse(call, denial->code, "denied", denial, why, ret_answer, err);
}

/* ---- the steps ---- */

/* NACRE_ERR_DENIED: by the session's tool policy. */
static enum nacre_status judge_tool(const struct tools_call *call, const char *tool,
                                    struct nacre_denial *ret_denial,
                                    struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    enum nacre_status status = NACRE_OK;

    if (call->asked->session)
        status = nacre_session_tool(call->asked->session, tool, &answer, err);
    if (status != NACRE_OK || !call->asked->session || answer.allowed)
        return status;
    *ret_denial = (struct nacre_denial){ .code = "tool-denied", .place = answer.place };
    (void)snprintf(ret_denial->rule, sizeof(ret_denial->rule), "%s", answer.rule);
    (void)snprintf(ret_denial->text, sizeof(ret_denial->text), "%s", answer.text);
    (void)snprintf(ret_denial->fix, sizeof(ret_denial->fix), "%s", answer.fix);
    return nacre_fail(err, NACRE_ERR_DENIED, "%.300s; use another tool", answer.text);
}

static enum nacre_status judge_name(struct tools_call *call,
                                    struct nacre_denial *ret_denial,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!nacre_tool_canonical(call->asked->tool, call->name) || !call->name[0]) {
        call->name[0] = '\0';
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no tool '%s'",
                          nacre_text_shown(shown, call->asked->tool));
    }
    return judge_tool(call, call->asked->tool, ret_denial, err);
}

/* NACRE_ERR_USAGE: they are not what the tool takes. */
static enum nacre_status read_arguments(struct tools_call *call, struct nacre_error *err)
{
    const struct nacre_call *asked = call->asked;
    char why[sizeof(err->text)];
    json_error_t where;
    enum nacre_status status;

    if (asked->argument_bytes > NACRE_CALL_ARGUMENT_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the arguments are larger than %zu MiB: pass less at once",
                          NACRE_CALL_ARGUMENT_BYTES_MAX >> 20);
    call->arguments = tools_json_read(asked->arguments, asked->argument_bytes, &where);
    if (!call->arguments)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the arguments are not JSON: %.160s (line %d, column %d)",
                          where.text, where.line, where.column);
    if (!json_is_object(call->arguments))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the arguments are not a JSON object, like {\"path\": \"a\"}");
    status = nacre_manifest_judge(call->entry->manifest, call->arguments, err);
    if (status != NACRE_ERR_USAGE && status != NACRE_ERR_TOO_BIG)
        return status;
    (void)snprintf(why, sizeof(why), "%s", err->text);
    return nacre_fail(err, NACRE_ERR_USAGE, "the arguments do not fit %s: %.420s",
                      call->name, why);
}

enum nacre_status tools_run(struct tools_call *call, const struct nacre_tool *tool,
                            struct nacre_result **ret_result, json_t **ret_answer,
                            struct nacre_error *err)
{
    struct nacre_denial denial = { 0 };
    struct nacre_error why;
    enum nacre_status status = tools_enter(call, tool, &denial, &why);

    if (status == NACRE_ERR_DENIED && denial.code[0])
        return refuse_denied(call, &denial, &why, ret_answer, err);
    if (status != NACRE_OK) {
        *err = why;
        return nacre_run_failed(call->engine, call->policy, call->name,
                                &call->asked->request, err);
    }
    if (call->approver[0])
        call->request.approver = call->approver;
    status = nacre_run(call->engine, call->policy, tool, &call->request, ret_result, err);
    nacre_session_hold_settle(call->hold, status, *ret_result);
    return status;
}

static enum nacre_status run_module(struct tools_call *call, json_t **ret_answer,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    NACRE_AUTO(nacre_fd_guard) int input = -1;
    const char *arguments = call->asked->arguments;
    size_t count = call->asked->argument_bytes;
    const struct nacre_digest digest = nacre_hash(arguments, count);
    bool is_small = count <= NACRE_REQUEST_INPUT_MAX;
    enum nacre_status status = is_small ? NACRE_OK
                                        : tools_input(arguments, count, &input, err);

    if (status != NACRE_OK)
        return status;
    call->request.input_fd = input;
    call->request.input = is_small ? arguments : NULL;
    call->request.input_bytes = is_small ? count : 0;
    call->request.input_digest = &digest;
    call->request.arguments = NULL;
    call->request.invoke = NULL;
    call->request.on_output = NULL;
    call->request.stream_only = false;
    call->request.terminals = 0;
    status = tools_run(call, call->entry->tool, &result, ret_answer, err);
    return result ? tools_reply(call, result, ret_answer, err) : status;
}

/* A manifest or a module that is not what it should be is refused like a policy's no: the
 * agent learns that the tool can't be had, and by whose fault. */
static enum nacre_status fail_entry(struct tools_call *call,
                                    const struct nacre_error *why, json_t **ret_answer,
                                    struct nacre_error *err)
{
    struct nacre_denial denial = { .code = "digest-mismatch", .rule = "nacre/digest",
                                   .place = { why->line, why->column } };

    if (why->status == NACRE_ERR_NOT_FOUND && !call->entry)
        return refuse(call, "unknown-tool", "invalid", NULL, why, ret_answer, err);
    if (why->status == NACRE_ERR_DENIED) {
        (void)snprintf(denial.text, sizeof(denial.text), "%s", why->text);
        (void)snprintf(denial.fix, sizeof(denial.fix),
                       "build the tool again, or say the module's digest if it is the "
                       "one that is meant");
        return refuse_denied(call, &denial, why, ret_answer, err);
    }
    *err = *why;
    return nacre_run_failed(call->engine, NULL, call->name, &call->asked->request, err);
}

static enum nacre_status judge_call(struct tools_call *call, struct nacre_denial *denial,
                                    struct nacre_error *why)
{
    enum nacre_status status = read_arguments(call, why);

    if (status == NACRE_OK && tools_is_command(call)) /* who may not exec, may not here */
        status = judge_tool(call, native_exec.name, denial, why);
    if (status == NACRE_OK)
        status = tools_choose(call, denial, why);
    return status == NACRE_OK ? tools_approve(call, denial, why) : status;
}

enum nacre_status nacre_call(struct nacre_engine *engine, const struct nacre_call *asked,
                             struct json_t **ret_answer, struct nacre_error *err)
{
    NACRE_AUTO(tools_call_clear)
    struct tools_call call = { .engine = engine, .asked = asked };
    struct nacre_denial denial = { 0 };
    struct nacre_error why = { 0 };
    enum nacre_status status = judge_name(&call, &denial, &why);

    if (status == NACRE_ERR_DENIED)
        return refuse_denied(&call, &denial, &why, ret_answer, err);
    if (status == NACRE_ERR_NOT_FOUND)
        return refuse(&call, "unknown-tool", "invalid", NULL, &why, ret_answer, err);
    if (status == NACRE_OK) {
        status = tools_cache_get(engine, call.name, true, &call.entry, &why);
        if (status != NACRE_OK)
            return fail_entry(&call, &why, ret_answer, err);
        status = judge_call(&call, &denial, &why);
    }
    if (status == NACRE_ERR_USAGE && !call.policy)
        return refuse(&call, "invalid-arguments", "invalid", NULL, &why, ret_answer, err);
    if (status == NACRE_ERR_DENIED && denial.code[0])
        return refuse_denied(&call, &denial, &why, ret_answer, err);
    if (status != NACRE_OK) {
        *err = why;
        return nacre_run_failed(engine, call.policy, call.name, &asked->request, err);
    }
    return call.entry->native ? call.entry->native->call(&call, ret_answer, err)
                              : run_module(&call, ret_answer, err);
}

enum nacre_status nacre_call_approve(struct nacre_engine *engine,
                                     const struct nacre_call *asked, uint64_t ttl_ms,
                                     char ret_token[NACRE_APPROVAL_TOKEN],
                                     struct nacre_error *err)
{
    NACRE_AUTO(tools_call_clear)
    struct tools_call call = { .engine = engine, .asked = asked };
    struct nacre_denial denial = { 0 };
    enum nacre_status status = judge_name(&call, &denial, err);

    if (status == NACRE_OK)
        status = tools_cache_get(engine, call.name, true, &call.entry, err);
    if (status == NACRE_OK)
        status = read_arguments(&call, err);
    if (status == NACRE_OK)
        status = tools_choose(&call, &denial, err);
    return status == NACRE_OK ? tools_issue_approval(&call, ttl_ms, ret_token, err)
                              : status;
}

/* A tool of commands where its policy lets none run. */
static bool is_mute(const struct tools_call *call)
{
    return call->entry->native && (call->policy->level == NACRE_LEVEL_WASM ||
                                   call->policy->shell.mode == NACRE_SHELL_DENY);
}

/* What the call's policy refuses it, on paper or on this machine, or why it runs. */
static enum nacre_status explain_run(const struct tools_call *call,
                                     struct nacre_answer *ret_answer,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    enum nacre_status status;

    if (is_mute(call))
        return nacre_explain_command(call->policy, call->name, ret_answer, err);
    *ret_answer = (struct nacre_answer){ .allowed = true };
    nacre_answer_say(ret_answer, "level", 0, call->policy->level_place, "%s", call->why);
    if (call->asked->session) /* its plan is shown for itself: see nacre_session_json() */
        return NACRE_OK;
    status = nacre_engine_draft(call->engine, call->policy, &call->request, &plan, err);
    if (status != NACRE_OK)
        return status;
    for (uint32_t i = 0; i < plan->decision_count && ret_answer->allowed; i++) {
        const struct nacre_decision *decision = &plan->decisions[i];

        if (decision->verdict != NACRE_VERDICT_REFUSE)
            continue;
        ret_answer->allowed = false;
        nacre_answer_say(ret_answer, decision->rule, 0, decision->place, "%s",
                         decision->what);
        nacre_answer_fix(ret_answer, "%s", decision->fix);
    }
    return NACRE_OK;
}

enum nacre_status nacre_call_explain(struct nacre_engine *engine,
                                     const struct nacre_call *asked,
                                     enum nacre_level *ret_level,
                                     struct nacre_answer *ret_answer,
                                     struct nacre_answer *ret_intent,
                                     struct nacre_error *err)
{
    NACRE_AUTO(tools_call_clear)
    struct tools_call call = { .engine = engine, .asked = asked };
    struct nacre_denial denial = { 0 };
    const struct nacre_policy *told;
    const char *file = "";
    enum nacre_status status = judge_name(&call, &denial, err);

    if (status == NACRE_OK)
        status = tools_cache_get(engine, call.name, true, &call.entry, err);
    if (status == NACRE_ERR_DENIED && call.name[0] && !denial.code[0]) {
        file = err->file;
        denial.place = (struct nacre_place){ err->line, err->column };
        (void)snprintf(denial.code, sizeof(denial.code), "digest-mismatch");
        (void)snprintf(denial.rule, sizeof(denial.rule), "nacre/digest");
        (void)snprintf(denial.text, sizeof(denial.text), "%s", err->text);
    } else if (status == NACRE_OK) {
        status = tools_choose(&call, &denial, err);
    }
    if (status != NACRE_OK && status != NACRE_ERR_DENIED)
        return status;
    told = call.policy ? call.policy : asked->session ? asked->session->files : NULL;
    if (!file[0] && told && told->source)
        file = told->source;
    *ret_answer = (struct nacre_answer){ .allowed = status == NACRE_OK };
    (void)snprintf(ret_answer->file, sizeof(ret_answer->file), "%s", file);
    *ret_level = call.policy ? call.policy->level : NACRE_LEVEL_UNSET;
    *ret_intent = (struct nacre_answer){ .allowed = true };
    if (call.policy)
        nacre_explain_intent(call.policy, ret_intent);
    (void)snprintf(ret_intent->file, sizeof(ret_intent->file), "%s", file);
    if (status != NACRE_OK) {
        ret_answer->place = denial.place;
        (void)snprintf(ret_answer->rule, sizeof(ret_answer->rule), "%s", denial.rule);
        (void)snprintf(ret_answer->text, sizeof(ret_answer->text), "%s", denial.text);
        (void)snprintf(ret_answer->fix, sizeof(ret_answer->fix), "%s", denial.fix);
        return NACRE_OK;
    }
    status = explain_run(&call, ret_answer, err);
    (void)snprintf(ret_answer->file, sizeof(ret_answer->file), "%s", file);
    return status;
}
