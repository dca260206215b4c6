/* The guest SDK's JSON, arena and texts, built for this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "nacre_json.h"

static int clear(void **state)
{
    (void)state;
    nacre_arena_reset();
    return 0;
}

static struct nacre_json *read_text(const char *text)
{
    const char *fault = NULL;
    size_t offset = 0;
    struct nacre_json *value = nacre_json_read(text, strlen(text), &fault, &offset);

    if (!value)
        fail_msg("%s: %s at %zu", text, fault, offset);
    return value;
}

static void what_is_no_json_is_refused_at_its_place(void **state)
{
    static const struct {
        const char *text;
        size_t offset;
        const char *fault;
    } rows[] = {
        { "", 0, "expected a value, found the end" },
        { "  ", 2, "expected a value, found the end" },
        { "\xef\xbb\xbf{}", 0, "expected a value" },
        { "nul", 0, "expected a value" },
        { "True", 0, "expected a value" },
        { "NaN", 0, "expected a value" },
        { "{} x", 3, "something follows the value" },
        { "1 2", 2, "something follows the value" },
        { "nullx", 4, "something follows the value" },
        { "01", 0, "a number must not begin with 0" },
        { "-", 1, "a number needs digits" },
        { "+1", 0, "expected a value" },
        { ".5", 0, "expected a value" },
        { "1.", 2, "digits must follow the point" },
        { "1.e1", 2, "digits must follow the point" },
        { "1e", 2, "the exponent needs digits" },
        { "1e+", 3, "the exponent needs digits" },
        { "-01", 1, "a number must not begin with 0" },
        { "0x10", 1, "something follows the value" },
        { "\"abc", 4, "the string has no end" },
        { "\"abc\\", 5, "the string has no end" },
        { "\"a\nb\"", 2, "a control character in a string" },
        { "\"\\x\"", 2, "no such escape" },
        { "\"\\u12\"", 3, "\\u needs four hex digits" },
        { "\"\\u12g4\"", 3, "\\u needs four hex digits" },
        { "\"\\ud800\"", 7, "half of a surrogate pair" },
        { "\"\\ud800\\u0041\"", 7, "half of a surrogate pair" },
        { "\"\\udc00\"", 3, "the second half of a surrogate pair without the first" },
        { "\"\xc0\xaf\"", 1, "not UTF-8" },
        { "\"\xed\xa0\x80\"", 1, "not UTF-8" },
        { "\"\xf4\x90\x80\x80\"", 1, "not UTF-8" },
        { "\"\xff\"", 1, "not UTF-8" },
        { "\"\xe0\x9f\xbf\"", 1, "not UTF-8" },
        { "\"\xf0\x8f\xbf\xbf\"", 1, "not UTF-8" },
        { "\"\xf5\x80\x80\x80\"", 1, "not UTF-8" },
        { "\"\x80\"", 1, "not UTF-8" },
        { "\"plain and long \xc1\xbf\"", 16, "not UTF-8" },
        { "\"plain and long \n\"", 16, "a control character in a string" },
        { "\"\xe2\x82\"", 1, "not UTF-8" },
        { "[1,]", 3, "expected a value" },
        { "[1 2]", 3, "expected , or ]" },
        { "[", 1, "expected a value, found the end" },
        { "[1", 2, "expected , or ]" },
        { "{", 1, "expected a key in quotes" },
        { "{a:1}", 1, "expected a key in quotes" },
        { "{\"a\" 1}", 5, "expected :" },
        { "{\"a\":}", 5, "expected a value" },
        { "{\"a\":1,}", 7, "expected a key in quotes" },
        { "{\"a\":1", 6, "expected , or }" },
        { "{\"a\":1]", 6, "expected , or }" },
        { "{\"a\":1,\"a\":2}", 7, "this key is there twice" },
        { "{\"a\":1,\"\\u0061\":2}", 7, "this key is there twice" },
        { "{\"a\\u0000b\":1}", 1, "a NUL in a key" },
        { "/**/1", 0, "expected a value" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *fault = NULL;
        size_t offset = SIZE_MAX, count = strlen(rows[i].text);
        char *exact = malloc(count + 1); /* so that a byte too many is seen */

        memcpy(exact, rows[i].text, count);
        if (nacre_json_read(exact, count, &fault, &offset))
            fail_msg("%s was read", rows[i].text);
        if (offset != rows[i].offset || strcmp(fault, rows[i].fault) != 0)
            fail_msg("%s: %s at %zu", rows[i].text, fault, offset);
        free(exact);
    }
}

static void what_was_read_is_written_as_it_was(void **state)
{
    static const char *const rows[] = {
        "null", "true", "false", "0", "-0", "1.50e+10", "\"\"", "[]", "{}",
        "123456789012345678901234567890", "[1,[2,[3]],{\"a\":{\"b\":null}}]",
        "{\"z\":1,\"a\":2}", "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f/\"",
        "\"\xc3\xa9 \xe2\x98\x83 \xf0\x9d\x84\x9e \x7f\"",
    };
    size_t count;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(nacre_json_write(read_text(rows[i]), 0, &count), rows[i]);
    assert_string_equal(nacre_json_write(read_text(" [ 1 , { \"a\" : [ ] } ] "), 2, &count),
                        "[\n  1,\n  {\n    \"a\": []\n  }\n]");
}

static void escapes_mean_their_characters(void **state)
{
    const struct nacre_json *value = read_text("\"\\u00e9\\u2603\\ud834\\udd1e\\u0000\\/\"");

    (void)state;
    assert_int_equal(value->length, 2 + 3 + 4 + 1 + 1);
    assert_memory_equal(value->text, "\xc3\xa9\xe2\x98\x83\xf0\x9d\x84\x9e\0/", 12);
}

static void depth_has_a_limit(void **state)
{
    char text[2 * NACRE_JSON_DEPTH_MAX + 2];
    const char *fault;
    size_t offset;

    (void)state;
    memset(text, '[', NACRE_JSON_DEPTH_MAX + 1);
    memset(text + NACRE_JSON_DEPTH_MAX + 1, ']', NACRE_JSON_DEPTH_MAX + 1);
    assert_null(nacre_json_read(text, sizeof text, &fault, &offset));
    assert_string_equal(fault, "nested too deeply");
    assert_int_equal(offset, NACRE_JSON_DEPTH_MAX);
    assert_non_null(nacre_json_read(text + 1, sizeof text - 2, &fault, &offset));
}

static void a_key_that_is_there_twice_is_found_among_many(void **state)
{
    struct nacre_text text = { 0 };
    const char *fault;
    size_t offset, second, third;

    (void)state;
    nacre_text_addf(&text, "{");
    for (int i = 0; i < 50000; i++)
        nacre_text_addf(&text, "\"k%d\":%d,", i, i);
    second = text.count;
    nacre_text_addf(&text, "\"k777\":0,");
    third = text.count;
    nacre_text_addf(&text, "\"k3\":0}");
    assert_null(nacre_json_read(text.bytes, text.count, &fault, &offset));
    assert_string_equal(fault, "this key is there twice");
    assert_int_equal(offset, second);
    text.bytes[second + 1] = 'x';
    assert_null(nacre_json_read(text.bytes, text.count, &fault, &offset));
    assert_int_equal(offset, third);
    text.bytes[third + 1] = 'y';
    assert_int_equal(nacre_json_read(text.bytes, text.count, &fault, &offset)->count, 50002);
}

static void whole_numbers_are_exact_and_others_are_none(void **state)
{
    static const struct {
        const char *text;
        int64_t number; /* -7: none */
    } rows[] = {
        { "0", 0 }, { "-0", 0 }, { "0.0", 0 }, { "0e9999999999", 0 }, { "5", 5 },
        { "9223372036854775807", INT64_MAX }, { "-9223372036854775808", INT64_MIN },
        { "9223372036854775808", -7 }, { "-9223372036854775809", -7 },
        { "99999999999999999999999", -7 }, { "1.5", -7 }, { "1.0", 1 }, { "100", 100 },
        { "1.50e1", 15 }, { "150e-1", 15 }, { "15e-1", -7 }, { "1e18", 1000000000000000000 },
        { "1e19", -7 }, { "1e999999999999", -7 }, { "1e-999999999999", -7 },
        { "0.001e3", 1 }, { "true", -7 }, { "\"5\"", -7 }, { "null", -7 }, { "[5]", -7 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (nacre_json_int(read_text(rows[i].text), -7) != rows[i].number)
            fail_msg("%s", rows[i].text);
    assert_int_equal(nacre_json_int(NULL, 3), 3);
    assert_string_equal(nacre_json_number(INT64_MIN)->text, "-9223372036854775808");
    assert_string_equal(nacre_json_number(0)->text, "0");
}

static void objects_change_in_place(void **state)
{
    struct nacre_json *object = read_text("{\"a\":1,\"b\":2,\"c\":3}");
    size_t count;

    (void)state;
    nacre_json_set(object, "b", nacre_json_bool(true));
    nacre_json_set(object, "d", nacre_json_text("x"));
    assert_true(nacre_json_remove(object, "a"));
    assert_false(nacre_json_remove(object, "a"));
    assert_string_equal(nacre_json_write(object, 0, &count),
                        "{\"b\":true,\"c\":3,\"d\":\"x\"}");
    assert_true(nacre_json_remove(object, "d"));
    nacre_json_set(object, "e", nacre_json_new(NACRE_JSON_NULL));
    assert_true(nacre_json_remove(object, "b") && nacre_json_remove(object, "c") &&
                nacre_json_remove(object, "e"));
    nacre_json_set(object, "f", nacre_json_number(-1));
    assert_string_equal(nacre_json_write(object, 0, &count), "{\"f\":-1}");
    assert_int_equal(object->count, 1);
    assert_null(nacre_json_get(read_text("[1]"), "f"));
    assert_null(nacre_json_at(read_text("[1,2]"), 2));
    assert_int_equal(nacre_json_int(nacre_json_at(read_text("[1,2]"), 1), 0), 2);
}

static void writing_makes_json_of_any_bytes(void **state)
{
    const struct nacre_json *value = nacre_json_string("a\xff\xc3\0\xc2\x80", 6);
    size_t count;
    char *text = nacre_json_write(value, 0, &count);

    (void)state;
    assert_string_equal(text, "\"a\\\\xFF\\\\xC3\\u0000\xc2\x80\"");
    (void)read_text(text);
}

static void shown_text_cannot_steer_a_terminal(void **state)
{
    struct nacre_text text = { 0 };
    const char *bytes = "a\tb\n\r\x1b[m\x7f\xc2\x9b\xc3\xa9\xe2\x82";

    (void)state;
    assert_int_equal(nacre_text_add_shown(&text, bytes, strlen(bytes)), 7);
    assert_string_equal(text.bytes, "a\tb\n\\x0D\\x1B[m\\x7F\\xC2\\x9B\xc3\xa9\\xE2\\x82");
}

static void texts_and_blocks_grow_without_losing_anything(void **state)
{
    struct nacre_text one = { 0 }, two = { 0 };
    char *block = nacre_arena(10);

    (void)state;
    memcpy(block, "0123456789", 10);
    for (int i = 0; i < 20000; i++) {
        nacre_text_addf(&one, "%d,", i);
        nacre_text_add(&two, "xy", 2);
    }
    block = nacre_arena_grow(block, 10, 12);
    block = nacre_arena_grow(block, 12, 20000);
    block = nacre_arena_grow(block, 20000, 200000);
    memset(block + 10, 1, 199990);
    assert_memory_equal(block, "0123456789", 10);
    assert_int_equal(one.count, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 10000 * 6);
    assert_int_equal(strlen(one.bytes), one.count);
    assert_int_equal(strlen(two.bytes), 40000);
}

static int grows_without_memory(void *data)
{
    struct nacre_text text = { 0 };

    (void)data;
    (void)close(2);
    fail_alloc_after(2);
    while (text.count < 1000000)
        nacre_text_add(&text, "0123456789", 10);
    return 0;
}

static void out_of_memory_ends_the_tool(void **state)
{
    int status = in_child(grows_without_memory, NULL);

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_teardown(name, clear)
        T(what_is_no_json_is_refused_at_its_place),
        T(what_was_read_is_written_as_it_was),
        T(escapes_mean_their_characters),
        T(depth_has_a_limit),
        T(a_key_that_is_there_twice_is_found_among_many),
        T(whole_numbers_are_exact_and_others_are_none),
        T(objects_change_in_place),
        T(writing_makes_json_of_any_bytes),
        T(shown_text_cannot_steer_a_terminal),
        T(texts_and_blocks_grow_without_losing_anything),
        T(out_of_memory_ends_the_tool),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
