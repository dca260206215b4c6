#ifndef NACRE_CLI_NEEDS_H
#define NACRE_CLI_NEEDS_H

#include <jansson.h>

#include "nacre/nacre.h"

/* What a module asks for, held against what a policy and this machine give. */

bool cli_module_needs(const struct nacre_module_info *info, enum nacre_capability wanted);
uint32_t cli_module_unknown(
    const struct nacre_module_info *info); /* imports not served */

struct cli_grant {
    bool granted;
    const char *rule;         /* "capabilities.filesystem.mode"; "" when none is asked */
    const char *value;        /* what the policy says there: "scoped"; "" likewise */
    struct nacre_place place;
};
struct cli_grant cli_grant_of(const struct nacre_policy *policy,
                              enum nacre_capability capability);

/* For each capability that the module needs: {"name", "granted", "rule", "value",
 * "line", "column"}.  NULL when memory runs out. */
json_t *cli_needs_json(const struct nacre_module_info *info,
                       const struct nacre_policy *policy);
/* The same as lines on stdout. */
void cli_needs_print(const struct nacre_module_info *info,
                     const struct nacre_policy *policy);

/* The names of imports that nothing here serves, as a JSON array. */
json_t *cli_unknown_json(const struct nacre_module_info *info);

/* The executor of a level, whether or not it can enforce a plan; NULL, and why, when
 * there is none here. */
const struct nacre_executor *cli_executor_of(struct nacre_engine *engine,
                                             enum nacre_level level,
                                             struct nacre_error *ret_why);

/* Lines of a valid policy that can't be enforced here: place, rule, text and fix. */
json_t *cli_refused_json(const struct nacre_policy *policy,
                         const struct nacre_plan *plan);

#endif
