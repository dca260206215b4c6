#ifndef NACRE_URL_H
#define NACRE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/address.h"
#include "nacre/error.h"

/*
 * Names and URLs, read once and strictly.  Whatever two readers could take for two
 * different things is refused (NACRE_ERR_PARSE, with a sentence for whoever wrote it).
 */

#define NACRE_NAME_SIZE 254 /* with the terminator */

/*
 * The one form of a host that serves matching, DNS, SNI, Host and audit: lower case, no
 * dot at the end, A-labels (libidn2, loaded when a name is not ASCII), or an address in
 * its canonical spelling (IPv6 without brackets, zone or port).  Refused: empty and
 * over-long labels, code points that IDNA forbids or that mix scripts, control
 * characters, percent signs, and spellings of an address other than the canonical one.
 */
NACRE_MUST_CHECK enum nacre_status nacre_name_normalise(const char *text, size_t length,
                                                        char ret_name[NACRE_NAME_SIZE],
                                                        struct nacre_error *err);

#define NACRE_URL_BYTES_MAX 8192

struct nacre_url {
    bool tls;                   /* https */
    char host[NACRE_NAME_SIZE]; /* normalised */
    bool is_address;            /* then `address` is it */
    struct nacre_address address;
    uint16_t port;              /* 80 or 443 when the URL has none */
    char target[NACRE_URL_BYTES_MAX + 1]; /* path and query, never empty, no fragment */
};

/* http and https alone; no userinfo, control characters, blanks, backslash or fragment,
 * and nothing beyond ASCII but letters of the host's name. */
NACRE_MUST_CHECK enum nacre_status nacre_url_parse(const char *text, size_t length,
                                                   struct nacre_url *ret_url,
                                                   struct nacre_error *err);

/* Where a Location leads from `base`: absolute, //host/path, /path or relative. */
NACRE_MUST_CHECK enum nacre_status nacre_url_resolve(const struct nacre_url *base,
                                                     const char *text, size_t length,
                                                     struct nacre_url *ret_url,
                                                     struct nacre_error *err);

/* "https://host:port/target", the port left out where it is the scheme's own and IPv6 in
 * brackets.  False when it does not fit. */
bool nacre_url_text(const struct nacre_url *url, char *ret_text, size_t size);

#endif
