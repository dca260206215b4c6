/* The end of a container under its commands: the channel is shut before the engine is
 * asked for anything, and an engine that hangs is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "box_scene.h"
#include "dk_box_made.h"
#include "fake_engine.h"
#include "scene.h"

#define SLOW_MS 400

static struct fake_engine *engine;
static struct dk_site site;
static struct dk_box box;
static _Atomic uint64_t ended_ns; /* when init saw the end of its channel */

static void wait_for_the_end(struct fake_init *self)
{
    (void)fake_init_report(self);
    fake_init_idle(self);
    atomic_store(&ended_ns, nacre_clock_ns());
}

static void enter(const struct fake_rule *rules)
{
    struct dk_endpoint endpoint = { .transport = DK_TRANSPORT_UNIX, .origin = "test" };

    (void)snprintf(endpoint.path, sizeof(endpoint.path), "%s/sock", scene_top);
    engine = fake_engine_start(endpoint.path, rules);
    assert_non_null(engine);
    site = (struct dk_site){ .engine_ms_max = 0 };
    assert_int_equal(dk_client_open(&endpoint, dk_within_ms(5000), &site.client, &err),
                     NACRE_OK);
    atomic_store(&ended_ns, 0);
    box = (struct dk_box){ .parts = { .site = &site, .kernel = DK_KERNEL_HOSTS },
                           .id = FAKE_ID };
    box.box = opened(wait_for_the_end, NULL);
}

static void leave(void)
{
    closed(box.box);
    dk_client_free(site.client);
    fake_engine_stop(engine);
}

static void the_channel_is_shut_before_the_engine_is_asked(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION,
        { .method = "GET", .path = "/containers/*/json", .status = 500,
          .delay_ms = SLOW_MS },
        { .method = "POST", .path = "/containers/*/kill", .status = 204,
          .delay_ms = SLOW_MS },
        FAKE_END,
    };
    uint64_t from;

    (void)state;
    enter(rules);
    from = nacre_clock_ns();
    dk_box_kill(&box);
    assert_true(nacre_clock_ns() - from >= SLOW_MS * NACRE_NS_PER_MS);
    assert_true(atomic_load(&box.ended));
    assert_int_not_equal(atomic_load(&ended_ns), 0);
    assert_true(atomic_load(&ended_ns) - from < SLOW_MS * NACRE_NS_PER_MS);
    assert_non_null(strstr(fake_engine_line(engine, fake_engine_asked(engine) - 1),
                           "/kill?signal=KILL"));
    leave();
}

static void an_engine_that_hangs_at_the_kill_is_given_up(void **state)
{
    static const char *const paths[] = { "/containers/*/json", "/containers/*/kill" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(paths); i++) {
        const struct fake_rule rules[] = { FAKE_VERSION,
                                           { .path = paths[i], .deed = FAKE_HANG },
                                           FAKE_END };
        uint64_t from;

        enter(rules);
        site.engine_ms_max = 200;
        from = nacre_clock_ns();
        dk_box_kill(&box);
        assert_true(nacre_clock_ns() - from < 900 * NACRE_NS_PER_MS);
        leave();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_channel_is_shut_before_the_engine_is_asked,
                               scene_clear),
        cmocka_unit_test_setup(an_engine_that_hangs_at_the_kill_is_given_up, scene_clear),
    };

    return cmocka_run_group_tests_name("dk_box", tests, scene_enter, scene_leave);
}
