/* What is found, and what is not; that cutting a text changes neither. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "leak_forms.h"
#include "leak_scene.h"

/* ---- patterns ---- */

static void every_example_is_found_however_it_is_cut(void **state)
{
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);

    (void)state;
    for (uint32_t i = 0; i < NACRE_LEAK_PATTERNS; i++) {
        const struct nacre_leak_pattern_row *row = nacre_leak_pattern(i);

        assert_true(row->examples[0] != NULL);
        for (size_t k = 0; row->examples[k]; k++) {
            struct nacre_leak_counts counts = { 0 };
            char text[1024], mark[96];
            int count =
                snprintf(text, sizeof(text), "before %s\n; after", row->examples[k]);
            struct nacre_buf clean;

            assert_true(count > 0 && (size_t)count < sizeof(text));
            if (class_of(leaks, text, (size_t)count) != row->class)
                fail_msg("%s is not found in '%s'", row->name, text);
            clean = checked(leaks, text, (size_t)count, &counts);
            assert_string_equal(counts.first, row->name);
            (void)snprintf(mark, sizeof(mark), "[redacted:%s]", row->name);
            if ((strstr(clean.bytes, mark) != NULL) != (row->class > NACRE_LEAK_WARN))
                fail_msg("'%s' becomes '%s'", text, clean.bytes);
            assert_non_null(strstr(clean.bytes, "before "));
            assert_non_null(strstr(clean.bytes, "; after"));
            assert_int_equal(counts.warned, row->class == NACRE_LEAK_WARN);
            assert_int_equal(counts.redacted, row->class == NACRE_LEAK_REDACT);
            assert_int_equal(counts.blocked, row->class == NACRE_LEAK_BLOCK);
            nacre_buf_clear(&clean);
        }
    }
    nacre_leaks_free(leaks);
}

static void no_counter_example_is_found(void **state)
{
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);

    (void)state;
    for (uint32_t i = 0; i < NACRE_LEAK_PATTERNS; i++) {
        const struct nacre_leak_pattern_row *row = nacre_leak_pattern(i);

        assert_true(row->counter_examples[0] != NULL && row->counter_examples[1] != NULL);
        for (size_t k = 0; row->counter_examples[k]; k++) {
            struct nacre_leak_counts counts = { 0 };
            const char *text = row->counter_examples[k];
            struct nacre_buf clean = checked(leaks, text, strlen(text), &counts);

            if (counts.first[0])
                fail_msg("%s is found in '%s'", counts.first, text);
            assert_string_equal(clean.bytes, text);
            nacre_buf_clear(&clean);
        }
    }
    nacre_leaks_free(leaks);
}

static void the_first_n_patterns_are_looked_for(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= NACRE_LEAK_PATTERNS; n++) {
        struct nacre_leaks *leaks = made(NULL, 0, n);

        for (uint32_t i = 0; i < NACRE_LEAK_PATTERNS; i++) {
            const struct nacre_leak_pattern_row *row = nacre_leak_pattern(i);

            assert_int_equal(class_of(leaks, row->examples[0], strlen(row->examples[0])),
                             i < n ? row->class : NACRE_LEAK_NONE);
        }
        nacre_leaks_free(leaks);
    }
}

static void more_patterns_than_there_are_is_refused(void **state)
{
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_leaks_new(NULL, 0, NACRE_LEAK_PATTERNS + 1, &leaks, &err),
                     NACRE_ERR_USAGE);
    assert_null(leaks);
    assert_null(nacre_leak_pattern(NACRE_LEAK_PATTERNS));
}

static void the_table_is_in_the_order_of_its_classes(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < NACRE_LEAK_PATTERNS; i++)
        assert_true(nacre_leak_pattern(i)->class <= nacre_leak_pattern(i - 1)->class);
    assert_string_equal(nacre_leak_pattern(0)->name, "pem-private-key");
    assert_string_equal(nacre_leak_pattern(21)->name, "authorization-header");
}

static void the_readme_names_every_pattern(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf readme = NACRE_BUF(1 << 20);
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(NACRE_SOURCE_DIR "/README.md", O_RDONLY | O_CLOEXEC);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_buf_read(&readme, fd, &err), NACRE_OK);
    for (uint32_t i = 0; i < NACRE_LEAK_PATTERNS; i++) {
        char quoted[64];

        (void)snprintf(quoted, sizeof(quoted), "`%s`", nacre_leak_pattern(i)->name);
        if (!strstr(readme.bytes, quoted))
            fail_msg("README.md does not name %s", quoted);
    }
}

/* ---- values ---- */

static const char *const secrets[] = {
    "hunter22",
    "S3cr3t!",
    "p/q+r s=t&u'v\"w\\x",
    "zw\xc3\xb6lf B\xc3\xa4ume \xe2\x82\xac 7",
    "line one\nline two\ttabbed",
    "100%25%41of it",
    "\xfb\xef\xbe\xff\xfe\xfd",
    "aaaaaaaaaaaa",
    "''''''''",
};

static void every_form_of_a_value_is_found_however_it_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(secrets); i++) {
        const char *secret = secrets[i];
        size_t size = strlen(secret);
        struct nacre_leaks *leaks = made_for(secret);

        for (size_t k = 0; k < leak_spelling_count; k++) {
            char spelled[2048], text[4096];
            struct nacre_leak_counts counts = { 0 };
            struct nacre_buf clean;
            size_t length, total;

            /* It writes characters, and this is none. */
            if (strcmp(leak_spellings[k].name, "JSON with \\u") == 0 && secret[0] < 0)
                continue;
            length = leak_spellings[k].write((const unsigned char *)secret, size, spelled,
                                             sizeof(spelled));
            total = (size_t)snprintf(text, sizeof(text), "see: <%.*s>, so", (int)length,
                                     spelled);
            if (class_of(leaks, text, total) != NACRE_LEAK_VALUE)
                fail_msg("'%s' is not found as %s: '%s'", secret, leak_spellings[k].name,
                         text);
            clean = checked(leaks, text, total, &counts);
            assert_int_equal(counts.values, 1);
            assert_string_equal(counts.first, "TOKEN");
            assert_non_null(strstr(clean.bytes, "[redacted:TOKEN]"));
            assert_memory_equal(clean.bytes, "see: <", 6);
            assert_string_equal(clean.bytes + clean.size - 5, ">, so");
            nacre_buf_clear(&clean);
        }
        nacre_leaks_free(leaks);
    }
}

static const struct {
    const char *secret, *text;
} strangers[] = {
    { "hunter22", "hunter2" },
    { "hunter22", "hunter 22" },
    { "hunter22", "Hunter22" },
    { "hunter22", "unter22" },
    { "hunter22", "22retnu" },
    { "hunter22", "%68unter2%33" },
    { "hunter22", "68756e746572323" },
    { "hunter22", "68756e74657232 33" },
    { "hunter22", "68  756e7465723232" },
    { "hunter22", "aHVudGVyM" },
    { "hunter22", "aHVudGV\n\n\nyMjI" },
    { "hunter22", "\\u0068unter\\u0032" },
    { "hunter22", "\\hunter2\\2" },
    { "a\nbcdef", "anbcdef" },
    { "a%bcdef", "a%%bcdef" },
    { "short", "short" },
    { "  short \n", "  short \n" },
};

static void what_only_looks_like_a_value_is_let_through(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(strangers); i++) {
        struct nacre_leaks *leaks = made_for(strangers[i].secret);
        struct nacre_leak_counts counts = { 0 };
        struct nacre_buf clean =
            checked(leaks, strangers[i].text, strlen(strangers[i].text), &counts);
        bool is_found = strstr(strangers[i].text, strangers[i].secret) &&
                        strlen(strangers[i].secret) >= NACRE_LEAK_VALUE_MIN &&
                        strangers[i].secret[0] != ' ';

        if ((counts.values > 0) != is_found)
            fail_msg("'%s' in '%s'", strangers[i].secret, strangers[i].text);
        nacre_buf_clear(&clean);
        nacre_leaks_free(leaks);
    }
}

static void blanks_around_a_value_are_not_needed(void **state)
{
    struct nacre_leaks *leaks = made_for("  hunter22\r\n");

    (void)state;
    assert_int_equal(class_of(leaks, "a:hunter22;", 11), NACRE_LEAK_VALUE);
    nacre_leaks_free(leaks);
}

static void what_overlaps_is_left_out_as_one(void **state)
{
    static const char *const values[] = { "abcdefgh", "efghijkl" };
    static const struct {
        const char *text, *clean;
        uint64_t values, redacted;
    } rows[] = {
        { "<abcdefghijkl>", "<[redacted:TOKEN]>", 1, 0 },
        { "<abcdefghabcdefgh>", "<[redacted:TOKEN][redacted:TOKEN]>", 2, 0 },
        { "<abcdefghefghijkl>", "<[redacted:TOKEN][redacted:OTHER]>", 2, 0 },
        { "abcdefgabcdefgh", "abcdefg[redacted:TOKEN]", 1, 0 },
        /* A match that swallows a value's beginning does not free its rest. */
        { "ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiOabcd%65fgh.",
          "[redacted:github-token].", 1, 0 },
        { "ghp_" "Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO abcdefgh",
          "[redacted:github-token] [redacted:TOKEN]", 1, 1 },
    };
    struct nacre_leaks *leaks = made(values, 2, NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_leak_counts counts = { 0 };
        struct nacre_buf clean =
            checked(leaks, rows[i].text, strlen(rows[i].text), &counts);

        assert_string_equal(clean.bytes, rows[i].clean);
        assert_int_equal(counts.values, rows[i].values);
        assert_int_equal(counts.redacted, rows[i].redacted);
        nacre_buf_clear(&clean);
    }
    nacre_leaks_free(leaks);
}

static void of_a_long_value_the_beginning_is_enough(void **state)
{
    char secret[3000], text[3100];
    struct nacre_leaks *leaks;
    struct nacre_leak_counts counts = { 0 };
    struct nacre_buf clean;

    (void)state;
    for (size_t i = 0; i < sizeof(secret) - 1; i++)
        secret[i] = (char)('a' + (i * i + i / 7) % 26);
    secret[sizeof(secret) - 1] = '\0';
    leaks = made_for(secret);
    (void)snprintf(text, sizeof(text), "x %.1500s. y", secret);
    clean = checked(leaks, text, strlen(text), &counts);
    assert_string_equal(clean.bytes, "x [redacted:TOKEN]. y");
    nacre_buf_clear(&clean);
    (void)snprintf(text, sizeof(text), "x %.1000s. y", secret);
    assert_int_equal(class_of(leaks, text, strlen(text)), NACRE_LEAK_NONE);
    nacre_leaks_free(leaks);
}

static void a_value_over_the_limit_is_refused(void **state)
{
    struct nacre_leak_value value = { .name = "X", .count = NACRE_LEAK_VALUE_MAX + 1,
                                      .bytes = (const unsigned char *)"" };
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_leaks_new(&value, 1, 0, &leaks, &err), NACRE_ERR_TOO_BIG);
    assert_null(leaks);
}

/* ---- precision ---- */

static struct {
    struct nacre_leaks *leaks;
    uint64_t files, bytes;
} corpus;

static int scan_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
    struct nacre_buf content = NACRE_BUF(4 << 20);
    struct nacre_leak_counts counts = { 0 };
    struct nacre_error err;
    int fd;

    (void)where;
    if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size > 4 << 20)
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (nacre_buf_read(&content, fd, &err) == NACRE_OK) {
        (void)nacre_leaks_find(corpus.leaks, content.bytes, content.size, &counts);
        if (counts.values || counts.blocked || counts.redacted)
            fail_msg("%s is found in %s", counts.first, path);
        corpus.files++;
        corpus.bytes += content.size;
    }
    (void)close(fd);
    nacre_buf_clear(&content);
    return 0;
}

static void nothing_is_found_in_clean_texts(void **state)
{
    static const char *const trees[] = { "/usr/include", "/usr/share/common-licenses",
                                         NACRE_SOURCE_DIR "/host",
                                         NACRE_SOURCE_DIR "/backends",
                                         NACRE_SOURCE_DIR "/wasi-shims",
                                         NACRE_SOURCE_DIR "/policies" };
    const char *secret = "correct horse";

    (void)state;
    corpus.leaks = made(&secret, 1, NACRE_LEAK_PATTERNS);
    for (size_t i = 0; i < NACRE_COUNT(trees); i++)
        (void)nftw(trees[i], scan_file, 16, FTW_PHYS);
    assert_true(corpus.files > 500 && corpus.bytes > 4 << 20);
    nacre_leaks_free(corpus.leaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_found_however_it_is_cut),
        cmocka_unit_test(no_counter_example_is_found),
        cmocka_unit_test(the_first_n_patterns_are_looked_for),
        cmocka_unit_test(more_patterns_than_there_are_is_refused),
        cmocka_unit_test(the_table_is_in_the_order_of_its_classes),
        cmocka_unit_test(the_readme_names_every_pattern),
        cmocka_unit_test(every_form_of_a_value_is_found_however_it_is_cut),
        cmocka_unit_test(what_only_looks_like_a_value_is_let_through),
        cmocka_unit_test(blanks_around_a_value_are_not_needed),
        cmocka_unit_test(what_overlaps_is_left_out_as_one),
        cmocka_unit_test(of_a_long_value_the_beginning_is_enough),
        cmocka_unit_test(a_value_over_the_limit_is_refused),
        cmocka_unit_test(nothing_is_found_in_clean_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
