/*
 * F16: a file system that knows a name in more than one spelling.  Few kernels here
 * have one, so the calls that take names are wrapped: while `folding`, upper case
 * means lower case, as a case-folding directory would have it.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "wasi_guest.h"

static bool folding;

struct folded {
    char text[4096];
};

static const char *fold(const char *path, struct folded *folded)
{
    size_t i = 0;

    if (!folding)
        return path;
    for (; path[i] && i < sizeof(folded->text) - 1; i++)
        folded->text[i] = (char)tolower((unsigned char)path[i]);
    folded->text[i] = '\0';
    return folded->text;
}

int __real_openat(int dir, const char *path, int flags, ...);
int __real_fstatat(int dir, const char *path, struct stat *st, int flags);
int __real_mkdirat(int dir, const char *path, mode_t mode);
int __real_unlinkat(int dir, const char *path, int flags);
int __real_symlinkat(const char *target, int dir, const char *path);
int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap___openat_2(int dir, const char *path, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_symlinkat(const char *target, int dir, const char *path);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    struct folded folded;

    return __real_openat(dir, fold(path, &folded), flags, 0600);
}

int __wrap___openat_2(int dir, const char *path, int flags)
{
    return __wrap_openat(dir, path, flags);
}

int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
    struct folded folded;

    return __real_fstatat(dir, fold(path, &folded), st, flags);
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    struct folded folded;

    return __real_mkdirat(dir, fold(path, &folded), mode);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    struct folded folded;

    return __real_unlinkat(dir, fold(path, &folded), flags);
}

int __wrap_symlinkat(const char *target, int dir, const char *path)
{
    struct folded folded;

    return __real_symlinkat(target, dir, fold(path, &folded));
}

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    struct folded one, two;

    return __real_linkat(from_dir, fold(from, &one), to_dir, fold(to, &two), flags);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    struct folded one, two;

    return __real_renameat(from_dir, fold(from, &one), to_dir, fold(to, &two));
}

static const char *const denied[] = { "secret", "x/foo" };

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    guest.mounts[0].denied = denied;
    guest.mounts[0].denied_count = 2;
    outside_dir(&guest, "in/secret");
    outside_file(&guest, "in/secret/key", "denied");
    outside_dir(&guest, "in/q");
    guest_start(&guest);
    folding = true;
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    folding = false;
    guest_finish(*state);
    return 0;
}

static void another_spelling_of_a_denied_name_is_denied(void **state)
{
    struct guest *guest = *state;

    assert_true(guest_reads(guest, GUEST_IN, "FILE", "inside")); /* it does fold */
    assert_int_equal(guest_stat(guest, GUEST_IN, "Secret", 0), P1_ACCES);
    assert_int_equal(guest_stat(guest, GUEST_IN, "SECRET/key", 0), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "SECRET", GUEST_IN, "mine"), P1_ACCES);
    assert_true(outside_holds(guest, "in/secret/key", "denied"));
}

static void another_spelling_does_not_give_life_to_a_denied_name(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    assert_int_equal(guest_mkdir(guest, GUEST_IN, "X"), P1_SUCCESS);
    assert_int_equal(
        guest_open(guest, GUEST_IN, "X/FOO", 0, P1_OFLAG_CREAT, WRITE, &number),
        P1_ACCES);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "X/Foo"), P1_ACCES);
    assert_int_equal(guest_symlink(guest, "q", GUEST_IN, "X/Foo"), P1_ACCES);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_IN, "X/Foo"), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "X/Foo"), P1_ACCES);
    assert_int_equal(guest_rename(guest, GUEST_IN, "q", GUEST_IN, "X/Foo"), P1_ACCES);
    assert_int_equal(outside_count(guest, "in/x"), 0);
    assert_true(outside_holds(guest, "in/file", "inside"));
    assert_true(outside_exists(guest, "in/q"));
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "X/fool"), P1_SUCCESS);
}

static void another_spelling_of_an_ancestor_stays_too(void **state)
{
    struct guest *guest = *state;

    assert_int_equal(guest_rename(guest, GUEST_IN, "q", GUEST_IN, "X"), P1_BUSY);
    assert_int_equal(guest_symlink(guest, "q", GUEST_IN, "X"), P1_BUSY);
    assert_false(outside_exists(guest, "in/x"));
    assert_true(outside_exists(guest, "in/q"));
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "X"), P1_SUCCESS);
    assert_int_equal(guest_rename(guest, GUEST_IN, "X", GUEST_IN, "y"), P1_BUSY);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "X"), P1_BUSY);
    assert_true(outside_exists(guest, "in/x"));
    assert_int_equal(guest_rename(guest, GUEST_IN, "Q", GUEST_IN, "Y"), P1_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_spelling_of_a_denied_name_is_denied),
        TEST(another_spelling_does_not_give_life_to_a_denied_name),
        TEST(another_spelling_of_an_ancestor_stays_too),
    };

    return cmocka_run_group_tests_name("wasi_casefold", tests, NULL, NULL);
}
