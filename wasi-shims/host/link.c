/* The only file of the shims that knows the engine. */
#include <assert.h>
#include <string.h>

#include "nacre_wasi.h"
#include "wasmtime_api.h"

_Static_assert(sizeof(union nacre_wasi_cell) == sizeof(wasmtime_val_raw_t) &&
                   _Alignof(union nacre_wasi_cell) == _Alignof(wasmtime_val_raw_t),
               "a cell is the engine's raw value");

#define VALUES_MAX 16

static wasm_trap_t *enter(void *env, wasmtime_caller_t *caller,
                          wasmtime_val_raw_t *values, size_t count)
{
    const struct nacre_wasi_function *function = env;
    struct nacre_wasi *wasi = wasmtime_context_get_data(wasmtime_caller_context(caller));
    int result = nacre_wasi_enter(wasi, function, (const union nacre_wasi_cell *)values);

    (void)count;
    /* A code, not a message: it costs less and can't be taken for an error of ours.
     * What it means is in the run's record. */
    if (result == NACRE_WASI_UNWIND)
        return wasmtime_trap_new_code(WASMTIME_TRAP_CODE_INTERRUPT);
    values[0].i32 = result;
    return NULL;
}

static wasm_functype_t *make_type(const char *signature)
{
    wasm_valtype_t *types[2][VALUES_MAX];
    size_t counts[2] = { 0, 0 };
    wasm_valtype_vec_t params, results;
    int part = 0;

    for (const char *c = signature; *c; c++) {
        if (*c == ':') {
            part++;
            continue;
        }
        assert(counts[part] < VALUES_MAX);
        types[part][counts[part]++] = wasm_valtype_new(*c == 'I' ? WASM_I64 : WASM_I32);
    }
    assert(part == 1);
    wasm_valtype_vec_new(&params, counts[0], types[0]);
    wasm_valtype_vec_new(&results, counts[1], types[1]);
    return wasm_functype_new(&params, &results);
}

enum nacre_status nacre_wasi_link(struct wasmtime_linker *linker, struct nacre_error *err)
{
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);

    for (uint32_t i = 0; i < count; i++) {
        const char *module = functions[i].module, *name = functions[i].name;
        void *env = (void *)(uintptr_t)&functions[i];
        wasm_functype_t *type = make_type(functions[i].signature);
        wasmtime_error_t *error = wasmtime_linker_define_func_unchecked(
            linker, module, strlen(module), name, strlen(name), type, enter, env, NULL);

        wasm_functype_delete(type);
        if (error) {
            wasmtime_error_delete(error);
            return nacre_fail(err, NACRE_ERR_BACKEND, "cannot link %s", name);
        }
    }
    return NACRE_OK;
}
