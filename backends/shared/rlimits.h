#ifndef NACRE_RLIMITS_H
#define NACRE_RLIMITS_H

#include <stdint.h>

#include "nacre/error.h"

/* Every number is a limit: 0 and "unlimited" are bugs of the caller. */
struct nacre_rlimits {
    uint64_t memory_bytes_max; /* that the guest may have; what the process has at the
                                  time of the call and NACRE_RLIMITS_SLACK come on top */
    uint64_t open_files_max;   /* fds of the whole process, ours among them */
    uint64_t file_bytes_max;   /* size of one file; a write past it gives EFBIG */
};

/* For what the engine itself needs to run a module: stacks, tables, its heap. */
#define NACRE_RLIMITS_SLACK (UINT64_C(64) << 20)

/*
 * Limit this process, for good, beneath what the engine and the shims count exactly:
 * RLIMIT_DATA (never RLIMIT_AS: the engine reserves far more than it uses), NOFILE,
 * FSIZE, no core, no locked memory, 8 MiB of stack.  Also not dumpable, so that its
 * memory is closed to others of the same user, and no_new_privs.
 * NACRE_ERR_UNAVAILABLE when this process may not have that many fds.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_rlimits_worker(const struct nacre_rlimits *limits, struct nacre_error *err);

#endif
