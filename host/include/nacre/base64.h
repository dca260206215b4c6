#ifndef NACRE_BASE64_H
#define NACRE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* RFC 4648's two alphabets: the plain one with padding, the one for URLs without. */
enum nacre_base64 {
    NACRE_BASE64_PLAIN,
    NACRE_BASE64_URL,
};

/* Room for `count` bytes as text, with the terminator. */
#define NACRE_BASE64_SIZE(count) (((count) + 2) / 3 * 4 + 1)

/* Returns the text's length; it is terminated. */
size_t nacre_base64_write(enum nacre_base64 alphabet, const void *bytes, size_t count,
                          char *ret_text);

/*
 * Reads `length` characters, padded or not, into at most `room` bytes.  False for a
 * character of no alphabet, bits that no byte needs and that are not zero, or no room:
 * each row of bytes has one spelling.
 */
bool nacre_base64_read(enum nacre_base64 alphabet, const char *text, size_t length,
                       void *ret_bytes, size_t room, size_t *ret_count);

#endif
