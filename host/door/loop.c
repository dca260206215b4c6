#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"

#define EVENTS_MAX 64
#define WAIT_MS_MAX 60000

struct door_loop {
    int epoll;
    struct door_timer *timers; /* soonest first */
    struct door_timer *due;    /* of this turn, not called yet */
    struct epoll_event ready[EVENTS_MAX];
    int ready_count, ready_next; /* of this turn; from ready_next on not called yet */
};

enum nacre_status door_loop_new(struct door_loop **ret_loop, struct nacre_error *err)
{
    struct door_loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the door's loop");
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0) {
        free(loop);
        return nacre_fail(err, NACRE_ERR_IO, "epoll");
    }
    *ret_loop = loop;
    return NACRE_OK;
}

void door_loop_free(struct door_loop *loop)
{
    if (!loop)
        return;
    (void)close(loop->epoll);
    free(loop);
}

/* What was reported for it before it was taken out may not be told any more. */
static void forget(struct door_loop *loop, const struct door_watch *watch)
{
    for (int i = loop->ready_next; i < loop->ready_count; i++) {
        if (loop->ready[i].data.ptr == watch)
            loop->ready[i].data.ptr = NULL;
    }
}

bool door_watch_set(struct door_loop *loop, struct door_watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };
    int what = watch->events == 0 ? EPOLL_CTL_ADD
               : events == 0      ? EPOLL_CTL_DEL
                                  : EPOLL_CTL_MOD;

    if (watch->events == events)
        return true;
    if (events == 0)
        forget(loop, watch);
    if (epoll_ctl(loop->epoll, what, watch->fd, &event) != 0 && events != 0)
        return false;
    watch->events = events;
    return true;
}

static bool take_out(struct door_timer **list, const struct door_timer *timer)
{
    for (struct door_timer **at = list; *at; at = &(*at)->next) {
        if (*at == timer) {
            *at = timer->next;
            return true;
        }
    }
    return false;
}

void door_timer_set(struct door_loop *loop, struct door_timer *timer, uint64_t at_ns)
{
    struct door_timer **at = &loop->timers;

    if (timer->at_ns != 0 && !take_out(&loop->timers, timer))
        (void)take_out(&loop->due, timer);
    timer->next = NULL;
    timer->at_ns = at_ns;
    if (at_ns == 0)
        return;
    while (*at && (*at)->at_ns <= at_ns)
        at = &(*at)->next;
    timer->next = *at;
    *at = timer;
}

/* Those that are due now; one that is set meanwhile waits for the next turn, so that
 * nothing can keep the loop to itself. */
static void call_timers(struct door_loop *loop)
{
    uint64_t now_ns = nacre_clock_ns();
    struct door_timer **last = &loop->due;

    assert(!loop->due);
    while (loop->timers && loop->timers->at_ns <= now_ns) {
        *last = loop->timers;
        loop->timers = loop->timers->next;
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    while (loop->due) {
        struct door_timer *timer = loop->due;

        loop->due = timer->next;
        timer->next = NULL;
        timer->at_ns = 0;
        timer->due(timer);
    }
}

static int wait_ms(const struct door_loop *loop)
{
    uint64_t now_ns = nacre_clock_ns(), ms;

    if (!loop->timers)
        return -1;
    if (loop->timers->at_ns <= now_ns)
        return 0;
    ms = (loop->timers->at_ns - now_ns + NACRE_NS_PER_MS - 1) / NACRE_NS_PER_MS;
    return ms < WAIT_MS_MAX ? (int)ms : WAIT_MS_MAX;
}

void door_loop_turn(struct door_loop *loop)
{
    int count = epoll_wait(loop->epoll, loop->ready, EVENTS_MAX, wait_ms(loop));

    assert(count >= 0 || errno == EINTR);
    loop->ready_count = count > 0 ? count : 0;
    loop->ready_next = 0;
    while (loop->ready_next < loop->ready_count) {
        struct epoll_event *event = &loop->ready[loop->ready_next++];
        struct door_watch *watch = event->data.ptr;

        if (watch)
            watch->ready(watch, event->events);
    }
    loop->ready_count = loop->ready_next = 0;
    call_timers(loop);
}
