/* The initial file system of a machine, read as the kernel reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dk_initrd.h"
#include "fail_alloc.h"
#include "init_image.h"
#include "nacre/own.h"

#define HEAD 110

static int memfd_with(const void *bytes, size_t count)
{
    int fd = memfd_create("initrd", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static size_t number(const char *entry, unsigned which)
{
    char digits[9] = "";

    memcpy(digits, entry + 6 + which * 8, 8);
    return strtoul(digits, NULL, 16);
}

static size_t aligned(size_t count)
{
    return (count + 3) / 4 * 4;
}

/* What an entry is called, what it holds; returns where the next one begins. */
static const char *entry_of(const char *at, const char **ret_name, const char **ret_bytes,
                            size_t *ret_count)
{
    assert_memory_equal(at, "070701", 6);
    *ret_name = at + HEAD;
    assert_int_equal(number(at, 11), strlen(*ret_name) + 1);
    *ret_count = number(at, 6);
    *ret_bytes = at + aligned(HEAD + number(at, 11));
    return *ret_bytes + aligned(*ret_count);
}

static void init_comes_first_and_the_modules_after_it(void **state)
{
    static const char modules[] = "as they are";
    NACRE_AUTO(nacre_fd_guard) int in = memfd_with(modules, sizeof(modules));
    NACRE_AUTO(nacre_fd_guard) int out = memfd_with("", 0);
    const char *whole, *at, *name, *bytes;
    struct nacre_error err;
    size_t count;
    off_t size;

    (void)state;
    assert_int_equal(dk_initrd_write(in, out, &err), NACRE_OK);
    size = lseek(out, 0, SEEK_END);
    whole = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, out, 0);
    assert_true(whole != MAP_FAILED);
    at = entry_of(whole, &name, &bytes, &count);
    assert_string_equal(name, "init");
    assert_int_equal(number(whole, 1), 0100755);
    assert_int_equal(count, nacre_init_image_size);
    assert_memory_equal(bytes, nacre_init_image, count);
    at = entry_of(at, &name, &bytes, &count);
    assert_string_equal(name, "TRAILER!!!");
    assert_int_equal(count, 0);
    assert_int_equal((at - whole) % 4, 0);
    assert_int_equal(whole + size - at, sizeof(modules));
    assert_memory_equal(at, modules, sizeof(modules));
    (void)munmap((void *)(uintptr_t)whole, (size_t)size);
}

static void no_modules_are_no_machine(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int in = memfd_with("", 0);
    NACRE_AUTO(nacre_fd_guard) int out = memfd_with("", 0);
    NACRE_AUTO(nacre_fd_guard) int unreadable = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_initrd_write(in, out, &err), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(dk_initrd_write(unreadable, out, &err), NACRE_ERR_IO);
}

/* Whoever boots lays them behind it: then it ends where an archive may begin. */
static void modules_may_come_later(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int out = memfd_with("", 0);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_initrd_write(-1, out, &err), NACRE_OK);
    assert_int_equal(lseek(out, 0, SEEK_END) % 4, 0);
    assert_true((size_t)lseek(out, 0, SEEK_END) > nacre_init_image_size);
}

static void endless_modules_have_an_end(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int in = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    NACRE_AUTO(nacre_fd_guard) int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_initrd_write(in, out, &err), NACRE_ERR_TOO_BIG);
}

static void a_full_disk_is_told(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int in = memfd_with("x", 1);
    NACRE_AUTO(nacre_fd_guard) int out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_initrd_write(in, out, &err), NACRE_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_comes_first_and_the_modules_after_it),
        cmocka_unit_test(no_modules_are_no_machine),
        cmocka_unit_test(modules_may_come_later),
        cmocka_unit_test(endless_modules_have_an_end),
        cmocka_unit_test(a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
