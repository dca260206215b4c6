#ifndef WT_CACHE_H
#define WT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/cache.h"
#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"

/*
 * Compiled code on disk, private to the user.  Whoever can change an entry can run
 * native code as us, so an entry counts only when it carries a MAC made with
 * cache.key, which lies elsewhere; and what is handed out is a sealed copy, judged
 * after it was sealed, so that a later change of the file changes nothing.
 *
 * Several processes and threads may use one directory, and one struct, at once.
 */
struct wt_cache;

#define WT_CACHE_BYTES_MAX ((uint64_t)2 << 30)
#define WT_CACHE_ENTRY_BYTES_MAX ((uint64_t)1 << 30)

/* Both directories are made when missing and must be private (nacre/key.h). */
NACRE_MUST_CHECK enum nacre_status wt_cache_open(const char *cache_dir,
                                                 const char *key_dir,
                                                 struct wt_cache **ret_cache,
                                                 struct nacre_error *err);
void wt_cache_free(struct wt_cache *cache); /* accepts NULL */
NACRE_OWNED(wt_cache)

/* The ceiling of the whole directory, instead of WT_CACHE_BYTES_MAX. */
void wt_cache_set_bytes_max(struct wt_cache *cache, uint64_t bytes_max);

/* Names code by all that it depends on: the module, the engine's version, its
 * configuration in words, and what this CPU can do. */
struct nacre_digest wt_cache_key(const struct nacre_digest *module,
                                 const char *config_text);

/*
 * *ret_fd is a sealed memfd that holds the code and nothing else; the caller closes
 * it.  NACRE_ERR_NOT_FOUND when there is no entry, or one that did not prove to be
 * ours: that one has been removed, *refused is true and `err` says what was wrong
 * with it.  *refused is written in every case.
 */
NACRE_MUST_CHECK enum nacre_status wt_cache_get(struct wt_cache *cache,
                                                const struct nacre_digest *key,
                                                int *ret_fd, size_t *ret_size,
                                                bool *refused, struct nacre_error *err);

/* What code was compiled from, for those who look at the cache. */
struct wt_cache_origin {
    struct nacre_digest module;
    const char *name;
};

/*
 * Enter code, in place of what was there.  Entries that were not used for longest
 * go first when the ceiling would be passed; NACRE_ERR_TOO_BIG for code that could
 * never fit.  A failure leaves no partial entry; the run can go on without one.
 */
NACRE_MUST_CHECK enum nacre_status wt_cache_put(struct wt_cache *cache,
                                                const struct nacre_digest *key,
                                                const struct wt_cache_origin *origin,
                                                const void *bytes, size_t count,
                                                struct nacre_error *err);

/* What is there now. */
NACRE_MUST_CHECK enum nacre_status wt_cache_report(struct wt_cache *cache,
                                                   struct nacre_cache_report *ret_report,
                                                   struct nacre_error *err);

/* Hand over each entry, the one that was used last first. */
NACRE_MUST_CHECK enum nacre_status
wt_cache_list(struct wt_cache *cache,
              void (*each)(void *data, const struct nacre_cache_entry *entry), void *data,
              struct nacre_error *err);

/* Remove every entry; *ret_report tells what went.  Other files are left alone. */
NACRE_MUST_CHECK enum nacre_status wt_cache_clear(struct wt_cache *cache,
                                                  struct nacre_cache_report *ret_report,
                                                  struct nacre_error *err);

#endif
