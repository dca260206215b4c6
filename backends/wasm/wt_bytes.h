#ifndef WT_BYTES_H
#define WT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A place in hostile bytes.  The first fault stays: every later read gives 0 and
 * moves nothing, so a reader may look at `fault` once for a group of reads, and a
 * loop must look at it each time round.
 */
struct wt_bytes {
    const unsigned char *start; /* of the module; `at` and `end` count from here */
    size_t at, end;
    const char *fault; /* what is wrong at `at`, in words; NULL so far */
};

void wt_bytes_fail(struct wt_bytes *in, const char *fault);
size_t wt_bytes_left(const struct wt_bytes *in); /* 0 after a fault */
void wt_bytes_skip(struct wt_bytes *in, size_t count);

uint8_t wt_bytes_u8(struct wt_bytes *in);
uint8_t wt_bytes_peek(const struct wt_bytes *in); /* 0 at the end */
uint32_t wt_bytes_u32(struct wt_bytes *in); /* LEB128 */
uint64_t wt_bytes_u64(struct wt_bytes *in); /* LEB128 */
int64_t wt_bytes_s64(struct wt_bytes *in);  /* LEB128; also for the narrower s32, s33 */

/* How many things of at least `least_bytes` each follow: never more than there is
 * room for, nor than `max`. */
uint32_t wt_bytes_count(struct wt_bytes *in, size_t least_bytes, uint32_t max);

struct wt_name {
    size_t at, count;
};

/* Well-formed UTF-8, which may still hold NUL and control characters. */
struct wt_name wt_bytes_name(struct wt_bytes *in);
bool wt_name_is(const struct wt_bytes *in, struct wt_name name, const char *text);

#endif
