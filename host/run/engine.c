#include "engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/approval.h"
#include "nacre/door.h"
#include "nacre/keeper.h"
#include "nacre/secrets.h"
#include "session_private.h"

#define NOTICE_BYTES 512

static const struct nacre_executor_ops *const served[NACRE_SLOT_COUNT] = {
    [NACRE_LEVEL_WASM] = &nacre_wasm_executor,
    [NACRE_LEVEL_PROCESS] = &nacre_process_executor,
    [NACRE_LEVEL_CONTAINER] = &nacre_container_executor,
    [NACRE_LEVEL_VM] = &nacre_vm_executor,
    [NACRE_LEVEL_NONE] = &nacre_none_executor,
    [NACRE_SLOT_KEEPER] = &nacre_keeper_executor,
    [NACRE_SLOT_KEEPER_VM] = &nacre_keeper_vm_executor,
};

/* What the caller says; the places follow when they are known. */
static struct nacre_executor_options
executor_options(const struct nacre_engine_options *options)
{
    return (struct nacre_executor_options){
        .single_run = options->single_run && options->fork_self,
        .in_process = options->in_process,
        .landlock_min = options->landlock_min,
        .on_progress = options->on_progress,
        .on_progress_data = options->callback_data,
    };
}

static void add_places(struct nacre_engine *engine)
{
    struct nacre_executor_options *options = &engine->executor_options;
    const struct nacre_places *places = &engine->places;

    options->program = engine->forks_self ? NULL : places->program;
    options->cache_dir = places->cache_dir;
    options->key_dir = places->key_dir;
    options->state_dir = places->state_dir;
    options->host_file = places->host_file;
    options->protected_paths = places->protected_paths;
    options->doors = engine->doors;
}

static enum nacre_status load_host_file(struct nacre_engine *engine,
                                        struct nacre_error *err)
{
    struct nacre_executor_options *options = &engine->executor_options;
    const char *file = engine->places.host_file;
    struct nacre_host_rules *rules;
    enum nacre_status status = nacre_host_rules_load(file, &rules, err);

    if (status != NACRE_OK)
        return status;
    if (rules->engine_host &&
        asprintf(&engine->engine_origin, "%s:%d:%d", file, (int)rules->engine_place.line,
                 (int)rules->engine_place.column) < 0) {
        engine->engine_origin = NULL;
        nacre_host_rules_free(rules);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for host.yaml");
    }
    engine->host_rules = rules;
    options->engine_host = rules->engine_host;
    options->engine_certificates = rules->engine_certificates;
    options->engine_origin = engine->engine_origin;
    return NACRE_OK;
}

/* Which engine runs containers, if the operator says so.  Only when one may be needed:
 * whoever runs none is not held up by a file that is broken.  What it says is read once, as
 * executors that run already look at it.  `opening` is held. */
static enum nacre_status read_host_file(struct nacre_engine *engine,
                                        struct nacre_error *err)
{
    if (!engine->host_read)
        engine->host_status = load_host_file(engine, &engine->host_error);
    /* What else failed may succeed the next time. */
    engine->host_read = engine->host_status == NACRE_OK ||
                        engine->host_status == NACRE_ERR_PARSE;
    if (engine->host_status != NACRE_OK)
        *err = engine->host_error;
    return engine->host_status;
}

/* Nobody must be given the way to it: where the file can't be read, no mount is.  An
 * executor that is opened before the places are known gets this after it. */
static void know_engine(struct nacre_engine *engine)
{
    struct nacre_executor_options *options = &engine->executor_options;
    struct nacre_error ignored;

    if (engine->places.host_file)
        options->engine_unknown = read_host_file(engine, &ignored) == NACRE_OK
                                      ? NULL
                                      : &engine->host_error;
}

static bool is_keepers(uint32_t slot)
{
    return slot == NACRE_SLOT_KEEPER || slot == NACRE_SLOT_KEEPER_VM;
}

static enum nacre_status open_locked(struct nacre_engine *engine, uint32_t slot,
                                     struct nacre_executor **ret_executor,
                                     struct nacre_error *err)
{
    struct nacre_executor *executor = atomic_load(&engine->executors[slot]);
    struct nacre_executor_options options;
    enum nacre_status status;
    int cancelled;

    if (!executor) {
        if (slot == NACRE_LEVEL_PROCESS || slot == NACRE_LEVEL_WASM)
            know_engine(engine);
        if (slot == NACRE_LEVEL_CONTAINER || slot == NACRE_LEVEL_VM || is_keepers(slot)) {
            status = read_host_file(engine, err);
            if (status != NACRE_OK)
                return status;
        }
        options = engine->executor_options;
        /* An executor without one would fork this process. */
        if (slot == NACRE_LEVEL_WASM && !options.program && !engine->forks_self)
            return nacre_places_lack_program(err);
        /* A keeper is always spawned: it outlives this process. */
        if (is_keepers(slot))
            options.program = engine->places.program;
        /* Machines are run in containers: one connection to the engine, one list of what
         * is warm. */
        if (slot == NACRE_LEVEL_VM) {
            status = open_locked(engine, NACRE_LEVEL_CONTAINER, &options.containers, err);
            if (status != NACRE_OK)
                return status;
        }
        status = served[slot]->open(is_keepers(slot) || slot == NACRE_LEVEL_VM
                                        ? &options
                                        : &engine->executor_options,
                                    &executor, err);
        if (status != NACRE_OK)
            return status;
        /* Seen first and asked second; nacre_cancel() does it the other way round, so
         * that one of the two always sees the other. */
        atomic_store(&engine->executors[slot], executor);
        cancelled = atomic_load(&engine->cancelled);
        if (cancelled != 0)
            executor->ops->cancel(executor, cancelled);
    }
    *ret_executor = executor;
    return NACRE_OK;
}

static enum nacre_status ready(struct nacre_engine *engine, uint32_t slot,
                               struct nacre_executor **ret_executor,
                               struct nacre_error *err)
{
    struct nacre_executor *executor = atomic_load(&engine->executors[slot]);
    enum nacre_status status;

    if (executor) {
        *ret_executor = executor;
        return NACRE_OK;
    }
    (void)pthread_mutex_lock(&engine->opening);
    status = open_locked(engine, slot, ret_executor, err);
    (void)pthread_mutex_unlock(&engine->opening);
    return status;
}

enum nacre_status nacre_engine_ready(struct nacre_engine *engine, enum nacre_level level,
                                     struct nacre_executor **ret_executor,
                                     struct nacre_error *err)
{
    return ready(engine, level, ret_executor, err);
}

/* One that can enforce nothing at all is none, for the reason that its probe found. */
static enum nacre_status probe(struct nacre_executor *executor, uint64_t wanted,
                               struct nacre_error *err)
{
    executor->ops->probe(executor, wanted);
    if (atomic_load(&executor->features) != 0)
        return NACRE_OK;
    for (uint32_t i = 0; i < atomic_load(&executor->mechanism_count); i++)
        if (!executor->mechanisms[i].present)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "level %s can't be had here: %s", executor->ops->name,
                              executor->mechanisms[i].detail);
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "level %s can't be had here",
                      executor->ops->name);
}

enum nacre_status nacre_engine_choose(struct nacre_engine *engine,
                                      const struct nacre_plan *plan,
                                      struct nacre_executor **ret_executor,
                                      struct nacre_error *err)
{
    bool is_kept = plan->scope_key && !engine->own_boxes;
    uint32_t slot = is_kept && plan->level == NACRE_LEVEL_CONTAINER ? NACRE_SLOT_KEEPER
                    : is_kept && plan->level == NACRE_LEVEL_VM ? NACRE_SLOT_KEEPER_VM
                                                               : plan->level;
    struct nacre_executor *executor = NULL;
    enum nacre_status status = ready(engine, slot, &executor, err);

    if (status == NACRE_OK)
        status = probe(executor, plan->required, err);
    if (status == NACRE_OK)
        *ret_executor = executor;
    return status;
}

enum nacre_status nacre_engine_keep(struct nacre_engine *engine,
                                    const struct nacre_engine_keep_options *options,
                                    struct nacre_error *err)
{
    struct nacre_keeper_options whole = {
        .state_dir = engine->places.state_dir,
        .program = engine->places.program,
        .idle_ms = options->idle_ms ? options->idle_ms : NACRE_KEEPER_IDLE_MS,
        .prune_ms = NACRE_KEEPER_PRUNE_MS,
        .reap_ms = options->reap_ms ? options->reap_ms : NACRE_KEEPER_REAP_MS,
        .ready_fd = options->ready_fd,
        .leaving = options->leaving,
        .list = nacre_container_boxes_list,
        .end = nacre_container_boxes_end,
    };
    enum nacre_status status = ready(engine, NACRE_LEVEL_CONTAINER, &whole.executor, err);

    if (status == NACRE_OK)
        status = ready(engine, NACRE_LEVEL_VM, &whole.machines, err);
    whole.engine_host = engine->executor_options.engine_host;
    whole.engine_certificates = engine->executor_options.engine_certificates;
    return status == NACRE_OK ? nacre_keeper_serve(&whole, err) : status;
}

enum nacre_status nacre_engine_image_build(struct nacre_engine *engine,
                                           enum nacre_image image, const char *tag,
                                           void (*said)(void *data, const char *text),
                                           void *data, struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = ready(engine, NACRE_LEVEL_CONTAINER, &executor, err);

    return status == NACRE_OK
               ? nacre_container_image_build(executor, image, tag, said, data, err)
               : status;
}

/* Levels wasm and process are made ready while their caller still reads policy and
 * module: a sandbox takes longer to make than its plan.  That one can't be had here is
 * told to who asks for it. */
static enum nacre_status open_early(struct nacre_engine *engine, enum nacre_level level,
                                    struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = nacre_engine_ready(engine, level, &executor, err);

    return status == NACRE_ERR_UNAVAILABLE ? NACRE_OK : status;
}

/* All that an engine has but executors and the log. */
static enum nacre_status furnish(struct nacre_engine *engine,
                                 const struct nacre_engine_options *options,
                                 struct nacre_error *err)
{
    enum nacre_status status = nacre_places_find(options, &engine->places, err);

    if (status == NACRE_OK)
        status = nacre_random(engine->run_prefix, sizeof(engine->run_prefix), err);
    if (status == NACRE_OK)
        status = nacre_plans_new(&engine->plans, err);
    if (status == NACRE_OK)
        status = session_privates_new(&engine->privates, err);
    if (status == NACRE_OK)
        status = nacre_doors_new(
            &(struct nacre_doors_options){ .program = engine->places.program,
                                           .state_dir = engine->places.state_dir },
            &engine->doors, err);
    if (status == NACRE_OK)
        add_places(engine);
    return status;
}

enum nacre_status nacre_engine_audit(struct nacre_engine *engine, struct nacre_error *err)
{
    char notice[NOTICE_BYTES] = "";
    enum nacre_status status;

    if (!engine->audit_waits)
        return NACRE_OK;
    status = nacre_audit_open(engine->places.audit_path, engine->places.key_dir,
                              &engine->audit, notice, sizeof(notice), err);
    if (status == NACRE_OK)
        engine->audit_waits = false;
    if (status == NACRE_OK && notice[0] && engine->on_notice)
        engine->on_notice(engine->notice_data, notice);
    return status;
}

/* Housekeeping: where a token is used, its expiry is judged again. */
static void reap_tokens(const struct nacre_engine *engine)
{
    char notice[NOTICE_BYTES];
    struct nacre_error err;
    uint64_t purged;

    if (nacre_token_reap(engine->places.state_dir, &purged, &err) == NACRE_OK ||
        !engine->on_notice)
        return;
    (void)snprintf(notice, sizeof(notice), "expired tokens can't be purged: %.400s",
                   err.text);
    engine->on_notice(engine->notice_data, notice);
}

enum nacre_status nacre_engine_open(const struct nacre_engine_options *options,
                                    struct nacre_engine **ret_engine,
                                    struct nacre_error *err)
{
    static const struct nacre_engine_options defaults;
    NACRE_AUTO(nacre_engine_guard)
    struct nacre_engine *engine = calloc(1, sizeof(*engine));
    enum nacre_status status = NACRE_OK;

    if (!engine)
        return nacre_fail(err, NACRE_ERR_MEMORY, "engine");
    if (!options)
        options = &defaults;
    (void)pthread_mutex_init(&engine->opening, NULL);
    engine->own_boxes = options->own_boxes;
    engine->forks_self = options->fork_self;
    engine->on_notice = options->on_notice;
    engine->notice_data = options->callback_data;
    engine->executor_options = executor_options(options);
    /* Before all else that takes time: their way to being ready is the longest. */
    if (options->commands_only && options->process_early)
        status = open_early(engine, NACRE_LEVEL_PROCESS, err);
    if (status == NACRE_OK)
        status = furnish(engine, options, err);
    if (status == NACRE_OK && !options->commands_only)
        status = open_early(engine, NACRE_LEVEL_WASM, err);
    if (status == NACRE_OK && atomic_load(&engine->executors[NACRE_LEVEL_PROCESS]))
        know_engine(engine);
    engine->audit_waits = !options->audit_off;
    if (status == NACRE_OK && !(options->single_run && options->commands_only))
        status = nacre_engine_audit(engine, err);
    if (status != NACRE_OK)
        return status;
    reap_tokens(engine);
    *ret_engine = nacre_engine_take(&engine);
    return NACRE_OK;
}

void nacre_engine_free(struct nacre_engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < NACRE_COUNT(engine->attached); i++)
        if (engine->attached[i].thing)
            engine->attached[i].release(engine->attached[i].thing);
    /* Every run has ended.  Before the executors: what they wait for dies meanwhile. */
    nacre_audit_free(engine->audit);
    for (size_t i = 0; i < NACRE_COUNT(engine->executors); i++) {
        struct nacre_executor *executor = atomic_load(&engine->executors[i]);

        if (executor)
            executor->ops->free(executor);
    }
    nacre_doors_free(engine->doors); /* after those who hold some */
    (void)pthread_mutex_destroy(&engine->opening);
    nacre_plans_free(engine->plans);
    session_privates_free(engine->privates);
    nacre_host_rules_free(engine->host_rules);
    free(engine->engine_origin);
    nacre_places_clear(&engine->places);
    free(engine);
}

enum nacre_status nacre_engine_policy(struct nacre_engine *engine, const char *reference,
                                      struct nacre_policy **ret_policy,
                                      struct nacre_error *err)
{
    return reference ? nacre_policy_load(reference,
                                         (const char *const *)engine->places.policy_dirs,
                                         ret_policy, err)
                     : nacre_policy_most_restrictive(ret_policy, err);
}

void nacre_cancel(struct nacre_engine *engine, int signal)
{
    atomic_store(&engine->cancelled, signal);
    for (size_t i = 0; i < NACRE_COUNT(engine->executors); i++) {
        struct nacre_executor *executor = atomic_load(&engine->executors[i]);

        if (executor)
            executor->ops->cancel(executor, signal);
    }
}

enum nacre_status nacre_engine_executor(struct nacre_engine *engine,
                                        enum nacre_level level,
                                        const struct nacre_executor **ret_executor,
                                        struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = nacre_engine_ready(engine, level, &executor, err);

    if (status != NACRE_OK)
        return status;
    status = probe(executor, ~UINT32_C(0), err);
    if (status == NACRE_OK)
        *ret_executor = executor;
    return status;
}

/* The level's own line says why there is none, unless it says worse already. */
static void refuse_level(struct nacre_plan *draft, const struct nacre_error *why)
{
    for (uint32_t i = 0; i < draft->decision_count; i++) {
        struct nacre_decision *decision = &draft->decisions[i];

        if (strcmp(decision->rule, "level") != 0 ||
            decision->verdict == NACRE_VERDICT_REFUSE)
            continue;
        decision->verdict = NACRE_VERDICT_REFUSE;
        decision->mechanism[0] = '\0';
        (void)snprintf(decision->what, sizeof(decision->what), "%.255s", why->text);
        (void)snprintf(decision->fix, sizeof(decision->fix),
                       "see nacre backends for what this machine lacks");
    }
}

/* As nacre_run() plans it, with nothing made. */
static enum nacre_status draft_kept(const struct nacre_engine *engine,
                                    const struct nacre_policy *policy,
                                    const struct nacre_request *asked,
                                    struct nacre_plan **ret_plan, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(nacre_heap_guard) char *path = NULL;
    struct nacre_request request = *asked;
    enum nacre_status status;

    request.private_dir = NULL;
    status = nacre_plan_draft(policy, &request, &plan, err);
    if (status == NACRE_OK && session_private_is_meant(plan, &request)) {
        path = session_private_name(engine->places.state_dir, &request);
        if (!path)
            return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
        request.private_dir = path;
        nacre_plan_free(nacre_plan_take(&plan));
        status = nacre_plan_draft(policy, &request, &plan, err);
    }
    if (status == NACRE_OK)
        *ret_plan = nacre_plan_take(&plan);
    return status;
}

enum nacre_status nacre_engine_draft(struct nacre_engine *engine,
                                     const struct nacre_policy *policy,
                                     const struct nacre_request *request,
                                     struct nacre_plan **ret_plan,
                                     struct nacre_error *err)
{
    enum nacre_status status = draft_kept(engine, policy, request, ret_plan, err);
    const struct nacre_executor *executor;
    struct nacre_error why;

    if (status != NACRE_OK)
        return status;
    if (nacre_engine_executor(engine, (*ret_plan)->level, &executor, &why) == NACRE_OK)
        nacre_plan_settle(*ret_plan, executor->features);
    else
        refuse_level(*ret_plan, &why);
    return NACRE_OK;
}

void *nacre_engine_attached(struct nacre_engine *engine, void *(*make)(void),
                            void (*release)(void *thing))
{
    struct nacre_attached *place = engine->attached;
    void *thing;

    (void)pthread_mutex_lock(&engine->opening);
    while (place->make && place->make != make) {
        place++;
        assert(place < engine->attached + NACRE_ATTACHED_MAX);
    }
    if (!place->thing)
        *place = (struct nacre_attached){ make, release, make() };
    thing = place->thing;
    (void)pthread_mutex_unlock(&engine->opening);
    return thing;
}

const char *const *nacre_engine_policy_dirs(const struct nacre_engine *engine)
{
    return (const char *const *)engine->places.policy_dirs;
}

const char *const *nacre_engine_tool_dirs(const struct nacre_engine *engine)
{
    return (const char *const *)engine->places.tool_dirs;
}

const char *nacre_engine_state_dir(const struct nacre_engine *engine)
{
    return engine->places.state_dir;
}

const char *nacre_engine_cache_dir(const struct nacre_engine *engine)
{
    return engine->places.cache_dir;
}

const char *nacre_engine_audit_path(const struct nacre_engine *engine)
{
    return engine->places.audit_path;
}

void nacre_engine_notice(struct nacre_engine *engine, const char *sentence)
{
    if (engine->on_notice)
        engine->on_notice(engine->notice_data, sentence);
}

const char *nacre_engine_program(const struct nacre_engine *engine)
{
    return engine->places.program;
}

const char *nacre_engine_host_file(const struct nacre_engine *engine)
{
    return engine->places.host_file;
}

const char *nacre_engine_key_dir(const struct nacre_engine *engine)
{
    return engine->places.key_dir;
}

static enum nacre_status wasm_ready(struct nacre_engine *engine,
                                    struct nacre_executor **ret_executor,
                                    struct nacre_error *err)
{
    return nacre_engine_ready(engine, NACRE_LEVEL_WASM, ret_executor, err);
}

enum nacre_status nacre_cache_add(struct nacre_engine *engine,
                                  const struct nacre_tool *tool, uint64_t timeout_ms,
                                  struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = wasm_ready(engine, &executor, err);

    return status == NACRE_OK ? nacre_wasm_cache_add(executor, tool, timeout_ms, err)
                              : status;
}

enum nacre_status nacre_cache_report(struct nacre_engine *engine,
                                     struct nacre_cache_report *ret_report,
                                     struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = wasm_ready(engine, &executor, err);

    return status == NACRE_OK ? nacre_wasm_cache_report(executor, ret_report, err)
                              : status;
}

enum nacre_status nacre_cache_list(struct nacre_engine *engine,
                                   void (*each)(void *data,
                                                const struct nacre_cache_entry *entry),
                                   void *data, struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = wasm_ready(engine, &executor, err);

    return status == NACRE_OK ? nacre_wasm_cache_list(executor, each, data, err) : status;
}

enum nacre_status nacre_cache_clear(struct nacre_engine *engine,
                                    struct nacre_cache_report *ret_removed,
                                    struct nacre_error *err)
{
    struct nacre_executor *executor;
    enum nacre_status status = wasm_ready(engine, &executor, err);

    return status == NACRE_OK ? nacre_wasm_cache_clear(executor, ret_removed, err)
                              : status;
}
