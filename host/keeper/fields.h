#ifndef NACRE_KEEPER_FIELDS_H
#define NACRE_KEEPER_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "nacre/error.h"

/* A struct as a JSON object, by a table that names its members. */

enum field_kind {
    FIELD_TEXT,  /* char *; null: NULL */
    FIELD_LIST,  /* char **, NULL-terminated; null: NULL */
    FIELD_NAMES, /* char **, with a uint32_t that counts them */
    FIELD_BOOL,
    FIELD_U64,
    FIELD_NUMBER, /* an int, an enum or a uint32_t */
    FIELD_SMALL,  /* a uint16_t */
    FIELD_CHARS,  /* an array of char, terminated */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    size_t size; /* of CHARS; for NAMES the offset of their count */
};

#define FIELD(TYPE, member, KIND)                            \
    { #member, FIELD_##KIND, offsetof(struct TYPE, member),  \
      sizeof(((struct TYPE *)0)->member) }
#define NAMES(TYPE, member, count)                          \
    { #member, FIELD_NAMES, offsetof(struct TYPE, member),  \
      offsetof(struct TYPE, count) }

/* NULL when memory is short. */
json_t *fields_write(const void *object, const struct field *fields, size_t count);

/*
 * Into an object that is zeroed.  Each field has to be there, and beside them exactly
 * `others` more, which are the caller's; NACRE_ERR_PARSE names the first that is not as
 * it should be.  After a failure the object holds what was read: clear it.
 */
NACRE_MUST_CHECK enum nacre_status fields_read(const json_t *json, void *object,
                                               const struct field *fields, size_t count,
                                               size_t others, struct nacre_error *err);

/* Frees texts and lists; the object is not to be used before it is written anew. */
void fields_clear(void *object, const struct field *fields, size_t count);

/* NACRE_ERR_PARSE, about the field `name`. */
enum nacre_status fields_wrong(const char *name, struct nacre_error *err);
enum nacre_status fields_no_memory(struct nacre_error *err);

#endif
