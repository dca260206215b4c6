/* Trusts the rule, which a policy says; commands are anybody's. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "nacre/decide.h"

#define STEPS_MAX ((size_t)64 << 20)

static bool is_blank(char character)
{
    return character != '\0' && strchr(" \t\n\v\f\r", character) != NULL;
}

/* `text` with one blank between words, and `before` and `after` around it. */
static char *squeeze(const char *before, const char *text, const char *after)
{
    size_t used = strlen(before);
    char *squeezed = malloc(used + strlen(text) + strlen(after) + 1);
    bool gap = false;

    if (!squeezed)
        return NULL;
    memcpy(squeezed, before, used);
    while (is_blank(*text))
        text++;
    for (; *text; text++) {
        if (is_blank(*text)) {
            gap = true;
            continue;
        }
        if (gap)
            squeezed[used++] = ' ';
        gap = false;
        squeezed[used++] = *text;
    }
    memcpy(squeezed + used, after, strlen(after) + 1);
    return squeezed;
}

bool nacre_matcher_init(struct nacre_matcher *matcher, const char *rule)
{
    /* A blank on both sides makes "from a word's start to a word's end" plain text. */
    char *pattern = squeeze("* ", rule, " *");

    if (!pattern)
        return false;
    *matcher = (struct nacre_matcher){ .pattern = pattern, .size = strlen(pattern) };
    while (pattern[matcher->begun] == '*' || pattern[matcher->begun] == ' ')
        matcher->begun++;
    matcher->begun++;
    return true;
}

void nacre_matcher_clear(struct nacre_matcher *matcher)
{
    free(matcher->pattern);
    matcher->pattern = NULL;
}

bool nacre_match_init(struct nacre_match *match, const struct nacre_matcher *matcher)
{
    match->on = malloc(matcher->size + 1);
    if (!match->on)
        return false;
    nacre_match_none(match, matcher);
    return true;
}

void nacre_match_clear(struct nacre_match *match)
{
    free(match->on);
    match->on = NULL;
}

void nacre_match_none(struct nacre_match *match, const struct nacre_matcher *matcher)
{
    memset(match->on, 0, matcher->size + 1);
    match->high = 0;
}

/* A star may stand for nothing: what waits at it waits behind it too. */
static void close_stars(struct nacre_match *match, const struct nacre_matcher *matcher)
{
    for (size_t i = 0; i <= match->high; i++)
        if (match->on[i] && i < matcher->size && matcher->pattern[i] == '*') {
            match->on[i + 1] = true;
            if (match->high == i)
                match->high = i + 1;
        }
}

void nacre_match_start(struct nacre_match *match, const struct nacre_matcher *matcher)
{
    nacre_match_none(match, matcher);
    match->on[0] = true;
    close_stars(match, matcher);
}

void nacre_match_copy(struct nacre_match *match, const struct nacre_match *from)
{
    size_t high = match->high > from->high ? match->high : from->high;

    memcpy(match->on, from->on, high + 1);
    match->high = from->high;
}

void nacre_match_join(struct nacre_match *match, const struct nacre_match *other)
{
    for (size_t i = 0; i <= other->high; i++)
        match->on[i] |= other->on[i];
    if (other->high > match->high)
        match->high = other->high;
}

static void step(struct nacre_match *match, const struct nacre_matcher *matcher,
                 char character)
{
    const char *pattern = matcher->pattern;
    bool blank = is_blank(character);
    size_t top = match->high < matcher->size ? match->high + 1 : matcher->size;
    size_t high = 0;

    for (size_t i = top + 1; i-- > 0;) {
        /* A blank of the rule stands for any run of them. */
        bool stays = match->on[i] && ((i < matcher->size && pattern[i] == '*') ||
                                      (blank && i > 0 && pattern[i - 1] == ' '));
        bool comes = i > 0 && match->on[i - 1] && pattern[i - 1] != '*' &&
                     (pattern[i - 1] == character || (blank && pattern[i - 1] == ' '));

        match->on[i] = stays || comes;
        if (match->on[i] && high == 0)
            high = i;
    }
    match->high = high;
    close_stars(match, matcher);
}

/*
 * An expansion takes every state as far as its text could.  It can't begin a match (or
 * any variable would be any command), unless it is asked to, and it can't be an operator.
 */
static void leap(struct nacre_match *match, const struct nacre_matcher *matcher,
                 enum nacre_mark mark)
{
    static const char *const all_stops[] = { [NACRE_MARK_ANY] = "|",
                                             [NACRE_MARK_ONE] = "| ",
                                             [NACRE_MARK_GLOB] = "|/" };
    const char *stops = all_stops[mark];

    for (size_t i = matcher->begun - matcher->begins; i < matcher->size; i++) {
        if (!match->on[i] || strchr(stops, matcher->pattern[i]))
            continue;
        match->on[i + 1] = true;
        if (match->high < i + 1)
            match->high = i + 1;
    }
    close_stars(match, matcher);
}

static bool is_expansion(unsigned char mark)
{
    return mark >= NACRE_MARK_ANY;
}

void nacre_match_feed(struct nacre_match *match, struct nacre_matcher *matcher,
                      const char *text, const unsigned char *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        matcher->steps += match->high + 1;
        if (matcher->steps > STEPS_MAX) {
            match->on[matcher->size] = true;
            match->high = matcher->size;
            return;
        }
        if (!matcher->guess || !marks || !is_expansion(marks[i])) {
            step(match, matcher, text[i]);
        } else if (i == 0 || marks[i - 1] != marks[i]) {
            matcher->steps += matcher->size;
            leap(match, matcher, (enum nacre_mark)marks[i]);
        }
    }
}

bool nacre_match_found(const struct nacre_match *match,
                       const struct nacre_matcher *matcher)
{
    return match->on[matcher->size];
}

bool nacre_command_matches(const char *rule, const char *command)
{
    struct nacre_matcher matcher = { 0 };
    struct nacre_match match = { 0 };
    bool matches = true; /* in doubt, deny */

    if (nacre_matcher_init(&matcher, rule) && nacre_match_init(&match, &matcher)) {
        nacre_match_start(&match, &matcher);
        nacre_match_feed(&match, &matcher, " ", NULL, 1);
        nacre_match_feed(&match, &matcher, command, NULL, strlen(command));
        nacre_match_feed(&match, &matcher, " ", NULL, 1);
        matches = nacre_match_found(&match, &matcher);
    }
    nacre_match_clear(&match);
    nacre_matcher_clear(&matcher);
    return matches;
}
