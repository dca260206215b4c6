#ifndef NACRE_ENGINE_H
#define NACRE_ENGINE_H

#include <pthread.h>

#include "nacre/nacre.h"
#include "places.h"
#include "plans.h"

/* Where executors are: each level's own, and those that ask the keeper. */
enum { NACRE_SLOT_KEEPER = NACRE_LEVEL_COUNT, NACRE_SLOT_KEEPER_VM, NACRE_SLOT_COUNT };

/* Of layers above: see nacre_engine_attached(). */
#define NACRE_ATTACHED_MAX 4
struct nacre_attached {
    void *(*make)(void);
    void (*release)(void *thing);
    void *thing;
};

struct nacre_engine {
    struct nacre_places places;
    struct nacre_executor_options executor_options; /* borrowed by every executor */
    pthread_mutex_t opening;
    /* Opened at first use; one that is there stays. */
    struct nacre_executor *_Atomic executors[NACRE_SLOT_COUNT];
    bool host_read;                      /* host.yaml, when a container may be needed: */
    enum nacre_status host_status;       /* whether it could be, */
    struct nacre_error host_error;       /* why not, */
    struct nacre_host_rules *host_rules; /* or what it says; else NULL */
    char *engine_origin;                 /* "FILE:LINE:COLUMN" in it; or NULL */
    bool own_boxes, forks_self;
    _Atomic int cancelled; /* the signal, for executors that are opened after it */
    struct nacre_audit *audit; /* NULL when it was switched off for measuring, or */
    bool audit_waits;          /* until nacre_engine_audit() */
    struct nacre_plans *plans;
    struct session_privates *privates;
    struct nacre_doors *doors;
    uint8_t run_prefix[8]; /* random; with the number of the run it is the run's id */
    _Atomic uint64_t runs;
    struct nacre_attached attached[NACRE_ATTACHED_MAX]; /* under `opening` */
    void (*on_notice)(void *data, const char *sentence); /* may be NULL */
    void *notice_data;
};

/* The executor of `level` in this process, opened if need be. */
NACRE_MUST_CHECK enum nacre_status
nacre_engine_ready(struct nacre_engine *engine, enum nacre_level level,
                   struct nacre_executor **ret_executor, struct nacre_error *err);

/* The log is open after this, if there is to be one.  An engine for one command opens it
 * only when that command's sandbox is on its way: the two take equally long. */
NACRE_MUST_CHECK enum nacre_status nacre_engine_audit(struct nacre_engine *engine,
                                                      struct nacre_error *err);

/* The one for this plan: what is to stay warm belongs to the keeper. */
NACRE_MUST_CHECK enum nacre_status
nacre_engine_choose(struct nacre_engine *engine, const struct nacre_plan *plan,
                    struct nacre_executor **ret_executor, struct nacre_error *err);

#endif
