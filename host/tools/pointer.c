/* Trusts the tree's shape, whose depth and size its reader has bounded. */
#include "pointer.h"

#include <string.h>

/* Does this part of a pointer, up to its '/', spell `key`? */
static bool spells(const char *part, const char *key)
{
    for (; *part && *part != '/'; part++, key++) {
        char letter = *part;

        if (letter == '~' && (part[1] == '0' || part[1] == '1'))
            letter = *++part == '0' ? '~' : '/';
        if (letter != *key)
            return false;
    }
    return *key == '\0';
}

static const struct nacre_node *step(const struct nacre_node *node, const char *part)
{
    size_t digits = strspn(part, "0123456789"), index = 0;

    for (size_t i = 0; node->kind == NACRE_NODE_LIST && i < digits && index < 100000; i++)
        index = 10 * index + (size_t)(part[i] - '0');
    for (const struct nacre_node *child = node->first; child; child = child->next)
        if (child->key ? spells(part, child->key) : index-- == 0)
            return child;
    return NULL;
}

struct nacre_place node_pointer_place(const struct nacre_node *node, const char *pointer)
{
    while (*pointer == '/') {
        const struct nacre_node *next = step(node, pointer + 1);

        if (!next)
            break;
        node = next;
        pointer += 1 + strcspn(pointer + 1, "/");
    }
    return node->key_place.line > 0 ? node->key_place : node->place;
}
