/* The patch reader and the applier of guest-tools/apply_patch, built for this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "patch.h"

#define BEGIN "*** Begin Patch\n"
#define END "*** End Patch\n"
#define UPDATE BEGIN "*** Update File: a\n"

static int clear(void **state)
{
    (void)state;
    nacre_arena_reset();
    return 0;
}

static void what_is_no_patch_is_refused_at_its_line(void **state)
{
    static const struct {
        const char *patch, *code, *text;
    } rows[] = {
        { "", "bad-patch", "empty" },
        { " \n\t\n", "bad-patch", "empty" },
        { "x", "bad-patch", "neither" },
        { BEGIN, "bad-patch", "is it cut?" },
        { BEGIN END, "bad-patch", "changes no file" },
        { BEGIN "x\n" END, "bad-patch", "line 2: " },
        { BEGIN "*** Add File:\n+x\n" END, "bad-patch", "names no file" },
        { BEGIN "*** Add File: a\nx\n" END, "bad-patch", "line 3: each line of a new file" },
        { BEGIN "*** Delete File: a\n-x\n" END, "bad-patch", "line 3: " },
        { BEGIN "*** Delete File:  \r\n" END, "bad-patch", "line 2: " },
        { UPDATE END, "bad-patch", "no hunk" },
        { UPDATE "@@\n" END, "bad-patch", "line 3: a hunk without lines" },
        { UPDATE "@@x\n-a\n" END, "bad-patch", "line 3: \"@@\" is followed" },
        { UPDATE "@@\n-a\n*** End of File\n-b\n" END, "bad-patch", "line 6: a hunk starts" },
        { UPDATE "*** Move to: \n@@\n-a\n" END, "bad-patch", "line 3: " },
        { UPDATE "*** Move to: b\n*** Move to: c\n@@\n-a\n" END, "bad-patch", "line 4: " },
        { UPDATE "@@\n\xff\n" END, "bad-patch", "\\xFF" },
        { BEGIN "*** Add File: a\n+x\n" END "y", "bad-patch", "line 5: \"y\" stands behind" },
        { "--- a\n", "bad-patch", "neither" },
        { "@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "line 1: a hunk without" },
        { "--- a\n+++ a\n", "bad-patch", "no hunk" },
        { "--- a\n+++ a\n@@ -1 +1\n-x\n+y\n", "bad-patch", "line 3: \"@@ -LINE" },
        { "--- a\n+++ a\n@@ -1 +1 @@\n-x\n", "bad-patch", "1 before and 0 after" },
        { "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n+z\n", "bad-patch", "1 before and 2 after" },
        { "--- a\n+++ a\n@@ -1,99999999999 +1 @@\n-x\n+y\n", "bad-patch", "line 3: \"@@" },
        { "--- a\n+++ a\n@@ -1,0 +1,0 @@\n", "bad-patch", "a hunk without lines" },
        { "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "two files" },
        { "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "both sides" },
        { "--- \"a\\q\"\n+++ a\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "names no file" },
        { "--- \"a\\000\"\n+++ a\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "names no file" },
        { "--- \"a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "names no file" },
        { "--- a\n+++ a\n@@\n+\n\\ No newline at end of file\n", "bad-patch", "is no line" },
        { "diff --git a/x b/y\nnew file mode 100644\n", "bad-patch", "which file" },
        { "diff --git a/x b/y\nrename from \nrename to y\n", "unsupported", "line 2: " },
        { "diff --git a/x b/y\nrename from x\nrename to \"\n", "unsupported", "line 3: " },
        { "--- /dev/null\n+++ b/\n@@ -0,0 +1 @@\n+x\n", "bad-patch", "there is no name" },
        { "--- a/\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n", "bad-patch", "there is no name" },
        { "diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n",
          "bad-patch", "no side is /dev/null" },
        { "diff --git a/x b/x\nnew file mode 160000\n", "unsupported", "no links" },
        { "diff --git a/x b/x\nold mode 100644\n", "unsupported", "chmod" },
        { "diff --git a/x b/y\ncopy from x\ncopy to y\n", "unsupported", "copies" },
        { "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "unsupported", "binary" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct patch_fault fault = { 0 };
        struct patch patch;

        if (patch_read(rows[i].patch, strlen(rows[i].patch), &patch, &fault))
            fail_msg("taken: %s", rows[i].patch);
        if (strcmp(fault.code, rows[i].code) != 0 || !strstr(fault.text.bytes, rows[i].text))
            fail_msg("%s: got %s: %s", rows[i].patch, fault.code, fault.text.bytes);
        nacre_arena_reset();
    }
}

static void a_nul_in_a_name_is_refused(void **state)
{
    static const char text[] = BEGIN "*** Delete File: a\0b\n" END;
    static const char quoted[] = "--- /dev/null\n+++ \"b/\0x\"\n@@ -0,0 +1 @@\n+y\n";
    static const char unified[] = "--- a\0b\n+++ a\0b\n@@ -1 +1 @@\n-x\n+y\n";
    struct patch_fault fault = { 0 };
    struct patch patch;

    (void)state;
    assert_false(patch_read(text, sizeof(text) - 1, &patch, &fault));
    assert_false(patch_read(unified, sizeof(unified) - 1, &patch, &fault));
    assert_false(patch_read(quoted, sizeof(quoted) - 1, &patch, &fault));
}

/* The first file of a patch applied; NULL with a code. */
static const char *apply(const char *text, const char *before, size_t count,
                         struct patch_stats *stats, const char **ret_code)
{
    struct patch_fault fault = { 0 };
    struct nacre_text after = { 0 };
    struct patch patch;

    *ret_code = NULL;
    nacre_text_add(&after, "", 0);
    if (!patch_read(text, strlen(text), &patch, &fault))
        fail_msg("%s: %s", text, fault.text.bytes);
    if (patch_apply(&patch.files[0], before, count, &after, stats, &fault))
        return after.bytes;
    *ret_code = fault.code;
    return NULL;
}

static void a_hunk_goes_where_it_fits_and_nowhere_else(void **state)
{
    static const struct {
        const char *patch, *before, *after; /* NULL: refused with: */
        const char *code;
        enum patch_fit fit;
    } rows[] = {
        { UPDATE "-a\n+b\n" END, "a\n", "b\n", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n-a\n" END, "a\n", "", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n+a\n" END, "", "a\n", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n a\n+b\n" END, "a", "a\nb\n", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n+0\n a\n" END, "a", "0\na", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n-a\n+b\n" END, "a \n", "b\n", NULL, PATCH_FIT_SPACE },
        { UPDATE "@@\n-a \n+b\n" END, "a\n", "b\n", NULL, PATCH_FIT_SPACE },
        { UPDATE "@@\n-a-b\n+c\n" END, "a\xe2\x80\x94" "b\n", "c\n", NULL, PATCH_FIT_FOLD },
        { UPDATE "@@\n-a\n+b\n" END, "a\na \n", "b\na \n", NULL, PATCH_FIT_EXACT },
        { UPDATE "@@\n-a\n+b\n" END, "a\na\n", NULL, "ambiguous", 0 },
        { UPDATE "@@\n-a\n+b\n" END, "a \na\t\n", NULL, "ambiguous", 0 },
        { UPDATE "@@ x\n-a\n+b\n" END, "a\nx\na\na\n", "a\nx\nb\na\n", NULL, 0 },
        { UPDATE "@@ x\n-a\n+b\n" END, "x\na\nx\n", "x\nb\nx\n", NULL, 0 },
        { UPDATE "@@ x\n-a\n+b\n" END, "x\na\nx\na\n", NULL, "ambiguous", 0 },
        { UPDATE "@@ x\n-a\n+b\n" END, "a\nx\n", NULL, "no-match", 0 },
        { UPDATE "@@ x\n+b\n" END, "x\nx\n", NULL, "ambiguous", 0 },
        { UPDATE "@@ -3 +3 @@\n-a\n+b\n" END, "a\na\na\n", "a\na\nb\n", NULL, 0 },
        { UPDATE "@@\n-a\n+b\n@@\n-a\n+c\n" END, "a\nx\n", NULL, "no-match", 0 },
        { UPDATE "@@\n-b\n+B\n@@\n-a\n+A\n" END, "a\nb\n", NULL, "no-match", 0 },
        { UPDATE "@@\n-a\n+b\n" END, "", NULL, "no-match", 0 },
        { UPDATE "@@\n-\xff\n+b\n" END, "\xff\n", "b\n", NULL, 0 },
        { "--- a\n+++ a\n@@ -2,0 +3 @@\n+x\n", "1\n2\n3\n", "1\n2\nx\n3\n", NULL, 0 },
        { "--- a\n+++ a\n@@ -0,0 +1 @@\n+x\n", "1\n", "x\n1\n", NULL, 0 },
        { "--- a\n+++ a\n@@ -9,0 +10 @@\n+x\n", "1\n", NULL, "no-match", 0 },
        { "--- a\n+++ a\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n", "1\n1", "1\n2\n",
          NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct patch_stats stats = { 0 };
        const char *code;
        const char *after = apply(rows[i].patch, rows[i].before, strlen(rows[i].before),
                                  &stats, &code);

        if (!after != !rows[i].after || (after && strcmp(after, rows[i].after) != 0) ||
            (code && strcmp(code, rows[i].code) != 0) ||
            (after && stats.fit != rows[i].fit))
            fail_msg("%s on %s: got %s, %s, fit %d", rows[i].patch, rows[i].before,
                     after ? after : "nothing", code ? code : "no code", (int)stats.fit);
        nacre_arena_reset();
    }
}

/* A quadratic search would be at it for hours. */
static void a_million_equal_lines_cost_no_more_than_others(void **state)
{
    size_t lines = 1000000, hunk_lines = 400000;
    char *before = malloc(lines * 2), *text = malloc(hunk_lines * 3 + 100), *to = text;
    struct patch_stats stats = { 0 };
    const char *code;

    (void)state;
    for (size_t i = 0; i < lines; i++)
        memcpy(before + i * 2, "a\n", 2);
    before[lines * 2 - 2] = 'b';
    to += snprintf(text, 100, UPDATE "@@\n");
    for (size_t i = 0; i < hunk_lines; i++, to += 3)
        memcpy(to, " a\n", 3);
    memcpy(to, "-b\n+c\n" END, sizeof("-b\n+c\n" END));
    assert_non_null(apply(text, before, lines * 2, &stats, &code));
    assert_int_equal(stats.added, 1);
    before[lines * 2 - 2] = 'x';
    assert_null(apply(text, before, lines * 2, &stats, &code));
    assert_string_equal(code, "no-match");
    free(before);
    free(text);
}

static void a_line_of_sixteen_megabytes_is_a_line(void **state)
{
    size_t count = PATCH_FILE_BYTES_MAX - 2;
    char *before = malloc(count + 2);
    struct patch_stats stats = { 0 };
    const char *code, *after;

    (void)state;
    memset(before, 'x', count);
    memcpy(before + count, "\na", 2);
    after = apply(UPDATE "@@\n-a\n+b\n" END, before, count + 2, &stats, &code);
    assert_non_null(after);
    assert_string_equal(after + count, "\nb\n");
    assert_null(apply(UPDATE "@@\n-no\n+b\n" END, before, count + 2, &stats, &code));
    free(before);
}

static void files_hunks_lines_and_bytes_have_ceilings(void **state)
{
    struct nacre_text text = { 0 };
    struct patch_fault fault = { 0 };
    struct patch_stats stats = { 0 };
    struct patch_text split;
    struct patch patch;
    const char *code;
    char *lines = malloc(PATCH_LINES_MAX + 1);

    (void)state;
    nacre_text_addf(&text, "%s", BEGIN);
    for (int i = 0; i <= PATCH_FILES_MAX; i++)
        nacre_text_addf(&text, "*** Delete File: f%d\n", i);
    nacre_text_addf(&text, "%s", END);
    assert_false(patch_read(text.bytes, text.count, &patch, &fault));
    assert_string_equal(fault.code, "too-large");

    text = (struct nacre_text){ 0 };
    nacre_text_addf(&text, "%s", UPDATE);
    for (int i = 0; i <= PATCH_HUNKS_MAX; i++)
        nacre_text_addf(&text, "@@\n-%d\n", i);
    nacre_text_addf(&text, "%s", END);
    assert_false(patch_read(text.bytes, text.count, &patch, &fault));
    assert_string_equal(fault.code, "too-large");

    assert_false(patch_read(text.bytes, PATCH_BYTES_MAX + 1, &patch, &fault));
    assert_string_equal(fault.code, "too-large");

    text = (struct nacre_text){ 0 };
    nacre_text_addf(&text, "%s", UPDATE);
    for (int i = 0; i < PATCH_HUNKS_MAX; i++)
        nacre_text_addf(&text, "@@\n-%d\n", i);
    nacre_text_addf(&text, "%s", END);
    memset(lines, '\n', PATCH_LINES_MAX + 1);
    assert_null(apply(text.bytes, lines, PATCH_LINES_MAX, &stats, &code));
    assert_string_equal(code, "too-large");
    assert_true(patch_split(lines, PATCH_LINES_MAX, &split));
    assert_false(patch_split(lines, PATCH_LINES_MAX + 1, &split));
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_no_patch_is_refused_at_its_line, clear),
        cmocka_unit_test_teardown(a_nul_in_a_name_is_refused, clear),
        cmocka_unit_test_teardown(a_hunk_goes_where_it_fits_and_nowhere_else, clear),
        cmocka_unit_test_teardown(a_million_equal_lines_cost_no_more_than_others, clear),
        cmocka_unit_test_teardown(a_line_of_sixteen_megabytes_is_a_line, clear),
        cmocka_unit_test_teardown(files_hunks_lines_and_bytes_have_ceilings, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
