/* Where compiled code comes from, and the note that a compilation was too slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "fail_alloc.h"
#include "nacre/clock.h"
#include "scene.h"
#include "wt_slow.h"
#include "wt_source.h"

static struct wt_zygote *zygote;
static _Atomic int cancelled;

static int enter(void **state)
{
    struct nacre_error err;

    /* Before anything else: this process has one thread and few fds yet. */
    if (wt_zygote_start(NULL, &zygote, &err) != NACRE_OK)
        return -1;
    return scene_enter(state);
}

static int leave(void **state)
{
    wt_zygote_free(zygote);
    return scene_leave(state);
}

static int start(void **state)
{
    atomic_store(&cancelled, 0);
    return scene_clear(state);
}

static struct nacre_tool *tool_of(const char *wat)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;

    scene_file("guest.wat", wat);
    assert_int_equal(nacre_tool_load("guest.wat", &tool, &err), NACRE_OK);
    return tool;
}

/* A module whose compilation takes far longer than SHORT_MS, and one among many. */
#define SHORT_MS 20

static struct nacre_tool *slow_tool(void)
{
    NACRE_AUTO(nacre_heap_guard) char *text = malloc(1000000);
    size_t used = (size_t)sprintf(text, "(module");

    for (int i = 0; i < 9000; i++)
        used += (size_t)sprintf(text + used,
                                "(func (param i32) (result i32) (i32.mul (i32.add "
                                "(local.get 0) (i32.const %d)) (local.get 0)))", i);
    (void)sprintf(text + used, ")");
    return tool_of(text);
}

static struct nacre_tool *small_tool(int number)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "(module (func (result i32) (i32.const %d)))",
                   number);
    return tool_of(text);
}

static struct wt_source *open_source(const struct nacre_executor_options *options)
{
    struct wt_source *source = NULL;
    struct wt_cache *cache;
    struct nacre_error err;

    /* The cache too, so that who counts fds counts it from the start. */
    if (wt_source_open(options, &cancelled, &source, &err) != NACRE_OK ||
        wt_source_cache(source, &cache, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return source;
}

static enum nacre_status get(struct wt_source *source, const struct nacre_tool *tool,
                             uint64_t ms, uint64_t *ret_compile_ns,
                             struct nacre_error *err)
{
    int fd = -1;
    enum nacre_status status = wt_source_get(source, zygote, tool,
                                             nacre_clock_ns() + ms * NACRE_NS_PER_MS, &fd,
                                             ret_compile_ns, err);

    if (status != NACRE_OK) {
        assert_int_equal(fd, -1);
        return status;
    }
    /* Nobody can change what will be run. */
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(fcntl(fd, F_GET_SEALS),
                     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    assert_true(lseek(fd, 0, SEEK_END) > 0);
    (void)close(fd);
    return NACRE_OK;
}

static const struct nacre_executor_options cached = { .cache_dir = "cache",
                                                      .key_dir = "keys" };
static const struct nacre_executor_options uncached = { 0 };

static void code_is_compiled_once(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = small_tool(1);
    uint64_t compile_ns;
    struct wt_cache *cache;
    struct nacre_error err;

    (void)state;
    for (int round = 0; round < 3; round++) { /* again, from the cache, and without one */
        NACRE_AUTO(wt_source_guard) struct wt_source *source =
            open_source(round < 2 ? &cached : &uncached);

        assert_int_equal(get(source, tool, 60000, &compile_ns, &err), NACRE_OK);
        assert_int_equal(compile_ns == 0, round == 1);
        assert_int_equal(get(source, tool, 60000, &compile_ns, &err), NACRE_OK);
        assert_int_equal(compile_ns, 0);
        assert_int_equal(wt_source_cache(source, &cache, &err), NACRE_OK);
        assert_int_equal(cache != NULL, round < 2);
    }
}

static void what_is_held_is_bounded_and_held_once(void **state)
{
    NACRE_AUTO(wt_source_guard) struct wt_source *source = open_source(&uncached);
    int fds = scene_fds();
    uint64_t compile_ns;
    struct nacre_error err;

    (void)state;
    for (int i = 0; i < 40; i++) {
        NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = small_tool(i);

        assert_int_equal(get(source, tool, 60000, &compile_ns, &err), NACRE_OK);
        if (i > 0)
            continue;
        for (int again = 0; again < 3; again++)
            assert_int_equal(wt_source_add(source, zygote, tool, UINT64_MAX, &err),
                             NACRE_OK);
        nacre_tool_free(tool);
        tool = NULL;
        assert_int_equal(scene_fds(), fds + 1);
    }
    assert_int_equal(scene_fds(), fds + 32);
}

static void a_module_that_cannot_be_compiled_leaves_nothing(void **state)
{
    static const char *const bad[] = {
        "(module (func (result i32)))",
        "(module (memory 1) (memory 1))",
        "(module (memory i64 1))",
        "(module",
    };
    NACRE_AUTO(wt_source_guard) struct wt_source *source = open_source(&cached);
    int fds = scene_fds();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct nacre_tool *tool = tool_of(bad[i]);
        uint64_t compile_ns;
        struct nacre_error err;

        assert_int_equal(get(source, tool, 60000, &compile_ns, &err),
                         NACRE_ERR_NOT_RUNNABLE);
        nacre_tool_free(tool);
        assert_int_equal(scene_fds(), fds);
    }
    scene_shell("test -z \"$(ls cache | grep -E 'code|slow')\"");
}

static void time_that_was_not_enough_is_not_tried_again(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = slow_tool();
    NACRE_AUTO(wt_source_guard) struct wt_source *source = open_source(&cached);
    int fds = scene_fds();
    uint64_t compile_ns;
    struct nacre_error err;

    (void)state;
    assert_int_equal(get(source, tool, SHORT_MS, &compile_ns, &err), NACRE_ERR_TIMEOUT);
    assert_non_null(strstr(err.text, "nacre cache add guest.wat"));
    assert_int_equal(get(source, tool, SHORT_MS, &compile_ns, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_non_null(strstr(err.text, "nacre cache add guest.wat"));
    /* The same request, had it not lost as much time before. */
    assert_int_equal(get(source, tool, SHORT_MS + 150, &compile_ns, &err),
                     NACRE_ERR_NOT_RUNNABLE);
    assert_int_equal(scene_fds(), fds);
    assert_int_equal(wt_source_add(source, zygote, tool, 60000, &err), NACRE_OK);
    assert_int_equal(get(source, tool, SHORT_MS, &compile_ns, &err), NACRE_OK);
    scene_shell("! ls cache | grep slow");
}

static void a_cancelled_compilation_says_nothing_about_time(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = slow_tool();
    NACRE_AUTO(wt_source_guard) struct wt_source *source = open_source(&cached);
    uint64_t compile_ns;
    struct nacre_error err;

    (void)state;
    atomic_store(&cancelled, 15);
    /* It may end before anyone looks; what counts is that nothing is held against it. */
    (void)get(source, tool, 60000, &compile_ns, &err);
    scene_shell("! ls cache | grep slow");
}

static void opening_survives_every_allocation_failure(void **state)
{
    int fds = scene_fds();
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct wt_source *source = NULL;
        struct wt_cache *cache;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = wt_source_open(&cached, &cancelled, &source, &err);
        if (status == NACRE_OK)
            status = wt_source_cache(source, &cache, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        wt_source_free(source);
        assert_int_equal(scene_fds(), fds);
    }
}

/* ---- the note ---- */

static void note_path(const struct nacre_digest *key, char ret_path[128])
{
    char hex[NACRE_HEX];

    (void)snprintf(ret_path, 128, "cache/%s.slow", nacre_digest_hex(key, hex));
}

static void a_note_that_is_not_a_number_is_no_note(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } notes[] = {
        { "", 0 },     { "x", 0 },    { "-1", 0 },  { " 5", 0 },  { "5 ", 0 },
        { "5\n", 0 },  { "+5", 0 },   { "0x5", 0 },  { "5.0", 0 }, { "0", 0 },   { "4294967296", 0 },
        { "18446744073709551616", 0 }, { "111111111111111111111111111111", 0 },
        { "5", 5 },    { "4294967295", 4294967295 },
    };
    struct nacre_digest key = nacre_hash("m", 1);
    char path[128];

    (void)state;
    assert_int_equal(mkdir("cache", 0700), 0);
    note_path(&key, path);
    assert_int_equal(wt_slow_get("cache", &key), 0);
    for (size_t i = 0; i < NACRE_COUNT(notes); i++) {
        scene_file(path, notes[i].text);
        assert_int_equal(wt_slow_get("cache", &key), notes[i].ms);
    }
    wt_slow_set("cache", &key, 1234);
    assert_int_equal(wt_slow_get("cache", &key), 1234);
    wt_slow_clear("cache", &key);
    assert_int_equal(wt_slow_get("cache", &key), 0);
    wt_slow_clear("cache", &key);
}

static void a_note_follows_no_link_and_waits_for_nobody(void **state)
{
    static const char *const planted[] = { "ln -s ../canary", "mkfifo", "mkdir",
                                           "ln -s ../canary-dir/new" };
    struct nacre_digest key = nacre_hash("m", 1);
    char path[128], command[300];
    int fds = scene_fds();

    (void)state;
    scene_shell("mkdir cache canary-dir && printf 77 >canary");
    note_path(&key, path);
    for (size_t i = 0; i < NACRE_COUNT(planted); i++) {
        (void)snprintf(command, sizeof(command), "rm -rf %s && %s %s", path, planted[i],
                       path);
        scene_shell(command);
        assert_int_equal(wt_slow_get("cache", &key), 0);
        wt_slow_set("cache", &key, 5);
        assert_int_equal(wt_slow_get("cache", &key), 0);
        wt_slow_clear("cache", &key);
        assert_true(scene_holds("canary", "77"));
        assert_false(scene_has("canary-dir/new"));
    }
    assert_int_equal(scene_fds(), fds);
}

/* A name that is cut to fit would be another file's. */
static void a_cache_too_deep_for_a_note_gets_none(void **state)
{
    struct nacre_digest key = nacre_hash("m", 1);
    char deep[NACRE_PATH_MAX];

    (void)state;
    memset(deep, '/', sizeof(deep));
    (void)snprintf(deep, sizeof(deep), "%s", scene_top);
    deep[strlen(scene_top)] = '/';
    deep[sizeof(deep) - 40] = '\0'; /* the scene's own directory, in many slashes */
    wt_slow_set(deep, &key, 5);
    wt_slow_clear(deep, &key);
    assert_int_equal(wt_slow_get(deep, &key), 0);
    scene_shell("test -z \"$(ls -A)\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(code_is_compiled_once, start),
        cmocka_unit_test_setup(what_is_held_is_bounded_and_held_once, start),
        cmocka_unit_test_setup(a_module_that_cannot_be_compiled_leaves_nothing, start),
        cmocka_unit_test_setup(time_that_was_not_enough_is_not_tried_again, start),
        cmocka_unit_test_setup(a_cancelled_compilation_says_nothing_about_time, start),
        cmocka_unit_test_setup(opening_survives_every_allocation_failure, start),
        cmocka_unit_test_setup(a_note_that_is_not_a_number_is_no_note, start),
        cmocka_unit_test_setup(a_note_follows_no_link_and_waits_for_nobody, start),
        cmocka_unit_test_setup(a_cache_too_deep_for_a_note_gets_none, start),
    };

    return cmocka_run_group_tests_name("wt_source", tests, enter, leave);
}
