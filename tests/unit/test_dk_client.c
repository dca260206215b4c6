/* The client against an engine that is right, wrong, late, endless or dead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine_scene.h"
#include "fail_alloc.h"
#include "in_child.h"

/* ---- libcurl may not be there ---- */

static bool curl_is_missing;
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    return __real_dlopen(curl_is_missing ? "libnone.so" : name, flags);
}

static int open_without_curl(void *data)
{
    const struct dk_endpoint nobody = { .transport = DK_TRANSPORT_UNIX,
                                        .path = "/nonexistent/docker.sock" };
    struct dk_client *client = NULL;
    struct nacre_error err;

    (void)data;
    curl_is_missing = true;
    CHILD_CHECK(dk_client_open(&nobody, SOON, &client, &err) == NACRE_ERR_UNAVAILABLE);
    CHILD_CHECK(strstr(err.text, "install the package libcurl4"));
    curl_is_missing = false; /* installed meanwhile: the next call finds it */
    CHILD_CHECK(dk_client_open(&nobody, SOON, &client, &err) != NACRE_OK);
    CHILD_CHECK(!strstr(err.text, "libcurl4"));
    return 0;
}

/* Without an engine, which is a thread: a child of two threads may not load a library. */
static void a_missing_libcurl_is_named(void **state)
{
    (void)state;
    assert_exited(in_child(open_without_curl, NULL), 0);
}

/* ---- who is there ---- */

static void open_settles_the_version(void **state)
{
    static const struct {
        const char *api, *oldest, *spoken;
    } rows[] = {
        { "1.41", "1.12", "1.41" },
        { "1.47", "1.24", "1.47" },
        { "1.52", "1.44", "1.47" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        char body[256];
        const struct fake_rule rules[] = {
            { .path = "/version", .body = body },
            { .path = "/info", .body = "{\"ID\":\"x\"}" },
            FAKE_END,
        };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
        NACRE_AUTO(dk_json_guard) json_t *info = NULL;
        struct nacre_error err;
        char line[64];

        (void)snprintf(body, sizeof(body),
                       "{\"Version\":\"9\\u001b\",\"ApiVersion\":\"%s\","
                       "\"MinAPIVersion\":\"%s\"}", rows[i].api, rows[i].oldest);
        client = opened(rules);
        assert_string_equal(dk_client_engine(client)->api, rows[i].spoken);
        assert_string_equal(dk_client_engine(client)->version, "9\\x1b");
        assert_int_equal(dk_info(client, SOON, &info, &err), NACRE_OK);
        (void)snprintf(line, sizeof(line), "GET /v%s/info", rows[i].spoken);
        assert_string_equal(last_line(), line);
    }
}

#define VERSION(api, oldest) "{\"ApiVersion\":" api ",\"MinAPIVersion\":" oldest "}"

static void open_refuses_whom_it_does_not_know(void **state)
{
    static const struct {
        const char *body;
        int http_status;
        enum nacre_status status;
        const char *complaint;
    } rows[] = {
        { VERSION("\"1.40\"", "\"1.12\""), 200, NACRE_ERR_UNAVAILABLE, "too old" },
        { VERSION("\"1.60\"", "\"1.48\""), 200, NACRE_ERR_UNAVAILABLE, "too new" },
        { VERSION("\"2.0\"", "\"2.0\""), 200, NACRE_ERR_UNAVAILABLE, "too old" },
        { VERSION("\"1.41x\"", "\"1.1\""), 200, NACRE_ERR_UNAVAILABLE, "too old" },
        { VERSION("\"1.99999999999999999999\"", "\"1.1\""), 200, NACRE_ERR_UNAVAILABLE,
          "too old" },
        { VERSION("1.41", "1.12"), 200, NACRE_ERR_PARSE, "expected ApiVersion" },
        { VERSION("null", "null"), 200, NACRE_ERR_PARSE, "expected ApiVersion" },
        { "{}", 200, NACRE_ERR_PARSE, "expected ApiVersion" },
        { "[]", 200, NACRE_ERR_PARSE, "a JSON object" },
        { "", 200, NACRE_ERR_PARSE, "a JSON object" },
        { "{\"ApiVersion\":\"1.41\",\"ApiVersion\":\"1.41\"}", 200, NACRE_ERR_PARSE,
          "a JSON object" },
        { "<html>", 200, NACRE_ERR_PARSE, "a JSON object" },
        { "<html>\x1b", 404, NACRE_ERR_NOT_FOUND, "(404): <html>\\x1b" },
        { "{\"message\":\"go\\naway\"}", 500, NACRE_ERR_BACKEND, "(500): go\\x0aaway" },
        { "{\"message\":7}", 403, NACRE_ERR_BACKEND, "(403): {" },
        { "", 301, NACRE_ERR_BACKEND, "(301): no reason given" },
        { "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\",\"Components\":"
          "[{\"Name\":7},{\"Name\":\"Podman Engine\"}]}", 200, NACRE_ERR_UNAVAILABLE,
          "this is Podman's socket" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct fake_rule rules[] = {
            { .path = "/version", .status = rows[i].http_status, .body = rows[i].body },
            FAKE_END,
        };
        struct dk_client *client = NULL;
        struct nacre_error err;

        fake_engine_script(engine, rules);
        if (dk_client_open(&endpoint, SOON, &client, &err) != rows[i].status ||
            !strstr(err.text, rows[i].complaint))
            fail_msg("row %zu: %s", i, err.text);
        assert_null(client);
    }
}

static void nobody_there_is_told_with_what_to_do(void **state)
{
    struct dk_endpoint nowhere = endpoint;
    struct dk_client *client = NULL;
    struct nacre_error err;

    (void)state;
    (void)snprintf(nowhere.path, sizeof(nowhere.path), "%s/none", scene_top);
    assert_int_equal(dk_client_open(&nowhere, SOON, &client, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "No such file"));
    assert_non_null(strstr(err.text, "DOCKER_HOST"));
    fake_engine_stop(engine);
    engine = NULL;
    scene_shell("touch sock");
    assert_int_equal(dk_client_open(&endpoint, SOON, &client, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "Connection refused"));
}

static int open_as_nobody(void *data)
{
    struct dk_client *client = NULL;
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHILD_CHECK(dk_client_open(&endpoint, SOON, &client, &err) == NACRE_ERR_UNAVAILABLE);
    CHILD_CHECK(strstr(err.text, "member of its group"));
    return 0;
}

static void a_socket_that_is_not_ours_says_whose_it_is(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    scene_shell("chmod 0711 . && chmod 0600 sock");
    assert_exited(in_child(open_as_nobody, NULL), 0);
}

/* ---- bad engines ---- */

static const struct {
    const char *name;
    struct fake_rule rule;
    enum nacre_status status;
} faults[] = {
    { "says nothing", { .path = "/info", .deed = FAKE_HANG }, NACRE_ERR_TIMEOUT },
    { "is late", { .path = "/info", .delay_ms = 400, .body = "{}" }, NACRE_ERR_TIMEOUT },
    { "closes", { .path = "/info", .deed = FAKE_CLOSE }, NACRE_ERR_IO },
    { "is cut", { .path = "/info", .deed = FAKE_CUT, .body = "{\"a\":\"b\"}" },
      NACRE_ERR_IO },
    { "is no HTTP", { .path = "/info", .deed = FAKE_RAW, .body = "SSH-2.0-x\r\n" },
      NACRE_ERR_PARSE },
    { "is no number", { .path = "/info", .deed = FAKE_RAW,
                        .body = "HTTP/1.1 abc\r\n\r\n{}" }, NACRE_ERR_PARSE },
    { "lies about its length", { .path = "/info", .deed = FAKE_RAW,
                                 .body = "HTTP/1.1 200 OK\r\nContent-Length: 9999999"
                                         "\r\n\r\n{}" }, NACRE_ERR_IO },
    { "has no length", { .path = "/info", .deed = FAKE_RAW,
                         .body = "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}" },
      NACRE_ERR_PARSE },
    { "breaks chunks", { .path = "/info", .deed = FAKE_RAW,
                         .body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 "zz\r\n{}" }, NACRE_ERR_IO },
    { "floods", { .path = "/info", .deed = FAKE_FLOOD, .body = "[[[[[[[[[[[[[[[[" },
      NACRE_ERR_TOO_BIG },
    { "floods the head", { .path = "/info", .deed = FAKE_HEAD_FLOOD },
      NACRE_ERR_TOO_BIG },
    { "packs", { .path = "/info", .deed = FAKE_RAW,
                 .body = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2"
                         "\r\n\r\n{}" }, NACRE_OK }, /* read as it is, not unpacked */
    { "sends elsewhere", { .path = "/info", .deed = FAKE_RAW,
                           .body = "HTTP/1.1 302 F\r\nLocation: http://localhost/version"
                                   "\r\nContent-Length: 0\r\n\r\n" }, NACRE_ERR_BACKEND },
};

static void every_fault_of_an_engine_is_bounded_and_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(faults); i++) {
        const struct fake_rule rules[] = { FAKE_VERSION, faults[i].rule, FAKE_END };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        NACRE_AUTO(dk_json_guard) json_t *info = NULL;
        size_t asked = fake_engine_asked(engine);
        bool in_time = faults[i].status == NACRE_ERR_TIMEOUT;
        struct nacre_error err = { .text = "" };
        enum nacre_status status = dk_info(client, in_time ? dk_within_ms(150) : SOON,
                                           &info, &err);

        if (status != faults[i].status)
            fail_msg("an engine that %s: %s: %s", faults[i].name,
                     nacre_status_name(status), err.text);
        assert_true((status == NACRE_OK) == (info != NULL));
        /* Asked again at most once, as one does when a kept connection is dead. */
        assert_in_range(fake_engine_asked(engine), asked + 1, asked + 2);
        assert_true(status == NACRE_OK || strstr(err.text, "asking the engine about"));
    }
}

static void a_deadline_that_has_passed_sends_nothing(void **state)
{
    static const struct fake_rule rules[] = { FAKE_VERSION, { .path = "*", .body = "{}" },
                                              FAKE_END };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    struct dk_stream *stream = NULL;
    json_t *info = NULL;
    struct nacre_error err;
    size_t asked = fake_engine_asked(engine);

    (void)state;
    assert_int_equal(dk_info(client, dk_within_ms(0), &info, &err), NACRE_ERR_TIMEOUT);
    assert_int_equal(dk_attach(client, "a", dk_within_ms(0), &stream, &err),
                     NACRE_ERR_TIMEOUT);
    assert_int_equal(fake_engine_asked(engine), asked);
}

/* ---- connections ---- */

static void connections_are_kept_and_survive_a_restart_of_the_engine(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/info", .body = "{}" }, FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    struct nacre_error err = { .text = "" };

    (void)state;
    for (int i = 0; i < 20; i++) {
        NACRE_AUTO(dk_json_guard) json_t *info = NULL;

        assert_int_equal(dk_info(client, SOON, &info, &err), NACRE_OK);
        if (i == 9) {
            assert_int_equal(fake_engine_connections(engine), 1);
            fake_engine_stop(engine);
            engine = fake_engine_start(endpoint.path, rules);
            assert_non_null(engine);
        }
    }
    assert_int_equal(fake_engine_connections(engine), 1);
}

static void *ask_often(void *data)
{
    for (int i = 0; i < 10; i++) {
        NACRE_AUTO(dk_json_guard) json_t *info = NULL;
        struct nacre_error err;

        if (dk_info(data, SOON, &info, &err) != NACRE_OK)
            return data;
    }
    return NULL;
}

static void threads_share_a_client(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/info", .body = "{}", .delay_ms = 2 }, FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    pthread_t threads[8];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, client), 0);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++) {
        void *failed;

        (void)pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    /* Those kept, one in doubt; the engine hears a little later that others are closed. */
    for (int i = 0; i < 500 && fake_engine_open(engine) > 5; i++)
        (void)poll(NULL, 0, 10);
    assert_in_range(fake_engine_open(engine), 1, 5);
}

static void sockets_are_closed_on_exec(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION,
        { .path = "/*/attach", .deed = FAKE_HIJACK, .after = FAKE_AFTER_HOLD },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = NULL;
    struct nacre_error err;
    int seen = 0;

    (void)state;
    client = opened(rules);
    assert_int_equal(dk_attach(client, "a", SOON, &stream, &err), NACRE_OK);
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_un peer = { .sun_path = "" };
        socklen_t size = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 ||
            strcmp(peer.sun_path, endpoint.path) != 0)
            continue;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        seen++;
    }
    assert_int_equal(seen, 2);
}

static int listen_anywhere(uint16_t *ret_port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof(address);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return listener;
}

static bool somebody_came(int listener)
{
    struct pollfd come = { .fd = listener, .events = POLLIN };

    return poll(&come, 1, 0) == 1;
}

/* A name that was taken for this machine's may resolve to anything; here an address plays
 * that part which the kernel routes to a listener of ours. */
static void plain_tcp_is_not_connected_beyond_loopback(void **state)
{
    static const char *const hosts[] = { "0.0.0.0", "127.0.0.1" };
    struct dk_endpoint plain = { .transport = DK_TRANSPORT_TCP, .origin = "test" };
    NACRE_AUTO(nacre_fd_guard) int listener = listen_anywhere(&plain.port);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(hosts); i++) {
        struct dk_client *client = NULL;
        struct nacre_error err;

        (void)snprintf(plain.host, sizeof(plain.host), "%s", hosts[i]);
        assert_int_equal(dk_client_open(&plain, dk_within_ms(200), &client, &err),
                         i == 0 ? NACRE_ERR_UNAVAILABLE : NACRE_ERR_TIMEOUT);
        assert_true(somebody_came(listener) == (i == 1));
    }
}

/* What the environment says about the way is not asked. */
static void proxies_of_the_environment_are_ignored(void **state)
{
    static const char *const names[] = { "http_proxy", "HTTP_PROXY", "all_proxy",
                                         "ALL_PROXY" };
    struct dk_endpoint plain = { .transport = DK_TRANSPORT_TCP, .origin = "test",
                                 .host = "127.0.0.1" };
    NACRE_AUTO(nacre_fd_guard) int proxy = listen_anywhere(&plain.port);
    NACRE_AUTO(nacre_fd_guard) int listener = -1;
    struct dk_client *client = NULL;
    struct nacre_error err;
    char text[64];

    (void)state;
    (void)snprintf(text, sizeof(text), "http://127.0.0.1:%u", plain.port);
    listener = listen_anywhere(&plain.port);
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        (void)setenv(names[i], text, 1);
    assert_int_equal(dk_client_open(&plain, dk_within_ms(200), &client, &err),
                     NACRE_ERR_TIMEOUT);
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        (void)unsetenv(names[i]);
    assert_false(somebody_came(proxy));
    assert_true(somebody_came(listener));
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/containers/json", .body = "[]" }, FAKE_END,
    };
    pid_t pid = fake_engine_fork(endpoint.path, rules);
    bool fired = true;

    (void)state;
    assert_true(pid > 0);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
        NACRE_AUTO(dk_json_guard) json_t *list = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = dk_client_open(&endpoint, SOON, &client, &err);
        if (status == NACRE_OK)
            status = dk_container_list(client, "nacre", SOON, &list, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_libcurl_is_named),
        WITH_ENGINE(open_settles_the_version),
        WITH_ENGINE(open_refuses_whom_it_does_not_know),
        WITH_ENGINE(nobody_there_is_told_with_what_to_do),
        WITH_ENGINE(a_socket_that_is_not_ours_says_whose_it_is),
        WITH_ENGINE(every_fault_of_an_engine_is_bounded_and_named),
        WITH_ENGINE(a_deadline_that_has_passed_sends_nothing),
        WITH_ENGINE(connections_are_kept_and_survive_a_restart_of_the_engine),
        WITH_ENGINE(threads_share_a_client),
        WITH_ENGINE(sockets_are_closed_on_exec),
        WITH_ENGINE(plain_tcp_is_not_connected_beyond_loopback),
        WITH_ENGINE(proxies_of_the_environment_are_ignored),
        WITH_ENGINE(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("dk_client", tests, scene_enter, scene_leave);
}
