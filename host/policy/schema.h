#ifndef NACRE_POLICY_SCHEMA_H
#define NACRE_POLICY_SCHEMA_H

#include "nacre/error.h"
#include "node.h"
#include "units.h"

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
    NACRE_SCHEMA_ANY,     /* whatever stands there, for `set` */
    NACRE_SCHEMA_RULE,    /* a text that is not empty, as a struct nacre_rule */
    NACRE_SCHEMA_RULES,   /* a list of texts, as a struct nacre_rules; each by `entry` */
    NACRE_SCHEMA_AMOUNT,  /* a number or a text with a unit, as a struct nacre_limit */
};

#define NACRE_LIST_MAX 1000

/* Where the reader is: the document, and the key in words ("spec.level"). */
struct nacre_reading {
    const char *source;
    char where[192];
};

/* Entries of lists, each checked and brought to one spelling.  `node` is a text. */
typedef enum nacre_status nacre_entry_read(const struct nacre_reading *at,
                                           const struct nacre_node *node, char **ret_text,
                                           struct nacre_error *err);

struct nacre_schema_key {
    const char *name;
    enum nacre_schema_type type;
    bool required;
    const char *example; /* of a required key, for who left it out */
    size_t offset;       /* WORD, FLAG, LIMIT, RULE, RULES, AMOUNT: of the member; never
                            0 */
    size_t place_offset; /* WORD: of its struct nacre_place; never 0 */
    const char *const *words;
    size_t word_count;
    uint64_t min, max; /* LIMIT, AMOUNT */
    nacre_entry_read *entry; /* RULES; RULE: where it is not taken as it stands */
    nacre_unit_read *unit;   /* AMOUNT */
    const struct nacre_schema *section;
    /* A section's, where it has one, runs before the section is read. */
    enum nacre_status (*set)(const struct nacre_reading *at,
                             const struct nacre_node *node, void *target,
                             struct nacre_error *err);
};

/*
 * Where `foreign` is not NULL the mapping is only partly ours: a key without a row is
 * somebody else's and passed over.  But not one that looks like one of ours, for a
 * misspelt guard is no guard; unless it is in this NULL-terminated list.
 */
struct nacre_schema {
    const struct nacre_schema_key *keys;
    size_t count;
    const char *const *foreign;
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
struct nacre_reading nacre_reading_key(const struct nacre_reading *at, const char *key);
struct nacre_reading nacre_reading_entry(const struct nacre_reading *list, size_t index);

/* A list of texts, each read by `read_entry`. */
NACRE_MUST_CHECK enum nacre_status
nacre_schema_read_rules(const struct nacre_reading *at, const struct nacre_node *list,
                        nacre_entry_read *read_entry, struct nacre_rules *rules,
                        struct nacre_error *err);
/* Is it one of the words?  Stores its index, from 0. */
NACRE_MUST_CHECK enum nacre_status
nacre_schema_read_choice(const struct nacre_reading *at, const struct nacre_node *node,
                         const char *const words[], size_t count, size_t *ret_index,
                         struct nacre_error *err);
/* What stands there is not what was expected. */
NACRE_MUST_CHECK enum nacre_status nacre_schema_fail_type(const struct nacre_reading *at,
                                                          const struct nacre_node *node,
                                                          const char *expected,
                                                          struct nacre_error *err);

/* A malloc'ed copy, or NACRE_ERR_MEMORY. */
NACRE_MUST_CHECK enum nacre_status nacre_schema_copy(const char *text, char **ret_text,
                                                     struct nacre_error *err);

#define NACRE_READING_FAIL(at, place, err, ...)                                     \
    nacre_fail_at(err, NACRE_ERR_PARSE, (at)->source, (place).line, (place).column, \
                  __VA_ARGS__)

#endif
