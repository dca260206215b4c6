#ifndef NACRE_RUN_SECRETS_H
#define NACRE_RUN_SECRETS_H

#include "engine.h"
#include "nacre/secrets.h"

/*
 * What a run gets from the vault, handed over as the policy's injection says:
 * `environment` as variables, `file-mount` as files, `host-boundary` as names that only
 * the door can exchange; tokens always as variables.  A request that asks for none, and
 * whose session and agent have none, costs nothing: no vault is opened.
 */
struct run_secrets {
    struct nacre_request request; /* the caller's, with what is granted */
    struct nacre_secret_set *set; /* NULL: there is nothing */
    const char **environment;
    struct nacre_secret_file *files;
};

/* NACRE_ERR_DENIED: `result` has received the reason.  clear() is due either way. */
NACRE_MUST_CHECK enum nacre_status run_secrets_open(struct nacre_engine *engine,
                                                    const struct nacre_policy *policy,
                                                    const struct nacre_tool *tool,
                                                    const struct nacre_request *request,
                                                    const char *run_id,
                                                    struct run_secrets *secrets,
                                                    struct nacre_result *result,
                                                    struct nacre_error *err);

/* What the tool is called in records: not by its own name where that holds a value. */
const char *run_secrets_tool_name(const struct run_secrets *secrets, const char *name);
void run_secrets_clear(struct run_secrets *secrets); /* wipes */

#endif
