#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <time.h>
#include <cmocka.h>

#include "nacre/buf.h"
#include "nacre/secrets.h"
#include "scene.h"

/* The wall clock is the test's. */
static int64_t shift_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int status = __real_clock_gettime(clock, ret_time);

    if (clock == CLOCK_REALTIME)
        ret_time->tv_sec += shift_s;
    return status;
}

#define HOUR_MS 3600000

static struct nacre_error err;
static struct nacre_vault *vault;
static const char *const any[] = { "any", NULL };
static const char *const example[] = { "api.example.com", NULL };
static const char *const alpha[] = { "alpha", NULL };

static int setup(void **state)
{
    shift_s = 0;
    if (scene_clear(state) != 0 ||
        nacre_vault_open("state", "keys", &vault, &err) != NACRE_OK ||
        nacre_vault_set(vault, "alpha", "value-of-alpha", 14, &err) != NACRE_OK ||
        nacre_vault_grant(vault, "alpha", example, any, false, &err) != NACRE_OK)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    nacre_vault_free(vault);
    return 0;
}

static void issue(const char *scope, uint64_t ttl_ms, char ret_token[NACRE_TOKEN_TEXT])
{
    if (nacre_token_issue(vault, "alpha", scope, ttl_ms, ret_token, &err) != NACRE_OK)
        fail_msg("%s", err.text);
}

static struct nacre_secret_set *collected(const char *session, const char *agent,
                                          const char *const *tokens)
{
    const struct nacre_secret_asker asker = { .session = session, .agent = agent,
                                              .run_id = "run-1" };
    struct nacre_secret_set *set = NULL;

    if (nacre_secrets_collect(vault, &asker, NULL, tokens, 1000, &set, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return set;
}

static uint32_t live(const char *session, const char *agent)
{
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set =
        collected(session, agent, NULL);

    return set->token_count;
}

static void see(void *data, const struct nacre_token_info *info)
{
    assert_int_equal(strlen(info->id), 12);
    assert_string_equal(info->secret, "alpha");
    assert_true(info->issued_ms < info->expires_ms);
    ++*(int *)data;
}

static int listed(void)
{
    int count = 0;

    assert_int_equal(nacre_token_list(vault, see, &count, &err), NACRE_OK);
    return count;
}

static void a_token_is_its_digest_and_nowhere_kept(void **state)
{
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
    char token[NACRE_TOKEN_TEXT], command[128];
    struct nacre_digest digest;

    (void)state;
    issue("agent:a", HOUR_MS, token);
    assert_int_equal(strlen(token), NACRE_TOKEN_TEXT - 1);
    assert_memory_equal(token, NACRE_TOKEN_PREFIX, 4);
    assert_int_equal(strspn(token + 4,
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_"), NACRE_TOKEN_TEXT - 5);
    set = collected(NULL, "a", NULL);
    assert_int_equal(set->token_count, 1);
    digest = nacre_hash(token, strlen(token));
    assert_true(nacre_digest_equal(&set->tokens[0].digest, &digest));
    assert_int_equal(set->tokens[0].secret, 0);
    assert_true(set->items[0].by_token);
    assert_string_equal(set->items[0].name, "alpha");
    assert_string_equal(set->items[0].hosts[0], "api.example.com");
    assert_memory_equal(set->items[0].value, "value-of-alpha", 14);
    (void)snprintf(command, sizeof(command), "grep -raq -e %s .", token + 4);
    assert_int_not_equal(system(command), 0);
}

static void a_run_gets_its_own_in_a_variable(void **state)
{
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set =
        collected(NULL, NULL, (const char *[]){ "alpha=KEY", NULL });
    struct nacre_digest digest;

    (void)state;
    assert_memory_equal(set->environment[0], "KEY=nct_", 8);
    assert_null(set->environment[1]);
    digest = nacre_hash(set->environment[0] + 4, strlen(set->environment[0]) - 4);
    assert_int_equal(set->token_count, 1);
    assert_true(nacre_digest_equal(&set->tokens[0].digest, &digest));
    assert_memory_equal(set->items[set->tokens[0].secret].value, "value-of-alpha", 14);
    assert_int_equal(listed(), 1);
    /* Nobody else's, and not that run's again. */
    assert_int_equal(live("run-1", "run-1"), 0);
}

static void a_variable_is_the_name_in_capitals_unless_it_is_said(void **state)
{
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
    static const char *const names[] = { "9a.b-c_d", NULL };

    (void)state;
    assert_int_equal(nacre_vault_set(vault, names[0], "123456", 6, &err), NACRE_OK);
    assert_int_equal(nacre_vault_grant(vault, names[0], NULL, any, false, &err),
                     NACRE_OK);
    set = collected(NULL, NULL, names);
    assert_memory_equal(set->environment[0], "_9A_B_C_D=nct_", 14);
}

static void names_that_mean_nothing_are_refused(void **state)
{
    static const struct {
        const char *name;
        enum nacre_status status;
    } rows[] = {
        { "nobody", NACRE_ERR_NOT_FOUND },  { "", NACRE_ERR_USAGE },
        { "alpha=", NACRE_ERR_USAGE },      { "alpha=1A", NACRE_ERR_USAGE },
        { "alpha=A B", NACRE_ERR_USAGE },   { "=A", NACRE_ERR_USAGE },
        { "alpha=A=B", NACRE_ERR_USAGE },   { "al pha", NACRE_ERR_USAGE },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=A",
          NACRE_ERR_USAGE },
    };
    const struct nacre_secret_asker asker = { .run_id = "run-1" };
    struct nacre_secret_set *set = NULL;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const char *const names[] = { rows[i].name, NULL };

        assert_int_equal(nacre_secrets_collect(vault, &asker, names, NULL, 0, &set, &err),
                         rows[i].status);
        assert_int_equal(nacre_secrets_collect(vault, &asker, NULL, names, 1, &set, &err),
                         rows[i].status);
    }
    assert_int_equal(nacre_secrets_collect(vault, &asker,
                                           (const char *[]){ "alpha", "alpha=B", NULL },
                                           NULL, 0, &set, &err), NACRE_ERR_USAGE);
    assert_int_equal(listed(), 0);
}

static void without_a_run_nothing_is_opened_or_issued(void **state)
{
    const struct nacre_secret_asker asker = { .policy = "p" };
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;

    (void)state;
    assert_int_equal(nacre_secrets_collect(vault, &asker, alpha, alpha, 1000, &set, &err),
                     NACRE_OK);
    assert_false(set->items[0].by_token);
    assert_int_equal(set->count, 1);
    assert_null(set->items[0].value);
    assert_null(set->environment[0]);
    assert_int_equal(listed(), 0);
}

static void an_expired_token_is_none_though_nobody_reaped_it(void **state)
{
    char token[NACRE_TOKEN_TEXT];
    uint64_t purged = 99;

    (void)state;
    issue("session:s", HOUR_MS, token);
    issue("session:s", 2 * HOUR_MS, token);
    assert_true(nacre_token_any("state", "s", NULL));
    assert_false(nacre_token_any("state", "x", "s"));
    assert_int_equal(live("s", NULL), 2);
    assert_int_equal(live("x", "s"), 0);
    shift_s = 3601;
    assert_int_equal(live("s", NULL), 1);
    assert_int_equal(listed(), 1);
    assert_int_equal(nacre_token_reap("state", &purged, &err), NACRE_OK);
    assert_int_equal(purged, 1);
    assert_int_equal(nacre_token_reap("state", &purged, &err), NACRE_OK);
    assert_int_equal(purged, 0);
    shift_s = 7201;
    assert_int_equal(live("s", NULL), 0);
    assert_false(nacre_token_any("state", "s", NULL));
    /* A clock that goes back raises nobody; the reaper has seen the end of it. */
    assert_int_equal(nacre_token_reap("state", &purged, &err), NACRE_OK);
    shift_s = 0;
    assert_int_equal(live("s", NULL), 0);
}

static void a_token_from_the_future_is_none(void **state)
{
    char token[NACRE_TOKEN_TEXT];

    (void)state;
    shift_s = 3600;
    issue("session:s", HOUR_MS, token);
    assert_int_equal(live("s", NULL), 1);
    shift_s = 0;
    assert_int_equal(live("s", NULL), 0);
}

static void a_revoked_token_stays_so_when_the_file_is_put_back(void **state)
{
    char token[NACRE_TOKEN_TEXT];
    uint64_t revoked = 0;

    (void)state;
    issue("session:s", HOUR_MS, token);
    issue("session:other", HOUR_MS, token);
    scene_shell("cp -p state/tokens before");
    assert_int_equal(nacre_token_revoke(vault, "session:nobody", &revoked, &err),
                     NACRE_OK);
    assert_int_equal(revoked, 0);
    assert_int_equal(nacre_token_revoke(vault, "session:s", &revoked, &err), NACRE_OK);
    assert_int_equal(revoked, 1);
    assert_int_equal(live("s", NULL), 0);
    assert_int_equal(live("other", NULL), 1);
    scene_shell("cp -p before state/tokens");
    assert_int_equal(live("s", NULL), 0);
}

/* How many are in the list, the last of which is that of `token`. */
static size_t listed_as_revoked(const char *token)
{
    struct nacre_digest digest = nacre_hash(token, strlen(token)), found;
    FILE *file = fopen("state/" NACRE_TOKENS_REVOKED, "r");
    size_t count = 0;

    assert_non_null(file);
    while (fread(found.bytes, sizeof(found.bytes), 1, file) == 1)
        count++;
    (void)fclose(file);
    assert_true(count == 0 || nacre_digest_equal(&found, &digest));
    return count;
}

static void what_is_revoked_is_told_to_doors_until_it_would_have_expired(void **state)
{
    char token[NACRE_TOKEN_TEXT], further[NACRE_TOKEN_TEXT];
    uint64_t count = 0;

    (void)state;
    issue("session:s", HOUR_MS, token);
    issue("session:other", HOUR_MS, further);
    assert_int_equal(nacre_token_revoke(vault, "session:s", &count, &err), NACRE_OK);
    assert_int_equal(listed_as_revoked(token), 1);
    assert_int_equal(nacre_vault_remove(vault, "alpha", &err), NACRE_OK);
    assert_int_equal(listed_as_revoked(further), 2);
    scene_shell("touch -d '-29 days' state/" NACRE_TOKENS_REVOKED);
    assert_int_equal(nacre_token_reap("state", &count, &err), NACRE_OK);
    assert_int_equal(listed_as_revoked(further), 2);
    scene_shell("touch -d '-31 days' state/" NACRE_TOKENS_REVOKED);
    assert_int_equal(nacre_token_reap("state", &count, &err), NACRE_OK);
    assert_int_equal(listed_as_revoked(further), 0);
}

static void see_id(void *data, const struct nacre_token_info *info)
{
    (void)snprintf(data, 16, "%s", info->id);
}

static void one_is_revoked_by_its_id(void **state)
{
    char token[NACRE_TOKEN_TEXT], id[16] = "";
    uint64_t revoked = 0;

    (void)state;
    issue("agent:a", HOUR_MS, token);
    assert_int_equal(nacre_token_list(vault, see_id, id, &err), NACRE_OK);
    assert_int_equal(nacre_token_revoke(vault, id, &revoked, &err), NACRE_OK);
    assert_int_equal(revoked, 1);
    assert_int_equal(listed(), 0);
}

static void tokens_end_with_their_secret_and_outlive_a_rotation(void **state)
{
    char token[NACRE_TOKEN_TEXT];

    (void)state;
    issue("agent:a", HOUR_MS, token);
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_OK);
    assert_int_equal(live(NULL, "a"), 1);
    scene_shell("cp -p state/tokens before");
    assert_int_equal(nacre_vault_remove(vault, "alpha", &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "alpha", "another", 7, &err), NACRE_OK);
    assert_int_equal(live(NULL, "a"), 0);
    scene_shell("cp -p before state/tokens");
    assert_int_equal(live(NULL, "a"), 0);
}

static void no_altered_file_makes_a_token(void **state)
{
    char token[NACRE_TOKEN_TEXT];
    struct nacre_buf buf = NACRE_BUF(4096);
    int fd;

    (void)state;
    issue("session:s", 1, token); /* expires at once: what if somebody lengthens it? */
    issue("session:t", HOUR_MS, token);
    shift_s = 10;
    fd = open("state/tokens", O_RDONLY | O_CLOEXEC);
    assert_int_equal(nacre_buf_read(&buf, fd, &err), NACRE_OK);
    (void)close(fd);
    for (size_t i = 0; i < 8 * buf.size; i++) {
        const struct nacre_secret_asker asker = { .session = "s", .run_id = "run-1" };
        struct nacre_secret_set *set = NULL;

        buf.bytes[i / 8] ^= (char)(1 << i % 8);
        fd = open("state/tokens", O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, buf.bytes, buf.size), buf.size);
        (void)close(fd);
        if (nacre_secrets_collect(vault, &asker, NULL, NULL, 0, &set, &err) == NACRE_OK) {
            assert_int_equal(set->token_count, 0);
            nacre_secret_set_free(set);
        } else {
            assert_int_equal(err.status, NACRE_ERR_PARSE);
        }
        (void)nacre_token_any("state", "s", NULL);
        buf.bytes[i / 8] ^= (char)(1 << i % 8);
    }
    nacre_buf_clear(&buf);
}

static void scopes_and_lives_have_their_bounds(void **state)
{
    static const char *const scopes[] = { "", "run", "run:", "tool:x", "any",
                                          "session:a\nb", "agent:\x1b[2J" };
    char token[NACRE_TOKEN_TEXT];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(scopes); i++)
        assert_int_equal(nacre_token_issue(vault, "alpha", scopes[i], 1, token, &err),
                         NACRE_ERR_USAGE);
    assert_int_equal(nacre_token_issue(vault, "alpha", "run:a", 0, token, &err),
                     NACRE_ERR_USAGE);
    assert_int_equal(nacre_token_issue(vault, "alpha", "run:a", NACRE_TOKEN_MS_MAX + 1,
                                       token, &err), NACRE_ERR_USAGE);
    assert_int_equal(nacre_token_issue(vault, "nobody", "run:a", 1, token, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_false(scene_has("state/tokens"));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_token_is_its_digest_and_nowhere_kept),
        EACH(a_run_gets_its_own_in_a_variable),
        EACH(a_variable_is_the_name_in_capitals_unless_it_is_said),
        EACH(names_that_mean_nothing_are_refused),
        EACH(without_a_run_nothing_is_opened_or_issued),
        EACH(an_expired_token_is_none_though_nobody_reaped_it),
        EACH(a_token_from_the_future_is_none),
        EACH(a_revoked_token_stays_so_when_the_file_is_put_back),
        EACH(what_is_revoked_is_told_to_doors_until_it_would_have_expired),
        EACH(one_is_revoked_by_its_id),
        EACH(tokens_end_with_their_secret_and_outlive_a_rotation),
        EACH(no_altered_file_makes_a_token),
        EACH(scopes_and_lives_have_their_bounds),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
