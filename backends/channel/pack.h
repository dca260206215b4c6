#ifndef NACRE_CHANNEL_PACK_H
#define NACRE_CHANNEL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers and texts in a row of bytes.  Failure sticks: after the first thing that does
 * not fit (or is not there) everything fails, so that a message is read or written
 * without a check at each step and judged once at its end.
 */
struct pack {
    uint8_t *bytes;
    size_t size, used;
    bool failed;
};
void pack_u64(struct pack *pack, uint64_t value);
void pack_bytes(struct pack *pack, const void *bytes, size_t count); /* u64 count first */
void pack_text(struct pack *pack, const char *text); /* with its terminator */
/* u64 count, then each; NULL is an empty list. */
void pack_texts(struct pack *pack, const char *const *texts);

struct unpack {
    const uint8_t *bytes;
    size_t size, used;
    bool failed;
};
uint64_t unpack_u64(struct unpack *unpack);
bool unpack_bool(struct unpack *unpack); /* 0 or 1 */
/* Point into the message; NULL after a failure.  A text has exactly one zero byte, its
 * last. */
const void *unpack_bytes(struct unpack *unpack, size_t *ret_count);
const char *unpack_text(struct unpack *unpack);
/* Fills `ret_texts` (room for `max` and the NULL at the end); 0 after a failure, which a
 * longer list is. */
size_t unpack_texts(struct unpack *unpack, const char **ret_texts, size_t max);
/* All was read, and nothing is left. */
bool unpack_whole(const struct unpack *unpack);

#endif
