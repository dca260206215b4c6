/* When a person is asked about a call, and what is then shown to them. */
#include <stdio.h>
#include <string.h>

#include "door.h"
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

static enum nacre_status ask(struct tools_call *call,
                             const struct nacre_host_rules *rules, const char *reason,
                             struct nacre_approval *ret_approval, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard)
    char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);
    const char *directory = json_string_value(json_object_get(call->arguments,
                                                              "directory"));
    const char *seen[] = { call->request.workspace, NULL };
    struct nacre_approval_options options = {
        .state_dir = nacre_engine_state_dir(call->engine),
        .key_dir = nacre_engine_key_dir(call->engine),
        .wait_ms = rules->wait_ms.value, .command = rules->command, .soul = rules->soul,
        .mounts = seen,
    };
    uint64_t wait_ms = options.wait_ms ? options.wait_ms : NACRE_APPROVAL_WAIT_MS;
    struct nacre_approval_ask question = {
        .tool = call->name, .arguments = arguments, .reason = reason,
        .directory = directory ? directory
                     : call->request.workspace ? call->request.workspace : "/",
        .session = call->request.session, .agent = call->request.agent,
        .caller = call->request.caller, .token = call->asked->approval,
    };

    if (!arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    question.digest = call->entry->tool ? call->entry->tool->digest
                                        : nacre_hash(arguments, strlen(arguments));
    return nacre_approval_get(&options, &question,
                              nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS, ret_approval,
                              err);
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
    if (status != NACRE_OK || approval.verdict == NACRE_APPROVAL_APPROVED)
        return status;
    *ret_denial = (struct nacre_denial){ .place = call->entry->manifest->approval_place };
    (void)snprintf(ret_denial->code, sizeof(ret_denial->code), "%s",
                   nacre_approval_verdict_name(approval.verdict));
    (void)snprintf(ret_denial->rule, sizeof(ret_denial->rule), "%s",
                   strcmp(reason, "manifest") == 0 ? "nacre/approval" : "approvals");
    (void)snprintf(ret_denial->text, sizeof(ret_denial->text), "%s", approval.text);
    return nacre_fail(err, NACRE_ERR_DENIED, "%s", approval.text);
}
