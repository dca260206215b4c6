#ifndef NACRE_TOOLS_JSON_SCHEMA_H
#define NACRE_TOOLS_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/decide.h"
#include "nacre/error.h"
#include "nacre/own.h"

/*
 * JSON Schema, draft 2020-12, as much of it as tools need; a keyword that is not enforced
 * is refused, never skipped.  Compiled once, immutable and so usable from several
 * threads.
 *
 *   type, enum, const; properties, required, additionalProperties, min- and
 *   maxProperties; items, prefixItems, min- and maxItems, uniqueItems; minimum, maximum,
 *   exclusive- of both, multipleOf; min- and maxLength, pattern; anyOf, oneOf, allOf,
 *   not; $defs and $ref within the document.  Only told: title, description, default,
 *   examples, format, $comment, and at the top $schema and $id.  A default is not filled
 *   in.
 */
struct nacre_json_schema;

#define NACRE_SCHEMA_POINTER 512

/* NACRE_ERR_PARSE: ret_pointer is the JSON pointer of what is at fault, in `document`; a
 * keyword's own when it is the keyword.  `document` is borrowed for the call. */
NACRE_MUST_CHECK enum nacre_status
nacre_json_schema_compile(const json_t *document, struct nacre_json_schema **ret_schema,
                          char ret_pointer[NACRE_SCHEMA_POINTER],
                          struct nacre_error *err);
void nacre_json_schema_free(struct nacre_json_schema *schema); /* accepts NULL */
NACRE_OWNED(nacre_json_schema)

/* NACRE_ERR_USAGE: the first place that does not hold, what was expected there and what
 * was found.  NACRE_ERR_TOO_BIG: it can't be judged within bounds. */
NACRE_MUST_CHECK enum nacre_status
nacre_json_schema_judge(const struct nacre_json_schema *schema, const json_t *value,
                        struct nacre_error *err);

/* ---- what it is compiled to ---- */

#define SCHEMA_DEPTH_MAX 64        /* of the document, and of values and rules judged */
#define SCHEMA_RULES_MAX 4096
#define SCHEMA_STEPS_MAX 4000000   /* of judging one value */
#define SCHEMA_PATTERN_BYTES_MAX ((size_t)4096)

#define SCHEMA_TYPE_MAP(X)             \
    X(NULL, "null", "null")            \
    X(BOOLEAN, "boolean", "a boolean") \
    X(INTEGER, "integer", "a whole number") \
    X(NUMBER, "number", "a number")    \
    X(STRING, "string", "a string")    \
    X(ARRAY, "array", "an array")      \
    X(OBJECT, "object", "an object")
enum schema_type {
#define X(id, name, words) SCHEMA_##id,
    SCHEMA_TYPE_MAP(X)
#undef X
    SCHEMA_TYPE_COUNT
};

struct schema_rule;

struct schema_property {
    char *name;
    const struct schema_rule *rule;
};

struct schema_rules {
    const struct schema_rule **items;
    size_t count;
};

struct schema_rule {
    bool never;       /* the schema `false` */
    uint32_t types;   /* bits of enum schema_type; 0: any */
    json_t *choices;  /* enum, or NULL */
    json_t *constant; /* const, or NULL */

    struct schema_property *properties; /* as written */
    size_t property_count;
    char **required;
    size_t required_count;
    const struct schema_rule *additional; /* NULL: anything */

    const struct schema_rule *items; /* NULL: anything */
    struct schema_rules prefix;
    bool unique;

    /* UINT64_MAX and 0 where nothing is said. */
    uint64_t length_min, length_max, items_min, items_max, members_min, members_max;

    json_t *minimum, *maximum, *above, *below, *multiple; /* numbers, or NULL */
    struct nacre_pattern *pattern;
    char *pattern_text;

    struct schema_rules all, any, one;
    const struct schema_rule *negated, *reference;

    int mark; /* of the search for references that lead nowhere */
};

struct nacre_json_schema {
    struct schema_rule **rules; /* owned; the first is the whole */
    size_t count, room;
};

/* ---- parts; *steps is what is left of the work, and with 0 left no answer holds ---- */

/* As JSON Schema compares: 1 is 1.0. */
bool schema_equal(const json_t *a, const json_t *b, uint64_t *steps);
/* Equal values have equal hashes. */
uint64_t schema_hash(const json_t *value, uint64_t *steps);
/* -1, 0, 1; exact where both are whole. */
int schema_compare(const json_t *a, const json_t *b);
bool schema_is_multiple(const json_t *value, const json_t *of);

#endif
