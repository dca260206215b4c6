#ifndef NACRE_KEEPER_H
#define NACRE_KEEPER_H

#include <stdatomic.h>

#include "nacre/boxes.h"
#include "nacre/executor.h"

/*
 * The keeper: the process that owns what stays warm, one for each user and state
 * directory.  It serves the interface of the executors of containers and machines over a socket that only its
 * user can reach; whoever plans, decides and records stays with the client.
 */

/* ---- the keeper's own side: `nacre keeper` ---- */

struct nacre_keeper_options {
    const char *state_dir;
    const char *program;        /* nacre's, for jobs; NULL: this process's own */
    uint64_t idle_ms;           /* leave when there was no client and nothing warm for so
                                   long */
    uint64_t prune_ms;          /* every so often, end what is unused or too old */
    uint64_t reap_ms;           /* every so often, and at first, purge expired tokens */
    int ready_fd;               /* receives one byte when clients can connect; -1: none */
    const _Atomic int *leaving; /* a signal's number: end everything and leave */

    /* As in nacre/executor.h: a client whose host.yaml names another engine is refused. */
    const char *engine_host, *engine_certificates;

    struct nacre_executor *executor; /* runs the commands; borrowed */
    struct nacre_executor *machines; /* those of level vm, in the same boxes; borrowed;
                                        NULL: there are none */
    /* As nacre/boxes.h has them, for this executor. */
    void (*list)(struct nacre_executor *executor,
                 bool (*each)(void *data, const struct nacre_box_info *info), void *data);
    uint32_t (*end)(struct nacre_executor *executor, bool force,
                    bool (*wanted)(void *data, const struct nacre_box_info *info),
                    void *data);
};

#define NACRE_KEEPER_IDLE_MS 60000
#define NACRE_KEEPER_PRUNE_MS 300000
#define NACRE_KEEPER_REAP_MS 300000

/* What prune takes where nobody says otherwise: strictly more than so long unused, or
 * old. */
#define NACRE_PRUNE_IDLE_MS (UINT64_C(24) * 3600 * 1000)
#define NACRE_PRUNE_AGE_MS (UINT64_C(7) * 24 * 3600 * 1000)

/* Serves until it is idle, told to leave, or can't go on; then every command has ended
 * and nothing is warm any more.  NACRE_ERR_USAGE: there is one already. */
NACRE_MUST_CHECK enum nacre_status
nacre_keeper_serve(const struct nacre_keeper_options *options, struct nacre_error *err);

/* ---- the client's side ---- */

/* The container executor, by way of the keeper, which it starts (from the program of its
 * options) when there is none. */
extern const struct nacre_executor_ops nacre_keeper_executor;
extern const struct nacre_executor_ops nacre_keeper_vm_executor; /* level vm likewise */

/* What is warm.  NACRE_ERR_NOT_FOUND: there is no keeper, so nothing is. */
NACRE_MUST_CHECK enum nacre_status
nacre_keeper_list(const char *state_dir,
                  bool (*each)(void *data, const struct nacre_box_info *info), void *data,
                  struct nacre_error *err);

/* Which to end.  Zeroed: all that are idle. */
struct nacre_keeper_choice {
    const char *which; /* a scope key, a name or an id, as `nacre ps` shows them, or a
                          session's key; NULL: any */
    const char *scope_key; /* and of this one alone; NULL: of any */
    uint64_t idle_ms, age_ms; /* either of them: strictly more than so long unused, or
                                 old; both 0: whatever its age */
    bool force; /* those in which a command runs too */
    bool unrecorded; /* none that nacre/sessions.h has a record of: those have limits of
                        their own */
};

/* Is this what `which` of a choice names? */
bool nacre_box_is_called(const struct nacre_box_info *info, const char *which);

/* Whose boxes, as nacre/boxes.h has them. */
struct nacre_boxes_of {
    const char *state_dir; /* of the records of sessions */
    struct nacre_executor *executor;
    void (*list)(struct nacre_executor *executor,
                 bool (*each)(void *data, const struct nacre_box_info *info), void *data);
    uint32_t (*end)(struct nacre_executor *executor, bool force,
                    bool (*wanted)(void *data, const struct nacre_box_info *info),
                    void *data);
};

/* Ends those of this process that are chosen, at `now_ms` since 1970, and says how many;
 * *ret_left counts what was chosen and is in use.  It may be NULL. */
uint32_t nacre_boxes_end_chosen(const struct nacre_boxes_of *boxes,
                                const struct nacre_keeper_choice *choice, uint64_t now_ms,
                                uint32_t *ret_left);

/* The same for the keeper's.
 * How many it ended, and how many of the chosen it left as a command runs in them. */
NACRE_MUST_CHECK enum nacre_status
nacre_keeper_end(const char *state_dir, const struct nacre_keeper_choice *choice,
                 uint32_t *ret_ended, uint32_t *ret_left, struct nacre_error *err);

/* Which process it is.  NACRE_ERR_NOT_FOUND: there is none. */
NACRE_MUST_CHECK enum nacre_status nacre_keeper_pid(const char *state_dir,
                                                    int32_t *ret_pid,
                                                    struct nacre_error *err);

/* Tells it to end everything it keeps and to leave, and waits until it has.
 * NACRE_ERR_NOT_FOUND: there is none. */
NACRE_MUST_CHECK enum nacre_status nacre_keeper_quit(const char *state_dir,
                                                     struct nacre_error *err);

#endif
