#ifndef NACRE_ANSWER_H
#define NACRE_ANSWER_H

#include "nacre/policy.h"

/*
 * What a policy says to a single question.  It names the line that decided and the
 * smallest change of the policy that would flip it.
 */
struct nacre_answer {
    bool allowed;
    bool is_path;              /* then `allowed` is `read`, and both of these hold */
    bool read, write;
    char rule[64];
    struct nacre_place place;
    char file[256];            /* where `place` is; "": in the policy that was asked about */
    char text[512];
    char fix[512];
};

/* ---- making of answers, for those who decide ---- */

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

/* "key[2]" for item 3 of a list; items count from 1 here, and 0 gives "key". */
void nacre_rule_name(char ret_rule[64], const char *key, size_t item);

/* A word as it can stand in YAML, quoted where it must be.  Returns `ret_word`. */
#define NACRE_YAML_WORD 192
const char *nacre_yaml_word(char ret_word[NACRE_YAML_WORD], const char *text);

/* Drops half a character that a cut has left at the end. */
void nacre_trim(char *text);

#endif
