/* What a policy's network and a request's secrets come to in a plan: rules, ways,
 * features, and that two of them never share a sandbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "asked.h"
#include "fail_alloc.h"
#include "nacre/plan.h"
#include "nacre/secrets.h"
#include "plan_words.h"

static const char *const key_hosts[] = { "api.a.example", "*.b.example:8443", NULL };
static const char *const other_hosts[] = { "c.example", NULL };
static struct nacre_secret secrets[] = {
    { .name = "key", .hosts = key_hosts, .variable = "KEY" },
    { .name = "other", .hosts = other_hosts, .variable = "OTHER" },
};
static struct nacre_secret_token token = { .secret = 1 };
static const struct nacre_secret_set granted = { .items = secrets, .count = 2 };
static const struct nacre_secret_set with_token = { .items = secrets, .count = 2,
                                                    .tokens = &token, .token_count = 1 };

static struct nacre_plan *plan_of(const char *yaml, const char *words,
                                  const struct nacre_secret_set *set)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_plan *plan = NULL;
    struct nacre_error err;
    struct asked asked;

    asked_read(&asked, words);
    asked.request.granted = set;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    if (nacre_plan_make(policy, &asked.request, &plan, denials, &err) != NACRE_OK)
        fail_msg("%s in:\n%s", err.text, yaml);
    return plan;
}

#define NETWORK(level, text) LEVEL(level) "  capabilities:\n    network: " text "\n"
#define LISTED                                                                           \
    "{mode: allowlist, allowed_hosts: [api.a.example, \"*.b.example\", c.example:81]}"
#define SCAN "    secrets: {leak_detection: {enabled: true}}\n"
#define BOUNDARY "    secrets: {injection: host-boundary}\n"
#define RAW "    secrets: {injection: environment}\n"

/* ---- the rules ---- */

static const struct {
    const char *yaml;
    bool open, block_private, scan;
    uint32_t patterns;
} networks[] = {
    { HEAD, false, true, false, 0 },
    { NETWORK("wasm", "{mode: deny, allowed_hosts: [a.example]}"), false, true, false,
      0 },
    { NETWORK("wasm", "{mode: allowlist}"), false, true, false, 0 },
    { NETWORK("wasm", "{mode: allowlist, allowed_hosts: []}"), false, true, false, 0 },
    { NETWORK("wasm", LISTED), true, true, false, 0 },
    { NETWORK("process", LISTED), true, true, false, 0 },
    { NETWORK("container", "{mode: allow-all}"), true, true, false, 0 },
    { NETWORK("wasm", "{mode: allow-all, ssrf_protection: {block_private_ips: false}}"),
      true, false, false, 0 },
    { NETWORK("wasm", "{mode: allow-all, ssrf_protection: {enabled: false}}"), true,
      false, false, 0 },
    { NETWORK("wasm", "{mode: allow-all, ssrf_protection: {enabled: true, "
                      "block_private_ips: true, dns_pinning: false}}"),
      true, true, false, 0 },
    { NETWORK("wasm", LISTED) SCAN, true, true, true, 22 },
    { NETWORK("wasm", LISTED) "    secrets: {leak_detection: {patterns: 0}}\n", true,
      true, true, 0 },
    { NETWORK("wasm", LISTED) "    secrets: {leak_detection: {patterns: 3}}\n", true,
      true, true, 3 },
    { NETWORK("wasm", LISTED)
      "    secrets: {leak_detection: {enabled: false, patterns: 3}}\n",
      true, true, false, 0 },
};

static void a_network_comes_to_rules_and_a_door(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(networks); i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
            plan_of(networks[i].yaml, NULL, NULL);

        print_message("%s\n", networks[i].yaml);
        assert_int_equal(nacre_egress_is_open(&plan->egress), networks[i].open);
        assert_int_equal((plan->required & NACRE_FEATURE_EGRESS) != 0, networks[i].open);
        assert_int_equal(plan->egress.block_private, networks[i].block_private);
        assert_int_equal(plan->egress.scan, networks[i].scan);
        assert_int_equal(plan->leak_scan, networks[i].scan);
        assert_int_equal(plan->egress.patterns, networks[i].patterns);
        assert_int_equal(plan->leak_patterns, networks[i].patterns);
        assert_true(plan->egress.limits.body_bytes_max > 0);
    }
}

static void level_none_has_no_door(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
        plan_of(NETWORK("none", "{mode: allow-all}"), "unsandboxed", NULL);

    (void)state;
    assert_false(nacre_egress_is_open(&plan->egress));
    assert_false(plan->required & NACRE_FEATURE_EGRESS);
}

/* ---- ways ---- */

static const struct {
    const char *yaml, *asked;
    const struct nacre_secret_set *granted;
    const char *name;
    uint16_t port;
    enum nacre_way way;
} ways[] = {
    /* Without a scan and without secrets there is nothing to look for. */
    { NETWORK("process", LISTED), NULL, NULL, "api.a.example", 443, NACRE_WAY_TUNNEL },
    { NETWORK("wasm", LISTED) SCAN, NULL, NULL, "api.a.example", 443, NACRE_WAY_NONE },
    /* With the scan nothing goes through unseen, unless the caller says so. */
    { NETWORK("process", LISTED) SCAN, NULL, NULL, "x.b.example", 443,
      NACRE_WAY_UPGRADE },
    { NETWORK("container", "{mode: allow-all}") SCAN, NULL, NULL, "z.example", 443,
      NACRE_WAY_UPGRADE },
    { NETWORK("process", LISTED) SCAN, "waive tunnel-scan", NULL, "x.b.example", 443,
      NACRE_WAY_TUNNEL },
    { NETWORK("process", "{mode: allow-all}") SCAN, "waive tunnel-scan", NULL,
      "z.example", 443, NACRE_WAY_TUNNEL },
    /* A bound secret is put in by the door. */
    { NETWORK("process", LISTED) BOUNDARY, "secret key", &granted, "api.a.example", 443,
      NACRE_WAY_UPGRADE },
    { NETWORK("process", LISTED) BOUNDARY, "secret key", &granted, "x.b.example", 443,
      NACRE_WAY_TUNNEL },
    { NETWORK("process", "{mode: allow-all}") BOUNDARY, "secret key", &granted,
      "x.b.example", 8443, NACRE_WAY_UPGRADE },
    { NETWORK("process", "{mode: allow-all}") BOUNDARY, "secret key\nwaive tunnel-scan",
      &granted, "c.example", 443, NACRE_WAY_UPGRADE },
    /* One in the environment is not, but its token is. */
    { NETWORK("process", "{mode: allow-all}") RAW, "secret key", &granted,
      "api.a.example", 443, NACRE_WAY_TUNNEL },
    { NETWORK("process", "{mode: allow-all}") RAW, "secret key\ntoken other", &with_token,
      "c.example", 443, NACRE_WAY_UPGRADE },
    { NETWORK("process", "{mode: allow-all}") RAW, "secret key\ntoken other", &with_token,
      "api.a.example", 443, NACRE_WAY_TUNNEL },
    /* Interception is the caller's, by name, and no wider than that. */
    { NETWORK("process", LISTED) SCAN, "intercept api.a.example", NULL, "api.a.example",
      443, NACRE_WAY_INTERCEPT },
    { NETWORK("process", LISTED) SCAN, "intercept api.a.example", NULL, "x.b.example",
      443, NACRE_WAY_UPGRADE },
    { NETWORK("process", LISTED) SCAN, "intercept *.b.example", NULL, "x.b.example", 443,
      NACRE_WAY_INTERCEPT },
    { NETWORK("process", LISTED) SCAN, "intercept x.b.example", NULL, "x.b.example", 443,
      NACRE_WAY_INTERCEPT },
    { NETWORK("process", LISTED) SCAN, "intercept x.b.example", NULL, "y.b.example", 443,
      NACRE_WAY_UPGRADE },
    { NETWORK("process", LISTED), "intercept c.example", NULL, "c.example", 81,
      NACRE_WAY_INTERCEPT },
    { NETWORK("process", LISTED), "intercept api.a.example:443", NULL, "api.a.example",
      443, NACRE_WAY_INTERCEPT },
    { NETWORK("process", LISTED), "intercept api.a.example:443", NULL, "api.a.example",
      80, NACRE_WAY_TUNNEL },
    { NETWORK("process", "{mode: allowlist, allowed_hosts: [\"*.b.example:81\", "
                         "\"*.b.example\"]}"),
      "intercept x.b.example", NULL, "x.b.example", 81, NACRE_WAY_INTERCEPT },
    { NETWORK("process", "{mode: allowlist, allowed_hosts: [\"*.b.example:81\", "
                         "\"*.b.example\"]}"),
      "intercept x.b.example", NULL, "x.b.example", 443, NACRE_WAY_INTERCEPT },
    { NETWORK("process", "{mode: allow-all}"), "intercept *.z.example", NULL,
      "a.z.example", 443, NACRE_WAY_INTERCEPT },
    { NETWORK("process", "{mode: allow-all}"), "intercept *.z.example", NULL, "z.example",
      443, NACRE_WAY_TUNNEL },
    { NETWORK("process", LISTED) BOUNDARY, "secret key\nintercept api.a.example",
      &granted, "api.a.example", 443, NACRE_WAY_INTERCEPT },
};

static void each_host_has_one_way_fixed_by_the_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(ways); i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
            plan_of(ways[i].yaml, ways[i].asked, ways[i].granted);
        struct nacre_egress_verdict verdict;

        nacre_egress_judge(&plan->egress, ways[i].name, ways[i].port, &verdict);
        if (!verdict.allowed || verdict.way != ways[i].way)
            fail_msg("row %zu: %s by %s: %s", i, ways[i].name,
                     nacre_way_name(verdict.way), verdict.text);
    }
}

static void an_intercepted_host_opens_nothing_more(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
        plan_of(NETWORK("process", LISTED), "intercept x.b.example", NULL);
    struct nacre_egress_verdict verdict;

    (void)state;
    nacre_egress_judge(&plan->egress, "x.b.example", 443, &verdict);
    assert_string_equal(verdict.rule, "capabilities.network.allowed_hosts[1]");
    assert_int_equal(verdict.place.line, 8);
    nacre_egress_judge(&plan->egress, "x.b.example", 8443, &verdict);
    assert_false(verdict.allowed);
    nacre_egress_judge(&plan->egress, "b.example", 443, &verdict);
    assert_false(verdict.allowed);
}

static void a_secret_that_is_bound_to_nonsense_is_refused(void **state)
{
    static const char *const hosts[] = { "https://a.example", NULL };
    struct nacre_secret bad = { .name = "bad", .hosts = hosts };
    const struct nacre_secret_set set = { .items = &bad, .count = 1 };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(NETWORK("wasm", LISTED) BOUNDARY);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_request request = { .granted = &set };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plan_make(policy, &request, &plan, denials, &err),
                     NACRE_ERR_DENIED);
    assert_non_null(strstr(err.text, "a host of the secret bad: 'https://a.example': a "
                                     "host is written without a scheme"));
    assert_string_equal(denials->denials[0].rule, "request.secrets");
}

static void files_of_secrets_are_required_when_one_is_asked_for(void **state)
{
    static const char yaml[] = SECRETS "      injection: file-mount\n";
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *asked =
        plan_of(yaml, "secret key", &granted);
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *silent = plan_of(yaml, NULL, NULL);

    (void)state;
    assert_true(asked->required & NACRE_FEATURE_SECRET_FILES);
    assert_false(silent->required & NACRE_FEATURE_SECRET_FILES);
    assert_int_equal(asked->injection, NACRE_INJECTION_FILE_MOUNT);
    /* The door knows them as what must not leave, and puts none of them in. */
    assert_int_equal(asked->egress.secret_count, granted.count);
    for (uint32_t i = 0; i < asked->egress.secret_count; i++)
        assert_int_equal(asked->egress.secrets[i].host_count, 0);
}

/* ---- sandboxes apart ---- */

static const struct {
    const char *yaml, *asked;
    const struct nacre_secret_set *granted;
} apart[] = {
    { NETWORK("process", LISTED) BOUNDARY, NULL, NULL },
    { NETWORK("process", LISTED) BOUNDARY, NULL, &granted },
    { NETWORK("process", LISTED) BOUNDARY, "intercept api.a.example", NULL },
    { NETWORK("process", LISTED) BOUNDARY, "intercept x.b.example", NULL },
    { NETWORK("process", LISTED) BOUNDARY, "intercept x.b.example\nintercept y.b.example",
      NULL },
};

static void two_networks_never_share_a_sandbox(void **state)
{
    struct nacre_digest digests[NACRE_COUNT(apart)];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(apart); i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
            plan_of(apart[i].yaml, apart[i].asked, apart[i].granted);

        digests[i] = plan->digest;
        for (size_t k = 0; k < i; k++)
            assert_false(nacre_digest_equal(&digests[i], &digests[k]));
    }
}

/* Behind the document's digest: a dialect that forgets to change it shares nothing. */
static void a_digest_does_not_rest_on_the_documents_bytes_alone(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(NETWORK("process", LISTED) SCAN);
    struct nacre_request request = { 0 };
    struct nacre_digest digests[7];
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(digests); i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

        policy->network.mode = i == 1 ? NACRE_NETWORK_ALLOW_ALL : NACRE_NETWORK_ALLOWLIST;
        policy->network.allowed_hosts.items[0].text[0] = i == 2 ? 'x' : 'a';
        policy->network.block_private_ips.on = i != 3;
        policy->secrets.leak_detection.on = i != 4;
        policy->secrets.leak_patterns.value = i == 5 ? 7 : 22;
        policy->secrets.injection = i == 6 ? NACRE_INJECTION_ENVIRONMENT
                                           : NACRE_INJECTION_HOST_BOUNDARY;
        assert_int_equal(nacre_plan_draft(policy, &request, &plan, &err), NACRE_OK);
        digests[i] = plan->digest;
        for (size_t k = 0; k < i; k++)
            assert_false(nacre_digest_equal(&digests[i], &digests[k]));
    }
}

static void a_copy_has_the_same_network(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
        plan_of(NETWORK("process", LISTED) SCAN, "intercept x.b.example", &granted);
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *copy = NULL;
        struct nacre_buf texts[2] = { NACRE_BUF(65536), NACRE_BUF(65536) };
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 500);
        fail_alloc_after(n);
        status = nacre_plan_copy(plan, &copy, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        if (fired)
            continue;
        assert_int_equal(nacre_egress_write(&plan->egress, &texts[0], &err), NACRE_OK);
        assert_int_equal(nacre_egress_write(&copy->egress, &texts[1], &err), NACRE_OK);
        assert_string_equal(texts[0].bytes, texts[1].bytes);
        assert_int_equal(copy->injection, plan->injection);
        assert_true(copy->leak_scan && copy->leak_patterns == 22);
        nacre_buf_clear(&texts[0]);
        nacre_buf_clear(&texts[1]);
    }
}

static void planning_a_network_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(NETWORK("process", LISTED) BOUNDARY);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_error err;
    struct asked asked;
    bool fired = true;

    (void)state;
    asked_read(&asked, "secret key\nintercept x.b.example");
    asked.request.granted = &granted;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        enum nacre_status status;

        assert_true(n < 500);
        fail_alloc_after(n);
        status = nacre_plan_make(policy, &asked.request, &plan, denials, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(denials->denials_seen, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_comes_to_rules_and_a_door),
        cmocka_unit_test(level_none_has_no_door),
        cmocka_unit_test(each_host_has_one_way_fixed_by_the_plan),
        cmocka_unit_test(an_intercepted_host_opens_nothing_more),
        cmocka_unit_test(a_secret_that_is_bound_to_nonsense_is_refused),
        cmocka_unit_test(files_of_secrets_are_required_when_one_is_asked_for),
        cmocka_unit_test(two_networks_never_share_a_sandbox),
        cmocka_unit_test(a_digest_does_not_rest_on_the_documents_bytes_alone),
        cmocka_unit_test(a_copy_has_the_same_network),
        cmocka_unit_test(planning_a_network_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
