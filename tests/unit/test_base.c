/* The ground layer: buffers with ceilings, paths as text, words, digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/base64.h"
#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/hash.h"
#include "nacre/locked.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"

static void add_is_all_or_nothing_at_the_limit(void **state)
{
    struct nacre_buf buf = NACRE_BUF(4);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_buf_add(&buf, "abc", 3, &err), NACRE_OK);
    assert_int_equal(nacre_buf_add(&buf, "de", 2, &err), NACRE_ERR_TOO_BIG);
    assert_int_equal(nacre_buf_addf(&buf, &err, "%d", 42), NACRE_ERR_TOO_BIG);
    assert_string_equal(buf.bytes, "abc");
    assert_int_equal(nacre_buf_addf(&buf, &err, "%d", 7), NACRE_OK);
    assert_int_equal(nacre_buf_add(&buf, "", SIZE_MAX, &err), NACRE_ERR_TOO_BIG);
    assert_string_equal(buf.bytes, "abc7");
    nacre_buf_clear(&buf);
}

static void read_sees_one_byte_too_many(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("t", MFD_CLOEXEC);
    struct nacre_error err;

    (void)state;
    assert_int_equal(write(fd, "12345", 5), 5);
    for (size_t limit = 4; limit <= 6; limit++) {
        struct nacre_buf buf = NACRE_BUF(limit);

        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(nacre_buf_read(&buf, fd, &err),
                         limit < 5 ? NACRE_ERR_TOO_BIG : NACRE_OK);
        nacre_buf_clear(&buf);
    }
}

/* Refuse the 1st allocation, then the 2nd, ... until the work succeeds unrefused. */
static void add_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_buf buf = NACRE_BUF(1000);
        struct nacre_error err;
        enum nacre_status status = NACRE_OK;

        assert_true(n < 100);
        fail_alloc_after(n);
        for (int i = 0; i < 100 && status == NACRE_OK; i++)
            status = nacre_buf_add(&buf, "0123456789", 10, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);

        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(buf.size % 10, 0);
        nacre_buf_clear(&buf);
    }
}

static const struct {
    const char *path, *normal; /* normal is NULL when it is refused */
} paths[] = {
    { "/", "/" },         { "//", "/" },          { "/a/b", "/a/b" },
    { "/a/./b//", "/a/b" }, { "/a/../b", "/b" },  { "/..", "/" },
    { "/../../etc", "/etc" }, { "", "." },        { ".", "." },
    { "./a", "a" },       { "a/..", "." },        { "a/../..", NULL },
    { "..", NULL },       { "../a", NULL },       { "/...", "/..." },
    { "/a/b/../../..", "/" }, { "a/b/../c", "a/c" },
};

static void each_path_has_one_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(paths); i++) {
        char normal[64];
        bool ok = nacre_path_normalise(paths[i].path, normal, sizeof(normal));

        assert_int_equal(ok, paths[i].normal != NULL);
        if (ok)
            assert_string_equal(normal, paths[i].normal);
    }
    for (size_t size = 0; size < 7; size++) {
        char small[8] = "canary!";

        assert_false(nacre_path_normalise("/abcdef", small, size));
    }
}

static const struct {
    const char *path, *top, *rest;
} belows[] = {
    { "/work/a", "/work", "a" },
    { "/work", "/work", "" },
    { "/work-evil", "/work", NULL },
    { "/a", "/", "a" },
    { "/", "/", "" },
    { "a", "/", NULL },
    { "a/b", ".", "a/b" },
    { ".", ".", "" },
    { "/a", ".", NULL },
    { "/wor", "/work", NULL },
    { "data/x", "data", "x" },
    { "database", "data", NULL },
};

static void a_twin_with_the_same_prefix_is_not_below(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(belows); i++) {
        const char *rest = NULL;

        assert_int_equal(nacre_path_is_below(belows[i].path, belows[i].top, &rest),
                         belows[i].rest != NULL);
        if (belows[i].rest)
            assert_string_equal(rest, belows[i].rest);
    }
}

static void a_slip_finds_its_word_and_a_stranger_none(void **state)
{
    static const char *const words[] = { "memory_mb", "cpu_shares", "mode", "level" };

    (void)state;
    assert_string_equal(nacre_text_nearest("memroy_mb", words, 4), "memory_mb");
    assert_string_equal(nacre_text_nearest("cpu_share", words, 4), "cpu_shares");
    assert_string_equal(nacre_text_nearest("levle", words, 4), "level");
    assert_null(nacre_text_nearest("mo", words, 4));
    assert_null(nacre_text_nearest("banana", words, 4));
    assert_null(nacre_text_nearest("", words, 4));
}

static void shown_text_cannot_drive_a_terminal(void **state)
{
    char shown[NACRE_SHOWN];
    char small[12];

    (void)state;
    assert_string_equal(nacre_text_shown(shown, "a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
    assert_string_equal(nacre_text_shown(shown, "gr\xc3\xbc\xc3\x9f"),
                        "gr\xc3\xbc\xc3\x9f");
    assert_string_equal(nacre_text_shown(shown, "\xc2\x9b\xff"), "\\xc2\\x9b\\xff");
    /* Who approves "a<U+202E>fr mr" would read "arm rf". */
    assert_string_equal(nacre_text_shown(shown, "a\xe2\x80\xae" "f"),
                        "a\\xe2\\x80\\xaef");
    assert_string_equal(nacre_text_shown(shown, "\xe2\x81\xa6" "x\xe2\x80\x8b\xc2\xad"),
                        "\\xe2\\x81\\xa6x\\xe2\\x80\\x8b\\xc2\\xad");
    assert_string_equal(nacre_text_shown(shown, "\xf3\xa0\x81\x81\xef\xbb\xbf"),
                        "\\xf3\\xa0\\x81\\x81\\xef\\xbb\\xbf");
    assert_string_equal(nacre_text_shown(shown, "\xe2\x80\x93\xe2\x82\xac\xe2\x80\xa6"),
                        "\xe2\x80\x93\xe2\x82\xac\xe2\x80\xa6"); /* a dash, money, dots */
    assert_string_equal(nacre_text_show(small, sizeof(small), "0123456789ab", 12),
                        "01234567...");
    assert_string_equal(nacre_text_show(small, sizeof(small), "0123456789a", 11),
                        "0123456789a");
}

static void numbers_are_digits_and_nothing_else(void **state)
{
    static const char *const bad[] = { "", " 1", "+1", "-1", "1 ", "0x1", "1e3",
                                       "18446744073709551616" };
    uint64_t number = 7;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++)
        assert_false(nacre_text_u64(bad[i], UINT64_MAX, &number));
    assert_false(nacre_text_u64("11", 10, &number));
    assert_int_equal(number, 7);
    assert_true(nacre_text_u64("10", 10, &number));
    assert_int_equal(number, 10);
}

static void digests_match_the_published_vectors(void **state)
{
    struct nacre_digest digest = nacre_hash("abc", 3);
    struct nacre_digest again;
    char hex[NACRE_HEX];

    (void)state;
    assert_string_equal(
        nacre_digest_hex(&digest, hex),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(nacre_digest_from_hex(hex, &again));
    assert_true(nacre_digest_equal(&digest, &again));
    hex[3] = 'g';
    assert_false(nacre_digest_from_hex(hex, &again));
    digest = nacre_hmac("key", 3, "The quick brown fox jumps over the lazy dog", 43);
    assert_string_equal(
        nacre_digest_hex(&digest, hex),
        "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

static void an_error_keeps_its_place_and_gains_context(void **state)
{
    struct nacre_error err;
    char text[300];

    (void)state;
    assert_int_equal(
        nacre_fail_at(&err, NACRE_ERR_PARSE, "p.yaml", 3, 9, "bad '%s'", "x"),
        NACRE_ERR_PARSE);
    assert_int_equal(nacre_fail_context(&err, "policy"), NACRE_ERR_PARSE);
    nacre_error_print(&err, text, sizeof(text));
    assert_string_equal(text, "p.yaml:3:9: policy: bad 'x'");
}

/* RFC 4648, 10, and what two readers would take for two things. */
static void each_row_of_bytes_has_one_base64(void **state)
{
    static const struct {
        const char *bytes, *plain, *url;
    } rows[] = {
        { "", "", "" },           { "f", "Zg==", "Zg" },
        { "fo", "Zm8=", "Zm8" },  { "foo", "Zm9v", "Zm9v" },
        { "foob", "Zm9vYg==", "Zm9vYg" }, { "\xfb\xff\xfe", "+//+", "-__-" },
    };
    static const char *const wrong[] = { "Z", "Zh==", "Zm9", "Zm8=v", "Zm 8", "Zg===",
                                         "-__-", "=", "Zm9v=Zg==" };
    char text[NACRE_BASE64_SIZE(4)], bytes[8];
    size_t count;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        size_t size = strlen(rows[i].bytes);

        assert_int_equal(nacre_base64_write(NACRE_BASE64_PLAIN, rows[i].bytes, size, text),
                         strlen(rows[i].plain));
        assert_string_equal(text, rows[i].plain);
        (void)nacre_base64_write(NACRE_BASE64_URL, rows[i].bytes, size, text);
        assert_string_equal(text, rows[i].url);
        assert_true(nacre_base64_read(NACRE_BASE64_URL, text, strlen(text), bytes, size,
                                      &count));
        assert_int_equal(count, size);
        assert_memory_equal(bytes, rows[i].bytes, size);
        if (size > 0)
            assert_false(nacre_base64_read(NACRE_BASE64_PLAIN, rows[i].plain,
                                           strlen(rows[i].plain), bytes, size - 1,
                                           &count));
    }
    for (size_t i = 0; i < NACRE_COUNT(wrong); i++)
        if (nacre_base64_read(NACRE_BASE64_PLAIN, wrong[i], strlen(wrong[i]), bytes,
                              sizeof(bytes), &count))
            fail_msg("'%s' is taken for %zu bytes", wrong[i], count);
}

static void locked_pages_are_empty_in_a_child(void **state)
{
    unsigned char *bytes = nacre_locked_new(10, false);
    int status;
    pid_t child;

    (void)state;
    assert_non_null(bytes);
    assert_int_equal(bytes[9], 0);
    bytes[9] = 7;
    child = fork();
    if (child == 0)
        _exit(bytes[9]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(bytes[9], 7);
    nacre_locked_free(bytes, 10);
    nacre_locked_free(NULL, 10);
}

/* By the C library's own calendar, over four centuries and at every edge of a month. */
static void seconds_are_shown_as_the_calendar_has_them(void **state)
{
    char ours[NACRE_SECOND], theirs[32];

    (void)state;
    for (time_t second = 0; second < 12700000000; second += 86399) {
        struct tm utc;

        assert_non_null(gmtime_r(&second, &utc));
        assert_int_not_equal(
            strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%SZ", &utc), 0);
        assert_string_equal(nacre_clock_second(ours, (uint64_t)second), theirs);
    }
    assert_string_equal(nacre_clock_second(ours, 951782399), "2000-02-28T23:59:59Z");
    assert_string_equal(nacre_clock_second(ours, 951782400), "2000-02-29T00:00:00Z");
    assert_string_equal(nacre_clock_second(ours, 4107542400), "2100-03-01T00:00:00Z");
    assert_string_equal(nacre_clock_second(ours, UINT64_MAX), "9999-12-31T23:59:59Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_is_all_or_nothing_at_the_limit),
        cmocka_unit_test(read_sees_one_byte_too_many),
        cmocka_unit_test(add_survives_every_allocation_failure),
        cmocka_unit_test(each_path_has_one_spelling),
        cmocka_unit_test(a_twin_with_the_same_prefix_is_not_below),
        cmocka_unit_test(a_slip_finds_its_word_and_a_stranger_none),
        cmocka_unit_test(shown_text_cannot_drive_a_terminal),
        cmocka_unit_test(numbers_are_digits_and_nothing_else),
        cmocka_unit_test(digests_match_the_published_vectors),
        cmocka_unit_test(an_error_keeps_its_place_and_gains_context),
        cmocka_unit_test(each_row_of_bytes_has_one_base64),
        cmocka_unit_test(seconds_are_shown_as_the_calendar_has_them),
        cmocka_unit_test(locked_pages_are_empty_in_a_child),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
