#ifndef NACRE_DECIDE_H
#define NACRE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "nacre/error.h"

struct nacre_pattern;

/* `ret_offset` is where in `text` the expression breaks, on failure only. */
NACRE_MUST_CHECK enum nacre_status nacre_pattern_compile(const char *text,
                                                         struct nacre_pattern **ret_pattern,
                                                         size_t *ret_offset,
                                                         struct nacre_error *err);
void nacre_pattern_free(struct nacre_pattern *pattern);

/*
 * Does `pattern` occur in `subject`?  Whatever can't be decided (invalid UTF-8, more
 * than 32 KiB, a limit on steps or depth reached) counts as a match: these patterns
 * deny.
 */
bool nacre_pattern_matches(const struct nacre_pattern *pattern, const char *subject,
                           size_t count);

/*
 * Is the blocked command `rule` in `command`?  Both are compared word by word with
 * one blank between, from a word's start to a word's end; `*` in the rule stands
 * for any run of characters.
 */
bool nacre_command_matches(const char *rule, const char *command);

#endif
