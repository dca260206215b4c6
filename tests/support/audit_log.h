#ifndef NACRE_TEST_AUDIT_LOG_H
#define NACRE_TEST_AUDIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "nacre/audit.h"

/* A log in a directory of its own, and runs to write into it. */
struct audit_log {
    char dir[64];
    char path[96], checkpoints[112], keys[96];
    struct nacre_request request;
    struct nacre_policy policy;
    struct nacre_tool tool;
    struct nacre_result *result; /* exited with 0 */
};

/* cmocka's setup and teardown; *state is a struct audit_log. */
int audit_log_setup(void **state);
int audit_log_teardown(void **state);

struct nacre_audit *audit_log_open(const struct audit_log *log);
struct nacre_audit_run audit_log_run(const struct audit_log *log, const char *run_id);

/* Whole runs, begin and end; their ids are PREFIX-0, PREFIX-1, ... */
void audit_log_write(struct nacre_audit *audit, const struct audit_log *log,
                     const char *prefix, int runs);

/* Asserts that the log verifies. */
struct nacre_audit_report audit_log_verify(const struct audit_log *log);

/* Terminated, to be freed. */
char *audit_log_slurp(const char *path, size_t *ret_count);
void audit_log_spill(const char *path, const char *bytes, size_t count);

#endif
