#ifndef NACRE_TEST_POLICY_TEXT_H
#define NACRE_TEST_POLICY_TEXT_H

#include "nacre/buf.h"
#include "nacre/policy.h"

/* Appends what CKP can say of a policy, a line for each value: with `places` its
 * line:column behind it, else "said"; "default" where nobody said it. */
void policy_text(struct nacre_buf *out, const struct nacre_policy *policy, bool places);

#endif
