#ifndef NACRE_JSON_STYLE_H
#define NACRE_JSON_STYLE_H

#include "nacre_json.h"

/*
 * How a document is laid out, so that a change of one value does not become a change of
 * every line: indentation (none: one line), line ends, spaces behind ":" and ",", and
 * whether the last line ends.  Found by the first of each.  What differs in one document,
 * such as arrays on one line among others, becomes alike.
 */
struct json_style {
    char indent[17]; /* empty: one line */
    bool has_crlf, ends_line;
    bool has_colon_space, has_comma_space; /* on one line */
};

struct json_style json_style_of(const char *bytes, size_t count);
void json_style_write(const struct json_style *style, const struct nacre_json *value,
                      struct nacre_text *out);

#endif
