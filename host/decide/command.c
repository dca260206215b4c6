#include <stdlib.h>
#include <string.h>

#include "nacre/decide.h"

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

/* The last star is the only one worth moving, so this is never exponential. */
static bool glob(const char *rule, const char *text)
{
    const char *star = NULL, *star_text = NULL;

    while (*text) {
        if (*rule == '*') {
            star = rule++;
            star_text = text;
        } else if (*rule == *text) {
            rule++;
            text++;
        } else if (star) {
            rule = star + 1;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*rule == '*')
        rule++;
    return *rule == '\0';
}

bool nacre_command_matches(const char *rule, const char *command)
{
    /* A blank on both sides makes "from a word's start to a word's end" plain text. */
    char *pattern = squeeze("* ", rule, " *");
    char *subject = squeeze(" ", command, " ");
    bool matches = !pattern || !subject || glob(pattern, subject); /* in doubt, deny */

    free(pattern);
    free(subject);
    return matches;
}
