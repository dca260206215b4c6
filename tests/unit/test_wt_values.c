/* Arguments typed by an export's signature, its results as JSON, and why it stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>

#include "nacre/own.h"
#include "wt_engine.h"
#include "wt_memory.h"
#include "wt_reason.h"
#include "wt_values.h"

static const char wat[] =
    "(module"
    " (func (export \"i32\") (param i32) (result i32) (local.get 0))"
    " (func (export \"i64\") (param i64) (result i64) (local.get 0))"
    " (func (export \"f32\") (param f32) (result f32) (local.get 0))"
    " (func (export \"f64\") (param f64) (result f64) (local.get 0))"
    " (func (export \"none\"))"
    " (func (export \"two\") (param i32 i32) (result i32 i32)"
    "  (local.get 1) (local.get 0))"
    " (func (export \"ref\") (param funcref))"
    " (func (export \"gives\") (result funcref) (ref.null func))"
    " (func (export \"vector\") (param v128))"
    " (func $\"\\1b[2J\\0anacre: failed\" (unreachable))"
    " (func $down (export \"down\") (param i32)"
    "  (if (i32.eqz (local.get 0)) (then (call $\"\\1b[2J\\0anacre: failed\")))"
    "  (call $down (i32.sub (local.get 0) (i32.const 1)))))";

static wasm_engine_t *engine;
static wasmtime_store_t *store;
static wasmtime_context_t *context;
static wasmtime_instance_t instance;
static struct wt_account account = { .bytes_max = 1 << 20 };
static struct sigaction on_trap; /* the engine's; cmocka puts its own in its place */

static int start(void **state)
{
    wasm_byte_vec_t binary;
    wasmtime_module_t *module;
    wasm_trap_t *trap = NULL;
    struct nacre_error err;
    bool ok;

    (void)state;
    if (nacre_wasmtime_load(&err) != NACRE_OK)
        return -1;
    engine = wt_engine_new(false);
    (void)sigaction(SIGILL, NULL, &on_trap);
    store = wasmtime_store_new(engine, NULL, NULL);
    context = wasmtime_store_context(store);
    wt_account_enter(&account);
    if (wasmtime_context_set_fuel(context, 1000000))
        return -1;
    wasmtime_context_set_epoch_deadline(context, 1000);
    if (wasmtime_wat2wasm(wat, strlen(wat), &binary))
        return -1;
    if (wasmtime_module_new(engine, (uint8_t *)binary.data, binary.size, &module))
        return -1;
    wasm_byte_vec_delete(&binary);
    ok = !wasmtime_instance_new(context, module, NULL, 0, &instance, &trap);
    wasmtime_module_delete(module);
    return ok && !trap ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    wasmtime_store_delete(store);
    wasm_engine_delete(engine);
    return 0;
}

static wasmtime_func_t func_of(const char *name)
{
    wasmtime_extern_t item;

    assert_true(wasmtime_instance_export_get(context, &instance, name, strlen(name),
                                             &item));
    return item.of.func;
}

/* Parses, calls and prints; false when the arguments are refused. */
static bool call(const char *name, const char *const *arguments, size_t count,
                 char *ret_text, size_t size)
{
    wasmtime_func_t func = func_of(name);
    struct wt_values values;
    wasm_trap_t *trap = NULL;
    size_t length;

    if (!wt_values_parse(&values, context, &func, name, arguments, count, ret_text, size))
        return false;
    assert_null(wasmtime_func_call(context, &func, values.parameters,
                                   values.parameter_count,
                                   values.results, values.result_count, &trap));
    assert_null(trap);
    length = wt_values_print(&values, ret_text, size);
    assert_int_equal(length, strlen(ret_text));
    return true;
}

static const struct {
    const char *type, *text, *json; /* json is NULL when it is refused */
} cases[] = {
    { "i32", "", NULL },            { "i32", "-", NULL },
    { "i32", "+1", NULL },          { "i32", " 1", NULL },
    { "i32", "1 ", NULL },          { "i32", "1.0", NULL },
    { "i32", "0x", NULL },          { "i32", "0xg", NULL },
    { "i32", "0X1", NULL },         { "i32", "--1", NULL },
    { "i32", "4294967296", NULL },  { "i32", "-2147483649", NULL },
    { "i32", "0x100000000", NULL }, { "i32", "99999999999999999999", NULL },
    { "i32", "nan", NULL },         { "i32", "1e3", NULL },
    { "i64", "18446744073709551616", NULL }, { "i64", "-9223372036854775809", NULL },
    { "i64", "0x1ffffffffffffffff", NULL },  { "i64", "1\n", NULL },
    { "f32", "", NULL },            { "f32", "x", NULL },
    { "f32", "1x", NULL },          { "f32", " 1", NULL },
    { "f32", "1 ", NULL },          { "f32", "1,5", NULL },
    { "f32", "3.5e38", NULL },      { "f32", "-1e300", NULL },
    { "f64", "1e999", NULL },       { "f64", "-1e999", NULL },
    { "f64", "1e", NULL },          { "f64", "0x", NULL },
    { "i32", "0", "[0]" },          { "i32", "-1", "[-1]" },
    { "i32", "2147483647", "[2147483647]" }, { "i32", "4294967295", "[-1]" },
    { "i32", "-2147483648", "[-2147483648]" }, { "i32", "0xffffffff", "[-1]" },
    { "i32", "-0x10", "[-16]" },    { "i32", "007", "[7]" },
    { "i64", "18446744073709551615", "[-1]" },
    { "i64", "-9223372036854775808", "[-9223372036854775808]" },
    { "f32", "0.1", "[0.100000001]" }, { "f32", "nan", "[\"nan\"]" },
    { "f32", "-inf", "[\"-inf\"]" },
    { "f32", "3.4028234663852886e38", "[3.40282347e+38]" },
    { "f64", "-0", "[-0]" },        { "f64", "inf", "[\"inf\"]" },
    { "f64", "0.1", "[0.10000000000000001]" }, { "f64", "1e-400", "[0]" },
};

static void arguments_are_what_the_signature_says_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        const char *arguments[] = { cases[i].text };
        char text[256];
        bool ok = call(cases[i].type, arguments, 1, text, sizeof(text));

        if (ok != (cases[i].json != NULL))
            fail_msg("%s '%s': %s", cases[i].type, cases[i].text, text);
        if (ok)
            assert_string_equal(text, cases[i].json);
        else
            assert_non_null(strstr(text, "is not an"));
    }
}

static void a_refusal_says_what_was_expected_in_printable_words(void **state)
{
    static const struct {
        const char *name;
        size_t count;
        const char *said;
    } bad[] = {
        { "two", 0, "'two' takes 2 arguments, 0 were given" },
        { "two", 1, "'two' takes 2 arguments, 1 were given" },
        { "two", 3, "'two' takes 2 arguments, 3 were given" },
        { "none", 1, "'none' takes 0 arguments, 1 were given" },
        { "two", 2, "argument 2 of 'two' is not an i32" },
        { "ref", 1, "can't be invoked" },
        { "gives", 0, "can't be invoked" },
        { "vector", 1, "can't be invoked" },
    };
    const char *arguments[] = { "1", "\033[2J", "3" };
    char text[256];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        assert_false(call(bad[i].name, arguments, bad[i].count, text, sizeof(text)));
        assert_non_null(strstr(text, bad[i].said));
    }
    arguments[1] = "2";
    assert_true(call("two", arguments, 2, text, sizeof(text)));
    assert_string_equal(text, "[2,1]");
    assert_true(call("none", NULL, 0, text, sizeof(text)));
    assert_string_equal(text, "[]");
}

static void results_that_do_not_fit_are_not_printed(void **state)
{
    struct wt_values values = { .result_count = WT_VALUES_COUNT_MAX };
    char whole[1024], text[1024];
    size_t length;

    (void)state;
    for (size_t i = 0; i < WT_VALUES_COUNT_MAX; i++)
        values.results[i] = (wasmtime_val_t){ .kind = WASMTIME_F64, .of.f64 = -HUGE_VAL };
    values.results[3].of.f64 = -1.2345678901234567e-300;
    length = wt_values_print(&values, whole, sizeof(whole));
    assert_int_equal(length, strlen(whole));
    for (size_t size = 0; size <= length + 4; size++) {
        memset(text, 'c', sizeof(text));
        if (wt_values_print(&values, text, size) > 0)
            assert_string_equal(text, whole);
        else
            assert_true(size < length + 4);
        assert_int_equal(text[size], 'c');
    }
}

static void a_trap_is_told_with_names_that_forge_nothing(void **state)
{
    wasmtime_func_t func = func_of("down");
    char text[2048], small[40];

    (void)state;
    (void)sigaction(SIGILL, &on_trap, NULL);
    for (int depth = 0; depth <= 100; depth += 50) {
        wasmtime_val_t argument = { .kind = WASMTIME_I32, .of.i32 = depth };
        wasm_trap_t *trap = NULL;
        struct wt_cause cause;

        assert_null(wasmtime_func_call(context, &func, &argument, 1, NULL, 0, &trap));
        assert_non_null(trap);
        cause = wt_reason_write(NULL, trap, text, sizeof(text));
        assert_int_equal(cause.outcome, NACRE_OUTCOME_TRAPPED);
        assert_true(cause.fuel_exact);
        assert_non_null(strstr(text, "unreachable code was reached\n  at "));
        assert_null(strchr(text, '\033'));
        assert_null(strstr(text, "\nnacre"));
        assert_int_equal(strstr(text, "\n  ...") != NULL, depth > 0);
        for (size_t size = 1; size < sizeof(small); size++) {
            memset(small, 'c', sizeof(small));
            (void)wt_reason_write(NULL, trap, small, size);
            assert_true(strlen(small) < size);
            assert_int_equal(small[size], 'c');
        }
        wasm_trap_delete(trap);
    }
}

/* W12: an error that a guest provoked is how the guest ended. */
static void an_error_after_entry_is_the_guests(void **state)
{
    wasmtime_error_t *error = wasmtime_error_new("the host failed\n\033[2Jnacre: 125");
    struct wt_cause cause;
    char text[256];

    (void)state;
    cause = wt_reason_write(error, NULL, text, sizeof(text));
    assert_int_equal(cause.outcome, NACRE_OUTCOME_TRAPPED);
    assert_false(cause.fuel_exact);
    assert_null(strpbrk(text, "\n\033"));
    wasmtime_error_delete(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_what_the_signature_says_or_refused),
        cmocka_unit_test(a_refusal_says_what_was_expected_in_printable_words),
        cmocka_unit_test(results_that_do_not_fit_are_not_printed),
        cmocka_unit_test(a_trap_is_told_with_names_that_forge_nothing),
        cmocka_unit_test(an_error_after_entry_is_the_guests),
    };

    return cmocka_run_group_tests_name("wt_values", tests, start, end);
}
