#ifndef NACRE_ADVICE_H
#define NACRE_ADVICE_H

#include "nacre/config.h"

/*
 * What is legal and still unwise, or without effect.  Of a configuration: its own notes,
 * those of settling it for each agent, and what `nacre check` adds.  In the order of the
 * file's lines, each once.
 */
struct nacre_advice {
    struct nacre_config_note *notes;
    size_t count;
};

/* `home` is absolute: what ~ means.  Fails where the configuration can't be settled for
 * one of its agents.  Clear it either way. */
NACRE_MUST_CHECK enum nacre_status nacre_config_advise(const struct nacre_config *config,
                                                       const char *home,
                                                       struct nacre_advice *advice,
                                                       struct nacre_error *err);
/* The same for a policy's own lines. */
NACRE_MUST_CHECK enum nacre_status nacre_policy_advise(const struct nacre_policy *policy,
                                                       struct nacre_advice *advice,
                                                       struct nacre_error *err);
/* What it holds is freed, and it is empty again. */
void nacre_advice_clear(struct nacre_advice *advice);

#endif
