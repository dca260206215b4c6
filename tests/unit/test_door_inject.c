/* Where a secret's value is put, and where it is not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "basic.h"
#include "inject.h"
#include "nacre/own.h"
#include "revoked.h"

#define TOKEN "nct_0123456789abcdefghijABCDEFGHIJ_-0123456789a"
#define OLD "nct_old3456789abcdefghijABCDEFGHIJ_-0123456789a"

static char host_name[] = "api.example.com", below_name[] = "example.org";
static char key_name[] = "KEY", other_name[] = "other.key-2", odd_name[] = "ODD",
            absent_name[] = "ABSENT";
static struct nacre_egress_host hosts[] = { { .name = host_name },
                                            { .name = below_name, .below = true } };
static struct nacre_egress_secret rules[] = { { key_name, hosts, 2 },
                                              { other_name, hosts, 1 },
                                              { odd_name, hosts, 1 },
                                              { absent_name, hosts, 1 } };
static unsigned char key[] = "k&y /\xc3\xa4", other[] = "value", odd[] = "two\nlines";
static struct door_secret secrets[] = { { key_name, key, sizeof(key) - 1 },
                                        { other_name, other, sizeof(other) - 1 },
                                        { odd_name, odd, sizeof(odd) - 1 },
                                        { absent_name, NULL, 0 } };
static struct door_token tokens[2];
static struct door door = { .egress = { .secrets = rules, .secret_count = 4 },
                            .secrets = secrets, .secret_count = 4,
                            .tokens = tokens, .token_count = 2 };
static const struct door_target target = { &door, "api.example.com", 443, true };

static int make_tokens(void **state)
{
    uint64_t now_ms = (uint64_t)time(NULL) * 1000;

    (void)state;
    assert_int_equal(sizeof(TOKEN) - 1, 47);
    tokens[0] = (struct door_token){ nacre_hash(TOKEN, 47), 1, now_ms + 100000 };
    tokens[1] = (struct door_token){ nacre_hash(OLD, 47), 1, now_ms - 1 };
    return 0;
}

static const struct {
    enum door_place place;
    const char *text, *wanted;
} good[] = {
    { DOOR_IN_HEADER, "", "" },
    { DOOR_IN_HEADER, "plain", "plain" },
    { DOOR_IN_HEADER, "{{secret:KEY}}", "k&y /\xc3\xa4" },
    { DOOR_IN_HEADER, "a {{secret:KEY}} b {{secret:other.key-2}} c",
      "a k&y /\xc3\xa4 b value c" },
    { DOOR_IN_HEADER, "{{secret:KEY}}{{secret:KEY}}", "k&y /\xc3\xa4k&y /\xc3\xa4" },
    { DOOR_IN_HEADER, "Bearer " TOKEN, "Bearer value" },
    { DOOR_IN_HEADER, TOKEN "." TOKEN, "value.value" },
    { DOOR_IN_HEADER, "{secret:KEY}", "{secret:KEY}" },
    { DOOR_IN_HEADER, "{{ secret:KEY }}", "{{ secret:KEY }}" },
    { DOOR_IN_HEADER, "%7B%7Bsecret:KEY%7D%7D", "%7B%7Bsecret:KEY%7D%7D" },
    { DOOR_IN_HEADER, TOKEN "x", TOKEN "x" },
    { DOOR_IN_HEADER, "nct_", "nct_" },
    { DOOR_IN_QUERY, "?a={{secret:KEY}}", "?a=k%26y%20%2F%C3%A4" },
    { DOOR_IN_QUERY, "?a=%7b%7Bsecret%3aKEY%7d%7D&b", "?a=k%26y%20%2F%C3%A4&b" },
    { DOOR_IN_QUERY, "?a=" TOKEN "&b=%zz%", "?a=value&b=%zz%" },
    { DOOR_IN_QUERY, "?a=%7", "?a=%7" },
    { DOOR_IN_QUERY, "?two={{secret:ODD}}", "?two=two%0Alines" },
};

static void what_stands_for_a_secret_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(good); i++) {
        struct nacre_egress_verdict verdict;
        struct door_locked out = { 0 };

        if (door_inject(&target, good[i].place, good[i].text, strlen(good[i].text), &out,
                        &verdict) != NACRE_HTTP_OK)
            fail_msg("'%s': %s", good[i].text, verdict.text);
        assert_int_equal(out.size, strlen(good[i].wanted));
        assert_memory_equal(out.bytes ? out.bytes : "", good[i].wanted, out.size);
        door_locked_clear(&out);
    }
}

static const struct {
    enum door_place place;
    const char *text, *code;
} bad[] = {
    { DOOR_IN_HEADER, "{{secret:}}", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:KEY", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:KEY}", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:KEY }}", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:{{secret:KEY}}}}", "secret-malformed" },
    { DOOR_IN_HEADER, "{{secret:key}}", "secret-unknown" },
    { DOOR_IN_HEADER, "{{secret:KE}}", "secret-unknown" },
    { DOOR_IN_HEADER, "{{secret:KEYS}}", "secret-unknown" },
    { DOOR_IN_HEADER, "{{secret:ABSENT}}", "secret-unknown" },
    { DOOR_IN_HEADER, "{{secret:ODD}}", "secret-not-for-header" },
    { DOOR_IN_HEADER, "Bearer " OLD, "token-expired" },
    { DOOR_IN_HEADER, "nct_0123456789abcdefghijABCDEFGHIJ_-0123456789b",
      "token-unknown" },
    { DOOR_IN_QUERY, "?a=%7B%7Bsecret:KEY%7D", "secret-malformed" },
    { DOOR_IN_QUERY, "?a=%7B{secret%3ANO}%7D", "secret-unknown" },
    { DOOR_IN_QUERY, "?a=" OLD, "token-expired" },
};

static void what_stands_for_no_secret_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct nacre_egress_verdict verdict = { 0 };
        struct door_locked out = { 0 };

        if (door_inject(&target, bad[i].place, bad[i].text, strlen(bad[i].text), &out,
                        &verdict) != NACRE_HTTP_DENIED)
            fail_msg("'%s' was taken", bad[i].text);
        assert_string_equal(verdict.code, bad[i].code);
        assert_true(verdict.text[0]);
        door_locked_clear(&out);
    }
}

static void a_secret_goes_to_its_hosts_over_https_alone(void **state)
{
    static const struct {
        const char *host;
        uint16_t port;
        bool tls;
        const char *code;
    } rows[] = {
        { "api.example.com", 443, true, "" },
        { "a.example.org", 443, true, "" },
        { "api.example.com", 80, false, "secret-in-clear" },
        { "example.org", 443, true, "secret-not-bound" },
        { "example.com", 443, true, "secret-not-bound" },
        { "x.api.example.com", 443, true, "secret-not-bound" },
        { "api.example.com.evil.org", 443, true, "secret-not-bound" },
        { "evilexample.org", 443, true, "secret-not-bound" },
        { "api.example.com", 8443, true, "secret-not-bound" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct door_target to = { &door, rows[i].host, rows[i].port, rows[i].tls };
        struct nacre_egress_verdict verdict = { 0 };
        struct door_locked out = { 0 };
        enum nacre_http_code code =
            door_inject(&to, DOOR_IN_HEADER, "{{secret:KEY}}", 14, &out, &verdict);

        assert_int_equal(code, rows[i].code[0] ? NACRE_HTTP_DENIED : NACRE_HTTP_OK);
        assert_string_equal(verdict.code, rows[i].code);
        if (code != NACRE_HTTP_OK)
            assert_int_equal(out.size, 0);
        door_locked_clear(&out);
    }
}

static void a_refusal_names_the_hosts_and_ports_it_is_bound_to(void **state)
{
    struct nacre_egress_host bound[] = { { .name = host_name, .port = 8443 },
                                         { .name = below_name, .below = true } };
    struct nacre_egress_secret *rule = &rules[0], before = *rule;
    struct door_target to = { &door, "api.example.com", 443, true };
    struct nacre_egress_verdict verdict = { 0 };
    struct door_locked out = { 0 };

    (void)state;
    rule->hosts = bound;
    rule->host_count = 2;
    assert_int_equal(door_inject(&to, DOOR_IN_HEADER, "{{secret:KEY}}", 14, &out,
                                 &verdict), NACRE_HTTP_DENIED);
    *rule = before;
    assert_non_null(strstr(verdict.text, "bound to api.example.com:8443, *.example.org "
                                         "and may not go to api.example.com:443"));
}

static void basic_is_opened_filled_and_closed(void **state)
{
    struct door_locked asked = { 0 }, out = { 0 }, inside = { 0 };
    struct nacre_egress_verdict verdict;
    static const char text[] = "user:{{secret:other.key-2}}";

    (void)state;
    assert_true(door_basic_write(text, sizeof(text) - 1, &asked));
    assert_true(door_inject_wanted_authorization(asked.bytes, asked.size));
    assert_false(door_inject_wanted(DOOR_IN_HEADER, asked.bytes, asked.size));
    assert_int_equal(door_inject_authorization(&target, asked.bytes, asked.size, &out,
                                               &verdict),
                     NACRE_HTTP_OK);
    assert_true(door_basic_read(out.bytes, out.size, &inside));
    assert_int_equal(inside.size, 10);
    assert_memory_equal(inside.bytes, "user:value", 10);
    door_locked_clear(&asked);
    door_locked_clear(&out);
    door_locked_clear(&inside);
}

static void an_authorization_that_names_none_stays_as_it_is(void **state)
{
    static const char *const texts[] = { "Bearer abc", "Basic dXNlcjpwYXNz", "Basic !",
                                         "Digest x" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        struct nacre_egress_verdict verdict;
        struct door_locked out = { 0 };

        assert_int_equal(door_inject_authorization(&target, texts[i], strlen(texts[i]),
                                                   &out, &verdict),
                         NACRE_HTTP_OK);
        assert_int_equal(out.size, strlen(texts[i]));
        assert_memory_equal(out.bytes, texts[i], out.size);
        door_locked_clear(&out);
    }
}

static bool is_taken(void)
{
    struct nacre_egress_verdict verdict = { 0 };
    NACRE_AUTO(door_locked_clear) struct door_locked out = { 0 };

    if (door_inject(&target, DOOR_IN_HEADER, TOKEN, 47, &out, &verdict) == NACRE_HTTP_OK)
        return true;
    assert_string_equal(verdict.code, "token-revoked");
    return false;
}

static void a_revoked_token_is_refused_from_then_on(void **state)
{
    char path[] = "/tmp/nacre-test-revoked-XXXXXX";
    int fd = mkstemp(path), gone = open("/", O_RDONLY | O_CLOEXEC);
    struct nacre_digest another = nacre_hash("another", 7);

    (void)state;
    assert_true(fd >= 0 && gone >= 0 && is_taken());
    door_revoked_set(&door, open(path, O_RDONLY | O_CLOEXEC));
    assert_true(is_taken());
    for (int i = 0; i < 300; i++) /* more than are read at once */
        assert_int_equal(write(fd, another.bytes, sizeof(another.bytes)), 32);
    assert_true(is_taken());
    assert_int_equal(write(fd, tokens[0].digest.bytes, 32), 32);
    assert_false(is_taken());
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_true(is_taken());
    /* Nobody writes to one that is gone, and from a directory nobody reads. */
    assert_int_equal(unlink(path), 0);
    assert_false(is_taken());
    door_revoked_set(&door, gone);
    assert_false(is_taken());
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_for_a_secret_is_replaced),
        cmocka_unit_test(what_stands_for_no_secret_is_refused),
        cmocka_unit_test(a_secret_goes_to_its_hosts_over_https_alone),
        cmocka_unit_test(a_refusal_names_the_hosts_and_ports_it_is_bound_to),
        cmocka_unit_test(basic_is_opened_filled_and_closed),
        cmocka_unit_test(an_authorization_that_names_none_stays_as_it_is),
        cmocka_unit_test(a_revoked_token_is_refused_from_then_on),
    };

    return cmocka_run_group_tests(tests, make_tokens, NULL);
}
