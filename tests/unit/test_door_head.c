/*
 * The heads and bodies of requests, as a hostile client may send them.  The rows that are
 * refused are those by which requests have been smuggled past proxies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "inflate.h"
#include "nacre/own.h"

#define ABSOLUTE "GET http://example.com/a?b HTTP/1.1\r\n"
#define HOST "Host: example.com\r\n"

static enum door_head_is read_text(const char *text, bool over_tls,
                                   struct door_head *head)
{
    size_t used = 0;
    enum door_head_is is = door_head_read(text, strlen(text), over_tls, head, &used);

    if (is == DOOR_HEAD_WHOLE)
        assert_int_equal(used, strlen(text));
    return is;
}

/* ---- what is understood ---- */

static void a_request_to_a_proxy_is_read_wherever_it_is_cut(void **state)
{
    static const char text[] = "POST http://Example.com:8080/a?b=c HTTP/1.1\r\n"
                               "Host: example.COM:8080\r\nX-One:  1 \t\r\nAccept: */*\r\n"
                               "Content-Length: 12\r\nX-Empty:\r\n\r\n";
    struct door_head head = { .scanned = 0 };
    size_t used = 0;

    (void)state;
    for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
        assert_int_equal(door_head_read(text, cut, false, &head, &used), DOOR_HEAD_MORE);
        assert_null(head.fields.bytes);
    }
    assert_int_equal(read_text(text, false, &head), DOOR_HEAD_WHOLE);
    assert_string_equal(head.method, "POST");
    assert_int_equal(head.form, DOOR_TARGET_ABSOLUTE);
    assert_string_equal(head.url.host, "example.com");
    assert_int_equal(head.url.port, 8080);
    assert_string_equal(head.url.target, "/a?b=c");
    assert_false(head.url.tls);
    assert_true(head.keeps_alive && !head.is_chunked && !head.expects_continue);
    assert_int_equal(head.body_bytes, 12);
    assert_string_equal(head.fields.bytes, "X-One: 1\nAccept: */*\nX-Empty: \n");
    door_head_clear(&head);
}

static void what_follows_a_head_is_left_alone(void **state)
{
    static const char text[] = ABSOLUTE HOST "\r\nGET \x01\x02";
    struct door_head head = { .scanned = 0 };
    size_t used = 0;

    (void)state;
    assert_int_equal(door_head_read(text, sizeof(text) - 1, false, &head, &used),
                     DOOR_HEAD_WHOLE);
    assert_int_equal(used, strlen(ABSOLUTE HOST "\r\n"));
    door_head_clear(&head);
}

static void a_path_goes_to_the_host_of_the_field(void **state)
{
    struct door_head head = { .scanned = 0 };

    (void)state;
    assert_int_equal(
        read_text("GET /x HTTP/1.1\r\nhOsT: EXAMPLE.com.\r\n\r\n", false, &head),
        DOOR_HEAD_WHOLE);
    assert_int_equal(head.form, DOOR_TARGET_ORIGIN);
    assert_string_equal(head.url.host, "example.com");
    assert_int_equal(head.url.port, 80);
    door_head_clear(&head);
    assert_int_equal(
        read_text("GET //evil.example/x HTTP/1.1\r\n" HOST "\r\n", true, &head),
        DOOR_HEAD_WHOLE);
    assert_string_equal(head.url.host, "example.com");
    assert_string_equal(head.url.target, "//evil.example/x");
    assert_true(head.url.tls);
    assert_int_equal(head.url.port, 443);
    door_head_clear(&head);
}

static void connect_takes_a_host_and_a_port(void **state)
{
    static const char *const texts[] = {
        "CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "CONNECT example.com:443 HTTP/1.0\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        struct door_head head = { .scanned = 0 };

        assert_int_equal(read_text(texts[i], false, &head), DOOR_HEAD_WHOLE);
        assert_int_equal(head.form, DOOR_TARGET_AUTHORITY);
        assert_string_equal(head.url.host, "example.com");
        assert_int_equal(head.url.port, 443);
        door_head_clear(&head);
    }
}

static void fields_of_the_connection_are_not_passed_on(void **state)
{
    struct door_head head = { .scanned = 0 };

    (void)state;
    assert_int_equal(
        read_text(ABSOLUTE HOST "Connection: keep-alive, X-Hop,, close\r\nX-Hop: 1\r\n"
                                "Keep-Alive: 5\r\nProxy-Connection: x\r\nTE: trailers\r\n"
                                "Proxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\n"
                                "HTTP2-Settings: x\r\nTrailer: x\r\nX-Stays: 1\r\n"
                                "Transfer-Encoding: Chunked\r\n"
                                "Expect: 100-Continue\r\n\r\n",
                  false, &head),
        DOOR_HEAD_WHOLE);
    assert_string_equal(head.fields.bytes, "X-Stays: 1\n");
    assert_true(head.is_chunked && head.expects_continue && !head.keeps_alive);
    door_head_clear(&head);
}

static void the_old_version_ends_with_its_connection(void **state)
{
    struct door_head head = { .scanned = 0 };

    (void)state;
    assert_int_equal(read_text("GET http://example.com/ HTTP/1.0\r\n"
                               "Connection: keep-alive\r\nExpect: 100-continue\r\n\r\n",
                               false, &head),
                     DOOR_HEAD_WHOLE);
    assert_true(head.is_old && !head.keeps_alive && !head.expects_continue);
    door_head_clear(&head);
}

/* ---- what is refused ---- */

static const struct {
    const char *text;
    uint32_t status;
} refused[] = {
    /* lines */
    { "\r\n" ABSOLUTE HOST "\r\n", 400 },
    { " " ABSOLUTE HOST "\r\n", 400 },
    { "\x16\x03\x01\x02", 400 },
    { "<", 400 }, /* known by its first byte */
    { "GET http://example.com/ HTTP/1.1\nHost: example.com\n\n", 400 },
    { ABSOLUTE "Host: example.com\n\r\n", 400 },
    { ABSOLUTE "Host: example.com\r\r\n\r\n", 400 },
    { ABSOLUTE HOST "X: a\rb\r\n\r\n", 400 },
    { ABSOLUTE HOST "X: a\r\n b\r\n\r\n", 400 },
    { ABSOLUTE HOST "X: a\r\n\tb\r\n\r\n", 400 },
    { ABSOLUTE " X: a\r\n" HOST "\r\n", 400 },
    { ABSOLUTE HOST "X: \x01\r\n\r\n", 400 },
    { ABSOLUTE HOST "X: \x7f\r\n\r\n", 400 },
    { ABSOLUTE HOST "X : a\r\n\r\n", 400 },
    { ABSOLUTE HOST "X\t: a\r\n\r\n", 400 },
    { ABSOLUTE HOST ": a\r\n\r\n", 400 },
    { ABSOLUTE HOST "X\r\n\r\n", 400 },
    { ABSOLUTE HOST "X(y): a\r\n\r\n", 400 },
    { ABSOLUTE HOST "X\xc3: a\r\n\r\n", 400 },
    /* the first of them */
    { "GET  http://example.com/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://example.com/  HTTP/1.1\r\n" HOST "\r\n", 505 },
    { "GET http://example.com/ HTTP/1.1 \r\n" HOST "\r\n", 505 },
    { "GET\thttp://example.com/\tHTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://example.com/\r\n" HOST "\r\n", 400 },
    { "GET http://example.com/ HTTP/2.0\r\n" HOST "\r\n", 505 },
    { "PRI * HTTP/2.0\r\n\r\n", 505 },
    { "GET http://example.com/ http/1.1\r\n" HOST "\r\n", 505 },
    { "GET http://example.com/ HTTP/1.10\r\n" HOST "\r\n", 505 },
    { "G(T http://example.com/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "VERYVERYLONGMETHODNAME / HTTP/1.1\r\n" HOST "\r\n", 501 },
    /* where it goes */
    { "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET ftp://example.com/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET file:///etc/passwd HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET example.com/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http:///etc HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://user@example.com/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://example.com\\@evil.example/ HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://example.com/\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n", 400 },
    { "GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", 400 },
    { "CONNECT example.com HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT example.com: HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT example.com:0 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT example.com:65536 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT example.com:443/x HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT http://example.com:443 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT a@example.com:443 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT /x:443 HTTP/1.1\r\n" HOST "\r\n", 400 },
    /* Host */
    { ABSOLUTE "\r\n", 400 },
    { "GET / HTTP/1.1\r\n\r\n", 400 },
    { "GET / HTTP/1.0\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400 },
    { ABSOLUTE "Host:\r\n\r\n", 400 },
    { ABSOLUTE HOST HOST "\r\n", 400 },
    { ABSOLUTE HOST "HOST: evil.example\r\n\r\n", 400 },
    { ABSOLUTE "Host: evil.example\r\n\r\n", 400 },
    { ABSOLUTE "Host: example.com:81\r\n\r\n", 400 },
    { ABSOLUTE "Host: example.com, evil.example\r\n\r\n", 400 },
    { ABSOLUTE "Host: example.com/evil\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: a@example.com\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: example.com/x?\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: example.com#\r\n\r\n", 400 },
    { "GET / HTTP/1.1\r\nHost: example.com evil\r\n\r\n", 400 },
    { "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 400 },
    { "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:444\r\n\r\n", 400 },
    { "CONNECT example.com:443 HTTP/1.1\r\n\r\n", 400 },
    /* where it ends */
    { ABSOLUTE HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { ABSOLUTE HOST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 1, 1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: +1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: -1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 0x1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 1 1\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length:\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 18446744073709551616\r\n\r\n", 400 },
    { ABSOLUTE HOST "Content-Length: 9223372036854775808\r\n\r\n", 400 },
    { ABSOLUTE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
    { ABSOLUTE HOST "Transfer-Encoding: xchunked\r\n\r\n", 501 },
    { ABSOLUTE HOST "Transfer-Encoding: chunked;q=1\r\n\r\n", 501 },
    { ABSOLUTE HOST "Transfer-Encoding:\r\n\r\n", 501 },
    { ABSOLUTE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      400 },
    { "POST http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
    { ABSOLUTE HOST "Expect: 200-ok\r\n\r\n", 417 },
    { ABSOLUTE HOST "Connection: a b\r\n\r\n", 400 },
    { ABSOLUTE HOST "Connection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\r\n\r\n", 400 },
};

static void what_two_readers_could_read_differently_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        struct door_head head = { .scanned = 0 };
        enum door_head_is is = read_text(refused[i].text, false, &head);

        if (is != DOOR_HEAD_BAD || head.refusal != refused[i].status)
            print_error("%s", refused[i].text);
        assert_int_equal(is, DOOR_HEAD_BAD);
        assert_int_equal(head.refusal, refused[i].status);
        assert_true(head.text[0] != '\0');
        assert_null(head.fields.bytes);
        door_head_clear(&head);
    }
}

static void a_nul_is_refused(void **state)
{
    static const char text[] = ABSOLUTE HOST "X: \0\r\n\r\n";
    struct door_head head = { .scanned = 0 };
    size_t used;

    (void)state;
    assert_int_equal(door_head_read(text, sizeof(text) - 1, false, &head, &used),
                     DOOR_HEAD_BAD);
}

static void a_head_has_ceilings(void **state)
{
    static char text[DOOR_HEAD_BYTES_MAX + 64];
    struct door_head head = { .scanned = 0 };
    size_t used, at;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(door_head_read(text, DOOR_HEAD_BYTES_MAX - 1, false, &head, &used),
                     DOOR_HEAD_MORE);
    assert_int_equal(door_head_read(text, DOOR_HEAD_BYTES_MAX, false, &head, &used),
                     DOOR_HEAD_BAD);
    assert_int_equal(head.refusal, 431);
    door_head_clear(&head);

    at = (size_t)snprintf(text, sizeof(text), "%s", ABSOLUTE HOST);
    for (int i = 0; i < DOOR_HEAD_FIELDS_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "X: y\r\n");
    (void)snprintf(text + at, sizeof(text) - at, "\r\n");
    assert_int_equal(read_text(text, false, &head), DOOR_HEAD_BAD);
    assert_int_equal(head.refusal, 431);
    door_head_clear(&head);

    at = (size_t)snprintf(text, sizeof(text), "GET http://example.com/");
    memset(text + at, 'a', 9000);
    (void)snprintf(text + at + 9000, 100, " HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(read_text(text, false, &head), DOOR_HEAD_BAD);
    assert_int_equal(head.refusal, 414);
    door_head_clear(&head);
    at = (size_t)snprintf(text, sizeof(text), "GET /");
    memset(text + at, 'a', 9000);
    (void)snprintf(text + at + 9000, 100, " HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(read_text(text, false, &head), DOOR_HEAD_BAD);
    assert_int_equal(head.refusal, 414);
    door_head_clear(&head);
}

static void a_head_survives_the_want_of_memory(void **state)
{
    (void)state;
    for (int after = 0;; after++) {
        struct door_head head = { .scanned = 0 };
        enum door_head_is is;
        bool fired;

        fail_alloc_after(after);
        is = read_text(ABSOLUTE HOST "X: y\r\n\r\n", false, &head);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        door_head_clear(&head);
        if (!fired) {
            assert_int_equal(is, DOOR_HEAD_WHOLE);
            break;
        }
        assert_int_equal(is, DOOR_HEAD_BAD);
    }
}

/* ---- bodies ---- */

static enum door_body_is read_body(const char *text, size_t count, size_t step,
                                   struct nacre_buf *out, size_t *ret_used)
{
    struct door_head head = { .is_chunked = true };
    enum door_body_is is = DOOR_BODY_MORE;
    struct door_body body;
    size_t taken;

    *ret_used = 0;
    door_body_init(&body, &head);
    while (is == DOOR_BODY_MORE && *ret_used < count) {
        size_t some = count - *ret_used < step ? count - *ret_used : step;

        is = door_body_take(&body, text + *ret_used, some, out, &taken);
        assert_true(taken <= some && (is != DOOR_BODY_MORE || taken == some));
        *ret_used += taken;
    }
    return is;
}

static void chunks_come_out_whole_wherever_they_are_cut(void **state)
{
    static const char text[] = "3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\nGET";

    (void)state;
    for (size_t step = 1; step < sizeof(text); step++) {
        struct nacre_buf out = NACRE_BUF(64);
        size_t used;

        assert_int_equal(read_body(text, sizeof(text) - 1, step, &out, &used),
                         DOOR_BODY_WHOLE);
        assert_int_equal(used, sizeof(text) - 4);
        assert_string_equal(out.bytes, "abc0123456789");
        nacre_buf_clear(&out);
    }
}

static void chunks_that_could_be_read_differently_are_refused(void **state)
{
    static const char *const rows[] = {
        "\r\n",           "g\r\n",          "-1\r\na",        "0x1\r\na",
        "1;a=b\r\na",     "1 \r\na",        " 1\r\na",        "1\na\r\n",
        "1\r\nab",        "1\r\na\n",       "1\r\na\r\r",     "123456789\r\n",
        "000000000\r\n",  "0\r\nX: y\r\n",  "0\r\n\n",        "0\n",
        "0\r\n\r\r",      "1\r\r",          "\t1\r\n",        "1,\r\n",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        for (size_t step = 1; step < 4; step++) {
            struct nacre_buf out = NACRE_BUF(1 << 20);
            size_t used;

            assert_int_equal(read_body(rows[i], strlen(rows[i]), step, &out, &used),
                             DOOR_BODY_BAD);
            nacre_buf_clear(&out);
        }
}

static void a_body_has_a_ceiling_before_it_comes(void **state)
{
    struct door_head head = { .body_bytes = 65 };
    struct nacre_buf out = NACRE_BUF(64);
    struct door_body body;
    size_t used;

    (void)state;
    door_body_init(&body, &head);
    assert_int_equal(door_body_take(&body, "a", 1, &out, &used), DOOR_BODY_TOO_BIG);
    assert_int_equal(read_body("41\r\na", 5, 5, &out, &used), DOOR_BODY_TOO_BIG);
    assert_int_equal(read_body("ffffffff\r\na", 11, 11, &out, &used), DOOR_BODY_TOO_BIG);
    assert_int_equal(out.size, 0);
    nacre_buf_clear(&out);
}

static void a_body_of_known_length_leaves_the_rest(void **state)
{
    struct door_head head = { .body_bytes = 3 };
    struct nacre_buf out = NACRE_BUF(64);
    struct door_body body;
    size_t used;

    (void)state;
    door_body_init(&body, &head);
    assert_int_equal(door_body_take(&body, "a", 1, &out, &used), DOOR_BODY_MORE);
    assert_int_equal(door_body_take(&body, "bcGET", 5, &out, &used), DOOR_BODY_WHOLE);
    assert_int_equal(used, 2);
    assert_string_equal(out.bytes, "abc");
    nacre_buf_clear(&out);
    head.body_bytes = 0;
    door_body_init(&body, &head);
    assert_int_equal(door_body_take(&body, "GET", 3, &out, &used), DOOR_BODY_WHOLE);
    assert_int_equal(used, 0);
}

/* ---- compressed bodies ---- */

static size_t gzip(const void *bytes, size_t count, uint8_t *ret_bytes, size_t size)
{
    z_stream zlib = { .next_in = (z_const Bytef *)(uintptr_t)bytes,
                      .avail_in = (uInt)count, .next_out = ret_bytes,
                      .avail_out = (uInt)size };

    assert_int_equal(deflateInit2(&zlib, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&zlib), Z_OK);
    return size - zlib.avail_out;
}

static void a_compressed_body_is_read_whole_or_refused(void **state)
{
    static const char text[] = "what is sent, what is sent, what is sent";
    struct nacre_buf out = NACRE_BUF(64);
    uint8_t bytes[256];
    size_t count = gzip(text, sizeof(text) - 1, bytes, sizeof(bytes));

    (void)state;
    assert_int_equal(door_inflate(bytes, count, &out), DOOR_BODY_WHOLE);
    assert_string_equal(out.bytes, text);
    nacre_buf_clear(&out);
    for (size_t cut = 0; cut < count; cut++) {
        assert_int_equal(door_inflate(bytes, cut, &out), DOOR_BODY_BAD);
        nacre_buf_clear(&out);
    }
    bytes[count] = 0; /* something behind it, a wrong sum, no gzip */
    assert_int_equal(door_inflate(bytes, count + 1, &out), DOOR_BODY_BAD);
    nacre_buf_clear(&out);
    bytes[count - 6] ^= 1;
    assert_int_equal(door_inflate(bytes, count, &out), DOOR_BODY_BAD);
    nacre_buf_clear(&out);
    assert_int_equal(door_inflate(text, sizeof(text), &out), DOOR_BODY_BAD);
    nacre_buf_clear(&out);
}

static void a_bomb_ends_at_the_ceiling(void **state)
{
    static char zeros[1 << 20];
    static uint8_t bytes[4096];
    struct nacre_buf out = NACRE_BUF(100000);
    size_t count = gzip(zeros, sizeof(zeros), bytes, sizeof(bytes));

    (void)state;
    assert_int_equal(door_inflate(bytes, count, &out), DOOR_BODY_TOO_BIG);
    assert_true(out.size <= 100000);
    nacre_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_to_a_proxy_is_read_wherever_it_is_cut),
        cmocka_unit_test(what_follows_a_head_is_left_alone),
        cmocka_unit_test(a_path_goes_to_the_host_of_the_field),
        cmocka_unit_test(connect_takes_a_host_and_a_port),
        cmocka_unit_test(fields_of_the_connection_are_not_passed_on),
        cmocka_unit_test(the_old_version_ends_with_its_connection),
        cmocka_unit_test(what_two_readers_could_read_differently_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(a_head_has_ceilings),
        cmocka_unit_test(a_head_survives_the_want_of_memory),
        cmocka_unit_test(chunks_come_out_whole_wherever_they_are_cut),
        cmocka_unit_test(chunks_that_could_be_read_differently_are_refused),
        cmocka_unit_test(a_body_has_a_ceiling_before_it_comes),
        cmocka_unit_test(a_body_of_known_length_leaves_the_rest),
        cmocka_unit_test(a_compressed_body_is_read_whole_or_refused),
        cmocka_unit_test(a_bomb_ends_at_the_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
