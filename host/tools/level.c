/*
 * Which policy holds for a call, and so at which level it runs.  A tool with a module
 * runs at level wasm, whatever level the shell has; a command runs where the
 * configuration or the caller says.
 */
#include <stdio.h>
#include <string.h>

#include "door.h"
#include "native.h"

__attribute__((format(printf, 4, 5))) static enum nacre_status
deny(struct nacre_denial *denial, const char *code, struct nacre_error *err,
     const char *format, ...)
{
    va_list args;

    (void)snprintf(denial->code, sizeof(denial->code), "%s", code);
    va_start(args, format);
    (void)vsnprintf(denial->text, sizeof(denial->text), format, args);
    va_end(args);
    return nacre_fail(err, NACRE_ERR_DENIED, "%.500s", denial->text);
}

static const char *word(const char *text)
{
    return text ? text : "";
}

static enum nacre_status of_session(struct tools_call *call,
                                    const struct nacre_session *session,
                                    struct nacre_denial *denial, struct nacre_error *err)
{
    bool is_native = call->entry->native != NULL;
    bool elevated = call->asked->elevated && session->sandboxed;

    nacre_session_request(session, &call->request);
    if (!is_native) {
        call->policy = session->files;
        (void)snprintf(call->why, sizeof(call->why),
                       "it is a module: it needs no shell and runs at level wasm, with "
                       "the files of this session");
    } else if (elevated) {
        if (call->entry->native != &native_exec)
            return deny(denial, "not-elevated", err,
                        "only exec can be lifted out of its sandbox: call %s without "
                        "elevation",
                        call->name);
        if (!session->elevated.allowed) {
            const struct nacre_gate *gate = &session->elevated.gates[0];

            if (session->elevated.gate_count > 0) {
                (void)snprintf(denial->rule, sizeof(denial->rule), "%.63s", gate->key);
                denial->place = gate->place;
            }
            return deny(denial, "not-elevated", err,
                        "this session may not run commands outside its sandbox: the gate "
                        "%s is shut; call it without elevation",
                        session->elevated.gate_count > 0 ? gate->gate : "enabled");
        }
        nacre_session_request_host(session, &call->request);
        call->policy = session->host;
        (void)snprintf(call->why, sizeof(call->why),
                       "elevated: every gate of tools.elevated is open for this sender");
    } else {
        call->policy = session->shell;
        (void)snprintf(call->why, sizeof(call->why), "%s: %s is %s (%s)",
                       session->sandboxed ? "the session is sandboxed"
                                          : "the session is not sandboxed",
                       session->mode_source.key, nacre_mode_name(session->mode),
                       nacre_from_name(session->mode_source.from));
    }
    if (!call->policy)
        return deny(denial, "no-policy", err,
                    "the configuration gives no policy for this tool");
    return NACRE_OK;
}

/* A token, or a mount to write to, asks for all that the policy grants. */
static enum tools_use use_of(const struct tools_call *call)
{
    const struct nacre_request *request = &call->request;
    bool reads = call->entry->manifest->access == NACRE_TOOL_ACCESS_READ &&
                 !request->intent;

    if (call->entry->native)
        return TOOLS_USE_COMMAND;
    for (uint32_t i = 0; i < request->mount_count; i++)
        reads &= request->mounts[i].mode != 'w';
    return reads ? TOOLS_USE_READER : TOOLS_USE_MODULE;
}

static enum nacre_status of_reference(struct tools_call *call,
                                      struct nacre_denial *denial,
                                      struct nacre_error *err)
{
    const struct nacre_manifest *manifest = call->entry->manifest;
    const char *reference = call->asked->policy ? call->asked->policy
                                                : manifest->sandbox_ref;
    bool is_native = call->entry->native != NULL;
    enum nacre_status status;

    if (call->asked->elevated)
        return deny(denial, "not-elevated", err,
                    "elevation is what a configuration grants, and there is none: call "
                    "it without");
    status = tools_policy_get(call->engine, reference, use_of(call), &call->held, err);
    if (status != NACRE_OK)
        return status;
    call->policy = call->held->policy;
    (void)snprintf(call->why, sizeof(call->why), "%s; policy %s, %s%s",
                   is_native ? "a command runs at its policy's level"
                             : "it is a module: it needs no shell and runs at level wasm",
                   call->policy->name,
                   call->asked->policy     ? "as the caller asks"
                   : manifest->sandbox_ref ? "its manifest's sandbox_ref"
                                           : "which grants nothing: none was named",
                   call->policy->input.held_to_reading
                       ? "; it brings no intent and is held to reading"
                       : "");
    return NACRE_OK;
}

/* Is there anything that a tool could write to? */
static bool has_writable(const struct nacre_policy *policy,
                         const struct nacre_request *request)
{
    if (policy->filesystem.mode == NACRE_FILESYSTEM_FULL)
        return true;
    if (policy->filesystem.mode != NACRE_FILESYSTEM_SCOPED)
        return false;
    for (size_t i = 0; i < policy->filesystem.mounts.count; i++)
        if (policy->filesystem.mounts.items[i].writable)
            return true;
    for (uint32_t i = 0; i < request->mount_count; i++)
        if (request->mounts[i].mode == 'w')
            return true;
    return false;
}

static enum nacre_status judge_writes(const struct tools_call *call,
                                      struct nacre_denial *denial,
                                      struct nacre_error *err)
{
    const struct nacre_session *session = call->asked->session;
    const struct nacre_policy *policy = call->policy;

    if (call->entry->manifest->access != NACRE_TOOL_ACCESS_WRITE)
        return NACRE_OK;
    if (session && session->writes_off) {
        (void)snprintf(denial->rule, sizeof(denial->rule), "%.63s",
                       session->access_source.key);
        denial->place = session->access_source.place;
        return deny(denial, "writes-off", err,
                    "the workspace of this session is read-only, and tools that write "
                    "are off: answer with what should be changed instead");
    }
    if (has_writable(policy, &call->request))
        return NACRE_OK;
    (void)snprintf(denial->rule, sizeof(denial->rule), "capabilities.filesystem");
    denial->place = policy->filesystem.mode_place;
    (void)snprintf(denial->fix, sizeof(denial->fix),
                   "a policy with mode: scoped and a mount_paths entry with permissions: "
                   "rw");
    return deny(denial, "writes-off", err,
                "the policy %s lets no tool write: answer with what should be changed "
                "instead",
                word(policy->name));
}

/* What the session says of its shell is not for level wasm, and of its container not for
 * level none. */
static void drop_shell(struct tools_call *call)
{
    if (call->policy->level == NACRE_LEVEL_NONE) {
        call->request.scope = NACRE_SCOPE_RUN;
        call->request.box_name = NULL;
    }
    if (call->entry->native)
        return;
    call->request.unsandboxed = false;
    call->request.box_name = NULL;
    if (call->asked->session) /* else it is the caller's, and of what is private */
        call->request.scope = NACRE_SCOPE_UNSET;
}

enum nacre_status tools_enter(struct tools_call *call, const struct nacre_tool *tool,
                              struct nacre_denial *ret_denial, struct nacre_error *err)
{
    const struct nacre_session *session = call->asked->session;
    char why[256];
    enum nacre_status status;

    if (!session)
        return NACRE_OK;
    status = nacre_session_enter(session, call->engine, call->policy, tool, false,
                                 call->request.cancelled, &call->request, &call->hold,
                                 err);
    drop_shell(call);
    if (status != NACRE_ERR_TIMEOUT && status != NACRE_ERR_DENIED)
        return status;
    *ret_denial = (struct nacre_denial){ 0 };
    (void)snprintf(why, sizeof(why), "%.255s", err->text);
    return status == NACRE_ERR_TIMEOUT
               ? deny(ret_denial, "session-busy", err,
                      "another call of this session is still running; wait for it and "
                      "call again")
               : deny(ret_denial, "session-workspace", err, "%s", why);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

enum nacre_status tools_choose(struct tools_call *call, struct nacre_denial *ret_denial,
                               struct nacre_error *err)
{
    const struct nacre_manifest *manifest = call->entry->manifest;
    enum nacre_status status;

    *ret_denial = (struct nacre_denial){ 0 };
    call->request = call->asked->request;
    call->request.called = call->name;
    call->request.input_fd = -1;
    status = call->asked->session
                 ? of_session(call, call->asked->session, ret_denial, err)
                 : of_reference(call, ret_denial, err);
    if (status == NACRE_OK)
        status = judge_writes(call, ret_denial, err);
    if (status != NACRE_OK)
        return status;
    drop_shell(call);
    /* A caller may ask for less than the manifest says, and nobody for more than the
     * policy. */
    if (!call->entry->native)
        call->request.fuel = least(call->request.fuel, manifest->fuel.value);
    call->request.timeout_ms =
        least(call->request.timeout_ms, manifest->timeout_ms.value);
    if (call->request.timeout_ms > call->policy->limits.timeout_ms.value)
        call->request.timeout_ms = call->policy->limits.timeout_ms.value;
    return NACRE_OK;
}
