#ifndef NACRE_EGRESS_IDNA_H
#define NACRE_EGRESS_IDNA_H

#include "nacre/url.h"

/*
 * Names with letters beyond ASCII, and their xn-- form.  libidn2 is loaded at the first
 * of them; where it can't be, NACRE_ERR_UNAVAILABLE says what to install.
 */

/* `text` is UTF-8.  Its one form, in A-labels; labels that IDNA 2008 forbids, that it
 * would map to something else, or that mix scripts are refused. */
NACRE_MUST_CHECK enum nacre_status nacre_idna_to_ascii(const char *text,
                                                       char ret_name[NACRE_NAME_SIZE],
                                                       struct nacre_error *err);

/* Is an ASCII name with xn-- labels the form of what they decode to? */
NACRE_MUST_CHECK enum nacre_status nacre_idna_check(const char *name,
                                                    struct nacre_error *err);

/* The next character of well-formed UTF-8, and on behind it. */
uint32_t nacre_idna_point(const char **at);

/* Why these UTF-8 characters may not stand in one label, in words, or NULL. */
const char *nacre_script_fault(const char *label, size_t length);

#endif
