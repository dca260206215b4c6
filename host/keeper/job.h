#ifndef NACRE_KEEPER_JOB_H
#define NACRE_KEEPER_JOB_H

#include <pthread.h>

#include "nacre/jobs.h"

/*
 * One job: a child, the pipes to it, and the newest of what it wrote.  Its thread reads
 * until both streams and the child have ended; everybody else asks under `lock`.
 */
struct job {
    struct job *next;
    uint32_t users; /* who hold it beside the list; both are under the list's lock */
    bool dropped;   /* from the list */
    char id[NACRE_JOB_ID];
    char *session, *agent, *title;
    char **words, **environment; /* of the program */
    char *directory;
    const char *program;

    pthread_t thread;
    pthread_mutex_t lock;  /* over what follows */
    pthread_cond_t changed;
    pid_t pid;             /* -1: not there yet, or reaped */
    int input_fd;          /* our end of its stdin; -1: closed */
    bool ended, stopping;
    int exit_status;
    uint64_t started_ms, ended_ms;
    char *kept;            /* a ring of NACRE_JOB_BYTES_MAX */
    uint64_t written;      /* in all */
    int start_errno;       /* why there is no child */
    bool started;          /* there is one, or there never will be */
};

/* Starts its thread, which starts the child; waits until that is known. */
NACRE_MUST_CHECK enum nacre_status job_begin(struct job *job, struct nacre_error *err);

/* Asks it to end, by SIGTERM and then by SIGKILL, and waits until it has. */
void job_end(struct job *job);

/* Under the lock. */
uint64_t job_kept_from(const struct job *job);
size_t job_copy(const struct job *job, uint64_t offset, char *ret_bytes, size_t count);

/* Writes what fits into the pipe's room until the deadline.  NACRE_ERR_TIMEOUT: it does
 * not read; NACRE_ERR_USAGE: its stdin is closed. */
NACRE_MUST_CHECK enum nacre_status job_write(struct job *job, const char *bytes,
                                             size_t count, bool end,
                                             struct nacre_error *err);

void job_free(struct job *job); /* that has ended, or never began; accepts NULL */

#endif
