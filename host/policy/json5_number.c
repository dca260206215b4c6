/*
 * Numbers of JSON5, brought to one exact decimal spelling.  Never through a double: what
 * a limit says must not depend on how many bits a mantissa has.
 */
#include "json5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More zeros than this are said by an exponent. */
#define ZEROS_MAX 64
#define EXPONENT_DIGITS_MAX 6

/* A hexadecimal digit takes less than 1.21 decimal ones. */
#define SPELLING (2 * NACRE_JSON5_NUMBER_BYTES_MAX)

static const char *here(const struct nacre_json5 *json5)
{
    return json5->bytes + json5->at;
}

static bool is_digit(uint32_t character)
{
    return character >= '0' && character <= '9';
}

static bool is_hex(uint32_t character)
{
    return is_digit(character) || (character >= 'a' && character <= 'f') ||
           (character >= 'A' && character <= 'F');
}

static size_t skip(struct nacre_json5 *json5, bool (*is)(uint32_t character))
{
    size_t count = 0;

    for (; is(nacre_json5_peek(json5)); count++)
        nacre_json5_step(json5);
    return count;
}

static enum nacre_status fail_long(const struct nacre_json5 *json5,
                                   struct nacre_place place, struct nacre_error *err)
{
    return NACRE_JSON5_FAIL(json5, place, err, "a number may have at most %d characters",
                            NACRE_JSON5_NUMBER_BYTES_MAX);
}

/* ---- hexadecimal ---- */

/* Nine decimal digits in each part, the lowest first. */
static void spell_hex(const char *digits, size_t count, char ret_text[SPELLING])
{
    enum { PARTS = SPELLING / 9 };
    static const uint64_t base = 1000000000;
    uint32_t parts[PARTS] = { 0 };
    size_t used = 1, length;

    for (size_t i = 0; i < count; i++) {
        uint64_t carry = (uint64_t)(is_digit((unsigned char)digits[i])
                                        ? digits[i] - '0'
                                        : (digits[i] | 0x20) - 'a' + 10);

        for (size_t part = 0; part < used; part++) {
            carry += (uint64_t)parts[part] * 16;
            parts[part] = (uint32_t)(carry % base);
            carry /= base;
        }
        if (carry > 0)
            parts[used++] = (uint32_t)carry;
    }
    length = (size_t)snprintf(ret_text, SPELLING, "%u", (unsigned)parts[used - 1]);
    while (--used > 0)
        length += (size_t)snprintf(ret_text + length, SPELLING - length, "%09u",
                                   (unsigned)parts[used - 1]);
}

static enum nacre_status read_hex(struct nacre_json5 *json5, struct nacre_place place,
                                  char ret_text[SPELLING], struct nacre_error *err)
{
    enum nacre_status status =
        nacre_json5_extra(json5, place, "hexadecimal numbers", err);
    const char *digits;
    size_t count;

    if (status != NACRE_OK)
        return status;
    nacre_json5_step(json5);
    nacre_json5_step(json5);
    digits = here(json5);
    count = skip(json5, is_hex);
    if (count == 0)
        return nacre_json5_expected(json5, "a hexadecimal digit behind 0x", err);
    if (count + 2 > NACRE_JSON5_NUMBER_BYTES_MAX)
        return fail_long(json5, place, err);
    spell_hex(digits, count, ret_text);
    return NACRE_OK;
}

/* ---- decimal ---- */

/* 0.digits, times ten to the power of `point`. */
struct decimal {
    char digits[NACRE_JSON5_NUMBER_BYTES_MAX];
    size_t count;
    long point;
};

static void add_digits(struct decimal *number, const char *digits, size_t count)
{
    memcpy(number->digits + number->count, digits, count);
    number->count += count;
}

/* No zero at either end. */
static void trim(struct decimal *number)
{
    size_t zeros = 0;

    while (zeros < number->count && number->digits[zeros] == '0')
        zeros++;
    memmove(number->digits, number->digits + zeros, number->count - zeros);
    number->count -= zeros;
    number->point -= (long)zeros;
    while (number->count > 0 && number->digits[number->count - 1] == '0')
        number->count--;
}

static void spell(struct decimal *number, char ret_text[SPELLING])
{
    static const char zeros[ZEROS_MAX + 1] =
        "0000000000000000000000000000000000000000000000000000000000000000";
    const char *digits = number->digits;
    int count, point;

    trim(number);
    count = (int)number->count;
    point = (int)number->point;
    if (count == 0)
        (void)snprintf(ret_text, SPELLING, "0");
    else if (point >= count && point - count <= ZEROS_MAX)
        (void)snprintf(ret_text, SPELLING, "%.*s%.*s", count, digits, point - count,
                       zeros);
    else if (point > 0 && point < count)
        (void)snprintf(ret_text, SPELLING, "%.*s.%.*s", point, digits, count - point,
                       digits + point);
    else if (point <= 0 && -point <= ZEROS_MAX)
        (void)snprintf(ret_text, SPELLING, "0.%.*s%.*s", -point, zeros, count,
                       digits);
    else
        (void)snprintf(ret_text, SPELLING, "%.1s%s%.*se%d", digits, count > 1 ? "." : "",
                       count - 1, digits + 1, point - 1);
}

/* At the 'e'. */
static enum nacre_status read_exponent(struct nacre_json5 *json5, long *ret_exponent,
                                       struct nacre_error *err)
{
    struct nacre_place place;
    bool negative;
    size_t count;
    char digits[EXPONENT_DIGITS_MAX + 1] = "";
    const char *start;

    nacre_json5_step(json5);
    negative = nacre_json5_peek(json5) == '-';
    if (negative || nacre_json5_peek(json5) == '+')
        nacre_json5_step(json5);
    place = json5->place;
    start = here(json5);
    count = skip(json5, is_digit);
    if (count == 0)
        return nacre_json5_expected(json5, "a digit of the exponent", err);
    for (; count > 0 && *start == '0'; count--)
        start++;
    if (count > EXPONENT_DIGITS_MAX)
        return NACRE_JSON5_FAIL(json5, place, err,
                                "an exponent may have at most %d digits",
                                EXPONENT_DIGITS_MAX);
    memcpy(digits, start, count);
    *ret_exponent = negative ? -strtol(digits, NULL, 10) : strtol(digits, NULL, 10);
    return NACRE_OK;
}

/* Around the dot, where there is one: JSON wants a digit on both sides. */
static enum nacre_status judge_dot(const struct nacre_json5 *json5,
                                   struct nacre_place place, size_t whole, size_t part,
                                   struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (whole == 0 && part == 0)
        return nacre_json5_expected(json5, "a digit", err);
    if (whole == 0)
        status = nacre_json5_extra(json5, place, "numbers that begin with a dot", err);
    if (part == 0)
        status = nacre_json5_extra(json5, place, "numbers that end with a dot", err);
    return status;
}

static enum nacre_status read_decimal(struct nacre_json5 *json5, struct nacre_place place,
                                      char ret_text[SPELLING], struct nacre_error *err)
{
    struct decimal number = { .count = 0 };
    const char *whole = here(json5), *part = whole;
    size_t whole_count = skip(json5, is_digit), part_count = 0;
    enum nacre_status status = NACRE_OK;

    if (whole_count > 1 && whole[0] == '0')
        return NACRE_JSON5_FAIL(json5, place, err,
                                "a number must not begin with 0 and another digit: it "
                                "could be meant as octal");
    if (nacre_json5_peek(json5) == '.') {
        nacre_json5_step(json5);
        part = here(json5);
        part_count = skip(json5, is_digit);
        status = judge_dot(json5, place, whole_count, part_count, err);
    } else if (whole_count == 0) {
        status = nacre_json5_expected(json5, "a digit", err);
    }
    if (status == NACRE_OK && (nacre_json5_peek(json5) | 0x20) == 'e')
        status = read_exponent(json5, &number.point, err);
    if (status != NACRE_OK)
        return status;
    if ((size_t)(here(json5) - whole) > NACRE_JSON5_NUMBER_BYTES_MAX)
        return fail_long(json5, place, err);
    add_digits(&number, whole, whole_count);
    add_digits(&number, part, part_count);
    number.point += (long)whole_count;
    spell(&number, ret_text);
    return NACRE_OK;
}

/* ---- the whole ---- */

static enum nacre_status read_unsigned(struct nacre_json5 *json5,
                                       struct nacre_place place, char ret_text[SPELLING],
                                       struct nacre_error *err)
{
    static const char *const words[] = { "Infinity", "NaN" };
    size_t left = json5->count - json5->at;

    for (size_t i = 0; i < NACRE_COUNT(words); i++) {
        size_t length = strlen(words[i]);
        enum nacre_status status;

        if (left < length || memcmp(here(json5), words[i], length) != 0)
            continue;
        status = nacre_json5_extra(json5, place, "Infinity and NaN", err);
        if (status != NACRE_OK)
            return status;
        for (size_t letter = 0; letter < length; letter++)
            nacre_json5_step(json5);
        (void)snprintf(ret_text, SPELLING, "%s", words[i]);
        return NACRE_OK;
    }
    if (left >= 2 && here(json5)[0] == '0' && (here(json5)[1] | 0x20) == 'x')
        return read_hex(json5, place, ret_text, err);
    return read_decimal(json5, place, ret_text, err);
}

enum nacre_status nacre_json5_number(struct nacre_json5 *json5, char **ret_text,
                                     struct nacre_error *err)
{
    struct nacre_place place = json5->place;
    bool negative = nacre_json5_peek(json5) == '-', goes_on = false;
    char text[SPELLING];
    char *copy;
    size_t length;
    enum nacre_status status = NACRE_OK;

    if (nacre_json5_peek(json5) == '+')
        status = nacre_json5_extra(json5, place, "plus sign before a number", err);
    if (negative || nacre_json5_peek(json5) == '+')
        nacre_json5_step(json5);
    if (status == NACRE_OK)
        status = read_unsigned(json5, place, text, err);
    if (status == NACRE_OK && nacre_json5_peek(json5) != 0)
        status =
            nacre_json5_in_name(json5, nacre_json5_peek(json5), false, &goes_on, err);
    if (status == NACRE_OK && goes_on)
        status = nacre_json5_expected(json5, "the end of a number", err);
    if (status != NACRE_OK)
        return status;
    /* -0 and -NaN are what they are without the sign. */
    negative = negative && strcmp(text, "0") != 0 && strcmp(text, "NaN") != 0;
    length = strlen(text);
    copy = malloc(length + 2);
    if (!copy)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read the document");
    copy[0] = '-';
    memcpy(copy + negative, text, length + 1);
    *ret_text = copy;
    return NACRE_OK;
}
