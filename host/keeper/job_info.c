#include "job_info.h"

#include <string.h>

#include "fields.h"
#include "nacre/own.h"

static const struct field fields[] = {
    FIELD(nacre_job_info, id, CHARS),
    FIELD(nacre_job_info, title, CHARS),
    FIELD(nacre_job_info, running, BOOL),
    FIELD(nacre_job_info, exit_status, NUMBER),
    FIELD(nacre_job_info, input_open, BOOL),
    FIELD(nacre_job_info, started_ms, U64),
    FIELD(nacre_job_info, ended_ms, U64),
    FIELD(nacre_job_info, bytes_kept_from, U64),
    FIELD(nacre_job_info, bytes_written, U64),
};

json_t *job_info_write(const struct nacre_job_info *info)
{
    return fields_write(info, fields, NACRE_COUNT(fields));
}

enum nacre_status job_info_read(const json_t *json, struct nacre_job_info *ret_info,
                                struct nacre_error *err)
{
    memset(ret_info, 0, sizeof(*ret_info));
    return fields_read(json, ret_info, fields, NACRE_COUNT(fields), 0, err);
}
