/* Containers under names that people know them by: the name is had, or the run is
 * refused; what is left over of ours makes room, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>

#include "engine_world.h"

static char name[64];
static char session[] = "session:named";

static void enter_session(void)
{
    jail.plan.scope_key = session;
    jail.plan.scope = NACRE_SCOPE_SESSION;
    (void)snprintf(name, sizeof(name), "nacre-test-names-%d", (int)getpid());
    jail.request.box_name = name;
    jail_mount(&jail, "/workspace", "ws", true, NULL);
}

static bool exists(const char *which)
{
    NACRE_AUTO(dk_json_guard) json_t *seen = NULL;
    struct nacre_error err;

    return dk_container_inspect(observer, which, SOON, &seen, &err) == NACRE_OK;
}

static void removed(const char *which)
{
    struct nacre_error err;

    assert_int_equal(dk_container_remove(observer, which, SOON, &err), NACRE_OK);
}

/* A container of that name, with labels as told; NULL: none. */
static void plant(struct dk_client *client, const char *token, const char *scope_key)
{
    struct dk_created created;
    struct nacre_error err;
    char uid[16];
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;

    (void)snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
    body = token ? json_pack("{s:s, s:{s:s, s:s, s:s}}", "Image", ENGINE_IMAGE, "Labels",
                             DK_OWNER_LABEL, uid, DK_TOKEN_LABEL, token, DK_SCOPE_LABEL,
                             scope_key)
                 : json_pack("{s:s}", "Image", ENGINE_IMAGE);
    if (dk_container_create(client, name, body, SOON, &created, &err) != NACRE_OK)
        print_message("%s\n", err.text);
}

/* In a child that dies. */
static int leave_and_die(void)
{
    struct dk_client *client = NULL;
    struct dk_owner *owner = NULL;
    struct nacre_error err;

    if (dk_owner_open(jail.state, &owner, &err) != NACRE_OK ||
        dk_client_open(dk_client_endpoint(observer), SOON, &client, &err) != NACRE_OK)
        return 1;
    plant(client, dk_owner_token(owner), "session:another");
    return 0;
}

static void what_a_dead_owner_left_gives_its_name_up(void **state)
{
    int status;
    pid_t pid;

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(jail_open(&jail), NACRE_OK);
    /* Once it has met the engine it sweeps no more. */
    jail.request.box_name = NULL;
    assert_true(jail_exits(&jail, "true", 0));
    jail.request.box_name = name;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(leave_and_die());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(exists(name));
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(engine_containers(), 1);
    assert_true(exists(name));
}

static void a_container_has_the_name_that_was_asked_for(void **state)
{
    char other[80];

    NEEDS_ENGINE();
    enter_session();
    assert_true(jail_exits(&jail, "echo left >/tmp/left", 0));
    assert_true(exists(name));
    assert_true(jail_exits(&jail, "cat /tmp/left", 0)); /* it is the same one */
    (void)snprintf(other, sizeof(other), "%s-other", name);
    jail.request.box_name = other;
    assert_true(jail_exits(&jail, "cat /tmp/left", 1)); /* another name is another */
    assert_false(exists(name));
    assert_true(exists(other));
    assert_int_equal(engine_containers(), 1);
    jail.request.box_name = NULL;
    assert_true(jail_exits(&jail, "true", 0)); /* who does not care takes what is there */
    assert_true(exists(other));
}

static void a_strangers_container_is_left_alone_and_named(void **state)
{
    NEEDS_ENGINE();
    enter_session();
    plant(observer, NULL, NULL);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, name));
    assert_non_null(strstr(jail.err.text, "nacre did not make"));
    assert_true(exists(name));
    assert_int_equal(engine_containers(), 0);
    removed(name);
    assert_true(jail_exits(&jail, "true", 0)); /* the control */
}

static void a_live_owners_container_is_left_alone_and_named(void **state)
{
    NACRE_AUTO(dk_owner_guard) struct dk_owner *live = NULL;
    struct nacre_error err;

    NEEDS_ENGINE();
    enter_session();
    assert_int_equal(dk_owner_open(jail.state, &live, &err), NACRE_OK);
    plant(observer, dk_owner_token(live), session);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, name));
    assert_non_null(strstr(jail.err.text, session));
    assert_true(exists(name));
    removed(name);
}

static void a_name_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = { "", "-x", "a/b", "a b", "../x", "a?force=1" };

    NEEDS_ENGINE();
    enter_session();
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        jail.request.box_name = bad[i];
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    }
    assert_int_equal(engine_containers(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_ENGINE(what_a_dead_owner_left_gives_its_name_up),
        IN_ENGINE(a_container_has_the_name_that_was_asked_for),
        IN_ENGINE(a_strangers_container_is_left_alone_and_named),
        IN_ENGINE(a_live_owners_container_is_left_alone_and_named),
        IN_ENGINE(a_name_that_is_none_is_refused),
    };

    return cmocka_run_group_tests_name("dk_names", tests, engine_setup, engine_teardown);
}
