/* One call of loaded code: every way to end is told as what it is, and leaves nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "nacre/clock.h"
#include "wt_call.h"
#include "wt_engine.h"

#define PAGE ((uint64_t)65536)
#define OUTPUT_BYTES 16
#define WASI "(import \"wasi_snapshot_preview1\" "
#define IMPORT_EXIT WASI "\"proc_exit\" (func $exit (param i32)))"
#define IMPORT_WRITE \
    WASI "\"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))"
/* $say writes `count` zeros to stdout; the memory is of one page and may grow. */
#define SAY                                                                         \
    "(memory (export \"memory\") 1) (func $say (param $count i32)"                   \
    " (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (local.get 0))" \
    " (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"

static wasm_engine_t *engine;
static wasmtime_linker_t *linker;
static const int trap_signals[] = { SIGSEGV, SIGILL, SIGFPE, SIGBUS };
static struct sigaction engine_traps[NACRE_COUNT(trap_signals)];

static int make_engine(void **state)
{
    struct nacre_error err;

    (void)state;
    if (nacre_wasmtime_load(&err) != NACRE_OK)
        return -1;
    engine = wt_engine_new(false);
    for (size_t i = 0; i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], NULL, &engine_traps[i]);
    linker = wasmtime_linker_new(engine);
    return nacre_wasi_link(linker, &err) == NACRE_OK ? 0 : -1;
}

static int drop_engine(void **state)
{
    (void)state;
    wasmtime_linker_delete(linker);
    wasm_engine_delete(engine);
    return 0;
}

/* cmocka puts handlers of its own in place for each test; a guest's trap needs the
 * engine's. */
static void take_traps_back(void)
{
    for (size_t i = 0; i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], &engine_traps[i], NULL);
}

static int memfd_of(const void *bytes, size_t count)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    return fd;
}

static int compiled(const char *wat)
{
    wasm_byte_vec_t binary, code;
    wasmtime_module_t *module;
    int fd;

    if (wasmtime_wat2wasm(wat, strlen(wat), &binary))
        fail_msg("not a module: %s", wat);
    assert_null(wasmtime_module_new(engine, (uint8_t *)binary.data, binary.size,
                                    &module));
    assert_null(wasmtime_module_serialize(module, &code));
    fd = memfd_of(code.data, code.size);
    wasm_byte_vec_delete(&binary);
    wasm_byte_vec_delete(&code);
    wasmtime_module_delete(module);
    return fd;
}

static struct wt_code *load(const char *wat)
{
    NACRE_AUTO(nacre_fd_guard) int fd = compiled(wat);
    struct wt_code *code = NULL;
    struct nacre_error err;

    if (wt_code_load(engine, linker, fd, &code, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return code;
}

/* A call's whole world; zeroed fields of a case mean "enough". */
struct world {
    struct nacre_wasi *wasi;
    struct nacre_wasi_record record;
    unsigned char output[2][OUTPUT_BYTES];
    struct nacre_wasi_call call;
    struct wt_order order;
    struct wt_reply reply;
    _Atomic int cancelled;
    bool cancels; /* what on_output does besides bumping the epoch */
    int replies;
};

static void note_reply(void *data)
{
    struct world *world = data;

    assert_true(world->reply.outcome != NACRE_OUTCOME_NONE ||
                world->reply.status != NACRE_OK);
    world->replies++;
}

static void world_make(struct world *world, const char *const *arguments, uint32_t count)
{
    static const struct nacre_wasi_config config = { .scratch_fd = -1 };
    struct nacre_error err;

    *world = (struct world){
        .call = { .arguments = arguments, .argument_count = count, .input_fd = -1,
                  .deadline_ns = nacre_clock_ns() + 600 * NACRE_NS_PER_S,
                  .output_bytes_max = OUTPUT_BYTES },
        .order = { .bounds = { .memory_bytes_max = 4 * PAGE, .table_elements_max = 100,
                               .table_count = 1, .fuel_max = 1000000 },
                   .on_reply = note_reply },
    };
    memset(&world->reply, 0xff, sizeof(world->reply)); /* of a call before */
    assert_int_equal(nacre_wasi_new(&config, &world->wasi, &err), NACRE_OK);
    world->call.record = &world->record;
    world->call.output[0] = world->output[0];
    world->call.output[1] = world->output[1];
    world->order.wasi = world->wasi;
    world->order.call = &world->call;
    world->order.cancelled = &world->cancelled;
    world->order.on_reply_data = world;
}

static void world_run(struct world *world, const char *wat)
{
    NACRE_AUTO(wt_code_guard) struct wt_code *code = load(wat);

    take_traps_back();
    wt_call_run(engine, code, &world->order, &world->reply);
    assert_int_equal(world->replies, 1);
    nacre_wasi_free(world->wasi);
}

#define START(body) "(func (export \"_start\") " body ")"
#define GROW "(loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))"

/* `says`: what the reason has; "" for none at all. */
static const struct ending {
    const char *wat;
    enum nacre_outcome outcome;
    int exit_status;
    bool fuel_exact, memory_refused;
    const char *says;
} endings[] = {
    { "(module " START("") ")", NACRE_OUTCOME_EXITED, 0, true, false, "" },
    { "(module " IMPORT_EXIT START("(call $exit (i32.const 7)) unreachable") ")",
      NACRE_OUTCOME_EXITED, 7, true, false, "" },
    { "(module " IMPORT_EXIT START("(call $exit (i32.const 300))") ")",
      NACRE_OUTCOME_EXITED, 300, true, false, "" },
    { "(module " IMPORT_EXIT "(func $early (call $exit (i32.const 9))) (start $early)"
      START("unreachable") ")",
      NACRE_OUTCOME_EXITED, 9, true, false, "" },
    { "(module (func $inner unreachable)" START("(call $inner)") ")",
      NACRE_OUTCOME_TRAPPED, 0, true, false, "unreachable code was reached\n  at inner" },
    { "(module " START("(drop (i32.div_u (i32.const 1) (i32.const 0)))") ")",
      NACRE_OUTCOME_TRAPPED, 0, false, false, "integer division by zero" },
    { "(module (memory 1)" START("(drop (i32.load (i32.const 65536)))") ")",
      NACRE_OUTCOME_TRAPPED, 0, false, false, "memory access out of bounds" },
    { "(module (func $deep (call $deep))" START("(call $deep)") ")",
      NACRE_OUTCOME_TRAPPED, 0, false, false,
      "stack overflow\n  at deep\n  at deep (+0x" }, /* where in the first is not known */
    { "(module (func $early unreachable) (start $early)" START("") ")",
      NACRE_OUTCOME_TRAPPED, 0, true, false, "at early" },
    /* An error of the engine's after the guest was entered is the guest's ending. */
    { "(module (func (export \"_start\") (param i32)))", NACRE_OUTCOME_TRAPPED, 0, false,
      false, "" },
    { "(module " START("(loop (br 0))") ")", NACRE_OUTCOME_OUT_OF_FUEL, 0, true, false,
      "out of fuel" },
    { "(module (memory 1)" START(GROW "unreachable") ")", NACRE_OUTCOME_OUT_OF_MEMORY, 0,
      true, true, "unreachable" },
    { "(module (memory 1)" START(GROW) ")", NACRE_OUTCOME_EXITED, 0, true, true, "" },
    { "(module (memory 5)" START("") ")", NACRE_OUTCOME_OUT_OF_MEMORY, 0, false, true,
      "" },
    { "(module " IMPORT_WRITE SAY START("(call $say (i32.const 17)) unreachable") ")",
      NACRE_OUTCOME_OUTPUT_LIMIT, 0, true, false, "" },
};

static void every_way_to_end_is_told_as_what_it_is(void **state)
{
    static const char *const arguments[] = { "guest" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(endings); i++) {
        const struct ending *expected = &endings[i];
        struct world world;

        world_make(&world, arguments, 1);
        world_run(&world, expected->wat);
        if (world.reply.status != NACRE_OK ||
            world.reply.outcome != (uint32_t)expected->outcome ||
            world.reply.exit_status != expected->exit_status ||
            world.reply.memory_refused != expected->memory_refused ||
            world.reply.fuel_exact != expected->fuel_exact)
            fail_msg("%s: %s, %s, status %d, %s", expected->wat,
                     nacre_status_name(world.reply.status),
                     nacre_outcome_name(world.reply.outcome), world.reply.exit_status,
                     world.reply.reason);
        if (expected->outcome == NACRE_OUTCOME_EXITED)
            assert_string_equal(world.reply.reason, "");
        assert_non_null(strstr(world.reply.reason, expected->says));
        assert_true(world.reply.memory_bytes_peak <= 4 * PAGE);
        assert_true(world.reply.fuel <= world.order.bounds.fuel_max);
    }
}

static void a_module_that_can_not_be_entered_says_why(void **state)
{
    static const struct {
        const char *wat, *invoke, *says;
    } cases[] = {
        { "(module)", NULL, "it exports no _start: a reactor is run with --invoke" },
        { "(module (memory (export \"_start\") 1))", NULL, "it exports no _start" },
        { "(module " START("") ")", "add", "no exported function 'add'" },
        { "(module (memory (export \"add\") 1))", "add", "no exported function 'add'" },
        { "(module)", "\x1b[1m", "no exported function '\\x1b[1m'" },
        { "(module (func (export \"add\") (param i32 i32)))", "add", "add" },
        { "(module (func (export \"add\") (param i64)))", "add", "add" },
    };
    static const char *const arguments[] = { "guest", "five" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        struct world world;

        world_make(&world, arguments, 2);
        world.order.invoke = cases[i].invoke;
        world_run(&world, cases[i].wat);
        assert_int_equal(world.reply.status, NACRE_ERR_NOT_RUNNABLE);
        assert_int_equal(world.reply.outcome, NACRE_OUTCOME_NONE);
        assert_int_equal(world.reply.values_size, 0);
        if (!strstr(world.reply.reason, cases[i].says))
            fail_msg("%s: %s", cases[i].wat, world.reply.reason);
    }
}

static void a_reactor_is_initialised_once_and_its_export_called(void **state)
{
    static const char reactor[] =
        "(module (global $g (mut i32) (i32.const 0))"
        " (func (export \"_initialize\")"
        "  (global.set $g (i32.add (global.get $g) (i32.const 40))))"
        " (func (export \"add\") (param i32) (result i32)"
        "  (i32.add (global.get $g) (local.get 0))))";
    static const char broken[] =
        "(module " IMPORT_WRITE SAY " (func (export \"_initialize\") unreachable)"
        " (func (export \"add\") (param i32) (call $say (i32.const 1))))";
    static const char *const arguments[] = { "guest", "2" };
    struct world world;

    (void)state;
    world_make(&world, arguments, 2);
    world.order.invoke = "add";
    world_run(&world, reactor);
    assert_int_equal(world.reply.outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(world.reply.values_size, 4);
    assert_memory_equal(world.reply.values, "[42]", 4);

    world_make(&world, arguments, 2);
    world.order.invoke = "add";
    world_run(&world, broken);
    assert_int_equal(world.reply.outcome, NACRE_OUTCOME_TRAPPED);
    assert_int_equal(world.reply.values_size, 0);
    assert_int_equal(atomic_load(&world.record.output_used[0]), 0);
}

static void bump(void *data)
{
    struct world *world = data;

    if (world->cancels)
        atomic_store(&world->cancelled, SIGTERM);
    wasmtime_engine_increment_epoch(engine);
}

/* The epoch is the engine's, of all its guests: a bump ends those whose time is up. */
static void a_bumped_epoch_ends_only_who_is_over(void **state)
{
    static const char guest[] =
        "(module " IMPORT_WRITE SAY "(func (export \"_start\") (local $i i32)"
        " (call $say (i32.const 1))"
        " (loop (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))"
        "  (i32.const 1000)))) (call $say (i32.const 2))))";
    static const char *const arguments[] = { "guest" };

    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        struct world world;

        world_make(&world, arguments, 1);
        world.call.on_output = bump;
        world.call.on_output_data = &world;
        world.cancels = cancels;
        world_run(&world, guest);
        assert_int_equal(world.reply.status, NACRE_OK);
        assert_int_equal(world.reply.outcome,
                         cancels ? NACRE_OUTCOME_TIMED_OUT : NACRE_OUTCOME_EXITED);
        assert_int_equal(world.reply.fuel_exact, !cancels);
        assert_int_equal(atomic_load(&world.record.output_used[0]), cancels ? 1 : 3);
    }
}

static void what_is_over_or_has_no_room_is_not_entered(void **state)
{
    static const char guest[] =
        "(module " IMPORT_WRITE SAY START("(call $say (i32.const 1))") ")";
    static const char *const arguments[] = { "guest" };
    struct world world;

    (void)state;
    for (int i = 0; i < 4; i++) {
        world_make(&world, arguments, 1);
        if (i == 1)
            world.call.deadline_ns = nacre_clock_ns();
        if (i == 2)
            atomic_store(&world.cancelled, SIGINT);
        if (i == 3)
            world.order.bounds.table_bytes = 4 * PAGE + 1;
        world_run(&world, guest);
        assert_int_equal(world.reply.status, NACRE_OK);
        assert_int_equal(world.reply.outcome, i == 0   ? NACRE_OUTCOME_EXITED
                                              : i == 3 ? NACRE_OUTCOME_OUT_OF_MEMORY
                                                       : NACRE_OUTCOME_TIMED_OUT);
        assert_int_equal(atomic_load(&world.record.output_used[0]), i == 0);
        assert_int_equal(world.reply.fuel == 0, i != 0);
    }
}

static void fuel_is_an_exact_budget(void **state)
{
    static const char guest[] = "(module " START("nop nop nop (drop (i32.const 1))") ")";
    static const char *const arguments[] = { "guest" };
    struct world world;
    uint64_t needed;

    (void)state;
    world_make(&world, arguments, 1);
    world_run(&world, guest);
    needed = world.reply.fuel;
    assert_true(needed > 0);
    for (uint64_t given = needed - 1; given <= needed + 1; given++) {
        world_make(&world, arguments, 1);
        world.order.bounds.fuel_max = given;
        world_run(&world, guest);
        assert_int_equal(world.reply.outcome, given < needed ? NACRE_OUTCOME_OUT_OF_FUEL
                                                             : NACRE_OUTCOME_EXITED);
        assert_int_equal(world.reply.fuel, given < needed ? given : needed);
    }
}

static void nothing_of_a_run_is_there_for_the_next(void **state)
{
    static const char guest[] =
        "(module " IMPORT_EXIT "(memory (export \"memory\") 1)"
        " (global $g (mut i32) (i32.const 0)) (table 2 2 funcref) (elem declare func $f)"
        " (func $f)"
        " (func (export \"_start\")"
        "  (call $exit (i32.add (i32.load (i32.const 1000)) (i32.add (global.get $g)"
        "   (i32.eqz (ref.is_null (table.get 0 (i32.const 1))))))))"
        " (func $dirty (export \"_initialize\")"
        "  (i32.store (i32.const 1000) (i32.const 1)) (global.set $g (i32.const 2))"
        "  (table.set 0 (i32.const 1) (ref.func $f)))"
        " (func (export \"see\") (result i32) (call $dirty)"
        "  (i32.load (i32.const 1000))))";
    NACRE_AUTO(wt_code_guard) struct wt_code *code = load(guest);
    static const char *const arguments[] = { "guest" };

    (void)state;
    take_traps_back();
    for (int i = 0; i < 6; i++) {
        struct world world;

        world_make(&world, arguments, 1);
        world.order.invoke = i % 2 ? "see" : NULL;
        wt_call_run(engine, code, &world.order, &world.reply);
        assert_int_equal(world.reply.outcome, NACRE_OUTCOME_EXITED);
        assert_int_equal(world.reply.exit_status, 0);
        if (i % 2) /* the control: it does write what the other looks for */
            assert_memory_equal(world.reply.values, "[1]", 3);
        nacre_wasi_free(world.wasi);
    }
}

static void what_is_no_code_of_this_engine_is_not_loaded(void **state)
{
    static const char *const bytes[] = { "", "x", "\177ELF", "\0asm\1\0\0\0" };
    NACRE_AUTO(nacre_fd_guard) int whole = compiled("(module " START("") ")");
    NACRE_AUTO(nacre_fd_guard) int strange = -1;
    struct wt_code *code = NULL;
    struct nacre_error err;
    char cut[64];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bytes); i++) {
        NACRE_AUTO(nacre_fd_guard)
        int fd = memfd_of(bytes[i], i < 3 ? strlen(bytes[i]) : 8);

        assert_int_equal(wt_code_load(engine, linker, fd, &code, &err),
                         NACRE_ERR_BACKEND);
        assert_non_null(strstr(err.text, "compiled code can't be loaded"));
        assert_null(code);
    }
    assert_int_equal(pread(whole, cut, sizeof(cut), 0), sizeof(cut));
    {
        NACRE_AUTO(nacre_fd_guard) int fd = memfd_of(cut, sizeof(cut));

        assert_int_equal(wt_code_load(engine, linker, fd, &code, &err),
                         NACRE_ERR_BACKEND);
    }
    strange = compiled("(module (import \"env\" \"system\" (func)))");
    assert_int_equal(wt_code_load(engine, linker, strange, &code, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_non_null(strstr(err.text, "env::system"));
    assert_null(code);
    fail_alloc_after(0);
    assert_int_equal(wt_code_load(engine, linker, whole, &code, &err), NACRE_ERR_MEMORY);
    fail_alloc_after(-1);
    assert_null(code);
    assert_int_equal(wt_code_load(engine, linker, whole, &code, &err), NACRE_OK);
    wt_code_free(code);
    wt_code_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_end_is_told_as_what_it_is),
        cmocka_unit_test(a_module_that_can_not_be_entered_says_why),
        cmocka_unit_test(a_reactor_is_initialised_once_and_its_export_called),
        cmocka_unit_test(a_bumped_epoch_ends_only_who_is_over),
        cmocka_unit_test(what_is_over_or_has_no_room_is_not_entered),
        cmocka_unit_test(fuel_is_an_exact_budget),
        cmocka_unit_test(nothing_of_a_run_is_there_for_the_next),
        cmocka_unit_test(what_is_no_code_of_this_engine_is_not_loaded),
    };

    return cmocka_run_group_tests_name("wt_call", tests, make_engine, drop_engine);
}
