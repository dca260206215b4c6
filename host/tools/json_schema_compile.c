/*
 * From a JSON document to rules.  The document is a stranger's: its depth and the number
 * of its rules are bounded, a keyword that is not known here is an error, and references
 * lead nowhere but into the document itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema_compile.h"
#include "nacre/text.h"

/* ---- where we are ---- */

size_t schema_push(struct compiling *c, const char *key)
{
    size_t before = c->used;

    if (c->used + 1 < sizeof(c->path))
        c->path[c->used++] = '/';
    for (; *key && c->used + 3 < sizeof(c->path); key++) {
        if (*key == '~' || *key == '/') {
            c->path[c->used++] = '~';
            c->path[c->used++] = *key == '~' ? '0' : '1';
        } else {
            c->path[c->used++] = *key;
        }
    }
    c->path[c->used] = '\0';
    return before;
}

size_t schema_push_index(struct compiling *c, size_t index)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%zu", index);
    return schema_push(c, text);
}

void schema_pop(struct compiling *c, size_t before)
{
    c->used = before;
    c->path[before] = '\0';
}

/* ---- rules ---- */

static enum nacre_status new_rule(struct compiling *c, const json_t *source,
                                  struct schema_rule **ret_rule)
{
    struct nacre_json_schema *schema = c->schema;
    struct schema_rule *rule;

    if (schema->count == SCHEMA_RULES_MAX)
        return nacre_fail(c->err, NACRE_ERR_PARSE,
                          "a schema may be made of at most %d schemas", SCHEMA_RULES_MAX);
    if (schema->count == schema->room) {
        size_t room = schema->room ? 2 * schema->room : 16;
        struct schema_rule **rules =
            realloc(schema->rules, room * sizeof(struct schema_rule *));
        const json_t **sources;

        if (!rules)
            return schema_fail_memory(c);
        schema->rules = rules;
        sources = realloc(c->sources, room * sizeof(const json_t *));
        if (!sources)
            return schema_fail_memory(c);
        c->sources = sources;
        schema->room = room;
    }
    rule = calloc(1, sizeof(*rule));
    if (!rule)
        return schema_fail_memory(c);
    rule->length_max = rule->items_max = rule->members_max = UINT64_MAX;
    c->sources[schema->count] = source;
    schema->rules[schema->count++] = rule;
    *ret_rule = rule;
    return NACRE_OK;
}

enum nacre_status schema_compile(struct compiling *c, const json_t *source,
                                 const struct schema_rule **ret_rule)
{
    struct schema_rule *rule = NULL;
    enum nacre_status status;
    const char *key;
    json_t *value;

    for (size_t i = 0; i < c->schema->count; i++)
        if (c->sources[i] == source) {
            *ret_rule = c->schema->rules[i];
            return NACRE_OK;
        }
    if (!json_is_object(source) && !json_is_boolean(source))
        return schema_expected(c, "a schema: an object, true or false", source);
    if (++c->depth > SCHEMA_DEPTH_MAX)
        return nacre_fail(c->err, NACRE_ERR_PARSE, "nested deeper than %d schemas",
                          SCHEMA_DEPTH_MAX);
    status = new_rule(c, source, &rule);
    if (status != NACRE_OK)
        return status;
    rule->never = json_is_false(source);
    json_object_foreach((json_t *)source, key, value) {
        status = schema_read_keyword(c, rule, key, value);
        if (status != NACRE_OK)
            return status;
    }
    c->depth--;
    *ret_rule = rule;
    return NACRE_OK;
}

/* ---- references ---- */

/* One part of a pointer, up to the next '/'; false where it is spelt wrong. */
static bool read_part(const char **text, char *ret_part, size_t size)
{
    size_t used = 0;

    for (; **text && **text != '/'; (*text)++) {
        char letter = **text;

        if (letter == '%' || used + 1 >= size)
            return false;
        if (letter == '~') {
            (*text)++;
            if (**text != '0' && **text != '1')
                return false;
            letter = **text == '0' ? '~' : '/';
        }
        ret_part[used++] = letter;
    }
    ret_part[used] = '\0';
    return true;
}

static const json_t *follow(const json_t *document, const char *pointer)
{
    char part[NACRE_SCHEMA_POINTER];
    uint64_t index;

    while (document && *pointer == '/') {
        pointer++;
        if (!read_part(&pointer, part, sizeof(part)))
            return NULL;
        if (json_is_array(document))
            document = nacre_text_u64(part, SIZE_MAX, &index)
                           ? json_array_get(document, (size_t)index)
                           : NULL;
        else
            document = json_object_get(document, part);
    }
    return *pointer == '\0' ? document : NULL;
}

static enum nacre_status follow_references(struct compiling *c)
{
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < c->pending_count; i++) {
        struct pending next = c->pending[i];
        const json_t *target = follow(c->document, next.target + 1);
        enum nacre_status status;

        c->used = strlen(next.where);
        memcpy(c->path, next.where, sizeof(c->path));
        if (!target)
            return nacre_fail(c->err, NACRE_ERR_PARSE, "there is no '%s' in this schema",
                              nacre_text_shown(shown, next.target));
        c->depth = 0;
        status = schema_compile(c, target, &next.rule->reference);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* Does judging a value by `rule` come back to it without going into the value? */
static bool is_endless(struct schema_rule *rule, size_t depth)
{
    const struct schema_rules *lists[] = { &rule->all, &rule->any, &rule->one };
    bool endless = false;

    if (rule->mark != 0 || depth > SCHEMA_RULES_MAX)
        return rule->mark == 1;
    rule->mark = 1;
    if (rule->reference)
        endless = is_endless((struct schema_rule *)rule->reference, depth + 1);
    if (!endless && rule->negated)
        endless = is_endless((struct schema_rule *)rule->negated, depth + 1);
    for (size_t i = 0; i < NACRE_COUNT(lists); i++)
        for (size_t j = 0; j < lists[i]->count && !endless; j++)
            endless = is_endless((struct schema_rule *)lists[i]->items[j], depth + 1);
    rule->mark = endless ? 1 : 2;
    return endless;
}

static enum nacre_status refuse_endless(struct compiling *c)
{
    for (size_t i = 0; i < c->pending_count; i++)
        if (is_endless(c->pending[i].rule, 0)) {
            memcpy(c->path, c->pending[i].where, sizeof(c->path));
            return nacre_fail(c->err, NACRE_ERR_PARSE,
                              "this reference leads back to itself and says nothing");
        }
    return NACRE_OK;
}

enum nacre_status nacre_json_schema_compile(const json_t *document,
                                            struct nacre_json_schema **ret_schema,
                                            char ret_pointer[NACRE_SCHEMA_POINTER],
                                            struct nacre_error *err)
{
    NACRE_AUTO(nacre_json_schema_guard)
    struct nacre_json_schema *schema = calloc(1, sizeof(*schema));
    struct compiling c = { .schema = schema, .document = document, .err = err };
    const struct schema_rule *whole;
    enum nacre_status status;

    if (!schema)
        return schema_fail_memory(&c);
    status = schema_compile(&c, document, &whole);
    if (status == NACRE_OK)
        status = follow_references(&c);
    if (status == NACRE_OK)
        status = refuse_endless(&c);
    free(c.sources);
    free(c.pending);
    memcpy(ret_pointer, c.path, sizeof(c.path));
    if (status == NACRE_OK)
        *ret_schema = nacre_json_schema_take(&schema);
    return status;
}

static void rule_free(struct schema_rule *rule)
{
    for (size_t i = 0; i < rule->property_count; i++)
        free(rule->properties[i].name);
    free(rule->properties);
    for (size_t i = 0; i < rule->required_count; i++)
        free(rule->required[i]);
    free(rule->required);
    free(rule->prefix.items);
    free(rule->all.items);
    free(rule->any.items);
    free(rule->one.items);
    json_decref(rule->choices);
    json_decref(rule->constant);
    json_decref(rule->minimum);
    json_decref(rule->maximum);
    json_decref(rule->above);
    json_decref(rule->below);
    json_decref(rule->multiple);
    nacre_pattern_free(rule->pattern);
    free(rule->pattern_text);
    free(rule);
}

void nacre_json_schema_free(struct nacre_json_schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < schema->count; i++)
        rule_free(schema->rules[i]);
    free(schema->rules);
    free(schema);
}
