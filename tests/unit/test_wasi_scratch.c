/* Private directories: made late, bounded, gone afterwards, and only they. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "nacre/own.h"
#include "wasi_guest.h"

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    guest_finish(*state);
    return 0;
}

static void make_file(struct guest *guest, uint32_t dir, const char *path,
                      const char *text)
{
    uint32_t number;

    assert_int_equal(guest_open(guest, dir, path, 0, P1_OFLAG_CREAT, WRITE, &number),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, text), P1_SUCCESS);
    assert_int_equal(guest_close(guest, number), P1_SUCCESS);
}

static void it_is_made_at_the_first_path_only(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_OWN, GUEST_BUFFER), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_fdstat_get", GUEST_OWN, GUEST_BUFFER), P1_SUCCESS);
    assert_true(guest_reads(guest, GUEST_IN, "file", "inside"));
    assert_int_equal(outside_count(guest, "scratch"), 0);
    assert_int_equal(guest_stat(guest, GUEST_OWN, "file", 0), P1_NOENT);
    assert_int_equal(outside_count(guest, "scratch"), 1);
}

static void nothing_of_one_run_is_there_in_the_next(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    make_file(guest, GUEST_OWN, "left", "over");
    assert_true(guest_reads(guest, GUEST_OWN, "left", "over"));
    guest_restart(guest);
    assert_int_equal(outside_count(guest, "scratch"), 0);
    assert_int_equal(guest_stat(guest, GUEST_OWN, "left", 0), P1_NOENT);
}

static void it_is_for_its_owner_only(void **state)
{
    struct guest *guest = *state;
    DIR *dir;
    struct dirent *entry;
    struct stat st;

    guest_start(guest);
    assert_int_equal(guest_stat(guest, GUEST_OWN, ".", 0), P1_SUCCESS);
    dir = fdopendir(dup(guest->scratch_fd));
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            assert_int_equal(fstatat(guest->scratch_fd, entry->d_name, &st, 0), 0);
            assert_int_equal(st.st_mode, S_IFDIR | 0700);
        }
    (void)closedir(dir);
}

/* F23: links in it lead to the canary; cleaning up follows none. */
static void cleaning_up_removes_links_not_targets(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(guest_mkdir(guest, GUEST_OWN, "d"), P1_SUCCESS);
    assert_int_equal(guest_symlink(guest, "../../out", GUEST_OWN, "link"), P1_SUCCESS);
    assert_int_equal(guest_symlink(guest, "../../../out", GUEST_OWN, "d/link"),
                     P1_SUCCESS);
    assert_int_equal(guest_symlink(guest, "../../../out/canary", GUEST_OWN, "d/file"),
                     P1_SUCCESS);
    assert_int_equal(guest_symlink(guest, ".", GUEST_OWN, "d/loop"), P1_SUCCESS);
    /* The link is good: what would follow it would find the canary. */
    assert_int_equal(outside_count(guest, "out"), 1);
    guest_restart(guest);
    assert_int_equal(outside_count(guest, "scratch"), 0);
    assert_int_equal(outside_count(guest, "out"), 1);
    assert_true(outside_holds(guest, "out/canary", "outside"));
}

static void a_very_deep_tree_is_removed(void **state)
{
    struct guest *guest = *state;
    uint32_t dir = GUEST_OWN, next;
    char path[3000] = "";

    guest->config.scratch_files_max = 5000;
    guest_start(guest);
    /* Deeper than any path is long and than a process has fds: chains of directories,
     * moved into each other's end. */
    for (int chain = 0; chain < 3; chain++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "c%d", chain);
        assert_int_equal(guest_mkdir(guest, GUEST_OWN, name), P1_SUCCESS);
        assert_int_equal(guest_open(guest, GUEST_OWN, name, 0, 0, 0, &dir), P1_SUCCESS);
        for (int depth = 0; depth < 1000; depth++) {
            assert_int_equal(guest_mkdir(guest, dir, "d"), P1_SUCCESS);
            assert_int_equal(guest_open(guest, dir, "d", 0, 0, 0, &next), P1_SUCCESS);
            assert_int_equal(guest_close(guest, dir), P1_SUCCESS);
            dir = next;
        }
        assert_int_equal(guest_close(guest, dir), P1_SUCCESS);
    }
    for (int chain = 2; chain > 0; chain--) {
        char name[8];

        (void)snprintf(path, sizeof(path), "c%d", chain - 1);
        for (int depth = 0; depth < 1000; depth++)
            strcat(path, "/d");
        strcat(path, "/e");
        (void)snprintf(name, sizeof(name), "c%d", chain);
        assert_int_equal(guest_rename(guest, GUEST_OWN, name, GUEST_OWN, path),
                         P1_SUCCESS);
    }
    guest_restart(guest);
    assert_int_equal(outside_count(guest, "scratch"), 0);
}

/* ---- quota ---- */

static void growth_is_bounded_exactly(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    guest->config.scratch_bytes_max = 10;
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_OWN, "f", 0, P1_OFLAG_CREAT, READ | WRITE,
                                &number),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "0123456789"), P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_NOSPC);
    assert_int_equal(guest_pwrite(guest, number, "x", 10), P1_NOSPC);
    assert_int_equal(guest_pwrite(guest, number, "9x", 9), P1_NOSPC);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 11), P1_NOSPC);
    /* What was paid for may be written again, and again. */
    for (int i = 0; i < 100; i++)
        assert_int_equal(guest_pwrite(guest, number, "9876543210", 0), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 0), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 10), P1_SUCCESS);
    assert_int_equal(guest_denials(guest, "scratch-full"), 4);
    /* Elsewhere there is no such limit. */
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, WRITE, &number),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "more than ten bytes"), P1_SUCCESS);
}

/* F20 */
static void a_sparse_giant_is_refused(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_OWN, "f", 0, P1_OFLAG_CREAT, WRITE, &number),
                     P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, INT64_C(1) << 40),
                     P1_NOSPC);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, INT64_MAX), P1_NOSPC);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, -1), P1_INVAL);
    assert_int_equal(guest_pwrite(guest, number, "x", UINT64_C(1) << 40), P1_NOSPC);
    assert_int_equal(CALL(guest, "fd_seek", number, INT64_C(1) << 40, P1_WHENCE_SET,
                          GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_NOSPC);
    assert_int_equal(CALL(guest, "fd_seek", number, 0, P1_WHENCE_SET, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_SUCCESS);
}

static void a_second_fd_does_not_get_round_the_quota(void **state)
{
    struct guest *guest = *state;
    uint32_t one, two, appending, length;

    guest->config.scratch_bytes_max = 10;
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_OWN, "f", 0, P1_OFLAG_CREAT, WRITE, &one),
                     P1_SUCCESS);
    assert_int_equal(guest_open(guest, GUEST_OWN, "f", 0, 0, WRITE, &two), P1_SUCCESS);
    assert_int_equal(guest_write(guest, one, "01234"), P1_SUCCESS);
    assert_int_equal(guest_pwrite(guest, two, "56789", 5), P1_NOSPC);
    assert_int_equal(guest_pwrite(guest, two, "01234", 0), P1_SUCCESS);
    length = guest_text(guest, GUEST_TEXT, "f");
    assert_int_equal(CALL(guest, "path_open", GUEST_OWN, 0, GUEST_TEXT, length, 0, WRITE,
                          0, P1_FDFLAG_APPEND, GUEST_RESULT),
                     P1_SUCCESS);
    appending = guest_u32(guest, GUEST_RESULT);
    assert_int_equal(guest_pwrite(guest, appending, "x", 0), P1_NOSPC);
}

static void the_number_of_names_is_bounded(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    guest->config.scratch_files_max = 4;
    guest_start(guest);
    make_file(guest, GUEST_OWN, "1", "");
    assert_int_equal(guest_mkdir(guest, GUEST_OWN, "2"), P1_SUCCESS);
    assert_int_equal(guest_symlink(guest, "1", GUEST_OWN, "3"), P1_SUCCESS);
    assert_int_equal(guest_link(guest, GUEST_OWN, "1", GUEST_OWN, "4"), P1_SUCCESS);
    assert_int_equal(guest_mkdir(guest, GUEST_OWN, "5"), P1_NOSPC);
    assert_int_equal(guest_symlink(guest, "1", GUEST_OWN, "5"), P1_NOSPC);
    assert_int_equal(guest_link(guest, GUEST_OWN, "1", GUEST_OWN, "5"), P1_NOSPC);
    assert_int_equal(guest_open(guest, GUEST_OWN, "5", 0, P1_OFLAG_CREAT, WRITE, &number),
                     P1_NOSPC);
    assert_int_equal(guest_stat(guest, GUEST_OWN, "5", 0), P1_NOENT);
    assert_int_equal(guest_denials(guest, "scratch-full"), 4);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "5"), P1_SUCCESS);
    guest_restart(guest);
    assert_int_equal(guest_mkdir(guest, GUEST_OWN, "5"), P1_SUCCESS);
}

static void without_a_scratch_directory_there_is_no_private_mount(void **state)
{
    struct guest *guest = *state;
    struct nacre_wasi_config config = guest->config;
    struct nacre_wasi *wasi = NULL;
    struct nacre_error err;

    guest_start(guest);
    config.scratch_fd = -1;
    assert_int_equal(nacre_wasi_new(&config, &wasi, &err), NACRE_ERR_USAGE);
    assert_null(wasi);
    config.mount_count = 2;
    assert_int_equal(nacre_wasi_new(&config, &wasi, &err), NACRE_OK);
    nacre_wasi_free(wasi);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_made_at_the_first_path_only),
        TEST(nothing_of_one_run_is_there_in_the_next),
        TEST(it_is_for_its_owner_only),
        TEST(cleaning_up_removes_links_not_targets),
        TEST(a_very_deep_tree_is_removed),
        TEST(growth_is_bounded_exactly),
        TEST(a_sparse_giant_is_refused),
        TEST(a_second_fd_does_not_get_round_the_quota),
        TEST(the_number_of_names_is_bounded),
        TEST(without_a_scratch_directory_there_is_no_private_mount),
    };

    return cmocka_run_group_tests_name("wasi_scratch", tests, NULL, NULL);
}
