/*
 * Manifests against files: suites/manifest/invalid/NAME.yaml must fail with the one line
 * of NAME.expect, suites/manifest/valid/NAME.yaml must give what NAME.expect spells out.
 * And the catalogue: which folder answers to which name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "json_schema.h"
#include "nacre/buf.h"
#include "nacre/manifest.h"
#include "scene.h"
#include "suite.h"

#define INVALID_MIN 70
#define VALID_MIN 6

__attribute__((format(printf, 2, 3))) static void say(struct nacre_buf *out,
                                                      const char *format, ...)
{
    struct nacre_error err;
    char line[2048];
    va_list args;

    va_start(args, format);
    assert_true(vsnprintf(line, sizeof(line), format, args) < (int)sizeof(line));
    va_end(args);
    assert_int_equal(nacre_buf_add(out, line, strlen(line), &err), NACRE_OK);
}

static void say_manifest(struct nacre_buf *out, const struct nacre_manifest *manifest)
{
    char *schema = json_dumps(manifest->input_schema, JSON_COMPACT);
    char *output = json_dumps(manifest->output_schema, JSON_COMPACT);
    char hex[NACRE_HEX];

    say(out, "name %s %d:%d\nversion %s\n", manifest->name, manifest->name_place.line,
        manifest->name_place.column, manifest->version);
    say(out, "description %s\n", manifest->description);
    say(out, "title %s\nmodule %s\nlanguage %s\n",
        manifest->title ? manifest->title : "-", manifest->module,
        manifest->language ? manifest->language : "-");
    say(out, "sandbox %s %d:%d\n", manifest->sandbox_ref ? manifest->sandbox_ref : "-",
        manifest->sandbox_place.line, manifest->sandbox_place.column);
    say(out, "timeout_ms %ju %d:%d\n", (uintmax_t)manifest->timeout_ms.value,
        manifest->timeout_ms.place.line, manifest->timeout_ms.place.column);
    say(out, "fuel %ju %d:%d\n", (uintmax_t)manifest->fuel.value,
        manifest->fuel.place.line, manifest->fuel.place.column);
    say(out, "digest %s %d:%d\n",
        manifest->has_digest ? nacre_digest_hex(&manifest->digest, hex) : "-",
        manifest->digest_place.line, manifest->digest_place.column);
    say(out, "access %d %d:%d\n", (int)manifest->access, manifest->access_place.line,
        manifest->access_place.column);
    say(out, "approval %d %d:%d\n", manifest->needs_approval,
        manifest->approval_place.line, manifest->approval_place.column);
    say(out, "schema %s %d:%d\noutput %s\n", schema, manifest->schema_place.line,
        manifest->schema_place.column, output ? output : "-");
    assert_non_null(manifest->schema);
    free(schema);
    free(output);
}

/* One file of a suite; `data` is whether it is a valid one. */
static void judge(void *data, const char *path)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF(65536);
    bool valid = *(const bool *)data;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)2 << 20);
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status;

    suite_read(path, &bytes);
    status = nacre_manifest_parse("tool.yaml", bytes.bytes, bytes.size, &manifest, &err);
    assert_int_equal(status, err.status);
    if (status != NACRE_OK) {
        assert_int_equal(status, NACRE_ERR_PARSE);
        assert_string_equal(err.file, "tool.yaml");
        assert_null(manifest);
        say(&out, "%d:%d: %s\n", err.line, err.column, err.text);
    } else {
        say_manifest(&out, manifest);
    }
    if ((status == NACRE_OK) != valid)
        fail_msg("%s is %s:\n%s", path, valid ? "refused" : "accepted", out.bytes);
    suite_expect(path, out.bytes);
}

static void each_invalid_manifest_is_refused_at_its_place(void **state)
{
    bool valid = false;

    (void)state;
    assert_true(suite_each(NACRE_SUITES_DIR "/manifest/invalid", ".yaml", judge, &valid) >=
                INVALID_MIN);
}

static void each_valid_manifest_is_read_to_its_last_word(void **state)
{
    bool valid = true;

    (void)state;
    assert_true(suite_each(NACRE_SUITES_DIR "/manifest/valid", ".yaml", judge, &valid) >=
                VALID_MIN);
}

static void every_allocation_that_fails_is_told(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(65536);

    (void)state;
    suite_read(NACRE_SUITES_DIR "/manifest/valid/whole.yaml", &bytes);
    for (int after = 0;; after++) {
        struct nacre_manifest *manifest = NULL;
        struct nacre_error err = { 0 };
        enum nacre_status status;

        fail_alloc_after(after);
        status = nacre_manifest_parse("tool.yaml", bytes.bytes, bytes.size, &manifest,
                                      &err);
        fail_alloc_after(-1);
        if (status == NACRE_OK) {
            assert_true(after > 50);
            nacre_manifest_free(manifest);
            return;
        }
        assert_int_equal(status, NACRE_ERR_MEMORY);
        assert_null(manifest);
    }
}

/* ---- the catalogue ---- */

static void put_tool(const char *folder, const char *name, const char *description)
{
    char path[256], text[512];

    (void)snprintf(path, sizeof(path), "mkdir -p %s", folder);
    scene_shell(path);
    (void)snprintf(path, sizeof(path), "%s/tool.yaml", folder);
    (void)snprintf(text, sizeof(text),
                   "claw: \"0.3.0\"\nkind: Tool\nmetadata: {name: %s, version: 1.0.0}\n"
                   "spec: {description: %s, input_schema: {type: object}}\n",
                   name, description);
    scene_file(path, text);
}

static const char *const dirs[] = { "one", "missing", "two", NULL };

static void expect_find(const char *name, const char *description)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    struct nacre_error err = { 0 };

    if (nacre_tools_find(dirs, name, &manifest, &err) != NACRE_OK)
        fail_msg("%s: %s", name, err.text);
    assert_string_equal(manifest->description, description);
}

static void expect_no_find(const char *name, enum nacre_status status, const char *why)
{
    struct nacre_manifest *manifest = NULL;
    struct nacre_error err = { 0 };

    assert_int_equal(nacre_tools_find(dirs, name, &manifest, &err), status);
    assert_null(manifest);
    if (!strstr(err.text, why))
        fail_msg("%s: expected '%s' in '%s'", name, why, err.text);
}

static void the_first_directory_that_has_a_tool_wins(void **state)
{
    (void)state;
    put_tool("one/read", "read", "first");
    put_tool("two/read", "read", "second");
    put_tool("two/grep", "grep", "third");
    expect_find("read", "first");
    expect_find("grep", "third");
    scene_shell("rm -r one/read");
    expect_find("read", "second");
}

static void a_tool_that_cant_be_read_is_not_passed_over(void **state)
{
    (void)state;
    put_tool("one/read", "read", "first");
    put_tool("two/read", "read", "second");
    scene_file("one/read/tool.yaml", "claw: 1\n");
    expect_no_find("read", NACRE_ERR_PARSE, "claw");
    scene_shell("rm one/read/tool.yaml && mkfifo one/read/tool.yaml");
    expect_no_find("read", NACRE_ERR_PARSE, "not a regular file");
}

static void a_folder_answers_to_no_name_but_its_own(void **state)
{
    (void)state;
    put_tool("one/read", "write", "a wolf");
    expect_no_find("read", NACRE_ERR_PARSE, "metadata.name is 'write'");
}

static void what_is_built_in_cant_be_replaced(void **state)
{
    static const char *const names[] = { "exec", "process" };

    (void)state;
    put_tool("one/exec", "exec", "a wolf");
    put_tool("one/process", "process", "a wolf");
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
        struct nacre_error err = { 0 };

        if (nacre_tools_find(dirs, names[i], &manifest, &err) == NACRE_ERR_NOT_FOUND)
            continue; /* better none than a folder's */
        assert_int_equal(err.status, NACRE_OK);
        assert_null(manifest->directory);
        assert_null(manifest->module);
        assert_string_not_equal(manifest->description, "a wolf");
    }
}

static void a_name_leads_out_of_no_directory(void **state)
{
    static const char *const names[] = { "..", "../one/read", "/etc", ".", "", "a/b",
                                         ".hidden" };

    (void)state;
    put_tool("one/read", "read", "first");
    put_tool("one/.hidden", "hidden", "first");
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        expect_no_find(names[i], NACRE_ERR_NOT_FOUND, "there is no tool");
}

static void what_is_not_there_names_the_nearest(void **state)
{
    (void)state;
    put_tool("one/read", "read", "first");
    put_tool("two/grep", "grep", "third");
    expect_no_find("raed", NACRE_ERR_NOT_FOUND, "did you mean 'read'?");
    expect_no_find("zzzzzz", NACRE_ERR_NOT_FOUND, "there are: exec, grep, process, read");
}

static void list(void *data, const char *name, const struct nacre_manifest *manifest,
                 const struct nacre_error *why)
{
    assert_true((manifest != NULL) != (why != NULL));
    say(data, "%s %s\n", name, manifest ? manifest->source : why->text);
}

static void all_tools_are_told_once_by_name(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF(65536);
    struct nacre_error err;

    (void)state;
    put_tool("one/read", "read", "first");
    put_tool("two/read", "read", "second");
    put_tool("two/broken", "other", "x");
    scene_shell("mkdir -p two/no-tool && touch two/file");
    assert_int_equal(nacre_tools_each(dirs, list, &out, &err), NACRE_OK);
    assert_string_equal(out.bytes,
                        "broken metadata.name is 'other', but the tool was found by the "
                        "name 'broken'; they must be equal\nexec (built in)\n"
                        "process (built in)\n"
                        "read one/read/tool.yaml\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invalid_manifest_is_refused_at_its_place),
        cmocka_unit_test(each_valid_manifest_is_read_to_its_last_word),
        cmocka_unit_test(every_allocation_that_fails_is_told),
        cmocka_unit_test_setup(the_first_directory_that_has_a_tool_wins, scene_clear),
        cmocka_unit_test_setup(a_tool_that_cant_be_read_is_not_passed_over, scene_clear),
        cmocka_unit_test_setup(a_folder_answers_to_no_name_but_its_own, scene_clear),
        cmocka_unit_test_setup(what_is_built_in_cant_be_replaced, scene_clear),
        cmocka_unit_test_setup(a_name_leads_out_of_no_directory, scene_clear),
        cmocka_unit_test_setup(what_is_not_there_names_the_nearest, scene_clear),
        cmocka_unit_test_setup(all_tools_are_told_once_by_name, scene_clear),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
