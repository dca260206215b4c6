/*
 * JSON Schema against suites/schema: in each NAME.json groups of a schema and values,
 * each with the whole sentence that refuses it or none; in refused.json schemas with the place
 * and the sentence that refuse them.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "json_schema.h"

#define VALUES_MIN 240
#define REFUSED_MIN 65
#define REPEATED 200000

static json_t *load(const char *name)
{
    char path[512];
    json_error_t where;
    json_t *value;

    (void)snprintf(path, sizeof(path), NACRE_SUITES_DIR "/schema/%s", name);
    value = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!value)
        fail_msg("%s:%d: %s", path, where.line, where.text);
    return value;
}

static struct nacre_json_schema *compile(const json_t *document)
{
    struct nacre_json_schema *schema = NULL;
    char pointer[NACRE_SCHEMA_POINTER];
    struct nacre_error err = { 0 };

    if (nacre_json_schema_compile(document, &schema, pointer, &err) != NACRE_OK)
        fail_msg("%s: %s", pointer, err.text);
    return schema;
}

static struct nacre_json_schema *compile_text(const char *text)
{
    json_t *document = json_loads(text, JSON_DECODE_ANY, NULL);
    struct nacre_json_schema *schema;

    assert_non_null(document);
    schema = compile(document);
    json_decref(document);
    return schema;
}

static int judge_group(const char *file, const json_t *group)
{
    struct nacre_json_schema *schema = compile(json_object_get(group, "schema"));
    const json_t *rows = json_object_get(group, "rows");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *expected = json_string_value(json_object_get(row, "error"));
        struct nacre_error err = { 0 };
        enum nacre_status status =
            nacre_json_schema_judge(schema, json_object_get(row, "value"), &err);

        assert_int_equal(status, err.status);
        assert_true(status == NACRE_OK || status == NACRE_ERR_USAGE);
        if (strcmp(err.text, expected ? expected : "") != 0)
            fail_msg("%s: %s, row %zu\nexpected: %s\nfound:    %s", file,
                     json_string_value(json_object_get(group, "about")), i,
                     expected ? expected : "(valid)", err.text);
    }
    nacre_json_schema_free(schema);
    return (int)json_array_size(rows);
}

static void each_value_is_judged_as_its_row_says(void **state)
{
    struct dirent **entries = NULL;
    int count = scandir(NACRE_SUITES_DIR "/schema", &entries, NULL, alphasort);
    int rows = 0;

    (void)state;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;

        if (strstr(name, ".json") && strcmp(name, "refused.json") != 0) {
            json_t *groups = load(name);

            for (size_t k = 0; k < json_array_size(groups); k++)
                rows += judge_group(name, json_array_get(groups, k));
            json_decref(groups);
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(rows >= VALUES_MIN);
}

static void each_schema_that_is_none_is_refused_at_its_place(void **state)
{
    json_t *rows = load("refused.json");

    (void)state;
    assert_true(json_array_size(rows) >= REFUSED_MIN);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        struct nacre_json_schema *schema = NULL;
        char pointer[NACRE_SCHEMA_POINTER];
        struct nacre_error err = { 0 };

        assert_int_equal(nacre_json_schema_compile(json_object_get(row, "schema"),
                                                   &schema, pointer, &err),
                         NACRE_ERR_PARSE);
        assert_null(schema);
        assert_string_equal(pointer, json_string_value(json_object_get(row, "at")));
        assert_string_equal(err.text, json_string_value(json_object_get(row, "error")));
    }
    json_decref(rows);
}

/* ---- bounds ---- */

static json_t *nested(const char *around, size_t depth)
{
    json_t *value = json_object();

    for (size_t i = 0; i < depth; i++)
        value = json_pack("{s:o}", around, value);
    return value;
}

static void a_schema_that_is_too_deep_is_refused(void **state)
{
    json_t *document = nested("items", SCHEMA_DEPTH_MAX + 1);
    struct nacre_json_schema *schema = NULL;
    char pointer[NACRE_SCHEMA_POINTER];
    struct nacre_error err = { 0 };

    (void)state;
    assert_int_equal(nacre_json_schema_compile(document, &schema, pointer, &err),
                     NACRE_ERR_PARSE);
    assert_non_null(strstr(err.text, "nested deeper than"));
    json_decref(document);
}

static void a_schema_of_too_many_parts_is_refused(void **state)
{
    json_t *list = json_array(), *document;
    struct nacre_json_schema *schema = NULL;
    char pointer[NACRE_SCHEMA_POINTER];
    struct nacre_error err = { 0 };

    (void)state;
    for (size_t i = 0; i <= SCHEMA_RULES_MAX; i++)
        (void)json_array_append_new(list, json_object());
    document = json_pack("{s:o}", "anyOf", list);
    assert_int_equal(nacre_json_schema_compile(document, &schema, pointer, &err),
                     NACRE_ERR_PARSE);
    assert_non_null(strstr(err.text, "at most"));
    json_decref(document);
}

static void a_value_that_is_too_deep_is_not_judged(void **state)
{
    struct nacre_json_schema *schema =
        compile_text("{\"properties\": {\"next\": {\"$ref\": \"#\"}}}");
    json_t *value = nested("next", 1000);
    struct nacre_error err = { 0 };

    (void)state;
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_ERR_TOO_BIG);
    json_decref(value);
    nacre_json_schema_free(schema);
}

static void what_is_too_much_to_judge_is_no_valid_value_by_not_either(void **state)
{
    struct nacre_json_schema *schema = compile_text(
        "{\"not\": {\"items\": {\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"array\"}, "
        "{\"type\": \"object\"}, {\"type\": \"string\"}, {\"type\": \"boolean\"}, "
        "{\"enum\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0]}]}}}");
    json_t *value = json_array();
    struct nacre_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < REPEATED; i++)
        (void)json_array_append_new(value, json_integer(0));
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_ERR_TOO_BIG);
    json_decref(value);
    nacre_json_schema_free(schema);
}

static void many_entries_are_compared_without_comparing_each_with_each(void **state)
{
    struct nacre_json_schema *schema = compile_text("{\"uniqueItems\": true}");
    json_t *value = json_array();
    struct nacre_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < REPEATED; i++)
        (void)json_array_append_new(value, json_integer((json_int_t)i));
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_OK);
    (void)json_array_append_new(value, json_real(REPEATED / 2));
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_ERR_USAGE);
    json_decref(value);
    nacre_json_schema_free(schema);
}

static void patterns_that_explode_share_one_budget(void **state)
{
    struct nacre_json_schema *schema =
        compile_text("{\"items\": {\"anyOf\": [{\"pattern\": \"^(a|a)*$\"}, {}]}}");
    json_t *value = json_array();
    struct nacre_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        (void)json_array_append_new(
            value, json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_ERR_TOO_BIG);
    json_decref(value);
    nacre_json_schema_free(schema);
}

static void a_text_of_any_length_fits_the_sentence(void **state)
{
    struct nacre_json_schema *schema =
        compile_text("{\"properties\": {}, \"additionalProperties\": {\"type\": "
                     "\"null\"}}");
    char *key = malloc(100001);
    struct nacre_error err = { 0 };
    json_t *value;

    (void)state;
    memset(key, '/', 100000);
    key[100000] = '\0';
    value = json_pack("{s:s}", key, key);
    assert_int_equal(nacre_json_schema_judge(schema, value, &err), NACRE_ERR_USAGE);
    assert_non_null(strstr(err.text, "expected null"));
    json_decref(value);
    nacre_json_schema_free(schema);
    free(key);
}

/* ---- memory ---- */

static void every_allocation_that_fails_is_told(void **state)
{
    static const char text[] =
        "{\"$defs\": {\"n\": {\"pattern\": \"^a\"}}, \"properties\": {\"a\": {\"$ref\": "
        "\"#/$defs/n\"}, \"b\": {\"anyOf\": [{\"enum\": [1]}, {\"minimum\": 2}]}}, "
        "\"required\": [\"a\", \"b\"]}";
    json_t *document = json_loads(text, 0, NULL);

    (void)state;
    for (int after = 0;; after++) {
        struct nacre_json_schema *schema = NULL;
        char pointer[NACRE_SCHEMA_POINTER];
        struct nacre_error err = { 0 };
        enum nacre_status status;

        fail_alloc_after(after);
        status = nacre_json_schema_compile(document, &schema, pointer, &err);
        fail_alloc_after(-1);
        if (status == NACRE_OK) {
            nacre_json_schema_free(schema);
            assert_true(after > 10);
            break;
        }
        assert_int_equal(status, NACRE_ERR_MEMORY);
        assert_null(schema);
    }
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_judged_as_its_row_says),
        cmocka_unit_test(each_schema_that_is_none_is_refused_at_its_place),
        cmocka_unit_test(a_schema_that_is_too_deep_is_refused),
        cmocka_unit_test(a_schema_of_too_many_parts_is_refused),
        cmocka_unit_test(a_value_that_is_too_deep_is_not_judged),
        cmocka_unit_test(what_is_too_much_to_judge_is_no_valid_value_by_not_either),
        cmocka_unit_test(many_entries_are_compared_without_comparing_each_with_each),
        cmocka_unit_test(patterns_that_explode_share_one_budget),
        cmocka_unit_test(a_text_of_any_length_fits_the_sentence),
        cmocka_unit_test(every_allocation_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
