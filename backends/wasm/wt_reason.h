#ifndef WT_REASON_H
#define WT_REASON_H

#include <stdbool.h>
#include <stddef.h>

#include "nacre/result.h"
#include "wasmtime_api.h"

struct wt_cause {
    enum nacre_outcome outcome;
    bool fuel_exact; /* the engine's count was settled when it stopped */
};

/*
 * Why the guest stopped, from what the engine gave back after the guest was
 * entered, with the guest's own backtrace for a person.  One of the two is set;
 * neither is taken.
 */
struct wt_cause wt_reason_write(const wasmtime_error_t *error, const wasm_trap_t *trap,
                                char *ret_text, size_t size);

#endif
