/* Which file was meant: what lies there is anything, the names too. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nacre_tool.h"
#include "scene.h"

static void expect_near(const char *asked, const char *near)
{
    char path[8192], wanted[512];
    const char *found;

    assert_true(snprintf(path, sizeof(path), "%s/%s", scene_top, asked) <
                (int)sizeof(path));
    found = nacre_tool_near(path);
    if (!near) {
        assert_null(found);
        return;
    }
    (void)snprintf(wanted, sizeof(wanted), "%s/%s", scene_top, near);
    assert_non_null(found);
    assert_string_equal(found, wanted);
}

static void the_nearest_name_is_proposed(void **state)
{
    (void)state;
    scene_shell("mkdir -p src/deep empty; touch src/deep/read.c src/read.c src/write.c x");
    expect_near("src/raed.c", "src/read.c");
    expect_near("src/READ.C", "src/read.c");
    expect_near("scr/deep/read.c", "src/deep/read.c");
    expect_near("scr/deep/none", "src");
    expect_near("src/dep/read.c", "src/deep/read.c");
}

static void nothing_is_proposed_where_nothing_is_like_it(void **state)
{
    (void)state;
    scene_shell("mkdir -p src empty; touch src/read.c x");
    expect_near("src/unlike", NULL);
    expect_near("empty/read.c", NULL);
    expect_near("src/read.c/below", NULL); /* a file is no directory */
    expect_near("y", NULL);
    assert_null(nacre_tool_near("read.c"));
    assert_null(nacre_tool_near(""));
    assert_null(nacre_tool_near("/"));
}

static void names_of_any_length_and_kind_are_looked_at(void **state)
{
    char name[4096];

    (void)state;
    scene_shell("n=$(printf 'a%.0s' $(seq 128)); touch $n $(printf 'b%.0s' $(seq 129)) "
                "$(printf 'c%.0s' $(seq 255)) \"$(printf 'd\\377\\n\\033')\"");
    memset(name, 'a', sizeof(name));
    name[127] = '\0';
    expect_near(name, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    memset(name, 'b', 130);
    name[130] = '\0';
    expect_near(name, NULL);
    memset(name, 'c', sizeof(name));
    name[254] = '\0';
    expect_near(name, NULL);
    name[254] = 'c';
    name[sizeof(name) - 1] = '\0';
    expect_near(name, NULL);
    expect_near("d\xff\n", "d\xff\n\x1b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_nearest_name_is_proposed, scene_clear),
        cmocka_unit_test_setup(nothing_is_proposed_where_nothing_is_like_it, scene_clear),
        cmocka_unit_test_setup(names_of_any_length_and_kind_are_looked_at, scene_clear),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
