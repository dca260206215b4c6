/* Header fields as the door reads them, of guests and of servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "basic.h"
#include "headers.h"
#include "nacre/own.h"

static const struct {
    const char *line, *name, *value;
} good[] = {
    { "A: b\n", "A", "b" },
    { "A:b\n", "A", "b" },
    { "A: \t b \t\n", "A", "b" },
    { "A:\n", "A", "" },
    { "A:   \n", "A", "" },
    { "X-Long_name.1: a: b: c\n", "X-Long_name.1", "a: b: c" },
    { "A: tab\there\n", "A", "tab\there" },
    { "A: \xc3\xa9\n", "A", "\xc3\xa9" },
};

static void a_field_is_a_name_and_a_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(good); i++) {
        const char *at = good[i].line;
        size_t left = strlen(at);
        struct door_field field;

        assert_int_equal(door_field_next(&at, &left, &field), DOOR_NEXT_FIELD);
        assert_int_equal(left, 0);
        assert_int_equal(field.name_size, strlen(good[i].name));
        assert_memory_equal(field.name, good[i].name, field.name_size);
        assert_int_equal(field.value_size, strlen(good[i].value));
        assert_memory_equal(field.value, good[i].value, field.value_size);
        assert_int_equal(door_field_next(&at, &left, &field), DOOR_NEXT_END);
    }
}

static const struct {
    const char *text;
    size_t count;
} bad[] = {
#define BAD(text) { text, sizeof(text) - 1 }
    BAD("\n"), BAD("A\n"), BAD(": b\n"), BAD(" A: b\n"), BAD("\tA: b\n"), BAD("A : b\n"),
    BAD("A\t: b\n"), BAD("A: b"), BAD("A"), BAD("A: b\r\n"), BAD("A: b\rc\n"),
    BAD("A: b\0c\n"), BAD("A\0: b\n"), BAD("A: \x7f\n"), BAD("A: \x01\n"),
    BAD("A: \x1b[m\n"),
    BAD("A(: b\n"), BAD("A/B: b\n"), BAD("A\xc3\xa9: b\n"), BAD("{A}: b\n"),
    BAD("A,B: b\n"),
    BAD("\"A\": b\n"), BAD("\r\n"), BAD("A: b\vc\n"), BAD("A@: b\n"),
#undef BAD
};

static void what_could_end_a_line_early_is_no_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        const char *at = bad[i].text;
        size_t left = bad[i].count;
        struct door_field field = { .name = "untouched" };

        if (door_field_next(&at, &left, &field) != DOOR_NEXT_BAD)
            fail_msg("row %zu was taken", i);
        assert_ptr_equal(at, bad[i].text);
        assert_string_equal(field.name, "untouched");
    }
}

static void fields_follow_each_other_and_a_bad_one_ends_them(void **state)
{
    const char *at = "A: 1\nB: 2\n C: folded\n";
    size_t left = strlen(at);
    struct door_field field;

    (void)state;
    assert_int_equal(door_field_next(&at, &left, &field), DOOR_NEXT_FIELD);
    assert_true(door_field_is(&field, "a"));
    assert_int_equal(door_field_next(&at, &left, &field), DOOR_NEXT_FIELD);
    assert_true(door_field_is(&field, "b"));
    assert_false(door_field_is(&field, "bb"));
    assert_false(door_field_is(&field, ""));
    assert_int_equal(door_field_next(&at, &left, &field), DOOR_NEXT_BAD);
}

static struct door_field named(const char *name)
{
    return (struct door_field){ .name = name, .name_size = strlen(name) };
}

static void what_is_between_two_ends_stays_there(void **state)
{
    static const char *const names[] = {
        "Host", "HOST", "content-length", "Transfer-Encoding", "Connection", "te",
        "Trailer", "Upgrade", "Expect", "Keep-Alive", "Proxy-Authorization", "proxy-x",
    };
    static const char *const others[] = { "Hos", "Hosts", "Proxy", "X-Proxy-", "Accept",
                                          "Content-Type", "Authorization" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        struct door_field field = named(names[i]);

        assert_true(door_field_is_ours(&field));
    }
    for (size_t i = 0; i < NACRE_COUNT(others); i++) {
        struct door_field field = named(others[i]);

        assert_false(door_field_is_ours(&field));
        assert_false(door_field_is_theirs(&field));
    }
}

static void credentials_are_known_by_name(void **state)
{
    struct door_field field = named("authorization");

    (void)state;
    assert_true(door_field_is_sensitive(&field));
    field = named("X-API-Key");
    assert_true(door_field_is_sensitive(&field));
    field = named("Cookie");
    assert_true(door_field_is_sensitive(&field));
    field = named("X-Request-Id");
    assert_false(door_field_is_sensitive(&field));
}

static void methods_that_reflect_or_tunnel_are_not_sent(void **state)
{
    static const char *const sent[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
                                        "OPTIONS", "PROPFIND", "M-SEARCH" };
    static const char *const never[] = { "", "CONNECT", "TRACE", "TRACK", "get", "Get",
                                         "GET ", "GET\r", "G\nET", "GE/T", "GET HTTP",
                                         "ABCDEFGHIJKLMNOP", "\xc3\x84" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sent); i++)
        assert_true(door_method_is_sent(sent[i]));
    for (size_t i = 0; i < NACRE_COUNT(never); i++)
        assert_false(door_method_is_sent(never[i]));
}

static void basic_is_read_and_written_again(void **state)
{
    static const char *const texts[] = { "", "a", "ab", "abc", "user:pass",
                                         "user:p\xc3\xa4ss" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        struct door_locked coded = { 0 }, again = { 0 };

        assert_true(door_basic_write(texts[i], strlen(texts[i]), &coded));
        assert_true(door_basic_read(coded.bytes, coded.size, &again));
        assert_int_equal(again.size, strlen(texts[i]));
        assert_memory_equal(again.bytes ? again.bytes : "", texts[i], again.size);
        door_locked_clear(&coded);
        door_locked_clear(&again);
    }
}

static void what_is_not_basic_is_not_read(void **state)
{
    static const char *const texts[] = { "", "Basic", "Bearer YQ==", "Basic Y*==",
                                         "Basic Y Q", "Basic YQ==x", "BasicYQ==" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        struct door_locked out = { 0 };

        if (door_basic_read(texts[i], strlen(texts[i]), &out))
            fail_msg("'%s' was read", texts[i]);
        door_locked_clear(&out);
    }
}

static void locked_bytes_grow_to_their_ceiling_and_no_further(void **state)
{
    static char block[65536];
    struct door_locked locked = { 0 };

    (void)state;
    for (size_t i = 0; i < DOOR_LOCKED_MAX / sizeof(block); i++)
        assert_true(door_locked_add(&locked, block, sizeof(block)));
    assert_false(door_locked_add(&locked, "x", 1));
    assert_int_equal(locked.size, DOOR_LOCKED_MAX);
    door_locked_clear(&locked);
    assert_null(locked.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_a_name_and_a_value),
        cmocka_unit_test(what_could_end_a_line_early_is_no_field),
        cmocka_unit_test(fields_follow_each_other_and_a_bad_one_ends_them),
        cmocka_unit_test(what_is_between_two_ends_stays_there),
        cmocka_unit_test(credentials_are_known_by_name),
        cmocka_unit_test(methods_that_reflect_or_tunnel_are_not_sent),
        cmocka_unit_test(basic_is_read_and_written_again),
        cmocka_unit_test(what_is_not_basic_is_not_read),
        cmocka_unit_test(locked_bytes_grow_to_their_ceiling_and_no_further),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
