/* Commands by way of the keeper, with an executor that plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "engine.h"
#include "message.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"
#include "scene.h"
#include "socket.h"
#include "warm_keeper.h"
#include "warm_plan.h"
#include "wire.h"

#define SOON message_within_ms(5000)

static struct warm_keeper keeper;
static struct nacre_executor *client;
static struct nacre_plan *plan;
static const char *const protected_paths[] = { "/state", "audit.jsonl", NULL };

static int setup(void **state)
{
    const struct nacre_executor_options options = {
        .state_dir = ".", .protected_paths = protected_paths
    };
    struct nacre_error err;

    if (scene_clear(state) != 0)
        return -1;
    warm_keeper_init(&keeper, ".");
    warm_keeper_start(&keeper);
    plan = warm_plan("session:s");
    return nacre_keeper_executor.open(&options, &client, &err) == NACRE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    nacre_plan_free(plan);
    nacre_keeper_executor.free(client);
    return warm_keeper_stop(&keeper) == NACRE_OK ? 0 : -1;
}

#define WITH_KEEPER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const char *const say[] = { "say", "one", "two", NULL };
static const char *const wait_[] = { "wait", NULL };
static const char *const cat[] = { "cat", NULL };
static const char *const flood[] = { "flood", NULL };
static const char *const fails[] = { "fail", NULL };
static const char *const shows[] = { "plan", NULL };

static enum nacre_status run(const char *const *argv, const struct nacre_request *request,
                             struct nacre_result **ret_result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;

    if (nacre_tool_command(argv, &tool, err) != NACRE_OK ||
        nacre_result_new(ret_result, err) != NACRE_OK)
        abort();
    (void)snprintf((*ret_result)->run_id, NACRE_RUN_ID, "0123456789abcdef");
    client->ops->probe(client, ~UINT32_C(0));
    return nacre_executor_run(client, plan, tool, request, *ret_result, err);
}

/* ---- like any other executor ---- */

static void a_run_ends_like_any_other(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(run(say, &request, &result, &err), NACRE_OK);
    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 7);
    assert_string_equal(result->output.bytes, "onetwo");
    assert_string_equal(result->errors.bytes, "err");
    assert_int_equal(result->usage.cpu_ns, 12345);
    assert_int_equal(client->features, NACRE_FEATURE_NATIVE | NACRE_FEATURE_WARM);
    assert_int_equal(result->mechanism_count, 1);
    assert_string_equal(result->mechanisms[0].name, "played");
    assert_string_equal(result->mechanisms[0].detail, "by a test \xff");
    assert_true(result->mechanisms[0].present);
}

static void on_output(void *data, int stream, const char *bytes, size_t count)
{
    struct nacre_buf *seen = data;
    struct nacre_error err;

    assert_int_equal(nacre_buf_addf(seen, &err, "%d:%.*s ", stream, (int)count, bytes),
                     NACRE_OK);
}

static void output_is_handed_on_as_it_comes(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf seen = NACRE_BUF(1000);
    const struct nacre_request request = { .input_fd = -1, .on_output = on_output,
                                           .on_output_data = &seen, .stream_only = true };
    struct nacre_error err;

    (void)state;
    assert_int_equal(run(say, &request, &result, &err), NACRE_OK);
    assert_string_equal(seen.bytes, "1:one 1:two 2:err ");
    assert_int_equal(result->output.size + result->errors.size, 0);
}

static void input_is_handed_over(void **state)
{
    int ends[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
        struct nacre_request request = { .input_fd = -1 };
        struct nacre_error err;

        if (i == 1) {
            assert_int_equal(pipe(ends), 0);
            assert_int_equal(write(ends[1], "through", 7), 7);
            (void)close(ends[1]);
            request.input_fd = ends[0];
        }
        assert_int_equal(run(cat, &request, &result, &err), NACRE_OK);
        assert_string_equal(result->output.bytes, i == 1 ? "through" : "-");
        if (i == 1)
            (void)close(ends[0]);
    }
}

/* Whoever holds a terminal reads what is typed for others. */
static void a_terminal_stays_with_its_own_process(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    NACRE_AUTO(nacre_fd_guard) int master = posix_openpt(O_RDWR | O_NOCTTY);
    NACRE_AUTO(nacre_fd_guard) int terminal = -1;
    struct nacre_request request;
    struct nacre_error err;

    (void)state;
    assert_int_equal(grantpt(master) | unlockpt(master), 0);
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(isatty(terminal));
    assert_int_equal(write(master, "typed\n\x04", 7), 7);
    request = (struct nacre_request){ .input_fd = terminal };
    assert_int_equal(run(cat, &request, &result, &err), NACRE_OK);
    assert_string_equal(result->output.bytes, "typed\n");
}

/* Its sandbox is another process's. */
static void nobody_dials_into_a_sandbox_of_the_keepers(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1, .dial_fd = 1 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(run(say, &request, &result, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "connections into a sandbox"));
}

static void a_failure_is_told_as_it_was(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(run(fails, &request, &result, &err), NACRE_ERR_NOT_RUNNABLE);
    assert_int_equal(err.status, NACRE_ERR_NOT_RUNNABLE);
    assert_string_equal(err.text, "it can't \xff");
}

static void the_executor_gets_what_the_client_knows(void **state)
{
    static const char *const environment[] = { "A=1", NULL };
    static const char *const arguments[] = { "last", NULL };
    static const struct nacre_secret_file file = { "f", (const unsigned char *)"v1", 3 };
    static struct nacre_secret secret = { .name = "s",
                                          .value = (const unsigned char *)"v2",
                                          .count = 3 };
    static const struct nacre_secret_set granted = { .items = &secret, .count = 1 };
    const struct nacre_request request = { .input_fd = -1, .environment = environment,
                                           .arguments = arguments, .granted = &granted,
                                           .secret_files = &file,
                                           .secret_file_count = 1 };
    char expected[1024], hex[NACRE_HEX], before[NACRE_HEX] = "";
    struct nacre_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        assert_int_equal(run(shows, &request, &result, &err), NACRE_OK);
        (void)snprintf(expected, sizeof(expected),
                       "/srv/w/secret\n/etc/shadow\n/state\n%s/audit.jsonl\n"
                       "0123456789abcdefA=1fv1sv2last",
                       scene_top);
        assert_string_equal(result->output.bytes, expected);
        /* Other paths to protect, another sandbox; the same ones, the same. */
        assert_string_not_equal(result->errors.bytes,
                                nacre_digest_hex(&plan->digest, hex));
        if (i == 1)
            assert_string_equal(result->errors.bytes, before);
        (void)snprintf(before, sizeof(before), "%s", result->errors.bytes);
    }
}

/* ---- ending early ---- */

struct running {
    const char *const *argv;
    struct nacre_request request;
    struct nacre_result *result;
    struct nacre_error err;
    enum nacre_status status;
    pthread_t thread;
};

static void *run_one(void *data)
{
    struct running *running = data;

    running->status = run(running->argv, &running->request, &running->result,
                          &running->err);
    return NULL;
}

static void begin(struct running *running)
{
    assert_int_equal(pthread_create(&running->thread, NULL, run_one, running), 0);
}

static void finish(struct running *running, int signal)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

    assert_int_equal(pthread_join(running->thread, NULL), 0);
    result = running->result;
    assert_int_equal(running->status, NACRE_OK);
    assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result->signal, signal);
}

static bool one_has_begun(void)
{
    return warm_begun == 1;
}

static bool two_have_begun(void)
{
    return warm_begun == 2;
}

static bool one_has_ended(void)
{
    return warm_ended == 1;
}

static bool two_have_ended(void)
{
    return warm_ended == 2;
}

static void a_cancelled_run_ends_alone(void **state)
{
    _Atomic int ends_first = 0;
    struct running first = { wait_, { .input_fd = -1, .cancelled = &ends_first } };
    struct running second = { wait_, { .input_fd = -1 } };

    (void)state;
    begin(&first);
    begin(&second);
    assert_true(warm_soon(two_have_begun));
    atomic_store(&ends_first, SIGINT);
    finish(&first, SIGINT);
    assert_int_equal(warm_ended, 1);
    client->ops->cancel(client, SIGHUP);
    finish(&second, SIGHUP);
    client->ops->cancel(client, 0);
}

static void a_run_under_a_standing_cancel_ends_at_once(void **state)
{
    struct running running = { wait_, { .input_fd = -1 } };

    (void)state;
    client->ops->cancel(client, SIGTERM);
    begin(&running);
    finish(&running, SIGTERM);
}

static json_t *order_of(const char *const *argv)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    const struct nacre_request request = { 0 };
    struct nacre_error err;

    assert_int_equal(nacre_tool_command(argv, &tool, &err), NACRE_OK);
    return json_pack("{s:o, s:o, s:o, s:o, s:s}", "engine",
                     keeper_engine(&(struct keeper_configured){ 0 }), "plan",
                     nacre_wire_plan(plan), "tool", nacre_wire_tool(tool), "request",
                     nacre_wire_request(&request), "run_id", "1");
}

static int raw_client(void)
{
    char version[KEEPER_VERSION];
    struct nacre_error err;
    int fd = -1;

    assert_int_equal(keeper_connect(".", version, &fd, &err), NACRE_OK);
    assert_true(keeper_is_same(version));
    return fd;
}

static void a_client_that_dies_takes_its_command_with_it(void **state)
{
    int fd = raw_client();
    struct nacre_error err;

    (void)state;
    assert_int_equal(message_send_json(fd, MESSAGE_RUN, order_of(wait_), -1, SOON, &err),
                     NACRE_OK);
    assert_true(warm_soon(one_has_begun));
    (void)poll(NULL, 0, 50);
    assert_int_equal(warm_ended, 0);
    (void)close(fd);
    assert_true(warm_soon(one_has_ended));
}

static void a_client_that_talks_out_of_turn_loses_its_command(void **state)
{
    static const enum message_kind kinds[] = { MESSAGE_LIST, MESSAGE_RUN, MESSAGE_HELLO };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(kinds); i++) {
        NACRE_AUTO(nacre_fd_guard) int fd = raw_client();
        struct nacre_error err;

        atomic_store(&warm_begun, 0);
        atomic_store(&warm_ended, 0);
        assert_int_equal(message_send_json(fd, MESSAGE_RUN, order_of(wait_), -1, SOON,
                                           &err),
                         NACRE_OK);
        assert_true(warm_soon(one_has_begun));
        assert_int_equal(message_send(fd, kinds[i], "{}", 2, -1, SOON, &err), NACRE_OK);
        assert_true(warm_soon(one_has_ended));
    }
}

static void a_slow_client_holds_up_nobody_else(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1 };
    int fd = raw_client();
    struct nacre_error err;

    (void)state;
    assert_int_equal(message_send_json(fd, MESSAGE_RUN, order_of(flood), -1, SOON, &err),
                     NACRE_OK);
    assert_true(warm_soon(one_has_begun));
    assert_int_equal(run(say, &request, &result, &err), NACRE_OK);
    assert_string_equal(result->output.bytes, "onetwo");
    assert_int_equal(warm_ended, 1);
    (void)close(fd);
    assert_true(warm_soon(two_have_ended));
}

static void many_run_at_the_same_time(void **state)
{
    struct running all[40];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(all); i++) {
        all[i] = (struct running){ say, { .input_fd = -1 } };
        begin(&all[i]);
    }
    for (size_t i = 0; i < NACRE_COUNT(all); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        assert_int_equal(pthread_join(all[i].thread, NULL), 0);
        result = all[i].result;
        assert_int_equal(all[i].status, NACRE_OK);
        assert_string_equal(result->output.bytes, "onetwo");
    }
    assert_int_equal(warm_ended, NACRE_COUNT(all));
}

/* ---- orders that are none ---- */

static void assert_refused(json_t *order, const char *words)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(4096);
    NACRE_AUTO(nacre_fd_guard) int fd = raw_client();
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;

    assert_int_equal(message_send_json(fd, MESSAGE_RUN, order, -1, SOON, &err), NACRE_OK);
    assert_int_equal(message_receive(fd, SOON, &kind, &bytes, NULL, &err), NACRE_OK);
    assert_int_equal(kind, MESSAGE_FAILURE);
    if (!strstr(bytes.bytes, words))
        fail_msg("%s", bytes.bytes);
    assert_int_equal(warm_begun, 0);
}

static void an_order_that_is_none_starts_nothing(void **state)
{
    char long_key[300] = "";
    json_t *order = order_of(say);

    (void)state;
    assert_int_equal(json_object_del(order, "run_id"), 0);
    assert_refused(order, "no run for a keeper");
    order = order_of(say);
    assert_int_equal(json_object_set_new(order, "more", json_null()), 0);
    assert_refused(order, "no run for a keeper");
    order = order_of(say);
    assert_int_equal(json_object_set_new(order, "run_id",
                                         json_sprintf("%0*d", NACRE_RUN_ID, 1)),
                     0);
    assert_refused(order, "no run for a keeper");
    assert_refused(json_object(), "another DOCKER_HOST");
    order = order_of(say);
    assert_int_equal(json_object_del(order, "plan"), 0);
    assert_refused(order, "don't understand each other");
    plan->level = NACRE_LEVEL_PROCESS;
    assert_refused(order_of(say), "nothing else");
    plan->level = NACRE_LEVEL_CONTAINER;
    plan->required |= NACRE_FEATURE_CPUS;
    assert_refused(order_of(say), "can't enforce any more");
    /* The client believes that it holds, and would tell so. */
    plan->waivable |= NACRE_FEATURE_CPUS;
    assert_refused(order_of(say), "can't enforce any more");
    plan->waivable &= ~(uint64_t)NACRE_FEATURE_CPUS;
    plan->required &= ~(uint32_t)NACRE_FEATURE_CPUS;
    free(plan->scope_key);
    memset(long_key, 'k', sizeof(long_key) - 1);
    plan->scope_key = strdup(long_key);
    assert_refused(order_of(say), "at most");
    free(plan->scope_key);
    plan->scope_key = NULL;
    assert_refused(order_of(say), "nothing else");
}

static void another_engine_is_not_mistaken_for_this_one(void **state)
{
    json_t *order = order_of(say), *engine = json_object_get(order, "engine");

    (void)state;
    assert_int_equal(json_object_set_new(engine, "DOCKER_HOST",
                                         json_pack("{s:s}", "text", "tcp://other")),
                     0);
    assert_refused(order, "another DOCKER_HOST");
    order = order_of(say);
    assert_int_equal(json_object_set_new(json_object_get(order, "engine"), "more",
                                         json_null()),
                     0);
    assert_refused(order, "'engine'");
}

/* ---- a keeper that is none ---- */

struct lies {
    const char *hello;
    struct {
        enum message_kind kind;
        const char *bytes;
    } said[2];
    int listening;
};

static void *lie(void *data)
{
    struct lies *lies = data;
    struct nacre_error err;
    int fd = accept(lies->listening, NULL, NULL);

    if (lies->hello)
        (void)!message_send(fd, MESSAGE_HELLO, lies->hello, strlen(lies->hello), -1, SOON,
                            &err);
    for (size_t i = 0; i < 2 && lies->said[i].kind; i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
        enum message_kind kind;

        if (i == 0)
            (void)!message_receive(fd, SOON, &kind, &bytes, NULL, &err);
        (void)!message_send(fd, lies->said[i].kind, lies->said[i].bytes,
                            strlen(lies->said[i].bytes), -1, SOON, &err);
    }
    (void)shutdown(fd, SHUT_WR);
    while (read(fd, &err, sizeof(err)) > 0)
        ;
    (void)close(fd);
    return NULL;
}

static enum nacre_status run_with(struct lies *lies, struct nacre_error *err)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = -1 };
    enum nacre_status status;
    pthread_t thread;

    assert_int_equal(keeper_listen(".", &lies->listening, err), NACRE_OK);
    (void)fcntl(lies->listening, F_SETFL, 0);
    assert_int_equal(pthread_create(&thread, NULL, lie, lies), 0);
    atomic_store(&client->features, NACRE_FEATURE_NATIVE | NACRE_FEATURE_WARM);
    status = run(say, &request, &result, err);
    (void)shutdown(lies->listening, SHUT_RDWR);
    (void)pthread_join(thread, NULL);
    (void)close(lies->listening);
    return status;
}

static void a_keeper_that_dies_or_lies_is_a_failure_of_the_host(void **state)
{
    const struct {
        struct lies lies;
        enum nacre_status status;
    } rows[] = {
        { { keeper_own_version, { { 0 } } }, NACRE_ERR_BACKEND },
        { { keeper_own_version, { { MESSAGE_OUTPUT, "\x01out" } } }, NACRE_ERR_BACKEND },
        { { keeper_own_version, { { MESSAGE_OUTPUT, "\x03out" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_OUTPUT, "" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_RESULT, "{}" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_RESULT, "no JSON" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_FAILURE, "{}" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_ANSWER, "{}" } } }, NACRE_ERR_PARSE },
        { { keeper_own_version, { { MESSAGE_QUIT, "{}" } } }, NACRE_ERR_PARSE },
        { { "nacre of old", { { MESSAGE_ANSWER, "busy" } } }, NACRE_ERR_UNAVAILABLE },
        { { "nacre of old", { { MESSAGE_RESULT, "" } } }, NACRE_ERR_PARSE },
    };

    (void)state;
    assert_int_equal(warm_keeper_stop(&keeper), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct lies lies = rows[i].lies;
        struct nacre_error err = { .text = "" };

        if (run_with(&lies, &err) != rows[i].status)
            fail_msg("row %zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_KEEPER(a_run_ends_like_any_other),
        WITH_KEEPER(output_is_handed_on_as_it_comes),
        WITH_KEEPER(input_is_handed_over),
        WITH_KEEPER(a_terminal_stays_with_its_own_process),
        WITH_KEEPER(a_failure_is_told_as_it_was),
        WITH_KEEPER(nobody_dials_into_a_sandbox_of_the_keepers),
        WITH_KEEPER(the_executor_gets_what_the_client_knows),
        WITH_KEEPER(a_cancelled_run_ends_alone),
        WITH_KEEPER(a_run_under_a_standing_cancel_ends_at_once),
        WITH_KEEPER(a_client_that_dies_takes_its_command_with_it),
        WITH_KEEPER(a_client_that_talks_out_of_turn_loses_its_command),
        WITH_KEEPER(a_slow_client_holds_up_nobody_else),
        WITH_KEEPER(many_run_at_the_same_time),
        WITH_KEEPER(an_order_that_is_none_starts_nothing),
        WITH_KEEPER(another_engine_is_not_mistaken_for_this_one),
        WITH_KEEPER(a_keeper_that_dies_or_lies_is_a_failure_of_the_host),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
