#ifndef NACRE_TEST_WARM_KEEPER_H
#define NACRE_TEST_WARM_KEEPER_H

#include <pthread.h>

#include "nacre/keeper.h"
#include "nacre/own.h"

/*
 * A keeper in a thread of the test, whose executor runs nothing: the first word of a
 * command says what is played.
 *
 *   say WORD...   writes each word to stdout, "err" to stderr, and exits with 7
 *   cat           copies its input, "T" first if that is a terminal, "-" if there is none
 *   wait          until it is cancelled
 *   flood         writes until it is cancelled
 *   fail          NACRE_ERR_NOT_RUNNABLE
 *   plan          writes what the executor got: its denied host paths, the plan's digest,
 *                 the run's id, the variables, the further arguments
 */
struct warm_keeper {
    struct nacre_keeper_options options; /* may be changed before start */
    _Atomic int leaving;
    pthread_t thread;
    bool runs;
    enum nacre_status status; /* after join */
    struct nacre_error err;
};

/* What an observer outside sees. */
extern _Atomic int warm_begun, warm_ended;

/* The sandboxes that its executor says are warm; end() takes them off. */
#define WARM_BOXES_MAX 8
extern struct nacre_box_info warm_boxes[WARM_BOXES_MAX];
extern _Atomic uint32_t warm_box_count;
void warm_box_add(const char *scope_key, const char *name, const char *id,
                  uint64_t age_ms, uint64_t idle_ms, uint32_t commands);

void warm_keeper_init(struct warm_keeper *keeper, const char *state_dir);
/* Returns when clients can come, or it has failed. */
void warm_keeper_start(struct warm_keeper *keeper);
enum nacre_status warm_keeper_join(struct warm_keeper *keeper);
/* Tells it to leave, and joins. */
enum nacre_status warm_keeper_stop(struct warm_keeper *keeper);

/* Has it become so within five seconds? */
bool warm_soon(bool (*so)(void));

#endif
