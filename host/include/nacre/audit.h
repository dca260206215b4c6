#ifndef NACRE_AUDIT_H
#define NACRE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/plan.h"
#include "nacre/result.h"
#include "nacre/tool.h"

/*
 * The record of every run: JSON lines, one begin and one end for each, appended in
 * one write under a lock (several processes share a file).  Each record carries
 * its line number as "seq" and, as "prev", the SHA-256 of the line before it.
 * Checkpoints in a second file, PATH.checkpoints (count, head and their HMAC), are
 * keyed with a key that lives elsewhere, so that truncation and rewriting show.  The
 * newest of them is kept beside the key as well, in KEY_DIR/audit-DIGEST.newest (of
 * the log's resolved path), so that log and checkpoints can't be put back together.
 * Whoever moves the log moves all three; verify names the third for the new place.
 *
 * A line never holds a secret or raw output: arguments and environment appear as
 * one digest, keyed with the same key because a short password could be guessed
 * from a plain one.  Equal calls have equal digests under one key.  Only of a run without
 * a sandbox the begin record tells the command itself, searched for secrets first, its
 * directory, its variables by name, and who let it run so.
 *
 * What this can't show: to one who can write both files, that records after the last
 * checkpoint were changed (they are chained, not keyed); to one who can write the key
 * directory as well, anything, and be it by putting all three back to an earlier state.
 * Send the checkpoints elsewhere where that matters.
 *
 * Nothing is forced to disk.  After a power cut the newest records can be missing.
 * Where a checkpoint vouches for them, the next open says so and verify fails from
 * then on: a power cut and a truncation look the same.  So it is with whatever else
 * open finds against a checkpoint, however long the log becomes.
 */
struct nacre_audit;

/*
 * `path` is created 0600 when missing, its missing directories 0700; `key_dir`
 * (0700) holds audit.key, made at first use, and the newest checkpoint.  Refused with
 * NACRE_ERR_USAGE: a link, anything but a plain file, a file of another user's or one
 * that others may write, and a file that does not end like an audit log (it is left as
 * it was).
 *
 * What a crash left is set right here and told in a "recovered" record: a torn last
 * line (its length and an excerpt), records or checkpoints that are gone or changed
 * though they were vouched for and, when no other process has the log open, the latest
 * runs that never ended, each of which gets its end record then.  `ret_notice` (may be
 * NULL) receives sentences about that, or "".
 *
 * A handle may be shared between threads.  It belongs to the process that opened
 * it: a forked child closes its fds and does not use it.
 */
NACRE_MUST_CHECK enum nacre_status nacre_audit_open(const char *path, const char *key_dir,
                                                    struct nacre_audit **ret_audit,
                                                    char *ret_notice, size_t notice_size,
                                                    struct nacre_error *err);
void nacre_audit_free(struct nacre_audit *audit); /* writes a checkpoint; accepts NULL */
NACRE_OWNED(nacre_audit)

/* What a run without a sandbox is recorded with, beside its directory and the names of
 * its variables. */
struct nacre_audit_bare {
    const char *command;  /* the text, or the words quoted as a shell would read them; no
                             secret in it */
    const char *approver; /* who let it run so; NULL: not told */
};

struct nacre_audit_run {
    const char *run_id; /* 1 to 32 small letters, digits and '-' */
    const struct nacre_request *request;
    const struct nacre_request *asked; /* as the caller made it, without what was added:
                                          equal calls have equal digests; NULL: the same */
    const struct nacre_tool *tool;     /* NULL when it could not be read */
    const char *tool_name;
    const struct nacre_policy *policy; /* NULL when it could not be read */
    const struct nacre_plan *plan;     /* NULL when there was none */
    const char *executor;              /* name, or NULL */
    const struct nacre_audit_bare *bare; /* NULL: it has a sandbox, or does not run */

    /* begin's, for end to say it again; 0 before, and where it is too long to keep */
    size_t about_count;
    char about[1024];
};

/*
 * Before anything starts.  On failure nothing may run: the file is as it was.
 * NACRE_ERR_UNAVAILABLE when another process keeps it locked for 5 s; NACRE_ERR_IO
 * when it is full, deleted, was cut or put back behind our back.
 */
NACRE_MUST_CHECK enum nacre_status nacre_audit_begin(struct nacre_audit *audit,
                                                     struct nacre_audit_run *run,
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

/*
 * Follows the chain from line 1 and checks every checkpoint and the newest one against
 * it.  Live writers are not held up: it looks at the files as they were when it began.
 * NACRE_ERR_PARSE with file:line says where the chain breaks and how.  A newest
 * checkpoint that is missing is such an error too, told last: all records hold then,
 * but there may have been more.  Needs the key (NACRE_ERR_NOT_FOUND), which it never
 * makes.
 */
NACRE_MUST_CHECK enum nacre_status nacre_audit_verify(const char *path, const char *key_dir,
                                                      struct nacre_audit_report *ret_report,
                                                      struct nacre_error *err);

/* ---- reading, for `nacre audit show` and `tail`; no key, no lock ---- */

/* Where reading goes on.  Zeroed is the start of the file. */
struct nacre_audit_cursor {
    uint64_t offset;
    uint64_t lines; /* before `offset` */
};

/*
 * Hand every whole line from the cursor on to `each`, until it returns false; the
 * cursor then stands behind the last one handed over.  A line that is being written
 * is left for the next call, so calling again and again follows the log.  `text` is
 * JSON, terminated, and safe to print: a line with control characters or bytes that
 * are not UTF-8 is NACRE_ERR_PARSE, and so is one that is too long to be ours.
 * NACRE_ERR_IO when the file has become shorter than the cursor.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_audit_read(const char *path, struct nacre_audit_cursor *cursor,
                 bool (*each)(void *data, uint64_t line, const char *text, size_t count),
                 void *data, struct nacre_error *err);

/* The cursor from which the last `lines` whole lines are read. */
NACRE_MUST_CHECK enum nacre_status nacre_audit_tail(const char *path, uint64_t lines,
                                                    struct nacre_audit_cursor *ret_cursor,
                                                    struct nacre_error *err);

#endif
