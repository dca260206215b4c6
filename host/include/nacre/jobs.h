#ifndef NACRE_JOBS_H
#define NACRE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/error.h"

/*
 * Commands in the background.  Each is a whole `nacre exec` of its own, a child of the
 * keeper: planned, recorded and scanned like any other, and bound by its policy's limits.
 * It lives until it ends, is killed, its session ends or the keeper does; what it writes
 * is kept, the newest NACRE_JOB_BYTES_MAX of it.
 *
 * A job belongs to a session and an agent; who names others is told that there is none.
 */
#define NACRE_JOB_ID 17
#define NACRE_JOB_BYTES_MAX ((size_t)1 << 20)
#define NACRE_JOBS_PER_SESSION_MAX 16
#define NACRE_JOBS_MAX 64
#define NACRE_JOB_KEPT_MS UINT64_C(1800000) /* after its end */
#define NACRE_JOB_WAIT_MS_MAX UINT64_C(30000)
#define NACRE_JOB_WORD_BYTES_MAX ((size_t)1 << 20)
#define NACRE_JOB_WORDS_FD 3 /* where the program finds them: a sealed memory file */

struct nacre_job_owner {
    const char *session, *agent; /* never NULL; may be "" */
};

struct nacre_job_start {
    const char *const *words; /* NULL-terminated, for the program: "exec", ...  They stand
                                 in no argument list, which is for everybody to read */
    const char *directory;    /* that relative paths in them are meant from */
    const char *title;            /* the command, for lists */
};

struct nacre_job_info {
    char id[NACRE_JOB_ID];
    char title[256];
    bool running;
    int exit_status;  /* of `nacre exec`, when it has ended; 128+n for a signal */
    bool input_open;
    uint64_t started_ms, ended_ms; /* since 1970; 0: not yet */
    uint64_t bytes_kept_from, bytes_written; /* offsets into all that it wrote */
};

/* `program` is nacre's, to start a keeper with where there is none. */
struct nacre_keeper_at {
    const char *state_dir, *program;
};

NACRE_MUST_CHECK enum nacre_status nacre_job_start(const struct nacre_keeper_at *at,
                                                   const struct nacre_job_owner *owner,
                                                   const struct nacre_job_start *start,
                                                   char ret_id[NACRE_JOB_ID],
                                                   struct nacre_error *err);

/*
 * What it wrote from `offset` on, at most `bytes_max`, into `ret_output`; waits up to
 * `wait_ms` for something new, or its end.  An offset of which nothing is kept any more
 * goes on at the oldest byte that is.  *ret_next is where to go on.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_job_read(const struct nacre_keeper_at *at, const struct nacre_job_owner *owner,
               const char *id, uint64_t offset, size_t bytes_max, uint64_t wait_ms,
               struct nacre_buf *ret_output, uint64_t *ret_next,
               struct nacre_job_info *ret_info, struct nacre_error *err);

/* To its stdin; `end` closes that behind them. */
NACRE_MUST_CHECK enum nacre_status
nacre_job_write(const struct nacre_keeper_at *at, const struct nacre_job_owner *owner,
                const char *id, const char *bytes, size_t count, bool end,
                struct nacre_error *err);

/* Ends it as a signal would, and waits until it has: SIGTERM's grace is short. */
NACRE_MUST_CHECK enum nacre_status nacre_job_kill(const struct nacre_keeper_at *at,
                                                  const struct nacre_job_owner *owner,
                                                  const char *id, struct nacre_error *err);

/* All of the owner's; those that have ended too, as long as they are kept. */
NACRE_MUST_CHECK enum nacre_status
nacre_job_list(const struct nacre_keeper_at *at, const struct nacre_job_owner *owner,
               bool (*each)(void *data, const struct nacre_job_info *info), void *data,
               struct nacre_error *err);

/* The end of a session: its jobs are killed and forgotten, whoever's they are. */
NACRE_MUST_CHECK enum nacre_status nacre_jobs_end(const struct nacre_keeper_at *at,
                                                  const char *session,
                                                  uint32_t *ret_ended,
                                                  struct nacre_error *err);

#endif
