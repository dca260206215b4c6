/* The trace of a guest: a line for each call, whatever the guest passes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "wasi_guest.h"

static struct guest guest;

static int set_up(void **state)
{
    (void)state;
    guest_prepare(&guest);
    guest.call.trace_fd = memfd_create("trace", MFD_CLOEXEC);
    guest_start(&guest);
    return guest.call.trace_fd > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(guest.call.trace_fd);
    guest_finish(&guest);
    return 0;
}

/* The lines so far; each has to be JSON.  The last one is the caller's. */
static json_t *last_line(size_t *ret_count)
{
    FILE *lines = fdopen(dup(guest.call.trace_fd), "r");
    json_t *last = NULL;
    char *text = NULL;
    size_t room = 0;

    assert_non_null(lines);
    assert_int_equal(fseek(lines, 0, SEEK_SET), 0);
    *ret_count = 0;
    while (getline(&text, &room, lines) > 0) {
        json_decref(last);
        last = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (!last)
            fail_msg("not JSON: %s", text);
        ++*ret_count;
    }
    free(text);
    (void)fclose(lines);
    return last;
}

static void a_call_is_told_with_arguments_result_and_time(void **state)
{
    size_t count;
    uint32_t opened;
    json_t *line;

    (void)state;
    assert_int_equal(guest_open(&guest, GUEST_IN, "file", 0, 0, READ, &opened),
                     P1_SUCCESS);
    line = last_line(&count);
    assert_int_equal(count, 1);
    assert_string_equal(json_string_value(json_object_get(line, "call")), "path_open");
    assert_string_equal(json_string_value(json_object_get(line, "path")), "file");
    assert_int_equal(json_integer_value(json_object_get(line, "opened")), opened);
    assert_string_equal(json_string_value(json_object_get(line, "result")), "SUCCESS");
    assert_true(json_is_integer(json_object_get(line, "ns")));
    json_decref(line);
    assert_int_not_equal(guest_open(&guest, GUEST_IN, "no\"such\n\xff", 0, 0, READ,
                                    &opened), P1_SUCCESS);
    line = last_line(&count);
    assert_null(json_object_get(line, "opened"));
    assert_int_equal(strncmp(json_string_value(json_object_get(line, "path")),
                             "no\"such\n", 8), 0);
    json_decref(line);
}

static void every_function_has_words_for_all_of_its_cells(void **state)
{
    static const int64_t edges[] = { 0, 1, 3, -1, INT32_MAX, GUEST_MEMORY - 1 };
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);
    size_t lines, calls = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof(edges) / sizeof(edges[0]); k++) {
            int64_t numbers[16];

            if (strncmp(functions[i].name, "poll_", 5) == 0 && k > 0)
                continue;
            for (size_t n = 0; n < 16; n++)
                numbers[n] = edges[k];
            (void)guest_call(&guest, functions[i].name, numbers);
            calls++;
        }
    json_decref(last_line(&lines));
    assert_int_equal(lines, calls);
}

static void contents_do_not_appear(void **state)
{
    char text[4096] = "";
    ssize_t got;

    (void)state;
    assert_int_equal(guest_write(&guest, 1, "CANARY-42"), P1_SUCCESS);
    got = pread(guest.call.trace_fd, text, sizeof(text) - 1, 0);
    assert_true(got > 0);
    assert_null(strstr(text, "CANARY"));
    assert_non_null(strstr(text, "\"given\":9"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_told_with_arguments_result_and_time),
        TEST(every_function_has_words_for_all_of_its_cells),
        TEST(contents_do_not_appear),
    };

    return cmocka_run_group_tests_name("wasi_trace", tests, NULL, NULL);
}
