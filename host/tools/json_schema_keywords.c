/* What each keyword of a schema says, one function each; json_schema_compile.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema_compile.h"
#include "nacre/text.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

enum nacre_status schema_fail_memory(struct compiling *c)
{
    return nacre_fail(c->err, NACRE_ERR_MEMORY, "no memory for a schema");
}

static const char *type_words(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

enum nacre_status schema_expected(struct compiling *c, const char *what,
                                  const json_t *found)
{
    return nacre_fail(c->err, NACRE_ERR_PARSE, "expected %s, found %s", what,
                      type_words(found));
}

/* ---- the keywords ---- */

static enum nacre_status only_told(struct compiling *c, struct schema_rule *rule,
                                   const json_t *value)
{
    (void)c, (void)rule, (void)value;
    return NACRE_OK;
}

static enum nacre_status told_text(struct compiling *c, struct schema_rule *rule,
                                   const json_t *value)
{
    (void)rule;
    return json_is_string(value) ? NACRE_OK : schema_expected(c, "a string", value);
}

static enum nacre_status read_examples(struct compiling *c, struct schema_rule *rule,
                                       const json_t *value)
{
    (void)rule;
    return json_is_array(value) ? NACRE_OK : schema_expected(c, "an array", value);
}

/* Both would change what a reference below them means. */
static enum nacre_status at_top(struct compiling *c, struct schema_rule *rule,
                                const json_t *value)
{
    if (rule != c->schema->rules[0])
        return nacre_fail(c->err, NACRE_ERR_PARSE, "it may only stand at the top");
    return json_is_string(value) ? NACRE_OK : schema_expected(c, "a string", value);
}

static enum nacre_status read_dialect(struct compiling *c, struct schema_rule *rule,
                                      const json_t *value)
{
    enum nacre_status status = at_top(c, rule, value);
    char shown[NACRE_SHOWN];

    if (status != NACRE_OK || strcmp(json_string_value(value), DIALECT) == 0)
        return status;
    return nacre_fail(c->err, NACRE_ERR_PARSE, "the only dialect here is %s, found '%s'",
                      DIALECT, nacre_text_shown(shown, json_string_value(value)));
}

static enum nacre_status add_type(struct compiling *c, struct schema_rule *rule,
                                  const json_t *value)
{
#define X(id, name, words) name,
    static const char *const names[] = { SCHEMA_TYPE_MAP(X) };
#undef X
    char shown[NACRE_SHOWN];
    const char *nearest;

    if (!json_is_string(value))
        return schema_expected(c, "the name of a type", value);
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        if (strcmp(names[i], json_string_value(value)) != 0)
            continue;
        if (rule->types & UINT32_C(1) << i)
            return nacre_fail(c->err, NACRE_ERR_PARSE, "'%s' is there twice", names[i]);
        rule->types |= UINT32_C(1) << i;
        return NACRE_OK;
    }
    nearest = nacre_text_nearest(json_string_value(value), names, NACRE_COUNT(names));
    return nacre_fail(c->err, NACRE_ERR_PARSE, "there is no type '%s'; %s%s%s",
                      nacre_text_shown(shown, json_string_value(value)),
                      nearest ? "did you mean '" : "expected null, boolean, integer, "
                                                   "number, string, array or object",
                      nearest ? nearest : "", nearest ? "'?" : "");
}

static enum nacre_status read_type(struct compiling *c, struct schema_rule *rule,
                                   const json_t *value)
{
    enum nacre_status status = NACRE_OK;

    if (!json_is_array(value))
        return add_type(c, rule, value);
    if (json_array_size(value) == 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE, "an empty list of types");
    for (size_t i = 0; i < json_array_size(value) && status == NACRE_OK; i++) {
        size_t before = schema_push_index(c, i);

        status = add_type(c, rule, json_array_get(value, i));
        if (status == NACRE_OK)
            schema_pop(c, before);
    }
    return status;
}

static enum nacre_status read_enum(struct compiling *c, struct schema_rule *rule,
                                   const json_t *value)
{
    if (!json_is_array(value))
        return schema_expected(c, "an array", value);
    if (json_array_size(value) == 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE, "nothing could ever be one of none");
    rule->choices = json_incref((json_t *)value);
    return NACRE_OK;
}

static enum nacre_status read_const(struct compiling *c, struct schema_rule *rule,
                                    const json_t *value)
{
    (void)c;
    rule->constant = json_incref((json_t *)value);
    return NACRE_OK;
}

static enum nacre_status read_properties(struct compiling *c, struct schema_rule *rule,
                                         const json_t *value)
{
    const char *key;
    json_t *member;

    if (!json_is_object(value))
        return schema_expected(c, "an object", value);
    rule->properties = calloc(json_object_size(value) + 1, sizeof(*rule->properties));
    if (!rule->properties)
        return schema_fail_memory(c);
    json_object_foreach((json_t *)value, key, member) {
        struct schema_property *property = &rule->properties[rule->property_count];
        size_t before = schema_push(c, key);
        enum nacre_status status;

        property->name = strdup(key);
        if (!property->name)
            return schema_fail_memory(c);
        rule->property_count++;
        status = schema_compile(c, member, &property->rule);
        if (status != NACRE_OK)
            return status;
        schema_pop(c, before);
    }
    return NACRE_OK;
}

static enum nacre_status read_required(struct compiling *c, struct schema_rule *rule,
                                       const json_t *value)
{
    char shown[NACRE_SHOWN];

    if (!json_is_array(value))
        return schema_expected(c, "an array", value);
    rule->required = calloc(json_array_size(value) + 1, sizeof(*rule->required));
    if (!rule->required)
        return schema_fail_memory(c);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        size_t before = schema_push_index(c, i);

        if (!name)
            return schema_expected(c, "the name of a property", json_array_get(value, i));
        for (size_t j = 0; j < i; j++)
            if (strcmp(rule->required[j], name) == 0)
                return nacre_fail(c->err, NACRE_ERR_PARSE, "'%s' is there twice",
                                  nacre_text_shown(shown, name));
        rule->required[i] = strdup(name);
        if (!rule->required[i])
            return schema_fail_memory(c);
        rule->required_count++;
        schema_pop(c, before);
    }
    return NACRE_OK;
}

static enum nacre_status read_list(struct compiling *c, struct schema_rules *rules,
                                   const json_t *value)
{
    if (!json_is_array(value))
        return schema_expected(c, "an array of schemas", value);
    if (json_array_size(value) == 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE, "an empty list of schemas");
    rules->items = calloc(json_array_size(value), sizeof(struct schema_rule *));
    if (!rules->items)
        return schema_fail_memory(c);
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t before = schema_push_index(c, i);
        enum nacre_status status =
            schema_compile(c, json_array_get(value, i), &rules->items[i]);

        if (status != NACRE_OK)
            return status;
        rules->count++;
        schema_pop(c, before);
    }
    return NACRE_OK;
}

#define SUBSCHEMA(function, member)                                            \
    static enum nacre_status function(struct compiling *c, struct schema_rule *rule, \
                                      const json_t *value)                     \
    {                                                                          \
        return schema_compile(c, value, &rule->member);                               \
    }
SUBSCHEMA(read_additional, additional)
SUBSCHEMA(read_items, items)
SUBSCHEMA(read_not, negated)

#define SUBSCHEMAS(function, member)                                           \
    static enum nacre_status function(struct compiling *c, struct schema_rule *rule, \
                                      const json_t *value)                     \
    {                                                                          \
        return read_list(c, &rule->member, value);                             \
    }
SUBSCHEMAS(read_prefix, prefix)
SUBSCHEMAS(read_all, all)
SUBSCHEMAS(read_any, any)
SUBSCHEMAS(read_one, one)

static enum nacre_status read_unique(struct compiling *c, struct schema_rule *rule,
                                     const json_t *value)
{
    if (!json_is_boolean(value))
        return schema_expected(c, "true or false", value);
    rule->unique = json_is_true(value);
    return NACRE_OK;
}

#define COUNT(function, member)                                                \
    static enum nacre_status function(struct compiling *c, struct schema_rule *rule, \
                                      const json_t *value)                     \
    {                                                                          \
        if (!json_is_integer(value) || json_integer_value(value) < 0)          \
            return nacre_fail(c->err, NACRE_ERR_PARSE,                         \
                              "expected a whole number of at least 0");        \
        rule->member = (uint64_t)json_integer_value(value);                    \
        return NACRE_OK;                                                       \
    }
COUNT(read_length_min, length_min)
COUNT(read_length_max, length_max)
COUNT(read_items_min, items_min)
COUNT(read_items_max, items_max)
COUNT(read_members_min, members_min)
COUNT(read_members_max, members_max)

#define BOUND(function, member)                                                \
    static enum nacre_status function(struct compiling *c, struct schema_rule *rule, \
                                      const json_t *value)                     \
    {                                                                          \
        if (!json_is_number(value))                                            \
            return schema_expected(c, "a number", value);                             \
        rule->member = json_incref((json_t *)value);                           \
        return NACRE_OK;                                                       \
    }
BOUND(read_minimum, minimum)
BOUND(read_maximum, maximum)
BOUND(read_above, above)
BOUND(read_below, below)

static enum nacre_status read_multiple(struct compiling *c, struct schema_rule *rule,
                                       const json_t *value)
{
    if (!json_is_number(value) || json_number_value(value) <= 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE, "expected a number above 0");
    rule->multiple = json_incref((json_t *)value);
    return NACRE_OK;
}

static enum nacre_status read_pattern(struct compiling *c, struct schema_rule *rule,
                                      const json_t *value)
{
    struct nacre_error why;
    size_t offset = 0;

    if (!json_is_string(value))
        return schema_expected(c, "a regular expression", value);
    if (json_string_length(value) > SCHEMA_PATTERN_BYTES_MAX)
        return nacre_fail(c->err, NACRE_ERR_PARSE,
                          "a regular expression may have at most %zu bytes",
                          SCHEMA_PATTERN_BYTES_MAX);
    rule->pattern_text = strdup(json_string_value(value));
    if (!rule->pattern_text)
        return schema_fail_memory(c);
    if (nacre_pattern_compile(NACRE_PATTERN_ECMASCRIPT, json_string_value(value),
                              json_string_length(value), &rule->pattern, &offset,
                              &why) == NACRE_OK)
        return NACRE_OK;
    if (why.status == NACRE_ERR_MEMORY)
        return schema_fail_memory(c);
    return nacre_fail(c->err, NACRE_ERR_PARSE,
                      "not a regular expression: %.140s at offset %zu", why.text, offset);
}

/* Each is compiled, so that one with a fault is found even if nobody refers to it. */
static enum nacre_status read_definitions(struct compiling *c, struct schema_rule *rule,
                                          const json_t *value)
{
    const struct schema_rule *ignored;
    const char *key;
    json_t *member;

    (void)rule;
    if (!json_is_object(value))
        return schema_expected(c, "an object", value);
    json_object_foreach((json_t *)value, key, member) {
        size_t before = schema_push(c, key);
        enum nacre_status status = schema_compile(c, member, &ignored);

        if (status != NACRE_OK)
            return status;
        schema_pop(c, before);
    }
    return NACRE_OK;
}

static enum nacre_status read_reference(struct compiling *c, struct schema_rule *rule,
                                        const json_t *value)
{
    struct pending *more;
    char shown[NACRE_SHOWN];

    if (!json_is_string(value))
        return schema_expected(c, "a reference", value);
    if (strcmp(json_string_value(value), "#") != 0 &&
        strncmp(json_string_value(value), "#/", 2) != 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE,
                          "only references within this schema are followed, like "
                          "#/$defs/NAME; found '%s'",
                          nacre_text_shown(shown, json_string_value(value)));
    more = realloc(c->pending, (c->pending_count + 1) * sizeof(*more));
    if (!more)
        return schema_fail_memory(c);
    c->pending = more;
    more += c->pending_count++;
    *more = (struct pending){ .rule = rule, .target = json_string_value(value) };
    memcpy(more->where, c->path, sizeof(more->where));
    return NACRE_OK;
}

static const struct keyword {
    const char *name;
    enum nacre_status (*read)(struct compiling *c, struct schema_rule *rule,
                              const json_t *value);
} keywords[] = {
    { "$schema", read_dialect },
    { "$id", at_top },
    { "$comment", told_text },
    { "$defs", read_definitions },
    { "$ref", read_reference },
    { "title", told_text },
    { "description", told_text },
    { "default", only_told },
    { "examples", read_examples },
    { "format", told_text },
    { "type", read_type },
    { "enum", read_enum },
    { "const", read_const },
    { "properties", read_properties },
    { "required", read_required },
    { "additionalProperties", read_additional },
    { "minProperties", read_members_min },
    { "maxProperties", read_members_max },
    { "items", read_items },
    { "prefixItems", read_prefix },
    { "minItems", read_items_min },
    { "maxItems", read_items_max },
    { "uniqueItems", read_unique },
    { "minLength", read_length_min },
    { "maxLength", read_length_max },
    { "pattern", read_pattern },
    { "minimum", read_minimum },
    { "maximum", read_maximum },
    { "exclusiveMinimum", read_above },
    { "exclusiveMaximum", read_below },
    { "multipleOf", read_multiple },
    { "allOf", read_all },
    { "anyOf", read_any },
    { "oneOf", read_one },
    { "not", read_not },
};

/* Of drafts past and present, and not enforced here. */
static const char *const unserved[] = {
    "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
    "$vocabulary", "if", "then", "else", "dependentSchemas", "dependentRequired",
    "dependencies", "patternProperties", "propertyNames", "contains", "minContains",
    "maxContains", "additionalItems", "unevaluatedItems", "unevaluatedProperties",
    "contentEncoding", "contentMediaType", "contentSchema", "deprecated", "readOnly",
    "writeOnly", "id",
};

static enum nacre_status fail_keyword(struct compiling *c, const char *key)
{
    const char *names[NACRE_COUNT(keywords)];
    const char *nearest;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(unserved); i++)
        if (strcmp(unserved[i], key) == 0)
            return nacre_fail(c->err, NACRE_ERR_PARSE,
                              "the keyword '%s' is not enforced here, and so not "
                              "accepted", key);
    if (strcmp(key, "definitions") == 0)
        return nacre_fail(c->err, NACRE_ERR_PARSE,
                          "the keyword 'definitions' is called $defs in draft 2020-12");
    for (size_t i = 0; i < NACRE_COUNT(keywords); i++)
        names[i] = keywords[i].name;
    nearest = nacre_text_nearest(key, names, NACRE_COUNT(names));
    return nacre_fail(c->err, NACRE_ERR_PARSE, "unknown keyword '%s'%s%s%s",
                      nacre_text_shown(shown, key), nearest ? "; did you mean '" : "",
                      nearest ? nearest : "", nearest ? "'?" : "");
}

enum nacre_status schema_read_keyword(struct compiling *c, struct schema_rule *rule,
                                      const char *key, const json_t *value)
{
    size_t before = schema_push(c, key);
    enum nacre_status status;

    for (size_t i = 0; i < NACRE_COUNT(keywords); i++) {
        if (strcmp(keywords[i].name, key) != 0)
            continue;
        status = keywords[i].read(c, rule, value);
        if (status == NACRE_OK)
            schema_pop(c, before);
        return status;
    }
    return fail_keyword(c, key);
}
