#ifndef NACRE_DECIDE_HOST_H
#define NACRE_DECIDE_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* NAME or NAME:PORT, taken apart.  One dot at the end of NAME does not count. */
struct nacre_host {
    const char *name; /* into the text; not terminated */
    size_t length;
    unsigned port; /* 0: none given */
};

/* False when there is a port that is not a number from 1 to 65535. */
bool nacre_host_split(const char *text, struct nacre_host *ret_host);

/*
 * A name of DNS: at most 253 characters in labels of 1 to 63 letters, digits, '-' and
 * '_', none of them with '-' at an end.  A last label that a resolver takes for a
 * number makes it an address, and then only the canonical dotted quad will do: 127.1,
 * 0x7f000001 and 010.0.0.1 are other spellings of what a rule means to name.
 */
bool nacre_host_is_name(const char *name, size_t length);
bool nacre_host_is_address(const char *name, size_t length);

#endif
