#ifndef NACRE_LEAK_VALUES_H
#define NACRE_LEAK_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How a secret's value may be spelled.  A spelling is found by reading the text along
 * the value, so that each form stands for every way to write it: percent-encoding with
 * whichever characters escaped, hex digits of either case, base64 broken into lines.
 */
enum leak_form {
    LEAK_FORM_RAW,
    LEAK_FORM_PERCENT,   /* any byte as itself or %41; '+' for a blank */
    LEAK_FORM_BACKSLASH, /* JSON, C, shell: \", \n, \u0041, \x41, \101 */
    LEAK_FORM_QUOTED,    /* in a shell's single quotes: ' is '\'' or '"'"' */
    LEAK_FORM_REVERSED,
    LEAK_FORM_HEX,       /* one separator or line end may stand between two bytes */
    LEAK_FORM_BASE64_0,  /* both alphabets; broken into lines or not */
    LEAK_FORM_BASE64_1,  /* the same, one byte before the value */
    LEAK_FORM_BASE64_2,  /* two bytes before it */
    LEAK_FORM_COUNT
};

struct leak_value {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/*
 * A value longer than this is known by its beginning, and redacted as far as it goes on:
 * half a key is a leak too, and a text that only begins like a value costs no more than
 * this to compare.
 */
#define LEAK_VALUE_ENOUGH ((size_t)1024)

/* No spelling of a byte is longer: 4/3 of "%2B\r\n" in base64, \u0041. */
#define LEAK_SPELLING_MAX ((size_t)7)

struct leak_reach {
    size_t text;  /* bytes of the text that spell the value so far */
    size_t units; /* how much of it: bytes, or digits of base64 */
    bool is_hit;  /* all of the value, or enough of it and then something else */
    bool is_open; /* the text ended before the value did, or in the middle of a byte */
    bool is_enough; /* open, but a hit if nothing more comes */
};

struct leak_reach leak_value_read(const struct leak_value *value, enum leak_form form,
                                  const unsigned char *text, size_t count);

#endif
