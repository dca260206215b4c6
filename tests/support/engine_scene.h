#ifndef NACRE_TEST_ENGINE_SCENE_H
#define NACRE_TEST_ENGINE_SCENE_H

/* A scene with a fake engine in it, fresh for each test.  After <cmocka.h>. */

#include "dk_api.h"
#include "fake_engine.h"
#include "scene.h"

#define SOON dk_within_ms(5000)

static struct fake_engine *engine; /* a test that stops it sets it to NULL */
static struct dk_endpoint endpoint;

static inline int engine_setup(void **state)
{
    static const struct fake_rule nothing[] = { FAKE_END };

    if (scene_clear(state) != 0)
        return -1;
    endpoint = (struct dk_endpoint){ .transport = DK_TRANSPORT_UNIX, .origin = "test" };
    (void)snprintf(endpoint.path, sizeof(endpoint.path), "%s/sock", scene_top);
    engine = fake_engine_start(endpoint.path, nothing);
    return engine ? 0 : -1;
}

static inline int engine_teardown(void **state)
{
    (void)state;
    fake_engine_stop(engine);
    engine = NULL;
    return 0;
}

#define WITH_ENGINE(name) \
    cmocka_unit_test_setup_teardown(name, engine_setup, engine_teardown)

/* A client of the engine, which from now on keeps to `rules`; FAKE_VERSION is in them. */
static inline struct dk_client *opened(const struct fake_rule *rules)
{
    struct dk_client *client = NULL;
    struct nacre_error err = { .text = "" };

    fake_engine_script(engine, rules);
    if (dk_client_open(&endpoint, SOON, &client, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return client;
}

/* What it was asked last. */
static inline const char *last_line(void)
{
    return fake_engine_line(engine, fake_engine_asked(engine) - 1);
}

#endif
