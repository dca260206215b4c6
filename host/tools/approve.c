/* When a person is asked about a call, and what is then shown to them. */
#include <stdio.h>
#include <string.h>

#include "door.h"
#include "nacre/ancestry.h"
#include "nacre/approval.h"
#include "nacre/clock.h"
#include "native.h"

/* What the operator marked; tools go by any of their names there. */
static bool is_marked(const struct nacre_host_rules *rules, const char *name)
{
    char canonical[NACRE_TOOL_NAME];

    for (size_t i = 0; rules->require && rules->require[i]; i++)
        if (nacre_tool_canonical(rules->require[i], canonical) &&
            strcmp(canonical, name) == 0)
            return true;
    return false;
}

/* Why a person has to be asked; NULL: nobody has. */
static const char *reason_of(const struct tools_call *call,
                             const struct nacre_host_rules *rules)
{
    if (call->entry->manifest->needs_approval)
        return "manifest";
    if (call->policy->level == NACRE_LEVEL_NONE && call->policy->level_place.line == 0)
        return "unsandboxed";
    return is_marked(rules, call->name) ? "operator" : NULL;
}

#define SEEN_MAX 64

/* A question, and what it points into. */
struct question {
    struct nacre_approval_ask ask;
    char *arguments;
    const char *seen[SEEN_MAX + 1]; /* host directories that a guest of this call sees */
};

static void question_clear(struct question *question)
{
    free(question->arguments);
}

static void see(struct question *question, size_t *count, const char *host)
{
    if (host && *count < SEEN_MAX)
        question->seen[(*count)++] = host;
}

static void see_mounts(struct question *question, const struct tools_call *call)
{
    const struct nacre_session *session = call->asked->session;
    size_t count = 0;

    see(question, &count, call->request.workspace);
    for (uint32_t i = 0; i < call->request.mount_count; i++)
        see(question, &count, call->request.mounts[i].host);
    for (uint32_t i = 0; session && i < session->mount_count; i++)
        see(question, &count, session->mounts[i].host);
    see(question, &count, session ? session->workspace : NULL);
    see(question, &count, session ? session->workspace_root : NULL);
}

static const char *directory_of(const struct tools_call *call)
{
    const char *given =
        json_string_value(json_object_get(call->arguments, "directory"));

    return given                     ? given
           : call->request.workspace ? call->request.workspace
                                     : "/";
}

/* What a person is asked, and what their word is bound to. */
static enum nacre_status make_question(const struct tools_call *call, const char *reason,
                                       struct question *question,
                                       struct nacre_error *err)
{
    question->arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
    if (!question->arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    see_mounts(question, call);
    question->ask = (struct nacre_approval_ask){
        .tool = call->name,
        .arguments = question->arguments,
        .reason = reason,
        .directory = directory_of(call),
        .digest = call->entry->tool ? call->entry->tool->digest
                                    : nacre_hash(question->arguments,
                                                 strlen(question->arguments)),
        .session = call->request.session,
        .agent = call->request.agent,
        .caller = call->request.caller,
        .token = call->asked->approval,
    };
    return NACRE_OK;
}

/* Who calls may watch a terminal; the person who answers sits at another. */
static void tell_waiting(void *data, const char *id, const char *tool)
{
    char sentence[256];

    (void)snprintf(sentence, sizeof(sentence),
                   "%s waits for a person's word: nacre approvals shows it, nacre approve "
                   "%s lets it through", tool, id);
    nacre_engine_notice(data, sentence);
}

static enum nacre_status ask(struct tools_call *call,
                             const struct nacre_host_rules *rules, const char *reason,
                             struct nacre_approval *ret_approval, struct nacre_error *err)
{
    NACRE_AUTO(question_clear) struct question question = { 0 };
    struct nacre_approval_options options = {
        .state_dir = nacre_engine_state_dir(call->engine),
        .key_dir = nacre_engine_key_dir(call->engine),
        .wait_ms = rules->wait_ms.value, .command = rules->command, .soul = rules->soul,
        .mounts = question.seen, .on_wait = tell_waiting, .on_wait_data = call->engine,
    };
    uint64_t wait_ms = options.wait_ms ? options.wait_ms : NACRE_APPROVAL_WAIT_MS;
    enum nacre_status status = make_question(call, reason, &question, err);

    if (status != NACRE_OK)
        return status;
    return nacre_approval_get(&options, &question.ask,
                              nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS, ret_approval,
                              err);
}

enum nacre_status tools_issue_approval(const struct tools_call *call, uint64_t ttl_ms,
                                       char ret_token[NACRE_APPROVAL_TOKEN],
                                       struct nacre_error *err)
{
    NACRE_AUTO(question_clear) struct question question = { 0 };
    enum nacre_status status;

    if (nacre_is_inside())
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "a command that nacre runs can't answer for a person");
    status = make_question(call, "token", &question, err);
    return status == NACRE_OK
               ? nacre_approval_issue(nacre_engine_key_dir(call->engine), &question.ask,
                                      ttl_ms, ret_token, err)
               : status;
}

enum nacre_status tools_approve(struct tools_call *call, struct nacre_denial *ret_denial,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_host_rules_guard) struct nacre_host_rules *rules = NULL;
    struct nacre_approval approval = { 0 };
    const char *reason;
    enum nacre_status status =
        nacre_host_rules_load(nacre_engine_host_file(call->engine), &rules, err);

    if (status != NACRE_OK)
        return status;
    reason = reason_of(call, rules);
    if (!reason)
        return NACRE_OK;
    status = ask(call, rules, reason, &approval, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(call->approver, sizeof(call->approver), "%s", approval.approver);
    if (approval.verdict == NACRE_APPROVAL_APPROVED)
        return NACRE_OK;
    *ret_denial = (struct nacre_denial){ .place = call->entry->manifest->approval_place };
    (void)snprintf(ret_denial->code, sizeof(ret_denial->code), "%s",
                   nacre_approval_verdict_name(approval.verdict));
    (void)snprintf(ret_denial->rule, sizeof(ret_denial->rule), "%s",
                   strcmp(reason, "manifest") == 0 ? "nacre/approval" : "approvals");
    (void)snprintf(ret_denial->text, sizeof(ret_denial->text), "%s", approval.text);
    return nacre_fail(err, NACRE_ERR_DENIED, "%s", approval.text);
}
