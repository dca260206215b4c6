/* The hijacked stream: frames whole, split, broken and endless; and the way there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "dk_demux.h"
#include "engine_scene.h"
#include "fail_alloc.h"

#define STREAM(after_, bytes)                                                   \
    { .method = "POST", .path = "/containers/a/attach", .deed = FAKE_HIJACK,    \
      .stream = (bytes), .stream_bytes = sizeof(bytes) - 1, .after = (after_) }

static struct dk_stream *attached(const struct fake_rule *rule)
{
    const struct fake_rule rules[] = { FAKE_VERSION, *rule, FAKE_END };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    struct dk_stream *stream = NULL;
    struct nacre_error err = { .text = "" };

    if (dk_attach(client, "a", SOON, &stream, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return stream; /* and outlives its client */
}

/* As a consumer does: read, and poll when there is nothing. */
static ssize_t read_waiting(struct dk_stream *stream, void *bytes, size_t count)
{
    struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
    ssize_t got;

    while ((got = dk_stream_read(stream, bytes, count)) < 0 && errno == EAGAIN)
        assert_int_equal(poll(&ready, 1, 5000), 1);
    return got;
}

static void write_all(struct dk_stream *stream, const char *bytes, size_t count)
{
    struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLOUT };

    while (count > 0) {
        ssize_t sent = dk_stream_write(stream, bytes, count);

        if (sent < 0 && errno == EAGAIN) {
            assert_int_equal(poll(&ready, 1, 5000), 1);
            continue;
        }
        assert_true(sent > 0);
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void stdout_comes_as_bytes_and_stderr_aside(void **state)
{
    static const struct fake_rule rule =
        STREAM(FAKE_AFTER_CLOSE, FAKE_FRAME("\1", "\5") "hello" FAKE_FRAME("\2", "\3")
                                 "err" FAKE_FRAME("\1", "\1") "!");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    char bytes[64];
    const char *aside;
    size_t count = 0, aside_count;
    ssize_t got;

    (void)state;
    while ((got = read_waiting(stream, bytes + count, 2)) > 0)
        count += (size_t)got;
    assert_int_equal(got, 0);
    assert_int_equal(count, 6);
    assert_memory_equal(bytes, "hello!", 6);
    aside = dk_stream_stderr(stream, &aside_count);
    assert_int_equal(aside_count, 3);
    assert_memory_equal(aside, "err", 3);
    assert_int_equal(dk_stream_read(stream, bytes, 1), 0); /* for ever */
    assert_string_equal(fake_engine_line(engine, 1),
                        "POST /v1.41/containers/a/attach?stream=1&stdin=1&stdout=1&"
                        "stderr=1");
}

static void both_outputs_can_be_had(void **state)
{
    static const struct fake_rule rule =
        STREAM(FAKE_AFTER_CLOSE, FAKE_FRAME("\2", "\2") "ab" FAKE_FRAME("\1", "\1") "c");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
    enum dk_output output = DK_OUTPUT_NONE;
    char bytes[8];

    (void)state;
    assert_int_equal(poll(&ready, 1, 5000), 1);
    assert_int_equal(dk_stream_read_any(stream, bytes, sizeof(bytes), &output), 2);
    assert_int_equal(output, DK_OUTPUT_STDERR);
    assert_int_equal(dk_stream_read_any(stream, bytes, sizeof(bytes), &output), 1);
    assert_int_equal(output, DK_OUTPUT_STDOUT);
}

static void a_broken_stream_is_an_error_for_ever(void **state)
{
    static const struct fake_rule rows[] = {
        STREAM(FAKE_AFTER_HOLD, FAKE_FRAME("\0", "\1") "x"),
        STREAM(FAKE_AFTER_HOLD, FAKE_FRAME("\3", "\1") "x"),
        STREAM(FAKE_AFTER_HOLD, FAKE_FRAME("\377", "\1") "x"),
        STREAM(FAKE_AFTER_HOLD, FAKE_FRAME("\1", "\0") "x"),
        STREAM(FAKE_AFTER_HOLD, "\1\1\0\0\0\0\0\1x"),
        STREAM(FAKE_AFTER_HOLD, "\1\0\1\0\0\0\0\1x"),
        STREAM(FAKE_AFTER_HOLD, "\1\0\0\1\0\0\0\1x"),
        STREAM(FAKE_AFTER_HOLD, "\1\0\0\0\377\377\377\377x"),
        STREAM(FAKE_AFTER_HOLD, "\1\0\0\0\1\0\0\1x"), /* 16 MiB and a byte */
        STREAM(FAKE_AFTER_HOLD, "HTTP/1.1 500 no"),
        STREAM(FAKE_AFTER_CLOSE, "\1"),
        STREAM(FAKE_AFTER_CLOSE, FAKE_FRAME("\1", "\1")),
        STREAM(FAKE_AFTER_CLOSE, "\1\0\0\0\0\0\0"),
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rows[i]);
        char byte = 'u';

        for (int again = 0; again < 3; again++) {
            assert_int_equal(read_waiting(stream, &byte, 1), -1);
            assert_int_equal(errno, EPROTO);
        }
        assert_int_equal(byte, 'u');
    }
}

static void what_came_before_the_break_is_given(void **state)
{
    static const struct fake_rule rule =
        STREAM(FAKE_AFTER_CLOSE, FAKE_FRAME("\1", "\2") "ok" FAKE_FRAME("\1", "\5")
                                 "cut");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    char bytes[16] = "";
    size_t count = 0;
    ssize_t got;

    (void)state;
    while ((got = read_waiting(stream, bytes + count, sizeof(bytes) - count)) > 0)
        count += (size_t)got;
    assert_int_equal(got, -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(bytes, "okcut");
}

static void a_flood_of_stderr_neither_holds_nor_fills(void **state)
{
    static const struct fake_rule rule =
        STREAM(FAKE_AFTER_FLOOD, FAKE_FRAME("\2", "\177")
               "0123456789012345678901234567890123456789012345678901234567890123"
               "012345678901234567890123456789012345678901234567890123456789012");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
    char bytes[4096];
    size_t count;

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(poll(&ready, 1, 5000), 1);
        assert_int_equal(dk_stream_read(stream, bytes, sizeof(bytes)), -1);
        assert_int_equal(errno, EAGAIN);
    }
    (void)dk_stream_stderr(stream, &count);
    assert_int_equal(count, DK_STDERR_KEPT);
}

/* `kilobytes` of stderr and a byte of stdout, all of which lies in the kernel before the
 * first read: what holds the reader can be nothing but itself.  How often it came back
 * with EAGAIN before it had the byte. */
static int count_pauses(size_t kilobytes)
{
    static char stream_bytes[128 * 1024 + 9];
    struct fake_rule rule = STREAM(FAKE_AFTER_HOLD, "");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
    char byte = 0;
    int there = 0, pauses = 0;

    for (size_t i = 0; i < kilobytes; i++)
        memcpy(stream_bytes + i * 1024, "\2\0\0\0\0\0\3\370", 8); /* 1016 follow */
    memcpy(stream_bytes + kilobytes * 1024, FAKE_FRAME("\1", "\1") "x", 9);
    rule.stream = stream_bytes;
    rule.stream_bytes = kilobytes * 1024 + 9;
    stream = attached(&rule);
    /* The hand-over may have read a little of it already. */
    while (ioctl(dk_stream_fd(stream), FIONREAD, &there) == 0 &&
           there < (int)(kilobytes - 8) * 1024)
        (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 20);
    while (dk_stream_read(stream, &byte, 1) < 0) {
        struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };

        assert_int_equal(errno, EAGAIN);
        assert_int_equal(poll(&ready, 1, 5000), 1);
        pauses++;
    }
    assert_int_equal(byte, 'x');
    return pauses;
}

static void stderr_that_is_there_does_not_keep_a_reader(void **state)
{
    (void)state;
    assert_in_range(count_pauses(128), 1, 3);
}

/* The pause would fall where the rest is in memory, unseen by poll(). */
static void a_reader_never_pauses_over_bytes_that_poll_does_not_see(void **state)
{
    (void)state;
    assert_int_equal(count_pauses(66), 0);
}

static void bytes_go_both_ways(void **state)
{
    static const struct fake_rule rule = STREAM(FAKE_AFTER_ECHO, "");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    static char sent[200000], back[200000];
    struct nacre_error err;
    size_t written = 0, got = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7 + i / 251);
    while (got < sizeof(back)) {
        struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
        ssize_t count = dk_stream_write(stream, sent + written, sizeof(sent) - written);

        written += count > 0 ? (size_t)count : 0;
        count = dk_stream_read(stream, back + got, sizeof(back) - got);
        assert_true(count > 0 || (count < 0 && errno == EAGAIN));
        got += count > 0 ? (size_t)count : 0;
        if (count < 0) {
            ready.events |= written < sizeof(sent) ? POLLOUT : 0;
            assert_int_equal(poll(&ready, 1, 5000), 1);
        }
    }
    assert_memory_equal(sent, back, sizeof(sent));
    assert_int_equal(dk_stream_write(stream, "", 0), 0);
    assert_int_equal(dk_stream_end_input(stream, &err), NACRE_OK);
    assert_int_equal(read_waiting(stream, back, 1), 0); /* the echo ends with its input */
}

static void an_engine_that_dies_ends_the_stream(void **state)
{
    static const struct fake_rule rule =
        STREAM(FAKE_AFTER_ECHO, FAKE_FRAME("\1", "\5") "hello");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    char bytes[16];

    (void)state;
    write_all(stream, "x", 1);
    assert_int_equal(read_waiting(stream, bytes, sizeof(bytes)), 5);
    assert_int_equal(read_waiting(stream, bytes, sizeof(bytes)), 1);
    fake_engine_stop(engine);
    engine = NULL;
    assert_int_equal(read_waiting(stream, bytes, sizeof(bytes)), 0);
    /* And writing says so, without a signal: cmocka would die of SIGPIPE. */
    (void)signal(SIGPIPE, SIG_DFL);
    while (dk_stream_write(stream, "x", 1) > 0)
        ;
    assert_int_equal(errno, EPIPE);
}

static void a_read_does_not_wait(void **state)
{
    static const struct fake_rule rule = STREAM(FAKE_AFTER_HOLD, "");
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = attached(&rule);
    char byte;

    (void)state;
    assert_int_equal(dk_stream_read(stream, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
}

#define REPLY(text) { .method = "POST", .path = "/containers/a/attach",   \
                      .deed = FAKE_RAW, .body = (text) }

static const struct {
    struct fake_rule rule;
    enum nacre_status status;
    const char *complaint;
} refusals[] = {
    { { .path = "/containers/a/attach", .status = 404,
        .body = "{\"message\":\"No such container: a\\u0007\"}" },
      NACRE_ERR_NOT_FOUND, "No such container: a\\x07" },
    { { .path = "/containers/a/attach", .status = 409,
        .body = "{\"message\":\"paused\"}" },
      NACRE_ERR_BACKEND, "(409): paused" },
    { { .path = "/containers/a/attach", .body = "{}" }, NACRE_ERR_PARSE, "(101)" },
    { { .path = "/containers/a/attach", .deed = FAKE_HANG }, NACRE_ERR_TIMEOUT, "time" },
    { { .path = "/containers/a/attach", .deed = FAKE_CLOSE }, NACRE_ERR_PARSE,
      "no head" },
    { { .path = "/containers/a/attach", .deed = FAKE_HEAD_FLOOD }, NACRE_ERR_PARSE,
      "no head" },
    { REPLY("HTTP/1.1 101"), NACRE_ERR_PARSE, "no head" },
    { REPLY("HTTP/1.1 1010 X\r\n\r\n"), NACRE_ERR_PARSE, "(101)" },
    { REPLY("HTTP/2.0 101 X\r\n\r\n"), NACRE_ERR_PARSE, "(101)" },
    { REPLY("HTTP/1.1\r\n\r\n"), NACRE_ERR_PARSE, "(101)" },
    { REPLY("\r\n\r\n"), NACRE_ERR_PARSE, "(101)" },
    { REPLY("SSH-2.0-x\r\n\r\n"), NACRE_ERR_PARSE, "(101)" },
    { REPLY("HTTP/1.1 500 X\r\nContent-Length: 999999999999999999999\r\n\r\nabc"),
      NACRE_ERR_BACKEND, "(500): abc" },
    { REPLY("HTTP/1.1 500 X\r\nContent-Length: -1\r\n\r\nabc"), NACRE_ERR_BACKEND,
      "(500): abc" },
    { REPLY("HTTP/1.1 500 X\r\n\r\n"), NACRE_ERR_BACKEND, "(500): no reason given" },
};

static void an_engine_that_does_not_hand_over_is_refused(void **state)
{
    int fds = -1;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refusals); i++) {
        const struct fake_rule rules[] = { FAKE_VERSION, refusals[i].rule, FAKE_END };
        bool in_time = refusals[i].status == NACRE_ERR_TIMEOUT;
        struct dk_client *client = opened(rules);
        struct dk_stream *stream = NULL;
        struct nacre_error err;

        if (dk_attach(client, "a", in_time ? dk_within_ms(150) : SOON, &stream, &err) !=
                refusals[i].status ||
            !strstr(err.text, refusals[i].complaint))
            fail_msg("row %zu: %s", i, err.text);
        assert_null(stream);
        dk_client_free(client);
        while (fake_engine_open(engine) > 0) /* its fds are ours too */
            (void)poll(NULL, 0, 1);
        assert_true(fds < 0 || fds == scene_fds());
        fds = scene_fds();
    }
}

/* The same bytes in pieces of every size give the same output. */
static void frames_may_be_split_anywhere(void **state)
{
    static const char whole[] = FAKE_FRAME("\1", "\3") "abc" FAKE_FRAME("\2", "\1") "x"
                                FAKE_FRAME("\1", "\2") "de";

    (void)state;
    for (size_t piece = 1; piece < sizeof(whole); piece++) {
        struct dk_demux *demux = calloc(1, sizeof(*demux));
        char out[3][16] = { "", "", "" };

        assert_non_null(demux);
        for (size_t at = 0; at < sizeof(whole) - 1; at += piece) {
            size_t left = sizeof(whole) - 1 - at, count = left < piece ? left : piece;
            enum dk_output output = DK_OUTPUT_NONE;
            size_t room;
            char byte;

            memcpy(dk_demux_room(demux, &room), whole + at, count);
            assert_true(room >= count);
            dk_demux_added(demux, count);
            while (dk_demux_take(demux, &byte, 1, &output) > 0)
                out[output][strlen(out[output])] = byte;
        }
        assert_true(dk_demux_is_between(demux));
        assert_string_equal(out[DK_OUTPUT_STDOUT], "abcde");
        assert_string_equal(out[DK_OUTPUT_STDERR], "x");
        free(demux);
    }
}

static void attach_survives_every_allocation_failure(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, STREAM(FAKE_AFTER_CLOSE, FAKE_FRAME("\1", "\1") "a"), FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    pid_t pid = fake_engine_fork(endpoint.path, rules);
    struct nacre_error err;
    bool fired = true;

    (void)state;
    assert_true(pid > 0);
    assert_int_equal(dk_client_open(&endpoint, SOON, &client, &err), NACRE_OK);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = dk_attach(client, "a", SOON, &stream, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_true(fired == (stream == NULL));
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ENGINE(stdout_comes_as_bytes_and_stderr_aside),
        WITH_ENGINE(both_outputs_can_be_had),
        WITH_ENGINE(a_broken_stream_is_an_error_for_ever),
        WITH_ENGINE(what_came_before_the_break_is_given),
        WITH_ENGINE(a_flood_of_stderr_neither_holds_nor_fills),
        WITH_ENGINE(stderr_that_is_there_does_not_keep_a_reader),
        WITH_ENGINE(a_reader_never_pauses_over_bytes_that_poll_does_not_see),
        WITH_ENGINE(bytes_go_both_ways),
        WITH_ENGINE(an_engine_that_dies_ends_the_stream),
        WITH_ENGINE(a_read_does_not_wait),
        WITH_ENGINE(an_engine_that_does_not_hand_over_is_refused),
        cmocka_unit_test(frames_may_be_split_anywhere),
        WITH_ENGINE(attach_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("dk_attach", tests, scene_enter, scene_leave);
}
