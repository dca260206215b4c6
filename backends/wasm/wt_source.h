#ifndef WT_SOURCE_H
#define WT_SOURCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/executor.h"
#include "nacre/own.h"
#include "nacre/tool.h"
#include "wt_cache.h"
#include "wt_zygote.h"

/*
 * Where compiled code comes from: code that this process already holds, the cache
 * on disk, or a child that compiles it now.  From several threads.
 */
struct wt_source;

/* `cache_dir` may be NULL: then nothing is kept beyond this process.  A compilation ends
 * when *cancelled is no longer 0, as if by the deadline; borrowed for life. */
NACRE_MUST_CHECK enum nacre_status wt_source_open(
    const struct nacre_executor_options *options, const _Atomic int *cancelled,
    struct wt_source **ret_source, struct nacre_error *err);
void wt_source_free(struct wt_source *source); /* accepts NULL */
NACRE_OWNED(wt_source)

/*
 * A sealed, authenticated memfd with the code of `tool`; the caller closes it.
 * NACRE_ERR_TIMEOUT when compiling went past the deadline; the time that was not
 * enough is remembered, and until more is given, or wt_source_add() has done it,
 * the answer is NACRE_ERR_NOT_RUNNABLE at once.
 */
NACRE_MUST_CHECK enum nacre_status wt_source_get(struct wt_source *source,
                                                 struct wt_zygote *zygote,
                                                 const struct nacre_tool *tool,
                                                 uint64_t deadline_ns, int *ret_fd,
                                                 uint64_t *ret_compile_ns,
                                                 struct nacre_error *err);

/* Compile whatever is remembered about it, and keep the code in the cache. */
NACRE_MUST_CHECK enum nacre_status wt_source_add(struct wt_source *source,
                                                 struct wt_zygote *zygote,
                                                 const struct nacre_tool *tool,
                                                 uint64_t timeout_ms,
                                                 struct nacre_error *err);

/* Opened at first use, so that who only looks around needs no directory to write to;
 * *ret_cache is NULL when there is none. */
NACRE_MUST_CHECK enum nacre_status wt_source_cache(struct wt_source *source,
                                                   struct wt_cache **ret_cache,
                                                   struct nacre_error *err);

#endif
