/* tools_json_read() against jansson, which it stands in for: the same verdict and the same
 * value for everything, be it read here or left to jansson. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "json_read.h"
#include "nacre/own.h"

#define MUTATIONS 20000

static const char *const right[] = {
    "{}", "[]", " \t\r\n[ ] \n", "{\"a\":1}", "[true,false,null]",
    "{\"a\":[{\"b\":{}},[],\"\"],\"\":0}",
    "[0,-0,1,-1,999999999999999999,-999999999999999999]",
    "[9223372036854775807,-9223372036854775808,1000000000000000000]",
    "[1.5,-0.0,1e3,1E-2,0.1e+10]",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\u0041\\u00e9\\ud83d\\ude00\\u0000\"]",
    "[\"a\\nb\\nc\",\"caf\xc3\xa9\",\"\xf0\x9f\x98\x80\\n\"]", "[\"\xed\x9f\xbf\x7f\"]",
    "{\"content\":[{\"type\":\"text\",\"text\":\"line\\nline\\t1\\n\"}],"
    "\"structuredContent\":{\"path\":\"/a\",\"bytes\":12},\"isError\":false}",
    "{\"a-key-that-is-longer-than-what-is-kept-for-one-on-the-stack-here-is\":1}",
};

static const char *const wrong[] = {
    "", " ", "1", "\"a\"", "true", "nul", "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":",
    "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{1:2}", "{a:1}", "[,]", "[1 2]", "[01]",
    "[-]", "[+1]", "[.5]", "[1.]", "[1e]", "[0x1]", "[12a]", "[tru]", "[truefalse]",
    "[true1]", "[nulls]", "{}{}", "{} x", "[]]", "[\"a]", "[\"\\\"]", "[\"\\x41\"]",
    "[\"\\", "[\"\\u12\"]", "[\"\\ud800\"]", "[\"\n\"]", "[\"\x01\"]", "[\"\x80\"]",
    "[\"\xc3\"]", "[\"\xc0\x80\"]", "[\"\xed\xa0\x80\"]", "[\"\xf4\x90\x80\x80\"]",
    "{\"a\":1,\"a\":2}", "{\"\xff\":1}", "{\"a\\u0000b\":1}", "[99999999999999999999]",
    "[1e999]", "/* */[]", "[1]//", "\xef\xbb\xbf[]",
};

/* 1: it is JSON, 0: it is not, -1: they do not agree. */
static int verdict(const char *bytes, size_t count)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_error_t where = { 0 }, theirs_where = { 0 };
    json_t *theirs = json_loadb(bytes, count, flags, &theirs_where);
    json_t *ours = tools_json_read(bytes, count, &where);
    int found = theirs ? 1 : 0;

    if (!ours != !theirs || (ours && !json_equal(ours, theirs)) ||
        (!ours && strcmp(where.text, theirs_where.text) != 0))
        found = -1;
    json_decref(ours);
    json_decref(theirs);
    return found;
}

static void what_is_json_is_read_as_jansson_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(right); i++)
        if (verdict(right[i], strlen(right[i])) != 1)
            fail_msg("%s", right[i]);
}

static void what_is_not_is_refused_in_jansson_s_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(wrong); i++)
        if (verdict(wrong[i], strlen(wrong[i])) != 0)
            fail_msg("%s", wrong[i]);
    assert_int_equal(verdict("[\"a\0b\"]", 7), 0);
    assert_int_equal(verdict("[]\0", 3), 0);
}

static void nesting_has_an_end(void **state)
{
    static char text[8192];

    (void)state;
    for (size_t depth = 1; depth <= sizeof(text) / 2; depth = depth < 40 ? depth + 1
                                                                        : depth * 2) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(verdict(text, 2 * depth), depth <= 2048);
    }
}

/* By a generator of its own: the same texts in every run. */
static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void texts_that_were_spoilt_are_judged_alike(void **state)
{
    static const char letters[] = "{}[]:,\"\\ \nuntfe0129-+.\x01\x7f\x80\xc3\xa9\xed";
    uint32_t seed = 7;
    char text[256];

    (void)state;
    for (int i = 0; i < MUTATIONS; i++) {
        const char *from = right[next(&seed) % NACRE_COUNT(right)];
        size_t count = strlen(from);

        memcpy(text, from, count);
        for (uint32_t slips = 1 + next(&seed) % 3; slips > 0; slips--)
            text[next(&seed) % count] = letters[next(&seed) % (sizeof(letters) - 1)];
        count -= next(&seed) % 4 == 0 ? next(&seed) % count : 0;
        if (verdict(text, count) < 0)
            fail_msg("%.*s", (int)count, text);
    }
}

static void no_memory_is_no_crash(void **state)
{
    const char *text = right[13];
    json_error_t where;
    json_t *value = NULL;

    (void)state;
    json_set_alloc_funcs(malloc, free);
    for (int allowed = 0; !value; allowed++) {
        fail_alloc_after(allowed);
        value = tools_json_read(text, strlen(text), &where);
        fail_alloc_after(-1);
        assert_true(allowed < 1000);
    }
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_json_is_read_as_jansson_reads_it),
        cmocka_unit_test(what_is_not_is_refused_in_jansson_s_words),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(texts_that_were_spoilt_are_judged_alike),
        cmocka_unit_test(no_memory_is_no_crash),
    };

    return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
