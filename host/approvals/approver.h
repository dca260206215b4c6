#ifndef NACRE_APPROVALS_APPROVER_H
#define NACRE_APPROVALS_APPROVER_H

#include "nacre/approval.h"

/* The operator's command.  The request is JSON on its stdin; status 0 is a yes, anything
 * else, a signal and no answer until `deadline_ns` among it, is a no. */
NACRE_MUST_CHECK enum nacre_status approver_ask(char *const *command,
                                                const struct nacre_approval_ask *ask,
                                                uint64_t deadline_ns,
                                                enum nacre_approval_verdict *ret_verdict,
                                                struct nacre_error *err);

#endif
