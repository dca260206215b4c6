/* What a policy says to a tool before anything is planned: a command is all the words
 * that would be executed, whoever gave them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decide.h"
#include "fail_alloc.h"

#define HEAD                                                                             \
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: t\nspec:\n  level: process\n"    \
    "  capabilities:\n    shell:\n      mode: "
#define LISTS                                                                            \
    "restricted\n      blocked_commands:\n        - git push *\n"                        \
    "      blocked_patterns:\n        - 'rm -rf'\n"
#define WORDS_MAX 5

static const struct {
    const char *shell; /* else `words` */
    const char *words[WORDS_MAX], *arguments[WORDS_MAX];
    bool allowed;
} rows[] = {
    { NULL, { "git", "log" }, { NULL }, true },
    { NULL, { "git" }, { "log" }, true },
    { NULL, { "git" }, { "pull", "push" }, true },
    { "git log", { NULL }, { "push" }, true },
    { "echo \"$1\"", { NULL }, { "sh", "git log x" }, true },
    { NULL, { "git", "push", "x" }, { NULL }, false },
    { NULL, { "git" }, { "push", "x" }, false },
    { NULL, { "git", "push" }, { "x" }, false },
    { NULL, { "env", "git" }, { "push", "x" }, false },
    { NULL, { "sh", "-c" }, { "git push x" }, false },
    { NULL, { "sh" }, { "-c", "git push x" }, false },
    { NULL, { "rm" }, { "-rf", "x" }, false },
    { NULL, { "xargs" }, { "git", "push", "x" }, false },
    { "git push x", { NULL }, { NULL }, false },
    { "git push x", { NULL }, { "y" }, false },
    { "\"$@\"", { NULL }, { "sh", "git", "push", "x" }, false },
    { "\"$0\" \"$@\"", { NULL }, { "git", "push", "x" }, false },
    { "rm -rf x", { NULL }, { "y" }, false },
};

static struct nacre_policy *policy_of(const char *yaml)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err = { 0 };

    if (nacre_policy_parse("p.yaml", yaml, strlen(yaml), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s", err.line, err.column, err.text);
    return policy;
}

static struct nacre_tool *tool_of(size_t row)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    enum nacre_status status = rows[row].shell
                                   ? nacre_tool_shell(rows[row].shell, &tool, &err)
                                   : nacre_tool_command(rows[row].words, &tool, &err);

    assert_int_equal(status, NACRE_OK);
    return tool;
}

static void arguments_of_the_request_are_judged_with_the_tools_words(void **state)
{
    struct nacre_policy *policy = policy_of(HEAD LISTS);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct nacre_request request = { .arguments = rows[i].arguments,
                                               .input_fd = -1 };
        struct nacre_tool *tool = tool_of(i);
        struct nacre_result *result = NULL;
        struct nacre_error err = { 0 };
        enum nacre_status status;

        assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
        status = nacre_decide(policy, tool, &request, result, &err);
        if (status != (rows[i].allowed ? NACRE_OK : NACRE_ERR_DENIED))
            fail_msg("row %zu: %d %s", i, status, err.text);
        assert_int_equal(result->denial_count, rows[i].allowed ? 0 : 1);
        if (!rows[i].allowed)
            assert_string_equal(result->denials[0].code, "denied-command");
        nacre_result_free(result);
        nacre_tool_free(tool);
    }
    nacre_policy_free(policy);
}

static void without_memory_what_is_blocked_stays_so(void **state)
{
    struct nacre_policy *policy = policy_of(HEAD LISTS);
    const char *const words[] = { "git", NULL };
    const char *const arguments[] = { "push", "x", NULL };
    const struct nacre_request request = { .arguments = arguments, .input_fd = -1 };
    struct nacre_result *result = NULL;
    struct nacre_tool *tool = NULL;
    struct nacre_error err = { 0 };
    bool fired = true;

    (void)state;
    assert_int_equal(nacre_tool_command(words, &tool, &err), NACRE_OK);
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    for (int after = 0; fired; after++) {
        enum nacre_status status;

        fail_alloc_after(after);
        status = nacre_decide(policy, tool, &request, result, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_true(status == NACRE_ERR_DENIED || (fired && status == NACRE_ERR_MEMORY));
    }
    nacre_result_free(result);
    nacre_tool_free(tool);
    nacre_policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_the_request_are_judged_with_the_tools_words),
        cmocka_unit_test(without_memory_what_is_blocked_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
