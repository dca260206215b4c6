#ifndef NACRE_DECIDE_INPUT_SCAN_H
#define NACRE_DECIDE_INPUT_SCAN_H

#include "nacre/input.h"

/* The table and its readers.  Private to host/decide. */

/* What finds a rule: an expression over the folded text, or the reader of characters. */
enum input_kind {
    INPUT_PATTERN,
    INPUT_HIDDEN_TAGS,
    INPUT_BIDI,
    INPUT_ZERO_WIDTH,
    INPUT_SELECTORS,
    INPUT_TERMINAL_CONTROL,
    INPUT_TERMINAL_CLIPBOARD,
    INPUT_ENCODED, /* another rule was found in what base64 held */
};

#define INPUT_KEYS_MAX 10

struct input_row {
    struct nacre_input_rule rule;
    enum input_kind kind;
    /* Of a PATTERN: PCRE2 without its UTF mode, over bytes.  It is searched only where
     * one of the keys is in the text; both are written as folding leaves them: small
     * letters, one blank. */
    const char *pattern;
    const char *keys[INPUT_KEYS_MAX];
};

extern const struct input_row input_rows[];
extern const size_t input_row_count; /* at most NACRE_INPUT_RULES_MAX */

/* What the reader of characters has met. */
struct input_characters {
    uint32_t tags, overrides, zero_width, selectors_run, selectors_run_max;
    size_t tag_at, override_at, zero_width_at, selectors_at; /* of the first */
};

/*
 * Folds `bytes` into `ret_text`, which has room for `count`: small ASCII letters, every
 * run of blanks one blank, full-width and mathematical letters and tag characters as the
 * ASCII that they stand for, characters that nobody sees left out; the rest as it is.
 * Stops when `text_max` bytes are there; *ret_used is how much of `bytes` they came from.
 * `characters` may be NULL.  `at` is where `bytes` lie in the whole.
 */
size_t input_fold(const unsigned char *bytes, size_t count, size_t at, char *ret_text,
                  size_t text_max, struct input_characters *characters, size_t *ret_used);

/* Sequences that move, hide, ask or write beyond plain text and colours; false: none. */
bool input_find_control(const unsigned char *bytes, size_t count, size_t *ret_offset);
/* One that writes to the clipboard. */
bool input_find_clipboard(const unsigned char *bytes, size_t count, size_t *ret_offset);

/*
 * What a run of base64 at `bytes` holds: at most `size` bytes of text into `ret_text`,
 * its length in *ret_length, 0 when it is no text.  Returns how long the run is; 0: there
 * is none.
 */
#define INPUT_BASE64_MIN 24
size_t input_base64(const unsigned char *bytes, size_t count, unsigned char *ret_text,
                    size_t size, size_t *ret_length);

#endif
