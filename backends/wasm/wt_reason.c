#include "wt_reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

#define FRAMES_MAX 20 /* the engine tells of no more */

struct text {
    char *bytes;
    size_t size, used;
};

static void add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(text->bytes + text->used, text->size - text->used, format, args);
    va_end(args);
    if (count > 0 && (size_t)count < text->size - text->used)
        text->used += (size_t)count;
    else
        text->used = text->size - 1; /* full: what follows is dropped */
}

static const char *words_of(wasmtime_trap_code_t code)
{
    static const char *const words[] = {
        [WASMTIME_TRAP_CODE_STACK_OVERFLOW] = "stack overflow",
        [WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS] = "memory access out of bounds",
        [WASMTIME_TRAP_CODE_HEAP_MISALIGNED] = "misaligned memory access",
        [WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS] = "table access out of bounds",
        [WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL] = "call through an empty table entry",
        [WASMTIME_TRAP_CODE_BAD_SIGNATURE] = "indirect call with another signature",
        [WASMTIME_TRAP_CODE_INTEGER_OVERFLOW] = "integer overflow",
        [WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO] = "integer division by zero",
        [WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER] = "float does not fit an integer",
        [WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED] = "unreachable code was reached",
        [WASMTIME_TRAP_CODE_INTERRUPT] = "interrupted",
        [WASMTIME_TRAP_CODE_OUT_OF_FUEL] = "out of fuel",
    };

    if (code < NACRE_COUNT(words) && words[code])
        return words[code];
    return "trap";
}

/* Names come from the module's own name section: hostile, so they are escaped. */
static void add_frames(struct text *text, wasm_frame_vec_t *frames)
{
    size_t shown_frames = frames->size < FRAMES_MAX ? frames->size : FRAMES_MAX;

    for (size_t i = 0; i < shown_frames; i++) {
        const wasm_name_t *name = wasmtime_frame_func_name(frames->data[i]);
        size_t offset = wasm_frame_module_offset(frames->data[i]);
        char shown[NACRE_SHOWN] = "";

        if (name)
            (void)nacre_text_show(shown, sizeof(shown), name->data, name->size);
        if (shown[0])
            add(text, "\n  at %s", shown);
        else
            add(text, "\n  at function %" PRIu32, wasm_frame_func_index(frames->data[i]));
        if (offset != SIZE_MAX) /* else the engine does not know it */
            add(text, " (+0x%zx)", offset);
    }
    if (shown_frames == FRAMES_MAX)
        add(text, "\n  ...");
}

static struct wt_cause reason_of_trap(const wasm_trap_t *trap, struct text *text)
{
    struct wt_cause cause = { .outcome = NACRE_OUTCOME_TRAPPED };
    wasmtime_trap_code_t code;
    wasm_frame_vec_t frames;

    if (wasmtime_trap_code(trap, &code)) {
        add(text, "%s", words_of(code));
        if (code == WASMTIME_TRAP_CODE_OUT_OF_FUEL)
            cause.outcome = NACRE_OUTCOME_OUT_OF_FUEL;
        cause.fuel_exact = code == WASMTIME_TRAP_CODE_OUT_OF_FUEL ||
                           code == WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED;
    } else {
        add(text, "trap");
    }
    wasm_trap_trace(trap, &frames);
    add_frames(text, &frames);
    wasm_frame_vec_delete(&frames);
    return cause;
}

struct wt_cause wt_reason_write(const wasmtime_error_t *error, const wasm_trap_t *trap,
                                char *ret_text, size_t size)
{
    struct text text = { .bytes = ret_text, .size = size };
    struct wt_cause cause = { .outcome = NACRE_OUTCOME_TRAPPED };
    wasm_name_t message;

    ret_text[0] = '\0';
    if (trap)
        return reason_of_trap(trap, &text);
    /* The guest has been entered, so this is how the guest ended: it must not be
     * able to forge "the host failed". */
    wasmtime_error_message(error, &message);
    (void)nacre_text_show(ret_text, size, message.data, message.size);
    wasm_byte_vec_delete(&message);
    return cause;
}
