#ifndef NACRE_CACHE_H
#define NACRE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "nacre/executor.h"
#include "nacre/hash.h"
#include "nacre/tool.h"

/* The compiled code that the wasm executor keeps; `executor` must be that one. */

struct nacre_cache_report {
    uint64_t entries, bytes;
};

/*
 * What an entry says of itself.  It is proved when the code is used and not before, so
 * these are words for people; `name` can hold anything.
 */
#define NACRE_CACHE_NAME 64
struct nacre_cache_entry {
    bool is_known;               /* false: damaged, or of another nacre; never used */
    char name[NACRE_CACHE_NAME]; /* the module's when it was compiled, cut to fit */
    struct nacre_digest module;
    uint64_t bytes;
    time_t used_s;
};

/* Compile `tool` now, with a deadline of its own, and keep the code. */
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_add(struct nacre_executor *executor,
                                                        const struct nacre_tool *tool,
                                                        uint64_t timeout_ms,
                                                        struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_report(
    struct nacre_executor *executor, struct nacre_cache_report *ret_report,
    struct nacre_error *err);
/* Hand over each entry, the one that was used last first. */
NACRE_MUST_CHECK enum nacre_status
nacre_wasm_cache_list(struct nacre_executor *executor,
                      void (*each)(void *data, const struct nacre_cache_entry *entry),
                      void *data, struct nacre_error *err);
/* Remove all of it; *ret_removed tells what went. */
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_clear(
    struct nacre_executor *executor, struct nacre_cache_report *ret_removed,
    struct nacre_error *err);

#endif
