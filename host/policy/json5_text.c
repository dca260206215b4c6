/* Strings and names of JSON5: from what was written to the text that is meant. */
#include "json5.h"

#include <stdlib.h>
#include <string.h>

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read the document");
}

/* A text that grows; its place is where it began. */
struct text {
    struct nacre_buf buf;
    struct nacre_place start;
};

#define TEXT(json5) \
    { .buf = NACRE_BUF(NACRE_DOCUMENT_SCALAR_BYTES_MAX), .start = (json5)->place }

static void text_clear(struct text *text)
{
    nacre_buf_clear(&text->buf);
}

static enum nacre_status add(const struct nacre_json5 *json5, struct text *text,
                             uint32_t character, struct nacre_place place,
                             struct nacre_error *err)
{
    char bytes[4];
    size_t length = 0;
    enum nacre_status status;

    if (character == 0)
        return NACRE_JSON5_FAIL(json5, place, err,
                                "a text must not contain a NUL character");
    if (character < 0x80) {
        bytes[length++] = (char)character;
    } else if (character < 0x800) {
        bytes[length++] = (char)(0xc0 | character >> 6);
        bytes[length++] = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        bytes[length++] = (char)(0xe0 | character >> 12);
        bytes[length++] = (char)(0x80 | (character >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (character & 0x3f));
    } else {
        bytes[length++] = (char)(0xf0 | character >> 18);
        bytes[length++] = (char)(0x80 | (character >> 12 & 0x3f));
        bytes[length++] = (char)(0x80 | (character >> 6 & 0x3f));
        bytes[length++] = (char)(0x80 | (character & 0x3f));
    }
    status = nacre_buf_add(&text->buf, bytes, length, err);
    if (status == NACRE_ERR_TOO_BIG)
        return NACRE_JSON5_FAIL(json5, text->start, err,
                                "a text may have at most %zu bytes",
                                NACRE_DOCUMENT_SCALAR_BYTES_MAX);
    return status;
}

static enum nacre_status take(const struct text *text, char **ret_text,
                              struct nacre_error *err)
{
    char *copy = malloc(text->buf.size + 1);

    if (!copy)
        return fail_memory(err);
    if (text->buf.size > 0)
        memcpy(copy, text->buf.bytes, text->buf.size);
    copy[text->buf.size] = '\0';
    *ret_text = copy;
    return NACRE_OK;
}

/* ---- escapes ---- */

static enum nacre_status read_hex(struct nacre_json5 *json5, int digits,
                                  uint32_t *ret_value, struct nacre_error *err)
{
    uint32_t value = 0;

    for (int i = 0; i < digits; i++) {
        uint32_t digit = nacre_json5_peek(json5);

        if (digit >= '0' && digit <= '9')
            value = value << 4 | (digit - '0');
        else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f' && digit < 0x80)
            value = value << 4 | ((digit | 0x20) - 'a' + 10);
        else
            return nacre_json5_expected(
                json5,
                digits == 2 ? "two hexadecimal digits behind \\x"
                            : "four hexadecimal digits behind \\u",
                err);
        nacre_json5_step(json5);
    }
    *ret_value = value;
    return NACRE_OK;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Behind the 'u'.  What is above U+FFFF takes two of them; half of such a pair is no
 * character, and UTF-8 has no bytes for it. */
static enum nacre_status read_unicode(struct nacre_json5 *json5,
                                      struct nacre_place place, uint32_t *ret_character,
                                      struct nacre_error *err)
{
    uint32_t unit = 0, low = 0;
    enum nacre_status status = read_hex(json5, 4, &unit, err);

    if (status == NACRE_OK && is_high(unit) && json5->count - json5->at >= 2 &&
        memcmp(json5->bytes + json5->at, "\\u", 2) == 0) {
        nacre_json5_step(json5);
        nacre_json5_step(json5);
        status = read_hex(json5, 4, &low, err);
    }
    if (status != NACRE_OK)
        return status;
    if (is_low(unit) || (is_high(unit) && !is_low(low)))
        return NACRE_JSON5_FAIL(json5, place, err,
                                "\\u%04x is half of a character; its other half is "
                                "missing",
                                (unsigned)unit);
    *ret_character =
        is_high(unit) ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : unit;
    return NACRE_OK;
}

/* Of one letter; 0 when it is none of them. */
static uint32_t short_escape(uint32_t letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'v':
        return '\v';
    case '"':
    case '\\':
    case '/':
        return letter;
    default:
        return 0;
    }
}

/* What only JSON5 escapes; `place` is the backslash's. */
static enum nacre_status read_other_escape(struct nacre_json5 *json5, struct text *text,
                                           struct nacre_place place,
                                           struct nacre_error *err)
{
    uint32_t letter = nacre_json5_peek(json5), value = letter;
    enum nacre_status status;

    if (letter == 0)
        return nacre_json5_expected(json5, "the end of a text", err);
    status = nacre_json5_extra(json5, place, "such escape in a text", err);
    if (status != NACRE_OK)
        return status;
    if (letter >= '1' && letter <= '9')
        return nacre_json5_expected(json5, "an escape (octal ones do not exist)", err);
    nacre_json5_step(json5);
    /* A line that goes on; \r\n is one end of a line. */
    if (nacre_json5_is_line_end(letter)) {
        if (letter == '\r' && nacre_json5_peek(json5) == '\n')
            nacre_json5_step(json5);
        return NACRE_OK;
    }
    if (letter == 'x')
        status = read_hex(json5, 2, &value, err);
    if (letter == '0') {
        value = nacre_json5_peek(json5);
        if (value >= '0' && value <= '9')
            return nacre_json5_expected(json5, "no digit behind \\0", err);
        value = 0;
    }
    return status == NACRE_OK ? add(json5, text, value, place, err) : status;
}

/* At the backslash. */
static enum nacre_status read_escape(struct nacre_json5 *json5, struct text *text,
                                     struct nacre_error *err)
{
    struct nacre_place place = json5->place;
    uint32_t letter, value;
    enum nacre_status status = NACRE_OK;

    nacre_json5_step(json5);
    letter = nacre_json5_peek(json5);
    value = letter == 'v' && json5->strict ? 0 : short_escape(letter);
    if (letter != 'u' && value == 0)
        return read_other_escape(json5, text, place, err);
    nacre_json5_step(json5);
    if (letter == 'u')
        status = read_unicode(json5, place, &value, err);
    return status == NACRE_OK ? add(json5, text, value, place, err) : status;
}

/* ---- strings ---- */

enum nacre_status nacre_json5_string(struct nacre_json5 *json5, char **ret_text,
                                     struct nacre_error *err)
{
    NACRE_AUTO(text_clear) struct text text = TEXT(json5);
    uint32_t quote = nacre_json5_peek(json5);
    enum nacre_status status = NACRE_OK;

    if (quote == '\'')
        status = nacre_json5_extra(json5, json5->place, "single quotes", err);
    nacre_json5_step(json5);
    while (status == NACRE_OK && nacre_json5_peek(json5) != quote) {
        uint32_t character = nacre_json5_peek(json5);
        struct nacre_place place = json5->place;

        if (character == 0)
            return NACRE_JSON5_FAIL(json5, text.start, err,
                                    "this text has no end: its quote is missing");
        if (character == '\n' || character == '\r')
            return NACRE_JSON5_FAIL(json5, place, err,
                                    "a text must not go on in the next line; write \\n");
        if (character < ' ')
            status = nacre_json5_extra(json5, place, "control characters in a text", err);
        if (status != NACRE_OK)
            break;
        if (character == '\\') {
            status = read_escape(json5, &text, err);
            continue;
        }
        nacre_json5_step(json5);
        status = add(json5, &text, character, place, err);
    }
    if (status != NACRE_OK)
        return status;
    nacre_json5_step(json5);
    return take(&text, ret_text, err);
}

/* ---- names ---- */

/* What must not stand there, because who can't decide says that a pattern matches. */
#define NO_START "[^\\p{L}\\p{Nl}]"
#define NO_PART "[^\\p{L}\\p{Nl}\\p{Mn}\\p{Mc}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}]"

static enum nacre_status in_category(struct nacre_json5 *json5, uint32_t character,
                                     bool start, bool *ret_is, struct nacre_error *err)
{
    NACRE_AUTO(text_clear) struct text text = TEXT(json5);
    struct nacre_pattern **pattern = start ? &json5->no_start : &json5->no_part;
    const char *expression = start ? NO_START : NO_PART;
    size_t offset;
    enum nacre_status status = add(json5, &text, character, json5->place, err);

    if (status == NACRE_OK && !*pattern)
        status = nacre_pattern_compile(NACRE_PATTERN_POLICY, expression,
                                       strlen(expression), pattern, &offset, err);
    if (status == NACRE_OK)
        *ret_is = !nacre_pattern_matches(*pattern, text.buf.bytes, text.buf.size);
    return status;
}

enum nacre_status nacre_json5_in_name(struct nacre_json5 *json5, uint32_t character,
                                      bool start, bool *ret_is, struct nacre_error *err)
{
    if (character >= 0x80)
        return in_category(json5, character, start, ret_is, err);
    *ret_is = character == '$' || character == '_' || character == '\\' ||
              ((character | 0x20) >= 'a' && (character | 0x20) <= 'z') ||
              (!start && character >= '0' && character <= '9');
    return NACRE_OK;
}

/* At the backslash: the escape must mean what could stand there by itself. */
static enum nacre_status read_name_escape(struct nacre_json5 *json5, bool start,
                                          uint32_t *ret_character,
                                          struct nacre_error *err)
{
    struct nacre_place place = json5->place;
    bool is_name = false;
    enum nacre_status status;

    nacre_json5_step(json5);
    if (nacre_json5_peek(json5) != 'u')
        return nacre_json5_expected(json5, "'u' behind the backslash of a key", err);
    nacre_json5_step(json5);
    status = read_unicode(json5, place, ret_character, err);
    if (status == NACRE_OK && *ret_character != 0 && *ret_character != '\\')
        status = nacre_json5_in_name(json5, *ret_character, start, &is_name, err);
    if (status == NACRE_OK && !is_name)
        return NACRE_JSON5_FAIL(json5, place, err,
                                "not valid JSON5: this escape is no letter of a key; a "
                                "key of other characters has quotes");
    return status;
}

enum nacre_status nacre_json5_name(struct nacre_json5 *json5, char **ret_text,
                                   struct nacre_error *err)
{
    NACRE_AUTO(text_clear) struct text text = TEXT(json5);

    for (;;) {
        struct nacre_place place = json5->place;
        uint32_t character = nacre_json5_peek(json5);
        bool is_name = false, start = text.buf.size == 0;
        enum nacre_status status = NACRE_OK;

        if (character != 0)
            status = nacre_json5_in_name(json5, character, start, &is_name, err);
        if (status == NACRE_OK && !is_name)
            return take(&text, ret_text, err);
        if (status == NACRE_OK && character == '\\')
            status = read_name_escape(json5, start, &character, err);
        else
            nacre_json5_step(json5);
        if (status == NACRE_OK)
            status = add(json5, &text, character, place, err);
        if (status != NACRE_OK)
            return status;
    }
}
