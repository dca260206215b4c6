#ifndef NACRE_DECIDE_H
#define NACRE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

struct nacre_pattern;

/* How an expression is read, and what a search for it may cost. */
enum nacre_pattern_kind {
    NACRE_PATTERN_POLICY,     /* as PCRE2 does; in at most 32 KiB */
    NACRE_PATTERN_ECMASCRIPT, /* as JSON Schema has them; in at most 1 MiB */
};

/* `ret_offset` is where in `text` the expression breaks, on failure only. */
NACRE_MUST_CHECK enum nacre_status
nacre_pattern_compile(enum nacre_pattern_kind kind, const char *text, size_t count,
                      struct nacre_pattern **ret_pattern, size_t *ret_offset,
                      struct nacre_error *err);
void nacre_pattern_free(struct nacre_pattern *pattern); /* accepts NULL */

/* Undecided: invalid UTF-8, too long, or a limit on steps or depth was reached. */
enum nacre_found { NACRE_FOUND_UNDECIDED, NACRE_FOUND_YES, NACRE_FOUND_NO };

/* Does `pattern` occur in `subject`?  *steps is what is left of the work of many
 * searches, and is lowered by that of this one. */
enum nacre_found nacre_pattern_search(const struct nacre_pattern *pattern,
                                      const char *subject, size_t count,
                                      uint64_t *steps);

/* The same for a pattern that denies: what can't be decided counts as a match. */
bool nacre_pattern_matches(const struct nacre_pattern *pattern, const char *subject,
                           size_t count);

/*
 * Is the blocked command `rule` in `command`?  Both are compared word by word with
 * one blank between, from a word's start to a word's end; `*` in the rule stands
 * for any run of characters.
 */
bool nacre_command_matches(const char *rule, const char *command);

#endif
