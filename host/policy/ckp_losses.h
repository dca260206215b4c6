#ifndef NACRE_POLICY_CKP_LOSSES_H
#define NACRE_POLICY_CKP_LOSSES_H

#include "nacre/convert.h"

/* What of a policy CKP has no key for. */
NACRE_MUST_CHECK enum nacre_status
nacre_losses_of_policy(const struct nacre_policy *policy, struct nacre_losses *losses,
                       struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status nacre_loss_add(struct nacre_losses *losses,
                                                  const char *key,
                                                  struct nacre_place place,
                                                  struct nacre_error *err,
                                                  const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
