/* The life of a sandbox's state, and what a run leaves on record. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fdtable.h"
#include "nacre/text.h"
#include "scratch.h"

void ws_deny(struct nacre_wasi *wasi, uint32_t mount, const char *code, const char *path)
{
    struct nacre_wasi_record *record = wasi->call.record;
    struct nacre_wasi_denial *denial;

    record->denials_seen++;
    if (record->denial_count >= NACRE_DENIALS_MAX)
        return;
    denial = &record->denials[record->denial_count];
    denial->mount = mount;
    (void)snprintf(denial->code, sizeof(denial->code), "%s", code);
    nacre_text_show(denial->path, sizeof(denial->path), path ? path : "",
                    path ? strlen(path) : 0);
    record->denial_count++;
}

int ws_end_by(struct nacre_wasi *wasi, enum nacre_wasi_ending ending)
{
    atomic_store_explicit(&wasi->call.record->ending, (uint32_t)ending,
                          memory_order_release);
    return NACRE_WASI_UNWIND;
}

static enum nacre_status mounts_init(struct nacre_wasi *wasi, struct nacre_error *err)
{
    static const struct nacre_wasi_mount secrets = { .guest = NACRE_SECRET_DIR, .fd = -1 };

    wasi->mounts[wasi->config.mount_count] =
        (struct ws_mount){ .config = &secrets, .fd = -1 };
    for (uint32_t i = 0; i < wasi->config.mount_count; i++) {
        const struct nacre_wasi_mount *config = &wasi->config.mounts[i];
        struct ws_mount *mount = &wasi->mounts[i];
        uint64_t held = (uint64_t)config->denied_count + config->covered_count;

        *mount = (struct ws_mount){
            .config = config,
            .fd = config->fd,
            .is_private = config->fd < 0,
            .guarded = held > 0,
        };
        if (mount->is_private && wasi->config.scratch_fd < 0)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "mount %s is private, but there is no scratch directory",
                              config->guest);
        if (held > UINT32_MAX / 2)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "too many denied paths");
        if (2 * held > wasi->held_room)
            wasi->held_room = (uint32_t)(2 * held);
    }
    return NACRE_OK;
}

enum nacre_status nacre_wasi_new(const struct nacre_wasi_config *config,
                                 struct nacre_wasi **ret_wasi, struct nacre_error *err)
{
    NACRE_AUTO(nacre_wasi_guard) struct nacre_wasi *wasi = calloc(1, sizeof(*wasi));
    struct stat root, dev;
    enum nacre_status status;

    if (!wasi)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a sandbox");
    wasi->config = *config;
    wasi->has_openat2 = !config->without_openat2;
    wasi->mounts = calloc((size_t)config->mount_count + 1, sizeof(*wasi->mounts));
    if (!wasi->mounts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for %u mounts",
                          config->mount_count);
    status = mounts_init(wasi, err);
    if (status != NACRE_OK)
        return status;
    wasi->held = calloc((size_t)wasi->held_room + 1, sizeof(*wasi->held));
    if (!wasi->held)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the denied paths");
    if (stat("/", &root) == 0 && stat("/dev", &dev) == 0 && root.st_dev != dev.st_dev) {
        wasi->has_dev_dev = true;
        wasi->dev_dev = dev.st_dev;
    }
    *ret_wasi = nacre_wasi_take(&wasi);
    return NACRE_OK;
}

void nacre_wasi_free(struct nacre_wasi *wasi)
{
    if (!wasi)
        return;
    if (wasi->running) {
        struct nacre_error err;
        enum nacre_status status = nacre_wasi_end(wasi, &err);

        (void)status; /* nobody is left to be told */
    }
    free(wasi->files);
    free(wasi->held);
    free(wasi->mounts);
    free(wasi);
}

enum nacre_status nacre_wasi_begin(struct nacre_wasi *wasi,
                                   const struct nacre_wasi_call *call,
                                   struct nacre_error *err)
{
    assert(!wasi->running);
    assert(call->deadline_ns != 0);
    wasi->call = *call;
    wasi->traced_bytes = 0;
    wasi->device_count = wasi->device_kept;
    wasi->scratch_bytes = 0;
    wasi->scratch_files = 0;
    wasi->cpu_base_ns = 0;
    ws_http_begin(wasi);
    if (!ws_files_begin(wasi))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the table of open files");
    wasi->running = true;
    return NACRE_OK;
}

enum nacre_status nacre_wasi_end(struct nacre_wasi *wasi, struct nacre_error *err)
{
    enum nacre_status line = ws_http_end(wasi, err), status;

    assert(wasi->running);
    wasi->running = false;
    ws_files_end(wasi);
    status = ws_scratch_end(wasi, err);
    return status == NACRE_OK ? line : status;
}
