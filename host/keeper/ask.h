#ifndef NACRE_KEEPER_ASK_H
#define NACRE_KEEPER_ASK_H

#include "message.h"

/* A question with one answer, which is the caller's.  Takes `question`; NULL stands for no
 * memory. */
NACRE_MUST_CHECK enum nacre_status keeper_ask(int socket, enum message_kind kind,
                                              json_t *question, json_t **ret_answer,
                                              struct nacre_error *err);

#endif
