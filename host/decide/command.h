#ifndef NACRE_DECIDE_COMMAND_H
#define NACRE_DECIDE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A blocked command as an automaton, so that a command can be compared piece by piece,
 * with several readings of a piece side by side, and with pieces that only the shell
 * will know.  Costs at most the rule's length for each byte that is fed; more than a
 * ceiling of such steps counts as found, because these rules deny.
 */

/* What a byte of a normalised command stands for. */
enum nacre_mark {
    NACRE_MARK_BARE,   /* itself, not quoted */
    NACRE_MARK_QUOTED, /* itself */
    NACRE_MARK_ANY,    /* an expansion: any text, several words or none */
    NACRE_MARK_ONE,    /* an expansion in quotes: any text without a blank */
    NACRE_MARK_GLOB,   /* a glob: any text without a slash */
};

struct nacre_matcher {
    char *pattern;
    size_t size;
    size_t begun; /* states from here on have matched a character of the rule itself */
    size_t steps;
    bool guess;   /* expansions may stand for anything; else for their own text */
    bool begins;  /* and may begin a match */
};

/* Where the automaton can be after what was fed.  `on` has room for size + 1. */
struct nacre_match {
    bool *on;
    size_t high; /* no state above it is on */
};

/* False when memory is short. */
bool nacre_matcher_init(struct nacre_matcher *matcher, const char *rule);
void nacre_matcher_clear(struct nacre_matcher *matcher);

bool nacre_match_init(struct nacre_match *match, const struct nacre_matcher *matcher);
void nacre_match_clear(struct nacre_match *match);

void nacre_match_start(struct nacre_match *match, const struct nacre_matcher *matcher);
void nacre_match_none(struct nacre_match *match, const struct nacre_matcher *matcher);
void nacre_match_copy(struct nacre_match *match, const struct nacre_match *from);
void nacre_match_join(struct nacre_match *match, const struct nacre_match *other);

/* `marks` has one byte for each of `text`; NULL: all of it stands for itself. */
void nacre_match_feed(struct nacre_match *match, struct nacre_matcher *matcher,
                      const char *text, const unsigned char *marks, size_t count);
bool nacre_match_found(const struct nacre_match *match,
                       const struct nacre_matcher *matcher);

#endif
