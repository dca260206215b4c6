#include "leak_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "leak_memory.h"

#define ENTRIES_FIRST ((size_t)512)
#define TABLE_LOG_MIN 15 /* 32 KiB: the nearest cache */
#define TABLE_LOG_MAX 20
#define TABLE_ROOM 64 /* places of the table for each key */
#define BEGINNINGS_LOG 16
#define BEGINNINGS_SIZE ((size_t)1 << (BEGINNINGS_LOG - 3))

static uint32_t load(const unsigned char *text)
{
    uint32_t word;

    memcpy(&word, text, sizeof(word));
    return word;
}

static uint32_t hash(uint32_t word)
{
    return word * 0x9e3779b1U;
}

/* The three bits below those that choose the place. */
static uint8_t mark(uint32_t hashed, unsigned shift)
{
    return (uint8_t)(1U << (hashed >> (shift - 3) & 7));
}

static bool is_marked(const struct leak_index *index, uint32_t word)
{
    uint32_t hashed = hash(word);

    return index->table[hashed >> index->shift] & mark(hashed, index->shift);
}

/* Not realloc(), which leaves copies behind. */
static enum nacre_status grow(struct leak_index *index, struct nacre_error *err)
{
    size_t size = index->entries_size ? index->entries_size * 2
                                      : ENTRIES_FIRST * sizeof(*index->entries);
    struct leak_entry *grown = leak_memory_new(size, index->is_secret);

    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for what is looked for");
    if (index->entry_count > 0)
        memcpy(grown, index->entries, index->entry_count * sizeof(*grown));
    leak_memory_free(index->entries, index->entries_size, index->is_secret);
    index->entries = grown;
    index->entries_size = size;
    return NACRE_OK;
}

enum nacre_status leak_index_add(struct leak_index *index,
                                 const unsigned char key[LEAK_KEY_BYTES], uint32_t owner,
                                 struct nacre_error *err)
{
    if (index->entry_count == index->entries_size / sizeof(*index->entries) &&
        grow(index, err) != NACRE_OK)
        return err->status;
    index->entries[index->entry_count++] =
        (struct leak_entry){ .key = load(key), .owner = owner };
    return NACRE_OK;
}

static int compare(const void *one, const void *other)
{
    const struct leak_entry *a = one, *b = other;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static uint32_t beginning_bit(const unsigned char *text, size_t count)
{
    unsigned char word[LEAK_KEY_BYTES] = { 0 };

    assert(count > 0 && count < LEAK_KEY_BYTES);
    memcpy(word, text, count);
    word[LEAK_KEY_BYTES - 1] = (unsigned char)count;
    return hash(load(word)) >> (32 - BEGINNINGS_LOG);
}

static void mark_key(struct leak_index *index, uint32_t key)
{
    uint32_t hashed = hash(key);
    unsigned char bytes[LEAK_KEY_BYTES];

    index->table[hashed >> index->shift] |= mark(hashed, index->shift);
    memcpy(bytes, &key, sizeof(bytes));
    for (size_t count = 1; count < LEAK_KEY_BYTES; count++) {
        uint32_t bit = beginning_bit(bytes, count);

        index->beginnings[bit / 8] |= (uint8_t)(1U << bit % 8);
    }
}

/* In place: qsort() would take a copy to the heap. */
static void sift(struct leak_entry *entries, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        struct leak_entry swapped = entries[at];

        if (child + 1 < count && compare(&entries[child], &entries[child + 1]) < 0)
            child++;
        if (compare(&entries[at], &entries[child]) >= 0)
            return;
        entries[at] = entries[child];
        entries[child] = swapped;
    }
}

static void sort(struct leak_entry *entries, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(entries, i, count);
    for (size_t end = count; end-- > 1;) {
        struct leak_entry last = entries[end];

        entries[end] = entries[0];
        entries[0] = last;
        sift(entries, 0, end);
    }
}

static void drop_twins(struct leak_index *index)
{
    size_t kept = 0;

    for (size_t i = 0; i < index->entry_count; i++)
        if (kept == 0 || compare(&index->entries[kept - 1], &index->entries[i]) != 0)
            index->entries[kept++] = index->entries[i];
    index->entry_count = kept;
}

enum nacre_status leak_index_seal(struct leak_index *index, struct nacre_error *err)
{
    unsigned log = TABLE_LOG_MIN;

    sort(index->entries, index->entry_count);
    drop_twins(index);
    while (log < TABLE_LOG_MAX && (size_t)1 << log < index->entry_count * TABLE_ROOM)
        log++;
    index->shift = 32 - log;
    index->table_size = (size_t)1 << log;
    index->table = leak_memory_new(index->table_size, index->is_secret);
    index->beginnings = leak_memory_new(BEGINNINGS_SIZE, index->is_secret);
    if (!index->table || !index->beginnings)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for what is looked for");
    for (size_t i = 0; i < index->entry_count; i++)
        mark_key(index, index->entries[i].key);
    return NACRE_OK;
}

void leak_index_clear(struct leak_index *index)
{
    leak_memory_free(index->entries, index->entries_size, index->is_secret);
    leak_memory_free(index->table, index->table_size, index->is_secret);
    leak_memory_free(index->beginnings, BEGINNINGS_SIZE, index->is_secret);
    *index = (struct leak_index){ 0 };
}

size_t leak_index_next(const struct leak_index *index, const unsigned char *text,
                       size_t at, size_t count)
{
    const uint8_t *table = index->table;
    unsigned shift = index->shift;
    size_t end = count - (LEAK_KEY_BYTES - 1);

    for (;;) {
        size_t four;

        /* Four places at once: a branch for each would cost more than the looks. */
        while (at + 4 <= end && !(table[hash(load(text + at)) >> shift] |
                                  table[hash(load(text + at + 1)) >> shift] |
                                  table[hash(load(text + at + 2)) >> shift] |
                                  table[hash(load(text + at + 3)) >> shift]))
            at += 4;
        for (four = at + 4 < end ? at + 4 : end; at < four; at++)
            if (is_marked(index, load(text + at)))
                return at;
        if (at == end)
            return end;
    }
}

size_t leak_index_find(const struct leak_index *index, const unsigned char *text,
                       const struct leak_entry **ret_first)
{
    uint32_t key = load(text);
    size_t low = 0, high = index->entry_count, first;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (index->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    first = low;
    while (low < index->entry_count && index->entries[low].key == key)
        low++;
    *ret_first = index->entries + first;
    return low - first;
}

bool leak_index_begins(const struct leak_index *index, const unsigned char *text,
                       size_t count)
{
    uint32_t bit = beginning_bit(text, count);

    return index->beginnings[bit / 8] >> bit % 8 & 1;
}
