#ifndef NACRE_POLICY_NODE_H
#define NACRE_POLICY_NODE_H

#include "nacre/document.h"
#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/policy.h"

/*
 * One document as a tree that remembers where everything stood: lines and columns count
 * from 1, a column is a character.  Of YAML the subset is deliberately small: one
 * document, no anchors, aliases or tags.  Of JSON5 (json5.org) and JSON (RFC 8259) it is
 * all.  No key is given twice, no text holds a NUL character, all of it is UTF-8.
 * Whatever is left has one meaning, and a size that the limits below bound.
 */

#define NACRE_DOCUMENT_DEPTH_MAX 32
#define NACRE_DOCUMENT_NODES_MAX 10000
#define NACRE_DOCUMENT_SCALAR_BYTES_MAX ((size_t)64 << 10)

/* A scalar is NULL, BOOLEAN or NUMBER only when it is not quoted. */
enum nacre_node_kind {
    NACRE_NODE_NONE,
    NACRE_NODE_NULL,
    NACRE_NODE_BOOLEAN, /* true or false, in exactly these letters */
    NACRE_NODE_NUMBER,
    NACRE_NODE_TEXT,
    NACRE_NODE_LIST,
    NACRE_NODE_MAPPING,
};

struct nacre_node {
    enum nacre_node_kind kind;
    struct nacre_place place;
    char *text;                  /* a scalar without its quotes; else NULL */
    char *key;                   /* in a mapping, else NULL; never empty in YAML */
    struct nacre_place key_place; /* line 0 when there is no key */
    struct nacre_node *first;    /* of a list's entries or a mapping's values */
    struct nacre_node *next;
    size_t count;
};

NACRE_MUST_CHECK enum nacre_status nacre_yaml_read(const char *source, const char *bytes,
                                                   size_t count,
                                                   struct nacre_node **ret_root,
                                                   struct nacre_error *err);

/*
 * The text of a number is its value in decimal, however it was written: 0x1F is 31, +1
 * is 1, .5 is 0.5, 1.50 is 1.5, 1e3 is 1000, -0 is 0; 1e300 is 1e300, because so many
 * digits help nobody.  A reader of whole numbers so finds digits alone.  Infinity,
 * -Infinity and NaN are numbers too: who wants a number refuses them.
 */
#define NACRE_JSON5_NUMBER_BYTES_MAX 1024 /* as it is written */
NACRE_MUST_CHECK enum nacre_status nacre_json5_read(const char *source, const char *bytes,
                                                    size_t count,
                                                    struct nacre_node **ret_root,
                                                    struct nacre_error *err);
/* The same, without anything that JSON5 adds to JSON. */
NACRE_MUST_CHECK enum nacre_status nacre_json_read(const char *source, const char *bytes,
                                                   size_t count,
                                                   struct nacre_node **ret_root,
                                                   struct nacre_error *err);

/* By its content: JSON5 when it begins with '{' or a comment of JSON5; else YAML. */
NACRE_MUST_CHECK enum nacre_status nacre_document_read(const char *source,
                                                       const char *bytes, size_t count,
                                                       struct nacre_node **ret_root,
                                                       struct nacre_error *err);

/* For readers: a mapping must not have a key twice. */
NACRE_MUST_CHECK enum nacre_status
nacre_node_refuse_repeats(const char *source, const struct nacre_node *mapping,
                          struct nacre_error *err);

/* Frees what is below it too, but not its siblings.  Accepts NULL. */
void nacre_node_free(struct nacre_node *node);
NACRE_OWNED(nacre_node)

/* The value of `key`, or NULL. */
const struct nacre_node *nacre_node_find(const struct nacre_node *mapping,
                                         const char *key);

/* What stands there, in words: "the number 5", "a list". */
#define NACRE_NODE_SHOWN 128
const char *nacre_node_shown(const struct nacre_node *node,
                             char ret_text[NACRE_NODE_SHOWN]);

/* As jansson has it, which the caller owns; numbers as nacre_document_json() has them. */
struct json_t;
NACRE_MUST_CHECK enum nacre_status nacre_node_json(const char *source,
                                                   const struct nacre_node *node,
                                                   struct json_t **ret_value,
                                                   struct nacre_error *err);

#endif
