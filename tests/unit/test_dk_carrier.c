/* How init comes to an engine that does not see it: what of the engine's answers is taken
 * for the carrier that nacre makes, and what goes when it is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dk_carrier.h"
#include "engine_scene.h"

#define IMAGE "sha256:" FAKE_ID
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

#define CARRIER "/containers/nacre-init-*/json"
#define MISSING { .method = "GET", .path = CARRIER, .status = 404, .times = 1 }
#define LAYERED(text) { .method = "GET", .path = "/images/*", .body = text }
static const struct dk_caller nobody;

#define FOUND(text) { .method = "GET", .path = CARRIER, .body = text }

#define VOLUME(name, at)                                                                 \
    "{\"Type\":\"volume\",\"Name\":\"" name "\",\"Destination\":\"" at "\"}"
#define BOTH VOLUME(A, "/nacre-init") "," VOLUME(B, "/nacre-cover")
#define CONTAINER(state, image, mounts)                                                  \
    "{\"Id\":\"" FAKE_ID "\",\"State\":{\"Status\":\"" state "\"},\"Image\":\"" image      \
    "\",\"Mounts\":[" mounts "]}"

static size_t asked(const char *words)
{
    size_t count = 0;

    for (size_t i = 0; i < fake_engine_asked(engine); i++)
        count += strstr(fake_engine_line(engine, i), words) != NULL;
    return count;
}

/* The digest of the layer as nacre tells it to an engine that has none yet; in `layers`
 * as an engine would give it back. */
static void learn_layer(char ret_layers[256])
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION,
        { .method = "POST", .path = "/images/create",
          .body = "{\"status\":\"" IMAGE "\"}" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    static const char lead[] = "nacre.init%3D";
    struct dk_carried carried;
    struct nacre_error err;
    const char *at = NULL;

    assert_int_not_equal(dk_carrier_find(client, &nobody, &carried, &err), NACRE_OK);
    for (size_t i = 0; i < fake_engine_asked(engine) && !at; i++)
        at = strstr(fake_engine_line(engine, i), lead);
    assert_non_null(at);
    (void)snprintf(ret_layers, 256,
                   "{\"Id\":\"" IMAGE "\",\"RootFS\":{\"Layers\":[\"sha256:%.64s\"]}}",
                   at + strlen(lead));
}

static void one_that_is_there_is_used_and_nothing_is_made(void **state)
{
    char layers[256];
    const struct fake_rule rules[] = { FAKE_VERSION, LAYERED(layers),
                                       FOUND(CONTAINER("created", IMAGE, BOTH)),
                                       FAKE_END };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    struct dk_carried carried;
    struct nacre_error err;
    size_t posts;

    (void)state;
    learn_layer(layers);
    posts = asked("POST ");
    client = opened(rules);
    assert_int_equal(dk_carrier_find(client, &nobody, &carried, &err), NACRE_OK);
    assert_string_equal(carried.init, A);
    assert_string_equal(carried.cover, B);
    assert_int_equal(asked("POST "), posts);
}

static void one_that_is_not_as_nacre_makes_it_is_refused(void **state)
{
    static const char *const others[] = {
        CONTAINER("exited", IMAGE, BOTH),
        CONTAINER("running", IMAGE, BOTH),
        CONTAINER("", IMAGE, BOTH),
        CONTAINER("created", "", BOTH),
        CONTAINER("created", IMAGE, ""),
        CONTAINER("created", IMAGE, VOLUME(A, "/nacre-init")),
        CONTAINER("created", IMAGE, VOLUME(A, "/nacre-cover")),
        CONTAINER("created", IMAGE, VOLUME("../x", "/nacre-init") "," VOLUME(
                                        B, "/nacre-cover")),
        "{\"Id\":\"" FAKE_ID "\"}",
    };
    char layers[256];

    (void)state;
    learn_layer(layers);
    for (size_t i = 0; i < NACRE_COUNT(others); i++) {
        const struct fake_rule rules[] = { FAKE_VERSION, LAYERED(layers),
                                           FOUND(others[i]), FAKE_END };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        struct dk_carried carried;
        struct nacre_error err;

        assert_int_equal(dk_carrier_find(client, &nobody, &carried, &err),
                         NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, "is not as nacre makes it: remove it"));
    }
}

/* A name says nothing about an image, and a second layer could hold anything. */
static void an_image_that_is_not_exactly_the_layer_is_refused(void **state)
{
    static const char *const others[] = {
        "{\"Id\":\"" IMAGE "\"}",
        "{\"Id\":\"" IMAGE "\",\"RootFS\":{\"Layers\":[]}}",
        "{\"Id\":\"" IMAGE "\",\"RootFS\":{\"Layers\":[\"sha256:" A "\"]}}",
    };
    char layers[256], two[512];

    (void)state;
    learn_layer(layers);
    (void)snprintf(two, sizeof(two), "%.*s,\"sha256:" A "\"]}}",
                   (int)(strlen(layers) - strlen("]}}")), layers);
    for (size_t i = 0; i <= NACRE_COUNT(others); i++) {
        const struct fake_rule rules[] = {
            FAKE_VERSION, LAYERED(i < NACRE_COUNT(others) ? others[i] : two),
            FOUND(CONTAINER("created", IMAGE, BOTH)), FAKE_END,
        };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        struct dk_carried carried;
        struct nacre_error err;

        assert_int_equal(dk_carrier_find(client, &nobody, &carried, &err),
                         NACRE_ERR_UNAVAILABLE);
    }
}

static void making_one_removes_those_of_other_versions_after_a_week(void **state)
{
    static char layers[256], list[1024];
    const struct fake_rule rules[] = {
        FAKE_VERSION, MISSING, LAYERED(layers), FAKE_CREATE,
        { .method = "GET", .path = "/containers/json", .body = list },
        FOUND(CONTAINER("created", IMAGE, BOTH)),
        { .method = "DELETE", .path = "/containers/*", .status = 204 },
        { .method = "DELETE", .path = "/images/*", .body = "[]" },
        FAKE_END,
    };
    uint64_t now_s = nacre_clock_wall_ms() / 1000;
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    struct dk_carried carried;
    struct nacre_error err;

    (void)state;
    learn_layer(layers);
    (void)snprintf(list, sizeof(list),
                   "[{\"Id\":\"" A "\",\"Labels\":{\"nacre.init\":\"" A
                   "\"},\"Created\":%lu},"
                   "{\"Id\":\"" B "\",\"Labels\":{\"nacre.init\":\"" B
                   "\"},\"Created\":%lu}]",
                   (unsigned long)(now_s - 8 * 24 * 3600),
                   (unsigned long)(now_s - 6 * 24 * 3600));
    client = opened(rules);
    assert_int_equal(dk_carrier_find(client, &nobody, &carried, &err), NACRE_OK);
    assert_string_equal(carried.init, A);
    assert_int_equal(asked("DELETE /v1.41/containers/" A), 1);
    assert_int_equal(asked("DELETE /v1.41/images/nacre-init:aaaaaaaaaaaaaaaa"), 1);
    assert_int_equal(asked("DELETE "), 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_ENGINE(one_that_is_there_is_used_and_nothing_is_made),
        WITH_ENGINE(one_that_is_not_as_nacre_makes_it_is_refused),
        WITH_ENGINE(an_image_that_is_not_exactly_the_layer_is_refused),
        WITH_ENGINE(making_one_removes_those_of_other_versions_after_a_week),
    };

    return cmocka_run_group_tests_name("dk_carrier", tests, scene_enter, scene_leave);
}
