/*
 * Reads a query, which is hostile: all that is trusted is its length.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

struct reader {
    const char *text;
    size_t length, at;
    unsigned depth;
    struct query_fault *fault;
};

static void *fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void *fail(struct reader *reader, const char *format, ...)
{
    struct nacre_text text = { 0 };
    va_list list;

    nacre_text_addf(&text, "query, at byte %zu: ", reader->at + 1);
    va_start(list, format);
    nacre_text_addv(&text, format, list);
    va_end(list);
    reader->fault->code = "bad-query";
    reader->fault->text = text.bytes;
    return NULL;
}

static char here(const struct reader *reader)
{
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->length && memchr(" \t\n\r", here(reader), 4))
        reader->at++;
}

static bool take(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    if (reader->length - reader->at < length ||
        memcmp(reader->text + reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool is_digit(char sign)
{
    return sign >= '0' && sign <= '9';
}

static bool starts_name(char sign)
{
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '_' ||
           (unsigned char)sign >= 0x80;
}

/* A string in either kind of quotes: the JSON reader reads it, in double ones. */
static struct nacre_json *read_string(struct reader *reader)
{
    char quote = here(reader);
    struct nacre_text text = { 0 };
    struct nacre_json *value;
    const char *fault;
    size_t offset, from = reader->at;

    nacre_text_add(&text, "\"", 1);
    for (reader->at++; here(reader) != quote; reader->at++) {
        if (reader->at >= reader->length) {
            reader->at = from;
            return fail(reader, "the string has no end");
        }
        if (here(reader) == '"') {
            nacre_text_add(&text, "\\\"", 2);
        } else if (here(reader) == '\\' && reader->at + 1 < reader->length) {
            reader->at++;
            /* Its own quote may be escaped, the other one may not. */
            if (here(reader) != '\'' || quote != '\'')
                nacre_text_add(&text, "\\", 1);
            if (here(reader) == '"' && quote == '\'')
                return fail(reader, "\\\" in a string in single quotes");
            nacre_text_add(&text, &reader->text[reader->at], 1);
        } else {
            nacre_text_add(&text, &reader->text[reader->at], 1);
        }
    }
    reader->at++;
    nacre_text_add(&text, "\"", 1);
    value = nacre_json_read(text.bytes, text.count, &fault, &offset);
    if (!value) {
        reader->at = from;
        return fail(reader, "the string is not well-formed: %s", fault);
    }
    return value;
}

static bool read_int(struct reader *reader, int64_t *ret_number)
{
    size_t from = reader->at;
    bool is_negative = take(reader, "-");
    int64_t number = 0;

    if (!is_digit(here(reader)))
        return fail(reader, "a whole number was expected");
    while (is_digit(here(reader))) {
        number = number * 10 + (here(reader) - '0');
        if (number > 9007199254740991) {
            reader->at = from;
            return fail(reader, "the number is too large");
        }
        reader->at++;
    }
    if ((is_negative && number == 0) || (reader->text[from + is_negative] == '0' &&
                                         reader->at > from + is_negative + 1)) {
        reader->at = from;
        return fail(reader, "a whole number has no zeros in front and no -0");
    }
    *ret_number = is_negative ? -number : number;
    return true;
}

static struct expression *read_or(struct reader *reader);

static struct expression *read_filter(struct reader *reader)
{
    struct expression *filter;

    if (reader->depth == QUERY_DEPTH_MAX)
        return fail(reader, "more than %d parentheses and filters in one another",
                    QUERY_DEPTH_MAX);
    reader->depth++;
    skip_blanks(reader);
    filter = read_or(reader);
    skip_blanks(reader);
    reader->depth--;
    return filter;
}

static bool read_slice(struct reader *reader, struct selector *selector)
{
    selector->kind = SELECT_INDEX;
    selector->step = 1;
    if (here(reader) != ':') {
        if (!read_int(reader, &selector->start))
            return false;
        selector->has_start = true;
        skip_blanks(reader);
    }
    if (!take(reader, ":"))
        return true;
    selector->kind = SELECT_SLICE;
    skip_blanks(reader);
    if (is_digit(here(reader)) || here(reader) == '-') {
        if (!read_int(reader, &selector->end))
            return false;
        selector->has_end = true;
        skip_blanks(reader);
    }
    if (!take(reader, ":"))
        return true;
    skip_blanks(reader);
    if (is_digit(here(reader)) || here(reader) == '-')
        return read_int(reader, &selector->step);
    return true;
}

static bool read_selector(struct reader *reader, struct selector *selector)
{
    struct nacre_json *name;
    char sign = here(reader);

    if (sign == '\'' || sign == '"') {
        name = read_string(reader);
        if (!name)
            return false;
        if (strlen(name->text) != name->length)
            return fail(reader, "a name with \\u0000, which no key has here");
        selector->kind = SELECT_NAME;
        selector->name = name->text;
        return true;
    }
    if (take(reader, "*")) {
        selector->kind = SELECT_WILD;
        return true;
    }
    if (take(reader, "?")) {
        selector->kind = SELECT_FILTER;
        selector->filter = read_filter(reader);
        return selector->filter != NULL;
    }
    if (sign == '-' || sign == ':' || is_digit(sign))
        return read_slice(reader, selector);
    if (sign == '(')
        return fail(reader, "scripts in parentheses are not part of RFC 9535; a filter "
                    "is [?@.a == 1]");
    return fail(reader, "in brackets stand 'name', *, a number, a slice such as 0:3, or "
                "?filter");
}

static struct selector *add_selector(struct segment *segment)
{
    struct selector *selector = nacre_arena(sizeof(*selector));

    *selector = (struct selector){ 0 };
    if (segment->last)
        segment->last->next = selector;
    else
        segment->first = selector;
    segment->last = selector;
    return selector;
}

static bool read_brackets(struct reader *reader, struct segment *segment)
{
    do {
        skip_blanks(reader);
        if (!read_selector(reader, add_selector(segment)))
            return false;
        skip_blanks(reader);
    } while (take(reader, ","));
    return take(reader, "]") || fail(reader, "\"]\" was expected");
}

/* Behind "." or "..": a name without quotes, or "*". */
static bool read_shorthand(struct reader *reader, struct segment *segment)
{
    struct selector *selector = add_selector(segment);
    size_t from = reader->at, length;
    char *name;

    if (take(reader, "*")) {
        selector->kind = SELECT_WILD;
        return true;
    }
    if (!starts_name(here(reader)))
        return fail(reader, "behind \".\" a name or \"*\" was expected; other names "
                    "stand in brackets and quotes: ['a-b']");
    while (reader->at < reader->length &&
           (starts_name(here(reader)) || is_digit(here(reader))))
        reader->at++;
    length = reader->at - from;
    if (here(reader) == '(')
        return fail(reader, "functions are not supported: %.*s()", (int)length,
                    reader->text + from);
    name = nacre_arena(length + 1);
    memcpy(name, reader->text + from, length);
    name[length] = '\0';
    selector->name = name;
    return true;
}

static bool is_singular(const struct segment *segment)
{
    return !segment->descends && segment->first == segment->last &&
           (segment->first->kind == SELECT_NAME || segment->first->kind == SELECT_INDEX);
}

/* From "$" or "@" on. */
static struct query *read_query(struct reader *reader)
{
    struct query *query = nacre_arena(sizeof(*query));
    struct segment *segment;
    size_t before_blanks;

    *query = (struct query){ .is_singular = true, .is_relative = here(reader) == '@' };
    reader->at++;
    for (;;) {
        before_blanks = reader->at;
        skip_blanks(reader);
        if (here(reader) != '.' && here(reader) != '[') {
            reader->at = before_blanks;
            return query;
        }
        segment = nacre_arena(sizeof(*segment));
        *segment = (struct segment){ .descends = take(reader, "..") };
        if (take(reader, "[")) {
            if (!read_brackets(reader, segment))
                return NULL;
        } else {
            if (!segment->descends)
                (void)take(reader, ".");
            if (!read_shorthand(reader, segment))
                return NULL;
        }
        query->is_singular &= is_singular(segment);
        if (query->last)
            query->last->next = segment;
        else
            query->first = segment;
        query->last = segment;
    }
}

static struct nacre_json *read_literal(struct reader *reader)
{
    struct nacre_json *value;
    const char *fault;
    size_t offset, from = reader->at;

    if (here(reader) == '\'' || here(reader) == '"')
        return read_string(reader);
    while (reader->at < reader->length &&
           (starts_name(here(reader)) || is_digit(here(reader)) ||
            (here(reader) && strchr("+-.", here(reader)))))
        reader->at++;
    if (here(reader) == '(') {
        size_t length = reader->at - from;

        reader->at = from;
        return fail(reader, "functions are not supported: %.*s()", (int)length,
                    reader->text + from);
    }
    value = reader->at > from
                ? nacre_json_read(reader->text + from, reader->at - from, &fault, &offset)
                : NULL;
    if (!value) {
        reader->at = from;
        return fail(reader, "a query (@.a, $.b), a number, a string, true, false or null "
                    "was expected");
    }
    return value;
}

static bool read_operand(struct reader *reader, struct operand *ret_operand)
{
    *ret_operand = (struct operand){ 0 };
    if (here(reader) == '@' || here(reader) == '$')
        ret_operand->query = read_query(reader);
    else
        ret_operand->literal = read_literal(reader);
    return ret_operand->query || ret_operand->literal;
}

static bool read_comparison(struct reader *reader, enum comparison *ret_comparison)
{
    static const char *const words[] = { "==", "!=", "<=", ">=", "<", ">" };
    static const enum comparison comparisons[] = {
        COMPARE_EQUAL,      COMPARE_UNEQUAL, COMPARE_LESS_EQUAL,
        COMPARE_MORE_EQUAL, COMPARE_LESS,    COMPARE_MORE,
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (take(reader, words[i])) {
            *ret_comparison = comparisons[i];
            return true;
        }
    return false;
}

static struct expression *new_expression(enum expression_kind kind,
                                         struct expression *left,
                                         struct expression *right)
{
    struct expression *expression = nacre_arena(sizeof(*expression));

    *expression = (struct expression){ .kind = kind, .left = left, .right = right };
    return expression;
}

static struct expression *read_basic(struct reader *reader)
{
    struct expression *expression = new_expression(EXPRESS_EXISTS, NULL, NULL);
    struct expression *inner;

    if (take(reader, "!")) {
        skip_blanks(reader);
        if (here(reader) == '(') {
            inner = read_basic(reader);
            return inner ? new_expression(EXPRESS_NOT, inner, NULL) : NULL;
        }
        if (here(reader) != '@' && here(reader) != '$')
            return fail(reader, "behind \"!\" a query or \"(\" was expected");
        return read_operand(reader, &expression->one)
                   ? new_expression(EXPRESS_NOT, expression, NULL) : NULL;
    }
    if (take(reader, "(")) {
        inner = read_filter(reader);
        if (inner && !take(reader, ")"))
            return fail(reader, "\")\" was expected");
        return inner;
    }
    if (!read_operand(reader, &expression->one))
        return NULL;
    skip_blanks(reader);
    if (!read_comparison(reader, &expression->comparison)) {
        if (here(reader) == '=')
            return fail(reader, "\"==\" compares; patterns (=~) are not supported");
        if (!expression->one.query)
            return fail(reader, "a literal alone says nothing; compare it");
        return expression;
    }
    skip_blanks(reader);
    if (!read_operand(reader, &expression->other))
        return NULL;
    if ((expression->one.query && !expression->one.query->is_singular) ||
        (expression->other.query && !expression->other.query->is_singular))
        return fail(reader, "only queries that lead to one value can be compared: names "
                    "and indexes, no *, .., slices or lists");
    expression->kind = EXPRESS_COMPARE;
    return expression;
}

static struct expression *read_and(struct reader *reader)
{
    struct expression *left = read_basic(reader), *right;

    for (skip_blanks(reader); left && take(reader, "&&"); skip_blanks(reader)) {
        skip_blanks(reader);
        right = read_basic(reader);
        left = right ? new_expression(EXPRESS_AND, left, right) : NULL;
    }
    return left;
}

static struct expression *read_or(struct reader *reader)
{
    struct expression *left = read_and(reader), *right;

    for (skip_blanks(reader); left && take(reader, "||"); skip_blanks(reader)) {
        skip_blanks(reader);
        right = read_and(reader);
        left = right ? new_expression(EXPRESS_OR, left, right) : NULL;
    }
    return left;
}

struct query *query_read(const char *text, size_t length, struct query_fault *fault)
{
    struct reader reader = { .text = text, .length = length, .fault = fault };
    struct query *query;

    if (length > QUERY_BYTES_MAX)
        return fail(&reader, "more than %d bytes", QUERY_BYTES_MAX);
    if (here(&reader) != '$')
        return fail(&reader, "a JSONPath starts with \"$\", a JSON Pointer with \"/\"");
    query = read_query(&reader);
    if (query && reader.at < length)
        return fail(&reader, "\".\" or \"[\" was expected");
    return query;
}
