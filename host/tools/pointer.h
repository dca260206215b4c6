#ifndef NACRE_TOOLS_POINTER_H
#define NACRE_TOOLS_POINTER_H

#include "node.h"

/* Where `pointer` (RFC 6901) leads below `node`: the place of the key, or of the entry;
 * of what was reached last when it leads nowhere. */
struct nacre_place node_pointer_place(const struct nacre_node *node, const char *pointer);

#endif
