/* An image's files as a machine has them: made once, kept, and of nobody else's making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dk_disk.h"
#include "engine_world.h"

static struct dk_site *site;
static char image_id[DK_IMAGE_ID];
static const struct dk_caller nobody;

static bool find_id(const char *image, char ret_id[DK_IMAGE_ID])
{
    NACRE_AUTO(dk_json_guard) json_t *found = NULL;
    struct nacre_error err;

    if (dk_image_inspect(observer, image, SOON, &found, &err) != NACRE_OK)
        return false;
    (void)snprintf(ret_id, DK_IMAGE_ID, "%s",
                   json_string_value(json_object_get(found, "Id")));
    return true;
}

static int enter(void **state)
{
    char machines[DK_IMAGE_ID];
    struct nacre_error err;

    (void)engine_enter(state);
    site = NULL;
    if (!observer || !find_id(NACRE_VM_IMAGE, machines))
        return 0; /* it skips */
    jail.options.state_dir = jail.state;
    return find_id(ENGINE_IMAGE, image_id) &&
                   dk_site_open(&jail.options, &nobody, &site, &err) == NACRE_OK
               ? 0
               : -1;
}

static int leave(void **state)
{
    dk_site_free(site);
    return engine_leave(state);
}

#define NEEDS_MACHINES() \
    do {                 \
        (void)state;     \
        if (!site)       \
            skip();      \
    } while (0)

static void find(char ret_path[NACRE_PATH_MAX], struct stat *ret_info)
{
    struct nacre_error err;

    if (dk_disk_find(site, image_id, &nobody, ret_path, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lstat(ret_path, ret_info), 0);
}

static void put(const char *path, mode_t mode)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && write(fd, "forged", 6) == 6 && fchmod(fd, mode) == 0);
}

static bool is_squashfs(const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char magic[4] = "";

    return fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "hsqs", 4) == 0;
}

static void a_disk_is_made_once_and_kept(void **state)
{
    char path[NACRE_PATH_MAX], again[NACRE_PATH_MAX], other[NACRE_PATH_MAX + 160];
    char left[NACRE_PATH_MAX + 160];
    struct stat first, second;

    NEEDS_MACHINES();
    find(path, &first);
    assert_true(is_squashfs(path));
    assert_true(S_ISREG(first.st_mode) && (first.st_mode & 07777) == 0444);
    assert_int_equal(first.st_uid, geteuid());
    assert_int_equal(first.st_nlink, 1);
    (void)snprintf(other, sizeof(other), "%s/machines/making", jail.state);
    assert_int_not_equal(access(other, F_OK), 0);
    find(again, &second);
    assert_string_equal(again, path);
    assert_int_equal(second.st_ino, first.st_ino);

    /* What anybody could have changed is none; and one whose image is gone goes with the
     * next that is made, as does what a maker that died left. */
    assert_int_equal(unlink(path), 0);
    put(path, 0644);
    (void)snprintf(other, sizeof(other), "%s/machines/%064d.disk", jail.state, 5);
    put(other, 0444);
    (void)snprintf(again, sizeof(again), "%s/machines/making", jail.state);
    assert_int_equal(mkdir(again, 0700), 0);
    (void)snprintf(left, sizeof(left), "%s/left", again);
    put(left, 0600);
    find(path, &second);
    assert_true(is_squashfs(path));
    assert_int_not_equal(access(other, F_OK), 0);
    assert_int_not_equal(access(again, F_OK), 0);
}

/* As a disk of the host's own that fails would leave it, or a person. */
static void spoil(const char *path, size_t row)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat info;
    char byte;

    assert_int_equal(chmod(path, 0600), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &info) == 0);
    switch (row) {
    case 0: /* one bit in the middle */
        assert_int_equal(pread(fd, &byte, 1, info.st_size / 2), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, info.st_size / 2), 1);
        break;
    case 1:
        assert_int_equal(ftruncate(fd, info.st_size / 2), 0);
        break;
    case 2:
        assert_int_equal(ftruncate(fd, 1), 0);
        break;
    default:
        assert_int_equal(ftruncate(fd, info.st_size + 4096), 0);
    }
    assert_int_equal(fchmod(fd, 0444), 0);
}

static struct nacre_digest digest_of(const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct nacre_hasher hasher;
    char bytes[65536];
    ssize_t count;

    nacre_hash_init(&hasher);
    while ((count = read(fd, bytes, sizeof(bytes))) > 0)
        nacre_hash_add(&hasher, bytes, (size_t)count);
    assert_int_equal(count, 0);
    return nacre_hash_end(&hasher);
}

static void a_disk_that_was_spoiled_is_made_again(void **state)
{
    char path[NACRE_PATH_MAX];
    struct stat info;

    NEEDS_MACHINES();
    for (size_t row = 0; row < 4; row++) {
        struct nacre_digest spoiled, is;
        struct nacre_error err;

        find(path, &info);
        spoil(path, row);
        spoiled = digest_of(path);
        dk_site_free(site); /* whoever made it knows it to be good */
        site = NULL;
        assert_int_equal(dk_site_open(&jail.options, &nobody, &site, &err), NACRE_OK);
        find(path, &info);
        is = digest_of(path);
        assert_false(nacre_digest_equal(&is, &spoiled));
        assert_true(is_squashfs(path));
    }
}

static void what_is_no_image_makes_no_disk(void **state)
{
    static const char *const ids[] = {
        "", "sha256:", "../../etc/passwd", "sha256:0",
        "sha256:000000000000000000000000000000000000000000000000000000000000/../",
        "sha256:0000000000000000000000000000000000000000000000000000000000000005",
    };
    char path[NACRE_PATH_MAX], making[160];
    struct nacre_error err;

    NEEDS_MACHINES();
    for (size_t i = 0; i < NACRE_COUNT(ids); i++)
        assert_int_not_equal(dk_disk_find(site, ids[i], &nobody, path, &err), NACRE_OK);
    (void)snprintf(making, sizeof(making), "%s/machines/making", jail.state);
    assert_int_not_equal(access(making, F_OK), 0);
}

static void a_directory_that_others_can_enter_is_not_used(void **state)
{
    char path[NACRE_PATH_MAX], dir[160];
    struct nacre_error err;

    NEEDS_MACHINES();
    (void)snprintf(dir, sizeof(dir), "%s/machines", jail.state);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(dk_disk_find(site, image_id, &nobody, path, &err), NACRE_ERR_IO);
}

int main(void)
{
#define IN_SITE(test) cmocka_unit_test_setup_teardown(test, enter, leave)
    static const struct CMUnitTest tests[] = {
        IN_SITE(a_disk_is_made_once_and_kept),
        IN_SITE(a_disk_that_was_spoiled_is_made_again),
        IN_SITE(what_is_no_image_makes_no_disk),
        IN_SITE(a_directory_that_others_can_enter_is_not_used),
    };

    return cmocka_run_group_tests_name("dk_disk", tests, engine_setup, engine_teardown);
}
