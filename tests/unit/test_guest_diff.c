/* The guest SDK's diff, built for this machine: it must be right, and as short as can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diff_apply.h"
#include "nacre_tool.h"

#define LINES_MAX 24

static const char *diff_of(const char *before, const char *after)
{
    struct nacre_text out = { 0 };

    nacre_tool_diff(&out, "/workspace/f", before, strlen(before), after, strlen(after), 1000);
    return out.bytes;
}

static void changes_come_with_three_lines_around_them(void **state)
{
    (void)state;
    assert_string_equal(diff_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
                        "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    nacre_arena_reset();
}

static void what_is_far_apart_is_told_apart(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
                        "--- a/f\n+++ b/f\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n"
                        "-b\n+B\n");
    assert_string_equal(diff_of("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
                        "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
                        "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
    nacre_arena_reset();
}

static void ends_and_beginnings(void **state)
{
    (void)state;
    assert_string_equal(diff_of("", "a\nb\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_string_equal(diff_of("a\n", ""), "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n");
    assert_string_equal(diff_of("a\n", "a\n"), "--- a/f\n+++ b/f\n");
    assert_string_equal(diff_of("a", "a\n"),
                        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n"
                        "\\ No newline at end of file\n+a\n");
    nacre_arena_reset();
}

static void cr_is_shown_only_where_it_says_something(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a\r\nb\r\n", "a\r\nc\r\n"),
                        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    assert_string_equal(diff_of("a\r\n", "a\n"),
                        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\\x0D\n+a\n");
    nacre_arena_reset();
}

static void a_long_diff_is_cut_and_counted(void **state)
{
    struct nacre_text out = { 0 };
    struct nacre_changes changes = nacre_tool_diff(&out, "f", "1\n2\n3\n", 6, "a\nb\nc\n", 6, 3);

    (void)state;
    assert_string_equal(out.bytes, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-1\n-2\n"
                                   "... 4 more lines of the diff\n");
    assert_int_equal(changes.added, 3);
    assert_int_equal(changes.removed, 3);
    nacre_arena_reset();
}

/* ---- against what is simple and slow ---- */

static uint32_t dice_state = 7;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 16) % sides;
}

static size_t random_text(char *out, uint32_t kinds)
{
    size_t lines = dice(LINES_MAX), count = 0;

    for (size_t i = 0; i < lines; i++) {
        out[count++] = (char)('a' + dice(kinds));
        out[count++] = '\n';
    }
    if (count > 0 && dice(4) == 0)
        count--;
    return count;
}

/* The fewest lines to add and remove, by the table of common subsequences. */
static size_t fewest(const char *a, size_t a_count, const char *b, size_t b_count)
{
    size_t lines_a = (a_count + 1) / 2, lines_b = (b_count + 1) / 2;
    static size_t table[LINES_MAX + 1][LINES_MAX + 1];

    for (size_t i = 0; i <= lines_a; i++)
        for (size_t j = 0; j <= lines_b; j++) {
            size_t up, left;

            if (i == 0 || j == 0) {
                table[i][j] = 0;
                continue;
            }
            up = table[i - 1][j];
            left = table[i][j - 1];
            table[i][j] = up > left ? up : left;
            /* A line without its newline is another one. */
            if (a[2 * i - 2] == b[2 * j - 2] && (2 * i <= a_count) == (2 * j <= b_count))
                table[i][j] = table[i - 1][j - 1] + 1;
        }
    return lines_a + lines_b - 2 * table[lines_a][lines_b];
}

static void every_diff_leads_to_the_other_text_on_a_shortest_way(void **state)
{
    static char before[2 * LINES_MAX], after[2 * LINES_MAX], made[4 * LINES_MAX];

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint32_t kinds = 1 + dice(6);
        size_t before_count = random_text(before, kinds);
        size_t after_count = random_text(after, kinds), changes;
        struct nacre_text out = { 0 };
        struct nacre_changes told = nacre_tool_diff(&out, "f", before, before_count, after,
                                                    after_count, 1000);
        long count = diff_apply(out.bytes, before, before_count, made, &changes);

        if (count != (long)after_count || memcmp(made, after, after_count) != 0)
            fail_msg("round %d:\n%s", i, out.bytes);
        assert_int_equal(told.added + told.removed, changes);
        assert_int_equal(changes, fewest(before, before_count, after, after_count));
        nacre_arena_reset();
    }
}

static void texts_made_to_be_different_cost_no_more_than_the_bound(void **state)
{
    enum { LINES = 60000 };
    struct nacre_text before = { 0 }, after = { 0 }, out = { 0 };
    size_t changes;
    char *made;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        nacre_text_addf(&before, "%u\n", (unsigned)dice(1000));
        nacre_text_addf(&after, "%u\n", (unsigned)dice(1000));
    }
    nacre_tool_diff(&out, "f", before.bytes, before.count, after.bytes, after.count,
                    10 * LINES);
    made = nacre_arena(before.count + after.count + 1);
    assert_int_equal(diff_apply(out.bytes, before.bytes, before.count, made, &changes),
                     after.count);
    assert_memory_equal(made, after.bytes, after.count);
    nacre_arena_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_come_with_three_lines_around_them),
        cmocka_unit_test(what_is_far_apart_is_told_apart),
        cmocka_unit_test(ends_and_beginnings),
        cmocka_unit_test(cr_is_shown_only_where_it_says_something),
        cmocka_unit_test(a_long_diff_is_cut_and_counted),
        cmocka_unit_test(every_diff_leads_to_the_other_text_on_a_shortest_way),
        cmocka_unit_test(texts_made_to_be_different_cost_no_more_than_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
