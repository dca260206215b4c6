/* What a document was read into, whichever reader did it. */
#include "node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"

static int compare_keys(const void *a, const void *b)
{
    const struct nacre_node *const *left = a, *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);

    if (order != 0)
        return order;
    if ((*left)->key_place.line != (*right)->key_place.line)
        return (*left)->key_place.line < (*right)->key_place.line ? -1 : 1;
    return (*left)->key_place.column < (*right)->key_place.column ? -1 : 1;
}

/* By sorting: comparing each key with each would take 50 ms for 5,000 of them. */
enum nacre_status nacre_node_refuse_repeats(const char *source,
                                            const struct nacre_node *mapping,
                                            struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) const struct nacre_node **sorted = NULL;
    size_t used = 0;

    if (mapping->count < 2)
        return NACRE_OK;
    sorted = malloc(mapping->count * sizeof(*sorted));
    if (!sorted)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read the document");
    for (const struct nacre_node *node = mapping->first; node; node = node->next)
        sorted[used++] = node;
    qsort(sorted, used, sizeof(*sorted), compare_keys);
    for (size_t i = 1; i < used; i++) {
        char shown[NACRE_SHOWN];

        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return nacre_fail_at(err, NACRE_ERR_PARSE, source, sorted[i]->key_place.line,
                                 sorted[i]->key_place.column,
                                 "key '%s' is given twice; the first is at line %d",
                                 nacre_text_shown(shown, sorted[i]->key),
                                 sorted[i - 1]->key_place.line);
    }
    return NACRE_OK;
}

void nacre_node_free(struct nacre_node *node)
{
    struct nacre_node *child;

    if (!node)
        return;
    child = node->first;
    while (child) {
        struct nacre_node *next = child->next;

        nacre_node_free(child);
        child = next;
    }
    free(node->text);
    free(node->key);
    free(node);
}

const struct nacre_node *nacre_node_find(const struct nacre_node *mapping,
                                         const char *key)
{
    const struct nacre_node *node = mapping->first;

    assert(mapping->kind == NACRE_NODE_MAPPING);
    while (node && strcmp(node->key, key) != 0)
        node = node->next;
    return node;
}

const char *nacre_node_shown(const struct nacre_node *node,
                             char ret_text[NACRE_NODE_SHOWN])
{
    static const struct {
        const char *before, *after; /* `after` is NULL when the text is not shown */
    } words[] = {
        [NACRE_NODE_NONE] = { "nothing", NULL },
        [NACRE_NODE_NULL] = { "nothing (null)", NULL },
        [NACRE_NODE_BOOLEAN] = { "the boolean ", "" },
        [NACRE_NODE_NUMBER] = { "the number ", "" },
        [NACRE_NODE_TEXT] = { "the text '", "'" },
        [NACRE_NODE_LIST] = { "a list", NULL },
        [NACRE_NODE_MAPPING] = { "a mapping", NULL },
    };
    const char *after = words[node->kind].after;
    char shown[NACRE_SHOWN];

    (void)snprintf(ret_text, NACRE_NODE_SHOWN, "%s%s%s", words[node->kind].before,
                   after ? nacre_text_shown(shown, node->text) : "", after ? after : "");
    return ret_text;
}
