#ifndef NACRE_CLI_VERBS_H
#define NACRE_CLI_VERBS_H

#include "args.h"
#include "nacre/nacre.h"
#include "term.h"

/* One file each. */
extern const struct cli_verb cli_verb_run;
extern const struct cli_verb cli_verb_input_scan;
extern const struct cli_verb cli_verb_intent;
extern const struct cli_verb cli_verb_exec;
extern const struct cli_verb cli_verb_check;
extern const struct cli_verb cli_verb_explain;
extern const struct cli_verb cli_verb_inspect;
extern const struct cli_verb cli_verb_backends;
extern const struct cli_verb cli_verb_cache;
extern const struct cli_verb cli_verb_audit;
extern const struct cli_verb cli_verb_ps;
extern const struct cli_verb cli_verb_stop;
extern const struct cli_verb cli_verb_rm;
extern const struct cli_verb cli_verb_recreate;
extern const struct cli_verb cli_verb_prune;
extern const struct cli_verb cli_verb_image;
extern const struct cli_verb cli_verb_browser;
extern const struct cli_verb cli_verb_keeper;
extern const struct cli_verb cli_verb_leak_scan;
extern const struct cli_verb cli_verb_parse;
extern const struct cli_verb cli_verb_convert;
extern const struct cli_verb cli_verb_secret;
extern const struct cli_verb cli_verb_approve;
extern const struct cli_verb cli_verb_deny;
extern const struct cli_verb cli_verb_approvals;
extern const struct cli_verb cli_verb_trace;
extern const struct cli_verb cli_verb_tool;
extern const struct cli_verb cli_verb_session;
extern const struct cli_verb cli_verb_new;
extern const struct cli_verb cli_verb_build;
extern const struct cli_verb cli_verb_test;
extern const struct cli_verb cli_verb_watch;
extern const struct cli_verb cli_verb_version;
extern const struct cli_verb cli_verb_completion;

/* All of them, as help lists them. */
const struct cli_verb *const *cli_verbs(size_t *ret_count);

/* An engine as the program uses it: this process has one thread and forks itself.
 * `options` may say more; its callbacks are set here. */
NACRE_MUST_CHECK enum nacre_status cli_engine_open(struct nacre_engine_options options,
                                                   struct cli_term *term,
                                                   struct nacre_engine **ret_engine,
                                                   struct nacre_error *err);

#endif
