#ifndef NACRE_AUDIT_RUNS_H
#define NACRE_AUDIT_RUNS_H

#include <stddef.h>

#include "nacre/error.h"
#include "nacre/result.h"
#include "parse.h"

/* The runs that have begun and not ended.  Zeroed is an empty set. */
struct audit_runs {
    char (*slots)[NACRE_RUN_ID]; /* "" is free */
    size_t slot_count;           /* 0 or a power of two */
    size_t count;
};

/* What `record` changes in the set.  An end without its begin changes nothing: the
 * begin may lie in a log that was moved away. */
NACRE_MUST_CHECK enum nacre_status audit_runs_see(struct audit_runs *runs,
                                                  const struct audit_record *record,
                                                  struct nacre_error *err);

/* Copies up to `max` of them. */
void audit_runs_copy(const struct audit_runs *runs, char (*ret_ids)[NACRE_RUN_ID],
                     size_t max);

/* Forgets all; usable again. */
void audit_runs_clear(struct audit_runs *runs);

#endif
