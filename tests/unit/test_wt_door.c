/*
 * A guest's way out, from the SDK in a real module to the door's end of its line; and
 * secrets that a run is given.  The doors are the test's own (guest_doors.h).  Each test
 * runs twice: with workers, and in this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guest_doors.h"
#include "nacre/clock.h"
#include "nacre/executor.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"
#include "scene.h"
#include "wt_door.h"

#define SECRET "k3y-0f-th3-v4ult-7Q"

static const char open_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: open}\nspec:\n  level: wasm\n"
    "  capabilities: {network: {mode: allowlist, allowed_hosts: [a.example]}}\n"
    "  resource_limits: {timeout_ms: 20000}\n";
static const char hasty_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: hasty}\nspec:\n  level: wasm\n"
    "  capabilities: {network: {mode: allowlist, allowed_hosts: [a.example]}}\n"
    "  resource_limits: {timeout_ms: 300}\n";
static const char shut_policy[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: shut}\nspec:\n  level: wasm\n"
    "  capabilities:\n    network: {mode: deny}\n"
    "  resource_limits: {timeout_ms: 20000}\n";

struct world {
    struct nacre_executor *executor;
    bool in_process;
};

static int set_up(void **state, struct nacre_executor_options options)
{
    static struct world world;
    struct nacre_error err;

    memset(&guest_doors, 0, sizeof(guest_doors));
    options.doors = (struct nacre_doors *)&guest_doors;
    options.cache_dir = "cache";
    options.key_dir = "keys";
    world.in_process = options.in_process;
    *state = &world;
    if (nacre_wasm_executor.open(&options, &world.executor, &err) == NACRE_OK)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int set_up_workers(void **state)
{
    return set_up(state, (struct nacre_executor_options){ .in_process = false });
}

static int set_up_in_process(void **state)
{
    return set_up(state, (struct nacre_executor_options){ .in_process = true });
}

static int set_up_single(void **state)
{
    return set_up(state, (struct nacre_executor_options){ .single_run = true });
}

static int tear_down(void **state)
{
    struct world *world = *state;

    nacre_wasm_executor.free(world->executor);
    return guest_doors.open == 0 ? 0 : -1; /* every door was given back */
}

/* ---- a run ---- */

struct run {
    const char *policy, *guest;
    const char *const *arguments;
    struct nacre_request more; /* secrets and callbacks */
};

static enum nacre_status try_run(const struct world *world, const struct run *run,
                                 struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct nacre_executor *executor = NULL;
    struct nacre_request request = run->more;
    char path[NACRE_PATH_MAX];
    enum nacre_status status;

    request.arguments = run->arguments;
    request.input_fd = -1;
    (void)snprintf(path, sizeof(path), "%s/%s.wasm", NACRE_GUESTS_DIR, run->guest);
    if (nacre_policy_parse("p.yaml", run->policy, strlen(run->policy), &policy, err) !=
            NACRE_OK ||
        nacre_tool_load(path, &tool, err) != NACRE_OK ||
        nacre_plan_make(policy, &request, &plan, result, err) != NACRE_OK)
        fail_msg("%s", err->text);
    (void)strcpy(result->run_id, "0123456789abcdef");
    status = nacre_executor_select(&world->executor, 1, plan, &executor, result, err);
    return status == NACRE_OK
               ? nacre_executor_run(executor, plan, tool, &request, result, err)
               : status;
}

static __attribute__((noinline)) struct nacre_result *new_result(void)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    return result;
}

static struct nacre_result *run_it(const struct world *world, const struct run *run)
{
    struct nacre_result *result = new_result();
    struct nacre_error err;

    if (try_run(world, run, result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return result;
}

#define FETCH(policy_text, ...)                         \
    (struct run){ .policy = (policy_text), .guest = "fetch", \
                  .arguments = (const char *const[]){ __VA_ARGS__, NULL } }

static void assert_fetches(const struct world *world)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(world, &FETCH(open_policy, "https://a.example/ok"));

    assert_string_equal(result->output.bytes, "status 200\n\nhello");
    assert_int_equal(result->exit_status, NACRE_HTTP_OK);
}

static void assert_says(const struct nacre_buf *text, const char *part)
{
    if (!text->size || !strstr(text->bytes, part))
        fail_msg("'%s' is not in '%s'", part, text->size ? text->bytes : "");
}

/* ---- requests ---- */

static void a_guest_fetches_through_its_door(void **state)
{
    uint64_t now = nacre_clock_ns();
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(*state, &FETCH(open_policy, "-X", "PUT", "-i", "x-method", "-i",
                              "content-type", "https://a.example/ok"));

    assert_string_equal(result->output.bytes, "status 200\nx-method: PUT\n"
                                              "content-type: text/plain\n\nhello");
    assert_int_equal(result->errors.size, 0);
    assert_int_equal(guest_doors.got, 1);
    assert_int_equal(guest_doors.served, 1);
    assert_int_equal(guest_doors.begun, 1);
    assert_int_equal(guest_doors.ended, 1);
    assert_string_equal(guest_doors.run_id, "0123456789abcdef");
    assert_true(guest_doors.deadline_ns > now + 19 * NACRE_NS_PER_S &&
                guest_doors.deadline_ns < now + 60 * NACRE_NS_PER_S);
    /* What the door has to say of the run is in its result. */
    assert_int_equal(result->egress_seen, 1);
    assert_int_equal(result->denial_count, 1);
    assert_string_equal(result->denials[0].text, "from the door");
}

static void bodies_go_both_ways_whole(void **state)
{
    static char body[100000];
    NACRE_AUTO(nacre_result_guard) struct nacre_result *echo = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *big = NULL;

    memset(body, 'e', sizeof(body) - 1);
    echo = run_it(*state, &FETCH(open_policy, "-X", "POST", "-d", body, "-H", "X-A: 1",
                                 "-i", "x-a", "https://a.example/echo"));
    assert_int_equal(echo->output.size, strlen("status 200\nx-a: 1\n\n") + strlen(body));
    assert_string_equal(echo->output.bytes + strlen("status 200\nx-a: 1\n\n"), body);
    big = run_it(*state, &FETCH(open_policy, "https://a.example/big"));
    assert_int_equal(big->output.size, strlen("status 200\n\n") + 600000);
}

static void a_refusal_is_told_in_the_doors_words(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(*state, &FETCH(open_policy, "https://evil.example/denied"));

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, NACRE_HTTP_DENIED);
    assert_says(&result->errors,
                "denied: evil.example is not on the policy's allowed_hosts");
}

static void without_a_network_there_is_no_door(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(*state, &FETCH(shut_policy, "https://a.example/ok?key=1"));

    assert_int_equal(result->exit_status, NACRE_HTTP_DENIED);
    assert_says(&result->errors, "no network");
    assert_int_equal(guest_doors.got, 0);
    assert_int_equal(result->denial_count, 1);
    assert_string_equal(result->denials[0].code, "no-network");
    assert_string_equal(result->denials[0].rule, "capabilities.network.mode");
    assert_string_equal(result->denials[0].text, "no-network: a.example");
    assert_int_equal(result->denials[0].place.line, 7);
}

/* ---- whose door it is ---- */

static void the_next_run_of_the_same_has_the_same_door(void **state)
{
    assert_fetches(*state);
    assert_fetches(*state);
    assert_fetches(*state);
    assert_int_equal(guest_doors.got, 1);
    assert_int_equal(guest_doors.served, 1);
    assert_int_equal(guest_doors.begun, 3);
    assert_int_equal(guest_doors.ended, 3);
    assert_int_equal(guest_doors_line()->asked, 3);
    assert_int_equal(guest_doors_line()->misuses, 0);
}

/* Responses that a guest left open are the door's to close: the next one has all. */
static void what_a_guest_leaves_open_takes_nothing_from_the_next(void **state)
{
    for (int i = 0; i < 3; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run_it(*state, &FETCH(open_policy, "https://a.example/cut"));

        assert_int_equal(result->exit_status, NACRE_HTTP_PROTOCOL);
    }
    assert_int_equal(guest_doors.got, 1);
}

static void a_door_with_secrets_serves_one_run(void **state)
{
    static const unsigned char value[] = SECRET;
    static const char *const hosts[] = { "a.example", NULL };
    struct nacre_secret secret = { "key", hosts, "KEY", value, sizeof(value) - 1 };
    struct nacre_secret_set set = { .items = &secret, .count = 1 };
    struct run run = FETCH(open_policy, "https://a.example/ok");

    assert_fetches(*state);
    for (uint32_t i = 1; i <= 2; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        run.more.granted = &set;
        result = run_it(*state, &run);
        assert_string_equal(result->output.bytes, "status 200\n\nhello");
        assert_int_equal(guest_doors.got, 1 + i);
        assert_int_equal(guest_doors.secrets_seen, 1);
        assert_int_equal(guest_doors.open, 1); /* that of the first, plain run */
    }
    assert_fetches(*state);
    assert_int_equal(guest_doors.got, 3);
}

/* Live tokens change nothing of the plan: what waits for it would fit, but for the door. */
static void a_run_with_tokens_takes_no_door_of_another(void **state)
{
    struct nacre_secret_token token = { .expires_ms = UINT64_MAX };
    struct nacre_secret_set set = { .tokens = &token, .token_count = 1 };
    struct run run = FETCH(open_policy, "https://a.example/ok");
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

    assert_fetches(*state);
    run.more.granted = &set;
    result = run_it(*state, &run);
    assert_int_equal(result->exit_status, NACRE_HTTP_OK);
    assert_int_equal(guest_doors.got, 2);
    assert_int_equal(guest_doors.open, 1);
    assert_fetches(*state);
    assert_int_equal(guest_doors.got, 2);
}

/* A door is a process: as many as may wait, and no more; the last used stay. */
static void idle_doors_are_few(void **state)
{
    char policies[WT_DOORS_IDLE_MAX + 2][512];

    for (size_t i = 0; i < NACRE_COUNT(policies); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        (void)snprintf(policies[i], sizeof(policies[i]),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: p%zu}\nspec:\n"
                       "  level: wasm\n  capabilities: {network: {mode: allowlist, "
                       "allowed_hosts: [a%zu.example]}}\n",
                       i, i);
        result = run_it(*state, &FETCH(policies[i], "https://a.example/ok"));
        assert_int_equal(result->exit_status, NACRE_HTTP_OK);
        assert_true(guest_doors.open <= WT_DOORS_IDLE_MAX);
    }
    assert_int_equal(guest_doors.open, WT_DOORS_IDLE_MAX);
    /* Those without a network are not counted among them. */
    for (int i = 0; i < 2; i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
            run_it(*state, &FETCH(shut_policy, "https://a.example/ok"));

        assert_int_equal(result->exit_status, NACRE_HTTP_DENIED);
    }
    assert_int_equal(guest_doors.open, WT_DOORS_IDLE_MAX);
}

/* ---- doors that fail ---- */

static void assert_fails(const struct world *world, const char *said)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct nacre_error err;

    assert_int_equal(
        try_run(world, &FETCH(open_policy, "https://a.example/ok"), result, &err),
        NACRE_ERR_BACKEND);
    assert_non_null(strstr(err.text, said));
    assert_int_equal(guest_doors.open, 0);
}

static void a_door_that_can_t_be_had_fails_the_run_and_no_other(void **state)
{
    guest_doors.get_fails = true;
    assert_fails(*state, "fell shut");
    guest_doors.serve_fails = true;
    assert_fails(*state, "fell shut");
    guest_doors.begin_fails = true;
    assert_fails(*state, "fell shut");
    assert_int_equal(guest_doors.begun, 0);
    assert_fetches(*state);
}

/* What was sent is not known: that is never told as a success. */
static void a_door_that_does_not_answer_at_the_end_fails_the_run(void **state)
{
    guest_doors.end_fails = true;
    assert_fails(*state, "fell shut");
    assert_fetches(*state);
    assert_int_equal(guest_doors.got, 2);
}

static void a_door_that_went_while_idle_is_replaced(void **state)
{
    assert_fetches(*state);
    guest_doors.begin_fails = true;
    assert_fetches(*state);
    assert_int_equal(guest_doors.got, 2);
    assert_int_equal(guest_doors.put, 1);
}

static void a_door_that_hangs_up_is_the_guests_to_tell(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(*state, &FETCH(open_policy, "https://a.example/gone"));

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, NACRE_HTTP_INTERNAL);
    /* Such a line is not used again. */
    assert_int_equal(guest_doors.open, 0);
    assert_fetches(*state);
}

/* R08 */
static void a_door_that_is_silent_costs_the_run_its_time_and_no_more(void **state)
{
    uint64_t begun = nacre_clock_ns(), took;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result =
        run_it(*state, &FETCH(hasty_policy, "https://a.example/silent"));

    took = nacre_clock_ns() - begun;
    assert_int_equal(result->outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_true(took >= 290 * NACRE_NS_PER_MS && took < 3000 * NACRE_NS_PER_MS);
    assert_int_equal(guest_doors.ended, 1);
    assert_int_equal(guest_doors.open, 0);
    assert_fetches(*state);
}

static void a_plan_that_needs_a_door_is_not_run_without(void **state)
{
    const struct world *world = *state;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct nacre_error err;

    guest_doors.is_missing = true;
    assert_int_equal(
        try_run(world, &FETCH(open_policy, "https://a.example/ok"), result, &err),
        NACRE_ERR_UNAVAILABLE);
    assert_false(world->executor->features & NACRE_FEATURE_EGRESS);
    guest_doors.is_missing = false;
    assert_fetches(world);
    assert_true(world->executor->features & NACRE_FEATURE_EGRESS);
}

/* ---- secrets in a run ---- */

#ifdef __SANITIZE_ADDRESS__
#define LOCKS false /* mlock() is taken away */
#else
#define LOCKS true
#endif

/* Is the secret in memory that is shared with workers?  Asked of this side's mappings. */
static bool is_shared(const char *text)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) && !found) {
        unsigned long start, end;

        if (strstr(line, "memfd:nacre-share") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            found = memmem((const void *)start, end - start, text, strlen(text)) != NULL;
    }
    (void)fclose(maps);
    return found;
}

/* How many mappings of it have the flag ("dd": in no core file, "lo": locked); ret_all is
 * how many there are.  Pages that are locked apart are a mapping of their own. */
static unsigned shared_with(const char *flag, unsigned *ret_all)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512];
    bool is_share = false;
    unsigned count = 0;

    assert_non_null(maps);
    *ret_all = 0;
    while (fgets(line, sizeof(line), maps)) {
        unsigned long start, end;

        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            is_share = strstr(line, "memfd:nacre-share") != NULL;
            *ret_all += is_share;
        } else if (is_share && strncmp(line, "VmFlags:", 8) == 0) {
            count += strstr(line, flag) != NULL;
        }
    }
    (void)fclose(maps);
    return count;
}

struct watched {
    const struct world *world;
    const char *text;
    bool was_shared, was_dumped, was_locked;
};

static void look(void *data, int stream, const char *bytes, size_t count)
{
    struct watched *watched = data;
    unsigned all;

    (void)stream;
    (void)bytes;
    (void)count;
    watched->was_dumped = shared_with(" dd", &all) < all || watched->was_dumped;
    watched->was_locked = shared_with(" lo", &all) > 0 || watched->was_locked;
    watched->was_shared = watched->was_shared || is_shared(watched->text);
}

static const struct nacre_secret_file key_files[] = {
    { "key", (const unsigned char *)"file-" SECRET, sizeof("file-" SECRET) - 1 },
    { "second", (const unsigned char *)"2", 1 },
};

static void secret_files_are_read_and_then_gone(void **state)
{
    static const char text[] = "file-" SECRET;
    const struct world *world = *state;
    struct watched watched = { .world = world, .text = text };
    struct run run = { .policy = shut_policy, .guest = "cat",
                       .arguments = (const char *const[]){ "/run/secrets/key",
                                                           "/run/secrets/second", NULL },
                       .more = { .secret_files = key_files, .secret_file_count = 2,
                                 .on_output = look, .on_output_data = &watched } };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *with = run_it(world, &run);

    assert_string_equal(with->output.bytes, "file-" SECRET "2");
    assert_int_equal(with->exit_status, 0);
    /* The output lies in shared memory, too, until the next run: only the call's own
     * area is looked at, by a name that was not written out. */
    run.arguments = (const char *const[]){ "/run/secrets/second", NULL };
    watched.was_shared = false;
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *again = run_it(world, &run);

        assert_string_equal(again->output.bytes, "2");
    }
    assert_int_equal(watched.was_shared, !world->in_process);
    run.more = (struct nacre_request){ .input_fd = -1 };
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *without = run_it(world, &run);

        assert_int_equal(without->exit_status, 1);
        assert_int_equal(without->output.size, 0);
    }
}

/* What is granted may stand in a variable: nothing of it is left in the shared area. */
static void variables_with_secrets_are_wiped_after_the_run(void **state)
{
    static const char text[] = "env-" SECRET;
    const struct world *world = *state;
    struct watched watched = { .world = world, .text = text };
    struct nacre_secret_set set = { .count = 0 };
    unsigned all;
    struct run run = { .policy = shut_policy, .guest = "args",
                       .arguments = (const char *const[]){ "hello", NULL },
                       .more = { .environment = (const char *const[]){
                                     "KEY=env-" SECRET, NULL },
                                 .granted = &set, .on_output = look,
                                 .on_output_data = &watched } };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_it(world, &run);

    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_true(result->output.size > 0);
    assert_int_equal(watched.was_shared, !world->in_process); /* the control */
    assert_int_equal(watched.was_locked, !world->in_process && LOCKS);
    assert_false(watched.was_dumped);
    assert_false(is_shared(text));
    assert_int_equal(shared_with(" lo", &all), 0);
    watched.was_locked = false;
    /* And one that is nobody's secret stays, which shows that the worker does. */
    run.more.granted = NULL;
    {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *plain = run_it(world, &run);

        assert_int_equal(plain->outcome, NACRE_OUTCOME_EXITED);
    }
    assert_false(watched.was_locked || watched.was_dumped);
    assert_int_equal(is_shared(text), !world->in_process);
}

static void secret_files_that_do_not_fit_are_refused(void **state)
{
    static unsigned char large[3 << 20];
    static struct nacre_secret_file many[65];
    const struct world *world = *state;
    const struct nacre_secret_file one = { "large", large, sizeof(large) };
    struct run run = { .policy = shut_policy, .guest = "cat",
                       .arguments = (const char *const[]){ "/run/secrets/large", NULL },
                       .more = { .secret_files = &one, .secret_file_count = 1 } };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct nacre_error err;

    if (world->in_process)
        return; /* nothing is handed over there */
    memset(large, 'L', sizeof(large));
    assert_int_equal(try_run(world, &run, result, &err), NACRE_ERR_TOO_BIG);
    for (size_t i = 0; i < NACRE_COUNT(many); i++)
        many[i] = key_files[0];
    run.more.secret_files = many;
    run.more.secret_file_count = NACRE_COUNT(many);
    assert_int_equal(try_run(world, &run, result, &err), NACRE_ERR_TOO_BIG);
    run.more.secret_file_count = NACRE_COUNT(many) - 1;
    run.arguments = (const char *const[]){ "/run/secrets/key", NULL };
    assert_int_equal(try_run(world, &run, result, &err), NACRE_OK);
}

/* ---- the program's own way: one run, the call given along ---- */

static void a_single_run_has_its_door_and_its_secrets(void **state)
{
    struct run run = FETCH(open_policy, "https://a.example/ok");
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

    run.more.secret_files = key_files;
    run.more.secret_file_count = 2;
    result = run_it(*state, &run);
    assert_string_equal(result->output.bytes, "status 200\n\nhello");
    assert_int_equal(guest_doors.begun, 1);
    assert_int_equal(guest_doors.ended, 1);
    assert_false(is_shared("file-" SECRET));
}

static void a_single_run_reads_its_secret_files(void **state)
{
    const struct run run = { .policy = shut_policy, .guest = "cat",
                             .arguments = (const char *const[]){ "/run/secrets/key",
                                                                 NULL },
                             .more = { .secret_files = key_files,
                                       .secret_file_count = 2 } };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = run_it(*state, &run);

    assert_string_equal(result->output.bytes, "file-" SECRET);
}

#define BOTH(name)                                                                \
    cmocka_unit_test_setup_teardown(name, set_up_workers, tear_down),             \
        { #name "_in_process", name, set_up_in_process, tear_down, NULL }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_guest_fetches_through_its_door),
        BOTH(bodies_go_both_ways_whole),
        BOTH(a_refusal_is_told_in_the_doors_words),
        BOTH(without_a_network_there_is_no_door),
        BOTH(the_next_run_of_the_same_has_the_same_door),
        BOTH(what_a_guest_leaves_open_takes_nothing_from_the_next),
        BOTH(a_door_with_secrets_serves_one_run),
        BOTH(a_run_with_tokens_takes_no_door_of_another),
        BOTH(idle_doors_are_few),
        BOTH(a_door_that_can_t_be_had_fails_the_run_and_no_other),
        BOTH(a_door_that_does_not_answer_at_the_end_fails_the_run),
        BOTH(a_door_that_went_while_idle_is_replaced),
        BOTH(a_door_that_hangs_up_is_the_guests_to_tell),
        BOTH(a_door_that_is_silent_costs_the_run_its_time_and_no_more),
        BOTH(a_plan_that_needs_a_door_is_not_run_without),
        BOTH(secret_files_are_read_and_then_gone),
        BOTH(variables_with_secrets_are_wiped_after_the_run),
        BOTH(secret_files_that_do_not_fit_are_refused),
        cmocka_unit_test_setup_teardown(a_single_run_has_its_door_and_its_secrets,
                                        set_up_single, tear_down),
        cmocka_unit_test_setup_teardown(a_single_run_reads_its_secret_files,
                                        set_up_single, tear_down),
    };

    return cmocka_run_group_tests_name("wt_door", tests, scene_enter, scene_leave);
}
