#include "wt_engine.h"

#include "nacre/text.h"
#include "wt_memory.h"

#define MEMORY_RESERVATION ((uint64_t)4 << 30)
#define MEMORY_GUARD ((uint64_t)32 << 20)
#define STACK_BYTES ((size_t)1 << 20)

/* Change this text whenever a setting below changes what is compiled. */
const char wt_engine_config_text[] =
    "wasmtime " WASMTIME_VERSION " fuel epoch stack=1M mem=4G guard=32M nocow"
    " +simd +relaxed-det +tail +refs +bulk +multi -gc -exn -mem64 -mm -threads -cps"
    " opt=speed unwind=no v1";

wasm_engine_t *wt_engine_new(bool parallel)
{
    wasm_config_t *config = wasm_config_new();

    wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_CRANELIFT);
    wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_SPEED);
    wasmtime_config_parallel_compilation_set(config, parallel);
    wasmtime_config_consume_fuel_set(config, true);
    wasmtime_config_epoch_interruption_set(config, true);
    wasmtime_config_max_wasm_stack_set(config, STACK_BYTES);
    wasmtime_config_debug_info_set(config, false);
    wasmtime_config_native_unwind_info_set(config, false);
    wasmtime_config_signals_based_traps_set(config, true);

    wasmtime_config_wasm_simd_set(config, true);
    wasmtime_config_wasm_relaxed_simd_set(config, true);
    wasmtime_config_wasm_relaxed_simd_deterministic_set(config, true);
    wasmtime_config_wasm_tail_call_set(config, true);
    wasmtime_config_wasm_reference_types_set(config, true);
    wasmtime_config_wasm_bulk_memory_set(config, true);
    wasmtime_config_wasm_multi_value_set(config, true);
    wasmtime_config_wasm_threads_set(config, false);
    wasmtime_config_shared_memory_set(config, false);
    wasmtime_config_wasm_function_references_set(config, false);
    wasmtime_config_wasm_gc_set(config, false);
    wasmtime_config_gc_support_set(config, false);
    wasmtime_config_wasm_multi_memory_set(config, false);
    wasmtime_config_wasm_memory64_set(config, false);
    wasmtime_config_wasm_wide_arithmetic_set(config, false);
    wasmtime_config_wasm_exceptions_set(config, false);
    wasmtime_config_wasm_custom_page_sizes_set(config, false);
    wasmtime_config_wasm_compact_imports_set(config, false);
    wasmtime_config_wasm_stack_switching_set(config, false);
    wasmtime_config_wasm_component_model_set(config, false);

    wasmtime_config_memory_may_move_set(config, false);
    wasmtime_config_memory_reservation_set(config, MEMORY_RESERVATION);
    wasmtime_config_memory_guard_size_set(config, MEMORY_GUARD);
    wasmtime_config_memory_init_cow_set(config, false);
    wt_memory_configure(config);
    return wasm_engine_new_with_config(config);
}

/* The engine writes paragraphs; a sentence has single blanks. */
static size_t join_lines(char *text, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        bool blank = text[i] == '\n' || text[i] == ' ';

        if (!blank)
            text[used++] = text[i];
        else if (used > 0 && text[used - 1] != ' ')
            text[used++] = ' ';
    }
    return used > 0 && text[used - 1] == ' ' ? used - 1 : used;
}

enum nacre_status wt_fail(struct nacre_error *err, enum nacre_status status,
                          const char *what, wasmtime_error_t *error)
{
    wasm_name_t message;
    char shown[400];

    wasmtime_error_message(error, &message);
    (void)nacre_text_show(shown, sizeof(shown), message.data,
                          join_lines(message.data, message.size));
    wasm_byte_vec_delete(&message);
    wasmtime_error_delete(error);
    return nacre_fail(err, status, "%s: %s", what, shown);
}
