/* Intents: the token bit by bit, the call word by word, and that each is taken once. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nacre/intent.h"
#include "nacre/own.h"

static char dir[64], keys[96], states[96];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/nacre-intent-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(keys, sizeof(keys), "%s/keys", dir);
    (void)snprintf(states, sizeof(states), "%s/state", dir);
    return 0;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static struct nacre_tool *command(const char *const *argv)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_tool_command(argv, &tool, &err), NACRE_OK);
    return tool;
}

static enum nacre_intent_verdict verdict_on(const struct nacre_tool *tool,
                                            const struct nacre_request *request,
                                            char text[NACRE_INTENT_TEXT])
{
    enum nacre_intent_verdict verdict = NACRE_INTENT_NONE;
    struct nacre_intent intent;
    struct nacre_error err;

    text[0] = '\0';
    assert_int_equal(nacre_intent_verify(keys, tool, request, &intent, &verdict, text,
                                         &err), NACRE_OK);
    return verdict;
}

static const char *const push[] = { "git", "push", "origin", NULL };
static const char *const git[] = { "git", NULL };
static const char *const push_words[] = { "push", "origin", NULL };

static void a_token_holds_for_the_call_it_was_issued_for(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = command(push);
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *split = command(git);
    struct nacre_request request = { .session = "s", .user_input = "push it" };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_intent_issue(keys, tool, &request, 0, token, &err), NACRE_OK);
    request.intent = token;
    assert_int_equal(verdict_on(tool, &request, text), NACRE_INTENT_HOLDS);
    /* The same words, though they come another way. */
    request.arguments = push_words;
    assert_int_equal(verdict_on(split, &request, text), NACRE_INTENT_HOLDS);
    /* What it does not speak of may be what it wants. */
    request.timeout_ms = 5;
    request.agent = "another";
    assert_int_equal(verdict_on(split, &request, text), NACRE_INTENT_HOLDS);
}

static void the_arguments_of_a_call_are_bound_by_what_stdin_holds(void **state)
{
    struct nacre_tool tool = { .kind = NACRE_TOOL_MODULE, .name = (char *)"t.wasm" };
    struct nacre_digest one = nacre_hash("{\"a\":1}", 7);
    struct nacre_digest two = nacre_hash("{\"a\":2}", 7);
    struct nacre_request request = { .input_fd = -1, .input_digest = &one };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_intent_issue(keys, &tool, &request, 0, token, &err), NACRE_OK);
    request.intent = token;
    assert_int_equal(verdict_on(&tool, &request, text), NACRE_INTENT_HOLDS);
    request.input_digest = &two;
    assert_int_equal(verdict_on(&tool, &request, text), NACRE_INTENT_MISMATCH);
    assert_non_null(strstr(text, "the arguments are"));
    request.input_digest = NULL;
    assert_int_equal(verdict_on(&tool, &request, text), NACRE_INTENT_MISMATCH);
}

static const struct {
    const char *argv[4], *arguments[3], *invoke, *session, *input, *what;
} other_calls[] = {
    { { "/bin/git", "push", "origin" }, { NULL }, NULL, "s", "push it", "the tool is" },
    { { "sh", "push", "origin" }, { NULL }, NULL, "s", "push it", "the tool is" },
    { { "git", "push" }, { NULL }, NULL, "s", "push it", "the arguments are" },
    { { "git", "push", "evil" }, { NULL }, NULL, "s", "push it", "the arguments are" },
    { { "git", "push origin" }, { NULL }, NULL, "s", "push it", "the arguments are" },
    { { "git", "pusho", "rigin" }, { NULL }, NULL, "s", "push it", "the arguments are" },
    { { "git", "origin", "push" }, { NULL }, NULL, "s", "push it", "the arguments are" },
    { { "git", "push", "origin" }, { "-f" }, NULL, "s", "push it", "the arguments are" },
    { { "git", "push", "origin" }, { "" }, NULL, "s", "push it", "the arguments are" },
    { { "git", "push", "origin" }, { NULL }, "f", "s", "push it", "the arguments are" },
    { { "git", "push", "origin" }, { NULL }, NULL, "s", "push!", "the user's input is" },
    { { "git", "push", "origin" }, { NULL }, NULL, "s", "", "the user's input is" },
    { { "git", "push", "origin" }, { NULL }, NULL, "s", NULL, "the user's input is" },
    { { "git", "push", "origin" }, { NULL }, NULL, "t", "push it", "the session is" },
    { { "git", "push", "origin" }, { NULL }, NULL, "", "push it", "the session is" },
    { { "git", "push", "origin" }, { NULL }, NULL, NULL, "push it", "the session is" },
};

static void another_call_is_a_mismatch_that_says_what_differs(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *issued = command(push);
    struct nacre_request for_it = { .session = "s", .user_input = "push it" };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_intent_issue(keys, issued, &for_it, 0, token, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(other_calls); i++) {
        NACRE_AUTO(nacre_tool_guard)
        struct nacre_tool *tool = command(other_calls[i].argv);
        struct nacre_request request = {
            .arguments = other_calls[i].arguments, .invoke = other_calls[i].invoke,
            .session = other_calls[i].session, .user_input = other_calls[i].input,
            .intent = token,
        };

        if (verdict_on(tool, &request, text) != NACRE_INTENT_MISMATCH ||
            !strstr(text, other_calls[i].what))
            fail_msg("row %zu: '%s'", i, text);
    }
}

static void a_module_is_known_by_its_bytes_and_is_no_command(void **state)
{
    struct nacre_tool one = { .kind = NACRE_TOOL_MODULE, .name = (char *)"t.wasm" };
    struct nacre_tool two = one;
    NACRE_AUTO(nacre_tool_guard)
    struct nacre_tool *named = command((const char *const[]){ "t.wasm", NULL });
    struct nacre_request request = { .input_fd = -1 };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT];
    struct nacre_error err;

    (void)state;
    two.digest.bytes[31] = 1;
    assert_int_equal(nacre_intent_issue(keys, &one, &request, 0, token, &err), NACRE_OK);
    request.intent = token;
    assert_int_equal(verdict_on(&one, &request, text), NACRE_INTENT_HOLDS);
    assert_int_equal(verdict_on(&two, &request, text), NACRE_INTENT_MISMATCH);
    assert_int_equal(verdict_on(named, &request, text), NACRE_INTENT_MISMATCH);
}

static void no_token_and_another_keys_token_do_not_hold(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = command(push);
    struct nacre_request request = { .input_fd = -1 };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT], elsewhere[96];
    struct nacre_error err;

    (void)state;
    assert_int_equal(verdict_on(tool, &request, text), NACRE_INTENT_MISSING);
    assert_non_null(strstr(text, "none came"));
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/other", dir);
    assert_int_equal(nacre_intent_issue(elsewhere, tool, &request, 0, token, &err),
                     NACRE_OK);
    request.intent = token;
    assert_int_equal(verdict_on(tool, &request, text), NACRE_INTENT_INVALID);
}

static void a_token_that_is_altered_anywhere_is_invalid(void **state)
{
    static const char digits[] = "ABCDwxyz0189-_+/=. \n\x7f\xff";
    uint8_t key[NACRE_KEY_BYTES] = { 7 };
    struct nacre_intent intent = { .expires_ms = UINT64_MAX }, opened;
    char token[NACRE_INTENT_TOKEN], changed[2 * NACRE_INTENT_TOKEN];
    size_t length;

    (void)state;
    nacre_intent_seal(key, &intent, token);
    length = strlen(token);
    assert_int_equal(nacre_intent_open(key, token, &opened), NACRE_INTENT_HOLDS);
    assert_memory_equal(&opened, &intent, sizeof(intent));
    for (size_t at = 0; at < length; at++)
        for (const char *digit = digits; *digit; digit++) {
            if (token[at] == *digit)
                continue;
            memcpy(changed, token, length + 1);
            changed[at] = *digit;
            assert_int_equal(nacre_intent_open(key, changed, &opened),
                             NACRE_INTENT_INVALID);
        }
    for (size_t at = 0; at < length; at++) { /* shorter, at either end */
        memcpy(changed, token, at);
        changed[at] = '\0';
        assert_int_equal(nacre_intent_open(key, changed, &opened), NACRE_INTENT_INVALID);
        assert_int_equal(nacre_intent_open(key, token + at + 1, &opened),
                         NACRE_INTENT_INVALID);
    }
    (void)snprintf(changed, sizeof(changed), "%s%s", token, token);
    assert_int_equal(nacre_intent_open(key, changed, &opened), NACRE_INTENT_INVALID);
    (void)snprintf(changed, sizeof(changed), "%sA", token);
    assert_int_equal(nacre_intent_open(key, changed, &opened), NACRE_INTENT_INVALID);
    (void)snprintf(changed, sizeof(changed), "%s=", token);
    assert_int_equal(nacre_intent_open(key, changed, &opened), NACRE_INTENT_INVALID);
    key[31] ^= 1;
    assert_int_equal(nacre_intent_open(key, token, &opened), NACRE_INTENT_INVALID);
}

static void a_token_expires_at_its_millisecond(void **state)
{
    struct nacre_intent intent = { .expires_ms = 1000 }, call = intent;
    const char *what = NULL;

    (void)state;
    assert_int_equal(nacre_intent_compare(&intent, &call, 999, &what),
                     NACRE_INTENT_HOLDS);
    assert_int_equal(nacre_intent_compare(&intent, &call, 1000, &what),
                     NACRE_INTENT_EXPIRED);
    assert_int_equal(nacre_intent_compare(&intent, &call, UINT64_MAX, &what),
                     NACRE_INTENT_EXPIRED);
    assert_null(what);
    call.session.bytes[0] = 1;
    assert_int_equal(nacre_intent_compare(&intent, &call, 2000, &what),
                     NACRE_INTENT_MISMATCH);
}

static void a_short_life_ends_and_a_long_one_is_refused(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = command(push);
    struct nacre_request request = { .input_fd = -1 };
    char token[NACRE_INTENT_TOKEN], text[NACRE_INTENT_TEXT];
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_intent_issue(keys, tool, &request, 1, token, &err), NACRE_OK);
    request.intent = token;
    (void)usleep(3000);
    assert_int_equal(verdict_on(tool, &request, text), NACRE_INTENT_EXPIRED);
    assert_int_equal(nacre_intent_issue(keys, tool, &request,
                                        NACRE_INTENT_TTL_MS_MAX + 1, token, &err),
                     NACRE_ERR_USAGE);
}

static enum nacre_intent_verdict take(const struct nacre_intent *intent)
{
    enum nacre_intent_verdict verdict = NACRE_INTENT_NONE;
    struct nacre_error err;

    if (nacre_intent_take(states, intent, &verdict, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return verdict;
}

static void an_intent_is_taken_once(void **state)
{
    struct nacre_intent intent = { .expires_ms = now() + 60000, .nonce = { 1 } };

    (void)state;
    assert_int_equal(take(&intent), NACRE_INTENT_HOLDS);
    assert_int_equal(take(&intent), NACRE_INTENT_REPLAYED);
    intent.nonce[15] = 1;
    assert_int_equal(take(&intent), NACRE_INTENT_HOLDS);
    intent.nonce[15] = 2;
    intent.expires_ms = now() - 1;
    assert_int_equal(take(&intent), NACRE_INTENT_EXPIRED);
}

static void of_many_processes_one_takes_it(void **state)
{
    struct nacre_intent intent = { .expires_ms = now() + 60000, .nonce = { 2 } };
    int taken = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        if (fork() == 0)
            _exit(take(&intent) == NACRE_INTENT_HOLDS);
    for (int i = 0, status; i < 8; i++) {
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        taken += WEXITSTATUS(status);
    }
    assert_int_equal(taken, 1);
}

static bool is_there(const char *name)
{
    char path[192];

    (void)snprintf(path, sizeof(path), "%s/intents/%s", states, name);
    return access(path, F_OK) == 0;
}

static void leave(const char *name)
{
    char path[192];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/intents/%s", states, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

/* Only what is ours and long over. */
static void what_has_long_expired_is_forgotten_and_nothing_else(void **state)
{
    struct nacre_intent intent = { .expires_ms = now() + 60000, .nonce = { 3 } };
    char recent[64];

    (void)state;
    assert_int_equal(take(&intent), NACRE_INTENT_HOLDS);
    (void)snprintf(recent, sizeof(recent), "%032x-%016llx", 9,
                   (unsigned long long)(now() - 3600000));
    leave(recent);
    leave("00000000000000000000000000000009-0000000000000001");
    leave("00000000000000000000000000000009-000000000000000g");
    leave("notes");
    intent.nonce[1] = 1;
    assert_int_equal(take(&intent), NACRE_INTENT_HOLDS);
    assert_false(is_there("00000000000000000000000000000009-0000000000000001"));
    assert_true(is_there(recent));
    assert_true(is_there("00000000000000000000000000000009-000000000000000g"));
    assert_true(is_there("notes"));
    intent.nonce[1] = 0;
    assert_int_equal(take(&intent), NACRE_INTENT_REPLAYED);
}

static void a_state_directory_open_to_others_is_refused(void **state)
{
    struct nacre_intent intent = { .expires_ms = now() + 60000, .nonce = { 4 } };
    enum nacre_intent_verdict verdict = NACRE_INTENT_NONE;
    char path[128];
    struct nacre_error err;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/intents", states);
    assert_int_equal(take(&intent), NACRE_INTENT_HOLDS);
    assert_int_equal(chmod(path, 0777), 0);
    intent.nonce[1] = 9;
    assert_int_equal(nacre_intent_take(states, &intent, &verdict, &err),
                     NACRE_ERR_USAGE);
    assert_int_equal(verdict, NACRE_INTENT_NONE);
    assert_int_equal(chmod(path, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_holds_for_the_call_it_was_issued_for),
        cmocka_unit_test(the_arguments_of_a_call_are_bound_by_what_stdin_holds),
        cmocka_unit_test(another_call_is_a_mismatch_that_says_what_differs),
        cmocka_unit_test(a_module_is_known_by_its_bytes_and_is_no_command),
        cmocka_unit_test(no_token_and_another_keys_token_do_not_hold),
        cmocka_unit_test(a_token_that_is_altered_anywhere_is_invalid),
        cmocka_unit_test(a_token_expires_at_its_millisecond),
        cmocka_unit_test(a_short_life_ends_and_a_long_one_is_refused),
        cmocka_unit_test(an_intent_is_taken_once),
        cmocka_unit_test(of_many_processes_one_takes_it),
        cmocka_unit_test(what_has_long_expired_is_forgotten_and_nothing_else),
        cmocka_unit_test(a_state_directory_open_to_others_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
