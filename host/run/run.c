/*
 * The way of one request: decide, plan, select, record, run, record.  Nothing starts
 * before its begin record is written, and every way out of here leaves an end record.
 */
#include <stdio.h>
#include <string.h>

#include "decide.h"
#include "engine.h"
#include "guard.h"
#include "leaks.h"
#include "nacre/clock.h"
#include "secrets.h"
#include "session_private.h"

static void make_run_id(struct nacre_engine *engine, char ret_id[NACRE_RUN_ID])
{
    uint64_t number = atomic_fetch_add(&engine->runs, 1);
    struct nacre_digest id = { { 0 } };
    char hex[NACRE_HEX];

    memcpy(id.bytes, engine->run_prefix, sizeof(engine->run_prefix));
    for (size_t i = 0; i < sizeof(number); i++)
        id.bytes[sizeof(engine->run_prefix) + i] = (uint8_t)(number >> 8 * (7 - i));
    memcpy(ret_id, nacre_digest_hex(&id, hex), NACRE_RUN_ID - 1);
    ret_id[NACRE_RUN_ID - 1] = '\0';
}

/* The policy or the plan said no: a result like any other. */
static enum nacre_status denied(struct nacre_result *result,
                                const struct nacre_error *err)
{
    result->outcome = NACRE_OUTCOME_DENIED;
    result->usage.fuel_exact = true; /* none: nothing was entered */
    if (result->denial_count == 0) {
        struct nacre_denial denial = { .place = { err->line, err->column } };

        (void)snprintf(denial.code, sizeof(denial.code), "%s",
                       nacre_status_name(err->status));
        (void)snprintf(denial.text, sizeof(denial.text), "%s", err->text);
        nacre_result_deny(result, &denial);
    }
    return NACRE_OK;
}

static bool is_refusal(enum nacre_status status)
{
    return status == NACRE_ERR_DENIED || status == NACRE_ERR_UNAVAILABLE;
}

/* Who wants no more of it has kept us from finding out what could be enforced. */
static enum nacre_status refused(struct nacre_engine *engine, enum nacre_status status,
                                 struct nacre_result *result,
                                 const struct nacre_error *err)
{
    int number = atomic_load(&engine->cancelled);

    if (status != NACRE_ERR_UNAVAILABLE || number == 0)
        return denied(result, err);
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = number;
    result->usage.fuel_exact = true;
    result->denial_count = 0;
    result->denials_seen = 0;
    (void)snprintf(result->reason, sizeof(result->reason), "cancelled before it began");
    return NACRE_OK;
}

/* By its rule it is of files, and else of a host that the door refused: a guest's path may
 * be as short as a name, too.  What by its name would have been let through was refused
 * for where it led, or for what it is; the latter has no line. */
static bool explain(const struct nacre_audit_run *record,
                    const struct nacre_denial *denial, struct nacre_answer *ret_answer)
{
    static const char files[] = "capabilities.filesystem";
    const char *asked = denial->path;
    struct nacre_error err;

    if (!asked[0])
        return false;
    if (strncmp(denial->rule, files, sizeof(files) - 1) == 0)
        return nacre_explain_path(record->policy, record->request, asked, false,
                                  ret_answer, &err) == NACRE_OK &&
               !(ret_answer->read && ret_answer->write);
    return nacre_explain_denial(record->policy, denial, ret_answer) ||
           (nacre_explain_host(record->policy, record->request, asked, ret_answer,
                               &err) == NACRE_OK &&
            !ret_answer->allowed);
}

/* A guest met a wall; which line of the policy had put it there? */
static void find_rules(const struct nacre_audit_run *record, struct nacre_result *result)
{
    for (uint32_t i = 0; i < result->denial_count; i++) {
        struct nacre_denial *denial = &result->denials[i];
        struct nacre_answer answer = { 0 };

        if (!explain(record, denial, &answer))
            continue;
        (void)snprintf(denial->rule, sizeof(denial->rule), "%s", answer.rule);
        (void)snprintf(denial->fix, sizeof(denial->fix), "%s", answer.fix);
        denial->place = answer.place;
    }
}

/* Who reads the result or its record knows the policy by its own words. */
static void spell_denials(const struct nacre_policy *policy, struct nacre_result *result)
{
    for (uint32_t i = 0; i < result->denial_count; i++)
        nacre_policy_spell(policy, result->denials[i].rule, result->denials[i].fix,
                           sizeof(result->denials[i].fix));
}

/* Ends in NACRE_OK with an outcome, or in a failure that is the host's. */
static enum nacre_status run_planned(struct nacre_engine *engine,
                                     struct nacre_executor *executor,
                                     const struct nacre_audit_run *record,
                                     struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(run_leaks_guard) struct run_leaks *leaks = NULL;
    struct nacre_request request;
    enum nacre_status status =
        run_leaks_begin(record->plan, record->request, engine->places.protected_paths,
                        &request, &leaks, err);

    if (status != NACRE_OK)
        return status;
    status = nacre_executor_run(executor, record->plan, record->tool, &request, result,
                                err);
    result->unsandboxed = record->plan->level == NACRE_LEVEL_NONE;
    if (status == NACRE_OK)
        find_rules(record, result);
    status = run_leaks_end(leaks, status, result, err);
    if (status != NACRE_OK && err->rule[0]) {
        struct nacre_denial denial =
            nacre_plan_blame(record->policy, record->plan, record->request, err);

        nacre_result_deny(result, &denial);
        return denied(result, err);
    }
    return is_refusal(status) ? denied(result, err) : status;
}

/* Both records of a run that could not even begin; *err says why, and goes on to. */
static enum nacre_status record_failure(struct nacre_engine *engine,
                                        struct nacre_audit_run *record,
                                        struct nacre_error *err)
{
    struct nacre_error audit_err;

    if (nacre_engine_audit(engine, &audit_err) != NACRE_OK)
        return nacre_fail_context(err, "this can't be recorded in the audit log either");
    if (engine->audit &&
        (nacre_audit_begin(engine->audit, record, &audit_err) != NACRE_OK ||
         nacre_audit_end(engine->audit, record, NULL, err, &audit_err) != NACRE_OK))
        return nacre_fail_context(err, "this can't be recorded in the audit log either");
    return err->status;
}

static enum nacre_status run_recorded(struct nacre_engine *engine,
                                      struct nacre_executor *executor,
                                      struct nacre_audit_run *record,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    uint64_t start_ns = nacre_clock_ns();
    struct nacre_error audit_err;
    enum nacre_status status = NACRE_OK;

    if (engine->audit)
        status = nacre_audit_begin(engine->audit, record, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err,
                                  "nothing was run: the audit record can't be written");
    if (executor)
        status = run_planned(engine, executor, record, result, err);
    result->usage.wall_ns = nacre_clock_ns() - start_ns;
    spell_denials(record->policy, result);
    if (engine->audit && nacre_audit_end(engine->audit, record,
                                         status == NACRE_OK ? result : NULL,
                                         status == NACRE_OK ? NULL : err,
                                         &audit_err) != NACRE_OK &&
        status == NACRE_OK) {
        *err = audit_err;
        return nacre_fail_context(err,
                                  "the run ended, but its audit record can't be written");
    }
    return status;
}

/* A level that can't be had here is the level's line's affair; none stands in for it. */
static enum nacre_status open_level(struct nacre_engine *engine,
                                    const struct nacre_policy *policy,
                                    const struct nacre_plan *plan,
                                    struct nacre_executor **ret_executor,
                                    struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_denial denial = {
        .code = "not-enforceable", .rule = "level", .place = policy->level_place,
        .fix = "see nacre backends for what this machine lacks",
    };
    enum nacre_status status;

    status = nacre_engine_choose(engine, plan, ret_executor, err);
    if (status == NACRE_ERR_UNAVAILABLE) {
        (void)snprintf(denial.text, sizeof(denial.text), "%s", err->text);
        nacre_result_deny(result, &denial);
    }
    return status;
}

/* With which secrets does it run?  From here on record->request is theirs. */
static enum nacre_status open_secrets(struct nacre_engine *engine,
                                      struct run_secrets *secrets,
                                      struct nacre_audit_run *record,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    enum nacre_status status = run_secrets_open(engine, record->policy, record->tool,
                                                record->request, record->run_id, secrets,
                                                result, err);

    secrets->request.private_dir = NULL; /* not the caller's to say */
    record->request = &secrets->request;
    record->tool_name = run_secrets_tool_name(secrets, record->tool_name);
    if (status != NACRE_OK)
        return status;
    /* What the secrets' variables are called is the request's to say, and judged, too. */
    return secrets->environment ? nacre_decide(record->policy, record->tool,
                                               record->request, result, err)
                                : NACRE_OK;
}

#define COMMAND_BYTES_MAX ((size_t)4 << 20)

/* Without a sandbox the record is all that there is between a command and nobody
 * knowing of it. */
static void tell_all(struct nacre_audit_run *record, struct nacre_buf *command,
                     struct nacre_audit_bare *bare)
{
    run_leaks_command(record->tool, record->request, command);
    *bare = (struct nacre_audit_bare){ .command = command->bytes,
                                       .approver = record->request->approver };
    record->bare = bare;
}

/* A run's use of its session's private directories. */
struct run_private {
    struct nacre_engine *engine;
    struct session_private *private; /* NULL: there are none */
    struct nacre_request request;
};

static void run_private_clear(struct run_private *kept)
{
    if (kept->private)
        session_private_put(kept->engine->privates, kept->private);
}

/* Plans it, and finds who can run that here. */
static enum nacre_status choose(struct nacre_engine *engine,
                                const struct nacre_policy *policy,
                                const struct nacre_request *request,
                                const struct nacre_plan **plan,
                                struct nacre_executor **ret_executor,
                                struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_executor *opened = NULL;
    enum nacre_status status =
        nacre_plans_get(engine->plans, policy, request, plan, result, err);

    if (status == NACRE_OK)
        status = open_level(engine, policy, *plan, &opened, result, err);
    if (status == NACRE_OK)
        status = nacre_executor_select(&opened, 1, *plan, ret_executor, result, err);
    return status;
}

/* What is private to its session lies with the session: the plan is made with that.  The
 * first one says what of it is private, and by it nothing was refused. */
static enum nacre_status choose_kept(struct nacre_engine *engine,
                                     struct run_private *kept,
                                     struct nacre_audit_run *record,
                                     const struct nacre_plan **plan,
                                     struct nacre_executor **ret_executor,
                                     struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_status status = choose(engine, record->policy, record->request, plan,
                                      ret_executor, result, err);
    uint64_t left_ms;

    if (status != NACRE_OK || !session_private_is_meant(*plan, record->request))
        return status;
    status = session_private_get(engine->privates, engine->places.state_dir,
                                 record->policy, record->request, &left_ms,
                                 &kept->private, err);
    if (status != NACRE_OK)
        return status;
    kept->engine = engine;
    kept->request = *record->request;
    if (left_ms > 0)
        kept->request.timeout_ms = left_ms;
    kept->request.private_dir = session_private_path(kept->private);
    record->request = &kept->request;
    nacre_plans_put(engine->plans, *plan);
    *plan = NULL;
    status = choose(engine, record->policy, record->request, plan, ret_executor, result,
                    err);
    if (status == NACRE_OK)
        session_private_make_ways(kept->private, *plan);
    return status;
}

bool nacre_run_is_refused(struct nacre_engine *engine, const struct nacre_policy *policy,
                          const struct nacre_tool *tool,
                          const struct nacre_request *request)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_executor *executor = NULL;
    const struct nacre_plan *plan = NULL;
    struct nacre_error err;
    enum nacre_status status = nacre_result_new(&denials, &err);

    if (status == NACRE_OK && tool)
        status = nacre_decide(policy, tool, request, denials, &err);
    if (status == NACRE_OK)
        status = choose(engine, policy, request, &plan, &executor, denials, &err);
    nacre_plans_put(engine->plans, plan);
    return is_refusal(status);
}

/* Decides, plans, selects and runs; whatever is refused on the way is an outcome. */
static enum nacre_status run_request(struct nacre_engine *engine,
                                     struct run_secrets *secrets,
                                     const struct nacre_plan **plan,
                                     struct nacre_audit_run *record,
                                     struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_guard_clear) struct nacre_guard guard = NACRE_GUARD_INIT;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf command = NACRE_BUF(COMMAND_BYTES_MAX);
    NACRE_AUTO(run_private_clear) struct run_private kept = { 0 };
    struct nacre_audit_bare bare;
    struct nacre_executor *executor = NULL;
    struct nacre_error audit_err;
    enum nacre_status status = nacre_decide(record->policy, record->tool,
                                            record->request, result, err);

    if (status == NACRE_OK)
        status = nacre_guard_intent(engine, record->policy, record->tool,
                                    record->request, &guard, result, err);
    if (status == NACRE_OK) {
        status = nacre_guard_input(engine, record->policy, record->tool, record->request,
                                   &guard, result, err);
        record->request = &guard.request;
    }
    if (status == NACRE_OK)
        status = open_secrets(engine, secrets, record, result, err);
    if (status == NACRE_OK)
        status = choose_kept(engine, &kept, record, plan, &executor, result, err);
    if (status == NACRE_OK && record->request->refused)
        status = nacre_fail(err, NACRE_ERR_DENIED,
                            "what can be enforced here has just changed: run it again");
    /* Also what is refused has to be recorded; nothing has been used up yet. */
    if (nacre_engine_audit(engine, &audit_err) != NACRE_OK) {
        *err = audit_err;
        return audit_err.status;
    }
    if (status == NACRE_OK) /* last: an intent is good for one run, not for one try */
        status = nacre_guard_take(engine, record->policy, &guard, result, err);
    if (status != NACRE_OK)
        executor = NULL;
    if (is_refusal(status))
        status = refused(engine, status, result, err);
    if (!executor)
        run_leaks_refused(record->policy, record->request, result,
                          status == NACRE_OK ? NULL : err);
    record->plan = *plan;
    record->executor = executor ? executor->ops->name : NULL;
    if (status != NACRE_OK)
        return record_failure(engine, record, err);
    if (executor && record->plan->level == NACRE_LEVEL_NONE && engine->audit)
        tell_all(record, &command, &bare);
    return run_recorded(engine, executor, record, result, err);
}

enum nacre_status nacre_run(struct nacre_engine *engine,
                            const struct nacre_policy *policy,
                            const struct nacre_tool *tool,
                            const struct nacre_request *request,
                            struct nacre_result **ret_result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_plan *plan = NULL;
    struct nacre_audit_run record = {
        .request = request, .asked = request, .tool = tool, .tool_name = tool->name,
        .policy = policy
    };
    NACRE_AUTO(run_secrets_clear) struct run_secrets secrets = { 0 };
    enum nacre_status status = nacre_result_new(&result, err);

    if (status != NACRE_OK)
        return status;
    make_run_id(engine, result->run_id);
    result->policy_digest = policy->digest;
    result->tool_digest = tool->digest;
    record.run_id = result->run_id;
    status = run_request(engine, &secrets, &plan, &record, result, err);
    nacre_plans_put(engine->plans, plan);
    if (status != NACRE_OK)
        return status;
    *ret_result = nacre_result_take(&result);
    return NACRE_OK;
}

enum nacre_status nacre_run_failed(struct nacre_engine *engine,
                                   const struct nacre_policy *policy,
                                   const char *tool_name,
                                   const struct nacre_request *request,
                                   struct nacre_error *err)
{
    const char *slash = strrchr(tool_name, '/');
    char run_id[NACRE_RUN_ID];
    struct nacre_audit_run record = {
        .run_id = run_id, .request = request, .policy = policy,
        .tool_name = slash ? slash + 1 : tool_name
    };

    make_run_id(engine, run_id);
    return record_failure(engine, &record, err);
}
