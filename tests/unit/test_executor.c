/* The one checked way to a backend, and the choice of it: a level is served by its own
 * executor or by none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>

#include "in_child.h"
#include "nacre/executor.h"
#include "nacre/own.h"

/* A backend that says what it is told to say. */
static enum nacre_outcome said;
static enum nacre_status failure;
static uint64_t probed, probe_finds;

static enum nacre_status fake_run(struct nacre_executor *executor,
                                  const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_result *result, struct nacre_error *err)
{
    (void)executor;
    (void)plan;
    (void)tool;
    (void)request;
    if (failure != NACRE_OK)
        return nacre_fail(err, failure, "as told");
    result->outcome = said;
    return NACRE_OK;
}

static void fake_probe(struct nacre_executor *executor, uint64_t wanted)
{
    probed = wanted;
    atomic_fetch_or(&executor->features, probe_finds);
}

static const struct nacre_executor_ops wasm_ops = { .name = "wasm", .run = fake_run,
                                                    .probe = fake_probe };
static const struct nacre_executor_ops vm_ops = { .name = "vm", .run = fake_run,
                                                  .probe = fake_probe };

static int forget(void **state)
{
    (void)state;
    said = NACRE_OUTCOME_EXITED;
    failure = NACRE_OK;
    probed = probe_finds = 0;
    return 0;
}

static struct nacre_result *result_of(void)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    return result;
}

static void a_level_never_falls_back_to_another(void **state)
{
    static const struct {
        enum nacre_level level;
        uint64_t required;
        const char *refused; /* NULL: the wasm executor takes it */
    } cases[] = {
        { NACRE_LEVEL_NONE, 0, "level none: its executor is not in this build" },
        { NACRE_LEVEL_PROCESS, 0, "level process: its executor is not in this build" },
        { NACRE_LEVEL_CONTAINER, 0,
          "level container: its executor is not in this build" },
        { NACRE_LEVEL_WASM, NACRE_FEATURE_FUEL, "level wasm can't enforce here" },
        { NACRE_LEVEL_WASM, NACRE_FEATURE_WASM | 1u << 13,
          "level wasm can't enforce here" },
        { NACRE_LEVEL_WASM, 0x3fff, "level wasm can't enforce here" },
        { NACRE_LEVEL_VM, NACRE_FEATURE_WASM, "level vm can't enforce here" },
        { NACRE_LEVEL_WASM, 0, NULL },
        { NACRE_LEVEL_WASM, NACRE_FEATURE_WASM, NULL },
    };
    struct nacre_executor vm = { .ops = &vm_ops };
    struct nacre_executor wasm = { .ops = &wasm_ops, .features = NACRE_FEATURE_WASM };
    struct nacre_executor *const executors[] = { &vm, &wasm };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        const struct nacre_plan plan = { .level = cases[i].level,
                                         .required = cases[i].required };
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_of();
        struct nacre_executor *chosen = NULL;
        struct nacre_error err;
        enum nacre_status status = nacre_executor_select(executors, 2, &plan, &chosen,
                                                         denials, &err);

        if (!cases[i].refused) {
            assert_int_equal(status, NACRE_OK);
            assert_ptr_equal(chosen, &wasm);
            continue;
        }
        assert_int_equal(status, NACRE_ERR_UNAVAILABLE);
        assert_null(chosen);
        assert_non_null(strstr(err.text, cases[i].refused));
    }
}

static void what_costs_time_to_find_out_is_found_when_wanted(void **state)
{
    struct nacre_executor wasm = { .ops = &wasm_ops };
    struct nacre_executor *const executors[] = { &wasm };
    const struct nacre_plan plan = { .level = NACRE_LEVEL_WASM,
                                     .required = NACRE_FEATURE_CPU_SHARES_LOW };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_of();
    struct nacre_executor *chosen = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_executor_select(executors, 1, &plan, &chosen, denials, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_int_equal(probed, NACRE_FEATURE_CPU_SHARES_LOW);
    probe_finds = NACRE_FEATURE_CPU_SHARES_LOW;
    assert_int_equal(nacre_executor_select(executors, 1, &plan, &chosen, denials, &err),
                     NACRE_OK);
}

static void what_is_lacking_is_told_by_the_line_that_needs_it(void **state)
{
    struct nacre_executor wasm = { .ops = &wasm_ops, .features = NACRE_FEATURE_WASM };
    struct nacre_executor *const executors[] = { &wasm };
    struct nacre_decision decisions[] = {
        { .rule = "level", .place = { 5, 10 }, .what = "wasm" },
        { .rule = "resource_limits.cpu_shares", .place = { 7, 17 }, .what = "2000" },
    };
    const struct nacre_plan plan = {
        .level = NACRE_LEVEL_WASM, .decisions = decisions, .decision_count = 2,
        .required = NACRE_FEATURE_WASM | NACRE_FEATURE_FUEL |
                    NACRE_FEATURE_CPU_SHARES_ANY,
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_of();
    struct nacre_executor *chosen = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_executor_select(executors, 1, &plan, &chosen, denials, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_int_equal(denials->denial_count, 2);
    assert_string_equal(denials->denials[0].rule, "level");
    assert_int_equal(denials->denials[0].place.line, 5);
    assert_string_equal(denials->denials[0].text, "wasm: fuel can't be enforced here");
    assert_string_equal(denials->denials[0].fix,
                        "see nacre backends for what this machine lacks");
    assert_string_equal(denials->denials[1].code, "not-enforceable");
    assert_string_equal(denials->denials[1].rule, "resource_limits.cpu_shares");
    assert_int_equal(denials->denials[1].place.line, 7);
    assert_string_equal(denials->denials[1].text,
                        "2000: more than 1024 takes a cgroup with the cpu controller, "
                        "and there is none to be had here");
    assert_string_equal(denials->denials[1].fix,
                        "lower it to 1024 or give this user a cgroup");
    assert_string_equal(decisions[1].what, "2000");
}

static void a_run_carries_the_walls_that_stood(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = result_of();
    struct nacre_executor wasm = { .ops = &wasm_ops };
    const struct nacre_plan plan = { .sealed = true };
    struct nacre_error err;

    (void)state;
    nacre_mechanism_add(&wasm, "wall", true, "%d bricks", 3);
    nacre_mechanism_add(&wasm, "moat", false, "no water");
    assert_int_equal(nacre_executor_run(&wasm, &plan, NULL, NULL, result, &err),
                     NACRE_OK);
    assert_int_equal(result->mechanism_count, 2);
    assert_string_equal(result->mechanisms[0].detail, "3 bricks");
    assert_false(result->mechanisms[1].present);
    failure = NACRE_ERR_BACKEND;
    assert_int_equal(nacre_executor_run(&wasm, &plan, NULL, NULL, result, &err),
                     NACRE_ERR_BACKEND);
}

static void walls_that_do_not_fit_are_dropped(void **state)
{
    struct {
        struct nacre_executor executor;
        char canary[16];
    } guarded = { .canary = "canary" };
    char name[100];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    for (int i = 0; i < NACRE_MECHANISMS_MAX + 3; i++)
        nacre_mechanism_add(&guarded.executor, name, true, "%0300d", i);
    assert_int_equal(guarded.executor.mechanism_count, NACRE_MECHANISMS_MAX);
    assert_int_equal(strlen(guarded.executor.mechanisms[0].name), 31);
    assert_string_equal(guarded.canary, "canary");
}

/* What a backend may not do is a bug of ours, and ends the process. */
struct misuse {
    bool sealed;
    uint64_t required;
    enum nacre_outcome outcome;
};

static int misuse(void *data)
{
    const struct misuse *how = data;
    struct nacre_executor wasm = { .ops = &wasm_ops, .features = NACRE_FEATURE_WASM };
    const struct nacre_plan plan = { .sealed = how->sealed, .required = how->required };
    struct nacre_result *result = result_of();
    struct nacre_error err;

    (void)close(2); /* the assertion's words are expected */
    (void)signal(SIGABRT, SIG_DFL);
    said = how->outcome;
    return nacre_executor_run(&wasm, &plan, NULL, NULL, result, &err) == NACRE_OK ? 0 : 1;
}

static void a_plan_that_is_not_sealed_or_not_covered_is_never_run(void **state)
{
    struct misuse bad[] = {
        { false, 0, NACRE_OUTCOME_EXITED },
        { true, NACRE_FEATURE_FUEL, NACRE_OUTCOME_EXITED },
        { true, NACRE_FEATURE_WASM | NACRE_FEATURE_FUEL, NACRE_OUTCOME_EXITED },
        { true, 0, NACRE_OUTCOME_NONE },
        { true, 0, NACRE_OUTCOME_COUNT },
    };
    struct misuse good = { true, NACRE_FEATURE_WASM, NACRE_OUTCOME_TRAPPED };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++)
        assert_killed(in_child(misuse, &bad[i]), SIGABRT);
    assert_exited(in_child(misuse, &good), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_level_never_falls_back_to_another, forget),
        cmocka_unit_test_setup(what_costs_time_to_find_out_is_found_when_wanted, forget),
        cmocka_unit_test_setup(what_is_lacking_is_told_by_the_line_that_needs_it, forget),
        cmocka_unit_test_setup(a_run_carries_the_walls_that_stood, forget),
        cmocka_unit_test_setup(walls_that_do_not_fit_are_dropped, forget),
        cmocka_unit_test_setup(a_plan_that_is_not_sealed_or_not_covered_is_never_run,
                               forget),
    };

    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
