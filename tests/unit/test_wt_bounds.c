/* What a plan leaves a module: whatever its tables may become is set aside before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "wt_bounds.h"

#define MIB ((uint64_t)1 << 20)
#define ELEMENT 8    /* bytes */
#define ROOM 65536   /* elements, for a table that names no maximum */
#define HUGE_MAX "4294967295"

static enum nacre_status bounds_of(const char *wat, uint64_t memory_bytes,
                                   struct wt_bounds *ret_bounds)
{
    const struct nacre_plan plan = { .limits = { .memory_bytes_max = memory_bytes } };
    const struct nacre_tool tool = { .name = (char *)"t", .path = (char *)"t",
                                     .bytes_fd = -1, .bytes = (const unsigned char *)wat,
                                     .count = strlen(wat) };
    struct nacre_error err;

    return wt_bounds_make(&plan, &tool, ret_bounds, &err);
}

static void tables_are_charged_for_what_they_may_become(void **state)
{
    static const struct {
        const char *wat;
        uint64_t bytes, each;
        uint32_t count;
    } cases[] = {
        { "(module)", 0, 0, 0 },
        { "(module (table 0 0 funcref))", 0, 0, 1 },
        { "(module (table 10 20 funcref))", 20 * ELEMENT, 20, 1 },
        { "(module (table 1 5 funcref) (table 1 7 funcref))", 12 * ELEMENT, 12, 2 },
        /* None said, or more than there is: its start and some room, for each. */
        { "(module (table 10 funcref))", (10 + ROOM) * ELEMENT, 10 + ROOM, 1 },
        { "(module (table 0 funcref))", ROOM * ELEMENT, ROOM, 1 },
        { "(module (table 10 " HUGE_MAX " funcref))", (10 + ROOM) * ELEMENT, 10 + ROOM,
          1 },
        { "(module (table 1 5 funcref) (table 2 funcref))", 2 * (3 + ROOM) * ELEMENT,
          3 + ROOM, 2 },
        { "(module (import \"m\" \"t\" (table 4 funcref)))", (4 + ROOM) * ELEMENT,
          4 + ROOM, 1 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        struct wt_bounds bounds;

        assert_int_equal(bounds_of(cases[i].wat, 64 * MIB, &bounds), NACRE_OK);
        assert_int_equal(bounds.memory_bytes_max, 64 * MIB);
        assert_int_equal(bounds.table_bytes, cases[i].bytes);
        assert_int_equal(bounds.table_elements_max, cases[i].each);
        assert_int_equal(bounds.table_count, cases[i].count);
    }
}

/* A declared maximum holds up to a quarter of the memory, to the element. */
static void a_maximum_is_believed_while_it_fits(void **state)
{
    struct wt_bounds bounds;

    (void)state;
    assert_int_equal(bounds_of("(module (table 0 32768 funcref))", MIB, &bounds),
                     NACRE_OK);
    assert_int_equal(bounds.table_elements_max, 32768);
    assert_int_equal(bounds_of("(module (table 0 32769 funcref))", MIB, &bounds),
                     NACRE_OK);
    assert_int_equal(bounds.table_elements_max, ROOM);
}

/* R04: what does not fit is never made to fit by a number that wraps. */
static void tables_larger_than_the_memory_are_charged_in_full(void **state)
{
    char wat[8192] = "(module";
    struct wt_bounds bounds;

    (void)state;
    assert_int_equal(bounds_of("(module (table " HUGE_MAX " funcref))", MIB, &bounds),
                     NACRE_OK);
    assert_true(bounds.table_bytes > (uint64_t)32 << 30);
    for (int i = 0; i < 100; i++) /* the most that validation lets through */
        (void)strcat(wat, "(table " HUGE_MAX " funcref)");
    (void)strcat(wat, ")");
    assert_int_equal(bounds_of(wat, MIB, &bounds), NACRE_OK);
    assert_int_equal(bounds.table_count, 100);
    assert_true(bounds.table_bytes > (uint64_t)3200 << 30);
}

static void what_is_no_module_has_no_bounds(void **state)
{
    static const char *const bad[] = { "(module", "(module (table))", "x",
                                       "(component)" };
    struct wt_bounds bounds = { .table_count = 77 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        assert_int_equal(bounds_of(bad[i], MIB, &bounds), NACRE_ERR_NOT_RUNNABLE);
        assert_int_equal(bounds.table_count, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_charged_for_what_they_may_become),
        cmocka_unit_test(a_maximum_is_believed_while_it_fits),
        cmocka_unit_test(tables_larger_than_the_memory_are_charged_in_full),
        cmocka_unit_test(what_is_no_module_has_no_bounds),
    };

    return cmocka_run_group_tests_name("wt_bounds", tests, NULL, NULL);
}
