/*
 * read, write, edit and ls in the sandbox against what is too much to keep as data: huge
 * lines and files, crowded and deep directories, links in farms and circles, pipes, and
 * arguments that are none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"
#include "tool_run.h"

#define MEBIBYTE ((size_t)1 << 20)

static int enter(void **state)
{
    int status = scene_enter(state);

    if (status == 0)
        tool_home();
    return status;
}

static int leave(void **state)
{
    tool_home_remove();
    return scene_leave(state);
}

static json_t *call(const char *tool, const char *arguments)
{
    return tool_run(tool, "ws", arguments, strlen(arguments));
}

static void expect_code(const char *tool, const char *arguments, const char *code)
{
    json_t *answer = call(tool, arguments);

    if (!tool_failed(answer) || !tool_code(answer) || strcmp(tool_code(answer), code) != 0)
        fail_msg("%s %.80s: %s: %.300s", tool, arguments, tool_code(answer),
                 tool_text(answer));
    json_decref(answer);
}

static int64_t number_of(const json_t *answer, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(answer, "structuredContent"),
                                              key));
}

static void files(const char *commands)
{
    char line[1024];

    scene_shell("rm -rf ws && mkdir ws");
    assert_true(snprintf(line, sizeof(line), "cd ws && { %s; }", commands) <
                (int)sizeof(line));
    scene_shell(line);
}

static void a_line_of_ten_megabytes_is_cut(void **state)
{
    json_t *answer;

    (void)state;
    files("head -c 10000000 /dev/zero | tr '\\0' x >f; printf '\\nlast\\n' >>f");
    answer = call("read", "{\"path\":\"f\"}");
    assert_non_null(strstr(tool_text(answer), "x [... 9998000 more bytes in this line]\nlast\n"));
    assert_true(strlen(tool_text(answer)) < 2100);
    assert_int_equal(number_of(answer, "total_lines"), 2);
    json_decref(answer);

    answer = call("edit", "{\"path\":\"f\",\"old_text\":\"\\nlast\",\"new_text\":\"y\\nnew\"}");
    assert_false(tool_failed(answer));
    assert_true(strlen(tool_text(answer)) < 6000);
    json_decref(answer);
    scene_shell("test \"$(tail -c 6 ws/f | tr '\\n' ,)\" = 'y,new,'");
}

static void characters_are_not_cut_in_two(void **state)
{
    json_t *answer;

    (void)state;
    files("{ printf a; yes '\\342\\230\\203' | head -n 1000 | tr -d '\\n'; } | "
          "sed 's/\\\\342\\\\230\\\\203/\\xe2\\x98\\x83/g' >f");
    answer = call("read", "{\"path\":\"f\"}");
    assert_null(strstr(tool_text(answer), "\\x"));
    assert_non_null(strstr(tool_text(answer), "\xe2\x98\x83 [... "));
    json_decref(answer);
}

static void what_is_shown_has_a_ceiling(void **state)
{
    json_t *answer;

    (void)state;
    files("yes 'a line of some length that is there over and over again' | head -n 5000 >f");
    answer = call("read", "{\"path\":\"f\"}");
    assert_true(strlen(tool_text(answer)) < 66000);
    assert_int_equal(number_of(answer, "next_offset"), number_of(answer, "last_line") + 1);
    assert_true(number_of(answer, "last_line") < 2000);
    assert_int_equal(number_of(answer, "total_lines"), 5000);
    json_decref(answer);
}

/* Of a file of eight gigabytes with holes only what is wanted is read. */
static void a_file_larger_than_memory_is_streamed(void **state)
{
    json_t *answer;

    (void)state;
    files("yes line | head -n 100000 >f; truncate -s 8G f");
    answer = call("read", "{\"path\":\"f\",\"limit\":2}");
    assert_string_equal(tool_text(answer),
                        "line\nline\n[lines 1 to 2, more follow; continue with offset 3]");
    json_decref(answer);
    expect_code("edit", "{\"path\":\"f\",\"old_text\":\"a\",\"new_text\":\"b\"}", "too-large");
}

static void an_image_over_the_cap_is_told_and_not_sent(void **state)
{
    (void)state;
    files("printf '\\211PNG\\r\\n\\032\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\1\\0\\0\\0\\1' >f; "
          "truncate -s 4M f");
    expect_code("read", "{\"path\":\"f\",\"image\":true}", "too-large");
}

static void an_image_comes_as_a_block_of_its_own(void **state)
{
    const json_t *block;
    json_t *answer;

    (void)state;
    files("printf 'GIF89a\\1\\0\\1\\0' >f");
    answer = call("read", "{\"path\":\"f\",\"image\":true}");
    block = json_array_get(json_object_get(answer, "content"), 1);
    assert_string_equal(json_string_value(json_object_get(block, "type")), "image");
    assert_string_equal(json_string_value(json_object_get(block, "mimeType")), "image/gif");
    assert_string_equal(json_string_value(json_object_get(block, "data")), "R0lGODlhAQABAA==");
    json_decref(answer);
}

static void a_pipe_holds_nobody_up_and_stays_one(void **state)
{
    json_t *answer;

    (void)state;
    files("mkfifo f");
    expect_code("read", "{\"path\":\"f\"}", "denied");
    expect_code("write", "{\"path\":\"f\",\"content\":\"x\"}", "not-a-file");
    expect_code("edit", "{\"path\":\"f\",\"old_text\":\"a\",\"new_text\":\"b\"}", "denied");
    answer = call("ls", "{\"long\":true}");
    assert_int_equal(tool_text(answer)[0], '?');
    json_decref(answer);
    scene_shell("test -p ws/f");
}

static void fill(const char *directory, int count)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[16];

    assert_true(fd >= 0);
    for (int i = 1; i <= count; i++) {
        (void)snprintf(name, sizeof(name), "f%06d", i);
        assert_int_equal(mknodat(fd, name, S_IFREG | 0644, 0), 0);
    }
}

static void a_hundred_thousand_entries_are_counted_and_cut(void **state)
{
    /* In memory where it can be: a disk's journal is not what is tested. */
    char shared[] = "/dev/shm/nacre-crowd-XXXXXX", here[] = "crowd-XXXXXX", command[64];
    const char *crowd = mkdtemp(shared) ? shared : mkdtemp(here);
    json_t *answer;

    (void)state;
    assert_non_null(crowd);
    fill(crowd, 100000);
    answer = tool_run("ls", crowd, "{}", 2);
    (void)snprintf(command, sizeof(command), "rm -rf %s", crowd);
    scene_shell(command);
    assert_int_equal(number_of(answer, "entries"), 1000);
    assert_int_equal(number_of(answer, "cut"), 99000);
    assert_int_equal(strncmp(tool_text(answer), "f000001\nf000002\n", 16), 0);
    assert_non_null(strstr(tool_text(answer), "f001000\n[1000 entries shown, at least 99000"));
    json_decref(answer);
}

static void a_deep_tree_ends_where_the_depth_does(void **state)
{
    json_t *answer;

    (void)state;
    files("mkdir -p $(yes d/ | head -n 1000 | tr -d '\\n')");
    answer = call("ls", "{\"depth\":32}");
    assert_int_equal(number_of(answer, "entries"), 32);
    json_decref(answer);
}

static void link_make(const char *directory, int number, const char *target)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/l%d", directory, number);
    assert_int_equal(symlink(target, path), 0);
}

static void a_farm_of_links_is_listed_and_not_walked(void **state)
{
    json_t *answer;

    (void)state;
    files("mkdir d");
    for (int i = 0; i < 300; i++)
        link_make("ws/d", i, "../d");
    answer = call("ls", "{\"path\":\"d\",\"depth\":32}");
    assert_int_equal(number_of(answer, "entries"), 300);
    json_decref(answer);
}

static void a_long_chain_of_links_ends_in_an_error(void **state)
{
    (void)state;
    files("echo x >l101");
    for (int i = 1; i <= 100; i++) {
        char target[16];

        (void)snprintf(target, sizeof(target), "l%d", i + 1);
        link_make("ws", i, target);
    }
    expect_code("read", "{\"path\":\"l1\"}", "link-loop");
    expect_code("write", "{\"path\":\"l1\",\"content\":\"y\"}", "link-loop");
    scene_shell("test -L ws/l1 && grep -q x ws/l101");
}

static void many_matches_cost_no_more_than_they_should(void **state)
{
    json_t *answer;

    (void)state;
    files("head -c 1000000 /dev/zero | tr '\\0' a >f; cp f g");
    /* Would be 36 MB. */
    expect_code("edit",
                "{\"path\":\"f\",\"old_text\":\"a\",\"replace_all\":true,"
                "\"new_text\":\"012345678901234567890123456789012345\"}",
                "too-large");
    expect_code("edit", "{\"path\":\"f\",\"old_text\":\"a\",\"new_text\":\"b\"}", "not-unique");
    expect_code("edit",
                "{\"path\":\"f\",\"old_text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\","
                "\"new_text\":\"b\"}",
                "no-match");
    scene_shell("cmp ws/f ws/g");
    answer = call("edit", "{\"path\":\"f\",\"old_text\":\"a\",\"replace_all\":true,"
                          "\"new_text\":\"b\"}");
    assert_int_equal(number_of(answer, "replacements"), 1000000);
    json_decref(answer);
}

static void ten_megabytes_are_written_as_they_are(void **state)
{
    size_t count = 10 * MEBIBYTE;
    char *arguments = malloc(count + 100);
    int head = sprintf(arguments, "{\"path\":\"f\",\"content\":\"");
    json_t *answer;

    (void)state;
    files("true");
    memset(arguments + head, 'x', count);
    memcpy(arguments + (size_t)head + count, "\\u0000\"}", 8);
    answer = tool_run("write", "ws", arguments, (size_t)head + count + 8);
    assert_int_equal(number_of(answer, "bytes"), count + 1);
    scene_shell("test $(stat -c %s ws/f) = 10485761 && test $(tail -c 1 ws/f | od -An -tu1) = 0");
    json_decref(answer);
    free(arguments);
}

static void arguments_that_are_none_change_nothing(void **state)
{
    static const char *const rows[] = {
        "",
        "[]",
        "null",
        "{\"path\":\"f\",\"path\":\"g\",\"content\":\"x\"}",
        "{\"path\":\"f\\u0000g\",\"content\":\"x\"}",
        "{\"path\":\"f\",\"content\":\"\\ud800\"}",
        "{\"path\":\"f\",\"content\":\"\xff\"}",
        "{\"path\":\"f\",\"content\":7}",
        "{\"path\":7,\"content\":\"x\"}",
        "{\"path\":\"f\",\"content\":\"x\"",
        "{\"path\":\"f\",\"content\":\"x\"} x",
    };
    char deep[5000];

    (void)state;
    files("echo old >f");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_code("write", rows[i], "bad-arguments");
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    expect_code("write", deep, "bad-arguments");
    expect_code("read", "{\"path\":\"f\",\"offset\":1e400}", "bad-arguments");
    expect_code("read", "{\"path\":\"f\",\"offset\":9223372036854775807}", "past-the-end");
    expect_code("read", "{\"path\":\"f\",\"offset\":1.5}", "bad-arguments");
    scene_shell("test \"$(cat ws/f)\" = old && test $(ls -A ws | wc -l) = 1");
}

static void a_path_of_the_longest_length_is_refused_in_words(void **state)
{
    char arguments[4300];
    int head = sprintf(arguments, "{\"path\":\"");

    (void)state;
    files("true");
    memset(arguments + head, 'a', 4097);
    memcpy(arguments + head + 4097, "\"}", 3);
    expect_code("read", arguments, "bad-path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_ten_megabytes_is_cut),
        cmocka_unit_test(characters_are_not_cut_in_two),
        cmocka_unit_test(what_is_shown_has_a_ceiling),
        cmocka_unit_test(a_file_larger_than_memory_is_streamed),
        cmocka_unit_test(an_image_over_the_cap_is_told_and_not_sent),
        cmocka_unit_test(an_image_comes_as_a_block_of_its_own),
        cmocka_unit_test(a_pipe_holds_nobody_up_and_stays_one),
        cmocka_unit_test(a_hundred_thousand_entries_are_counted_and_cut),
        cmocka_unit_test(a_deep_tree_ends_where_the_depth_does),
        cmocka_unit_test(a_farm_of_links_is_listed_and_not_walked),
        cmocka_unit_test(a_long_chain_of_links_ends_in_an_error),
        cmocka_unit_test(many_matches_cost_no_more_than_they_should),
        cmocka_unit_test(ten_megabytes_are_written_as_they_are),
        cmocka_unit_test(arguments_that_are_none_change_nothing),
        cmocka_unit_test(a_path_of_the_longest_length_is_refused_in_words),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
