#ifndef WT_ENGINE_H
#define WT_ENGINE_H

#include <stdbool.h>

#include "nacre/error.h"
#include "wasmtime_api.h"

/*
 * The one configuration of the engine.  Every proposal is set explicitly: several
 * are on by default whatever the header says.
 */

/* Names everything that compiled code depends on; part of the cache's key. */
extern const char wt_engine_config_text[];

/* After nacre_wasmtime_load().  `parallel`: only for a process that compiles and then
 * ends.  A process that forks must never have had the compiler's threads. */
wasm_engine_t *wt_engine_new(bool parallel);

/* A failure in the engine's words, as `status`.  Takes the error. */
enum nacre_status wt_fail(struct nacre_error *err, enum nacre_status status,
                          const char *what, wasmtime_error_t *error);

#endif
