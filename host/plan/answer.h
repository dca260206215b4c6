#ifndef NACRE_ANSWER_H
#define NACRE_ANSWER_H

#include "nacre/explain.h"

/* Making of answers.  Private to host/plan. */

/* One more edit of the fix, after a "; " when it is not the first. */
void nacre_answer_fix(struct nacre_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with the place of the edit in front: "policy.yaml:12:9: change ...". */
void nacre_answer_change(struct nacre_answer *answer, const struct nacre_policy *policy,
                         struct nacre_place place, const char *from, const char *to);

/* "add under spec.PARENT.KEY: - WORD", or the whole list where there is none yet. */
void nacre_answer_add(struct nacre_answer *answer, struct nacre_place list_place,
                      const char *parent, const char *key, const char *word);

/* What decided, and the sentence about it. */
void nacre_answer_say(struct nacre_answer *answer, const char *key, size_t item,
                      struct nacre_place place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
