/*
 * The classifier against one that is written in another way: prefixes as the registries
 * print them, read at run time and compared bit by bit, in lists by what they come to.
 * Text goes through the C library's own reader too.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/address.h"
#include "nacre/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const never4[] = {
    "0.0.0.0/8",       "100.100.100.200/32", "127.0.0.0/8",     "168.63.129.16/32",
    "169.254.0.0/16",  "192.0.0.0/24",       "192.0.2.0/24",    "192.31.196.0/24",
    "192.52.193.0/24", "192.88.99.0/24",     "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24",     "224.0.0.0/4",     "240.0.0.0/4",
};
static const char *const private4[] = { "10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12",
                                        "192.168.0.0/16" };
static const char *const public6[] = { "2000::/3" };
static const char *const never6[] = {
    "2001::/23",        "2001:db8::/32", "2002::/16",       "2620:4f:8000::/48",
    "3fff::/20",        "fd00:ec2::/32", "fd00:42::42/128", "fd00:c1::a9fe:a9fe/128",
    "fd20:ce::254/128",
};
static const char *const private6[] = { "fc00::/7" };

static int bit_at(const uint8_t *bytes, int bit)
{
    return bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static int is_in(const struct nacre_address *address, const char *prefix)
{
    char text[64];
    uint8_t bytes[16];
    char *slash;

    assert(strlen(prefix) < sizeof(text));
    memcpy(text, prefix, strlen(prefix) + 1);
    slash = strchr(text, '/');
    *slash = '\0';
    assert(inet_pton(address->is_v6 ? AF_INET6 : AF_INET, text, bytes) == 1);
    for (int bit = 0; bit < atoi(slash + 1); bit++)
        if (bit_at(bytes, bit) != bit_at(address->bytes, bit))
            return 0;
    return 1;
}

static int is_in_any(const struct nacre_address *address, const char *const *prefixes,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(address, prefixes[i]))
            return 1;
    return 0;
}

#define IN(list) is_in_any(address, list, NACRE_COUNT(list))

static enum nacre_reach reach(const struct nacre_address *address)
{
    static const uint8_t isatap[2][4] = { { 0, 0, 0x5e, 0xfe }, { 2, 0, 0x5e, 0xfe } };

    if (!address->is_v6)
        return IN(never4)     ? NACRE_REACH_NEVER
               : IN(private4) ? NACRE_REACH_PRIVATE
                              : NACRE_REACH_PUBLIC;
    if (memcmp(address->bytes + 8, isatap[0], 4) == 0 ||
        memcmp(address->bytes + 8, isatap[1], 4) == 0 || IN(never6))
        return NACRE_REACH_NEVER;
    if (IN(private6))
        return NACRE_REACH_PRIVATE;
    return IN(public6) ? NACRE_REACH_PUBLIC : NACRE_REACH_NEVER;
}

static void check(const struct nacre_address *address)
{
    char text[NACRE_ADDRESS_TEXT];
    struct nacre_address again;
    const char *range;
    enum nacre_reach found = nacre_address_reach(address, &range);

    assert(found == reach(address));
    assert((found == NACRE_REACH_PUBLIC) == (range[0] == '\0'));
    (void)nacre_address_text(address, text);
    assert(nacre_address_parse(text, strlen(text), &again));
    assert(nacre_address_equal(address, &again));
}

/* Near a registry's prefix is where a classifier errs: a few bits of the input choose
 * one, the rest lands behind it. */
static void check_near(const uint8_t *data, size_t size)
{
    struct nacre_address address = { .is_v6 = data[0] & 1 };
    const char *const *list = address.is_v6 ? never6 : never4;
    size_t count = address.is_v6 ? NACRE_COUNT(never6) : NACRE_COUNT(never4);
    size_t width = address.is_v6 ? 16 : 4;
    const char *prefix = list[(data[0] >> 1) % count];
    char text[64];

    if (data[0] & 0x80)
        prefix = address.is_v6 ? private6[0] : private4[(data[0] >> 1) % 4];
    memcpy(text, prefix, strlen(prefix) + 1);
    *strchr(text, '/') = '\0';
    assert(inet_pton(address.is_v6 ? AF_INET6 : AF_INET, text, address.bytes) == 1);
    for (size_t i = 1; i < size && i <= width; i++)
        address.bytes[width - i] ^= data[i];
    check(&address);
    /* One step below: the borrow runs through the prefix. */
    for (size_t i = width; i > 0 && address.bytes[i - 1]-- == 0; i--)
        ;
    check(&address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nacre_address address = { 0 };
    char text[64];
    uint8_t bytes[16];
    bool parsed;

    if (size == 0)
        return 0;
    check_near(data, size);
    if (size == 4 || size == 16) {
        address.is_v6 = size == 16;
        memcpy(address.bytes, data, size);
        check(&address);
    }
    parsed = nacre_address_parse((const char *)data, size, &address);
    if (parsed)
        check(&address);
    if (size < sizeof(text) && !memchr(data, '\0', size)) {
        memcpy(text, data, size);
        text[size] = '\0';
        /* The C library's reader takes nothing that ours refuses but an IPv4 tail with
         * zeros in front, and ours nothing that it refuses. */
        if (parsed)
            assert(inet_pton(address.is_v6 ? AF_INET6 : AF_INET, text, bytes) == 1 &&
                   memcmp(bytes, address.bytes, address.is_v6 ? 16 : 4) == 0);
        if (inet_pton(AF_INET, text, bytes) == 1)
            assert(parsed && nacre_address_is_numeric(text, size));
        if (inet_aton(text, &(struct in_addr){ 0 }) && !strpbrk(text, " \t\n\v\f\r"))
            assert(nacre_address_is_numeric(text, size));
    }
    return 0;
}
