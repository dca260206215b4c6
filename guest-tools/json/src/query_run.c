/*
 * Evaluates a query.  Every value that is looked at is a step, and steps have a
 * ceiling: "$..*..*..*" on a small document is a bomb otherwise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

struct run {
    struct nacre_json *root;
    size_t steps;
};

static bool is_container(const struct nacre_json *value)
{
    return value->kind == NACRE_JSON_ARRAY || value->kind == NACRE_JSON_OBJECT;
}

static bool spent(const struct run *run)
{
    return run->steps > QUERY_STEPS_MAX;
}

static void add(struct found_list *list, struct found *item)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 16;

        list->items = nacre_arena_grow(list->items, list->room * sizeof(*list->items),
                                       room * sizeof(*list->items));
        list->room = room;
    }
    list->items[list->count++] = item;
}

static struct found *child(const struct found *parent, struct nacre_json *value,
                           size_t index)
{
    struct found *found = nacre_arena(sizeof(*found));

    *found = (struct found){ .value = value, .parent = parent, .index = index };
    if (parent && parent->value->kind == NACRE_JSON_OBJECT)
        found->key = value->key;
    return found;
}

/* ---- values ---- */

static bool is_whole(const struct nacre_json *number)
{
    return !memchr(number->text, '.', number->length) &&
           !memchr(number->text, 'e', number->length) &&
           !memchr(number->text, 'E', number->length);
}

static double value_of(const struct nacre_json *number)
{
    return strtod(number->text, NULL);
}

bool json_number_fits(const struct nacre_json *number)
{
    if (is_whole(number))
        return nacre_json_int(number, 0) == nacre_json_int(number, 1);
    return isfinite(value_of(number));
}

int json_compare_numbers(const struct nacre_json *one, const struct nacre_json *other)
{
    double first, second;

    if (is_whole(one) && is_whole(other)) {
        bool is_negative = one->text[0] == '-', other_is = other->text[0] == '-';
        size_t length = one->length - is_negative;
        size_t other_length = other->length - other_is;
        const char *digits = one->text + is_negative, *others = other->text + other_is;
        int order;

        if (length == 1 && digits[0] == '0')
            is_negative = false;
        if (other_length == 1 && others[0] == '0')
            other_is = false;
        if (is_negative != other_is)
            return is_negative ? -1 : 1;
        order = length != other_length ? (length < other_length ? -1 : 1)
                                       : memcmp(digits, others, length);
        order = (order > 0) - (order < 0);
        return is_negative ? -order : order;
    }
    first = value_of(one);
    second = value_of(other);
    return (first > second) - (first < second);
}

static int compare_strings(const struct nacre_json *one, const struct nacre_json *other)
{
    size_t length = one->length < other->length ? one->length : other->length;
    int order = length > 0 ? memcmp(one->text, other->text, length) : 0;

    if (order == 0)
        return (one->length > other->length) - (one->length < other->length);
    return order < 0 ? -1 : 1;
}

bool json_equal(const struct nacre_json *one, const struct nacre_json *other,
                size_t *steps)
{
    const struct nacre_json *mate;

    if (one->kind != other->kind || one->count != other->count ||
        ++*steps > QUERY_STEPS_MAX)
        return false;
    if (one->kind == NACRE_JSON_NUMBER)
        return json_compare_numbers(one, other) == 0;
    if (one->kind == NACRE_JSON_STRING)
        return compare_strings(one, other) == 0;
    mate = other->first;
    for (const struct nacre_json *at = one->first; at; at = at->next) {
        if (one->kind == NACRE_JSON_OBJECT &&
            (!mate || strcmp(mate->key, at->key) != 0)) {
            *steps += other->count;
            mate = nacre_json_get(other, at->key);
        }
        if (!mate || !json_equal(at, mate, steps))
            return false;
        mate = mate->next;
    }
    return true;
}

/* ---- filters ---- */

static void run_segments(struct run *run, const struct query *query, struct found *from,
                         struct found_list *ret_list);

static struct nacre_json *resolve(struct run *run, const struct operand *operand,
                                  struct nacre_json *here)
{
    struct found from = { .value = operand->query && operand->query->is_relative
                                       ? here : run->root };
    struct found_list list = { 0 };

    if (operand->literal)
        return operand->literal;
    run_segments(run, operand->query, &from, &list);
    return list.count > 0 ? list.items[0]->value : NULL;
}

static bool compare(struct run *run, const struct expression *test,
                    struct nacre_json *here)
{
    const struct nacre_json *one = resolve(run, &test->one, here);
    const struct nacre_json *other = resolve(run, &test->other, here);
    bool is_equal = one && other ? json_equal(one, other, &run->steps) : one == other;
    int order = 2;

    if (one && other && one->kind == other->kind) {
        if (one->kind == NACRE_JSON_NUMBER)
            order = json_compare_numbers(one, other);
        else if (one->kind == NACRE_JSON_STRING)
            order = compare_strings(one, other);
    }
    switch (test->comparison) {
    case COMPARE_EQUAL:
        return is_equal;
    case COMPARE_UNEQUAL:
        return !is_equal;
    case COMPARE_LESS:
        return order == -1;
    case COMPARE_LESS_EQUAL:
        return order == -1 || is_equal;
    case COMPARE_MORE:
        return order == 1;
    case COMPARE_MORE_EQUAL:
        return order == 1 || is_equal;
    }
    return false;
}

static bool holds(struct run *run, const struct expression *test, struct nacre_json *here)
{
    struct found from = { .value = here };
    struct found_list list = { 0 };

    if (++run->steps > QUERY_STEPS_MAX)
        return false;
    switch (test->kind) {
    case EXPRESS_OR:
        return holds(run, test->left, here) || holds(run, test->right, here);
    case EXPRESS_AND:
        return holds(run, test->left, here) && holds(run, test->right, here);
    case EXPRESS_NOT:
        return !holds(run, test->left, here);
    case EXPRESS_COMPARE:
        return compare(run, test, here);
    case EXPRESS_EXISTS:
        from.value = test->one.query->is_relative ? here : run->root;
        run_segments(run, test->one.query, &from, &list);
        return list.count > 0;
    }
    return false;
}

/* ---- selectors ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void run_slice(struct run *run, const struct selector *selector,
                      const struct found *from, struct found_list *list)
{
    int64_t count = (int64_t)from->value->count, step = selector->step, start, end;
    struct nacre_json **values;
    size_t index = 0;

    if (step == 0)
        return;
    start = selector->has_start ? selector->start : step > 0 ? 0 : count - 1;
    end = selector->has_end ? selector->end : step > 0 ? count : -count - 1;
    start += start < 0 && selector->has_start ? count : 0;
    end += end < 0 ? count : 0;
    start = step > 0 ? clamp(start, 0, count) : clamp(start, -1, count - 1);
    end = step > 0 ? clamp(end, 0, count) : clamp(end, -1, count - 1);

    run->steps += (size_t)count;
    values = nacre_arena(((size_t)count + 1) * sizeof(*values));
    for (struct nacre_json *at = from->value->first; at; at = at->next)
        values[index++] = at;
    step = clamp(step, -count - 1, count + 1);
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step)
        add(list, child(from, values[i], (size_t)i));
}

static void run_selector(struct run *run, const struct selector *selector,
                         const struct found *from, struct found_list *list)
{
    struct nacre_json *value = from->value, *at;
    bool is_array = value->kind == NACRE_JSON_ARRAY;
    size_t index = 0;

    run->steps++;
    if (!is_container(value))
        return;
    switch (selector->kind) {
    case SELECT_NAME:
        run->steps += is_array ? 0 : value->count / 16;
        at = is_array ? NULL : nacre_json_get(value, selector->name);
        if (at)
            add(list, child(from, at, 0));
        break;
    case SELECT_INDEX:
        if (!is_array || selector->start >= (int64_t)value->count ||
            selector->start < -(int64_t)value->count)
            break;
        index = (size_t)(selector->start + (selector->start < 0 ? (int64_t)value->count
                                                                : 0));
        run->steps += index / 16;
        add(list, child(from, nacre_json_at(value, index), index));
        break;
    case SELECT_SLICE:
        if (is_array)
            run_slice(run, selector, from, list);
        break;
    case SELECT_WILD:
    case SELECT_FILTER:
        for (at = value->first; at && !spent(run); at = at->next, index++) {
            run->steps++;
            if (selector->kind == SELECT_WILD || holds(run, selector->filter, at))
                add(list, child(from, at, index));
        }
        break;
    }
}

static void run_segment(struct run *run, const struct segment *segment,
                        struct found *from, struct found_list *list)
{
    size_t index = 0;

    for (const struct selector *at = segment->first; at && !spent(run); at = at->next)
        run_selector(run, at, from, list);
    if (!segment->descends || !is_container(from->value))
        return;
    for (struct nacre_json *at = from->value->first; at && !spent(run); at = at->next)
        run_segment(run, segment, child(from, at, index++), list);
}

static void run_segments(struct run *run, const struct query *query, struct found *from,
                         struct found_list *ret_list)
{
    struct found_list list = { 0 }, next;

    add(&list, from);
    for (const struct segment *at = query->first; at; at = at->next) {
        next = (struct found_list){ 0 };
        for (size_t i = 0; i < list.count && !spent(run); i++)
            run_segment(run, at, list.items[i], &next);
        list = next;
    }
    *ret_list = list;
}

bool query_run(const struct query *query, struct nacre_json *root,
               struct found_list *ret_list, struct query_fault *fault)
{
    struct run run = { .root = root };

    run_segments(&run, query, child(NULL, root, 0), ret_list);
    if (!spent(&run))
        return true;
    *fault = (struct query_fault){
        "too-large", "the query looks at too many values; make it narrower",
    };
    return false;
}

const char *found_pointer(const struct found *found)
{
    const struct found *chain[NACRE_JSON_DEPTH_MAX + 1];
    struct nacre_text text = { 0 };
    size_t depth = 0;

    for (; found->parent && depth <= NACRE_JSON_DEPTH_MAX; found = found->parent)
        chain[depth++] = found;
    nacre_text_add(&text, "", 0);
    while (depth-- > 0) {
        nacre_text_add(&text, "/", 1);
        if (!chain[depth]->key) {
            nacre_text_addf(&text, "%zu", chain[depth]->index);
            continue;
        }
        for (const char *at = chain[depth]->key; *at; at++)
            nacre_text_add(&text, *at == '~' ? "~0" : *at == '/' ? "~1" : at,
                           *at == '~' || *at == '/' ? 2 : 1);
    }
    return text.bytes;
}
