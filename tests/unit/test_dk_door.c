/* Level container: connections that init carries out of a real engine's container, to a
 * fake door; and the files of a run.  Clients connect by address: the image's busybox is
 * linked statically, and its C library can't look names up reliably. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "engine_world.h"
#include "fake_doors.h"
#include "nacre/tool.h"

static struct nacre_egress_host allowed[] = {
    { .name = (char *)"allowed.test" },
    { .name = (char *)"wild.test", .below = true },
};

static int enter(void **state)
{
    struct nacre_error err;

    fake_doors = (struct fake_doors){ 0 };
    if (engine_enter(state) != 0 || !observer)
        return observer ? -1 : 0;
    allowed[0].way = NACRE_WAY_TUNNEL;
    jail.plan.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST,
        .allowed = allowed,
        .allowed_count = NACRE_COUNT(allowed),
        .way = NACRE_WAY_TUNNEL,
    };
    jail.plan.limits.processes_max = 64;
    return nacre_doors_new(NULL, &jail.options.doors, &err) == NACRE_OK ? 0 : -1;
}

static int leave(void **state)
{
    struct nacre_doors *doors = jail.options.doors;
    int result = engine_leave(state);

    nacre_doors_free(doors);
    return result;
}

#define WITH_DOOR(test) cmocka_unit_test_setup_teardown(test, enter, leave)

static void a_guest_reaches_its_door_as_a_proxy_and_by_name(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "wget -q -O - http://anything.test/x", 0));
    assert_true(jail_says(&jail, "proxy GET http://anything.test/x HTTP/1.1\n"));
    assert_true(jail_exits(&jail, "wget -Y off -q -O - http://127.0.1.1/", 0));
    assert_true(jail_says(&jail, "http 127.0.1.1\n"));
    assert_true(jail_exits(&jail, "cat /etc/resolv.conf; grep allowed /etc/hosts", 0));
    assert_true(jail_says(&jail, "nameserver 127.0.0.53\noptions timeout:2 attempts:1\n"
                                 "127.0.1.1\tallowed.test\n"));
    assert_true(jail_exits(&jail, "for n in allowed.test Allowed.TEST a.b.wild.test; do "
                                  "nslookup -type=a $n | grep -c 127.0.1.1; done", 0));
    assert_true(jail_says(&jail, "1\n1\n1\n"));
    assert_true(jail_exits(&jail, "printf 0123456789 | nc 127.0.1.1 443", 0));
    assert_true(jail_says(&jail, "tls 10\n"));
    assert_int_equal(fake_doors.begins, 5);
    assert_int_equal(fake_doors.ends, 5);
    assert_int_equal(fake_doors.puts, 5);
    assert_int_equal(fake_doors.connections, 3);
    assert_int_equal(jail.result->denial_count, 1);
}

static void a_guest_finds_nothing_but_its_door(void **state)
{
    static const char *const others[] = {
        "nslookup -type=a wild.test",
        "nslookup -type=a notwild.test",
        "nslookup -type=a allowed.test.evil",
        "nc -w 5 127.0.1.1 8080 </dev/null",
        "nc -w 5 1.1.1.1 80 </dev/null",
        "nc -w 5 172.17.0.1 80 </dev/null",
        "nc -w 5 169.254.169.254 80 </dev/null",
        "nslookup allowed.test 8.8.8.8",
        "ping -c 1 -W 2 1.1.1.1",
    };

    NEEDS_ENGINE();
    for (size_t i = 0; i < NACRE_COUNT(others); i++) {
        assert_int_equal(jail_run(&jail, others[i]), NACRE_OK);
        if (jail.result->outcome != NACRE_OUTCOME_EXITED || jail.result->exit_status == 0)
            fail_msg("succeeded: %s", others[i]);
    }
    assert_int_equal(fake_doors.connections, 0);
}

static void what_is_carried_arrives_whole_both_ways(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail,
                           "wget -Y off -q -O - http://127.0.1.1/flood20000000 | wc -c",
                           0));
    assert_true(jail_says(&jail, "20000000\n"));
    assert_true(jail_exits(&jail,
                           "head -c 5000000 /dev/urandom >/tmp/x; { printf 'POST /echo "
                           "HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'; cat /tmp/x; } | "
                           "nc 127.0.1.1 80 | tail -c 5000000 | cmp - /tmp/x && echo same",
                           0));
    assert_true(jail_says(&jail, "same\n"));
}

static void many_at_once_do_not_hold_each_other_up(void **state)
{
    NEEDS_ENGINE();
    /* One that does not read its flood stands still alone. */
    assert_true(jail_exits(
        &jail,
        "{ printf 'GET /flood9000000 HTTP/1.1\\r\\n\\r\\n'; sleep 30.1; } | "
        "nc 127.0.1.1 80 | sleep 30.1 & "
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "
        "wget -Y off -q -O - http://127.0.1.1/flood1000000 | wc -c & p=\"$p $!\"; done; "
        "wait $p; wget -Y off -q -O - http://127.0.1.1/",
        0));
    assert_true(jail_says(&jail,
                          "1000000\n1000000\n1000000\n1000000\n1000000\n1000000\n1000000\n"
                          "1000000\n1000000\n1000000\n1000000\n1000000\n1000000\n1000000\n"
                          "1000000\n1000000\nhttp 127.0.1.1\n"));
}

static void a_plan_that_lets_nothing_out_has_no_door(void **state)
{
    NEEDS_ENGINE();
    jail.plan.egress.mode = NACRE_NETWORK_DENY;
    assert_true(jail_exits(&jail, "env | grep -i proxy", 1));
    assert_true(jail_exits(&jail, "wget -q -O - http://127.0.0.1:3128/", 1));
    assert_true(jail_exits(&jail, "grep allowed /etc/hosts", 1));
    assert_int_equal(fake_doors.gets, 0);
}

/* ---- warm ---- */

static void *run_slow(void *data)
{
    struct nacre_tool *tool = NULL;
    struct nacre_result *result = NULL;
    struct nacre_error err;
    bool good = nacre_tool_shell("sleep 1; wget -Y off -q -O - http://127.0.1.1/",
                                 &tool, &err) == NACRE_OK &&
                nacre_result_new(&result, &err) == NACRE_OK &&
                nacre_executor_run(jail.executor, &jail.plan, tool, &jail.request, result,
                                   &err) == NACRE_OK &&
                result->exit_status == 0 && result->outcome == NACRE_OUTCOME_EXITED;

    (void)data;
    nacre_tool_free(tool);
    nacre_result_free(result);
    return good ? &fake_doors : NULL;
}

static void commands_of_a_warm_container_use_its_door_by_turns(void **state)
{
    pthread_t threads[3];
    void *good;

    NEEDS_ENGINE();
    jail.plan.scope_key = (char *)"door";
    assert_true(jail_exits(&jail, "wget -Y off -q -O - http://127.0.1.1/", 0));
    for (size_t i = 0; i < NACRE_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_slow, NULL), 0);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_non_null(good);
    }
    assert_int_equal(fake_doors.begins, 4);
    assert_int_equal(engine_containers(), 1);
}

static void who_never_gets_its_turn_runs_out_of_time(void **state)
{
    pthread_t thread;
    void *good;
    const struct timespec pause = { .tv_nsec = 400000000 };

    NEEDS_ENGINE();
    jail.plan.scope_key = (char *)"door";
    assert_true(jail_exits(&jail, "true", 0));
    assert_int_equal(pthread_create(&thread, NULL, run_slow, NULL), 0);
    (void)nanosleep(&pause, NULL);
    jail.plan.limits.wall_ms_max = 200;
    assert_int_equal(jail_run(&jail, "touch /tmp/ran"), NACRE_OK);
    jail.plan.limits.wall_ms_max = 20000;
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_int_equal(pthread_join(thread, &good), 0);
    assert_non_null(good);
    assert_true(jail_exits(&jail, "test ! -e /tmp/ran", 0));
}

static char *inspected(void)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    struct nacre_error err;
    char label[32];

    (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
    if (dk_container_list(observer, label, SOON, &list, &err) != NACRE_OK ||
        dk_container_inspect(observer,
                             json_string_value(json_object_get(json_array_get(list, 0),
                                                               "Id")),
                             SOON, &inspect, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return json_dumps(inspect, 0);
}

static void secret_files_are_there_for_one_command(void **state)
{
    const struct nacre_secret_file files[] = {
        { "API_KEY", (const unsigned char *)"hunter2", 7 },
    };
    const char *const environment[] = { "OTHER=hunter3", NULL };
    char *text;

    NEEDS_ENGINE();
    jail.plan.scope_key = (char *)"secrets";
    jail.plan.injection = NACRE_INJECTION_FILE_MOUNT;
    jail.request.secret_files = files;
    jail.request.secret_file_count = NACRE_COUNT(files);
    jail.request.environment = environment;
    assert_true(jail_exits(&jail,
                           "cd /run/secrets && cat API_KEY && stat -c ' %a %u' API_KEY && "
                           "grep -c ' /run/secrets tmpfs ' /proc/mounts; echo $OTHER",
                           0));
    /* "tmpfs /run/secrets tmpfs" */
    assert_non_null(strstr(jail.result->output.bytes, "hunter2 400 1000\n1\nhunter3\n"));
    text = inspected();
    assert_null(strstr(text, "hunter"));
    assert_non_null(strstr(text, "/run/secrets"));
    free(text);
    jail.request.secret_file_count = 0;
    assert_true(jail_exits(&jail, "ls -A /run/secrets", 0));
    assert_true(jail_says(&jail, ""));
    assert_int_equal(engine_containers(), 1);
}

static void files_without_a_place_for_them_are_refused(void **state)
{
    const struct nacre_secret_file file = { "k", (const unsigned char *)"v", 1 };

    NEEDS_ENGINE();
    jail.request.secret_files = &file;
    jail.request.secret_file_count = 1;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "/run/secrets"));
}

static void the_sandboxs_own_ca_stands_behind_the_hosts(void **state)
{
    NEEDS_ENGINE();
    allowed[0].way = NACRE_WAY_INTERCEPT;
    fake_doors.certificate = "-----BEGIN CERTIFICATE-----\nours\n"
                             "-----END CERTIFICATE-----\n";
    assert_true(jail_exits(&jail, "tail -n 3 $SSL_CERT_FILE; test $(grep -c BEGIN "
                                  "$CURL_CA_BUNDLE) -gt 20", 0));
    assert_true(jail_says(&jail, fake_doors.certificate));
}

static void the_feature_is_there_where_doors_work(void **state)
{
    NEEDS_ENGINE();
    fake_doors.fails_probe = true;
    assert_int_equal(jail_open(&jail), NACRE_OK);
    jail.executor->ops->probe(jail.executor, NACRE_FEATURE_EGRESS);
    assert_false(jail.executor->features & NACRE_FEATURE_EGRESS);
    fake_doors.fails_probe = false;
    jail.executor->ops->probe(jail.executor, NACRE_FEATURE_EGRESS);
    assert_true(jail.executor->features & NACRE_FEATURE_EGRESS);
    assert_true(jail.executor->features & NACRE_FEATURE_SECRET_FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DOOR(a_guest_reaches_its_door_as_a_proxy_and_by_name),
        WITH_DOOR(a_guest_finds_nothing_but_its_door),
        WITH_DOOR(what_is_carried_arrives_whole_both_ways),
        WITH_DOOR(many_at_once_do_not_hold_each_other_up),
        WITH_DOOR(a_plan_that_lets_nothing_out_has_no_door),
        WITH_DOOR(commands_of_a_warm_container_use_its_door_by_turns),
        WITH_DOOR(who_never_gets_its_turn_runs_out_of_time),
        WITH_DOOR(secret_files_are_there_for_one_command),
        WITH_DOOR(files_without_a_place_for_them_are_refused),
        WITH_DOOR(the_sandboxs_own_ca_stands_behind_the_hosts),
        WITH_DOOR(the_feature_is_there_where_doors_work),
    };

    return cmocka_run_group_tests(tests, engine_setup, engine_teardown);
}
