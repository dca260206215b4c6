/* Tokens, and what a request to a browser's port is taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "route.h"

#define MINUTE_NS (TOKEN_LIFE_MS * NACRE_NS_PER_MS)

/* ---- tokens ---- */

static char *give(struct tokens *tokens, enum token_kind kind, char ret_token[TOKEN_HEX])
{
    struct nacre_error err;

    assert_int_equal(tokens_give(tokens, kind, 1, ret_token, &err), NACRE_OK);
    assert_int_equal(strlen(ret_token), 32);
    return ret_token;
}

static void a_token_is_good_once_for_its_kind_and_for_a_minute(void **state)
{
    struct tokens *tokens = tokens_new();
    char one[TOKEN_HEX], two[TOKEN_HEX];

    (void)state;
    give(tokens, TOKEN_CDP_SOCKET, one);
    assert_string_not_equal(one, give(tokens, TOKEN_CDP_SOCKET, two));
    assert_false(tokens_take(tokens, TOKEN_CDP_HTTP, one, 2));
    assert_false(tokens_take(tokens, TOKEN_SCREEN, one, 2));
    assert_false(tokens_take(tokens, TOKEN_CDP_SOCKET, "", 2));
    assert_false(tokens_take(tokens, TOKEN_CDP_SOCKET,
                             "00000000000000000000000000000000", 2));
    assert_true(tokens_take(tokens, TOKEN_CDP_SOCKET, one, 2));
    assert_false(tokens_take(tokens, TOKEN_CDP_SOCKET, one, 2));
    assert_false(tokens_take(tokens, TOKEN_CDP_SOCKET, two, MINUTE_NS + 2));
    tokens_free(tokens);
}

static void so_many_wait_and_no_more_until_they_are_over(void **state)
{
    struct tokens *tokens = tokens_new();
    char token[TOKEN_HEX];
    struct nacre_error err;

    (void)state;
    for (int i = 0; i < TOKENS_MAX; i++)
        give(tokens, TOKEN_CDP_HTTP, token);
    assert_int_equal(tokens_give(tokens, TOKEN_CDP_HTTP, 1, token, &err),
                     NACRE_ERR_TOO_BIG);
    assert_int_equal(tokens_give(tokens, TOKEN_CDP_HTTP, MINUTE_NS + 2, token, &err),
                     NACRE_OK);
    tokens_free(tokens);
}

static void a_visit_is_one_clients_and_ends_with_its_socket(void **state)
{
    struct tokens *tokens = tokens_new();
    struct token_visit visit, other, mixed;
    struct nacre_error err;

    (void)state;
    assert_int_equal(tokens_visit(tokens, 1, &visit, &err), NACRE_OK);
    assert_int_equal(tokens_visit(tokens, 1, &other, &err), NACRE_OK);
    mixed = visit;
    memcpy(mixed.cookie, other.cookie, sizeof(mixed.cookie));
    assert_true(tokens_is_visit(tokens, &visit, 2));
    assert_true(tokens_is_visit(tokens, &visit, 2));
    assert_false(tokens_is_visit(tokens, &mixed, 2)); /* the path alone is no key */
    assert_false(tokens_take(tokens, TOKEN_SCREEN, visit.path, 2));
    assert_false(tokens_visit_socket(tokens, &mixed, 2));
    assert_true(tokens_visit_socket(tokens, &visit, 2));
    assert_false(tokens_visit_socket(tokens, &visit, 2));
    /* As long as its socket, however long that is; without one a minute. */
    assert_true(tokens_is_visit(tokens, &visit, 9 * MINUTE_NS));
    assert_false(tokens_is_visit(tokens, &other, 9 * MINUTE_NS));
    tokens_visit_end(tokens, &visit);
    assert_false(tokens_is_visit(tokens, &visit, 2));
    tokens_free(tokens);
}

/* ---- routes ---- */

#define T "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:4000\r\n"
#define UP "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
#define KEY "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define COOKIE "Cookie: a=b; nacre-screen=" T "; c=d\r\n"
#define OWN "Origin: http://127.0.0.1:4000\r\n"
#define CDP "GET /" T "/devtools/browser/abc HTTP/1.1\r\n"
#define VERSION "GET /" T "/json/version HTTP/1.1\r\n"
#define FILE_ "GET /" T "/vnc.html?x=1 HTTP/1.1\r\n"
#define SOCKET "GET /" T "/websockify HTTP/1.1\r\n"

static const struct row {
    const char *head;
    enum route_is cdp, screen; /* at which port */
} rows[] = {
#define NO ROUTE_REFUSED
    { VERSION HOST, ROUTE_VERSION, NO },
    { "GET /" T "/json/version/ HTTP/1.1\r\n" HOST, ROUTE_VERSION, NO },
    { VERSION "Host: localhost:4000\r\n", ROUTE_VERSION, NO },
    { CDP HOST UP KEY, ROUTE_CDP, NO },
    { FILE_ HOST COOKIE, NO, ROUTE_FILE },
    { SOCKET HOST UP KEY COOKIE OWN, NO, ROUTE_SCREEN },
    { "GET /" T " HTTP/1.1\r\n" HOST, NO, ROUTE_ENTER },
    { "GET /" T "/ HTTP/1.1\r\n" HOST, NO, ROUTE_ENTER },
    /* a name that is not ours, as by a page whose DNS has been turned on us */
    { VERSION "Host: evil.example:4000\r\n", NO, NO },
    { VERSION "Host: 127.0.0.1\r\n", NO, NO },
    { VERSION "Host: 127.0.0.1:4001\r\n", NO, NO },
    { VERSION "Host: 127.0.0.2:4000\r\n", NO, NO },
    { VERSION "Host: localhost.evil.example:4000\r\n", NO, NO },
    { CDP "Host: evil.example:4000\r\n" UP KEY, NO, NO },
    { FILE_ "Host: evil.example:4000\r\n" COOKIE, NO, NO },
    /* a page's */
    { CDP HOST UP KEY "Origin: http://evil.example\r\n", NO, NO },
    { CDP HOST UP KEY OWN, NO, NO },
    { CDP HOST UP KEY "Origin: null\r\n", NO, NO },
    { CDP HOST UP KEY "Origin:\r\n", NO, NO },
    { VERSION HOST "Origin: http://evil.example\r\n", NO, NO },
    { SOCKET HOST UP KEY COOKIE "Origin: http://evil.example\r\n", NO, NO },
    { SOCKET HOST UP KEY COOKIE "Origin: http://127.0.0.1:4001\r\n", NO, NO },
    { SOCKET HOST UP KEY COOKIE "Origin: http://localhost:4000\r\n", NO, NO },
    { SOCKET HOST UP KEY COOKIE, ROUTE_CDP, NO }, /* where its token is none */
    { SOCKET HOST UP KEY COOKIE OWN OWN, NO, NO },
    { FILE_ HOST COOKIE "Origin: http://evil.example\r\n", NO, NO },
    /* without the cookie, with two, with none of ours */
    { FILE_ HOST, NO, NO },
    { FILE_ HOST COOKIE COOKIE, NO, NO },
    { FILE_ HOST "Cookie: nacre-screen=short\r\n", NO, NO },
    { FILE_ HOST "Cookie: xnacre-screen=" T "\r\n", NO, NO },
    /* no WebSocket, or a half one */
    { CDP HOST, NO, NO },
    { CDP HOST UP, NO, NO },
    { CDP HOST KEY, NO, NO },
    { CDP HOST "Upgrade: websocket\r\n" KEY, NO, NO },
    { CDP HOST "Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY, NO, NO },
    { CDP HOST UP "Sec-WebSocket-Version: 8\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", NO, NO },
    { CDP HOST UP "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n", NO, NO },
    { "GET /" T "/other HTTP/1.1\r\n" HOST UP KEY COOKIE OWN, NO, NO },
    /* paths */
    { "GET / HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /" T "/json HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /" T "/json/list HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /" T "0/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /0123456789ABCDEF0123456789abcdef/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /0123/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "GET /" T "/../etc/passwd HTTP/1.1\r\n" HOST COOKIE, NO, NO },
    { "GET /" T "/a/..%2fb HTTP/1.1\r\n" HOST COOKIE, NO, NO },
    { "GET /" T "//evil HTTP/1.1\r\n" HOST COOKIE, NO, NO },
    /* methods, forms and bodies */
    { "POST /" T "/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "PUT /" T "/json/new HTTP/1.1\r\n" HOST, NO, NO },
    { "OPTIONS /" T "/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { "CONNECT 127.0.0.1:4000 HTTP/1.1\r\n" HOST, NO, NO },
    { "GET http://127.0.0.1:4000/" T "/json/version HTTP/1.1\r\n" HOST, NO, NO },
    { VERSION HOST "Content-Length: 3\r\n", NO, NO },
    { VERSION HOST "Transfer-Encoding: chunked\r\n", NO, NO },
};

static enum route_is read_text(const char *text, bool is_screen, struct route *ret_route)
{
    struct door_head head = { .scanned = 0 };
    char whole[2048];
    size_t used = 0;
    int length = snprintf(whole, sizeof(whole), "%s\r\n", text);
    enum door_head_is is = door_head_read(whole, (size_t)length, false, &head, &used);

    *ret_route = (struct route){ .is = ROUTE_REFUSED };
    if (is == DOOR_HEAD_WHOLE)
        route_read(&head, 4000, is_screen, ret_route);
    door_head_clear(&head);
    return ret_route->is;
}

static void a_request_is_what_it_is_at_its_own_port(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct route route;

        if (read_text(rows[i].head, false, &route) != rows[i].cdp ||
            read_text(rows[i].head, true, &route) != rows[i].screen)
            fail_msg("row %zu: %s", i, rows[i].head);
    }
}

static void what_is_passed_on_is_what_was_read(void **state)
{
    struct route route;

    (void)state;
    assert_int_equal(read_text(CDP HOST UP KEY
                               "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                               "Sec-WebSocket-Protocol: binary\r\n", false, &route),
                     ROUTE_CDP);
    assert_string_equal(route.token, T);
    assert_string_equal(route.path, "/devtools/browser/abc");
    assert_string_equal(route.host, "127.0.0.1:4000");
    assert_string_equal(route.socket.key, "dGhlIHNhbXBsZSBub25jZQ==");
    assert_string_equal(route.socket.extensions, "permessage-deflate");
    assert_string_equal(route.socket.protocol, "binary");
    assert_int_equal(read_text(FILE_ HOST COOKIE, true, &route), ROUTE_FILE);
    assert_string_equal(route.path, "/vnc.html");
    assert_string_equal(route.cookie, T);
}

/* ---- answers of the sandbox ---- */

static void an_answer_is_read_wherever_it_is_cut(void **state)
{
    static const char text[] = "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
                               "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                               "Content-Length: 7\r\nContent-Type: text/html\r\n\r\n";
    struct answer answer;
    size_t used = 0;

    (void)state;
    for (size_t cut = 0; cut < sizeof(text) - 1; cut++)
        assert_int_equal(answer_read(text, cut, &answer, &used), ANSWER_MORE);
    assert_int_equal(answer_read(text, sizeof(text) - 1, &answer, &used), ANSWER_WHOLE);
    assert_int_equal(used, sizeof(text) - 1);
    assert_int_equal(answer.status, 101);
    assert_int_equal(answer.length, 7);
    assert_string_equal(answer.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_string_equal(answer.type, "text/html");
}

static void an_answer_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {
        "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 999 x\r\n\r\n",
        "HTTP/1.1 2000 x\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n", "FTP/1.1 200 x\r\n\r\n",
        "\r\n\r\n", "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 101 x\r\nSec-WebSocket-Accept: a\r\nSec-WebSocket-Accept: b\r\n\r\n",
    };
    struct answer answer;
    size_t used = 0;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++)
        if (answer_read(texts[i], strlen(texts[i]), &answer, &used) != ANSWER_BAD)
            fail_msg("row %zu", i);
}

static void an_answer_without_an_end_is_not_waited_for_for_ever(void **state)
{
    char *text = malloc(ANSWER_HEAD_BYTES_MAX);
    struct answer answer;
    size_t used = 0;

    (void)state;
    memset(text, 'a', ANSWER_HEAD_BYTES_MAX);
    assert_int_equal(answer_read(text, ANSWER_HEAD_BYTES_MAX - 1, &answer, &used),
                     ANSWER_MORE);
    assert_int_equal(answer_read(text, ANSWER_HEAD_BYTES_MAX, &answer, &used),
                     ANSWER_BAD);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_good_once_for_its_kind_and_for_a_minute),
        cmocka_unit_test(so_many_wait_and_no_more_until_they_are_over),
        cmocka_unit_test(a_visit_is_one_clients_and_ends_with_its_socket),
        cmocka_unit_test(a_request_is_what_it_is_at_its_own_port),
        cmocka_unit_test(what_is_passed_on_is_what_was_read),
        cmocka_unit_test(an_answer_is_read_wherever_it_is_cut),
        cmocka_unit_test(an_answer_that_is_none_is_refused),
        cmocka_unit_test(an_answer_without_an_end_is_not_waited_for_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
