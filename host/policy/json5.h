#ifndef NACRE_POLICY_JSON5_H
#define NACRE_POLICY_JSON5_H

#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/decide.h"
#include "node.h"

/*
 * What the parts of the JSON5 reader share: a place in a document that is known to be
 * UTF-8 without NUL, so that a character of 0 can only be its end.
 */
struct nacre_json5 {
    const char *source;
    const char *bytes;
    size_t count, at;
    struct nacre_place place; /* of bytes[at] */
    size_t nodes;
    bool strict; /* JSON: nothing that JSON5 adds */
    /* Of what can't stand in a name: at its start, and later.  Compiled at first use. */
    struct nacre_pattern *no_start, *no_part;
};

#define NACRE_JSON5_FAIL(json5, where, err, ...)                                       \
    nacre_fail_at(err, NACRE_ERR_PARSE, (json5)->source, (where).line, (where).column, \
                  __VA_ARGS__)

/* The character here, 0 at the end; and on to the one behind it. */
uint32_t nacre_json5_peek(const struct nacre_json5 *json5);
void nacre_json5_step(struct nacre_json5 *json5);
bool nacre_json5_is_line_end(uint32_t character);

/* "not valid JSON5: expected WHAT, found 'x'", at the character here. */
enum nacre_status nacre_json5_expected(const struct nacre_json5 *json5, const char *what,
                                       struct nacre_error *err);
/* Fails when it is JSON that is read: "JSON has no WHAT". */
NACRE_MUST_CHECK enum nacre_status nacre_json5_extra(const struct nacre_json5 *json5,
                                                     struct nacre_place place,
                                                     const char *what,
                                                     struct nacre_error *err);

/* Each begins at its first character and ends behind its last. */
NACRE_MUST_CHECK enum nacre_status nacre_json5_string(struct nacre_json5 *json5,
                                                      char **ret_text,
                                                      struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_json5_name(struct nacre_json5 *json5,
                                                    char **ret_text,
                                                    struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_json5_number(struct nacre_json5 *json5,
                                                      char **ret_text,
                                                      struct nacre_error *err);

/* Can the character here begin a name, or go on with one?  A backslash can. */
NACRE_MUST_CHECK enum nacre_status nacre_json5_in_name(struct nacre_json5 *json5,
                                                       uint32_t character, bool start,
                                                       bool *ret_is,
                                                       struct nacre_error *err);

#endif
