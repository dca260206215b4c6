/* Level none through its executor: no wall, but limits, a deadline and an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "in_child.h"
#include "jail_world.h"

static const char *self; /* this program */

static int runs(void *data)
{
    struct jail jail;
    char path[128], text[256];

    (void)data;
    jail_prepare(&jail, &nacre_none_executor);
    CHILD_CHECK(jail_exits(&jail, "echo out; echo err >&2; exit 7", 7));
    CHILD_CHECK(jail_says(&jail, "out\n") && jail.result->unsandboxed);
    (void)snprintf(text, sizeof(text), "printf made >%s",
                   jail_path(&jail, "outside/new", path));
    CHILD_CHECK(jail_exits(&jail, text, 0) && jail_holds(&jail, "outside/new", "made"));
    CHILD_CHECK(jail_exits(&jail, "ulimit -n", 0) && jail_says(&jail, "128\n"));
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    CHILD_CHECK(jail_exits(&jail, "cat file", 0) && jail_says(&jail, "inside"));
    jail.request.directory = jail_path(&jail, "outside", path);
    CHILD_CHECK(jail_exits(&jail, "cat canary", 0) && jail_says(&jail, "untouched"));
    jail_finish(&jail);
    return 0;
}

static void a_command_runs_on_the_host_and_is_told_so(void **state)
{
    (void)state;
    assert_true(jail_as_both(runs, NULL));
}

static int needs_consent(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_none_executor);
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail.request.unsandboxed = false;
    CHILD_CHECK(jail_run(&jail, "touch ran") == NACRE_ERR_DENIED);
    CHILD_CHECK(!jail_has(&jail, "ws/ran"));
    jail.request.unsandboxed = true;
    CHILD_CHECK(jail_exits(&jail, "touch ran", 0) && jail_has(&jail, "ws/ran"));
    jail_finish(&jail);
    return 0;
}

static void without_the_callers_consent_nothing_runs(void **state)
{
    (void)state;
    assert_true(jail_as_both(needs_consent, NULL));
}

static int ends(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_none_executor);
    jail.plan.limits.wall_ms_max = 300;
    jail.plan.limits.output_bytes_max = 1000;
    CHILD_CHECK(jail_run(&jail, "trap '' TERM; sleep 71.2345") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_TIMED_OUT);
    CHILD_CHECK(jail_run(&jail, "yes") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_OUTPUT_LIMIT &&
                jail.result->output.size == 1000);
    CHILD_CHECK(jail_exits(&jail, "setsid sleep 71.2345 >/dev/null 2>&1 &", 0));
    CHILD_CHECK(jail_all_gone("71.2345"));
    CHILD_CHECK(!(jail.executor->features &
                  (NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_PROCESSES |
                   NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_FS_BENEATH)));
    CHILD_CHECK(waitpid(-1, NULL, WNOHANG) < 0);
    jail_finish(&jail);
    return 0;
}

static void deadline_output_and_left_children_are_looked_after(void **state)
{
    (void)state;
    assert_true(jail_as_both(ends, NULL));
}

static int keeps_secrets(void *data)
{
    struct jail jail;

    (void)data;
    CHILD_CHECK(setenv("NACRE_TEST_SECRET", "hush", 1) == 0);
    jail_prepare(&jail, &nacre_none_executor);
    CHILD_CHECK(jail_exits(&jail, "env | grep hush", 1));
    CHILD_CHECK(jail_exits(&jail, "test -n \"$PATH\"", 0));
    jail.request.environment = (const char *const[]){ "BASH_ENV=/tmp/x", NULL };
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_ERR_DENIED);
    jail_finish(&jail);
    return 0;
}

static void the_callers_other_variables_stay_with_it(void **state)
{
    (void)state;
    assert_true(jail_as_both(keeps_secrets, NULL));
}

static int owner_dies(void *data)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    struct jail jail;
    pid_t owner;

    (void)data;
    jail_prepare(&jail, &nacre_none_executor);
    owner = fork();
    if (owner == 0)
        _exit(jail_run(&jail, "sleep 72.3456 & sleep 72.3456") == NACRE_OK);
    for (int i = 0; i < 1000 && jail_processes("72.3456") < 2; i++)
        (void)nanosleep(&pause, NULL);
    CHILD_CHECK(jail_processes("72.3456") >= 2);
    CHILD_CHECK(kill(owner, SIGKILL) == 0 && waitpid(owner, NULL, 0) == owner);
    CHILD_CHECK(jail_all_gone("72.3456"));
    jail_finish(&jail);
    return 0;
}

static void killing_the_owner_leaves_nothing_running(void **state)
{
    (void)state;
    assert_true(jail_as_both(owner_dies, NULL));
}

/* This program as a guest of level process, which tries to run at level none. */
static int be_nested(void)
{
    struct nacre_executor_options options = { 0 };
    struct nacre_executor *executor = NULL;
    struct nacre_error err = { 0 };
    enum nacre_status status = nacre_none_executor.open(&options, &executor, &err);

    printf("%s\n", nacre_status_name(status));
    nacre_none_executor.free(executor);
    (void)fflush(stdout);
    _exit(0); /* a leak checker would trace this process, which no guest may do */
}

static int nests(void *data)
{
    char text[512], folder[512], *slash;
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    (void)snprintf(folder, sizeof(folder), "%s", self);
    slash = strrchr(folder, '/');
    CHILD_CHECK(slash != NULL);
    *slash = '\0';
    jail_mount(&jail, "/self", folder, false, NULL);
    jail.plan.limits.memory_bytes_max = UINT64_C(1) << 46; /* a sanitizer's shadow */
    (void)snprintf(text, sizeof(text), "/self/%s nested", slash + 1);
    CHILD_CHECK(jail_exits(&jail, text, 0) && jail_says(&jail, "unavailable\n"));
    (void)snprintf(text, sizeof(text), "test \"$(%s nested)\" = ok", self);
    CHILD_CHECK(system(text) == 0); /* the control */
    jail_finish(&jail);
    return 0;
}

static void inside_a_sandbox_it_is_not_to_be_had(void **state)
{
    (void)state;
    assert_int_equal(in_child(nests, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_on_the_host_and_is_told_so),
        cmocka_unit_test(without_the_callers_consent_nothing_runs),
        cmocka_unit_test(deadline_output_and_left_children_are_looked_after),
        cmocka_unit_test(the_callers_other_variables_stay_with_it),
        cmocka_unit_test(killing_the_owner_leaves_nothing_running),
        cmocka_unit_test(inside_a_sandbox_it_is_not_to_be_had),
    };

    self = argv[0];
    if (argc > 1 && strcmp(argv[1], "nested") == 0)
        return be_nested();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
