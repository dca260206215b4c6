#ifndef NACRE_KEEPER_ASK_H
#define NACRE_KEEPER_ASK_H

#include <stdatomic.h>

#include "message.h"

/* A question with one answer, which is the caller's.  Takes `question`; NULL stands for no
 * memory.  A number in `cancelled`, which may be NULL, ends the wait for the answer. */
NACRE_MUST_CHECK enum nacre_status keeper_ask(int socket, enum message_kind kind,
                                              json_t *question,
                                              const _Atomic int *cancelled,
                                              json_t **ret_answer,
                                              struct nacre_error *err);

#endif
