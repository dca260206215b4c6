#ifndef READ_KINDS_H
#define READ_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file is, by its first bytes. */
struct kind {
    const char *name; /* "a PNG image"; NULL: nothing known */
    const char *mime; /* of an image, else NULL */
    uint32_t width, height; /* of an image; 0: its header does not say */
};

struct kind kind_of(const char *bytes, size_t count);

/* Would showing it as text help nobody?  A NUL, or much that is no UTF-8. */
bool looks_binary(const char *bytes, size_t count);

#endif
