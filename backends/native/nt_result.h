#ifndef NACRE_NATIVE_RESULT_H
#define NACRE_NATIVE_RESULT_H

#include "nt_private.h"

/* Why we ended a command ourselves; this, and not what init says, is its outcome. */
enum nt_kill {
    NT_KILL_NONE,
    NT_KILL_OUTPUT,    /* it wrote more than it may */
    NT_KILL_CANCELLED, /* the caller does not want it any more */
    NT_KILL_DISTURBED, /* what the sandbox stands on has changed */
    NT_KILL_OVERRUN,   /* init has not ended it in time */
    NT_KILL_FAILED,    /* the host can't go on with it */
};

/* The outcome of a command that we ended; `signal` and `reason` where there are any. */
void nt_result_killed(enum nt_kill kill, int signal, const char *reason,
                      struct nacre_result *result);

/* From init's words to a result: the outcome, and what it used. */
void nt_result_exit(const struct init_exit *exit, struct nacre_result *result);
void nt_result_usage(const struct init_exit *exit, struct nacre_result *result);

/* Nothing was executed.  *ret_spent: nor may anything else be in this sandbox. */
NACRE_MUST_CHECK enum nacre_status nt_result_refused(const struct nt_run *run,
                                                     const struct init_start *start,
                                                     bool *ret_spent,
                                                     struct nacre_error *err);

#endif
