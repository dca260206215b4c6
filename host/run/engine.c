#include "engine.h"

#include <stdlib.h>

#define NOTICE_BYTES 512

static enum nacre_status open_executors(struct nacre_engine *engine,
                                        const struct nacre_engine_options *options,
                                        struct nacre_error *err)
{
    const struct nacre_executor_options executor_options = {
        .program = engine->places.program,
        .single_run = options->single_run && options->fork_self,
        .cache_dir = engine->places.cache_dir,
        .key_dir = engine->places.key_dir,
        .protected_paths = engine->places.protected_paths,
        .in_process = options->in_process,
        .landlock_min = options->landlock_min,
        .on_progress = options->on_progress,
        .on_progress_data = options->callback_data,
    };
    enum nacre_status status;

    status = nacre_wasm_executor.open(&executor_options, &engine->executors[0], err);
    if (status != NACRE_OK)
        return status;
    engine->executor_count = 1;
    return NACRE_OK;
}

static enum nacre_status open_audit(struct nacre_engine *engine,
                                    const struct nacre_engine_options *options,
                                    struct nacre_error *err)
{
    char notice[NOTICE_BYTES] = "";
    enum nacre_status status;

    if (options->audit_off)
        return NACRE_OK;
    status = nacre_audit_open(engine->places.audit_path, engine->places.key_dir,
                              &engine->audit, notice, sizeof(notice), err);
    if (status == NACRE_OK && notice[0] && options->on_notice)
        options->on_notice(options->callback_data, notice);
    return status;
}

enum nacre_status nacre_engine_open(const struct nacre_engine_options *options,
                                    struct nacre_engine **ret_engine,
                                    struct nacre_error *err)
{
    static const struct nacre_engine_options defaults;
    NACRE_AUTO(nacre_engine_guard)
    struct nacre_engine *engine = calloc(1, sizeof(*engine));
    enum nacre_status status;

    if (!engine)
        return nacre_fail(err, NACRE_ERR_MEMORY, "engine");
    if (!options)
        options = &defaults;
    status = nacre_places_find(options, &engine->places, err);
    if (status == NACRE_OK)
        status = nacre_random(engine->run_prefix, sizeof(engine->run_prefix), err);
    if (status == NACRE_OK)
        status = nacre_plans_new(&engine->plans, err);
    /* Executors first: theirs is the longest way to being ready. */
    if (status == NACRE_OK)
        status = open_executors(engine, options, err);
    if (status == NACRE_OK)
        status = open_audit(engine, options, err);
    if (status != NACRE_OK)
        return status;
    *ret_engine = nacre_engine_take(&engine);
    return NACRE_OK;
}

void nacre_engine_free(struct nacre_engine *engine)
{
    if (!engine)
        return;
    for (uint32_t i = 0; i < engine->executor_count; i++)
        engine->executors[i]->ops->free(engine->executors[i]);
    nacre_audit_free(engine->audit);
    nacre_plans_free(engine->plans);
    nacre_places_clear(&engine->places);
    free(engine);
}

enum nacre_status nacre_engine_policy(struct nacre_engine *engine, const char *reference,
                                      struct nacre_policy **ret_policy,
                                      struct nacre_error *err)
{
    if (!reference)
        return nacre_policy_most_restrictive(ret_policy, err);
    return nacre_policy_load(reference, (const char *const *)engine->places.policy_dirs,
                             ret_policy, err);
}

void nacre_cancel(struct nacre_engine *engine, int signal)
{
    for (uint32_t i = 0; i < engine->executor_count; i++)
        engine->executors[i]->ops->cancel(engine->executors[i], signal);
}

uint32_t nacre_engine_executors(struct nacre_engine *engine,
                                const struct nacre_executor *const **ret_executors)
{
    for (uint32_t i = 0; i < engine->executor_count; i++)
        engine->executors[i]->ops->probe(engine->executors[i], ~UINT32_C(0));
    *ret_executors = (const struct nacre_executor *const *)engine->executors;
    return engine->executor_count;
}

const char *nacre_engine_cache_dir(const struct nacre_engine *engine)
{
    return engine->places.cache_dir;
}

const char *nacre_engine_audit_path(const struct nacre_engine *engine)
{
    return engine->places.audit_path;
}

const char *nacre_engine_key_dir(const struct nacre_engine *engine)
{
    return engine->places.key_dir;
}

enum nacre_status nacre_cache_add(struct nacre_engine *engine,
                                  const struct nacre_tool *tool, uint64_t timeout_ms,
                                  struct nacre_error *err)
{
    return nacre_wasm_cache_add(engine->executors[0], tool, timeout_ms, err);
}

enum nacre_status nacre_cache_report(struct nacre_engine *engine,
                                     struct nacre_cache_report *ret_report,
                                     struct nacre_error *err)
{
    return nacre_wasm_cache_report(engine->executors[0], ret_report, err);
}

enum nacre_status nacre_cache_clear(struct nacre_engine *engine,
                                    struct nacre_cache_report *ret_removed,
                                    struct nacre_error *err)
{
    return nacre_wasm_cache_clear(engine->executors[0], ret_removed, err);
}
