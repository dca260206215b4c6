#ifndef NACRE_REGEX_H
#define NACRE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Regular expressions over the lines of a buffer, linear in time whatever the pattern.
 *
 * The syntax is Perl's without what needs backtracking: classes, groups, alternation,
 * greedy and lazy quantifiers, ^ $ \b \B, \d \w \s (of ASCII), \p{..}, (?i).  Back-
 * references, lookaround, atomic groups and possessive quantifiers are refused by name.
 * Text is UTF-8; bytes that are none match nothing but themselves' absence: "." and
 * negated classes do not take them.
 *
 * A match never holds a newline: ^, \A, $, \z and \Z are the ends of a line, no class
 * takes \n, and a pattern that asks for one is refused.
 *
 * Whether a line matches is decided by a DFA that is built as the text needs it, in a
 * cache of bounded size; where a pattern makes too many states the NFA is simulated
 * instead, which costs the program's size for each byte.  A literal that every match
 * must hold is looked for first.
 */
struct nacre_regex;

#define NACRE_REGEX_PATTERN_MAX 65536
#define NACRE_REGEX_PROGRAM_MAX 50000 /* instructions; see nacre_regex_size() */
#define NACRE_REGEX_REPEAT_MAX 1000
#define NACRE_REGEX_DEPTH_MAX 200

enum nacre_regex_flag {
    NACRE_REGEX_CASELESS = 1,
    NACRE_REGEX_LITERAL = 2, /* the pattern is text, not an expression */
    NACRE_REGEX_WORD = 4,    /* no word character right before or behind */
    NACRE_REGEX_CRLF = 8,    /* $ matches before \r at the end of a line, too */
};

struct nacre_regex_error {
    char text[200];
    size_t offset; /* in the pattern, bytes */
};

/* NULL: *ret_error says why and where.  Freed by nacre_regex_free(). */
struct nacre_regex *nacre_regex_new(const char *pattern, size_t count, unsigned flags,
                                    struct nacre_regex_error *ret_error);
void nacre_regex_free(struct nacre_regex *regex); /* accepts NULL */

struct nacre_regex_line {
    size_t start, end; /* without the newline */
    size_t known_at;   /* the match ends here or before: enough to show its place */
};

/* The first line of bytes[from..count) that matches; `from` begins a line.  A last line
 * without a newline is one, too, but nothing behind a last newline is. */
bool nacre_regex_next_line(struct nacre_regex *regex, const char *bytes, size_t count,
                           size_t from, struct nacre_regex_line *ret_line);

/* Where the leftmost match of one line is, as a backtracking engine would choose it;
 * only where something is repeated that may match nothing may the end differ. */
bool nacre_regex_bounds(struct nacre_regex *regex, const char *line, size_t count,
                        size_t *ret_start, size_t *ret_end);

/* How many instructions it has; for tests and for telling. */
size_t nacre_regex_size(const struct nacre_regex *regex);

/* What a test turns off to see the same answers: the search for literals and the DFA. */
void nacre_regex_disable(struct nacre_regex *regex, bool literals, bool dfa);

#endif
