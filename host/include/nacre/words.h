#ifndef NACRE_WORDS_H
#define NACRE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Words of a command line that is being made; failure sticks, and is looked at once. */
#define NACRE_WORDS_MAX 256
struct nacre_words {
    const char *items[NACRE_WORDS_MAX + 1]; /* NULL behind the last */
    char *owned[NACRE_WORDS_MAX];
    size_t count, owned_count;
    bool failed; /* there were too many, or no memory */
};

void nacre_words_clear(struct nacre_words *words);

/* `word` outlives the words. */
void nacre_words_add(struct nacre_words *words, const char *word);
/* `word` is freed with them; NULL, of an allocation, is a failure. */
void nacre_words_take(struct nacre_words *words, char *word);

#endif
