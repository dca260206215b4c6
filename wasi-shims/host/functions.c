#include "functions.h"

#include "nacre/own.h"

static const struct nacre_wasi_function functions[] = {
#define X(id, text, needs)                                                    \
    { .name = #id, .signature = (text), .capability = NACRE_CAPABILITY_##needs, \
      .call = ws_##id },
    WS_FUNCTION_MAP(X)
#undef X
};
_Static_assert(NACRE_COUNT(functions) == 46, "preview1 has 46 functions");

const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count)
{
    *ret_count = NACRE_COUNT(functions);
    return functions;
}
