#ifndef NACRE_CLI_EXPLAIN_SESSION_H
#define NACRE_CLI_EXPLAIN_SESSION_H

#include <jansson.h>

#include "nacre/nacre.h"
#include "nacre/session.h"

/* What a configuration means for one session, as text or as JSON on stdout.  `tool` is a
 * tool's name, or NULL; `call` is then what cli_explain_call_json() has of it, or NULL
 * where nacre has no such tool.  `plan` is what its exec would run by on this machine. */
NACRE_MUST_CHECK enum nacre_status
cli_explain_session(const struct nacre_session *session, const struct nacre_plan *plan,
                    const struct nacre_executor *executor, const char *tool,
                    const json_t *call, bool json, struct nacre_error *err);

#endif
