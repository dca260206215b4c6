/*
 * What holds for every executor, seen as an embedder sees it: from several threads,
 * through libnacre alone.  Each case (cases.h) runs once for each executor there is.
 */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "stage.h"

#define BOUNDS                                                                \
    "max_processes: " PROCESSES_MAX ", max_open_files: " FILES_MAX ", "

static const struct stage stages[] = {
    { "contract: wasm workers", "wasm", .more = "", .memory_mb = 4,
      .bounds = BOUNDS, .calls = 100 },
    { "contract: wasm in-process", "wasm", .in_process = true, .more = "",
      .memory_mb = 4, .bounds = BOUNDS, .calls = 100 },
    { "contract: process", "process",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .bounds = BOUNDS, .calls = 8 },
    { "contract: none", "none", .more = "  capabilities: {shell: {mode: full}}\n",
      .bounds = "max_open_files: " FILES_MAX ", ", .calls = 8 },
    { "contract: container", "container", .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .bounds = BOUNDS, .calls = 4 },
    /* Some 45 MiB of these are gVisor's own. */
    { "contract: gvisor", "container", .gvisor = true, .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 128, .bounds = BOUNDS, .calls = 2 },
    { "contract: vm", "vm", .machine = true, .image = "nacre-test-busybox",
      .more = "  capabilities: {shell: {mode: full}, filesystem: {mode: scoped, "
              "mount_paths: [{path: /tmp, permissions: rw}]}}\n",
      .memory_mb = 48, .bounds = BOUNDS, .calls = 2 },
};

/* ---- the groups ---- */

static const struct stage *next_stage;

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (!scene)
        return -1;
    if (next_stage->image && getenv("NACRE_TEST_DOCKER"))
        (void)setenv("DOCKER_HOST", getenv("NACRE_TEST_DOCKER"), 1);
    scene->own = next_stage;
    *state = scene;
    return scene_open(scene, (struct nacre_engine_options){
                                 .in_process = next_stage->in_process,
                                 .own_boxes = true,
                             });
}

static int tear_down(void **state)
{
    int failed = scene_close(*state);

    free(*state);
    return failed;
}

#define EVERY                                                    \
    cmocka_unit_test(a_guest_runs_and_says_so),                  \
    cmocka_unit_test(each_ending_is_told_apart),                 \
    cmocka_unit_test(output_is_cut_at_the_byte_and_flagged),     \
    cmocka_unit_test(output_is_streamed_whole_and_in_order),     \
    cmocka_unit_test(input_reaches_the_guest_whole_and_ends),    \
    cmocka_unit_test(several_threads_share_an_engine),           \
    cmocka_unit_test(each_line_of_a_policy_has_a_mechanism)
#define SANDBOX                                                  \
    cmocka_unit_test(nothing_of_a_run_is_seen_by_the_next),      \
    cmocka_unit_test(memory_is_bounded_and_its_peak_is_told),    \
    cmocka_unit_test(a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused)
#define LEFT cmocka_unit_test(what_a_command_leaves_behind_is_gone_with_it)
#define WRITTEN                                                                  \
    cmocka_unit_test(in_deny_and_read_only_only_what_explain_says_can_be_written)
#define FILES                                                                    \
    cmocka_unit_test(the_way_to_a_denied_name_of_a_private_directory_can_be_written), \
    cmocka_unit_test(who_listens_in_a_granted_directory_is_reached_unless_denied), \
    cmocka_unit_test(a_command_that_signals_all_it_can_goes_on),                 \
    cmocka_unit_test(private_directories_are_as_large_as_told),                  \
    WRITTEN
#define NATIVE                                                   \
    cmocka_unit_test(a_denied_command_is_told_with_its_rule_and_line), \
    cmocka_unit_test(processes_and_open_files_are_bounded_and_told), \
    cmocka_unit_test(a_program_that_is_not_there_is_told_apart), \
    cmocka_unit_test(a_command_that_dies_of_a_signal_says_which), \
    cmocka_unit_test(cancelling_ends_a_run_as_if_by_a_signal)

/* Of a machine those with the same limits follow each other: they share one. */
#define MACHINE                                                  \
    cmocka_unit_test(a_guest_runs_and_says_so),                  \
    cmocka_unit_test(each_ending_is_told_apart),                 \
    cmocka_unit_test(output_is_cut_at_the_byte_and_flagged),     \
    cmocka_unit_test(output_is_streamed_whole_and_in_order),     \
    cmocka_unit_test(a_program_that_is_not_there_is_told_apart), \
    cmocka_unit_test(a_command_that_dies_of_a_signal_says_which), \
    cmocka_unit_test(processes_and_open_files_are_bounded_and_told), \
    cmocka_unit_test(each_line_of_a_policy_has_a_mechanism),     \
    cmocka_unit_test(a_denied_command_is_told_with_its_rule_and_line), \
    cmocka_unit_test(nothing_of_a_run_is_seen_by_the_next),      \
    cmocka_unit_test(a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused), \
    cmocka_unit_test(input_reaches_the_guest_whole_and_ends),    \
    cmocka_unit_test(several_threads_share_an_engine),           \
    cmocka_unit_test(what_a_command_leaves_behind_is_gone_before_the_next), \
    cmocka_unit_test(memory_is_bounded_and_its_peak_is_told),    \
    WRITTEN,                                                     \
    cmocka_unit_test(cancelling_ends_a_run_as_if_by_a_signal)

/* The tests' engine has the runtime where this is installed. */
static bool has_runsc(void)
{
    return system("command -v runsc >/dev/null 2>&1") == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest wasm[] = { EVERY, SANDBOX };
    const struct CMUnitTest process[] = { EVERY, SANDBOX, LEFT, FILES, NATIVE };
    const struct CMUnitTest container[] = { EVERY, SANDBOX, LEFT, FILES, NATIVE };
    const struct CMUnitTest gvisor[] = {
        EVERY, SANDBOX,
        cmocka_unit_test(what_a_command_leaves_behind_is_gone_before_the_next), WRITTEN,
        NATIVE
    };
    const struct CMUnitTest none[] = { EVERY, LEFT, NATIVE };
    const struct CMUnitTest machine[] = { MACHINE };
    int failed = 0;

    for (size_t i = 0; i < NACRE_COUNT(stages); i++) {
        next_stage = &stages[i];
        if (argc > 1 && strcmp(argv[1], next_stage->gvisor ? "gvisor"
                                                           : next_stage->level) != 0)
            continue;
        if (strcmp(next_stage->level, "wasm") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, wasm, set_up,
                                                  tear_down);
        else if (strcmp(next_stage->level, "process") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, process, set_up,
                                                  tear_down);
        else if (next_stage->gvisor && !has_runsc())
            return argc > 1 ? 77 : failed;
        else if (next_stage->gvisor)
            failed += cmocka_run_group_tests_name(next_stage->name, gvisor, set_up,
                                                  tear_down);
        else if (next_stage->machine)
            failed += cmocka_run_group_tests_name(next_stage->name, machine, set_up,
                                                  tear_down);
        else if (strcmp(next_stage->level, "container") == 0)
            failed += cmocka_run_group_tests_name(next_stage->name, container, set_up,
                                                  tear_down);
        else
            failed += cmocka_run_group_tests_name(next_stage->name, none, set_up,
                                                  tear_down);
    }
    return failed;
}
