#ifndef NACRE_CLI_EXPLAIN_CALL_H
#define NACRE_CLI_EXPLAIN_CALL_H

#include "nacre/call.h"

/* Is it the name of a tool, and no module's file? */
bool cli_is_tool_name(const char *text);

/* Prints at which level the call would run and why, or what denies it. */
NACRE_MUST_CHECK enum nacre_status cli_explain_call(struct nacre_engine *engine,
                                                    const struct nacre_call *call,
                                                    bool json, struct nacre_error *err);

#endif
