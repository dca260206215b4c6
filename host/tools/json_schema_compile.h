#ifndef NACRE_TOOLS_JSON_SCHEMA_COMPILE_H
#define NACRE_TOOLS_JSON_SCHEMA_COMPILE_H

#include "json_schema.h"

/* A document on its way to rules; between the files that compile it. */

struct pending {
    struct schema_rule *rule;
    const char *target; /* the document's */
    char where[NACRE_SCHEMA_POINTER];
};

struct compiling {
    struct nacre_json_schema *schema;
    const json_t *document;
    const json_t **sources; /* of each of the schema's rules */
    struct pending *pending; /* references that are still to be followed */
    size_t pending_count;
    size_t depth;
    char path[NACRE_SCHEMA_POINTER]; /* where we are; after a failure, where it was */
    size_t used;
    struct nacre_error *err;
};

/* Goes into a key or an entry; pop takes what push returned.  A failure never pops. */
size_t schema_push(struct compiling *c, const char *key);
size_t schema_push_index(struct compiling *c, size_t index);
void schema_pop(struct compiling *c, size_t before);

/* The rule of a schema, made or found. */
NACRE_MUST_CHECK enum nacre_status schema_compile(struct compiling *c,
                                                  const json_t *source,
                                                  const struct schema_rule **ret_rule);

/* One keyword of a schema, into its rule. */
NACRE_MUST_CHECK enum nacre_status schema_read_keyword(struct compiling *c,
                                                       struct schema_rule *rule,
                                                       const char *key,
                                                       const json_t *value);

enum nacre_status schema_fail_memory(struct compiling *c);
/* "expected WHAT, found a number" */
enum nacre_status schema_expected(struct compiling *c, const char *what,
                                  const json_t *found);

#endif
