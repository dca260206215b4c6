#ifndef DK_WARM_H
#define DK_WARM_H

#include "dk_box.h"
#include "dk_registry.h"

/*
 * Containers that are kept for the next command, one for each scope key.  They belong to
 * this process, which alone owns their channels: when it ends they end.
 */
struct dk_warm;

NACRE_MUST_CHECK enum nacre_status dk_warm_new(struct dk_site *site,
                                               struct dk_warm **ret_warm,
                                               struct nacre_error *err);
void dk_warm_free(struct dk_warm *warm); /* ends them all; accepts NULL */
NACRE_OWNED(dk_warm)

/*
 * The container of the plan's scope key, made if there is none, and called `name` if that
 * is not NULL.  One that was made from
 * something else never serves: idle it is replaced, and while a command runs in it the
 * call is refused, NACRE_ERR_UNAVAILABLE.  Give it back with dk_warm_put().
 */
NACRE_MUST_CHECK enum nacre_status dk_warm_get(struct dk_warm *warm,
                                               const struct nacre_plan *plan,
                                               const char *name,
                                               const struct dk_caller *caller,
                                               struct dk_box **ret_box,
                                               struct nacre_error *err);
void dk_warm_put(struct dk_warm *warm, struct dk_box *box);

/* What was given up and could not be removed goes with the beats, also where no container
 * is warm. */
void dk_warm_watch(struct dk_warm *warm);

/* Calls `each` with every one that is warm here, until it returns false. */
void dk_warm_each(struct dk_warm *warm,
                  bool (*each)(void *data, const struct nacre_box_info *info),
                  void *data);

/* End those that `wanted` picks.  One in which a command runs is left, unless `force`:
 * then its commands end with it.  Returns how many. */
uint32_t dk_warm_end(struct dk_warm *warm, bool force,
                     bool (*wanted)(void *data, const struct nacre_box_info *info),
                     void *data);

#endif
