#include "functions.h"

#include "nacre/own.h"
#include "trace.h"

static const struct nacre_wasi_function functions[] = {
#define ROW(from, id, text, needs)                                \
    { .module = (from), .name = #id, .signature = (text),         \
      .capability = NACRE_CAPABILITY_##needs, .call = ws_##id },
#define X(id, text, needs) ROW(NACRE_WASI_MODULE, id, text, needs)
    WS_FUNCTION_MAP(X)
#undef X
#define X(id, text, needs) ROW(NACRE_WASI_OWN_MODULE, id, text, needs)
    WS_OWN_FUNCTION_MAP(X)
#undef X
#undef ROW
};
_Static_assert(NACRE_COUNT(functions) == 46 + 6,
               "preview1 has 46 functions, our own module 6");

int nacre_wasi_enter(struct nacre_wasi *wasi, const struct nacre_wasi_function *function,
                     const union nacre_wasi_cell *cells)
{
    uint64_t start_ns;
    int result;

    if (!wasi->call.trace_fd)
        return function->call(wasi, cells);
    start_ns = nacre_clock_ns();
    result = function->call(wasi, cells);
    ws_trace(wasi, function, cells, result, nacre_clock_ns() - start_ns);
    return result;
}

const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count)
{
    *ret_count = NACRE_COUNT(functions);
    return functions;
}
