#ifndef NACRE_TESTS_CONTRACT_CASES_H
#define NACRE_TESTS_CONTRACT_CASES_H

/* Every case of the contract, for the groups of test_contract.c; *state is a struct scene
 * whose `own` is a struct stage. */

/* contract_runs.c */
void a_guest_runs_and_says_so(void **state);
void input_reaches_the_guest_whole_and_ends(void **state);
void a_network_is_had_by_a_door_and_what_no_door_enforces_is_refused(void **state);
void output_is_streamed_whole_and_in_order(void **state);
void several_threads_share_an_engine(void **state);
void what_a_command_leaves_behind_is_gone_with_it(void **state);
void what_a_command_leaves_behind_is_gone_before_the_next(void **state);
void a_program_that_is_not_there_is_told_apart(void **state);
void a_command_that_dies_of_a_signal_says_which(void **state);
void cancelling_ends_a_run_as_if_by_a_signal(void **state);

/* contract_limits.c */
void each_ending_is_told_apart(void **state);
void output_is_cut_at_the_byte_and_flagged(void **state);
void memory_is_bounded_and_its_peak_is_told(void **state);
void processes_and_open_files_are_bounded_and_told(void **state);

/* contract_files.c */
void nothing_of_a_run_is_seen_by_the_next(void **state);
void the_way_to_a_denied_name_of_a_private_directory_can_be_written(void **state);
void who_listens_in_a_granted_directory_is_reached_unless_denied(void **state);
void a_command_that_signals_all_it_can_goes_on(void **state);
void private_directories_are_as_large_as_told(void **state);
void in_deny_and_read_only_only_what_explain_says_can_be_written(void **state);

/* contract_records.c */
void each_line_of_a_policy_has_a_mechanism(void **state);
void a_denied_command_is_told_with_its_rule_and_line(void **state);

#endif
