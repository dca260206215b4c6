#ifndef NACRE_TEST_LEAK_FORMS_H
#define NACRE_TEST_LEAK_FORMS_H

#include <stddef.h>

/*
 * A value as programs write it, by encoders that share nothing with the scanner.  Each
 * returns the length; `size` is large enough or the test ends.
 */
struct leak_spelling {
    const char *name;
    size_t (*write)(const unsigned char *value, size_t count, char *ret_text,
                    size_t size);
};

extern const struct leak_spelling leak_spellings[];
extern const size_t leak_spelling_count;

#endif
