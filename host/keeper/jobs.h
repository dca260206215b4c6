#ifndef NACRE_KEEPER_JOBS_H
#define NACRE_KEEPER_JOBS_H

#include <jansson.h>

#include "nacre/jobs.h"

/* The keeper's jobs: a thread for each, whose child ends when it does. */
struct jobs;

/* NULL when memory is short. */
struct jobs *jobs_new(const char *program);
/* Kills them all and lets no other begin. */
void jobs_close(struct jobs *jobs);
void jobs_free(struct jobs *jobs); /* accepts NULL */

/* Is there one, running or kept?  Drops those that were kept long enough. */
bool jobs_are_there(struct jobs *jobs);

/*
 * One question, {"op", ...} as client's side has them, and its answer; *ret_answer is the
 * caller's.  NACRE_ERR_NOT_FOUND: there is no such job of this owner's.
 */
NACRE_MUST_CHECK enum nacre_status jobs_serve(struct jobs *jobs, const json_t *question,
                                              json_t **ret_answer,
                                              struct nacre_error *err);

#endif
