/* What of a machine that nacre can't look at has to be covered; the answers are scripted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_far.h"
#include "nacre/own.h"

/* What is in /proc, /sys and /sys/fs, and where a cover lies. */
static struct {
    const char *proc, *sys, *fs;
    char mounts[16384];
} machine;

const char *__wrap_nt_box_answer(const struct nt_box *box, const char *question,
                                 size_t *ret_count);
const char *__wrap_nt_box_answer(const struct nt_box *box, const char *question,
                                 size_t *ret_count)
{
    const char *answer = strcmp(question, "list /proc") == 0     ? machine.proc
                         : strcmp(question, "list /sys") == 0    ? machine.sys
                         : strcmp(question, "list /sys/fs") == 0 ? machine.fs
                                                                 : machine.mounts;

    (void)box;
    *ret_count = answer ? strlen(answer) : 0;
    return answer;
}

static void mounted(const char *path, const char *how)
{
    size_t used = strlen(machine.mounts);

    (void)snprintf(machine.mounts + used, sizeof(machine.mounts) - used,
                   "9 1 0:5 / %s %s\n", path, how);
}

static void cover(const char *path)
{
    mounted(path, "ro,relatime - tmpfs tmpfs ro");
}

static void setting(const char *proc, const char *sys, const char *fs)
{
    machine.proc = proc;
    machine.sys = sys;
    machine.fs = fs;
    (void)snprintf(machine.mounts, sizeof(machine.mounts),
                   "1 0 0:1 / / ro,relatime - overlay overlay rw\n");
}

/* Asked with all that is known now. */
static enum nacre_status judged(struct dk_far *far, bool *ret_again,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char **masked = dk_far_masked(far);

    *ret_again = false;
    return dk_far_judge(far, masked, NULL, ret_again, err);
}

static void what_is_covered_passes(void **state)
{
    NACRE_AUTO(dk_far_clear) struct dk_far far;
    struct nacre_error err;
    bool again;

    (void)state;
    dk_far_init(&far);
    setting("1\nself\nkcore\nsys\nversion\n", "fs\nclass\n", "cgroup\next4\n");
    cover("/proc/kcore");
    mounted("/proc/sys", "ro,nosuid,nodev,noexec - proc proc rw");
    cover("/sys/class");
    cover("/sys/fs/ext4");
    assert_int_equal(judged(&far, &again, &err), NACRE_OK);
    assert_false(again);
}

static void what_was_to_be_covered_and_is_not_ends_it(void **state)
{
    static const struct {
        const char *proc, *sys, *fs, *named;
    } cases[] = {
        { "kcore\n", "fs\n", "cgroup\n", "/proc/kcore of" },
        { "sys\n", "fs\n", "cgroup\n", "/proc/sys is" },
        { "irq\n", "fs\n", "cgroup\n", "/proc/irq is" },
        { "", "fs\nclass\n", "cgroup\n", "/sys/class of" },
        { "", "fs\n", "cgroup\next4\n", "/sys/fs/ext4 of" },
        { NULL, "fs\n", "cgroup\n", "/proc of" },
        { "", "error EACCES", "cgroup\n", "/sys of" },
        { "", "fs\n", NULL, "/sys/fs of" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        NACRE_AUTO(dk_far_clear) struct dk_far far;
        struct nacre_error err;
        bool again;

        dk_far_init(&far);
        setting(cases[i].proc, cases[i].sys, cases[i].fs);
        mounted("/proc/irq", "rw,nosuid,nodev,noexec - proc proc rw");
        assert_int_equal(judged(&far, &again, &err), NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, cases[i].named));
    }
}

static void a_name_that_nobody_knew_is_covered_the_next_time(void **state)
{
    NACRE_AUTO(dk_far_clear) struct dk_far far;
    NACRE_AUTO(nacre_heap_guard) char **masked = NULL;
    struct nacre_error err;
    bool again, found = false;

    (void)state;
    dk_far_init(&far);
    setting("new\n", "fs\n", "cgroup\nnewfs\n");
    assert_int_equal(judged(&far, &again, &err), NACRE_OK);
    assert_true(again);
    masked = dk_far_masked(&far);
    for (char **at = masked; *at; at++)
        found |= strcmp(*at, "/sys/fs/newfs") == 0;
    assert_true(found);
    /* Asked for, and not there: now it is a refusal. */
    assert_int_equal(judged(&far, &again, &err), NACRE_ERR_UNAVAILABLE);
    cover("/sys/fs/newfs");
    assert_int_equal(judged(&far, &again, &err), NACRE_OK);
    assert_false(again);
}

static void no_machine_makes_the_list_grow_for_ever(void **state)
{
    NACRE_AUTO(dk_far_clear) struct dk_far far;
    char names[DK_FAR_MAX * 8 + 64] = "cgroup\n";
    struct nacre_error err;
    bool again;

    (void)state;
    dk_far_init(&far);
    for (int i = 0; i <= DK_FAR_MAX; i++)
        (void)snprintf(names + strlen(names), 8, "n%d\n", i);
    setting("", "fs\n", names);
    assert_int_equal(judged(&far, &again, &err), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(far.count, DK_FAR_MAX);
}

static void filters_are_counted_from_some_kernel_on(void **state)
{
    (void)state;
    assert_true(dk_far_has_filters("6.1.0-18-amd64"));
    assert_true(dk_far_has_filters("5.9"));
    assert_false(dk_far_has_filters("5.8.18"));
    assert_false(dk_far_has_filters("4.19.0"));
    assert_false(dk_far_has_filters(""));
    assert_false(dk_far_has_filters("six"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_covered_passes),
        cmocka_unit_test(what_was_to_be_covered_and_is_not_ends_it),
        cmocka_unit_test(a_name_that_nobody_knew_is_covered_the_next_time),
        cmocka_unit_test(no_machine_makes_the_list_grow_for_ever),
        cmocka_unit_test(filters_are_counted_from_some_kernel_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
