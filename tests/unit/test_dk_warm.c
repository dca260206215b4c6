/* Containers that stay: whom they serve, when they go, and that nothing of a dead owner's
 * stays while nothing of a live one's goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "engine_world.h"
#include "nacre/boxes.h"

#define THREADS 8
#define MIB (UINT64_C(1) << 20)

static char session[] = "session:one";

static void enter_session(void)
{
    jail.plan.scope_key = session;
    jail.plan.scope = NACRE_SCOPE_SESSION;
    jail.plan.limits.processes_max = 64; /* of all that run in it at once */
    jail_mount(&jail, "/workspace", "ws", true, NULL);
}

/* A plan that differs is another plan by its digest, too. */
static void change_plan(void)
{
    jail.plan.digest.bytes[0]++;
    jail.plan.limits.memory_bytes_max += MIB;
}

/* One run beside those of `jail`, in a thread or not. */
struct run {
    const char *text;
    struct nacre_plan plan;
    enum nacre_status status;
    struct nacre_result *result;
    struct nacre_error err;
};

static void *run_it(void *data)
{
    struct run *run = data;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;

    run->status = nacre_result_new(&run->result, &run->err);
    if (run->status == NACRE_OK)
        run->status = nacre_tool_shell(run->text, &tool, &run->err);
    if (run->status == NACRE_OK)
        run->status = nacre_executor_run(jail.executor, &run->plan, tool, &jail.request,
                                         run->result, &run->err);
    return NULL;
}

/* Until `name` is there: a command has come so far. */
static void await_file(const char *name)
{
    const struct timespec pause = { .tv_nsec = 10000000 };

    for (int i = 0; i < 1000 && !jail_has(&jail, name); i++)
        (void)nanosleep(&pause, NULL);
    assert_true(jail_has(&jail, name));
}

static bool exists(const char *name)
{
    NACRE_AUTO(dk_json_guard) json_t *seen = NULL;
    struct nacre_error err;

    return dk_container_inspect(observer, name, SOON, &seen, &err) == NACRE_OK;
}

static void the_next_command_finds_what_the_last_one_left(void **state)
{
    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "echo left >/tmp/left", 0));
    assert_true(jail_exits(&jail, "cat /tmp/left", 0));
    assert_true(jail_says(&jail, "left\n"));
    assert_int_equal(engine_containers(), 1);
    jail.plan.scope_key = (char[]){ "session:two" };
    assert_true(jail_exits(&jail, "cat /tmp/left", 1));
    assert_int_equal(engine_containers(), 2);
}

static void callers_at_once_share_one(void **state)
{
    struct run runs[THREADS];
    pthread_t threads[THREADS];

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(jail_open(&jail), NACRE_OK);
    for (size_t i = 0; i < THREADS; i++) {
        runs[i] = (struct run){ .text = "echo x >>/tmp/all; sleep 0.3; echo $$",
                                .plan = jail.plan };
        assert_int_equal(pthread_create(&threads[i], NULL, run_it, &runs[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        if (runs[i].status != NACRE_OK)
            fail_msg("%s", runs[i].err.text);
        assert_int_equal(runs[i].result->outcome, NACRE_OUTCOME_EXITED);
        nacre_result_free(runs[i].result);
    }
    assert_int_equal(engine_containers(), 1);
    assert_true(jail_exits(&jail, "wc -l </tmp/all", 0));
    assert_true(jail_says(&jail, "8\n"));
}

static void another_configuration_replaces_an_idle_one(void **state)
{
    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "echo left >/tmp/left", 0));
    change_plan();
    assert_true(jail_exits(&jail, "cat /tmp/left", 1));
    assert_true(engine_has(1));
    /* Another digest of a plan that amounts to the same is no other configuration. */
    assert_true(jail_exits(&jail, "echo left >/tmp/left", 0));
    jail.plan.digest.bytes[1]++;
    assert_true(jail_exits(&jail, "cat /tmp/left", 0));
}

static void another_configuration_is_refused_while_a_command_runs(void **state)
{
    struct run run;
    pthread_t thread;

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(jail_open(&jail), NACRE_OK);
    run = (struct run){ .text = "touch /workspace/started; sleep 2; echo done",
                        .plan = jail.plan };
    assert_int_equal(pthread_create(&thread, NULL, run_it, &run), 0);
    await_file("ws/started");
    assert_true(jail_exits(&jail, "true", 0)); /* the same one serves */
    change_plan();
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "another configuration"));
    (void)pthread_join(thread, NULL);
    assert_int_equal(run.status, NACRE_OK);
    assert_string_equal(run.result->output.bytes, "done\n");
    nacre_result_free(run.result);
    assert_true(jail_exits(&jail, "true", 0)); /* and now it is replaced */
    assert_true(engine_has(1));
}

static void callers_with_two_configurations_all_get_an_answer(void **state)
{
    struct run runs[THREADS];
    pthread_t threads[THREADS];

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(jail_open(&jail), NACRE_OK);
    for (size_t i = 0; i < THREADS; i++) {
        if (i % 2)
            change_plan();
        runs[i] = (struct run){ .text = "true", .plan = jail.plan };
        assert_int_equal(pthread_create(&threads[i], NULL, run_it, &runs[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_true(runs[i].status == NACRE_OK ||
                    strstr(runs[i].err.text, "another configuration"));
        nacre_result_free(runs[i].result);
    }
    assert_true(engine_has(1));
}

static void a_directory_that_was_replaced_is_another_sandbox(void **state)
{
    char command[256];

    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "cat /workspace/file", 0));
    (void)snprintf(command, sizeof(command), "cd %s && mv ws old && cp -a ro ws && "
                   "echo -n other >ws/file", jail.top);
    assert_int_equal(system(command), 0);
    assert_true(jail_exits(&jail, "cat /workspace/file", 0));
    assert_true(jail_says(&jail, "other"));
}

static void a_denied_file_stays_denied_when_an_editor_replaces_it(void **state)
{
    char command[256];

    NEEDS_ENGINE();
    enter_session();
    jail_deny(&jail, "a/b/deep");
    assert_true(jail_exits(&jail, "cat /workspace/a/b/deep", 1));
    (void)snprintf(command, sizeof(command), "cd %s/ws/a/b && cp -p deep new && "
                   "mv new deep", jail.top);
    assert_int_equal(system(command), 0);
    assert_true(jail_exits(&jail, "cat /workspace/a/b/deep", 1));
    assert_non_null(strstr(jail.result->errors.bytes, "Permission denied"));
}

static void a_guest_that_kills_all_it_can_costs_nobody_else(void **state)
{
    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "true", 0));
    (void)jail_run(&jail, "kill -9 -1; echo survived");
    assert_true(jail_exits(&jail, "echo fine", 0));
    assert_true(jail_says(&jail, "fine\n"));
}

/* A second client of the engine gets the same stream, and can write to it. */
static void a_stranger_on_the_stream_costs_the_sandbox_and_mixes_nothing(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    struct dk_stream *stream = NULL;
    struct nacre_error err;
    char garbage[256], id[DK_ID] = "";
    int failed = 0;

    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(dk_container_list(observer, DK_TOKEN_LABEL, SOON, &list, &err),
                     NACRE_OK);
    memset(garbage, 0xff, sizeof(garbage));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *scope = json_string_value(
            json_object_get(json_object_get(one, "Labels"), "nacre.scope"));

        if (!scope || strcmp(scope, session) != 0)
            continue;
        (void)snprintf(id, sizeof(id), "%s",
                       json_string_value(json_object_get(one, "Id")));
        assert_int_equal(dk_attach(observer, id, SOON, &stream, &err), NACRE_OK);
        assert_int_equal(dk_stream_write(stream, garbage, sizeof(garbage)),
                         sizeof(garbage));
        break;
    }
    assert_non_null(stream);
    /* It takes its time through the engine; then at most one command is hit. */
    for (int i = 0; i < 500 && failed == 0 && exists(id); i++) {
        failed += jail_run(&jail, "echo mine") != NACRE_OK;
        assert_true(failed > 0 || jail_says(&jail, "mine\n"));
    }
    assert_true(jail_exits(&jail, "echo mine", 0));
    assert_true(jail_says(&jail, "mine\n"));
    assert_false(exists(id));
    dk_stream_free(stream);
}

/* ---- looking after them ---- */

static bool count_one(void *data, const struct nacre_box_info *info)
{
    assert_string_equal(info->scope_key, session);
    assert_int_equal(info->owner_pid, getpid());
    (*(uint32_t *)data)++;
    return true;
}

static bool take_all(void *data, const struct nacre_box_info *info)
{
    (void)data;
    (void)info;
    return true;
}

static void a_live_one_is_only_ended_by_force(void **state)
{
    struct run run;
    pthread_t thread;
    uint32_t count = 0;

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(jail_open(&jail), NACRE_OK);
    nacre_container_boxes_list(jail.executor, count_one, &count);
    assert_int_equal(count, 0);
    run = (struct run){ .text = "touch /workspace/started; sleep 31.2345",
                        .plan = jail.plan };
    assert_int_equal(pthread_create(&thread, NULL, run_it, &run), 0);
    await_file("ws/started");
    nacre_container_boxes_list(jail.executor, count_one, &count);
    assert_int_equal(count, 1);
    assert_int_equal(nacre_container_boxes_end(jail.executor, false, take_all, NULL), 0);
    assert_int_equal(engine_containers(), 1);
    assert_int_equal(nacre_container_boxes_end(jail.executor, true, take_all, NULL), 1);
    (void)pthread_join(thread, NULL);
    assert_int_equal(run.status, NACRE_OK);
    assert_int_equal(run.result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(run.result->signal, SIGKILL);
    assert_non_null(strstr(run.result->reason, "its sandbox was ended"));
    nacre_result_free(run.result);
    assert_true(engine_has(0));
    assert_int_equal(jail_processes("31.2345"), 0);
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(nacre_container_boxes_end(jail.executor, false, take_all, NULL), 1);
    assert_true(engine_has(0));
}

/* ---- the registry ---- */

static uint32_t registered(void)
{
    const struct timespec pause = { .tv_nsec = 20000000 };
    struct nacre_error err;
    uint32_t count = 0;

    for (int i = 0; i < 150 && count == 0; i++) {
        enum nacre_status status =
            nacre_boxes_read(jail.state, count_one, &count, &err);

        if (status != NACRE_OK && status != NACRE_ERR_NOT_FOUND)
            fail_msg("%s", err.text);
        (void)nanosleep(&pause, NULL);
    }
    return count;
}

static void the_registry_tells_what_is_there_and_is_made_anew_when_broken(void **state)
{
    static const char *const broken[] = {
        "", "{", "[]", "{\"boxes\":{}}", "{\"boxes\":[1]}",
        "{\"boxes\":[{\"id\":\"x\"}]}",
    };
    struct nacre_error err;
    uint32_t count = 0;

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(nacre_boxes_read(jail.state, count_one, &count, &err), NACRE_OK);
    assert_int_equal(count, 0);
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(registered(), 1);
    for (size_t i = 0; i < NACRE_COUNT(broken); i++) {
        char path[160];
        NACRE_AUTO(nacre_fd_guard) int fd = -1;

        (void)snprintf(path, sizeof(path), "%s/boxes/registry.json", jail.state);
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, broken[i], strlen(broken[i])), strlen(broken[i]));
        count = 0;
        assert_int_equal(nacre_boxes_read(jail.state, count_one, &count, &err),
                         NACRE_ERR_PARSE);
        assert_int_equal(count, 0);
        change_plan(); /* the next change writes it */
        assert_true(jail_exits(&jail, "true", 0));
        for (int k = 0; k < 100 && nacre_boxes_read(jail.state, take_all, NULL, &err) !=
                                       NACRE_OK; k++)
            (void)usleep(20000);
        assert_int_equal(registered(), 1);
    }
}

/* ---- owners that die ---- */

/* In a child: a warm sandbox with a command in it, until somebody kills us. */
static int own_and_wait(void)
{
    enter_session();
    (void)jail_run(&jail, "touch /workspace/started; sleep 41.2345");
    return 0;
}

static void a_killed_owner_leaves_nothing(void **state)
{
    pid_t pid;
    int status;

    NEEDS_ENGINE();
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(own_and_wait());
    await_file("ws/started");
    assert_true(engine_has(1));
    assert_true(jail_processes("41.2345") > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(engine_has(0));
    assert_true(jail_all_gone("41.2345"));
    enter_session();
    assert_true(jail_exits(&jail, "true", 0)); /* and the next one is not in its way */
}

static struct dk_created leave_one(const struct dk_owner *owner, struct dk_client *client,
                                   const char *name)
{
    char uid[16];
    struct dk_created created = { .id = "" };
    struct nacre_error err;
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;

    (void)snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
    body = json_pack("{s:s, s:{s:s, s:s}}", "Image", ENGINE_IMAGE, "Labels",
                     DK_OWNER_LABEL, uid, DK_TOKEN_LABEL, dk_owner_token(owner));
    if (dk_container_create(client, name, body, SOON, &created, &err) != NACRE_OK)
        print_message("%s\n", err.text);
    return created;
}

/* In a child that dies: created and never started, which no engine ends by itself. */
static int leave_and_die(void)
{
    struct dk_client *client = NULL;
    struct dk_owner *owner = NULL;
    struct nacre_error err;

    if (dk_owner_open(jail.state, &owner, &err) != NACRE_OK ||
        dk_client_open(dk_client_endpoint(observer), SOON, &client, &err) != NACRE_OK)
        return 1;
    return leave_one(owner, client, "nacre-test-orphan").id[0] ? 0 : 1;
}

static void leftovers_of_the_dead_are_removed_and_never_a_live_owners(void **state)
{
    NACRE_AUTO(dk_owner_guard) struct dk_owner *live = NULL;
    NACRE_AUTO(dk_owner_guard) struct dk_owner *elsewhere = NULL;
    char other[160];
    struct nacre_error err;
    int status;
    pid_t pid;

    NEEDS_ENGINE();
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(leave_and_die());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(dk_owner_open(jail.state, &live, &err), NACRE_OK);
    (void)leave_one(live, observer, "nacre-test-live");
    /* Dead or alive, whom another state directory knows is not ours to judge. */
    (void)snprintf(other, sizeof(other), "%s/other-state", jail.top);
    assert_int_equal(dk_owner_open(other, &elsewhere, &err), NACRE_OK);
    (void)leave_one(elsewhere, observer, "nacre-test-elsewhere");
    dk_owner_free(dk_owner_take(&elsewhere));
    assert_true(exists("nacre-test-orphan"));
    assert_true(jail_exits(&jail, "true", 0));
    assert_false(exists("nacre-test-orphan"));
    assert_true(exists("nacre-test-live"));
    assert_true(exists("nacre-test-elsewhere"));
    assert_int_equal(dk_container_remove(observer, "nacre-test-live", SOON, &err),
                     NACRE_OK);
    assert_int_equal(dk_container_remove(observer, "nacre-test-elsewhere", SOON, &err),
                     NACRE_OK);
}

static void who_is_dead_is_told_by_its_lock_alone(void **state)
{
    NACRE_AUTO(dk_owner_guard) struct dk_owner *owner = NULL;
    NACRE_AUTO(dk_owner_guard) struct dk_owner *second = NULL;
    static const char *const none[] = { "", "x", "../../etc/passwd",
                                        "0123456789abcdef-0123456789abcdef",
                                        "0123456789abcdef-0123456789abcdeG" };
    char token[DK_TOKEN], name[DK_NAME], again[DK_NAME];
    struct nacre_error err;

    NEEDS_ENGINE();
    assert_int_equal(dk_owner_open(jail.state, &owner, &err), NACRE_OK);
    assert_int_equal(dk_owner_open(jail.state, &second, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(none); i++) {
        assert_false(dk_owner_is_dead(dk_owner_dir(owner), none[i]));
        assert_false(dk_owner_lives(dk_owner_dir(owner), none[i]));
    }
    assert_false(dk_owner_is_dead(dk_owner_dir(owner), dk_owner_token(owner)));
    assert_true(dk_owner_lives(dk_owner_dir(owner), dk_owner_token(second)));
    assert_false(dk_owner_is_dead(dk_owner_dir(owner), dk_owner_token(second)));
    (void)snprintf(token, sizeof(token), "%s", dk_owner_token(second));
    dk_owner_free(dk_owner_take(&second));
    assert_true(dk_owner_is_dead(dk_owner_dir(owner), token));
    dk_owner_name(owner, name);
    dk_owner_name(owner, again);
    assert_string_not_equal(name, again);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        /* Those that fork come first, before there is a thread. */
        IN_ENGINE(a_killed_owner_leaves_nothing),
        IN_ENGINE(leftovers_of_the_dead_are_removed_and_never_a_live_owners),
        IN_ENGINE(who_is_dead_is_told_by_its_lock_alone),
        IN_ENGINE(the_next_command_finds_what_the_last_one_left),
        IN_ENGINE(callers_at_once_share_one),
        IN_ENGINE(another_configuration_replaces_an_idle_one),
        IN_ENGINE(another_configuration_is_refused_while_a_command_runs),
        IN_ENGINE(callers_with_two_configurations_all_get_an_answer),
        IN_ENGINE(a_directory_that_was_replaced_is_another_sandbox),
        IN_ENGINE(a_denied_file_stays_denied_when_an_editor_replaces_it),
        IN_ENGINE(a_guest_that_kills_all_it_can_costs_nobody_else),
        IN_ENGINE(a_stranger_on_the_stream_costs_the_sandbox_and_mixes_nothing),
        IN_ENGINE(a_live_one_is_only_ended_by_force),
        IN_ENGINE(the_registry_tells_what_is_there_and_is_made_anew_when_broken),
    };

    return cmocka_run_group_tests_name("dk_warm", tests, engine_setup, engine_teardown);
}
