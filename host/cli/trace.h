#ifndef NACRE_CLI_TRACE_H
#define NACRE_CLI_TRACE_H

#include <stdbool.h>
#include <stdio.h>

/* A guest's host calls, as request.trace_fd received them, for a person: a line each,
 * then what they cost; or as they are, with `raw`.  False when memory is short. */
bool cli_trace_print(int fd, bool raw, FILE *out);

#endif
