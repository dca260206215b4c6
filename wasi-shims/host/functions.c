#include "functions.h"

#include "nacre/own.h"

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
_Static_assert(NACRE_COUNT(functions) == 46 + 5,
               "preview1 has 46 functions, our own module 5");

const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count)
{
    *ret_count = NACRE_COUNT(functions);
    return functions;
}
