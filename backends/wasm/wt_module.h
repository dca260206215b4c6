#ifndef WT_MODULE_H
#define WT_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/module.h"
#include "nacre/plan.h"

/* For the executor: what nacre_module_read() tells, and a little more. */

/* The text format is converted when it is not larger than this. */
#define WT_MODULE_TEXT_BYTES_MAX ((size_t)1 << 20)

/*
 * The binary form of a tool: its own bytes, or the text format converted.
 * *ret_bytes lives as long as the tool and *ret_owned, which the caller frees with
 * free() and which is NULL when the tool's own bytes serve.
 * NACRE_ERR_NOT_RUNNABLE for what is neither, with a sentence that says what it is.
 */
NACRE_MUST_CHECK enum nacre_status wt_module_binary(const struct nacre_tool *tool,
                                                    const unsigned char **ret_bytes,
                                                    size_t *ret_count,
                                                    unsigned char **ret_owned,
                                                    struct nacre_error *err);

/* Says what is wrong with a module before any time is spent on it:
 * NACRE_ERR_NOT_RUNNABLE. */
NACRE_MUST_CHECK enum nacre_status wt_module_check(const struct nacre_tool *tool,
                                                   const struct nacre_request *request,
                                                   struct nacre_error *err);

/* Imported and defined ones together. */
struct wt_module_tables {
    uint32_t memories, tables;
    uint64_t elements_min; /* the sum of what the tables start with */
    uint64_t elements_max; /* the sum of declared maxima; UINT64_MAX: one has none */
};

NACRE_MUST_CHECK enum nacre_status wt_module_tables(const struct nacre_tool *tool,
                                                    struct wt_module_tables *ret_tables,
                                                    struct nacre_error *err);

#endif
