#ifndef WT_MEMORY_H
#define WT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre_wasi.h"
#include "wasmtime_api.h"

/*
 * The guests' linear memory comes from here and not from the engine, so that the
 * sum is exact, its peak is known and a refused growth is remembered.
 *
 * A run is charged to the account that its thread has entered.  A thread keeps
 * one reservation between runs; what a run wrote is gone before the next one.
 */
struct wt_account {
    uint64_t bytes_max;
    uint64_t bytes_now, bytes_peak;
    bool refused;
    struct nacre_wasi_memory memory; /* the guest's one memory, kept current */
};

/* Everything that this thread instantiates from here on is charged to `account`;
 * NULL ends that.  Memories must be gone before their account. */
void wt_account_enter(struct wt_account *account);

/* Charge what is not memory (tables).  False when it does not fit. */
bool wt_account_charge(struct wt_account *account, uint64_t bytes);

/* Have `config` take memory from here. */
void wt_memory_configure(wasm_config_t *config);

#endif
