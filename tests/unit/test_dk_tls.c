/* TCP: plain only on loopback, TLS only with both sides proven.  The engine is the fake
 * one behind a TLS server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "dk_api.h"
#include "dk_endpoint.h"
#include "fake_engine.h"
#include "scene.h"

#define SOON dk_within_ms(10000)

static const struct fake_rule rules[] = {
    FAKE_VERSION,
    { .method = "POST", .path = "/containers/a/attach", .deed = FAKE_HIJACK,
      .after = FAKE_AFTER_ECHO },
    { .method = "POST", .path = "/containers/dies/attach", .deed = FAKE_HIJACK,
      .after = FAKE_AFTER_CLOSE },
    { .path = "/info", .body = "{}" },
    FAKE_END,
};

static struct fake_engine *engine;
static pid_t door = -1;
static unsigned port;

/* One CA; of it a server that is called localhost and a client; and a stranger's. */
static const char make_certificates[] =
    "exec 2>openssl.log; set -e; "
    "ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
    "       -subj /CN=$1 -keyout $1-key.pem -out $1.pem; }; "
    "signed() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
    "       -subj /CN=$2 -addext subjectAltName=DNS:$2 -keyout $3-key.pem -out $3.csr; "
    "       printf 'subjectAltName=DNS:%s' $2 >$3.ext; "
    "       openssl x509 -req -in $3.csr -CA $1.pem -CAkey $1-key.pem -CAcreateserial "
    "       -days 2 -extfile $3.ext -out $3.pem; }; "
    "ca ca; ca stranger; signed ca localhost server; signed ca client cert; "
    "signed stranger client other; mv cert-key.pem key.pem; "
    "mkdir good wrong-ca wrong-client; "
    "cp ca.pem cert.pem key.pem good; "
    "cp stranger.pem wrong-ca/ca.pem; cp cert.pem key.pem wrong-ca; "
    "cp ca.pem wrong-client; cp other.pem wrong-client/cert.pem; "
    "cp other-key.pem wrong-client/key.pem";

/* The door says its port as soon as it listens. */
static bool open_door(void)
{
    int ends[2];
    char text[16] = "";

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    door = fork();
    if (door == 0) {
        (void)dup2(ends[1], 1);
        (void)execlp("python3", "python3", NACRE_TLS_DOOR, ".", "sock", NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    if (read(ends[0], text, sizeof(text) - 1) > 0)
        (void)sscanf(text, "%u", &port);
    (void)close(ends[0]);
    return port > 0;
}

static int setup(void **state)
{
    char path[NACRE_PATH_MAX];

    if (scene_enter(state) != 0)
        return -1;
    scene_shell(make_certificates);
    engine = fake_engine_start(scene_path(path, "sock"), rules);
    return engine && open_door() ? 0 : -1;
}

static int teardown(void **state)
{
    (void)kill(door, SIGKILL);
    (void)waitpid(door, NULL, 0);
    fake_engine_stop(engine);
    return scene_leave(state);
}

static enum nacre_status open_at(const char *host, const char *certificates,
                                 struct dk_client **ret_client, struct nacre_error *err)
{
    char text[300], directory[NACRE_PATH_MAX];
    struct dk_endpoint endpoint;

    (void)snprintf(text, sizeof(text), "tcp://%s:%u", host, port);
    assert_int_equal(dk_endpoint_parse(text, "test",
                                       certificates ? scene_path(directory, certificates)
                                                    : NULL,
                                       &endpoint, err), NACRE_OK);
    return dk_client_open(&endpoint, SOON, ret_client, err);
}

static void both_sides_proven_is_spoken_to(void **state)
{
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    NACRE_AUTO(dk_json_guard) json_t *info = NULL;
    struct nacre_error err = { .text = "" };

    (void)state;
    if (open_at("localhost", "good", &client, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(dk_info(client, SOON, &info, &err), NACRE_OK);
}

static void anybody_else_is_not(void **state)
{
    static const struct {
        const char *host, *certificates;
    } rows[] = {
        { "localhost", "wrong-ca" },     /* a server that we can't verify */
        { "127.0.0.1", "good" },         /* one of another name */
        { "localhost", "wrong-client" }, /* one that does not know us */
        { "localhost", NULL },           /* plain words to a TLS server */
    };
    size_t asked = fake_engine_asked(engine);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct dk_client *client = NULL;
        struct nacre_error err;

        assert_int_not_equal(open_at(rows[i].host, rows[i].certificates, &client, &err),
                             NACRE_OK);
        assert_null(client);
    }
    assert_int_equal(fake_engine_asked(engine), asked);
}

/* The byte at a place of a long message. */
static char byte_at(size_t at)
{
    return (char)(at * 11 + at / 253);
}

/* Writes one piece from `*at` on, from another address each time, as a queue that moves
 * would.  False when it would block. */
static bool write_piece(struct dk_stream *stream, size_t *at, size_t total)
{
    static char bytes[20016];
    static size_t turn;
    size_t count = total - *at < 20000 ? total - *at : 20000, shift = ++turn % 16;
    ssize_t sent;

    for (size_t i = 0; i < count; i++)
        bytes[shift + i] = byte_at(*at + i);
    sent = dk_stream_write(stream, bytes + shift, count);
    assert_true(sent >= 0 || errno == EAGAIN);
    *at += sent > 0 ? (size_t)sent : 0;
    return sent >= 0;
}

static void a_stream_goes_both_ways_through_tls(void **state)
{
    size_t total = (size_t)256 << 20;
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
    struct nacre_error err;
    size_t written = 0, got = 0;

    (void)state;
    assert_int_equal(open_at("localhost", "good", &client, &err), NACRE_OK);
    assert_int_equal(dk_attach(client, "a", SOON, &stream, &err), NACRE_OK);
    /* The echo is not read: sooner or later nothing more can be sent. */
    while (write_piece(stream, &written, total))
        assert_true(written < total);
    total = written + 100000;
    while (got < total) {
        struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
        char bytes[5000];
        ssize_t count;

        if (written < total && !write_piece(stream, &written, total))
            ready.events |= POLLOUT;
        count = dk_stream_read(stream, bytes, sizeof(bytes));
        assert_true(count > 0 || (count < 0 && errno == EAGAIN));
        for (ssize_t i = 0; i < count; i++)
            assert_int_equal(bytes[i], byte_at(got++));
        if (count < 0)
            assert_int_equal(poll(&ready, 1, 10000), 1);
    }
    assert_int_equal(dk_stream_end_input(stream, &err), NACRE_ERR_UNAVAILABLE);
}

static void a_tls_server_that_leaves_raises_no_signal(void **state)
{
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
    struct nacre_error err;
    char byte;
    ssize_t got;

    (void)state;
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(open_at("localhost", "good", &client, &err), NACRE_OK);
    assert_int_equal(dk_attach(client, "dies", SOON, &stream, &err), NACRE_OK);
    while ((got = dk_stream_read(stream, &byte, 1)) < 0 && errno == EAGAIN) {
        struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };

        assert_int_equal(poll(&ready, 1, 10000), 1);
    }
    assert_true(got <= 0);
    for (int i = 0; i < 100 && dk_stream_write(stream, "x", 1) >= 0; i++)
        (void)poll(NULL, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_proven_is_spoken_to),
        cmocka_unit_test(anybody_else_is_not),
        cmocka_unit_test(a_stream_goes_both_ways_through_tls),
        cmocka_unit_test(a_tls_server_that_leaves_raises_no_signal),
    };

    return cmocka_run_group_tests_name("dk_tls", tests, setup, teardown);
}
