/* What explain says of the input scan and of intents: a line for each that is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/plan.h"

static const struct {
    const char *annotations; /* from line 6 on */
    const char *key;         /* behind "metadata.annotations.nacre/" */
    enum nacre_verdict verdict;
    int line;
    const char *what; /* a part of it */
} rows[] = {
    { "nacre/input-scan: on", "input-scan", NACRE_VERDICT_LIMIT, 6,
      "suspect from a score of 30, an attack from 80; stdin is read to its end first" },
    { "nacre/input-scan: strict", "input-scan", NACRE_VERDICT_LIMIT, 6,
      "from a score of 15, an attack from 50" },
    { "nacre/input-scan: strict", "input-scan", NACRE_VERDICT_LIMIT, 6,
      "may not be a terminal" },
    { "nacre/input-scan: off", "input-scan", NACRE_VERDICT_NOTE, 6, "not scanned" },
    { "nacre/input-scan: on\n    nacre/on-attack: block", "on-attack", NACRE_VERDICT_DENY,
      7, "attack: the run is denied" },
    { "nacre/input-scan: on\n    nacre/on-suspect: warn", "on-suspect",
      NACRE_VERDICT_NOTE, 7, "suspect: the run goes on, and its result and record tell" },
    { "nacre/input-scan: on\n    nacre/on-suspect: allow", "on-suspect",
      NACRE_VERDICT_NOTE, 7, "the run goes on" },
    { "nacre/on-attack: block", "on-attack", NACRE_VERDICT_NOTE, 6, "no effect" },
    { "nacre/input-scan: off\n    nacre/on-attack: block", "on-attack",
      NACRE_VERDICT_NOTE, 7, "no effect" },
    { "nacre/require-intent: \"true\"", "require-intent", NACRE_VERDICT_LIMIT, 6,
      "nothing runs without an intent's token" },
    { "nacre/require-intent: \"false\"", "require-intent", NACRE_VERDICT_NOTE, 6,
      "needs no intent" },
};

static struct nacre_plan *plan_of(const char *annotations, struct nacre_policy **policy)
{
    struct nacre_request request = { .input_fd = -1 };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;
    char yaml[512];

    (void)snprintf(yaml, sizeof(yaml),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: t\n"
                   "  annotations:\n    %s\nspec:\n  level: wasm\n",
                   annotations);
    if (nacre_policy_parse("p.yaml", yaml, strlen(yaml), policy, &err) != NACRE_OK ||
        nacre_plan_draft(*policy, &request, &plan, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return plan;
}

static bool is_about_input(const struct nacre_decision *decision)
{
    return strstr(decision->rule, "metadata.annotations") != NULL;
}

static void each_line_that_is_written_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_policy *policy = NULL;
        struct nacre_plan *plan = plan_of(rows[i].annotations, &policy);
        bool found = false;

        for (uint32_t k = 0; k < plan->decision_count; k++) {
            const struct nacre_decision *decision = &plan->decisions[k];

            if (!is_about_input(decision) ||
                strcmp(strrchr(decision->rule, '/') + 1, rows[i].key) != 0)
                continue;
            found = true;
            assert_int_equal(decision->verdict, rows[i].verdict);
            assert_int_equal(decision->place.line, rows[i].line);
            if (!strstr(decision->what, rows[i].what))
                fail_msg("row %zu: %s", i, decision->what);
            assert_true((decision->verdict == NACRE_VERDICT_NOTE) ==
                        (decision->mechanism[0] == '\0'));
            assert_true((decision->verdict == NACRE_VERDICT_DENY) ==
                        (decision->fix[0] != '\0'));
        }
        assert_true(found);
        nacre_plan_free(plan);
        nacre_policy_free(policy);
    }
}

static void what_nobody_wrote_is_not_explained(void **state)
{
    struct nacre_policy *policy = NULL;
    struct nacre_plan *plan = plan_of("team: tools", &policy);

    (void)state;
    for (uint32_t i = 0; i < plan->decision_count; i++)
        assert_false(is_about_input(&plan->decisions[i]));
    nacre_plan_free(plan);
    nacre_policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_that_is_written_is_explained),
        cmocka_unit_test(what_nobody_wrote_is_not_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
