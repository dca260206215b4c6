#ifndef NACRE_TEXT_H
#define NACRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text that came from outside, made fit to print: control characters, marks without
 * width or that turn the direction of what follows, and bytes that are not UTF-8
 * become \xNN, and what does not fit ends in "...".  Always
 * terminated; returns `ret_text` so that it can stand in an argument list.
 */
const char *nacre_text_show(char *ret_text, size_t size, const char *bytes, size_t count);

/* For a printf argument: char shown[NACRE_SHOWN]; ... nacre_text_shown(shown, word). */
#define NACRE_SHOWN 96
const char *nacre_text_shown(char ret_text[NACRE_SHOWN], const char *text);

/*
 * The word of `words` that `word` was probably meant to be, or NULL when none is
 * near: at most two slips (a swap counts as one), and fewer than half its length.
 */
const char *nacre_text_nearest(const char *word, const char *const words[], size_t count);

/* Decimal digits only: no blank, no sign, no overflow past `max`. */
bool nacre_text_u64(const char *text, uint64_t max, uint64_t *ret_number);

/* "UID" or "UID:GID" in digits, each an id that the kernel takes; without a GID it is the
 * UID's number. */
bool nacre_text_ids(const char *text, uint32_t *ret_uid, uint32_t *ret_gid);

/* Is it well-formed UTF-8 (no surrogates, no overlong forms)? */
bool nacre_text_is_utf8(const char *bytes, size_t count);

#endif
