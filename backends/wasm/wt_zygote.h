#ifndef WT_ZYGOTE_H
#define WT_ZYGOTE_H

#include <pthread.h>
#include <sys/types.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "wt_share.h"

/*
 * The process that workers are forked from.  It holds an engine that never compiled
 * anything and the linker, has one thread and its own session, and
 * ends when its supervisor's socket closes; its children end with it.
 */
struct wt_zygote;

/*
 * `program`: spawn "PROGRAM __zygote"; NULL: this process has one thread and forks
 * itself.  Returns at once; the first request waits until it is ready.
 */
NACRE_MUST_CHECK enum nacre_status wt_zygote_start(const char *program,
                                                   struct wt_zygote **ret_zygote,
                                                   struct nacre_error *err);
void wt_zygote_free(
    struct wt_zygote *zygote); /* ends it and its children; accepts NULL */
NACRE_OWNED(wt_zygote)

/* A child of the zygote.  `pidfd` becomes readable when it has ended. */
struct wt_child {
    pid_t pid;
    int pidfd;
    bool is_ours; /* it was the zygote: a child of this process */
};

/*
 * The fds stay the caller's.  From several threads.  A zygote that was killed, or that
 * does not answer, is replaced once; its children have ended with it.  After
 * WT_REQUEST_BECOME, which is only for a zygote that was forked, there is no zygote any
 * more: a program that runs one guest and ends saves a process that way.  It does not
 * wait for it either: one that has died is a worker that has died.
 */
NACRE_MUST_CHECK enum nacre_status wt_zygote_fork(struct wt_zygote *zygote,
                                                  enum wt_request request, const int *fds,
                                                  uint32_t fd_count,
                                                  struct wt_child *ret_child,
                                                  struct nacre_error *err);

/* Kill it if it lives, wait until it is gone (bounded), close the pidfd; the status
 * is waitpid()'s, or -1 when it can't be had. */
int wt_zygote_reap(struct wt_zygote *zygote, struct wt_child *child);

/* What the zygote's children do; neither returns. */
struct wt_parts {
    wasm_engine_t *engine;
    wasmtime_linker_t *linker;
};
_Noreturn void wt_worker_main(const struct wt_parts *parts, const int *fds,
                              uint32_t fd_count);
_Noreturn void wt_compile_main(const int *fds, uint32_t fd_count);

#endif
