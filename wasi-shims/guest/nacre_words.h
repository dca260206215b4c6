#ifndef NACRE_WORDS_H
#define NACRE_WORDS_H

/* Private to the SDK: eight bytes looked at as one, since most text is plain. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NACRE_WORD_ONES 0x0101010101010101u
#define NACRE_WORD_HIGH 0x8080808080808080u

static inline uint64_t nacre_word_at(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Not zero if any byte is below `bound`, which is 128 at the most.  Which one it is can't
 * be told from it: a borrow may mark those behind. */
static inline uint64_t nacre_word_below(uint64_t word, uint64_t bound)
{
    return (word - NACRE_WORD_ONES * bound) & ~word & NACRE_WORD_HIGH;
}

static inline uint64_t nacre_word_has(uint64_t word, uint64_t byte)
{
    return nacre_word_below(word ^ NACRE_WORD_ONES * byte, 1);
}

/* How many bytes, by eights, are ASCII that stands for itself between JSON's quotes. */
static inline size_t nacre_words_json(const char *bytes, size_t count)
{
    size_t done = 0;

    for (; count - done >= 8; done += 8) {
        uint64_t word = nacre_word_at(bytes + done);

        if ((word & NACRE_WORD_HIGH) || nacre_word_below(word, 0x20) ||
            nacre_word_has(word, '"') || nacre_word_has(word, '\\'))
            break;
    }
    return done;
}

/* The same for ASCII that can be shown. */
static inline size_t nacre_words_shown(const char *bytes, size_t count)
{
    size_t done = 0;

    for (; count - done >= 8; done += 8) {
        uint64_t word = nacre_word_at(bytes + done);

        if ((word & NACRE_WORD_HIGH) || nacre_word_below(word, 0x20) ||
            nacre_word_has(word, 0x7f))
            break;
    }
    return done;
}

#endif
