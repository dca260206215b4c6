/* What of the way to the engine no guest may see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dk_ways.h"
#include "scene.h"

static bool has(const struct nacre_engine_ways *ways, const char *path)
{
    for (size_t i = 0; i < ways->count; i++)
        if (strcmp(ways->paths[i], path) == 0)
            return true;
    return false;
}

/* Below the scene, which may itself be reached by a link. */
static bool has_here(const struct nacre_engine_ways *ways, const char *path)
{
    char whole[NACRE_PATH_MAX];

    return has(ways, scene_path(whole, path));
}

static struct nacre_engine_ways find(const struct dk_places *places)
{
    struct nacre_engine_ways ways;
    struct nacre_error err;

    assert_int_equal(dk_ways_find(places, &ways, &err), NACRE_OK);
    assert_null(ways.paths[ways.count]);
    return ways;
}

static void a_socket_is_known_by_its_name_and_by_where_links_lead(void **state)
{
    char host[NACRE_PATH_MAX + 16];
    struct dk_places places = { .docker_host = host };
    struct nacre_engine_ways ways;

    (void)state;
    scene_shell("mkdir -p real && touch real/e.sock && ln -s real way && "
                "ln -s ../real/e.sock way/again.sock");
    (void)snprintf(host, sizeof(host), "unix://%s/way//x/../again.sock", scene_top);
    ways = find(&places);
    assert_true(has_here(&ways, "way/again.sock"));
    (void)snprintf(host, sizeof(host), "unix://%s/way/again.sock", scene_top);
    nacre_engine_ways_clear(&ways);
    ways = find(&places);
    assert_true(has_here(&ways, "way/again.sock"));
    assert_true(has_here(&ways, "real/e.sock"));
    assert_true(has(&ways, "/var/run/docker.sock"));
    nacre_engine_ways_clear(&ways);
}

static void a_socket_that_is_not_there_yet_is_known_by_where_it_will_be(void **state)
{
    char host[NACRE_PATH_MAX + 16];
    struct dk_places places = { .docker_host = host };
    struct nacre_engine_ways ways;

    (void)state;
    scene_shell("mkdir real && ln -s real way");
    (void)snprintf(host, sizeof(host), "unix://%s/way/e.sock", scene_top);
    ways = find(&places);
    assert_true(has_here(&ways, "way/e.sock"));
    assert_true(has_here(&ways, "real/e.sock"));
    nacre_engine_ways_clear(&ways);
}

static void keys_and_the_configuration_are_among_them(void **state)
{
    char keys[NACRE_PATH_MAX], config[NACRE_PATH_MAX];
    struct dk_places places = { .docker_host = "tcp://build:2376",
                                .docker_tls_verify = "1",
                                .docker_cert_path = scene_path(keys, "keys"),
                                .docker_config = scene_path(config, "conf") };
    struct nacre_engine_ways ways;

    (void)state;
    scene_shell("mkdir keys vault conf && touch keys/ca.pem keys/cert.pem vault/k && "
                "ln -s ../vault/k keys/key.pem");
    ways = find(&places);
    assert_true(has_here(&ways, "keys"));
    assert_true(has_here(&ways, "keys/key.pem"));
    assert_true(has_here(&ways, "vault/k"));
    assert_true(has_here(&ways, "conf"));
    nacre_engine_ways_clear(&ways);
    /* Relative, as the engine's own program takes it. */
    places.docker_cert_path = "keys";
    ways = find(&places);
    assert_true(has_here(&ways, "keys"));
    nacre_engine_ways_clear(&ways);
}

static void the_docker_context_that_is_chosen_names_one_too(void **state)
{
    char config[NACRE_PATH_MAX];
    struct dk_places places = { .docker_config = scene_path(config, "conf"),
                                .docker_context = "far" };
    struct nacre_engine_ways ways;

    (void)state;
    scene_shell("d=conf/contexts/meta/$(printf far | sha256sum | cut -d' ' -f1); "
                "mkdir -p $d && printf '{\"Endpoints\": {\"docker\": {\"Host\": "
                "\"unix:///srv/far/e.sock\"}}}' >$d/meta.json");
    ways = find(&places);
    assert_true(has(&ways, "/srv/far/e.sock"));
    nacre_engine_ways_clear(&ways);
}

static void what_can_not_be_spoken_to_still_keeps_what_is_named(void **state)
{
    char keys[NACRE_PATH_MAX];
    struct dk_places places = { .docker_host = "tcp://build:2376",
                                .docker_tls_verify = "1",
                                .docker_cert_path = scene_path(keys, "keys") };
    struct nacre_engine_ways ways;
    char host[200] = "unix:///";

    (void)state;
    scene_shell("mkdir keys && touch keys/key.pem"); /* and no ca.pem */
    ways = find(&places);
    assert_true(has_here(&ways, "keys"));
    nacre_engine_ways_clear(&ways);
    memset(host + 8, 'x', 150); /* too long for a socket, not for a link to one */
    places = (struct dk_places){ .docker_host = host };
    ways = find(&places);
    assert_true(has(&ways, host + 7));
    nacre_engine_ways_clear(&ways);
    places = (struct dk_places){ .docker_host = "ssh://me@build" };
    ways = find(&places);
    assert_true(has(&ways, "/var/run/docker.sock"));
    nacre_engine_ways_clear(&ways);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_socket_is_known_by_its_name_and_by_where_links_lead,
                               scene_clear),
        cmocka_unit_test_setup(
            a_socket_that_is_not_there_yet_is_known_by_where_it_will_be, scene_clear),
        cmocka_unit_test_setup(keys_and_the_configuration_are_among_them, scene_clear),
        cmocka_unit_test_setup(the_docker_context_that_is_chosen_names_one_too,
                               scene_clear),
        cmocka_unit_test_setup(what_can_not_be_spoken_to_still_keeps_what_is_named,
                               scene_clear),
    };

    return cmocka_run_group_tests_name("dk_ways", tests, scene_enter, scene_leave);
}
