#ifndef NACRE_DOCUMENT_H
#define NACRE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "nacre/error.h"

/*
 * A document as nacre's own readers see it: what `nacre parse` shows.  JSON5 is that of
 * json5.org, JSON that of RFC 8259, YAML a subset with one meaning (no anchors, aliases
 * or tags).  The document may be anybody's; errors name the place.
 */
#define NACRE_DOCUMENT_BYTES_MAX ((size_t)1 << 20)

enum nacre_document_format {
    NACRE_DOCUMENT_ANY, /* by its content */
    NACRE_DOCUMENT_JSON5,
    NACRE_DOCUMENT_YAML,
    NACRE_DOCUMENT_JSON,
};

/*
 * Whole numbers keep all their digits: what does not fit into 64 bits is an error, as is
 * what JSON has no word for (NaN).  Other numbers are doubles.  With `places` each value
 * becomes {"at": "LINE:COLUMN", "kind", "text" or "entries"}, and one of a mapping has
 * "key_at" too; there nothing is too large.  The caller owns it: json_decref().
 */
struct json_t;
NACRE_MUST_CHECK enum nacre_status
nacre_document_json(const char *source, const char *bytes, size_t count,
                    enum nacre_document_format format, bool places,
                    struct json_t **ret_value, struct nacre_error *err);

#endif
