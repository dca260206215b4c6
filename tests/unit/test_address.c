/* What addresses are for: every range of IANA's registries at its edges, and one step
 * beyond them; what carries an IPv4 address; what is no spelling of an address. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/address.h"
#include "nacre/own.h"

#define PUBLIC NACRE_REACH_PUBLIC
#define PRIVATE NACRE_REACH_PRIVATE
#define NEVER NACRE_REACH_NEVER

static struct nacre_address address_of(const char *text)
{
    struct nacre_address address;

    if (!nacre_address_parse(text, strlen(text), &address))
        fail_msg("'%s' is an address", text);
    return address;
}

/* The first and last address of a range, and what lies beside them. */
static const struct {
    const char *first, *last;
    enum nacre_reach reach, before, after; /* NONE: there is no address there */
} ranges[] = {
    { "0.0.0.0", "0.255.255.255", NEVER, NACRE_REACH_NONE, PUBLIC },
    { "10.0.0.0", "10.255.255.255", PRIVATE, PUBLIC, PUBLIC },
    { "100.64.0.0", "100.127.255.255", PRIVATE, PUBLIC, PUBLIC },
    { "100.100.100.200", "100.100.100.200", NEVER, PRIVATE, PRIVATE },
    { "127.0.0.0", "127.255.255.255", NEVER, PUBLIC, PUBLIC },
    { "168.63.129.16", "168.63.129.16", NEVER, PUBLIC, PUBLIC },
    { "169.254.0.0", "169.254.255.255", NEVER, PUBLIC, PUBLIC },
    { "172.16.0.0", "172.31.255.255", PRIVATE, PUBLIC, PUBLIC },
    { "192.0.0.0", "192.0.0.255", NEVER, PUBLIC, PUBLIC },
    { "192.0.2.0", "192.0.2.255", NEVER, PUBLIC, PUBLIC },
    { "192.31.196.0", "192.31.196.255", NEVER, PUBLIC, PUBLIC },
    { "192.52.193.0", "192.52.193.255", NEVER, PUBLIC, PUBLIC },
    { "192.88.99.0", "192.88.99.255", NEVER, PUBLIC, PUBLIC },
    { "192.168.0.0", "192.168.255.255", PRIVATE, PUBLIC, PUBLIC },
    { "192.175.48.0", "192.175.48.255", NEVER, PUBLIC, PUBLIC },
    { "198.18.0.0", "198.19.255.255", NEVER, PUBLIC, PUBLIC },
    { "198.51.100.0", "198.51.100.255", NEVER, PUBLIC, PUBLIC },
    { "203.0.113.0", "203.0.113.255", NEVER, PUBLIC, PUBLIC },
    { "224.0.0.0", "255.255.255.255", NEVER, PUBLIC, NACRE_REACH_NONE },

    { "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, NACRE_REACH_NONE, PUBLIC },
    { "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PUBLIC },
    { "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PUBLIC },
    { "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PUBLIC },
    { "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PUBLIC },
    { "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PUBLIC },
    { "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PUBLIC, PRIVATE },
    { "fc00::", "fd00:41:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE, NEVER, PRIVATE },
    { "fd00:ec2::", "fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PRIVATE, PRIVATE },
    { "fd00:ec2::254", "fd00:ec2::254", NEVER, NEVER, NEVER },
    { "fd00:42::42", "fd00:42::42", NEVER, PRIVATE, PRIVATE },
    { "fd00:c1::a9fe:a9fe", "fd00:c1::a9fe:a9fe", NEVER, PRIVATE, PRIVATE },
    { "fd20:ce::254", "fd20:ce::254", NEVER, PRIVATE, PRIVATE },
    { "fe00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NEVER, PRIVATE,
      NACRE_REACH_NONE },
};

static struct nacre_address step(struct nacre_address address, int by)
{
    for (int i = (address.is_v6 ? 16 : 4) - 1; i >= 0; i--) {
        address.bytes[i] = (uint8_t)(address.bytes[i] + by);
        if (address.bytes[i] != (by > 0 ? 0 : 255))
            break;
    }
    return address;
}

static void expect(struct nacre_address address, enum nacre_reach reach, const char *of)
{
    char text[NACRE_ADDRESS_TEXT];
    const char *range;
    enum nacre_reach found = nacre_address_reach(&address, &range);

    if (found != reach)
        fail_msg("%s (of %s): %d instead of %d, in '%s'",
                 nacre_address_text(&address, text), of, found, reach, range);
    assert_int_equal(range[0] == '\0', reach == PUBLIC);
    assert_int_equal(nacre_address_reach(&address, NULL), reach);
}

static void every_special_range_ends_exactly_at_its_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(ranges); i++) {
        struct nacre_address first = address_of(ranges[i].first);
        struct nacre_address last = address_of(ranges[i].last);

        expect(first, ranges[i].reach, ranges[i].first);
        expect(last, ranges[i].reach, ranges[i].first);
        if (ranges[i].before != NACRE_REACH_NONE)
            expect(step(first, -1), ranges[i].before, ranges[i].first);
        if (ranges[i].after != NACRE_REACH_NONE)
            expect(step(last, 1), ranges[i].after, ranges[i].first);
    }
}

static const struct {
    const char *text;
    enum nacre_reach reach;
} single[] = {
    { "1.1.1.1", PUBLIC },
    { "8.8.8.8", PUBLIC },
    { "93.184.216.34", PUBLIC },
    { "2606:4700:4700::1111", PUBLIC },
    { "2a00:1450:4001:81b::200e", PUBLIC },
    { "2001:4860:4860::8888", PUBLIC },
    { "169.254.169.254", NEVER }, /* metadata */
    { "169.254.170.2", NEVER },
    { "192.0.0.192", NEVER },
    { "192.0.0.9", NEVER },
    { "::1", NEVER },
    { "::ffff:127.0.0.1", NEVER },    /* mapped, in both spellings */
    { "::ffff:7f00:1", NEVER },
    { "::ffff:8.8.8.8", NEVER },      /* and whatever it carries */
    { "::8.8.8.8", NEVER },           /* compatible */
    { "::ffff:0:8.8.8.8", NEVER },    /* translated */
    { "64:ff9b::8.8.8.8", NEVER },    /* NAT64 */
    { "64:ff9b::7f00:1", NEVER },
    { "64:ff9b:1::a00:1", NEVER },
    { "64:ff9b:1:ffff::1", NEVER },
    { "2002:7f00:1::", NEVER },       /* 6to4 */
    { "2002:808:808::1", NEVER },
    { "2001:0:4136:e378:8000:63bf:3fff:fdd2", NEVER }, /* Teredo */
    { "2606:4700::5efe:7f00:1", NEVER },               /* ISATAP, public prefix */
    { "2606:4700::200:5efe:8.8.8.8", NEVER },
    { "2606:4700::100:5efe:808:808", PUBLIC },
    { "fe80::5efe:808:808", NEVER },
    { "fe80::a9fe:a9fe", NEVER },
    { "fec0::1", NEVER },
    { "ff02::1", NEVER },
    { "100::1", NEVER },
    { "100:0:0:1::1", NEVER },
    { "5f00::1", NEVER },
    { "fd00:ec2::23", NEVER },
    { "fd12:3456:789a::1", PRIVATE },
};

static void an_address_that_carries_another_is_never_public(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(single); i++)
        expect(address_of(single[i].text), single[i].reach, single[i].text);
}

static void the_narrowest_range_is_named(void **state)
{
    static const struct {
        const char *text, *range;
    } named[] = {
        { "10.1.2.3", "10.0.0.0/8 (private use)" },
        { "169.254.169.254", "169.254.169.254/32 (cloud metadata)" },
        { "::1", "::1/128 (loopback)" },
        { "2001::1", "2001::/32 (Teredo)" },
        { "fd00:ec2::254", "fd00:ec2::/32 (cloud metadata)" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(named); i++) {
        struct nacre_address address = address_of(named[i].text);
        const char *range;

        (void)nacre_address_reach(&address, &range);
        assert_string_equal(range, named[i].range);
    }
}

static void only_the_canonical_spelling_is_an_address(void **state)
{
    static const char *const bad[] = {
        "", ".", "1", "1.2", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3",
        "1.2.3.4.", "01.2.3.4", "1.2.3.04", "1.2.3.00", "256.1.1.1", "1.2.3.256",
        "1.2.3.999", "1.2.3.1234", "0x7f.0.0.1", "1.2.3.-4", "+1.2.3.4", " 1.2.3.4",
        "1.2.3.4 ", "1.2.3.a", "2130706433", ":", ":::", "1::2::3", "::1%eth0", "[::1]",
        "::g", "12345::", "::1.2.3", "::1.2.3.04", "::256.1.1.1", "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "::ffff:0x7f.1", "fe80::1/64",
        "0000000000000000000000000000000000000000000000000000::1",
    };
    static const struct {
        const char *text, *canonical;
    } good[] = {
        { "0.0.0.0", "0.0.0.0" },
        { "255.255.255.255", "255.255.255.255" },
        { "2001:DB8:0:0::1", "2001:db8::1" },
        { "0:0:0:0:0:0:0:1", "::1" },
        { "::ffff:7f00:1", "::ffff:127.0.0.1" },
    };
    struct nacre_address address;
    char text[NACRE_ADDRESS_TEXT];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++)
        if (nacre_address_parse(bad[i], strlen(bad[i]), &address))
            fail_msg("'%s' is no address", bad[i]);
    assert_false(nacre_address_parse("1.2.3.4\0", 8, &address));
    assert_false(nacre_address_parse("::1\0", 4, &address));
    for (size_t i = 0; i < NACRE_COUNT(good); i++) {
        address = address_of(good[i].text);
        assert_string_equal(nacre_address_text(&address, text), good[i].canonical);
    }
}

static void what_a_resolver_takes_for_a_number_is_numeric(void **state)
{
    static const char *const numeric[] = {
        "2130706433", "0x7f000001", "0X7F.1", "017700000001", "127.1", "127.0.1", "0",
        "1.", "127.0.0.1", "0x", "a.0x1", "foo.1", "1.2.3.08",
    };
    static const char *const names[] = {
        "", ".", "a", "1a", "a1", "x0", "1.com", "0x7f.example", "1.2.3.4.example", "0a",
        "12-3",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(numeric); i++)
        if (!nacre_address_is_numeric(numeric[i], strlen(numeric[i])))
            fail_msg("'%s' is a number to some", numeric[i]);
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (nacre_address_is_numeric(names[i], strlen(names[i])))
            fail_msg("'%s' is a number to nobody", names[i]);
}

static void addresses_of_two_families_are_never_equal(void **state)
{
    struct nacre_address four = address_of("1.2.3.4");
    struct nacre_address six = address_of("102:304::");

    (void)state;
    assert_memory_equal(four.bytes, six.bytes, 4);
    assert_false(nacre_address_equal(&four, &six));
    assert_true(nacre_address_equal(&four, &four));
    four.bytes[5] = 1; /* beyond its four bytes */
    six = address_of("1.2.3.4");
    assert_true(nacre_address_equal(&four, &six));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_special_range_ends_exactly_at_its_edges),
        cmocka_unit_test(an_address_that_carries_another_is_never_public),
        cmocka_unit_test(the_narrowest_range_is_named),
        cmocka_unit_test(only_the_canonical_spelling_is_an_address),
        cmocka_unit_test(what_a_resolver_takes_for_a_number_is_numeric),
        cmocka_unit_test(addresses_of_two_families_are_never_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
