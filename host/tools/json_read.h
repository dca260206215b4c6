#ifndef NACRE_TOOLS_JSON_READ_H
#define NACRE_TOOLS_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

/*
 * What json_loadb() makes of it with JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, several times
 * as fast for what tools say.  NULL: it is no JSON object or array, and *ret_where says
 * why; then the words are jansson's.
 */
json_t *tools_json_read(const char *bytes, size_t count, json_error_t *ret_where);

#endif
