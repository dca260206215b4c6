#ifndef WT_POOL_H
#define WT_POOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "cgroup.h"
#include "nacre/executor.h"
#include "nacre/own.h"
#include "scratch_root.h"
#include "wt_door.h"
#include "wt_share.h"
#include "wt_zygote.h"

/*
 * The supervisor's hold on its workers.  A worker serves one plan and one module and
 * nothing else ever; idle ones wait here, the least recently used goes first.
 */
struct wt_key {
    struct nacre_digest plan, tool;
};

struct wt_worker {
    struct wt_worker *next;
    struct wt_key key;
    struct wt_share *share;
    size_t share_size;
    uint64_t output_bytes_max;
    uint64_t places; /* nacre_mounts_places() */
    struct wt_child child;
    int control;
    char scratch[NACRE_SCRATCH_NAME]; /* "" when it has none */
    struct nacre_cpu_group group;
    struct wt_door door;
    size_t wipe;         /* of the text area, and to unlock, once the call is over */
    bool has_call;       /* it was given one along and begins it by itself */
    int pinned_cpu;      /* -1: may run anywhere */
    uint32_t calls_held; /* for which the caller is kept on that core too (wt_core.h) */
};

struct wt_pool;

NACRE_MUST_CHECK enum nacre_status wt_pool_open(
    struct wt_zygote *zygote, const struct nacre_executor_options *options,
    struct nacre_cpu_share *const *cpu_share, struct wt_pool **ret_pool,
    struct nacre_error *err);
void wt_pool_free(struct wt_pool *pool); /* kills what is idle; accepts NULL */

/* An idle worker for `key`, or NULL. */
struct wt_worker *wt_pool_get(struct wt_pool *pool, const struct wt_key *key);

/* What a new worker is made for; everything is borrowed. */
struct wt_purpose {
    const struct nacre_plan *plan;
    const struct nacre_tool *tool;
    int code_fd;
    const struct nacre_request *request; /* its first call, */
    bool is_first;       /* which may be given along */
    const char *run_id;
    uint64_t deadline_ns;
};

/*
 * A new worker, its walls raised and its module loaded.  NACRE_ERR_TIMEOUT when that
 * took longer than the deadline.
 *
 * With a call that may be given along this returns at once where that is worth it, and
 * the worker's `has_call` is true: it begins the call when its walls stand.  Its word for
 * what went wrong before could be its guest's, so it is to be made again without then.
 *
 * The run has begun at its door, if it has one.
 */
NACRE_MUST_CHECK enum nacre_status wt_pool_make(struct wt_pool *pool,
                                                const struct wt_key *key,
                                                const struct wt_purpose *purpose,
                                                struct wt_worker **ret_worker,
                                                struct nacre_error *err);

/* Do its walls stand, by its own word?  Before any guest that is the truth. */
bool wt_worker_stands(const struct wt_worker *worker);

/* After a run, of whose secrets nothing stays in shared memory: kept for the next, or
 * ended for good with all that it left.  The return value of drop is waitpid()'s status,
 * or -1. */
void wt_pool_keep(struct wt_pool *pool, struct wt_worker *worker);
int wt_pool_drop(struct wt_pool *pool, struct wt_worker *worker);

/* Is the process still there?  A word that is idle says nothing about that. */
bool wt_worker_lives(const struct wt_worker *worker);

#endif
