#include "nacre/words.h"

#include <stdlib.h>

void nacre_words_clear(struct nacre_words *words)
{
    for (size_t i = 0; i < words->owned_count; i++)
        free(words->owned[i]);
    *words = (struct nacre_words){ 0 };
}

void nacre_words_add(struct nacre_words *words, const char *word)
{
    if (words->count == NACRE_WORDS_MAX)
        words->failed = true;
    else
        words->items[words->count++] = word;
}

void nacre_words_take(struct nacre_words *words, char *word)
{
    if (!word || words->owned_count == NACRE_WORDS_MAX) {
        free(word);
        words->failed = true;
        return;
    }
    words->owned[words->owned_count++] = word;
    nacre_words_add(words, word);
}
