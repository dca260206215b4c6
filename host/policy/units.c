/* Trusts no text: digits, at most one point, a known unit, the end. */
#include "units.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "nacre/own.h"

#define DIGITS "0123456789"
#define WHOLE_DIGITS_MAX 19   /* any such number fits 64 bits */
#define FRACTION_DIGITS_MAX 9

#define NO_AMOUNT "is not a decimal number"
#define TOO_LARGE "is too large"

struct decimal {
    uint64_t whole, fraction; /* fraction / scale */
    uint64_t scale;
    const char *rest;
};

static uint64_t digits_value(const char *text, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    return value;
}

static const char *read_decimal(const char *text, struct decimal *ret_decimal)
{
    struct decimal decimal = { .scale = 1 };
    size_t whole = strspn(text, DIGITS), fraction = 0;
    const char *point = text + whole;

    if (text[0] == '-')
        return "is negative; there is no value for unlimited";
    if (*point == '.')
        fraction = strspn(point + 1, DIGITS);
    /* 010 is 8 to some readers and 10 to others. */
    if (whole + fraction == 0 || (whole > 1 && text[0] == '0'))
        return NO_AMOUNT;
    if (whole > WHOLE_DIGITS_MAX)
        return TOO_LARGE;
    if (fraction > FRACTION_DIGITS_MAX)
        return "has more than 9 digits after the point";
    decimal.whole = digits_value(text, whole);
    decimal.fraction = digits_value(point + (*point == '.'), fraction);
    for (size_t i = 0; i < fraction; i++)
        decimal.scale *= 10;
    decimal.rest = *point == '.' ? point + 1 + fraction : point;
    *ret_decimal = decimal;
    return NULL;
}

static const char *multiply(const struct decimal *decimal, uint64_t unit,
                            uint64_t *ret_amount)
{
    unsigned __int128 amount = (unsigned __int128)decimal->whole * unit +
                               (unsigned __int128)decimal->fraction * unit /
                                   decimal->scale;

    if (amount > INT64_MAX)
        return TOO_LARGE;
    if (amount == 0)
        return "would be no limit at all; give more than 0";
    *ret_amount = (uint64_t)amount;
    return NULL;
}

const char *nacre_unit_bytes(const char *text, uint64_t *ret_amount)
{
    static const char prefixes[] = "kmgtp";
    struct decimal decimal;
    const char *wrong = read_decimal(text, &decimal), *rest, *prefix;
    uint64_t unit = 1;

    if (wrong)
        return wrong;
    rest = decimal.rest;
    prefix = *rest ? strchr(prefixes, *rest | 0x20) : NULL;
    if (prefix) {
        unit = (uint64_t)1 << (10 * (prefix - prefixes + 1));
        rest += 1 + (rest[1] == 'i' || rest[1] == 'I');
    }
    rest += *rest == 'b' || *rest == 'B';
    if (*rest != '\0')
        return "has no unit that is known; write it like 512m or 2g";
    if (!prefix && decimal.scale > 1)
        return "is not a whole number of bytes; write it like 512m or 2g";
    return multiply(&decimal, unit, ret_amount);
}

const char *nacre_unit_cpus(const char *text, uint64_t *ret_amount)
{
    struct decimal decimal;
    const char *wrong = read_decimal(text, &decimal);

    if (wrong)
        return wrong;
    if (*decimal.rest != '\0')
        return NO_AMOUNT;
    return multiply(&decimal, 1000000000, ret_amount);
}

const char *nacre_unit_ms(const char *text, uint64_t *ret_amount)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = { { "", 1000 },  { "s", 1000 },     { "ms", 1 },
                  { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    struct decimal decimal;
    const char *wrong = read_decimal(text, &decimal);

    if (wrong)
        return wrong;
    for (size_t i = 0; i < NACRE_COUNT(units); i++)
        if (strcmp(decimal.rest, units[i].name) == 0)
            return multiply(&decimal, units[i].ms, ret_amount);
    return "has no unit that is known; write it like 120s or 2m";
}

const char *nacre_unit_count(const char *text, uint64_t *ret_amount)
{
    struct decimal decimal;
    const char *wrong = read_decimal(text, &decimal);

    if (wrong)
        return wrong;
    if (*decimal.rest != '\0' || decimal.scale > 1)
        return "is not a whole number";
    return multiply(&decimal, 1, ret_amount);
}
