/*
 * Memory for one call: blocks are cut from chunks and never given back one by one.  What
 * is large has a block of its own, so that it can grow without a copy left behind.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre_json.h"

#if defined(__SANITIZE_ADDRESS__)
#define EACH_ON_ITS_OWN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EACH_ON_ITS_OWN 1
#endif
#endif

/* With the sanitizer every block is the allocator's, so that it sees where each ends. */
#ifdef EACH_ON_ITS_OWN
#define LARGE_BYTES ((size_t)0)
#else
#define LARGE_BYTES ((size_t)16384)
#endif
#define CHUNK_BYTES ((size_t)65536)
#define ALIGNMENT ((size_t)16)

struct block {
    _Alignas(16) struct block *next;
    struct block *before;
};

static struct {
    struct block all; /* a ring */
    char *next;
    size_t left;
} arena;

static void out_of_memory(void)
{
    static const char sentence[] = "out of memory: ask for less at once\n";

    if (write(2, sentence, sizeof sentence - 1) < 0)
        _Exit(1);
    _Exit(1);
}

static void hook(struct block *block)
{
    if (!arena.all.next)
        arena.all.next = arena.all.before = &arena.all;
    block->before = &arena.all;
    block->next = arena.all.next;
    block->next->before = block;
    arena.all.next = block;
}

static char *block_new(size_t bytes)
{
    struct block *block = NULL;

    if (bytes <= SIZE_MAX - sizeof *block)
        block = malloc(sizeof *block + bytes);
    if (!block)
        out_of_memory();
    hook(block);
    return (char *)(block + 1);
}

static char *block_grow(char *bytes, size_t count)
{
    struct block *block = (struct block *)(void *)bytes - 1;
    struct block *grown = NULL;

    block->before->next = block->next;
    block->next->before = block->before;
    if (count <= SIZE_MAX - sizeof *block)
        grown = realloc(block, sizeof *block + count);
    if (!grown)
        out_of_memory();
    hook(grown);
    return (char *)(grown + 1);
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

void *nacre_arena(size_t bytes)
{
    char *block;

    if (bytes > LARGE_BYTES || LARGE_BYTES == 0)
        return block_new(bytes);
    bytes = rounded(bytes ? bytes : 1);
    if (bytes > arena.left) {
        arena.next = block_new(CHUNK_BYTES);
        arena.left = CHUNK_BYTES;
    }
    block = arena.next;
    arena.next += bytes;
    arena.left -= bytes;
    return block;
}

void *nacre_arena_grow(void *block, size_t old_bytes, size_t new_bytes)
{
    size_t old_room = rounded(old_bytes ? old_bytes : 1), more;
    char *bytes = block;

    if (!block)
        return nacre_arena(new_bytes);
    if (new_bytes <= old_bytes)
        return block;
    if (old_bytes > LARGE_BYTES || LARGE_BYTES == 0)
        return block_grow(bytes, new_bytes);
    if (new_bytes <= LARGE_BYTES) {
        more = rounded(new_bytes) - old_room;
        if (more == 0)
            return block;
        if (bytes + old_room == arena.next && more <= arena.left) {
            arena.next += more;
            arena.left -= more;
            return block;
        }
    }
    return memcpy(nacre_arena(new_bytes), block, old_bytes);
}

void nacre_arena_reset(void)
{
    struct block *block = arena.all.next;

    while (block && block != &arena.all) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
    memset(&arena, 0, sizeof arena);
}
