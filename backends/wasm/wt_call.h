#ifndef WT_CALL_H
#define WT_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/result.h"
#include "nacre_wasi.h"
#include "wasmtime_api.h"

/* A loaded module, ready to be instantiated any number of times. */
struct wt_code {
    wasmtime_module_t *module;
    wasmtime_instance_pre_t *ready;
};

/* `fd` is a sealed memfd that was authenticated; it is mapped, not copied. */
NACRE_MUST_CHECK enum nacre_status wt_code_load(wasm_engine_t *engine,
                                                const wasmtime_linker_t *linker, int fd,
                                                struct wt_code **ret_code,
                                                struct nacre_error *err);
void wt_code_free(struct wt_code *code); /* accepts NULL */
NACRE_OWNED(wt_code)

/* What a run may have beyond what the shims bound. */
struct wt_bounds {
    uint64_t memory_bytes_max;   /* memory and tables together */
    uint64_t table_bytes;        /* set aside for tables, out of that */
    uint64_t table_elements_max; /* of each table */
    uint32_t table_count;
    uint64_t fuel_max;
};

#define WT_VALUES_MAX 16384

/* How it ended.  May lie in shared memory: fixed size, no pointers. */
struct wt_reply {
    uint32_t status; /* enum nacre_status; not OK: the guest was never entered */
    uint32_t outcome;
    int32_t exit_status;
    uint32_t fuel_exact, memory_refused;
    uint32_t
        spent; /* private directories were not emptied: no other run may follow here */
    uint64_t fuel, memory_bytes_peak, cpu_ns;
    char reason[2048]; /* or why it was never entered */
    uint32_t values_size;
    char values[WT_VALUES_MAX]; /* a JSON array, for an invoked export */
};

/* One run; everything is borrowed. */
struct wt_order {
    struct nacre_wasi *wasi;
    struct nacre_wasi_call *call;
    struct wt_bounds bounds;
    const char *invoke; /* the export to call with call->arguments[1...]; NULL: _start */
    const _Atomic int *cancelled; /* not 0 and the epoch bumped: it ends; NULL: never */
    uint64_t cpu_since_ns; /* of this thread, when its account begins; 0: now */
    /* The reply is whole; what is left to do is nobody's concern.  NULL: never called. */
    void (*on_reply)(void *data);
    void *on_reply_data;
};

/*
 * One fresh instance, from start to end, on the calling thread.  Never fails: whatever
 * went wrong after the guest was entered is the guest's outcome.
 */
void wt_call_run(wasm_engine_t *engine, const struct wt_code *code,
                 const struct wt_order *order, struct wt_reply *reply);

/* The processor time of this thread so far. */
uint64_t wt_cpu_ns(void);

#endif
