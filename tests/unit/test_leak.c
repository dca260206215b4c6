/* What is found, what is not, and that cutting a text changes neither. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "leak_forms.h"
#include "nacre/clock.h"
#include "nacre/leak.h"

static struct nacre_leaks *made(const char *const *values, size_t count,
                                uint32_t pattern_count)
{
    struct nacre_leak_value items[16] = { { 0 } };
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    for (size_t i = 0; i < count; i++)
        items[i] = (struct nacre_leak_value){ .name = i ? "OTHER" : "TOKEN",
                                              .bytes = (const unsigned char *)values[i],
                                              .count = strlen(values[i]) };
    assert_int_equal(nacre_leaks_new(items, count, pattern_count, &leaks, &err),
                     NACRE_OK);
    return leaks;
}

static struct nacre_leaks *made_for(const char *value)
{
    return made(&value, 1, 0);
}

static enum nacre_leak_class class_of(const struct nacre_leaks *leaks, const char *text,
                                      size_t count)
{
    struct nacre_leak_counts counts = { 0 };

    return nacre_leaks_find(leaks, text, count, &counts);
}

struct collected {
    char text[8192];
    size_t used;
};

static void collect(void *data, const char *bytes, size_t count)
{
    struct collected *collected = data;

    assert_true(count <= sizeof(collected->text) - collected->used);
    memcpy(collected->text + collected->used, bytes, count);
    collected->used += count;
}

static void add(struct nacre_leak_stream *lane, const char *text, size_t count,
                bool at_end, struct collected *collected)
{
    struct nacre_error err;

    assert_int_equal(
        nacre_leak_stream_add(lane, text, count, at_end, collect, collected, &err),
        NACRE_OK);
}

/* In two pieces, the first of `split` bytes; byte by byte when there are not so many. */
static struct nacre_leak_counts stream(const struct nacre_leaks *leaks, const char *text,
                                       size_t count, size_t split,
                                       struct collected *collected)
{
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
    struct nacre_error err;

    collected->used = 0;
    assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
    if (split <= count) {
        add(lane, text, split, false, collected);
        add(lane, text + split, count - split, true, collected);
    } else {
        for (size_t i = 0; i < count; i++)
            add(lane, text + i, 1, false, collected);
        add(lane, NULL, 0, true, collected);
    }
    return *nacre_leak_stream_counts(lane);
}

/* However it is cut, the same comes out as from the whole; returns that. */
static struct nacre_buf checked(const struct nacre_leaks *leaks, const char *text,
                                size_t count, struct nacre_leak_counts *counts)
{
    struct nacre_buf clean = NACRE_BUF(1 << 20);
    struct collected collected;
    struct nacre_error err;

    assert_int_equal(nacre_leaks_redact(leaks, text, count, &clean, counts, &err),
                     NACRE_OK);
    for (size_t split = 0; split <= count + 1; split++) {
        struct nacre_leak_counts pieces = stream(leaks, text, count, split, &collected);

        if (collected.used != clean.size ||
            memcmp(collected.text, clean.bytes, clean.size) != 0)
            fail_msg("cut at %zu, '%s' comes out as '%.*s', not as '%s'", split, text,
                     (int)collected.used, collected.text, clean.bytes);
        assert_memory_equal(&pieces, counts, sizeof(pieces));
    }
    return clean;
}

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

/* ---- streams ---- */

/* The secret is cut off by a limit: what is left of it is a part of it all the same. */
static void at_a_cut_the_beginning_of_a_finding_is_left_out(void **state)
{
    static const struct {
        const char *text, *clean;
    } rows[] = {
        { "token: hunter", "token: [redacted:TOKEN]" },
        { "token: 68756e7", "token: [redacted:TOKEN]" },
        { "key: ghp_" "Xk2pQ9vL", "key: [redacted:github-token]" },
        { "key: -----BEGIN RSA PRIVATE" " KEY-----\nMIIE",
          "key: [redacted:pem-private-key]" },
        { "token: hunted", "token: hunted" },
        { "nothing at all", "nothing at all" },
    };
    const char *secret = "hunter22";
    struct nacre_leaks *leaks = made(&secret, 1, NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
        struct collected collected = { .used = 0 };
        struct nacre_error err;

        assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
        add(lane, rows[i].text, strlen(rows[i].text), false, &collected);
        nacre_leak_stream_cut(lane);
        add(lane, NULL, 0, true, &collected);
        collected.text[collected.used] = '\0';
        assert_string_equal(collected.text, rows[i].clean);
    }
    nacre_leaks_free(leaks);
}

/* A prompt has to be seen before its answer is given. */
static void what_can_begin_nothing_is_not_held_back(void **state)
{
    static const char *const prompts[] = { "Name? ", "Continue [y/N] ", "100 done.\n",
                                           "huntsman " };
    const char *secret = "hunter22";
    struct nacre_leaks *leaks = made(&secret, 1, NACRE_LEAK_PATTERNS);
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(prompts); i++) {
        struct collected collected = { .used = 0 };

        add(lane, prompts[i], strlen(prompts[i]), false, &collected);
        collected.text[collected.used] = '\0';
        assert_string_equal(collected.text, prompts[i]);
    }
    nacre_leaks_free(leaks);
}

static void count_only(void *data, const char *bytes, size_t count)
{
    (void)bytes;
    *(size_t *)data += count;
}

/* A key without an end, larger than anything that could be held back, byte by byte. */
static void a_key_without_end_is_left_out_to_its_last_byte(void **state)
{
    static const char head[] = "-----BEGIN OPENSSH PRIVATE" " KEY-----\n";
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
    struct nacre_error err;
    size_t came = 0;

    (void)state;
    assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
    assert_int_equal(nacre_leak_stream_add(lane, head, sizeof(head) - 1, false,
                                           count_only, &came, &err),
                     NACRE_OK);
    for (size_t i = 0; i < 2 * NACRE_LEAK_HELD_MAX; i++)
        assert_int_equal(nacre_leak_stream_add(lane, i % 65 == 64 ? "\n" : "Q", 1, false,
                                               count_only, &came, &err),
                         NACRE_OK);
    assert_int_equal(
        nacre_leak_stream_add(lane, ". end", 5, true, count_only, &came, &err), NACRE_OK);
    assert_int_equal(came, strlen("[redacted:openssh-private-key]. end"));
    assert_int_equal(nacre_leak_stream_counts(lane)->blocked, 1);
    nacre_leaks_free(leaks);
}

static void a_key_ends_with_its_end(void **state)
{
    static const char head[] = "-----BEGIN RSA PRIVATE" " KEY-----";
    static const char body[] = "MIIEpAIBAAKCAQEA7bq3Nc0yqTgkJv8dJ1ZpWm5Rk2Xc";
    static const struct {
        const char *before, *after, *clean;
    } rows[] = {
        { "\n", "\nqPZ+2/==\n-----END RSA PRIVATE KEY-----\nplain words follow",
          "[redacted:pem-private-key]\nplain words follow" },
        { "\\n", "\\n-----END RSA PRIVATE KEY-----\\n plain",
          "[redacted:pem-private-key]\\n plain" },
        { "\n", "\n---END\n-----\nqPZ+-----END X-----plain",
          "[redacted:pem-private-key]plain" },
        { "\n> ", "\n> qPZ+2\n> -----END RSA PRIVATE KEY-----",
          "[redacted:pem-private-key]" },
        { "\n", "\nqPZ+2. The rest is gone.",
          "[redacted:pem-private-key]. The rest is gone." },
    };
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_leak_counts counts = { 0 };
        struct nacre_buf clean;
        char text[512];

        (void)snprintf(text, sizeof(text), "%s%s%s%s", head, rows[i].before, body,
                       rows[i].after);
        clean = checked(leaks, text, strlen(text), &counts);
        assert_string_equal(clean.bytes, rows[i].clean);
        assert_int_equal(counts.blocked, 1);
        nacre_buf_clear(&clean);
    }
    nacre_leaks_free(leaks);
}

/* Held back by a value of the largest size, and read again only now and then. */
static void a_long_beginning_byte_by_byte_costs_little(void **state)
{
    size_t size = NACRE_LEAK_VALUE_MAX - 2, came = 0;
    char *secret = malloc(size + 1);
    struct nacre_leaks *leaks;
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
    struct nacre_error err;
    uint64_t start_ns;

    (void)state;
    assert_non_null(secret);
    for (size_t i = 0; i < size; i++)
        secret[i] = (char)('a' + (i * 7 + i / 26 * 3 + i / 676) % 26);
    secret[size] = '\0';
    leaks = made_for(secret);
    assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
    start_ns = nacre_clock_ns();
    for (size_t i = 0; i < size; i++) {
        char digits[8];

        (void)snprintf(digits, sizeof(digits), "%%%02x", (unsigned char)secret[i]);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(nacre_leak_stream_add(lane, digits + k, 1, false, count_only,
                                                   &came, &err),
                             NACRE_OK);
    }
    assert_int_equal(nacre_leak_stream_add(lane, NULL, 0, true, count_only, &came, &err),
                     NACRE_OK);
    assert_int_equal(came, strlen("[redacted:TOKEN]"));
    assert_true(nacre_clock_ns() - start_ns < 5000000000U);
    nacre_leaks_free(leaks);
    free(secret);
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

/* ---- memory and threads ---- */

static void without_memory_a_scanner_is_not_made(void **state)
{
    struct nacre_leak_value value = { .name = "X", .count = 8,
                                      .bytes = (const unsigned char *)"hunter22" };
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_leaks *leaks = NULL;
        struct nacre_leak_stream *lane = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        enum nacre_status status;
        size_t came = 0;

        fail_alloc_after(n);
        status = nacre_leaks_new(&value, 1, NACRE_LEAK_PATTERNS, &leaks, &err);
        if (status == NACRE_OK)
            status = nacre_leak_stream_new(leaks, &lane, &err);
        if (status == NACRE_OK)
            status = nacre_leak_stream_add(lane, "a hunter22", 10, true, count_only,
                                           &came, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(came, fired ? 0 : strlen("a [redacted:X]"));
        nacre_leak_stream_free(lane);
        nacre_leaks_free(leaks);
    }
}

/* Runs first: later the expressions are there. */
static void without_memory_a_match_is_a_finding(void **state)
{
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);
    static const char text[] = "ghp_" "Xk2p is no token";
    bool fired = true;
    int refused = 0;

    (void)state;
    for (int n = 0; fired; n++) {
        enum nacre_leak_class class;

        fail_alloc_after(n);
        class = class_of(leaks, text, sizeof(text) - 1);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(class, fired ? NACRE_LEAK_REDACT : NACRE_LEAK_NONE);
        refused += fired;
    }
    assert_true(refused > 1);
    nacre_leaks_free(leaks);
}

/* The values are not in a child, where a guest's code may come to run: nothing would be
 * found there, and nothing is let through. */
static void in_a_forked_child_all_is_a_finding(void **state)
{
    const char *secret = "hunter22";
    struct nacre_leaks *leaks = made(&secret, 1, 0);
    struct nacre_leaks *patterns = made(NULL, 0, NACRE_LEAK_PATTERNS);
    const char *example = nacre_leak_pattern(11)->examples[0];
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct nacre_leak_stream *lane = NULL;
        struct nacre_error err;
        size_t came = 0;
        bool right = class_of(leaks, "clean", 5) == NACRE_LEAK_VALUE &&
                     nacre_leak_stream_new(leaks, &lane, &err) == NACRE_OK &&
                     nacre_leak_stream_add(lane, "clean", 5, true, count_only, &came,
                                           &err) == NACRE_ERR_USAGE &&
                     came == 0 &&
                     class_of(patterns, example, strlen(example)) == NACRE_LEAK_REDACT;

        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    nacre_leaks_free(leaks);
    nacre_leaks_free(patterns);
}

static void *find_often(void *data)
{
    for (uint32_t i = 0; i < 50 * NACRE_LEAK_PATTERNS; i++) {
        const struct nacre_leak_pattern_row *row =
            nacre_leak_pattern(i % NACRE_LEAK_PATTERNS);

        if (class_of(data, row->examples[0], strlen(row->examples[0])) != row->class)
            return data;
    }
    return NULL;
}

static void threads_share_a_scanner(void **state)
{
    struct nacre_leaks *leaks = made(NULL, 0, NACRE_LEAK_PATTERNS);
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_often, leaks), 0);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    nacre_leaks_free(leaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_a_match_is_a_finding),
        cmocka_unit_test(threads_share_a_scanner),
        cmocka_unit_test(every_example_is_found_however_it_is_cut),
        cmocka_unit_test(no_counter_example_is_found),
        cmocka_unit_test(the_first_n_patterns_are_looked_for),
        cmocka_unit_test(more_patterns_than_there_are_is_refused),
        cmocka_unit_test(the_table_is_in_the_order_of_its_classes),
        cmocka_unit_test(every_form_of_a_value_is_found_however_it_is_cut),
        cmocka_unit_test(what_only_looks_like_a_value_is_let_through),
        cmocka_unit_test(blanks_around_a_value_are_not_needed),
        cmocka_unit_test(what_overlaps_is_left_out_as_one),
        cmocka_unit_test(of_a_long_value_the_beginning_is_enough),
        cmocka_unit_test(a_value_over_the_limit_is_refused),
        cmocka_unit_test(at_a_cut_the_beginning_of_a_finding_is_left_out),
        cmocka_unit_test(what_can_begin_nothing_is_not_held_back),
        cmocka_unit_test(a_key_without_end_is_left_out_to_its_last_byte),
        cmocka_unit_test(a_key_ends_with_its_end),
        cmocka_unit_test(a_long_beginning_byte_by_byte_costs_little),
        cmocka_unit_test(nothing_is_found_in_clean_texts),
        cmocka_unit_test(without_memory_a_scanner_is_not_made),
        cmocka_unit_test(in_a_forked_child_all_is_a_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
