#ifndef NACRE_CACHE_H
#define NACRE_CACHE_H

#include "nacre/executor.h"
#include "nacre/tool.h"

/* The compiled code that the wasm executor keeps; `executor` must be that one. */

struct nacre_cache_report {
    uint64_t entries, bytes;
};

/* Compile `tool` now, with a deadline of its own, and keep the code. */
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_add(struct nacre_executor *executor,
                                                        const struct nacre_tool *tool,
                                                        uint64_t timeout_ms,
                                                        struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_report(
    struct nacre_executor *executor, struct nacre_cache_report *ret_report,
    struct nacre_error *err);
/* Remove all of it; *ret_removed tells what went. */
NACRE_MUST_CHECK enum nacre_status nacre_wasm_cache_clear(
    struct nacre_executor *executor, struct nacre_cache_report *ret_removed,
    struct nacre_error *err);

#endif
