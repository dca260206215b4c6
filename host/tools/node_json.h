#ifndef NACRE_TOOLS_NODE_JSON_H
#define NACRE_TOOLS_NODE_JSON_H

#include <jansson.h>

#include "node.h"

/* A document's node as JSON; a number has to be one there too.  The caller owns it. */
NACRE_MUST_CHECK enum nacre_status node_to_json(const char *source,
                                                const struct nacre_node *node,
                                                json_t **ret_value,
                                                struct nacre_error *err);

/* Where `pointer` (RFC 6901) leads below `node`: the place of the key, or of the entry;
 * of what was reached last when it leads nowhere. */
struct nacre_place node_pointer_place(const struct nacre_node *node, const char *pointer);

#endif
