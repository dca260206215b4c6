#ifndef NACRE_LITERALS_H
#define NACRE_LITERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A few texts looked for at once.  One text: by its two rarest bytes.  Several: by three
 * bytes of each, whose halves are looked up in tables that have a bit for each text.
 */
#define LITERALS_MAX 8
#define LITERAL_BYTES_MAX 32

struct literal {
    uint8_t bytes[LITERAL_BYTES_MAX];
    uint8_t count;
};

struct literals {
    struct literal items[LITERALS_MAX];
    unsigned count;
    bool caseless; /* of ASCII's letters; the items are in lower case then */

    /* made by literals_prepare() */
    uint8_t offset[LITERALS_MAX]; /* of the bytes that are looked for */
    uint8_t second;               /* of a single text: offset of the other byte */
    unsigned width;               /* of several: how many bytes are looked for */
    uint8_t low[3][16], high[3][16];
};

/* None of the items is empty. */
void literals_prepare(struct literals *literals);

/* *ret_at: a place inside the first line that holds one of them. */
bool literals_find(const struct literals *literals, const uint8_t *bytes, size_t count,
                   size_t from, size_t *ret_at);

#endif
