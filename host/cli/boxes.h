#ifndef NACRE_CLI_BOXES_H
#define NACRE_CLI_BOXES_H

#include "args.h"
#include "nacre/keeper.h"
#include "nacre/nacre.h"

/* What the verbs about warm sandboxes have in common. */

/* An engine that only tells where things are: it records nothing and runs nothing. */
NACRE_MUST_CHECK enum nacre_status cli_boxes_engine(struct nacre_engine **ret_engine,
                                                    struct nacre_error *err);

/* Ends what is chosen and adds to the counts; without a keeper nothing is warm. */
NACRE_MUST_CHECK enum nacre_status cli_boxes_end(struct nacre_engine *engine,
                                                 const struct nacre_keeper_choice *choice,
                                                 uint32_t *ended, uint32_t *left,
                                                 struct nacre_error *err);

/* For nacre/sessions.h; `data` is the engine. */
enum nacre_status cli_boxes_ender(void *data, const char *which, const char *scope_key,
                                  bool force, uint32_t *ret_ended, uint32_t *ret_left,
                                  struct nacre_error *err);

/* The same for those that the operands name, or all with `all`; then says how many.
 * A name that is none, or one that is in use, is a failure.  Returns the exit status. */
int cli_boxes_end_named(const struct cli_args *args, bool all, bool force);

/* Says how many.  Returns the exit status. */
int cli_boxes_tell(const struct cli_args *args, uint32_t ended, uint32_t left);

#endif
