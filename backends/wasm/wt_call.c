#include "wt_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/text.h"
#include "wt_engine.h"
#include "wt_memory.h"
#include "wt_reason.h"
#include "wt_values.h"

enum nacre_status wt_code_load(wasm_engine_t *engine, const wasmtime_linker_t *linker,
                               int fd, struct wt_code **ret_code, struct nacre_error *err)
{
    NACRE_AUTO(wt_code_guard) struct wt_code *code = calloc(1, sizeof(*code));
    wasmtime_error_t *error;
    char path[32];

    if (!code)
        return nacre_fail(err, NACRE_ERR_MEMORY, "module");
    /* The engine maps a file by name only; this name leads to the sealed copy. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    error = wasmtime_module_deserialize_file(engine, path, &code->module);
    if (error)
        return wt_fail(err, NACRE_ERR_BACKEND, "compiled code can't be loaded", error);
    error = wasmtime_linker_instantiate_pre(linker, code->module, &code->ready);
    if (error)
        return wt_fail(err, NACRE_ERR_NOT_RUNNABLE, "imports", error);
    *ret_code = wt_code_take(&code);
    return NACRE_OK;
}

void wt_code_free(struct wt_code *code)
{
    if (!code)
        return;
    if (code->ready)
        wasmtime_instance_pre_delete(code->ready);
    if (code->module)
        wasmtime_module_delete(code->module);
    free(code);
}

uint64_t wt_cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NACRE_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The state of one run, so that its steps can be functions. */
struct run {
    wasmtime_context_t *context;
    wasmtime_instance_t instance;
    struct wt_account account;
    struct nacre_wasi_call *call;
    const _Atomic int *cancelled;
    struct wt_reply *reply;
    bool fuel_exact; /* unless it ended where the engine can't know */
};

static bool is_over(const struct run *run)
{
    return nacre_clock_ns() >= run->call->deadline_ns ||
           (run->cancelled && atomic_load(run->cancelled));
}

/* Someone bumped the epoch: is it this run whose time is up? */
static wasmtime_error_t *at_epoch(const wasmtime_context_t *context, void *data,
                                  uint64_t *ret_delta,
                                  wasmtime_update_deadline_kind_t *ret_kind)
{
    const struct run *run = data;

    (void)context;
    if (is_over(run)) {
        atomic_store(&run->call->record->ending, NACRE_WASI_TIMED_OUT);
        return wasmtime_error_new("deadline");
    }
    *ret_delta = 1;
    *ret_kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
    return NULL;
}

static void refuse(struct run *run, enum nacre_status status, const char *text)
{
    run->reply->status = status;
    (void)snprintf(run->reply->reason, sizeof(run->reply->reason), "%s", text);
}

/* What the engine gave back, once the guest was entered.  Takes error and trap. */
static void conclude(struct run *run, wasmtime_error_t *error, wasm_trap_t *trap)
{
    struct wt_reply *reply = run->reply;
    uint32_t ending = atomic_load(&run->call->record->ending);

    /* Our own record comes first: nothing that a guest makes the engine say can
     * overrule it. */
    if (ending == NACRE_WASI_EXITED) {
        reply->outcome = NACRE_OUTCOME_EXITED;
        reply->exit_status = (int32_t)run->call->record->exit_status;
    } else if (ending == NACRE_WASI_TIMED_OUT) {
        reply->outcome = NACRE_OUTCOME_TIMED_OUT;
        run->fuel_exact = false;
    } else if (ending == NACRE_WASI_OUTPUT_LIMIT) {
        reply->outcome = NACRE_OUTCOME_OUTPUT_LIMIT;
    } else if (!error && !trap) {
        reply->outcome = NACRE_OUTCOME_EXITED;
    } else {
        struct wt_cause cause = wt_reason_write(error, trap, reply->reason,
                                                sizeof(reply->reason));

        run->fuel_exact = cause.fuel_exact;
        reply->outcome = cause.outcome;
        /* A guest that was refused memory and then gave up ran out of memory. */
        if (cause.outcome == NACRE_OUTCOME_TRAPPED && run->account.refused)
            reply->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
    }
    if (error)
        wasmtime_error_delete(error);
    if (trap)
        wasm_trap_delete(trap);
}

static bool is_running(const struct run *run)
{
    return run->reply->status == NACRE_OK && run->reply->outcome == NACRE_OUTCOME_NONE;
}

static bool find(struct run *run, const char *name, wasmtime_func_t *ret_func)
{
    wasmtime_extern_t item;

    if (!wasmtime_instance_export_get(run->context, &run->instance, name, strlen(name),
                                      &item))
        return false;
    if (item.kind != WASMTIME_EXTERN_FUNC) {
        wasmtime_extern_delete(&item);
        return false;
    }
    *ret_func = item.of.func;
    return true;
}

/* _start or _initialize: () -> () or it is not what it says. */
static void call_plain(struct run *run, const wasmtime_func_t *func, bool is_last)
{
    wasmtime_error_t *error;
    wasm_trap_t *trap = NULL;

    error = wasmtime_func_call(run->context, func, NULL, 0, NULL, 0, &trap);
    if (error || trap || is_last)
        conclude(run, error, trap);
}

static void call_invoked(struct run *run, const char *name)
{
    struct wt_values values;
    wasmtime_func_t func;
    wasmtime_error_t *error;
    wasm_trap_t *trap = NULL;
    char text[256], shown[NACRE_SHOWN];

    if (!find(run, name, &func)) {
        (void)snprintf(text, sizeof(text), "no exported function '%s'",
                       nacre_text_shown(shown, name));
        refuse(run, NACRE_ERR_NOT_RUNNABLE, text);
        return;
    }
    if (!wt_values_parse(&values, run->context, &func, name, run->call->arguments + 1,
                         run->call->argument_count - 1, text, sizeof(text))) {
        refuse(run, NACRE_ERR_NOT_RUNNABLE, text);
        return;
    }
    error =
        wasmtime_func_call(run->context, &func, values.parameters, values.parameter_count,
                           values.results, values.result_count, &trap);
    if (!error && !trap)
        run->reply->values_size = (uint32_t)wt_values_print(&values, run->reply->values,
                                                            sizeof(run->reply->values));
    conclude(run, error, trap);
}

static void enter(struct run *run, const struct wt_code *code, const char *invoke)
{
    wasmtime_func_t func;
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *error;

    error = wasmtime_instance_pre_instantiate(code->ready, run->context, &run->instance,
                                              &trap);
    if (error || trap) {
        conclude(run, error, trap);
        if (run->account.refused)
            run->reply->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
        return;
    }
    if (!invoke) {
        if (find(run, "_start", &func))
            call_plain(run, &func, true);
        else
            refuse(run, NACRE_ERR_NOT_RUNNABLE,
                   "it exports no _start: a reactor is run with --invoke EXPORT");
        return;
    }
    if (find(run, "_initialize", &func))
        call_plain(run, &func, false);
    if (is_running(run))
        call_invoked(run, invoke);
}

static void measure(struct run *run, const struct wt_bounds *bounds,
                    uint64_t cpu_since_ns)
{
    uint64_t left = 0;
    wasmtime_error_t *error = wasmtime_context_get_fuel(run->context, &left);

    if (error)
        wasmtime_error_delete(error);
    run->reply->fuel =
        bounds->fuel_max - (left < bounds->fuel_max ? left : bounds->fuel_max);
    run->reply->fuel_exact = run->fuel_exact;
    run->reply->memory_bytes_peak = run->account.bytes_peak;
    run->reply->memory_refused = run->account.refused;
    run->reply->cpu_ns = wt_cpu_ns() - cpu_since_ns;
}

static void tell(const struct wt_order *order)
{
    if (order->on_reply)
        order->on_reply(order->on_reply_data);
}

void wt_call_run(wasm_engine_t *engine, const struct wt_code *code,
                 const struct wt_order *order, struct wt_reply *reply)
{
    const struct wt_bounds *bounds = &order->bounds;
    struct run run = { .call = order->call, .reply = reply, .cancelled = order->cancelled,
                       .fuel_exact = true,
                       .account = { .bytes_max = bounds->memory_bytes_max } };
    uint64_t cpu_since_ns = order->cpu_since_ns ? order->cpu_since_ns : wt_cpu_ns();
    struct nacre_error err;
    wasmtime_store_t *store;
    wasmtime_error_t *error;

    reply->status = NACRE_OK;
    reply->outcome = NACRE_OUTCOME_NONE;
    reply->exit_status = 0;
    reply->reason[0] = '\0';
    reply->values_size = 0;
    reply->spent = 0;
    reply->fuel = reply->memory_bytes_peak = reply->cpu_ns = 0;
    order->call->memory = &run.account.memory;
    if (nacre_wasi_begin(order->wasi, order->call, &err) != NACRE_OK) {
        refuse(&run, err.status, err.text);
        tell(order);
        return;
    }
    store = wasmtime_store_new(engine, order->wasi, NULL);
    run.context = wasmtime_store_context(store);
    wasmtime_store_limiter(store, -1, (int64_t)bounds->table_elements_max, 1,
                           bounds->table_count, 1);
    wasmtime_store_epoch_deadline_callback(store, at_epoch, &run, NULL);
    wasmtime_context_set_epoch_deadline(run.context, 1);
    error = wasmtime_context_set_fuel(run.context, bounds->fuel_max);
    if (error)
        wasmtime_error_delete(error);

    wt_account_enter(&run.account);
    if (is_over(&run))
        reply->outcome = NACRE_OUTCOME_TIMED_OUT;
    else if (!wt_account_charge(&run.account, bounds->table_bytes))
        reply->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
    else
        enter(&run, code, order->invoke);
    measure(&run, bounds, cpu_since_ns);
    /* What a guest left behind may be hard to remove, but can't make nacre fail. */
    if (nacre_wasi_end(order->wasi, &err) != NACRE_OK)
        reply->spent = 1;
    tell(order);
    wasmtime_store_delete(store);
    wt_account_enter(NULL);
}
