#ifndef DOOR_LOOP_H
#define DOOR_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"

/* One thread, one epoll: everything in the door is a watch on an fd or a timer. */
struct door_loop;

/* Embedded in what it belongs to; `fd` is borrowed. */
struct door_watch {
    int fd;
    uint32_t events; /* EPOLLIN, ...; 0: not watched */
    void (*ready)(struct door_watch *watch, uint32_t events);
};

struct door_timer {
    struct door_timer *next; /* the loop's */
    uint64_t at_ns;          /* in nacre_clock_ns(); 0: not set */
    void (*due)(struct door_timer *timer);
};

NACRE_MUST_CHECK enum nacre_status door_loop_new(struct door_loop **ret_loop,
                                                 struct nacre_error *err);
void door_loop_free(struct door_loop *loop); /* accepts NULL */

/* Changes what is watched; `events` 0 takes it out.  A watch that was taken out is never
 * called again, not even for what was already reported in this turn, so that its owner
 * may be freed inside any callback.  False with errno. */
bool door_watch_set(struct door_loop *loop, struct door_watch *watch, uint32_t events);

/* `at_ns` 0 takes it out. */
void door_timer_set(struct door_loop *loop, struct door_timer *timer, uint64_t at_ns);

/* One turn: waits for something, calls what is ready. */
void door_loop_turn(struct door_loop *loop);

#endif
