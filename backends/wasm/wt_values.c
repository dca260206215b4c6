#include "wt_values.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

/* Signed or unsigned decimal, or 0x..., within `bits`. */
static bool parse_integer(const char *text, unsigned bits, int64_t *ret_number)
{
    bool negative = text[0] == '-';
    const char *digits = text + negative;
    uint64_t most = negative ? (uint64_t)1 << (bits - 1)
                             : (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
    unsigned long long number;
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    number = strtoull(digits, &end, strncmp(digits, "0x", 2) == 0 ? 16 : 10);
    if (errno != 0 || *end != '\0' || number > most)
        return false;
    *ret_number = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

static bool parse_value(const char *text, wasmtime_valtype_kind_t kind,
                        wasmtime_val_t *ret_value)
{
    int64_t integer;
    double real;
    char *end;

    switch (kind) {
    case WASMTIME_VALTYPE_KIND_I32:
        if (!parse_integer(text, 32, &integer))
            return false;
        *ret_value = (wasmtime_val_t){ .kind = WASMTIME_I32, .of.i32 = (int32_t)integer };
        return true;
    case WASMTIME_VALTYPE_KIND_I64:
        if (!parse_integer(text, 64, &integer))
            return false;
        *ret_value = (wasmtime_val_t){ .kind = WASMTIME_I64, .of.i64 = integer };
        return true;
    default:
        if (isspace((unsigned char)text[0]))
            return false;
        errno = 0;
        real = strtod(text, &end);
        /* Infinity has to be asked for by name. */
        if (end == text || *end != '\0' || (errno == ERANGE && isinf(real)))
            return false;
        if (kind == WASMTIME_VALTYPE_KIND_F32 && isfinite(real) &&
            fabs(real) > (double)FLT_MAX)
            return false;
        if (kind == WASMTIME_VALTYPE_KIND_F32)
            *ret_value = (wasmtime_val_t){ .kind = WASMTIME_F32, .of.f32 = (float)real };
        else
            *ret_value = (wasmtime_val_t){ .kind = WASMTIME_F64, .of.f64 = real };
        return true;
    }
}

static const char *kind_name(wasmtime_valtype_kind_t kind)
{
    switch (kind) {
    case WASMTIME_VALTYPE_KIND_I32: return "i32";
    case WASMTIME_VALTYPE_KIND_I64: return "i64";
    case WASMTIME_VALTYPE_KIND_F32: return "f32";
    case WASMTIME_VALTYPE_KIND_F64: return "f64";
    default: return NULL;
    }
}

/* wasm_valtype_kind() aborts the process when it is asked about a v128. */
static wasmtime_valtype_kind_t kind_of(const wasm_valtype_t *type)
{
    wasmtime_valtype_t full;
    wasmtime_valtype_kind_t kind;

    wasmtime_valtype_new(type, &full);
    kind = full.kind;
    wasmtime_valtype_delete(&full);
    return kind;
}

static void functype_guard(wasm_functype_t **type)
{
    wasm_functype_delete(*type);
}

/* NULL when all of them can be written on a command line. */
static const char *why_not(const wasm_valtype_vec_t *types)
{
    for (size_t i = 0; i < types->size; i++)
        if (!kind_name(kind_of(types->data[i])))
            return "it takes or gives something else than i32, i64, f32 and f64";
    return types->size <= WT_VALUES_COUNT_MAX ? NULL
                                              : "it takes or gives more than 32 numbers";
}
_Static_assert(WT_VALUES_COUNT_MAX == 32, "as the sentence says");

bool wt_values_parse(struct wt_values *ret_values, wasmtime_context_t *context,
                     const wasmtime_func_t *func, const char *name,
                     const char *const *arguments, size_t argument_count, char *ret_text,
                     size_t text_size)
{
    NACRE_AUTO(functype_guard) wasm_functype_t *type = wasmtime_func_type(context, func);
    const wasm_valtype_vec_t *parameters = wasm_functype_params(type);
    const wasm_valtype_vec_t *results = wasm_functype_results(type);
    const char *reason = why_not(parameters) ? why_not(parameters) : why_not(results);
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, name);
    if (reason) {
        (void)snprintf(ret_text, text_size, "'%s' can't be invoked: %s", shown, reason);
        return false;
    }
    if (parameters->size != argument_count) {
        (void)snprintf(ret_text, text_size, "'%s' takes %zu arguments, %zu were given",
                       shown, parameters->size, argument_count);
        return false;
    }
    for (size_t i = 0; i < argument_count; i++) {
        wasmtime_valtype_kind_t kind = kind_of(parameters->data[i]);

        if (!parse_value(arguments[i], kind, &ret_values->parameters[i])) {
            /* Not what was given: this goes to the audit log, and may be a secret. */
            (void)snprintf(ret_text, text_size, "argument %zu of '%s' is not an %s",
                           i + 1, shown, kind_name(kind));
            return false;
        }
    }
    ret_values->parameter_count = argument_count;
    ret_values->result_count = results->size;
    return true;
}

/* JSON has no NaN and no infinity: those are strings, spelt as wasm spells them. */
static int print_real(double real, int digits, char *ret_text, size_t size)
{
    if (isnan(real))
        return snprintf(ret_text, size, "\"nan\"");
    if (isinf(real))
        return snprintf(ret_text, size, real > 0 ? "\"inf\"" : "\"-inf\"");
    return snprintf(ret_text, size, "%.*g", digits, real);
}

size_t wt_values_print(const struct wt_values *values, char *ret_json, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i <= values->result_count; i++) {
        char text[48];
        int count = 0;

        if (i < values->result_count) {
            const wasmtime_val_t *value = &values->results[i];

            if (value->kind == WASMTIME_I32)
                count = snprintf(text, sizeof(text), "%" PRId32, value->of.i32);
            else if (value->kind == WASMTIME_I64)
                count = snprintf(text, sizeof(text), "%" PRId64, value->of.i64);
            else if (value->kind == WASMTIME_F32)
                count = print_real((double)value->of.f32, 9, text, sizeof(text));
            else
                count = print_real(value->of.f64, 17, text, sizeof(text));
        }
        if (used + (size_t)count + 3 > size)
            return 0;
        if (i == 0)
            ret_json[used++] = '[';
        else if (i < values->result_count)
            ret_json[used++] = ',';
        memcpy(ret_json + used, text, (size_t)count);
        used += (size_t)count;
    }
    ret_json[used++] = ']';
    ret_json[used] = '\0';
    return used;
}
