/* Limits: that each holds, and that it is told by its key and line. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "stage.h"

/* By its key and its line, as everybody who has result and policy can tell. */
static void assert_told(const struct scene *scene, const struct nacre_result *result,
                        const char *limits, const char *key)
{
    char text[POLICY], rule[64];
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = scene_policy(policy_text(scene, limits, text));
    struct nacre_denial limit;

    (void)snprintf(rule, sizeof(rule), "resource_limits.%s", key);
    assert_true(nacre_explain_limit(policy, result, 0, 0, &limit));
    assert_string_equal(limit.rule, rule);
    assert_int_equal(limit.place.line, line_of(text, key));
    assert_true(limit.place.column > 0 && limit.text[0] && limit.fix[0]);
}

void each_ending_is_told_apart(void **state)
{
    static const struct {
        enum act act;
        enum nacre_outcome outcome;
        int exit;
        const char *key; /* of the limit that ended it */
    } cases[] = {
        { EXIT_42, NACRE_OUTCOME_EXITED, 42, NULL },
        { SPIN, NACRE_OUTCOME_TIMED_OUT, 124, "timeout_ms" },
        { FLOOD, NACRE_OUTCOME_OUTPUT_LIMIT, 153, "max_output_bytes" },
        { GROW, NACRE_OUTCOME_OUT_OF_MEMORY, 137, "memory_mb" },
    };

    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        const char *limits = cases[i].act == SPIN ? SHORT : LITTLE;

        /* A machine of other limits is another one, and has a test of its own. */
        if (cases[i].act == GROW &&
            (!stage_of(*state)->memory_mb || stage_of(*state)->machine))
            continue;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            play(*state, cases[i].act, limits);

        assert_int_equal(result->outcome, cases[i].outcome);
        assert_int_equal(nacre_result_exit(result), cases[i].exit);
        if (cases[i].key)
            assert_told(*state, result, limits, cases[i].key);
    }
}

void output_is_cut_at_the_byte_and_flagged(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        play(*state, FLOOD, LITTLE);

    assert_int_equal(result->output.size, 2500);
    assert_true(result->output_cut);
    for (size_t i = 0; i < result->output.size; i++)
        assert_int_equal(result->output.bytes[i], 'A');
}

void memory_is_bounded_and_its_peak_is_told(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        play(*state, GROW, PATIENT);
    uint64_t limit = (uint64_t)stage_of(*state)->memory_mb << 20;

    assert_int_equal(result->outcome, NACRE_OUTCOME_OUT_OF_MEMORY);
    /* What the kernel counts for a process beyond its cgroup's pages is little. */
    assert_true(result->usage.memory_bytes_peak <= limit + (UINT64_C(4) << 20));
    assert_true(result->usage.memory_bytes_peak > limit / 4);
    assert_told(*state, result, PATIENT, "memory_mb");
}

/* One command for both, as a machine takes seconds to boot. */
void processes_and_open_files_are_bounded_and_told(void **state)
{
    bool counts = strstr(stage_of(*state)->bounds, "max_processes") != NULL;
    bool told = counts && !stage_of(*state)->gvisor; /* its kernel refuses uncounted */
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_shell(
        *state,
        "ulimit -n; (ulimit -n 9999) 2>/dev/null && echo raised\n"
        "(i=0; while test $i -lt 60; do sleep 1 & i=$((i + 1)); done; echo all $i)",
        PATIENT);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_string_equal(result->output.bytes,
                        counts ? FILES_MAX "\n" : FILES_MAX "\nall 60\n");
    assert_int_equal(result->usage.processes_refused, told);
    if (told)
        assert_told(*state, result, PATIENT, "max_processes");
}
