#ifndef WT_MOUNTS_H
#define WT_MOUNTS_H

#include "mounts.h"
#include "nacre/executor.h"
#include "nacre/plan.h"
#include "nacre_wasi.h"
#include "wt_share.h"

/* As nacre_mounts_open(); where the plan says so, directories that no sandbox may see are
 * refused by the names that they really have. */
NACRE_MUST_CHECK enum nacre_status
wt_mounts_open(const struct nacre_plan *plan, const struct nacre_executor_options *options,
               struct nacre_open_mounts *ret_mounts, struct nacre_error *err);

/* A plan's mounts as text, on their way to whoever runs the guest, and back. */

void wt_mounts_pack(struct wt_cursor *cursor, const struct nacre_plan *plan,
                    const struct nacre_open_mounts *mounts);

/*
 * `count` mounts; those that are not private take their directories from `fds` in
 * order.  The names point into the cursor's text.  *ret_mounts is one heap block with
 * room for all; the caller frees it with wt_mounts_free().
 */
NACRE_MUST_CHECK enum nacre_status wt_mounts_unpack(struct wt_cursor *cursor,
                                                    uint32_t count, const int *fds,
                                                    uint32_t fd_count,
                                                    struct nacre_wasi_mount **ret_mounts,
                                                    struct nacre_error *err);
void wt_mounts_free(struct nacre_wasi_mount *mounts, uint32_t count); /* accepts NULL */

#endif
