#ifndef NACRE_WASMTIME_API_H
#define NACRE_WASMTIME_API_H

#include <wasmtime.h>

#include "nacre/error.h"

/*
 * Instead of <wasmtime.h>, where its functions are called: wasmtime without linking it.
 * Loading it takes as long as all the rest before main(), and of a program that runs a
 * guest only the process that the guest runs in needs it; that one loads it while the
 * other reads the policy.
 *
 * Every function keeps its name and is called by way of a table.
 */
#define NACRE_WASMTIME_MAP(X)                          \
    X(wasm_byte_vec_delete)                            \
    X(wasm_config_new)                                 \
    X(wasm_engine_delete)                              \
    X(wasm_engine_new_with_config)                     \
    X(wasm_frame_func_index)                           \
    X(wasm_frame_module_offset)                        \
    X(wasm_frame_vec_delete)                           \
    X(wasm_functype_delete)                            \
    X(wasm_functype_new)                               \
    X(wasm_functype_params)                            \
    X(wasm_functype_results)                           \
    X(wasm_trap_delete)                                \
    X(wasm_trap_trace)                                 \
    X(wasm_valtype_new)                                \
    X(wasm_valtype_vec_new)                            \
    X(wasmtime_caller_context)                         \
    X(wasmtime_config_consume_fuel_set)                \
    X(wasmtime_config_cranelift_opt_level_set)         \
    X(wasmtime_config_debug_info_set)                  \
    X(wasmtime_config_epoch_interruption_set)          \
    X(wasmtime_config_gc_support_set)                  \
    X(wasmtime_config_host_memory_creator_set)         \
    X(wasmtime_config_max_wasm_stack_set)              \
    X(wasmtime_config_memory_guard_size_set)           \
    X(wasmtime_config_memory_init_cow_set)             \
    X(wasmtime_config_memory_may_move_set)             \
    X(wasmtime_config_memory_reservation_set)          \
    X(wasmtime_config_native_unwind_info_set)          \
    X(wasmtime_config_parallel_compilation_set)        \
    X(wasmtime_config_shared_memory_set)               \
    X(wasmtime_config_signals_based_traps_set)         \
    X(wasmtime_config_strategy_set)                    \
    X(wasmtime_config_wasm_bulk_memory_set)            \
    X(wasmtime_config_wasm_compact_imports_set)        \
    X(wasmtime_config_wasm_component_model_set)        \
    X(wasmtime_config_wasm_custom_page_sizes_set)      \
    X(wasmtime_config_wasm_exceptions_set)             \
    X(wasmtime_config_wasm_function_references_set)    \
    X(wasmtime_config_wasm_gc_set)                     \
    X(wasmtime_config_wasm_memory64_set)               \
    X(wasmtime_config_wasm_multi_memory_set)           \
    X(wasmtime_config_wasm_multi_value_set)            \
    X(wasmtime_config_wasm_reference_types_set)        \
    X(wasmtime_config_wasm_relaxed_simd_deterministic_set)\
    X(wasmtime_config_wasm_relaxed_simd_set)           \
    X(wasmtime_config_wasm_simd_set)                   \
    X(wasmtime_config_wasm_stack_switching_set)        \
    X(wasmtime_config_wasm_tail_call_set)              \
    X(wasmtime_config_wasm_threads_set)                \
    X(wasmtime_config_wasm_wide_arithmetic_set)        \
    X(wasmtime_context_get_data)                       \
    X(wasmtime_context_get_fuel)                       \
    X(wasmtime_context_set_epoch_deadline)             \
    X(wasmtime_context_set_fuel)                       \
    X(wasmtime_engine_increment_epoch)                 \
    X(wasmtime_error_delete)                           \
    X(wasmtime_error_message)                          \
    X(wasmtime_error_new)                              \
    X(wasmtime_extern_delete)                          \
    X(wasmtime_frame_func_name)                        \
    X(wasmtime_func_call)                              \
    X(wasmtime_func_type)                              \
    X(wasmtime_instance_export_get)                    \
    X(wasmtime_instance_pre_delete)                    \
    X(wasmtime_instance_pre_instantiate)               \
    X(wasmtime_linker_define_func_unchecked)           \
    X(wasmtime_linker_delete)                          \
    X(wasmtime_linker_instantiate_pre)                 \
    X(wasmtime_linker_new)                             \
    X(wasmtime_module_delete)                          \
    X(wasmtime_module_deserialize_file)                \
    X(wasmtime_module_new)                             \
    X(wasmtime_module_serialize)                       \
    X(wasmtime_store_context)                          \
    X(wasmtime_store_delete)                           \
    X(wasmtime_store_epoch_deadline_callback)          \
    X(wasmtime_store_limiter)                          \
    X(wasmtime_store_new)                              \
    X(wasmtime_trap_code)                              \
    X(wasmtime_trap_new_code)                          \
    X(wasmtime_valtype_delete)                         \
    X(wasmtime_valtype_new)                            \
    X(wasmtime_wat2wasm)

struct nacre_wasmtime {
#define X(name) __typeof__(name) *name;
    NACRE_WASMTIME_MAP(X)
#undef X
};

#define NACRE_WASMTIME_PAGE 4096

/* Fills its page, so that it can be closed to writing. */
extern union nacre_wasmtime_page {
    struct nacre_wasmtime functions;
    char bytes[NACRE_WASMTIME_PAGE];
} nacre_wasmtime_page;

/*
 * Before any of the functions is called; for the life of the process, and of those that
 * are forked from it.  From any thread, any number of times.  NACRE_ERR_BACKEND
 * says what is missing.
 */
NACRE_MUST_CHECK enum nacre_status nacre_wasmtime_load(struct nacre_error *err);

/* One that is missing here is linked after all, and tests/guard/links.sh fails. */
#define wasm_byte_vec_delete nacre_wasmtime_page.functions.wasm_byte_vec_delete
#define wasm_config_new nacre_wasmtime_page.functions.wasm_config_new
#define wasm_engine_delete nacre_wasmtime_page.functions.wasm_engine_delete
#define wasm_engine_new_with_config \
    nacre_wasmtime_page.functions.wasm_engine_new_with_config
#define wasm_frame_func_index nacre_wasmtime_page.functions.wasm_frame_func_index
#define wasm_frame_module_offset nacre_wasmtime_page.functions.wasm_frame_module_offset
#define wasm_frame_vec_delete nacre_wasmtime_page.functions.wasm_frame_vec_delete
#define wasm_functype_delete nacre_wasmtime_page.functions.wasm_functype_delete
#define wasm_functype_new nacre_wasmtime_page.functions.wasm_functype_new
#define wasm_functype_params nacre_wasmtime_page.functions.wasm_functype_params
#define wasm_functype_results nacre_wasmtime_page.functions.wasm_functype_results
#define wasm_trap_delete nacre_wasmtime_page.functions.wasm_trap_delete
#define wasm_trap_trace nacre_wasmtime_page.functions.wasm_trap_trace
#define wasm_valtype_new nacre_wasmtime_page.functions.wasm_valtype_new
#define wasm_valtype_vec_new nacre_wasmtime_page.functions.wasm_valtype_vec_new
#define wasmtime_caller_context nacre_wasmtime_page.functions.wasmtime_caller_context
#define wasmtime_config_consume_fuel_set \
    nacre_wasmtime_page.functions.wasmtime_config_consume_fuel_set
#define wasmtime_config_cranelift_opt_level_set \
    nacre_wasmtime_page.functions.wasmtime_config_cranelift_opt_level_set
#define wasmtime_config_debug_info_set \
    nacre_wasmtime_page.functions.wasmtime_config_debug_info_set
#define wasmtime_config_epoch_interruption_set \
    nacre_wasmtime_page.functions.wasmtime_config_epoch_interruption_set
#define wasmtime_config_gc_support_set \
    nacre_wasmtime_page.functions.wasmtime_config_gc_support_set
#define wasmtime_config_host_memory_creator_set \
    nacre_wasmtime_page.functions.wasmtime_config_host_memory_creator_set
#define wasmtime_config_max_wasm_stack_set \
    nacre_wasmtime_page.functions.wasmtime_config_max_wasm_stack_set
#define wasmtime_config_memory_guard_size_set \
    nacre_wasmtime_page.functions.wasmtime_config_memory_guard_size_set
#define wasmtime_config_memory_init_cow_set \
    nacre_wasmtime_page.functions.wasmtime_config_memory_init_cow_set
#define wasmtime_config_memory_may_move_set \
    nacre_wasmtime_page.functions.wasmtime_config_memory_may_move_set
#define wasmtime_config_memory_reservation_set \
    nacre_wasmtime_page.functions.wasmtime_config_memory_reservation_set
#define wasmtime_config_native_unwind_info_set \
    nacre_wasmtime_page.functions.wasmtime_config_native_unwind_info_set
#define wasmtime_config_parallel_compilation_set \
    nacre_wasmtime_page.functions.wasmtime_config_parallel_compilation_set
#define wasmtime_config_shared_memory_set \
    nacre_wasmtime_page.functions.wasmtime_config_shared_memory_set
#define wasmtime_config_signals_based_traps_set \
    nacre_wasmtime_page.functions.wasmtime_config_signals_based_traps_set
#define wasmtime_config_strategy_set \
    nacre_wasmtime_page.functions.wasmtime_config_strategy_set
#define wasmtime_config_wasm_bulk_memory_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_bulk_memory_set
#define wasmtime_config_wasm_compact_imports_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_compact_imports_set
#define wasmtime_config_wasm_component_model_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_component_model_set
#define wasmtime_config_wasm_custom_page_sizes_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_custom_page_sizes_set
#define wasmtime_config_wasm_exceptions_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_exceptions_set
#define wasmtime_config_wasm_function_references_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_function_references_set
#define wasmtime_config_wasm_gc_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_gc_set
#define wasmtime_config_wasm_memory64_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_memory64_set
#define wasmtime_config_wasm_multi_memory_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_multi_memory_set
#define wasmtime_config_wasm_multi_value_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_multi_value_set
#define wasmtime_config_wasm_reference_types_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_reference_types_set
#define wasmtime_config_wasm_relaxed_simd_deterministic_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_relaxed_simd_deterministic_set
#define wasmtime_config_wasm_relaxed_simd_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_relaxed_simd_set
#define wasmtime_config_wasm_simd_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_simd_set
#define wasmtime_config_wasm_stack_switching_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_stack_switching_set
#define wasmtime_config_wasm_tail_call_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_tail_call_set
#define wasmtime_config_wasm_threads_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_threads_set
#define wasmtime_config_wasm_wide_arithmetic_set \
    nacre_wasmtime_page.functions.wasmtime_config_wasm_wide_arithmetic_set
#define wasmtime_context_get_data nacre_wasmtime_page.functions.wasmtime_context_get_data
#define wasmtime_context_get_fuel nacre_wasmtime_page.functions.wasmtime_context_get_fuel
#define wasmtime_context_set_epoch_deadline \
    nacre_wasmtime_page.functions.wasmtime_context_set_epoch_deadline
#define wasmtime_context_set_fuel nacre_wasmtime_page.functions.wasmtime_context_set_fuel
#define wasmtime_engine_increment_epoch \
    nacre_wasmtime_page.functions.wasmtime_engine_increment_epoch
#define wasmtime_error_delete nacre_wasmtime_page.functions.wasmtime_error_delete
#define wasmtime_error_message nacre_wasmtime_page.functions.wasmtime_error_message
#define wasmtime_error_new nacre_wasmtime_page.functions.wasmtime_error_new
#define wasmtime_extern_delete nacre_wasmtime_page.functions.wasmtime_extern_delete
#define wasmtime_frame_func_name nacre_wasmtime_page.functions.wasmtime_frame_func_name
#define wasmtime_func_call nacre_wasmtime_page.functions.wasmtime_func_call
#define wasmtime_func_type nacre_wasmtime_page.functions.wasmtime_func_type
#define wasmtime_instance_export_get \
    nacre_wasmtime_page.functions.wasmtime_instance_export_get
#define wasmtime_instance_pre_delete \
    nacre_wasmtime_page.functions.wasmtime_instance_pre_delete
#define wasmtime_instance_pre_instantiate \
    nacre_wasmtime_page.functions.wasmtime_instance_pre_instantiate
#define wasmtime_linker_define_func_unchecked \
    nacre_wasmtime_page.functions.wasmtime_linker_define_func_unchecked
#define wasmtime_linker_delete nacre_wasmtime_page.functions.wasmtime_linker_delete
#define wasmtime_linker_instantiate_pre \
    nacre_wasmtime_page.functions.wasmtime_linker_instantiate_pre
#define wasmtime_linker_new nacre_wasmtime_page.functions.wasmtime_linker_new
#define wasmtime_module_delete nacre_wasmtime_page.functions.wasmtime_module_delete
#define wasmtime_module_deserialize_file \
    nacre_wasmtime_page.functions.wasmtime_module_deserialize_file
#define wasmtime_module_new nacre_wasmtime_page.functions.wasmtime_module_new
#define wasmtime_module_serialize nacre_wasmtime_page.functions.wasmtime_module_serialize
#define wasmtime_store_context nacre_wasmtime_page.functions.wasmtime_store_context
#define wasmtime_store_delete nacre_wasmtime_page.functions.wasmtime_store_delete
#define wasmtime_store_epoch_deadline_callback \
    nacre_wasmtime_page.functions.wasmtime_store_epoch_deadline_callback
#define wasmtime_store_limiter nacre_wasmtime_page.functions.wasmtime_store_limiter
#define wasmtime_store_new nacre_wasmtime_page.functions.wasmtime_store_new
#define wasmtime_trap_code nacre_wasmtime_page.functions.wasmtime_trap_code
#define wasmtime_trap_new_code nacre_wasmtime_page.functions.wasmtime_trap_new_code
#define wasmtime_valtype_delete nacre_wasmtime_page.functions.wasmtime_valtype_delete
#define wasmtime_valtype_new nacre_wasmtime_page.functions.wasmtime_valtype_new
#define wasmtime_wat2wasm nacre_wasmtime_page.functions.wasmtime_wat2wasm

#endif
