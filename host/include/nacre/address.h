#ifndef NACRE_ADDRESS_H
#define NACRE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * IP addresses and what they are for.  Pure: a table of IANA's special-purpose
 * registries and the few addresses that clouds answer secrets from.
 */
struct nacre_address {
    bool is_v6;
    uint8_t bytes[16]; /* in network order; the first 4 of IPv4 */
};

/* What a guest may reach: PUBLIC.  PRIVATE only under `block_private_ips: false`. */
enum nacre_reach {
    NACRE_REACH_NONE,
    NACRE_REACH_PUBLIC,
    NACRE_REACH_PRIVATE, /* RFC 1918, CGNAT, unique local */
    NACRE_REACH_NEVER,   /* loopback, link-local, metadata, multicast, documentation,
                            everything else that is special */
};

/*
 * Addresses that carry an IPv4 one (mapped, NAT64, 6to4, Teredo, ISATAP, compatible) are
 * never PUBLIC, whatever they carry.  `ret_range` (may be NULL) receives what it was found
 * in, "10.0.0.0/8 (private use)"; "" for a public one.
 */
enum nacre_reach nacre_address_reach(const struct nacre_address *address,
                                     const char **ret_range);

/* The one canonical spelling of each: dotted quad without leading zeros, RFC 4291. */
bool nacre_address_parse(const char *text, size_t length,
                         struct nacre_address *ret_address);

/* Is it what some resolver takes for an IPv4 address: 2130706433, 0x7f.1, 017700000001,
 * 127.1?  Such a spelling is refused, never reached. */
bool nacre_address_is_numeric(const char *text, size_t length);

#define NACRE_ADDRESS_TEXT 46
const char *nacre_address_text(const struct nacre_address *address,
                               char ret_text[NACRE_ADDRESS_TEXT]);

bool nacre_address_equal(const struct nacre_address *a, const struct nacre_address *b);

#endif
