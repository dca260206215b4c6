/* What a run is handed from the vault, and what it is not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "fail_alloc.h"
#include "plan_words.h"
#include "scene.h"
#include "secrets.h"

#define VALUE "value-of-alpha"
#define WITH(injection) SECRETS "      injection: " injection "\n"
#define OPEN "    network:\n      mode: allow-all\n"

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fd < 0 ? -1 : 0;
}

static char state_dir[] = "state", key_dir[] = "keys";
static struct nacre_engine engine;
static struct nacre_error err;
static struct nacre_result *result;
static struct run_secrets secrets;
static char notice[256];

static void on_notice(void *data, const char *sentence)
{
    (void)snprintf(data, sizeof(notice), "%s", sentence);
}

static int setup(void **state)
{
    engine = (struct nacre_engine){ .places = { .state_dir = state_dir,
                                                .key_dir = key_dir },
                                    .on_notice = on_notice, .notice_data = notice };
    secrets = (struct run_secrets){ 0 };
    notice[0] = '\0';
    return scene_clear(state) != 0 || nacre_result_new(&result, &err) != NACRE_OK;
}

static int teardown(void **state)
{
    (void)state;
    run_secrets_clear(&secrets);
    nacre_result_free(result);
    return 0;
}

static void set(const char *name, const void *value, size_t count, const char *grant)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    const char *const hosts[] = { "api.example.com", NULL };
    const char *const grants[] = { grant, NULL };

    if (nacre_vault_open("state", "keys", &vault, &err) != NACRE_OK ||
        nacre_vault_set(vault, name, value, count, &err) != NACRE_OK ||
        nacre_vault_grant(vault, name, hosts, grants, false, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

static enum nacre_status opened(const char *yaml, const struct nacre_request *request)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    char name[] = "tool.wasm";
    const struct nacre_tool tool = { .name = name };

    run_secrets_clear(&secrets);
    return run_secrets_open(&engine, policy, &tool, request, "run-1", &secrets, result,
                            &err);
}

static const char *const alpha[] = { "alpha", NULL };
static const char *const alpha_as_key[] = { "alpha=KEY", NULL };

static void who_asks_for_none_gets_none_and_touches_nothing(void **state)
{
    static const struct nacre_request plain = { .session = "s", .agent = "a" };
    static const struct nacre_request asks = { .secrets = alpha, .tokens = alpha };

    (void)state;
    assert_int_equal(opened(WITH("environment"), &plain), NACRE_OK);
    assert_int_equal(opened(WITH("environment") OPEN, &plain), NACRE_OK);
    /* Planning says why not. */
    assert_int_equal(opened(HEAD, &asks), NACRE_OK);
    assert_null(secrets.set);
    assert_null(secrets.request.granted);
    assert_false(scene_has("state"));
    assert_false(scene_has("keys"));
}

static void open_engine(void)
{
    const struct nacre_engine_options options = {
        .state_dir = "state", .key_dir = "keys", .cache_dir = "cache",
        .commands_only = true, .audit_off = true, .on_notice = on_notice,
        .callback_data = notice,
    };
    struct nacre_engine *opened = NULL;

    if (nacre_engine_open(&options, &opened, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    nacre_engine_free(opened);
}

static long tokens_bytes(void)
{
    struct stat info;

    return stat("state/tokens", &info) == 0 ? (long)info.st_size : -1;
}

static void an_engine_purges_what_expired_while_nobody_was_there(void **state)
{
    char token[NACRE_TOKEN_TEXT];

    (void)state;
    open_engine();
    assert_int_equal(tokens_bytes(), -1);
    assert_false(scene_has("state/vault.lock"));
    set("alpha", VALUE, strlen(VALUE), "any");
    {
        NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

        assert_int_equal(nacre_vault_open("state", "keys", &vault, &err), NACRE_OK);
        assert_int_equal(nacre_token_issue(vault, "alpha", "run:a", 1, token, &err),
                         NACRE_OK);
    }
    (void)usleep(5000);
    assert_true(tokens_bytes() > 16);
    open_engine();
    assert_int_equal(tokens_bytes(), 16); /* the file's head */
    assert_string_equal(notice, "");
    /* One that can't be read is told, and the engine serves. */
    scene_file("state/tokens", "damaged");
    open_engine();
    assert_non_null(strstr(notice, "expired tokens can't be purged"));
    assert_int_equal(tokens_bytes(), 7);
}

static void what_a_caller_says_was_granted_is_dropped(void **state)
{
    static struct nacre_secret item = { .name = "forged" };
    static const struct nacre_secret_set forged = { .items = &item, .count = 1 };
    static const struct nacre_secret_file file = { .name = "forged" };
    static const struct nacre_request request = { .granted = &forged,
                                                  .secret_files = &file,
                                                  .secret_file_count = 1 };

    (void)state;
    assert_int_equal(opened(HEAD, &request), NACRE_OK);
    assert_null(secrets.request.granted);
    assert_null(secrets.request.secret_files);
    assert_int_equal(secrets.request.secret_file_count, 0);
}

static void each_injection_hands_over_in_its_own_way(void **state)
{
    static const char *const environment[] = { "A=b", NULL };
    static const struct nacre_request request = { .secrets = alpha_as_key,
                                                  .environment = environment };

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "policy:tested");
    assert_int_equal(opened(WITH("environment"), &request), NACRE_OK);
    assert_string_equal(secrets.request.environment[0], "A=b");
    assert_string_equal(secrets.request.environment[1], "KEY=" VALUE);
    assert_null(secrets.request.environment[2]);
    assert_int_equal(secrets.request.secret_file_count, 0);

    assert_int_equal(opened(WITH("file-mount"), &request), NACRE_OK);
    assert_ptr_equal(secrets.request.environment, environment);
    assert_int_equal(secrets.request.secret_file_count, 1);
    assert_string_equal(secrets.request.secret_files[0].name, "alpha");
    assert_int_equal(secrets.request.secret_files[0].count, strlen(VALUE));
    assert_memory_equal(secrets.request.secret_files[0].bytes, VALUE, strlen(VALUE));

    assert_int_equal(opened(WITH("host-boundary"), &request), NACRE_OK);
    assert_ptr_equal(secrets.request.environment, environment);
    assert_int_equal(secrets.request.secret_file_count, 0);
    assert_int_equal(secrets.request.granted->count, 1);
    assert_memory_equal(secrets.request.granted->items[0].value, VALUE, strlen(VALUE));
    assert_string_equal(notice, "");
}

static void a_token_is_a_variable_and_its_value_stays_out(void **state)
{
    static const struct nacre_request request = { .tokens = alpha_as_key,
                                                  .timeout_ms = 5000 };
    const struct nacre_secret_token *token;
    uint64_t left_ms;

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "any");
    assert_int_equal(opened(WITH("environment"), &request), NACRE_OK);
    assert_memory_equal(secrets.request.environment[0], "KEY=nct_", 8);
    assert_null(secrets.request.environment[1]);
    assert_int_equal(secrets.request.granted->token_count, 1);
    token = &secrets.request.granted->tokens[0];
    left_ms = token->expires_ms - (uint64_t)time(NULL) * 1000;
    assert_true(left_ms > 3000 && left_ms <= 7000); /* as long as the run may last */
    assert_int_equal(opened(WITH("file-mount"), &request), NACRE_OK);
    assert_int_equal(secrets.request.secret_file_count, 0);
}

static void a_sessions_token_comes_along_where_it_is_of_use(void **state)
{
    static const struct nacre_request request = { .session = "s" };
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    char token[NACRE_TOKEN_TEXT];

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "policy:nobody");
    assert_int_equal(nacre_vault_open("state", "keys", &vault, &err), NACRE_OK);
    assert_int_equal(nacre_token_issue(vault, "alpha", "session:s", 60000, token, &err),
                     NACRE_OK);
    assert_int_equal(opened(WITH("environment"), &request), NACRE_OK);
    assert_null(secrets.set);
    assert_int_equal(opened(CAPABILITIES OPEN, &request), NACRE_OK);
    assert_null(secrets.set);
    assert_int_equal(opened(WITH("environment") OPEN, &request), NACRE_OK);
    assert_int_equal(secrets.request.granted->token_count, 1);
    assert_null(secrets.request.environment); /* it is the door's alone */
}

static void what_is_not_granted_is_denied_with_its_line_and_the_way_out(void **state)
{
    static const char *const names[] = { "alpha", "beta=B", NULL };
    static const struct nacre_request request = { .secrets = names };

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "tool:tool.wasm");
    set("beta", VALUE, strlen(VALUE), "policy:other");
    assert_int_equal(opened(WITH("environment"), &request), NACRE_ERR_DENIED);
    assert_int_equal(result->denial_count, 1);
    assert_string_equal(result->denials[0].code, "secret-denied");
    assert_string_equal(result->denials[0].rule, "capabilities.secrets");
    assert_int_equal(result->denials[0].place.line, 8);
    assert_string_equal(result->denials[0].fix,
                        "nacre secret grant beta --to 'policy:tested'");
    assert_null(secrets.request.environment);
}

static void what_can_not_be_handed_over_is_refused(void **state)
{
    static const char *const environment[] = { "KEY=b", NULL };
    static const char *const twice[] = { "alpha", "beta=ALPHA", NULL };
    static const char *const nul[] = { "nul", NULL };
    static const struct {
        struct nacre_request request;
        const char *says;
    } rows[] = {
        { { .secrets = alpha_as_key, .environment = environment }, "KEY is given twice" },
        { { .tokens = alpha_as_key, .environment = environment }, "KEY is given twice" },
        { { .secrets = twice }, "ALPHA is given twice" },
        { { .secrets = alpha, .tokens = alpha }, "ALPHA is given twice" },
        { { .secrets = nul }, "holds a NUL byte" },
    };

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "any");
    set("beta", VALUE, strlen(VALUE), "any");
    set("nul", "before\0after", 12, "any");
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(opened(WITH("environment"), &rows[i].request), NACRE_ERR_USAGE);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%zu: %s", i, err.text);
    }
    /* A file can hold it. */
    assert_int_equal(opened(WITH("file-mount"), &rows[4].request), NACRE_OK);
    assert_int_equal(secrets.request.secret_files[0].count, 12);
}

static void a_value_too_short_to_be_searched_for_is_told(void **state)
{
    static const struct nacre_request request = { .secrets = alpha };

    (void)state;
    set("alpha", "12345", 5, "any");
    assert_int_equal(opened(WITH("host-boundary"), &request), NACRE_OK);
    assert_non_null(strstr(notice, "the secret alpha has fewer than 6 bytes"));
}

static void a_failed_allocation_is_a_status(void **state)
{
    static const struct nacre_request request = { .secrets = alpha_as_key,
                                                  .tokens = alpha };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(WITH("environment"));
    char name[] = "tool.wasm";
    const struct nacre_tool tool = { .name = name };
    bool done = false;

    (void)state;
    set("alpha", VALUE, strlen(VALUE), "any");
    for (int i = 0; !done; i++) {
        enum nacre_status status;

        (void)unlink("state/tokens");
        fail_alloc_after(i);
        status = run_secrets_open(&engine, policy, &tool, &request, "run-1", &secrets,
                                  result, &err);
        done = !fail_alloc_fired();
        fail_alloc_after(-1);
        run_secrets_clear(&secrets);
        assert_true(status == (done ? NACRE_OK : NACRE_ERR_MEMORY) ||
                    (!done && status == NACRE_ERR_IO)); /* realpath() */
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(who_asks_for_none_gets_none_and_touches_nothing),
        EACH(an_engine_purges_what_expired_while_nobody_was_there),
        EACH(what_a_caller_says_was_granted_is_dropped),
        EACH(each_injection_hands_over_in_its_own_way),
        EACH(a_token_is_a_variable_and_its_value_stays_out),
        EACH(a_sessions_token_comes_along_where_it_is_of_use),
        EACH(what_is_not_granted_is_denied_with_its_line_and_the_way_out),
        EACH(what_can_not_be_handed_over_is_refused),
        EACH(a_value_too_short_to_be_searched_for_is_told),
        EACH(a_failed_allocation_is_a_status),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
