#ifndef NACRE_POLICY_SCHEMA_H
#define NACRE_POLICY_SCHEMA_H

#include "nacre/error.h"
#include "node.h"

/*
 * A schema is a table: a key exists if and only if it has a row.  Rows are read in
 * the table's order, after all keys of the mapping are known to be in it; so what
 * decides how to read the rest comes first in the table.
 */

enum nacre_schema_type {
    NACRE_SCHEMA_NONE,    /* a forgotten type */
    NACRE_SCHEMA_SECTION, /* a mapping with a schema of its own */
    NACRE_SCHEMA_WORD,    /* one of `words`, as a 1-based enum */
    NACRE_SCHEMA_FLAG,    /* true or false, as a struct nacre_flag */
    NACRE_SCHEMA_LIMIT,   /* a whole number, as a struct nacre_limit */
    NACRE_SCHEMA_TEXT,    /* a text, for `set` */
    NACRE_SCHEMA_LIST,    /* a list of at most NACRE_LIST_MAX entries, for `set` */
    NACRE_SCHEMA_OPEN,    /* a mapping with any keys, for `set` */
};

#define NACRE_LIST_MAX 1000

/* Where the reader is: the document, and the key in words ("spec.level"). */
struct nacre_reading {
    const char *source;
    char where[128];
};

struct nacre_schema_key {
    const char *name;
    enum nacre_schema_type type;
    bool required;
    const char *example; /* of a required key, for who left it out */
    size_t offset;       /* WORD, FLAG, LIMIT: of the member; never 0 */
    size_t place_offset; /* WORD: of its struct nacre_place; never 0 */
    const char *const *words;
    size_t word_count;
    uint64_t min, max; /* LIMIT */
    const struct nacre_schema *section;
    /* A section's, where it has one, runs before the section is read. */
    enum nacre_status (*set)(const struct nacre_reading *at,
                             const struct nacre_node *node, void *target,
                             struct nacre_error *err);
};

struct nacre_schema {
    const struct nacre_schema_key *keys;
    size_t count;
};

/* Fill in `target` from a mapping.  On failure `target` is partly filled. */
NACRE_MUST_CHECK enum nacre_status nacre_schema_read(const struct nacre_schema *schema,
                                                     const struct nacre_reading *at,
                                                     const struct nacre_node *node,
                                                     void *target,
                                                     struct nacre_error *err);

/* For entries of lists: is it a text, and of what place are we talking? */
NACRE_MUST_CHECK enum nacre_status nacre_schema_want_text(const struct nacre_reading *at,
                                                          const struct nacre_node *node,
                                                          struct nacre_error *err);
struct nacre_reading nacre_reading_entry(const struct nacre_reading *list, size_t index);

/* A malloc'ed copy, or NACRE_ERR_MEMORY. */
NACRE_MUST_CHECK enum nacre_status nacre_schema_copy(const char *text, char **ret_text,
                                                     struct nacre_error *err);

#define NACRE_READING_FAIL(at, place, err, ...)                                     \
    nacre_fail_at(err, NACRE_ERR_PARSE, (at)->source, (place).line, (place).column, \
                  __VA_ARGS__)

#endif
