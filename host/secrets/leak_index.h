#ifndef NACRE_LEAK_INDEX_H
#define NACRE_LEAK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * By which four bytes a finding can begin.  A text is passed over at one or two cycles
 * for a byte: a look into a table for each place, and only where that is not empty a
 * closer one, and a search in the sorted keys.
 */
#define LEAK_KEY_BYTES 4

/* Who begins so: of a value's forms, or a pattern. */
struct leak_entry {
    uint32_t key;
    uint32_t owner;
};
#define LEAK_OWNER_PATTERN 0x80000000U

/* Zeroed is an empty index.  The values can be told from it: `is_secret` is set, before
 * anything is added, where there are some. */
struct leak_index {
    bool is_secret;
    struct leak_entry *entries; /* sorted by key, then owner; none twice */
    size_t entry_count, entries_size;
    uint8_t *table; /* by a hash of the key: bits by further three bits of the hash */
    size_t table_size;
    unsigned shift;
    uint8_t *beginnings; /* bits by a hash of one to three bytes that a key begins with */
};

NACRE_MUST_CHECK enum nacre_status leak_index_add(struct leak_index *index,
                                                  const unsigned char key[LEAK_KEY_BYTES],
                                                  uint32_t owner,
                                                  struct nacre_error *err);
/* After the last one was added, and before it is asked. */
NACRE_MUST_CHECK enum nacre_status leak_index_seal(struct leak_index *index,
                                                   struct nacre_error *err);
void leak_index_clear(struct leak_index *index);

/* The first place from `at` on where a key may stand, or `count` - 3 when there is none.
 * `count` is at least 4. */
size_t leak_index_next(const struct leak_index *index, const unsigned char *text,
                       size_t at, size_t count);

/* The entries of the key at `text`: the first, and how many. */
size_t leak_index_find(const struct leak_index *index, const unsigned char *text,
                       const struct leak_entry **ret_first);

/* May a key begin with these one to three bytes?  A yes may be wrong, a no never is. */
bool leak_index_begins(const struct leak_index *index, const unsigned char *text,
                       size_t count);

#endif
