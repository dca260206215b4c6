#ifndef WT_VALUES_H
#define WT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wasmtime_api.h"

/* Arguments of an invoked export, typed by its signature, and its results. */
#define WT_VALUES_COUNT_MAX 32

struct wt_values {
    wasmtime_val_t parameters[WT_VALUES_COUNT_MAX], results[WT_VALUES_COUNT_MAX];
    size_t parameter_count, result_count;
};

/* False with a sentence when the texts do not fit the signature of `func`. */
bool wt_values_parse(struct wt_values *ret_values, wasmtime_context_t *context,
                     const wasmtime_func_t *func, const char *name,
                     const char *const *arguments, size_t argument_count, char *ret_text,
                     size_t text_size);

/* The results as a JSON array; returns its length, 0 when it does not fit. */
size_t wt_values_print(const struct wt_values *values, char *ret_json, size_t size);

#endif
