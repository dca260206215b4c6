#ifndef NACRE_AUDIT_H
#define NACRE_AUDIT_H

#include <stdint.h>
#include <stdio.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/plan.h"
#include "nacre/result.h"
#include "nacre/tool.h"

/*
 * The record of every run: JSON lines, one begin and one end for each, appended in
 * one write under a lock (several processes share a file).  Each record carries
 * the SHA-256 of the line before it; checkpoints in a second file (count, head and
 * their HMAC) are keyed with a key that lives elsewhere, so that truncation and
 * rewriting show.  A line never holds a secret or raw output.
 */
struct nacre_audit;

/*
 * `path` is created 0600 when missing; `key_dir` (0700) holds audit.key, made at
 * first use.  A torn last line, as a crash leaves it, is set right here: the torn
 * bytes stay visible in a "recovered" record that says how many there were.
 * *ret_notice (may be NULL) receives a sentence about that, or "".
 */
NACRE_MUST_CHECK enum nacre_status nacre_audit_open(const char *path, const char *key_dir,
                                                    struct nacre_audit **ret_audit,
                                                    char *ret_notice, size_t notice_size,
                                                    struct nacre_error *err);
void nacre_audit_free(struct nacre_audit *audit); /* writes a checkpoint; accepts NULL */
NACRE_OWNED(nacre_audit)

struct nacre_audit_run {
    const char *run_id;
    const struct nacre_request *request;
    const struct nacre_tool *tool;     /* NULL when it could not be read */
    const char *tool_name;
    const struct nacre_policy *policy;
    const struct nacre_plan *plan;     /* NULL when there was none */
    const char *executor;              /* name, or NULL */
};

/* Before anything starts.  On failure nothing may run. */
NACRE_MUST_CHECK enum nacre_status nacre_audit_begin(struct nacre_audit *audit,
                                                     const struct nacre_audit_run *run,
                                                     struct nacre_error *err);

/* After it.  `failure` is NULL unless the host failed; then `result` is NULL. */
NACRE_MUST_CHECK enum nacre_status nacre_audit_end(struct nacre_audit *audit,
                                                   const struct nacre_audit_run *run,
                                                   const struct nacre_result *result,
                                                   const struct nacre_error *failure,
                                                   struct nacre_error *err);

struct nacre_audit_report {
    uint64_t records;       /* whole and chained */
    uint64_t checkpoints;   /* whose HMAC holds */
    uint64_t open_runs;     /* begun and never ended */
    uint64_t after_checkpoint; /* records since the last checkpoint: chained, not keyed */
};

/* NACRE_ERR_PARSE with file:line says where the chain breaks and how. */
NACRE_MUST_CHECK enum nacre_status nacre_audit_verify(const char *path, const char *key_dir,
                                                      struct nacre_audit_report *ret_report,
                                                      struct nacre_error *err);

#endif
