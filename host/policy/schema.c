/* Trusts the tables and nothing of the document but its tree's shape. */
#include "schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/text.h"

#define KEYS_MAX 40

struct nacre_reading nacre_reading_key(const struct nacre_reading *at, const char *key)
{
    struct nacre_reading inner = { .source = at->source };
    int length = snprintf(inner.where, sizeof(inner.where), "%s%s%s", at->where,
                          at->where[0] ? "." : "", key);

    assert(length > 0 && (size_t)length < sizeof(inner.where));
    return inner;
}

struct nacre_reading nacre_reading_entry(const struct nacre_reading *list, size_t index)
{
    struct nacre_reading inner = { .source = list->source };
    int length =
        snprintf(inner.where, sizeof(inner.where), "%s[%zu]", list->where, index);

    assert(length > 0 && (size_t)length < sizeof(inner.where));
    return inner;
}

static const char *section_name(const struct nacre_reading *at)
{
    return at->where[0] ? at->where : "the document";
}

/* "a, b or c", as much as fits. */
static const char *list_words(const char *const words[], size_t count, char *ret_text,
                              size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " or " : ", ";

        used += (size_t)snprintf(ret_text + used, size - used, "%s%s", between, words[i]);
    }
    return ret_text;
}

static enum nacre_status fail_unknown(const struct nacre_schema *schema,
                                      const struct nacre_reading *at,
                                      const struct nacre_node *node,
                                      struct nacre_error *err)
{
    const char *names[KEYS_MAX];
    const char *nearest;
    char shown[NACRE_SHOWN], expected[256];

    for (size_t i = 0; i < schema->count; i++)
        names[i] = schema->keys[i].name;
    nearest = nacre_text_nearest(node->key, names, schema->count);
    nacre_text_shown(shown, node->key);
    if (nearest)
        return NACRE_READING_FAIL(at, node->key_place, err,
                                  "unknown key '%s' in %s; did you mean '%s'?", shown,
                                  section_name(at), nearest);
    return NACRE_READING_FAIL(
        at, node->key_place, err, "unknown key '%s' in %s; expected %s", shown,
        section_name(at), list_words(names, schema->count, expected, sizeof(expected)));
}

enum nacre_status nacre_schema_fail_type(const struct nacre_reading *at,
                                   const struct nacre_node *node, const char *expected,
                                   struct nacre_error *err)
{
    char shown[NACRE_NODE_SHOWN];

    return NACRE_READING_FAIL(at, node->place, err, "%s: expected %s, found %s",
                              section_name(at), expected, nacre_node_shown(node, shown));
}

enum nacre_status nacre_schema_want_text(const struct nacre_reading *at,
                                         const struct nacre_node *node,
                                         struct nacre_error *err)
{
    if (node->kind == NACRE_NODE_TEXT)
        return NACRE_OK;
    if (node->kind == NACRE_NODE_NUMBER || node->kind == NACRE_NODE_BOOLEAN)
        return nacre_schema_fail_type(at, node, "a text (put it in quotes)", err);
    return nacre_schema_fail_type(at, node, "a text", err);
}

enum nacre_status nacre_schema_copy(const char *text, char **ret_text,
                                    struct nacre_error *err)
{
    size_t size = strlen(text) + 1;
    /* Not strdup(): the tests that make malloc fail see only our own calls. */
    char *copy = malloc(size);

    if (!copy)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the policy");
    memcpy(copy, text, size);
    *ret_text = copy;
    return NACRE_OK;
}

enum nacre_status nacre_schema_read_choice(const struct nacre_reading *at,
                                           const struct nacre_node *node,
                                           const char *const words[], size_t count,
                                           size_t *ret_index, struct nacre_error *err)
{
    const char *nearest;
    char shown[NACRE_SHOWN], expected[128];

    list_words(words, count, expected, sizeof(expected));
    if (node->kind != NACRE_NODE_TEXT)
        return nacre_schema_fail_type(at, node, expected, err);
    for (size_t i = 0; i < count; i++)
        if (strcmp(node->text, words[i]) == 0) {
            *ret_index = i;
            return NACRE_OK;
        }
    nearest = nacre_text_nearest(node->text, words, count);
    return NACRE_READING_FAIL(at, node->place, err, "%s: expected %s, found '%s'%s%s%s",
                              at->where, expected, nacre_text_shown(shown, node->text),
                              nearest ? "; did you mean '" : "", nearest ? nearest : "",
                              nearest ? "'?" : "");
}

static enum nacre_status read_word(const struct nacre_schema_key *key,
                                   const struct nacre_reading *at,
                                   const struct nacre_node *node, char *target,
                                   struct nacre_error *err)
{
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, key->words,
                                                        key->word_count, &index, err);
    unsigned value = (unsigned)index + 1;

    if (status != NACRE_OK)
        return status;
    memcpy(target + key->offset, &value, sizeof(value));
    memcpy(target + key->place_offset, &node->place, sizeof(node->place));
    return NACRE_OK;
}

static enum nacre_status read_flag(const struct nacre_schema_key *key,
                                   const struct nacre_reading *at,
                                   const struct nacre_node *node, char *target,
                                   struct nacre_error *err)
{
    static const char *const yaml_1_1[] = { "yes", "no", "on", "off", "y", "n" };
    struct nacre_flag flag = { .place = node->place };

    if (node->kind != NACRE_NODE_BOOLEAN) {
        if (node->kind != NACRE_NODE_TEXT)
            return nacre_schema_fail_type(at, node, "true or false", err);
        if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
            return nacre_schema_fail_type(at, node, "true or false without quotes", err);
        for (size_t i = 0; i < NACRE_COUNT(yaml_1_1); i++)
            if (strcasecmp(node->text, yaml_1_1[i]) == 0)
                return nacre_schema_fail_type(at, node,
                                 "true or false (yes, no, on and off are not booleans)",
                                 err);
        return nacre_schema_fail_type(at, node, "true or false", err);
    }
    flag.on = strcmp(node->text, "true") == 0;
    memcpy(target + key->offset, &flag, sizeof(flag));
    return NACRE_OK;
}

/* Digits alone, with no zero in front: YAML 1.1 reads 010 as 8 and 1.2 as 10. */
static bool is_decimal(const char *text)
{
    size_t length = strspn(text, "0123456789");

    return length > 0 && text[length] == '\0' && (text[0] != '0' || length == 1);
}

static enum nacre_status read_limit(const struct nacre_schema_key *key,
                                    const struct nacre_reading *at,
                                    const struct nacre_node *node, char *target,
                                    struct nacre_error *err)
{
    struct nacre_limit limit = { .place = node->place };
    const char *text = node->text ? node->text : "";
    bool negative = text[0] == '-' && is_decimal(text + 1);
    bool unlimited = key->min > 0 && (negative || strcmp(text, "0") == 0);
    char shown[NACRE_SHOWN];

    if (node->kind == NACRE_NODE_TEXT && is_decimal(text))
        return nacre_schema_fail_type(at, node, "a whole number without quotes", err);
    if (node->kind != NACRE_NODE_NUMBER || (!negative && !is_decimal(text)))
        return nacre_schema_fail_type(at, node, "a whole number in decimal digits", err);
    if (!nacre_text_u64(text, key->max, &limit.value) || limit.value < key->min)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: %s is not between %ju and %ju%s", at->where,
                                  nacre_text_shown(shown, text), (uintmax_t)key->min,
                                  (uintmax_t)key->max,
                                  unlimited ? "; there is no value for unlimited" : "");
    memcpy(target + key->offset, &limit, sizeof(limit));
    return NACRE_OK;
}

/* ---- what dialects other than CKP have ---- */

static enum nacre_status read_rule(const struct nacre_schema_key *key,
                                   const struct nacre_reading *at,
                                   const struct nacre_node *node, char *target,
                                   struct nacre_error *err)
{
    struct nacre_rule rule = { .place = node->place };
    enum nacre_status status = nacre_schema_want_text(at, node, err);

    if (status == NACRE_OK)
        status = key->entry(at, node, &rule.text, err);
    if (status == NACRE_OK)
        memcpy(target + key->offset, &rule, sizeof(rule));
    return status;
}

enum nacre_status nacre_schema_read_rules(const struct nacre_reading *at,
                                          const struct nacre_node *list,
                                          nacre_entry_read *read_entry,
                                          struct nacre_rules *rules,
                                          struct nacre_error *err)
{
    rules->place = list->key_place;
    if (list->count == 0)
        return NACRE_OK;
    rules->items = calloc(list->count, sizeof(*rules->items));
    if (!rules->items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the policy");
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        struct nacre_reading entry = nacre_reading_entry(at, rules->count);
        struct nacre_rule rule = { .place = node->place };
        enum nacre_status status = nacre_schema_want_text(&entry, node, err);

        if (status == NACRE_OK)
            status = read_entry(&entry, node, &rule.text, err);
        if (status != NACRE_OK)
            return status;
        rules->items[rules->count++] = rule;
    }
    return NACRE_OK;
}

static enum nacre_status read_amount(const struct nacre_schema_key *key,
                                     const struct nacre_reading *at,
                                     const struct nacre_node *node, char *target,
                                     struct nacre_error *err)
{
    struct nacre_limit limit = { .place = node->place };
    char shown[NACRE_SHOWN];
    const char *wrong;

    if (node->kind != NACRE_NODE_NUMBER && node->kind != NACRE_NODE_TEXT)
        return nacre_schema_fail_type(at, node, key->example, err);
    wrong = key->unit(node->text, &limit.value);
    (void)nacre_text_shown(shown, node->text);
    if (wrong)
        return NACRE_READING_FAIL(at, node->place, err, "%s: '%s' %s", at->where, shown,
                                  wrong);
    if (limit.value < key->min)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: '%s' is too little; expected %s", at->where, shown,
                                  key->example);
    if (limit.value > key->max)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: '%s' is more than there may be; expected %s",
                                  at->where, shown, key->example);
    memcpy(target + key->offset, &limit, sizeof(limit));
    return NACRE_OK;
}

static enum nacre_status want_list(const struct nacre_reading *at,
                                   const struct nacre_node *node, struct nacre_error *err)
{
    if (node->kind != NACRE_NODE_LIST)
        return nacre_schema_fail_type(at, node, "a list", err);
    if (node->count > NACRE_LIST_MAX)
        return NACRE_READING_FAIL(
            at, node->key_place, err,
            "%s: a list may have at most %d entries, this one has %zu", at->where,
            NACRE_LIST_MAX, node->count);
    return NACRE_OK;
}

static enum nacre_status read_key(const struct nacre_schema_key *key,
                                  const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    assert(key->type != NACRE_SCHEMA_NONE);
    switch (key->type) {
    case NACRE_SCHEMA_SECTION:
        if (node->kind == NACRE_NODE_MAPPING && key->set)
            status = key->set(at, node, target, err);
        return status == NACRE_OK ? nacre_schema_read(key->section, at, node, target, err)
                                  : status;
    case NACRE_SCHEMA_WORD:
        return read_word(key, at, node, target, err);
    case NACRE_SCHEMA_FLAG:
        return read_flag(key, at, node, target, err);
    case NACRE_SCHEMA_LIMIT:
        return read_limit(key, at, node, target, err);
    case NACRE_SCHEMA_TEXT:
        status = nacre_schema_want_text(at, node, err);
        return status == NACRE_OK ? key->set(at, node, target, err) : status;
    case NACRE_SCHEMA_LIST:
        status = want_list(at, node, err);
        return status == NACRE_OK ? key->set(at, node, target, err) : status;
    case NACRE_SCHEMA_OPEN:
        if (node->kind != NACRE_NODE_MAPPING)
            return nacre_schema_fail_type(at, node, "a mapping", err);
        return key->set(at, node, target, err);
    case NACRE_SCHEMA_ANY:
        return key->set(at, node, target, err);
    case NACRE_SCHEMA_RULE:
        return read_rule(key, at, node, target, err);
    case NACRE_SCHEMA_RULES:
        status = want_list(at, node, err);
        return status == NACRE_OK
                   ? nacre_schema_read_rules(at, node, key->entry,
                                             (void *)((char *)target + key->offset), err)
                   : status;
    case NACRE_SCHEMA_AMOUNT:
        return read_amount(key, at, node, target, err);
    case NACRE_SCHEMA_NONE:
        break;
    }
    abort();
}

static const struct nacre_schema_key *find_key(const struct nacre_schema *schema,
                                        const char *name)
{
    for (size_t i = 0; i < schema->count; i++)
        if (strcmp(schema->keys[i].name, name) == 0)
            return &schema->keys[i];
    return NULL;
}

/* Somebody else's, and not by a slip of the pen one of ours? */
static bool is_foreign(const struct nacre_schema *schema, const char *name)
{
    const char *names[KEYS_MAX];

    if (!schema->foreign)
        return false;
    for (size_t i = 0; schema->foreign[i]; i++)
        if (strcmp(schema->foreign[i], name) == 0)
            return true;
    for (size_t i = 0; i < schema->count; i++)
        names[i] = schema->keys[i].name;
    return !nacre_text_nearest(name, names, schema->count);
}

enum nacre_status nacre_schema_read(const struct nacre_schema *schema,
                                    const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_place place = node->key_place.line > 0 ? node->key_place : node->place;

    assert(schema->count <= KEYS_MAX);
    if (node->kind != NACRE_NODE_MAPPING)
        return nacre_schema_fail_type(at, node, "a mapping", err);
    for (const struct nacre_node *child = node->first; child; child = child->next)
        if (!find_key(schema, child->key) && !is_foreign(schema, child->key))
            return fail_unknown(schema, at, child, err);
    for (size_t i = 0; i < schema->count; i++) {
        const struct nacre_schema_key *key = &schema->keys[i];
        const struct nacre_node *child = nacre_node_find(node, key->name);
        struct nacre_reading inner = nacre_reading_key(at, key->name);
        enum nacre_status status;

        if (!child && key->required)
            return NACRE_READING_FAIL(at, place, err, "%s is missing; write %s",
                                      inner.where, key->example);
        if (!child)
            continue;
        status = read_key(key, &inner, child, target, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}
