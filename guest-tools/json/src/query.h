#ifndef NACRE_JSON_QUERY_H
#define NACRE_JSON_QUERY_H

#include "nacre_json.h"

/*
 * JSONPath (RFC 9535) without functions, and JSON Pointer (RFC 6901).  A query is read
 * first and evaluated then; both have ceilings, whatever the query and the document.
 */
#define QUERY_BYTES_MAX 4096
#define QUERY_DEPTH_MAX 32          /* of parentheses and filters in filters */
#define QUERY_STEPS_MAX 2000000     /* values that are looked at */

enum selector_kind {
    SELECT_NAME,
    SELECT_WILD,
    SELECT_INDEX,
    SELECT_SLICE,
    SELECT_FILTER,
};

struct selector {
    enum selector_kind kind;
    const char *name; /* decoded; without NUL, as keys are */
    int64_t start, end, step;
    bool has_start, has_end;
    struct expression *filter;
    struct selector *next;
};

struct segment {
    bool descends;
    struct selector *first, *last;
    struct segment *next;
};

struct query {
    bool is_relative; /* "@" */
    bool is_singular; /* leads to one value at most */
    struct segment *first, *last;
};

enum expression_kind {
    EXPRESS_OR,
    EXPRESS_AND,
    EXPRESS_NOT,
    EXPRESS_EXISTS,
    EXPRESS_COMPARE,
};

enum comparison {
    COMPARE_EQUAL,
    COMPARE_UNEQUAL,
    COMPARE_LESS,
    COMPARE_LESS_EQUAL,
    COMPARE_MORE,
    COMPARE_MORE_EQUAL,
};

struct operand {
    struct nacre_json *literal; /* or: */
    struct query *query;
};

struct expression {
    enum expression_kind kind;
    struct expression *left, *right; /* OR, AND; NOT has left alone */
    struct operand one, other;       /* COMPARE; EXISTS has one.query */
    enum comparison comparison;
};

struct query_fault {
    const char *code;
    const char *text; /* says where */
};

/* A value and how it was come to. */
struct found {
    struct nacre_json *value;
    const struct found *parent; /* NULL: the root */
    const char *key;            /* or NULL: */
    size_t index;
};

struct found_list {
    struct found **items;
    size_t count, room;
};

/* NULL with `fault`: what is not understood is refused by name. */
struct query *query_read(const char *text, size_t length, struct query_fault *fault);
/* False with `fault`: too many steps. */
bool query_run(const struct query *query, struct nacre_json *root,
               struct found_list *ret_list, struct query_fault *fault);

/* "/a/0/b~1c" */
const char *found_pointer(const struct found *found);

/* Numbers by their value, objects in any order.  Adds to *steps. */
bool json_equal(const struct nacre_json *one, const struct nacre_json *other,
                size_t *steps);
/* In 64 bits, or a double. */
bool json_number_fits(const struct nacre_json *number);
/* -1, 0, 1; numbers only. */
int json_compare_numbers(const struct nacre_json *one, const struct nacre_json *other);

#endif
