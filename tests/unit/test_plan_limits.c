/*
 * Limits, digests and results: what a plan holds besides its mounts, and that a
 * failing allocation leaves nothing half made.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "asked.h"
#include "fail_alloc.h"
#include "nacre/clock.h"
#include "nacre/explain.h"
#include "nacre/plan.h"
#include "plan_words.h"

#define EVERY_FEATURE                                                                    \
    (NACRE_FEATURE_WASM | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_WALL_LIMIT |        \
     NACRE_FEATURE_FUEL | NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |        \
     NACRE_FEATURE_PROCESSES | NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_NO_SHELL)

static struct nacre_plan *plan_of(const struct nacre_policy *policy,
                                  const struct nacre_request *request)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    if (nacre_plan_make(policy, request, &plan, denials, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return plan;
}

static const struct {
    const char *yaml, *asked;
    struct nacre_limits limits;
    uint32_t further; /* features beyond those that are always required */
} limited[] = {
    { HEAD,
      NULL,
      { 512ull << 20, false, 120000, 256, 10485760, 0, 64, false, 2400000000000, false,
        268435456, 16384 },
      0 },
    { LIMITS "    memory_mb: 1\n    cpu_shares: 1024\n    max_processes: 2\n"
             "    max_open_files: 3\n    timeout_ms: 1001\n    max_output_bytes: 5\n",
      NULL,
      { 1048576, true, 1001, 3, 5, 1024, 2, true, 40000000000, false, 268435456, 16384 },
      NACRE_FEATURE_CPU_SHARES_LOW },
    { LIMITS "    cpu_shares: 1025\n    timeout_ms: 1000\n",
      "timeout-ms 1000",
      { 512ull << 20, false, 1000, 256, 10485760, 1025, 64, false, 20000000000, false,
        268435456, 16384 },
      NACRE_FEATURE_CPU_SHARES_ANY },
    { HEAD,
      "timeout-ms 1\nfuel 1",
      { 512ull << 20, false, 1, 256, 10485760, 0, 64, false, 1, true, 268435456, 16384 },
      0 },
    { HEAD,
      "fuel 18446744073709551615",
      { 512ull << 20, false, 120000, 256, 10485760, 0, 64, false, UINT64_MAX, true,
        268435456, 16384 },
      0 },
    { SCOPED MOUNT("/tmp", "rw"),
      "timeout-ms 1",
      { 512ull << 20, false, 1, 256, 10485760, 0, 64, false, 20000000000, false,
        268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH },
    { SCOPED MOUNT("/tmp", "rw") DENIED("/etc"),
      "timeout-ms 1",
      { 512ull << 20, false, 1, 256, 10485760, 0, 64, false, 20000000000, false,
        268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED },
    { FILES "      mode: full\n",
      "timeout-ms 1",
      { 512ull << 20, false, 1, 256, 10485760, 0, 64, false, 20000000000, false,
        268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_FULL },
};

static void limits_and_required_features_are_these(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(limited); i++) {
        NACRE_AUTO(nacre_policy_guard)
        struct nacre_policy *policy = policy_of(limited[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        const struct nacre_limits *want = &limited[i].limits;
        struct asked asked;

        asked_read(&asked, limited[i].asked);
        plan = plan_of(policy, &asked.request);
        assert_int_equal(plan->limits.memory_bytes_max, want->memory_bytes_max);
        assert_int_equal(plan->limits.memory_asked, want->memory_asked);
        assert_int_equal(plan->limits.wall_ms_max, want->wall_ms_max);
        assert_int_equal(plan->limits.open_files_max, want->open_files_max);
        assert_int_equal(plan->limits.output_bytes_max, want->output_bytes_max);
        assert_int_equal(plan->limits.cpu_shares, want->cpu_shares);
        assert_int_equal(plan->limits.processes_max, want->processes_max);
        assert_int_equal(plan->limits.processes_asked, want->processes_asked);
        assert_true(plan->limits.fuel_max == want->fuel_max);
        assert_int_equal(plan->limits.fuel_exact, want->fuel_exact);
        assert_int_equal(plan->limits.scratch_bytes_max, want->scratch_bytes_max);
        assert_int_equal(plan->limits.scratch_files_max, want->scratch_files_max);
        assert_int_equal(plan->required, EVERY_FEATURE | limited[i].further);
    }
}

static void a_draft_tells_refusals_and_is_not_sealed(void **state)
{
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy =
        policy_of(LEVEL("container") "  runtime: apple-container\n");
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_plan_draft(policy, &(struct nacre_request){ 0 }, &plan, &err),
                     NACRE_OK);
    assert_false(plan->sealed);
    assert_int_equal(plan->decisions[0].verdict, NACRE_VERDICT_GRANT);
    assert_int_equal(plan->decisions[1].verdict, NACRE_VERDICT_REFUSE);
    assert_string_equal(plan->decisions[1].mechanism, "");
}

/* Each row differs from the first in one thing. */
static const struct {
    const char *yaml, *asked, *session, *agent;
    bool same; /* as the first: a call's own affair */
} sandboxes[] = {
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\ntimeout-ms 7", "s", "a",
      true },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\nfuel 7", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw") "#\n", "workspace /srv/w", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/x", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), NULL, "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:ro", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\nmount /workspace/d=/srv/d",
      "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "t", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", NULL, "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "s", "b", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "sa", "", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "", "sa", false },
};

static void the_digest_changes_with_all_that_a_sandbox_is_made_of(void **state)
{
    struct nacre_digest digests[NACRE_COUNT(sandboxes)];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sandboxes); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(sandboxes[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct asked asked;

        asked_read(&asked, sandboxes[i].asked);
        asked.request.session = sandboxes[i].session;
        asked.request.agent = sandboxes[i].agent;
        plan = plan_of(policy, &asked.request);
        digests[i] = plan->digest;
        for (size_t k = 0; k < i; k++)
            assert_int_equal(nacre_digest_equal(&digests[i], &digests[k]),
                             sandboxes[i].same && sandboxes[k].same);
    }
}

/* The same for each member of the policy's model, behind the document's digest: a
 * dialect that forgets to change the digest must not share a sandbox. */
static void the_digest_does_not_rest_on_the_documents_bytes_alone(void **state)
{
    static const char yaml[] = SCOPED MOUNT("/data", "rw") DENIED("/data/x")
        "  resource_limits:\n    memory_mb: 7\n    cpu_shares: 7\n    max_processes: 7\n"
        "    max_open_files: 7\n    max_output_bytes: 7\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    struct nacre_limit *limits[] = {
        &policy->limits.memory_mb,        &policy->limits.cpu_shares,
        &policy->limits.max_processes,    &policy->limits.max_open_files,
        &policy->limits.max_output_bytes,
    };
    const struct nacre_request request = { 0 };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *first = plan_of(policy, &request);

    (void)state;
    for (size_t i = 0; i <= NACRE_COUNT(limits) + 2; i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_mount_rule *mount = &policy->filesystem.mounts.items[0];
        char *denied = policy->filesystem.denied_paths.items[0].text;
        bool changed = i < NACRE_COUNT(limits) + 2;

        if (i < NACRE_COUNT(limits))
            limits[i]->value++;
        else if (i == NACRE_COUNT(limits))
            mount->writable = false;
        else if (changed)
            denied[strlen(denied) - 1] = 'y';
        plan = plan_of(policy, &request);
        assert_int_equal(nacre_digest_equal(&first->digest, &plan->digest), !changed);
        if (i < NACRE_COUNT(limits))
            limits[i]->value--;
        mount->writable = true;
        denied[strlen(denied) - 1] = 'x';
    }
}

static void planning_survives_every_allocation_failure(void **state)
{
    static const char yaml[] = SCOPED MOUNT("/workspace", "rw")
        MOUNT("/workspace/in", "ro") MOUNT("/data", "ro") MOUNT("/gone", "rw")
            DENIED("/workspace/s, /gone, /data/x")
        "    network: {mode: allowlist, allowed_hosts: [a.example, \"*.b.example\"]}\n"
        /* Enough lines to make the plan grow after its first refusal. */
        "    shell:\n"
        "      blocked_commands: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_error err;
    struct asked asked;
    bool fired = true;

    (void)state;
    asked_read(&asked, "workspace /srv/w\nmount /data/sub=/srv/d:ro\nmount /no=/srv/no");
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    for (uint32_t turn = 0; turn < 2; turn++, fired = true) {
        for (int n = 0; fired; n++) {
            NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
            enum nacre_status status;

            assert_true(n < 500);
            denials->denials_seen = denials->denial_count = 0;
            fail_alloc_after(n);
            status = nacre_plan_make(policy, &asked.request, &plan, denials, &err);
            fired = fail_alloc_fired();
            fail_alloc_after(-1);
            if (fired) {
                assert_int_equal(status, NACRE_ERR_MEMORY);
                assert_int_equal(denials->denials_seen, 0);
            } else {
                assert_int_equal(status, turn ? NACRE_OK : NACRE_ERR_DENIED);
            }
            assert_int_equal(plan != NULL, status == NACRE_OK);
        }
        asked.request.mount_count--; /* the second time without the refused one */
    }
}

static void a_result_keeps_the_first_denials_and_counts_all(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    for (int i = 0; i < NACRE_DENIALS_MAX + 5; i++) {
        struct nacre_denial denial = { .place.line = i + 1 };

        nacre_result_deny(result, &denial);
    }
    assert_int_equal(result->denial_count, NACRE_DENIALS_MAX);
    assert_int_equal(result->denials_seen, NACRE_DENIALS_MAX + 5);
    assert_int_equal(result->denials[NACRE_DENIALS_MAX - 1].place.line,
                     NACRE_DENIALS_MAX);
    nacre_result_free(NULL);
    fail_alloc_after(0);
    assert_int_equal(nacre_result_new(&(struct nacre_result *){ NULL }, &err),
                     NACRE_ERR_MEMORY);
    fail_alloc_after(-1);
}

static void each_outcome_has_the_exit_status_that_a_shell_expects(void **state)
{
    static const struct {
        struct nacre_result result;
        int exit_status;
        const char *name;
    } rows[] = {
        { { .outcome = NACRE_OUTCOME_EXITED, .exit_status = 3, .signal = 9 },
          3,
          "exited" },
        { { .outcome = NACRE_OUTCOME_TRAPPED, .exit_status = 3 }, 134, "trapped" },
        { { .outcome = NACRE_OUTCOME_TIMED_OUT }, 124, "timed-out" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_FUEL }, 152, "out-of-fuel" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_MEMORY }, 137, "out-of-memory" },
        { { .outcome = NACRE_OUTCOME_OUTPUT_LIMIT }, 153, "output-limit" },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = 15 }, 143, "killed" },
        { { .outcome = NACRE_OUTCOME_DENIED }, 126, "denied" },
    };

    (void)state;
    assert_int_equal(NACRE_COUNT(rows), NACRE_OUTCOME_COUNT - 1);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(nacre_result_exit(&rows[i].result), rows[i].exit_status);
        assert_string_equal(nacre_outcome_name(rows[i].result.outcome), rows[i].name);
    }
}

static void each_ending_by_a_limit_names_its_line_and_what_to_do(void **state)
{
    static const struct {
        struct nacre_result result;
        uint64_t timeout_ms, fuel;
        const char *code; /* NULL: no limit had to do with it */
        const char *rule;
        int line;
        const char *text, *fix;
    } rows[] = {
        { { .outcome = NACRE_OUTCOME_TIMED_OUT }, 0, 0, "timed-out",
          "resource_limits.timeout_ms", 10, "after 5 ms", "raise spec." },
        { { .outcome = NACRE_OUTCOME_TIMED_OUT }, 3, 0, "timed-out",
          "request.timeout_ms", 0, "after 3 ms", "up to the policy's 5" },
        { { .outcome = NACRE_OUTCOME_TIMED_OUT }, 5, 0, "timed-out",
          "resource_limits.timeout_ms", 10, "after 5 ms", "raise spec." },
        { { .outcome = NACRE_OUTCOME_OUT_OF_FUEL }, 0, 7, "out-of-fuel", "request.fuel", 0,
          "after 7 units", "--fuel" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_FUEL }, 0, 0, "out-of-fuel",
          "resource_limits.timeout_ms", 10, "the default budget", "--fuel N" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_MEMORY }, 0, 0, "out-of-memory",
          "resource_limits.memory_mb", 7, "more than 64 MiB", "raise spec." },
        { { .outcome = NACRE_OUTCOME_OUTPUT_LIMIT }, 0, 0, "output-limit",
          "resource_limits.max_output_bytes", 11, "cut at 6 bytes", "raise spec." },
        { { .outcome = NACRE_OUTCOME_EXITED, .usage.memory_refused = true }, 0, 0,
          "memory-refused", "resource_limits.memory_mb", 7, "killed processes of it",
          "raise spec." },
        { { .outcome = NACRE_OUTCOME_EXITED, .usage.processes_refused = true }, 0, 0,
          "processes-refused", "resource_limits.max_processes", 8, "4 at once",
          "raise spec." },
        { { .outcome = NACRE_OUTCOME_KILLED, .usage.processes_refused = true }, 0, 0,
          "processes-refused", "resource_limits.max_processes", 8, "4 at once",
          "raise spec." },
        { { .outcome = NACRE_OUTCOME_EXITED, .exit_status = 1 }, 0, 0, NULL, 0, 0, 0, 0 },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = 9 }, 0, 0, NULL, 0, 0, 0, 0 },
        { { .outcome = NACRE_OUTCOME_DENIED }, 0, 0, NULL, 0, 0, 0, 0 },
    };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(
        "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: tested}\nspec:\n"
        "  level: process\n  resource_limits:\n    memory_mb: 64\n"
        "    max_processes: 4\n    max_open_files: 9\n    timeout_ms: 5\n"
        "    max_output_bytes: 6\n");

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_denial limit;
        bool told = nacre_explain_limit(policy, &rows[i].result, rows[i].timeout_ms,
                                        rows[i].fuel, &limit);

        assert_int_equal(told, rows[i].code != NULL);
        if (!told)
            continue;
        assert_string_equal(limit.code, rows[i].code);
        assert_string_equal(limit.rule, rows[i].rule);
        assert_int_equal(limit.place.line, rows[i].line);
        assert_non_null(strstr(limit.text, rows[i].text));
        assert_non_null(strstr(limit.fix, rows[i].fix));
    }
}

static void a_ulimit_that_killed_names_its_line_and_what_to_do(void **state)
{
    static const struct {
        struct nacre_result result;
        const char *rule; /* NULL: no limit had to do with it */
        const char *text;
    } rows[] = {
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGXCPU }, "container.ulimits[1]",
          "2 s of processor time (cpu)" },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGXFSZ }, "container.ulimits[2]",
          "4096 bytes in one file (fsize)" },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGKILL,
            .usage.cpu_ns = 26 * NACRE_NS_PER_S / 10, .reason = "it died of SIGKILL" },
          "container.ulimits[1]", "2 s of processor time (cpu)" },
        /* Below the hard one, or nacre's own: another's kill. */
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGKILL,
            .usage.cpu_ns = 22 * NACRE_NS_PER_S / 10, .reason = "it died of SIGKILL" },
          NULL, NULL },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGKILL,
            .usage.cpu_ns = 3 * NACRE_NS_PER_S, .reason = "cancelled" }, NULL, NULL },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = SIGTERM }, NULL, NULL },
        { { .outcome = NACRE_OUTCOME_EXITED, .exit_status = 128 + SIGXCPU }, NULL, NULL },
    };
    struct nacre_rule said[] = { { (char *)"core=0:0", { 7, 1 } },
                                 { (char *)"cpu=2:3", { 8, 2 } },
                                 { (char *)"fsize=4096", { 9, 3 } } };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(HEAD);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_denial limit;
        bool told;

        policy->container.ulimits = (struct nacre_rules){ said, 3, { 6, 1 } };
        told = nacre_explain_limit(policy, &rows[i].result, 0, 0, &limit);
        assert_int_equal(told, rows[i].rule != NULL);
        /* Without such a line nothing is made up. */
        policy->container.ulimits = (struct nacre_rules){ said, 1, { 6, 1 } };
        assert_false(nacre_explain_limit(policy, &rows[i].result, 0, 0,
                                         &(struct nacre_denial){ 0 }));
        policy->container.ulimits = (struct nacre_rules){ NULL, 0, { 0, 0 } };
        if (!told)
            continue;
        assert_string_equal(limit.code, "ulimit");
        assert_string_equal(limit.rule, rows[i].rule);
        assert_int_equal(limit.place.line, rows[i].result.signal == SIGXFSZ ? 9 : 8);
        assert_non_null(strstr(limit.text, rows[i].text));
        assert_non_null(strstr(limit.fix, "raise it"));
    }
}

static void every_feature_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= NACRE_FEATURE_SECRET_FILES; a <<= 1)
        for (uint32_t b = 1; b < a; b <<= 1)
            assert_string_not_equal(nacre_feature_name((enum nacre_feature)a),
                                    nacre_feature_name((enum nacre_feature)b));
}

static void the_shipped_policies_run_or_are_refused_by_name(void **state)
{
    static const struct {
        const char *name;
        enum nacre_status status;
    } rows[] = {
        { "deny-all", NACRE_OK },
        { "read-only", NACRE_OK },
        { "workspace", NACRE_OK },
        { "web-api", NACRE_OK },
        { "web-fetch", NACRE_OK },
        { "build", NACRE_OK },
        { "shell", NACRE_OK },
        { "container", NACRE_OK },
        { "standard", NACRE_OK },
    };
    static const char *const dirs[] = { NACRE_POLICIES_DIR, NULL };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
        assert_int_equal(nacre_policy_load(rows[i].name, dirs, &policy, &err), NACRE_OK);
        assert_int_equal(nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan,
                                         denials, &err), rows[i].status);
        assert_int_equal(denials->denials_seen > 0, rows[i].status != NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_required_features_are_these),
        cmocka_unit_test(a_draft_tells_refusals_and_is_not_sealed),
        cmocka_unit_test(the_digest_changes_with_all_that_a_sandbox_is_made_of),
        cmocka_unit_test(the_digest_does_not_rest_on_the_documents_bytes_alone),
        cmocka_unit_test(the_shipped_policies_run_or_are_refused_by_name),
        cmocka_unit_test(planning_survives_every_allocation_failure),
        cmocka_unit_test(a_result_keeps_the_first_denials_and_counts_all),
        cmocka_unit_test(each_outcome_has_the_exit_status_that_a_shell_expects),
        cmocka_unit_test(each_ending_by_a_limit_names_its_line_and_what_to_do),
        cmocka_unit_test(a_ulimit_that_killed_names_its_line_and_what_to_do),
        cmocka_unit_test(every_feature_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests_name("plan_limits", tests, NULL, NULL);
}
