/*
 * find and grep in the sandbox against what is too much to keep as data: lines of
 * megabytes, files of many buffers, deep and crowded trees, farms of links, patterns that
 * explode elsewhere.  What comes out is compared with the programs of this machine.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"
#include "tool_run.h"

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

static json_t *call_in(const char *workspace, const char *tool, const char *arguments)
{
    json_t *answer = tool_run(tool, workspace, arguments, strlen(arguments));

    if (tool_failed(answer))
        fail_msg("%s %.80s: %.300s", tool, arguments, tool_text(answer));
    return answer;
}

static json_t *call(const char *tool, const char *arguments)
{
    return call_in("ws", tool, arguments);
}

static int64_t number_of(const json_t *answer, const char *key)
{
    return json_integer_value(
        json_object_get(json_object_get(answer, "structuredContent"), key));
}

static void files(const char *commands)
{
    char line[1024];

    scene_shell("rm -rf ws && mkdir ws");
    assert_true(snprintf(line, sizeof(line), "cd ws && { %s; }", commands) <
                (int)sizeof(line));
    scene_shell(line);
}

/* What the tool says, and what a command of this machine writes to its output. */
static void expect_same(const char *arguments, const char *command)
{
    json_t *answer = call("grep", arguments);
    char line[512];
    FILE *file = fopen("said", "w");

    assert_non_null(file);
    assert_true(fputs(tool_text(answer), file) >= 0);
    assert_int_equal(fclose(file), 0);
    json_decref(answer);
    (void)snprintf(line, sizeof(line),
                   "cd ws && { %s; } >../wanted; cd .. && cmp -s said wanted", command);
    if (system(line) != 0)
        fail_msg("%s is not what %s says", arguments, command);
}

/* ---- files ---- */

/* Pieces of 256 KiB are searched: context and numbers go over their edges. */
static void a_file_of_many_pieces_is_one_file(void **state)
{
    (void)state;
    files(
        "seq -f 'line %.0f of a file that has many of them, and it is long' 1 60000 >f");
    expect_same("{\"pattern\":\"line [0-9]*77 of\",\"context\":3,\"limit\":1000000,"
                "\"max_bytes\":4000000}",
                "grep -HnC3 'line [0-9]*77 of' f");
    expect_same("{\"pattern\":\"line \\\\d+(00|55) of\",\"before\":2,\"limit\":1000000,"
                "\"max_bytes\":4000000}",
                "grep -HnB2 -E 'line [0-9]+(00|55) of' f");
    expect_same("{\"pattern\":\"[0-4]9 of a\",\"after\":1,\"limit\":1000000,"
                "\"max_bytes\":4000000}",
                "grep -HnA1 '[0-4]9 of a' f");
    expect_same("{\"pattern\":\"long$\",\"output_mode\":\"count\",\"limit\":1000000}",
                "grep -Hc 'long$' f");
}

static void a_line_of_ten_megabytes_is_searched_and_cut(void **state)
{
    json_t *answer;

    (void)state;
    files("{ head -c 6000000 /dev/zero | tr '\\0' x; printf needle; "
          "head -c 4000000 /dev/zero | tr '\\0' y; printf '\\nsecond needle\\n'; } >f");
    answer = call("grep", "{\"pattern\":\"need.e\",\"context\":1}");
    assert_non_null(strstr(tool_text(answer), "f:1:[5999"));
    assert_non_null(strstr(tool_text(answer), "xneedley"));
    assert_non_null(strstr(tool_text(answer), "\nf:2:second needle\n"));
    assert_true(strlen(tool_text(answer)) < 2000);
    assert_int_equal(number_of(answer, "matches"), 2);
    json_decref(answer);
}

static void a_line_that_fits_no_buffer_is_told(void **state)
{
    json_t *answer;

    (void)state;
    files("{ echo first needle; head -c 40000000 /dev/zero | tr '\\0' x; "
          "printf 'needle\\nlast needle\\n'; } >f");
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_string_equal(tool_text(answer),
                        "f:1:first needle\nf:3:last needle\n"
                        "[1 lines of more than 16 MiB were not searched]\n");
    json_decref(answer);
}

static void a_long_line_is_cut_around_its_match_and_between_characters(void **state)
{
    json_t *answer;

    (void)state;
    files("{ for i in $(seq 400); do printf '\\303\\251'; done; printf needle; "
          "for i in $(seq 400); do printf '\\342\\202\\254'; done; echo; } >f");
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_non_null(strstr(tool_text(answer), "\303\251needle\342\202\254"));
    assert_null(strstr(tool_text(answer), "\\x"));
    assert_true(strlen(tool_text(answer)) < 600);
    json_decref(answer);
}

/* Each of these takes a backtracking engine longer than anybody lives. */
static void patterns_that_explode_elsewhere_end_here(void **state)
{
    static const char *const patterns[] = { "(a+)+$", "(a|aa)*$", "(a*)*b", "(.*a){15}b",
                                            "((a+)+)+c", "(a?){40}a{40}b" };

    (void)state;
    files("{ head -c 1000000 /dev/zero | tr '\\0' a; echo '!'; } >f");
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        char arguments[128];
        json_t *answer;

        (void)snprintf(arguments, sizeof(arguments), "{\"pattern\":\"%s\"}", patterns[i]);
        answer = call("grep", arguments);
        assert_int_equal(number_of(answer, "matches"), i == 1 ? 1 : 0);
        json_decref(answer);
    }
}

static void any_bytes_may_be_searched(void **state)
{
    json_t *answer;

    (void)state;
    files(
        "head -c 3000000 /dev/urandom | tr -d '\\0' >f; printf '\\nneedle\\377\\n' >>f");
    answer = call("grep", "{\"pattern\":\"^needle\"}");
    assert_non_null(strstr(tool_text(answer), ":needle\\xFF\n"));
    json_decref(answer);
    answer = call("grep", "{\"pattern\":\".*\",\"limit\":3000}");
    assert_true(number_of(answer, "matches") > 0);
    json_decref(answer);
}

/* ---- trees ---- */

static void a_thousand_levels_are_walked(void **state)
{
    json_t *answer;

    (void)state;
    files("p=; for i in $(seq 1000); do p=${p}d/; done; mkdir -p $p; echo needle >${p}f; "
          "for i in 1 100 900; do echo needle >$(printf 'd/%.0s' $(seq $i))g; done");
    answer = call("find", "{\"limit\":5000,\"type\":\"directory\"}");
    assert_int_equal(number_of(answer, "found"), 1000);
    assert_int_equal(number_of(answer, "unreadable"), 0);
    json_decref(answer);
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_int_equal(number_of(answer, "matches"), 4);
    assert_int_equal(number_of(answer, "unreadable"), 0);
    json_decref(answer);
}

/* Deeper than a path may be long: what can't be reached is told. */
static void a_tree_that_is_too_deep_is_told(void **state)
{
    json_t *answer;

    (void)state;
    files("i=0; n=$(printf 'x%.0s' $(seq 200)); while [ $i -lt 40 ]; do mkdir $n && "
          "cd -P $n || exit 1; i=$((i + 1)); done; echo needle >f");
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_int_equal(number_of(answer, "unreadable"), 1);
    assert_non_null(strstr(tool_text(answer), "could not be read"));
    json_decref(answer);
}

static void a_farm_of_links_is_no_tree(void **state)
{
    json_t *answer;

    (void)state;
    files("mkdir a b; for i in $(seq 200); do ln -s ../b a/l$i; ln -s ../a b/l$i; done; "
          "ln -s . self; ln -s / out; ln -s gone none; echo needle >a/f");
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_string_equal(tool_text(answer), "a/f:1:needle\n");
    json_decref(answer);
    answer = call("find", "{\"type\":\"link\",\"limit\":1000}");
    assert_int_equal(number_of(answer, "found"), 403);
    json_decref(answer);
}

/* Where very many files are made quickly: in memory, if there is such a place. */
static void crowd(char workspace[64], const char *commands)
{
    char line[512];

    (void)snprintf(workspace, 64, "/dev/shm/nacre-crowd-XXXXXX");
    if (!mkdtemp(workspace)) {
        (void)snprintf(workspace, 64, "%s/crowd", scene_top);
        assert_int_equal(mkdir(workspace, 0700), 0);
    }
    assert_true(snprintf(line, sizeof(line), "cd %s && { %s; }", workspace, commands) <
                (int)sizeof(line));
    scene_shell(line);
}

static void crowd_remove(const char *workspace)
{
    char line[128];

    (void)snprintf(line, sizeof(line), "rm -rf %s", workspace);
    scene_shell(line);
}

static void a_hundred_thousand_files_are_found_and_searched(void **state)
{
    char workspace[64];
    json_t *answer;

    (void)state;
    crowd(workspace, "seq -f 'd%.0f' 0 99 | xargs mkdir; for d in $(seq 0 99); do "
                     "(cd d$d && seq -f 'f%.0f' 1 1000 | xargs touch); done; "
                     "echo needle >d42/f17");
    answer = call_in(workspace, "find",
                     "{\"type\":\"file\",\"pattern\":\"f*7\",\"limit\":100}");
    assert_int_equal(number_of(answer, "found"), 100);
    json_decref(answer);
    answer = call_in(workspace, "find",
                     "{\"type\":\"file\",\"pattern\":\"f999\",\"limit\":200}");
    assert_int_equal(number_of(answer, "found"), 100);
    assert_int_equal(number_of(answer, "seen"), 100100);
    json_decref(answer);
    answer = call_in(workspace, "grep", "{\"pattern\":\"needle\"}");
    assert_string_equal(tool_text(answer), "d42/f17:1:needle\n");
    assert_int_equal(number_of(answer, "searched"), 100000);
    json_decref(answer);
    crowd_remove(workspace);
}

static void a_directory_of_very_many_is_in_order(void **state)
{
    json_t *answer, *paths;
    char workspace[64];

    (void)state;
    crowd(workspace, "seq -f '%.0f' 1 30000 | xargs touch");
    answer = call_in(workspace, "find", "{\"limit\":100000}");
    paths = json_object_get(json_object_get(answer, "structuredContent"), "paths");
    assert_int_equal(json_array_size(paths), 30000);
    for (size_t i = 1; i < json_array_size(paths); i++)
        assert_true(strcmp(json_string_value(json_array_get(paths, i - 1)),
                           json_string_value(json_array_get(paths, i))) < 0);
    json_decref(answer);
    crowd_remove(workspace);
}

/* A pipe would wait for its writer, a socket is no file. */
static void what_is_no_file_is_left_alone(void **state)
{
    json_t *answer;

    (void)state;
    files("mkfifo pipe; echo needle >f; mkdir locked; echo needle >locked/f");
    answer = call("grep", "{\"pattern\":\"needle\"}");
    assert_int_equal(number_of(answer, "searched"), 2);
    json_decref(answer);
    answer = call("find", "{\"type\":\"other\"}");
    assert_string_equal(tool_text(answer), "pipe\n");
    json_decref(answer);
}

static void rules_by_the_thousand_are_obeyed(void **state)
{
    json_t *answer;

    (void)state;
    files("seq -f '*.x%.0f' 1 5000 >.gitignore; echo '!f.x77' >>.gitignore; "
          "for i in 1 77 4999 5001; do echo needle >f.x$i; done");
    answer = call("grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}");
    assert_string_equal(tool_text(answer), "f.x5001\nf.x77\n");
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_many_pieces_is_one_file),
        cmocka_unit_test(a_line_of_ten_megabytes_is_searched_and_cut),
        cmocka_unit_test(a_line_that_fits_no_buffer_is_told),
        cmocka_unit_test(a_long_line_is_cut_around_its_match_and_between_characters),
        cmocka_unit_test(patterns_that_explode_elsewhere_end_here),
        cmocka_unit_test(any_bytes_may_be_searched),
        cmocka_unit_test(a_thousand_levels_are_walked),
        cmocka_unit_test(a_tree_that_is_too_deep_is_told),
        cmocka_unit_test(a_farm_of_links_is_no_tree),
        cmocka_unit_test(a_hundred_thousand_files_are_found_and_searched),
        cmocka_unit_test(a_directory_of_very_many_is_in_order),
        cmocka_unit_test(what_is_no_file_is_left_alone),
        cmocka_unit_test(rules_by_the_thousand_are_obeyed),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
