/* The host's doors: who gets which, and what happens when one is gone.  With the real
 * nacre-door; nothing is sent. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/clock.h"
#include "nacre/door.h"
#include "nacre/door_wire.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

/* The wall clock is the test's. */
static int64_t shift_ms;

uint64_t __real_nacre_clock_wall_ms(void);
uint64_t __wrap_nacre_clock_wall_ms(void);
uint64_t __wrap_nacre_clock_wall_ms(void)
{
    return __real_nacre_clock_wall_ms() + (uint64_t)shift_ms;
}

static char name[] = "a.example", secret_name[] = "KEY";
static struct nacre_egress_host host = { .name = name, .way = NACRE_WAY_TUNNEL };
static struct nacre_egress_secret rule = { secret_name, &host, 1 };
static struct nacre_plan plan = {
    .egress = { .mode = NACRE_NETWORK_ALLOWLIST, .allowed = &host, .allowed_count = 1,
                .block_private = true, .way = NACRE_WAY_TUNNEL, .secrets = &rule,
                .secret_count = 1,
                .limits = { 65536, 65536, 5, 100, 100, 8 } },
};
static struct nacre_secret secret = { .name = secret_name };
static struct nacre_secret_set granted = { .items = &secret, .count = 1 };
static struct nacre_request request = { .granted = &granted };
static struct nacre_tool tools[10];
static struct nacre_doors *doors;

static int make(void **state)
{
    struct nacre_doors_options options = { .program = NACRE_DOOR_PROGRAM };
    struct nacre_error err;

    (void)state;
    shift_ms = 0;
    for (size_t i = 0; i < NACRE_COUNT(tools); i++)
        tools[i].digest.bytes[0] = (uint8_t)i;
    secret.value = (const unsigned char *)"the first value";
    secret.count = 15;
    return nacre_doors_new(&options, &doors, &err) == NACRE_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nacre_doors_free(doors);
    return 0;
}

static struct nacre_door *get(size_t tool)
{
    struct nacre_door *door = NULL;
    struct nacre_error err;

    if (nacre_doors_get(doors, &plan, &tools[tool], &request, &door, &err) != NACRE_OK)
        fail_msg("no door: %s", err.text);
    return door;
}

/* How many processes of ours there are. */
static unsigned children(void)
{
    char path[64];
    unsigned count = 0;
    FILE *file;
    int pid;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1)
        count++;
    if (file)
        (void)fclose(file);
    return count;
}

/* The first of them. */
static int child(void)
{
    char path[64];
    int pid = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    (void)fclose(file);
    return pid;
}

static void a_door_is_kept_for_the_same_plan_tool_and_secrets(void **state)
{
    struct nacre_door *first = get(0), *again, *other;

    (void)state;
    assert_string_equal(nacre_door_certificate(first), "");
    nacre_doors_put(doors, first);
    again = get(0);
    assert_ptr_equal(again, first);
    other = get(0); /* the one is in use */
    assert_ptr_not_equal(other, again);
    assert_int_equal(children(), 2);
    nacre_doors_put(doors, again);
    nacre_doors_put(doors, other);
    assert_int_equal(children(), 2);
}

/* Its certificate is good for the time of one run, and ten minutes. */
static void a_door_is_used_again_by_who_ends_within_its_life(void **state)
{
    enum { MINUTE = 60000 };
    static const struct {
        int64_t shift_ms;
        uint64_t wall_ms;
        bool kept;
    } rows[] = {
        { 9 * MINUTE, 5 * MINUTE, true },
        { 9 * MINUTE, 7 * MINUTE, false }, /* from here on its age and life are its own */
        { 17 * MINUTE, 7 * MINUTE, true },
        { 20 * MINUTE, 5 * MINUTE, true },
        { 25 * MINUTE, 5 * MINUTE, false },
        { 20 * MINUTE, 5 * MINUTE, false }, /* the clock was set back */
        { 20 * MINUTE, 5 * MINUTE, true },
    };

    (void)state;
    plan.limits.wall_ms_max = 5 * MINUTE;
    nacre_doors_put(doors, get(0));
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int before = child();

        shift_ms = rows[i].shift_ms;
        plan.limits.wall_ms_max = rows[i].wall_ms;
        nacre_doors_put(doors, get(0));
        assert_int_equal(children(), 1);
        if ((child() == before) != rows[i].kept)
            fail_msg("row %zu", i);
    }
}

static void another_tool_plan_or_value_has_a_door_of_its_own(void **state)
{
    struct nacre_door *first = get(0), *other;

    (void)state;
    nacre_doors_put(doors, first);
    other = get(1);
    assert_int_equal(children(), 2);
    nacre_doors_put(doors, other);
    plan.digest.bytes[0] = 1;
    other = get(0);
    plan.digest.bytes[0] = 0;
    assert_int_equal(children(), 3);
    nacre_doors_put(doors, other);
    secret.value = (const unsigned char *)"the other value";
    other = get(0);
    assert_int_equal(children(), 4);
    nacre_doors_put(doors, other);
}

static void idle_doors_are_few_and_the_oldest_goes_first(void **state)
{
    struct nacre_door *held[10], *oldest;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        held[i] = get(i);
    assert_int_equal(children(), 10);
    for (size_t i = 0; i < 10; i++)
        nacre_doors_put(doors, held[i]);
    assert_int_equal(children(), 8);
    assert_ptr_equal(get(9), held[9]);
    nacre_doors_put(doors, held[9]);
    oldest = get(0);
    assert_int_equal(children(), 9);
    nacre_doors_put(doors, oldest);
    assert_int_equal(children(), 8);
}

static void one_that_died_while_idle_is_replaced(void **state)
{
    struct nacre_door *door = get(0);

    (void)state;
    nacre_doors_put(doors, door);
    assert_int_equal(kill(child(), SIGKILL), 0);
    (void)usleep(50000);
    door = get(0);
    assert_int_equal(children(), 1);
    nacre_doors_put(doors, door);
}

/* A socket that listens belongs to one sandbox's network. */
static void one_that_listens_is_never_kept(void **state)
{
    struct nacre_door *door = get(0);
    struct nacre_error err;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_int_equal(nacre_door_serve(door, NACRE_DOOR_PROXY | NACRE_DOOR_LISTEN, fd,
                                      &err),
                     NACRE_OK);
    assert_int_equal(close(fd), -1); /* it was taken */
    nacre_doors_put(doors, door);
    assert_int_equal(children(), 0);
}

static void one_with_an_unended_run_is_never_kept(void **state)
{
    struct nacre_door *door = get(0);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_door_begin(door, "id", nacre_clock_ns() + NACRE_NS_PER_S,
                                      &err),
                     NACRE_OK);
    nacre_doors_put(doors, door);
    assert_int_equal(children(), 0);
}

static void ask(int fd, const char *url, struct nacre_door_message *ret_message,
                char ret_text[512])
{
    struct nacre_door_ask sizes = { 3, (uint32_t)strlen(url), 0, 0 };
    struct nacre_door_message message = {
        .what = NACRE_DOOR_ASK, .size = (uint32_t)(sizeof(sizes) + 3 + strlen(url))
    };

    assert_int_equal(send(fd, &message, sizeof(message), MSG_NOSIGNAL), sizeof(message));
    assert_int_equal(send(fd, &sizes, sizeof(sizes), MSG_NOSIGNAL), sizeof(sizes));
    assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
    assert_int_equal(send(fd, url, strlen(url), MSG_NOSIGNAL), strlen(url));
    assert_int_equal(recv(fd, ret_message, sizeof(*ret_message), MSG_WAITALL),
                     sizeof(*ret_message));
    assert_true(ret_message->size < 512);
    assert_int_equal(recv(fd, ret_text, ret_message->size, MSG_WAITALL),
                     ret_message->size);
    ret_text[ret_message->size] = '\0';
}

static void what_was_denied_is_in_the_result_of_its_run_alone(void **state)
{
    struct nacre_door *door = get(0);
    struct nacre_door_message message;
    struct nacre_error err;
    char text[512];
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(nacre_door_serve(door, NACRE_DOOR_GUEST, ends[1], &err), NACRE_OK);
    for (unsigned run = 0; run < 2; run++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
        assert_int_equal(nacre_door_begin(door, "id",
                                          nacre_clock_ns() + 5 * NACRE_NS_PER_S, &err),
                         NACRE_OK);
        ask(ends[0], "https://b.example/", &message, text);
        assert_int_equal(message.code, NACRE_HTTP_DENIED);
        assert_non_null(strstr(text, "b.example"));
        assert_int_equal(nacre_door_end(door, result, &err), NACRE_OK);
        assert_int_equal(result->egress_count, 1);
        assert_int_equal(result->egress_seen, 1);
        assert_false(result->egress[0].sent);
        assert_string_equal(result->egress[0].host, "b.example");
        assert_string_equal(result->egress[0].code, "host-not-allowed");
        assert_int_equal(result->denial_count, 1);
        assert_int_equal(result->denials_seen, 1);
        assert_false(result->leak);
    }
    (void)close(ends[0]);
    nacre_doors_put(doors, door);
}

/* Of 253 bytes, the longest there is. */
static void a_record_has_the_whole_name(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    char url[NACRE_NAME_SIZE + 16] = "https://", text[512];
    char *longest = url + strlen(url);
    struct nacre_door *door = get(0);
    struct nacre_door_message message;
    struct nacre_error err;
    int ends[2];

    (void)state;
    memset(longest, 'x', NACRE_NAME_SIZE - 1);
    for (size_t i = 63; i < NACRE_NAME_SIZE - 1; i += 64)
        longest[i] = '.';
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(nacre_door_serve(door, NACRE_DOOR_GUEST, ends[1], &err), NACRE_OK);
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(nacre_door_begin(door, "id", nacre_clock_ns() + 5 * NACRE_NS_PER_S,
                                      &err),
                     NACRE_OK);
    ask(ends[0], url, &message, text);
    assert_int_equal(message.code, NACRE_HTTP_DENIED);
    assert_int_equal(nacre_door_end(door, result, &err), NACRE_OK);
    assert_int_equal(result->egress_count, 1);
    assert_string_equal(result->egress[0].host, longest);
    (void)close(ends[0]);
    nacre_doors_put(doors, door);
}

static void outside_of_a_run_nothing_is_sent(void **state)
{
    struct nacre_door *door = get(0);
    struct nacre_door_message message;
    struct nacre_error err;
    char text[512];
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(nacre_door_serve(door, NACRE_DOOR_GUEST, ends[1], &err), NACRE_OK);
    ask(ends[0], "https://a.example/", &message, text);
    assert_int_equal(message.code, NACRE_HTTP_TOO_MANY);
    assert_non_null(strstr(text, "The run is over"));
    (void)close(ends[0]);
    nacre_doors_put(doors, door);
}

static void many_denials_are_counted_and_the_first_kept(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_door *door = get(0);
    struct nacre_door_message message;
    struct nacre_error err;
    char text[512];
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(nacre_door_serve(door, NACRE_DOOR_GUEST, ends[1], &err), NACRE_OK);
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(nacre_door_begin(door, "id", nacre_clock_ns() + 9 * NACRE_NS_PER_S,
                                      &err),
                     NACRE_OK);
    for (unsigned i = 0; i < 80; i++)
        ask(ends[0], "https://b.example/", &message, text);
    assert_int_equal(nacre_door_end(door, result, &err), NACRE_OK);
    assert_int_equal(result->egress_count, NACRE_EGRESS_RECORDS_MAX);
    assert_int_equal(result->egress_seen, 80);
    assert_int_equal(result->denial_count, NACRE_DENIALS_MAX);
    assert_int_equal(result->denials_seen, 80);
    (void)close(ends[0]);
    nacre_doors_put(doors, door);
}

static void what_is_missing_is_named(void **state)
{
    struct nacre_doors_options options = { .program = "/nonexistent/nacre" };
    struct nacre_doors *none;
    struct nacre_door *door = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_doors_new(&options, &none, &err), NACRE_OK);
    assert_int_equal(nacre_doors_probe(none, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "nacre-door"));
    assert_int_equal(nacre_doors_get(none, &plan, &tools[0], &request, &door, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_null(door);
    nacre_doors_free(none);
    assert_int_equal(nacre_doors_probe(doors, &err), NACRE_OK);
}

static void no_memory_is_an_error_and_leaves_no_process(void **state)
{
    enum nacre_status status = NACRE_ERR_MEMORY;
    struct nacre_error err;

    (void)state;
    for (int i = 0; status != NACRE_OK && i < 200; i++) {
        struct nacre_door *door = NULL;

        fail_alloc_after(i);
        status = nacre_doors_get(doors, &plan, &tools[0], &request, &door, &err);
        fail_alloc_after(-1);
        if (status == NACRE_OK)
            nacre_doors_put(doors, door);
        else
            assert_int_equal(children(), 0);
    }
    assert_int_equal(status, NACRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, end)
        TEST(a_door_is_kept_for_the_same_plan_tool_and_secrets),
        TEST(a_door_is_used_again_by_who_ends_within_its_life),
        TEST(another_tool_plan_or_value_has_a_door_of_its_own),
        TEST(idle_doors_are_few_and_the_oldest_goes_first),
        TEST(one_that_died_while_idle_is_replaced),
        TEST(one_that_listens_is_never_kept),
        TEST(one_with_an_unended_run_is_never_kept),
        TEST(what_was_denied_is_in_the_result_of_its_run_alone),
        TEST(a_record_has_the_whole_name),
        TEST(outside_of_a_run_nothing_is_sent),
        TEST(many_denials_are_counted_and_the_first_kept),
        TEST(what_is_missing_is_named),
        TEST(no_memory_is_an_error_and_leaves_no_process),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
