/*
 * A value against compiled rules.  The value is an agent's: depth and work are bounded,
 * and a value that can't be judged within them is refused.  The words of a refusal are
 * for a model: the place as a JSON pointer, what was expected, what was found.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"
#include "json_schema.h"

#define FAULT_BYTES 400
#define PLACE_BYTES 128

/* The way to a value, from the inside out. */
struct step {
    const struct step *outer; /* NULL: the whole */
    const char *key;          /* NULL: an index */
    size_t index;
    size_t depth;
};

struct fault {
    size_t depth;
    char text[FAULT_BYTES];
};

struct judging {
    uint64_t steps; /* left; 0: no verdict holds any more */
};

static bool judge(struct judging *j, const struct schema_rule *rule, const json_t *value,
                  const struct step *at, size_t depth, struct fault *fault);

/* ---- words ---- */

/* A key as a pointer spells it, cut. */
static const char *escaped(const char *key, char ret_text[NACRE_SHOWN])
{
    char text[NACRE_SHOWN];
    size_t used = 0;

    for (; *key && used + 2 < sizeof(text); key++) {
        if (*key == '~' || *key == '/')
            text[used++] = '~';
        text[used++] = *key == '~' ? '0' : *key == '/' ? '1' : *key;
    }
    return nacre_text_show(ret_text, NACRE_SHOWN, text, used);
}

static size_t add_place(const struct step *at, char *text, size_t size)
{
    char shown[NACRE_SHOWN];
    size_t used;
    int wrote;

    if (!at->outer)
        return 0;
    used = add_place(at->outer, text, size);
    if (used >= size)
        return size;
    wrote = at->key ? snprintf(text + used, size - used, "/%s", escaped(at->key, shown))
                    : snprintf(text + used, size - used, "/%zu", at->index);
    return used + (size_t)(wrote > 0 ? wrote : 0);
}

__attribute__((format(printf, 3, 4))) static bool fail(struct fault *fault,
                                                       const struct step *at,
                                                       const char *format, ...)
{
    char place[PLACE_BYTES] = "";
    size_t used;
    va_list args;

    if (add_place(at, place, sizeof(place)) >= sizeof(place))
        memcpy(place + sizeof(place) - 4, "...", 4);
    used = (size_t)snprintf(fault->text, sizeof(fault->text), "%s%s",
                            place[0] ? place : "the whole", ": ");
    va_start(args, format);
    (void)vsnprintf(fault->text + used, sizeof(fault->text) - used, format, args);
    va_end(args);
    fault->depth = at->depth;
    return false;
}

#define SHOWN_VALUE 112

/* A value in words, cut: 'the number 5', 'the string "abc..."'. */
static const char *shown_value(char ret_text[SHOWN_VALUE], const json_t *value)
{
    char shown[NACRE_SHOWN];

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        (void)snprintf(ret_text, SHOWN_VALUE, "an object");
        break;
    case JSON_ARRAY:
        (void)snprintf(ret_text, SHOWN_VALUE, "an array of %zu", json_array_size(value));
        break;
    case JSON_STRING:
        (void)nacre_text_show(shown, 72, json_string_value(value),
                              json_string_length(value));
        (void)snprintf(ret_text, SHOWN_VALUE, "the string \"%s\"", shown);
        break;
    case JSON_INTEGER:
        (void)snprintf(ret_text, SHOWN_VALUE, "the number %lld",
                       (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        (void)snprintf(ret_text, SHOWN_VALUE, "the number %.15g", json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        (void)snprintf(ret_text, SHOWN_VALUE, "%s",
                       json_is_true(value) ? "true" : "false");
        break;
    case JSON_NULL:
        (void)snprintf(ret_text, SHOWN_VALUE, "null");
        break;
    }
    return ret_text;
}

static const char *shown_number(char ret_text[32], const json_t *number)
{
    if (json_is_integer(number))
        (void)snprintf(ret_text, 32, "%lld", (long long)json_integer_value(number));
    else
        (void)snprintf(ret_text, 32, "%.15g", json_real_value(number));
    return ret_text;
}

/* ---- types and choices ---- */

static bool is_whole(const json_t *value)
{
    double number = json_real_value(value);

    return json_is_integer(value) || trunc(number) == number;
}

static bool has_type(const json_t *value, uint32_t types)
{
    uint32_t is = 0;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        is = UINT32_C(1) << SCHEMA_OBJECT;
        break;
    case JSON_ARRAY:
        is = UINT32_C(1) << SCHEMA_ARRAY;
        break;
    case JSON_STRING:
        is = UINT32_C(1) << SCHEMA_STRING;
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        is = UINT32_C(1) << SCHEMA_NUMBER;
        if (is_whole(value))
            is |= UINT32_C(1) << SCHEMA_INTEGER;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        is = UINT32_C(1) << SCHEMA_BOOLEAN;
        break;
    case JSON_NULL:
        is = UINT32_C(1) << SCHEMA_NULL;
        break;
    }
    return is & types;
}

static bool fail_type(const struct schema_rule *rule, const json_t *value,
                      const struct step *at, struct fault *fault)
{
#define X(id, name, words) words,
    static const char *const words[] = { SCHEMA_TYPE_MAP(X) };
#undef X
    char list[128] = "", found[SHOWN_VALUE];
    size_t used = 0;

    for (size_t i = 0; i < SCHEMA_TYPE_COUNT; i++)
        if (rule->types & UINT32_C(1) << i)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                     used ? " or " : "", words[i]);
    return fail(fault, at, "expected %s, found %s", list, shown_value(found, value));
}

/* A value of the schema's own, as JSON, cut. */
static const char *shown_choice(char ret_text[SHOWN_VALUE], const json_t *value)
{
    NACRE_AUTO(nacre_heap_guard)
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(15));

    return text ? nacre_text_show(ret_text, 64, text, strlen(text)) : "a value";
}

static bool judge_choices(struct judging *j, const struct schema_rule *rule,
                          const json_t *value, const struct step *at,
                          struct fault *fault)
{
    char list[200] = "", found[SHOWN_VALUE], shown[SHOWN_VALUE];
    size_t used = 0, count = json_array_size(rule->choices);

    if (rule->constant && !schema_equal(rule->constant, value, &j->steps))
        return fail(fault, at, "expected %s, found %s",
                    shown_choice(shown, rule->constant), shown_value(found, value));
    if (!rule->choices)
        return true;
    for (size_t i = 0; i < count; i++)
        if (schema_equal(json_array_get(rule->choices, i), value, &j->steps))
            return true;
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                 shown_choice(shown, json_array_get(rule->choices, i)));
    if (used >= sizeof(list))
        memcpy(list + sizeof(list) - 4, "...", 4);
    return fail(fault, at, "expected one of %s; found %s", list,
                shown_value(found, value));
}

/* ---- scalars ---- */

static bool judge_number(const struct schema_rule *rule, const json_t *value,
                         const struct step *at, struct fault *fault)
{
    char bound[32], found[32];

    (void)shown_number(found, value);
    if (rule->minimum && schema_compare(value, rule->minimum) < 0)
        return fail(fault, at, "expected at least %s, found %s",
                    shown_number(bound, rule->minimum), found);
    if (rule->maximum && schema_compare(value, rule->maximum) > 0)
        return fail(fault, at, "expected at most %s, found %s",
                    shown_number(bound, rule->maximum), found);
    if (rule->above && schema_compare(value, rule->above) <= 0)
        return fail(fault, at, "expected more than %s, found %s",
                    shown_number(bound, rule->above), found);
    if (rule->below && schema_compare(value, rule->below) >= 0)
        return fail(fault, at, "expected less than %s, found %s",
                    shown_number(bound, rule->below), found);
    if (rule->multiple && !schema_is_multiple(value, rule->multiple))
        return fail(fault, at, "expected a multiple of %s, found %s",
                    shown_number(bound, rule->multiple), found);
    return true;
}

static uint64_t count_characters(const char *text, size_t count)
{
    uint64_t characters = 0;

    for (size_t i = 0; i < count; i++)
        characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    return characters;
}

static bool judge_string(struct judging *j, const struct schema_rule *rule,
                         const json_t *value, const struct step *at, struct fault *fault)
{
    const char *text = json_string_value(value);
    size_t count = json_string_length(value);
    char pattern[NACRE_SHOWN], found[SHOWN_VALUE];
    uint64_t length;

    if (rule->length_min > 0 || rule->length_max != UINT64_MAX) {
        length = count_characters(text, count);
        if (length < rule->length_min)
            return fail(fault, at, "expected at least %ju character%s, found %ju",
                        (uintmax_t)rule->length_min, rule->length_min == 1 ? "" : "s",
                        (uintmax_t)length);
        if (length > rule->length_max)
            return fail(fault, at, "expected at most %ju character%s, found %ju",
                        (uintmax_t)rule->length_max, rule->length_max == 1 ? "" : "s",
                        (uintmax_t)length);
    }
    if (!rule->pattern)
        return true;
    (void)nacre_text_shown(pattern, rule->pattern_text);
    switch (nacre_pattern_search(rule->pattern, text, count, &j->steps)) {
    case NACRE_FOUND_YES:
        return true;
    case NACRE_FOUND_NO:
        return fail(fault, at, "expected a string that matches %s, found %s", pattern,
                    shown_value(found, value));
    case NACRE_FOUND_UNDECIDED:
        break;
    }
    return fail(fault, at,
                "whether it matches %s can't be told within bounds; make it shorter",
                pattern);
}

/* ---- arrays ---- */

struct hashed {
    uint64_t hash;
    size_t index;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *first = a, *second = b;

    if (first->hash != second->hash)
        return first->hash < second->hash ? -1 : 1;
    return (first->index > second->index) - (first->index < second->index);
}

static bool judge_unique(struct judging *j, const json_t *value, const struct step *at,
                         struct fault *fault)
{
    size_t count = json_array_size(value);
    NACRE_AUTO(nacre_heap_guard) struct hashed *order = NULL;

    if (count < 2)
        return true;
    order = calloc(count, sizeof(*order));
    if (!order) {
        j->steps = 0;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct hashed){ schema_hash(json_array_get(value, i), &j->steps), i };
    qsort(order, count, sizeof(*order), by_hash);
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count && order[k].hash == order[i].hash; k++)
            if (schema_equal(json_array_get(value, order[i].index),
                             json_array_get(value, order[k].index), &j->steps))
                return fail(fault, at, "entries %zu and %zu are the same, expected each "
                            "to be another", order[i].index, order[k].index);
    return true;
}

static bool judge_array(struct judging *j, const struct schema_rule *rule,
                        const json_t *value, const struct step *at, size_t depth,
                        struct fault *fault)
{
    size_t count = json_array_size(value);

    if (count < rule->items_min)
        return fail(fault, at, "expected at least %ju entr%s, found %zu",
                    (uintmax_t)rule->items_min, rule->items_min == 1 ? "y" : "ies",
                    count);
    if (count > rule->items_max)
        return fail(fault, at, "expected at most %ju entr%s, found %zu",
                    (uintmax_t)rule->items_max, rule->items_max == 1 ? "y" : "ies",
                    count);
    for (size_t i = 0; i < count; i++) {
        const struct schema_rule *item =
            i < rule->prefix.count ? rule->prefix.items[i] : rule->items;
        struct step inner = { .outer = at, .index = i, .depth = at->depth + 1 };

        if (!item)
            break;
        if (item->never && i >= rule->prefix.count)
            return fail(fault, at, "expected at most %zu entries, found %zu",
                        rule->prefix.count, count);
        if (!judge(j, item, json_array_get(value, i), &inner, depth + 1, fault))
            return false;
    }
    return !rule->unique || judge_unique(j, value, at, fault);
}

/* ---- objects ---- */

static const struct schema_rule *property_of(const struct schema_rule *rule,
                                             const char *name)
{
    for (size_t i = 0; i < rule->property_count; i++)
        if (strcmp(rule->properties[i].name, name) == 0)
            return rule->properties[i].rule;
    return NULL;
}

#define NAMES_MAX 32

static bool fail_property(const struct schema_rule *rule, const char *name,
                          const struct step *at, struct fault *fault)
{
    const char *names[NAMES_MAX];
    char shown[NACRE_SHOWN], list[200] = "";
    size_t count = rule->property_count < NAMES_MAX ? rule->property_count : NAMES_MAX;
    size_t used = 0;
    const char *nearest;

    for (size_t i = 0; i < count; i++)
        names[i] = rule->properties[i].name;
    nearest = nacre_text_nearest(name, names, count);
    (void)nacre_text_shown(shown, name);
    if (nearest)
        return fail(fault, at, "unknown property \"%s\"; did you mean \"%s\"?", shown,
                    nearest);
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                 names[i]);
    if (used >= sizeof(list))
        memcpy(list + sizeof(list) - 4, "...", 4);
    return fail(fault, at, "unknown property \"%s\"; known: %s", shown,
                count ? list : "none at all");
}

static bool judge_members(struct judging *j, const struct schema_rule *rule,
                          const json_t *value, const struct step *at, size_t depth,
                          struct fault *fault)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)value, key, member) {
        struct step inner = { .outer = at, .key = key, .depth = at->depth + 1 };
        const struct schema_rule *property = property_of(rule, key);

        j->steps -= j->steps > rule->property_count / 4 ? rule->property_count / 4
                                                        : j->steps;
        if (!property) {
            property = rule->additional;
            if (property && property->never)
                return fail_property(rule, key, at, fault);
        }
        if (property && !judge(j, property, member, &inner, depth + 1, fault))
            return false;
    }
    return true;
}

static bool judge_object(struct judging *j, const struct schema_rule *rule,
                         const json_t *value, const struct step *at, size_t depth,
                         struct fault *fault)
{
    size_t count = json_object_size(value);
    char shown[NACRE_SHOWN];

    /* First what is there and wrong: a name misspelt explains the one that is missing. */
    if (!judge_members(j, rule, value, at, depth, fault))
        return false;
    for (size_t i = 0; i < rule->required_count; i++)
        if (!json_object_get(value, rule->required[i]))
            return fail(fault, at, "the property \"%s\" is missing",
                        nacre_text_shown(shown, rule->required[i]));
    if (count < rule->members_min)
        return fail(fault, at, "expected at least %ju propert%s, found %zu",
                    (uintmax_t)rule->members_min, rule->members_min == 1 ? "y" : "ies",
                    count);
    if (count > rule->members_max)
        return fail(fault, at, "expected at most %ju propert%s, found %zu",
                    (uintmax_t)rule->members_max, rule->members_max == 1 ? "y" : "ies",
                    count);
    return true;
}

/* ---- one rule made of several ---- */

/* How many hold; the fault of the one that came furthest in *nearest. */
static size_t count_holding(struct judging *j, const struct schema_rules *rules,
                            size_t enough, const json_t *value, const struct step *at,
                            size_t depth, struct fault *nearest)
{
    struct fault fault = { 0 };
    size_t holding = 0;

    for (size_t i = 0; i < rules->count && holding < enough; i++) {
        if (judge(j, rules->items[i], value, at, depth + 1, &fault))
            holding++;
        else if (i == 0 || fault.depth > nearest->depth)
            *nearest = fault;
    }
    return holding;
}

static bool judge_combined(struct judging *j, const struct schema_rule *rule,
                           const json_t *value, const struct step *at, size_t depth,
                           struct fault *fault)
{
    struct fault nearest = { 0 };

    if (rule->reference && !judge(j, rule->reference, value, at, depth + 1, fault))
        return false;
    for (size_t i = 0; i < rule->all.count; i++)
        if (!judge(j, rule->all.items[i], value, at, depth + 1, fault))
            return false;
    if (rule->any.count > 0 &&
        count_holding(j, &rule->any, 1, value, at, depth, &nearest) == 0)
        return fail(fault, at, "it has none of the %zu forms that are accepted; the "
                    "nearest fails at %.240s", rule->any.count, nearest.text);
    if (rule->one.count > 0) {
        size_t holding = count_holding(j, &rule->one, 2, value, at, depth, &nearest);

        if (holding == 0)
            return fail(fault, at, "it has none of the %zu forms that are accepted; the "
                        "nearest fails at %.240s", rule->one.count, nearest.text);
        if (holding > 1)
            return fail(fault, at, "it has more than one of the %zu forms of which "
                        "exactly one is accepted", rule->one.count);
    }
    if (rule->negated && judge(j, rule->negated, value, at, depth + 1, &nearest))
        return fail(fault, at, "it has a form that is excluded (\"not\")");
    return true;
}

static bool judge(struct judging *j, const struct schema_rule *rule, const json_t *value,
                  const struct step *at, size_t depth, struct fault *fault)
{
    bool holds;

    if (depth > 4 * SCHEMA_DEPTH_MAX)
        j->steps = 0;
    if (j->steps == 0)
        return false;
    j->steps--;
    if (rule->never)
        return fail(fault, at, "nothing is accepted here");
    if (rule->types && !has_type(value, rule->types))
        return fail_type(rule, value, at, fault);
    if ((rule->choices || rule->constant) && !judge_choices(j, rule, value, at, fault))
        return false;
    if (json_is_number(value))
        holds = judge_number(rule, value, at, fault);
    else if (json_is_string(value))
        holds = judge_string(j, rule, value, at, fault);
    else if (json_is_array(value))
        holds = judge_array(j, rule, value, at, depth, fault);
    else if (json_is_object(value))
        holds = judge_object(j, rule, value, at, depth, fault);
    else
        holds = true;
    /* Without steps left a "no" is none, and what is made of it by `not` neither. */
    return holds && judge_combined(j, rule, value, at, depth, fault) && j->steps > 0;
}

enum nacre_status nacre_json_schema_judge(const struct nacre_json_schema *schema,
                                          const json_t *value, struct nacre_error *err)
{
    struct judging j = { .steps = SCHEMA_STEPS_MAX };
    struct step whole = { 0 };
    struct fault fault = { 0 };
    bool holds = judge(&j, schema->rules[0], value, &whole, 0, &fault);

    if (j.steps == 0)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "it is nested too deep or too large to be checked against the "
                          "tool's schema");
    return holds ? NACRE_OK : nacre_fail(err, NACRE_ERR_USAGE, "%s", fault.text);
}
