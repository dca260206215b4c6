/* Background commands, as a client of a real keeper and with the real program. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nacre/jobs.h"
#include "nacre/keeper.h"
#include "nacre/own.h"

static char dir[64], state_dir[96], policy[96];
static struct nacre_keeper_at at;
static const struct nacre_job_owner mine = { "s1", "main" }, other = { "s2", "main" },
                                    another = { "s1", "work" };

static int setup(void **state)
{
    FILE *file;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/nacre-jobs-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/nacre", dir);
    (void)snprintf(policy, sizeof(policy), "%s/none.yaml", dir);
    file = fopen(policy, "w");
    if (!file)
        return -1;
    (void)fputs("claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: none}\nspec:\n"
                "  level: none\n  capabilities: {shell: {mode: full}}\n", file);
    (void)fclose(file);
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", dir);
    (void)setenv("HOME", dir, 1);
    (void)setenv("XDG_STATE_HOME", state_dir, 1);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("XDG_CACHE_HOME");
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state/nacre", dir);
    at = (struct nacre_keeper_at){ .state_dir = state_dir, .program = NACRE_PROGRAM };
    return 0;
}

static int teardown(void **state)
{
    struct nacre_error err;
    char command[96];

    (void)state;
    (void)!nacre_keeper_quit(state_dir, &err);
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static enum nacre_status start(const struct nacre_job_owner *owner, const char *text,
                               char id[NACRE_JOB_ID], struct nacre_error *err)
{
    const char *const words[] = { "exec", "--policy", policy, "--unsandboxed", text,
                                  NULL };
    const struct nacre_job_start job = { .words = words, .directory = dir,
                                         .title = text };

    return nacre_job_start(&at, owner, &job, id, err);
}

/* Reads until it has ended, or `until` was written. */
static struct nacre_job_info read_until(const char *id, const char *until,
                                        struct nacre_buf *output)
{
    struct nacre_job_info info = { .running = true };
    struct nacre_error err;
    uint64_t next = 0;

    while (info.running && !(until && output->bytes && strstr(output->bytes, until)))
        assert_int_equal(nacre_job_read(&at, &mine, id, next, 65536, 5000, output, &next,
                                        &info, &err), NACRE_OK);
    return info;
}

static void a_job_runs_and_its_output_and_status_are_kept(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_job_info info;
    struct nacre_error err;
    char id[NACRE_JOB_ID];

    (void)state;
    assert_int_equal(start(&mine, "echo out; echo err >&2; exit 7", id, &err), NACRE_OK);
    info = read_until(id, NULL, &output);
    assert_false(info.running);
    assert_int_equal(info.exit_status, 7);
    assert_non_null(strstr(output.bytes, "out"));
    assert_non_null(strstr(output.bytes, "err"));
    assert_true(info.ended_ms >= info.started_ms);
}

static void what_is_written_to_a_job_reaches_its_input(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_error err;
    char id[NACRE_JOB_ID];

    (void)state;
    assert_int_equal(start(&mine, "while read x; do echo got-$x; done; echo over", id,
                           &err), NACRE_OK);
    assert_int_equal(nacre_job_write(&at, &mine, id, "one\n", 4, false, &err), NACRE_OK);
    (void)read_until(id, "got-one", &output);
    assert_int_equal(nacre_job_write(&at, &mine, id, "two\n", 4, true, &err), NACRE_OK);
    nacre_buf_clear(&output);
    assert_int_equal(read_until(id, NULL, &output).exit_status, 0);
    assert_non_null(strstr(output.bytes, "got-two\nover"));
    assert_int_equal(nacre_job_write(&at, &mine, id, "x", 1, false, &err),
                     NACRE_ERR_USAGE);
}

static bool count_one(void *data, const struct nacre_job_info *info)
{
    (void)info;
    ++*(int *)data;
    return true;
}

static int count_of(const struct nacre_job_owner *owner)
{
    struct nacre_error err;
    int count = 0;

    assert_int_equal(nacre_job_list(&at, owner, count_one, &count, &err), NACRE_OK);
    return count;
}

static bool is_there(const char *mark)
{
    char command[96];

    (void)snprintf(command, sizeof(command), "pgrep -f '[s]leep %s' >/dev/null", mark);
    return system(command) == 0;
}

static void a_job_is_its_owners_alone(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_job_info info;
    struct nacre_error err;
    char id[NACRE_JOB_ID];
    uint64_t next;

    (void)state;
    assert_int_equal(start(&mine, "echo secret; sleep 4711.1", id, &err), NACRE_OK);
    (void)read_until(id, "secret", &output);
    assert_int_equal(count_of(&mine), 1);
    assert_int_equal(count_of(&other), 0);
    assert_int_equal(count_of(&another), 0);
    assert_int_equal(nacre_job_read(&at, &other, id, 0, 100, 0, &output, &next, &info,
                                    &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_job_kill(&at, &another, id, &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_job_write(&at, &other, id, "x", 1, true, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_true(is_there("4711.1"));
    assert_int_equal(nacre_job_kill(&at, &mine, id, &err), NACRE_OK);
    assert_false(is_there("4711.1"));
    assert_int_equal(count_of(&mine), 0);
}

static void jobs_end_with_their_session_and_others_stay(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_error err;
    char id[NACRE_JOB_ID], kept[NACRE_JOB_ID];
    uint32_t ended = 0;

    (void)state;
    assert_int_equal(start(&mine, "setsid sleep 4712.1 & echo up; wait", id, &err),
                     NACRE_OK);
    assert_int_equal(start(&other, "sleep 4712.2", kept, &err), NACRE_OK);
    (void)read_until(id, "up", &output);
    assert_int_equal(nacre_jobs_end(&at, "s1", &ended, &err), NACRE_OK);
    assert_int_equal(ended, 1);
    assert_false(is_there("4712.1"));
    assert_int_equal(count_of(&mine), 0);
    assert_int_equal(count_of(&other), 1);
    assert_int_equal(nacre_keeper_quit(state_dir, &err), NACRE_OK);
    assert_false(is_there("4712.2"));
}

static void a_keeper_that_is_killed_takes_its_jobs_along(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_error err;
    char id[NACRE_JOB_ID], command[160];

    (void)state;
    assert_int_equal(start(&mine, "echo up; sleep 4713.1", id, &err), NACRE_OK);
    (void)read_until(id, "up", &output);
    assert_true(is_there("4713.1"));
    (void)snprintf(command, sizeof(command), "pkill -9 -f '[k]eeper --state-dir %s'",
                   state_dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 500 && is_there("4713.1"); i++)
        (void)usleep(20000);
    assert_false(is_there("4713.1"));
}

static void a_flood_is_kept_up_to_its_ceiling_and_the_newest_stays(void **state)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf output = NACRE_BUF(2 * NACRE_JOB_BYTES_MAX);
    struct nacre_job_info info = { .running = true };
    struct nacre_error err;
    char id[NACRE_JOB_ID];
    uint64_t next = 0;

    (void)state;
    assert_int_equal(start(&mine, "head -c 3000000 /dev/zero | tr '\\0' x; echo END", id,
                           &err), NACRE_OK);
    while (info.running) {
        nacre_buf_clear(&output);
        assert_int_equal(nacre_job_read(&at, &mine, id, UINT32_MAX, 1, 5000, &output,
                                        &next, &info, &err), NACRE_OK);
    }
    assert_int_equal(info.bytes_written, 3000004);
    assert_int_equal(info.bytes_kept_from, 3000004 - NACRE_JOB_BYTES_MAX);
    nacre_buf_clear(&output);
    assert_int_equal(nacre_job_read(&at, &mine, id, 0, SIZE_MAX >> 1, 0, &output, &next,
                                    &info, &err), NACRE_OK);
    assert_int_equal(output.size, NACRE_JOB_BYTES_MAX);
    assert_string_equal(output.bytes + output.size - 4, "END\n");
    assert_int_equal(next, 3000004);
}

static void a_session_has_so_many_jobs_and_no_more(void **state)
{
    struct nacre_error err;
    char id[NACRE_JOB_ID];

    (void)state;
    for (int i = 0; i < NACRE_JOBS_PER_SESSION_MAX; i++)
        assert_int_equal(start(&mine, "true", id, &err), NACRE_OK);
    assert_int_equal(start(&mine, "true", id, &err), NACRE_ERR_TOO_BIG);
    assert_int_equal(nacre_job_kill(&at, &mine, id, &err), NACRE_OK);
    assert_int_equal(start(&mine, "true", id, &err), NACRE_OK);
}

static void without_a_keeper_there_are_none(void **state)
{
    struct nacre_error err;
    uint32_t ended = 1;

    (void)state;
    assert_int_equal(count_of(&mine), 0);
    assert_int_equal(nacre_jobs_end(&at, "s1", &ended, &err), NACRE_OK);
    assert_int_equal(ended, 0);
    assert_int_equal(nacre_job_kill(&at, &mine, "0123456789abcdef", &err),
                     NACRE_ERR_NOT_FOUND);
}

/* In an argument list of this machine, as any user can read them: of any program, or of
 * nacre's processes alone. */
static bool is_in_an_argument_list(const char *pattern, bool of_nacre)
{
    char command[256];

    (void)snprintf(command, sizeof(command),
                   "for p in /proc/[0-9]*; do %s cat $p/cmdline; done 2>/dev/null | "
                   "tr '\\0' '\\n' | grep -q '%s'",
                   of_nacre ? "test \"$(head -c 5 $p/cmdline)\" = nacre &&" : "",
                   pattern);
    return system(command) == 0;
}

/* The command itself is a shell's of level none, whose list has its text. */
static void a_jobs_words_reach_it_by_no_argument_list(void **state)
{
    char text[128], line[64];
    const char *const words[] = { "exec", "--policy", policy, "--unsandboxed", "--env",
                                  "WORD=job_test_sesame \n'--x", "--env", "B=", "--",
                                  text, NULL };
    static char large[NACRE_JOB_WORD_BYTES_MAX + 1];
    const char *const too_large[] = { large, NULL };
    struct nacre_job_start job = { .words = words, .directory = dir, .title = "says" };
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf output = NACRE_BUF(65536);
    struct nacre_error err;
    char id[NACRE_JOB_ID];

    (void)state;
    (void)snprintf(text, sizeof(text), "echo \"<$WORD|$B>\"; read job_test_line_%d",
                   (int)getpid());
    (void)snprintf(line, sizeof(line), "job_test_[l]ine_%d", (int)getpid());
    assert_int_equal(nacre_job_start(&at, &mine, &job, id, &err), NACRE_OK);
    (void)read_until(id, ">", &output);
    assert_non_null(strstr(output.bytes, "<job_test_sesame \n'--x|>"));
    assert_false(is_in_an_argument_list("job_test_[s]esame", false));
    assert_false(is_in_an_argument_list(line, true));
    assert_true(is_in_an_argument_list("__[j]ob", true)); /* the controls */
    assert_true(is_in_an_argument_list(line, false));
    assert_int_equal(nacre_job_kill(&at, &mine, id, &err), NACRE_OK);
    memset(large, 'a', sizeof(large) - 1);
    job.words = too_large;
    assert_int_equal(nacre_job_start(&at, &mine, &job, id, &err), NACRE_ERR_USAGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_runs_and_its_output_and_status_are_kept),
        TEST(what_is_written_to_a_job_reaches_its_input),
        TEST(a_job_is_its_owners_alone),
        TEST(jobs_end_with_their_session_and_others_stay),
        TEST(a_keeper_that_is_killed_takes_its_jobs_along),
        TEST(a_flood_is_kept_up_to_its_ceiling_and_the_newest_stays),
        TEST(a_session_has_so_many_jobs_and_no_more),
        TEST(a_jobs_words_reach_it_by_no_argument_list),
        TEST(without_a_keeper_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
