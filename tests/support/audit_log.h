#ifndef NACRE_TEST_AUDIT_LOG_H
#define NACRE_TEST_AUDIT_LOG_H

#include <stdbool.h>
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

/* The one file in the key directory that tells how far the log went. */
#define NEWEST_PATH 160
void audit_log_newest(const struct audit_log *log, char ret_path[NEWEST_PATH]);

/* Terminated, to be freed. */
char *audit_log_slurp(const char *path, size_t *ret_count);
void audit_log_spill(const char *path, const char *bytes, size_t count);

/* A file of lines, to be changed; lines are counted from 1. */
struct doc {
    char *bytes;
    size_t size;
    bool missing;
};

struct doc doc_load(const char *path);
/* Writes it, or removes the file, and frees it. */
void doc_store(struct doc *doc, const char *path);

size_t doc_line_at(const struct doc *doc, size_t number); /* where it begins */
void doc_replace(struct doc *doc, size_t at, size_t removed, const char *text,
                 size_t count);
void doc_delete_lines(struct doc *doc, size_t from, size_t to);
void doc_copy_line(struct doc *doc, size_t from, size_t before);
/* The first `from` in the line, which is as long as `to`. */
void doc_change(struct doc *doc, size_t line, const char *from, const char *to);
/* What one does who knows the format but not the key: every link from line `line` on
 * is made to fit again. */
void doc_chain_again(struct doc *doc, size_t line);

#endif
