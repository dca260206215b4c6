#ifndef NACRE_CLI_EXPLAIN_CALL_H
#define NACRE_CLI_EXPLAIN_CALL_H

#include <jansson.h>

#include "nacre/call.h"

/* Is it the name of a tool, and no module's file? */
bool cli_is_tool_name(const char *text);

/* At which level the call would run and why, or what denies it: printed, or as a value
 * that the caller owns.  NACRE_ERR_NOT_FOUND: nacre has no such tool. */
NACRE_MUST_CHECK enum nacre_status cli_explain_call(struct nacre_engine *engine,
                                                    const struct nacre_call *call,
                                                    struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status cli_explain_call_json(struct nacre_engine *engine,
                                                         const struct nacre_call *call,
                                                         json_t **ret_json,
                                                         struct nacre_error *err);

/* Whether an intent is needed (nacre_explain_intent), where a line says something of it. */
void cli_intent_print(const struct nacre_answer *intent);
json_t *cli_intent_json(const struct nacre_answer *intent);

#endif
