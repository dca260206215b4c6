#ifndef NACRE_WASI_SCRATCH_H
#define NACRE_WASI_SCRATCH_H

#include "state.h"

/*
 * Private directories: made when a run first touches them, bounded by a quota, and
 * gone after it.  Growth is paid once and not given back within a run, so that what
 * lies on the disk never exceeds what was counted.
 */

int ws_scratch_make(struct nacre_wasi *wasi, uint32_t mount);

/* One more name; P1_NOSPC and on record when there are too many. */
int ws_scratch_name(struct nacre_wasi *wasi, uint32_t mount);

/* `file` is about to reach up to `end`; afterwards ws_scratch_paid() says how far it
 * really went. */
int ws_scratch_reach(struct nacre_wasi *wasi, const struct ws_file *file, uint64_t end);
void ws_scratch_paid(struct nacre_wasi *wasi, struct ws_file *file, uint64_t end);

/* Empties and removes all of the run's private directories. */
NACRE_MUST_CHECK enum nacre_status ws_scratch_end(struct nacre_wasi *wasi,
                                                  struct nacre_error *err);

#endif
