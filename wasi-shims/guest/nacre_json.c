#include "nacre_json.h"

#include <assert.h>
#include <string.h>

struct nacre_json *nacre_json_new(enum nacre_json_kind kind)
{
    struct nacre_json *value = nacre_arena(sizeof *value);

    *value = (struct nacre_json){ .kind = kind };
    return value;
}

struct nacre_json *nacre_json_string(const char *text, size_t length)
{
    struct nacre_json *value = nacre_json_new(NACRE_JSON_STRING);
    char *copy = nacre_arena(length + 1);

    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    value->text = copy;
    value->length = length;
    return value;
}

struct nacre_json *nacre_json_text(const char *text)
{
    return nacre_json_string(text, strlen(text));
}

struct nacre_json *nacre_json_number(int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    struct nacre_json *value;

    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        *--at = '-';
    value = nacre_json_string(at, (size_t)(digits + sizeof digits - at));
    value->kind = NACRE_JSON_NUMBER;
    return value;
}

struct nacre_json *nacre_json_bool(bool on)
{
    return nacre_json_new(on ? NACRE_JSON_TRUE : NACRE_JSON_FALSE);
}

struct nacre_json *nacre_json_get(const struct nacre_json *object, const char *key)
{
    if (!object || object->kind != NACRE_JSON_OBJECT)
        return NULL;
    for (struct nacre_json *at = object->first; at; at = at->next)
        if (strcmp(at->key, key) == 0)
            return at;
    return NULL;
}

void nacre_json_append(struct nacre_json *array, struct nacre_json *value)
{
    assert(array->kind == NACRE_JSON_ARRAY || array->kind == NACRE_JSON_OBJECT);
    value->next = NULL;
    if (array->last)
        array->last->next = value;
    else
        array->first = value;
    array->last = value;
    array->count++;
}

void nacre_json_set(struct nacre_json *object, const char *key, struct nacre_json *value)
{
    struct nacre_json *before = NULL;
    size_t length = strlen(key) + 1;

    assert(object->kind == NACRE_JSON_OBJECT);
    for (struct nacre_json *at = object->first; at; before = at, at = at->next) {
        if (strcmp(at->key, key) != 0)
            continue;
        if (at == value)
            return;
        value->key = at->key;
        value->next = at->next;
        if (before)
            before->next = value;
        else
            object->first = value;
        if (object->last == at)
            object->last = value;
        return;
    }
    value->key = memcpy(nacre_arena(length), key, length);
    nacre_json_append(object, value);
}

bool nacre_json_remove(struct nacre_json *object, const char *key)
{
    struct nacre_json *before = NULL;

    assert(object->kind == NACRE_JSON_OBJECT);
    for (struct nacre_json *at = object->first; at; before = at, at = at->next) {
        if (strcmp(at->key, key) != 0)
            continue;
        if (before)
            before->next = at->next;
        else
            object->first = at->next;
        if (object->last == at)
            object->last = before;
        object->count--;
        return true;
    }
    return false;
}

struct nacre_json *nacre_json_at(const struct nacre_json *array, size_t index)
{
    struct nacre_json *at;

    if (!array || index >= array->count)
        return NULL;
    for (at = array->first; index > 0; index--)
        at = at->next;
    return at;
}

/* What stands behind the e; too far in either direction is all the same. */
static int64_t exponent(const char *at)
{
    bool negative = *at == '-';
    int64_t value = 0;

    if (*at == '-' || *at == '+')
        at++;
    for (; *at; at++)
        if (value < 1000000)
            value = value * 10 + (*at - '0');
    return negative ? -value : value;
}

static bool shift_in(uint64_t *number, unsigned digit, uint64_t limit)
{
    if (*number > (limit - digit) / 10)
        return false;
    *number = *number * 10 + digit;
    return true;
}

/* 1.50e1 is whole, 1.5 is not: the digits up to the last that is no zero, times a power
 * of ten that must not be negative. */
int64_t nacre_json_int(const struct nacre_json *value, int64_t otherwise)
{
    const char *start, *end, *last = NULL;
    uint64_t number = 0, limit;
    bool negative, fraction = false;
    int64_t power = 0;

    if (!value || value->kind != NACRE_JSON_NUMBER)
        return otherwise;
    negative = value->text[0] == '-';
    limit = (uint64_t)INT64_MAX + negative;
    start = value->text + negative;
    for (end = start; *end && (*end | 0x20) != 'e'; end++) {
        fraction |= *end == '.';
        power -= fraction && *end != '.';
        if (*end >= '1' && *end <= '9')
            last = end;
    }
    if (!last)
        return 0;
    power += *end ? exponent(end + 1) : 0;
    for (const char *at = last + 1; at < end; at++)
        power += *at != '.';
    for (const char *at = start; at <= last; at++)
        if (*at != '.' && !shift_in(&number, (unsigned)(*at - '0'), limit))
            return otherwise;
    if (power < 0)
        return otherwise;
    for (; power > 0; power--)
        if (!shift_in(&number, 0, limit))
            return otherwise;
    return negative ? (int64_t)(0 - number) : (int64_t)number;
}

bool nacre_json_is_true(const struct nacre_json *value)
{
    return value && value->kind == NACRE_JSON_TRUE;
}
