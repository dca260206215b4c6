/* A plan is kept for who asks for the same, and for nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "asked.h"
#include "nacre/secrets.h"
#include "plan_words.h"
#include "plans.h"

#define OPEN                                                                             \
    LEVEL("process") "  capabilities:\n    network: {mode: allow-all}\n"                 \
                     "    secrets: {injection: environment, leak_detection: {}}\n"

static const char *const here[] = { "a.example", NULL };
static const char *const there[] = { "a.example", "b.example", NULL };
static struct nacre_secret at_here = { .name = "key", .hosts = here };
static struct nacre_secret at_there = { .name = "key", .hosts = there };
static struct nacre_secret_token token;
static const struct nacre_secret_set sets[] = {
    { .items = &at_here, .count = 1 },
    { .items = &at_there, .count = 1 },
    { .items = &at_here, .count = 1, .tokens = &token, .token_count = 1 },
};

static const struct {
    const char *asked;
    const struct nacre_secret_set *granted;
} requests[] = {
    { NULL, NULL },
    { "waive tunnel-scan", NULL },
    { "intercept a.example", NULL },
    { "intercept b.example", NULL },
    { "secret key", NULL },
    { "token key", NULL },
    { "secret key", &sets[0] },
    { "secret key", &sets[1] },
    { "secret key", &sets[2] },
};

static void a_kept_plan_is_of_the_same_request_in_all_that_it_rests_on(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(OPEN);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    const struct nacre_plan *plans[NACRE_COUNT(requests)];
    struct nacre_plans *kept = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plans_new(&kept, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(requests); i++) {
        const struct nacre_plan *again;
        struct asked asked;

        asked_read(&asked, requests[i].asked);
        asked.request.granted = requests[i].granted;
        if (nacre_plans_get(kept, policy, &asked.request, &plans[i], denials, &err) !=
            NACRE_OK)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(
            nacre_plans_get(kept, policy, &asked.request, &again, denials, &err),
            NACRE_OK);
        assert_ptr_equal(again, plans[i]);
        nacre_plans_put(kept, again);
        for (size_t k = 0; k < i; k++)
            if (plans[k] == plans[i])
                fail_msg("rows %zu and %zu share a plan", k, i);
    }
    for (size_t i = 0; i < NACRE_COUNT(requests); i++)
        nacre_plans_put(kept, plans[i]);
    nacre_plans_free(kept);
}

/* A configuration's digest is that of all policies which it is compiled to. */
static void two_policies_of_one_file_never_share_a_plan(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *shell = policy_of(OPEN);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *files = policy_of(LEVEL("wasm"));
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *other = policy_of(OPEN);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *box =
        policy_of(LEVEL("container"));
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *browser =
        policy_of(LEVEL("container"));
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    const struct nacre_policy *policies[] = { shell, files, other, box, browser };
    const struct nacre_plan *plans[NACRE_COUNT(policies)];
    struct nacre_request request = { 0 };
    struct nacre_plans *kept = NULL;
    struct nacre_error err;

    (void)state;
    files->digest = shell->digest;
    other->name[0] = 'o';
    browser->user_namespaces = true;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plans_new(&kept, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(policies); i++) {
        assert_int_equal(
            nacre_plans_get(kept, policies[i], &request, &plans[i], denials, &err),
            NACRE_OK);
        assert_int_equal(plans[i]->level, policies[i]->level);
    }
    assert_ptr_not_equal(plans[0], plans[2]);
    assert_false(plans[3]->container.user_namespaces);
    assert_true(plans[4]->container.user_namespaces);
    for (size_t i = 0; i < NACRE_COUNT(policies); i++)
        nacre_plans_put(kept, plans[i]);
    nacre_plans_free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_plan_is_of_the_same_request_in_all_that_it_rests_on),
        cmocka_unit_test(two_policies_of_one_file_never_share_a_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
