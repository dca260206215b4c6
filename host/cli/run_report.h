#ifndef NACRE_CLI_RUN_REPORT_H
#define NACRE_CLI_RUN_REPORT_H

#include <jansson.h>

#include "nacre/nacre.h"

/* A run that has ended, and what it was asked to be. */
struct cli_ran {
    const struct nacre_policy *policy;
    const struct nacre_tool *tool;
    const struct nacre_request *request;
    const struct nacre_result *result;
    uint64_t timeout_ms; /* as the caller gave it; 0: the time is the policy's */
};

/* The whole result as the --json form; NULL when memory runs out. */
json_t *cli_run_json(const struct cli_ran *ran);

/* What an invoked export returned: to stdout, one value a line. */
void cli_run_print_values(const struct cli_ran *ran);

/* On stderr: why it ended, if not by itself, which line of the policy decided, and
 * what to do about it. */
void cli_run_explain(const struct cli_ran *ran);

#endif
