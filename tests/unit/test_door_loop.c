/* The door's loop: fds, timers, and what is taken out while it is being told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop.h"
#include "nacre/clock.h"

static struct door_loop *loop;
static struct door_watch watches[2];
static struct door_timer timers[4];
static unsigned called[4];
static unsigned order[8], orders;

static int make(void **state)
{
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        called[i] = 0;
        timers[i] = (struct door_timer){ 0 };
    }
    orders = 0;
    return door_loop_new(&loop, &err) == NACRE_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    door_loop_free(loop);
    return 0;
}

/* Whichever is told first takes the other out. */
static void take_other_out(struct door_watch *watch, uint32_t events)
{
    size_t i = (size_t)(watch - watches);

    (void)events;
    called[i]++;
    assert_true(door_watch_set(loop, &watches[1 - i], 0));
}

static void one_that_was_taken_out_is_not_told(void **state)
{
    int ends[2][2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pipe(ends[i]), 0);
        assert_int_equal(write(ends[i][1], "x", 1), 1);
        watches[i] = (struct door_watch){ .fd = ends[i][0], .ready = take_other_out };
        assert_true(door_watch_set(loop, &watches[i], EPOLLIN));
    }
    door_loop_turn(loop);
    assert_int_equal(called[0] + called[1], 1);
    for (size_t i = 0; i < 2; i++) {
        assert_true(door_watch_set(loop, &watches[i], 0));
        (void)close(ends[i][0]);
        (void)close(ends[i][1]);
    }
}

static void note(struct door_timer *timer)
{
    order[orders++] = (unsigned)(timer - timers);
    called[timer - timers]++;
}

static void timers_are_due_in_their_order(void **state)
{
    uint64_t now_ns = nacre_clock_ns();

    (void)state;
    for (size_t i = 0; i < 4; i++)
        timers[i].due = note;
    door_timer_set(loop, &timers[0], now_ns + 3 * NACRE_NS_PER_MS);
    door_timer_set(loop, &timers[1], now_ns + 1 * NACRE_NS_PER_MS);
    door_timer_set(loop, &timers[2], 1);
    door_timer_set(loop, &timers[3], now_ns + 2 * NACRE_NS_PER_MS);
    door_timer_set(loop, &timers[3], 0);
    while (nacre_clock_ns() < now_ns + 5 * NACRE_NS_PER_MS && orders < 3)
        door_loop_turn(loop);
    assert_int_equal(orders, 3);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[1], 1);
    assert_int_equal(order[2], 0);
    assert_int_equal(timers[0].at_ns, 0);
}

static void again_at_once(struct door_timer *timer)
{
    called[timer - timers]++;
    door_timer_set(loop, timer, 1);
}

static void take_next_out(struct door_timer *timer)
{
    called[timer - timers]++;
    door_timer_set(loop, &timers[1], 0);
}

static void a_timer_can_not_keep_the_loop_to_itself(void **state)
{
    (void)state;
    timers[0].due = again_at_once;
    door_timer_set(loop, &timers[0], 1);
    door_loop_turn(loop);
    assert_int_equal(called[0], 1);
    door_loop_turn(loop);
    assert_int_equal(called[0], 2);
    door_timer_set(loop, &timers[0], 0);
}

static void one_that_is_due_can_still_be_taken_out(void **state)
{
    (void)state;
    timers[0].due = take_next_out;
    timers[1].due = note;
    door_timer_set(loop, &timers[0], 1);
    door_timer_set(loop, &timers[1], 1);
    door_loop_turn(loop);
    assert_int_equal(called[0], 1);
    assert_int_equal(called[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, end)
        TEST(one_that_was_taken_out_is_not_told),
        TEST(timers_are_due_in_their_order),
        TEST(a_timer_can_not_keep_the_loop_to_itself),
        TEST(one_that_is_due_can_still_be_taken_out),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
