/* Where an engine keeps its things: what was given, then XDG's variables, then home. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "fail_alloc.h"
#include "places.h"
#include "scene.h"

static const char *const variables[] = {
    "HOME",             "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
    "NACRE_POLICY_DIR", "NACRE_PROGRAM",  "PATH",           "NACRE_TOOL_DIR",
};
static char path_before[NACRE_PATH_MAX];

/* Each test starts with none of them. */
static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(variables); i++)
        (void)unsetenv(variables[i]);
    return 0;
}

static int enter(void **state)
{
    (void)snprintf(path_before, sizeof(path_before), "%s",
                   getenv("PATH") ? getenv("PATH") : "");
    return scene_enter(state);
}

static int leave(void **state)
{
    (void)setenv("PATH", path_before, 1);
    return scene_leave(state);
}

static struct nacre_places find(const struct nacre_engine_options *options)
{
    struct nacre_places places;
    struct nacre_error err;

    if (nacre_places_find(options, &places, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return places;
}

static const struct nacre_engine_options forked = { .fork_self = true };

static void home_is_where_nothing_else_is_said(void **state)
{
    NACRE_AUTO(nacre_places_clear) struct nacre_places places = { 0 };

    (void)state;
    (void)setenv("HOME", "/h", 1);
    places = find(&forked);
    assert_string_equal(places.state_dir, "/h/.local/state/nacre");
    assert_string_equal(places.cache_dir, "/h/.cache/nacre");
    assert_string_equal(places.key_dir, "/h/.config/nacre/keys");
    assert_string_equal(places.audit_path, "/h/.local/state/nacre/audit.jsonl");
    assert_string_equal(places.policy_dirs[0], "/h/.config/nacre/policies");
    assert_string_equal(places.tool_dirs[0], "/h/.config/nacre/tools");
    assert_null(places.program);
}

static void relative_variables_are_ignored(void **state)
{
    static const char *const relative[] = { "rel", "./rel", "../rel", "", "~/x" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(relative); i++) {
        NACRE_AUTO(nacre_places_clear) struct nacre_places places = { 0 };

        (void)setenv("HOME", "/h", 1);
        (void)setenv("XDG_STATE_HOME", relative[i], 1);
        (void)setenv("XDG_CACHE_HOME", relative[i], 1);
        (void)setenv("XDG_CONFIG_HOME", relative[i], 1);
        places = find(&forked);
        assert_string_equal(places.state_dir, "/h/.local/state/nacre");
        assert_string_equal(places.cache_dir, "/h/.cache/nacre");
        assert_string_equal(places.key_dir, "/h/.config/nacre/keys");
    }
}

static void absolute_variables_hold_and_options_win(void **state)
{
    NACRE_AUTO(nacre_places_clear) struct nacre_places places = { 0 };
    NACRE_AUTO(nacre_places_clear) struct nacre_places given = { 0 };
    const char *const dirs[] = { "one", "two", NULL };
    const struct nacre_engine_options options = {
        .fork_self = true, .state_dir = "s", .cache_dir = "c", .key_dir = "k",
        .audit_path = "a", .policy_dirs = dirs, .tool_dirs = dirs,
    };

    (void)state;
    (void)setenv("HOME", "/h", 1);
    (void)setenv("XDG_STATE_HOME", "/x/s", 1);
    (void)setenv("XDG_CACHE_HOME", "/x/c", 1);
    (void)setenv("XDG_CONFIG_HOME", "/x/k", 1);
    (void)setenv("NACRE_POLICY_DIR", "/x/p", 1);
    (void)setenv("NACRE_TOOL_DIR", "/x/t", 1);
    places = find(&forked);
    assert_string_equal(places.state_dir, "/x/s/nacre");
    assert_string_equal(places.cache_dir, "/x/c/nacre");
    assert_string_equal(places.key_dir, "/x/k/nacre/keys");
    assert_string_equal(places.policy_dirs[0], "/x/p");
    assert_string_equal(places.policy_dirs[1], "/x/k/nacre/policies");
    assert_string_equal(places.tool_dirs[0], "/x/t");
    assert_string_equal(places.tool_dirs[1], "/x/k/nacre/tools");
    given = find(&options);
    assert_string_equal(given.state_dir, "s");
    assert_string_equal(given.cache_dir, "c");
    assert_string_equal(given.key_dir, "k");
    assert_string_equal(given.audit_path, "a");
    assert_string_equal(given.policy_dirs[0], "one");
    assert_string_equal(given.policy_dirs[1], "two");
    assert_null(given.policy_dirs[2]);
    assert_string_equal(given.tool_dirs[1], "two");
}

/* Everything that nacre writes is shown to no guest. */
static void what_is_written_is_protected(void **state)
{
    NACRE_AUTO(nacre_places_clear) struct nacre_places places = { 0 };
    const char *const wanted[] = { "/h/.local/state/nacre", "/h/.cache/nacre",
                                   "/h/.config/nacre/keys", "/log",
                                   "/h/.config/nacre/tools" };
    const struct nacre_engine_options options = { .fork_self = true,
                                                  .audit_path = "/log" };

    (void)state;
    (void)setenv("HOME", "/h", 1);
    places = find(&options);
    for (size_t i = 0; i < NACRE_COUNT(wanted); i++) {
        bool found = false;

        for (size_t k = 0; places.protected_paths[k]; k++)
            found |= strcmp(places.protected_paths[k], wanted[i]) == 0;
        assert_true(found);
    }
}

/* Without HOME the user's entry in the password file counts; a relative HOME is none. */
static void without_home_the_password_file_says(void **state)
{
    static const char *const homes[] = { NULL, "", "rel", "." };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(homes); i++) {
        struct nacre_places places;
        struct nacre_error err;
        enum nacre_status status;

        (void)forget(NULL);
        if (homes[i])
            (void)setenv("HOME", homes[i], 1);
        status = nacre_places_find(&forked, &places, &err);
        if (status != NACRE_OK) { /* a user whom nobody has written down */
            assert_non_null(strstr(err.text, "set HOME or XDG_STATE_HOME"));
            continue;
        }
        assert_int_equal(places.state_dir[0], '/');
        assert_int_equal(places.key_dir[0], '/');
        nacre_places_clear(&places);
    }
}

static void a_path_that_is_too_long_is_told_not_cut(void **state)
{
    static const char *const named[] = { "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                                         "XDG_CONFIG_HOME" };
    char path[PATH_MAX];

    (void)state;
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    for (size_t i = 0; i < NACRE_COUNT(named); i++) {
        struct nacre_places places;
        struct nacre_error err;

        (void)forget(NULL);
        (void)setenv("HOME", "/h", 1);
        (void)setenv(named[i], path, 1);
        assert_int_equal(nacre_places_find(&forked, &places, &err), NACRE_ERR_TOO_BIG);
    }
    {
        const struct nacre_engine_options options = { .fork_self = true,
                                                      .state_dir = path };
        struct nacre_places places;
        struct nacre_error err;

        (void)forget(NULL);
        (void)setenv("HOME", "/h", 1);
        assert_int_equal(nacre_places_find(&options, &places, &err), NACRE_ERR_TOO_BIG);
    }
}

/* A relative entry of PATH would be whatever lies in the current directory. */
static void the_program_is_never_found_in_the_current_directory(void **state)
{
    static const char *const paths[] = { "", ":", ".", "bin", "./bin:../bin", "::bin:" };
    const struct nacre_engine_options none = { 0 };
    struct nacre_places places;
    struct nacre_error err;
    char path[2 * NACRE_PATH_MAX], program[NACRE_PATH_MAX];

    (void)state;
    (void)setenv("HOME", "/h", 1);
    (void)mkdir("bin", 0755);
    scene_file("nacre", "");
    scene_file("bin/nacre", "");
    assert_int_equal(chmod("nacre", 0755), 0);
    assert_int_equal(chmod("bin/nacre", 0755), 0);
    for (size_t i = 0; i < NACRE_COUNT(paths); i++) {
        (void)setenv("PATH", paths[i], 1);
        assert_int_equal(nacre_places_find(&none, &places, &err), NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, "NACRE_PROGRAM"));
    }
    (void)snprintf(path, sizeof(path), "bin:/nowhere:%s/bin", scene_top);
    (void)setenv("PATH", path, 1);
    places = find(&none);
    assert_string_equal(places.program, scene_path(program, "bin/nacre"));
    nacre_places_clear(&places);
    (void)setenv("NACRE_PROGRAM", "/p/nacre", 1);
    places = find(&none);
    assert_string_equal(places.program, "/p/nacre");
    nacre_places_clear(&places);
}

static void commands_need_no_program(void **state)
{
    const struct nacre_engine_options commands = { .commands_only = true };
    struct nacre_places places;

    (void)state;
    (void)setenv("HOME", "/h", 1);
    (void)setenv("PATH", "/nowhere", 1);
    places = find(&commands);
    assert_null(places.program);
    nacre_places_clear(&places);
    (void)setenv("NACRE_PROGRAM", "/p/nacre", 1);
    places = find(&commands);
    assert_string_equal(places.program, "/p/nacre");
    nacre_places_clear(&places);
}

static void finding_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    (void)setenv("HOME", "/h", 1);
    (void)setenv("NACRE_PROGRAM", "/p/nacre", 1);
    for (int n = 0; fired; n++) {
        const struct nacre_engine_options none = { 0 };
        struct nacre_places places = { 0 };
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = nacre_places_find(&none, &places, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_places_clear(&places);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(home_is_where_nothing_else_is_said, forget),
        cmocka_unit_test_setup(relative_variables_are_ignored, forget),
        cmocka_unit_test_setup(absolute_variables_hold_and_options_win, forget),
        cmocka_unit_test_setup(what_is_written_is_protected, forget),
        cmocka_unit_test_setup(without_home_the_password_file_says, forget),
        cmocka_unit_test_setup(a_path_that_is_too_long_is_told_not_cut, forget),
        cmocka_unit_test_setup(the_program_is_never_found_in_the_current_directory,
                               forget),
        cmocka_unit_test_setup(commands_need_no_program, forget),
        cmocka_unit_test_setup(finding_survives_every_allocation_failure, forget),
    };

    return cmocka_run_group_tests_name("places", tests, enter, leave);
}
