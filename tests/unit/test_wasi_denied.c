/*
 * Denied and covered names, with the kernel's help and without it: in every spelling,
 * not there yet, and with their ancestors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wasi_guest.h"

/* Every test runs with openat2 and with the fallback walk. */
static bool without_openat2;

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    guest.config.without_openat2 = without_openat2;
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    guest_finish(*state);
    return 0;
}

static const char *const denied[] = { "secret", "a/b/hidden", "later/on", "link-denied" };
static const char *const covered[] = { "other/mount" };

static void deny(struct guest *guest)
{
    guest->mounts[0].denied = denied;
    guest->mounts[0].denied_count = sizeof(denied) / sizeof(denied[0]);
    guest->mounts[0].covered = covered;
    guest->mounts[0].covered_count = 1;
    outside_dir(guest, "in/secret");
    outside_file(guest, "in/secret/key", "denied");
    outside_dir(guest, "in/a");
    outside_dir(guest, "in/a/b");
    outside_file(guest, "in/a/b/hidden", "denied");
    outside_file(guest, "in/a/b/shown", "inside");
    outside_dir(guest, "in/other");
    outside_dir(guest, "in/other/mount");
    outside_file(guest, "in/other/mount/data", "denied");
    outside_file(guest, "in/target", "denied");
    outside_link(guest, "target", "in/link-denied");
    outside_link(guest, "secret", "in/to-secret");
    outside_link(guest, "a/b", "in/to-b");
    outside_link(guest, "../a/b/hidden", "in/dir/to-hidden");
}

static const struct {
    const char *path;
    int error;
} denied_paths[] = {
    { "secret", P1_ACCES },
    { "secret/", P1_ACCES },
    { "secret/key", P1_ACCES },
    { "secret/missing", P1_ACCES },
    { "secret/../file", P1_ACCES },
    { "./dir/../secret/key", P1_ACCES },
    { "to-secret", P1_ACCES },
    { "to-secret/key", P1_ACCES },
    { "a/b/hidden", P1_ACCES },
    { "a/./b//hidden", P1_ACCES },
    { "to-b/hidden", P1_ACCES },
    { "dir/to-hidden", P1_ACCES },
    { "dir/../a/b/../b/hidden", P1_ACCES },
    { "later/on", P1_NOENT }, /* "later" is missing: nothing to deny yet */
    { "link-denied", P1_ACCES },
    { "target", P1_ACCES }, /* what a denied link leads to */
    { "other/mount", P1_ACCES },
    { "other/mount/data", P1_ACCES },
    { "a/b/shown", P1_SUCCESS },
    { "to-b/shown", P1_SUCCESS },
    { "a/b", P1_SUCCESS },
    { "other", P1_SUCCESS },
    { "secretive", P1_NOENT },
    { "file", P1_SUCCESS },
};

static void denied_names_are_refused_in_every_spelling(void **state)
{
    struct guest *guest = *state;

    deny(guest);
    guest_start(guest);
    for (size_t i = 0; i < sizeof(denied_paths) / sizeof(denied_paths[0]); i++) {
        const char *path = denied_paths[i].path;
        uint32_t number;
        int error = guest_open(guest, GUEST_IN, path, P1_LOOKUP_FOLLOW, 0, READ, &number);

        if (error != denied_paths[i].error)
            print_message("open '%s': %d\n", path, error);
        assert_int_equal(error, denied_paths[i].error);
        assert_int_equal(guest_stat(guest, GUEST_IN, path, P1_LOOKUP_FOLLOW), error);
        if (error == P1_SUCCESS)
            assert_int_equal(guest_close(guest, number), P1_SUCCESS);
    }
    assert_true(guest_denials(guest, "denied-path") > 0);
    assert_true(guest_denials(guest, "covered-path") > 0);
    assert_int_equal(guest->record.denials[0].mount, 0);
    assert_string_equal(guest->record.denials[0].path, "secret");
}

static void denied_names_can_t_be_changed_or_made(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    deny(guest);
    guest_start(guest);
    assert_int_equal(guest_unlink(guest, GUEST_IN, "a/b/hidden"), P1_ACCES);
    assert_int_equal(guest_unlink(guest, GUEST_IN, "link-denied"), P1_ACCES);
    assert_int_equal(guest_touch(guest, GUEST_IN, "secret"), P1_ACCES);
    assert_int_equal(guest_readlink(guest, GUEST_IN, "link-denied"), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "secret", GUEST_IN, "mine"), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "secret/key"),
                     P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "a/b/hidden"),
                     P1_ACCES);
    assert_int_equal(guest_link(guest, GUEST_IN, "a/b/hidden", GUEST_IN, "mine"),
                     P1_ACCES);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "secret/new"), P1_ACCES);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "later"), P1_SUCCESS);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "later/on"), P1_ACCES);
    assert_int_equal(guest_symlink(guest, "file", GUEST_IN, "later/on"), P1_ACCES);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_IN, "later/on"), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "later/on"),
                     P1_ACCES);
    assert_int_equal(guest_open(guest, GUEST_IN, "later/on", 0, P1_OFLAG_CREAT, WRITE,
                                &number),
                     P1_ACCES);
    assert_int_equal(guest_open(guest, GUEST_IN, "later/off", 0, P1_OFLAG_CREAT, WRITE,
                                &number),
                     P1_SUCCESS);
    assert_false(outside_exists(guest, "in/later/on"));
    assert_true(outside_exists(guest, "in/later/off"));
    assert_true(outside_holds(guest, "in/a/b/hidden", "denied"));
    assert_true(outside_holds(guest, "in/secret/key", "denied"));
    assert_false(outside_exists(guest, "in/mine"));
}

/* F14: an ancestor that moves away would take the denied name with it. */
static void an_ancestor_of_a_denied_name_stays_where_it_is(void **state)
{
    struct guest *guest = *state;

    deny(guest);
    outside_dir(guest, "in/free");
    outside_dir(guest, "in/free/b");
    guest_start(guest);
    assert_int_equal(guest_rename(guest, GUEST_IN, "a", GUEST_IN, "moved"), P1_BUSY);
    assert_int_equal(guest_rename(guest, GUEST_IN, "a/b", GUEST_IN, "moved"), P1_BUSY);
    assert_int_equal(guest_rename(guest, GUEST_IN, "to-b/../b", GUEST_IN, "moved"),
                     P1_BUSY);
    assert_int_equal(guest_rename(guest, GUEST_IN, "other", GUEST_IN, "moved"), P1_BUSY);
    assert_int_equal(guest_rename(guest, GUEST_IN, "free", GUEST_IN, "a"), P1_BUSY);
    assert_int_equal(guest_rename(guest, GUEST_IN, "free", GUEST_IN, "later"), P1_BUSY);
    assert_int_equal(guest_symlink(guest, "free", GUEST_IN, "later"), P1_BUSY);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_IN, "later"), P1_BUSY);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "a/b"), P1_BUSY);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "."), P1_BUSY);
    assert_true(outside_holds(guest, "in/a/b/hidden", "denied"));
    assert_false(outside_exists(guest, "in/moved"));
    assert_false(outside_exists(guest, "in/later"));
    assert_int_equal(guest_rename(guest, GUEST_IN, "free", GUEST_IN, "moved"),
                     P1_SUCCESS);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "moved/b"), P1_SUCCESS);
}

static void another_name_of_a_denied_directory_is_denied(void **state)
{
    struct guest *guest = *state;
    static const char *const names[] = { "spelled/by-link/key" };

    guest->mounts[0].denied = names;
    guest->mounts[0].denied_count = 1;
    outside_dir(guest, "in/spelled");
    outside_dir(guest, "in/real");
    outside_file(guest, "in/real/key", "denied");
    outside_file(guest, "in/real/other", "inside");
    outside_link(guest, "../real", "in/spelled/by-link");
    guest_start(guest);
    assert_int_equal(guest_stat(guest, GUEST_IN, "real/key", 0), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "real", GUEST_IN, "moved"), P1_BUSY);
    assert_true(guest_reads(guest, GUEST_IN, "real/other", "inside"));
}

static void a_mount_may_be_denied_as_a_whole(void **state)
{
    struct guest *guest = *state;
    static const char *const all[] = { "" };

    guest->mounts[0].denied = all;
    guest->mounts[0].denied_count = 1;
    guest_start(guest);
    assert_int_equal(guest_stat(guest, GUEST_IN, "file", 0), P1_ACCES);
    assert_int_equal(guest_stat(guest, GUEST_IN, ".", 0), P1_ACCES);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "new"), P1_ACCES);
    assert_int_equal(
        CALL(guest, "fd_readdir", GUEST_IN, GUEST_BUFFER, 256, 0, GUEST_RESULT),
        P1_ACCES);
    assert_false(outside_exists(guest, "in/new"));
    assert_true(guest_reads(guest, GUEST_RO, "file", "inside"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(denied_names_are_refused_in_every_spelling),
        TEST(denied_names_can_t_be_changed_or_made),
        TEST(an_ancestor_of_a_denied_name_stays_where_it_is),
        TEST(another_name_of_a_denied_directory_is_denied),
        TEST(a_mount_may_be_denied_as_a_whole),
    };
    int failed = cmocka_run_group_tests_name("wasi_denied", tests, NULL, NULL);

    without_openat2 = true;
    return failed +
           cmocka_run_group_tests_name("wasi_denied without openat2", tests, NULL, NULL);
}
