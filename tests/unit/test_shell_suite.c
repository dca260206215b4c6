/*
 * Shell rules against files: suites/shell/cases.txt and its like say which line of a
 * policy decides, runs.txt is tried in real shells as well, with a program that leaves a
 * mark, and syntax.txt is compared with `bash -n`.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "nacre/buf.h"
#include "nacre/path.h"
#include "nacre/shell.h"
#include "nacre/tree.h"

/* All that is wrong is told before a test fails. */
static int failures;
#define COMPLAIN(...) (failures++, print_error(__VA_ARGS__), print_error("\n"))

#define DENIED_MIN 300
#define ALLOWED_MIN 75

/* ---- files of cases ---- */

/* Calls `each` with every line that is no comment; ¶ becomes the end of a line. */
static void read_cases(const char *name, void (*each)(char *line, void *data), void *data)
{
    char path[NACRE_PATH_MAX], line[1024];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/shell/%s", NACRE_SUITES_DIR, name);
    file = fopen(path, "re");
    if (!file)
        fail_msg("cannot open %s", path);
    while (fgets(line, sizeof(line), file)) {
        char *mark = line;

        assert_non_null(strchr(line, '\n'));
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        while ((mark = strstr(mark, "¶"))) {
            *mark = '\n';
            memmove(mark + 1, mark + 2, strlen(mark + 2) + 1);
        }
        each(line, data);
    }
    (void)fclose(file);
}

/* "KIND: TEXT" taken apart, in place. */
static char *text_of(char *line)
{
    char *colon = strstr(line, ": ");

    if (!colon)
        fail_msg("no 'KIND: TEXT': %s", line);
    *colon = '\0';
    return colon + 2;
}

/* ---- policies ---- */

#define LINE_OF_MODE 9

struct rules {
    char mode[16];
    char commands[16][64], patterns[16][64];
    int command_count, pattern_count;
    struct nacre_policy *policy; /* of all that; NULL: not made yet */
    int allowed, denied;
};

static void add_list(struct nacre_buf *yaml, const char *key, char items[][64], int count)
{
    struct nacre_error err;

    if (count == 0)
        return;
    assert_int_equal(nacre_buf_addf(yaml, &err, "      %s:\n", key), NACRE_OK);
    for (int i = 0; i < count; i++) {
        assert_null(strchr(items[i], '\''));
        assert_int_equal(nacre_buf_addf(yaml, &err, "        - '%s'\n", items[i]),
                         NACRE_OK);
    }
}

static const struct nacre_policy *policy_of(struct rules *rules)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf yaml = NACRE_BUF(65536);
    struct nacre_error err = { 0 };

    if (rules->policy)
        return rules->policy;
    assert_int_equal(nacre_buf_addf(&yaml, &err,
                                    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n"
                                    "  name: t\nspec:\n  level: process\n"
                                    "  capabilities:\n    shell:\n      mode: %s\n",
                                    rules->mode),
                     NACRE_OK);
    add_list(&yaml, "blocked_commands", rules->commands, rules->command_count);
    add_list(&yaml, "blocked_patterns", rules->patterns, rules->pattern_count);
    if (nacre_policy_parse("p.yaml", yaml.bytes, yaml.size, &rules->policy, &err) !=
        NACRE_OK)
        fail_msg("%s in:\n%s", err.text, yaml.bytes);
    return rules->policy;
}

static void rules_clear(struct rules *rules)
{
    nacre_policy_free(rules->policy);
    *rules = (struct rules){ .allowed = rules->allowed, .denied = rules->denied };
}

static void copy(char *to, size_t size, const char *text)
{
    assert_true(strlen(text) < size);
    memcpy(to, text, strlen(text) + 1);
}

static void rules_block(struct rules *rules, const char *mode, const char *command)
{
    rules_clear(rules);
    copy(rules->mode, sizeof(rules->mode), mode);
    if (command)
        copy(rules->commands[rules->command_count++], sizeof(rules->commands[0]),
             command);
}

static struct nacre_answer judge(const struct nacre_policy *policy, const char *text)
{
    struct nacre_answer answer;
    struct nacre_error err = { 0 };
    const struct nacre_command command = { .shell_text = text };

    if (nacre_shell_judge(policy, &command, &answer, &err) != NACRE_OK)
        fail_msg("%s: %s", text, err.text);
    assert_true(answer.rule[0] && answer.text[0] && answer.fix[0]);
    return answer;
}

/* ---- cases.txt ---- */

static void expect_rule(struct rules *rules, const char *kind, const char *text)
{
    const struct nacre_policy *policy = policy_of(rules);
    struct nacre_answer answer = judge(policy, text);
    char rule[64] = NACRE_RULE_SHELL_MODE;
    int line = LINE_OF_MODE, item = 0;

    if (sscanf(kind, "command %d", &item) == 1) {
        (void)snprintf(rule, sizeof(rule), "%s[%d]", NACRE_RULE_COMMANDS, item);
        line = policy->shell.blocked_commands.items[item].place.line;
    } else if (sscanf(kind, "pattern %d", &item) == 1) {
        (void)snprintf(rule, sizeof(rule), "%s[%d]", NACRE_RULE_PATTERNS, item);
        line = policy->shell.blocked_patterns.items[item].place.line;
    } else if (strcmp(kind, "allow") != 0 && strcmp(kind, "mode") != 0) {
        fail_msg("unknown kind '%s'", kind);
    }
    if (answer.allowed != (strcmp(kind, "allow") == 0) ||
        strcmp(answer.rule, rule) != 0 || answer.place.line != line)
        COMPLAIN("%s: %s\nis %s by %s:%d: %s", kind, text,
                 answer.allowed ? "allowed" : "denied", answer.rule, answer.place.line,
                 answer.text);
    if (answer.allowed)
        rules->allowed++;
    else
        rules->denied++;
}

static void each_case(char *line, void *data)
{
    struct rules *rules = data;

    if (line[0] == '=') {
        rules_block(rules, line + 2, NULL);
    } else if (line[0] == '+') {
        assert_true(rules->command_count < 16 && !rules->policy);
        copy(rules->commands[rules->command_count++], sizeof(rules->commands[0]),
             line + 2);
    } else if (line[0] == '~') {
        assert_true(rules->pattern_count < 16 && !rules->policy);
        copy(rules->patterns[rules->pattern_count++], sizeof(rules->patterns[0]),
             line + 2);
    } else {
        char *text = text_of(line);

        expect_rule(rules, line, text);
    }
}

static void each_case_is_decided_by_its_line(void **state)
{
    static const char *const files[] = { "cases.txt", "hidden.txt", "everyday.txt",
                                         "flows.txt" };
    struct rules rules = { 0 };

    (void)state;
    failures = 0;
    for (size_t i = 0; i < NACRE_COUNT(files); i++)
        read_cases(files[i], each_case, &rules);
    assert_int_equal(failures, 0);
    assert_true(rules.denied >= DENIED_MIN && rules.allowed >= ALLOWED_MIN);
    rules_clear(&rules);
}

/* ---- real shells ---- */

struct box {
    char directory[64];
    struct rules rules;
    int runs, dash_runs;
};

static void put_file(const char *directory, const char *name, const char *content,
                     mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[NACRE_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
}

/* Nothing but these is on the path of what runs. */
static void box_open(struct box *box)
{
    static const char *const programs[] = { "sh",    "bash", "env",     "xargs",
                                            "find",  "nice", "timeout", "cat",
                                            "nohup", "true", "busybox" };
    char content[256], other[128];

    *box = (struct box){ .directory = "/tmp/nacre-shell-XXXXXX" };
    assert_non_null(mkdtemp(box->directory));
    (void)snprintf(content, sizeof(content), "#!/bin/sh\n: >%s/mark\n", box->directory);
    put_file(box->directory, "zap", content, 0755);
    put_file(box->directory, "lib.sh", "zap\n", 0644);
    (void)snprintf(other, sizeof(other), "%s/other", box->directory);
    assert_int_equal(mkdir(other, 0755), 0);
    put_file(other, "ls2", content, 0755);
    for (size_t i = 0; i < NACRE_COUNT(programs); i++) {
        char target[64], link[128];

        (void)snprintf(target, sizeof(target), "/usr/bin/%s", programs[i]);
        if (access(target, X_OK) != 0)
            (void)snprintf(target, sizeof(target), "/bin/%s", programs[i]);
        (void)snprintf(link, sizeof(link), "%s/%s", box->directory, programs[i]);
        assert_int_equal(symlink(target, link), 0);
    }
}

static void box_close(struct box *box)
{
    NACRE_AUTO(nacre_fd_guard) int top = open("/tmp", O_DIRECTORY | O_CLOEXEC);
    struct nacre_error err;

    rules_clear(&box->rules);
    assert_int_equal(nacre_tree_remove(top, strrchr(box->directory, '/') + 1, &err),
                     NACRE_OK);
}

/* The status that `shell` ends with, given `option` and `text`, in an empty world. */
static int run_shell(const struct box *box, const char *shell, const char *option,
                     const char *text)
{
    char path[128], program[64];
    char *const environment[] = { path, NULL };
    char *const words[] = { program, (char *)(uintptr_t)option, (char *)(uintptr_t)"-c",
                            (char *)(uintptr_t)text, NULL };
    int status;
    pid_t pid;

    (void)snprintf(path, sizeof(path), "PATH=%s", box->directory);
    (void)snprintf(program, sizeof(program), "/bin/%s", shell);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
            chdir(box->directory) != 0)
            _exit(99);
        (void)alarm(20);
        (void)execve(program, words, environment);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 99);
    return WEXITSTATUS(status);
}

static bool leaves_a_mark(struct box *box, const char *shell, const char *text)
{
    char mark[128];

    (void)snprintf(mark, sizeof(mark), "%s/mark", box->directory);
    (void)run_shell(box, shell, "+e", text);
    box->runs++;
    return unlink(mark) == 0;
}

static void each_run(char *line, void *data)
{
    struct box *box = data;
    char *text = text_of(line);
    struct nacre_answer answer = judge(policy_of(&box->rules), text);
    bool neither = strcmp(line, "neither") == 0, both = strcmp(line, "both") == 0;
    bool dash = access("/bin/dash", X_OK) == 0;

    if (answer.allowed != neither)
        COMPLAIN("%s: %s\nis %s: %s", line, text, answer.allowed ? "allowed" : "denied",
                 answer.text);
    if (neither || both || strcmp(line, "bash") == 0)
        if (leaves_a_mark(box, "bash", text) == neither)
            COMPLAIN("bash %s zap: %s", neither ? "runs" : "does not run", text);
    if (dash && (neither || both || strcmp(line, "dash") == 0)) {
        box->dash_runs++;
        if (leaves_a_mark(box, "dash", text) == neither)
            COMPLAIN("dash %s zap: %s", neither ? "runs" : "does not run", text);
    }
}

static void what_a_real_shell_runs_is_denied(void **state)
{
    struct box box;

    (void)state;
    box_open(&box);
    rules_block(&box.rules, "restricted", "zap");
    failures = 0;
    read_cases("runs.txt", each_run, &box);
    box_close(&box);
    assert_int_equal(failures, 0);
    assert_true(box.runs >= 100);
    if (box.dash_runs == 0)
        print_message("no /bin/dash here: its lines were judged, not run\n");
}

static void each_syntax(char *line, void *data)
{
    struct box *box = data;
    char *text = text_of(line);
    struct nacre_answer answer = judge(policy_of(&box->rules), text);
    bool real = run_shell(box, "bash", "-n", text) == 0;

    if (real == (strcmp(line, "neither") == 0))
        COMPLAIN("bash -n %s: %s", real ? "accepts" : "refuses", text);
    if (answer.allowed != (strcmp(line, "both") == 0))
        COMPLAIN("%s: %s\nis %s: %s", line, text, answer.allowed ? "allowed" : "denied",
                 answer.text);
    box->runs++;
}

static void the_reader_agrees_with_bash_on_syntax(void **state)
{
    struct box box;

    (void)state;
    box_open(&box);
    rules_block(&box.rules, "restricted", NULL);
    failures = 0;
    read_cases("syntax.txt", each_syntax, &box);
    box_close(&box);
    assert_int_equal(failures, 0);
    assert_true(box.runs >= 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_decided_by_its_line),
        cmocka_unit_test(what_a_real_shell_runs_is_denied),
        cmocka_unit_test(the_reader_agrees_with_bash_on_syntax),
    };

    return cmocka_run_group_tests_name("shell_suite", tests, NULL, NULL);
}
