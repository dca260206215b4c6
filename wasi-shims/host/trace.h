#ifndef NACRE_WASI_TRACE_H
#define NACRE_WASI_TRACE_H

#include "state.h"

/* Writes the call's line to call.trace_fd. */
void ws_trace(struct nacre_wasi *wasi, const struct nacre_wasi_function *function,
              const union nacre_wasi_cell *cells, int result, uint64_t spent_ns);

#endif
