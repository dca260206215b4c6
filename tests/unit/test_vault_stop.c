/*
 * A process that stops between any two of its system calls, and again while the next one
 * sets things right: what was there before is there, or what was being written is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "in_child.h"
#include "nacre/secrets.h"
#include "scene.h"

#define STOPPED 77

static int calls_left = -1;

/* Before the call: it did not happen. */
static void step(void)
{
    if (calls_left == 0)
        _exit(STOPPED);
    if (calls_left > 0)
        calls_left--;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    step();
    return fd < 0 ? -1 : 0;
}

#define WRAP(type, name, parameters, arguments) \
    type __real_##name parameters;              \
    type __wrap_##name parameters;              \
    type __wrap_##name parameters               \
    {                                           \
        step();                                 \
        return __real_##name arguments;         \
    }

WRAP(ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WRAP(int, renameat, (int from_fd, const char *from, int to_fd, const char *to),
     (from_fd, from, to_fd, to))
WRAP(int, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
     (from_fd, from, to_fd, to, flags))
WRAP(int, unlinkat, (int fd, const char *name, int flags), (fd, name, flags))

static struct nacre_error err;
static const char *const any[] = { "any", NULL };
static const struct nacre_secret_asker asker = { .run_id = "run-1" };

/* Each leaves with 0 when the whole of it was done. */
static int set_first(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_set(vault, "fresh", "after-it", 8, &err) == NACRE_OK);
    return 0;
}

static int put_first(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_put(vault, "fresh", "after-it", 8, NULL, any, &err) ==
                NACRE_OK);
    return 0;
}

static int set_again(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_set(vault, "alpha", "after-it", 8, &err) == NACRE_OK);
    return 0;
}

static int grant_more(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    static const char *const more[] = { "policy:p", NULL };

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_grant(vault, "alpha", NULL, more, false, &err) == NACRE_OK);
    return 0;
}

static int remove_other(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_remove(vault, "other", &err) == NACRE_OK);
    return 0;
}

static int rotate(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    CHILD_CHECK(nacre_vault_rotate(vault, &err) == NACRE_OK);
    return 0;
}

static int only_open(void *data)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    calls_left = *(int *)data;
    CHILD_CHECK(nacre_vault_open("state", "keys", &vault, &err) == NACRE_OK);
    return 0;
}

static void prepare(void)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    char token[NACRE_TOKEN_TEXT];

    scene_shell("rm -rf state keys");
    assert_int_equal(nacre_vault_open("state", "keys", &vault, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "alpha", "before-it", 9, &err), NACRE_OK);
    assert_int_equal(nacre_vault_grant(vault, "alpha", NULL, any, false, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "other", "other", 5, &err), NACRE_OK);
    assert_int_equal(nacre_token_issue(vault, "alpha", "agent:a", 600000, token, &err),
                     NACRE_OK);
}

static void prepare_nothing(void)
{
    scene_shell("rm -rf state keys");
}

static void count_up(void *data, const struct nacre_secret_info *info)
{
    (void)info;
    ++*(int *)data;
}

/* "before-it", "after-it", or "" when there is no such secret. */
static const char *value_of(const char *name)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
    static char value[32];
    enum nacre_status status;
    int count = 0;

    if (nacre_vault_open("state", "keys", &vault, &err) != NACRE_OK)
        fail_msg("taken for an attack: %s", err.text);
    assert_int_equal(nacre_vault_list(vault, count_up, &count, &err), NACRE_OK);
    status = nacre_secrets_collect(vault, &asker, (const char *[]){ name, NULL }, NULL, 0,
                                   &set, &err);
    if (status == NACRE_ERR_NOT_FOUND)
        return "";
    if (status == NACRE_ERR_DENIED)
        return "there";
    if (status != NACRE_OK)
        fail_msg("%s", err.text);
    (void)snprintf(value, sizeof(value), "%.*s", (int)set->items[0].count,
                   (const char *)set->items[0].value);
    return value;
}

static void all_is_well(void)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;

    /* It can be written, rotated and read again. */
    assert_int_equal(nacre_vault_open("state", "keys", &vault, &err), NACRE_OK);
    assert_int_equal(nacre_vault_set(vault, "last", "last", 4, &err), NACRE_OK);
    assert_int_equal(nacre_vault_rotate(vault, &err), NACRE_OK);
    assert_string_equal(value_of("last"), "there");
    assert_int_not_equal(system("ls keys/*.next >/dev/null 2>&1"), 0);
}

static void stop_everywhere(void (*before)(void), int (*deed)(void *), const char *name,
                            const char *old, const char *new)
{
    bool done = false;
    int olds = 0, news = 0;

    for (int i = 0; !done; i++) {
        before();
        int status = in_child(deed, &i);

        assert_true(WIFEXITED(status));
        done = WEXITSTATUS(status) == 0;
        if (!done)
            assert_exited(status, STOPPED);
        /* Whoever sets it right is stopped as well, at each of its own steps. */
        for (int k = 0, healed = STOPPED; healed == STOPPED; k++) {
            status = in_child(only_open, &k);
            assert_true(WIFEXITED(status));
            healed = WEXITSTATUS(status);
            assert_true(healed == STOPPED || healed == 0);
        }
        if (strcmp(value_of(name), new) == 0)
            news++;
        else if (!done && strcmp(value_of(name), old) == 0)
            olds++;
        else
            fail_msg("stopped at %d: %s", i, value_of(name));
        all_is_well();
    }
    /* It was stopped before and after. */
    assert_true(old == new || (olds > 0 && news > 1));
}

static void a_first_write(void **state)
{
    (void)state;
    stop_everywhere(prepare_nothing, set_first, "fresh", "", "there");
}

/* Never the value alone, which nobody could use ("there"). */
static void a_first_write_with_grants(void **state)
{
    (void)state;
    stop_everywhere(prepare_nothing, put_first, "fresh", "", "after-it");
}

static void a_write(void **state)
{
    (void)state;
    stop_everywhere(prepare, set_again, "alpha", "before-it", "after-it");
}

static void a_grant(void **state)
{
    static const char same[] = "before-it";

    (void)state;
    stop_everywhere(prepare, grant_more, "alpha", same, same);
}

static void a_removal(void **state)
{
    (void)state;
    stop_everywhere(prepare, remove_other, "other", "there", "");
}

static void a_rotation(void **state)
{
    static const char same[] = "before-it";

    (void)state;
    stop_everywhere(prepare, rotate, "alpha", same, same);
}

#define EACH(test) cmocka_unit_test_setup(test, scene_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_first_write), EACH(a_first_write_with_grants), EACH(a_write),
        EACH(a_grant), EACH(a_removal),
        EACH(a_rotation),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
