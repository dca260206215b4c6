#ifndef NACRE_CLI_CHECK_CONFIG_H
#define NACRE_CLI_CHECK_CONFIG_H

#include <jansson.h>

#include "nacre/advice.h"
#include "nacre/config.h"
#include "nacre/nacre.h"

/* Which dialect the file at `path` is, or the profile it names.  False: there is no such
 * file, or it can't be read as any; `err` says which where it is a document. */
bool cli_config_recognise(const char *path, enum nacre_dialect *ret_dialect,
                          struct nacre_error *err);

/* What there is to be told about the file at `source`; NULL when memory is short. */
json_t *cli_advice_json(const char *source, const struct nacre_advice *advice);

/*
 * Judges a configuration: that it is valid, that every agent of it can be settled, and
 * that the plan of a session's commands can be made.  The facts are for --json: dialect,
 * agents, digest, "advice" and, of lines that can't be enforced here, "notes"; the line
 * is for a person.  The caller owns the facts.
 */
NACRE_MUST_CHECK enum nacre_status cli_config_check(struct nacre_engine *engine,
                                                    const char *path, json_t **ret_facts,
                                                    char *ret_line, size_t line_size,
                                                    struct nacre_error *err);

#endif
