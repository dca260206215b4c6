/*
 * A worker: one process, one plan, one module; guests one after another, each in a
 * fresh instance.  It builds its own walls before the first guest and can take none
 * of them down.  It trusts its supervisor and nothing that comes from a guest.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "capabilities.h"
#include "landlock.h"
#include "rlimits.h"
#include "seccomp.h"
#include "wt_mounts.h"
#include "wt_share.h"
#include "wt_zygote.h"

/* fds of the process beyond those that a guest may open: stdio, share, control, code,
 * scratch, the door's line, mounts, and the few that the shims hold for a moment. */
#define FDS_OF_OURS 64

struct worker {
    struct wt_share *share;
    struct wt_setup setup; /* our own copy */
    int control;
    int scratch_fd;
    int door_fd;
    wasm_engine_t *engine;
    struct wt_code *code;
    struct nacre_wasi *wasi;
    struct nacre_wasi_mount *mounts;
    uint64_t cpu_ns; /* when the last run ended */
    int input_fd;    /* the guest's, while it runs; -1: none */
    const void *input; /* the same as bytes, in the share; NULL: none */
    size_t input_bytes;
    int trace_fd;    /* of the call; 0: none */
    const char **texts; /* room for WT_TEXT_COUNT_MAX */
    char *mount_text;   /* what the mounts' names point into */
    struct nacre_secret_file secret_files[WT_SECRET_FILES_MAX]; /* of the call */
};

static wasm_engine_t *epoch_engine; /* for the handler below */

/* The supervisor says that time is up: blocked calls end with EINTR, and running
 * code asks at_epoch().  Only an atomic addition, so it is safe here. */
static void on_deadline(int number)
{
    (void)number;
    wasmtime_engine_increment_epoch(epoch_engine);
}

/* The kernel marks `word` and wakes the supervisor when this process ends. */
static void own_the_word(_Atomic uint32_t *word)
{
    static struct robust_list entry;
    static struct robust_list_head head;

    entry.next = &head.list;
    head.list.next = &entry;
    head.futex_offset = (long)((uintptr_t)word - (uintptr_t)&entry);
    (void)syscall(SYS_set_robust_list, &head, sizeof(head));
}

static enum nacre_status read_mounts(struct worker *worker, const int *fds,
                                     uint32_t fd_count, struct nacre_error *err)
{
    struct wt_cursor cursor;

    worker->mount_text = malloc(worker->setup.mount_text_bytes + 1u);
    worker->texts = calloc(WT_TEXT_COUNT_MAX + 2, sizeof(*worker->texts));
    if (!worker->mount_text || !worker->texts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "set-up");
    /* The shared text is overwritten by the first call. */
    memcpy(worker->mount_text, worker->share->text, worker->setup.mount_text_bytes);
    cursor =
        (struct wt_cursor){ worker->mount_text,
                            worker->mount_text + worker->setup.mount_text_bytes, false };
    return wt_mounts_unpack(&cursor, worker->setup.mount_count, fds, fd_count,
                            &worker->mounts, err);
}

/* For files alone: it stays root, whom no other user may trace. */
static enum nacre_status be_owner(uint32_t uid, uint32_t gid, struct nacre_error *err)
{
    if (uid == 0)
        return NACRE_OK;
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    /* They return what held before, also where nothing was changed. */
    if ((uint32_t)setfsgid((gid_t)-1) != gid || (uint32_t)setfsuid((uid_t)-1) != uid)
        return nacre_fail(err, NACRE_ERR_IO, "files can't be made as user %u", uid);
    return NACRE_OK;
}

/* In this order: each wall is the last that still needs what the next one takes. */
static enum nacre_status raise_walls(struct worker *worker, struct nacre_error *err)
{
    const struct wt_setup *setup = &worker->setup;
    struct nacre_rlimits limits = {
        .memory_bytes_max = setup->bounds.memory_bytes_max,
        .open_files_max = setup->open_files_max + FDS_OF_OURS + 2 * setup->mount_count,
        .file_bytes_max = setup->file_bytes_max,
    };
    struct nacre_landlock_rule rules[WT_FDS_MAX + 1];
    size_t count = 0;
    uint32_t abi = 0;
    enum nacre_status status;

    for (uint32_t i = 0; i < setup->mount_count; i++)
        if (worker->mounts[i].fd >= 0)
            rules[count++] = (struct nacre_landlock_rule){ worker->mounts[i].fd,
                                                           worker->mounts[i].writable };
    if (worker->scratch_fd >= 0)
        rules[count++] = (struct nacre_landlock_rule){ worker->scratch_fd, true };

    status = nacre_rlimits_worker(&limits, err);
    if (status == NACRE_OK)
        status = be_owner(setup->file_uid, setup->file_gid, err);
    if (status == NACRE_OK)
        status = nacre_capabilities_drop(err);
    if (status != NACRE_OK)
        return status;
    status = nacre_landlock_enforce(rules, count, &abi, err);
    if (status != NACRE_OK)
        return status;
    if (abi < setup->landlock_min)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "Landlock ABI %u is required, this kernel has %u",
                          setup->landlock_min, abi);
    worker->share->landlock_abi = abi;
    return nacre_seccomp_install(nacre_seccomp_program(NACRE_SECCOMP_WORKER), err);
}

static enum nacre_status prepare(struct worker *worker, const struct wt_parts *parts,
                                 const int *fds, uint32_t fd_count,
                                 struct nacre_error *err)
{
    struct nacre_wasi_config config;
    struct sigaction action = { .sa_handler = on_deadline }; /* no SA_RESTART: EINTR */
    uint32_t used = 3;
    enum nacre_status status;

    worker->engine = epoch_engine = parts->engine;
    worker->control = fds[2];
    worker->scratch_fd = worker->setup.has_scratch && fd_count > used ? fds[used++] : -1;
    worker->door_fd = worker->setup.has_door && fd_count > used ? fds[used++] : -1;
    status = read_mounts(worker, fds + used, fd_count - used, err);
    if (status != NACRE_OK)
        return status;
    status = wt_code_load(parts->engine, parts->linker, fds[1], &worker->code, err);
    if (status != NACRE_OK)
        return status;
    (void)close(fds[1]);
    config = (struct nacre_wasi_config){
        .mounts = worker->mounts,
        .mount_count = worker->setup.mount_count,
        .scratch_fd = worker->scratch_fd,
        .open_files_max = worker->setup.open_files_max,
        .scratch_bytes_max = worker->setup.scratch_bytes_max,
        .scratch_files_max = worker->setup.scratch_files_max,
        .has_door = worker->door_fd >= 0,
        .door_fd = worker->door_fd,
    };
    status = nacre_wasi_new(&config, &worker->wasi, err);
    if (status != NACRE_OK)
        return status;
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)prctl(PR_SET_NAME, "nacre-worker");
    return raise_walls(worker, err);
}

static void wake_supervisor(void *data)
{
    struct wt_share *share = data;

    wt_futex_wake(&share->word);
}

/* The fds of the call: its input, and where its trace goes. */
static void receive_fds(struct worker *worker)
{
    const struct wt_share *share = worker->share;
    bool has_input = share->has_input, has_trace = share->has_trace;
    struct wt_message message;
    int fds[WT_FDS_MAX];
    uint32_t count;

    worker->input_fd = -1;
    worker->trace_fd = 0;
    if (!has_input && !has_trace)
        return;
    if (!wt_receive(worker->control, &message, fds, &count) ||
        count != (uint32_t)has_input + has_trace)
        _exit(1);
    if (has_input)
        worker->input_fd = fds[0];
    if (has_trace)
        worker->trace_fd = fds[count - 1];
}

/* The word goes back to the supervisor, who may use it again at once. */
static void hand_back(struct worker *worker)
{
    atomic_store(&worker->share->word, 0);
    wt_futex_wake(&worker->share->word);
}

static void on_reply(void *data)
{
    struct worker *worker = data;

    /* This process does nothing else, so one run's end is the next one's start. */
    worker->cpu_ns += worker->share->reply.cpu_ns;
    if (worker->input_fd >= 0)
        (void)close(worker->input_fd);
    if (worker->trace_fd > 0)
        (void)close(worker->trace_fd);
    /* What a call was about is not there for the next one's guest to find. */
    if (worker->input)
        explicit_bzero((void *)worker->input, worker->input_bytes);
    hand_back(worker);
}

/* They stay where the supervisor put them, who wipes them after the run. */
static void read_secret_files(struct worker *worker, struct wt_cursor *cursor,
                              struct nacre_wasi_call *call)
{
    uint32_t count = worker->share->secret_file_count;

    for (uint32_t i = 0; i < count && i < WT_SECRET_FILES_MAX; i++) {
        struct nacre_secret_file *file = &worker->secret_files[i];

        file->name = wt_get_text(cursor);
        file->count = wt_get_number(cursor);
        file->bytes = wt_get_bytes(cursor, file->count);
    }
    if (cursor->failed || count > WT_SECRET_FILES_MAX)
        return;
    call->secret_files = worker->secret_files;
    call->secret_file_count = count;
}

static void read_input(struct worker *worker, struct wt_cursor *cursor,
                       struct nacre_wasi_call *call)
{
    worker->input = NULL;
    if (worker->share->has_input_bytes) {
        worker->input_bytes = wt_get_number(cursor);
        worker->input = wt_get_bytes(cursor, worker->input_bytes);
    }
    call->input = worker->input;
    call->input_bytes = worker->input_bytes;
}

static void serve_one(struct worker *worker)
{
    struct wt_share *share = worker->share;
    struct wt_cursor cursor = { share->text + share->text_start,
                                share->text + sizeof(share->text), false };
    struct wt_order order = { .wasi = worker->wasi, .bounds = worker->setup.bounds,
                              .cpu_since_ns = worker->cpu_ns,
                              .on_reply = on_reply,
                              .on_reply_data = worker };
    uint32_t count = share->argument_count + share->environment_count;
    struct nacre_wasi_call call = {
        .arguments = worker->texts,
        .argument_count = share->argument_count,
        .environment = worker->texts + share->argument_count,
        .environment_count = share->environment_count,
        .terminals = share->terminals,
        .deadline_ns = share->deadline_ns,
        .record = &share->record,
        .output_bytes_max = worker->setup.output_bytes_max,
        .on_output = share->is_streamed ? wake_supervisor : NULL,
        .on_output_data = share,
    };

    receive_fds(worker);
    call.input_fd = worker->input_fd;
    call.trace_fd = worker->trace_fd;
    atomic_store(&share->begun, 1);
    for (uint32_t i = 0; i < count; i++)
        worker->texts[i] = wt_get_text(&cursor);
    order.invoke = share->has_invoke ? wt_get_text(&cursor) : NULL;
    read_secret_files(worker, &cursor, &call);
    read_input(worker, &cursor, &call);
    for (int i = 0; i < 2; i++)
        call.output[i] = wt_share_output(share, worker->setup.output_bytes_max, i);
    order.bounds.fuel_max = share->fuel_max;
    order.call = &call;
    wt_call_run(worker->engine, worker->code, &order, &share->reply);
}

_Noreturn void wt_worker_main(const struct wt_parts *parts, const int *fds,
                              uint32_t fd_count)
{
    struct worker worker = { .scratch_fd = -1, .door_fd = -1 };
    uint32_t running = (uint32_t)getpid() | FUTEX_WAITERS;
    struct nacre_error err;
    struct stat info;
    bool has_call = false;
    void *mapped;

    if (fd_count < 3 || fstat(fds[0], &info) != 0)
        _exit(1);
    mapped =
        mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    if (mapped == MAP_FAILED)
        _exit(1);
    (void)close(fds[0]);
    worker.share = mapped;
    worker.setup = worker.share->setup;
    own_the_word(&worker.share->word);
    atomic_store(&worker.share->word, running);
    if (prepare(&worker, parts, fds, fd_count, &err) != NACRE_OK) {
        worker.share->reply.status = err.status;
        (void)snprintf(worker.share->reply.reason, sizeof(worker.share->reply.reason),
                       "%s", err.text);
    } else {
        atomic_store(&worker.share->worker_tid, (uint32_t)getpid());
        has_call = worker.setup.has_call;
    }
    worker.cpu_ns = wt_cpu_ns();
    if (has_call)
        serve_one(&worker);
    else
        hand_back(&worker);
    for (;;) {
        while (atomic_load(&worker.share->word) == 0)
            (void)wt_futex_wait(&worker.share->word, 0, 0);
        serve_one(&worker);
    }
}
