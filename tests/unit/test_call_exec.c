/* exec: a command that an agent asks for by the door. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call_scene.h"

static json_t *exec(const char *arguments)
{
    return call_with("bash", arguments,
                     (struct asked){ .policy = "bare", .unsandboxed = true });
}

static void a_command_runs_with_what_it_is_given(void **state)
{
    json_t *answer = exec("{\"command\": \"pwd; echo $GREETING; cat; echo bad >&2\", "
                          "\"environment\": {\"GREETING\": \"hi there\"}, \"directory\": "
                          "\"/tmp\", \"stdin\": \"from stdin\\n\"}");

    (void)state;
    assert_string_equal(json_string_value(meta_of(answer, "tool")), "exec");
    assert_string_equal(json_string_value(meta_of(answer, "level")), "none");
    assert_true(json_is_true(meta_of(answer, "unsandboxed")));
    expect_good(answer, "/tmp\nhi there\nfrom stdin\n");
}

static void a_commands_status_is_told(void **state)
{
    json_t *answer = exec("{\"command\": \"echo out; exit 3\"}");
    const json_t *more = json_object_get(answer, "structuredContent");

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(text_of(answer), "out\n[exit status 3]\n");
    assert_int_equal(json_integer_value(json_object_get(more, "exit_status")), 3);
    json_decref(answer);
}

static void of_long_output_head_and_tail_are_kept(void **state)
{
    json_t *answer =
        exec("{\"command\": \"echo first; yes x | head -c 300000; echo last\"}");
    const json_t *more = json_object_get(answer, "structuredContent");

    (void)state;
    assert_true(json_is_true(json_object_get(more, "cut")));
    assert_int_equal(json_integer_value(json_object_get(more, "output_bytes")), 300011);
    assert_true(strlen(text_of(answer)) < 70000);
    assert_non_null(strstr(text_of(answer), "234475 bytes are left out"));
    assert_int_equal(strncmp(text_of(answer), "first\nx\n", 8), 0);
    expect_good(answer, "x\nlast\n");
}

static void what_is_no_text_is_escaped(void **state)
{
    (void)state;
    expect_good(exec("{\"command\": \"printf 'a\\\\377b\\\\033[1m\\\\303\\\\244'\"}"),
                "a\\xffb\\x1b[1m\xc3\xa4");
}

static void a_command_ends_in_its_time(void **state)
{
    json_t *answer = exec("{\"command\": \"echo begun; sleep 30\", \"timeout_ms\": 300}");

    (void)state;
    assert_true(json_is_true(json_object_get(answer, "isError")));
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "timed-out");
    assert_non_null(strstr(text_of(answer), "begun\n[exec did not end in time"));
    assert_non_null(strstr(text_of(answer), "(timed out after 300 ms: request.timeout_ms"));
    assert_string_equal(
        json_string_value(json_object_get(meta_of(answer, "limit"), "rule")),
        "request.timeout_ms");
    json_decref(answer);
    answer = exec("{\"command\": \"true\"}");
    assert_true(json_is_null(meta_of(answer, "limit")));
    json_decref(answer);
}

static void a_command_is_not_run_where_none_may(void **state)
{
    json_t *answer;

    (void)state;
    answer = call("exec", "{\"command\": \"touch work/escaped\"}");
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    assert_true(json_is_true(json_object_get(answer, "isError")));
    json_decref(answer);
    expect_error(call_with("exec", "{\"command\": \"touch work/escaped\"}",
                           (struct asked){ .policy = "bare", .elevated = true }),
                 "not-elevated", "denied", "without");
    answer = call_with("exec", "{\"command\": \"touch work/escaped\"}",
                       (struct asked){ .policy = "bare" });
    assert_string_equal(json_string_value(meta_of(answer, "outcome")), "denied");
    json_decref(answer);
    expect_error(exec("{\"command\": \"touch work/escaped\", \"environment\": "
                      "{\"A=B\": \"1\"}}"), "invalid-arguments", "invalid", "A=B");
    assert_int_not_equal(access("work/escaped", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_with_what_it_is_given),
        cmocka_unit_test(a_commands_status_is_told),
        cmocka_unit_test(of_long_output_head_and_tail_are_kept),
        cmocka_unit_test(what_is_no_text_is_escaped),
        cmocka_unit_test(a_command_ends_in_its_time),
        cmocka_unit_test(a_command_is_not_run_where_none_may),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
