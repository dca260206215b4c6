/* Where the engine is: who names it, in which order, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dk_endpoint.h"
#include "dk_name.h"
#include "nacre/hash.h"
#include "scene.h"

static struct dk_places here(void)
{
    return (struct dk_places){ .home = scene_top };
}

static const struct {
    const char *text;
    enum dk_transport transport;
    const char *shown;
} spoken[] = {
    { "unix:///run/docker.sock", DK_TRANSPORT_UNIX, "unix:///run/docker.sock" },
    { "unix:///run/a%20b", DK_TRANSPORT_UNIX, "unix:///run/a%20b" },
    { "tcp://localhost", DK_TRANSPORT_TCP, "tcp://localhost:2375" },
    { "tcp://LOCALHOST:1", DK_TRANSPORT_TCP, "tcp://LOCALHOST:1" },
    { "tcp://127.0.0.1:65535", DK_TRANSPORT_TCP, "tcp://127.0.0.1:65535" },
    { "tcp://127.9.9.9:1", DK_TRANSPORT_TCP, "tcp://127.9.9.9:1" },
    { "tcp://[::1]", DK_TRANSPORT_TCP, "tcp://[::1]:2375" },
    { "tcp://[::1]:7", DK_TRANSPORT_TCP, "tcp://[::1]:7" },
};

static void parse_takes_sockets_and_loopback(void **state)
{
    char text[DK_ENDPOINT_TEXT];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(spoken); i++) {
        struct dk_endpoint endpoint;
        struct nacre_error err = { .status = NACRE_OK };

        assert_int_equal(dk_endpoint_parse(spoken[i].text, "test", NULL, &endpoint, &err),
                         NACRE_OK);
        assert_int_equal(err.status, NACRE_OK);
        assert_int_equal(endpoint.transport, spoken[i].transport);
        assert_string_equal(dk_endpoint_text(&endpoint, text), spoken[i].shown);
        assert_string_equal(endpoint.origin, "test");
    }
}

#define LONG "/0123456789012345678901234567890123456789012345678901234567890123456789" \
             "0123456789012345678901234567890123456789"

static const struct {
    const char *text;
    enum nacre_status status;
    const char *complaint;
} refused[] = {
    { "ssh://user@host", NACRE_ERR_UNAVAILABLE, "ssh -L" },
    { "npipe:////./pipe/docker", NACRE_ERR_UNAVAILABLE, "Windows" },
    { "tcp://192.0.2.1:2375", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://build.example", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://0.0.0.0:2375", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://[::]:2375", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://[::ffff:127.0.0.1]:2375", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://localhost.evil.example", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://127.1:2375", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://2130706433", NACRE_ERR_UNAVAILABLE, "use TLS" },
    { "tcp://", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://:2375", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost:", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost:0", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost:65536", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost:-1", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost:1/path", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost/", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://user@localhost", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost@evil.example", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://local host", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://localhost\r\nX: y", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://[", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://[]", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://[::1", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://[::1]x", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://[::1%25lo]:1", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "tcp://-option", NACRE_ERR_PARSE, "expected tcp://host:port" },
    { "unix://", NACRE_ERR_PARSE, "expected unix:///path" },
    { "unix://relative", NACRE_ERR_PARSE, "expected unix:///path" },
    { "unix://" LONG, NACRE_ERR_PARSE, "expected unix:///path" },
    { "unix:/run/docker.sock", NACRE_ERR_PARSE, "expected unix:///path or" },
    { "http://localhost:2375", NACRE_ERR_PARSE, "expected unix:///path or" },
    { "https://host:2376", NACRE_ERR_PARSE, "expected unix:///path or" },
    { "fd://", NACRE_ERR_PARSE, "expected unix:///path or" },
    { "/run/docker.sock", NACRE_ERR_PARSE, "expected unix:///path or" },
    { "\x1b[31m", NACRE_ERR_PARSE, "found \\x1b[31m" },
};

static void parse_refuses_the_rest_and_says_what_it_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        struct dk_endpoint endpoint = { .port = 77 };
        struct nacre_error err;

        if (dk_endpoint_parse(refused[i].text, "DOCKER_HOST", NULL, &endpoint, &err) !=
                refused[i].status ||
            !strstr(err.text, refused[i].complaint))
            fail_msg("%s: %s", refused[i].text, err.text);
        assert_true(strncmp(err.text, "DOCKER_HOST: ", 13) == 0);
        assert_int_equal(endpoint.port, 77);
    }
}

static void find_takes_the_default_when_nobody_names_one(void **state)
{
    struct dk_places places = here();
    struct dk_endpoint endpoint;
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/var/run/docker.sock");
    places = (struct dk_places){ .docker_host = "", .docker_context = "", .home = "" };
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/var/run/docker.sock");
}

/* As `docker context create` keeps it. */
static void write_context(const char *name, const char *meta)
{
    struct nacre_digest digest = nacre_hash(name, strlen(name));
    char hex[NACRE_HEX], text[256];

    (void)nacre_digest_hex(&digest, hex);
    (void)snprintf(text, sizeof(text), "mkdir -p .docker/contexts/meta/%s", hex);
    scene_shell(text);
    (void)snprintf(text, sizeof(text), ".docker/contexts/meta/%s/meta.json", hex);
    scene_file(text, meta);
}

#define META(host) "{\"Name\":\"x\",\"Metadata\":{},\"Endpoints\":{\"docker\":" \
                   "{\"Host\":\"" host "\",\"SkipTLSVerify\":false}}}"

static void find_keeps_to_the_order(void **state)
{
    struct dk_places places = here();
    struct dk_endpoint endpoint;
    struct nacre_error err;

    (void)state;
    write_context("current", META("unix:///run/current.sock"));
    write_context("chosen", META("unix:///run/chosen.sock"));
    places.configured = "unix:///run/configured.sock";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/run/configured.sock");

    scene_file(".docker/config.json", "{\"currentContext\":\"current\",\"auths\":{}}");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/run/current.sock");
    assert_string_equal(endpoint.origin, "docker context current");

    places.docker_context = "chosen";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/run/chosen.sock");

    places.docker_context = "default"; /* of a context: none */
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/run/configured.sock");

    places.docker_host = "unix:///run/host.sock";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_string_equal(endpoint.path, "/run/host.sock");
}

static void what_is_configured_brings_its_certificates_and_its_place(void **state)
{
    struct dk_places places = here();
    char certificates[64];
    struct dk_endpoint endpoint;
    struct nacre_error err;

    (void)state;
    scene_shell("mkdir tls && touch tls/ca.pem tls/cert.pem tls/key.pem");
    (void)snprintf(certificates, sizeof(certificates), "%s/tls", scene_top);
    places.configured = "tcp://build";
    places.configured_origin = "/home/me/host.yaml:2:9";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "/home/me/host.yaml:2:9"));
    assert_non_null(strstr(err.text, "engine.certificates"));
    places.configured_certificates = certificates;
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_int_equal(endpoint.transport, DK_TRANSPORT_TLS);
    assert_int_equal(endpoint.port, 2376);
    assert_string_equal(endpoint.origin, "/home/me/host.yaml:2:9");
    assert_non_null(strstr(endpoint.key, "/tls/key.pem"));
    /* They are for this one alone. */
    places.docker_host = "tcp://elsewhere";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_UNAVAILABLE);
}

static void find_never_takes_the_next_when_one_is_broken(void **state)
{
    static const struct {
        const char *config, *meta, *chosen;
        enum nacre_status status;
        const char *complaint;
    } rows[] = {
        { "{\"currentContext\":\"gone\"}", NULL, NULL, NACRE_ERR_NOT_FOUND, "gone" },
        { "{}", NULL, "gone", NACRE_ERR_NOT_FOUND, "no docker context gone" },
        { "{\"currentContext\":7}", NULL, NULL, NACRE_ERR_PARSE, "currentContext" },
        { "{\"currentContext\":\"a\"", NULL, NULL, NACRE_ERR_PARSE, "expected JSON" },
        { "{\"currentContext\":\"a\",\"currentContext\":\"b\"}", NULL, NULL,
          NACRE_ERR_PARSE, "duplicate" },
        { "", NULL, NULL, NACRE_ERR_PARSE, "expected JSON" },
        { "{}", "", "mine", NACRE_ERR_PARSE, "expected JSON" },
        { "{}", "[]", "mine", NACRE_ERR_PARSE, "Endpoints.docker.Host" },
        { "{}", "{\"Endpoints\":{\"docker\":{\"Host\":1}}}", "mine", NACRE_ERR_PARSE,
          "Endpoints.docker.Host" },
        { "{}", META("ssh://build"), "mine", NACRE_ERR_UNAVAILABLE,
          "docker context mine: engines behind ssh://" },
        { "{}", META("tcp://build:2376"), "mine", NACRE_ERR_UNAVAILABLE, "use TLS" },
        { "{}", "{\"Endpoints\":{\"docker\":{\"Host\":\"tcp://localhost\","
                "\"SkipTLSVerify\":true}}}", "mine", NACRE_ERR_UNAVAILABLE,
          "SkipTLSVerify" },
        { "{}", META("unix:///run/x"), "../mine", NACRE_ERR_NOT_FOUND, "../mine" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct dk_places places = here();
        struct dk_endpoint endpoint = { .port = 77 };
        struct nacre_error err;

        scene_shell("rm -rf .docker && mkdir .docker");
        scene_file(".docker/config.json", rows[i].config);
        if (rows[i].meta)
            write_context("mine", rows[i].meta);
        places.docker_context = rows[i].chosen;
        places.configured = "unix:///run/configured.sock";
        if (dk_endpoint_find(&places, &endpoint, &err) != rows[i].status ||
            !strstr(err.text, rows[i].complaint))
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(endpoint.port, 77);
    }
}

static void find_is_not_held_by_a_config_that_is_no_file(void **state)
{
    struct dk_places places = here();
    struct dk_endpoint endpoint;
    struct nacre_error err;

    (void)state;
    scene_shell("mkdir .docker && mkfifo .docker/config.json");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_PARSE);
    scene_shell("rm .docker/config.json && mkdir .docker/config.json");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_IO);
    scene_shell("cd .docker && rmdir config.json && truncate -s 1100000 config.json");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_TOO_BIG);
}

static void tls_needs_all_three_files(void **state)
{
    struct dk_places places = here();
    struct dk_endpoint endpoint;
    struct nacre_error err;
    char certificates[NACRE_PATH_MAX], expected[NACRE_PATH_MAX];

    (void)state;
    scene_shell("mkdir certs && touch certs/ca.pem certs/cert.pem certs/key.pem");
    places.docker_host = "tcp://build.example";
    places.docker_tls_verify = "1";
    places.docker_cert_path = scene_path(certificates, "certs");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_int_equal(endpoint.transport, DK_TRANSPORT_TLS);
    assert_int_equal(endpoint.port, 2376);
    assert_string_equal(endpoint.key, scene_path(expected, "certs/key.pem"));

    scene_shell("rm certs/cert.pem");
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cert.pem can't be read"));
    places.docker_cert_path = NULL; /* ~/.docker then, where there are none */
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_UNAVAILABLE);
    places.home = NULL;
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_ERR_USAGE);
}

static void a_context_brings_its_certificates(void **state)
{
    struct nacre_digest digest = nacre_hash("mine", 4);
    struct dk_places places = here();
    struct dk_endpoint endpoint;
    struct nacre_error err;
    char hex[NACRE_HEX], text[256];

    (void)state;
    write_context("mine", META("tcp://build.example:2376"));
    (void)snprintf(text, sizeof(text),
                   "cd .docker/contexts && mkdir -p tls/%s/docker && cd tls/*/docker && "
                   "touch ca.pem cert.pem key.pem", nacre_digest_hex(&digest, hex));
    scene_shell(text);
    places.docker_context = "mine";
    assert_int_equal(dk_endpoint_find(&places, &endpoint, &err), NACRE_OK);
    assert_int_equal(endpoint.transport, DK_TRANSPORT_TLS);
    assert_non_null(strstr(endpoint.ca, "/docker/ca.pem"));
}

static void names_that_would_change_the_path_are_none(void **state)
{
    static const char *const images[] = { "busybox", "busybox:latest", "a/b/c:1.2-3_4",
                                          "host:5000/a/b@sha256:00", "A" };
    static const char *const no_images[] = {
        "", "/a", "a/", "a//b", "a/../b", "a/.", "..", "a?b", "a b", "a%2fb", "a#b", "-a",
        "a\nb", "a/...", "\xc3\xa9",
    };
    static const char *const no_containers[] = { "", "a/b", "a:b", "-a", ".a", "a b",
                                                 "a?", "a%41", "a\r\nb" };
    char long_name[600];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(images); i++)
        assert_true(dk_name_is_image(images[i]));
    for (size_t i = 0; i < NACRE_COUNT(no_images); i++)
        assert_false(dk_name_is_image(no_images[i]));
    for (size_t i = 0; i < NACRE_COUNT(no_containers); i++)
        assert_false(dk_name_is_container(no_containers[i]));
    memset(long_name, 'a', sizeof(long_name));
    long_name[599] = '\0';
    assert_false(dk_name_is_image(long_name));
    long_name[512] = '\0';
    assert_true(dk_name_is_image(long_name));
    long_name[129] = '\0';
    assert_false(dk_name_is_container(long_name));
    long_name[128] = '\0';
    assert_true(dk_name_is_container(long_name));
    long_name[64] = '\0';
    assert_true(dk_name_is_id(long_name));
    long_name[0] = 'A';
    assert_false(dk_name_is_id(long_name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_takes_sockets_and_loopback),
        cmocka_unit_test(parse_refuses_the_rest_and_says_what_it_expected),
        cmocka_unit_test_setup(find_takes_the_default_when_nobody_names_one, scene_clear),
        cmocka_unit_test_setup(find_keeps_to_the_order, scene_clear),
        cmocka_unit_test_setup(what_is_configured_brings_its_certificates_and_its_place,
                               scene_clear),
        cmocka_unit_test_setup(find_never_takes_the_next_when_one_is_broken, scene_clear),
        cmocka_unit_test_setup(find_is_not_held_by_a_config_that_is_no_file, scene_clear),
        cmocka_unit_test_setup(tls_needs_all_three_files, scene_clear),
        cmocka_unit_test_setup(a_context_brings_its_certificates, scene_clear),
        cmocka_unit_test(names_that_would_change_the_path_are_none),
    };

    return cmocka_run_group_tests_name("dk_endpoint", tests, scene_enter, scene_leave);
}
