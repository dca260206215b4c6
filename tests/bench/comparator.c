/*
 * The same module with the engine's own WASI, through its C API, set up as well as it
 * goes: module compiled and linked beforehand, instances from a pool that keeps its pages
 * (faster than instances on demand, measured), a fresh store and instance for each call.
 * Fuel and epochs are on and memory is bounded, as nacre has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wasi.h>
#include <wasmtime.h>

#include "measure.h"

#define MEMORY_BYTES_MAX ((size_t)512 << 20)
#define FUEL ((uint64_t)1 << 60)
#define LIVE_MAX 64
#define KEEP_BYTES ((size_t)1 << 20)
#define OUTPUT_MAX 4096

enum output {
    OUTPUT_SINK,
    OUTPUT_INHERITED,
    OUTPUT_FILE,
    OUTPUT_CALLBACK,
};

struct machine {
    wasm_engine_t *engine;
    wasmtime_module_t *module;
    wasmtime_linker_t *linker;
    wasmtime_instance_pre_t *ready;
};

/* Where a call's output goes, and what came. */
struct sink {
    const struct machine *machine;
    enum output output;
    int redirect_fd; /* what stands in for stdout while this variant runs, or -1 */
    int read_fd;     /* where its output can be read back, or -1 */
    int own_stdout;
    size_t expected; /* bytes that the module writes; 0 until known */
    size_t size;
    char bytes[OUTPUT_MAX];
};

static void check(wasmtime_error_t *error, const char *what)
{
    wasm_name_t message;

    if (!error)
        return;
    wasmtime_error_message(error, &message);
    measure_die("%s: %.*s", what, (int)message.size, message.data);
}

static wasm_engine_t *engine_new(void)
{
    wasmtime_pooling_allocation_config_t *pool = wasmtime_pooling_allocation_config_new();
    wasm_config_t *config = wasm_config_new();

    wasmtime_config_consume_fuel_set(config, true);
    wasmtime_config_epoch_interruption_set(config, true);
    wasmtime_pooling_allocation_config_total_memories_set(pool, LIVE_MAX);
    wasmtime_pooling_allocation_config_total_tables_set(pool, LIVE_MAX);
    wasmtime_pooling_allocation_config_total_core_instances_set(pool, LIVE_MAX);
    wasmtime_pooling_allocation_config_total_stacks_set(pool, LIVE_MAX);
    wasmtime_pooling_allocation_config_max_memory_size_set(pool, MEMORY_BYTES_MAX);
    wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, KEEP_BYTES);
    wasmtime_pooling_allocation_config_table_keep_resident_set(pool, KEEP_BYTES);
    wasmtime_pooling_allocation_strategy_set(config, pool);
    wasmtime_pooling_allocation_config_delete(pool);
    return wasm_engine_new_with_config(config);
}

static void machine_open(struct machine *ret_machine, const char *path)
{
    static uint8_t bytes[16 << 20];
    FILE *file = fopen(path, "re");
    size_t size;

    if (!file)
        measure_die("%s: %s", path, strerror(errno));
    size = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    ret_machine->engine = engine_new();
    if (!ret_machine->engine)
        measure_die("the engine can't be set up like this");
    check(wasmtime_module_new(ret_machine->engine, bytes, size, &ret_machine->module),
          path);
    ret_machine->linker = wasmtime_linker_new(ret_machine->engine);
    check(wasmtime_linker_define_wasi(ret_machine->linker), "wasi");
    check(wasmtime_linker_instantiate_pre(ret_machine->linker, ret_machine->module,
                                          &ret_machine->ready), "imports");
}

static void machine_close(struct machine *machine)
{
    wasmtime_instance_pre_delete(machine->ready);
    wasmtime_linker_delete(machine->linker);
    wasmtime_module_delete(machine->module);
    wasm_engine_delete(machine->engine);
}

/* The whole life of an instance, from its store to the end of _start.  Takes `wasi`. */
static void run(const struct machine *machine, wasi_config_t *wasi)
{
    wasmtime_store_t *store = wasmtime_store_new(machine->engine, NULL, NULL);
    wasmtime_context_t *context = wasmtime_store_context(store);
    wasmtime_instance_t instance;
    wasmtime_extern_t start;
    wasm_trap_t *trap = NULL;

    wasmtime_store_limiter(store, (int64_t)MEMORY_BYTES_MAX, -1, 1, -1, 1);
    check(wasmtime_context_set_fuel(context, FUEL), "fuel");
    wasmtime_context_set_epoch_deadline(context, 1);
    check(wasmtime_context_set_wasi(context, wasi), "wasi");
    check(wasmtime_instance_pre_instantiate(machine->ready, context, &instance, &trap),
          "instance");
    if (trap || !wasmtime_instance_export_get(context, &instance, "_start", 6, &start) ||
        start.kind != WASMTIME_EXTERN_FUNC)
        measure_die("no instance with _start");
    check(wasmtime_func_call(context, &start.of.func, NULL, 0, NULL, 0, &trap), "call");
    if (trap)
        measure_die("the guest trapped");
    wasmtime_store_delete(store);
}

/* ---- calls, with each kind of stdout ---- */

static ptrdiff_t on_output(void *data, const unsigned char *bytes, size_t count)
{
    struct sink *sink = data;

    if (count > sizeof(sink->bytes) - sink->size)
        return -ENOSPC;
    memcpy(sink->bytes + sink->size, bytes, count);
    sink->size += count;
    return (ptrdiff_t)count;
}

static void call(void *data)
{
    struct sink *sink = data;
    const char *arguments[] = { "hello.wasm" };
    wasi_config_t *wasi = wasi_config_new();
    char path[64];

    sink->size = 0;
    if (!wasi_config_set_argv(wasi, 1, arguments))
        measure_die("arguments");
    if (sink->output == OUTPUT_INHERITED)
        wasi_config_inherit_stdout(wasi);
    if (sink->output == OUTPUT_CALLBACK)
        wasi_config_set_stdout_custom(wasi, on_output, sink, NULL);
    if (sink->output == OUTPUT_FILE) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sink->read_fd);
        if (!wasi_config_set_stdout_file(wasi, path))
            measure_die("%s can't be the guest's stdout", path);
    }
    run(sink->machine, wasi);
    if (sink->read_fd >= 0) {
        ssize_t count = sink->output == OUTPUT_FILE
                            ? pread(sink->read_fd, sink->bytes, sizeof(sink->bytes), 0)
                            : read(sink->read_fd, sink->bytes, sizeof(sink->bytes));

        sink->size = count > 0 ? (size_t)count : 0;
    }
    /* A variant that loses output would be compared for something it does not do. */
    if (sink->size != sink->expected)
        measure_die("%zu bytes of output instead of %zu", sink->size, sink->expected);
}

static void enter(void *data)
{
    struct sink *sink = data;

    (void)fflush(stdout);
    sink->own_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (sink->own_stdout < 0 || dup2(sink->redirect_fd, STDOUT_FILENO) < 0)
        measure_die("stdout: %s", strerror(errno));
}

static void leave(void *data)
{
    struct sink *sink = data;

    (void)dup2(sink->own_stdout, STDOUT_FILENO);
    (void)close(sink->own_stdout);
}

static int memory_file(void)
{
    int fd = memfd_create("stdout", MFD_CLOEXEC);

    if (fd < 0)
        measure_die("memfd: %s", strerror(errno));
    return fd;
}

static void measure_calls(const struct machine *machine, size_t expected, uint32_t count)
{
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC), ends[2];
    struct sink sinks[] = {
        { .output = OUTPUT_SINK, .redirect_fd = -1, .read_fd = -1 },
        { .output = OUTPUT_INHERITED, .redirect_fd = null_fd, .read_fd = -1 },
        { .output = OUTPUT_INHERITED, .expected = expected },
        { .output = OUTPUT_FILE, .redirect_fd = -1, .read_fd = memory_file(),
          .expected = expected },
        { .output = OUTPUT_CALLBACK, .redirect_fd = -1, .read_fd = -1,
          .expected = expected },
    };
    struct measure_variant variants[] = {
        { .row = "call.engine.sink" },
        { .row = "call.engine.null", .enter = enter, .leave = leave },
        { .row = "call.engine.pipe", .enter = enter, .leave = leave },
        { .row = "call.engine.file" },
        { .row = "call.engine.callback" },
    };
    size_t variant_count = sizeof(variants) / sizeof(variants[0]);

    if (null_fd < 0 || pipe2(ends, O_CLOEXEC) != 0)
        measure_die("stdout: %s", strerror(errno));
    sinks[2].read_fd = ends[0];
    sinks[2].redirect_fd = ends[1];
    for (size_t i = 0; i < variant_count; i++) {
        sinks[i].machine = machine;
        variants[i].call = call;
        variants[i].data = &sinks[i];
    }
    measure_by_turns(variants, variant_count, count);
    (void)printf("machine\twasmtime\t" WASMTIME_VERSION "\n");
}

/* ---- clients ---- */

static void call_of_client(void *data, uint32_t client)
{
    struct sink *sinks = data;

    call(&sinks[client]);
}

static void measure_crowds(const struct machine *machine, size_t expected, uint32_t count)
{
    static struct sink sinks[MEASURE_CLIENTS_MAX];
    static const uint32_t clients[] = { 1, 2, 8 };
    static const struct {
        const char *row;
        enum output output;
    } kinds[] = {
        { "clients.engine.sink", OUTPUT_SINK },
        { "clients.engine.file", OUTPUT_FILE },
        { "clients.engine.callback", OUTPUT_CALLBACK },
    };
    char metric[32];

    for (size_t c = 0; c < sizeof(clients) / sizeof(clients[0]); c++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            bool is_file = kinds[k].output == OUTPUT_FILE;

            for (uint32_t i = 0; i < clients[c]; i++)
                sinks[i] = (struct sink){
                    .machine = machine, .output = kinds[k].output, .redirect_fd = -1,
                    .read_fd = is_file ? memory_file() : -1,
                    .expected = kinds[k].output == OUTPUT_SINK ? 0 : expected,
                };
            (void)snprintf(metric, sizeof(metric), "per_s_%u", clients[c]);
            measure_clients(kinds[k].row, metric, clients[c], count / clients[c] + 1,
                            call_of_client, sinks);
            for (uint32_t i = 0; is_file && i < clients[c]; i++)
                (void)close(sinks[i].read_fd);
        }
    }
}

/* ---- live instances ---- */

struct life {
    const struct machine *machine;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t alive;
};

static ptrdiff_t on_alive(void *data, const unsigned char *bytes, size_t count)
{
    struct life *life = data;

    (void)bytes;
    (void)pthread_mutex_lock(&life->lock);
    life->alive++;
    (void)pthread_cond_signal(&life->changed);
    (void)pthread_mutex_unlock(&life->lock);
    return (ptrdiff_t)count;
}

static void *live(void *data)
{
    struct life *life = data;
    wasi_config_t *wasi = wasi_config_new();

    wasi_config_set_stdout_custom(wasi, on_alive, life, NULL);
    run(life->machine, wasi);
    return NULL;
}

static void start_life(void *data, uint32_t number)
{
    struct life *life = data;
    pthread_t thread;

    if (pthread_create(&thread, NULL, live, life) != 0)
        measure_die("can't start a thread");
    (void)pthread_mutex_lock(&life->lock);
    while (life->alive <= number)
        (void)pthread_cond_wait(&life->changed, &life->lock);
    (void)pthread_mutex_unlock(&life->lock);
}

static void measure_lives(const struct machine *machine)
{
    struct life life = { machine, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                         0 };

    measure_live("live.engine", start_life, &life);
    (void)fflush(stdout);
    /* The guests sleep for longer than anybody wants to wait. */
    _exit(0);
}

/* ---- one guest that measures itself ---- */

static void run_guest(const struct machine *machine, const char *directory, int count,
                      char **arguments)
{
    wasi_config_t *wasi = wasi_config_new();

    wasi_config_inherit_stdout(wasi);
    wasi_config_inherit_stderr(wasi);
    if (!wasi_config_set_argv(wasi, (size_t)count, (const char **)arguments) ||
        !wasi_config_preopen_dir(wasi, directory, "/workspace", true))
        measure_die("%s can't be given to the guest", directory);
    run(machine, wasi);
}

int main(int argc, char **argv)
{
    struct machine machine = { 0 };
    const char *what = argc > 2 ? argv[1] : "";

    if (argc > 2)
        machine_open(&machine, argv[2]);
    if (strcmp(what, "calls") == 0 && argc == 5)
        measure_calls(&machine, measure_count(argv[3]), measure_count(argv[4]));
    else if (strcmp(what, "clients") == 0 && argc == 5)
        measure_crowds(&machine, measure_count(argv[3]), measure_count(argv[4]));
    else if (strcmp(what, "live") == 0 && argc == 3)
        measure_lives(&machine);
    else if (strcmp(what, "guest") == 0 && argc > 3)
        run_guest(&machine, argv[3], argc - 3, argv + 3);
    else
        measure_die("calls|clients MODULE OUTPUT-BYTES COUNT, live MODULE, or "
                    "guest MODULE DIRECTORY [ARGUMENT...]");
    machine_close(&machine);
    return 0;
}
