/*
 * The JSON5 reader against files: suites/json5/valid/NAME.json5 must give the JSON of
 * NAME.expect, invalid/NAME.json5 must fail with its one line, and not-json/NAME.json5
 * is JSON5 that must fail so as JSON.  Then places, numbers, limits and memory.
 */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/buf.h"
#include "nacre/document.h"
#include "nacre/path.h"
#include "node.h"
#include "suite.h"

#define VALID_MIN 37
#define INVALID_MIN 97
#define NOT_JSON_MIN 22

typedef enum nacre_status reader(const char *source, const char *bytes, size_t count,
                                 struct nacre_node **ret_root, struct nacre_error *err);

static void add(struct nacre_buf *buf, const char *text)
{
    struct nacre_error err;

    assert_int_equal(nacre_buf_add(buf, text, strlen(text), &err), NACRE_OK);
}

/* ---- the suites ---- */

/* A document against its .expect: the JSON that it is, or "LINE:COLUMN: words". */
struct documents {
    enum nacre_document_format format;
    bool valid;
};

static void expect_json(const char *path, const json_t *value)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf expected = NACRE_BUF(65536);
    json_t *wanted;

    suite_read_beside(path, ".expect", &expected);
    wanted = json_loads(expected.bytes, JSON_DECODE_ANY, NULL);
    if (!json_equal(value, wanted))
        fail_msg("%s\nexpected:\n%sfound:\n%s", path, expected.bytes,
                 json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));
    json_decref(wanted);
}

static void judge(void *data, const char *path)
{
    const struct documents *documents = data;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(65536);
    struct nacre_error err = { .status = NACRE_OK };
    json_t *value = NULL;
    enum nacre_status status;
    char line[1024] = "";

    suite_read(path, &bytes);
    status = nacre_document_json("doc.json5", bytes.bytes, bytes.size, documents->format,
                                 false, &value, &err);
    assert_int_equal(status, err.status);
    assert_int_equal(status == NACRE_OK, value != NULL);
    if (status != NACRE_OK) {
        assert_int_equal(status, NACRE_ERR_PARSE);
        assert_string_equal(err.file, "doc.json5");
        (void)snprintf(line, sizeof(line), "%d:%d: %s\n", err.line, err.column, err.text);
    }
    if (documents->valid)
        expect_json(path, value);
    else
        suite_expect(path, line);
    json_decref(value);
}

static int run_suite(const char *directory, enum nacre_document_format format, bool valid)
{
    struct documents documents = { format, valid };

    return suite_each(directory, ".json5", judge, &documents);
}

static void each_valid_document_gives_its_json(void **state)
{
    (void)state;
    assert_true(run_suite(NACRE_SUITES_DIR "/json5/valid", NACRE_DOCUMENT_JSON5, true) >=
                VALID_MIN);
}

static void each_invalid_document_is_refused_at_its_place(void **state)
{
    (void)state;
    assert_true(run_suite(NACRE_SUITES_DIR "/json5/invalid", NACRE_DOCUMENT_JSON5,
                          false) >= INVALID_MIN);
}

static void json_refuses_everything_that_json5_adds(void **state)
{
    (void)state;
    assert_true(run_suite(NACRE_SUITES_DIR "/json5/not-json", NACRE_DOCUMENT_JSON,
                          false) >= NOT_JSON_MIN);
}

/* jansson is a second opinion: what it prints is JSON, and is read as the same. */
static void json_is_read_as_jansson_reads_it(void **state)
{
    static const char *const documents[] = {
        "{}", "[]", " null ", "\"\"", "-0.5e-3", "[1,[2,{\"a\":[]}],\"\\u00e9\\n\"]",
        "{\"\":{\"b\":true},\"a\":false}\n", "[9223372036854775807,0,1E2,1.25e+1]",
        "\"\\ud83d\\ude00 \x7f\"",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(documents); i++) {
        struct nacre_error err;
        json_error_t fault;
        json_t *ours = NULL, *theirs;

        assert_int_equal(nacre_document_json("d", documents[i], strlen(documents[i]),
                                             NACRE_DOCUMENT_JSON, false, &ours, &err),
                         NACRE_OK);
        theirs = json_loads(documents[i], JSON_DECODE_ANY, &fault);
        assert_non_null(theirs);
        /* 1E2 is a whole number here and a real there. */
        if (!strstr(documents[i], "1E2") && !json_equal(ours, theirs))
            fail_msg("%s", documents[i]);
        json_decref(ours);
        json_decref(theirs);
    }
}

/* ---- the tree ---- */

static struct nacre_node *read_ok(reader *read, const char *text)
{
    struct nacre_node *root = NULL;
    struct nacre_error err;

    if (read("d", text, strlen(text), &root, &err) != NACRE_OK)
        fail_msg("%s: %d:%d: %s", text, err.line, err.column, err.text);
    return root;
}

static void every_value_and_key_has_its_place(void **state)
{
    NACRE_AUTO(nacre_node_guard)
    struct nacre_node *root =
        read_ok(nacre_json5_read,
                "\xef\xbb\xbf// x\n{ 'é': [1,\n   true ],\n\tb : null}");
    const struct nacre_node *list = nacre_node_find(root, "é");
    const struct nacre_node *b = nacre_node_find(root, "b");

    (void)state;
    assert_int_equal(root->place.line, 2);
    assert_int_equal(root->place.column, 1);
    assert_int_equal(root->key_place.line, 0);
    assert_int_equal(root->count, 2);
    assert_int_equal(list->key_place.column, 3);
    assert_int_equal(list->place.column, 8);
    assert_int_equal(list->count, 2);
    assert_int_equal(list->first->next->place.line, 3);
    assert_int_equal(list->first->next->place.column, 4);
    assert_null(list->first->key);
    assert_int_equal(b->kind, NACRE_NODE_NULL);
    assert_int_equal(b->key_place.column, 2);
    assert_int_equal(b->place.column, 6);
}

/* The places of both readers are in the same unit: a document of both gives the same. */
static void places_are_those_of_the_yaml_reader(void **state)
{
    static const char document[] =
        "{ \"é€\": [ 1, \"😀\", {\"x\": false} ],\n  \"b\":\n null }\n";
    struct nacre_error err;
    json_t *json5 = NULL, *yaml = NULL, *list;

    (void)state;
    assert_int_equal(nacre_document_json("d", document, strlen(document),
                                         NACRE_DOCUMENT_JSON5, true, &json5, &err),
                     NACRE_OK);
    assert_int_equal(nacre_document_json("d", document, strlen(document),
                                         NACRE_DOCUMENT_YAML, true, &yaml, &err),
                     NACRE_OK);
    assert_true(json_equal(json5, yaml));
    list = json_object_get(json_object_get(json_object_get(json5, "entries"), "é€"),
                           "entries");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 2), "at")),
                        "1:19");
    json_decref(json5);
    json_decref(yaml);
}

static void a_number_is_spelt_in_exact_decimals(void **state)
{
    static const struct {
        const char *written, *text;
    } rows[] = {
        { "0x1F", "31" },
        { "+1", "1" },
        { "-0", "0" },
        { "-0x0", "0" },
        { ".5", "0.5" },
        { "5.", "5" },
        { "-.50", "-0.5" },
        { "1e3", "1000" },
        { "123.456e2", "12345.6" },
        { "123.456e3", "123456" },
        { "1e64", "10000000000000000000000000000000000000000000000000000000000000000" },
        { "1e65", "1e65" },
        { "-12.5e80", "-1.25e81" },
        { "1e-3", "0.001" },
        { "12e-66",
          "0.000000000000000000000000000000000000000000000000000000000000000012" },
        { "12e-67", "1.2e-66" },
        { "1e999999", "1e999999" },
        { "0e999999", "0" },
        { "18446744073709551616", "18446744073709551616" },
        { "0xffffffffffffffffffffffffffffffff",
          "340282366920938463463374607431768211455" },
        { "0x3b9aca00000000000", "68719476736000000000" },
        { "Infinity", "Infinity" },
        { "-Infinity", "-Infinity" },
        { "+NaN", "NaN" },
        { "-NaN", "NaN" },
        { "0.1000", "0.1" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_node_guard)
        struct nacre_node *root = read_ok(nacre_json5_read, rows[i].written);

        assert_int_equal(root->kind, NACRE_NODE_NUMBER);
        assert_string_equal(root->text, rows[i].text);
    }
}

static void what_json_can_not_say_is_refused_at_its_place(void **state)
{
    static const struct {
        enum nacre_document_format format;
        const char *document, *text;
    } rows[] = {
        { NACRE_DOCUMENT_JSON5, "[\n Infinity]",
          "the number Infinity is none that JSON has" },
        { NACRE_DOCUMENT_JSON5, "[\n -NaN]", "the number NaN is none that JSON has" },
        { NACRE_DOCUMENT_YAML, "-\n .inf", "the number .inf is none that JSON has" },
        { NACRE_DOCUMENT_YAML, "-\n -.INF", "the number -.INF is none that JSON has" },
        { NACRE_DOCUMENT_JSON, "[\n 9223372036854775808]",
          "the number 9223372036854775808 does not fit into 64 bits; JSON's readers "
          "would lose digits of it" },
        { NACRE_DOCUMENT_JSON, "[\n -9223372036854775809]",
          "the number -9223372036854775809 does not fit into 64 bits; JSON's readers "
          "would lose digits of it" },
        { NACRE_DOCUMENT_YAML, "-\n 0xffffffffffffffff",
          "the number 0xffffffffffffffff does not fit into 64 bits; JSON's readers "
          "would lose digits of it" },
        { NACRE_DOCUMENT_YAML, "-\n 010",
          "the number 010 is octal in some versions of YAML and decimal in others; write "
          "it without the 0" },
        { NACRE_DOCUMENT_YAML, "-\n 0o19",
          "the number 0o19 has digits that are not octal" },
        { NACRE_DOCUMENT_JSON5, "[\n 1e400]",
          "the number 1e400 is too large for JSON's readers" },
        { NACRE_DOCUMENT_JSON5, "[\n 1e-400]",
          "the number 1e-400 is too small for JSON's readers" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_error err;
        json_t *value = NULL;

        assert_int_equal(nacre_document_json("d", rows[i].document,
                                             strlen(rows[i].document), rows[i].format,
                                             false, &value, &err),
                         NACRE_ERR_PARSE);
        assert_null(value);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.line, 2);
        assert_int_equal(err.column, 2);
        /* Shown with its place, it is only text. */
        assert_int_equal(nacre_document_json("d", rows[i].document,
                                             strlen(rows[i].document), rows[i].format,
                                             true, &value, &err),
                         NACRE_OK);
        json_decref(value);
    }
}

static void yaml_scalars_keep_their_kind(void **state)
{
    static const char document[] =
        "[1, 0x1f, 0o17, -7, 1.5, '1', true, 'true', ~, no, +2]";
    struct nacre_error err;
    json_t *value = NULL;
    char *text;

    (void)state;
    assert_int_equal(nacre_document_json("d", document, strlen(document),
                                         NACRE_DOCUMENT_YAML, false, &value, &err),
                     NACRE_OK);
    text = json_dumps(value, JSON_COMPACT);
    assert_string_equal(text, "[1,31,15,-7,1.5,\"1\",true,\"true\",null,\"no\",2]");
    free(text);
    json_decref(value);
}

static void the_content_chooses_the_reader(void **state)
{
    static const struct {
        const char *document;
        bool json5;
    } rows[] = {
        { "{a: 'x\\x41'}", true },
        { "  \n\t{a: 'x\\x41'}", true },
        { "\xef\xbb\xbf{a: 'x\\x41'}", true },
        { "// c\n{a: 'x\\x41'}", true },
        { "/* c */ {a: 'x\\x41'}", true },
        { "a: 'x\\x41'", false },
        { "# c\na: 'x\\x41'", false },
        { "# c\n{a: 'x\\x41'}", false },
        { "---\n{a: 'x\\x41'}", false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_node_guard)
        struct nacre_node *root = read_ok(nacre_document_read, rows[i].document);

        assert_string_equal(nacre_node_find(root, "a")->text,
                            rows[i].json5 ? "xA" : "x\\x41");
    }
}

/* ---- limits ---- */

static void expect_refusal(const struct nacre_buf *buf, enum nacre_status expected,
                           const char *text)
{
    static reader *const readers[] = { nacre_json5_read, nacre_json_read,
                                       nacre_document_read };

    for (size_t i = 0; i < NACRE_COUNT(readers); i++) {
        struct nacre_node *root = NULL;
        struct nacre_error err;

        assert_int_equal(readers[i]("d", buf->bytes, buf->size, &root, &err), expected);
        assert_null(root);
        assert_string_equal(err.text, text);
    }
}

static void bombs_end_with_an_error(void **state)
{
    static const struct {
        const char *start, *more, *text;
    } rows[] = {
        { "{\"a\":", "[", "nested more than 32 levels deep" },
        { "", "{\"a\":", "nested more than 32 levels deep" },
        { "{\"a\":[0", ",0", "the document has more than 10000 keys and values" },
        { "{\"a\":[0", ",{}", "the document has more than 10000 keys and values" },
        { "{\"", "aaaaaaaa", "a text may have at most 65536 bytes" },
        { "{\"a\":\"", "\\n\\u00e9", "a text may have at most 65536 bytes" },
        { "{\"a\":", "1234567890", "a number may have at most 1024 characters" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);

        add(&buf, rows[i].start);
        while (buf.size + strlen(rows[i].more) <= NACRE_DOCUMENT_BYTES_MAX)
            add(&buf, rows[i].more);
        expect_refusal(&buf, NACRE_ERR_PARSE, rows[i].text);
    }
}

static void a_document_may_have_a_mebibyte_and_no_more(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(2 * NACRE_DOCUMENT_BYTES_MAX);

        add(&buf, "{}");
        while (buf.size < NACRE_DOCUMENT_BYTES_MAX + over)
            add(&buf, " ");
        if (over)
            expect_refusal(&buf, NACRE_ERR_TOO_BIG,
                           "the document is larger than 1048576 bytes");
        else
            nacre_node_free(read_ok(nacre_json_read, buf.bytes));
    }
}

static void as_many_keys_and_values_as_the_limit_says_are_read(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);

        /* The mapping, the key and the list are three. */
        add(&buf, "{\"a\":[0");
        for (int i = 4; i < NACRE_DOCUMENT_NODES_MAX + over; i++)
            add(&buf, ",0");
        add(&buf, "]}");
        if (over)
            expect_refusal(&buf, NACRE_ERR_PARSE,
                           "the document has more than 10000 keys and values");
        else
            nacre_node_free(read_ok(nacre_json_read, buf.bytes));
    }
}

static void a_text_of_the_largest_size_is_read(void **state)
{
    for (size_t over = 0; over < 2; over++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);

        add(&buf, "{\"a\":\"");
        for (size_t i = 0; i < NACRE_DOCUMENT_SCALAR_BYTES_MAX + over; i++)
            add(&buf, "x");
        add(&buf, "\"}");
        if (over)
            expect_refusal(&buf, NACRE_ERR_PARSE, "a text may have at most 65536 bytes");
        else
            nacre_node_free(read_ok(nacre_json_read, buf.bytes));
    }
    (void)state;
}

/* ---- memory ---- */

static int fail_each_allocation(const char *document, bool places)
{
    struct nacre_error err;
    bool fired = true;
    int n = 0;

    for (; fired; n++) {
        json_t *value = NULL;
        enum nacre_status status;

        assert_true(n < 5000);
        err = (struct nacre_error){ .status = NACRE_OK };
        fail_alloc_after(n);
        status = nacre_document_json("d", document, strlen(document),
                                     NACRE_DOCUMENT_ANY, places, &value, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(value == NULL, fired);
        json_decref(value);
    }
    return n;
}

static void reading_survives_every_allocation_failure(void **state)
{
    static const char document[] =
        "{a: [1, .5, 0x10, 'text', null, true], 'b': {c: \"\\u00e9\", d: {}}, e: -1e300}";

    (void)state;
    assert_true(fail_each_allocation(document, false) > 40);
    assert_true(fail_each_allocation(document, true) > 60);
    assert_true(fail_each_allocation("a: [1, .5, 0x10, text]\nb: ~", false) > 10);
}

/* PCRE2 can't say that memory ran out while it matched: then it is no name. */
static void a_wide_name_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_node *root = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 5000);
        fail_alloc_after(n);
        status = nacre_json5_read("d", "{ünï: 1}", strlen("{ünï: 1}"), &root, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status == NACRE_OK, !fired);
        assert_int_equal(root == NULL, fired);
        nacre_node_free(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_valid_document_gives_its_json),
        cmocka_unit_test(each_invalid_document_is_refused_at_its_place),
        cmocka_unit_test(json_refuses_everything_that_json5_adds),
        cmocka_unit_test(json_is_read_as_jansson_reads_it),
        cmocka_unit_test(every_value_and_key_has_its_place),
        cmocka_unit_test(places_are_those_of_the_yaml_reader),
        cmocka_unit_test(a_number_is_spelt_in_exact_decimals),
        cmocka_unit_test(what_json_can_not_say_is_refused_at_its_place),
        cmocka_unit_test(yaml_scalars_keep_their_kind),
        cmocka_unit_test(the_content_chooses_the_reader),
        cmocka_unit_test(bombs_end_with_an_error),
        cmocka_unit_test(a_document_may_have_a_mebibyte_and_no_more),
        cmocka_unit_test(as_many_keys_and_values_as_the_limit_says_are_read),
        cmocka_unit_test(a_text_of_the_largest_size_is_read),
        cmocka_unit_test(reading_survives_every_allocation_failure),
        cmocka_unit_test(a_wide_name_survives_every_allocation_failure),
    };

    /* Through our own malloc, so that it can be made to fail. */
    json_set_alloc_funcs(malloc, free);
    return cmocka_run_group_tests_name("json5", tests, NULL, NULL);
}
