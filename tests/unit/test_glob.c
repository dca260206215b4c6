/* Globs, braces and the rules of ignore files; the rules are checked against git, too. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "glob.h"
#include "ignore.h"
#include "scene.h"

static void globs_match_paths(void **state)
{
    static const struct {
        const char *glob, *path;
        bool is;
    } rows[] = {
        { "", "", true },
        { "", "a", false },
        { "a", "", false },
        { "a", "a", true },
        { "a", "b", false },
        { "a", "ab", false },
        { "*", "", true },
        { "*", "a", true },
        { "*", "a/b", false },
        { "*.c", "x.c", true },
        { "*.c", ".c", true },
        { "*.c", "x.cc", false },
        { "*.c", "a/x.c", false },
        { "a*", "abc", true },
        { "a*c", "abbc", true },
        { "a*c", "abcd", false },
        { "a*b*c", "aXbYbc", true },
        { "*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false },
        { "?", "a", true },
        { "?", "", false },
        { "?", "/", false },
        { "?", "é", true },
        { "??", "é", false },
        { "a?c", "abc", true },
        { "a?c", "a/c", false },
        { "[abc]", "b", true },
        { "[abc]", "d", false },
        { "[!abc]", "d", true },
        { "[!abc]", "a", false },
        { "[^abc]", "d", true },
        { "[a-c]x", "bx", true },
        { "[a-c]x", "dx", false },
        { "[]a]", "]", true },
        { "[!]a]", "b", true },
        { "[a-]", "-", true },
        { "[\\]]", "]", true },
        { "[", "[", false },
        { "[a", "a", false },
        { "[[:digit:]]", "5", true },
        { "[[:digit:]]", "a", false },
        { "[[:alpha:]_]", "_", true },
        { "[/]", "/", false },
        { "a[/]b", "a/b", false },
        { "[!a]", "/", false },
        { "[é-ü]", "ö", true },
        { "\\*", "*", true },
        { "\\*", "a", false },
        { "a\\b", "ab", true },
        { "\\[a]", "[a]", true },
        { "**", "a/b/c", true },
        { "**", "", true },
        { "**/a", "a", true },
        { "**/a", "x/y/a", true },
        { "**/a", "xa", false },
        { "**/a", "x/ya", false },
        { "a/**", "a/b", true },
        { "a/**", "a/b/c", true },
        { "a/**", "a", false },
        { "a/**/b", "a/b", true },
        { "a/**/b", "a/x/b", true },
        { "a/**/b", "a/x/y/b", true },
        { "a/**/b", "a/xb", false },
        { "a/**/b/**/c", "a/b/x/c", true },
        { "a/**/b/**/c", "a/b/b/x/y/c", true },
        { "a/**/b/**/c", "a/x/c", false },
        { "**/*.c", "x.c", true },
        { "**/*.c", "a/b/x.c", true },
        { "**/*.c", "a/b/x.h", false },
        { "a**b", "axxb", true },
        { "a**b", "a/b", false },
        { "**a", "ba", true },
        { "**a", "b/a", false },
        { "src/**/*.[ch]", "src/x/y.h", true },
        { "**/a*/b", "x/ay/c/a/b", true },
        { "**/*a/*b", "xa/ya/zb", true },
        { "**/a/**/a/**/b", "a/a/a/a/a/a/a/a/a/a/a/a/c", false },
        { "***/a", "b/a", true },
        { "a/*", "a/", true },
        { "*/b", "a/b", true },
        { "*/b", "b", false },
        { "\xff", "\xff", true },
        { "?", "\xff", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (glob_matches(rows[i].glob, strlen(rows[i].glob), rows[i].path,
                         strlen(rows[i].path)) != rows[i].is)
            fail_msg("%s on %s", rows[i].glob, rows[i].path);
}

static void join(void *data, const char *glob, size_t count)
{
    char *out = data;

    strncat(out, glob, count);
    strcat(out, ";");
}

static void braces_are_written_out(void **state)
{
    static const struct {
        const char *glob, *all; /* NULL: refused */
    } rows[] = {
        { "a", "a;" },
        { "{a,b}", "a;b;" },
        { "x{a,b}y", "xay;xby;" },
        { "{a}", "a;" },
        { "{,a}b", "b;ab;" },
        { "{a,{b,c}}d", "ad;bd;cd;" },
        { "{a,b}{c,d}", "ac;ad;bc;bd;" },
        { "\\{a,b\\}", "\\{a,b\\};" },
        { "{a\\,b,c}", "a\\,b;c;" },
        { "a}", "a};" },
        { "{a", NULL },
        { "{a,{b}", NULL },
        { "a{", NULL },
        { "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[8192] = "";
        bool is = glob_expand(rows[i].glob, strlen(rows[i].glob), join, out);

        if (is != (rows[i].all != NULL) || (is && strcmp(out, rows[i].all) != 0))
            fail_msg("%s: %d %s", rows[i].glob, is, out);
    }
}

static void no_memory_refuses_a_rule(void **state)
{
    struct ignore_rules rules = { 0 };

    (void)state;
    fail_alloc_after(0);
    assert_false(ignore_add_line(&rules, "a", 1));
    fail_alloc_after(-1);
    assert_int_equal(rules.count, 0);
    ignore_clear(&rules);
}

/* ---- against git ---- */

static const char *const lines[] = {
    "a", "/a", "a/", "*.c", "!b.c", "/d/*.c", "d/", "!d/keep", "**/x", "d/**", "!d/**/y",
    "d/**/y", "[ab]", "[!a]", "?", "a*", "*b", "\\!a", "\\#a", "# a", "", "  ", "a ",
    "a\\ ", "/d/e/", "e/x", "!/a", "*", "!*/", "!*.c", "d/e", "/*", "!/d", "x/", "**/e/x",
    "d/*", "/d/**/x", "b.[ch]", "[[:alpha:]].c", "a**", "**c", "/", "//a", "!", "a\r",
    "*/x", "*/", "y*", "[a", "a\\", "\\a", "d/e/**", "!d/e/x",
};

static const char *const paths[] = {
    "a", "b", "a.c", "b.c", "b.h", "z", "!a", "#a", "a ", "ab", "d/a", "d/b.c", "d/x",
    "d/y", "d/keep", "d/e/a", "d/e/x", "d/e/y", "d/e/b.c", "e/x", "e/d/x", "x/a", "y/x",
};

static uint32_t dice_state = 7;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

struct level {
    const char *directory; /* with its slash */
    char text[512];
    struct ignore_rules rules;
};

/* As the walk does it: from the top, and below what is left out nothing comes back. */
static bool is_ignored(struct level levels[3], const char *path)
{
    for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
        char part[64];
        const char *name;
        enum ignore_verdict verdict = IGNORE_NONE;

        (void)snprintf(part, sizeof(part), "%.*s", (int)end, path);
        name = strrchr(part, '/');
        name = name ? name + 1 : part;
        for (int i = 2; i >= 0 && verdict == IGNORE_NONE; i--) {
            size_t above = strlen(levels[i].directory);

            if (strncmp(part, levels[i].directory, above) == 0 && strlen(part) > above)
                verdict = ignore_judge(&levels[i].rules, part + above,
                                       strlen(part) - above, name, path[end] == '/');
        }
        if (verdict == IGNORE_LEFT_OUT)
            return true;
        if (path[end] == '\0')
            return false;
    }
}

static void check_round(int round)
{
    struct level levels[3] = { { .directory = "" }, { .directory = "d/" },
                               { .directory = "d/e/" } };
    char answers[4096];
    FILE *file;
    size_t count;

    for (int i = 0; i < 3; i++) {
        char name[64];
        uint32_t picks = i == 0 ? 1 + dice(5) : dice(3);

        for (uint32_t p = 0; p < picks; p++) {
            strcat(levels[i].text, lines[dice(sizeof(lines) / sizeof(lines[0]))]);
            strcat(levels[i].text, "\n");
        }
        (void)snprintf(name, sizeof(name), "repo/%s.gitignore", levels[i].directory);
        write_file(name, levels[i].text);
        assert_true(ignore_add_file(&levels[i].rules, levels[i].text,
                                    strlen(levels[i].text)));
    }
    scene_shell("cd repo && git check-ignore --no-index --stdin <../paths >../ignored; "
                "test $? -le 1");
    file = fopen("ignored", "r");
    assert_non_null(file);
    answers[0] = '\n';
    count = fread(answers + 1, 1, sizeof(answers) - 2, file);
    answers[count + 1] = '\0';
    (void)fclose(file);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char line[70];
        bool by_git;

        (void)snprintf(line, sizeof(line), "\n%s\n", paths[i]);
        by_git = strstr(answers, line) != NULL;
        if (is_ignored(levels, paths[i]) != by_git)
            fail_msg("round %d: git says %d of \"%s\" by\n%s-- in d/:\n%s-- in d/e/:\n%s",
                     round, by_git, paths[i], levels[0].text, levels[1].text,
                     levels[2].text);
    }
    for (int i = 0; i < 3; i++)
        ignore_clear(&levels[i].rules);
}

static void thrown_ignore_files_are_read_as_git_reads_them(void **state)
{
    FILE *file;

    (void)state;
    scene_shell("mkdir repo && cd repo && git init -q . && mkdir -p d/e e/d x y");
    file = fopen("paths", "w");
    assert_non_null(file);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "repo/%s", paths[i]);
        write_file(name, "");
        assert_true(fprintf(file, "%s\n", paths[i]) > 0);
    }
    assert_int_equal(fclose(file), 0);
    for (int round = 0; round < 400; round++)
        check_round(round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_paths),
        cmocka_unit_test(braces_are_written_out),
        cmocka_unit_test(no_memory_refuses_a_rule),
        cmocka_unit_test_setup_teardown(thrown_ignore_files_are_read_as_git_reads_them,
                                        scene_enter, scene_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
