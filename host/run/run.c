/*
 * The way of one request: plan, select, record, run, record.  Nothing starts before
 * its begin record is written, and every way out of here leaves an end record.
 */
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "nacre/clock.h"

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

/* A guest met a wall; which line of the policy had put it there? */
static void find_rules(const struct nacre_audit_run *record, struct nacre_result *result)
{
    for (uint32_t i = 0; i < result->denial_count; i++) {
        struct nacre_denial *denial = &result->denials[i];
        struct nacre_answer answer = { 0 };
        struct nacre_error err;

        if (!denial->path[0] ||
            nacre_explain_path(record->policy, record->request, denial->path, &answer,
                               &err) != NACRE_OK)
            continue;
        /* What the policy would have let through was refused for what it is. */
        if (answer.read && answer.write)
            continue;
        (void)snprintf(denial->rule, sizeof(denial->rule), "%s", answer.rule);
        denial->place = answer.place;
    }
}

/* Ends in NACRE_OK with an outcome, or in a failure that is the host's. */
static enum nacre_status run_planned(struct nacre_executor *executor,
                                     const struct nacre_audit_run *record,
                                     struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_status status = nacre_executor_run(executor, record->plan, record->tool,
                                                  record->request, result, err);

    if (status == NACRE_OK)
        find_rules(record, result);
    return is_refusal(status) ? denied(result, err) : status;
}

static enum nacre_status run_recorded(struct nacre_engine *engine,
                                      struct nacre_executor *executor,
                                      const struct nacre_audit_run *record,
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
        status = run_planned(executor, record, result, err);
    result->usage.wall_ns = nacre_clock_ns() - start_ns;
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

/* Plans, selects and runs; whatever is refused on the way is an outcome. */
static enum nacre_status run_request(struct nacre_engine *engine,
                                     const struct nacre_plan **plan,
                                     struct nacre_audit_run *record,
                                     struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_executor *executor = NULL;
    enum nacre_status status = nacre_plans_get(engine->plans, record->policy,
                                               record->request, plan, result, err);

    if (status == NACRE_OK)
        status = nacre_executor_select(engine->executors, engine->executor_count, *plan,
                                       &executor, result, err);
    if (is_refusal(status))
        status = denied(result, err);
    if (status != NACRE_OK)
        return status;
    record->plan = *plan;
    record->executor = executor ? executor->ops->name : NULL;
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
        .request = request, .tool = tool, .tool_name = tool->name, .policy = policy
    };
    enum nacre_status status = nacre_result_new(&result, err);

    if (status != NACRE_OK)
        return status;
    make_run_id(engine, result->run_id);
    result->policy_digest = policy->digest;
    result->tool_digest = tool->digest;
    record.run_id = result->run_id;
    status = run_request(engine, &plan, &record, result, err);
    nacre_plans_put(engine->plans, plan);
    if (status != NACRE_OK)
        return status;
    *ret_result = nacre_result_take(&result);
    return NACRE_OK;
}
