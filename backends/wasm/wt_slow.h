#ifndef WT_SLOW_H
#define WT_SLOW_H

#include <stdint.h>

#include "nacre/hash.h"

/*
 * A note beside the cache: so many milliseconds were not enough to compile this.
 * Only advice, so it needs no proof: the worst that a forged one does is to ask for
 * `nacre cache add`.
 */
void wt_slow_set(const char *cache_dir, const struct nacre_digest *key, uint64_t ms);
uint64_t wt_slow_get(const char *cache_dir, const struct nacre_digest *key); /* 0: none */
void wt_slow_clear(const char *cache_dir, const struct nacre_digest *key);

#endif
