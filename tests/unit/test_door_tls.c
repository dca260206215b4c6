/*
 * TLS from native tools: tunnels that lead where their name says, connections that are
 * ended here with the sandbox's own CA, and all that is refused by its first message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ca.h"
#include "door_world.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"
#define ALERT "\x15\x03\x03\x00\x02\x02"
#define PIECE ((size_t)1 << 16)
#define CA_LIFE_S 720

static char hello[4096];
static size_t hello_count;

static const struct nacre_egress_record *last_record(void)
{
    assert_true(world.door.done->egress_count > 0);
    return &world.door.done->egress[world.door.done->egress_count - 1];
}

/* The rule of tunnel.example gets a port where a server of ours listens. */
static int serve_tunnel(uint16_t *ret_port)
{
    int server = door_world_server(ret_port);

    world.door.egress.allowed[0].port = *ret_port;
    return server;
}

static int accepted(int server)
{
    int fd;

    door_world_settle();
    fd = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    return fd;
}

/* CONNECT to that port, up to the "200". */
static int connected(uint16_t port)
{
    int fd = door_world_connect(NACRE_DOOR_PROXY);
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "CONNECT tunnel.example:%u HTTP/1.1\r\nHost: tunnel.example:%u\r\n\r\n",
                   port, port);
    door_world_say(fd, text);
    door_world_found(NACRE_HTTP_OK);
    assert_string_equal(door_world_hear(fd), ESTABLISHED);
    return fd;
}

/* ---- tunnels ---- */

static void a_tunnel_carries_both_ways_and_is_counted(void **state)
{
    static char big[PIECE * 4], got[PIECE * 4];
    uint16_t port;
    int server = serve_tunnel(&port), fd = connected(port), far = accepted(server);
    size_t sent = 0, count = 0;

    (void)state;
    assert_true(far >= 0);
    hello_count = door_world_hello("Tunnel.Example", hello, sizeof(hello));
    door_world_send(fd, hello, hello_count);
    assert_int_equal(door_world_take(far, got, sizeof(got)), hello_count);
    assert_memory_equal(got, hello, hello_count);
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (char)(i * 7 + i / 251);
    while (count < sizeof(big)) { /* more than fits anywhere at once */
        ssize_t some = send(far, big + sent, sizeof(big) - sent, MSG_NOSIGNAL);

        sent += some > 0 ? (size_t)some : 0;
        count += door_world_take(fd, got + count, sizeof(got) - count);
    }
    assert_memory_equal(got, big, sizeof(big));
    assert_int_equal(shutdown(far, SHUT_WR), 0); /* each half ends for itself */
    assert_int_equal(door_world_take(fd, got, 1), 0);
    assert_in_range(door_world_wakes(), 1, 5);
    door_world_say(fd, "last words");
    assert_string_equal(door_world_hear(far), "last words");
    close(fd);
    door_world_settle();
    assert_true(door_world_is_closed(far));
    assert_string_equal(last_record()->method, "CONNECT");
    assert_string_equal(last_record()->host, "tunnel.example");
    assert_int_equal(last_record()->port, port);
    assert_true(last_record()->sent);
    assert_int_equal(last_record()->bytes_sent, hello_count + 10);
    assert_int_equal(last_record()->bytes_received, sizeof(big));
    assert_int_equal(world.door.requests, 1);
    close(far);
    close(server);
}

/* A host was called, which says something by itself. */
static void a_tunnel_that_is_left_before_its_hello_is_counted_once(void **state)
{
    static const char *const said[] = { "", "\x16\x03\x01", "GET / HTTP/1.1\r\n" };
    static const char *const codes[] = { "timed-out", "timed-out", "not-tls" };
    uint16_t port;
    int server = serve_tunnel(&port);

    (void)state;
    for (uint32_t i = 0; i < NACRE_COUNT(said); i++) {
        int fd = connected(port), far = accepted(server);

        door_world_say(fd, said[i]);
        door_world_settle();
        close(fd);
        door_world_settle();
        assert_true(door_world_is_closed(far));
        assert_int_equal(world.door.done->egress_seen, i + 1);
        assert_string_equal(last_record()->method, "CONNECT");
        assert_string_equal(last_record()->host, "tunnel.example");
        assert_string_equal(last_record()->code, codes[i]);
        assert_int_equal(last_record()->bytes_sent, 0);
        close(far);
    }
    close(server);
}

static void a_tool_that_does_not_read_holds_the_server_up(void **state)
{
    static char big[PIECE];
    uint16_t port;
    int server = serve_tunnel(&port), fd = connected(port), far = accepted(server);
    size_t sent = 0;
    ssize_t some;

    (void)state;
    hello_count = door_world_hello("tunnel.example", hello, sizeof(hello));
    door_world_send(fd, hello, hello_count);
    for (int i = 0; i < 2000; i++) {
        some = send(far, big, sizeof(big), MSG_NOSIGNAL);
        sent += some > 0 ? (size_t)some : 0;
        door_world_settle();
        if (some < 0)
            break;
    }
    assert_true(some < 0 && errno == EAGAIN); /* the kernel's buffers are full, not ours */
    assert_in_range(door_world_wakes(), 1, 5);
    assert_true(sent < (size_t)100 << 20);
    close(fd);
    close(far);
    close(server);
}

static void a_server_is_not_heard_before_the_hello(void **state)
{
    uint16_t port;
    int server = serve_tunnel(&port), fd = connected(port), far = accepted(server);

    (void)state;
    door_world_say(far, "220 mail.example ESMTP\r\n");
    assert_string_equal(door_world_hear(fd), "");
    door_world_say(fd, "EHLO\r\n");
    assert_true(door_world_is_closed(fd));
    assert_true(door_world_is_closed(far));
    assert_string_equal(last_record()->code, "not-tls");
    close(fd);
    close(far);
    close(server);
}

static void a_hello_that_does_not_fit_never_reaches_the_server(void **state)
{
    static const struct {
        const char *name, *code;
        unsigned char alert;
    } rows[] = {
        { "other.example", "name-mismatch", 112 },
        { "a.tunnel.example", "name-mismatch", 112 },
        { "tunnel.example.", "bad-hello", 112 },
        { NULL, "no-server-name", 109 },
        { "ech", "encrypted-hello", 49 },
    };
    uint16_t port;
    int server = serve_tunnel(&port);
    unsigned char heard[64];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int fd = connected(port), far = accepted(server);
        size_t count;

        if (rows[i].name && strcmp(rows[i].name, "ech") == 0) {
            /* A hello of its own: its only extension is an encrypted one. */
            static const char ech[] = "\x16\x03\x01\x00\x32\x01\x00\x00\x2e\x03\x03"
                                      "0123456789abcdef0123456789abcdef"
                                      "\x00\x00\x02\x13\x01\x01\x00\x00\x03\xfe\x0d\x00";

            memcpy(hello, ech, sizeof(ech) - 1);
            hello_count = sizeof(ech) - 1;
            hello[4] = (char)(hello_count - 5 + 1);
            hello[8] = (char)(hello_count - 9 + 1);
            hello[hello_count - 4] = 4;
            hello[hello_count++] = 0;
        } else {
            hello_count = door_world_hello(rows[i].name, hello, sizeof(hello));
        }
        door_world_send(fd, hello, hello_count);
        count = door_world_take(fd, heard, sizeof(heard));
        assert_int_equal(count, 7);
        assert_memory_equal(heard, ALERT, 6);
        assert_int_equal(heard[6], rows[i].alert);
        assert_true(door_world_is_closed(fd));
        assert_int_equal(door_world_take(far, heard, sizeof(heard)), 0);
        assert_true(door_world_is_closed(far));
        assert_string_equal(last_record()->code, rows[i].code);
        assert_false(last_record()->sent);
        assert_int_equal(world.door.done->denials_seen, i + 1);
        close(fd);
        close(far);
    }
    close(server);
}

static void a_host_that_is_not_reached_is_told(void **state)
{
    static const struct {
        enum nacre_http_code code;
        const char *line, *word;
    } rows[] = {
        { NACRE_HTTP_DENIED, "HTTP/1.1 403 address-never: as the test says",
          "address-never" },
        { NACRE_HTTP_NOT_FOUND, "HTTP/1.1 502 ", "name-not-found" },
        { NACRE_HTTP_TIMED_OUT, "HTTP/1.1 504 ", "timed-out" },
    };
    const char *connect = "CONNECT tunnel.example:443 HTTP/1.1\r\n"
                          "Host: tunnel.example:443\r\n\r\n";
    uint16_t port;
    char text[256];
    int fd;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        fd = door_world_connect(NACRE_DOOR_PROXY);
        door_world_say(fd, connect);
        door_world_found(rows[i].code);
        assert_non_null(strstr(door_world_hear(fd), rows[i].line));
        assert_string_equal(last_record()->code, rows[i].word);
        close(fd);
    }
    close(serve_tunnel(&port)); /* nobody listens there any more */
    fd = door_world_connect(NACRE_DOOR_PROXY);
    (void)snprintf(text, sizeof(text),
                   "CONNECT tunnel.example:%u HTTP/1.1\r\nHost: tunnel.example\r\n\r\n",
                   port);
    door_world_say(fd, text);
    door_world_found(NACRE_HTTP_OK);
    assert_non_null(strstr(door_world_hear(fd), "HTTP/1.1 502 "));
    assert_string_equal(last_record()->code, "unreachable");
    close(fd);
}

static void a_tunnel_counts_as_a_request_and_outside_of_a_run_there_is_none(void **state)
{
    const char *connect = "CONNECT tunnel.example:443 HTTP/1.1\r\n"
                          "Host: tunnel.example:443\r\n\r\n";
    int fd = door_world_connect(NACRE_DOOR_PROXY);

    (void)state;
    world.door.egress.limits.requests_max = 1;
    door_world_say(fd, connect);
    close(fd);
    fd = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(fd, connect);
    assert_non_null(strstr(door_world_hear(fd), "HTTP/1.1 429 "));
    close(fd);
    world.door.egress.limits.requests_max = 100;
    world.door.running = false;
    fd = door_world_connect(NACRE_DOOR_PROXY);
    door_world_say(fd, connect);
    assert_non_null(strstr(door_world_hear(fd), "HTTP/1.1 503 "));
    assert_int_equal(world.looked_up, 1);
    close(fd);
}

static void a_tunnel_in_which_nothing_moves_ends(void **state)
{
    uint16_t port;
    int server = serve_tunnel(&port), fd = connected(port), far = accepted(server);

    (void)state;
    hello_count = door_world_hello("tunnel.example", hello, sizeof(hello));
    door_world_send(fd, hello, hello_count);
    (void)door_world_hear(far);
    door_world_pass(299 * NACRE_NS_PER_S);
    door_world_say(far, "x");
    assert_string_equal(door_world_hear(fd), "x");
    door_world_pass(299 * NACRE_NS_PER_S);
    assert_false(door_world_is_closed(fd));
    door_world_pass(2 * NACRE_NS_PER_S);
    assert_true(door_world_is_closed(fd));
    close(fd);
    fd = connected(port); /* and one that never says hello, sooner */
    door_world_pass(16 * NACRE_NS_PER_S);
    assert_true(door_world_is_closed(fd));
    close(fd);
    close(far);
    close(server);
}

/* ---- port 443 ---- */

static void port_443_takes_the_name_from_the_hello(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_TLS);
    unsigned char heard[64];

    (void)state;
    hello_count = door_world_hello("a.below.example", hello, sizeof(hello));
    door_world_send(fd, hello, 100); /* in two pieces */
    assert_int_equal(world.looked_up, 0);
    door_world_send(fd, hello + 100, hello_count - 100);
    assert_int_equal(world.looked_up, 1);
    door_world_found(NACRE_HTTP_NOT_FOUND);
    assert_int_equal(door_world_take(fd, heard, sizeof(heard)), 7);
    assert_string_equal(last_record()->host, "a.below.example");
    assert_int_equal(last_record()->port, 443);
    close(fd);
    fd = door_world_connect(NACRE_DOOR_TLS); /* gone while it was looked up */
    door_world_send(fd, hello, hello_count);
    close(fd);
    door_world_settle();
}

static void port_443_refuses_by_an_alert(void **state)
{
    static const struct {
        const char *name, *code;
        unsigned char alert;
    } rows[] = {
        { "evil.example", "host-not-allowed", 112 },
        { "below.example", "host-not-allowed", 112 },
        { "upgrade.example", "call-http", 49 },
        { NULL, "no-server-name", 109 },
    };
    unsigned char heard[64];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int fd = door_world_connect(NACRE_DOOR_TLS);

        hello_count = door_world_hello(rows[i].name, hello, sizeof(hello));
        door_world_send(fd, hello, hello_count);
        assert_int_equal(door_world_take(fd, heard, sizeof(heard)), 7);
        assert_int_equal(heard[6], rows[i].alert);
        assert_true(door_world_is_closed(fd));
        assert_string_equal(last_record()->code, rows[i].code);
        assert_int_equal(world.looked_up, 0);
        close(fd);
    }
}

/* ---- interception ---- */

struct tls {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

/* A client that trusts the sandbox's CA alone and checks the name. */
static void tls_open(struct tls *tls, int fd, const char *name)
{
    BIO *pem = BIO_new_mem_buf(door_ca_certificate(world.door.ca), -1);
    X509 *root = PEM_read_bio_X509(pem, NULL, NULL, NULL);

    tls->fd = fd;
    tls->context = SSL_CTX_new(TLS_client_method());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(tls->context), root);
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(tls->context),
                                X509_V_FLAG_X509_STRICT);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    tls->ssl = SSL_new(tls->context);
    assert_int_equal(SSL_set1_host(tls->ssl, name), 1);
    assert_int_equal(SSL_set_tlsext_host_name(tls->ssl, name), 1);
    assert_int_equal(SSL_set_fd(tls->ssl, fd), 1);
    X509_free(root);
    BIO_free(pem);
}

static bool tls_shake(struct tls *tls)
{
    int result = -1;

    for (int i = 0; i < 20 && result != 1; i++) {
        result = SSL_connect(tls->ssl);
        if (result != 1 && SSL_get_error(tls->ssl, result) != SSL_ERROR_WANT_READ)
            return false;
        door_world_settle();
    }
    return result == 1;
}

static const char *tls_hear(struct tls *tls)
{
    static char text[4096];
    size_t count = 0;
    int got;

    door_world_settle();
    while ((got = SSL_read(tls->ssl, text + count, (int)(sizeof(text) - count - 1))) > 0)
        count += (size_t)got;
    text[count] = '\0';
    return text;
}

static void tls_say(struct tls *tls, const char *text)
{
    assert_int_equal(SSL_write(tls->ssl, text, (int)strlen(text)), (int)strlen(text));
    door_world_settle();
}

static void tls_close(struct tls *tls)
{
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    close(tls->fd);
}

static void make_ca(void)
{
    struct nacre_error err;

    assert_int_equal(door_ca_new(&world.door.egress, CA_LIFE_S, &world.door.ca, &err),
                     NACRE_OK);
}

static void requests_inside_tls_are_seen_and_sent_by_https(void **state)
{
    (void)state;
    make_ca();
    for (int i = 0; i < 2; i++) {
        int fd = door_world_connect(i == 0 ? NACRE_DOOR_TLS : NACRE_DOOR_PROXY);
        struct tls tls;

        if (i == 1) {
            door_world_say(fd, "CONNECT intercept.example:443 HTTP/1.1\r\n"
                               "Host: intercept.example:443\r\n\r\n");
            assert_string_equal(door_world_hear(fd), ESTABLISHED);
        }
        tls_open(&tls, fd, "intercept.example");
        assert_true(tls_shake(&tls));
        tls_say(&tls, "GET /x HTTP/1.1\r\nHost: intercept.example\r\nA: b\r\n\r\n");
        assert_non_null(world.fetch);
        assert_true(world.fetch->url.tls);
        assert_string_equal(world.fetch->url.host, "intercept.example");
        assert_string_equal(world.fetch->headers, "A: b\n");
        door_world_answer(200, "");
        assert_true(door_world_body("inside", 6));
        door_world_end(NACRE_HTTP_OK, "");
        assert_non_null(strstr(tls_hear(&tls), "\r\n\r\n6\r\ninside\r\n0\r\n\r\n"));
        tls_say(&tls, "GET /2 HTTP/1.1\r\nHost: intercept.example\r\n\r\n");
        assert_string_equal(world.fetch->url.target, "/2");
        door_world_answer(204, "");
        door_world_end(NACRE_HTTP_OK, "");
        assert_non_null(strstr(tls_hear(&tls), "204"));
        tls_close(&tls);
        door_world_settle();
    }
    assert_int_equal(world.looked_up, 0);
}

static void another_host_inside_tls_is_refused(void **state)
{
    static const char *const rows[] = {
        "GET / HTTP/1.1\r\nHost: tunnel.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: intercept.example:8443\r\n\r\n",
        "GET https://tunnel.example/ HTTP/1.1\r\nHost: tunnel.example\r\n\r\n",
        "GET http://intercept.example/ HTTP/1.1\r\nHost: intercept.example\r\n\r\n",
        "CONNECT intercept.example:443 HTTP/1.1\r\nHost: intercept.example:443\r\n\r\n",
    };

    (void)state;
    make_ca();
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct tls tls;

        tls_open(&tls, door_world_connect(NACRE_DOOR_TLS), "intercept.example");
        assert_true(tls_shake(&tls));
        tls_say(&tls, rows[i]);
        assert_int_equal(world.asked, 0);
        assert_non_null(strstr(tls_hear(&tls), "HTTP/1.1 4"));
        tls_close(&tls);
    }
}

static void a_body_larger_than_a_record_comes_through_tls_whole(void **state)
{
    static char big[200000], got[400000];
    size_t count = 0, sent = 0;
    struct tls tls;
    int some;

    (void)state;
    make_ca();
    tls_open(&tls, door_world_connect(NACRE_DOOR_TLS), "intercept.example");
    assert_true(tls_shake(&tls));
    tls_say(&tls, "GET / HTTP/1.1\r\nHost: intercept.example\r\n\r\n");
    door_world_answer(200, "Content-Length: 200000\n");
    memset(big, 'x', sizeof(big));
    while (sent < sizeof(big)) {
        size_t piece = sizeof(big) - sent < 16384 ? sizeof(big) - sent : 16384;

        if (!door_world_body(big + sent, piece))
            while (world.resumed == 0) {
                door_world_settle();
                some = SSL_read(tls.ssl, got + count, 16384);
                count += some > 0 ? (size_t)some : 0;
            }
        world.resumed = 0;
        sent += piece;
    }
    door_world_end(NACRE_HTTP_OK, "");
    for (int i = 0; i < 100; i++) {
        door_world_settle();
        some = SSL_read(tls.ssl, got + count, 16384);
        count += some > 0 ? (size_t)some : 0;
    }
    assert_true(count > sizeof(big));
    assert_memory_equal(got + count - sizeof(big), big, sizeof(big));
    tls_close(&tls);
}

/* A thief of the key could sign what it wants; clients would not believe it. */
static void the_ca_is_believed_for_its_hosts_alone(void **state)
{
    static const struct {
        const char *name;
        bool is_believed;
    } rows[] = {
        { "intercept.example", true },
        { "tunnel.example", false },
        { "example", false },
        { "xintercept.example", false },
    };

    (void)state;
    make_ca();
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        SSL_CTX *server;
        struct nacre_error err;
        struct tls tls;
        SSL *ssl;
        int ends[2];
        bool done = false;

        assert_int_equal(door_ca_context(world.door.ca, rows[i].name, &server, &err),
                         NACRE_OK);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        ssl = SSL_new(server);
        SSL_set_fd(ssl, ends[1]);
        tls_open(&tls, ends[0], rows[i].name);
        for (int turn = 0; turn < 10 && !done; turn++) {
            done = SSL_connect(tls.ssl) == 1;
            (void)SSL_accept(ssl);
        }
        assert_int_equal(done, rows[i].is_believed);
        if (!done)
            assert_int_equal(SSL_get_verify_result(tls.ssl),
                             X509_V_ERR_PERMITTED_VIOLATION);
        SSL_free(ssl);
        close(ends[1]);
        tls_close(&tls);
    }
}

static void assert_ends_between(const X509 *certificate, time_t after, time_t before)
{
    assert_true(X509_cmp_time(X509_get0_notAfter(certificate), &after) >= 0);
    assert_true(X509_cmp_time(X509_get0_notAfter(certificate), &before) < 0);
}

/* Of a leaf, too, whenever it is made. */
static void a_ca_is_valid_for_its_doors_life_and_no_longer(void **state)
{
    static const uint64_t lives_s[] = { 60, 120 + 600, UINT64_C(7) * 24 * 3600 + 600 };
    static const time_t slack = 300, loaded = 600;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(lives_s); i++) {
        time_t end = time(NULL) + (time_t)lives_s[i];
        struct door_ca *ca = NULL;
        struct nacre_error err;
        SSL_CTX *context;
        X509 *certificate;
        BIO *bio;

        assert_int_equal(door_ca_new(&world.door.egress, lives_s[i], &ca, &err),
                         NACRE_OK);
        bio = BIO_new_mem_buf(door_ca_certificate(ca), -1);
        certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        assert_non_null(certificate);
        assert_ends_between(certificate, end, end + slack + loaded);
        assert_int_equal(door_ca_context(ca, "intercept.example", &context, &err),
                         NACRE_OK);
        assert_int_equal(ASN1_TIME_compare(
                             X509_get0_notAfter(certificate),
                             X509_get0_notAfter(SSL_CTX_get0_certificate(context))),
                         0);
        X509_free(certificate);
        BIO_free(bio);
        door_ca_free(ca);
    }
}

static void a_ca_is_made_for_named_hosts_only(void **state)
{
    struct nacre_error err;
    struct door_ca *ca = NULL;

    (void)state;
    world.door.egress.way = NACRE_WAY_INTERCEPT;
    assert_int_equal(door_ca_new(&world.door.egress, CA_LIFE_S, &ca, &err),
                     NACRE_ERR_USAGE);
    world.door.egress.way = NACRE_WAY_TUNNEL;
    world.door.egress.allowed[2].way = NACRE_WAY_TUNNEL;
    assert_int_equal(door_ca_new(&world.door.egress, CA_LIFE_S, &ca, &err),
                     NACRE_ERR_USAGE);
    assert_null(ca);
}

static void interception_without_a_ca_is_refused(void **state)
{
    int fd = door_world_connect(NACRE_DOOR_TLS);
    unsigned char heard[64];

    (void)state;
    hello_count = door_world_hello("intercept.example", hello, sizeof(hello));
    door_world_send(fd, hello, hello_count);
    assert_int_equal(door_world_take(fd, heard, sizeof(heard)), 7);
    assert_true(door_world_is_closed(fd));
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, door_world_open, door_world_close)
    const struct CMUnitTest tests[] = {
        T(a_tunnel_carries_both_ways_and_is_counted),
        T(a_tunnel_that_is_left_before_its_hello_is_counted_once),
        T(a_tool_that_does_not_read_holds_the_server_up),
        T(a_server_is_not_heard_before_the_hello),
        T(a_hello_that_does_not_fit_never_reaches_the_server),
        T(a_host_that_is_not_reached_is_told),
        T(a_tunnel_counts_as_a_request_and_outside_of_a_run_there_is_none),
        T(a_tunnel_in_which_nothing_moves_ends),
        T(port_443_takes_the_name_from_the_hello),
        T(port_443_refuses_by_an_alert),
        T(requests_inside_tls_are_seen_and_sent_by_https),
        T(another_host_inside_tls_is_refused),
        T(a_body_larger_than_a_record_comes_through_tls_whole),
        T(the_ca_is_believed_for_its_hosts_alone),
        T(a_ca_is_valid_for_its_doors_life_and_no_longer),
        T(a_ca_is_made_for_named_hosts_only),
        T(interception_without_a_ca_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
