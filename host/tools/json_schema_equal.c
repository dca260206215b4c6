/* Values as JSON Schema compares them.  Both are hostile: the work is counted. */
#include <math.h>
#include <string.h>

#include "json_schema.h"

static bool spend(uint64_t *steps, uint64_t count)
{
    *steps = *steps > count ? *steps - count : 0;
    return *steps > 0;
}

/* A long double holds every json_int_t, or the value is compared as near as it can be. */
static long double number_of(const json_t *value)
{
    return json_is_integer(value) ? (long double)json_integer_value(value)
                                  : (long double)json_real_value(value);
}

int schema_compare(const json_t *a, const json_t *b)
{
    long double left, right;

    if (json_is_integer(a) && json_is_integer(b)) {
        json_int_t first = json_integer_value(a), second = json_integer_value(b);

        return (first > second) - (first < second);
    }
    left = number_of(a);
    right = number_of(b);
    return (left > right) - (left < right);
}

/* Without roundl() and its like: for them alone every start would load libm. */
bool schema_is_multiple(const json_t *value, const json_t *of)
{
    long double quotient, nearest;

    if (json_is_integer(value) && json_is_integer(of)) {
        /* INT64_MIN % -1 traps; `of` is above 0. */
        return json_integer_value(value) % json_integer_value(of) == 0;
    }
    quotient = fabsl(number_of(value) / number_of(of));
    if (!isfinite(quotient))
        return false;
    if (quotient >= 0x1p63L) /* what it is off by is within what is let pass below */
        return true;
    nearest = (long double)(uint64_t)(quotient + 0.5L);
    /* 0.3 is a multiple of 0.1 to whoever wrote it. */
    return fabsl(quotient - nearest) <= 1e-12L * (quotient > 1 ? quotient : 1);
}

static bool equal_objects(const json_t *a, const json_t *b, uint64_t *steps)
{
    const char *key;
    json_t *value;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)a, key, value) {
        const json_t *other = json_object_get(b, key);

        if (!other || !schema_equal(value, other, steps))
            return false;
    }
    return true;
}

static bool equal_arrays(const json_t *a, const json_t *b, uint64_t *steps)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!schema_equal(json_array_get(a, i), json_array_get(b, i), steps))
            return false;
    return true;
}

bool schema_equal(const json_t *a, const json_t *b, uint64_t *steps)
{
    if (!spend(steps, 1))
        return false;
    if (json_is_number(a) && json_is_number(b))
        return schema_compare(a, b) == 0;
    if (json_typeof(a) != json_typeof(b))
        return false;
    switch (json_typeof(a)) {
    case JSON_OBJECT:
        return equal_objects(a, b, steps);
    case JSON_ARRAY:
        return equal_arrays(a, b, steps);
    case JSON_STRING:
        return spend(steps, json_string_length(a) / 16) && json_equal(a, b);
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return true;
    }
    return false;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t schema_hash(const json_t *value, uint64_t *steps)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), sum = 0;
    const char *key;
    json_t *member;
    double number;

    if (!spend(steps, 1 + (json_is_string(value) ? json_string_length(value) / 16 : 0)))
        return 0;
    if (json_is_number(value)) {
        number = json_number_value(value);
        number = number == 0 ? 0 : number; /* -0.0 */
        return mix(hash, &number, sizeof(number));
    }
    hash = mix(hash, &(unsigned char){ (unsigned char)json_typeof(value) }, 1);
    if (json_is_string(value))
        return mix(hash, json_string_value(value), json_string_length(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        sum = schema_hash(json_array_get(value, i), steps);
        hash = mix(hash, &sum, sizeof(sum));
    }
    /* Members have no order: their sum has none either. */
    json_object_foreach((json_t *)value, key, member)
        sum += mix(schema_hash(member, steps), key, strlen(key));
    return mix(hash, &sum, sizeof(sum));
}
