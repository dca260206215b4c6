#ifndef NACRE_POLICY_NODE_H
#define NACRE_POLICY_NODE_H

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/policy.h"

/*
 * One YAML document as a tree that remembers where everything stood.  The subset is
 * deliberately small: one document, no anchors, aliases or tags, no repeated keys.
 * Whatever is left has one meaning, and a size that the limits below bound.
 */

#define NACRE_YAML_BYTES_MAX ((size_t)1 << 20)
#define NACRE_YAML_DEPTH_MAX 32
#define NACRE_YAML_NODES_MAX 10000
#define NACRE_YAML_SCALAR_BYTES_MAX ((size_t)64 << 10)

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
    char *key;                   /* in a mapping, else NULL; never empty */
    struct nacre_place key_place; /* line 0 when there is no key */
    struct nacre_node *first;    /* of a list's entries or a mapping's values */
    struct nacre_node *next;
    size_t count;
};

NACRE_MUST_CHECK enum nacre_status nacre_yaml_read(const char *source, const char *bytes,
                                                   size_t count,
                                                   struct nacre_node **ret_root,
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

#endif
