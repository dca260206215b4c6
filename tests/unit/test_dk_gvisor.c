/* Which of an engine's runtimes is taken for gVisor, before init has proved it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dk_gvisor.h"

#define RUNC "\"runc\":{\"path\":\"runc\"}"

static const struct {
    const char *runtimes;
    const char *taken; /* NULL: none */
} rows[] = {
    { "{}", NULL },
    { "null", NULL },
    { "[\"runsc\"]", NULL },
    { "{" RUNC "}", NULL },
    { "{" RUNC ",\"kata\":{\"path\":\"/usr/bin/kata-runtime\"}}", NULL },
    { "{" RUNC ",\"fast\":{\"path\":\"/opt/runsc-fast\"}}", NULL },
    { "{" RUNC ",\"fast\":{\"path\":\"/opt/runsc/runc\"}}", NULL },
    { "{" RUNC ",\"runscx\":{\"path\":\"crun\"}}", NULL },
    { "{\"runsc\":{\"path\":\"/usr/bin/runsc\","
      "\"runtimeArgs\":[\"--TESTONLY-unsafe-nonroot\"]}}", NULL },
    { "{\"runsc\":{\"path\":\"/usr/bin/runsc\",\"runtimeArgs\":[5]}}", NULL },
    { "{" RUNC ",\"runsc\":{\"path\":\"/usr/bin/runsc\"}}", "runsc" },
    { "{" RUNC ",\"runsc\":{\"path\":\"runsc\",\"runtimeArgs\":null}}", "runsc" },
    { "{" RUNC ",\"mine\":{\"path\":\"/usr/local/bin/runsc\"}}", "mine" },
    { "{\"mine\":{\"runtimeType\":\"io.containerd.runsc.v1\"}}", "mine" },
    { "{\"mine\":{\"runtimeType\":\"io.containerd.runc.v2\"}}", NULL },
    /* A name is the least: it is taken where nothing else is, for init to judge. */
    { "{" RUNC ",\"runsc\":{\"path\":\"runc\"}}", "runsc" },
    { "{\"gvisor\":{\"path\":\"/opt/wrapper\"}}", "gvisor" },
    { "{\"runsc\":{\"path\":\"runc\"},\"mine\":{\"path\":\"/bin/runsc\"}}", "mine" },
    { "{\"mine\":{\"path\":\"/bin/runsc\"},\"runsc\":{\"path\":\"/bin/runsc\"}}",
      "runsc" },
    { "{\"b\":{\"path\":\"/bin/runsc\"},\"a\":{\"path\":\"/bin/runsc\"}}", "a" },
    { "{\"a\":{\"path\":\"/bin/runsc\"},\"b\":{\"path\":\"/bin/runsc\"}}", "a" },
};

static void the_runtime_that_is_most_like_runsc_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(dk_json_guard) json_t *info = json_object();
        json_t *runtimes = json_loads(rows[i].runtimes, JSON_DECODE_ANY, NULL);
        const char *taken;

        assert_non_null(runtimes);
        assert_int_equal(json_object_set_new(info, "Runtimes", runtimes), 0);
        taken = dk_gvisor_runtime(info);
        if (!rows[i].taken && taken)
            fail_msg("%s: %s was taken", rows[i].runtimes, taken);
        if (rows[i].taken && (!taken || strcmp(taken, rows[i].taken) != 0))
            fail_msg("%s: %s was taken", rows[i].runtimes, taken ? taken : "none");
    }
}

static void how_it_is_registered_is_told_escaped_and_cut(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *info = json_pack(
        "{s:{s:{s:s, s:[s, s]}}}", "Runtimes", "runsc", "path", "/usr/bin/runsc",
        "runtimeArgs", "--platform=ptrace", "--x=\033[31m");
    char text[DK_RUNTIME_TEXT], long_path[600];

    (void)state;
    assert_string_equal(dk_runtime_text(info, "runsc", text),
                        "/usr/bin/runsc --platform=ptrace --x=\\x1b[31m");
    memset(long_path, 'a', sizeof(long_path));
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(
        json_object_set_new(json_object_get(json_object_get(info, "Runtimes"), "runsc"),
                            "path", json_string(long_path)),
        0);
    assert_true(strlen(dk_runtime_text(info, "runsc", text)) < DK_RUNTIME_TEXT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_runtime_that_is_most_like_runsc_is_taken),
        cmocka_unit_test(how_it_is_registered_is_told_escaped_and_cut),
    };

    return cmocka_run_group_tests_name("dk_gvisor", tests, NULL, NULL);
}
