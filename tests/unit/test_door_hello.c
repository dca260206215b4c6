/*
 * The name that a TLS client asks for.  A client may send anything: whatever is not one
 * plain hello with one name is told apart and refused, wherever the stream is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hello.h"
#include "nacre/own.h"

#define WIRE ((size_t)96 << 10)

struct bytes {
    uint8_t bytes[WIRE];
    size_t count;
};

static struct bytes extensions, message, wire;

static void add(struct bytes *to, const void *bytes, size_t count)
{
    assert_true(count <= sizeof(to->bytes) - to->count);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static void add_number(struct bytes *to, size_t number, size_t width)
{
    for (size_t i = width; i-- > 0;) {
        uint8_t byte = (uint8_t)(number >> (8 * i));

        add(to, &byte, 1);
    }
}

static void add_extension(size_t type, const void *bytes, size_t count)
{
    add_number(&extensions, type, 2);
    add_number(&extensions, count, 2);
    add(&extensions, bytes, count);
}

static void add_name_of(const char *name, size_t count)
{
    static struct bytes list;

    list.count = 0;
    add_number(&list, count + 3, 2);
    add_number(&list, 0, 1);
    add_number(&list, count, 2);
    add(&list, name, count);
    add_extension(0, list.bytes, list.count);
}

static void add_name(const char *name)
{
    add_name_of(name, strlen(name));
}

/* The message from what is in `extensions`, or without any. */
static void make_message(bool with_extensions)
{
    static const uint8_t random[32] = { 7 };
    static struct bytes body;

    body.count = 0;
    add_number(&body, 0x0303, 2);
    add(&body, random, sizeof(random));
    add_number(&body, 0, 1);
    add_number(&body, 4, 2);
    add_number(&body, 0x13011302, 4);
    add_number(&body, 1, 1);
    add_number(&body, 0, 1);
    if (with_extensions) {
        add_number(&body, extensions.count, 2);
        add(&body, extensions.bytes, extensions.count);
    }
    message.count = 0;
    add_number(&message, 1, 1);
    add_number(&message, body.count, 3);
    add(&message, body.bytes, body.count);
}

/* As records of at most `piece` bytes. */
static void make_records(size_t piece)
{
    wire.count = 0;
    for (size_t at = 0; at < message.count; at += piece) {
        size_t count = message.count - at < piece ? message.count - at : piece;

        add_number(&wire, 22, 1);
        add_number(&wire, 0x0301, 2);
        add_number(&wire, count, 2);
        add(&wire, message.bytes + at, count);
    }
}

static void make(size_t piece)
{
    make_message(true);
    make_records(piece);
}

static int anew(void **state)
{
    (void)state;
    extensions.count = 0;
    return 0;
}

static enum door_hello_is read_all(struct door_hello *ret_hello)
{
    return door_hello_read(wire.bytes, wire.count, ret_hello);
}

static enum door_hello_is verdict(void)
{
    struct door_hello hello;

    return read_all(&hello);
}

/* Every beginning asks for more, and no more than the whole is needed. */
static void assert_name_wherever_cut(const char *name)
{
    struct door_hello hello;

    for (size_t cut = 0; cut < wire.count; cut++) {
        memset(&hello, 0x55, sizeof(hello));
        assert_int_equal(door_hello_read(wire.bytes, cut, &hello), DOOR_HELLO_MORE);
        assert_int_equal(hello.name[0], 0x55);
    }
    assert_int_equal(read_all(&hello), DOOR_HELLO_WHOLE);
    assert_string_equal(hello.name, name);
}

static void a_name_is_found_wherever_the_stream_is_cut(void **state)
{
    (void)state;
    add_extension(0x0a0a, "", 0);
    add_name("api.example.com");
    add_extension(43, "\x02\x03\x04", 3);
    make(16384);
    assert_name_wherever_cut("api.example.com");
    add_number(&wire, 0x14, 1); /* what follows the hello is not looked at */
    assert_int_equal(verdict(), DOOR_HELLO_WHOLE);
}

static void a_name_is_found_in_a_hello_of_many_records(void **state)
{
    (void)state;
    add_name("A-b_c.Example");
    for (size_t piece = 1; piece < 70; piece++) {
        make(piece);
        assert_name_wherever_cut("A-b_c.Example");
    }
}

static void large_key_shares_are_no_reason_to_refuse(void **state)
{
    static const uint8_t share[4000];

    (void)state;
    add_extension(51, share, sizeof(share));
    add_extension(41, share, sizeof(share));
    add_name("example.com");
    make(1400);
    assert_name_wherever_cut("example.com");
}

static void a_hello_without_a_name_is_told_apart(void **state)
{
    (void)state;
    make_message(false);
    make_records(16384);
    assert_int_equal(verdict(), DOOR_HELLO_NO_NAME);
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_NO_NAME);
    add_extension(43, "\x02\x03\x04", 3);
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_NO_NAME);
}

static void an_encrypted_hello_is_told_apart_with_its_outer_name(void **state)
{
    static const size_t types[] = { 0xfe0d, 0xfd00, 0xffce };
    struct door_hello hello;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(types); i++) {
        extensions.count = 0;
        add_extension(types[i], "\0grease", 7);
        make(16384);
        assert_int_equal(read_all(&hello), DOOR_HELLO_ENCRYPTED);
        assert_string_equal(hello.name, "");
        add_name("cover.example");
        make(16384);
        assert_int_equal(read_all(&hello), DOOR_HELLO_ENCRYPTED);
        assert_string_equal(hello.name, "cover.example");
    }
}

static void what_is_not_tls_is_known_by_its_first_bytes(void **state)
{
    static const char *const words[] = {
        "GET / HTTP/1.1\r\n", "SSH-2.0-x", "\x80\x2e\x01", "\x17\x03\x03",
        "\x15\x03", "\x16\x02", "\x16G",
    };
    struct door_hello hello;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        assert_int_equal(door_hello_read((const uint8_t *)words[i], strlen(words[i]),
                                         &hello),
                         DOOR_HELLO_NOT_TLS);
    assert_int_equal(door_hello_read((const uint8_t *)"", 0, &hello), DOOR_HELLO_MORE);
}

static void names_that_no_host_has_are_refused(void **state)
{
    static const struct {
        const char *name;
        size_t count;
    } rows[] = {
        { "", 0 },           { "a\0b", 3 },       { "a b", 3 },       { "a/b", 3 },
        { "a:443", 5 },      { "[::1]", 5 },      { "a\r\nb", 4 },
        { "\xc3\xa9.fr", 5 },
        { "user@host", 9 },  { "a%00", 4 },       { "*.example", 9 }, { "a\\b", 3 },
    };
    char many[256];

    (void)state;
    memset(many, 'a', sizeof(many));
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        extensions.count = 0;
        add_name_of(rows[i].name, rows[i].count);
        make(16384);
        assert_int_equal(verdict(), DOOR_HELLO_BAD);
    }
    extensions.count = 0;
    add_name_of(many, sizeof(many));
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
}

static void two_names_or_none_in_a_list_are_refused(void **state)
{
    (void)state;
    add_extension(0, "\0\x08\0\0\x01" "a\0\0\x01" "b", 10);
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    extensions.count = 0;
    add_extension(0, "\0\0", 2);
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    extensions.count = 0;
    add_extension(0, "", 0); /* a server's, not a client's */
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    extensions.count = 0;
    add_extension(0, "\0\x04\x01\0\x01" "a", 6); /* of another type */
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    extensions.count = 0;
    add_extension(0, "\0\x04\0\0\x01" "ax", 7); /* something behind the list */
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
}

static void an_extension_that_comes_twice_is_refused(void **state)
{
    (void)state;
    add_name("a.example");
    add_name("b.example");
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    extensions.count = 0;
    for (size_t type = 100; type < 200; type++) /* and too many of them */
        add_extension(type, "", 0);
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
}

/* Each byte of the lengths, one more and one less: never WHOLE, never read beyond. */
static void lengths_that_do_not_add_up_are_refused(void **state)
{
    static const size_t places[] = { 4, 8, 43, 45, 50, 53, 57, 59, 62 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(places); i++)
        for (int change = -1; change <= 1; change += 2) {
            enum door_hello_is is;

            anew(NULL);
            add_name("example.com");
            make(16384);
            wire.bytes[places[i]] = (uint8_t)(wire.bytes[places[i]] + change);
            is = verdict();
            assert_true(is == DOOR_HELLO_BAD || is == DOOR_HELLO_MORE);
        }
}

static void a_second_message_in_the_record_is_refused_wherever_it_is_cut(void **state)
{
    struct door_hello hello;

    (void)state;
    add_name("example.com");
    make_message(true);
    add_number(&message, 1, 1);
    make_records(16384);
    for (size_t cut = 5 + 4; cut <= wire.count; cut++)
        assert_int_equal(door_hello_read(wire.bytes, cut, &hello), DOOR_HELLO_BAD);
}

static void other_records_and_messages_are_refused(void **state)
{
    (void)state;
    add_name("example.com");
    make(40);
    wire.bytes[45] = 23; /* the second record's type */
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    make(16384);
    wire.bytes[5] = 2; /* a server's hello */
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    make(16384);
    wire.bytes[3] = wire.bytes[4] = 0; /* an empty record */
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    make(16384);
    wire.bytes[3] = 0x40; /* one over the limit */
    wire.bytes[4] = 1;
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
    make(16384);
    wire.bytes[9] = 2; /* SSL 2 inside */
    assert_int_equal(verdict(), DOOR_HELLO_BAD);
}

static void a_hello_has_a_ceiling(void **state)
{
    static const uint8_t share[DOOR_HELLO_MESSAGE_MAX];

    (void)state;
    add_extension(51, share, sizeof(share));
    make(16384);
    assert_int_equal(verdict(), DOOR_HELLO_TOO_BIG);
    extensions.count = 0; /* small pieces cost more than they carry */
    add_extension(51, share, 12000);
    make(1);
    wire.count = DOOR_HELLO_BYTES_MAX;
    assert_int_equal(verdict(), DOOR_HELLO_TOO_BIG);
    wire.count--;
    assert_int_equal(verdict(), DOOR_HELLO_MORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_name_is_found_wherever_the_stream_is_cut, anew),
        cmocka_unit_test_setup(a_name_is_found_in_a_hello_of_many_records, anew),
        cmocka_unit_test_setup(large_key_shares_are_no_reason_to_refuse, anew),
        cmocka_unit_test_setup(a_hello_without_a_name_is_told_apart, anew),
        cmocka_unit_test_setup(an_encrypted_hello_is_told_apart_with_its_outer_name, anew),
        cmocka_unit_test_setup(what_is_not_tls_is_known_by_its_first_bytes, anew),
        cmocka_unit_test_setup(names_that_no_host_has_are_refused, anew),
        cmocka_unit_test_setup(two_names_or_none_in_a_list_are_refused, anew),
        cmocka_unit_test_setup(an_extension_that_comes_twice_is_refused, anew),
        cmocka_unit_test_setup(lengths_that_do_not_add_up_are_refused, anew),
        cmocka_unit_test_setup(a_second_message_in_the_record_is_refused_wherever_it_is_cut,
                               anew),
        cmocka_unit_test_setup(other_records_and_messages_are_refused, anew),
        cmocka_unit_test_setup(a_hello_has_a_ceiling, anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
