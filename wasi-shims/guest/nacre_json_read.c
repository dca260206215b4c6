/*
 * Reads JSON that anybody may have written: nothing about the bytes is trusted.  Depth is
 * bounded, time is linear but for the search for a key that is there twice (n log n, by
 * sorting: no choice of keys makes it worse).
 */
#include <string.h>

#include "nacre_json.h"
#include "nacre_words.h"

struct reader {
    const char *start, *at, *end;
    const char *fault;
    const char *fault_at;
    int depth;
};

/* A value of an object, and where its key stands. */
struct member {
    struct nacre_json value;
    const char *key_at;
};

#define PAIRWISE_MAX 8

static struct nacre_json *value_read(struct reader *reader, struct nacre_json *value);

static void *fail(struct reader *reader, const char *at, const char *fault)
{
    reader->fault = fault;
    reader->fault_at = at;
    return NULL;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

static int hex_value(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter |= 0x20;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Four hex digits, or -1. */
static long unit_read(const char *at, const char *end)
{
    long unit = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *utf8_put(char *out, unsigned long point)
{
    if (point < 0x80) {
        *out++ = (char)point;
    } else if (point < 0x800) {
        *out++ = (char)(0xc0 | point >> 6);
        *out++ = (char)(0x80 | (point & 63));
    } else if (point < 0x10000) {
        *out++ = (char)(0xe0 | point >> 12);
        *out++ = (char)(0x80 | (point >> 6 & 63));
        *out++ = (char)(0x80 | (point & 63));
    } else {
        *out++ = (char)(0xf0 | point >> 18);
        *out++ = (char)(0x80 | (point >> 12 & 63));
        *out++ = (char)(0x80 | (point >> 6 & 63));
        *out++ = (char)(0x80 | (point & 63));
    }
    return out;
}

/* What follows \u; `at` is behind it.  NULL: no such character. */
static const char *unicode_read(struct reader *reader, const char *at, char **out)
{
    long unit = unit_read(at, reader->end), low;

    if (unit < 0)
        return fail(reader, at, "\\u needs four hex digits");
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return fail(reader, at, "the second half of a surrogate pair without the first");
    at += 4;
    if (unit >= 0xd800 && unit <= 0xdbff) {
        low = reader->end - at >= 6 && at[0] == '\\' && at[1] == 'u'
                  ? unit_read(at + 2, reader->end)
                  : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(reader, at, "half of a surrogate pair");
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    *out = utf8_put(*out, (unsigned long)unit);
    return at;
}

static const char *escape_read(struct reader *reader, const char *at, char **out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    if (at == reader->end)
        return fail(reader, at, "the string has no end");
    if (*at == 'u')
        return unicode_read(reader, at + 1, out);
    letter = *at ? strchr(letters, *at) : NULL;
    if (!letter)
        return fail(reader, at, "no such escape");
    *(*out)++ = meant[letter - letters];
    return at + 1;
}

/* The closing quote, or NULL; *ret_plain: there is no escape on the way. */
static const char *string_end(struct reader *reader, bool *ret_plain)
{
    const char *at = reader->at, *end = reader->end;

    *ret_plain = true;
    at += nacre_words_json(at, (size_t)(end - at));
    while (at < end) {
        unsigned char byte = (unsigned char)*at;
        size_t length = 1;

        if (byte == '"')
            return at;
        if (byte == '\\') {
            *ret_plain = false;
            /* What follows decides nothing but is never the end; if it is no UTF-8, the
             * escape is refused anyway. */
            length = end - at > 1 ? 2 : 1;
        } else if (byte < 0x20) {
            return fail(reader, at, "a control character in a string");
        } else if (byte >= 0x80) {
            length = nacre_utf8_length(at, (size_t)(end - at));
            if (length == 0)
                return fail(reader, at, "not UTF-8");
        }
        at += length;
        if (byte == '\\' || byte >= 0x80)
            at += nacre_words_json(at, (size_t)(end - at));
    }
    return fail(reader, end, "the string has no end");
}

/* reader->at is behind the opening quote.  Decoding never makes a string longer. */
static char *string_read(struct reader *reader, size_t *ret_length)
{
    bool plain;
    const char *end = string_end(reader, &plain), *at = reader->at;
    char *text, *out;

    if (!end)
        return NULL;
    out = text = nacre_arena((size_t)(end - at) + 1);
    if (plain) {
        memcpy(out, at, (size_t)(end - at));
        out += end - at;
        at = end;
    }
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t count = (size_t)((escape ? escape : end) - at);

        memcpy(out, at, count);
        out += count;
        at += count;
        if (escape) {
            at = escape_read(reader, at + 1, &out);
            if (!at)
                return NULL;
        }
    }
    *out = '\0';
    *ret_length = (size_t)(out - text);
    reader->at = end + 1;
    return text;
}

static const char *digits_skip(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

static struct nacre_json *number_read(struct reader *reader, struct nacre_json *value)
{
    const char *start = reader->at, *end = reader->end, *at = start, *digits;
    char *text;

    if (*at == '-')
        at++;
    digits = at;
    at = digits_skip(at, end);
    if (at == digits)
        return fail(reader, at, "a number needs digits");
    if (*digits == '0' && at - digits > 1)
        return fail(reader, digits, "a number must not begin with 0");
    if (at < end && *at == '.') {
        digits = at + 1;
        at = digits_skip(digits, end);
        if (at == digits)
            return fail(reader, at, "digits must follow the point");
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        digits = at;
        at = digits_skip(digits, end);
        if (at == digits)
            return fail(reader, at, "the exponent needs digits");
    }
    value->kind = NACRE_JSON_NUMBER;
    value->length = (size_t)(at - start);
    text = nacre_arena(value->length + 1);
    memcpy(text, start, value->length);
    text[value->length] = '\0';
    value->text = text;
    reader->at = at;
    return value;
}

static struct nacre_json *word_read(struct reader *reader, struct nacre_json *value)
{
    static const struct {
        const char *word;
        enum nacre_json_kind kind;
    } words[] = { { "true", NACRE_JSON_TRUE },
                  { "false", NACRE_JSON_FALSE },
                  { "null", NACRE_JSON_NULL } };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word);

        if ((size_t)(reader->end - reader->at) >= length &&
            memcmp(reader->at, words[i].word, length) == 0) {
            value->kind = words[i].kind;
            reader->at += length;
            return value;
        }
    }
    return fail(reader, reader->at, "expected a value");
}

static void hang(struct nacre_json *parent, struct nacre_json *value)
{
    if (parent->last)
        parent->last->next = value;
    else
        parent->first = value;
    parent->last = value;
    parent->count++;
}

static struct nacre_json *array_read(struct reader *reader, struct nacre_json *array)
{
    array->kind = NACRE_JSON_ARRAY;
    reader->at++;
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == ']') {
        reader->at++;
        return array;
    }
    for (;;) {
        struct nacre_json *value = nacre_json_new(NACRE_JSON_NULL);

        if (!value_read(reader, value))
            return NULL;
        hang(array, value);
        skip_space(reader);
        if (reader->at < reader->end && *reader->at == ',') {
            reader->at++;
            continue;
        }
        if (reader->at == reader->end || *reader->at != ']')
            return fail(reader, reader->at, "expected , or ]");
        reader->at++;
        return array;
    }
}

/* Merges runs of growing length; equal keys keep their order. */
static const struct member **sorted(const struct nacre_json *object)
{
    size_t count = object->count, index = 0;
    const struct member **from = nacre_arena(count * sizeof *from);
    const struct member **to = nacre_arena(count * sizeof *to), **swap;

    for (const struct nacre_json *at = object->first; at; at = at->next)
        from[index++] = (const struct member *)at;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t start = 0; start < count; start += 2 * run) {
            size_t middle = start + run < count ? start + run : count;
            size_t end = middle + run < count ? middle + run : count;
            size_t a = start, b = middle;

            for (size_t out = start; out < end; out++) {
                bool left = b == end || (a < middle && strcmp(from[a]->value.key,
                                                              from[b]->value.key) <= 0);
                to[out] = left ? from[a++] : from[b++];
            }
        }
        swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* Where the first key stands that was there before; NULL: each is there once. */
static const char *twice(const struct nacre_json *object)
{
    const struct member **members = sorted(object);
    const char *found = NULL;

    for (size_t i = 1; i < object->count; i++)
        if (strcmp(members[i - 1]->value.key, members[i]->value.key) == 0 &&
            (!found || members[i]->key_at < found))
            found = members[i]->key_at;
    return found;
}

static struct member *member_read(struct reader *reader, const struct nacre_json *object)
{
    struct member *member = nacre_arena(sizeof *member);
    char *key;
    size_t length;

    memset(member, 0, sizeof *member);
    skip_space(reader);
    member->key_at = reader->at;
    if (reader->at == reader->end || *reader->at != '"')
        return fail(reader, reader->at, "expected a key in quotes");
    reader->at++;
    key = string_read(reader, &length);
    if (!key)
        return NULL;
    if (memchr(key, '\0', length))
        return fail(reader, member->key_at, "a NUL in a key");
    if (object->count < PAIRWISE_MAX && nacre_json_get(object, key))
        return fail(reader, member->key_at, "this key is there twice");
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != ':')
        return fail(reader, reader->at, "expected :");
    reader->at++;
    if (!value_read(reader, &member->value))
        return NULL;
    member->value.key = key;
    return member;
}

static struct nacre_json *object_read(struct reader *reader, struct nacre_json *object)
{
    const char *again;

    object->kind = NACRE_JSON_OBJECT;
    reader->at++;
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == '}') {
        reader->at++;
        return object;
    }
    for (;;) {
        struct member *member = member_read(reader, object);

        if (!member)
            return NULL;
        hang(object, &member->value);
        skip_space(reader);
        if (reader->at < reader->end && *reader->at == ',') {
            reader->at++;
            continue;
        }
        if (reader->at == reader->end || *reader->at != '}')
            return fail(reader, reader->at, "expected , or }");
        reader->at++;
        again = object->count > PAIRWISE_MAX ? twice(object) : NULL;
        return again ? fail(reader, again, "this key is there twice") : object;
    }
}

static struct nacre_json *value_read(struct reader *reader, struct nacre_json *value)
{
    struct nacre_json *read;

    skip_space(reader);
    if (reader->at == reader->end)
        return fail(reader, reader->at, "expected a value, found the end");
    switch (*reader->at) {
    case '{':
    case '[':
        if (reader->depth == NACRE_JSON_DEPTH_MAX)
            return fail(reader, reader->at, "nested too deeply");
        reader->depth++;
        read = *reader->at == '{' ? object_read(reader, value)
                                  : array_read(reader, value);
        reader->depth--;
        return read;
    case '"':
        reader->at++;
        value->kind = NACRE_JSON_STRING;
        value->text = string_read(reader, &value->length);
        return value->text ? value : NULL;
    case '-':
    case '0' ... '9':
        return number_read(reader, value);
    default:
        return word_read(reader, value);
    }
}

struct nacre_json *nacre_json_read(const char *bytes, size_t count,
                                   const char **ret_fault, size_t *ret_offset)
{
    struct reader reader = { .start = bytes, .at = bytes, .end = bytes + count };
    struct nacre_json *value = nacre_json_new(NACRE_JSON_NULL);

    if (value_read(&reader, value)) {
        skip_space(&reader);
        if (reader.at == reader.end)
            return value;
        fail(&reader, reader.at, "something follows the value");
    }
    *ret_fault = reader.fault;
    *ret_offset = (size_t)(reader.fault_at - reader.start);
    return NULL;
}
