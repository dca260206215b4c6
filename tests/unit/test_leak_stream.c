/* Texts in pieces: what is held back, and for how long; memory, threads and forks. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "leak_scene.h"

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

/* Of the processor: what else the machine does is not the scan's cost. */
static uint64_t spent_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
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
    start_ns = spent_ns();
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
    assert_true(spent_ns() - start_ns < 5000000000U);
    nacre_leaks_free(leaks);
    free(secret);
}

struct sum {
    uint64_t hash;
    size_t count;
};

static void sum_up(void *data, const char *bytes, size_t count)
{
    struct sum *sum = data;

    for (size_t i = 0; i < count; i++)
        sum->hash = (sum->hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    sum->count += count;
}

/* Each place of the text begins like the value, and none is one. */
static void a_value_that_repeats_itself_is_no_burden(void **state)
{
    static char secret[1001], text[1 << 20];
    struct sum first = { 0 };
    struct nacre_leaks *leaks;
    struct nacre_error err;
    uint64_t start_ns = spent_ns();

    (void)state;
    memset(secret, 'a', 999);
    secret[999] = 'b';
    leaks = made_for(secret);
    memset(text, 'a', sizeof(text));
    for (size_t part = 1 << 20; part >= 1000; part = part / 3 - 1) {
        NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
        struct sum sum = { 0 };

        assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
        for (size_t at = 0; at < sizeof(text); at += part)
            assert_int_equal(
                nacre_leak_stream_add(lane, text + at,
                                      part < sizeof(text) - at ? part : sizeof(text) - at,
                                      at + part >= sizeof(text), sum_up, &sum, &err),
                NACRE_OK);
        if (part == sizeof(text))
            first = sum;
        assert_memory_equal(&sum, &first, sizeof(sum));
        assert_true(nacre_leak_stream_counts(lane)->values > 0);
    }
    assert_true(spent_ns() - start_ns < 20000000000U);
    nacre_leaks_free(leaks);
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
        cmocka_unit_test(at_a_cut_the_beginning_of_a_finding_is_left_out),
        cmocka_unit_test(what_can_begin_nothing_is_not_held_back),
        cmocka_unit_test(a_key_without_end_is_left_out_to_its_last_byte),
        cmocka_unit_test(a_key_ends_with_its_end),
        cmocka_unit_test(a_long_beginning_byte_by_byte_costs_little),
        cmocka_unit_test(a_value_that_repeats_itself_is_no_burden),
        cmocka_unit_test(without_memory_a_scanner_is_not_made),
        cmocka_unit_test(in_a_forked_child_all_is_a_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
