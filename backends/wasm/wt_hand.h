#ifndef WT_HAND_H
#define WT_HAND_H

#include "nacre/executor.h"
#include "wt_share.h"

/* How a call gets into its worker's hands. */

/* What the worker reads from memory; the texts stand behind the first `text_start` bytes
 * of the area.  NACRE_ERR_TOO_BIG.  *wipe is how much of the area is to be wiped after the
 * run, and grows when a secret goes in, on failure too; so much is locked into memory
 * where that may be. */
NACRE_MUST_CHECK enum nacre_status
wt_hand_write(struct wt_share *share, uint32_t text_start, const struct nacre_plan *plan,
              const struct nacre_tool *tool, const struct nacre_request *request,
              uint64_t deadline_ns, size_t *wipe, struct nacre_error *err);

/* The guest's input and where its trace goes, if there are any.  False with errno: EPIPE when the worker has just
 * died, EAGAIN when a guest has taken it over and it takes nothing any more. */
bool wt_hand_fds(int control, const struct nacre_request *request);

#endif
