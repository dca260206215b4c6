#ifndef DOOR_HEADERS_H
#define DOOR_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Header fields, one to a line: "Name: value\n".  Pure, and strict: what is let through
 * holds no control character, so that no field can end before its line does.
 */
struct door_field {
    const char *name, *value; /* into the text that was read; not terminated */
    size_t name_size, value_size;
};

#define DOOR_FIELDS_MAX 256

enum door_next {
    DOOR_NEXT_END,
    DOOR_NEXT_FIELD,
    DOOR_NEXT_BAD, /* no name, a forbidden character, a folded line, no end of line */
};

/* The first field of *at, which moves past it.  Blanks around the value are left out. */
enum door_next door_field_next(const char **at, size_t *left,
                               struct door_field *ret_field);

/* Without regard to case. */
bool door_field_is(const struct door_field *field, const char *name);

/* Of a request: what is ours to say, or concerns one connection only. */
bool door_field_is_ours(const struct door_field *field);
/* Of a response: what concerns the connection between door and server only. */
bool door_field_is_theirs(const struct door_field *field);
/* Credentials, which another origin never gets. */
bool door_field_is_sensitive(const struct door_field *field);
/* Tells about a body that a redirect has dropped. */
bool door_field_is_of_body(const struct door_field *field);

/* A method that is sent: letters in upper case, but none that asks a proxy or a server to
 * reflect or to tunnel. */
bool door_method_is_sent(const char *method);

#endif
