/*
 * Trusts nobody: addresses come from guests, from servers and from DNS.  The table is all
 * of IANA's special-purpose registries (IPv4: RFC 6890 and later; IPv6 likewise), what
 * lies outside of global unicast, and the single addresses that clouds answer secrets
 * from.  The longest prefix that holds an address decides.
 */
#include "nacre/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "nacre/own.h"

/* An IPv4 prefix lies in the upper half of `high`. */
struct range {
    uint64_t high, low;
    uint8_t bits;
    bool is_v6;
    enum nacre_reach reach;
    const char *text;
};

#define V4(a, b, c, d, length, kind, words)                                              \
    { .high = (uint64_t)(a) << 56 | (uint64_t)(b) << 48 | (uint64_t)(c) << 40 |          \
              (uint64_t)(d) << 32,                                                       \
      .bits = length, .reach = NACRE_REACH_##kind,                                       \
      .text = #a "." #b "." #c "." #d "/" #length " (" words ")" }
#define V6(upper, lower, length, kind, words)                                            \
    { .high = UINT64_C(upper), .low = UINT64_C(lower), .bits = length, .is_v6 = true,    \
      .reach = NACRE_REACH_##kind, .text = words }

static const struct range ranges[] = {
    V4(0, 0, 0, 0, 8, NEVER, "this network"),
    V4(10, 0, 0, 0, 8, PRIVATE, "private use"),
    V4(100, 64, 0, 0, 10, PRIVATE, "shared by carriers"),
    V4(100, 100, 100, 200, 32, NEVER, "cloud metadata"),
    V4(127, 0, 0, 0, 8, NEVER, "loopback"),
    V4(168, 63, 129, 16, 32, NEVER, "cloud metadata"),
    V4(169, 254, 0, 0, 16, NEVER, "link-local"),
    V4(169, 254, 169, 254, 32, NEVER, "cloud metadata"),
    V4(172, 16, 0, 0, 12, PRIVATE, "private use"),
    V4(192, 0, 0, 0, 24, NEVER, "protocol assignments"),
    V4(192, 0, 0, 192, 32, NEVER, "cloud metadata"),
    V4(192, 0, 2, 0, 24, NEVER, "documentation"),
    V4(192, 31, 196, 0, 24, NEVER, "AS112"),
    V4(192, 52, 193, 0, 24, NEVER, "automatic multicast tunnels"),
    V4(192, 88, 99, 0, 24, NEVER, "6to4 relays"),
    V4(192, 168, 0, 0, 16, PRIVATE, "private use"),
    V4(192, 175, 48, 0, 24, NEVER, "AS112"),
    V4(198, 18, 0, 0, 15, NEVER, "benchmarks"),
    V4(198, 51, 100, 0, 24, NEVER, "documentation"),
    V4(203, 0, 113, 0, 24, NEVER, "documentation"),
    V4(224, 0, 0, 0, 4, NEVER, "multicast"),
    V4(240, 0, 0, 0, 4, NEVER, "reserved"),
    V4(255, 255, 255, 255, 32, NEVER, "broadcast"),

    /* Global unicast is 2000::/3; these three are all the rest. */
    V6(0, 0, 3, NEVER, "::/3 (not global unicast)"),
    V6(0x4000000000000000, 0, 2, NEVER, "4000::/2 (not global unicast)"),
    V6(0x8000000000000000, 0, 1, NEVER, "8000::/1 (not global unicast)"),

    V6(0, 0, 96, NEVER, "::/96 (IPv4-compatible)"),
    V6(0, 0, 128, NEVER, "::/128 (unspecified)"),
    V6(0, 1, 128, NEVER, "::1/128 (loopback)"),
    V6(0, 0x0000ffff00000000, 96, NEVER, "::ffff:0:0/96 (IPv4-mapped)"),
    V6(0, 0xffff000000000000, 96, NEVER, "::ffff:0:0:0/96 (IPv4-translated)"),
    V6(0x0064ff9b00000000, 0, 96, NEVER, "64:ff9b::/96 (NAT64)"),
    V6(0x0064ff9b00010000, 0, 48, NEVER, "64:ff9b:1::/48 (local NAT64)"),
    V6(0x0100000000000000, 0, 64, NEVER, "100::/64 (discard)"),
    V6(0x0100000000000001, 0, 64, NEVER, "100:0:0:1::/64 (dummy)"),
    V6(0x2001000000000000, 0, 23, NEVER, "2001::/23 (protocol assignments)"),
    V6(0x2001000000000000, 0, 32, NEVER, "2001::/32 (Teredo)"),
    V6(0x2001000200000000, 0, 48, NEVER, "2001:2::/48 (benchmarks)"),
    V6(0x2001001000000000, 0, 28, NEVER, "2001:10::/28 (ORCHID)"),
    V6(0x2001002000000000, 0, 28, NEVER, "2001:20::/28 (ORCHIDv2)"),
    V6(0x2001003000000000, 0, 28, NEVER, "2001:30::/28 (drone identities)"),
    V6(0x20010db800000000, 0, 32, NEVER, "2001:db8::/32 (documentation)"),
    V6(0x2002000000000000, 0, 16, NEVER, "2002::/16 (6to4)"),
    V6(0x2620004f80000000, 0, 48, NEVER, "2620:4f:8000::/48 (AS112)"),
    V6(0x3fff000000000000, 0, 20, NEVER, "3fff::/20 (documentation)"),
    V6(0x5f00000000000000, 0, 16, NEVER, "5f00::/16 (segment routing)"),
    V6(0xfc00000000000000, 0, 7, PRIVATE, "fc00::/7 (unique local)"),
    V6(0xfd000ec200000000, 0, 32, NEVER, "fd00:ec2::/32 (cloud metadata)"),
    V6(0xfd00004200000000, 0x42, 128, NEVER, "fd00:42::42/128 (cloud metadata)"),
    V6(0xfd0000c100000000, 0xa9fea9fe, 128, NEVER,
       "fd00:c1::a9fe:a9fe/128 (cloud metadata)"),
    V6(0xfd2000ce00000000, 0x254, 128, NEVER, "fd20:ce::254/128 (cloud metadata)"),
    V6(0xfe80000000000000, 0, 10, NEVER, "fe80::/10 (link-local)"),
    V6(0xfec0000000000000, 0, 10, NEVER, "fec0::/10 (site-local)"),
    V6(0xff00000000000000, 0, 8, NEVER, "ff00::/8 (multicast)"),
};

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (size_t i = 0; i < 8; i++)
        word = word << 8 | bytes[i];
    return word;
}

/* All ones in the first `bits` of 64. */
static uint64_t mask(unsigned bits)
{
    return bits == 0 ? 0 : bits >= 64 ? UINT64_MAX : ~(UINT64_MAX >> bits);
}

static bool holds(const struct range *range, uint64_t high, uint64_t low)
{
    unsigned low_bits = range->bits > 64 ? range->bits - 64u : 0;

    return ((high ^ range->high) & mask(range->bits)) == 0 &&
           ((low ^ range->low) & mask(low_bits)) == 0;
}

/* An interface identifier of RFC 5214 makes a router wrap packets for the IPv4 address in
 * its last half, behind any prefix. */
static bool is_isatap(uint64_t low)
{
    uint64_t upper = low >> 32;

    return upper == 0x00005efe || upper == 0x02005efe;
}

enum nacre_reach nacre_address_reach(const struct nacre_address *address,
                                     const char **ret_range)
{
    uint64_t high = address->is_v6 ? word_at(address->bytes)
                                   : word_at(address->bytes) & mask(32);
    uint64_t low = address->is_v6 ? word_at(address->bytes + 8) : 0;
    const struct range *found = NULL;

    if (ret_range)
        *ret_range = "";
    if (address->is_v6 && is_isatap(low)) {
        if (ret_range)
            *ret_range = "::5efe:0:0/96 behind any prefix (ISATAP)";
        return NACRE_REACH_NEVER;
    }
    for (size_t i = 0; i < NACRE_COUNT(ranges); i++)
        if (ranges[i].is_v6 == address->is_v6 && holds(&ranges[i], high, low) &&
            (!found || ranges[i].bits > found->bits))
            found = &ranges[i];
    if (!found)
        return NACRE_REACH_PUBLIC;
    if (ret_range)
        *ret_range = found->text;
    return found->reach;
}

/* ---- as text ---- */

/* Four numbers, of one spelling each; inet_pton() lets no leading zero pass, but that is
 * not promised by every C library. */
static bool parse_v4(const char *text, size_t length, uint8_t ret_bytes[4])
{
    size_t at = 0;

    for (size_t part = 0; part < 4; part++) {
        size_t start = at;
        unsigned number = 0;

        if (part > 0 && (at >= length || text[at++] != '.'))
            return false;
        start = at;
        while (at < length && at - start < 3 && text[at] >= '0' && text[at] <= '9')
            number = 10 * number + (unsigned)(text[at++] - '0');
        if (at == start || number > 255 || (text[start] == '0' && at - start > 1))
            return false;
        ret_bytes[part] = (uint8_t)number;
    }
    return at == length;
}

bool nacre_address_parse(const char *text, size_t length,
                         struct nacre_address *ret_address)
{
    struct nacre_address address = { 0 };
    char copy[NACRE_ADDRESS_TEXT];
    const char *tail;

    if (parse_v4(text, length, address.bytes)) {
        *ret_address = address;
        return true;
    }
    if (length >= sizeof(copy) || !memchr(text, ':', length) ||
        memchr(text, '\0', length))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    address = (struct nacre_address){ .is_v6 = true };
    /* An IPv4 tail is held to the same spelling. */
    tail = strrchr(copy, ':') + 1;
    if (strchr(tail, '.') && !parse_v4(tail, strlen(tail), address.bytes))
        return false;
    if (inet_pton(AF_INET6, copy, address.bytes) != 1)
        return false;
    *ret_address = address;
    return true;
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* inet_aton() and the URL standard both go by the last label: one that is a number makes
 * the whole an address, or an error. */
bool nacre_address_is_numeric(const char *text, size_t length)
{
    size_t start, at;

    if (length > 0 && text[length - 1] == '.')
        length--;
    for (start = length; start > 0 && text[start - 1] != '.';)
        start--;
    if (length - start >= 2 && text[start] == '0' &&
        (text[start + 1] == 'x' || text[start + 1] == 'X'))
        return true;
    for (at = start; at < length && is_digit(text[at]);)
        at++;
    return at > start && at == length;
}

const char *nacre_address_text(const struct nacre_address *address,
                               char ret_text[NACRE_ADDRESS_TEXT])
{
    if (!inet_ntop(address->is_v6 ? AF_INET6 : AF_INET, address->bytes, ret_text,
                   NACRE_ADDRESS_TEXT))
        ret_text[0] = '\0';
    return ret_text;
}

bool nacre_address_equal(const struct nacre_address *a, const struct nacre_address *b)
{
    return a->is_v6 == b->is_v6 &&
           memcmp(a->bytes, b->bytes, a->is_v6 ? 16 : 4) == 0;
}
