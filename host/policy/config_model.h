#ifndef NACRE_POLICY_CONFIG_MODEL_H
#define NACRE_POLICY_CONFIG_MODEL_H

#include "nacre/config.h"

NACRE_MUST_CHECK enum nacre_status nacre_config_new(const char *source,
                                                    struct nacre_config **ret_config,
                                                    struct nacre_error *err);

/* At most this many are kept; a later one is dropped, since nothing depends on it. */
#define NACRE_CONFIG_NOTES_MAX 1000

/* One more note; the text is cut where it is too long. */
NACRE_MUST_CHECK enum nacre_status nacre_config_note(struct nacre_config *config,
                                                     struct nacre_place place,
                                                     bool unwise, struct nacre_error *err,
                                                     const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What they hold is freed; they are not to be used any more. */
void nacre_bind_rules_clear(struct nacre_bind_rules *binds);
void nacre_agent_rules_clear(struct nacre_agent_rules *rules);

/* Hands `rules` over: to `all` where it has no id, else as one more agent.  On failure
 * they stay the caller's. */
NACRE_MUST_CHECK enum nacre_status nacre_config_add(struct nacre_config *config,
                                                    struct nacre_agent_rules *rules,
                                                    struct nacre_error *err);

#endif
