/* Root without its powers: files of others, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "capabilities.h"
#include "in_child.h"
#include "scene.h"

#define KEPT (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER)

static bool get(struct __user_cap_data_struct sets[2])
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

    return syscall(SYS_capget, &header, sets) == 0;
}

static int drop_and_look(void *data)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct before[2], sets[2];
    struct nacre_error err;

    (void)data;
    CHILD_CHECK(get(before));
    CHILD_CHECK(nacre_capabilities_drop(&err) == NACRE_OK);
    CHILD_CHECK(get(sets));
    CHILD_CHECK(sets[0].permitted == (before[0].permitted & KEPT));
    CHILD_CHECK(sets[0].effective == (before[0].effective & KEPT));
    CHILD_CHECK(sets[0].inheritable == 0);
    CHILD_CHECK(sets[1].permitted == 0 && sets[1].effective == 0 &&
                sets[1].inheritable == 0);
    for (int number = 0; number <= 40; number++)
        CHILD_CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) <= 0);
    /* For good. */
    sets[0] = (struct __user_cap_data_struct){ UINT32_MAX, UINT32_MAX, 0 };
    CHILD_CHECK(syscall(SYS_capset, &header, sets) == -1);
    sets[0] = (struct __user_cap_data_struct){ KEPT | 1u << CAP_CHOWN,
                                               KEPT | 1u << CAP_CHOWN,
                                               0 };
    CHILD_CHECK(syscall(SYS_capset, &header, sets) == -1);
    CHILD_CHECK(nacre_capabilities_drop(&err) == NACRE_OK);
    return 0;
}

static void what_is_dropped_cannot_be_had_again(void **state)
{
    (void)state;
    assert_exited(in_child(drop_and_look, NULL), 0);
}

/* Only root has something to lose. */
static int deeds(void *data)
{
    bool dropped = data != NULL;
    int expected = dropped ? -1 : 0;
    struct nacre_error err;

    if (dropped)
        CHILD_CHECK(nacre_capabilities_drop(&err) == NACRE_OK);
    CHILD_CHECK(scene_holds("theirs", "secret")); /* kept */
    CHILD_CHECK(chmod("theirs", 0600) == 0);
    CHILD_CHECK(chown("mine", 65534, 65534) == expected);
    CHILD_CHECK(chroot(".") == expected);
    CHILD_CHECK(setresuid(65534, 65534, 65534) == expected);
    return 0;
}

static void the_deeds_of_root_fail_and_files_stay_open(void **state)
{
    int yes = 1;

    (void)state;
    if (geteuid() != 0)
        return; /* a user has none of them from the start: the test above */
    scene_file("mine", "");
    scene_file("theirs", "secret");
    assert_int_equal(chown("theirs", 65534, 65534), 0);
    assert_exited(in_child(deeds, &yes), 0);
    assert_exited(in_child(deeds, NULL), 0); /* the control */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_dropped_cannot_be_had_again),
        cmocka_unit_test(the_deeds_of_root_fail_and_files_stay_open),
    };

    return cmocka_run_group_tests_name("capabilities", tests, scene_enter, scene_leave);
}
