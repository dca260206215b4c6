/* A box and the real init, as a plain child without walls: the two ends understand each
 * other.  What walls do is judged where they are put up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "box_scene.h"
#include "init_image.h"
#include "nt_report.h"

extern char **environ;

#define THREADS 8
#define ROUNDS 50

static pid_t init_pid;
static struct nt_box *box;

static int start(void **state)
{
    static const char *const asked[] = { "file /proc/self/status", "stat /",
                                         "file /none" };
    const struct init_config real = { .beat_ms_max = 5000,
                                      .commands_max = THREADS,
                                      .oom_file = "",
                                      .landlock_none = true,
                                      .questions = asked,
                                      .question_count = NACRE_COUNT(asked) };
    char path[40], program[] = "nacre-init", none[] = "none";
    char *const argv[] = { program, none, NULL };
    posix_spawn_file_actions_t actions;
    struct nt_stream stream;
    int init_fd = -1, ends[2], failure;

    (void)state;
    assert_int_equal(nacre_init_fd(&init_fd, &err), NACRE_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", init_fd);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    failure = posix_spawn(&init_pid, path, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    (void)close(init_fd);
    assert_int_equal(failure, 0);
    assert_int_equal(nt_stream_fd(ends[0], &stream, &err), NACRE_OK);
    if (nt_box_open(&stream, &real, in_ms(10000), &box, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return 0;
}

/* Freeing the box is all that it takes. */
static int stop(void **state)
{
    int status;

    (void)state;
    nt_box_free(box);
    nacre_buf_clear(&result.output);
    nacre_buf_clear(&result.errors);
    result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
    return waitpid(init_pid, &status, 0) == init_pid ? 0 : -1;
}

static struct nt_command shell_of(const char *const words_of[4],
                                  const struct nacre_request *request)
{
    struct nt_command command = command_of(request);

    command.start.arguments = words_of;
    return command;
}

static enum nacre_status shell(const char *text, const struct nacre_request *request)
{
    const char *const words_of[4] = { "/bin/sh", "-c", text, NULL };
    const struct nt_command command = shell_of(words_of, request);

    return nt_box_run(box, &command, &result, &err);
}

static void init_tells_what_the_kernel_says(void **state)
{
    char ids[64];
    const struct nt_expect expects[] = {
        { "the user", NT_CHECK_STATUS, "file /proc/self/status", "Uid", ids },
        { "/", NT_CHECK_STAT, "stat /", NULL, "inode=1" },
        { "/none", NT_CHECK_ERROR, "file /none", NULL, "ENOENT" },
    };
    char identity[NT_IDENTITY];
    struct nt_expect root = expects[1];
    int fd = open("/", O_PATH | O_CLOEXEC);

    (void)state;
    (void)snprintf(ids, sizeof(ids), "%u %u %u %u", getuid(), getuid(), getuid(),
                   getuid());
    assert_int_equal(nt_report_judge(box, &expects[0], 1, &err), NACRE_OK);
    assert_int_equal(nt_report_judge(box, &expects[2], 1, &err), NACRE_OK);
    assert_int_equal(nt_report_identity(fd, identity, &err), NACRE_OK);
    root.planned = identity;
    assert_int_equal(nt_report_judge(box, &root, 1, &err), NACRE_OK);
    (void)close(fd);
}

static void ends_are_told_as_they_were(void **state)
{
    static const struct {
        const char *text;
        enum nacre_outcome outcome;
        int exit_status, signal;
    } rows[] = {
        { "exit 7", NACRE_OUTCOME_EXITED, 7, 0 },
        { "kill -SEGV $$", NACRE_OUTCOME_KILLED, 0, SIGSEGV },
        { "kill -KILL $$", NACRE_OUTCOME_KILLED, 0, SIGKILL },
        { ":", NACRE_OUTCOME_EXITED, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
        assert_int_equal(shell(rows[i].text, &no_input), NACRE_OK);
        assert_int_equal(result.outcome, rows[i].outcome);
        assert_int_equal(result.exit_status, rows[i].exit_status);
        assert_int_equal(result.signal, rows[i].signal);
    }
    assert_true(result.usage.memory_bytes_peak > 0);
}

static void what_is_not_there_is_not_found(void **state)
{
    const char *const words_of[4] = { "/none/such", NULL };
    const char *const directory[4] = { "/", NULL };
    struct nt_command command = shell_of(words_of, &no_input);

    (void)state;
    if (run(box, &command) != NACRE_ERR_NOT_FOUND)
        fail_msg("%s", err.text);
    command.start.arguments = directory;
    if (run(box, &command) != NACRE_ERR_NOT_RUNNABLE)
        fail_msg("%s", err.text);
    command.start.directory = "/none";
    if (run(box, &command) != NACRE_ERR_NOT_RUNNABLE)
        fail_msg("%s", err.text);
    assert_false(nt_box_is_spent(box));
}

static void input_comes_back_as_output(void **state)
{
    const size_t count = (size_t)3 << 20;
    int file = memfd_create("input", MFD_CLOEXEC);
    const struct nacre_request request = { .input_fd = file };
    const char *const words_of[4] = { "/bin/cat", NULL };
    struct nt_command command = shell_of(words_of, &request);

    (void)state;
    for (size_t i = 0; i < count; i += 8)
        assert_int_equal(dprintf(file, "%07zu\n", i), 8);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    command.output_bytes_max = count;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result.output.size, count);
    for (size_t i = 0; i < count; i += 8)
        assert_int_equal(strtoul(result.output.bytes + i, NULL, 10), i);

    /* And one that does not want it. */
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_int_equal(shell("exec 0<&-; echo done", &request), NACRE_OK);
    assert_true(output_is(&result.output, "done\n"));
    (void)close(file);
}

static void a_flood_is_cut_and_the_box_lives_on(void **state)
{
    const char *const words_of[4] = { "/bin/sh", "-c", "yes & yes >&2", NULL };
    struct nt_command command = shell_of(words_of, &no_input);

    (void)state;
    command.output_bytes_max = 1000001;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_OUTPUT_LIMIT);
    assert_true(result.output_cut);
    assert_int_equal(result.output.size + result.errors.size, 1000001);
    assert_false(nt_box_is_spent(box));
    assert_int_equal(shell("echo still here", &no_input), NACRE_OK);
    assert_true(output_is(&result.output, "still here\n"));
}

static void cancel(void *data, int stream, const char *bytes, size_t count)
{
    (void)stream;
    (void)bytes;
    (void)count;
    atomic_store((_Atomic int *)data, SIGINT);
}

static void deadlines_and_cancelling_end_a_command(void **state)
{
    _Atomic int cancelled = 0;
    const char *const words_of[4] = { "/bin/sh", "-c", "echo begun; sleep 60", NULL };
    const struct nacre_request request = { .input_fd = -1, .on_output = cancel,
                                           .on_output_data = &cancelled };
    struct nt_command command = shell_of(words_of, &request);

    (void)state;
    command.start.wall_ms_max = 50;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_TIMED_OUT);
    command.start.wall_ms_max = 60000;
    atomic_store(&cancelled, 0);
    command.cancelled = &cancelled;
    assert_int_equal(run(box, &command), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result.signal, SIGINT);
    assert_false(nt_box_is_spent(box));
}

static void a_killed_init_is_noticed_in_the_middle(void **state)
{
    char text[64];

    (void)state;
    (void)snprintf(text, sizeof(text), "echo begun; kill -9 %d; sleep 60", init_pid);
    assert_int_equal(shell(text, &no_input), NACRE_ERR_IO);
    assert_true(nt_box_is_spent(box));
    assert_false(nt_box_beat(box));
}

struct worker {
    int number, failures;
    struct nacre_result result;
};

static void *work(void *data)
{
    struct worker *worker = data;
    struct nacre_error why;

    for (int i = 0; i < ROUNDS; i++) {
        char text[64], expected[32];
        const char *const words_of[4] = { "/bin/sh", "-c", text, NULL };
        const struct nt_command command = shell_of(words_of, &no_input);
        struct nacre_result *own = &worker->result;
        int status = (worker->number * ROUNDS + i) % 200;

        (void)snprintf(expected, sizeof(expected), "%d-%d\n", worker->number, i);
        (void)snprintf(text, sizeof(text), "echo %d-%d; echo e >&2; exit %d",
                       worker->number, i, status);
        if (nt_box_run(box, &command, own, &why) != NACRE_OK ||
            own->outcome != NACRE_OUTCOME_EXITED || own->exit_status != status ||
            !output_is(&own->output, expected) || !output_is(&own->errors, "e\n"))
            worker->failures++;
        nacre_buf_clear(&own->output);
        nacre_buf_clear(&own->errors);
    }
    return NULL;
}

static void many_threads_get_each_its_own(void **state)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    assert_true(nt_box_beat(box));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(init_tells_what_the_kernel_says, start, stop),
        cmocka_unit_test_setup_teardown(ends_are_told_as_they_were, start, stop),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_found, start, stop),
        cmocka_unit_test_setup_teardown(input_comes_back_as_output, start, stop),
        cmocka_unit_test_setup_teardown(a_flood_is_cut_and_the_box_lives_on, start, stop),
        cmocka_unit_test_setup_teardown(deadlines_and_cancelling_end_a_command, start,
                                        stop),
        cmocka_unit_test_setup_teardown(a_killed_init_is_noticed_in_the_middle, start,
                                        stop),
        cmocka_unit_test_setup_teardown(many_threads_get_each_its_own, start, stop),
    };

    return cmocka_run_group_tests_name("nt_init", tests, NULL, NULL);
}
