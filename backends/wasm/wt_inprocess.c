#include "wt_inprocess.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mounts.h"
#include "nacre/clock.h"
#include "scratch_root.h"
#include "wt_bounds.h"
#include "wt_call.h"
#include "wt_door.h"
#include "wt_engine.h"
#include "wt_mounts.h"
#include "wt_result.h"

#define IDLE_MAX 32
#define NUDGE_NS (20 * NACRE_NS_PER_MS)
#define TEXT_BYTES 65536
#define FOREVER_NS UINT64_MAX

struct loaded {
    struct loaded *next;
    struct nacre_digest digest;
    struct wt_code *code;
};

/* All that one guest at a time needs, for one plan and one module. */
struct cell {
    struct cell *next;
    struct nacre_digest plan, tool;
    const struct wt_code *code;
    struct wt_bounds bounds;
    struct nacre_open_mounts mounts;
    struct nacre_wasi_mount *wasi_mounts;
    char *text; /* that their names point into */
    char scratch[NACRE_SCRATCH_NAME];
    int scratch_fd;
    struct wt_door door;
    int door_fd;
    struct nacre_wasi *wasi;
    unsigned char *output; /* both streams' buffers */
    size_t output_size;
    uint64_t output_bytes_max;
    struct wt_reply reply;
    struct nacre_wasi_record record;
    uint64_t deadline_ns; /* while it runs */
};

struct wt_inprocess {
    const struct nacre_executor_options *options;
    const _Atomic int *cancelled;
    wasm_engine_t *engine;
    wasmtime_linker_t *linker;
    struct nacre_scratch *scratch; /* made at first need */
    pthread_mutex_t lock;
    struct loaded *loaded;
    struct cell *idle, *busy;
    uint32_t idle_count;
    /* The watchman bumps the epoch at the earliest deadline of those who run. */
    pthread_t watchman;
    pthread_cond_t changed;
    uint64_t watched_ns;
    bool watching, ending;
};

/* ---- the watchman ---- */

static uint64_t earliest(const struct wt_inprocess *inprocess)
{
    uint64_t earliest_ns = FOREVER_NS;

    for (const struct cell *cell = inprocess->busy; cell; cell = cell->next)
        if (cell->deadline_ns < earliest_ns)
            earliest_ns = cell->deadline_ns;
    return earliest_ns;
}

static void *watch(void *data)
{
    struct wt_inprocess *inprocess = data;

    (void)pthread_mutex_lock(&inprocess->lock);
    while (!inprocess->ending) {
        uint64_t now = nacre_clock_ns();
        uint64_t at = earliest(inprocess);
        struct timespec until;

        if (at <= now) {
            wasmtime_engine_increment_epoch(inprocess->engine);
            at = now + NUDGE_NS;
        }
        inprocess->watched_ns = at;
        if (at == FOREVER_NS) {
            (void)pthread_cond_wait(&inprocess->changed, &inprocess->lock);
            continue;
        }
        until = (struct timespec){ .tv_sec = (time_t)(at / NACRE_NS_PER_S),
                                   .tv_nsec = (long)(at % NACRE_NS_PER_S) };
        (void)pthread_cond_timedwait(&inprocess->changed, &inprocess->lock, &until);
    }
    (void)pthread_mutex_unlock(&inprocess->lock);
    return NULL;
}

void wt_inprocess_nudge(struct wt_inprocess *inprocess)
{
    wasmtime_engine_increment_epoch(inprocess->engine);
}

/* The caller's signals are for the caller's threads. */
static int start_watchman(struct wt_inprocess *inprocess)
{
    sigset_t all, before;
    int failure;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(&inprocess->watchman, NULL, watch, inprocess);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

enum nacre_status wt_inprocess_open(const struct nacre_executor_options *options,
                                    const _Atomic int *cancelled,
                                    struct wt_inprocess **ret_inprocess,
                                    struct nacre_error *err)
{
    NACRE_AUTO(wt_inprocess_guard) struct wt_inprocess *inprocess = NULL;
    enum nacre_status status = nacre_wasmtime_load(err);
    pthread_condattr_t monotonic;

    if (status != NACRE_OK)
        return status;
    inprocess = calloc(1, sizeof(*inprocess));
    if (!inprocess)
        return nacre_fail(err, NACRE_ERR_MEMORY, "engine");
    inprocess->options = options;
    inprocess->cancelled = cancelled;
    inprocess->watched_ns = FOREVER_NS;
    (void)pthread_mutex_init(&inprocess->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&inprocess->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    inprocess->engine = wt_engine_new(false);
    inprocess->linker = wasmtime_linker_new(inprocess->engine);
    status = nacre_wasi_link(inprocess->linker, err);
    if (status != NACRE_OK)
        return status;
    errno = start_watchman(inprocess);
    if (errno != 0)
        return nacre_fail(err, NACRE_ERR_IO,
                          "can't start the thread that watches deadlines");
    inprocess->watching = true;
    *ret_inprocess = wt_inprocess_take(&inprocess);
    return NACRE_OK;
}

static void cell_free(struct wt_inprocess *inprocess, struct cell *cell)
{
    nacre_wasi_free(cell->wasi);
    wt_mounts_free(cell->wasi_mounts, cell->mounts.count);
    nacre_mounts_clear(&cell->mounts);
    free(cell->text);
    wt_door_clear(&cell->door);
    if (cell->door_fd >= 0)
        (void)close(cell->door_fd);
    if (cell->scratch_fd >= 0)
        (void)close(cell->scratch_fd);
    if (cell->scratch[0])
        nacre_scratch_drop(inprocess->scratch, cell->scratch);
    if (cell->output)
        (void)munmap(cell->output, cell->output_size);
    free(cell);
}

void wt_inprocess_free(struct wt_inprocess *inprocess)
{
    if (!inprocess)
        return;
    if (inprocess->watching) {
        (void)pthread_mutex_lock(&inprocess->lock);
        inprocess->ending = true;
        (void)pthread_cond_signal(&inprocess->changed);
        (void)pthread_mutex_unlock(&inprocess->lock);
        (void)pthread_join(inprocess->watchman, NULL);
    }
    for (struct cell *next; inprocess->idle; inprocess->idle = next) {
        next = inprocess->idle->next;
        cell_free(inprocess, inprocess->idle);
    }
    for (struct loaded *next; inprocess->loaded; inprocess->loaded = next) {
        next = inprocess->loaded->next;
        wt_code_free(inprocess->loaded->code);
        free(inprocess->loaded);
    }
    if (inprocess->linker)
        wasmtime_linker_delete(inprocess->linker);
    if (inprocess->engine)
        wasm_engine_delete(inprocess->engine);
    nacre_scratch_free(inprocess->scratch);
    (void)pthread_cond_destroy(&inprocess->changed);
    (void)pthread_mutex_destroy(&inprocess->lock);
    free(inprocess);
}

/* ---- code ---- */

static const struct wt_code *code_find(const struct wt_inprocess *inprocess,
                                       const struct nacre_tool *tool)
{
    for (const struct loaded *loaded = inprocess->loaded; loaded; loaded = loaded->next)
        if (memcmp(&loaded->digest, &tool->digest, sizeof(tool->digest)) == 0)
            return loaded->code;
    return NULL;
}

bool wt_inprocess_has(struct wt_inprocess *inprocess, const struct nacre_tool *tool)
{
    bool has;

    (void)pthread_mutex_lock(&inprocess->lock);
    has = code_find(inprocess, tool) != NULL;
    (void)pthread_mutex_unlock(&inprocess->lock);
    return has;
}

enum nacre_status wt_inprocess_load(struct wt_inprocess *inprocess,
                                    const struct nacre_tool *tool, int code_fd,
                                    struct nacre_error *err)
{
    NACRE_AUTO(wt_code_guard) struct wt_code *code = NULL;
    struct loaded *loaded;
    enum nacre_status status;

    status = wt_code_load(inprocess->engine, inprocess->linker, code_fd, &code, err);
    if (status != NACRE_OK)
        return status;
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return nacre_fail(err, NACRE_ERR_MEMORY, "code");
    loaded->digest = tool->digest;
    loaded->code = wt_code_take(&code);
    (void)pthread_mutex_lock(&inprocess->lock);
    loaded->next = inprocess->loaded;
    inprocess->loaded = loaded;
    (void)pthread_mutex_unlock(&inprocess->lock);
    return NACRE_OK;
}

/* ---- cells ---- */

static enum nacre_status fill_mounts(struct wt_inprocess *inprocess, struct cell *cell,
                                     const struct nacre_plan *plan,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) int *fds = NULL;
    struct wt_cursor cursor;
    uint32_t fd_count = 0;
    enum nacre_status status;

    status = wt_mounts_open(plan, inprocess->options, &cell->mounts, err);
    if (status != NACRE_OK)
        return status;
    fds = calloc(cell->mounts.count + 1u, sizeof(*fds));
    cell->text = malloc(TEXT_BYTES);
    if (!fds || !cell->text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "mounts");
    for (uint32_t i = 0; i < cell->mounts.count; i++)
        if (cell->mounts.items[i].fd >= 0)
            fds[fd_count++] = cell->mounts.items[i].fd;
    cursor = (struct wt_cursor){ cell->text, cell->text + TEXT_BYTES, false };
    wt_mounts_pack(&cursor, plan, &cell->mounts);
    if (cursor.failed)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the mounts' names are over %d bytes",
                          TEXT_BYTES);
    cursor = (struct wt_cursor){ cell->text, cell->text + TEXT_BYTES, false };
    return wt_mounts_unpack(&cursor, cell->mounts.count, fds, fd_count,
                            &cell->wasi_mounts, err);
}

static enum nacre_status fill_scratch(struct wt_inprocess *inprocess, struct cell *cell,
                                      struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (!cell->mounts.has_private)
        return NACRE_OK;
    (void)pthread_mutex_lock(&inprocess->lock);
    if (!inprocess->scratch)
        status = nacre_scratch_open(NULL, &inprocess->scratch, err);
    (void)pthread_mutex_unlock(&inprocess->lock);
    if (status != NACRE_OK)
        return status;
    return nacre_scratch_make(inprocess->scratch, cell->scratch, &cell->scratch_fd, err);
}

static enum nacre_status fill(struct wt_inprocess *inprocess, struct cell *cell,
                              const struct nacre_plan *plan,
                              const struct nacre_tool *tool,
                              const struct nacre_request *request,
                              struct nacre_error *err)
{
    struct nacre_wasi_config config;
    enum nacre_status status;

    status = wt_bounds_make(plan, tool, &cell->bounds, err);
    if (status == NACRE_OK)
        status = fill_mounts(inprocess, cell, plan, err);
    if (status == NACRE_OK)
        status = fill_scratch(inprocess, cell, err);
    if (status == NACRE_OK)
        status = wt_door_open(inprocess->options->doors, plan, tool, request, &cell->door,
                              &cell->door_fd, err);
    if (status != NACRE_OK)
        return status;
    cell->output_size = 2 * cell->output_bytes_max;
    cell->output = mmap(NULL, cell->output_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cell->output == MAP_FAILED) {
        cell->output = NULL;
        return nacre_fail(err, NACRE_ERR_MEMORY, "output");
    }
    config = (struct nacre_wasi_config){
        .mounts = cell->wasi_mounts,
        .mount_count = cell->mounts.count,
        .scratch_fd = cell->scratch_fd,
        .open_files_max = plan->limits.open_files_max,
        .scratch_bytes_max = plan->limits.scratch_bytes_max,
        .scratch_files_max = plan->limits.scratch_files_max,
        .has_door = cell->door_fd >= 0,
        .door_fd = cell->door_fd,
    };
    return nacre_wasi_new(&config, &cell->wasi, err);
}

static struct cell *take_idle(struct wt_inprocess *inprocess,
                              const struct nacre_plan *plan,
                              const struct nacre_tool *tool)
{
    struct cell *cell = NULL;

    (void)pthread_mutex_lock(&inprocess->lock);
    for (struct cell **at = &inprocess->idle; *at && !cell;
         at = cell ? at : &(*at)->next) {
        if (memcmp(&(*at)->plan, &plan->digest, sizeof(plan->digest)) == 0 &&
            memcmp(&(*at)->tool, &tool->digest, sizeof(tool->digest)) == 0) {
            cell = *at;
            *at = cell->next;
            inprocess->idle_count--;
        }
    }
    (void)pthread_mutex_unlock(&inprocess->lock);
    return cell;
}

/* An idle cell for this plan and tool, or a new one; the run has begun at its door. */
static enum nacre_status take(struct wt_inprocess *inprocess,
                              const struct nacre_plan *plan,
                              const struct nacre_tool *tool,
                              const struct nacre_request *request, const char *run_id,
                              uint64_t deadline_ns, struct cell **ret_cell,
                              struct nacre_error *err)
{
    struct cell *cell;
    enum nacre_status status;

    while (!wt_door_is_for_one(plan, request) &&
           (cell = take_idle(inprocess, plan, tool)) != NULL) {
        if (nacre_mounts_are_at(plan, nacre_mounts_places(&cell->mounts)) &&
            wt_door_begin(&cell->door, run_id, deadline_ns, err) == NACRE_OK) {
            *ret_cell = cell;
            return NACRE_OK;
        }
        cell_free(inprocess, cell); /* its door, or a directory, has gone meanwhile */
    }
    cell = calloc(1, sizeof(*cell));
    if (!cell)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a run");
    cell->plan = plan->digest;
    cell->tool = tool->digest;
    cell->scratch_fd = cell->door_fd = -1;
    cell->output_bytes_max = plan->limits.output_bytes_max;
    (void)pthread_mutex_lock(&inprocess->lock);
    cell->code = code_find(inprocess, tool);
    (void)pthread_mutex_unlock(&inprocess->lock);
    status = fill(inprocess, cell, plan, tool, request, err);
    if (status == NACRE_OK)
        status = wt_door_begin(&cell->door, run_id, deadline_ns, err);
    if (status != NACRE_OK) {
        cell_free(inprocess, cell);
        return status;
    }
    *ret_cell = cell;
    return NACRE_OK;
}

static void begin(struct wt_inprocess *inprocess, struct cell *cell, uint64_t deadline_ns)
{
    (void)pthread_mutex_lock(&inprocess->lock);
    cell->deadline_ns = deadline_ns;
    cell->next = inprocess->busy;
    inprocess->busy = cell;
    if (deadline_ns < inprocess->watched_ns)
        (void)pthread_cond_signal(&inprocess->changed);
    (void)pthread_mutex_unlock(&inprocess->lock);
}

static bool has_room(const struct wt_inprocess *inprocess, const struct cell *cell)
{
    uint32_t doors = 0;

    for (const struct cell *at = inprocess->idle; at && cell->door.door; at = at->next)
        doors += at->door.door != NULL;
    return inprocess->idle_count < IDLE_MAX && doors < WT_DOORS_IDLE_MAX;
}

static void end(struct wt_inprocess *inprocess, struct cell *cell, bool healthy)
{
    struct cell *dropped = healthy ? NULL : cell;

    (void)pthread_mutex_lock(&inprocess->lock);
    for (struct cell **at = &inprocess->busy; *at; at = &(*at)->next) {
        if (*at == cell) {
            *at = cell->next;
            break;
        }
    }
    if (healthy && has_room(inprocess, cell)) {
        cell->next = inprocess->idle;
        inprocess->idle = cell;
        inprocess->idle_count++;
    } else {
        dropped = cell;
    }
    (void)pthread_mutex_unlock(&inprocess->lock);
    if (dropped)
        cell_free(inprocess, dropped);
}

/* ---- a run ---- */

/* What a guest said of secrets that it was given does not wait for the next one's output
 * to take its place. */
static void wipe(struct cell *cell, const struct nacre_request *request)
{
    if (!request->granted && request->secret_file_count == 0)
        return;
    for (int i = 0; i < 2; i++)
        explicit_bzero(cell->output + (size_t)i * cell->output_bytes_max,
                       wt_result_output(&cell->record, i, cell->output_bytes_max));
}

struct stream {
    const struct nacre_request *request;
    struct cell *cell;
    uint64_t shown[2];
};

static void show(void *data)
{
    struct stream *stream = data;

    for (int i = 0; i < 2; i++) {
        uint64_t there = wt_result_output(&stream->cell->record, i,
                                          stream->cell->output_bytes_max);

        if (there <= stream->shown[i])
            continue;
        stream->request->on_output(stream->request->on_output_data, i + 1,
                                   (const char *)stream->cell->output +
                                       (size_t)i * stream->cell->output_bytes_max +
                                       stream->shown[i],
                                   there - stream->shown[i]);
        stream->shown[i] = there;
    }
}

static uint32_t text_count(const char *const *texts)
{
    uint32_t count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

/* Here no guest stands between the reply and us: that the host could not begin is true.
 */
static enum nacre_status judge(const struct wt_inprocess *inprocess,
                               const struct wt_reply *reply, struct nacre_result *result,
                               struct nacre_error *err)
{
    int number = atomic_load(inprocess->cancelled);
    enum nacre_status status;

    if (reply->status == NACRE_ERR_IO || reply->status == NACRE_ERR_MEMORY)
        return nacre_fail(err, NACRE_ERR_BACKEND, "%.400s", reply->reason);
    status = wt_result_reply(reply, result, err);
    if (status == NACRE_OK && result->outcome == NACRE_OUTCOME_TIMED_OUT && number != 0) {
        result->outcome = NACRE_OUTCOME_KILLED;
        result->signal = number;
        (void)snprintf(result->reason, sizeof(result->reason), "cancelled");
    }
    return status;
}

enum nacre_status wt_inprocess_run(struct wt_inprocess *inprocess,
                                   const struct nacre_plan *plan,
                                   const struct nacre_tool *tool,
                                   const struct nacre_request *request,
                                   uint64_t deadline_ns, struct nacre_result *result,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) const char **arguments = NULL;
    uint32_t argument_count = text_count(request->arguments);
    struct cell *cell = NULL;
    struct stream stream;
    struct nacre_wasi_call call;
    struct wt_order order;
    struct nacre_error unheard;
    enum nacre_status status, ended;

    arguments = calloc(argument_count + 2u, sizeof(*arguments));
    if (!arguments)
        return nacre_fail(err, NACRE_ERR_MEMORY, "arguments");
    arguments[0] = tool->name;
    if (argument_count > 0)
        memcpy(arguments + 1, request->arguments, argument_count * sizeof(*arguments));
    status = take(inprocess, plan, tool, request, result->run_id, deadline_ns, &cell, err);
    if (status != NACRE_OK)
        return status;
    stream = (struct stream){ .request = request, .cell = cell };
    memset(&cell->record, 0, offsetof(struct nacre_wasi_record, denials));
    call = (struct nacre_wasi_call){
        .arguments = arguments,
        .argument_count = argument_count + 1,
        .environment = request->environment,
        .environment_count = text_count(request->environment),
        .input_fd = request->input_fd,
        .input = (const unsigned char *)request->input,
        .input_bytes = request->input_bytes,
        .trace_fd = request->trace_fd,
        .terminals = request->terminals,
        .secret_files = request->secret_files,
        .secret_file_count = request->secret_file_count,
        .deadline_ns = deadline_ns,
        .record = &cell->record,
        .output = { cell->output, cell->output + cell->output_bytes_max },
        .output_bytes_max = cell->output_bytes_max,
        .on_output = request->on_output ? show : NULL,
        .on_output_data = &stream,
    };
    order = (struct wt_order){ .wasi = cell->wasi,
                               .call = &call,
                               .bounds = cell->bounds,
                               .invoke = request->invoke,
                               .cancelled = inprocess->cancelled };
    order.bounds.fuel_max = plan->limits.fuel_max;
    begin(inprocess, cell, deadline_ns);
    wt_call_run(inprocess->engine, cell->code, &order, &cell->reply);
    status = judge(inprocess, &cell->reply, result, err);
    if (status == NACRE_OK)
        status = wt_result_record(
            &cell->record, (const unsigned char *[]){ call.output[0], call.output[1] },
            cell->output_bytes_max, plan, request, result, err);
    wipe(cell, request);
    ended = wt_door_end(&cell->door, result, status == NACRE_OK ? err : &unheard);
    end(inprocess, cell,
        status != NACRE_ERR_BACKEND && !cell->reply.spent && ended == NACRE_OK &&
            !wt_door_is_for_one(plan, request));
    return status == NACRE_OK ? ended : status;
}
