/* The one judge of what may leave, its rules as people write them, and their JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/buf.h"
#include "nacre/egress.h"

/* ---- entries ---- */

static const struct {
    const char *text, *again;
} entries[] = {
    { "api.example.com", "api.example.com" },
    { "API.Example.COM.", "api.example.com" },
    { "*.Example.com", "*.example.com" },
    { "a.example:8443", "a.example:8443" },
    { "*.a.example:81", "*.a.example:81" },
    { "192.0.2.1", "192.0.2.1" },
    { "192.0.2.1:81", "192.0.2.1:81" },
    { "[2001:DB8::1]", "[2001:db8::1]" },
    { "[2001:db8::1]:81", "[2001:db8::1]:81" },
    { "b\xc3\xbc""cher.example", "xn--bcher-kva.example" },
    { "*.B\xc3\x9c""cher.example:81", "*.xn--bcher-kva.example:81" },
};

static void an_entry_is_kept_in_one_spelling(void **state)
{
    struct nacre_egress_host host;
    struct nacre_error err;
    char text[NACRE_EGRESS_HOST_TEXT];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(entries); i++) {
        if (nacre_egress_host_read(entries[i].text, &host, &err) != NACRE_OK)
            fail_msg("'%s': %s", entries[i].text, err.text);
        assert_string_equal(nacre_egress_host_text(&host, text), entries[i].again);
        nacre_egress_host_clear(&host);
    }
}

static const struct {
    const char *text, *words;
} bad_entries[] = {
    { "", "empty" },
    { "*", "alone is not a host" },
    { "*.", "empty" },
    { "*:80", "may stand only for whole labels" },
    { "**.example", "may stand only for whole labels" },
    { "*.*.example", "may stand only for whole labels" },
    { "a.*.example", "may stand only for whole labels" },
    { "*a.example", "may stand only for whole labels" },
    { "https://a.example", "without a scheme" },
    { "a.example/x", "without a user and a path" },
    { "a.example?x", "without a user and a path" },
    { "a.example#x", "without a user and a path" },
    { "me@a.example", "without a user and a path" },
    { "a\\b", "without a user and a path" },
    { "a.example:", "the port must be" },
    { "a.example:0", "the port must be" },
    { "a.example:080", "the port must be" },
    { "a.example:65536", "the port must be" },
    { "a.example:http", "the port must be" },
    { "a.example:*", "may stand only for whole labels" },
    { ":80", "empty" },
    { "2001:db8::1", "in brackets" },
    { "a:1:2", "in brackets" },
    { "[2001:db8::1", "the port must be" },
    { "[::1]x", "IPv6" },
    { "[::1]:0", "the port must be" },
    { "*.192.0.2.1", "no meaning in front of an address" },
    { "*.[::1]", "no meaning in front of an address" },
    { "127.1", "four decimal numbers" },
    { "a b", "no blank" },
    { "a..b", "not a host name" },
    { "p\xd0\xb0ypal.example", "mixes letters" },
};

static void an_entry_that_looks_right_and_is_not_is_refused(void **state)
{
    struct nacre_egress_host host = { .index = 77 };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad_entries); i++) {
        if (nacre_egress_host_read(bad_entries[i].text, &host, &err) != NACRE_ERR_PARSE)
            fail_msg("'%s' is refused", bad_entries[i].text);
        if (!strstr(err.text, bad_entries[i].words))
            fail_msg("'%s': '%s' is not in: %s", bad_entries[i].text,
                     bad_entries[i].words, err.text);
        assert_int_equal(host.index, 77);
        assert_null(host.name);
    }
}

static void a_question_is_a_host_or_a_url(void **state)
{
    static const struct {
        const char *text, *name;
        uint16_t port;
        const char *target;
        bool tls;
    } asked[] = {
        { "A.example", "a.example", 0, "", false },
        { "a.example:81", "a.example", 81, "", false },
        { "https://a.example/x", "a.example", 443, "/x", true },
        { "http://a.example", "a.example", 80, "/", false },
        { "[::1]:81", "::1", 81, "", false },
    };
    static const char *const bad[] = { "", "*", "*.a.example", "a/b", "ftp://a",
                                       "http://", "a:0", "::1", "127.1",
                                       "http://me@a.example" };
    struct nacre_error err;
    struct nacre_url url;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(asked); i++) {
        assert_int_equal(nacre_egress_asked(asked[i].text, &url, &err), NACRE_OK);
        assert_string_equal(url.host, asked[i].name);
        assert_int_equal(url.port, asked[i].port);
        assert_string_equal(url.target, asked[i].target);
        assert_int_equal(url.tls, asked[i].tls);
        assert_int_equal(url.is_address, asked[i].name[0] == ':');
    }
    for (size_t i = 0; i < NACRE_COUNT(bad); i++)
        if (nacre_egress_asked(bad[i], &url, &err) != NACRE_ERR_PARSE)
            fail_msg("'%s' is refused", bad[i]);
}

/* ---- a set of rules ---- */

struct rules {
    struct nacre_egress egress;
    struct nacre_egress_host allowed[8], denied[8];
};

static void add(struct nacre_egress_host *hosts, uint32_t *count, const char *words)
{
    char text[256];
    struct nacre_error err;

    (void)snprintf(text, sizeof(text), "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        if (nacre_egress_host_read(word, &hosts[*count], &err) != NACRE_OK)
            fail_msg("'%s': %s", word, err.text);
        hosts[*count].index = *count;
        hosts[*count].way = NACRE_WAY_TUNNEL;
        hosts[*count].place = (struct nacre_place){ 10 + (int)*count, 3 };
        ++*count;
    }
}

static void rules_make(struct rules *rules, enum nacre_network_mode mode,
                       const char *allowed, const char *denied)
{
    *rules = (struct rules){
        .egress = { .mode = mode, .block_private = true, .way = NACRE_WAY_TUNNEL },
    };
    rules->egress.allowed = rules->allowed;
    rules->egress.denied = rules->denied;
    add(rules->allowed, &rules->egress.allowed_count, allowed);
    add(rules->denied, &rules->egress.denied_count, denied);
}

static void rules_clear(struct rules *rules)
{
    for (size_t i = 0; i < NACRE_COUNT(rules->allowed); i++) {
        nacre_egress_host_clear(&rules->allowed[i]);
        nacre_egress_host_clear(&rules->denied[i]);
    }
}

static struct nacre_egress_verdict judged(const struct rules *rules, const char *name,
                                          uint16_t port)
{
    struct nacre_egress_verdict verdict;

    nacre_egress_judge(&rules->egress, name, port, &verdict);
    assert_true(verdict.text[0] && verdict.rule[0]);
    assert_int_equal(verdict.allowed, verdict.code[0] == '\0');
    return verdict;
}

#define LIST NACRE_NETWORK_ALLOWLIST
#define ALL NACRE_NETWORK_ALLOW_ALL
#define DENY NACRE_NETWORK_DENY

static const struct {
    enum nacre_network_mode mode;
    const char *allowed, *denied, *name;
    uint16_t port;
    const char *code; /* "" allowed */
} cases[] = {
    { LIST, "api.example.com", "", "api.example.com", 443, "" },
    { LIST, "api.example.com", "", "api.example.com", 80, "" },
    { LIST, "api.example.com:8443", "", "api.example.com", 8443, "" },
    { LIST, "*.example.com", "", "api.example.com", 443, "" },
    { LIST, "*.example.com", "", "a.b.c.example.com", 443, "" },
    { LIST, "*.example.com example.com", "", "example.com", 443, "" },
    { LIST, "*.example.com:8443 api.example.com", "", "api.example.com", 443, "" },
    { LIST, "93.184.216.34", "", "93.184.216.34", 443, "" },
    { LIST, "[2606:4700::1]", "", "2606:4700::1", 443, "" },
    { ALL, "", "", "any.example", 443, "" },
    { ALL, "", "", "any.example", 8080, "" },
    { ALL, "", "", "93.184.216.34", 80, "" },
    { ALL, "any.example:25", "", "any.example", 25, "" },

    { DENY, "", "", "api.example.com", 443, "host-not-allowed" },
    { DENY, "api.example.com", "", "api.example.com", 443, "host-not-allowed" },
    { NACRE_NETWORK_UNSET, "a.example", "", "a.example", 443, "host-not-allowed" },
    { LIST, "", "", "api.example.com", 443, "host-not-allowed" },
    { LIST, "api.example.com", "", "example.com", 443, "host-not-allowed" },
    { LIST, "api.example.com", "", "xapi.example.com", 443, "host-not-allowed" },
    { LIST, "api.example.com", "", "a.api.example.com", 443, "host-not-allowed" },
    { LIST, "api.example.com", "", "api.example.com.evil.test", 443, "host-not-allowed" },
    { LIST, "*.example.com", "", "example.com", 443, "host-not-allowed" },
    { LIST, "*.example.com", "", "evilexample.com", 443, "host-not-allowed" },
    { LIST, "*.example.com", "", "example.com.evil.test", 443, "host-not-allowed" },
    { LIST, "api.example.com", "", "api.example.com", 8443, "port-not-allowed" },
    { LIST, "api.example.com", "", "api.example.com", 0, "port-not-allowed" },
    { LIST, "api.example.com:8443", "", "api.example.com", 443, "port-not-allowed" },
    { LIST, "*.example.com:8443", "", "a.example.com", 80, "port-not-allowed" },
    { LIST, "api.example.com", "api.example.com", "api.example.com", 443, "host-denied" },
    { LIST, "*.example.com", "*.example.com", "a.example.com", 443, "host-denied" },
    { LIST, "*.example.com", "b.example.com:443", "b.example.com", 443, "host-denied" },
    { ALL, "", "any.example", "any.example", 8080, "host-denied" },
    { ALL, "any.example", "any.example", "any.example", 443, "host-denied" },
    { ALL, "", "93.184.216.34", "93.184.216.34", 443, "host-denied" },
    { ALL, "", "", "any.example", 25, "port-not-allowed" },
    { ALL, "", "", "any.example", 22, "port-not-allowed" },
    { ALL, "", "", "any.example", 6667, "port-not-allowed" },
    { ALL, "", "", "any.example", 0, "port-not-allowed" },
    { ALL, "", "", "localhost", 443, "address-never" },
    { ALL, "", "", "foo.localhost", 443, "address-never" },
    { LIST, "localhost *.localhost", "", "localhost", 80, "address-never" },
    { ALL, "", "", "127.0.0.1", 80, "address-never" },
    { ALL, "", "", "::1", 80, "address-never" },
    { ALL, "", "", "169.254.169.254", 80, "address-never" },
    { ALL, "", "", "::ffff:93.184.216.34", 80, "address-never" },
    { LIST, "169.254.169.254", "", "169.254.169.254", 80, "address-never" },
    { LIST, "10.0.0.1", "", "10.0.0.1", 80, "address-private" },
    { LIST, "10.0.0.1", "", "10.0.0.2", 80, "host-not-allowed" },
};

static void one_judge_allows_what_a_rule_names_and_no_lookalike(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        struct nacre_egress_verdict verdict;
        struct rules rules;

        rules_make(&rules, cases[i].mode, cases[i].allowed, cases[i].denied);
        verdict = judged(&rules, cases[i].name, cases[i].port);
        if (strcmp(verdict.code, cases[i].code) != 0)
            fail_msg("row %zu, %s:%u: '%s' instead of '%s': %s", i, cases[i].name,
                     cases[i].port, verdict.code, cases[i].code, verdict.text);
        rules_clear(&rules);
    }
}

static void a_verdict_names_its_rule_and_what_may_be_done(void **state)
{
    struct nacre_egress_verdict verdict;
    struct rules rules;

    (void)state;
    rules_make(&rules, LIST, "a.example *.b.example:81", "x.b.example");
    verdict = judged(&rules, "c.b.example", 81);
    assert_string_equal(verdict.rule, "capabilities.network.allowed_hosts[1]");
    assert_int_equal(verdict.place.line, 11);
    assert_int_equal(verdict.way, NACRE_WAY_TUNNEL);
    verdict = judged(&rules, "x.b.example", 81);
    assert_string_equal(verdict.rule, "capabilities.network.denied_hosts[0]");
    assert_int_equal(verdict.way, NACRE_WAY_NONE);
    verdict = judged(&rules, "evil.example", 443);
    assert_string_equal(verdict.text, "evil.example is denied: no entry of allowed_hosts "
                                      "matches it; allowed: a.example, *.b.example:81");
    rules_clear(&rules);
}

/* "http" and "https" as the proxy is asked for them, "tls" of the tool's own. */
static const struct {
    enum nacre_way way;
    const char *allowed, *called, *name;
    uint16_t port;
    const char *code;
    uint16_t becomes; /* the port, where it becomes https */
} calls[] = {
    { NACRE_WAY_UPGRADE, "a.example", "http", "a.example", 80, "", 443 },
    { NACRE_WAY_UPGRADE, "a.example:443", "http", "a.example", 80, "", 443 },
    { NACRE_WAY_UPGRADE, "a.example:8443", "http", "a.example", 8443, "", 8443 },
    { NACRE_WAY_UPGRADE, "a.example:80", "http", "a.example", 80, "", 0 },
    { NACRE_WAY_UPGRADE, "a.example", "https", "a.example", 443, "", 0 },
    { NACRE_WAY_TUNNEL, "a.example", "http", "a.example", 80, "", 0 },
    { NACRE_WAY_INTERCEPT, "a.example", "http", "a.example", 80, "", 0 },
    { NACRE_WAY_NONE, "a.example", "http", "a.example", 80, "", 0 },
    { NACRE_WAY_TUNNEL, "a.example", "tls", "a.example", 443, "", 0 },
    { NACRE_WAY_INTERCEPT, "a.example", "tls", "a.example", 443, "", 0 },
    { NACRE_WAY_UPGRADE, "a.example:8443", "http", "a.example", 80, "port-not-allowed", 0 },
    { NACRE_WAY_TUNNEL, "a.example:443", "http", "a.example", 80, "port-not-allowed", 0 },
    { NACRE_WAY_INTERCEPT, "a.example:443", "http", "a.example", 80, "port-not-allowed", 0 },
    { NACRE_WAY_NONE, "a.example:443", "http", "a.example", 80, "port-not-allowed", 0 },
    { NACRE_WAY_UPGRADE, "a.example", "http", "b.example", 80, "host-not-allowed", 0 },
    { NACRE_WAY_UPGRADE, "a.example", "tls", "a.example", 443, "call-http", 0 },
    { NACRE_WAY_NONE, "a.example", "tls", "a.example", 443, "call-http", 0 },
    { NACRE_WAY_UPGRADE, "a.example:80", "tls", "a.example", 443, "port-not-allowed", 0 },
    { NACRE_WAY_TUNNEL, "93.184.216.34", "tls", "93.184.216.34", 443, "no-server-name", 0 },
    { NACRE_WAY_INTERCEPT, "[2606:4700::1]", "tls", "2606:4700::1", 443, "no-server-name", 0 },
    { NACRE_WAY_TUNNEL, "10.0.0.1", "tls", "10.0.0.1", 443, "address-private", 0 },
};

static void a_request_is_judged_as_what_the_door_makes_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(calls); i++) {
        struct nacre_url url = { .tls = strcmp(calls[i].called, "https") == 0,
                                 .port = calls[i].port };
        bool tls = url.tls;
        struct nacre_egress_verdict verdict;
        struct rules rules;

        rules_make(&rules, LIST, calls[i].allowed, "");
        rules.egress.way = rules.allowed[0].way = calls[i].way;
        (void)snprintf(url.host, sizeof(url.host), "%s", calls[i].name);
        if (strcmp(calls[i].called, "tls") == 0)
            nacre_egress_judge_tls(&rules.egress, url.host, url.port, &verdict);
        else
            nacre_egress_judge_url(&rules.egress, &url, &verdict);
        if (strcmp(verdict.code, calls[i].code) != 0 ||
            verdict.allowed != (calls[i].code[0] == '\0'))
            fail_msg("row %zu: '%s' instead of '%s': %s", i, verdict.code, calls[i].code,
                     verdict.text);
        assert_true(verdict.text[0] && verdict.rule[0]);
        assert_int_equal(url.tls, tls || calls[i].becomes > 0);
        assert_int_equal(url.port, calls[i].becomes ? calls[i].becomes : calls[i].port);
        rules_clear(&rules);
    }
}

static void what_to_call_instead_is_said_with_its_port(void **state)
{
    struct nacre_egress_verdict verdict;
    struct rules rules;

    (void)state;
    rules_make(&rules, LIST, "a.example:8443 [2606:4700::1]", "");
    rules.allowed[0].way = rules.allowed[1].way = NACRE_WAY_UPGRADE;
    nacre_egress_judge_tls(&rules.egress, "a.example", 8443, &verdict);
    assert_non_null(strstr(verdict.text, "call http://a.example:8443/ instead"));
    assert_string_equal(verdict.rule, "request.secrets");
    rules.egress.way = NACRE_WAY_UPGRADE;
    nacre_egress_judge_tls(&rules.egress, "2606:4700::1", 443, &verdict);
    assert_non_null(strstr(verdict.text, "call http://[2606:4700::1]/ instead"));
    assert_string_equal(verdict.rule, "capabilities.secrets.leak_detection.enabled");
    rules_clear(&rules);
}

static void every_answer_of_a_lookup_is_judged(void **state)
{
    static const struct {
        const char *address, *code, *code_open; /* with block_private_ips: false */
    } answers[] = {
        { "93.184.216.34", "", "" },
        { "2606:4700::1", "", "" },
        { "10.1.2.3", "address-private", "" },
        { "100.64.0.1", "address-private", "" },
        { "fd12::1", "address-private", "" },
        { "127.0.0.1", "address-never", "address-never" },
        { "0.0.0.0", "address-never", "address-never" },
        { "::", "address-never", "address-never" },
        { "169.254.1.1", "address-never", "address-never" },
        { "168.63.129.16", "address-never", "address-never" },
        { "fd00:ec2::254", "address-never", "address-never" },
        { "::ffff:10.0.0.1", "address-never", "address-never" },
        { "64:ff9b::a00:1", "address-never", "address-never" },
        { "1.2.3.4", "address-denied", "address-denied" },
    };
    struct nacre_egress_verdict verdict;
    struct nacre_address address;
    struct rules rules;

    (void)state;
    rules_make(&rules, ALL, "", "1.2.3.4:81");
    for (size_t i = 0; i < NACRE_COUNT(answers); i++)
        for (int open = 0; open < 2; open++) {
            rules.egress.block_private = !open;
            assert_true(nacre_address_parse(answers[i].address,
                                            strlen(answers[i].address), &address));
            nacre_egress_judge_address(&rules.egress, "a.example", &address, &verdict);
            if (strcmp(verdict.code, open ? answers[i].code_open : answers[i].code) != 0)
                fail_msg("%s: '%s'", answers[i].address, verdict.code);
            assert_int_equal(verdict.allowed, verdict.code[0] == '\0');
            assert_non_null(strstr(verdict.text, "a.example"));
        }
    rules_clear(&rules);
}

static void a_secret_goes_to_the_hosts_it_is_bound_to(void **state)
{
    struct nacre_egress_host hosts[8] = { 0 };
    struct nacre_egress_secret secret = { .name = (char *)"key", .hosts = hosts };
    struct nacre_egress_verdict verdict;
    struct rules rules;

    (void)state;
    add(hosts, &secret.host_count, "api.a.example *.b.example:8443");
    assert_true(nacre_egress_binds(&secret, "api.a.example", 443));
    assert_true(nacre_egress_binds(&secret, "api.a.example", 80));
    assert_true(nacre_egress_binds(&secret, "x.b.example", 8443));
    assert_false(nacre_egress_binds(&secret, "api.a.example", 8443));
    assert_false(nacre_egress_binds(&secret, "a.example", 443));
    assert_false(nacre_egress_binds(&secret, "x.api.a.example", 443));
    assert_false(nacre_egress_binds(&secret, "b.example", 8443));
    assert_false(nacre_egress_binds(&secret, "x.b.example", 443));

    /* The door puts it in, so a tunnel will not do, under a wider rule either. */
    rules_make(&rules, LIST, "*.a.example", "");
    rules.egress.secrets = &secret;
    rules.egress.secret_count = 1;
    verdict = judged(&rules, "api.a.example", 443);
    assert_int_equal(verdict.way, NACRE_WAY_UPGRADE);
    verdict = judged(&rules, "www.a.example", 443);
    assert_int_equal(verdict.way, NACRE_WAY_TUNNEL);
    rules.allowed[0].way = NACRE_WAY_INTERCEPT;
    verdict = judged(&rules, "api.a.example", 443);
    assert_int_equal(verdict.way, NACRE_WAY_INTERCEPT);
    rules_clear(&rules);
    nacre_egress_host_clear(&hosts[0]);
    nacre_egress_host_clear(&hosts[1]);
}

/* ---- copies and JSON ---- */

#define HOST(text) \
    "{\"host\":\"" text "\",\"way\":\"tunnel\",\"index\":1,\"line\":2,\"column\":3}"
#define WHOLE_WITH(mode, allowed, secrets, limits, rest)                                 \
    "{\"mode\":\"" mode "\",\"allowed\":[" allowed "],\"denied\":[],"                    \
    "\"block_private\":true,\"scan\":false,\"patterns\":22,\"way\":\"upgrade\","         \
    "\"secrets\":[" secrets "],\"limits\":{\"header_bytes\":1,\"body_bytes\":2,"         \
    "\"redirects\":3,\"requests\":4,\"requests_per_minute\":5,\"connections\":" limits   \
    "},\"resolvers\":null,\"fixed_hosts\":" rest "}"
#define SECRET "{\"name\":\"key\",\"hosts\":[" HOST("b.example:81") "]}"
#define WHOLE                                                                       \
    WHOLE_WITH("allowlist", HOST("*.a.example") "," HOST("[2606:4700::1]"), SECRET, \
               "6", "[\"a=1.2.3.4\"]")

static void rules_survive_the_wire(void **state)
{
    struct nacre_buf written = NACRE_BUF(65536);
    struct nacre_egress egress, copy;
    struct nacre_error err;

    (void)state;
    if (nacre_egress_read(WHOLE, strlen(WHOLE), &egress, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_true(egress.allowed[0].below && egress.allowed[1].is_address);
    assert_int_equal(egress.allowed[1].place.column, 3);
    assert_int_equal(egress.secrets[0].hosts[0].port, 81);
    assert_int_equal(egress.limits.connections_max, 6);
    assert_null(egress.resolvers);
    assert_int_equal(nacre_egress_copy(&egress, &copy, &err), NACRE_OK);
    nacre_egress_clear(&egress);
    assert_int_equal(nacre_egress_write(&copy, &written, &err), NACRE_OK);
    assert_string_equal(written.bytes, WHOLE);
    nacre_egress_clear(&copy);
    nacre_egress_clear(&copy);
    nacre_buf_clear(&written);
}

static const char *const bad_json[] = {
    "",
    "{",
    "[]",
    "{}",
    "null",
    WHOLE "x",
    WHOLE_WITH("allow", "", "", "6", "null"),
    WHOLE_WITH("allowlist\",\"mode\":\"deny", "", "", "6", "null"),
    WHOLE_WITH("allowlist\",\"more\":\"x", "", "", "6", "null"),
    WHOLE_WITH("allowlist", HOST("*"), "", "6", "null"),
    WHOLE_WITH("allowlist", HOST("A.example"), "", "6", "null"),
    WHOLE_WITH("allowlist", HOST("a.example."), "", "6", "null"),
    WHOLE_WITH("allowlist", HOST("127.1"), "", "6", "null"),
    WHOLE_WITH("allowlist", HOST(""), "", "6", "null"),
    WHOLE_WITH("allowlist", "\"a.example\"", "", "6", "null"),
    WHOLE_WITH("allowlist", "{\"host\":\"a.example\"}", "", "6", "null"),
    WHOLE_WITH("allowlist",
               "{\"host\":\"a.example\",\"way\":\"walk\",\"index\":1,\"line\":2,"
               "\"column\":3}", "", "6", "null"),
    WHOLE_WITH("allowlist",
               "{\"host\":\"a.example\",\"way\":\"tunnel\",\"index\":-1,\"line\":2,"
               "\"column\":3}", "", "6", "null"),
    WHOLE_WITH("allowlist",
               "{\"host\":\"a.example\",\"way\":\"tunnel\",\"index\":4294967296,"
               "\"line\":2,\"column\":3}", "", "6", "null"),
    WHOLE_WITH("allowlist", "", "{\"name\":\"\",\"hosts\":[]}", "6", "null"),
    WHOLE_WITH("allowlist", "", "{\"name\":\"x\"}", "6", "null"),
    WHOLE_WITH("allowlist", "", "{\"name\":\"x\",\"hosts\":[1]}", "6", "null"),
    WHOLE_WITH("allowlist", "", "{\"name\":\"x\",\"hosts\":null}", "6", "null"),
    WHOLE_WITH("allowlist", "", "", "-1", "null"),
    WHOLE_WITH("allowlist", "", "", "4294967296", "null"),
    WHOLE_WITH("allowlist", "", "", "6.5", "null"),
    WHOLE_WITH("allowlist", "", "", "6,\"x\":1", "null"),
    WHOLE_WITH("allowlist", "", "", "6", "[1]"),
    WHOLE_WITH("allowlist", "", "", "6", "\"a\""),
};

static void rules_that_are_not_ours_are_refused(void **state)
{
    struct nacre_egress egress = { .patterns = 77 };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad_json); i++) {
        if (nacre_egress_read(bad_json[i], strlen(bad_json[i]), &egress, &err) !=
            NACRE_ERR_PARSE)
            fail_msg("row %zu is refused: %s", i, bad_json[i]);
        assert_int_equal(egress.patterns, 77);
    }
}

static void rules_are_read_and_copied_whole_or_not_at_all(void **state)
{
    struct nacre_egress egress = { 0 }, copy = { 0 };
    struct nacre_error err;
    enum nacre_status status;
    int allowed = 0;

    (void)state;
    do {
        fail_alloc_after(allowed++);
        status = nacre_egress_read(WHOLE, strlen(WHOLE), &egress, &err);
        if (status == NACRE_OK)
            status = nacre_egress_copy(&egress, &copy, &err);
        fail_alloc_after(-1);
        if (status != NACRE_OK)
            assert_int_equal(err.status, status);
        nacre_egress_clear(&egress);
        nacre_egress_clear(&copy);
    } while (status != NACRE_OK && allowed < 1000);
    assert_int_equal(status, NACRE_OK);
    assert_true(allowed > 5);
}

static void what_does_not_fit_is_not_half_written(void **state)
{
    struct nacre_buf written = NACRE_BUF(64);
    struct nacre_egress egress;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_egress_read(WHOLE, strlen(WHOLE), &egress, &err), NACRE_OK);
    assert_int_equal(nacre_egress_write(&egress, &written, &err), NACRE_ERR_TOO_BIG);
    assert_int_equal(written.size, 0);
    nacre_egress_clear(&egress);
    nacre_buf_clear(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_kept_in_one_spelling),
        cmocka_unit_test(an_entry_that_looks_right_and_is_not_is_refused),
        cmocka_unit_test(a_question_is_a_host_or_a_url),
        cmocka_unit_test(one_judge_allows_what_a_rule_names_and_no_lookalike),
        cmocka_unit_test(a_verdict_names_its_rule_and_what_may_be_done),
        cmocka_unit_test(a_request_is_judged_as_what_the_door_makes_of_it),
        cmocka_unit_test(what_to_call_instead_is_said_with_its_port),
        cmocka_unit_test(every_answer_of_a_lookup_is_judged),
        cmocka_unit_test(a_secret_goes_to_the_hosts_it_is_bound_to),
        cmocka_unit_test(rules_survive_the_wire),
        cmocka_unit_test(rules_that_are_not_ours_are_refused),
        cmocka_unit_test(rules_are_read_and_copied_whole_or_not_at_all),
        cmocka_unit_test(what_does_not_fit_is_not_half_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
