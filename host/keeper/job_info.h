#ifndef NACRE_KEEPER_JOB_INFO_H
#define NACRE_KEEPER_JOB_INFO_H

#include <jansson.h>

#include "nacre/jobs.h"

/* A job's state on the wire.  NULL when memory is short. */
json_t *job_info_write(const struct nacre_job_info *info);
NACRE_MUST_CHECK enum nacre_status job_info_read(const json_t *json,
                                                 struct nacre_job_info *ret_info,
                                                 struct nacre_error *err);

#endif
