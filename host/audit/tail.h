#ifndef NACRE_AUDIT_TAIL_H
#define NACRE_AUDIT_TAIL_H

#include "checkpoint.h"
#include "runs.h"

/* How a log ends. */
struct audit_tail {
    struct audit_checkpoint head; /* up to and with its last whole record */
    uint64_t torn_count;          /* bytes behind that */
};

/* NACRE_ERR_USAGE when the file does not end like an audit log. */
NACRE_MUST_CHECK enum nacre_status audit_tail_read(int fd, const char *path,
                                                   uint64_t size,
                                                   struct audit_tail *ret_tail,
                                                   struct nacre_error *err);

/* The runs that begin in the last records and do not end there.  Looks at a few dozen
 * records only, because every start of the program waits for it. */
NACRE_MUST_CHECK enum nacre_status audit_tail_runs(int fd, const char *path,
                                                   uint64_t size,
                                                   struct audit_runs *runs,
                                                   struct nacre_error *err);

#endif
