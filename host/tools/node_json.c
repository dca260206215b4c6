/* Trusts the tree's shape, whose depth and size its reader has bounded. */
#include "node_json.h"

#include <string.h>

#include "nacre/text.h"

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a document's JSON");
}

static enum nacre_status scalar(const char *source, const struct nacre_node *node,
                                json_t **ret_value, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    switch (node->kind) {
    case NACRE_NODE_NULL:
        *ret_value = json_null();
        return NACRE_OK;
    case NACRE_NODE_BOOLEAN:
        *ret_value = json_boolean(strcmp(node->text, "true") == 0);
        return NACRE_OK;
    case NACRE_NODE_TEXT:
        *ret_value = json_string(node->text);
        return *ret_value ? NACRE_OK : fail_memory(err);
    case NACRE_NODE_NUMBER:
        *ret_value = json_loads(node->text, JSON_DECODE_ANY, NULL);
        if (json_is_number(*ret_value))
            return NACRE_OK;
        json_decref(*ret_value);
        return nacre_fail_at(err, NACRE_ERR_PARSE, source, node->place.line,
                             node->place.column, "'%s' is not a number in JSON",
                             nacre_text_shown(shown, node->text));
    case NACRE_NODE_NONE:
    case NACRE_NODE_LIST:
    case NACRE_NODE_MAPPING:
        break;
    }
    return nacre_fail(err, NACRE_ERR_PARSE, "a node of no kind");
}

enum nacre_status node_to_json(const char *source, const struct nacre_node *node,
                               json_t **ret_value, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    json_t *value, *inner;

    if (node->kind != NACRE_NODE_LIST && node->kind != NACRE_NODE_MAPPING)
        return scalar(source, node, ret_value, err);
    value = node->kind == NACRE_NODE_LIST ? json_array() : json_object();
    if (!value)
        return fail_memory(err);
    for (const struct nacre_node *child = node->first; child && status == NACRE_OK;
         child = child->next) {
        inner = NULL;
        status = node_to_json(source, child, &inner, err);
        if (status == NACRE_OK &&
            (child->key ? json_object_set_new(value, child->key, inner)
                        : json_array_append_new(value, inner)) != 0)
            status = fail_memory(err);
    }
    if (status == NACRE_OK)
        *ret_value = value;
    else
        json_decref(value);
    return status;
}

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
