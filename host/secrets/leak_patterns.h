#ifndef NACRE_LEAK_PATTERNS_H
#define NACRE_LEAK_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/leak.h"

/*
 * One row of the table.  A match begins with one of `starts`, of which three bytes or
 * more are given; where it is three, `next` says what may follow.
 */
struct leak_pattern {
    struct nacre_leak_pattern_row row;
    const char *regex;
    const char *const *starts; /* NULL-terminated */
    const char *next;          /* characters; NULL: each start has four bytes or more */
    bool any_case;             /* of the starts */
    bool is_key;               /* the match is the head of a key whose body follows */
};

extern const struct leak_pattern leak_patterns[NACRE_LEAK_PATTERNS];

/* How far before its beginning a match may look. */
#define LEAK_LOOKBEHIND 16

/* No match, a key's body apart, is longer. */
#define LEAK_MATCH_MAX ((size_t)32 << 10)

enum leak_match {
    LEAK_MATCH_NONE,
    LEAK_MATCH_FOUND, /* also what can't be decided */
    LEAK_MATCH_OPEN,  /* the text ends too early to know */
};

/* What matching needs from call to call; zeroed is valid, one for each thread. */
struct leak_matcher {
    void *data;
};
void leak_matcher_clear(struct leak_matcher *matcher);

/*
 * Does a match of the pattern `index` begin at text[at]?  The regular expression is
 * compiled when its first start is met, once for the process.
 */
enum leak_match leak_pattern_match(struct leak_matcher *matcher, uint32_t index,
                                   const unsigned char *text, size_t count, size_t at,
                                   bool at_end, size_t *ret_length);

#endif
