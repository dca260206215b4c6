/*
 * Reads hostile text along a secret's value.  Trusts the value alone: every byte of the
 * text is looked at only after it is known to be there.
 */
#include "leak_values.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* How many bytes of the text spell one unit; or one of these. */
enum { MISMATCH = 0, MORE = -1 };

struct reader {
    const struct leak_value *value;
    size_t at;      /* the unit to be read */
    size_t advance; /* how many units were read at once */
};

static unsigned char lower(unsigned char character)
{
    return character >= 'A' && character <= 'Z' ? (unsigned char)(character | 0x20)
                                                : character;
}

/* Hex digits may be of either case. */
static int spells(const char *expected, const unsigned char *text, size_t left)
{
    size_t length = strlen(expected);

    for (size_t i = 0; i < length; i++) {
        if (i == left)
            return MORE;
        if (lower(text[i]) != lower((unsigned char)expected[i]))
            return MISMATCH;
    }
    return (int)length;
}

static int spells_either(const char *one, const char *other, const unsigned char *text,
                         size_t left)
{
    int read = spells(one, text, left);

    return read == MISMATCH ? spells(other, text, left) : read;
}

static int spells_hex(const char *before, unsigned char byte, const unsigned char *text,
                      size_t left)
{
    static const char digits[] = "0123456789abcdef";
    char expected[8];
    size_t used = strlen(before);

    memcpy(expected, before, used);
    expected[used++] = digits[byte >> 4];
    expected[used++] = digits[byte & 15];
    expected[used] = '\0';
    return spells(expected, text, left);
}

static int read_percent(struct reader *reader, const unsigned char *text, size_t left)
{
    unsigned char byte = reader->value->bytes[reader->at];

    if (text[0] == '%')
        return spells_hex("%", byte, text, left);
    return text[0] == byte || (byte == ' ' && text[0] == '+') ? 1 : MISMATCH;
}

/* The code point whose UTF-8 is at `bytes`, and how long that is; 0: none. */
static size_t decode(const unsigned char *bytes, size_t count, uint32_t *ret_point)
{
    size_t length = bytes[0] < 0x80   ? 1
                    : bytes[0] < 0xc2 ? 0
                    : bytes[0] < 0xe0 ? 2
                    : bytes[0] < 0xf0 ? 3
                    : bytes[0] < 0xf5 ? 4
                                      : 0;
    uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);

    if (length == 0 || length > count)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    *ret_point = point;
    return length;
}

static int read_unicode(struct reader *reader, const unsigned char *text, size_t left)
{
    const struct leak_value *value = reader->value;
    char expected[16];
    uint32_t point;
    size_t length = decode(value->bytes + reader->at, value->count - reader->at, &point);

    if (length == 0)
        return MISMATCH;
    if (point < 0x10000)
        (void)snprintf(expected, sizeof(expected), "\\u%04x", point);
    else
        (void)snprintf(expected, sizeof(expected), "\\u%04x\\u%04x",
                       0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff));
    reader->advance = length;
    return spells(expected, text, left);
}

static int read_backslash(struct reader *reader, const unsigned char *text, size_t left)
{
    static const char letters[] = "abefnrtv", controls[] = "\a\b\033\f\n\r\t\v";
    unsigned char byte = reader->value->bytes[reader->at];
    const char *letter;
    char octal[8];

    if (text[0] != '\\')
        return text[0] == byte ? 1 : MISMATCH;
    if (left < 2)
        return MORE;
    if (text[1] == 'u')
        return read_unicode(reader, text, left);
    if (text[1] == 'x')
        return spells_hex("\\x", byte, text, left);
    if (text[1] >= '0' && text[1] <= '3') {
        (void)snprintf(octal, sizeof(octal), "\\%03o", byte);
        return spells(octal, text, left);
    }
    letter = memchr(letters, text[1], sizeof(letters) - 1);
    if (letter)
        return (unsigned char)controls[letter - letters] == byte ? 2 : MISMATCH;
    return text[1] == byte ? 2 : MISMATCH;
}

static int read_quoted(struct reader *reader, const unsigned char *text, size_t left)
{
    unsigned char byte = reader->value->bytes[reader->at];

    if (byte == '\'')
        return spells_either("'\\''", "'\"'\"'", text, left);
    return text[0] == byte ? 1 : MISMATCH;
}

/* Between two units of what programs break into lines: how long the break is. */
static int read_break(const char *separators, const unsigned char *text, size_t left)
{
    int read = spells("\r\n", text, left);

    if (read == MISMATCH)
        read = spells("\\n", text, left);
    if (read != MISMATCH)
        return read;
    return text[0] != '\0' && strchr(separators, text[0]) ? 1 : MISMATCH;
}

static int read_hex(struct reader *reader, const unsigned char *text, size_t left)
{
    return spells_hex("", reader->value->bytes[reader->at], text, left);
}

static size_t base64_phase(enum leak_form form)
{
    return (size_t)form - LEAK_FORM_BASE64_0;
}

/* Of the digits of the whole text, the first that the value alone determines.  What the
 * border digits hold of it, at most 4 bits on each side, is let go. */
static size_t base64_first(enum leak_form form)
{
    return (8 * base64_phase(form) + 5) / 6;
}

static size_t base64_count(enum leak_form form, size_t bytes)
{
    return (8 * (base64_phase(form) + bytes)) / 6 - base64_first(form);
}

static int read_base64(struct reader *reader, enum leak_form form,
                       const unsigned char *text, size_t left)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t bit = 6 * (base64_first(form) + reader->at) - 8 * base64_phase(form);
    const unsigned char *bytes = reader->value->bytes + bit / 8;
    unsigned pair = (unsigned)bytes[0] << 8;
    unsigned digit;

    if (bit % 8 > 2)
        pair |= bytes[1];
    digit = pair >> (10 - bit % 8) & 63;
    if (text[0] == (unsigned char)digits[digit])
        return 1;
    if (digit == 62)
        return spells_either("-", "%2b", text, left);
    if (digit == 63 && text[0] == '\\')
        return spells("\\/", text, left);
    return digit == 63 ? spells_either("_", "%2f", text, left) : MISMATCH;
}

static int read_unit(struct reader *reader, enum leak_form form,
                     const unsigned char *text, size_t left)
{
    const struct leak_value *value = reader->value;

    reader->advance = 1;
    switch (form) {
    case LEAK_FORM_RAW:
        return text[0] == value->bytes[reader->at] ? 1 : MISMATCH;
    case LEAK_FORM_REVERSED:
        return text[0] == value->bytes[value->count - 1 - reader->at] ? 1 : MISMATCH;
    case LEAK_FORM_PERCENT:
        return read_percent(reader, text, left);
    case LEAK_FORM_BACKSLASH:
        return read_backslash(reader, text, left);
    case LEAK_FORM_QUOTED:
        return read_quoted(reader, text, left);
    case LEAK_FORM_HEX:
        return read_hex(reader, text, left);
    case LEAK_FORM_BASE64_0:
    case LEAK_FORM_BASE64_1:
    case LEAK_FORM_BASE64_2:
        return read_base64(reader, form, text, left);
    case LEAK_FORM_COUNT:
        break;
    }
    return MISMATCH;
}

/* The unit with the break before it, if one is there. */
static int read_next(struct reader *reader, enum leak_form form,
                     const unsigned char *text, size_t left)
{
    const char *separators = form == LEAK_FORM_HEX ? "\n :-" : "\n";
    int unit, gap;

    if (left == 0)
        return MORE;
    unit = read_unit(reader, form, text, left);
    if (unit != MISMATCH || form < LEAK_FORM_HEX || reader->at == 0)
        return unit;
    gap = read_break(separators, text, left);
    if (gap == MISMATCH || gap == MORE)
        return gap;
    if ((size_t)gap == left)
        return MORE;
    unit = read_unit(reader, form, text + gap, left - (size_t)gap);
    return unit > 0 ? unit + gap : unit;
}

struct leak_reach leak_value_read(const struct leak_value *value, enum leak_form form,
                                  const unsigned char *text, size_t count)
{
    bool is_base64 = form >= LEAK_FORM_BASE64_0;
    size_t units = is_base64 ? base64_count(form, value->count) : value->count;
    size_t enough = is_base64 ? base64_count(form, LEAK_VALUE_ENOUGH) : LEAK_VALUE_ENOUGH;
    struct reader reader = { .value = value };
    struct leak_reach reach = { 0 };

    while (reader.at < units) {
        int read = read_next(&reader, form, text + reach.text, count - reach.text);

        if (read == MORE)
            reach.is_open = true;
        if (read == MORE || read == MISMATCH)
            break;
        reach.text += (size_t)read;
        reader.at += reader.advance;
    }
    reach.units = reader.at;
    reach.is_enough = reader.at >= (units < enough ? units : enough);
    reach.is_hit = reach.is_enough && !reach.is_open;
    return reach;
}
