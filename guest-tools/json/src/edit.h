#ifndef NACRE_JSON_EDIT_H
#define NACRE_JSON_EDIT_H

#include "query.h"

/*
 * Changes of a document in memory: JSON Patch (RFC 6902) and merge (RFC 7396).  A failure
 * leaves the document in the middle: the caller throws it away.
 */
#define EDIT_COUNT_MAX 1000
#define EDIT_VALUES_MAX ((size_t)1 << 20) /* that copies may make */
#define EDIT_DEPTH_MAX 200

/* The value that a pointer leads to.  NULL with `fault`, which tells what is there. */
struct nacre_json *pointer_find(struct nacre_json *root, const char *pointer,
                                size_t length, struct query_fault *fault);

/* False with `fault`, which names the edit. */
bool edit_apply(struct nacre_json **root, const struct nacre_json *edits,
                struct query_fault *fault);
bool edit_merge(struct nacre_json **root, const struct nacre_json *merge,
                struct query_fault *fault);

#endif
