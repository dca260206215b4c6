/* What stands before and around a command of the real nacre-init: masks, limits, walls,
 * and the report that tells of them before anything has run. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "init_owner.h"
#include "scene.h"

static struct owned *run_shell(struct owner *owner, const char *script)
{
    struct init_start start = owner_shell(script);

    return owner_run(owner, 1, &start);
}

/* ---- what is refused before anything runs ---- */

static void what_can_not_be_executed_is_told_exactly(void **state)
{
    static const char *const search[] = { "PATH=/nowhere:/usr/bin:/bin", NULL };
    static const char *const here[] = { "PATH=dir:.", NULL }, *const none[] = { NULL };
    static const struct {
        const char *program;
        const char *const *environment;
        const char *directory;
        enum init_refusal refusal;
        int error;
    } rows[] = {
        { "no-such-program", search, "", INIT_REFUSAL_EXEC, ENOENT },
        { "no-such-program", none, "", INIT_REFUSAL_EXEC, ENOENT },
        { "", search, "", INIT_REFUSAL_EXEC, ENOENT },
        { "./missing", search, "", INIT_REFUSAL_EXEC, ENOENT },
        { "./file", search, "", INIT_REFUSAL_EXEC, EACCES },
        { "file", here, "", INIT_REFUSAL_EXEC, EACCES },
        { "./dir", search, "", INIT_REFUSAL_EXEC, EACCES },
        { "./file/x", search, "", INIT_REFUSAL_EXEC, ENOTDIR },
        { "./garbage", search, "", INIT_REFUSAL_EXEC, ENOEXEC },
        { "garbage", here, "", INIT_REFUSAL_EXEC, ENOEXEC },
        { "./orphan", search, "", INIT_REFUSAL_EXEC, ENOENT },
        { "orphan", here, "", INIT_REFUSAL_EXEC, ENOENT },
        { "./loop", search, "", INIT_REFUSAL_EXEC, ELOOP },
        { "true", search, "missing", INIT_REFUSAL_DIRECTORY, ENOENT },
        { "true", search, "file", INIT_REFUSAL_DIRECTORY, ENOTDIR },
        { "true", search, "none", INIT_REFUSAL_DIRECTORY, ENOENT },
        { "true", search, "", INIT_REFUSAL_NONE, 0 },
        { "script", here, "", INIT_REFUSAL_NONE, 0 },
    };
    struct owner *owner = owner_ready(OWNER_CHILD);

    (void)state;
    scene_shell("touch file; mkdir dir; echo hello >garbage; chmod 755 garbage; "
                "printf '#!/no/such/interpreter\\n' >orphan; chmod 755 orphan; "
                "ln -s loop loop; printf '#!/bin/sh\\nexit 0\\n' >script; "
                "chmod 755 script");
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const char *const arguments[] = { rows[i].program, NULL };
        struct init_start start = owner_shell("");
        char directory[NACRE_PATH_MAX];
        struct owned *command;

        start.arguments = arguments;
        start.environment = rows[i].environment;
        start.directory = "";
        if (strcmp(rows[i].directory, "none") != 0)
            start.directory = scene_path(directory, rows[i].directory);
        command = owner_run(owner, 1, &start);
        if (command->is_refused != (rows[i].refusal != INIT_REFUSAL_NONE) ||
            command->refusal != rows[i].refusal ||
            command->error != (uint64_t)rows[i].error)
            fail_msg("row %zu, %s: refused %d by %u, error %u, %s%s", i, rows[i].program,
                     command->is_refused, (unsigned)command->refusal,
                     (unsigned)command->error, command->text, owner->failure);
        if (strstr(rows[i].program, "orphan"))
            assert_non_null(strstr(command->text, "interpreter"));
    }
    assert_int_equal(owner_close(owner), 0);
}

static void a_mask_that_fell_off_is_named_and_nothing_runs(void **state)
{
    static const char *const changes[] = {
        "chmod 644 mask",           "mv mask old; touch mask; chmod 0 mask",
        "rm mask",                  "mv mask old; ln -s old mask",
        "mv mask old; mkdir -m 0 mask",
    };
    char path[NACRE_PATH_MAX], other[NACRE_PATH_MAX];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(changes); i++) {
        struct owner *owner = owner_open(OWNER_CHILD);
        struct init_config config = owner_config_plain();
        struct init_mask masks[2] = { { .path = scene_path(other, "steady") },
                                      { .path = scene_path(path, "mask") } };
        struct init_start start = owner_shell("touch ran");
        struct stat info;

        assert_int_equal(scene_clear(NULL), 0);
        scene_shell("touch mask steady; chmod 0 mask steady");
        assert_int_equal(lstat("steady", &info), 0);
        masks[0].device = info.st_dev;
        masks[0].inode = info.st_ino;
        config.masks = masks;
        config.mask_count = 2;
        owner_configure(owner, &config);
        assert_true(owner->is_reported);
        start.directory = scene_top;
        owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_EXITED, 0);
        assert_true(scene_has("ran"));
        scene_shell("rm ran");
        scene_shell(changes[i]);
        assert_true(owner_run(owner, 1, &start)->is_refused);
        assert_int_equal(owner->commands[1].refusal, INIT_REFUSAL_MASK);
        assert_string_equal(owner->commands[1].text, path);
        assert_false(scene_has("ran"));
        assert_int_equal(owner_close(owner), 0);
    }
}

static void a_mask_that_never_was_there_is_refused(void **state)
{
    char path[NACRE_PATH_MAX];
    const struct init_mask rows[] = {
        { scene_path(path, "missing"), 0, 0 },
        { "/proc/self/status", 0, 0 },
        { "/", 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct owner *owner = owner_open(OWNER_CHILD);
        struct init_config config = owner_config_plain();

        config.masks = &rows[i];
        config.mask_count = 1;
        owner_configure(owner, &config);
        assert_true(run_shell(owner, ":")->is_refused);
        assert_int_equal(owner->commands[1].refusal, INIT_REFUSAL_MASK);
        assert_int_equal(owner_close(owner), 0);
    }
}

/* ---- walls ---- */

static void a_command_stands_within_its_walls(void **state)
{
    static const char *const lines[] = {
        "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n",
        "CapPrm:\t0000000000000000\n", "CapInh:\t0000000000000000\n",
        "CapAmb:\t0000000000000000\n", "SigBlk:\t0000000000000000\n",
        "SigIgn:\t0000000000000000\n", "SigCgt:\t0000000000000000\n", "Umask:\t0022\n",
    };

    (void)state;
    (void)umask(077);
    OWNER_BOTH(place) {
        struct owner *owner = owner_ready(place);
        struct init_start start = owner_shell("exec cat /proc/self/status");
        struct owned *command = owner_run(owner, 1, &start);

        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        for (size_t i = 0; i < NACRE_COUNT(lines); i++)
            if (!strstr(command->output[0], lines[i]))
                fail_msg("no %s in %s", lines[i], command->output[0]);
        command = run_shell(owner, "ls /proc/self/fd; ulimit -c; "
                                   "[ $(ps -o sid= -p $$) = $$ ] && echo leader");
        assert_string_equal(command->output[0], "0\n1\n2\n3\n0\nleader\n");
        assert_int_equal(owner_close(owner), 0);
    }
    (void)umask(022);
}

static void rlimits_hold_and_one_that_can_not_is_a_refusal(void **state)
{
    struct owner *owner = owner_ready(OWNER_CHILD);
    struct init_start start = owner_shell("ulimit -n; ulimit -p; ulimit -f");
    struct owned *command;

    (void)state;
    start.open_files_max = 77;
    start.processes_max = 40;
    start.file_bytes_max = 5120;
    command = owner_run(owner, 1, &start);
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    /* With init and a shepherd; in blocks of 512 bytes. */
    assert_string_equal(command->output[0], "77\n42\n10\n");

    start.open_files_max = UINT64_MAX;
    command = owner_run(owner, 1, &start);
    assert_true(command->is_refused);
    assert_int_equal(command->refusal, INIT_REFUSAL_WALL);
    assert_string_equal(command->text, "RLIMIT_NOFILE");
    assert_int_equal(owner_close(owner), 0);
}

/* However many a command starts, init is not one among them when it has to end them. */
static void commands_yield_where_that_costs_them_nothing(void **state)
{
    static const char stat[] = "s=$(cat /proc/self/stat); set -- ${s##*) }; echo ${17}";
    int own = getpriority(PRIO_PROCESS, 0);

    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct owner *owner = owner_open(OWNER_CHILD);
        struct init_config config = owner_config_plain();
        struct owned *command;
        char expected[16];

        config.weighed_apart = apart;
        owner_configure(owner, &config);
        command = run_shell(owner, stat);
        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        (void)snprintf(expected, sizeof(expected), "%d\n", apart ? 19 : own);
        assert_string_equal(command->output[0], expected);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)owner->pid), own);
        assert_int_equal(owner_close(owner), 0);
    }
}

static void without_its_second_wall_nothing_begins(void **state)
{
    struct owner *owner = owner_open(OWNER_CHILD);
    struct init_config config = owner_config_plain();

    (void)state;
    config.landlock_none = false;
    owner_configure(owner, &config);
    assert_false(owner->is_reported);
    assert_true(owner->has_failed);
    assert_non_null(strstr(owner->failure, "Landlock"));
    assert_int_equal(WEXITSTATUS(owner_close(owner)), 1);
}

static void the_second_filter_holds_for_every_command(void **state)
{
    const struct sock_filter refuse_uname[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct init_config config = owner_config_plain();
    struct owner *owner = owner_ready(OWNER_CHILD);

    (void)state;
    owner_assert_exit(run_shell(owner, "uname"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner_close(owner), 0);

    owner = owner_open(OWNER_CHILD);
    config.filter = refuse_uname;
    config.filter_bytes = sizeof(refuse_uname);
    owner_configure(owner, &config);
    assert_true(owner->is_reported);
    owner_assert_exit(run_shell(owner, "uname"), INIT_HOW_EXITED, 1);
    assert_int_equal(owner_close(owner), 0);
}

static void level_none_has_a_deadline_and_no_walls(void **state)
{
    struct owner *owner = owner_ready(OWNER_NONE);
    struct init_start start = owner_shell("exec grep -E 'Seccomp:|NoNewPrivs' "
                                          "/proc/self/status");
    struct owned *command = owner_run(owner, 1, &start);

    (void)state;
    assert_string_equal(command->output[0], "NoNewPrivs:\t1\nSeccomp:\t0\n");
    start = owner_shell("setsid sleep 1000 & sleep 1000");
    start.wall_ms_max = 50;
    owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_TIMED_OUT, SIGKILL);
    assert_int_equal(owner_close(owner), 0);
}

/* The engine's filter is around init already. */
static void a_setup_command_has_every_wall_but_the_filter(void **state)
{
    struct owner *owner = owner_ready(OWNER_SETUP);
    struct init_start start = owner_shell("exec grep -E 'CapEff|NoNewPrivs|Seccomp:' "
                                          "/proc/self/status");
    struct owned *command = owner_run(owner, 1, &start);

    (void)state;
    assert_string_equal(command->output[0],
                        "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t0\n");
    assert_int_equal(owner_close(owner), 0);
}

/* ---- the report ---- */

static void questions_are_answered_from_within_the_walls(void **state)
{
    struct owner *owner = owner_open(OWNER_PID1);
    struct init_config config = owner_config_plain();
    char text[256], fifo[NACRE_PATH_MAX], large[NACRE_PATH_MAX], file[NACRE_PATH_MAX];
    char questions_text[4][NACRE_PATH_MAX + 8];
    const char *questions[] = {
        "file /proc/self/status", "stat /proc", "file /no/such", "stat /no/such", "what",
        questions_text[0], questions_text[1], questions_text[2], "file /etc",
        questions_text[3], "list /no/such",
    };
    struct stat info;
    size_t count;
    char *answer;

    (void)state;
    scene_shell("chmod 755 .; mkfifo fifo; truncate -s 300000 large; echo hi >file; "
                "chmod 644 fifo large file; mkdir -m 755 dir; touch dir/.one");
    (void)snprintf(questions_text[3], sizeof(questions_text[3]), "list %s",
                   scene_path(fifo, "dir"));
    (void)snprintf(questions_text[0], sizeof(questions_text[0]), "file %s",
                   scene_path(fifo, "fifo"));
    (void)snprintf(questions_text[1], sizeof(questions_text[1]), "file %s",
                   scene_path(large, "large"));
    (void)snprintf(questions_text[2], sizeof(questions_text[2]), "stat %s",
                   scene_path(file, "file"));
    config.questions = questions;
    config.question_count = NACRE_COUNT(questions);
    owner_configure(owner, &config);
    assert_true(owner->is_reported);

    answer = owner_answer(owner, questions[0], NULL);
    assert_non_null(strstr(answer, "Seccomp:\t2\n"));
    assert_non_null(strstr(answer, "Uid:\t1000\t1000"));
    free(answer);
    free(owner_answer(owner, "stat /proc", NULL));
    for (size_t i = 2; i < 4; i++) {
        answer = owner_answer(owner, questions[i], NULL);
        assert_string_equal(answer, "error ENOENT");
        free(answer);
    }
    answer = owner_answer(owner, "what", NULL);
    assert_string_equal(answer, "error EINVAL");
    free(answer);
    answer = owner_answer(owner, questions[5], NULL);
    assert_string_equal(answer, "");
    free(answer);
    answer = owner_answer(owner, questions_text[3], NULL);
    assert_string_equal(answer, ".one\n");
    free(answer);
    answer = owner_answer(owner, "list /no/such", NULL);
    assert_string_equal(answer, "error ENOENT");
    free(answer);
    free(owner_answer(owner, questions[6], &count));
    assert_int_equal(count, ANSWER_BYTES_MAX);
    assert_int_equal(lstat("file", &info), 0);
    (void)snprintf(text, sizeof(text), "%ju %ju 100644 ", (uintmax_t)info.st_dev,
                   (uintmax_t)info.st_ino);
    answer = owner_answer(owner, questions[7], NULL);
    assert_true(strncmp(answer, text, strlen(text)) == 0);
    free(answer);
    answer = owner_answer(owner, "file /etc", NULL);
    assert_string_equal(answer, "error EISDIR");
    free(answer);
    assert_int_equal(owner_close(owner), 0);
}

/* Not every kernel has the files that say it. */
static void the_kernel_is_asked_for_limits_and_privileges(void **state)
{
    struct owner *owner = owner_open(OWNER_PID1);
    struct init_config config = owner_config_plain();
    const char *questions[] = { "limits", "file /proc/self/limits", "privileges",
                                "file /proc/self/status", "limits x" };
    static const char *const limits[] = { "Max open files", "Max core file size",
                                          "Max processes", "Max stack size" };
    char *said[5];

    (void)state;
    config.questions = questions;
    config.question_count = NACRE_COUNT(questions);
    owner_configure(owner, &config);
    assert_true(owner->is_reported);
    for (size_t i = 0; i < NACRE_COUNT(said); i++)
        said[i] = owner_answer(owner, questions[i], NULL);
    for (size_t i = 0; i < NACRE_COUNT(limits); i++) {
        char soft[2][32], hard[2][32];

        for (size_t k = 0; k < 2; k++) {
            const char *line = strstr(said[k], limits[i]);

            assert_non_null(line);
            assert_int_equal(sscanf(line + strlen(limits[i]), "%31s %31s", soft[k],
                                    hard[k]), 2);
        }
        assert_string_equal(soft[0], soft[1]);
        assert_string_equal(hard[0], hard[1]);
    }
    assert_string_equal(said[2], "NoNewPrivs:\t1\nCapAmb:\t0000000000000000\n");
    assert_non_null(strstr(said[3], "NoNewPrivs:\t1\n"));
    assert_string_equal(said[4], "error EINVAL");
    for (size_t i = 0; i < NACRE_COUNT(said); i++)
        free(said[i]);
    assert_int_equal(owner_close(owner), 0);
}

static void a_report_beyond_its_ceiling_is_a_failure(void **state)
{
    struct owner *owner = owner_open(OWNER_CHILD);
    struct init_config config = owner_config_plain();
    const char *questions[20];
    char question[NACRE_PATH_MAX + 8], path[NACRE_PATH_MAX];

    (void)state;
    scene_shell("truncate -s 300000 large");
    (void)snprintf(question, sizeof(question), "file %s", scene_path(path, "large"));
    for (size_t i = 0; i < NACRE_COUNT(questions); i++)
        questions[i] = question;
    config.questions = questions;
    config.question_count = NACRE_COUNT(questions);
    owner_configure(owner, &config);
    assert_true(owner->has_failed);
    assert_false(owner->is_reported);
    (void)owner_close(owner);
}

static void forks_that_were_refused_are_counted_while_a_command_runs(void **state)
{
    struct owner *owner = owner_open(OWNER_CHILD);
    struct init_config config = owner_config_plain();
    struct init_start start = owner_shell("printf 'max 9\\nmax.imposed 20\\n' >forks");
    char path[NACRE_PATH_MAX];

    (void)state;
    scene_file("forks", "max.imposed 8\nmax 5\n");
    config.forks_file = scene_path(path, "forks");
    owner_configure(owner, &config);
    start.directory = scene_top;
    owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_EXITED, 0);
    assert_int_equal(owner->commands[1].exit.forks_refused, 4);
    assert_int_equal(owner->commands[1].exit.oom_kills, 0);
    owner_assert_exit(run_shell(owner, ":"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner->commands[1].exit.forks_refused, 0);
    assert_int_equal(owner_close(owner), 0);
}

static void kills_for_memory_are_counted_while_a_command_runs(void **state)
{
    struct owner *owner = owner_open(OWNER_CHILD);
    struct init_config config = owner_config_plain();
    struct init_start start =
        owner_shell("printf 'low 1\\noom 9\\noom_kill 5\\n' >events");
    char path[NACRE_PATH_MAX];

    (void)state;
    scene_file("events", "low 1\noom 7\noom_kill 3\noom_group_kill 8\n");
    config.oom_file = scene_path(path, "events");
    owner_configure(owner, &config);
    start.directory = scene_top;
    owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_EXITED, 0);
    assert_int_equal(owner->commands[1].exit.oom_kills, 2);
    owner_assert_exit(run_shell(owner, ":"), INIT_HOW_EXITED, 0);
    assert_int_equal(owner->commands[1].exit.oom_kills, 0);
    assert_int_equal(owner_close(owner), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_can_not_be_executed_is_told_exactly, scene_clear),
        cmocka_unit_test_setup(a_mask_that_fell_off_is_named_and_nothing_runs,
                               scene_clear),
        cmocka_unit_test_setup(a_mask_that_never_was_there_is_refused, scene_clear),
        cmocka_unit_test(a_command_stands_within_its_walls),
        cmocka_unit_test(rlimits_hold_and_one_that_can_not_is_a_refusal),
        cmocka_unit_test(commands_yield_where_that_costs_them_nothing),
        cmocka_unit_test(without_its_second_wall_nothing_begins),
        cmocka_unit_test(the_second_filter_holds_for_every_command),
        cmocka_unit_test(level_none_has_a_deadline_and_no_walls),
        cmocka_unit_test(a_setup_command_has_every_wall_but_the_filter),
        cmocka_unit_test_setup(questions_are_answered_from_within_the_walls, scene_clear),
        cmocka_unit_test_setup(the_kernel_is_asked_for_limits_and_privileges,
                               scene_clear),
        cmocka_unit_test_setup(a_report_beyond_its_ceiling_is_a_failure, scene_clear),
        cmocka_unit_test_setup(forks_that_were_refused_are_counted_while_a_command_runs,
                               scene_clear),
        cmocka_unit_test_setup(kills_for_memory_are_counted_while_a_command_runs,
                               scene_clear),
    };

    return cmocka_run_group_tests_name("init_walls", tests, scene_enter, scene_leave);
}
