/*
 * The last checks of a request that the door makes: of the address that a socket is made
 * for, and of the one at the other end before the first byte.  The test is the judge of
 * addresses and the server; everything between them is the door's own.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "door.h"
#include "nacre/clock.h"

/* When an address is judged: its answer is there, a socket is made, a request begins. */
enum stage { STAGE_ANSWER, STAGE_SOCKET, STAGE_REQUEST, STAGE_NONE };

static struct door door; /* ends with the process, as everywhere */

static struct {
    char name[16], fixed[32];
    char *fixed_hosts[2];
    int listening, accepted; /* the server's */
    char heard[4096];        /* by it, of all requests */
    unsigned connections, judged;
    enum stage at[3], refused; /* what the next judgements are of; the one that says no */
    bool over;
    enum nacre_http_code code;
} scene;

void __wrap_nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                       const struct nacre_address *address,
                                       struct nacre_egress_verdict *ret_verdict);
void __wrap_nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                       const struct nacre_address *address,
                                       struct nacre_egress_verdict *ret_verdict)
{
    (void)egress;
    assert_string_equal(name, scene.name);
    assert_int_equal(address->bytes[0], 127);
    assert_true(scene.judged < 3);
    *ret_verdict = (struct nacre_egress_verdict){
        .allowed = scene.at[scene.judged] != scene.refused, .code = "address-denied"
    };
    scene.judged++;
}

static void answered(void *data, uint32_t status, const char *headers, size_t size)
{
    (void)data;
    (void)headers;
    (void)size;
    assert_int_equal(status, 200);
}

static bool body_came(void *data, const char *bytes, size_t count)
{
    (void)data;
    (void)bytes;
    (void)count;
    return true;
}

static void ended(void *data, enum nacre_http_code code, const char *text)
{
    (void)data;
    (void)text;
    scene.over = true;
    scene.code = code;
}

/* One request a connection comes in one piece: they are short. */
static void serve(void)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    size_t used = strlen(scene.heard);
    ssize_t got;

    if (scene.accepted < 0) {
        scene.accepted = accept4(scene.listening, NULL, NULL, SOCK_NONBLOCK);
        scene.connections += scene.accepted >= 0;
    }
    if (scene.accepted < 0)
        return;
    got = recv(scene.accepted, scene.heard + used, sizeof(scene.heard) - used - 1, 0);
    if (got > 0)
        assert_int_equal(send(scene.accepted, answer, sizeof(answer) - 1, MSG_NOSIGNAL),
                         sizeof(answer) - 1);
}

static void tick_due(struct door_timer *timer)
{
    door_timer_set(door.loop, timer, nacre_clock_ns() + NACRE_NS_PER_MS);
}

/* The judgements to come; the stage that is refused, or STAGE_NONE. */
static void ask(enum stage first, enum stage second, enum stage third, enum stage refused)
{
    static const struct door_fetch_events events = { answered, body_came, ended };
    struct sockaddr_in here;
    socklen_t size = sizeof(here);
    struct door_ask question = { .method = "GET", .headers = "", .body = "" };
    struct door_timer tick = { .due = tick_due };
    uint64_t until_ns = nacre_clock_ns() + 20 * NACRE_NS_PER_S;
    struct door_fetch *fetch;

    assert_int_equal(getsockname(scene.listening, (struct sockaddr *)&here, &size), 0);
    (void)snprintf(question.url.host, sizeof(question.url.host), "%s", scene.name);
    (void)snprintf(question.url.target, sizeof(question.url.target), "/");
    question.url.port = ntohs(here.sin_port);
    scene.at[0] = first;
    scene.at[1] = second;
    scene.at[2] = third;
    scene.refused = refused;
    scene.judged = 0;
    scene.over = false;
    fetch = door_fetch_new(&door, &question, &events, NULL);
    assert_non_null(fetch);
    tick_due(&tick);
    while (!scene.over && nacre_clock_ns() < until_ns) {
        door_loop_turn(door.loop);
        serve();
    }
    door_timer_set(door.loop, &tick, 0);
    door_fetch_free(fetch);
    serve(); /* what came after the end counts too */
    assert_true(scene.over);
}

static int make(void **state)
{
    struct sockaddr_in here = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct nacre_error err;
    static unsigned number;

    (void)state;
    memset(&scene, 0, sizeof(scene));
    scene.accepted = -1;
    /* A name of its own for each test: libcurl keeps connections by name. */
    (void)snprintf(scene.name, sizeof(scene.name), "host%u.example", number++);
    (void)snprintf(scene.fixed, sizeof(scene.fixed), "%s=127.0.0.1", scene.name);
    scene.fixed_hosts[0] = scene.fixed;
    scene.listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(scene.listening, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(listen(scene.listening, 8), 0);
    door.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOW_ALL, .fixed_hosts = scene.fixed_hosts,
        .limits = { 65536, 65536, 4, 100, 100, 8 },
    };
    door.running = true;
    door.deadline_ns = nacre_clock_ns() + 60 * NACRE_NS_PER_S;
    assert_int_equal(nacre_result_new(&door.done, &err), NACRE_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (scene.accepted >= 0)
        (void)close(scene.accepted);
    (void)close(scene.listening);
    nacre_result_free(door.done);
    return 0;
}

static int make_door(void **state)
{
    struct nacre_error err;

    (void)state;
    door.minute_ns = calloc(101, sizeof(*door.minute_ns));
    assert_non_null(door.minute_ns);
    door.egress.limits.connections_max = 8;
    assert_int_equal(door_loop_new(&door.loop, &err), NACRE_OK);
    assert_int_equal(door_resolver_new(&door, &door.resolver, &err), NACRE_OK);
    assert_int_equal(door_fetcher_new(&door, &door.fetcher, &err), NACRE_OK);
    return 0;
}

static void an_address_is_judged_at_the_socket_and_before_the_request(void **state)
{
    (void)state;
    ask(STAGE_ANSWER, STAGE_SOCKET, STAGE_REQUEST, STAGE_NONE);
    assert_int_equal(scene.code, NACRE_HTTP_OK);
    assert_int_equal(scene.judged, 3);
    assert_int_equal(scene.connections, 1);
    assert_non_null(strstr(scene.heard, "GET / HTTP/1.1\r\nHost: "));
}

static void no_socket_is_made_for_what_may_not_be_reached(void **state)
{
    (void)state;
    ask(STAGE_ANSWER, STAGE_SOCKET, STAGE_REQUEST, STAGE_SOCKET);
    assert_int_equal(scene.code, NACRE_HTTP_DENIED);
    assert_int_equal(scene.connections, 0);
    assert_string_equal(door.done->denials[0].code, "address-denied");
}

static void no_byte_is_sent_to_what_may_not_be_reached(void **state)
{
    (void)state;
    ask(STAGE_ANSWER, STAGE_SOCKET, STAGE_REQUEST, STAGE_REQUEST);
    assert_int_equal(scene.code, NACRE_HTTP_DENIED);
    assert_string_equal(scene.heard, "");
    assert_false(door.done->egress[0].sent);
}

/* The address of the second request's answer is no longer the one it is connected to. */
static void a_connection_that_is_used_again_is_judged_again(void **state)
{
    size_t first;

    (void)state;
    ask(STAGE_ANSWER, STAGE_SOCKET, STAGE_REQUEST, STAGE_NONE);
    assert_int_equal(scene.code, NACRE_HTTP_OK);
    ask(STAGE_ANSWER, STAGE_REQUEST, STAGE_NONE, STAGE_NONE);
    assert_int_equal(scene.code, NACRE_HTTP_OK);
    assert_int_equal(scene.connections, 1);
    first = strlen(scene.heard);
    ask(STAGE_ANSWER, STAGE_REQUEST, STAGE_NONE, STAGE_REQUEST);
    assert_int_equal(scene.code, NACRE_HTTP_DENIED);
    assert_int_equal(strlen(scene.heard), first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_address_is_judged_at_the_socket_and_before_the_request),
        TEST(no_socket_is_made_for_what_may_not_be_reached),
        TEST(no_byte_is_sent_to_what_may_not_be_reached),
        TEST(a_connection_that_is_used_again_is_judged_again),
    };

    return cmocka_run_group_tests(tests, make_door, NULL);
}
