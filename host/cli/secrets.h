#ifndef NACRE_CLI_SECRETS_H
#define NACRE_CLI_SECRETS_H

#include "nacre/nacre.h"
#include "nacre/secrets.h"

/* For who explains a run that asks for secrets.  `tool` is its name, or NULL. */

/* What the vault grants, without values, to be planned with; NULL where nothing is asked
 * for, or where something asked for is not granted. */
NACRE_MUST_CHECK enum nacre_status
cli_secrets_preview(struct nacre_engine *engine, const struct nacre_policy *policy,
                    const char *tool, const struct nacre_request *request,
                    struct nacre_secret_set **ret_set, struct nacre_error *err);

/* The lines of a draft about secrets that the vault does not grant become refusals. */
NACRE_MUST_CHECK enum nacre_status
cli_secrets_settle(struct nacre_engine *engine, const struct nacre_policy *policy,
                   const char *tool, const struct nacre_request *request,
                   struct nacre_plan *draft, struct nacre_error *err);

#endif
