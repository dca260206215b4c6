#include "wt_mounts.h"

#include <stdlib.h>
#include <string.h>

#include "binds.h"
#include "nacre/own.h"

enum nacre_status wt_mounts_open(const struct nacre_plan *plan,
                                 const struct nacre_executor_options *options,
                                 struct nacre_open_mounts *ret_mounts,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_mounts_clear) struct nacre_open_mounts mounts = { 0 };
    enum nacre_status status = nacre_mounts_open(plan, options->protected_paths, &mounts,
                                                 err);

    if (status == NACRE_OK && plan->strict_binds)
        status = nacre_binds_check(&mounts, options, err);
    if (status != NACRE_OK)
        return status;
    *ret_mounts = mounts;
    mounts = (struct nacre_open_mounts){ 0 };
    return NACRE_OK;
}

static void put_names(struct wt_cursor *cursor, char *const *names, uint32_t count)
{
    wt_put_number(cursor, count);
    for (uint32_t i = 0; i < count; i++)
        wt_put_text(cursor, names[i]);
}

void wt_mounts_pack(struct wt_cursor *cursor, const struct nacre_plan *plan,
                    const struct nacre_open_mounts *mounts)
{
    for (uint32_t i = 0; i < mounts->count; i++) {
        const struct nacre_open_mount *open_mount = &mounts->items[i];
        const char *host = open_mount->mount->host;

        wt_put_text(cursor, open_mount->mount->guest);
        wt_put_number(cursor, open_mount->mount->writable);
        wt_put_number(cursor, plan->full_tree && host && strcmp(host, "/") == 0);
        wt_put_number(cursor, open_mount->fd < 0);
        put_names(cursor, open_mount->denied, open_mount->denied_count);
        put_names(cursor, open_mount->mount->covered, open_mount->mount->covered_count);
    }
}

static enum nacre_status get_names(struct wt_cursor *cursor,
                                   const char *const **ret_names, uint32_t *ret_count,
                                   struct nacre_error *err)
{
    uint32_t count = wt_get_number(cursor);
    const char **names;

    if (cursor->failed || count > WT_TEXT_COUNT_MAX)
        return nacre_fail(err, NACRE_ERR_BACKEND, "set-up: too many names");
    names = calloc(count + 1u, sizeof(*names));
    if (!names)
        return nacre_fail(err, NACRE_ERR_MEMORY, "set-up");
    for (uint32_t i = 0; i < count; i++)
        names[i] = wt_get_text(cursor);
    *ret_names = names;
    *ret_count = count;
    return NACRE_OK;
}

enum nacre_status wt_mounts_unpack(struct wt_cursor *cursor, uint32_t count,
                                   const int *fds, uint32_t fd_count,
                                   struct nacre_wasi_mount **ret_mounts,
                                   struct nacre_error *err)
{
    struct nacre_wasi_mount *mounts = calloc(count + 1u, sizeof(*mounts));
    enum nacre_status status = NACRE_OK;
    uint32_t used = 0;

    if (!mounts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "set-up");
    for (uint32_t i = 0; i < count && status == NACRE_OK; i++) {
        mounts[i].guest = wt_get_text(cursor);
        mounts[i].writable = wt_get_number(cursor) != 0;
        mounts[i].is_root = wt_get_number(cursor) != 0;
        mounts[i].fd = -1;
        if (wt_get_number(cursor) == 0) {
            mounts[i].fd = used < fd_count ? fds[used] : -1;
            used++;
        }
        status = get_names(cursor, &mounts[i].denied, &mounts[i].denied_count, err);
        if (status == NACRE_OK)
            status = get_names(cursor, &mounts[i].covered, &mounts[i].covered_count, err);
    }
    /* A mount whose directory is missing would pass for a private one. */
    if (status == NACRE_OK && (cursor->failed || used != fd_count))
        status = nacre_fail(err, NACRE_ERR_BACKEND, "set-up: cut short");
    if (status != NACRE_OK) {
        wt_mounts_free(mounts, count);
        return status;
    }
    *ret_mounts = mounts;
    return NACRE_OK;
}

void wt_mounts_free(struct nacre_wasi_mount *mounts, uint32_t count)
{
    for (uint32_t i = 0; mounts && i < count; i++) {
        free((void *)mounts[i].denied);
        free((void *)mounts[i].covered);
    }
    free(mounts);
}
