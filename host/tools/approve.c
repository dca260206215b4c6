/* When a person is asked about a call, and what is then shown to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "nacre/ancestry.h"
#include "nacre/approval.h"
#include "nacre/clock.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "native.h"
#include "rules.h"

/* What the operator marked, as the lists of a configuration spell tools.  An entry that
 * means nothing would be a guard that is not there. */
static enum nacre_status is_marked(const struct nacre_host_rules *rules,
                                   const struct nacre_approval_ask *ask, bool *ret_is,
                                   struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    bool found = false;

    for (size_t i = 0; rules->require && rules->require[i] && status == NACRE_OK; i++) {
        bool is = false, is_also = false;

        status = nacre_tool_is_meant(rules->require[i], ask->tool, &is, err);
        if (status == NACRE_OK && ask->also)
            status = nacre_tool_is_meant(rules->require[i], ask->also, &is_also, err);
        found |= is || is_also;
    }
    if (status != NACRE_OK)
        return nacre_fail_context(err, "host.yaml: approvals.require");
    *ret_is = found;
    return NACRE_OK;
}

/*
 * Why a person has to be asked; NULL: nobody has.  Where the file itself says that there
 * is no sandbox, that is its owner's word; that it lets somebody ask for elevation is
 * not yet a word for this command.
 */
static const char *reason_of(const struct nacre_session *session,
                             const struct nacre_policy *policy,
                             const struct nacre_approval_ask *ask, bool marked)
{
    bool is_bare = policy->level == NACRE_LEVEL_NONE;

    if (ask->reason)
        return ask->reason;
    if (is_bare && session && policy == session->host)
        return "elevated";
    if (is_bare && policy->level_place.line == 0)
        return "unsandboxed";
    return marked ? "operator" : NULL;
}

/* Every directory of the host that this session's tools see: NULL-terminated, of which
 * the array alone is the caller's. */
static const char **seen_by(const struct nacre_session *session,
                            const struct nacre_policy *policy,
                            const struct nacre_request *request)
{
    const struct nacre_mount_rules *rules = &policy->filesystem.mounts;
    uint32_t own = session ? session->mount_count : 0;
    const char **seen =
        calloc(request->mount_count + own + rules->count + 5u, sizeof(*seen));
    size_t count = 0;

    if (!seen)
        return NULL;
    for (uint32_t i = 0; i < request->mount_count; i++)
        seen[count++] = request->mounts[i].host;
    for (uint32_t i = 0; i < own; i++)
        seen[count++] = session->mounts[i].host;
    for (size_t i = 0; i < rules->count; i++) /* its own /tmp is none of the host's */
        if (strcmp(rules->items[i].path, "/tmp") != 0)
            seen[count++] = rules->items[i].path;
    if (policy->filesystem.mode == NACRE_FILESYSTEM_FULL &&
        policy->level != NACRE_LEVEL_NONE)
        seen[count++] = "/";
    if (request->workspace)
        seen[count++] = request->workspace;
    if (session && session->workspace)
        seen[count++] = session->workspace;
    if (session && session->workspace_root)
        seen[count++] = session->workspace_root;
    return seen;
}

struct waiting {
    struct nacre_engine *engine;
    const char *reason;
};

static const char *say_reason(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } rows[] = {
        { "manifest", "its manifest asks for it" },
        { "operator", "host.yaml marks it" },
        { "elevated", "it would run outside its sandbox" },
        { "unsandboxed", "it would run without a sandbox, and no line of the file says "
                         "so; a mode that is written down is one" },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (strcmp(reason, rows[i].reason) == 0)
            return rows[i].words;
    return reason;
}

static void on_wait(void *data, const char *id, const char *tool)
{
    const struct waiting *waiting = data;
    char shown[NACRE_SHOWN], sentence[NACRE_SHOWN + 256];

    (void)snprintf(sentence, sizeof(sentence),
                   "%s waits for a person's word: %s. See nacre approvals, then nacre "
                   "approve %s or nacre deny %s",
                   nacre_text_shown(shown, tool), say_reason(waiting->reason), id, id);
    nacre_engine_notice(waiting->engine, sentence);
}

enum nacre_status nacre_call_consent(struct nacre_engine *engine,
                                     const struct nacre_session *session,
                                     const struct nacre_policy *policy,
                                     const struct nacre_request *request,
                                     struct nacre_approval_ask *ask,
                                     struct nacre_approval *ret_approval,
                                     struct nacre_error *err)
{
    NACRE_AUTO(tools_rules_guard) struct tools_rules *held = NULL;
    NACRE_AUTO(nacre_heap_guard) const char **seen = NULL;
    const struct nacre_host_rules *rules = NULL;
    struct waiting waiting = { .engine = engine };
    bool marked = false;
    uint64_t deadline_ns;
    struct nacre_approval_options options = {
        .state_dir = nacre_engine_state_dir(engine),
        .key_dir = nacre_engine_key_dir(engine),
        .on_wait = on_wait, .on_wait_data = &waiting,
    };
    enum nacre_status status = tools_rules_get(engine, &held, err);

    *ret_approval = (struct nacre_approval){ .verdict = NACRE_APPROVAL_NONE };
    rules = status == NACRE_OK ? tools_rules_of(held) : NULL;
    if (status == NACRE_OK)
        status = is_marked(rules, ask, &marked, err);
    if (status != NACRE_OK)
        return status;
    ask->unsandboxed = policy->level == NACRE_LEVEL_NONE;
    ask->reason = reason_of(session, policy, ask, marked);
    if (!ask->reason)
        return NACRE_OK;
    waiting.reason = ask->reason;
    seen = seen_by(session, policy, request);
    if (!seen)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    options.wait_ms = rules->wait_ms.value > 0 ? rules->wait_ms.value
                                               : NACRE_APPROVAL_WAIT_MS;
    options.command = rules->command;
    options.soul = rules->soul;
    options.mounts = seen;
    deadline_ns = nacre_clock_ns() + (ask->timeout_ms > 0 ? ask->timeout_ms
                                                          : options.wait_ms) *
                                         NACRE_NS_PER_MS;
    status = nacre_approval_get(&options, ask, deadline_ns, ret_approval, err);
    if (status != NACRE_OK || ret_approval->verdict == NACRE_APPROVAL_APPROVED)
        return status;
    return nacre_fail(err, NACRE_ERR_DENIED, "%s", ret_approval->text);
}

/* ---- of a call ---- */

/* A session's command is asked about when it starts, as the exec that it is. */
static bool is_command(const struct tools_call *call)
{
    const char *action = json_string_value(json_object_get(call->arguments, "action"));

    return tools_is_command(call) &&
           !(call->asked->session && strcmp(action, "start") == 0);
}

/* The host's: "src" or /workspace/src is one place here and another there. */
static const char *directory_of(const struct tools_call *call,
                                char ret_path[2 * NACRE_PATH_MAX])
{
    const char *base = call->request.workspace ? call->request.workspace : "/";
    const char *given =
        json_string_value(json_object_get(call->arguments, "directory"));

    if (!given || call->policy->level != NACRE_LEVEL_NONE)
        return base;
    if (given[0] == '/')
        return given;
    (void)snprintf(ret_path, 2 * NACRE_PATH_MAX, "%s/%s", base, given);
    return ret_path;
}

/* What a person is asked, and what their word is bound to.  *ret_arguments and
 * `ret_path` are part of it and the caller's. */
static enum nacre_status make_question(const struct tools_call *call,
                                       struct nacre_approval_ask *ret_ask,
                                       char ret_path[2 * NACRE_PATH_MAX],
                                       char **ret_arguments, struct nacre_error *err)
{
    const struct nacre_manifest *manifest = call->entry->manifest;
    char *arguments = json_dumps(call->arguments, JSON_COMPACT | JSON_SORT_KEYS);

    if (!arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a question");
    *ret_arguments = arguments;
    *ret_ask = (struct nacre_approval_ask){
        .tool = call->name,
        .arguments = arguments,
        .reason = manifest->needs_approval ? "manifest" : NULL,
        .also = is_command(call) ? native_exec.name : NULL,
        .directory = directory_of(call, ret_path),
        .digest = call->entry->tool ? call->entry->tool->digest
                                    : nacre_hash(arguments, strlen(arguments)),
        .session = call->request.session,
        .agent = call->request.agent,
        .caller = call->request.caller,
        .token = call->asked->approval,
        .timeout_ms = call->asked->request.timeout_ms, /* not the manifest's: that is for
                                                          the run */
    };
    return NACRE_OK;
}

enum nacre_status tools_issue_approval(const struct tools_call *call, uint64_t ttl_ms,
                                       char ret_token[NACRE_APPROVAL_TOKEN],
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *arguments = NULL;
    char path[2 * NACRE_PATH_MAX];
    struct nacre_approval_ask ask;
    enum nacre_status status;

    if (nacre_is_inside())
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "a command that nacre runs can't answer for a person");
    status = make_question(call, &ask, path, &arguments, err);
    ask.unsandboxed = call->policy->level == NACRE_LEVEL_NONE;
    return status == NACRE_OK ? nacre_approval_issue(nacre_engine_key_dir(call->engine),
                                                     &ask, ttl_ms, ret_token, err)
                              : status;
}

enum nacre_status tools_approve(struct tools_call *call, struct nacre_denial *ret_denial,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *arguments = NULL;
    char path[2 * NACRE_PATH_MAX];
    struct nacre_approval_ask ask;
    struct nacre_approval approval = { 0 };
    enum nacre_status status = make_question(call, &ask, path, &arguments, err);

    if (status == NACRE_OK)
        status = nacre_call_consent(call->engine, call->asked->session, call->policy,
                                    &call->request, &ask, &approval, err);
    (void)snprintf(call->approver, sizeof(call->approver), "%s", approval.approver);
    if (status != NACRE_ERR_DENIED)
        return status;
    *ret_denial = (struct nacre_denial){ .place = call->entry->manifest->approval_place };
    (void)snprintf(ret_denial->code, sizeof(ret_denial->code), "%s",
                   nacre_approval_verdict_name(approval.verdict));
    (void)snprintf(ret_denial->rule, sizeof(ret_denial->rule), "%s",
                   strcmp(ask.reason, "manifest") == 0 ? "nacre/approval" : "approvals");
    (void)snprintf(ret_denial->text, sizeof(ret_denial->text), "%s", approval.text);
    return status;
}
