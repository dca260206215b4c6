/* What a module is and wants: the kinds of file, the sections, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <wasmtime.h>

#include "fail_alloc.h"
#include "nacre/module.h"
#include "nacre_wasi.h"
#include "wt_engine.h"
#include "wt_module.h"

/* The shims' table, played by four rows of it. */
const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count)
{
    static const struct nacre_wasi_function rows[] = {
        { NACRE_WASI_MODULE, "fd_write", "iiii:i", NACRE_CAPABILITY_OUTPUT, NULL },
        { NACRE_WASI_MODULE, "clock_time_get", "iIi:i", NACRE_CAPABILITY_CLOCK, NULL },
        { NACRE_WASI_MODULE, "proc_exit", "i:", NACRE_CAPABILITY_PROCESS, NULL },
        { NACRE_WASI_OWN_MODULE, "http_close", "i:i", NACRE_CAPABILITY_NETWORK, NULL },
    };

    *ret_count = NACRE_COUNT(rows);
    return rows;
}

/* A tool whose bytes end where its allocation ends, so that a sanitizer sees one
 * byte too many. */
struct sample {
    struct nacre_tool tool;
    unsigned char *bytes;
};

static void sample_clear(struct sample *sample)
{
    free(sample->bytes);
}

static struct sample sample_of(const void *bytes, size_t count)
{
    struct sample sample = {
        .tool = { .name = (char *)(uintptr_t)"t.wasm", .count = count },
    };

    sample.bytes = malloc(count);
    assert_true(sample.bytes || count == 0);
    if (count > 0)
        memcpy(sample.bytes, bytes, count);
    sample.tool.bytes = sample.bytes;
    return sample;
}

static struct sample sample_binary(const char *text)
{
    NACRE_AUTO(sample_clear) struct sample source = sample_of(text, strlen(text));
    const unsigned char *bytes;
    unsigned char *owned;
    struct nacre_error err;
    struct sample sample;
    size_t count;

    if (wt_module_binary(&source.tool, &bytes, &count, &owned, &err) != NACRE_OK)
        fail_msg("%s: %s", text, err.text);
    assert_ptr_equal(bytes, owned);
    sample = sample_of(bytes, count);
    free(owned);
    return sample;
}

static struct nacre_module_info *read_text(const char *text)
{
    NACRE_AUTO(sample_clear) struct sample sample = sample_of(text, strlen(text));
    struct nacre_module_info *info = NULL;
    struct nacre_error err;

    if (nacre_module_read(&sample.tool, &info, &err) != NACRE_OK)
        fail_msg("%s: %s", text, err.text);
    return info;
}

static const char everything[] =
    ";; a comment (module\n(; and (; another ;) ;) (module $m\n"
    "  (import \"wasi_snapshot_preview1\" \"fd_write\"\n"
    "    (func $w (param i32 i32 i32 i32) (result i32)))\n"
    "  (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $x (param i32)))\n"
    "  (import \"wasi_snapshot_preview1\" \"sock_dance\" (func (param i32)))\n"
    "  (import \"env\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32)))\n"
    "  (import \"env\" \"limit\" (global i64))\n"
    "  (import \"env\" \"t\" (table 3 9 funcref))\n"
    "  (import \"nacre\" \"http_close\" (func (param i32) (result i32)))\n"
    "  (import \"nacre\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32)))\n"
    "  (import \"nacre\" \"http_dance\" (func))\n"
    "  (table $own 5 funcref)\n"
    "  (memory $mem 2 16)\n"
    "  (global $g (mut f32) (f32.const 1.5))\n"
    "  (global $v v128 (v128.const i64x2 1 2))\n"
    "  (global $e i32 (i32.add (i32.const 1) (i32.mul (i32.const -70000) (i32.const 3))))"
    "  (global $n funcref (ref.func $w))\n"
    "  (func $start (export \"_start\") (call $x (i32.const 0)))\n"
    "  (func (export \"pair\") (param f64 v128) (result i32 i64)\n"
    "    (i32.const 1) (i64.const 2))\n"
    "  (export \"memory\" (memory $mem)) (export \"g\" (global $g))\n"
    "  (export \"v\" (global $v)) (export \"t\" (table $own))\n"
    "  (export \"caf\\c3\\a9\\1b[31m\\00_start\" (func $start))\n"
    "  (elem (table $own) (i32.const 0) func $start)\n"
    "  (data (i32.const 0) \"hello\"))\n";

static void a_module_is_described_as_it_is(void **state)
{
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info =
        read_text(everything);
    static const struct {
        const char *module, *name, *signature;
        char kind;
        bool known;
        enum nacre_capability capability;
    } imports[] = {
        { "wasi_snapshot_preview1", "fd_write", "(i32, i32, i32, i32) -> i32", 'f', true,
          NACRE_CAPABILITY_OUTPUT },
        { "wasi_snapshot_preview1", "proc_exit", "(i32) -> ()", 'f', true,
          NACRE_CAPABILITY_PROCESS },
        { "wasi_snapshot_preview1", "sock_dance", "(i32) -> ()", 'f', false, 0 },
        { "env", "fd_write", "(i32, i32, i32, i32) -> i32", 'f', false, 0 },
        { "env", "limit", "i64", 'g', false, 0 },
        { "env", "t", "3..9 funcref", 't', false, 0 },
        { "nacre", "http_close", "(i32) -> i32", 'f', true, NACRE_CAPABILITY_NETWORK },
        { "nacre", "fd_write", "(i32, i32, i32, i32) -> i32", 'f', false, 0 },
        { "nacre", "http_dance", "() -> ()", 'f', false, 0 },
    };
    static const struct {
        const char *name, *signature;
        char kind;
    } exports[] = {
        { "_start", "() -> ()", 'f' },
        { "pair", "(f64, v128) -> (i32, i64)", 'f' },
        { "memory", "2..16 pages", 'm' },
        { "g", "mut f32", 'g' },
        { "v", "v128", 'g' },
        { "t", "5.. funcref", 't' },
        { "caf\xc3\xa9\\x1b[31m\\x00_start", "() -> ()", 'f' },
    };

    (void)state;
    assert_int_equal(info->import_count, NACRE_COUNT(imports));
    for (size_t i = 0; i < NACRE_COUNT(imports); i++) {
        assert_string_equal(info->imports[i].module, imports[i].module);
        assert_string_equal(info->imports[i].name, imports[i].name);
        assert_string_equal(info->imports[i].signature, imports[i].signature);
        assert_int_equal(info->imports[i].kind, imports[i].kind);
        assert_int_equal(info->imports[i].known, imports[i].known);
        assert_int_equal(info->imports[i].capability, imports[i].capability);
    }
    assert_int_equal(info->export_count, NACRE_COUNT(exports));
    for (size_t i = 0; i < NACRE_COUNT(exports); i++) {
        assert_null(info->exports[i].module);
        assert_string_equal(info->exports[i].name, exports[i].name);
        assert_string_equal(info->exports[i].signature, exports[i].signature);
        assert_int_equal(info->exports[i].kind, exports[i].kind);
    }
    assert_int_equal(info->function_count, 2);
    assert_true(info->has_memory && info->is_command && !info->is_reactor);
    assert_true(info->has_names);
    assert_int_equal(info->memory_pages_min, 2);
    assert_int_equal(info->memory_pages_max, 16);
    assert_string_equal(info->refused, "");
}

static void a_module_without_start_is_a_reactor(void **state)
{
    static const char *const reactors[] = {
        "(module)",
        "(module (func $_start) (func (export \"_initialize\")))",
        "(module (memory (export \"_start\") 1))",
        "(module (func (export \"_start\\00\")))",
        "(module (func (export \"_Start\")))",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(reactors); i++) {
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info =
            read_text(reactors[i]);

        assert_true(info->is_reactor && !info->is_command);
        assert_string_equal(info->refused, "");
    }
}

static void names_are_told_only_when_functions_have_them(void **state)
{
    static const struct {
        const char *text;
        bool named;
    } rows[] = {
        { "(module (func $f))", true },
        { "(module (func))", false },
        { "(module $only_the_module (func))", false },
        { "(module (func) (@custom \"name\" \"\\01\\ff\"))", false },
        { "(module (func) (@custom \"Name\" \"\\01\\04\\01\\00\\01f\"))", false },
        { "(module (func) (@custom \"name\" \"\\01\\04\\01\\00\\01f\"))", true },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info =
            read_text(rows[i].text);

        assert_int_equal(info->has_names, rows[i].named);
    }
}

static void tables_and_memories_are_added_up(void **state)
{
    static const struct {
        const char *text;
        struct wt_module_tables tables;
    } rows[] = {
        { "(module)", { 0, 0, 0, 0 } },
        { "(module (table 7 funcref))", { 0, 1, 7, UINT64_MAX } },
        { "(module (table 7 10 funcref) (table 0 0 externref) (memory 1))",
          { 1, 2, 7, 10 } },
        { "(module (import \"a\" \"b\" (table 5 6 funcref))"
          " (import \"a\" \"m\" (memory 1)) (table 1 2 funcref) (memory 2))",
          { 2, 2, 6, 8 } },
        { "(module (table 1 funcref) (table 0xffffffff 0xffffffff funcref))",
          { 0, 2, UINT64_C(0x100000000), UINT64_MAX } },
        { "(module (table i64 0xffffffffffffffff funcref) (table 2 funcref))",
          { 0, 2, UINT64_MAX, UINT64_MAX } },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(sample_clear) struct sample sample = sample_binary(rows[i].text);
        struct wt_module_tables tables;
        struct nacre_error err;

        assert_int_equal(wt_module_tables(&sample.tool, &tables, &err), NACRE_OK);
        assert_int_equal(tables.memories, rows[i].tables.memories);
        assert_int_equal(tables.tables, rows[i].tables.tables);
        assert_true(tables.elements_min == rows[i].tables.elements_min);
        assert_true(tables.elements_max == rows[i].tables.elements_max);
    }
}

/* ---- what is refused by name ---- */

static const struct {
    const char *text, *refused;
} refusals[] = {
    { "(module (memory 1) (memory 1))", "needs multi-memory, off in nacre" },
    { "(module (import \"a\" \"b\" (memory 1)) (memory 1))",
      "needs multi-memory, off in nacre" },
    { "(module (memory i64 1))", "needs memory64, off in nacre" },
    { "(module (table i64 1 funcref))", "needs memory64, off in nacre" },
    { "(module (memory 1 2 shared))", "needs threads, off in nacre" },
    { "(module (import \"env\" \"memory\" (memory 1 2 shared)))",
      "needs threads, off in nacre" },
    { "(module (type (struct (field i8) (field (mut i64)))))", "needs GC, off in nacre" },
    { "(module (type (array (mut i16))))", "needs GC, off in nacre" },
    { "(module (rec (type (func)) (type (func))))", "needs GC, off in nacre" },
    { "(module (type (sub (func))))", "needs GC, off in nacre" },
    { "(module (func (param anyref)))", "needs GC, off in nacre" },
    { "(module (func (result i31ref) unreachable))", "needs GC, off in nacre" },
    { "(module (table 1 eqref))", "needs GC, off in nacre" },
    { "(module (global i31ref (ref.i31 (i32.const 1))))", "needs GC, off in nacre" },
    { "(module (func (param externref)))", "needs externref, off in nacre" },
    { "(module (global externref (ref.null extern)))", "needs externref, off in nacre" },
    { "(module (tag))", "needs exceptions, off in nacre" },
    { "(module (import \"a\" \"b\" (tag (param i32))))",
      "needs exceptions, off in nacre" },
    { "(module (global exnref (ref.null exn)))", "needs exceptions, off in nacre" },
    { "(module (memory 1 (pagesize 1)))", "needs custom page sizes, off in nacre" },
    { "(module (type $f (func)) (type (cont $f)))",
      "needs stack switching, off in nacre" },
    { "(module (type $f (func)) (func (param (ref null $f))))",
      "needs typed function references, off in nacre" },
    { "(module (func $f) (elem declare func $f)"
      " (table 1 funcref (ref.func $f)))",
      "needs typed function references, off in nacre" },
    { "(module (memory i64 1) (memory 1 2 shared))",
      "needs multi-memory, memory64 and threads, off in nacre" },
    { "(module (tag) (memory 1 2 shared))",
      "needs threads and exceptions, off in nacre" },
    { "(module (type $f (func)) (type (cont $f)) (type (struct)) (tag)"
      " (memory i64 1 2 shared (pagesize 1)) (memory 1) (func (param (ref $f))))",
      "needs multi-memory, memory64, threads, GC, exceptions, custom page sizes, stack "
      "switching and typed function references, off in nacre" },
    { "(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func (param i32))))",
      "imports fd_write as (i32) -> (); preview 1 has (i32, i32, i32, i32) -> i32" },
    { "(module (import \"wasi_snapshot_preview1\" \"clock_time_get\""
      " (func (param i32 i32 i32) (result i32))))",
      "imports clock_time_get as (i32, i32, i32) -> i32; preview 1 has (i32, i64, i32) "
      "-> i32" },
    { "(module (import \"wasi_snapshot_preview1\" \"proc_exit\""
      " (func (param i32) (result i32))))",
      "imports proc_exit as (i32) -> i32; preview 1 has (i32) -> ()" },
    { "(module (import \"nacre\" \"http_close\" (func (param i64) (result i32))))",
      "imports http_close as (i64) -> i32; nacre has (i32) -> i32" },
    { "(module (func (export \"_start\") (param i32)))",
      "exports _start as (i32) -> (); a command's is () -> ()" },
};

static void what_is_switched_off_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refusals); i++) {
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info =
            read_text(refusals[i].text);

        assert_string_equal(info->refused, refusals[i].refused);
        for (uint32_t k = 0; k < info->import_count; k++)
            assert_false(info->imports[k].known);
    }
}

static const char *const taken[] = {
    "(module (memory 1))",
    "(module (table 1 funcref) (table 1 (ref null func)))",
    "(module (func (param v128) (result i32 i32) i32.const 1 i32.const 2))",
    "(module (func $f return_call $f))",
    "(module (global funcref (ref.null func)))",
    ("(module (import \"wasi_snapshot_preview1\" \"clock_time_get\""
     " (func (param i32 i64 i32) (result i32))))"),
};

static void what_is_switched_on_is_not_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(taken); i++) {
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info =
            read_text(taken[i]);

        assert_string_equal(info->refused, "");
    }
}

static bool engine_takes(wasm_engine_t *engine, const char *text)
{
    NACRE_AUTO(sample_clear) struct sample sample = sample_binary(text);
    wasmtime_module_t *module = NULL;
    wasmtime_error_t *error =
        wasmtime_module_new(engine, sample.bytes, sample.tool.count, &module);

    if (error)
        wasmtime_error_delete(error);
    else
        wasmtime_module_delete(module);
    return !error;
}

/* Or a setting was changed in one place and not in the other.  The last rows are
 * about signatures, which the linker judges. */
static void reader_and_engine_agree_on_what_is_off(void **state)
{
    wasm_engine_t *engine = wt_engine_new(false);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refusals); i++)
        if (engine_takes(engine, refusals[i].text) !=
            (strncmp(refusals[i].refused, "needs ", 6) != 0))
            fail_msg("%s: %s", refusals[i].text, refusals[i].refused);
    for (size_t i = 0; i < NACRE_COUNT(taken); i++)
        if (!engine_takes(engine, taken[i]))
            fail_msg("the engine refuses %s", taken[i]);
    wasm_engine_delete(engine);
}

/* ---- what is no module ---- */

#define HEADER "\0asm\1\0\0\0"
#define TYPES "\1\4\1\x60\0\0" /* one type, () -> () */
#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t count;
    const char *says;
} foreign[] = {
    { BYTES(""), "t.wasm is empty" },
    { BYTES("\0"), "is not WebAssembly: it starts with \"\\x00\"" },
    { BYTES("\0as"), "is not WebAssembly" },
    { BYTES("\0asm"), "it ends after 4 bytes" },
    { BYTES("\0asm\1\0\0"), "it ends after 7 bytes" },
    { BYTES("\0asm\2\0\0\0"), "version 0x00000002; nacre runs version 1" },
    { BYTES("\0asm\x0d\0\1\0"),
      "t.wasm is a WebAssembly component (preview 2); nacre runs core modules (preview "
      "1) for now: build for wasm32-wasip1" },
    { BYTES("\0asm\x0e\0\1\0rest"), "component" },
    { BYTES(" (component)"), "component" },
    { BYTES("\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0"), "run it as a command" },
    { BYTES("\x7f" "ELF"), "is a native Linux program" },
    { BYTES("\x7f" "ELF\2\1\1\xc8"), "is code compiled by wasmtime" },
    { BYTES("#!/bin/sh\necho hello\n"), "is a script (#!/bin/sh)" },
    { BYTES("#!\x1b[31m"), "is a script (#!\\x1b[31m)" },
    { BYTES("#!"), "is a script" },
    { BYTES("PK\3\4"), "is not WebAssembly: it starts with \"PK\\x03\\x04\"" },
    { BYTES("hello, world\n"), "starts with \"hello, world\"" },
    { BYTES("(modular)"), "is not WebAssembly" },
    { BYTES("("), "is not WebAssembly" },
    { BYTES("(; never ends (module"), "is not WebAssembly" },
    { BYTES(";; (module)"), "is not WebAssembly" },
    { BYTES("(module"), "not valid WebAssembly text: " },
    { BYTES("(module\0)"), "is not WebAssembly" },
    /* sections */
    { BYTES(HEADER "\1"), "it ends in the middle of something, at byte 9" },
    { BYTES(HEADER "\1\5"), "a section runs past the end" },
    { BYTES(HEADER "\1\xff\xff\xff\xff\x0f"), "a section runs past the end" },
    { BYTES(HEADER "\1\xff\xff\xff\xff\x1f"), "a number is too long" },
    { BYTES(HEADER "\1\x80\x80\x80\x80\x80\0"), "a number is too long" },
    { BYTES(HEADER "\x0e\0"), "a section is of an unknown kind" },
    { BYTES(HEADER "\xff\0"), "a section is of an unknown kind" },
    { BYTES(HEADER TYPES TYPES), "a section is out of order or comes twice" },
    { BYTES(HEADER "\3\1\0" TYPES), "a section is out of order or comes twice" },
    { BYTES(HEADER "\6\1\0\x0d\1\0"), "a section is out of order or comes twice" },
    { BYTES(HEADER "\x0a\1\0\x0c\1\0"), "a section is out of order or comes twice" },
    { BYTES(HEADER "\1\5\1\x60\0\0\0"), "a section is longer than what it holds" },
    { BYTES(HEADER "\1\1"), "a section runs past the end" },
    { BYTES(HEADER "\1\0"), "it ends in the middle of something" },
    { BYTES(HEADER "\1\4\2\x60\0\0"), "a count is larger than what follows" },
    { BYTES(HEADER "\1\6\xff\xff\xff\xff\x0f\0"), "a count is larger than what follows" },
    { BYTES(HEADER "\1\4\1\x61\0\0"), "a type is of an unknown kind" },
    { BYTES(HEADER "\1\5\1\x60\1\x40\0"), "a type is of an unknown kind" },
    { BYTES(HEADER "\1\6\1\x60\1\x63\x40\0"), "a type is of an unknown kind" },
    { BYTES(HEADER "\1\4\1\x5e\x78\2"), "neither constant nor variable" },
    { BYTES(HEADER TYPES "\3\2\1\1"), "a function has a type that is not there" },
    { BYTES(HEADER "\1\4\1\x5e\x78\0" "\3\2\1\0"), "has a type that is not there" },
    { BYTES(HEADER TYPES "\3\2\1\0"), "it has functions and no code" },
    { BYTES(HEADER TYPES "\3\2\1\0\x0a\1\0"), "not every function has its code" },
    { BYTES(HEADER "\x0a\2\1\0"), "not every function has its code" },
    { BYTES(HEADER "\2\5\1\1a\1b"), "it ends in the middle of something" },
    { BYTES(HEADER "\2\6\1\1a\1b\5"), "an import is of an unknown kind" },
    { BYTES(HEADER "\2\6\1\1a\1b\xff"), "an import is of an unknown kind" },
    { BYTES(HEADER "\2\7\1\1a\1b\0\0"), "a function has a type that is not there" },
    { BYTES(HEADER "\2\5\1\x7f" "a\1b"), "a name runs past the end" },
    { BYTES(HEADER "\2\7\1\1\xff\1b\0\0"), "a name is not UTF-8" },
    { BYTES(HEADER "\2\x09\1\3\xed\xa0\x80\1b\0\0"), "a name is not UTF-8" },
    { BYTES(HEADER "\0\1\5"), "a name runs past the end" },
    { BYTES(HEADER "\0\2\1\xff"), "a name is not UTF-8" },
    { BYTES(HEADER "\0\0"), "it ends in the middle of something" },
    { BYTES(HEADER "\4\4\1\x70\x10\0"), "limits are of an unknown kind" },
    { BYTES(HEADER "\4\4\1\x70\x08\0"), "limits are of an unknown kind" },
    { BYTES(HEADER "\4\5\1\x70\1\2\1"), "a least size is above its largest" },
    { BYTES(HEADER "\4\6\1\x40\1\x70\0\0"), "a table is of an unknown kind" },
    { BYTES(HEADER "\5\3\1\x10\0"), "limits are of an unknown kind" },
    { BYTES(HEADER "\5\5\1\0\x81\x80\4"), "a memory is larger than 4 GiB" },
    { BYTES(HEADER "\5\6\1\1\0\x81\x80\4"), "a memory is larger than 4 GiB" },
    { BYTES(HEADER TYPES "\x0d\3\1\1\0"), "a tag is of an unknown kind" },
    { BYTES(HEADER "\6\6\1\x7f\4\x41\0\x0b"), "neither constant nor variable" },
    { BYTES(HEADER "\6\5\1\x7f\0\x41\0"), "it ends in the middle of something" },
    { BYTES(HEADER "\6\4\1\x7f\0\x01"), "a constant uses an unknown instruction" },
    { BYTES(HEADER "\6\5\1\x7b\0\xfd\x0d"), "a constant uses an unknown instruction" },
    { BYTES(HEADER "\6\5\1\x6e\0\xfb\x7f"), "a constant uses an unknown instruction" },
    { BYTES(HEADER "\6\x0f\1\x7e\0\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\x0b"),
      "a number is too long" },
    { BYTES(HEADER "\7\5\1\1a\0\0"), "an export names something that is not there" },
    { BYTES(HEADER "\7\5\1\1a\5\0"), "an export names something that is not there" },
    { BYTES(HEADER "\7\5\1\1a\xff\0"), "an export names something that is not there" },
};

static void what_is_no_module_says_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(foreign); i++) {
        NACRE_AUTO(sample_clear) struct sample sample =
            sample_of(foreign[i].bytes, foreign[i].count);
        struct nacre_module_info *info = NULL;
        struct nacre_error err;
        enum nacre_status status = nacre_module_read(&sample.tool, &info, &err);

        if (status != NACRE_ERR_NOT_RUNNABLE || !strstr(err.text, foreign[i].says))
            fail_msg("row %zu, \"%s\": status %d, %s", i, foreign[i].says, (int)status,
                     status == NACRE_OK ? "" : err.text);
        assert_int_equal(status, err.status);
        assert_null(info);
    }
}

/* Spellings that the engine's text reader does not write. */
static void rare_encodings_are_judged_like_the_common_ones(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *refused;
    } rows[] = {
        { BYTES(HEADER "\2\7\1\1a\0\x7f\1\0"), "needs compact imports, off in nacre" },
        { BYTES(HEADER "\2\7\1\1a\0\x7e\1\0"), "needs compact imports, off in nacre" },
        { BYTES(HEADER "\1\6\1\x60\1\x63\x70\0"), "" }, /* (ref null func) */
        { BYTES(HEADER "\1\6\1\x60\1\x64\x70\0"),
          "needs typed function references, off in nacre" },
        { BYTES(HEADER "\1\7\1\x60\1\x63\x65\x70\0"), "needs threads, off in nacre" },
        { BYTES(HEADER "\1\5\1\x65\x60\0\0"), "needs threads, off in nacre" },
        { BYTES(HEADER "\6\6\1\x7f\2\x41\0\x0b"), "needs threads, off in nacre" },
        { BYTES(HEADER "\1\x08\x81\x80\x80\x80\0\x60\0\0"), "" }, /* a long 1 */
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(sample_clear) struct sample sample =
            sample_of(rows[i].bytes, rows[i].count);
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
        struct nacre_error err;

        if (nacre_module_read(&sample.tool, &info, &err) != NACRE_OK)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(info->refused, rows[i].refused);
    }
}

static void a_mistake_in_text_is_told_with_its_place(void **state)
{
    NACRE_AUTO(sample_clear) struct sample sample =
        sample_of(BYTES("(module\n  (func\n    i32.bogus))\n"));
    struct nacre_module_info *info;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_module_read(&sample.tool, &info, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_string_equal(err.file, "t.wasm");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 5);
    assert_non_null(strstr(err.text, "not valid WebAssembly text: unknown operator"));
    assert_null(strchr(err.text, '\n'));
}

static void text_is_converted_up_to_its_limit(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        NACRE_AUTO(sample_clear) struct sample sample = { 0 };
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
        size_t count = WT_MODULE_TEXT_BYTES_MAX + over;
        char *text = malloc(count);
        struct nacre_error err;

        assert_non_null(text);
        memset(text, ' ', count);
        memcpy(text, "(module)", 8);
        sample = sample_of(text, count);
        free(text);
        assert_int_equal(nacre_module_read(&sample.tool, &info, &err),
                         over ? NACRE_ERR_NOT_RUNNABLE : NACRE_OK);
        if (over)
            assert_non_null(strstr(err.text, "is WebAssembly text of 1048577 bytes"));
    }
}

static void code_that_the_engine_compiled_is_no_module(void **state)
{
    NACRE_AUTO(sample_clear) struct sample sample = sample_binary("(module (func))");
    NACRE_AUTO(sample_clear) struct sample compiled = { 0 };
    wasm_engine_t *engine = wasm_engine_new();
    wasmtime_module_t *module = NULL;
    struct nacre_module_info *info;
    wasm_byte_vec_t code;
    struct nacre_error err;

    (void)state;
    assert_null(wasmtime_module_new(engine, sample.bytes, sample.tool.count, &module));
    assert_null(wasmtime_module_serialize(module, &code));
    compiled = sample_of(code.data, code.size);
    wasm_byte_vec_delete(&code);
    wasmtime_module_delete(module);
    wasm_engine_delete(engine);
    assert_int_equal(nacre_module_read(&compiled.tool, &info, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_string_equal(err.text, "t.wasm is code compiled by wasmtime, not a module; "
                                  "give the .wasm it was made from");
}

/* ---- damage ---- */

static void read_anything(const unsigned char *bytes, size_t count)
{
    NACRE_AUTO(sample_clear) struct sample sample = sample_of(bytes, count);
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status = nacre_module_read(&sample.tool, &info, &err);

    assert_true(status == NACRE_OK || status == NACRE_ERR_NOT_RUNNABLE);
    assert_int_equal(status, err.status);
    assert_int_equal(status == NACRE_OK, info != NULL);
}

static void a_module_cut_anywhere_is_judged_without_harm(void **state)
{
    NACRE_AUTO(sample_clear) struct sample whole = sample_binary(everything);

    (void)state;
    for (size_t count = 0; count <= whole.tool.count; count++)
        read_anything(whole.bytes, count);
}

static void a_module_with_any_byte_changed_is_judged_without_harm(void **state)
{
    static const unsigned char changes[] = { 0x01, 0x02, 0x10, 0x40, 0x7f, 0x80, 0xff };
    NACRE_AUTO(sample_clear) struct sample whole = sample_binary(everything);

    (void)state;
    for (size_t i = 0; i < whole.tool.count; i++)
        for (size_t k = 0; k < NACRE_COUNT(changes); k++) {
            whole.bytes[i] ^= changes[k];
            read_anything(whole.bytes, whole.tool.count);
            whole.bytes[i] ^= changes[k];
        }
}

static void a_signature_without_end_is_cut(void **state)
{
    char text[8192] = "(module (func (export \"f\") (param";
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;

    (void)state;
    for (int i = 0; i < 900; i++)
        strcat(text, " i32");
    strcat(text, ")))");
    info = read_text(text);
    assert_int_equal(strlen(info->exports[0].signature), 255);
    assert_string_equal(info->exports[0].signature + 252, "...");
}

static void read_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(sample_clear) struct sample sample =
        sample_of(everything, strlen(everything));
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 200);
        fail_alloc_after(n);
        status = nacre_module_read(&sample.tool, &info, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

static void every_capability_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < NACRE_CAPABILITY_COUNT; i++)
        assert_non_null(nacre_capability_name((enum nacre_capability)i));
    assert_string_equal(nacre_capability_name(NACRE_CAPABILITY_FILES), "filesystem");
}

static int load(void **state)
{
    struct nacre_error err;

    (void)state;
    return nacre_wasmtime_load(&err) == NACRE_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_is_described_as_it_is),
        cmocka_unit_test(a_module_without_start_is_a_reactor),
        cmocka_unit_test(names_are_told_only_when_functions_have_them),
        cmocka_unit_test(tables_and_memories_are_added_up),
        cmocka_unit_test(what_is_switched_off_is_refused_by_name),
        cmocka_unit_test(what_is_switched_on_is_not_refused),
        cmocka_unit_test(reader_and_engine_agree_on_what_is_off),
        cmocka_unit_test(what_is_no_module_says_what_it_is),
        cmocka_unit_test(rare_encodings_are_judged_like_the_common_ones),
        cmocka_unit_test(a_mistake_in_text_is_told_with_its_place),
        cmocka_unit_test(text_is_converted_up_to_its_limit),
        cmocka_unit_test(code_that_the_engine_compiled_is_no_module),
        cmocka_unit_test(a_module_cut_anywhere_is_judged_without_harm),
        cmocka_unit_test(a_module_with_any_byte_changed_is_judged_without_harm),
        cmocka_unit_test(a_signature_without_end_is_cut),
        cmocka_unit_test(read_survives_every_allocation_failure),
        cmocka_unit_test(every_capability_has_a_name),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
