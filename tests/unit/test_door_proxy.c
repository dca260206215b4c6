/*
 * What native tools say in HTTP, from the tool's end of the connection: what is asked for
 * on their behalf, what they hear of it, and what is refused before anything is asked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

#include "door_world.h"
#include "fail_alloc.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define GET(host, path) "GET http://" host path " HTTP/1.1\r\nHost: " host "\r\n\r\n"

static bool contains(const char *text, const char *part)
{
    if (strstr(text, part))
        return true;
    print_error("no %s in: %s\n", part, text);
    return false;
}

static const struct nacre_egress_record *last_record(void)
{
    assert_true(world.door.done->egress_count > 0);
    return &world.door.done->egress[world.door.done->egress_count - 1];
}

/* ---- what is asked and answered ---- */

static void an_answer_comes_back_in_chunks(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);
    const char *heard;

    (void)state;
    door_world_say(fd, "POST http://tunnel.example/a?b HTTP/1.1\r\n"
                       "Host: tunnel.example\r\nX-Mine: 1\r\nProxy-Connection: x\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_int_equal(world.asked, 1);
    assert_string_equal(world.fetch->method, "POST");
    assert_string_equal(world.fetch->url.host, "tunnel.example");
    assert_string_equal(world.fetch->url.target, "/a?b");
    assert_false(world.fetch->url.tls || world.fetch->follow);
    assert_string_equal(world.fetch->headers, "X-Mine: 1\n");
    assert_string_equal(world.fetch->body, "abcde");
    assert_string_equal(door_world_hear(fd), "");
    door_world_answer(200, "X-Theirs: 2\nConnection: close\nTransfer-Encoding: x\n"
                           "Alt-Svc: h3\nX-Evil: a\rSet-Cookie: b\n");
    assert_true(door_world_body("hello", 5));
    heard = door_world_hear(fd);
    assert_string_equal(heard, "HTTP/1.1 200 OK\r\nX-Theirs: 2\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(fd), "0\r\n\r\n");
    assert_int_equal(world.freed, 1);
    assert_false(door_world_is_closed(fd));
    close(fd);
}

static void a_length_that_holds_is_kept(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("tunnel.example", "/"));
    assert_true(world.fetch->raw_body);
    door_world_answer(200, "Content-Encoding: gzip\nContent-Length: 5\n");
    assert_true(door_world_body("hello", 5));
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(fd),
                        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: 5\r\n\r\nhello");
    close(fd);
}

static void what_is_scrubbed_has_no_length_and_no_encoding(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    world.door.scrub = (struct nacre_leaks *)&world; /* never looked into here */
    door_world_say(fd, "GET http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
                       "A: 1\r\nAccept-Encoding: gzip\r\nB: 2\r\n\r\n");
    assert_false(world.fetch->raw_body);
    assert_string_equal(world.fetch->headers, "A: 1\nB: 2\n");
    door_world_answer(200, "Content-Encoding: gzip\nContent-Length: 5\n");
    assert_string_equal(door_world_hear(fd),
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    close(fd);
}

static void requests_follow_each_other_on_one_connection(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("tunnel.example", "/1") GET("tunnel.example", "/2"));
    assert_int_equal(world.asked, 1);
    for (int i = 1; i <= 2; i++) {
        char path[8];

        (void)snprintf(path, sizeof(path), "/%d", i);
        assert_string_equal(world.fetch->url.target, path);
        door_world_answer(204, "");
        door_world_end(NACRE_HTTP_OK, "");
        assert_string_equal(door_world_hear(fd), "HTTP/1.1 204 No Content\r\n\r\n");
    }
    assert_int_equal(world.asked, 2);
    close(fd);
}

static void head_and_the_old_version_end_where_they_should(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY), old;

    (void)state;
    door_world_say(fd, "HEAD http://tunnel.example/ HTTP/1.1\r\n"
                       "Host: tunnel.example\r\n\r\n");
    door_world_answer(200, "Content-Length: 99\n");
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(fd),
                        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n");
    assert_false(door_world_is_closed(fd));
    close(fd);
    old = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(old, "GET http://tunnel.example/ HTTP/1.0\r\n\r\n");
    door_world_answer(200, "");
    assert_true(door_world_body("hello", 5));
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(old),
                        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    assert_true(door_world_is_closed(old));
    close(old);
}

static void a_body_that_is_expected_is_asked_for(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, "PUT http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
                       "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_string_equal(door_world_hear(fd), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(world.asked, 0);
    door_world_say(fd, "abc");
    assert_string_equal(world.fetch->body, "abc");
    close(fd);
    fd = door_world_connect(NACRE_DOOR_PROXY); /* but not what would not be taken */
    door_world_say(fd, "PUT http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
                       "Content-Length: 65537\r\nExpect: 100-continue\r\n\r\n");
    assert_true(contains(door_world_hear(fd), "HTTP/1.1 413 "));
    assert_int_equal(world.asked, 1);
    close(fd);
}

/* What is scanned has to be seen, also by who compresses it on the way (git does). */
static void a_compressed_body_is_sent_as_it_is_scanned(void **state)
{
    static const char zipped[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03"
                                 "\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
    static const char *const encodings[] = { "Content-Encoding: gzip\r\nB: c\r\n",
                                             "content-encoding: GZIP\r\n",
                                             "Content-Encoding: br\r\n",
                                             "Content-Encoding: gzip\r\n"
                                             "Content-Encoding: gzip\r\n" };
    static const char *const left[] = { "B: c\n", "", "Content-Encoding: br\n",
                                        "Content-Encoding: gzip\n" };
    char text[512];
    int fd, length;

    (void)state;
    for (size_t i = 0; i <= NACRE_COUNT(encodings); i++) {
        bool is_scanned = i < NACRE_COUNT(encodings);

        world.door.leaks = is_scanned ? (struct nacre_leaks *)&world : NULL;
        fd = door_world_connect(NACRE_DOOR_PROXY);
        length = snprintf(text, sizeof(text),
                          "POST http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
                          "%sContent-Length: %zu\r\n\r\n",
                          encodings[is_scanned ? i : 1], sizeof(zipped) - 1);
        memcpy(text + length, zipped, sizeof(zipped) - 1);
        door_world_send(fd, text, (size_t)length + sizeof(zipped) - 1);
        assert_non_null(world.fetch);
        if (is_scanned)
            assert_string_equal(world.fetch->headers, left[i]);
        if (is_scanned && i != 2)
            assert_string_equal(world.fetch->body, "hello");
        else
            assert_memory_equal(world.fetch->body, zipped, sizeof(zipped) - 1);
        close(fd);
        door_world_settle();
    }
    world.door.leaks = (struct nacre_leaks *)&world;
    fd = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(fd, "POST http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
                       "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello");
    assert_true(contains(door_world_hear(fd), "HTTP/1.1 400 "));
    assert_null(world.fetch);
    close(fd);
}

static void a_tool_that_does_not_read_makes_the_server_wait(void **state)
{
    static char piece[65536], heard[65536];
    int fd = door_world_connect(NACRE_DOOR_PROXY), count = 0;
    size_t total = 0, got;

    (void)state;
    door_world_say(fd, GET("tunnel.example", "/"));
    door_world_answer(200, "");
    while (count < 100 && door_world_body(piece, sizeof(piece)))
        count++;
    assert_in_range(count, 1, 99);
    assert_int_equal(world.resumed, 0);
    door_world_settle();
    assert_in_range(door_world_wakes(), 1, 5);
    while ((got = door_world_take(fd, heard, sizeof(heard))) > 0)
        total += got;
    assert_true(total > (size_t)(count + 1) * sizeof(piece));
    assert_int_equal(world.resumed, 1);
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(fd), "0\r\n\r\n");
    close(fd);
}

static void failures_are_told_by_a_status_and_a_sentence(void **state)
{
    static const struct {
        enum nacre_http_code code;
        const char *heard;
    } rows[] = {
        { NACRE_HTTP_DENIED, "HTTP/1.1 403 denied: why\r\n" },
        { NACRE_HTTP_LEAK, "HTTP/1.1 403 leak: why\r\n" },
        { NACRE_HTTP_TOO_MANY, "HTTP/1.1 429 " },
        { NACRE_HTTP_TIMED_OUT, "HTTP/1.1 504 " },
        { NACRE_HTTP_UNREACHABLE, "HTTP/1.1 502 " },
        { NACRE_HTTP_TLS, "HTTP/1.1 502 " },
    };
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const char *heard;

        door_world_say(fd, GET("tunnel.example", "/"));
        door_world_end(rows[i].code, "why");
        heard = door_world_hear(fd);
        assert_true(contains(heard, rows[i].heard) && contains(heard, ": why\n"));
        assert_true(contains(heard, "X-Nacre-"));
    }
    assert_false(door_world_is_closed(fd));
    close(fd);
}

static void an_answer_that_stays_unfinished_breaks_the_connection(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        int fd = door_world_connect(NACRE_DOOR_PROXY);
        const char *heard;

        door_world_say(fd, GET("tunnel.example", "/"));
        door_world_answer(200, i < 2 ? "Content-Length: 9\n" : "");
        if (i == 0) { /* more than was promised, less than was promised, cut off */
            assert_false(door_world_body("0123456789", 10));
        } else {
            assert_true(door_world_body("01234567", 8));
            door_world_end(i == 1 ? NACRE_HTTP_OK : NACRE_HTTP_PROTOCOL, "why");
        }
        heard = door_world_hear(fd);
        assert_null(strstr(heard, "\r\n0\r\n"));
        assert_true(door_world_is_closed(fd));
        close(fd);
    }
    assert_int_equal(world.freed, 4);
}

static void a_tool_that_goes_away_ends_what_it_asked_for(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("tunnel.example", "/"));
    assert_non_null(world.fetch);
    close(fd);
    door_world_settle();
    assert_null(world.fetch);
}

static void a_tool_that_has_said_all_still_gets_its_answer(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("tunnel.example", "/"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    door_world_settle();
    assert_in_range(door_world_wakes(), 1, 5);
    door_world_answer(204, "");
    door_world_end(NACRE_HTTP_OK, "");
    assert_string_equal(door_world_hear(fd), "HTTP/1.1 204 No Content\r\n\r\n");
    assert_true(door_world_is_closed(fd));
    close(fd);
}

/* ---- ways ---- */

static void a_host_to_be_upgraded_is_spoken_to_in_tls(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("upgrade.example", "/x"));
    assert_true(world.fetch->url.tls);
    assert_int_equal(world.fetch->url.port, 443);
    door_world_answer(302, "Location: https://upgrade.example/y?z#f\n");
    door_world_end(NACRE_HTTP_OK, "");
    assert_true(contains(door_world_hear(fd),
                         "\r\nLocation: http://upgrade.example/y?z#f\r\n"));
    door_world_say(fd, GET("upgrade.example:8443", "/x"));
    assert_true(world.fetch->url.tls);
    assert_int_equal(world.fetch->url.port, 8443);
    door_world_answer(302, "Location: https://upgrade.example:8443/\n");
    door_world_end(NACRE_HTTP_OK, "");
    assert_true(contains(door_world_hear(fd),
                         "Location: http://upgrade.example:8443/\r\n"));
    close(fd);
}

static void a_location_that_leads_elsewhere_is_left_as_it_is(void **state)
{
    static const char *const left[] = {
        "https://tunnel.example/", "/relative", "relative", "https://other.example/",
        "http://upgrade.example/", "h", "",
    };
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(left); i++) {
        char field[128], line[128];

        door_world_say(fd, GET("upgrade.example", "/x"));
        (void)snprintf(field, sizeof(field), "Location: %s\n", left[i]);
        (void)snprintf(line, sizeof(line), "\r\nLocation: %s\r\n", left[i]);
        door_world_answer(302, field);
        door_world_end(NACRE_HTTP_OK, "");
        assert_true(contains(door_world_hear(fd), line));
    }
    close(fd);
}

static void a_rule_of_port_80_is_spoken_to_in_clear(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, GET("plain.example", "/x"));
    assert_false(world.fetch->url.tls);
    assert_int_equal(world.fetch->url.port, 80);
    close(fd);
}

static void a_proxy_may_be_asked_for_https(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, "GET https://tunnel.example/ HTTP/1.1\r\n"
                       "Host: tunnel.example\r\n\r\n");
    assert_true(world.fetch->url.tls);
    close(fd);
}

static void port_80_takes_the_name_from_the_host_field(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_HTTP);

    (void)state;
    door_world_say(fd, "GET /x HTTP/1.1\r\nHost: a.below.example\r\n\r\n");
    assert_string_equal(world.fetch->url.host, "a.below.example");
    assert_int_equal(world.fetch->url.port, 80);
    close(fd);
    fd = door_world_connect(NACRE_DOOR_HTTP);
    door_world_say(fd, "GET /x HTTP/1.1\r\nHost: upgrade.example\r\n\r\n");
    assert_true(world.fetch->url.tls);
    close(fd);
}

/* ---- refusals ---- */

static void a_denied_host_is_told_and_never_asked(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);
    const char *heard;

    (void)state;
    door_world_say(fd, GET("evil.example", "/") GET("tunnel.example", "/"));
    heard = door_world_hear(fd);
    assert_true(contains(heard, "HTTP/1.1 403 host-not-allowed: ") &&
                contains(heard, "\r\nX-Nacre-Denied: host-not-allowed\r\n") &&
                contains(heard, "\r\n\r\nnacre: host-not-allowed: ") &&
                contains(heard, "evil.example"));
    assert_true(door_world_is_closed(fd));
    assert_int_equal(world.asked + world.looked_up, 0);
    assert_int_equal(world.door.done->denials_seen, 1);
    assert_string_equal(world.door.done->denials[0].path, "evil.example");
    assert_string_equal(last_record()->host, "evil.example");
    assert_string_equal(last_record()->method, "GET");
    assert_string_equal(last_record()->code, "host-not-allowed");
    assert_false(last_record()->sent);
    close(fd);
}

static void what_is_refused_closes_and_nothing_behind_it_is_read(void **state)
{
    static const struct {
        int kind;
        const char *said, *heard;
    } rows[] = {
        { NACRE_DOOR_PROXY, GET("tunnel.example:81", "/"), "403" },
        { NACRE_DOOR_PROXY, "GET / HTTP/1.1\r\nHost: tunnel.example\r\n\r\n", "400" },
        { NACRE_DOOR_PROXY, "hello there\r\n\r\n", "400" },
        { NACRE_DOOR_PROXY, "\x16\x03\x01", "400" },
        { NACRE_DOOR_PROXY, "GET http://tunnel.example/ HTTP/1.1\r\nHost: evil\r\n\r\n",
          "400" },
        { NACRE_DOOR_PROXY,
          "POST http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
          "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "400" },
        { NACRE_DOOR_PROXY,
          "POST http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
          "Transfer-Encoding: chunked\r\n\r\n10001\r\n", "413" },
        { NACRE_DOOR_PROXY,
          "POST http://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n"
          "Content-Length: 1000000000000\r\n\r\n", "413" },
        { NACRE_DOOR_PROXY,
          "CONNECT tunnel.example:443 HTTP/1.1\r\nHost: tunnel.example:443\r\n"
          "Content-Length: 5\r\n\r\n", "400" },
        { NACRE_DOOR_HTTP,
          "CONNECT tunnel.example:443 HTTP/1.1\r\nHost: tunnel.example:443\r\n\r\n",
          "421" },
        { NACRE_DOOR_HTTP, "GET / HTTP/1.1\r\nHost: tunnel.example:443\r\n\r\n", "400" },
        { NACRE_DOOR_HTTP, "GET http://tunnel.example:443/ HTTP/1.1\r\n"
                           "Host: tunnel.example:443\r\n\r\n", "421" },
        { NACRE_DOOR_HTTP, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403" },
        { NACRE_DOOR_HTTP, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "403" },
        { NACRE_DOOR_HTTP, "GET / HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n", "403" },
        { NACRE_DOOR_HTTP, "GET / HTTP/1.1\r\nHost: below.example\r\n\r\n", "403" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int fd = door_world_connect(rows[i].kind);
        char line[32];

        door_world_say(fd, rows[i].said);
        (void)snprintf(line, sizeof(line), "HTTP/1.1 %s ", rows[i].heard);
        assert_true(contains(door_world_hear(fd), line));
        (void)send(fd, GET("tunnel.example", "/"), strlen(GET("tunnel.example", "/")),
                   MSG_NOSIGNAL);
        assert_true(door_world_is_closed(fd));
        assert_int_equal(world.asked, 0);
        assert_int_equal(world.door.done->egress_seen, i + 1);
        close(fd);
    }
}

static void connect_to_a_host_to_be_upgraded_tells_what_to_do(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);
    const char *heard;

    (void)state;
    door_world_say(fd, "CONNECT upgrade.example:443 HTTP/1.1\r\n"
                       "Host: upgrade.example:443\r\n\r\n");
    heard = door_world_hear(fd);
    assert_true(contains(heard,
                         "HTTP/1.1 403 call-http: call http://upgrade.example/ instead"));
    assert_true(contains(heard, "X-Nacre-Denied: call-http\r\n"));
    assert_string_equal(last_record()->code, "call-http");
    assert_int_equal(world.looked_up, 0);
    close(fd);
}

/* ---- time and number ---- */

static void a_slow_head_has_a_deadline_however_it_drips(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_say(fd, "G");
    for (int i = 0; i < 14; i++) {
        door_world_pass(NACRE_NS_PER_S);
        door_world_say(fd, "E");
    }
    assert_false(door_world_is_closed(fd));
    door_world_pass(2 * NACRE_NS_PER_S);
    assert_true(door_world_is_closed(fd));
    close(fd);
}

static void an_idle_connection_has_a_deadline(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    door_world_pass(59 * NACRE_NS_PER_S);
    door_world_say(fd, GET("tunnel.example", "/"));
    door_world_answer(204, "");
    door_world_end(NACRE_HTTP_OK, "");
    (void)door_world_hear(fd);
    door_world_pass(59 * NACRE_NS_PER_S);
    assert_false(door_world_is_closed(fd));
    door_world_pass(2 * NACRE_NS_PER_S);
    assert_true(door_world_is_closed(fd));
    close(fd);
}

static void nothing_outlives_the_run(void **state)
{
    int busy = door_world_connect(NACRE_DOOR_PROXY);
    int idle;

    (void)state;
    world.door.deadline_ns = nacre_clock_ns() + 5 * NACRE_NS_PER_S;
    idle = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(busy, GET("tunnel.example", "/"));
    door_world_pass(6 * NACRE_NS_PER_S);
    assert_true(door_world_is_closed(idle));
    door_clients_end(&world.door);
    assert_true(door_world_is_closed(busy));
    assert_null(world.fetch);
    close(busy);
    close(idle);
}

static void who_is_one_too_many_waits_for_a_place(void **state)
{
    int first, second, third;

    (void)state;
    world.door.egress.limits.connections_max = 2;
    first = door_world_connect(NACRE_DOOR_PROXY);
    second = door_world_connect(NACRE_DOOR_PROXY);
    third = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(third, GET("evil.example", "/3"));
    assert_string_equal(door_world_hear(third), "");
    close(first);
    door_world_settle();
    assert_true(contains(door_world_hear(third), "HTTP/1.1 403 "));
    close(second);
    close(third);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void who_comes_through_a_listening_socket_waits_in_its_queue(void **state)
{
    uint16_t port;
    int server = door_world_server(&port), first, second;

    (void)state;
    world.door.egress.limits.connections_max = 1;
    door_proxy_serve(&world.door, server, NACRE_DOOR_PROXY | NACRE_DOOR_LISTEN);
    first = dial(port);
    second = dial(port);
    door_world_say(first, GET("tunnel.example", "/1"));
    door_world_say(second, GET("evil.example", "/2"));
    assert_int_equal(world.asked, 1);
    assert_string_equal(door_world_hear(second), "");
    door_world_answer(204, "");
    door_world_end(NACRE_HTTP_OK, "");
    (void)door_world_hear(first);
    assert_string_equal(door_world_hear(second), "");
    close(first);
    door_world_settle();
    assert_true(contains(door_world_hear(second), "HTTP/1.1 403 "));
    close(second);
    second = dial(port);
    door_world_say(second, GET("evil.example", "/2"));
    assert_true(contains(door_world_hear(second), "HTTP/1.1 403 "));
    close(second);
}

/* It is of a sandbox that is gone, whose network must not live on in a door that waits. */
static void a_listening_socket_goes_with_the_run(void **state)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    uint16_t port;
    int server = door_world_server(&port), fd;

    (void)state;
    door_proxy_serve(&world.door, server, NACRE_DOOR_PROXY | NACRE_DOOR_LISTEN);
    fd = dial(port);
    door_world_say(fd, GET("evil.example", "/2"));
    assert_true(contains(door_world_hear(fd), "HTTP/1.1 403 "));
    close(fd);
    door_clients_end(&world.door);
    door_world_settle();
    to.sin_port = htons(port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
}

static void five_hundred_are_served_at_once(void **state)
{
    static int fds[500];
    static struct door_fetch *fetches[500];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fds); i++) {
        fds[i] = door_world_connect(NACRE_DOOR_PROXY);
        assert_int_equal(send(fds[i], GET("tunnel.example", "/"),
                              strlen(GET("tunnel.example", "/")), 0),
                         (ssize_t)strlen(GET("tunnel.example", "/")));
        door_loop_turn(world.door.loop);
        fetches[i] = world.fetch;
    }
    assert_int_equal(world.asked, NACRE_COUNT(fds));
    for (size_t i = 0; i < NACRE_COUNT(fds); i++) {
        world.fetch = fetches[i];
        door_world_answer(204, "");
        door_world_end(NACRE_HTTP_OK, "");
    }
    for (size_t i = 0; i < NACRE_COUNT(fds); i++) {
        assert_string_equal(door_world_hear(fds[i]), "HTTP/1.1 204 No Content\r\n\r\n");
        close(fds[i]);
    }
}

static void the_want_of_memory_ends_a_connection_and_no_more(void **state)
{
    static const char text[] = GET("tunnel.example", "/");

    (void)state;
    for (int after = 0; after < 40; after++) {
        int ends[2];
        bool fired;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        assert_true(send(ends[0], text, sizeof(text) - 1, 0) > 0);
        fail_alloc_after(after);
        door_proxy_serve(&world.door, ends[1], NACRE_DOOR_PROXY);
        door_world_settle();
        if (world.fetch) {
            door_world_answer(200, "A: b\n");
            (void)door_world_body("hello", 5);
            door_world_end(NACRE_HTTP_OK, "");
        }
        door_world_settle();
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        close(ends[0]);
        door_world_settle();
        assert_null(world.fetch);
        if (!fired)
            return;
    }
    fail_msg("it never had enough");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, door_world_open, door_world_close)
    const struct CMUnitTest tests[] = {
        T(an_answer_comes_back_in_chunks),
        T(a_length_that_holds_is_kept),
        T(what_is_scrubbed_has_no_length_and_no_encoding),
        T(requests_follow_each_other_on_one_connection),
        T(head_and_the_old_version_end_where_they_should),
        T(a_body_that_is_expected_is_asked_for),
        T(a_compressed_body_is_sent_as_it_is_scanned),
        T(a_tool_that_does_not_read_makes_the_server_wait),
        T(failures_are_told_by_a_status_and_a_sentence),
        T(an_answer_that_stays_unfinished_breaks_the_connection),
        T(a_tool_that_goes_away_ends_what_it_asked_for),
        T(a_tool_that_has_said_all_still_gets_its_answer),
        T(a_host_to_be_upgraded_is_spoken_to_in_tls),
        T(a_location_that_leads_elsewhere_is_left_as_it_is),
        T(a_rule_of_port_80_is_spoken_to_in_clear),
        T(a_proxy_may_be_asked_for_https),
        T(port_80_takes_the_name_from_the_host_field),
        T(a_denied_host_is_told_and_never_asked),
        T(what_is_refused_closes_and_nothing_behind_it_is_read),
        T(connect_to_a_host_to_be_upgraded_tells_what_to_do),
        T(a_slow_head_has_a_deadline_however_it_drips),
        T(an_idle_connection_has_a_deadline),
        T(nothing_outlives_the_run),
        T(who_is_one_too_many_waits_for_a_place),
        T(who_comes_through_a_listening_socket_waits_in_its_queue),
        T(a_listening_socket_goes_with_the_run),
        T(five_hundred_are_served_at_once),
        T(the_want_of_memory_ends_a_connection_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
