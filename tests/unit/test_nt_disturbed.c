/* Commands whose sandbox is no longer what it was: how soon they end, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/eventfd.h>

#include "box_scene.h"

static bool third_time(void *data, char *reason, size_t size)
{
    int *asked = data;

    (void)snprintf(reason, size, "the ground has moved");
    return ++*asked == 3;
}

static void a_disturbed_command_is_killed_with_the_reason(void **state)
{
    bool obeys = true;
    struct nt_box *box = opened(running, &obeys);
    struct nt_command command = command_of(&no_input);
    int asked = 0;

    (void)state;
    command.disturbed = third_time;
    command.disturbed_data = &asked;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(asked, 3);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGKILL);
    assert_string_equal(result.reason, "the ground has moved");
    closed(box);
    assert_int_equal(fake.kills, 1);
}

static bool always(void *data, char *reason, size_t size)
{
    (void)data;
    (void)snprintf(reason, size, "the ground has moved");
    return true;
}

/* It read what its covers were to hide, said it and was gone, all between two looks. */
static void what_a_disturbed_command_said_goes_nowhere(void **state)
{
    struct init_exit exit = { INIT_HOW_EXITED, 0 };
    struct nt_box *box = opened(say_and_exit, &exit);
    struct nt_command command = command_of(&no_input);

    (void)state;
    command.disturbed = always;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_string_equal(result.reason, "the ground has moved");
    assert_true(output_is(&result.output, ""));
    assert_true(output_is(&result.errors, ""));
    closed(box);
}

/* ---- what is told ---- */

struct ground {
    int fd;
    _Atomic uint64_t moved_ns, halted_ns;
    _Atomic int asked;
};

static bool has_moved(void *data, char *reason, size_t size)
{
    struct ground *ground = data;

    atomic_fetch_add(&ground->asked, 1);
    (void)snprintf(reason, size, "the ground has moved");
    return atomic_load(&ground->moved_ns) > 0;
}

static void note_halt(void *data)
{
    struct ground *ground = data;

    if (atomic_load(&ground->halted_ns) == 0)
        atomic_store(&ground->halted_ns, nacre_clock_ns());
}

/* Well after the first look around, and long before the second. */
static void *move_soon(void *data)
{
    struct timespec pause = { 0, 20000000 };
    struct ground *ground = data;

    (void)nanosleep(&pause, NULL);
    atomic_store(&ground->moved_ns, nacre_clock_ns());
    (void)eventfd_write(ground->fd, 1);
    return NULL;
}

static struct nt_command command_on(struct ground *ground)
{
    struct nt_command command = command_of(&no_input);

    command.disturbed = has_moved;
    command.disturbed_data = ground;
    command.disturbed_fd = ground->fd;
    command.halt = note_halt;
    return command;
}

/* Without being told it would be asked 80 ms later.  On a busy machine one of several
 * goes undisturbed. */
static void what_is_told_ends_a_command_at_once(void **state)
{
    uint64_t least_ns = UINT64_MAX;
    bool obeys = true;

    (void)state;
    for (int i = 0; i < 10 && least_ns > 30 * NACRE_NS_PER_MS; i++) {
        struct ground ground = { .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
        struct nt_box *box = opened(running, &obeys);
        const struct nt_command command = command_on(&ground);
        uint64_t late_ns;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, move_soon, &ground), 0);
        assert_int_equal(run(box, &command), NACRE_OK);
        (void)pthread_join(thread, NULL);
        assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
        assert_string_equal(result.reason, "the ground has moved");
        assert_true(ground.halted_ns > 0);
        late_ns = ground.halted_ns - ground.moved_ns;
        if (late_ns < least_ns)
            least_ns = late_ns;
        closed(box);
        assert_int_equal(fake.kills, 1);
        (void)close(ground.fd);
    }
    assert_true(least_ns <= 30 * NACRE_NS_PER_MS);
}

/* A guest may write beside a watched name as fast as it can. */
static void what_is_told_without_end_does_not_keep_the_owner_busy(void **state)
{
    struct ground ground = { .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK) };
    struct init_exit exit = { INIT_HOW_EXITED, 0 };
    struct nt_box *box = opened(say_and_exit, &exit);
    struct nt_command command = command_on(&ground);
    bool obeys = true;

    (void)state;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    assert_true(output_is(&result.output, "output"));
    closed(box);
    box = opened(running, &obeys);
    atomic_store(&ground.asked, 0);
    command.start.wall_ms_max = 100;
    command.grace_ms = 100;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_int_equal(ground.halted_ns, 0);
    assert_in_range(ground.asked, 2, 1000);
    closed(box);
    (void)close(ground.fd);
}

/* ---- the end of all that is in it, without init ---- */

static _Atomic bool is_halted;

static void halt_init(void *data)
{
    (void)data;
    atomic_store(&is_halted, true);
}

/* Gone without a word, as killed ones are. */
static void runs_until_it_is_halted(struct fake_init *self)
{
    const struct timespec pause = { 0, 1000000 };
    uint8_t id[FRAME_ID];

    (void)fake_init_report(self);
    if (!fake_init_await_start(self, id, NULL))
        return;
    fake_init_send(self, FRAME_STARTED, 0, id, NULL, 0);
    while (!atomic_load(&is_halted))
        (void)nanosleep(&pause, NULL);
}

static void a_halted_sandbox_is_the_commands_end_and_no_failure(void **state)
{
    struct nt_box *box = opened(runs_until_it_is_halted, NULL);
    struct nt_command command = command_of(&no_input);

    (void)state;
    command.disturbed = always;
    command.halt = halt_init;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGKILL);
    assert_string_equal(result.reason, "the ground has moved");
    assert_true(nt_box_is_spent(box));
    closed(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disturbed_command_is_killed_with_the_reason),
        cmocka_unit_test(what_a_disturbed_command_said_goes_nowhere),
        cmocka_unit_test(what_is_told_ends_a_command_at_once),
        cmocka_unit_test(what_is_told_without_end_does_not_keep_the_owner_busy),
        cmocka_unit_test(a_halted_sandbox_is_the_commands_end_and_no_failure),
    };

    return cmocka_run_group_tests_name("nt_disturbed", tests, NULL, NULL);
}
