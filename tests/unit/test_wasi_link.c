/* With the real engine: every row of the table is an import of that type, its errno is
 * the result, and leaving the guest leaves it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>

#include "in_child.h"
#include "nacre/buf.h"
#include "nacre/door_wire.h"
#include "wasi_guest.h"
#include "wasmtime_api.h"

/* (import "module" "name" (func $name (param i32 i64) (result i32))) for each row. */
static void add_imports(struct nacre_buf *wat)
{
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);
    struct nacre_error err;

    for (uint32_t i = 0; i < count; i++) {
        const char *letter = functions[i].signature;

        assert_int_equal(
            nacre_buf_addf(wat, &err, "(import \"%s\" \"%s\" (func $%s (param",
                           functions[i].module, functions[i].name, functions[i].name),
            NACRE_OK);
        for (; *letter != ':'; letter++)
            assert_int_equal(nacre_buf_addf(wat, &err, *letter == 'I' ? " i64" : " i32"),
                             NACRE_OK);
        assert_int_equal(
            nacre_buf_addf(wat, &err, letter[1] ? ") (result i32)))\n" : ")))\n"),
            NACRE_OK);
    }
}

static const char body[] =
    "(memory (export \"memory\") 1)"
    "(func (export \"bad\") (result i32) (call $fd_close (i32.const 77)))"
    "(func (export \"wide\") (result i32)"
    "  (call $fd_seek (i32.const 77) (i64.const -1) (i32.const 0) (i32.const 0)))"
    "(func (export \"own\") (result i32) (call $http_close (i32.const 1)))"
    "(func (export \"leave\") (result i32)"
    "  (call $proc_exit (i32.const 42)) (i32.const 1)))";

static wasm_trap_t *invoke(wasmtime_context_t *context, wasmtime_instance_t *instance,
                           const char *name, int32_t *ret_result)
{
    wasmtime_extern_t item;
    wasmtime_val_t result = { .kind = WASMTIME_I32 };
    wasm_trap_t *trap = NULL;

    assert_true(
        wasmtime_instance_export_get(context, instance, name, strlen(name), &item));
    assert_null(wasmtime_func_call(context, &item.of.func, NULL, 0, &result, 1, &trap));
    *ret_result = result.of.i32;
    return trap;
}

static void every_row_links_returns_and_unwinds(void **state)
{
    static struct guest guest;
    struct nacre_buf wat = NACRE_BUF(100000);
    wasm_engine_t *engine = wasm_engine_new();
    wasmtime_linker_t *linker;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_module_t *module = NULL;
    wasmtime_instance_t instance;
    wasm_byte_vec_t wasm;
    wasm_trap_t *trap = NULL;
    struct nacre_error err;
    int32_t result;

    (void)state;
    assert_int_equal(nacre_wasmtime_load(&err), NACRE_OK);
    linker = wasmtime_linker_new(engine);
    guest_prepare(&guest);
    guest_start(&guest);
    assert_int_equal(nacre_buf_addf(&wat, &err, "(module "), NACRE_OK);
    add_imports(&wat);
    assert_int_equal(nacre_buf_add(&wat, body, sizeof(body) - 1, &err), NACRE_OK);
    store = wasmtime_store_new(engine, guest.wasi, NULL);
    context = wasmtime_store_context(store);
    assert_int_equal(nacre_wasi_link(linker, &err), NACRE_OK);
    assert_null(wasmtime_wat2wasm(wat.bytes, wat.size, &wasm));
    assert_null(wasmtime_module_new(engine, (uint8_t *)wasm.data, wasm.size, &module));
    assert_null(wasmtime_linker_instantiate(linker, context, module, &instance, &trap));
    assert_null(trap);
    assert_null(invoke(context, &instance, "bad", &result));
    assert_int_equal(result, P1_BADF);
    assert_null(invoke(context, &instance, "wide", &result));
    assert_int_equal(result, P1_BADF);
    assert_null(invoke(context, &instance, "own", &result));
    assert_int_equal(result, NACRE_HTTP_BAD_HANDLE);
    trap = invoke(context, &instance, "leave", &result);
    assert_non_null(trap);
    assert_int_equal(guest.record.ending, NACRE_WASI_EXITED);
    assert_int_equal(guest.record.exit_status, 42);
    wasm_trap_delete(trap);
    wasm_byte_vec_delete(&wasm);
    wasmtime_module_delete(module);
    wasmtime_linker_delete(linker);
    wasmtime_store_delete(store);
    wasm_engine_delete(engine);
    nacre_buf_clear(&wat);
    guest_finish(&guest);
}

static int replace_a_function(void *data)
{
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(nacre_wasmtime_load(&err) == NACRE_OK);
    CHILD_CHECK(nacre_wasmtime_load(&err) == NACRE_OK); /* changes nothing any more */
    (void)signal(SIGSEGV, SIG_DFL);
    wasm_functype_new = NULL; /* a member of the table, by its name */
    return 0;
}

static void the_engines_functions_cannot_be_replaced(void **state)
{
    (void)state;
    assert_killed(in_child(replace_a_function, NULL), SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engines_functions_cannot_be_replaced),
        cmocka_unit_test(every_row_links_returns_and_unwinds),
    };

    return cmocka_run_group_tests_name("wasi_link", tests, NULL, NULL);
}
