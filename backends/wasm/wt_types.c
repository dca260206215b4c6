/* Trusts nothing that the module says; wt_bytes.c keeps every read inside it. */
#include "wt_types.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"

/* What the engine takes too (wasmparser's limits). */
#define PARAMETERS_MAX 1000
#define FIELDS_MAX 10000

void wt_text_add(struct wt_text *text, const char *format, ...)
{
    size_t room;
    va_list args;
    int length;

    if (!text)
        return;
    room = sizeof(text->bytes) - text->used;
    va_start(args, format);
    length = vsnprintf(text->bytes + text->used, room, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < room) {
        text->used += (size_t)length;
        return;
    }
    text->used = sizeof(text->bytes) - 1;
    memcpy(text->bytes + text->used - 3, "...", 4);
}

/* ---- values ---- */

/* The one-byte types; as heap types they are the same numbers, negative. */
static const struct {
    uint8_t byte;
    bool heap; /* may stand behind (ref ...) */
    const char *name, *heap_name;
    uint32_t needs;
} value_types[] = {
    { 0x7f, false, "i32", NULL, 0 },
    { 0x7e, false, "i64", NULL, 0 },
    { 0x7d, false, "f32", NULL, 0 },
    { 0x7c, false, "f64", NULL, 0 },
    { 0x7b, false, "v128", NULL, 0 },
    { 0x70, true, "funcref", "func", 0 },
    /* Of the reference types, which are on; but its values live on the GC's heap. */
    { 0x6f, true, "externref", "extern", WT_NEEDS(EXTERNREF) },
    { 0x6e, true, "anyref", "any", WT_NEEDS(GC) },
    { 0x6d, true, "eqref", "eq", WT_NEEDS(GC) },
    { 0x6c, true, "i31ref", "i31", WT_NEEDS(GC) },
    { 0x6b, true, "structref", "struct", WT_NEEDS(GC) },
    { 0x6a, true, "arrayref", "array", WT_NEEDS(GC) },
    { 0x71, true, "nullref", "none", WT_NEEDS(GC) },
    { 0x72, true, "nullexternref", "noextern", WT_NEEDS(GC) },
    { 0x73, true, "nullfuncref", "nofunc", WT_NEEDS(GC) },
    { 0x69, true, "exnref", "exn", WT_NEEDS(EXCEPTIONS) },
    { 0x74, true, "nullexnref", "noexn", WT_NEEDS(EXCEPTIONS) },
    { 0x68, true, "contref", "cont", WT_NEEDS(STACK_SWITCHING) },
    { 0x75, true, "nullcontref", "nocont", WT_NEEDS(STACK_SWITCHING) },
};

static const char bad_type[] = "a type is of an unknown kind";

static void heap_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text)
{
    int64_t number;

    if (wt_bytes_peek(in) == WT_FORM_SHARED) {
        wt_bytes_skip(in, 1);
        *needs |= WT_NEEDS(THREADS);
        wt_text_add(text, "shared ");
    }
    number = wt_bytes_s64(in);
    if (in->fault)
        return;
    if (number >= 0 && number <= UINT32_MAX) {
        *needs |= WT_NEEDS(FUNCTION_REFERENCES);
        wt_text_add(text, "%" PRId64, number);
        return;
    }
    for (size_t i = 0; i < NACRE_COUNT(value_types); i++) {
        if (!value_types[i].heap || number != (int64_t)value_types[i].byte - 0x80)
            continue;
        *needs |= value_types[i].needs;
        wt_text_add(text, "%s", value_types[i].heap_name);
        return;
    }
    wt_bytes_fail(in, bad_type);
}

void wt_value_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text)
{
    uint8_t byte = wt_bytes_u8(in);

    if (byte == 0x63 || byte == 0x64) {
        /* "(ref null func)" is the long spelling of funcref and needs nothing. */
        if (byte == 0x64)
            *needs |= WT_NEEDS(FUNCTION_REFERENCES);
        wt_text_add(text, "%s", byte == 0x63 ? "(ref null " : "(ref ");
        heap_type(in, needs, text);
        wt_text_add(text, ")");
        return;
    }
    for (size_t i = 0; i < NACRE_COUNT(value_types); i++) {
        if (value_types[i].byte != byte)
            continue;
        *needs |= value_types[i].needs;
        wt_text_add(text, "%s", value_types[i].name);
        return;
    }
    wt_bytes_fail(in, bad_type);
}

void wt_function_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text)
{
    uint32_t count = wt_bytes_count(in, 1, PARAMETERS_MAX);
    bool bare;

    wt_text_add(text, "(");
    for (uint32_t i = 0; i < count && !in->fault; i++) {
        wt_text_add(text, "%s", i > 0 ? ", " : "");
        wt_value_type(in, needs, text);
    }
    count = wt_bytes_count(in, 1, PARAMETERS_MAX);
    bare = count == 1;
    wt_text_add(text, "%s", bare ? ") -> " : ") -> (");
    for (uint32_t i = 0; i < count && !in->fault; i++) {
        wt_text_add(text, "%s", i > 0 ? ", " : "");
        wt_value_type(in, needs, text);
    }
    wt_text_add(text, "%s", bare ? "" : ")");
}

void wt_function_letters(struct wt_bytes *in, char *ret_letters, size_t size)
{
    size_t used = 0;

    for (int list = 0; list < 2; list++) {
        uint32_t count = wt_bytes_count(in, 1, PARAMETERS_MAX);

        if (list == 1 && used + 1 < size)
            ret_letters[used++] = ':';
        for (uint32_t i = 0; i < count && !in->fault; i++) {
            uint8_t byte = wt_bytes_peek(in);
            uint32_t needs = 0;

            wt_value_type(in, &needs, NULL);
            if (used + 1 < size)
                ret_letters[used++] = byte == 0x7f ? 'i' : byte == 0x7e ? 'I' : '?';
        }
    }
    ret_letters[used] = '\0';
}

static void field_type(struct wt_bytes *in, uint32_t *needs)
{
    uint8_t byte = wt_bytes_peek(in);

    if (byte == 0x78 || byte == 0x77) /* i8, i16 */
        wt_bytes_skip(in, 1);
    else
        wt_value_type(in, needs, NULL);
    if (wt_bytes_u8(in) > 1)
        wt_bytes_fail(in, "a field is neither constant nor variable");
}

void wt_composite_type(struct wt_bytes *in, uint8_t form, uint32_t *needs)
{
    switch (form) {
    case 0x5f: /* struct */
        *needs |= WT_NEEDS(GC);
        for (uint32_t left = wt_bytes_count(in, 2, FIELDS_MAX); left > 0 && !in->fault;
             left--)
            field_type(in, needs);
        break;
    case 0x5e: /* array */
        *needs |= WT_NEEDS(GC);
        field_type(in, needs);
        break;
    case 0x5d: /* continuation */
        *needs |= WT_NEEDS(STACK_SWITCHING);
        (void)wt_bytes_s64(in);
        break;
    default:
        wt_bytes_fail(in, bad_type);
    }
}

void wt_global_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text)
{
    struct wt_text value = { .used = 0 };
    uint8_t flags;

    wt_value_type(in, needs, text ? &value : NULL);
    flags = wt_bytes_u8(in);
    if (flags > 3)
        wt_bytes_fail(in, "a global is neither constant nor variable");
    if (flags & 2)
        *needs |= WT_NEEDS(THREADS);
    wt_text_add(text, "%s%s%s", flags & 2 ? "shared " : "", flags & 1 ? "mut " : "",
                value.bytes);
}

/* ---- memories and tables ---- */

#define LIMITS_MAX 0x01
#define LIMITS_SHARED 0x02
#define LIMITS_64 0x04
#define LIMITS_PAGE_SIZE 0x08

static struct wt_limits limits(struct wt_bytes *in, uint8_t allowed, uint32_t *needs,
                               uint8_t *ret_flags)
{
    struct wt_limits read = { .max = UINT64_MAX };
    uint8_t flags = wt_bytes_u8(in);

    if (flags & ~allowed)
        wt_bytes_fail(in, "limits are of an unknown kind");
    if (flags & LIMITS_SHARED)
        *needs |= WT_NEEDS(THREADS);
    if (flags & LIMITS_64)
        *needs |= WT_NEEDS(MEMORY64);
    if (flags & LIMITS_PAGE_SIZE)
        *needs |= WT_NEEDS(CUSTOM_PAGES);
    read.min = flags & LIMITS_64 ? wt_bytes_u64(in) : wt_bytes_u32(in);
    if (flags & LIMITS_MAX)
        read.max = flags & LIMITS_64 ? wt_bytes_u64(in) : wt_bytes_u32(in);
    if (read.min > read.max)
        wt_bytes_fail(in, "a least size is above its largest");
    *ret_flags = flags;
    return read;
}

static void add_limits(struct wt_text *text, struct wt_limits size, const char *unit)
{
    if (size.max == UINT64_MAX)
        wt_text_add(text, "%" PRIu64 ".. %s", size.min, unit);
    else
        wt_text_add(text, "%" PRIu64 "..%" PRIu64 " %s", size.min, size.max, unit);
}

struct wt_limits wt_memory_type(struct wt_bytes *in, uint32_t *needs,
                                struct wt_text *text)
{
    uint8_t flags;
    struct wt_limits size = limits(
        in, LIMITS_MAX | LIMITS_SHARED | LIMITS_64 | LIMITS_PAGE_SIZE, needs, &flags);

    if (flags & LIMITS_PAGE_SIZE)
        (void)wt_bytes_u32(in);
    else if (!(flags & LIMITS_64) &&
             (size.min > 65536 || (size.max != UINT64_MAX && size.max > 65536)))
        wt_bytes_fail(in, "a memory is larger than 4 GiB");
    if (flags & LIMITS_SHARED)
        wt_text_add(text, "shared ");
    add_limits(text, size, "pages");
    return size;
}

struct wt_limits wt_table_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text)
{
    struct wt_text element = { .used = 0 };
    struct wt_limits size;
    uint8_t flags;

    wt_value_type(in, needs, text ? &element : NULL);
    size = limits(in, LIMITS_MAX | LIMITS_SHARED | LIMITS_64, needs, &flags);
    add_limits(text, size, element.bytes);
    return size;
}

/* ---- constants ---- */

static void gc_constant(struct wt_bytes *in, uint32_t *needs)
{
    uint32_t code = wt_bytes_u32(in);

    *needs |= WT_NEEDS(GC);
    switch (code) {
    case 0: case 1: case 6: case 7: /* struct.new, array.new and their defaults */
        (void)wt_bytes_u32(in);
        break;
    case 8: /* array.new_fixed */
        (void)wt_bytes_u32(in);
        (void)wt_bytes_u32(in);
        break;
    case 0x1a: case 0x1b: case 0x1c: /* conversions, ref.i31 */
        break;
    default:
        wt_bytes_fail(in, "a constant uses an unknown instruction");
    }
}

void wt_constant(struct wt_bytes *in, uint32_t *needs)
{
    while (!in->fault) {
        switch (wt_bytes_u8(in)) {
        case 0x0b: /* end */
            return;
        case 0x41: case 0x42: /* i32.const, i64.const */
            (void)wt_bytes_s64(in);
            break;
        case 0x43: /* f32.const */
            wt_bytes_skip(in, 4);
            break;
        case 0x44: /* f64.const */
            wt_bytes_skip(in, 8);
            break;
        case 0x23: case 0xd2: /* global.get, ref.func */
            (void)wt_bytes_u32(in);
            break;
        case 0xd0: /* ref.null */
            heap_type(in, needs, NULL);
            break;
        case 0x6a: case 0x6b: case 0x6c: /* i32.add, sub, mul */
        case 0x7c: case 0x7d: case 0x7e: /* i64.add, sub, mul */
            break;
        case 0xfd:
            if (wt_bytes_u32(in) != 12) /* v128.const */
                wt_bytes_fail(in, "a constant uses an unknown instruction");
            wt_bytes_skip(in, 16);
            break;
        case 0xfb:
            gc_constant(in, needs);
            break;
        default:
            wt_bytes_fail(in, "a constant uses an unknown instruction");
        }
    }
}
