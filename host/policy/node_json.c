/* From a document's tree to values of jansson. */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nacre/document.h"
#include "nacre/text.h"
#include "node.h"

static void json_guard(json_t **value)
{
    json_decref(*value);
}

static json_t *json_take(json_t **value)
{
    json_t *taken = *value;

    *value = NULL;
    return taken;
}

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the document as JSON");
}

static enum nacre_status fail_number(const char *source, const struct nacre_node *node,
                                     const char *why, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail_at(err, NACRE_ERR_PARSE, source, node->place.line,
                         node->place.column, "the number %s %s",
                         nacre_text_shown(shown, node->text), why);
}

static bool is_word(const char *text)
{
    return strcmp(text, "Infinity") == 0 || strcmp(text, "NaN") == 0 ||
           strcasecmp(text, ".inf") == 0 || strcasecmp(text, ".nan") == 0;
}

/* 10 for digits alone, 16 and 8 as YAML spells them, 0 for what is no whole number. */
static int base_of(const char *digits)
{
    if (digits[0] == '0' && digits[1] == 'x')
        return 16;
    if (digits[0] == '0' && digits[1] == 'o')
        return 8;
    return digits[strspn(digits, "0123456789")] == '\0' ? 10 : 0;
}

static enum nacre_status whole_json(const char *source, const struct nacre_node *node,
                                    const char *digits, int base, json_t **ret_value,
                                    struct nacre_error *err)
{
    bool negative = node->text[0] == '-';
    unsigned long long most = negative ? (unsigned long long)INT64_MAX + 1 : INT64_MAX;
    unsigned long long number;
    char *end;

    if (base == 10 && digits[0] == '0' && digits[1] != '\0')
        return fail_number(source, node,
                           "is octal in some versions of YAML and decimal in others; "
                           "write it without the 0",
                           err);
    errno = 0;
    number = strtoull(base == 10 ? digits : digits + 2, &end, base);
    if (*end != '\0')
        return fail_number(source, node, "has digits that are not octal", err);
    if (errno == ERANGE || number > most)
        return fail_number(source, node,
                           "does not fit into 64 bits; JSON's readers would lose digits "
                           "of it",
                           err);
    *ret_value = json_integer(negative ? (json_int_t)(0 - number) : (json_int_t)number);
    return *ret_value ? NACRE_OK : fail_memory(err);
}

static enum nacre_status number_json(const char *source, const struct nacre_node *node,
                                     json_t **ret_value, struct nacre_error *err)
{
    const char *digits = node->text + (node->text[0] == '-' || node->text[0] == '+');
    int base = base_of(digits);
    double number;

    if (is_word(digits))
        return fail_number(source, node, "is none that JSON has", err);
    if (base != 0)
        return whole_json(source, node, digits, base, ret_value, err);
    number = strtod(node->text, NULL);
    if (!isfinite(number))
        return fail_number(source, node, "is too large for JSON's readers", err);
    if (number == 0 && strpbrk(digits, "123456789") &&
        strcspn(digits, "123456789") < strcspn(digits, "eE"))
        return fail_number(source, node, "is too small for JSON's readers", err);
    *ret_value = json_real(number);
    return *ret_value ? NACRE_OK : fail_memory(err);
}

static enum nacre_status scalar_json(const char *source, const struct nacre_node *node,
                                     json_t **ret_value, struct nacre_error *err)
{
    json_t *value = NULL;

    if (node->kind == NACRE_NODE_NUMBER)
        return number_json(source, node, ret_value, err);
    if (node->kind == NACRE_NODE_NULL)
        value = json_null();
    else if (node->kind == NACRE_NODE_BOOLEAN)
        value = json_boolean(strcmp(node->text, "true") == 0);
    else
        value = json_string_nocheck(node->text);
    if (!value)
        return fail_memory(err);
    *ret_value = value;
    return NACRE_OK;
}

static enum nacre_status node_json(const char *source, const struct nacre_node *node,
                                   bool places, json_t **ret_value,
                                   struct nacre_error *err);

static enum nacre_status entries_json(const char *source, const struct nacre_node *node,
                                      bool places, json_t **ret_value,
                                      struct nacre_error *err)
{
    bool mapping = node->kind == NACRE_NODE_MAPPING;
    NACRE_AUTO(json_guard) json_t *entries = mapping ? json_object() : json_array();

    if (!entries)
        return fail_memory(err);
    for (const struct nacre_node *child = node->first; child; child = child->next) {
        json_t *value = NULL;
        enum nacre_status status = node_json(source, child, places, &value, err);
        int failed;

        if (status != NACRE_OK)
            return status;
        failed = mapping ? json_object_set_new_nocheck(entries, child->key, value)
                         : json_array_append_new(entries, value);
        if (failed)
            return fail_memory(err);
    }
    *ret_value = json_take(&entries);
    return NACRE_OK;
}

static json_t *place_json(struct nacre_place place)
{
    char at[32];

    (void)snprintf(at, sizeof(at), "%d:%d", place.line, place.column);
    return json_string_nocheck(at);
}

static enum nacre_status placed_json(const char *source, const struct nacre_node *node,
                                     json_t **ret_value, struct nacre_error *err)
{
    static const char *const kinds[] = {
        [NACRE_NODE_NULL] = "null", [NACRE_NODE_BOOLEAN] = "boolean",
        [NACRE_NODE_NUMBER] = "number", [NACRE_NODE_TEXT] = "text",
        [NACRE_NODE_LIST] = "list", [NACRE_NODE_MAPPING] = "mapping",
    };
    NACRE_AUTO(json_guard) json_t *object = json_object();
    json_t *entries = NULL;
    bool failed = !object;

    if (!node->text && entries_json(source, node, true, &entries, err) != NACRE_OK)
        return err->status;
    if (!failed && node->key)
        failed = json_object_set_new_nocheck(object, "key_at",
                                             place_json(node->key_place)) != 0;
    if (!failed)
        failed =
            json_object_set_new_nocheck(object, "at", place_json(node->place)) != 0 ||
            json_object_set_new_nocheck(object, "kind",
                                        json_string(kinds[node->kind])) != 0;
    if (!failed && node->text)
        failed = json_object_set_new_nocheck(object, "text",
                                             json_string_nocheck(node->text)) != 0;
    if (!failed && entries)
        failed = json_object_set_nocheck(object, "entries", entries) != 0;
    json_decref(entries);
    if (failed)
        return fail_memory(err);
    *ret_value = json_take(&object);
    return NACRE_OK;
}

static enum nacre_status node_json(const char *source, const struct nacre_node *node,
                                   bool places, json_t **ret_value,
                                   struct nacre_error *err)
{
    assert(node->kind != NACRE_NODE_NONE);
    if (places)
        return placed_json(source, node, ret_value, err);
    if (node->text)
        return scalar_json(source, node, ret_value, err);
    return entries_json(source, node, false, ret_value, err);
}

enum nacre_status nacre_node_json(const char *source, const struct nacre_node *node,
                                  struct json_t **ret_value, struct nacre_error *err)
{
    return node_json(source, node, false, ret_value, err);
}

enum nacre_status nacre_document_json(const char *source, const char *bytes, size_t count,
                                      enum nacre_document_format format, bool places,
                                      struct json_t **ret_value, struct nacre_error *err)
{
    static enum nacre_status (*const readers[])(const char *source, const char *bytes,
                                                size_t count,
                                                struct nacre_node **ret_root,
                                                struct nacre_error *err) = {
        [NACRE_DOCUMENT_ANY] = nacre_document_read,
        [NACRE_DOCUMENT_JSON5] = nacre_json5_read,
        [NACRE_DOCUMENT_YAML] = nacre_yaml_read,
        [NACRE_DOCUMENT_JSON] = nacre_json_read,
    };
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    enum nacre_status status = readers[format](source, bytes, count, &root, err);

    return status == NACRE_OK ? node_json(source, root, places, ret_value, err) : status;
}
