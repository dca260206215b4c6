#ifndef WT_DOOR_H
#define WT_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/door.h"
#include "nacre/error.h"

#define WT_DOORS_IDLE_MAX 8 /* of those who wait for their next run: each is a process */

/*
 * The way out of one worker or cell: its door, which nobody else uses meanwhile.  A plan
 * that lets nothing out has none, and everything here is then nothing at all.
 */
struct wt_door {
    struct nacre_doors *doors; /* where it goes back to */
    struct nacre_door *door;   /* NULL: none */
    bool is_running;           /* begun, and not ended yet */
};

/*
 * A door for `plan`, with this request's secrets.  *ret_fd is the guest's end of a line
 * to it, for the shims, and the caller's; or -1.  NACRE_ERR_UNAVAILABLE when the plan
 * needs one and there are no doors.
 */
NACRE_MUST_CHECK enum nacre_status wt_door_open(struct nacre_doors *doors,
                                                const struct nacre_plan *plan,
                                                const struct nacre_tool *tool,
                                                const struct nacre_request *request,
                                                struct wt_door *ret_door, int *ret_fd,
                                                struct nacre_error *err);
void wt_door_clear(struct wt_door *door); /* gives it back */

/* Does the door of such a run know what belongs to that run alone?  Then it was opened
 * for it, and whoever holds it serves no other. */
bool wt_door_is_for_one(const struct nacre_plan *plan,
                        const struct nacre_request *request);

/* Around each run.  end() does nothing for a run that was not begun. */
NACRE_MUST_CHECK enum nacre_status wt_door_begin(struct wt_door *door, const char *run_id,
                                                 uint64_t deadline_ns,
                                                 struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status wt_door_end(struct wt_door *door,
                                               struct nacre_result *result,
                                               struct nacre_error *err);

#endif
