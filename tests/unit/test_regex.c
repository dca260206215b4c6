/* The regular expressions of grep: rows of data, and what no row can say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "regex.h"

static struct nacre_regex *made(const char *pattern, unsigned flags)
{
    struct nacre_regex_error error;
    struct nacre_regex *regex = nacre_regex_new(pattern, strlen(pattern), flags, &error);

    if (!regex)
        fail_msg("/%s/: %s at %zu", pattern, error.text, error.offset);
    return regex;
}

/* ---- rows ---- */

static size_t unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        if (at[0] == '\\' && at[1] == 'x') {
            const char digits[3] = { at[2], at[3], '\0' };

            *to++ = (char)strtol(digits, NULL, 16);
            at += 4;
        } else if (at[0] == '\\' && at[1] != '\0') {
            *to++ = at[1] == 't' ? '\t' : at[1];
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* Splits at tabs; how many fields. */
static size_t fields(char *row, char *ret_fields[], size_t max)
{
    size_t count = 0;

    row[strcspn(row, "\n")] = '\0';
    while (row && count < max) {
        ret_fields[count++] = row;
        row = strchr(row, '\t');
        if (row)
            *row++ = '\0';
    }
    return count;
}

static FILE *suite(const char *name)
{
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/regex/%s", NACRE_SUITES_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static unsigned flags_of(const char *letters)
{
    return (strchr(letters, 'i') ? NACRE_REGEX_CASELESS : 0U) |
           (strchr(letters, 'w') ? NACRE_REGEX_WORD : 0U) |
           (strchr(letters, 'f') ? NACRE_REGEX_LITERAL : 0U);
}

/* The line alone, and between others, in each way there is to search. */
static void check_search(struct nacre_regex *regex, const char *pattern, const char *line,
                         size_t count, bool expected)
{
    for (int way = 0; way < 3; way++) {
        struct nacre_regex_line found;
        char text[512];
        size_t used = 0;
        bool is;

        nacre_regex_disable(regex, way > 0, way > 1);
        text[used++] = '\x1f';
        text[used++] = '\n';
        memcpy(text + used, line, count);
        used += count;
        text[used++] = '\n';
        is = nacre_regex_next_line(regex, text, used, 2, &found) && found.start == 2;
        if (is != expected)
            fail_msg("/%s/ on \"%s\", way %d: %d", pattern, line, way, is);
        if (is && found.end != 2 + count)
            fail_msg("/%s/ on \"%s\": the line ends at %zu", pattern, line, found.end);
        is = count > 0 && nacre_regex_next_line(regex, line, count, 0, &found);
        if (count > 0 && is != expected)
            fail_msg("/%s/ on \"%s\" without a newline, way %d: %d", pattern, line, way,
                     is);
    }
}

static void rows_match_as_they_say(void **state)
{
    FILE *file = suite("matches.tsv");
    char row[1024], *field[4];
    size_t rows = 0;

    (void)state;
    while (fgets(row, sizeof(row), file)) {
        struct nacre_regex *regex;
        size_t count, start = 0, end = 0, from = 0, to = 0;
        bool expected, is;

        if (row[0] == '#')
            continue;
        assert_int_equal(fields(row, field, 4), 4);
        regex = made(field[1], flags_of(field[0]));
        count = unescape(field[2]);
        expected = strcmp(field[3], "none") != 0;
        if (expected)
            assert_int_equal(sscanf(field[3], "%zu-%zu", &from, &to), 2);
        is = nacre_regex_bounds(regex, field[2], count, &start, &end);
        if (is != expected || (is && (start != from || end != to)))
            fail_msg("/%s/ on \"%s\": %d %zu-%zu instead of %s", field[1], field[2], is,
                     start, end, field[3]);
        check_search(regex, field[1], field[2], count, expected);
        nacre_regex_free(regex);
        rows++;
    }
    (void)fclose(file);
    assert_true(rows >= 400);
}

static void what_is_not_linear_or_not_sound_is_refused_by_name(void **state)
{
    FILE *file = suite("refused.tsv");
    char row[1024], *field[3];
    size_t rows = 0;

    (void)state;
    while (fgets(row, sizeof(row), file)) {
        struct nacre_regex_error error;

        if (row[0] == '#')
            continue;
        assert_int_equal(fields(row, field, 3), 3);
        if (nacre_regex_new(field[0], strlen(field[0]), 0, &error))
            fail_msg("/%s/ is taken", field[0]);
        if (!strstr(error.text, field[2]) || error.offset != strtoul(field[1], NULL, 10))
            fail_msg("/%s/: \"%s\" at %zu", field[0], error.text, error.offset);
        rows++;
    }
    (void)fclose(file);
    assert_true(rows >= 80);
}

static void a_pattern_that_is_no_utf8_is_refused(void **state)
{
    static const char *const patterns[] = { "\xff", "a\xc3", "[\xc3]", "\xed\xa0\x80",
                                            "\xf4\x90\x80\x80", "\xc0\xaf", "(\x80)" };
    struct nacre_regex_error error;

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        assert_null(nacre_regex_new(patterns[i], strlen(patterns[i]), 0, &error));
        assert_non_null(strstr(error.text, "not UTF-8"));
        assert_null(nacre_regex_new(patterns[i], strlen(patterns[i]), NACRE_REGEX_LITERAL,
                                    &error));
    }
}

static void too_long_and_too_deep_patterns_are_refused(void **state)
{
    static char pattern[NACRE_REGEX_PATTERN_MAX + 2];
    struct nacre_regex_error error;
    struct nacre_regex *regex;

    (void)state;
    memset(pattern, 'a', sizeof(pattern));
    assert_null(nacre_regex_new(pattern, NACRE_REGEX_PATTERN_MAX + 1, 0, &error));
    assert_non_null(strstr(error.text, "65536"));
    memset(pattern, '(', NACRE_REGEX_DEPTH_MAX + 1);
    assert_null(nacre_regex_new(pattern, NACRE_REGEX_DEPTH_MAX + 1, 0, &error));
    assert_non_null(strstr(error.text, "deeper"));
    assert_int_equal(error.offset, NACRE_REGEX_DEPTH_MAX);
    memset(pattern + NACRE_REGEX_DEPTH_MAX, ')', NACRE_REGEX_DEPTH_MAX);
    regex = nacre_regex_new(pattern, 2UL * NACRE_REGEX_DEPTH_MAX, 0, &error);
    assert_non_null(regex);
    nacre_regex_free(regex);
}

/* ---- what explodes elsewhere ---- */

static void exploding_patterns_are_done_in_one_pass(void **state)
{
    static const char *const patterns[] = {
        "(a+)+$", "(a|aa)*b", "(a*)*b", "(a|a)*$b", "(.*a){20}b", "(a?){30}a{30}b",
        "((a+)+)+b", "(x+x+)+y", "(a|b|ab)*c", "^(a+)*$b", "(?:a{1,30}){30}b",
        "[ab]*a[ab]{12}c",
    };
    enum { COUNT = 300000 };
    char *text = malloc(COUNT);
    struct nacre_regex_line line;

    (void)state;
    assert_non_null(text);
    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
        struct nacre_regex *regex = made(patterns[p], 0);

        memset(text, 'a', COUNT);
        text[COUNT - 1] = '!';
        if (nacre_regex_next_line(regex, text, COUNT, 0, &line))
            fail_msg("/%s/ matches", patterns[p]);
        nacre_regex_disable(regex, true, false);
        assert_false(nacre_regex_next_line(regex, text, COUNT, 0, &line));
        nacre_regex_free(regex);
    }
    free(text);
}

/* Each byte of such a text makes another state: the cache is emptied and given up. */
static void a_text_that_makes_a_state_of_each_byte_is_searched_all_the_same(void **state)
{
    struct nacre_regex *cached = made("[ab]*a[ab]{18}c", 0);
    struct nacre_regex *simulated = made("[ab]*a[ab]{18}c", 0);
    enum { COUNT = 60000 };
    char *text = malloc(COUNT);
    struct nacre_regex_line one, other;
    uint32_t dice = 1;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < COUNT; i++) {
        dice = dice * 1664525 + 1013904223;
        text[i] = dice >> 31 ? 'a' : 'b';
    }
    nacre_regex_disable(cached, true, false);
    nacre_regex_disable(simulated, true, true);
    assert_false(nacre_regex_next_line(cached, text, COUNT, 0, &one));
    memcpy(text + COUNT - 21, "babababababababababac", 21);
    assert_true(nacre_regex_next_line(cached, text, COUNT, 0, &one));
    assert_true(nacre_regex_next_line(simulated, text, COUNT, 0, &other));
    assert_int_equal(one.known_at, other.known_at);
    assert_int_equal(one.start, 0);
    assert_int_equal(one.end, COUNT);
    nacre_regex_free(cached);
    nacre_regex_free(simulated);
    free(text);
}

/* ---- lines ---- */

static size_t lines_of(struct nacre_regex *regex, const char *text, size_t count)
{
    struct nacre_regex_line line;
    size_t from = 0, lines = 0;

    while (nacre_regex_next_line(regex, text, count, from, &line)) {
        assert_true(line.start >= from && line.end >= line.start && line.end <= count);
        assert_true(line.known_at >= line.start && line.known_at <= line.end);
        from = line.end + 1;
        lines++;
    }
    return lines;
}

static void a_match_stays_in_its_line(void **state)
{
    static const struct {
        const char *pattern, *text;
        size_t lines;
    } rows[] = {
        { "a\\sb", "a\nb\n", 0 },
        { "a[^x]b", "a\nb", 0 },
        { "a\\W*b", "a\n\nb", 0 },
        { "^$", "a\n\nb\n\n", 2 },
        { "^$", "\n", 1 },
        { "^$", "", 0 },
        { "$", "a\nb", 2 },
        { "x*", "a\nb\n", 2 },
        { "^a", "a\nba\na", 2 },
        { "a$", "a\nab\nba\n", 2 },
        { "\\bx\\b", "x\nxx\nx", 2 },
        { "^", "\n\n\n", 3 },
        { "[^a]", "a\na\nb", 1 },
        { "(?s)a.b", "a\nb", 0 },
        { "\\D", "1\n2\n", 0 },
        { "b\\z", "ab\nb\n", 2 },
        { "\\Aa", "a\nba\n", 1 },
        { ".", "\n\n", 0 },
        { "abc|^$", "\nabc\nab\n", 2 },
        { "\\B", "\n", 1 },
        { "\\b", "\n\n", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int way = 0; way < 3; way++) {
            struct nacre_regex *regex = made(rows[i].pattern, 0);
            size_t lines;

            nacre_regex_disable(regex, way > 0, way > 1);
            lines = lines_of(regex, rows[i].text, strlen(rows[i].text));
            if (lines != rows[i].lines)
                fail_msg("/%s/ on row %zu, way %d: %zu lines", rows[i].pattern, i, way,
                         lines);
            nacre_regex_free(regex);
        }
}

static void the_end_of_a_line_may_have_a_return(void **state)
{
    struct nacre_regex *regex = made("foo$", NACRE_REGEX_CRLF);
    struct nacre_regex *strict = made("foo$", 0);

    (void)state;
    assert_int_equal(lines_of(regex, "foo\r\nfoo\nfoo \r\nfoo\rx\n", 20), 2);
    assert_int_equal(lines_of(strict, "foo\r\nfoo\nfoo \r\nfoo\rx\n", 20), 1);
    nacre_regex_free(regex);
    nacre_regex_free(strict);
}

/* Sixteen bytes are looked at at a time: a text may lie anywhere among them. */
static void literals_are_found_at_every_place(void **state)
{
    static const char *const patterns[] = { "needle", "x", "qz", "(?i)needle",
                                            "needle|thread", "(?i)needle|pin",
                                            "ne|qu|wx|th|ab|cd|ef|gh", "needle\\d?" };
    char text[160];

    (void)state;
    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
        struct nacre_regex *regex = made(patterns[p], 0);
        const char *word = p == 1 ? "x" : p == 2 ? "qz" : p == 3 ? "NeeDle" : "needle";
        size_t length = strlen(word);

        for (size_t at = 0; at + length <= 100; at++)
            for (size_t rest = 0; rest < 40; rest += 13) {
                struct nacre_regex_line line;

                memset(text, '-', sizeof(text));
                memcpy(text + at, word, length);
                if (!nacre_regex_next_line(regex, text, at + length + rest, 0, &line))
                    fail_msg("/%s/ is not found at %zu", patterns[p], at);
                assert_int_equal(line.start, 0);
                assert_int_equal(line.end, at + length + rest);
                if (length > 1 && p != 6 &&
                    nacre_regex_next_line(regex, text, at + length - 1, 0, &line))
                    fail_msg("/%s/ is found where it is cut, at %zu", patterns[p], at);
            }
        nacre_regex_free(regex);
    }
}

static void bytes_that_are_no_utf8_are_no_characters(void **state)
{
    static const char text[] = "a\xff" "b\n\xc3\nx\xed\xa0\x80y\nok\n";
    struct nacre_regex *any = made("a.b|x.y|^.$", 0), *plain = made("[ab]", 0);
    struct nacre_regex *other = made("[^a-z]", 0);

    (void)state;
    assert_int_equal(lines_of(any, text, sizeof(text) - 1), 0);
    assert_int_equal(lines_of(plain, text, sizeof(text) - 1), 1);
    assert_int_equal(lines_of(other, text, sizeof(text) - 1), 0);
    nacre_regex_free(any);
    nacre_regex_free(plain);
    nacre_regex_free(other);
}

/* ---- memory ---- */

static void no_memory_is_an_error_and_leaves_nothing(void **state)
{
    static const char pattern[] = "(?i)(fo[o-q]|b\\p{Lu}r){2,3}\\b.*baz$";
    bool done = false;

    (void)state;
    for (unsigned i = 0; !done && i < 2000; i++) {
        struct nacre_regex_error error;
        struct nacre_regex *regex;
        struct nacre_regex_line line;
        size_t start, end;

        fail_alloc_after((int)i);
        regex = nacre_regex_new(pattern, strlen(pattern), 0, &error);
        if (!regex && !strstr(error.text, "memory"))
            fail_msg("%s", error.text);
        if (regex) {
            (void)nacre_regex_next_line(regex, "x\nfoobÄr baz\n", 13, 0, &line);
            (void)nacre_regex_bounds(regex, "foobÄr baz", 11, &start, &end);
        }
        done = !fail_alloc_fired();
        fail_alloc_after(-1);
        nacre_regex_free(regex);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match_as_they_say),
        cmocka_unit_test(what_is_not_linear_or_not_sound_is_refused_by_name),
        cmocka_unit_test(a_pattern_that_is_no_utf8_is_refused),
        cmocka_unit_test(too_long_and_too_deep_patterns_are_refused),
        cmocka_unit_test(exploding_patterns_are_done_in_one_pass),
        cmocka_unit_test(a_text_that_makes_a_state_of_each_byte_is_searched_all_the_same),
        cmocka_unit_test(a_match_stays_in_its_line),
        cmocka_unit_test(the_end_of_a_line_may_have_a_return),
        cmocka_unit_test(literals_are_found_at_every_place),
        cmocka_unit_test(bytes_that_are_no_utf8_are_no_characters),
        cmocka_unit_test(no_memory_is_an_error_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
