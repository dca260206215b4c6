#ifndef NACRE_POLICY_MODEL_H
#define NACRE_POLICY_MODEL_H

#include "nacre/policy.h"

/*
 * Where every dialect starts: nothing granted, the default limits; level, runtime,
 * name and digest are still to be set.
 */
NACRE_MUST_CHECK enum nacre_status nacre_policy_new(const char *source,
                                                    struct nacre_policy **ret_policy,
                                                    struct nacre_error *err);

/* metadata.name: a letter or digit, then up to 62 letters, digits and hyphens. */
bool nacre_policy_is_name(const char *name);

/* metadata.version: MAJOR.MINOR.PATCH, then perhaps '-' and letters, digits, '-', '.'. */
bool nacre_policy_is_version(const char *version);

/* What they hold is freed; they are not to be used any more. */
void nacre_rules_clear(struct nacre_rules *rules);
void nacre_container_rules_clear(struct nacre_container_rules *container);

#endif
