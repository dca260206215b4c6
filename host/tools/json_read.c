/*
 * The common part of JSON, read in one pass.  The text is a guest's or an agent's, and
 * hostile.  Here only what is surely right is read; anything else, be it wrong, rare or
 * large, is given up and left to jansson as a whole, so that there is one judge of what
 * JSON is.
 */
#include "json_read.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

#define DEPTH_MAX 32
#define KEY_BYTES 64
#define DIGITS_MAX 18 /* so many fit into 64 bits, whatever they are */

struct reader {
    const char *at, *end;
    char *scratch; /* as large as the text: no string in it is longer */
};

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

/* The next byte that is no blank, if it is `byte`. */
static bool take(struct reader *reader, char byte)
{
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != byte)
        return false;
    reader->at++;
    return true;
}

/* ---- strings ---- */

static bool is_plain(char byte)
{
    return (unsigned char)byte >= 0x20 && byte != '"' && byte != '\\';
}

/* '\0': another escape, with more to know about it. */
static char unescaped(char letter)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *at = memchr(letters, letter, sizeof(letters) - 1);

    return at ? meant[at - letters] : '\0';
}

/* What stands behind the opening quote: in the text itself, or where something had to be
 * taken out of it, in the scratch. */
static bool read_text(struct reader *reader, const char **ret_text, size_t *ret_count)
{
    const char *start = reader->at;
    size_t used = 0;
    unsigned char seen = 0;

    for (;;) {
        const char *from = reader->at;
        size_t length;

        while (reader->at < reader->end && is_plain(*reader->at))
            seen |= (unsigned char)*reader->at++;
        if (reader->at == reader->end || (unsigned char)*reader->at < 0x20)
            return false;
        length = (size_t)(reader->at - from);
        if (*reader->at == '"' && from == start) {
            *ret_text = start;
            *ret_count = length;
            break;
        }
        memcpy(reader->scratch + used, from, length);
        used += length;
        if (*reader->at == '"') {
            *ret_text = reader->scratch;
            *ret_count = used;
            break;
        }
        if (reader->end - reader->at < 2 ||
            !(reader->scratch[used++] = unescaped(reader->at[1])))
            return false;
        reader->at += 2;
    }
    reader->at++;
    return seen < 0x80 || nacre_text_is_utf8(*ret_text, *ret_count);
}

/* ---- values ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Whole numbers only. */
static json_t *read_number(struct reader *reader)
{
    bool is_negative = *reader->at == '-';
    const char *first = reader->at + is_negative, *at = first;
    json_int_t number = 0;

    for (; at < reader->end && at - first < DIGITS_MAX && is_digit(*at); at++)
        number = number * 10 + (*at - '0');
    if (at == first || (*first == '0' && at - first > 1) ||
        (at < reader->end && (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E')))
        return NULL;
    reader->at = at;
    return json_integer(is_negative ? -number : number);
}

static json_t *read_word(struct reader *reader)
{
    static const struct {
        const char *text;
        size_t count;
        json_t *(*value)(void);
    } words[] = { { "true", 4, json_true }, { "false", 5, json_false },
                  { "null", 4, json_null } };

    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if ((size_t)(reader->end - reader->at) >= words[i].count &&
            memcmp(reader->at, words[i].text, words[i].count) == 0) {
            reader->at += words[i].count;
            return words[i].value();
        }
    return NULL;
}

static json_t *read_value(struct reader *reader, int depth);

static bool read_member(struct reader *reader, json_t *object, int depth)
{
    char key[KEY_BYTES];
    const char *text;
    size_t count;

    if (!take(reader, '"') || !read_text(reader, &text, &count) || count >= sizeof(key))
        return false;
    memcpy(key, text, count);
    key[count] = '\0';
    if (!take(reader, ':') || json_object_get(object, key))
        return false;
    return json_object_set_new_nocheck(object, key, read_value(reader, depth)) == 0;
}

static bool read_entry(struct reader *reader, json_t *array, int depth)
{
    return json_array_append_new(array, read_value(reader, depth)) == 0;
}

static json_t *read_list(struct reader *reader, json_t *list, char close,
                         bool (*read)(struct reader *reader, json_t *list, int depth),
                         int depth)
{
    bool whole = list && depth < DEPTH_MAX;

    reader->at++;
    if (whole && take(reader, close))
        return list;
    do
        whole = whole && read(reader, list, depth + 1);
    while (whole && take(reader, ','));
    if (whole && take(reader, close))
        return list;
    json_decref(list);
    return NULL;
}

/* NULL: given up. */
static json_t *read_value(struct reader *reader, int depth)
{
    const char *text;
    size_t count;

    skip_blanks(reader);
    if (reader->at == reader->end)
        return NULL;
    switch (*reader->at) {
    case '{':
        return read_list(reader, json_object(), '}', read_member, depth);
    case '[':
        return read_list(reader, json_array(), ']', read_entry, depth);
    case '"':
        reader->at++;
        return read_text(reader, &text, &count) ? json_stringn_nocheck(text, count) : NULL;
    case 't':
    case 'f':
    case 'n':
        return read_word(reader);
    default:
        return read_number(reader);
    }
}

json_t *tools_json_read(const char *bytes, size_t count, json_error_t *ret_where)
{
    NACRE_AUTO(nacre_heap_guard) char *scratch = malloc(count + 1);
    struct reader reader = { bytes, bytes + count, scratch };
    json_t *value = NULL;

    skip_blanks(&reader);
    if (scratch && reader.at < reader.end && (*reader.at == '{' || *reader.at == '['))
        value = read_value(&reader, 0);
    skip_blanks(&reader);
    if (value && reader.at == reader.end)
        return value;
    json_decref(value);
    return json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, ret_where);
}
