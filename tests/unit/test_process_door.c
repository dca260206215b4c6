/* Level process: the way from a guest to its door, with a fake door at the other end.
 * Each as root and as an ordinary user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "fake_doors.h"
#include "in_child.h"
#include "jail_world.h"

static struct nacre_egress_host allowed[] = {
    { .name = (char *)"allowed.test" },
    { .name = (char *)"wild.test", .below = true },
    { .name = (char *)"93.184.216.34", .is_address = true },
};

static void open_network(struct jail *jail)
{
    struct nacre_error err;

    jail->plan.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST,
        .allowed = allowed,
        .allowed_count = NACRE_COUNT(allowed),
        .way = NACRE_WAY_TUNNEL,
    };
    allowed[0].way = NACRE_WAY_TUNNEL;
    if (nacre_doors_new(NULL, &jail->options.doors, &err) != NACRE_OK)
        _exit(CHILD_CHECK_FAILED);
}

static void prepare(struct jail *jail)
{
    jail_prepare(jail, &nacre_process_executor);
    open_network(jail);
}

static void finish(struct jail *jail)
{
    struct nacre_doors *doors = jail->options.doors;

    jail_finish(jail);
    nacre_doors_free(doors);
}

/* ---- the ways in ---- */

static int reaches(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    CHILD_CHECK(jail_exits(&jail, "curl -sS http://anything.test/x", 0));
    CHILD_CHECK(jail_says(&jail, "proxy GET http://anything.test/x HTTP/1.1\n"));
    CHILD_CHECK(jail_exits(&jail, "curl -sS --noproxy '*' http://allowed.test/", 0));
    CHILD_CHECK(jail_says(&jail, "http allowed.test\n"));
    CHILD_CHECK(jail_exits(&jail, "curl -sS --noproxy '*' http://a.b.Wild.test/", 0));
    CHILD_CHECK(jail_says(&jail, "http a.b.Wild.test\n"));
    CHILD_CHECK(jail_exits(&jail,
                           "printf 0123456789 | curl -s -m 5 --noproxy '*' "
                           "telnet://allowed.test:443",
                           0));
    CHILD_CHECK(jail_says(&jail, "tls 10\n"));
    CHILD_CHECK(fake_doors.gets == 4 && fake_doors.puts == 4);
    CHILD_CHECK(fake_doors.begins == 4 && fake_doors.ends == 4);
    CHILD_CHECK(fake_doors.connections == 4);
    CHILD_CHECK(jail.result->denial_count == 1);
    finish(&jail);
    return 0;
}

static void a_guest_reaches_its_door_as_a_proxy_and_by_name(void **state)
{
    (void)state;
    assert_true(jail_as_both(reaches, NULL));
}

static int finds_nothing_else(void *data)
{
    static const char *const others[] = {
        "curl -s -m 5 --noproxy '*' http://wild.test/",
        "curl -s -m 5 --noproxy '*' http://notwild.test/",
        "curl -s -m 5 --noproxy '*' http://allowed.test.evil/",
        "curl -s -m 5 --noproxy '*' http://93.184.216.34/",
        "curl -s -m 5 --noproxy '*' http://10.0.0.1/",
        "curl -s -m 5 --noproxy '*' http://169.254.169.254/",
        "curl -s -m 5 --noproxy '*' http://allowed.test:8080/",
        "curl -s -m 5 --noproxy '*' -6 http://allowed.test/",
        "curl -s -m 5 --noproxy '*' -g 'http://[2001:db8::1]/'",
    };
    struct jail jail;

    (void)data;
    prepare(&jail);
    for (size_t i = 0; i < NACRE_COUNT(others); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%s && exit 99; exit 0", others[i]);
        if (!jail_exits(&jail, text, 0)) {
            dprintf(2, "%s\n", others[i]);
            return 1;
        }
    }
    CHILD_CHECK(jail_exits(&jail,
                           "python3 - <<'E'\n"
                           "import socket,errno\n"
                           "def end(f):\n"
                           "  try: f(); raise SystemExit(9)\n"
                           "  except OSError as e: assert e.errno in (errno.ENETUNREACH,"
                           "errno.EACCES,errno.EPERM,errno.EADDRINUSE), e\n"
                           "u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
                           "end(lambda: u.sendto(b'x',('8.8.8.8',53)))\n"
                           "u6=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM)\n"
                           "end(lambda: u6.sendto(b'x',('2001:4860:4860::8888',53)))\n"
                           "t=socket.socket()\n"
                           "end(lambda: t.connect(('1.1.1.1',443)))\n"
                           "end(lambda: socket.socket(socket.AF_INET,socket.SOCK_DGRAM,"
                           "socket.IPPROTO_ICMP).sendto(b'x'*8,('1.1.1.1',0)))\n"
                           "end(lambda: socket.socket(socket.AF_INET,socket.SOCK_RAW,1))\n"
                           "E",
                           0));
    CHILD_CHECK(fake_doors.connections == 0);
    finish(&jail);
    return 0;
}

static void a_guest_finds_nothing_but_its_door(void **state)
{
    (void)state;
    assert_true(jail_as_both(finds_nothing_else, NULL));
}

static int takes_no_place(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    CHILD_CHECK(jail_exits(
        &jail,
        "python3 - <<'E'\n"
        "import socket,errno\n"
        "for reuse in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):\n"
        "  for kind,where in ((1,('127.0.0.1',3128)),(1,('0.0.0.0',3128)),"
        "(1,('127.0.1.1',80)),(1,('127.0.1.1',443)),(2,('127.0.0.53',53)),"
        "(2,('0.0.0.0',53))):\n"
        "    s=socket.socket(socket.AF_INET,kind)\n"
        "    s.setsockopt(socket.SOL_SOCKET,reuse,1)\n"
        "    try:\n"
        "      s.bind(where)\n"
        "      if kind==1: s.listen(1)\n"
        "      print(where); raise SystemExit(9)\n"
        "    except OSError as e:\n"
        "      assert e.errno in (errno.EADDRINUSE,errno.EACCES), e\n"
        "E",
        0));
    finish(&jail);
    return 0;
}

static void no_guest_takes_the_doors_place(void **state)
{
    (void)state;
    assert_true(jail_as_both(takes_no_place, NULL));
}

/* ---- what a guest is told ---- */

static int is_told(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    CHILD_CHECK(jail_exits(&jail, "env | grep -i proxy | sort", 0));
    CHILD_CHECK(jail_says(&jail, "HTTPS_PROXY=http://127.0.0.1:3128\n"
                                 "HTTP_PROXY=http://127.0.0.1:3128\n"
                                 "NO_PROXY=\n"
                                 "http_proxy=http://127.0.0.1:3128\n"
                                 "https_proxy=http://127.0.0.1:3128\n"
                                 "no_proxy=\n"));
    CHILD_CHECK(jail_exits(&jail, "cat /etc/hosts; head -1 /etc/resolv.conf", 0));
    CHILD_CHECK(jail_says(&jail, "127.0.0.1 localhost nacre\n::1 localhost nacre\n"
                                 "127.0.1.1 allowed.test\nnameserver 127.0.0.53\n"));
    CHILD_CHECK(jail_exits(&jail, "test ! -e /run && test -z \"$SSL_CERT_FILE\"", 0));
    finish(&jail);
    return 0;
}

static void a_guest_is_told_where_its_door_is(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_told, NULL));
}

static int is_closed(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    jail.plan.egress.mode = NACRE_NETWORK_DENY;
    CHILD_CHECK(jail_exits(&jail, "env | grep -i proxy", 1));
    CHILD_CHECK(jail_exits(&jail, "curl -s -m 5 http://127.0.0.1:3128/", 7));
    CHILD_CHECK(jail_exits(&jail, "cat /etc/resolv.conf; grep -c . /etc/hosts", 0));
    CHILD_CHECK(jail_says(&jail, "2\n"));
    CHILD_CHECK(fake_doors.gets == 0 && fake_doors.begins == 0);
    finish(&jail);
    return 0;
}

static void a_plan_that_lets_nothing_out_has_no_door(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_closed, NULL));
}

static int trusts(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    allowed[0].way = NACRE_WAY_INTERCEPT;
    fake_doors.certificate = "-----BEGIN CERTIFICATE-----\nours\n"
                             "-----END CERTIFICATE-----\n";
    CHILD_CHECK(jail_exits(&jail,
                           "test $SSL_CERT_FILE = /run/nacre/ca.pem && "
                           "test $NODE_EXTRA_CA_CERTS = $SSL_CERT_FILE && "
                           "test $REQUESTS_CA_BUNDLE = $SSL_CERT_FILE && "
                           "test $GIT_SSL_CAINFO = $SSL_CERT_FILE && "
                           "test $CURL_CA_BUNDLE = $SSL_CERT_FILE && "
                           "tail -3 $SSL_CERT_FILE && stat -c %a $SSL_CERT_FILE",
                           0));
    CHILD_CHECK(jail_says(&jail, "-----BEGIN CERTIFICATE-----\nours\n"
                                 "-----END CERTIFICATE-----\n444\n"));
    CHILD_CHECK(jail_exits(&jail, "test $(grep -c BEGIN $SSL_CERT_FILE) -gt 20", 0));
    finish(&jail);
    return 0;
}

static void the_sandboxs_own_ca_stands_behind_the_hosts(void **state)
{
    (void)state;
    assert_true(jail_as_both(trusts, NULL));
}

static int full_tree(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    jail_mount(&jail, "/", "/", true, NULL);
    jail.plan.full_tree = true;
    CHILD_CHECK(jail_exits(&jail, "curl -sS http://anything.test/x", 0));
    CHILD_CHECK(jail_exits(&jail, "curl -sS --noproxy '*' http://allowed.test/", 0));
    CHILD_CHECK(jail_says(&jail, "http allowed.test\n"));
    finish(&jail);
    return 0;
}

static void in_the_hosts_own_tree_the_door_is_there_as_well(void **state)
{
    (void)state;
    assert_true(jail_as_both(full_tree, NULL));
}

/* ---- secret files ---- */

static int has_secrets(void *data)
{
    static const struct nacre_secret_file files[] = {
        { "API_KEY", (const unsigned char *)"hunter2\0!", 9 },
        { "empty", (const unsigned char *)"", 0 },
    };
    struct jail jail;

    jail_prepare(&jail, &nacre_process_executor);
    if (data) {
        jail_mount(&jail, "/", "/", true, NULL);
        jail.plan.full_tree = true;
    }
    jail.request.secret_files = files;
    jail.request.secret_file_count = NACRE_COUNT(files);
    CHILD_CHECK(jail_exits(&jail,
                           "cd /run/secrets && ls | tr '\\n' ' ' && tr '\\0' @ <API_KEY "
                           "&& stat -c ' %a %s' API_KEY empty && "
                           "test $(stat -c %u API_KEY) = $(id -u) && "
                           "df -T . | grep -q tmpfs && echo ok",
                           0));
    CHILD_CHECK(jail_says(&jail, "API_KEY empty hunter2@! 400 9\n 400 0\nok\n"));
    jail.request.secret_file_count = 0;
    CHILD_CHECK(jail_exits(&jail, "test ! -e /run/secrets", 0));
    jail_finish(&jail);
    return 0;
}

static void secret_files_are_there_for_one_run(void **state)
{
    (void)state;
    assert_true(jail_as_both(has_secrets, NULL));
    assert_true(jail_as_both(has_secrets, (char *)"in the host's own tree"));
}

static int bad_secrets(void *data)
{
    static const char *const names[] = { "", ".", "..", "a/b", "/etc/x", ".hidden",
                                         "a b", "\xc3\xa4" };
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        const struct nacre_secret_file file = { names[i], (const unsigned char *)"x", 1 };

        jail.request.secret_files = &file;
        jail.request.secret_file_count = 1;
        CHILD_CHECK(jail_run(&jail, "touch /tmp/ran") == NACRE_ERR_USAGE);
    }
    jail_finish(&jail);
    return 0;
}

static void a_secret_file_with_no_plain_name_is_refused(void **state)
{
    (void)state;
    assert_true(jail_as_both(bad_secrets, NULL));
}

/* ---- what fails ---- */

static int without_doors(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    nacre_doors_free(jail.options.doors);
    jail.options.doors = NULL;
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_ERR_UNAVAILABLE);
    jail.executor->ops->probe(jail.executor, NACRE_FEATURE_EGRESS);
    CHILD_CHECK(!(jail.executor->features & NACRE_FEATURE_EGRESS));
    finish(&jail);
    return 0;
}

static int is_probed(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    fake_doors.fails_probe = true;
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    jail.executor->ops->probe(jail.executor, NACRE_FEATURE_EGRESS);
    CHILD_CHECK(!(jail.executor->features & NACRE_FEATURE_EGRESS));
    fake_doors.fails_probe = false;
    jail.executor->ops->probe(jail.executor, NACRE_FEATURE_EGRESS);
    CHILD_CHECK(jail.executor->features & NACRE_FEATURE_EGRESS);
    CHILD_CHECK(jail.executor->features & NACRE_FEATURE_SECRET_FILES);
    finish(&jail);
    return 0;
}

static void the_feature_is_there_where_doors_work(void **state)
{
    (void)state;
    assert_true(jail_as_both(without_doors, NULL));
    assert_true(jail_as_both(is_probed, NULL));
}

static int loses_its_door(void *data)
{
    struct jail jail;

    (void)data;
    prepare(&jail);
    fake_doors.fails_end = true;
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_ERR_IO);
    CHILD_CHECK(strstr(jail.err.text, "the door is gone"));
    CHILD_CHECK(fake_doors.puts == 1);
    /* A command that never ran has its own reason. */
    CHILD_CHECK(jail_run(&jail, "exec /no/such/program") == NACRE_ERR_IO);
    finish(&jail);
    return 0;
}

static void a_door_that_is_gone_is_told(void **state)
{
    (void)state;
    assert_true(jail_as_both(loses_its_door, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_reaches_its_door_as_a_proxy_and_by_name),
        cmocka_unit_test(a_guest_finds_nothing_but_its_door),
        cmocka_unit_test(no_guest_takes_the_doors_place),
        cmocka_unit_test(a_guest_is_told_where_its_door_is),
        cmocka_unit_test(a_plan_that_lets_nothing_out_has_no_door),
        cmocka_unit_test(the_sandboxs_own_ca_stands_behind_the_hosts),
        cmocka_unit_test(in_the_hosts_own_tree_the_door_is_there_as_well),
        cmocka_unit_test(secret_files_are_there_for_one_run),
        cmocka_unit_test(a_secret_file_with_no_plain_name_is_refused),
        cmocka_unit_test(the_feature_is_there_where_doors_work),
        cmocka_unit_test(a_door_that_is_gone_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
