/* An engine of the test's own that is killed while a command runs, and comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "engine_world.h"

static char directory[64];
static bool has_engine;

static int script(const char *verb)
{
    char command[512];
    int status;

    (void)snprintf(command, sizeof(command), "'%s' %s %s >/dev/null",
                   NACRE_DOCKER_ENGINE, verb, directory);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int setup(void **state)
{
    char where[96];
    int status;

    (void)state;
    (void)snprintf(directory, sizeof(directory), "/run/nacre-death-%d", (int)getpid());
    status = script("start");
    if (status == 77)
        return 0;
    has_engine = status == 0;
    (void)snprintf(where, sizeof(where), "unix://%s/sock", directory);
    return status == 0 && setenv("NACRE_TEST_DOCKER", where, 1) == 0 ? engine_setup(state)
                                                                     : -1;
}

static int teardown(void **state)
{
    (void)engine_teardown(state);
    return has_engine ? script("stop") : 0;
}

/* The engine is told by its pid file; what its command was, by the kernel. */
static void read_engine(pid_t *ret_pid, char *ret_command, size_t size)
{
    char path[128];
    FILE *file;
    size_t count;
    int pid = 0;

    (void)snprintf(path, sizeof(path), "%s/pid", directory);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    (void)fclose(file);
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    count = fread(ret_command, 1, size - 1, file);
    (void)fclose(file);
    for (size_t i = 0; i < count; i++)
        ret_command[i] = ret_command[i] ? ret_command[i] : ' ';
    ret_command[count] = '\0';
    *ret_pid = pid;
}

static void start_again(const char *command)
{
    struct dk_client *client = NULL;
    struct nacre_error err;
    char line[2048], pid_file[128];

    (void)snprintf(line, sizeof(line),
                   "setsid unshare -n -m --propagation private %s >>%s/log "
                   "2>&1 </dev/null &", command, directory);
    (void)snprintf(pid_file, sizeof(pid_file), "%s/pid", directory);
    (void)unlink(pid_file);
    for (int i = 0; i < 900 && !client; i++) {
        /* It gives up when its containerd takes over 15 s to come; where it has not, the
         * second finds its pid and leaves. */
        if (i % 300 == 0)
            assert_int_equal(system(line), 0);
        if (dk_client_open(dk_client_endpoint(observer), SOON, &client, &err) != NACRE_OK)
            (void)usleep(100000);
    }
    assert_non_null(client);
    dk_client_free(client);
}

struct run {
    enum nacre_status status;
    struct nacre_result *result;
    struct nacre_error err;
};

static void *sleep_there(void *data)
{
    struct run *run = data;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;

    run->status = nacre_result_new(&run->result, &run->err);
    if (run->status == NACRE_OK)
        run->status = nacre_tool_shell("touch /workspace/started; sleep 37.2345", &tool,
                                       &run->err);
    if (run->status == NACRE_OK)
        run->status = nacre_executor_run(jail.executor, &jail.plan, tool, &jail.request,
                                         run->result, &run->err);
    return NULL;
}

static void an_engine_that_dies_ends_its_commands_and_serves_when_it_is_back(void **state)
{
    char command[1024];
    pthread_t thread;
    struct run run;
    pid_t pid;

    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail.plan.scope_key = (char[]){ "session:death" };
    jail.plan.limits.wall_ms_max = 60000;
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(pthread_create(&thread, NULL, sleep_there, &run), 0);
    while (!jail_has(&jail, "ws/started"))
        (void)usleep(10000);
    assert_true(jail_processes("sleep 37.2345") > 0);
    read_engine(&pid, command, sizeof(command));
    assert_int_equal(kill(pid, SIGKILL), 0);
    (void)pthread_join(thread, NULL);
    assert_int_equal(run.status, NACRE_ERR_IO);
    nacre_result_free(run.result);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "engine"));
    /* Its owner's beats do not come through any more. */
    for (int i = 0; i < 100 && jail_processes("sleep 37.2345") > 0; i++)
        (void)usleep(100000);
    assert_int_equal(jail_processes("sleep 37.2345"), 0);
    start_again(command);
    assert_true(jail_exits(&jail, "echo again", 0));
    assert_true(jail_says(&jail, "again\n"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_ENGINE(an_engine_that_dies_ends_its_commands_and_serves_when_it_is_back),
    };

    return cmocka_run_group_tests_name("dk_death", tests, setup, teardown);
}
