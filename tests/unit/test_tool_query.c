/* The query language, the edits and the layout of guest-tools/json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "edit.h"
#include "query.h"
#include "style.h"

static int clear(void **state)
{
    (void)state;
    nacre_arena_reset();
    return 0;
}

static struct nacre_json *read_text(const char *text)
{
    const char *fault;
    size_t offset;
    struct nacre_json *value = nacre_json_read(text, strlen(text), &fault, &offset);

    if (!value)
        fail_msg("%s: %s at %zu", text, fault, offset);
    return value;
}

/* "/a /b/0": the pointers of what is found; "!" and the fault where it is refused. */
static const char *run(const char *text, const char *document)
{
    struct query_fault fault = { 0 };
    struct found_list list = { 0 };
    struct nacre_text found = { 0 };
    struct query *query = query_read(text, strlen(text), &fault);

    nacre_text_add(&found, "", 0);
    if (!query || !query_run(query, read_text(document), &list, &fault)) {
        nacre_text_addf(&found, "!%s", fault.text);
        return found.bytes;
    }
    for (size_t i = 0; i < list.count; i++)
        nacre_text_addf(&found, "%s%s", i ? " " : "",
                        list.items[i]->parent ? found_pointer(list.items[i]) : "(root)");
    return found.bytes;
}

static const char store[] =
    "{\"store\": {\"book\": ["
    "{\"category\": \"reference\", \"author\": \"Rees\", \"price\": 8.95},"
    "{\"category\": \"fiction\", \"author\": \"Waugh\", \"price\": 12.99},"
    "{\"category\": \"fiction\", \"author\": \"Melville\", \"isbn\": \"0-553\", \"price\": 8.99},"
    "{\"category\": \"fiction\", \"author\": \"Tolkien\", \"isbn\": \"0-395\", \"price\": 22.99}],"
    "\"bicycle\": {\"color\": \"red\", \"price\": 399}}}";

static void queries_find_what_rfc_9535_says(void **state)
{
    static const struct {
        const char *query, *document, *found;
    } rows[] = {
        { "$", "1", "(root)" },
        { "$.store.book[*].author", store,
          "/store/book/0/author /store/book/1/author /store/book/2/author "
          "/store/book/3/author" },
        { "$..author", store,
          "/store/book/0/author /store/book/1/author /store/book/2/author "
          "/store/book/3/author" },
        { "$.store.*", store, "/store/book /store/bicycle" },
        { "$.store..price", store,
          "/store/book/0/price /store/book/1/price /store/book/2/price /store/book/3/price "
          "/store/bicycle/price" },
        { "$..book[2]", store, "/store/book/2" },
        { "$..book[-1]", store, "/store/book/3" },
        { "$..book[0,1]", store, "/store/book/0 /store/book/1" },
        { "$..book[:2]", store, "/store/book/0 /store/book/1" },
        { "$..book[?@.isbn]", store, "/store/book/2 /store/book/3" },
        { "$..book[?@.price<10]", store, "/store/book/0 /store/book/2" },
        { "$ .store [ 'bicycle' ] [ \"color\" ]", store, "/store/bicycle/color" },
        { "$[1:5:2]", "[0,1,2,3,4,5,6]", "/1 /3" },
        { "$[5:1:-2]", "[0,1,2,3,4,5,6]", "/5 /3" },
        { "$[::-1]", "[0,1,2]", "/2 /1 /0" },
        { "$[1:3:0]", "[0,1,2]", "" },
        { "$[-9007199254740991:9007199254740991:9007199254740991]", "[0,1]", "/0" },
        { "$[10]", "[0]", "" },
        { "$[-2]", "[0]", "" },
        { "$.a", "[0]", "" },
        { "$[0]", "{\"0\": 1}", "" },
        { "$['0']", "{\"0\": 1}", "/0" },
        { "$['a\\u00e4\\'\"']", "{\"aä'\\\"\": 1}", "/aä'\"" },
        { "$[\"\\ud83d\\ude00\"]", "{\"😀\": 1}", "/😀" },
        { "$..*", "[[1],2]", "/0 /1 /0/0" },
        { "$.ä", "{\"ä\": 1}", "/ä" },
        { "$['a/b~c']", "{\"a/b~c\": 1}", "/a~1b~0c" },
        { "$[?@.a == 1 || @.a == 2 && @.b]", "[{\"a\":1},{\"a\":2},{\"a\":2,\"b\":0}]", "/0 /2" },
        { "$[?(@.a == 1 || @.a == 2) && @.b]", "[{\"a\":1},{\"a\":2},{\"a\":2,\"b\":0}]", "/2" },
        { "$[?!(@ > 1)]", "[1,2]", "/0" },
        { "$[?@.a == @.b]", "[{}, {\"a\": null}, {\"a\": null, \"b\": null}]", "/0 /2" },
        { "$[?@.a != 'x']", "[{}, {\"a\": \"x\"}]", "/0" },
        { "$[?@ == 1.0]", "[1, 1.0, 1e0, \"1\", true]", "/0 /1 /2" },
        { "$[?@ >= 'b']", "[\"a\", \"b\", \"ba\", 3]", "/1 /2" },
        { "$[?@ <= null]", "[null, 0]", "/0" },
        { "$[?@ == $[0]]", "[{\"a\":1,\"b\":[2]},{\"b\":[2],\"a\":1},{\"a\":1}]", "/0 /1" },
        { "$[?@[?@ > 1]]", "[[1],[2]]", "/1" },
        { "$[?@ < -5]", "[-6, -5, -60]", "/0 /2" },
        { "$[?@ == 0]", "[0, -0, 0.0]", "/0 /1 /2" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = run(rows[i].query, rows[i].document);

        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s: found %s, wanted %s", rows[i].query, found, rows[i].found);
        nacre_arena_reset();
    }
}

static void what_is_no_query_is_refused_at_its_byte(void **state)
{
    static const struct {
        const char *query, *fault;
    } rows[] = {
        { "", "at byte 1: a JSONPath starts" },
        { "a", "at byte 1: a JSONPath starts" },
        { "$a", "at byte 2: " },
        { "$.", "at byte 3: behind \".\"" },
        { "$..", "at byte 4: " },
        { "$...a", "at byte 4: " },
        { "$.1", "at byte 3: " },
        { "$.a-b", "at byte 4: " },
        { "$[", "at byte 3: in brackets" },
        { "$[]", "at byte 3: in brackets" },
        { "$[a]", "at byte 3: in brackets" },
        { "$[0", "at byte 4: \"]\"" },
        { "$[0,]", "at byte 5: in brackets" },
        { "$[01]", "at byte 3: a whole number has no zeros" },
        { "$[-0]", "at byte 3: a whole number has no zeros" },
        { "$[-]", "at byte 4: a whole number" },
        { "$[1.5]", "at byte 4: \"]\"" },
        { "$[9007199254740992]", "too large" },
        { "$['a]", "at byte 3: the string has no end" },
        { "$['\\x']", "not well-formed" },
        { "$['\\ud800']", "not well-formed" },
        { "$['a\nb']", "not well-formed" },
        { "$['\\\"']", "in single quotes" },
        { "$['a\\u0000']", "no key has" },
        { "$[?]", "at byte 4: a query" },
        { "$[?1]", "a literal alone" },
        { "$[?@.a ==]", "a query (@.a, $.b)" },
        { "$[?@.a = 1]", "\"==\" compares" },
        { "$[?@.a =~ /x/]", "=~" },
        { "$[?@..a == 1]", "lead to one value" },
        { "$[?@[0:1] == 1]", "lead to one value" },
        { "$[?!1]", "behind \"!\"" },
        { "$[?(@.a]", "\")\"" },
        { "$[?@.a && ]", "a query (@.a, $.b)" },
        { "$[?count(@.*) > 1]", "not supported: count()" },
        { "$[?match(@.a, 'x')]", "not supported: match()" },
        { "$.a.keys()", "not supported: keys()" },
        { "$[(@.length-1)]", "scripts" },
        { "$ ", "at byte 2: " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = run(rows[i].query, "[]");

        if (found[0] != '!' || !strstr(found, rows[i].fault))
            fail_msg("%s: %s, wanted %s", rows[i].query, found, rows[i].fault);
        nacre_arena_reset();
    }
}

static void a_query_that_multiplies_ends_at_its_ceiling(void **state)
{
    char document[401];

    (void)state;
    memset(document, '[', 200);
    memset(document + 200, ']', 200);
    document[400] = '\0';
    assert_string_equal(run("$..*..*..*..*..*..*", document),
                        "!the query looks at too many values; make it narrower");
    assert_string_equal(run("$[?@..*..*..*..*..*..*]", document),
                        "!the query looks at too many values; make it narrower");
}

/* The document after edits (an array) or a merge; "!" and the fault's code. */
static const char *edited(const char *document, const char *edits, bool is_merge)
{
    struct nacre_json *root = read_text(document), *change = read_text(edits);
    struct query_fault fault = { 0 };
    struct nacre_text text = { 0 };
    size_t count;

    if (is_merge ? edit_merge(&root, change, &fault) : edit_apply(&root, change, &fault))
        return nacre_json_write(root, 0, &count);
    assert_non_null(fault.text);
    nacre_text_addf(&text, "!%s", fault.code);
    return text.bytes;
}

static void edits_do_what_rfc_6902_says(void **state)
{
    static const struct {
        const char *document, *edits, *after;
    } rows[] = {
        { "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
          "{\"foo\":\"bar\",\"baz\":\"qux\"}" },
        { "{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":1}]",
          "{\"foo\":[\"bar\",1,\"baz\"]}" },
        { "{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}" },
        { "[1,2,3]", "[{\"op\":\"remove\",\"path\":\"/2\"},{\"op\":\"add\",\"path\":\"/-\",\"value\":4}]",
          "[1,2,4]" },
        { "[1,2,3]", "[{\"op\":\"replace\",\"path\":\"/0\",\"value\":{}}]", "[{},2,3]" },
        { "{\"a\":{\"b\":1},\"c\":{}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c/d\"}]",
          "{\"a\":{},\"c\":{\"d\":1}}" },
        { "[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/2\"}]", "[2,3,1]" },
        { "{\"a\":[1]}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
          "{\"op\":\"add\",\"path\":\"/b/-\",\"value\":2}]", "{\"a\":[1],\"b\":[1,2]}" },
        { "{\"\":1,\"a~/\":2}", "[{\"op\":\"remove\",\"path\":\"/\"},"
          "{\"op\":\"remove\",\"path\":\"/a~0~1\"}]", "{}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", "[]" },
        { "{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":\"1\"}]", "!test-failed" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":null}]", "!not-found" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":1}]", "!not-found" },
        { "[1]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":1}]", "!not-found" },
        { "[1]", "[{\"op\":\"add\",\"path\":\"/00\",\"value\":1}]", "!not-found" },
        { "[1]", "[{\"op\":\"add\",\"path\":\"/1e0\",\"value\":1}]", "!not-found" },
        { "[1]", "[{\"op\":\"remove\",\"path\":\"/-\"}]", "!not-found" },
        { "[1]", "[{\"op\":\"add\",\"path\":\"/99999999999999999999\",\"value\":1}]",
          "!not-found" },
        { "{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", "!bad-pointer" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/~\",\"value\":1}]", "!bad-pointer" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\\u0000\",\"value\":1}]", "!bad-pointer" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "!bad-edit" },
        { "{}", "[{\"op\":\"frob\",\"path\":\"/a\",\"value\":1}]", "!bad-edit" },
        { "{}", "[{\"op\":\"frob\",\"path\":\"/a\"}]", "!bad-edit" },
        { "{}", "[1]", "!bad-edit" },
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/a\",\"value\":1}]", "!bad-edit" },
        { "{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", "!bad-edit" },
        { "{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a\"}]", "!bad-edit" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *after = edited(rows[i].document, rows[i].edits, false);

        if (strcmp(after, rows[i].after) != 0)
            fail_msg("%s: %s, wanted %s", rows[i].edits, after, rows[i].after);
        nacre_arena_reset();
    }
}

static void merges_do_what_rfc_7396_says(void **state)
{
    static const struct {
        const char *document, *merge, *after;
    } rows[] = {
        { "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
        { "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
        { "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
        { "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
        { "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
        { "{\"a\":\"foo\"}", "null", "null" },
        { "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
        { "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
        { "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(edited(rows[i].document, rows[i].merge, true), rows[i].after);
}

static void copies_of_copies_end_at_a_ceiling(void **state)
{
    struct nacre_text edits = { 0 };

    (void)state;
    nacre_text_addf(&edits, "[");
    for (int i = 0; i < 60; i++)
        nacre_text_addf(&edits, "%s{\"op\":\"copy\",\"from\":\"\",\"path\":\"/%d\"}",
                        i ? "," : "", i);
    nacre_text_addf(&edits, "]");
    assert_string_equal(edited("{}", edits.bytes, false), "!too-large");
    /* One in the other: few values, but deep. */
    edits = (struct nacre_text){ 0 };
    nacre_text_addf(&edits, "[");
    for (int i = 0; i < 300; i++)
        nacre_text_addf(&edits, "%s{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"},"
                        "{\"op\":\"add\",\"path\":\"/a\",\"value\":{}},"
                        "{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a/b\"}", i ? "," : "");
    nacre_text_addf(&edits, "]");
    assert_string_equal(edited("{\"a\":{}}", edits.bytes, false), "!too-large");
}

static void a_document_keeps_its_layout(void **state)
{
    static const char *const rows[] = {
        "{\"a\":1,\"b\":[1,2]}", "{\"a\": 1, \"b\": [1, 2]}\n", "[1, 2]", "[1,2]\n", "[]", "{}\n",
        "{\n  \"a\": 1,\n  \"b\": [\n    1.50,\n    {}\n  ]\n}\n",
        "{\n\t\"a\": \": , \",\n\t\"b\": []\n}", "{\r\n    \"a\": 1e2\r\n}\r\n",
        "{\n \"a\":1,\n \"b\":2\n}", "\"x\"", "1\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_style style = json_style_of(rows[i], strlen(rows[i]));
        struct nacre_text text = { 0 };

        json_style_write(&style, read_text(rows[i]), &text);
        assert_string_equal(text.bytes, rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(queries_find_what_rfc_9535_says, clear),
        cmocka_unit_test_teardown(what_is_no_query_is_refused_at_its_byte, clear),
        cmocka_unit_test_teardown(a_query_that_multiplies_ends_at_its_ceiling, clear),
        cmocka_unit_test_teardown(edits_do_what_rfc_6902_says, clear),
        cmocka_unit_test_teardown(merges_do_what_rfc_7396_says, clear),
        cmocka_unit_test_teardown(copies_of_copies_end_at_a_ceiling, clear),
        cmocka_unit_test_teardown(a_document_keeps_its_layout, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
